"""Forward dynamics with springs between nodes and without them, one state and a batch on one thread."""

from __future__ import annotations

from typing import Any

import numpy as np
from growth import table
from measure import microseconds

import soacraft as sc
from soacraft import dynamics as dyn

COUNT = 100


def sprung(count: int) -> sc.Multibody:
    """The humanoid h1 with springs and dampers between nodes of random bodies, half a metre at rest."""
    mb, rng = sc.load("h1"), np.random.default_rng(0)
    for i in range(count):
        a, b = (mb.bodies[int(k)] for k in rng.choice(len(mb.bodies), 2, replace=False))
        ends = [x.add_node(f"end{i}", sc.Pose(translation=0.1 * rng.standard_normal(3))) for x in (a, b)]
        mb.add_spring(f"spring{i}", *ends, stiffness=100.0, length=0.5, damping=1.0)
    return mb


def run(quick: bool = False) -> list[dict[str, Any]]:
    """Microseconds for one state."""
    mb, rng, rows = sprung(COUNT), np.random.default_rng(1), []
    for states in (1, 8 if quick else 4096):
        q = np.array([mb.random_state(rng)[0] for _ in range(states)])
        v, force = 0.3 * rng.standard_normal((2, states, mb.nv))
        given = (q[0], v[0], force[0]) if states == 1 else (q, v, force)
        times = microseconds({on: _forward_dynamics(mb, given, on) for on in (True, False)}, 1 if quick else 5)
        rows.append({"springs": COUNT, "states": states, "us": {str(k): t / states for k, t in times.items()}})
    return rows


def _forward_dynamics(mb: sc.Multibody, given: tuple[Any, ...], passive: bool) -> Any:
    out = np.empty_like(given[1])
    more = {} if given[1].ndim == 1 else {"threads": 1}
    return lambda: dyn.forward_dynamics(mb, *given, passive=passive, out=out, **more)


def text(rows: list[dict[str, Any]]) -> str:
    """The table of a result."""
    body = [
        [
            f"h1, {x['springs']} springs",
            str(x["states"]),
            f"{x['us']['True']:.2f}",
            f"{x['us']['False']:.2f}",
            f"{x['us']['True'] / x['us']['False']:.1f}",
        ]
        for x in rows
    ]
    head = ["model", "states", "us with springs", "us without", "times"]
    return f"## Forward dynamics with springs between nodes\n\n{table(head, body, 1)}"
