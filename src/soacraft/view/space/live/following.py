"""A propagator that goes with the clock, and the spring by which the mouse pulls a body while it runs."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SoacraftError
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array

#: Pictures a second.
RATE = 60.0
#: The frequency of the spring, in times of the model: sqrt(length / gravity).
STIFF = 4.0
#: A run that shows nothing for so long, in seconds, has ended.
OVER = 0.5


class Grip(NamedTuple):
    """A point of a body, in its axes, and where the mouse is, in the inertial frame."""

    body: Body
    point: Array
    target: Array


class Pull:
    """The spring and damper between a point of a body and the mouse, as a force for `p.add`:

        F = m_e (w^2 (target - x) - w u),    w = STIFF / time of the model,    m_e = 3 / tr(J_v Mcal^-1 J_v*)

    x is the point and u its velocity; m_e is the mass that the body has for a force at its origin, so that a finger is
    pulled as softly as a trunk. What the mouse wants is taken over between steps alone: the force is smooth in each.
    """

    name = "pull"

    def __init__(self) -> None:
        self._wanted: Grip | None = None
        self._held: Grip | None = None
        self._mass = 0.0

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb, self._rate = mb, STIFF / scale_of(mb).time

    def want(self, grip: Grip | None) -> None:
        """Pull here from the next step on, or let go. From any thread."""
        self._wanted = grip

    def hold(self) -> None:
        """Take over what is wanted; between steps."""
        grip = self._wanted
        if grip is not None and (self._held is None or self._held.body is not grip.body):
            self._mass = _mass_at(self._mb, grip.body)
        self._held = grip

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        grip = self._held
        if grip is None:
            return np.zeros(self._mb.nv)
        mb, body, q = self._mb, grip.body, state.q
        J, poses = dyn.jacobian(mb, q, body), dyn.poses(mb, q)  # compiled: this runs in every stage of a step
        k = mb.layout.index[body]
        lever, V = poses.rotation[k] @ grip.point, J @ state.v
        u = V[3:] + np.cross(V[:3], lever)
        push = self._mass * (self._rate**2 * (grip.target - poses.translation[k] - lever) - self._rate * u)
        return np.asarray(J.T @ np.concatenate([np.cross(lever, push), push]))


def _mass_at(mb: Multibody, body: Body) -> float:
    try:
        compliance = dyn.operational_space_compliance(mb, mb.current.q, body, ignore_loops=True)
    except SoacraftError:
        return float(body.inertia.mass)
    trace = float(np.trace(compliance[3:, 3:]))
    return 3.0 / trace if trace > 0.0 else 0.0


class Follower:
    """Makes a propagator wait for the clock, `speed` seconds of the run in a second, and pull where the mouse does."""

    def __init__(self, p: Any, speed: float, pull: bool) -> None:
        self.pull = Pull() if pull else None
        if self.pull is not None:
            p.add(self.pull)
        self._speed = speed
        self._start: tuple[float, float] | None = None  # of the clock and of the run
        self._last = -np.inf
        p.every(speed / RATE, self._due)

    @property
    def running(self) -> bool:
        """True while a run goes on."""
        return time.monotonic() - self._last < OVER

    def _due(self, t: float, state: State) -> None:
        """Called by the propagator, with the model at the state of the run."""
        if self.pull is not None:
            self.pull.hold()
        now = time.monotonic()
        if self._start is None or not self.running:
            self._start = now, t
        ahead = (t - self._start[1]) / self._speed - (now - self._start[0])
        if ahead > 0.0:
            time.sleep(ahead)
        elif ahead < -OVER:  # too slow for the clock: no hurry later
            self._start = now, t
        self._last = time.monotonic()
