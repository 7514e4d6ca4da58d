"""Re-rooting a free-floating tree: the same mechanics, told from another base.

A hinge turned around has its screws negated and in reverse order, and its frames swapped (formula F9):

    T_kp = outboard^-1 exp(-S_n q_n) ... exp(-S_1 q_1) inboard^-1
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from soacraft.analysis.underactuated import free_base
from soacraft.errors import ModelError
from soacraft.model.frame import Body, Carrier, Root
from soacraft.model.graph import Multibody
from soacraft.model.hinges import Free, Helical, Hinge, Pin, Prismatic, Screws, Spherical, Weld
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.properties import Limits, Passive
from soacraft.model.records import Actuator, Keyframe
from soacraft.model.state import State
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import adjoint
from soacraft.spatial.wrench import Wrench


class Reversed(NamedTuple):
    """A hinge turned around: `order[j]` is the old number of its dof j; how its coordinates and velocities turn."""

    hinge: Hinge
    order: list[int]

    def q(self, old: Hinge, q: Array) -> Array:
        """The coordinates that give the inverse pose."""
        if not isinstance(old, Spherical | Free):
            return q[self.order]
        pose = old.pose(q).inv
        turn = pose.as_quaternion()
        return turn if isinstance(old, Spherical) else np.concatenate([turn, pose.translation])

    def v(self, old: Hinge, q: Array, v: Array) -> Array:
        """The velocities, and as well the accelerations: V' = -Ad(T) V for a spherical or free hinge."""
        if not isinstance(old, Spherical | Free):
            return v[self.order]
        pose = old.pose(q)
        if isinstance(old, Spherical):
            return -pose.rotation @ v
        return -adjoint(pose.rotation, pose.translation) @ v


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
    turned = {outer: _reversed(outer) for outer in path[:-1]}
    renamed = {
        f"{outer.hinge_name}.{i}": f"{outer.hinge_name}.{j}"
        for outer, found in turned.items()
        for j, i in enumerate(found.order)
        if found.hinge.nv > 1
    }
    other = Multibody(mb.name, mb.gravity)
    _fixtures(mb.root, other.root)
    _add(other, new, None, Free(), Pose(), Pose(), old.hinge_name)
    for outer, inner in pairwise(path):  # inner now hangs from outer by outer's hinge, turned
        found = turned[outer]
        _add(other, inner, outer.name, found.hinge, outer.outboard.inv, outer.inboard.inv, outer.hinge_name)
        _hinge_numbers(other.body(inner.name), outer, found.order)
    for each in mb.bodies:
        if each not in path:
            assert not isinstance(each.parent, Root)
            _add(other, each, each.parent.name, each.hinge, each.inboard, each.outboard, each.hinge_name)
            _hinge_numbers(other.body(each.name), each, None)
    told_anew = [old, *(outer for outer in turned if isinstance(outer.hinge, Spherical | Free))]
    lost = {name for body in told_anew for name in mb.dof_names[body.v_slice]}
    _holdings(mb, other, renamed, lost, lambda state: _moved(mb, other, turned, new, state))
    return other


def _refuse_held_base(base: Body) -> None:
    """What acts between the inertial frame and one body cannot be told of another."""
    plain = base.passive == Passive().sized(base.hinge, "") and base.limits == Limits().sized(base.hinge, "")
    if base.armature.any() or not plain:
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


def _reversed(body: Body) -> Reversed:
    """The hinge of a body, turned around."""
    hinge = body.hinge
    order = list(range(hinge.nv))
    if type(hinge) is Pin:
        return Reversed(Pin(-hinge.axis), order)
    if type(hinge) is Prismatic:
        return Reversed(Prismatic(-hinge.axis), order)
    if type(hinge) is Helical:
        return Reversed(Helical(-hinge.axis, hinge.pitch), order)
    if isinstance(hinge, ScrewProduct):
        return Reversed(Screws([-screw for screw in reversed(hinge.vectors)]), order[::-1])
    if isinstance(hinge, Weld | Spherical | Free):
        return Reversed(hinge, order)
    raise ModelError(f"reroot: the hinge {hinge!r} of {body.name!r} cannot be turned around.")


def _add(
    other: Multibody, body: Body, parent: str | None, hinge: Hinge, inboard: Pose, outboard: Pose, name: str
) -> None:
    twin = other.add_body(body.name, parent, hinge, body.inertia, inboard, outboard, name)
    _fixtures(body, twin)


def _fixtures(one: Carrier, other: Carrier) -> None:
    for node in one.nodes:
        other.add_node(node.name, node.pose)
    for geometry in one.geometries:
        other.add_geometry(geometry)


