"""Motions through a model's state, and derivatives along them by central differences."""

import numpy as np

STEP = 4e-3
OFFSETS = np.arange(-4, 5)
FIRST = np.array([3, -32, 168, -672, 0, 672, -168, 32, -3]) / 840  # order eight
SECOND = np.array([-9, 128, -1008, 8064, -14350, 8064, -1008, 128, -9]) / 5040


def along(mb, state=None):
    """A batch of nine states on a smooth motion with the state's v and vdot at the middle one.

    q(t) = integrate(q, v t + vdot t^2 / 2) has velocity v and acceleration vdot at t = 0 for every hinge, since the
    terms in which quasi-velocities differ from rates are of second order in t times v x v = 0.
    """
    s = mb.state() if state is None else state
    t = STEP * OFFSETS[:, None]
    return mb.state(mb.integrate(s.q, t * s.v + 0.5 * t**2 * s.vdot), s.v + t * s.vdot, s.vdot)


def rate(values):
    """The first derivative at the middle of nine values."""
    return np.tensordot(FIRST, np.asarray(values), 1) / STEP


def second_rate(values):
    """The second derivative at the middle of nine values."""
    return np.tensordot(SECOND, np.asarray(values), 1) / STEP**2
