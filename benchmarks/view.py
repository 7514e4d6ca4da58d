"""Live scenes: what the numbers of one picture cost in Python, and what a page weighs.

Times are of the processor, the least of several runs, at a new state each time: the frame that every open page gets
when the model has moved. "With inertias" has the composite and articulated inertia of the picked body besides. A page
is the file of `scene.save` with ten seconds of motion, 50 pictures a second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from growth import table
from measure import microseconds

import soacraft as sc
from soacraft.view.space.live.frames import Picked, frame
from soacraft.view.space.live.sliders import Sliders


def models(quick: bool) -> dict[str, sc.Multibody]:
    """By name: a humanoid, a closed chain, and chains."""
    chains = (10,) if quick else (100, 1000)
    robots = {name: sc.load(name) for name in ("h1", "five_bar")}
    return robots | {f"chain of {n}": sc.serial_chain(n) for n in chains}


def run(quick: bool = False) -> dict[str, Any]:
    """Measure; the result is plain data."""
    rows = []
    for name, mb in models(quick).items():
        whole = Picked(len(mb) // 2, composite=True, articulated=True)
        times = microseconds({"frame": framing(mb, Picked()), "inertias": framing(mb, whole)}, 2 if quick else 20)
        t, q = np.linspace(0.0, 1.0 if quick else 10.0, 11), np.tile(np.asarray(mb.q), (11, 1))
        page = None if len(mb) > 100 else len(sc.view.scene(mb, (t, q)).html().encode())
        rows.append({"model": name, "bodies": len(mb), **times, "page": page})
    return {"rows": rows}


def framing(mb: sc.Multibody, picked: Picked) -> Any:
    """A job that moves a model a little and makes the frame of its new state."""
    seen, sliders = sc.view.scene(mb).seen(), Sliders(mb)
    last = mb.nq - 1

    def job() -> bytes:
        q = np.array(mb.q)
        q[last] += 1e-9
        mb.set_state(q)
        return frame(1, seen, sliders, mb.current, picked)

    return job


def text(result: dict[str, Any]) -> str:
    """The table of a result."""
    rows = [
        [
            x["model"], str(x["bodies"]), f"{x['frame'] / 1000:.2f}", f"{x['inertias'] / 1000:.2f}",
            "" if x["page"] is None else f"{x['page'] / 1e6:.2f}",
        ]
        for x in result["rows"]
    ]  # fmt: skip
    return table(["model", "bodies", "frame, ms", "with inertias, ms", "page, MB"], rows, 1)
