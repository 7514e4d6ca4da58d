"""`plastic_impact`: bodies that meet and stay together: capture, docking, grasp.

The relative velocity u = G v of the joined bodies vanishes by an impulse p along the same rows; closures that hold
already go on holding, as rows of the same problem (EQUATIONS 4.6):

    S p = -u,   S = G Mcal^-1 G* = Q B* Omega B Q*,   v+ = v + Mcal^-1 G* p,   energy lost = 1/2 u* S^-1 u  (Carnot)

Impulses along rows alone act between bodies of the model, so the momentum of a model that nothing fixes is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import LoopError, ModelError, SingularError, near
from soacraft.kinematics.rows import Constraints, loop_rows
from soacraft.loops import Solver
from soacraft.model.sizes.measure import CLOSED, measure_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure
from soacraft.spatial.checks import Array

#: Directions whose compliance is this part of the largest, in units of each row's own, are ones that nothing moves.
_STIFF = 1e-13
#: Largest remaining relative velocity, in the same units.
_LEFT = 1e-8
#: Motions of two frames relative to these are rounding below this, where they cancel.
_CANCELLED = 1e-12


@dataclass(frozen=True, eq=False)
class PlasticImpact:
    """Result of an impact: velocities after it, impulses, and the energy lost."""

    v: Array
    """Velocities after, (nv)."""
    impulses: dict[str, Array]
    """Impulse of each joint, by its name: [moment; force] on its second frame, at that frame's origin, in inertial
    axes, in N m s and N s. Couplings have their one generalized impulse."""
    energy_lost: float
    """Kinetic energy before less that after, in J: 1/2 u* S^-1 u, never negative."""
    before: dict[str, Array]
    """The relative velocities u that ended, along the rows of each joint."""
    residual: float
    """Remaining relative velocities, in units of the compliance of each row."""
    unique: bool
    """False where other impulses give the same motion: then these are the ones of least norm."""

    def __repr__(self) -> str:
        unique = "" if self.unique else ", impulses not unique: least norm"
        return f"<PlasticImpact of {', '.join(self.impulses)}: {self.energy_lost:.6g} J lost{unique}>"


@dataclass(frozen=True, eq=False)
class _Joint:
    name: str
    G: Array
    """(rows, nv)."""
    wrench: Array
    """(6, rows): from impulses of the rows to that on the second frame."""


def plastic_impact(
    mb: Multibody | Solver, *joined: str | Closure | tuple[Frame | str, Frame | str], q: Any = None, v: Any = None
) -> PlasticImpact:
    """Velocities after bodies have joined, at a state (default: the model's own). The model is not changed.

    `joined`: a pair of bodies or nodes, which become fixed to each other as they are; or a loop closure of the model,
    by name, active or not, whose hinge goes on moving; several at once are one impact. Closures and couplings that are
    active hold. A closure must be closed where it joins. A solver of `sc.loops` is taken as its model.

    Cost: a forward sweep a row, and the cube of the rows.

    A probe of 1 kg at 3 m/s is caught by a satellite of 2 kg at rest; both go on at 1 m/s:

    >>> import soacraft as sc
    >>> mb = sc.Multibody(gravity=(0, 0, 0))
    >>> for name, mass in (("probe", 1.0), ("satellite", 2.0)):
    ...     _ = mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass))
    >>> mb.set_state([0.0, 0.0], [3.0, 0.0])
    >>> r = sc.contact.plastic_impact(mb, ("probe", "satellite"))
    >>> r.v.round(9), round(r.energy_lost, 9), r.impulses["probe - satellite"].round(9) + 0.0
    (array([1., 1.]), 3.0, array([0., 0., 0., 2., 0., 0.]))
    """
    graph = mb.graph if isinstance(mb, Solver) else mb
    if not isinstance(graph, Multibody):
        raise ModelError(f"plastic_impact takes a Multibody or a solver of one, got {mb!r:.60}.")
    if not joined:
        raise ModelError("plastic_impact needs the parts to join: a pair of bodies or nodes, or the name of a closure.")
    current = graph.current
    state = graph.state(current.q if q is None else q, current.v if v is None else v)
    if state.batch:
        raise ModelError(f"plastic_impact takes one state, got a batch {state.batch}.")
    joints = [_read(graph, state, x) for x in joined]
    names = [x.name for x in joints]
    for name in names:
        if names.count(name) > 1:
            raise ModelError(f"{name!r} is joined twice; name it once.")
    joints += [x for x in _held(graph, state) if x.name not in names]
    return _solve(graph, state, joints)


def _solve(graph: Graph, state: State, joints: Sequence[_Joint]) -> PlasticImpact:
    G = np.vstack([x.G for x in joints])
    q, v = np.asarray(state.q), np.asarray(state.v)
    X = np.asarray(dyn.mass_matrix_solve(graph, q, G, ignore_loops=True))  # Mcal^-1 G*, by rows
    S = G @ X.T
    root = np.sqrt(np.diagonal(S).clip(0.0))
    unit = np.where(root > 0.0, root, 1.0)
    values, vectors = np.linalg.eigh(S / np.outer(unit, unit))
    stiff = values > _STIFF * max(float(values[-1]), 1.0)
    u = G @ v
    p, after = np.zeros(len(u)), v
    for _ in range(2):  # the second refines the first
        along = vectors.T @ ((G @ after) / unit)
        p = p - (vectors[:, stiff] @ (along[stiff] / values[stiff])) / unit
        after = v + p @ X
    residual = float(np.abs(G @ after / unit).max(initial=0.0))
    size = float((np.abs(G) @ np.abs(v) / unit).max(initial=0.0))
    if residual > _LEFT * size:
        raise SingularError(
            f"the impulses of {', '.join(repr(x.name) for x in joints)} leave {residual / size:.2e} of the relative "
            "velocity: at this state the rows are nearly dependent; join fewer, or by a hinge with more freedom."
        )
    ends = np.cumsum([0, *(len(x.G) for x in joints)])
    parts = [slice(a, b) for a, b in pairwise(ends)]
    return PlasticImpact(
        after,
        {x.name: x.wrench @ p[part] for x, part in zip(joints, parts, strict=True)},
        max(-0.5 * float(p @ u), 0.0),
        {x.name: u[part] for x, part in zip(joints, parts, strict=True)},
        residual / size if size else 0.0,
        bool(stiff.all()),
    )


def _read(graph: Multibody, state: State, joined: Any) -> _Joint:
    """The rows of what is joined."""
    if isinstance(joined, Closure):
        joined = joined.name
    if isinstance(joined, str):
        closures = {x.name: x for x in graph.loops}
        if joined not in closures:
            raise ModelError(f"{graph.name!r} has no closure {joined!r:.60}{near(joined, sorted(closures))}")
        closure = closures[joined]
        measure = measure_of(graph, np.asarray(state.q))
        rows = loop_rows(graph, state, closure, measure.loops.get(joined, measure.length))
        if rows.opening > CLOSED:
            raise LoopError(
                f"closure {joined!r} is open by {rows.angle:.3g} rad and {rows.distance:.3g} m where it joins; bring "
                "its frames together first (`assemble` of a solver of sc.loops), or join bodies as they are: (a, b)."
            )
        return _joint(graph, state, joined, closure.a, closure.b, rows.Q)
    if isinstance(joined, tuple) and len(joined) == 2:
        a, b = (x if isinstance(x, Frame) else graph.frame(x) for x in joined)
        if a.carrier is b.carrier:
            raise ModelError(f"{a.full_name!r} and {b.full_name!r} are of one body, joined already; give two bodies.")
        return _joint(graph, state, f"{a.full_name} - {b.full_name}", a, b, np.eye(6))
    raise ModelError(f"plastic_impact joins (body, body) or a closure by name, got {joined!r:.60}.")


def _joint(graph: Multibody, state: State, name: str, a: Frame, b: Frame, Q: Array) -> _Joint:
    """The rows Q xi, xi = [w_b - w_a; v_b - v_a - w_a x (p_b - p_a)] in the axes of b."""
    (_, p_a), (R_b, p_b) = pose_of_frame(state, a), pose_of_frame(state, b)
    J_a, J_b = (_jacobian(graph, state, x) for x in (a, b))
    carried = np.concatenate([J_a[:3], J_a[3:] + np.cross(J_a[:3], (p_b - p_a)[:, None], axis=0)])
    axes = np.kron(np.eye(2), R_b)
    G = Q @ axes.T @ (J_b - carried)
    # the remainder where the two cancel is rounding, and no impulse acts along it
    length = measure_of(graph, np.asarray(state.q)).length
    turns = sum(np.linalg.norm(x[:3], axis=0) for x in (J_a, J_b))
    slides = sum(np.linalg.norm(x[3:], axis=0) for x in (carried, J_b)) + length * turns
    most = np.outer(np.linalg.norm(Q[:, :3], axis=1), turns) + np.outer(np.linalg.norm(Q[:, 3:], axis=1), slides)
    G[np.abs(G) <= _CANCELLED * most] = 0.0
    return _Joint(name, G, axes @ Q.T)


def _jacobian(graph: Multibody, state: State, frame: Frame) -> Array:
    """[angular; linear] in inertial axes, (6, nv)."""
    if not isinstance(frame.carrier, Body):
        return np.zeros((6, graph.nv))
    return np.asarray(dyn.jacobian(graph, state.q, [frame], ignore_loops=True)).reshape(6, graph.nv)


def _held(graph: Multibody, state: State) -> list[_Joint]:
    """Joints that tie the model already."""
    if not graph.is_closed:
        return []
    rows = Constraints(graph, state)
    joints = [_joint(graph, state, x.name, x.closure.a, x.closure.b, x.Q) for x in rows.loops]
    for coupling in rows.couplings:
        G = np.zeros((1, graph.nv))
        for dof, rate in coupling.rates.items():
            G[0, dof] = rate
        joints.append(_Joint(coupling.name, G, np.eye(1)))
    return joints
