"""`recut`: the same closed chain with another hinge of a loop as its closure.

Frame b is on a by the closure's hinge, and k_0, k_1, ... are the bodies from the end of the loop at b to the one whose
hinge is cut. In the new tree the parent of k_0 is a, by the closure's hinge, and that of each k_i is k_(i-1), by the
hinge between them, reversed (formula F9); the hinge of the last, between it and its old parent, closes the loop.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from soacraft.errors import LoopError, ModelError
from soacraft.kinematics.report import report
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tolerances import CLOSED, SAME, read_tolerance
from soacraft.model.flat.layout import dof_names
from soacraft.model.hinges import Free, Spherical
from soacraft.model.hinges.base import H_T_of, Hinge, bias_of
from soacraft.model.modal.data import ModalNode
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.hinge_fit import hinge_inverse
from soacraft.model.states.kinematics import node_bias, node_block, own_twist
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.model.tree.joining.copying import copy_attachments, copy_fixtures, copy_forces
from soacraft.model.tree.joining.rehanging import Hung, add_twin, part_of
from soacraft.model.tree.joining.turning import Turned, copy_hinge_numbers, has_hinge_numbers, renamed_dofs, turned
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.names import find_hinge
from soacraft.model.tree.parts.closures import Closure
from soacraft.model.tree.parts.records import Keyframe
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import crm


class Plan:
    """Hinge that is cut, and bodies that get another parent."""

    def __init__(self, mb: Multibody, loop: Closure, cut: Body, side: list[Body], at_a: bool) -> None:
        self.mb, self.loop, self.cut = mb, loop, cut
        path = side[: side.index(cut) + 1]
        self.turned = {body: turned("recut", body.hinge, repr(body.name)) for body in path[:-1]}
        """Reversed hinges, by the body that had the hinge."""
        self.closing = turned("recut", loop.hinge, f"loop {loop.name!r}") if at_a else None
        """The closure's hinge, if it too is turned around."""
        start, end = (loop.b, loop.a) if at_a else (loop.a, loop.b)
        hinge = loop.hinge if self.closing is None else self.closing.hinge
        nodes = start.modal_node, end.modal_node
        self.hung = {path[0]: Hung(start.carrier, hinge, start.offset, end.offset.inv, loop.name, *nodes)}
        """The bodies that get another parent."""
        for outer, inner in pairwise(path):
            self.hung[inner] = Hung.around(outer, self.turned[outer].hinge)

    def parent(self, body: Body) -> Carrier:
        """Parent of a body in the new tree."""
        return self.hung[body].parent if body in self.hung else body.parent

    def state(self, other: Multibody, state: State) -> tuple[Array, Array, Array]:
        """q, v and vdot of the new model at a state of the old one."""
        by_hinge = {body.hinge_name: body for body in self.mb.bodies}
        q, v, vdot = other.neutral(), np.zeros(other.nv), np.zeros(other.nv)
        for twin in other.bodies:
            at, same = part_of(twin), part_of(self.mb.body(twin.name))
            q[at.own_q] = state.q[same.own_q]
            v[at.own_v], vdot[at.own_v] = state.v[same.own_v], state.vdot[same.own_v]
            if twin.hinge_name == self.loop.name:
                q[at.q], v[at.v], vdot[at.v] = self._of_closure(state)
                continue
            old = by_hinge[twin.hinge_name]
            was = part_of(old)
            x, rates = state.q[was.q], (state.v[was.v], state.vdot[was.v])
            q[at.q], v[at.v], vdot[at.v] = _around(self.turned.get(old), old.hinge, x, *rates)
        return q, v, vdot

    def _of_closure(self, state: State) -> tuple[Array, ...]:
        """The closure's coordinates, their rates and accelerations: those nearest to what its frames do."""
        loop, hinge = self.loop, self.loop.hinge
        theta = Constraints(self.mb, state).theta[loop.name]
        X = self.mb.pose(loop.b, relative_to=loop.a, state=state).phi().T
        (V_a, alpha_a), (V_b, alpha_b) = (self._motion(frame, state) for frame in (loop.a, loop.b))
        xi = V_b - X @ V_a
        inverse = hinge_inverse(H_T_of(hinge, theta), measure_of(self.mb, np.asarray(state.q)).loops[loop.name])
        rate = inverse @ xi
        xidot = alpha_b - X @ alpha_a + crm(xi) @ X @ V_a
        return _around(self.closing, hinge, theta, rate, inverse @ (xidot - bias_of(hinge, theta, rate)))

    def _motion(self, frame: Frame, state: State) -> tuple[Array, Array]:
        """Velocity and acceleration of a frame in its own axes."""
        if not isinstance(frame.carrier, Body):
            return np.zeros(6), np.zeros(6)
        k, block = self.mb.layout.index[frame.carrier], node_block(state, frame)
        alpha = state.node_vectors(state.alpha, np.asarray(state.vdot))[k]
        return own_twist(state, frame), block @ alpha + node_bias(state, frame)


