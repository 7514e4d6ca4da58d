"""The forces of springs and bushings between nodes, as wrenches on bodies and along the dofs; batches at once.

    spring     L = sum of |p(i+1) - p(i)| over its nodes, its tension (`soacraft.model.flat.laws`) pulls each node
               towards its neighbours
    bushing    x = log(rest^-1 X_ab),  xdot = J(x) nu,  f_b = -J(x)* (K x + D xdot),  f_a = -phi(X_ab) f_b

on a flexible body a node also moves with the modes, and a wrench on it acts along them, Pi* f; with X_ab the pose of
node b relative to node a, nu the twist of b relative to a at b in its axes, and J the rate of the logarithm
(`se3_log_rate`). The energy is that of the tension's law and x* K x / 2; dampers only take energy away. Along the dofs
they give J* f. This is the specification of `rigid/links.hpp` of the core.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat import laws
from soacraft.model.flat.layout import Ends, Layout
from soacraft.model.flat.realize import times
from soacraft.model.modal.bodies import WithModes
from soacraft.model.states.coordinates import Forces
from soacraft.model.states.kinematics import modal_block, pose_in_body
from soacraft.model.tree.parts.springs import Spring
from soacraft.spatial.checks import Array
from soacraft.spatial.differences import STENCIL
from soacraft.spatial.rotations import cross
from soacraft.spatial.transforms import se3_log, se3_log_rate
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.states.state import State

#: The largest step of these differences, in radians and lengths of the model: seventh root of rounding, and a margin.
_STEP = 2e-3
#: Steps are this many times shorter than a spring, or than the way to where it gets slack or a bushing turns over.
#: Where they would be shorter than the least one, on which rounding is 1e-9, there is no derivative to be told.
_APART, _LEAST = 40.0, 1e-7
#: Radians from half a turn in which a bushing has no force: x and -x are one place there. As HALF_A_TURN of the core.
_HALF_A_TURN = 4e-6


class Moving(NamedTuple):
    """Ends at a state: rotations and places in the inertial frame, turning and travelling in their own axes; and
    where they are on their bodies."""

    R: Array
    p: Array
    w: Array
    v: Array
    on: Ends


def moving(state: State) -> Moving:
    """Poses and twists of the nodes of all springs and bushings."""
    ends, own = _bent(state, state.configuration.layout.link_ends)
    R, p = state.configuration.world
    V = state.motion.V
    shape = np.broadcast_shapes(p.shape[:-2], V.shape[:-2])
    R = np.concatenate([np.broadcast_to(R, (*shape, *R.shape[-3:])), np.broadcast_to(np.eye(3), (*shape, 1, 3, 3))], -3)
    p = np.concatenate([np.broadcast_to(p, (*shape, *p.shape[-2:])), np.zeros((*shape, 1, 3))], -2)
    V = np.concatenate([np.broadcast_to(V, (*shape, *V.shape[-2:])), np.zeros((*shape, 1, 6))], -2)
    k, turn = ends.bodies, ends.R.mT
    w = V[..., k, :3]
    v = V[..., k, 3:] + cross(w, ends.at)
    R_k = R[..., k, :, :]
    R_e, p_e = R_k @ ends.R, p[..., k, :] + times(R_k, ends.at)
    return Moving(R_e, p_e, times(turn, w) + own[..., :3], times(turn, v) + own[..., 3:], ends)


def _bent(state: State, ends: Ends) -> tuple[Ends, Array]:
    """The nodes with those of flexible bodies where the modes have them, and their twists by the modes, at each in its
    axes."""
    layout, flex = state.configuration.layout, state.configuration.flex
    if flex is None or not layout.bent_ends:
        return ends, np.zeros(6)
    lead = np.broadcast_shapes(state.configuration.q.shape[:-1], state.motion.v.shape[:-1])
    R, at = (np.array(np.broadcast_to(x, (*lead, *x.shape))) for x in (ends.R, ends.at))
    own = np.zeros((*lead, len(ends.bodies), 6))
    for i in layout.bent_ends:
        frame = layout.link_frames[i]
        R[..., i, :, :], at[..., i, :] = pose_in_body(state, frame)
        own[..., i, :] = times(modal_block(state, frame), flex.rates(state.motion.v, int(ends.bodies[i])))
    return Ends(ends.bodies, R, at), own


def wrenches(state: State, tensions: Array | None = None) -> WithModes:
    """[moment; force] of all springs and bushings on each body, at its origin in its axes, (..., n, 6), and along its
    modes. `tensions` of the springs are those of their laws, or given, (..., springs)."""
    layout = state.configuration.layout
    at, on_ends = _on_ends(state, tensions)
    ends = at.on
    moment, force = times(ends.R, on_ends[..., :3]), times(ends.R, on_ends[..., 3:])
    on_bodies = np.concatenate([moment + cross(ends.at, force), force], axis=-1)
    total = np.zeros((*on_bodies.shape[:-2], layout.n + 1, 6))  # the last one is the inertial frame
    for i, k in enumerate(ends.bodies.tolist()):
        total[..., k, :] += on_bodies[..., i, :]
    modes: dict[int, Array] = {}
    for i in layout.bent_ends:
        k = int(ends.bodies[i])
        modes[k] = modes.get(k, 0.0) + times(modal_block(state, layout.link_frames[i]).mT, on_ends[..., i, :])
    return WithModes(total[..., :-1, :], modes)


def _on_ends(state: State, tensions: Array | None) -> tuple[Moving, Array]:
    """The nodes, and the wrenches on them, at each in its axes."""
    layout, at = state.configuration.layout, moving(state)
    return at, np.concatenate([_of_springs(layout, at, tensions), _of_bushings(layout, at)], axis=-2)


class Line(NamedTuple):
    """A spring at a state: its parts as vectors with their directions and rates, its length and the rate of that."""

    here: slice
    parts: Array
    directions: Array
    rates: Array
    length: Array
    rate: Array


def _lines(layout: Layout, at: Moving) -> Iterator[tuple[Spring, Line]]:
    """All springs; `here` is which of the ends are its nodes."""
    velocity = times(at.R, at.v)
    start = 0
    for spring in layout.springs:
        here = slice(start, start + len(spring.nodes))
        d, rates = np.diff(at.p[..., here, :], axis=-2), np.diff(velocity[..., here, :], axis=-2)
        lengths = np.sqrt(np.sum(d * d, axis=-1))
        u = d / np.where(lengths > 0.0, lengths, 1.0)[..., None]
        yield spring, Line(here, lengths, u, rates, lengths.sum(axis=-1), np.sum(u * rates, axis=(-2, -1)))
        start = here.stop


def _of_springs(layout: Layout, at: Moving, tensions: Array | None) -> Array:
    """Wrenches on the nodes of springs, in node axes."""
    found = np.zeros((*at.p.shape[:-2], layout.spring_nodes, 6))
    for i, (spring, line) in enumerate(_lines(layout, at)):
        tension = _tension(spring, line) if tensions is None else tensions[..., i]
        pull = tension[..., None, None] * line.directions
        force = np.zeros((*pull.shape[:-2], len(spring.nodes), 3))
        force[..., :-1, :] += pull
        force[..., 1:, :] -= pull
        found[..., line.here, 3:] = times(at.R[..., line.here, :, :].mT, force)
    return found


def _tension(spring: Spring, line: Line) -> Array:
    """Tension by the law of a spring; refused where it pulls without a direction."""
    none = line.parts <= 0.0
    parting = none & (np.sum(line.rates * line.rates, axis=-1) > 0.0) if spring.is_damped else none & False
    held = np.where(none.any(axis=-1), laws.elastic(spring, line.length), 0.0)
    if held.any() or parting.any():
        why = "its damper moves" if parting.any() else f"it pulls with {float(np.abs(held).max()):g} N there"
        raise StateError(
            f"spring {spring.name!r} has no direction: two of its nodes are at one point, and {why}. Move them "
            "apart, or give it a length and damping of 0."
        )
    return laws.tension(spring, line.length, line.rate)


def _of_bushings(layout: Layout, at: Moving) -> Array:
    """Wrenches on the nodes of bushings, first all a, then all b, in node axes."""
    count = len(layout.bushings)
    if not count:
        return np.zeros((*at.p.shape[:-2], 0, 6))
    x, R, p, nu = _relative(layout, at)
    _refuse_half_a_turn(layout, x)
    K, D = (np.array([getattr(b, what) for b in layout.bushings]) for what in ("stiffness", "damping"))
    J = se3_log_rate(x)
    on_b = -times(J.mT, times(K, x) + times(D, times(J, nu)))
    moment, force = times(R, on_b[..., :3]), times(R, on_b[..., 3:])
    return np.concatenate([-np.concatenate([moment + cross(p, force), force], axis=-1), on_b], axis=-2)


def _refuse_half_a_turn(layout: Layout, x: Array) -> None:
    """Refuse a displacement x (..., bushings, 6) that turns by pi: w and -w are equally near there, and the force is
    either.
    """
    turn = np.linalg.norm(x[..., :3], axis=-1)
    over = turn > np.pi - _HALF_A_TURN
    if over.any():
        i = int(np.flatnonzero(over.reshape(-1, over.shape[-1]).any(axis=0))[0])
        name, angle = layout.bushings[i].name, float(turn[..., i].max())
        raise StateError(
            f"bushing {name!r} is turned by half a turn from its rest, {angle:.7g} rad, where its force changes sides "
            "and has no value. Move the state, or let its rest be nearer; about one axis, a spring of a hinge counts "
            "whole turns (body.passive)."
        )


def _relative(layout: Layout, at: Moving) -> tuple[Array, Array, Array, Array]:
    """The logarithm of each bushing's displacement, the pose of b relative to a, and its twist in the axes of b."""
    count, start = len(layout.bushings), layout.spring_nodes
    (Ra, pa, wa, va), (Rb, pb, wb, vb) = (
        (at.R[..., s, :, :], at.p[..., s, :], at.w[..., s, :], at.v[..., s, :])
        for s in (slice(start, start + count), slice(start + count, start + 2 * count))
    )
    R, p = Ra.mT @ Rb, times(Ra.mT, pb - pa)
    nu = np.concatenate([wb - times(R.mT, wa), vb - times(R.mT, va + cross(wa, p))], axis=-1)
    rest_R = np.array([b.rest.rotation for b in layout.bushings]).mT
    rest_p = np.array([b.rest.translation for b in layout.bushings])
    return se3_log(rest_R @ R, times(rest_R, p - rest_p)), R, p, nu


