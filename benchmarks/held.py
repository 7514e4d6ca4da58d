"""Steps with prescribed motions, rigid stops and friction that sticks: compiled, next to the same steps in Python.

Steps of RK4, one thread. A run with stops or friction has events, whose steps Python takes in both; the mean is of all
steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from growth import table
from measure import microseconds
from scipy.interpolate import CubicSpline

import soacraft as sc
from soacraft import sim
from soacraft.sim.stride import Stride, Walked

STEP = 1e-3


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Microseconds of a step, compiled and in Python."""
    goal, rows = (0.01 if quick else 0.5), []
    for name, make in CASES.items():

        def compiled(make: Callable[[], sim.Propagator] = make) -> int:
            return len(make().run(goal).events)

        def in_python(make: Callable[[], sim.Propagator] = make) -> int:
            with python_steps():
                return len(make().run(goal).events)

        times = microseconds({"compiled": compiled, "Python": in_python}, 1 if quick else 3)
        us = {who: t / (goal / STEP) for who, t in times.items()}
        rows.append({"case": name, "events": compiled(), "us": us})
    return rows


@contextmanager
def python_steps() -> Iterator[None]:
    """Let runs take their steps in Python for a while."""
    many = Stride.many
    Stride.many = lambda self, problem, memory, *rest, **options: Walked(None, memory)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Stride.many = many  # type: ignore[method-assign]


def _arm(motion: Any) -> sim.Propagator:
    mb = sc.load("arm7")
    p = sim.Propagator(mb, integrator="rk4", step=STEP)
    p.prescribe(mb.dof_names[2], motion)
    return p


def _linkage() -> sim.Propagator:
    mb = sc.load("five_bar")
    p = sim.Propagator(mb, integrator="rk4", step=STEP)
    for name in ("mot1", "mot2"):
        q = float(mb.q[mb.dof_names.index(name)])
        p.prescribe(name, CubicSpline([0.0, 0.25, 0.5], [q, q + 0.05, q]))
    return p


def _stops() -> sim.Propagator:
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, 0.2], [0.0, 0.0])
    p = sim.Propagator(mb, integrator="rk4", step=STEP)
    p.add(sim.JointLimit(mb.dof_names[0], lower=0.3, upper=1.0, restitution=0.5))
    return p


def _friction() -> sim.Propagator:
    mb = sc.load("double_pendulum")
    mb.set_state([0.5, 0.2], [0.0, 0.0])
    p = sim.Propagator(mb, integrator="rk4", step=STEP)
    p.add(sim.HingeFriction(mb.dof_names[1], coulomb=1.0))
    return p


#: What is run, by its name in the table.
CASES: dict[str, Callable[[], sim.Propagator]] = {
    "arm7, a spline": lambda: _arm(CubicSpline([0.0, 0.25, 0.5], [0.0, 0.4, 0.0])),
    "arm7, a function": lambda: _arm(lambda t: (np.sin(t), np.cos(t), -np.sin(t))),
    "five-bar, a spline": _linkage,
    "double pendulum, a stop": _stops,
    "double pendulum, friction": _friction,
}


def text(rows: list[dict[str, Any]]) -> str:
    """The table of a result."""
    lines = [
        [x["case"], str(x["events"]), f"{x['us']['compiled']:.1f}", f"{x['us']['Python'] / x['us']['compiled']:.0f}"]
        for x in rows
    ]
    head = ["run", "events", "compiled, us a step", "times as fast as in Python"]
    return f"## Prescribed motions, stops and friction\n\n{table(head, lines, 1)}"
