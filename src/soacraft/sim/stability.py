"""Check of fixed steps that are too long for fast modes of a motion: their errors grow until they dominate.

Small motions u go as udot = J u, and a step of length h multiplies them by A(h J) (`Method.amplification`). Where a
mode of J is too fast for the step, h |lambda| > 1, and A grows faster than exp(h J), what grows is none of the motion.

It shows in the states, too: coordinates do not move by the mean of the velocities, h (v0 + v1)/2. So rows are looked at
first, which is cheap, and J is asked where they do not fit. Where a method moves coordinates so by itself
(`Method.even`), it is asked where velocities change. A force that jumps, or a motion that grows by itself, is not
called stiff. Where contacts press, what a step takes explicitly must have no mode with h |lambda| > 1: it would push
them apart, or into each other, before their impulses answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.errors import SimulationError, SoacraftError
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.implicit import Implicit, Linear
from soacraft.sim.integrators.explicit import RK4
from soacraft.sim.integrators.moreau import Moreau
from soacraft.sim.integrators.steps import Method
from soacraft.sim.problem.model_facts import ModelFacts, has_passive
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array

#: Rows do not fit where coordinates miss the mean of the velocities by more than this part of it, and by more than the
#: other one of the fastest dof's.
_MISSED, _SMALL = 1e-2, 1e-9
#: A miss of less, in radians or lengths of the model, is rounding of the coordinates: what so moves is at rest.
_ROUNDING = 1e-15
#: Relative change of velocities above which a step is examined, of a method that moves coordinates by their mean.
_CHANGED = 1e-3
#: A mode is too fast for a step from h |lambda| = 1 on. Growth of a step below this is an error of the method.
_FAST, _LEAST = 1.0, 1e-4
#: A mode that nothing damps: the real part of its rate is no more than this part of it.
_UNDAMPED = 1e-2
#: Bound of speeds and gravity, where nothing else makes a mode: ten times below.
_SLOW = 0.1
#: Growth that such modes may have.
_GROWTH = 10.0
#: Rows of a stretch, and states of it at which J is asked.
_STRETCH, _STATES = 128, 8
#: States where most rows do not fit anyway: of a method whose velocities alone tell, and where contacts press.
_OFTEN_STATES = 3
#: The last rows of a stretch of a rollout without springs, and states whose derivatives are computed together.
_FEW, _TOGETHER = 3, 256


class Stiff(SimulationError):
    """Steps of a fixed length are beyond the limit of stability."""


class Stability:
    """Looks at the rows of a run by a method with fixed steps, stretch by stretch."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self.forget()

    def forget(self) -> None:
        """The next row does not follow from the last."""
        self._t: list[Array] = []
        self._x: list[Array] = []
        self._new = 0  # rows since the last look
        self._growth = 0.0  # its logarithm,
        self._calm = 0  # and rows since it was seen last

    def begin(self, problem: Mechanism, t: float, x: Array) -> None:
        """Go on from a row: after those before, if it is the last of them."""
        if not self._t or self._t[-1][-1] != t or self._x[-1][-1].tobytes() != x.tobytes():
            self.forget()
            self.add(problem, np.array([t]), x[None])

    def add(self, problem: Mechanism, t: Array, x: Array) -> None:
        """Rows that follow those before. Raise `Stiff` where they are none of the motion."""
        if not self._method.limited or not problem.sizes[2]:
            return
        self._t.append(t)
        self._x.append(x)
        self._new += len(t)
        if self._new > _STRETCH:
            self.look(problem)

    def look(self, problem: Mechanism) -> None:
        """Examine the rows since the last look."""
        if not self._new:
            return
        t, x, new = np.concatenate(self._t), np.concatenate(self._x), self._new
        self._t, self._x, self._new = [t[-1:]], [x[-1:]], 0
        nq, _, nv = problem.sizes
        t, x = t[-new - 1 :], x[-new - 1 :]
        q, v, touch = x[:, :nq], x[:, nq : nq + nv], problem.contact
        if touch.touches and _only_touches(problem, np.diff(t), v):
            return
        even = self._method.even or (touch.touches and _holds_functions(self._method, problem))
        pressed = touch.presses
        off = restless(problem.mb, q, v, problem.facts) if even else missed(problem.mb, t, q, v, problem.facts)
        steps = some_of(off, _OFTEN_STATES if even or pressed else _STATES)
        rates = []
        if steps.which:
            with _as_it_was(problem):
                rates = [growth(self._method, problem, t[i], x[i], t[i + 1] - t[i]) for i in steps.which]
        grown = float(np.mean(rates)) * steps.number if rates else 0.0
        self._calm = 0 if grown > 0.0 else self._calm + new
        self._growth = self._growth + grown if self._calm <= _STRETCH else 0.0
        if grown > 0.0 and self._growth > np.log(_GROWTH):
            i = steps.which[int(np.argmax(np.array(rates) > 0.0))]
            raise Stiff(limit(self._method, problem, t[i], x[i], t[i + 1] - t[i]))


