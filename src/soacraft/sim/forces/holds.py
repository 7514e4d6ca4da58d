"""Elements that hold dofs for a while, friction that sticks and rigid stops: which of them hold, their forces, impacts.

A dof that is held has v = 0, a row at velocity level, and the force that this takes. With Y = dvdot/dforce of all dofs,
closures and couplings considered, and S the dofs that are held,

    Y_SS f = wanted - vdot_S                               the forces, from the accelerations without them
    v+ = v + Y_:S impulse,    Y_SS impulse = wanted        an impact

Closures may tie dofs in S to each other: then Y_SS is singular, and of all f the one is taken whose largest part of
what each can hold is least, so that they stick as long as they can (a linear program).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.optimize import linprog

from soacraft.dynamics import mass_matrix_inverse
from soacraft.errors import SimulationError
from soacraft.model.states.state import State
from soacraft.sim.forces.compiled_holds import HoldLaw
from soacraft.sim.forces.loads import Load
from soacraft.sim.forces.stops import JointLimit
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: A motion whose compliance is less than this part of its dofs' own is none: they are tied to each other.
_TIED = 1e-10
#: A hop of less than this is none, in radians or lengths of the model.
_HOP = 1e-9
#: An impact that misses its velocity by this part of the change is blocked.
_BLOCKED = 1e-6
#: An acceleration of less than this part of what a hold's own force would cause is rounding.
_ROUNDING = 1e-9
#: Impacts at one instant, for each stop, before they are called endless.
_IMPACTS = 50


class Hold(Load, Protocol):
    """A load that may hold its dof."""

    number: int
    place: int
    """The place of the coordinate of its dof."""
    mode: float
    """The side on which it holds, or the direction in which it slips."""

    @property
    def switches(self) -> bool:
        """True if it ever holds."""

    @property
    def sticks(self) -> bool:
        """True if it holds now."""

    @property
    def bounds(self) -> tuple[float, float]:
        """The forces with which it can hold."""

    @property
    def law(self) -> HoldLaw:
        """Numbers of the element for compiled steps."""

    @property
    def guide(self) -> tuple[float, float, float] | None:
        """Coordinate, rate and acceleration of a dof that it holds; None where that rests at any place."""

    def margin(self, problem: Mechanism, t: float, state: State) -> float:
        """Function that falls through zero when it begins or ends to hold."""

    def impose(self, q: Array, v: Array) -> None:
        """Put the state where it holds."""

    def take(self, q: Array, v: Array) -> None:
        """Hold at rest, else let go."""

    def excess(self, force: float) -> float:
        """Positive where it cannot hold with a force."""

    def release(self, force: float) -> None:
        """Let go of what it held with a force."""

    def runs_back(self, v: Array, vdot: Array, small: float) -> bool:
        """True if it must hold after all what it let go: at accelerations above `small` times what it can hold."""


def holding_forces(Y: Array, wanted: Array, bounds: Sequence[tuple[float, float]]) -> Array:
    """f with Y f = wanted, within its bounds as far as can be where there are many.

    >>> holding_forces(np.ones((2, 2)), np.array([3.0, 3.0]), [(-1.0, 1.0), (-2.0, 2.0)])
    array([1., 2.])
    """
    size = np.sqrt(np.maximum(np.diag(Y), 0.0))
    size[size <= 0.0] = 1.0
    values, vectors = np.linalg.eigh(Y / size / size[:, None])
    regular = values > _TIED * max(float(values[-1]), 0.0)
    f = (vectors[:, regular] / values[regular]) @ (vectors[:, regular].T @ (wanted / size)) / size
    return f if regular.all() else _shared(f, vectors[:, ~regular] / size[:, None], bounds)


def _shared(f: Array, N: Array, bounds: Sequence[tuple[float, float]]) -> Array:
    """f + N z with the least s for which each is within s times its bounds; pushes stay pushes."""
    unit = float(np.abs(f).max(initial=0.0))
    if unit <= 0.0:
        return f
    f, N = f / unit, N / np.abs(N).max(axis=0)
    A, b = [], []
    for row, x, limits in zip(N, f, bounds, strict=True):
        for sign, limit in zip((-1.0, 1.0), limits, strict=True):
            if np.isfinite(limit):
                A.append(np.append(sign * row, -abs(limit) / unit))
                b.append(-sign * x)
    if not A:
        return f * unit
    cost = np.append(np.zeros(N.shape[1]), 1.0)
    optimum = linprog(cost, np.array(A), np.array(b), bounds=[(None, None)] * N.shape[1] + [(0.0, None)])
    return unit * f if optimum.x is None else np.asarray(unit * (f + N @ optimum.x[:-1]))


class Holding:
    """The loads of a mechanism that hold."""

    def __init__(self, problem: Mechanism, holds: Sequence[Hold]) -> None:
        self._problem, self.all = problem, list(holds)
        self._stops = [x for x in self.all if isinstance(x, JointLimit)]

    @property
    def active(self) -> list[Hold]:
        """Elements that hold now, stops before frictions: one for each dof."""
        first_of_dof: dict[int, Hold] = {}
        for x in sorted(self.all, key=lambda x: x not in self._stops):
            if x.sticks and not self._problem.is_prescribed(x.number):
                first_of_dof.setdefault(x.number, x)
        return list(first_of_dof.values())

    def require_inside(self, x: Array) -> None:
        """Raise where a run would begin beyond a rigid stop."""
        for stop in self._stops:
            stop.require_inside(self._problem.parts(x)[0])

    def require_kept(self, x: Array) -> None:
        """Raise where a step has ended beyond a rigid stop."""
        for stop in self._stops:
            stop.require_kept(self._problem.parts(x)[0], self._problem.is_prescribed(stop.number))

    def impose(self, q: Array, v: Array) -> None:
        """Set the held values in a state."""
        for x in self.active:
            x.impose(q, v)

    def settle(self, t: float, x: Array, happened: Collection[Hold]) -> Array:
        """Choose the elements that hold at a state: all that are at rest, less those that cannot, the one that is short
        by most first. A dof that strikes a stop bounces before; elements in `happened` that held let go. The state
        after."""
        if not self.all:
            return x
        problem = self._problem
        q, v, work = problem.parts(np.array(x))
        leaving = {x: problem.held_by(x, t, problem.mb.state(q, v)) for x in happened if x.sticks}
        arrived = [x for x in happened if isinstance(x, JointLimit) and not x.sticks]
        v[[x.number for x in happened if x not in arrived]] = 0.0
        for hold in self.all:
            hold.take(q, v)
        v = self._struck(t, q, v, arrived)
        for _ in range(2):  # the second time with those that closures tie to what is held
            for hold in self.all:
                hold.take(q, v)
            for hold, force in leaving.items():
                hold.release(force)
            self._pass_dead_points(t, q, v)
            v = self._rested(q, v)
        for _ in range(3 * len(self.all) + 1):
            vdot, forces = problem.holding(t, q, v)
            short = {x: x.excess(forces[x]) for x in self.active}
            worst = max(short, key=lambda x: short[x], default=None)
            if worst is not None and short[worst] > 0.0:
                worst.release(forces[worst])
                continue
            back = [x for x in self.all if x not in leaving and x.runs_back(v, vdot, self._small(q, x))]
            if not back:
                return problem.point(q, v, work)
            back[0].take(q, v)
        names = ", ".join(x.name for x in self.all)
        raise SimulationError(f"what holds {problem.mb.name!r} does not agree on what sticks: {names}.")

    def _pass_dead_points(self, t: float, q: Array, v: Array) -> None:
        """Let friction slip on dofs that only closures move, as at both ends of the way of a rocker: it cannot hold
        them, and takes the direction of their acceleration."""
        frictions = [x for x in self.active if x not in self._stops]
        if not self._problem.is_closed or not frictions:
            return
        Y = self._problem.compliance(q)
        of_tree = mass_matrix_inverse(self._problem.mb, q, ignore_loops=True)
        for hold in frictions:
            n = hold.number
            if Y[n, n] > _TIED * of_tree[n, n]:
                continue
            hold.release(1.0)  # either direction gives the same acceleration
            acceleration = float(self._problem.free_accelerations(t, q, v)[n])
            if abs(acceleration) > _ROUNDING * of_tree[n, n] * hold.bounds[1]:
                hold.release(-acceleration)
            else:
                hold.take(q, np.zeros_like(v))

    def _small(self, q: Array, hold: Hold) -> float:
        return _ROUNDING * float(self._problem.compliance(q)[hold.number, hold.number])

    def _rested(self, q: Array, v: Array) -> Array:
        """v with zeros where dofs are held, and where closures tie others to them."""
        numbers = [x.number for x in self.active]
        if not numbers:
            return v
        v = np.array(v)
        v[numbers] = 0.0
        if self._problem.is_closed:
            Y = self._problem.compliance(q)
            size = np.sqrt(np.maximum(np.diag(Y), 0.0))
            Y = Y / np.where(size > 0.0, size, 1.0) / np.where(size > 0.0, size, 1.0)[:, None]  # turns next to slides
            rest = Y - Y[:, numbers] @ np.linalg.pinv(Y[np.ix_(numbers, numbers)], _TIED, hermitian=True) @ Y[numbers]
            v[np.diag(rest) <= _TIED * np.diag(Y)] = 0.0
        return v

    def _struck(self, t: float, q: Array, v: Array, at: Collection[JointLimit]) -> Array:
        """The velocities after all that strikes a stop has bounced, in the order in which the stops were added."""
        first = 0.0
        for _ in range(_IMPACTS * len(self._stops)):
            struck = [x for x in self._stops if not x.sticks and (x in at or x.touched(q))]
            out = [x for x in struck if x.nearer(q) * v[x.number] > 0.0]
            if not out:
                return v
            speed = abs(v[out[0].number]) / out[0].unit(q)
            first = max(first, speed)
            after = self._impact(q, v, out[0], out[0].restitution)
            hops = out[0].is_hop(q, after, self._problem.free_accelerations(t, q, after), _HOP)
            v = self._impact(q, v, out[0], 0.0) if hops or speed < _HOP * first else after
            leaned = [x for x in self._stops if x.sticks and v[x.number] != 0.0]  # the impact has drawn these off
            for stop in self._stops:
                stop.take(q, v)
            for stop in leaned:
                if stop.is_hop(q, v, self._problem.free_accelerations(t, q, v), _HOP):
                    v = self._impact(q, v, stop, 0.0)
                    stop.take(q, v)
        if self._stops:
            raise SimulationError(f"impacts at the {self._stops[0].name} and others follow each other without end.")
        return v

    def _impact(self, q: Array, v: Array, stop: JointLimit, restitution: float) -> Array:
        """v + Y impulse: the stop turns its dof round, others that are leaned on push along, none pulls."""
        leaning = [x for x in self._stops if x.sticks and x.number != stop.number]
        Y = self._problem.compliance(q)
        size = np.sqrt(np.maximum(np.diag(Y), 0.0))
        while True:
            dofs = [stop.number, *(x.number for x in leaning), *self._problem.prescribed_dofs]
            wanted = np.zeros(len(dofs))
            wanted[0] = -(1.0 + restitution) * v[stop.number]
            impulse = holding_forces(Y[np.ix_(dofs, dofs)], wanted, [(-np.inf, np.inf)] * len(dofs))
            strength = size[dofs] * impulse  # of one unit: |Y(i,j) p(j)| is at most size(i) times this
            rounding = _ROUNDING * float(np.abs(strength).max())
            pulls = [x for x, p in zip(leaning, strength[1:], strict=False) if p * x.side > rounding]
            if not pulls:
                break
            leaning.remove(pulls[0])
        after = np.asarray(v + Y[:, dofs] @ impulse)
        missed = abs(after[stop.number] - v[stop.number] - wanted[0])
        if self._problem.prescribed_dofs and missed > _BLOCKED * abs(wanted[0]):
            driven = ", ".join(repr(self._problem.mb.dof_names[i]) for i in self._problem.prescribed_dofs)
            raise SimulationError(
                f"the {stop.name} is struck, and no impulse turns dof {stop.hinge!r} round while the motion of "
                f"{driven} is prescribed. Prescribe a motion that stays within the limit, or leave the stop out."
            )
        after[stop.number] = -restitution * v[stop.number]
        after[[x.number for x in leaning]] = 0.0  # what leans is at rest, without rounding
        return after