def recut(mb: Multibody, loop: Closure | str, hinge: Body | str, tolerance: float = CLOSED) -> Multibody:
    """Model of the same closed chain with `hinge`, one on the way around `loop`, as the closure, and the old closure as
    a hinge of the tree: a new model in the same state. O(n).

    The joints keep their names: the new closure has that of the hinge, the new hinge that of the closure. `hinge` is
    the name of a hinge, or its body. Bodies between the two ends have reversed hinges; flexible ones are held by the
    nodes that held others. All bodies have the same poses and velocities and, under the same forces, the same
    accelerations. Nodes, geometry, other loops and couplings stay; the cut hinge must have no part that only a hinge of
    the tree can have: armature, springs, dampers, friction, limits, actuators, couplings. The loop must be closed
    within `tolerance`, as for `report`; a keyframe in which it is open has its gap at the new closure.

    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    >>> mb.body("rod_2").limits = sc.Limits()
    >>> other = sc.loops.recut(mb, mb.loops[0], "free1")
    >>> other.loops[0]
    loop 'free1': 'rod_2' on 'rod/free1' by Pin(axis=(0, 0, 1))
    >>> mb.pose("rod_2").is_close(other.pose("rod_2"))
    True
    """
    if not isinstance(mb, Multibody):
        raise ModelError(f"recut takes a Multibody, got {mb!r:.80}; recut the whole model of a sub-graph.")
    closure = mb.loops.find(loop)
    plan = _plan(mb, closure, hinge)
    _refuse_open(mb, closure, read_tolerance(tolerance, "recut"))
    _refuse_lost(plan)
    other = Multibody(mb.name, mb.gravity)
    copy_fixtures(mb.root, other.root)
    for body in _parents_first(plan):
        _hang(plan, other, body)
    other.set_state(*plan.state(other, mb.current))
    _copy_rest(plan, other)
    return other


# -- what is cut -----------------------------------------------------------------------------------------------------


def _plan(mb: Multibody, loop: Closure, hinge: Body | str) -> Plan:
    if not loop.active:
        raise LoopError(f"recut: loop {loop.name!r} of {mb.name!r} is inactive; it closes nothing.")
    paths = [_path(frame.carrier) for frame in (loop.a, loop.b)]
    shared = set(paths[0]) & set(paths[1])
    sides = [[body for body in path if body not in shared] for path in paths]
    cut = _find(mb, hinge)
    for at_a, side in zip((True, False), sides, strict=True):
        if cut in side:
            return Plan(mb, loop, cut, side, at_a)
    around = ", ".join(repr(body.hinge_name) for body in (*sides[0], *reversed(sides[1])))
    raise LoopError(f"recut: hinge {cut.hinge_name!r} is not on loop {loop.name!r}, which goes by {around}.")


def _find(mb: Multibody, hinge: Any) -> Body:
    """A body by the name of its hinge, or itself; its own name does too."""
    cure = "sc.loops.cut(mb).loop(name) gives the hinges of a loop."
    return find_hinge(mb, hinge, lambda text: ModelError(f"recut: {text} {cure}"))


def _path(carrier: Carrier) -> list[Body]:
    """The bodies from a frame to the inertial one."""
    path: list[Body] = []
    while isinstance(carrier, Body):
        path.append(carrier)
        carrier = carrier.parent
    return path


# -- refusals --------------------------------------------------------------------------------------------------------


def _refuse_open(mb: Multibody, loop: Closure, tolerance: float) -> None:
    """Bodies stay where they are only if the old closure holds."""
    off = next(x for x in report(mb, tolerance=tolerance).violations if x.name == loop.name)
    if off.met:
        return
    gap = f"is open by {off.distance:.3g} m and {off.angle:.3g} rad"
    how = f"opens at {off.speed:.3g} (m/s or rad/s)" if off.closed else gap
    raise LoopError(
        f"recut: loop {loop.name!r} of {mb.name!r} {how}, so its bodies cannot all stay as they are. Close it first: "
        "s.assemble(q), s.project_velocity(q, v) of a solver s."
    )