@contextmanager
def _as_it_was(problem: Mechanism) -> Iterator[None]:
    """Rates at other rows are asked for here: what is carried along has its present values again afterwards."""
    components = problem.components
    saved = components.keep()
    try:
        yield
    finally:
        components.restore(saved)
        problem.displaced()


def _only_touches(problem: Mechanism, h: Array, v: Array) -> bool:
    """True if nothing but contact and gravity acts on a tree that moves slowly for its steps: no mode of it is fast,
    and coordinates miss the velocities because of impulses. O(rows nv), where J would take nv^2."""
    if not problem.contact.touches or problem.count or problem.is_closed or problem.has_passive:
        return False
    measure = measure_of(problem.mb, problem.mb.q)
    rate = float(np.abs(v * measure.dofs).max(initial=0.0))
    gravity = float(np.linalg.norm(problem.mb.gravity))
    rate = max(rate, float(np.sqrt(gravity / measure.length)) if gravity > 0.0 and measure.length > 0.0 else 0.0)
    return float(h.max(initial=0.0)) * rate < _SLOW


class Steps(NamedTuple):
    """Some steps of a stretch that are to be looked at, and how many there are."""

    which: list[int]
    number: int


def some_of(off: npt.NDArray[np.bool_], states: int = _STATES) -> Steps:
    """Some of the steps of a mask, from the first to the last."""
    (steps,) = off.nonzero()
    if not len(steps):
        return Steps([], 0)
    at = np.unique(np.linspace(0, len(steps) - 1, states).astype(int))
    return Steps(steps[at].tolist(), len(steps))


def restless(mb: Multibody, q: Array, v: Array, facts: ModelFacts | None = None) -> Any:
    """Steps between rows (..., n, nq) in which a velocity changes by more than a small part of itself, and by more than
    what is nothing next to the fastest, or to what gravity gives, (..., n - 1). O(n nv)."""
    if not v.size or v.shape[-2] < 2:
        return np.zeros((*v.shape[:-2], max(v.shape[-2] - 1, 0)), dtype=bool)
    measure = (ModelFacts(mb) if facts is None else facts).measure(q.reshape(-1, q.shape[-1])[0])
    fall = float(np.sqrt(np.linalg.norm(mb.gravity) / measure.length)) if measure.length > 0.0 else 0.0
    before, after = np.abs(v[..., :-1, :]) * measure.dofs, np.abs(v[..., 1:, :]) * measure.dofs
    with np.errstate(over="ignore", invalid="ignore"):
        change = np.abs(np.diff(v, axis=-2)) * measure.dofs
        least = _SMALL * max(fall, float(after.max()))
        return ~(change <= np.maximum(_CHANGED * (before + after), least)).all(axis=-1)


