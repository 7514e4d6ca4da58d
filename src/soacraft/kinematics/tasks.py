"""One state of a closed chain and what acts on it: the arguments of a solver, read, checked and laid out by state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError, SoacraftError, StateError
from soacraft.kinematics.complement import complement
from soacraft.kinematics.rows import Constraints, CouplingRow, LoopRows, seen_from
from soacraft.kinematics.tolerances import ALIGNED
from soacraft.model.flat.passive import springs_and_dampers
from soacraft.model.flat.sko import SKOModel
from soacraft.model.hinges.base import H_T_of, Hinge, derivative_of_H_T_of
from soacraft.model.states.coordinates import Forces, common_batch
from soacraft.model.states.kinematics import own_twist
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.parts.closures import Coupling
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

Drives = dict[str, tuple[Array, Array]]
T = TypeVar("T")

#: Prefix of the name of the row of a prescribed dof.
PRESCRIBED = "prescribed "
#: Squares of larger numbers overflow.
_LARGEST = 1e150


@dataclass(frozen=True, eq=False)
class Task:
    """One state: its rows, the generalized force, external forces and the rates of driven closures.

    `passive`: the springs and dampers of the model act too; gravity compensation is then among `forces`.
    """

    rows: Constraints
    force: Array
    forces: Forces
    drives: Drives
    passive: bool = False

    @property
    def graph(self) -> Graph:
        """The graph."""
        return self.rows.graph

    @property
    def state(self) -> State:
        """The state, without external forces."""
        return self.rows.state

    @cached_property
    def besides(self) -> Array:
        """Force of springs and dampers, added to the applied force, (nv)."""
        return springs_and_dampers(self.state) if self.passive else np.zeros(self.graph.nv)

    @cached_property
    def acting(self) -> Array:
        """The force with what springs and dampers add to it, (nv)."""
        return np.asarray(self.force + self.besides)

    @cached_property
    def strain(self) -> Array:
        """Elastic force of flexible bodies along their modes, K eta + D d eta/dt, (nv)."""
        layout, flex, force = self.graph.layout, self.state.configuration.flex, np.zeros(self.graph.nv)
        for k in layout.flexible:
            assert flex is not None
            data, modes = layout.modal(k), slice(layout.hinge_v[k].stop, layout.v_slices[k].stop)
            assert data.D is not None
            force[modes] = data.K @ flex.eta(k) + data.D @ flex.rates(self.state.v, k)
        return force

    @cached_property
    def sko(self) -> SKOModel:
        """The SKO model in body axes, with a and b; gravity and external forces are in b."""
        return self.state.sko("body", self.forces)

    @cached_property
    def U(self) -> Array:
        """Right-hand side of Gc v = U, (m): zero but for driven closures."""
        return self._driven(lambda loop, u, udot: loop.Q @ _turned(loop.R_ab.T, u), 0)

    @cached_property
    def Udot(self) -> Array:
        """Right-hand side of Gc vdot + Gcdot v = Udot, (m): d/dt of Q R_ba u, the axes of a turning as seen from b."""

        def rate(loop: LoopRows, u: Array, udot: Array) -> Array:
            seen = _turned(loop.R_ab.T, u)
            w = _relative_turning(self.state, loop)
            turning = np.concatenate([np.cross(w, seen[:3]), np.cross(w, seen[3:])])
            return np.asarray(loop.Q @ (_turned(loop.R_ab.T, udot) - turning))

        return self._driven(rate, 1)

    def _driven(self, of_loop: Any, which: int) -> Array:
        x = np.zeros(self.rows.size)
        if not self.drives:
            return x
        kinds: list[LoopRows | CouplingRow] = [*self.rows.loops, *self.rows.couplings]
        for row, (name, place) in zip(kinds, self.rows.places, strict=True):
            if name in self.drives:
                pair = self.drives[name]
                x[place] = of_loop(row, *pair) if isinstance(row, LoopRows) else pair[which]
        return x

    def with_prescribed(self, dofs: list[int], vdot: Array) -> Task:
        """Task with a row `vdot_i = given` for each of some dofs, as if each were a driven coupling."""
        names = self.graph.dof_names
        couplings = [Coupling(PRESCRIBED + names[i], {names[i]: (1.0,)}) for i in dofs]
        unit = 1.0 / self.rows.measure.dofs
        extra = [CouplingRow(x, {i: 1.0}, 0.0, 0.0, unit[i]) for x, i in zip(couplings, dofs, strict=True)]
        drives = {x.name: (self.state.v[i], vdot[i]) for x, i in zip(couplings, dofs, strict=True)}
        return replace(self, rows=self.rows.with_couplings(extra), drives={**self.drives, **drives})


def refuse_large(graph: Graph, name: str, x: Array) -> None:
    """Raise `StateError` for numbers whose squares overflow."""
    if np.abs(x).max(initial=0.0) > _LARGEST:
        raise StateError(
            f"{name} of {graph.name!r} is too large to work with: {np.abs(x).max():.3g}; a solver takes numbers up to "
            f"{_LARGEST:g}."
        )


def states_of(p: Problem) -> Iterator[tuple[State, dict[str, Array], Forces]]:
    """Each state of a batch, with its part of the given arrays and of the external forces."""
    current = p.graph.current
    full = {name: p.full(name) for name in p.given}
    for i in np.ndindex(*p.batch):
        one = {name: x[i] for name, x in full.items()}
        state = current.replace(q=one["q"], v=one.get("v", np.zeros(p.nv)), vdot=np.zeros(p.nv), forces=())
        yield state, one, tuple((frame, _one_wrench(wrench, p.batch, i)) for frame, wrench in p.forces)


@contextmanager
def in_state(batch: tuple[int, ...], i: tuple[int, ...]) -> Iterator[None]:
    """Errors in here say which state of a batch they are about."""
    try:
        yield
    except SoacraftError as error:
        if not batch:
            raise
        number = i[0] if len(i) == 1 else tuple(map(int, i))
        raise type(error)(f"in state {number} of the batch: {error}") from error


def for_each(p: Problem, drives: list[Drives], work: Callable[[State, dict[str, Array], Forces, Drives], T]) -> list[T]:
    """Results of `work` for every state of a batch, in order."""
    results = []
    for i, (state, one, forces), driven in zip(np.ndindex(*p.batch), states_of(p), drives, strict=True):
        with in_state(p.batch, i):
            results.append(work(state, one, forces, driven))
    return results


def read_drives(p: Problem, U: Any) -> tuple[Problem, list[Drives]]:
    """`{name: (u, udot)}`: of a loop the twist of b seen from a, at b in the axes of a, and its rate, (..., 6) each; of
    a coupling two numbers, (...). Leading axes join those of the other arguments: the problem with all of them, and
    the drives of each of its states.
    """
    by_name = _read_drives(p.graph, U)
    if not by_name:
        return p, [{}] * math.prod(p.batch)
    arrays = {f"{what} of {name!r}": pair[i] for name, pair in by_name.items() for i, what in enumerate(("u", "udot"))}
    p = replace(p, batch=common_batch(**{"the other arguments": np.empty((*p.batch, p.nv))}, **arrays))
    full = {name: [np.broadcast_to(x, (*p.batch, x.shape[-1])) for x in pair] for name, pair in by_name.items()}
    return p, [{name: (u[i], udot[i]) for name, (u, udot) in full.items()} for i in np.ndindex(*p.batch)]


def _read_drives(graph: Graph, U: Any) -> Drives:
    """The arrays as they are given, those of couplings with a last axis of one entry."""
    if U is None:
        return {}
    if not isinstance(U, Mapping):
        raise StateError(f"U of {graph.name!r} is given as {{name: (u, udot)}}, got {U!r:.60}.")
    drives: Drives = {}
    loops = {x.name: x for x in graph.loops if x.active}
    couplings = {x.name for x in graph.couplings if x.active}
    for name, pair in U.items():
        if name not in loops and name not in couplings:
            listed = ", ".join(map(repr, [*loops, *couplings])) or "none"
            raise LoopError(f"U names {name!r:.60}, but the active loops and couplings of {graph.name!r} are {listed}.")
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise StateError(f"U of {name!r} must be a pair (u, udot), got {pair!r:.60}.")
        shape = (..., 6) if name in loops else (...,)
        u, udot = (finite(pair[i], shape, f"{what} of {name!r}", StateError) for i, what in enumerate(("u", "udot")))
        if name in loops:
            _refuse_turning(name, loops[name].hinge)
            drives[name] = u, udot
        else:
            drives[name] = u[..., None], udot[..., None]
    return drives


def body_forces(rows: Constraints, multipliers: Array) -> Forces:
    """The constraint forces of the closures on their bodies, at the body frames in body axes: -W* lambda. On flexible
    bodies at the frames of the closure, in the axes of those."""
    forces: list[tuple[Frame, Wrench]] = []
    flexible = set(rows.graph.layout.flexible)
    for loop, (_, place) in zip(rows.loops, rows.places, strict=False):
        for k, W in loop.W.items():
            if k not in flexible:
                f = -W[:, :6].T @ multipliers[place]
                forces.append((rows.graph.layout.bodies[k], Wrench(f[:3], f[3:])))
        if flexible.intersection(loop.W):
            X = seen_from(rows.state, loop).phi().T
            for frame, map_ in ((loop.closure.b, loop.Q), (loop.closure.a, -loop.Q @ X)):
                if isinstance(frame.carrier, Body) and frame.carrier._modal is not None:
                    f = -map_.T @ multipliers[place]
                    forces.append((frame, Wrench(f[:3], f[3:])))
    return tuple(forces)


def _one_wrench(wrench: Wrench, batch: tuple[int, ...], i: tuple[int, ...]) -> Wrench:
    if wrench.moment.ndim == 1:
        return wrench
    moment, force = (np.broadcast_to(x, (*batch, 3))[i] for x in (wrench.moment, wrench.force))
    return Wrench(moment, force, wrench.expressed_in)


def _refuse_turning(name: str, hinge: Hinge) -> None:
    """A closure that is driven leaves its hinge, so what that forbids must not depend on its coordinates: Q dH* = 0."""
    neutral = np.asarray(hinge.neutral(), dtype=np.float64)
    anywhere = np.asarray(hinge.random(np.random.default_rng(0)), dtype=np.float64)
    if any(_turns(hinge, q) for q in (neutral, anywhere)):
        raise LoopError(
            f"loop {name!r} cannot be driven: the motions that {hinge!r} forbids turn with its coordinates. A driven "
            "closure needs a hinge that forbids always the same ones, such as Weld(), Pin(...), Prismatic(...), "
            "Cylindrical(...), Planar() or Spherical()."
        )


def _turns(hinge: Hinge, q: Array) -> bool:
    """True if the span of H* varies at q."""
    Q = complement(H_T_of(hinge, q))
    rates = [derivative_of_H_T_of(hinge, q, (i,)) for i in range(hinge.nv)]
    return any(np.abs(Q @ dH_T).max(initial=0.0) > ALIGNED * max(1.0, np.abs(dH_T).max(initial=0.0)) for dH_T in rates)


def _turned(R: Array, x: Array) -> Array:
    return np.concatenate([R @ x[:3], R @ x[3:]])


def _relative_turning(state: State, loop: LoopRows) -> Array:
    """The angular velocity of b seen from a, in the axes of b."""
    a, b = loop.closure.a, loop.closure.b
    return np.asarray(own_twist(state, b)[:3] - loop.R_ab.T @ own_twist(state, a)[:3])
