"""`Problem`, for which integrators are written, and `Step`, one step of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from soacraft.errors import SimulationError
from soacraft.sim.integrators.manifold import LARGEST_TURN, Manifold
from soacraft.spatial.checks import Array


class Problem(Protocol):
    """A motion: a manifold and a velocity at each of its points."""

    @property
    def manifold(self) -> Manifold:
        """Manifold of the state."""

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Numbers of coordinates, tangents of coordinates and velocities: a point is [coordinates; velocities;
        rest], its velocity [tangent of coordinates; accelerations; rest]."""

    def rates(self, t: float, x: Array) -> Array:
        """The velocity at a point, a tangent vector."""

    def jacobian(self, t: float, x: Array, w: Array) -> Array:
        """Slope of the rate of u along u in the chart of x, at u = 0, where the velocity is w, (size, size)."""

    def scale(self, x: Array, w: Array) -> Array:
        """Measures of the parts of a tangent vector; infinite for parts that are not measured."""

    def varying(self, w: Array) -> Array:
        """A tangent vector without what a constant velocity of the whole model adds to it."""

    def tangent(self, q: Array, v: Array) -> Array:
        """The tangent vector of the coordinates for velocities v."""

    def settle(self, t: float, x: Array, end: bool) -> Array:
        """The point of the motion next to x: put back on closures, prescribed coordinates set. `end` is True at the end
        of a step, False at its stages, which may be less tight."""

    @property
    def projects(self) -> bool:
        """True if points are put back on closures with all their coordinates; else some may follow from others."""

    def kept(self, x: Array, u: Array) -> Array:
        """Part of a small tangent vector u at x that remains after its end is put back so."""

    def require_sides(self, step: Step) -> None:
        """Refuse a step that may lead shapes through each other."""

    @property
    def conditions_now(self) -> Any:
        """Conditions of a step at present, stored for later: motions that are prescribed, the model's versions."""

    def inside(self, t: float, x: Array, conditions: Any) -> Array:
        """A point inside a step that was taken: prescribed coordinates by the `conditions` of then, the rest put back
        on closures. What holds by now may not be what did then, so that it is not asked."""


@dataclass
class Step:
    """One step: from x0 at t0 to x1 at t0 + h, with the velocities w0 and w1 there."""

    problem: Problem
    t0: float
    h: float
    x0: Array
    x1: Array
    w0: Array
    w1: Array
    F: Array
    """The chart coordinates u between the ends: `dense` evaluates them."""
    error: Array | None = None
    """One or two estimates of the local error as tangent vectors, (1 or 2, size), where the method has them."""
    steepness: tuple[Array, Array] | None = None
    """A difference of rates and that of the coordinates it belongs to, where the method can tell a stiff problem."""
    bend: Array | None = None
    """Change of the end if the last stage, at the same time, had the rates of the end: a tangent
    vector, where the method has such a stage. Large where the end is beyond a kink that no stage has met."""
    drift: Array | None = None
    """Change of the velocities at the end onto the closures, (nv)."""
    chart: tuple[Array, Array] | None = None
    """The origin of the chart and the coordinates of x0 in it, where x0 is not the origin itself."""
    conditions: Any = None
    """Conditions of the step: `conditions_now` then."""
    weighed: bool = False
    """True if x1 has the work of masses that varied in the step already."""

    def __post_init__(self) -> None:
        if self.conditions is None:
            self.conditions = self.problem.conditions_now

    def of_versions(self, old: Any, new: Any) -> Step:
        """The step after its model was copied, where the versions of the model were old."""
        return replace(self, conditions=self.conditions._replace(model=new)) if self.conditions.model == old else self

    def conditions_at(self, t: Array) -> list[tuple[Any, npt.NDArray[np.intp]]]:
        """The conditions of the step, with the indices of some times. A block of many steps has the same."""
        return [(self.conditions, np.arange(len(t)))]

    def around(self, t: float) -> Step:
        """The step that t is in: itself. A block of many steps has the same."""
        return self

    def at(self, theta: float) -> Array:
        """The state at the fraction theta of the step."""
        if theta <= 0.0:
            return self.x0
        if theta >= 1.0:
            return self.x1
        origin, u0 = (self.x0, 0.0) if self.chart is None else self.chart
        moved = self.problem.manifold.move(origin, u0 + dense(self.F, theta))
        return self.problem.inside(self.t0 + theta * self.h, moved, self.conditions)

    def states(self, t: Array) -> Array:
        """The states at times within it, (m, size)."""
        theta = ((t - self.t0) / self.h)[:, None]
        origin, u0 = (self.x0, 0.0) if self.chart is None else self.chart
        u = u0 + dense(self.F[:, None], theta)
        moved = self.problem.manifold.move(np.broadcast_to(origin, (len(t), len(origin))), u)
        return within(self.problem, t, theta, (self.x0, self.x1), moved, self.conditions)


