"""Re-rooting a free-floating tree: the same mechanics with another base.

The hinges between the two bases are turned around (`soacraft.model.tree.joining.turning`, formula F9).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from soacraft.analysis.underactuated import free_base
from soacraft.errors import ModelError
from soacraft.model.hinges import Free, Spherical
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.joining.copying import copy_attachments, copy_fixtures, copy_forces
from soacraft.model.tree.joining.rehanging import Hung, add_twin, part_of
from soacraft.model.tree.joining.turning import Turned, copy_hinge_numbers, has_hinge_numbers, renamed_dofs, turned
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.records import Actuator, Keyframe
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


def reroot(mb: Multibody, body: Body | str) -> Multibody:
    """A free-floating tree with `body` as its base: a new model in the same state. O(n).

    The hinges on the way from `body` to the old base are turned around and keep their names, as do bodies, nodes,
    closures and couplings; the base's hinge keeps its name. Every body has the same pose, velocity and, under the same
    forces, the same acceleration.

    >>> import soacraft as sc
    >>> from soacraft.analysis import reroot
    >>> reroot(sc.load("quadrotor_arm"), "hand").tree()
    quadrotor_arm: 4 bodies, 9 dofs
    inertial
    └─ hand  hull: Free()  [grip]
       └─ arm  hand: Pin(axis=(0, 1, 0))
          └─ yaw  arm: Pin(axis=(0, 1, 0))
             └─ hull  yaw: Pin(axis=(0, 0, -1))  [rotor1, rotor2, rotor3, rotor4]
    """
    if not isinstance(mb, Multibody):
        raise ModelError(f"reroot takes a Multibody, got {mb!r:.80}; a sub-graph has its own anchor.")
    old, new = free_base("reroot", mb), mb.body(body)
    if old is new:
        return mb.copy()
    _refuse_held_base(old)
    path = _path(new)
    around = {outer: turned("reroot", outer.hinge, repr(outer.name)) for outer in path[:-1]}
    other = Multibody(mb.name, mb.gravity)
    copy_fixtures(mb.root, other.root)
    add_twin(other, new, Hung(mb.root, Free(), Pose(), Pose(), old.hinge_name))
    for outer, inner in pairwise(path):  # inner is now the child of outer by outer's hinge, reversed
        twin = add_twin(other, inner, Hung.around(outer, around[outer].hinge))
        copy_hinge_numbers("reroot", twin, outer, around[outer].order)
    for each in mb.bodies:
        if each not in path:
            copy_hinge_numbers("reroot", add_twin(other, each, Hung.as_is(each)), each, None)
    told_anew = [old, *(outer for outer in around if isinstance(outer.hinge, Spherical | Free))]
    lost = {name for body in told_anew for name in mb.dof_names[part_of(body).v]}
    for actuator in mb.actuators:
        _refuse_actuator(actuator, lost)

    def told(keyframe: Keyframe) -> Keyframe:
        q, v, _ = _moved(mb, other, around, new, mb.state(keyframe.q, keyframe.v))
        return Keyframe(keyframe.name, q, v, keyframe.attributes)

    other.set_state(*_moved(mb, other, around, new, mb.current))
    copy_forces(mb, other)
    copy_attachments(mb, other, renamed_dofs(around), told)
    return other


def _refuse_held_base(base: Body) -> None:
    """Refuse forces between the inertial frame and one body, which have no equivalent for another body."""
    if has_hinge_numbers(base):
        raise ModelError(
            f"reroot: the free hinge {base.hinge_name!r} has armature, springs, dampers, friction or limits, which "
            f"hold {base.name!r} alone; take them away first."
        )


def _path(body: Body) -> list[Body]:
    """The bodies from this one to the base."""
    path = [body]
    while isinstance(path[-1].parent, Body):
        path.append(path[-1].parent)
    return path


def _moved(mb: Multibody, other: Multibody, around: dict[Body, Turned], new: Body, state: State) -> tuple[Array, ...]:
    """q, v and vdot of the re-rooted model at a state of the old one."""
    q, v, vdot = (np.zeros(size) for size in (other.nq, other.nv, other.nv))
    q[:], index = other.neutral(), mb.layout.index[new]
    R, p = (x[index] for x in state.configuration.world)
    base = Pose(R, p)
    at = part_of(other.body(new.name))
    q[at.q] = [*base.as_quaternion(), *base.translation]
    v[at.v], vdot[at.v] = state.motion.V[index], state.alpha[index]
    for body in mb.bodies:
        was, at = part_of(body), part_of(other.body(body.name))
        q[at.own_q] = state.q[was.own_q]
        v[at.own_v], vdot[at.own_v] = state.v[was.own_v], state.vdot[was.own_v]
        if body.hinge_name == other.body(new.name).hinge_name:
            continue
        old_q, old_v, old_vdot = state.q[was.q], state.v[was.v], state.vdot[was.v]
        turned = around.get(body)
        at = part_of(other.body(body.parent.name if turned is not None else body.name))
        if turned is None:
            q[at.q], v[at.v], vdot[at.v] = old_q, old_v, old_vdot
        else:
            q[at.q] = turned.q(body.hinge, old_q)
            v[at.v], vdot[at.v] = (turned.v(body.hinge, old_q, x) for x in (old_v, old_vdot))
    return q, v, vdot


def _refuse_actuator(actuator: Actuator, lost: set[str]) -> None:
    """No constant gear drives a dof whose velocity is now told in other axes."""
    for dof in actuator.gears:
        if dof in lost:
            raise ModelError(
                f"reroot: actuator {actuator.name!r} drives {dof!r}, a dof that has other axes from another "
                "base; take the actuator away first."
            )
