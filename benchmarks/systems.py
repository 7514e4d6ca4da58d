"""Systems of components: what a step costs, one thread.

`./run bench systems`. A chain of discrete filters at 1 kHz, written in Python and compiled; the 7-dof arm under a
controller at 1 kHz that is written in Python, by "rk4" with steps of 1 ms, through motors and directly, next to the arm
alone; a satellite with three wheels in a field of gravity; what it costs to log 100 signals; how long it takes to check
and order large systems, and to write and restore a checkpoint of one; and the same of Drake, Basilisk and PathSim,
where a Python that has them is named by SOACRAFT_PEERS. Times are of the processor, the shortest of several stretches.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import calls
import numpy as np
from child import ONE_THREAD
from growth import table

import soacraft as sc
from soacraft import sim

SIZES = (10, 100, 1000, 10_000)
#: G M of the Earth, and the radius of the orbit of the satellite.
MU, RADIUS = 3.986004418e14, 7.0e6


class PythonFilter(sim.Component):
    """y[k] = x[k], x[k+1] = x[k] + weight (u[k] - x[k]): `sim.DiscreteFilter`, without its twins."""

    class Params(sim.Params):
        weight: float

    u = sim.In()
    x = sim.Discrete()

    @sim.output()
    def y(x):
        return x

    @sim.update(x)
    def x_next(p, u, x):
        return x + p.weight * (u - x)


class PythonPD(sim.Component):
    """`sim.PD` of seven dofs, without its twin."""

    class Params(sim.Params):
        kp: float
        kd: float

    target = sim.In(shape=(7,))
    measured = sim.In(shape=(7,))
    rate = sim.In(shape=(7,))

    @sim.output(shape=(7,))
    def command(p, target, measured, rate):
        return p.kp * (target - measured) - p.kd * rate


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    steps, rounds = (5, 1) if quick else (1000, 5)
    chains = []
    for n in SIZES[:2] if quick else SIZES:
        row: dict[str, Any] = {"components": n}
        for name, kind in (("python", PythonFilter), ("compiled", sim.DiscreteFilter)):
            row[name] = stretch(lambda n=n, kind=kind: chain(n, kind), f"f{n - 1:05d}.y", steps, rounds) / n
        row["recorded"] = stretch(lambda n=n: chain(n, sim.DiscreteFilter), "**", steps, rounds) / n
        row["checked"] = min(seconds_to_check(n) for _ in range(1 if quick or n > 1000 else 3))
        chains.append(row)
    arms = {
        "motors, and PD in Python": stretch(lambda: arm(True), "**", steps, rounds),
        "PD in Python": stretch(lambda: arm(False), "**", steps, rounds),
        "nothing": alone(steps, rounds),
    }
    satellite = {"step": stretch(hub, "**", steps, rounds), "error": orbit_error(200 if quick else 5829)}
    return {
        "chains": chains,
        "arms": arms,
        "satellite": satellite,
        "logged": logged(steps, 1 if quick else 5),
        "kept": kept(SIZES[0 if quick else 2]),
        "campaign": [campaign(x, quick) for x in ((50,) if quick else (300, 3000))],
        "crossings": crossing_campaign(quick),
        "calls": calls.components(quick),
        "peers": peers(quick),
    }


def campaign(steps: int, quick: bool) -> dict[str, float]:
    """Milliseconds of a run of the satellite with steps of 1 s, one by one and in batches."""
    found: dict[str, float] = {"steps": steps}
    vary = {
        "earth_hub.mu": sim.Normal(MU, 1e10),
        "torque0.value": sim.Normal(0.0, 0.1),
        "craft.v[hub.0]": sim.Normal(0, 0.01),
    }
    for name, runs, batch in (("one by one", 2 if quick else 16, 0), ("batch", 8 if quick else 512, "auto")):
        with tempfile.TemporaryDirectory() as folder:
            c = sim.Campaign(lambda: hub(1.0), f"{folder}/runs", runs=runs, t=float(steps), vary=vary, batch=batch,
                             measure={"x": "craft.q[4][-1]", "wheel": "craft.v[wheel0][-1]"})  # fmt: skip
            start = time.process_time()
            c.run()
            found[name] = (time.process_time() - start) / runs * 1e3
    return found


class Relay(sim.Component):
    """A push to one side or the other, switched where the angle leaves a band."""

    class Params(sim.Params):
        push: float = 4.0
        band: float = 0.2

    side = sim.Discrete(start=1.0)
    angle = sim.In("rad", of="position")

    @sim.output("N m", to="force")
    def force(p, side):
        return p.push * side

    @sim.crossing(direction=1)
    def high(p, angle):
        return angle - p.band

    @sim.crossing(direction=-1)
    def low(p, angle):
        return angle + p.band

    @sim.jump(side, at=high)
    def back():
        return -1.0

    @sim.jump(side, at=low)
    def forth():
        return 1.0


def relay() -> sim.System:
    """A double pendulum, pushed by a relay."""
    s = sim.System("relay", integrator="rk4", step=0.01)
    plant = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.add("relay", Relay(), at=plant.dof("upper"))
    return s


def crossing_campaign(quick: bool) -> dict[str, float]:
    """Milliseconds of a run of 2 s with crossings and a varied mass, one by one and in batches; crossings of a run."""
    vary = {"relay.band": sim.Uniform(0.1, 0.3), "arm.lower.mass": sim.Uniform(0.5, 2.0)}
    measure = {"end": "arm.q[upper][-1]", "crossings": "count(relay.high)"}
    found: dict[str, float] = {}
    for name, runs, batch in (("one by one", 2 if quick else 16, 0), ("batch", 8 if quick else 512, "auto")):
        with tempfile.TemporaryDirectory() as folder:
            c = sim.Campaign(relay, f"{folder}/runs", runs=runs, t=2.0, vary=vary, batch=batch, measure=measure)
            start = time.process_time()
            c.run()
            found[name] = (time.process_time() - start) / runs * 1e3
            found["crossings"] = 2.0 * float(c.table()["crossings"].mean())
    return found


def chain(n: int, kind: type[sim.Component]) -> sim.System:
    """Filters one after the other, each sampled at 1 kHz."""
    s = sim.System("chain", integrator="rk4", step=1e-3)
    s.add("source", sim.Constant(value=1.0))
    before = "source.y"
    for i in range(n):
        name = f"f{i:05d}"
        s.add(name, kind(weight=0.1), every=1e-3)
        s.connect(before, f"{name}.u")
        before = f"{name}.y"
    return s


def arm(motors: bool) -> sim.System:
    """The 7-dof arm under a controller at 1 kHz, through motors or directly."""
    mb = sc.load("arm7")
    s = sim.System("arm", integrator="rk4", step=1e-3)
    plant = s.add("arm", sim.Plant(mb))
    s.add("target", sim.Constant(value=(0.2,) * mb.nv))
    s.add("control", PythonPD(kp=20.0 if motors else 1.0, kd=1.0 if motors else 0.01), every=1e-3)
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


def hub(step: float = 1e-3) -> sim.System:
    """A satellite of 750 kg with three wheels on a circular orbit, each body pulled with its own mass."""
    mb = sc.Multibody("satellite", gravity=(0.0, 0.0, 0.0))
    inertia = sc.Inertia(738.0, (0.0, 0.0, 0.0), np.diag([900.0, 800.0, 600.0]))
    body = mb.add_body("hub", inertia=inertia, hinge=sc.Free())
    for i, axis in enumerate(np.eye(3)):
        wheel = sc.Inertia(4.0, (0.0, 0.0, 0.0), np.diag(0.08 + 0.08 * axis))
        mb.add_body(f"wheel{i}", parent=body, inertia=wheel, hinge=sc.Pin(axis))
    speed = np.sqrt(MU / RADIUS)
    mb.set_state([0, 0, 0, 1, RADIUS, 0, 0, 0, 0, 0], [0, 0, 0, 0, speed, 0, 100.0, 200.0, 300.0])
    s = sim.System("satellite", integrator="rk4", step=step)
    plant = s.add("craft", sim.Plant(mb))
    for each in mb.bodies:
        s.add(f"earth_{each.name}", sim.PointGravity(mu=MU), at=plant.node(each))
    for i in range(3):
        s.add(f"motor{i}", sim.Force(), at=plant.dof(f"wheel{i}"))
        s.add(f"torque{i}", sim.Constant(value=0.0))
        s.connect(f"torque{i}.y", f"motor{i}.command")
    return s


def orbit_error(seconds: int) -> float:
    """How far the satellite is from its circular orbit after steps of a second, relative to the radius."""
    run = hub(1.0).run(float(seconds), signals=[])
    angle = np.sqrt(MU / RADIUS**3) * seconds
    wanted = RADIUS * np.array([np.cos(angle), np.sin(angle), 0.0])
    return float(np.linalg.norm(run.q[-1, 4:7] - wanted)) / RADIUS


def stretch(make: Callable[[], sim.System], signals: str, steps: int, rounds: int) -> float:
    """Microseconds of a step of 1 ms, the shortest of several stretches of a run."""
    s, best = make(), float("inf")
    s.run(0.01, signals=signals)
    for i in range(rounds):
        start = time.process_time()
        s.run(0.01 + 1e-3 * steps * (i + 1), signals=signals)
        best = min(best, time.process_time() - start)
    return best / steps * 1e6


def logged(steps: int, rounds: int) -> dict[str, float]:
    """A step of the arm with motors and 100 more signals, without a record, recorded, and logged to a file."""

    def more() -> sim.System:
        s = arm(True)
        for i in range(100):
            s.add(f"more{i:02d}", sim.Gain(gain=1.0 + i))
            s.connect(first, f"more{i:02d}.u")
        return s

    first = f"arm.q[{sc.load('arm7').dof_names[0]}]"
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, signals, log in (("none", [], None), ("recorded", "more*.y", None), ("logged", "more*.y", "a.h5")):
            s, best = more(), float("inf")
            s.run(0.01, signals=signals)
            for i in range(rounds):
                path = None if log is None else str(Path(folder) / f"{i}{log}")
                start = time.process_time()
                s.run(0.01 + 20e-3 * steps * (i + 1), signals=signals, log=path)
                best = min(best, time.process_time() - start)
            found[name] = best / (20 * steps) * 1e6
    return found


def kept(n: int) -> dict[str, float]:
    """Seconds to write a checkpoint of a chain, the first and a later one, and to restore it."""
    s, found = chain(n, sim.DiscreteFilter), {"components": float(n)}
    s.run(0.01)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.h5"
        for name, act in (("first", s.checkpoint), ("later", s.checkpoint), ("restored", sim.restore)):
            start = time.process_time()
            act(path)
            found[name] = time.process_time() - start
    return found


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
    s, start = chain(n, sim.DiscreteFilter), time.process_time()
    s.check()
    return time.process_time() - start


def peers(quick: bool) -> dict[str, Any]:
    """The same in Drake, Basilisk and PathSim, by a Python that has them; nothing where none is named."""
    python = os.environ.get("SOACRAFT_PEERS")
    if not python:
        return {}
    script = str(Path(__file__).with_name("system_peers.py"))
    done = subprocess.run(
        [python, script, str(int(quick))], env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def text(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    names = ("python", "compiled", "recorded")
    rows = [[str(x["components"]), *(f"{x[k]:.3f}" for k in names), f"{x['checked']:.3f}"] for x in result["chains"]]
    head = ["filters", "in Python [us]", "compiled [us]", "compiled, all recorded [us]", "checked and ordered [s]"]
    arms = [[name, f"{us:.1f}"] for name, us in result["arms"].items()]
    craft, log = result["satellite"], result["logged"]
    parts = [
        "A step of one component, in a chain of filters at 1 kHz:",
        table(head, rows, 1),
        "A step of 1 ms of the 7-dof arm by RK4, which is driven by:",
        table(["driven by", "a step [us]"], arms, 1),
        f"A step of a satellite with three wheels that a point mass pulls, by RK4: {craft['step']:.1f} us. After one "
        f"orbit of steps of 1 s it is {craft['error']:.1e} radii from the circle.",
        f"A step of the arm with motors and 100 gains more: {log['none']:.1f} us; with these 100 signals recorded "
        f"{log['recorded']:.1f} us, and logged to a file {log['logged']:.1f} us.",
    ]
    if "calls" in result:  # younger than some results
        parts.append(calls.components_text(result["calls"]))
    if "kept" in result:
        x = result["kept"]
        parts.append(
            f"A checkpoint of {x['components']:.0f} components is written in {x['first']:.3f} s, later ones in "
            f"{x['later']:.3f} s; it is restored in {x['restored']:.3f} s."
        )
    for x in result.get("campaign", ()):
        parts.append(
            f"A run of a campaign of that satellite, with {x['steps']} steps: {x['one by one']:.2f} ms one by one, "
            f"{x['batch']:.2f} ms in a batch: {x['one by one'] / x['batch']:.1f} times the runs per second."
        )
    if "crossings" in result:
        x = result["crossings"]
        parts.append(
            f"A run of a campaign of a pendulum under a relay, with {x['crossings']:.1f} crossings in 200 steps and a "
            f"varied mass: {x['one by one']:.2f} ms one by one, {x['batch']:.2f} ms in a batch: "
            f"{x['one by one'] / x['batch']:.1f} times the runs per second."
        )
    if result["peers"]:
        found = [[name, f"{value:.3g}"] for name, value in result["peers"].items()]
        parts += ["The same elsewhere:", table(["what", "[us], or the error"], found, 1)]
    return "\n\n".join(parts)