def missed(mb: Multibody, t: Array, q: Array, v: Array, facts: ModelFacts | None = None) -> Any:
    """Steps between rows (..., n, nq) that do not move coordinates by the mean of the velocities, (..., n - 1); all of
    what rolls. O(n nv)."""
    facts = ModelFacts(mb) if facts is None else facts
    h = (t[1:] - t[:-1])[:, None]
    if not facts.holonomic:
        return np.broadcast_to(h[:, 0] > 0.0, (*q.shape[:-2], len(h)))
    if not q.size or not len(h):
        return np.zeros((*q.shape[:-2], len(h)), dtype=bool)
    nq = q.shape[-1]
    unit = facts.measure(q.reshape(-1, nq)[0]).dofs
    ends = [np.ascontiguousarray(q[..., :-1, :]).reshape(-1, nq), np.ascontiguousarray(q[..., 1:, :]).reshape(-1, nq)]
    before, after = v[..., :-1, :], v[..., 1:, :]
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(mb.difference(*ends).reshape(before.shape) - 0.5 * h * (before + after)) * unit
        way = (np.abs(before) + np.abs(after)) * (0.5 * h * unit)
        small = _SMALL * np.maximum.reduce(way, axis=-1, keepdims=True)
        fits = off <= np.maximum(np.maximum(_MISSED * way, small), _ROUNDING)
    return ~np.logical_and.reduce(fits, axis=-1) & (h[:, 0] > 0.0)


def require_stable(
    method: Method,
    problem: Mechanism,
    times: tuple[float, float],
    points: tuple[Array, Array],
    prepare: Callable[[int], object],
) -> None:
    """Raise `Stiff` where steps such as the last one of some states, from points (states, n) to others, would grow by
    much within a stretch. `prepare` lets the problem be that of a state."""
    (t0, t1), (x0, x1) = times, points
    nq, _, nv = problem.sizes
    X, t = np.stack([x0, x1], axis=1), np.array([t0, t1])
    q, v = X[..., :nq], X[..., nq : nq + nv]
    if not method.limited or _only_touches(problem, np.diff(t), v.reshape(-1, nv)):
        return
    even = method.even or _holds_functions(method, problem)
    off = restless(problem.mb, q, v) if even else missed(problem.mb, t, q, v)
    for i in some_of(off[:, 0]).which:
        prepare(i)
        if growth(method, problem, t0, x0[i], t1 - t0) * _STRETCH > np.log(_GROWTH):
            whose = f"state {i}: " if len(x0) > 1 else ""
            raise Stiff(f"{whose}{limit(method, problem, t0, x0[i], t1 - t0)}")


def check_rollout(problem: RunProblem, method: Method, h: float, Q: Array, V: Array) -> None:
    """Raise `Stiff` where the rows of a rollout, (count, steps + 1, nq or nv), are none of the motion. All of them are
    looked at where the model has springs and dampers, else some."""
    mb, rows = problem.model, Q.shape[1]
    if not method.limited or rows < 2 or not len(Q) or not mb.nv:
        return
    t, off = h * np.arange(rows, dtype=np.float64), np.zeros((len(Q), rows - 1), dtype=bool)
    few = _STRETCH + 1 if has_passive(mb) else _FEW
    for end in [*range(_STRETCH, rows, _STRETCH), rows]:
        last = slice(max(0, end - few), end)
        looked = restless(mb, Q[:, last], V[:, last]) if method.even else missed(mb, t[last], Q[:, last], V[:, last])
        off[:, last.start : end - 1] |= looked
    suspects = np.flatnonzero(off.any(axis=-1))
    if not problem.closures.is_closed and len(suspects):
        suspects = _stiff_ones(mb, h, Q, V, [(i, k) for i in suspects.tolist() for k in some_of(off[i]).which])
    for i in suspects:
        stability, moved = Stability(method), Mechanism(problem)
        try:
            for first in range(0, rows, _STRETCH):
                part = slice(first, first + _STRETCH)
                none = np.zeros((len(t[part]), len(moved.names)))
                stability.add(moved, t[part], np.concatenate([Q[i, part], V[i, part], none], axis=1))
            stability.look(moved)
        except Stiff as stiff:
            raise Stiff(f"state {i} of the rollout of {mb.name!r}: {stiff}") from None