def energy(state: State) -> Array:
    """Energy of all springs and bushings, (...)."""
    layout = state.configuration.layout
    at = moving(state)
    total = np.zeros(at.p.shape[:-2])
    for spring, line in _lines(layout, at):
        total = total + laws.energy(spring, line.length)
    if layout.bushings:
        x = _relative(layout, at)[0]
        _refuse_half_a_turn(layout, x)
        K = np.array([b.stiffness for b in layout.bushings])
        total = total + 0.5 * np.sum(x * times(K, x), axis=(-2, -1))
    return np.asarray(total)


def forces(state: State) -> Forces:
    """Wrenches as forces at the bodies they act on; at the nodes of flexible ones."""
    layout = state.configuration.layout
    if not layout.has_links:
        return ()
    f = _finite_wrenches(state).bodies
    touched = sorted({k for k in layout.link_ends.bodies.tolist() if k >= 0} - set(layout.flexible))
    at_bodies = tuple((layout.bodies[k], Wrench(f[..., k, :3], f[..., k, 3:])) for k in touched)
    if not layout.bent_ends:
        return at_bodies
    on_ends = _on_ends(state, None)[1]
    return at_bodies + tuple(
        (layout.link_frames[i], Wrench(on_ends[..., i, :3], on_ends[..., i, 3:])) for i in layout.bent_ends
    )


