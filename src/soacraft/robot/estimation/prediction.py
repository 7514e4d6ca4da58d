"""Prediction of a robot: a run under prescribed forces, with the contacts of its world, and its covariance.

    x(k+1) = f(x(k), T(k)),    P(k+1) = A P(k) A* + Q dt,    A = df/dx along [dq; dv]

A is exact for the steps as they are taken (`rollout_derivatives`); with contact, or under a control law, the parts that
have no formula are differences about each state, of closed chains about states on their closures. Trees run compiled;
closed chains with contact step by step in Python, by "moreau".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.loops.tree_augmented import TreeAugmented
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused, refuse_large
from soacraft.robot.estimation.wording import in_words_of
from soacraft.robot.interfaces import Bearer, Surroundings
from soacraft.robot.world.queries import Queries
from soacraft.sim.forces.contact import Contact
from soacraft.sim.propagator import Propagator
from soacraft.spatial.checks import Array, finite

#: The step of differences, in radians and parts of the model's length, and in their rates.
_STEP = 1e-6
#: Shapes nearer than this part of the model's length touch: contact holds them apart by rounding alone.
_TOUCHING = 1e-9
#: Friction of all that touches in a world, unless told.
FRICTION = 0.5
#: Steps of one prediction.
_MOST = 10_000_000

Law = Callable[[float, Array, Array], Any]


@dataclass(frozen=True, eq=False)
class Prediction:
    """States to come, from the first on."""

    t: Array
    """(steps + 1) in seconds."""
    q: Array
    """(steps + 1, nq)"""
    v: Array
    """(steps + 1, nv)"""
    force: Array
    """(steps, nv): the generalized force, held in each step."""
    touched: tuple[tuple[float, str, str], ...]
    """Contacts: the time at the end of the step in which one first occurs (that of the start if it is there already),
    and the two shapes; in order of time. Paddings of the world do not count."""
    A: Array | None
    """(steps, 2 nv, 2 nv): dx(k+1) = A dx(k), with a control law in it; None where no covariance was asked for."""
    covariance: Array | None
    """(steps + 1, 2 nv, 2 nv) of [dq; dv] along dofs; None where none was given."""
    smooth: bool
    """True if nothing touches on the way. Otherwise A holds as long as the same contacts last."""

    def __repr__(self) -> str:
        covariance = "" if self.covariance is None else ", with covariance"
        touch = f", {len(self.touched)} pairs touch" if self.touched else ""
        return f"prediction of {len(self.t) - 1} steps to {self.t[-1]:.6g} s{touch}{covariance}"


def predict(
    robot: Bearer,
    q: Any = None,
    v: Any = None,
    controls: Any = None,
    horizon: float = 1.0,
    *,
    step: float = 1e-3,
    world: Surroundings | None = None,
    friction: Any = None,
    restitution: float | None = None,
    covariance: Any = None,
    noise: Any = None,
) -> Prediction:
    """`Robot.predict`."""
    mb = robot.mb
    if world is None and not (friction is None and restitution is None):
        raise StateError("friction and restitution are of contact, and there is none without world=.")
    start_q, start_v = read_q(mb, mb.q if q is None else q), read_v(mb, mb.v if v is None else v)
    if start_q.ndim > 1 or start_v.ndim > 1:
        raise StateError("a prediction begins at one state, got a batch.")
    h, T = (float(finite(x, (), name, StateError)) for x, name in ((step, "step"), (horizon, "horizon")))
    if not 0.0 < h <= T:
        raise StateError(f"step must be positive and horizon at least one step, in seconds; got {h:g} and {T:g}.")
    steps = round(min(T / h, 2.0 * _MOST))
    if abs(steps * h - T) > 1e-9 * T or steps > _MOST:
        raise StateError(f"horizon must be a whole number of steps, at most {_MOST}; {T:g} is {T / h:.6g} of {h:g}.")
    P = None if covariance is None else read_variances(covariance, 2 * mb.nv, "covariance")
    Q = np.zeros((2 * mb.nv, 2 * mb.nv)) if noise is None else read_variances(noise, 2 * mb.nv, "noise")
    if noise is not None and P is None:
        raise StateError("noise adds to a covariance: give covariance= too.")
    refuse_large((steps, 1 if P is None else 4 * mb.nv, 2 * mb.nv), f"a prediction of {steps} steps", "Take fewer.")
    run = _Run(robot, h, world, friction, restitution)
    law = controls if callable(controls) else None
    force = np.zeros((steps, mb.nv)) if law is not None else _forces(mb, controls, steps)
    with in_words_of("the prediction", "step="):
        qs, vs = run.states(start_q, start_v, force, law)
    t: Array = np.arange(steps + 1) * np.float64(h)
    touched = run.touched(t, qs, vs)
    with in_words_of("the covariance of the prediction", "step="):
        A = None if P is None else run.transitions(qs, vs, force, law)
    carried = None if A is None or P is None else _carried(A, P, Q * h)
    return Prediction(t, qs, vs, force, touched, A, carried, not touched)


class _Run:
    """Steps of a copy of the model, by "rk4", or with contact."""

    def __init__(
        self, robot: Bearer, h: float, world: Surroundings | None, friction: Any, restitution: float | None
    ) -> None:
        if world is not None and (not hasattr(world, "scene_on") or world.robot is not robot):
            raise StateError(f"world= is a World around this robot, got {world!r:.60}.")
        self.mb, self.h = robot.mb.copy(), h
        self.length = length_of(self.mb) or 1.0
        slides = np.array([u != "r" for u in "".join(self.mb.layout.units.hinge)], dtype=bool)
        self.moves = np.tile(_STEP * np.where(slides, self.length, 1.0), 2)
        self.contact, self.near = world is not None, None
        self.met: dict[tuple[str, str], int] = {}
        """Pairs that pressed each other in steps of a closed chain, and the first of these."""
        self.touch: _Contact | None = None
        self.p: Propagator | _Steps
        if world is None:
            self.p = Propagator(self.mb, integrator="rk4", step=h)
            return
        scene = world.scene_on(self.mb)
        self.near = Queries(self.mb, scene)
        mu, e = FRICTION if friction is None else friction, 0.0 if restitution is None else restitution
        if self.mb.is_closed:
            self.p = _Steps(self.mb, h, lambda: _Contact(scene, friction=mu, restitution=e))
        else:
            self.p = Propagator(self.mb, integrator="moreau_midpoint", step=h)
            self.touch = _Contact(scene, friction=mu, restitution=e)
            self.p.add(self.touch)

    def states(self, q: Array, v: Array, force: Array, law: Law | None) -> tuple[Array, Array]:
        """States from one on; `force` is filled with what a law asks for."""
        if law is None:
            return self._rolled(0, q, v, force)
        qs, vs = [q], [v]
        for k in range(len(force)):
            force[k] = self._asked(law, k, qs[-1], vs[-1])
            Q, V = self._rolled(k, qs[-1], vs[-1], force[k : k + 1])
            qs.append(Q[-1])
            vs.append(V[-1])
        return np.array(qs), np.array(vs)

    def _rolled(self, first: int, q: Array, v: Array, force: Array) -> tuple[Array, Array]:
        """Steps from the one with a number on."""
        states = self.p.rollout(q, v, force, len(force))
        if self.touch is not None:
            self.touch.go_on()
        for k, pair in self.p.met if isinstance(self.p, _Steps) else ():
            self.met.setdefault(pair, first + k)
        return states

    def transitions(self, q: Array, v: Array, force: Array, law: Law | None) -> Array:
        """A of every step, (steps, 2 nv, 2 nv)."""
        if self.contact:
            return np.array([self._by_differences(k, q[k], v[k], force[k], law) for k in range(len(force))])
        assert isinstance(self.p, Propagator)
        s = self.p.rollout_derivatives(q[:-1], v[:-1], force[:, None], 1)
        A, B = np.array(s.A[:, 0]), s.B[:, 0]
        for k in range(len(force)) if law is not None else ():
            assert law is not None
            up, down = np.split(np.array([self._asked(law, k, *x) for x in self._around(q[k], v[k])]), 2)
            A[k] += B[k] @ ((up - down).T / (2.0 * self.moves))
        return A

    def _by_differences(self, k: int, q: Array, v: Array, force: Array, law: Law | None) -> Array:
        moved = self._around(q, v)
        push = np.array([force if law is None else self._asked(law, k, *x) for x in moved])[:, None]
        Q, V = self.p.rollout(np.array([x for x, _ in moved]), np.array([x for _, x in moved]), push, 1)
        here = self.p.rollout(q, v, force[None], 1)[0][-1]
        dq = np.asarray(self.mb.difference(np.broadcast_to(here, Q[:, -1].shape), Q[:, -1]))
        up, down = np.split(np.concatenate([dq, V[:, -1]], axis=1), 2)
        return np.asarray((up - down).T / (2.0 * self.moves))

    def _around(self, q: Array, v: Array) -> list[tuple[Array, Array]]:
        """States a little to both sides of one, along each dof and its velocity; in contact, those on the closures next
        to them."""
        nv = self.mb.nv
        moves = np.concatenate([np.diag(self.moves), -np.diag(self.moves)])
        around = [(np.asarray(self.mb.integrate(q, d[:nv])), v + d[nv:]) for d in moves]
        return [self.p.project(*x) for x in around] if isinstance(self.p, _Steps) else around

    def _asked(self, law: Law, k: int, q: Array, v: Array) -> Array:
        t = k * self.h
        force = law(t, np.array(q), np.array(v))  # copies: a law that changes its arguments changes no state
        what = f"the force of the control law at {t:g} s"
        return finite(in_graph_order(self.mb, force, what), (self.mb.nv,), what, StateError)

    def touched(self, t: Array, q: Array, v: Array) -> tuple[tuple[float, str, str], ...]:
        """Pairs that touch at a state or in the middle of a step, where contact acts, with the end of that step."""
        if self.near is None:
            return ()
        middle = np.asarray(self.mb.integrate(q[:-1], 0.5 * self.h * v[:-1]))
        first: dict[tuple[str, str], float] = {}
        for states, times in ((q, t), (middle, t[1:])):
            near = self.near.distances(states, _TOUCHING * self.length, None)
            for pair, k in zip(near.pairs, near.state, strict=True):
                first[pair] = min(first.get(pair, np.inf), float(times[k]))
        for pair, k in self.met.items():
            first[pair] = min(first.get(pair, np.inf), float(t[k + 1]))
        return tuple(sorted((when, *pair) for pair, when in first.items()))


class _Contact(Contact):
    """Contact of steps that are taken one by one. Where the first begins is judged as that of a rollout."""

    _takes_out = False

    def go_on(self) -> None:
        """Go on from where steps led to, where shapes may be in each other by the way of a step."""
        self._penetration = np.inf


class _Steps:
    """Steps of a closed chain with contact, which compiled code does not take: `rollout` as that of a `Propagator`, in
    Python, some milliseconds each."""

    def __init__(self, mb: Multibody, h: float, contact: Callable[[], _Contact]) -> None:
        self.mb, self.h, self._contact, self._began = mb, h, contact, False
        self.project = TreeAugmented(mb).project
        self.met: list[tuple[int, tuple[str, str]]] = []
        """Contacts that pressed in the last rollout: the number of the step, and the pair."""

    def rollout(self, q: Array, v: Array, force: Array, steps: int) -> tuple[Array, Array]:
        """States (..., steps + 1, nq) and (..., steps + 1, nv) from one or several, under forces (..., steps, nv)."""
        if q.ndim == 1:
            return self._one(q, v, force, steps)
        each = [self._one(*x, steps) for x in zip(q, v, force, strict=True)]
        return np.array([x for x, _ in each]), np.array([x for _, x in each])

    def _one(self, q: Array, v: Array, force: Array, steps: int) -> tuple[Array, Array]:
        mb, contact, held = self.mb, self._contact(), [force[0]]
        if self._began:
            contact.go_on()
        mb.set_state(q, v)
        p = Propagator(mb, integrator="moreau", step=self.h)
        p.add(contact, lambda t, state: held[0])
        Q, V = [q], [v]
        for k in range(steps):
            held[0] = force[k]
            p.advance_to((k + 1) * self.h)
            Q.append(np.array(mb.q))
            V.append(np.array(mb.v))
        self.met, self._began = [], True
        for x in contact.steps:
            pressed = np.linalg.norm(x.impulses, axis=1) > 0.0
            self.met += [(round(x.t / self.h) - 1, pair) for pair, p in zip(x.pairs, pressed, strict=True) if p]
        return np.array(Q), np.array(V)


def _forces(mb: Multibody, controls: Any, steps: int) -> Array:
    """A force for each step."""
    if controls is None:
        return np.zeros((steps, mb.nv))
    forces = finite(in_graph_order(mb, controls, "controls"), (..., mb.nv), "controls", StateError)
    if forces.ndim > 2 or (forces.ndim == 2 and len(forces) != steps):
        raise StateError(
            f"controls are a force ({mb.nv}), one for each of the {steps} steps, or a function of (t, q, v); got the "
            f"shape {forces.shape}."
        )
    return np.array(np.broadcast_to(forces, (steps, mb.nv)))


def read_covariance(matrix: Any, size: int, what: str) -> Array:
    """A covariance: a matrix, or its diagonal. Symmetry and sign are judged in parts of its standard deviations, so
    that units do not matter."""
    P = finite(matrix, (..., size), what, StateError)
    P = np.diag(P) if P.ndim == 1 else P
    if P.shape != (size, size):
        raise StateError(f"{what} must be symmetric, ({size}, {size}), or its diagonal; got the shape {P.shape}.")
    if size == 0:
        return P
    least = float(np.diag(P).min())
    if least < 0.0:
        raise StateError(f"{what} must not be negative; its least variance is {least:.3g}.")
    sigma = np.sqrt(np.diag(P))
    scale = np.where(sigma > 0.0, sigma, 1.0)
    parts = P / scale[:, None] / scale
    if np.abs(parts - parts.T).max() > 1e-9:
        raise StateError(f"{what} must be symmetric, ({size}, {size}), or its diagonal; got one that is not.")
    least = float(np.linalg.eigvalsh(parts)[0])
    if least < -1e-9 or P[sigma == 0.0].any():
        raise StateError(
            f"{what} must not be negative; scaled to ones on its diagonal, its least eigenvalue is {least:.3g}."
        )
    return np.asarray(0.5 * P + 0.5 * P.T)


def read_variances(noise: Any, size: int, what: str) -> Array:
    """Read a covariance as `read_covariance`, or one variance for all."""
    values = finite(noise, (...,), what, StateError)
    return read_covariance(values if values.ndim else np.full(size, float(values)), size, what)


def _carried(A: Array, P: Array, Q: Array) -> Array:
    covariances = [P]
    for a in A:
        with np.errstate(all="ignore"):
            P = a @ covariances[-1] @ a.T + Q
        covariances.append(0.5 * (P + P.T))
    return finite_or_refused(np.array(covariances), "the covariance of a prediction")
