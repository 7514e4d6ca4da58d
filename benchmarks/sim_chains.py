"""Closed chains by dop853 in the dofs of each solver: the loosest tolerance whose error is below 1e-6 of a radian or a
metre, the steps it takes, how far closures were open at most, and processor time. And steps of fixed length of closed
chains, of knife edges and of shapes that roll, compiled and in Python, which keeps what is compiled below the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import closed_models
import numpy as np
from growth import table
from measure import repeated, shortest

import soacraft as sc
from soacraft.sim.stride import Stride, Walked

#: Closed chains and how long they move, in seconds; the error they are compared at.
CHAINS = [("row 2, pins", 5.0), ("row 8, pins", 5.0), ("cassie", 0.1)]
ERROR = 1e-6


def run(quick: bool = False) -> list[dict[str, Any]]:
    """A row for every chain and solver."""
    chains = [("row 2, pins", 0.05)] if quick else CHAINS
    return [row for name, time in chains for row in at_equal_error(name, time)]


def at_equal_error(name: str, time: float) -> list[dict[str, Any]]:
    """Each solver of a closed chain at the loosest tolerance that meets `ERROR`."""
    start = closed_models.build(name)
    q, v = np.array(start.q), np.array(start.v)

    def run(solver: str, rtol: float) -> tuple[Any, float, sc.Multibody]:
        mb = closed_models.build(name)
        mb.set_state(q, v)
        p = sc.sim.Propagator(mb, solver, rtol=rtol)
        before = process_time()
        return p.advance_to(time), process_time() - before, mb

    wanted = np.array(run("ta", 1e-11)[2].q)
    found = []
    for solver in ("ta", "fa", "ce"):
        for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
            result, seconds, mb = run(solver, rtol)
            error = float(np.abs(mb.difference(wanted, mb.q)).max())
            if error <= ERROR:
                break
        steps = len(result.t) - 1
        row = {"model": name, "solver": solver, "rtol": rtol, "steps": steps, "step": time / steps, "error": error}
        found.append(row | {"drift": float(result.violation.max()), "seconds": seconds})
    return found


def sleigh() -> sc.Multibody:
    """The sleigh of Chaplygin, its centre of mass ahead of the blade."""
    mb = sc.Multibody("sleigh", gravity=(0, 0, 0))
    mb.add_body("sleigh", None, sc.Planar(), sc.Inertia(2.0, (0.3, 0, 0), np.diag([0.1, 0.1, 0.3])))
    mb.add_knife_edge("blade", "sleigh")
    mb.set_state(mb.q, [1.0, 0.0, 0.8])
    return mb


def rattleback() -> sc.Multibody:
    """An ellipsoid that rolls, with axes of inertia askew."""
    mb = sc.Multibody("rattleback", gravity=(0, 0, -9.81))
    turn = sc.Pose.from_rpy(0, 0, 0.2).rotation
    moment = turn @ np.diag([0.01, 0.05, 0.055]) @ turn.T
    mb.add_body("stone", None, sc.Free(), sc.Inertia(1.0, moment=moment))
    mb.add_rolling("rolls", "stone", semi_axes=(0.5, 0.1, 0.08))
    mb.q = [0, 0, 0, 1, 0, 0, 0.08]
    w = np.array([0.1, 0.2, 3.0])
    mb.v = [*w, *np.cross([0, 0, -0.08], w)]
    return mb


#: What takes steps of fixed length, with the methods.
STEPS: dict[str, tuple[Callable[[], sc.Multibody], tuple[str, ...]]] = {
    "row 2, pins": (lambda: closed_models.build("row 2, pins"), ("rk4", "variational", "variational4")),
    "cassie": (lambda: closed_models.build("cassie"), ("rk4", "variational")),
    "sleigh": (sleigh, ("rk4", "gauss4")),
    "rattleback": (rattleback, ("rk4", "gauss4")),
}


def steps(quick: bool = False) -> list[dict[str, Any]]:
    """Microseconds of a compiled step of a millisecond in calls of 20, and the ratio of steps in Python to it."""
    found = []
    for name, (make, methods) in STEPS.items():
        for method in methods:
            count, slow = (5, 1) if quick else (20, 2)
            fast, python = (sc.sim.Propagator(make(), integrator=method, step=1e-3) for _ in range(2))

            def one_by_one(p: sc.sim.Propagator = python, slow: int = slow) -> None:
                with _in_python():
                    p.advance_to(p.t + slow * 1e-3)

            loops = {
                "compiled": repeated(lambda p=fast, count=count: p.advance_to(p.t + count * 1e-3)),
                "python": repeated(one_by_one),
            }
            times = shortest(loops, 2 if quick else 5, 0.0)
            us = times["compiled"] / count
            found.append({"model": name, "method": method, "us": us, "ratio": times["python"] / slow / us})
    return found


@contextmanager
def _in_python() -> Iterator[None]:
    many = Stride.many
    Stride.many = lambda self, problem, memory, *rest, **options: Walked(None, memory)  # type: ignore[method-assign]
    try:
        yield
    finally:
        Stride.many = many  # type: ignore[method-assign]


def steps_text(rows: list[dict[str, Any]]) -> str:
    """Table of steps of fixed length."""
    lines = [[x["model"], x["method"], f"{x['us']:.1f}", f"{x['ratio']:.0f}"] for x in rows]
    heads = ["closed chain", "method", "us a step", "times as long in Python"]
    return f"## Steps of closed chains, of knife edges and of what rolls\n\n{table(heads, lines, 2)}"


def text(rows: list[dict[str, Any]]) -> str:
    """The table."""
    chains = [
        [x["model"], x["solver"], f"{x['rtol']:.0e}", str(x["steps"]), f"{1e3 * x['step']:.2f}", f"{x['error']:.0e}",
         f"{x['drift']:.0e}", f"{1e3 * x['seconds']:.1f}"]
        for x in rows
    ]  # fmt: skip
    heads = ["closed chain", "solver", "rtol", "steps", "ms a step", "error", "drift", "ms of processor time"]
    return f"## Closed chains by each solver at an error of {ERROR:g}\n\n{table(heads, chains, 2)}"
