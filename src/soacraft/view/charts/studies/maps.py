"""Maps: reach of a limb, its payload, and its singular configurations."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ViewError
from soacraft.robot.studies.payload import Payload
from soacraft.robot.studies.reach_map import ReachMap
from soacraft.robot.studies.singular import Singularities
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Panel
from soacraft.view.charts.studies.drawing import AXES, Drawn, Wanted, across, curves


def reach(study: ReachMap, wanted: Wanted) -> list[Drawn]:
    """The share of orientations, or the manipulability."""
    of = wanted.quantity(("share", "best"))
    values = np.where(study.reached > 0, study.share, np.nan) if of == "share" else study.best
    label = "share of orientations" if of == "share" else "manipulability"
    title = f"reach of {study.limb!r} in {study.frame!r}"
    return [across(values.reshape(*study.counts), study.first, study.spacing, wanted, title, label)]


def payload(study: Payload, wanted: Wanted) -> list[Drawn]:
    """Masses at the places of the tip, in colours."""
    wanted.quantity(("most",))
    finite = np.isfinite(study.most)
    if not finite.any():
        raise ViewError(f"the payload of {study.limb!r} is bounded at no configuration, so there is nothing to draw.")
    title = f"payload of {study.limb!r}: {study.most[finite].min():.4g} to {study.most[finite].max():.4g} kg"
    return [points(title, study.position[finite], study.most[finite], "largest mass [kg]", wanted)]


def singularities(study: Singularities, wanted: Wanted) -> list[Drawn]:
    """The smallest singular value at the places of the tip, and crosses where it vanishes; or by configuration."""
    of = wanted.quantity(("map", "path"))
    title = f"singularities of {study.limb!r}: {len(study.singular)} found"
    if of == "path":
        wanted.plain()
        x = np.arange(len(study.q), dtype=float)
        lines = {"smallest": (x, study.smallest)}
        return [curves(Panel(title, "configuration", "smallest singular value", lines, of_time=False))]
    drawn = points(title, study.position, study.smallest, "smallest singular value", wanted)
    i, j = wanted.plane(np.ptp(study.position, axis=0))
    crosses = study.place[:, i], study.place[:, j]
    panel = drawn.panel._replace(lines={**drawn.panel.lines, "singular": crosses})

    def draw(axes: Any) -> None:
        drawn.draw(axes)
        axes.plot(*crosses, "x", markersize=4.0, color="#c0392b")

    return [Drawn(panel, draw, drawn.height)]


def points(title: str, at: Array, values: Array, label: str, wanted: Wanted) -> Drawn:
    """Points (k, 3) along two axes, by default those in which they spread most, in colours by values (k)."""
    if wanted.at is not None:
        raise ViewError("at= cuts maps of voxels, and these are points.")
    i, j = wanted.plane(np.ptp(at, axis=0))
    panel = Panel(title, f"{AXES[i]} [m]", f"{AXES[j]} [m]", {label: (at[:, i], at[:, j])}, of_time=False,
                  values=values, values_label=label)  # fmt: skip

    def draw(axes: Any) -> None:
        marks = axes.scatter(at[:, i], at[:, j], c=values, s=10.0, cmap="viridis")
        axes.figure.colorbar(marks, ax=axes, label=label)
        axes.set_aspect("equal", adjustable="datalim")

    return Drawn(panel, draw, 5.0)
