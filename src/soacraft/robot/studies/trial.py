"""A motion tried in simulation: computed torque, cut to the efforts of the motors.

    T = M (vdot_d + kd (v_d - v) + kp e) + C,    e = difference(q, q_d)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SimulationError
from soacraft.model.hinges import Free, Weld
from soacraft.model.sizes.lengths import length_of
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.freedoms import apart_dofs
from soacraft.robot.estimation.wording import in_words_of
from soacraft.robot.robot import Robot
from soacraft.robot.studies.efforts import efforts_of
from soacraft.sim.propagator import Propagator
from soacraft.spatial.checks import Array

#: Gains of the control, in 1/s2 and 1/s: critically damped, settled in half a second.
KP, KD = 100.0, 20.0


def simulated(robot: Robot, motion: Any, efforts: Any, dt: float, within: float) -> tuple[float, str]:
    """Largest distance of a robot from its motion, and the reason why that is too much; empty where it is within the
    bound.

    `motion` is a `Motion`, or (q, seconds) to stay. The model is copied; loose objects are welded in place. A robot
    with dofs without motors, such as a floating base, is not simulated: NaN.
    """
    mb = robot.mb.copy()
    # efforts by name hold for the copy, whatever else is welded
    limits = efforts_of(mb, efforts, robot.held)
    loose = apart_dofs(mb, limits.motors)
    if (~limits.motors & ~loose).any():
        return np.nan, ""
    dofs = np.flatnonzero(~loose)
    places = _welded(mb, loose)
    lower, upper = limits.lower[dofs], limits.upper[dofs]
    rests = isinstance(motion, tuple)
    seconds = max(float(motion[1]) if rests else float(motion.duration), dt)
    steps = int(np.ceil(seconds / dt))
    h = seconds / steps
    # at the ends and the middle of each step, where rk4 looks
    if rests:
        q_d = np.tile(np.asarray(motion[0])[places], (2 * steps + 1, 1))
        v_d = a_d = np.zeros((2 * steps + 1, mb.nv))
    else:
        q_d, v_d, a_d = (np.asarray(x) for x in motion.at(np.linspace(0.0, float(motion.duration), 2 * steps + 1)))
        q_d, v_d, a_d = q_d[:, places], v_d[:, dofs], a_d[:, dofs]

    def row(t: float) -> int:
        return min(round(2.0 * t / h), 2 * steps)

    def control(t: float, state: Any) -> Array:
        i = row(t)
        a = a_d[i] + KD * (v_d[i] - state.v) + KP * np.asarray(mb.difference(state.q, q_d[i]))
        return np.asarray(np.clip(dyn.inverse_dynamics(mb, state.q, state.v, a), lower, upper))

    mb.set_state(q_d[0], np.zeros(mb.nv))
    p = Propagator(mb, integrator="rk4", step=h)
    p.add(control)
    try:
        with in_words_of("the simulation", "dt="):
            run = p.advance_to(seconds)
    except SimulationError as why:
        return np.inf, f"simulation ends: {why}"
    turning = np.array([x == "r" for x in "".join(mb.layout.units.hinge)], dtype=bool)
    unit = np.where(turning, 1.0, 1.0 / (length_of(mb) or 1.0))
    off = np.abs(mb.difference(run.q, q_d[[row(float(t)) for t in run.t]])) * unit
    error = float(off.max(initial=0.0))
    if error <= within:
        return error, ""
    i = int(np.argmax(off.max(axis=0)))
    return error, f"simulated, {mb.dof_names[i]!r} is off its motion by {error:.3g}"


def _welded(mb: Multibody, loose: Any) -> Any:
    """Weld objects that nobody moves in place; the places of the remaining coordinates among the old ones."""
    layout = mb.layout
    keep = np.ones(mb.nq, dtype=bool)
    bodies = []
    for body, q, v in zip(layout.bodies, layout.hinge_q, layout.hinge_v, strict=True):
        if v.stop > v.start and loose[v].all():
            keep[q] = False
            bodies.append(body.name)
    for name in bodies:
        body = mb[name]
        hinge = body.hinge
        if isinstance(hinge, Free) and body.parent is mb.root:
            mb.reattach(name, None, Weld(), mb.pose(name))
        else:
            mb.reattach(name, body.parent, Weld(), mb.pose(name, body.parent))
    return np.flatnonzero(keep)