def _stiff_ones(mb: Multibody, h: float, Q: Array, V: Array, places: list[tuple[int, int]]) -> npt.NDArray[np.int64]:
    """States of a rollout of a tree that have a mode which may be too fast, at one of some of their rows."""
    state, row = np.array(places).T
    parts = np.array_split(np.arange(len(state)), 1 + len(state) // _TOGETHER)
    calm = np.concatenate([_is_calm(mb, h, Q[state[x], row[x]], V[state[x], row[x]]) for x in parts])
    return np.unique(state[~calm])


def growth(method: Method, problem: Mechanism, t: float, x: Array, h: float) -> float:
    """The logarithm of how much more a step of length h from x grows than the motion, or of how much it damps a turn; 0
    where it is short enough."""
    at = _Limit.of(method, problem, t, x, h)
    return 0.0 if at is None else at.log_growth(h) or _log_loss(method, problem, t, x, h, at.modes)


def limit(method: Method, problem: Mechanism, t: float, x: Array, h: float) -> str:
    """Text on the limit of the steps of a method at x; empty if steps of length h are short enough."""
    at = _Limit.of(method, problem, t, x, h) if method.limited else None
    if at is None:
        return ""
    if at.log_growth(h) <= 0.0:
        if _log_loss(method, problem, t, x, h, at.modes) <= 0.0:
            return ""
        within = 1.0 / at.modes.explicit(h)
        return (
            f"the steps of {method.name!r} are too long for the spin: bodies turn by a radian within {within:.2g} s, "
            f"and steps of {h:.2g} s damp their motion away. Take steps below {0.5 * within:.2g} s."
        )
    short, long = 0.0, h
    while long - short > 1e-3 * long:
        middle = 0.5 * (short + long)
        short, long = (short, middle) if at.log_growth(middle) > 0.0 else (middle, long)
    modes = at.still or at.modes
    within = 1.0 / modes.explicit(h)
    if modes.implicit is not None or at.still is not None:
        return (
            f"the problem is stiff: stability with contact limits the steps of {method.name!r} to {long:.2g} s, since "
            f"forces that it takes explicitly act within {within:.2g} s: springs between nodes, tendons and "
            "actuators of several dofs, functions. Take such steps, or let springs and dampers of single dofs act."
        )
    return (
        f"the problem is stiff: stability limits the steps of {method.name!r} to {long:.2g} s, since "
        f"{_cause(method, problem, t, x, h)} within {within:.2g} s. Take such steps, or integrator='radau'."
    )


@dataclass(frozen=True)
class _Modes:
    """Small motions about a state, in radians and lengths of the model, and the method that takes steps."""

    method: Method
    J: Array
    nt: int
    implicit: Linear | None
    """Forces that the method takes implicitly."""
    held: Array | None = None
    """The part of J by functions that the method holds in a step, where there are any."""

    @cached_property
    def rates(self) -> Array:
        """The eigenvalues of J."""
        return np.asarray(np.linalg.eigvals(self.J))

    @cached_property
    def bound(self) -> float:
        """No mode is faster."""
        return _bound(self.J, self.nt)

    def is_fast(self, h: float) -> bool:
        """True if a mode is fast for a step."""
        if h * self.bound < _FAST:
            return False
        return h * least_rate(self.J) >= _FAST or bool(h * np.abs(self.rates).max() >= _FAST)

    def log_growth(self, h: float) -> float:
        """The logarithm of how much more a step of length h grows than the motion; 0 where it is short enough."""
        if not self.is_fast(h):
            return 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            A = self._amplification(h)
        if not np.isfinite(A).all():
            return np.inf
        grown = np.log(np.abs(np.linalg.eigvals(A)).max())
        if grown <= _LEAST:
            return 0.0
        grown -= max(0.0, h * self.rates.real.max())
        return float(grown) if grown > _LEAST else 0.0

    def _amplification(self, h: float) -> Array:
        """A step of length h as a matrix. What a function gives at its start, c = x, acts all along:

        x' = (J - J_f) x + J_f c,      c' = 0
        """
        J, nt = self.J, self.nt
        if self.implicit is not None:
            return self.implicit.amplification(J, nt, h, self.held)
        if self.held is None:
            return self.method.amplification(h * J, nt)
        n, none = len(J), np.zeros_like(J)
        both = self.method.amplification(h * np.block([[J - self.held, self.held], [none, none]]), nt)
        return np.asarray(both[:n, :n] + both[:n, n:])

    def log_explicit(self, h: float) -> float:
        """The logarithm of the rate of what is taken explicitly, in steps; 0 where that is slow."""
        if h * (self.bound if self.implicit is None else _bound(self._explicit(h), self.nt)) <= _FAST:
            return 0.0
        rate = h * self.explicit(h)
        return float(np.log(rate)) if rate > _FAST + _LEAST else 0.0

    def explicit(self, h: float) -> float:
        """The fastest rate of what a step of length h takes explicitly."""
        rates = self.rates if self.implicit is None else np.linalg.eigvals(self._explicit(h))
        return float(np.abs(rates).max(initial=0.0))

    def _explicit(self, h: float) -> Array:
        return self.J if self.implicit is None else self.implicit.rest(self.J, self.nt, h)


class _Limit(NamedTuple):
    """Limit of the steps of a method at a point: modes, and where contacts press also those at rest."""

    modes: _Modes
    still: _Modes | None
    """Modes at rest: speeds make further modes, which contacts do not mind."""

    @classmethod
    def of(cls, method: Method, problem: Mechanism, t: float, x: Array, h: float) -> _Limit | None:
        """Limit at a point where steps have length h; None where it is not known."""
        touch = problem.contact
        try:
            modes = _modes(method, problem, t, x, None)
            if not (method.implicit and touch.touches and modes.is_fast(h)):
                return cls(modes, None)
            modes = _modes(method, problem, t, x, Implicit.of(problem, t, h, x))
            if not touch.presses or not modes.is_fast(h):
                return cls(modes, None)
            at_rest = _still(problem, x)
            return cls(modes, _modes(method, problem, t, at_rest, Implicit.of(problem, t, h, at_rest)))
        except (SoacraftError, np.linalg.LinAlgError):
            return None

    def log_growth(self, h: float) -> float:
        """The logarithm of how much more a step of length h grows than the motion, or than contacts bear."""
        grown = self.modes.log_growth(h)
        return grown if grown > 0.0 or self.still is None else self.still.log_explicit(h)


def _cause(method: Method, problem: Mechanism, t: float, x: Array, h: float) -> str:
    """Cause of the limit of the steps: forces, if they limit it at rest too; else the speed at which bodies turn."""
    at_rest = _Limit.of(method, problem, t, _still(problem, x), h)
    if at_rest is not None and at_rest.log_growth(h) <= 0.0:
        return "bodies turn by a radian"
    return "springs or dampers act" if problem.count or problem.has_passive else "gravity acts"


def _modes(method: Method, problem: Mechanism, t: float, x: Array, implicit: Implicit | None) -> _Modes:
    """Modes at a point, under the forces that act in a step: springs far from rest, taken implicitly, push less."""
    _, nt, nv = problem.sizes
    unit = problem.scale(x, np.zeros(problem.manifold.size))[:nt]
    units = np.concatenate([unit, unit[:nv]])

    def jacobian(held_at: Array | None) -> Array:
        with np.errstate(over="ignore", invalid="ignore"), problem.functions_at(t, held_at):
            more = None if implicit is None else implicit.change(t, x)
            J = problem.jacobian(t, x, more=more)[: nt + nv, : nt + nv] * units / units[:, None]
        if not np.isfinite(J).all():
            raise np.linalg.LinAlgError("it is not finite")
        return np.asarray(J)

    J = jacobian(None)
    held = J - jacobian(x) if _holds_functions(method, problem) else None
    return _Modes(method, J, nt, None if implicit is None else Linear.of(problem, t, x, unit[:nv]), held)


def _holds_functions(method: Method, problem: Mechanism) -> bool:
    """True if functions act that the method calls once a step."""
    return method.touches and problem.contact.touches and problem.has_functions


def _log_loss(method: Method, problem: Mechanism, t: float, x: Array, h: float, modes: _Modes) -> float:
    """The logarithm by which a step of a method that damps does so to a turn that nothing damps. Fast modes that are
    there at rest, too, are those of springs, which may die out."""
    if not isinstance(method, RK4 | Moreau):
        return 0.0

    def damped(modes: _Modes) -> float:
        rates = h * modes.rates
        fast = rates[(np.abs(rates) >= _FAST) & (np.abs(rates.real) <= _UNDAMPED * np.abs(rates.imag))]
        damping = 1.0 + fast * (1.0 + fast / 2.0 * (1.0 + fast / 3.0 * (1.0 + fast / 4.0)))
        return float(np.log(1.0 / np.abs(damping).min())) if len(fast) else 0.0

    if h * modes.bound < _FAST:
        return 0.0
    loss = damped(modes)
    if loss <= _LEAST:
        return 0.0
    try:
        at_rest = _modes(method, problem, t, _still(problem, x), None)
    except (SoacraftError, np.linalg.LinAlgError):
        return 0.0
    return loss if damped(at_rest) <= _LEAST else 0.0


def _still(problem: Mechanism, x: Array) -> Array:
    nq, _, nv = problem.sizes
    still = np.array(x)
    still[nq : nq + nv] = 0.0
    return still


def least_rate(J: Array) -> float:
    """The largest eigenvalue of J is no smaller: |tr J^m| <= n rho(J)^m."""
    n, squared = len(J), J @ J
    traces = (
        abs(np.trace(J)) / n,
        np.sqrt(abs(np.trace(squared)) / n),
        np.sqrt(np.sqrt(abs(np.sum(squared * squared.T)) / n)),
    )
    return float(max(traces))


def _bound(J: Array, nt: int) -> float:
    """No eigenvalue of J is larger."""
    parts = J[:nt, :nt], J[:nt, nt:], J[nt:, :nt], J[nt:, nt:]
    return float(_least_norm(*(_norm(x) for x in parts)))


def _is_calm(mb: Multibody, h: float, q: Array, v: Array) -> Any:
    """True if no mode of a tree is too fast for a step, at each of many states: by the bound of
    [[-ad_v/2, I], [dvdot/dq, dvdot/dv]]."""
    try:
        in_q, in_v, _ = dyn.forward_dynamics_derivatives(mb, q, v, np.zeros(mb.nv))
    except SoacraftError:  # one of them has none, as where a spring gets slack
        return np.zeros(len(q), dtype=bool)
    unit = measure_of(mb, q[0]).dofs
    push, drag = (_norm(unit[:, None] * x / unit) for x in (in_q, in_v))
    return h * _least_norm(np.abs(unit * v).sum(axis=-1), np.ones(len(q)), push, drag) < _FAST


def _norm(A: Array) -> Array:
    return np.asarray(np.abs(A).sum(axis=-1).max(axis=-1))


def _least_norm(turn: Array, go: Array, push: Array, drag: Array) -> Any:
    """Norm of [[turn, go], [push, drag]], from those of its parts, in the unit of time in which it is least: go rate
    with rate^2 = push / go for both parts off the diagonal."""
    return np.sqrt(push * go) + np.maximum(turn, drag)
