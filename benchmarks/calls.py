"""What a call costs besides its own time, one thread: steps of a stepper, the user's functions, components.

Steppers: `step()` in a loop next to the same steps in one call, `step(n)`, by difference. Functions: runs of the 7-dof
arm by RK4 under a proportional law in NumPy, next to the same run under controls that are numbers; what is left after
the law's own time is divided by its calls. Components: a system of 102 next to one of two, under a method with fixed
steps, with ports of seven numbers; of those in Python less the time of the same equation called directly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from growth import table
from measure import repeated, shortest

import soacraft as sc
from soacraft import sim

STEP = 1e-4
#: Methods with fixed steps that carry states of components.
CARRYING = ("rk4", "gauss4", "gauss6")


class PythonLag(sim.Component):
    """`sim.LowPass` of seven numbers, without its twin."""

    class Params(sim.Params):
        T: float

    u = sim.In(shape=(7,))
    x = sim.Continuous(shape=(7,))

    @sim.rate(x)
    def x_rate(p, u, x):
        return (u - x) / p.T


class CountedLag(sim.Component):
    """The same; each call is counted."""

    class Params(sim.Params):
        T: float

    u = sim.In(shape=(7,))
    x = sim.Continuous(shape=(7,))

    @sim.rate(x)
    def x_rate(p, u, x):
        CALLS[0] += 1
        return (u - x) / p.T


CALLS = [0]


class Numbers:
    """The parameters of a direct call."""

    T = 1.0


def steppers(quick: bool) -> list[dict[str, Any]]:
    """Microseconds of `step()` and of a step of `step(n)`."""
    n, rows = 5 if quick else 1000, []
    for name in ("cart_pole", "double_pendulum", "arm7"):
        mb = sc.load(name)
        step = sc.sim.Propagator(mb, integrator="rk4", step=STEP).stepper()

        def one_by_one(count: int, step: Any = step) -> None:
            for _ in range(count):
                step.reset()
                for _ in range(n):
                    step()

        def together(count: int, step: Any = step) -> None:
            for _ in range(count):
                step.reset()
                step(n)

        times = shortest({"one by one": one_by_one, "together": together}, 2 if quick else 7, 0.0)
        rows.append({"model": name, "us": {who: t / n for who, t in times.items()}})
    return rows


def functions(quick: bool) -> dict[str, Any]:
    """Microseconds of a step of the arm under functions, and of the law alone."""
    n, ref = 5 if quick else 1000, np.full(7, 0.3)

    def law(t: float, state: sc.State) -> np.ndarray:
        return np.asarray(2.0 * (ref - state.q) - 0.2 * state.v)

    runs: dict[str, Callable[[int], Any]] = {}
    for name, act in {
        "numbers": lambda p: [p.control(x, 0.0) for x in p.mb.dof_names],
        "p.control(f)": lambda p: p.control(law),
        "p.add(f)": lambda p: p.add(law),
        "p.control(f, every=)": lambda p: p.control(law, every=STEP),
        "p.every(f)": lambda p: p.every(STEP, law),
    }.items():
        mb = sc.load("arm7")
        mb.gravity = (0.0, 0.0, 0.0)
        p = sc.sim.Propagator(mb, integrator="rk4", step=STEP)
        act(p)
        runs[name] = repeated(lambda p=p: (p.mb.set_state(ref, np.zeros(7)), p.advance_to(p.t + n * STEP)))
    state = mb.current
    runs["law"] = lambda count: [law(0.0, state) for _ in range(count * n)]
    times = {who: t / n for who, t in shortest(runs, 2 if quick else 5, 0.0).items()}
    stages = {"p.control(f)": 4, "p.add(f)": 4, "p.control(f, every=)": 1, "p.every(f)": 1}
    besides = {who: (times[who] - times["numbers"]) / calls - times["law"] for who, calls in stages.items()}
    return {"us": times, "besides": besides}


def components(quick: bool) -> list[dict[str, Any]]:
    """Microseconds of a call of a component, in Python besides the time of its equation called directly, and
    compiled."""
    n, few, many = (5, 2, 4) if quick else (500, 2, 102)
    p, u, x = Numbers(), np.full(7, 0.2), np.full(7, 0.1)
    equation: Callable[..., Any] = lambda p, u, x: (u - x) / p.T  # noqa: E731
    direct = shortest({"": lambda count: [equation(p, u, x) for _ in range(count * n)]}, 2 if quick else 5, 0.0)[""] / n
    rows = []
    for method in CARRYING:
        counted = _system(1, CountedLag, method)
        counted.run(0.01, signals=[])
        CALLS[0] = 0
        counted.run(0.01 + 1e-3 * n, signals=[])
        calls, us = CALLS[0] / n, {}
        for who, kind in (("python", PythonLag), ("compiled", sim.LowPass)):
            systems = {count: _system(count, kind, method) for count in (few, many)}
            for s in systems.values():
                s.run(0.01, signals=[])
            loops = {k: repeated(lambda s=s: s.run(s.t + 1e-3 * n, signals=[])) for k, s in systems.items()}
            times = shortest(loops, 2 if quick else 5, 0.0)
            us[who] = (times[many] - times[few]) / (many - few) / n / calls
        rows.append({"method": method, "direct": direct, "besides": us["python"] - direct, "compiled": us["compiled"]})
    return rows


def _system(count: int, kind: type[sim.Component], method: str) -> sim.System:
    s = sim.System("lags", integrator=method, step=1e-3)
    s.add("source", sim.Constant(value=(0.2,) * 7))
    for i in range(count):
        lag = kind(time_constant=1.0, size=7) if kind is sim.LowPass else kind(T=1.0)
        s.add(f"lag{i}", lag)
        s.connect("source.y", f"lag{i}.u")
    return s


def steppers_text(rows: list[dict[str, Any]]) -> str:
    """The table of steppers."""
    head = ["model", "step(), us", "a step of step(n), us", "besides, us"]
    made = [[x["model"], *(f"{x['us'][k]:.2f}" for k in ("one by one", "together"))] for x in rows]
    for line, x in zip(made, rows, strict=True):
        line.append(f"{x['us']['one by one'] - x['us']['together']:.2f}")
    return f"## Calls of a stepper\n\n{table(head, made, 1)}"


def functions_text(result: dict[str, Any]) -> str:
    """The table of functions."""
    t = result["us"]
    head = ["function", "a step, us", "under numbers, us", "the law alone, us", "a call besides, us"]
    rows = [
        [who, f"{t[who]:.2f}", f"{t['numbers']:.2f}", f"{t['law']:.2f}", f"{besides:.2f}"]
        for who, besides in result["besides"].items()
    ]
    return f"## The user's functions, 7-dof arm by RK4\n\n{table(head, rows, 1)}"


def components_text(rows: list[dict[str, Any]]) -> str:
    """The table of components."""
    head = ["method", "the equation alone, us", "a call in Python besides, us", "a compiled call, us"]
    made = [[x["method"], *(f"{x[k]:.3f}" for k in ("direct", "besides", "compiled"))] for x in rows]
    return f"A call of a component with ports of seven numbers:\n\n{table(head, made, 1)}"
