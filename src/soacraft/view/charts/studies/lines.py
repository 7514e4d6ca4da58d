"""Studies by dof, by parameter and by time: sizing of motors, limits, mass properties, gaits, sequences."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.robot.studies.gaits import Gait
from soacraft.robot.studies.limits import Limit
from soacraft.robot.studies.mass_properties import MassProperties
from soacraft.robot.studies.sizing import Sizing
from soacraft.robot.studies.steps import Sequence
from soacraft.view.charts.chart import Panel
from soacraft.view.charts.studies.drawing import Drawn, Wanted, bars, curves
from soacraft.view.charts.studies.maps import points
from soacraft.view.palette import segment_colour


def sizing(study: Sizing, wanted: Wanted) -> list[Drawn]:
    """Panels of the used parts of limits, torques and power by dof; or of torque, or speed, along time."""
    of = wanted.quantity(("bars", "torque", "speed"))
    wanted.plain()
    if of != "bars":
        values = study.torque if of == "torque" else study.speed
        lines = {n: (study.t, values[:, i]) for i, n in enumerate(study.dofs)}
        return [curves(Panel(f"{of} of motors of {study.robot!r}", "t [s]", of, lines))]
    used = {"torque": study.torque_used, "continuous": study.continuous_used, "speed": study.speed_used}
    return [
        bars(f"motors of {study.robot!r}", "part of the limit", study.dofs, used, level=1.0),
        bars("torque", "N m or N", study.dofs, {"peak": study.peak_torque, "rms": study.rms_torque}),
        bars("power", "W", study.dofs, {"peak": study.peak_power, "mean": study.mean_power}),
    ]


def limit(study: Limit, wanted: Wanted) -> list[Drawn]:
    """Margins over the parameter; where they are above zero they hold. Dotted lines are ends of intervals."""
    wanted.quantity(("margins",))
    wanted.plain()
    label = f"{study.parameter} [{study.unit}]" if study.unit else study.parameter
    drawn = []
    for i, name in enumerate(study.names):
        y = study.margins[:, i]
        finite = np.isfinite(y)
        panel = Panel(
            repr(study) if not i else "", label, f"margin of {name}", {name: (study.x[finite], y[finite])}, False
        )
        drawn.append(curves(panel, level=0.0, marks=np.unique(study.intervals).tolist()))
    return drawn


def masses(study: MassProperties, wanted: Wanted) -> list[Drawn]:
    """Panels of the position of the centre of mass, in colours by the largest principal moment."""
    wanted.quantity(("com",))
    title = f"centre of mass of {study.robot!r} in {study.frame!r}, {study.mass:.4g} kg"
    return [points(title, study.com, study.principal[:, 2], "largest moment [kg m2]", wanted)]


def gait(study: Gait, wanted: Wanted) -> list[Drawn]:
    """Panels of the feet on the ground, margins and power over the cycle; or torques."""
    of = wanted.quantity(("gait", "torque"))
    wanted.plain()
    if of == "torque":
        lines = {n: (study.t, study.torque[:, i]) for i, n in enumerate(study.dofs)}
        return [curves(Panel(f"torques of {study.robot!r}", "t [s]", "N m or N", lines))]
    margins = {}
    for name, y in (("static", study.static_margin), ("zmp", study.zmp_margin), ("longitudinal", study.longitudinal)):
        finite = np.isfinite(y)
        margins[name] = study.t[finite], y[finite]
    power = {"all motors": (study.t, study.power.sum(axis=1))}
    return [
        _footfalls(study),
        curves(Panel("margins", "t [s]", "m", margins), level=0.0),
        curves(Panel("power of the motors", "t [s]", "W", power)),
    ]


def sequence(study: Sequence, wanted: Wanted) -> list[Drawn]:
    """Coordinates along the steps, whose ends are dotted; and margins by step."""
    of = wanted.quantity(("path", "margins"))
    wanted.plain()
    if of == "margins":
        names = [f"{i} {x}" for i, x in enumerate(study.steps)]
        return [
            bars("torque that is left", "part of the effort", names, {"torque": study.torque}, level=0.0),
            bars("distances", "m", names, {"clearance": study.clearance, "standing": study.standing}, level=0.0),
        ]
    moved = np.nanmax(study.path, axis=0, initial=-np.inf) > np.nanmin(study.path, axis=0, initial=np.inf)
    paths = {n: (study.t, study.path[:, i]) for i, n in enumerate(study.coordinates) if moved[i]}
    return [curves(Panel(repr(study), "t [s]", "coordinates", paths), marks=np.cumsum(study.duration).tolist())]


def _footfalls(study: Gait) -> Drawn:
    """Bars where feet are down."""
    lines = {n: (study.t, study.contact[:, i].astype(float)) for i, n in enumerate(study.feet)}

    def draw(axes: Any) -> None:
        for i in range(len(study.feet)):
            down = study.contact[:-1, i]
            starts, ends = study.t[:-1][down], study.t[1:][down]
            axes.broken_barh(list(zip(starts, ends - starts, strict=True)), (i - 0.35, 0.7), color=segment_colour(i))
        axes.set_yticks(range(len(study.feet)), labels=list(study.feet), fontsize=8, parse_math=False)
        axes.set_xlim(study.t[0], study.t[-1])
        axes.invert_yaxis()

    return Drawn(Panel(repr(study), "t [s]", "", lines), draw, 2.0)
