"""Whole runs of `./run bench sim`: a double pendulum to an accuracy, cassie on its loops, energies over many steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import closed_models
import numpy as np
import pinocchio as pin
from closed_in_pinocchio import ClosedInPinocchio
from measure import microseconds
from scipy.integrate import solve_ivp

import soacraft as sc
from soacraft.kinematics.rows import Constraints

#: The accuracy of the double pendulum's angles at its end, in radians.
ACCURACY = 1e-9
TOLERANCES = [10.0**-k for k in range(7, 14)]


def double_pendulum(quick: bool) -> dict[str, Any]:
    """Time to carry it to the end with an error below the accuracy, each by the loosest tolerance that gives it."""
    end = 0.5 if quick else 10.0
    mb = sc.load("double_pendulum")
    q, v = np.array([1.0, 0.5]), np.zeros(2)
    peer = ClosedInPinocchio(mb)
    model, data, still = peer.model, peer.data, np.zeros(2)
    start = np.concatenate(peer.inputs(q, v, v)[:2])

    def rates(t: float, x: np.ndarray) -> np.ndarray:
        return np.concatenate([x[2:], pin.aba(model, data, x[:2], x[2:], still)])

    def ours(rtol: float) -> np.ndarray:
        mb.set_state(q, v)
        return sc.sim.Propagator(mb, rtol=rtol).advance_to(end).q[-1]

    def theirs(rtol: float) -> np.ndarray:
        return np.asarray(solve_ivp(rates, (0.0, end), start, "DOP853", rtol=rtol, atol=rtol).y[:2, -1])

    exact = solve_ivp(rates, (0.0, end), start, "DOP853", rtol=2.3e-14, atol=1e-15).y[:2, -1]
    picked = {"soacraft": loosest(ours, exact), "scipy around Pinocchio": loosest(theirs, exact)}
    jobs: dict[str, Callable[[], object]] = {
        "soacraft": lambda: ours(picked["soacraft"][0]),
        "scipy around Pinocchio": lambda: theirs(picked["scipy around Pinocchio"][0]),
    }
    times = microseconds(jobs, 1 if quick else 7)
    return {"end": end, "rows": [{"by": name, "rtol": picked[name][0], "error": picked[name][1], "us": times[name]}
                                 for name in jobs]}  # fmt: skip


def loosest(solve: Callable[[float], np.ndarray], exact: np.ndarray) -> tuple[float, float]:
    """The loosest tolerance that reaches the accuracy, and its error; the tightest where none does."""
    for rtol in TOLERANCES:
        error = float(np.abs(solve(rtol) - exact).max())
        if error <= ACCURACY:
            break
    return rtol, error


def cassie(quick: bool) -> dict[str, Any]:
    """Steps of RK4 from one state: compiled with projection or in independent dofs, and with constraintDynamics in
    a loop of Python, without stabilization. With how far the loops are open at the end."""
    steps, h = (2, 1e-4) if quick else (500, 1e-4)
    mb = closed_models.build("cassie")
    q, v = np.array(mb.q), np.array(mb.v)
    peer = ClosedInPinocchio(mb)
    ends: dict[str, np.ndarray] = {}

    def ours(name: str) -> Callable[[], None]:
        solver = {"TA": sc.loops.TreeAugmented, "CE": sc.loops.ConstraintEmbedding}[name](mb)

        def run() -> None:
            mb.set_state(q, v)
            ends[name] = sc.sim.Propagator(mb, solver, integrator="rk4", step=h).advance_to(steps * h).q[-1]

        return run

    def theirs() -> None:
        x, y, still = peer.inputs(q, v, np.zeros(mb.nv))
        for _ in range(steps):
            x, y = runge_kutta(peer, x, y, still, h)
        ends["Pinocchio"] = peer.coordinates(x)

    times = microseconds({"TA": ours("TA"), "CE": ours("CE"), "Pinocchio": theirs}, 1 if quick else 3)
    rows = []
    for name, t in times.items():
        opening = float(Constraints(mb, mb.state(ends[name], np.zeros(mb.nv))).opening)
        difference = float(np.abs(ends[name] - ends["CE"]).max())
        rows.append({"by": name, "us": t / steps, "opening": opening, "difference": difference})
    return {"steps": steps, "h": h, "rows": rows}


def runge_kutta(
    peer: ClosedInPinocchio, q: np.ndarray, v: np.ndarray, force: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """One step; velocities are added up in the axes of the start, which its short steps allow."""
    model, data = peer.model, peer.data

    def rate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.array(pin.constraintDynamics(model, data, q, v, force, peer.loops, peer.loop_data, peer.settings))

    a1 = rate(q, v)
    v2 = v + 0.5 * h * a1
    a2 = rate(pin.integrate(model, q, 0.5 * h * v), v2)
    v3 = v + 0.5 * h * a2
    a3 = rate(pin.integrate(model, q, 0.5 * h * v2), v3)
    v4 = v + h * a3
    a4 = rate(pin.integrate(model, q, h * v3), v4)
    moved = pin.integrate(model, q, h / 6 * (v + 2 * v2 + 2 * v3 + v4))
    return moved, v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)


def long_run(quick: bool) -> dict[str, Any]:
    """The largest error of the energy, relative to its swing, in each tenth of a long run of a double pendulum. Methods
    take the same time for the same span: steps of RK4 are as much shorter as they are cheaper."""
    steps, h = (200, 0.02) if quick else (1_000_000, 0.02)
    cost = {name: _cost(name, h) for name in ("variational", "variational4", "rk4")}
    rows = []
    for name in cost:
        own = max(1e-9, round(h * cost[name] / cost["variational"], 9))
        rows.append({"by": name, "h": own, "us": cost[name], "errors": _energies(name, own, steps * h)})
    return {"steps": steps, "span": steps * h, "rows": rows}


def _cost(name: str, h: float) -> float:
    """Microseconds of a step."""
    p, steps = _pendulum(name, h), 1000
    return microseconds({name: lambda: p.advance_to(p.t + steps * h)}, 3)[name] / steps


def _pendulum(name: str, h: float) -> sc.sim.Propagator:
    mb = sc.load("double_pendulum")
    mb.set_state([0.6, -0.3], [0.0, 0.0])
    return sc.sim.Propagator(mb, integrator=name, step=h)


def _energies(name: str, h: float, span: float) -> list[float]:
    """By tenths of the span; a tenth is run in parts, whose rows are let go."""
    p, errors = _pendulum(name, h), []
    first, swing = float("nan"), 0.0
    for tenth in range(10):
        largest = 0.0
        for part in range(10):
            run = p.advance_to(span * (10 * tenth + part + 1) / 100)
            if not tenth and not part:
                first, swing = float(run.energy[0]), float(run.kinetic.max())
            largest = max(largest, float(np.abs(run.energy - first).max()) / swing)
        errors.append(largest)
    return errors