def _refuse_lost(plan: Plan) -> None:
    """Refuse a cut that would lose parts of the hinge, or make two things of one name."""
    mb, cut, loop, name = plan.mb, plan.cut, plan.loop, plan.cut.hinge_name
    if cut.hinge.nv >= 6:
        raise LoopError(f"recut: hinge {name!r} ({cut.hinge!r}) leaves all six freedoms: cut, it closes nothing.")
    if has_hinge_numbers(cut):
        raise ModelError(
            f"recut: hinge {name!r} has armature, springs, dampers, friction or limits, which a closure cannot have; "
            "take them away first."
        )
    if any(body.hinge_name == loop.name for body in mb.bodies):
        raise ModelError(f"recut: {mb.name!r} has a hinge and a loop of the name {loop.name!r}; rename one.")
    if name in (*mb.loops.names, *mb.couplings.names):
        raise ModelError(f"recut: {mb.name!r} has a hinge and a loop or coupling of the name {name!r}; rename one.")
    gone = _dofs(cut)
    for coupling in mb.couplings:
        if dof := next((dof for dof in coupling.terms if dof in gone), None):
            raise ModelError(
                f"recut: dof {dof!r} is part of coupling {coupling.name!r}, so hinge {name!r} must stay in the tree."
            )
    for tendon in mb.tendons:
        if dof := next((dof for dof in tendon.terms if dof in gone), None):
            raise ModelError(
                f"recut: dof {dof!r} is part of tendon {tendon.name!r}, so hinge {name!r} must stay in the tree."
            )
    _refuse_actuators(plan)


def _refuse_actuators(plan: Plan) -> None:
    """Refuse actuators of the hinge that is cut, and of dofs that get other axes."""
    gone, name = _dofs(plan.cut), plan.cut.hinge_name
    anew = {dof for body in plan.turned if isinstance(body.hinge, Spherical | Free) for dof in _dofs(body)}
    for actuator in plan.mb.actuators:
        for dof in actuator.gears:
            if dof in gone:
                raise ModelError(
                    f"recut: actuator {actuator.name!r} drives {dof!r}, so hinge {name!r} must stay in the tree."
                )
            if dof in anew:
                raise ModelError(
                    f"recut: actuator {actuator.name!r} drives {dof!r}, a dof that has other axes once its "
                    "hinge is reversed; take the actuator away first."
                )


def _dofs(body: Body) -> tuple[str, ...]:
    return tuple(dof_names(body.hinge_name, body.hinge))


# -- the new model ---------------------------------------------------------------------------------------------------


def _parents_first(plan: Plan) -> list[Body]:
    """Bodies in the order of the old model, but each after its parent in the new one."""
    order: dict[Body, None] = {}
    for body in plan.mb.bodies:
        path: list[Body] = []
        carrier: Carrier = body
        while isinstance(carrier, Body) and carrier not in order:
            path.append(carrier)
            carrier = plan.parent(carrier)
        order.update(dict.fromkeys(reversed(path)))
    return list(order)


def _hang(plan: Plan, other: Multibody, body: Body) -> None:
    parent = plan.parent(body)
    twin = add_twin(other, body, plan.hung.get(body) or Hung.as_is(body))
    if body not in plan.hung:
        copy_hinge_numbers("recut", twin, body, None)
    elif isinstance(parent, Body) and parent in plan.turned:
        copy_hinge_numbers("recut", twin, parent, plan.turned[parent].order)


def _copy_rest(plan: Plan, other: Multibody) -> None:
    """Forces, closures and records on the frames and dofs of the same names; the new closure for the old."""
    mb, cut, loop = plan.mb, plan.cut, plan.loop

    def told(keyframe: Keyframe) -> Keyframe:
        q, v, _ = plan.state(other, mb.state(keyframe.q, keyframe.v))
        return Keyframe(keyframe.name, q, v, keyframe.attributes)

    copy_forces(mb, other)
    copy_attachments(mb, other, renamed_dofs(plan.turned), told)
    other.remove_loop(loop.name)
    a = _end(other, cut.parent, cut.inboard, cut.hinge_name, cut._rides)
    b = _end(other, cut, cut.outboard.inv, cut.hinge_name, cut._held)
    other.close_loop(cut.hinge_name, a, b, cut.hinge, True, loop.attributes)


def _end(other: Multibody, carrier: Carrier, pose: Pose, name: str, on: ModalNode | None) -> Frame:
    """The frame of the new model at a pose on a body: itself, a node that is there, or a new one; on a flexible body
    one that moves with a node of it."""
    twin = other.frame(carrier.name)
    assert isinstance(twin, Carrier)
    if on is None and pose.is_close(Pose(), SAME):
        return twin
    for node in twin.nodes:
        if node.modal_node is on and node.pose.is_close(pose, SAME):
            return node
    taken = {node.name for node in twin.nodes}
    while name in taken:
        name += "'"
    if on is None:
        return twin.add_node(name, pose)
    assert isinstance(twin, Body) and twin.modal is not None
    return twin.add_node(name, on.pose.inv @ pose, on=next(key for key, x in twin.modal.nodes.items() if x is on))


def _around(turned: Turned | None, old: Hinge, q: Array, *rates: Array) -> tuple[Array, ...]:
    """Coordinates and their rates, of the hinge turned around if it is."""
    if turned is None:
        return q, *rates
    return turned.q(old, q), *(turned.v(old, q, x) for x in rates)