def _finite_wrenches(state: State, tensions: Array | None = None) -> WithModes:
    layout = state.configuration.layout
    with np.errstate(all="ignore"):
        f = wrenches(state, tensions)
    if not all(np.isfinite(x).all() for x in (f.bodies, *f.modes.values())):
        named = [x.name for x in layout.springs] + [x.name for x in layout.bushings]
        names = ", ".join(map(repr, named[:4]))
        raise StateError(
            f"the springs and bushings of {state.graph.name!r} ({names}) give no finite force here: |q| is up to "
            f"{float(np.abs(state.configuration.q).max(initial=0.0)):.3g}. Give coordinates in the range of the model."
        )
    return f


def along_dofs(state: State, tensions: Array | None = None) -> Array:
    """Wrenches projected to one generalized force J* f, (..., nv). O(n)."""
    return state.configuration.projected(_finite_wrenches(state, tensions))


def _require_smooth(state: State, length: float) -> float:
    """Distance, in radians and lengths of the model, that nodes of springs may move before one has no direction or a
    bushing turns over; raises where that, or the end of a slack range, is here.
    """
    layout = state.configuration.layout
    at = moving(state)
    corners: list[tuple[float, str]] = []
    turns: list[tuple[float, str]] = []
    for spring, line in _lines(layout, at):
        if not spring.is_plain:
            turns.append((float(line.parts.min()) / length, f"two nodes of spring {spring.name!r} are at one point"))
        for end in {x for x in spring.rest if x > 0.0} if spring.rest[0] != spring.rest[1] else ():
            corners.append((abs(float(line.length) - end) / length, f"spring {spring.name!r} gets slack at {end:g} m"))
    for bushing, x in zip(layout.bushings, _relative(layout, at)[0] if layout.bushings else (), strict=False):
        turns.append((float(np.pi - np.linalg.norm(x[:3])), f"bushing {bushing.name!r} turns over at half a turn"))
    margin, where = min(corners + turns, default=(np.inf, ""))
    if margin < _APART * _LEAST:
        raise StateError(
            f"there is no derivative here: {where}, {margin:.1e} of a radian or of the length of {state.graph.name!r} "
            "away. Move the state a little."
        )
    return min(turns, default=(np.inf, ""))[0]