def _hinge_numbers(twin: Body, old: Body, order: list[int] | None) -> None:
    """Armature, springs and limits go with the hinge; `order` is that of the dofs of a hinge turned around."""
    passive, limits = old.passive, old.limits
    if order is None:
        twin.armature, twin.passive, twin.limits = old.armature, passive, limits
        return
    if isinstance(old.hinge, Spherical | Free):
        _refuse_uneven(old)
    twin.armature = old.armature[order]
    rest = passive.rest[order] if passive.rest is not None and old.hinge.nq == old.hinge.nv else None
    twin.passive = Passive(passive.stiffness[order], passive.damping[order], passive.friction[order], rest)
    parts = (limits.lower, limits.upper, limits.velocity, limits.effort)
    twin.limits = Limits(*(x[order] for x in parts))


def _refuse_uneven(body: Body) -> None:
    """Turned around, the velocity of a spherical hinge is -R v and that of a free one -Ad(T) v: what is told dof by dof
    cannot be told again, unless it is the same for the three dofs of a spherical hinge."""
    passive, limits = body.passive, body.limits
    by_dof = [body.armature, passive.damping, passive.friction]
    bounds = [limits.lower, limits.upper, limits.velocity, limits.effort]
    if isinstance(body.hinge, Free):
        even = not any(x.any() for x in by_dof) and all(np.isinf(x).all() for x in bounds)
    else:
        even = all((x == x[0]).all() for x in by_dof + bounds)
    if passive.stiffness.any() or not even:
        raise ModelError(
            f"reroot: hinge {body.hinge_name!r} ({body.hinge!r}) would be turned around, but has springs, or armature, "
            "dampers, friction or limits that are not the same in all directions, which the turned hinge cannot have; "
            "take them away first."
        )


def _moved(mb: Multibody, other: Multibody, turned: dict[Body, Reversed], new: Body, state: State) -> tuple[Array, ...]:
    """q, v and vdot of the re-rooted model at a state of the old one."""
    q, v, vdot = (np.zeros(size) for size in (other.nq, other.nv, other.nv))
    q[:], index = other.neutral(), mb.layout.index[new]
    R, p = (x[index] for x in state.configuration.world)
    base = Pose(R, p)
    i, j = other.q_slice(new.name), other.v_slice(new.name)
    q[i] = [*base.as_quaternion(), *base.translation]
    v[j], vdot[j] = state.motion.V[index], state.alpha[index]
    for body in mb.bodies:
        if body.hinge_name == other.body(new.name).hinge_name:
            continue
        old_q, old_v, old_vdot = state.q[body.q_slice], state.v[body.v_slice], state.vdot[body.v_slice]
        found = turned.get(body)
        holder = body.parent.name if found is not None else body.name
        i, j = other.q_slice(holder), other.v_slice(holder)
        if found is None:
            q[i], v[j], vdot[j] = old_q, old_v, old_vdot
        else:
            q[i] = found.q(body.hinge, old_q)
            v[j], vdot[j] = (found.v(body.hinge, old_q, x) for x in (old_v, old_vdot))
    return q, v, vdot


def _refuse_actuator(actuator: Actuator, lost: set[str]) -> None:
    """No constant gear drives a dof whose velocity is now told in other axes."""
    for dof in actuator.gears:
        if dof in lost:
            raise ModelError(
                f"reroot: actuator {actuator.name!r} drives {dof!r}, a dof that is told in other axes from another "
                "base; take the actuator away first."
            )


def _holdings(
    mb: Multibody,
    other: Multibody,
    renamed: dict[str, str],
    lost: set[str],
    moved: Callable[[State], tuple[Array, ...]],
) -> None:
    """State, forces, closures and records on the frames and dofs of the same names; none on those that are lost."""
    other.set_state(*moved(mb.current))
    for frame, wrench in mb.acting_forces.items():
        axes = wrench.expressed_in
        other.set_force(
            frame.full_name, Wrench(wrench.moment, wrench.force, None if axes is None else axes.full_name)
        )
    for x in mb.loops:
        other.close_loop(x.name, x.a.full_name, x.b.full_name, x.hinge, x.active, x.attributes)
    for c in mb.couplings:
        terms = {renamed.get(dof, dof): term for dof, term in c.terms.items()}
        other.couple(c.name, terms, c.offset, c.active, c.attributes)
    for actuator in mb.actuators:
        _refuse_actuator(actuator, lost)
        gears = {renamed.get(dof, dof): gear for dof, gear in actuator.gears.items()}
        other.add_actuator(Actuator(actuator.name, actuator.kind, gears, actuator.attributes))
    for material in mb.materials:
        other.add_material(material)
    for key in mb.keyframes:
        q, v, _ = moved(mb.state(key.q, key.v))
        other.add_keyframe(Keyframe(key.name, q, v, key.attributes))
    for record in mb.records:
        other.add_record(record)
    other.import_report = mb.import_report
