"""Systems of components: what a step costs, one thread, components and controllers written in Python.

`./run bench systems`. A chain of discrete filters at 1 kHz, with all its signals recorded and with one; the 7-dof arm
with a motor on every joint under a controller at 1 kHz, by "rk4" with steps of 1 ms, next to the arm alone, whose steps
are compiled; and how long it takes to check and order large systems. Times are of the processor, the shortest of
several stretches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from growth import table

import soacraft as sc
from soacraft import sim

SIZES = (10, 100, 1000)


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    steps, rounds = (5, 1) if quick else (200, 8)
    sizes = SIZES[:2] if quick else SIZES
    chains = []
    for n in sizes:
        checked = min(seconds_to_check(n) for _ in range(1 if quick else 3))
        recorded = stretch(lambda n=n: chain(n), "**", steps, rounds) / n
        single = stretch(lambda n=n: chain(n), "source.y", steps, rounds) / n
        chains.append({"components": n, "recorded": recorded, "one signal": single, "checked": checked})
    arms = {
        "motors and PD in Python": stretch(lambda: arm(True), "**", steps, rounds),
        "PD in Python": stretch(lambda: arm(False), "**", steps, rounds),
        "nothing (compiled)": alone(steps, rounds),
    }
    return {"chains": chains, "arms": arms}


def chain(n: int) -> sim.System:
    """Filters one after the other, each sampled at 1 kHz."""
    s = sim.System("chain", integrator="rk4", step=1e-3)
    s.add("source", sim.Constant(value=1.0))
    before = "source.y"
    for i in range(n):
        name = f"f{i:05d}"
        s.add(name, sim.DiscreteFilter(weight=0.1), every=1e-3)
        s.connect(before, f"{name}.u")
        before = f"{name}.y"
    return s


def arm(motors: bool) -> sim.System:
    """The 7-dof arm under a controller at 1 kHz, through motors or directly."""
    mb = sc.load("arm7")
    s = sim.System("arm", integrator="rk4", step=1e-3)
    plant = s.add("arm", sim.Plant(mb))
    s.add("target", sim.Constant(value=(0.2,) * mb.nv))
    s.add("control", sim.PD(kp=20.0 if motors else 1.0, kd=1.0 if motors else 0.01, size=mb.nv), every=1e-3)
    s.connect("target.y", "control.target")
    s.connect(plant.q, "control.measured")
    s.connect(plant.v, "control.rate")
    if not motors:
        s.connect("control.command", "arm.force")
        return s
    for dof in mb.dof_names:
        s.add(f"motor_{dof}", sim.Motor(R=1.0, L=5e-3, k=0.05, n=10.0), at=plant.dof(dof))
    s.connect("control.command", "motor_*.voltage")
    return s


def stretch(make: Callable[[], sim.System], signals: str, steps: int, rounds: int) -> float:
    """Microseconds of a step of 1 ms, the shortest of several stretches of a run."""
    s, best = make(), float("inf")
    s.run(0.01, signals=signals)
    for i in range(rounds):
        start = time.process_time()
        s.run(0.01 + 1e-3 * steps * (i + 1), signals=signals)
        best = min(best, time.process_time() - start)
    return best / steps * 1e6


def alone(steps: int, rounds: int) -> float:
    """The same of the arm under gravity alone."""
    p, best = sim.Propagator(sc.load("arm7"), integrator="rk4", step=1e-3), float("inf")
    p.advance_to(0.01)
    for i in range(rounds):
        start = time.process_time()
        p.advance_to(0.01 + 1e-3 * steps * (i + 1))
        best = min(best, time.process_time() - start)
    return best / steps * 1e6


def seconds_to_check(n: int) -> float:
    """Of a new chain."""
    s, start = chain(n), time.process_time()
    s.check()
    return time.process_time() - start


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    rows = [
        [str(x["components"]), *(f"{x[k]:.2f}" for k in ("recorded", "one signal")), f"{x['checked']:.3f}"]
        for x in result["chains"]
    ]
    head = ["filters", "all signals recorded [us]", "one recorded [us]", "checked and ordered [s]"]
    arms = [[name, f"{us:.0f}"] for name, us in result["arms"].items()]
    return "\n\n".join(
        [
            "A step of one component, in a chain of filters at 1 kHz:",
            table(head, rows, 1),
            "A step of 1 ms of the 7-dof arm by RK4, which is driven by:",
            table(["driven by", "a step [us]"], arms, 1),
        ]
    )