def derivatives(state: State, sizes: Array, length: float) -> tuple[Array, Array]:
    """Derivatives of `along_dofs` along the dofs and in v, (nv, nv) each, at one state. With g = -dL/dq the force along
    the dofs of a tension of 1,

        d(g T)/dq = dg/dq T + g (T_L dL/dq + T_Ldot dLdot/dq),     d(g T)/dv = g T_Ldot dL/dq

    T_L and T_Ldot are those of the law, however it bends. What bends smoothly, g, Ldot and bushings, is by differences
    of order six with steps relative to `sizes`, what a dof is measured by (nv), in a model of this length.
    """
    graph, c, nv = state.graph, state.configuration, state.graph.nv
    steps = min(_STEP, _require_smooth(state, length) / _APART) * sizes
    layout = c.layout
    here = [(x, line, _tension(x, line)) for x, line in _lines(layout, moving(state))]
    T = np.array([tension for _, _, tension in here])
    q, v = (np.broadcast_to(x, (nv, x.shape[-1])) for x in (c.q, state.motion.v))

    def at(moved: Array, rates: Array) -> tuple[Array, Array]:
        """The force at the tensions of here, and the rates of the springs' lengths."""
        other = graph.current.replace(q=moved, v=rates, forces=())
        grow = [line.rate for _, line in _lines(layout, moving(other))]
        return along_dofs(other, T), np.array([np.broadcast_to(x, nv) for x in grow]).reshape(-1, nv)

    dq, dv, rate_in_q = np.zeros((nv, nv)), np.zeros((nv, nv)), np.zeros((len(T), nv))
    for i, weight in STENCIL:
        d = np.diag(i * steps)
        ahead, behind = at(graph.integrate(q, d), v), at(graph.integrate(q, -d), v)
        dq += weight * (ahead[0] - behind[0])
        rate_in_q += weight * (ahead[1] - behind[1])
        dv += weight * (at(q, v + d)[0] - at(q, v - d)[0])
    dq, dv, rate_in_q = (dq / steps[:, None]).mT, (dv / steps[:, None]).mT, rate_in_q / steps
    for i, (spring, line, _) in enumerate(here):
        stiffness, damping = laws.slopes(spring, line.length, line.rate)
        g = along_dofs(state, np.eye(len(T))[i]) - along_dofs(state, np.zeros(len(T)))
        dq += np.outer(g, damping * rate_in_q[i] - stiffness * g)
        dv -= damping * np.outer(g, g)
    return dq, dv
