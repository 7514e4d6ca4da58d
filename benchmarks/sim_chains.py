"""Closed chains by dop853 in the dofs of each solver: the loosest tolerance whose error is below 1e-6 of a radian or a
metre, the steps it takes, how far closures were open at most, and processor time.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import closed_models
import numpy as np
from growth import table

import soacraft as sc

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


def text(rows: list[dict[str, Any]]) -> str:
    """The table."""
    chains = [
        [x["model"], x["solver"], f"{x['rtol']:.0e}", str(x["steps"]), f"{1e3 * x['step']:.2f}", f"{x['error']:.0e}",
         f"{x['drift']:.0e}", f"{1e3 * x['seconds']:.1f}"]
        for x in rows
    ]  # fmt: skip
    heads = ["closed chain", "solver", "rtol", "steps", "ms a step", "error", "drift", "ms of processor time"]
    return f"## Closed chains by each solver at an error of {ERROR:g}\n\n{table(heads, chains, 2)}"