def within(problem: Problem, t: Array, theta: Array, ends: tuple[Array, Array], moved: Array, conditions: Any) -> Array:
    """Points inside steps, (m, size), put on closures; those of the steps at the ends, theta (m, 1) 0 or 1."""
    placed = [problem.inside(float(s), x, conditions) for s, x in zip(t, moved, strict=True)]
    return np.where(theta <= 0.0, ends[0], np.where(theta >= 1.0, ends[1], np.reshape(placed, moved.shape)))


def settled(problem: Problem, t: float, x: Array) -> tuple[Array, Array]:
    """The end of a step, put on closures, and by how much that moved its velocities: an error of the step that its
    estimate does not know. Small as any, unless velocities that follow from others are ill-conditioned."""
    end = problem.settle(t, x, True)
    nq, _, nv = problem.sizes
    return end, end[nq : nq + nv] - x[nq : nq + nv]


def dense(F: Array, theta: Any) -> Array:
    """u(theta) = theta (F0 + (1 - theta) (F1 + theta (F2 + (1 - theta) (F3 + ...)))).

    >>> dense(np.array([[2.0], [1.0]]), 0.5)
    array([1.25])
    """
    u = np.zeros(F.shape[1:])
    for i in range(len(F) - 1, -1, -1):
        u = (u + F[i]) * (theta if i % 2 == 0 else 1.0 - theta)
    return u


def hermite(u: Array, slope0: Array, slope1: Array) -> Array:
    """The cubic with value 0 and u and the given slopes (per step) at the ends, as rows for `dense`. Order three."""
    return np.array([u, slope0 - u, 2.0 * u - (slope0 + slope1)])


class Method(ABC):
    """An integrator. It sees a `Problem`, never a model. Most keep nothing from step to step; what a multistep method
    keeps serves the step that begins where the last one ended, and is forgotten by any other."""

    name: ClassVar[str]
    order: ClassVar[int]
    adaptive: bool = False
    """True if it estimates its error, so that the step can follow a tolerance."""
    limited: ClassVar[bool] = False
    """True if stability limits its fixed steps: then it has an `amplification`."""
    even: ClassVar[bool] = False
    """True if coordinates go by the mean of the velocities at both ends, so that rows do not show when steps are too
    long."""
    touches: ClassVar[bool] = False
    """True if it takes the impulses of a `Contact`."""
    implicit: ClassVar[bool] = False
    """True if it takes springs, dampers and servos of single dofs implicitly, where there is a `Contact`."""
    error_order: ClassVar[int] = 8
    """The power of the step with which the estimate grows."""

    @abstractmethod
    def step(self, problem: Problem, t: float, x: Array, h: float, w: Array) -> Step:
        """A step of length h from x, where the velocity is w."""

    def forget(self) -> None:  # noqa: B027  # most keep nothing
        """Discard what a method keeps from step to step, before its next step."""

    def amplification(self, hJ: Array, nt: int) -> Array:
        """A step as a matrix that takes [coordinates; velocities] to those after it, where rates are J times these, of
        which the first nt are coordinates. Of methods that stability limits."""
        raise AssertionError(f"{self.name!r} is not limited, so nobody asks for its amplification")

    def __repr__(self) -> str:
        return f"{self.name} (order {self.order}, {'adaptive' if self.adaptive else 'fixed'} step)"


class SelfPaced(Method):
    """A method that chooses its steps itself."""

    adaptive = True

    @abstractmethod
    def march(self, problem: Problem, t: float, x: Array, w: Array, left: float) -> Step:
        """A step of the method's own length, at most `left`, from x, where the velocity is w."""


class TurnedTooFar(SimulationError):
    """A step left the chart of a rotation: a shorter one is needed."""


def check_turn(manifold: Manifold, u: Array, t: float, h: float) -> None:
    """Raise when a step turns a hinge by more than its chart allows, or overflows."""
    turn = manifold.turn(u)
    if not turn <= LARGEST_TURN:
        raise TurnedTooFar(
            f"at t = {t:.9g} s a step of {h:.3g} s turns a hinge by {turn:.3g} rad; at most {LARGEST_TURN:g} rad are "
            f"allowed within a step. Take steps below {0.9 * h * LARGEST_TURN / turn if turn > 0 else 0.0:.2g} s."
        )
