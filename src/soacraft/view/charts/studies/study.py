"""`study`: a chart of a study of `sc.robot.study`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.errors import ViewError
from soacraft.robot.studies.gaits import Gait
from soacraft.robot.studies.limits import Limit
from soacraft.robot.studies.mass_properties import MassProperties
from soacraft.robot.studies.payload import Payload
from soacraft.robot.studies.reach_map import ReachMap
from soacraft.robot.studies.singular import Singularities
from soacraft.robot.studies.sizing import Sizing
from soacraft.robot.studies.steps import Sequence
from soacraft.robot.studies.study import Study
from soacraft.view.charts.chart import Chart
from soacraft.view.charts.studies import lines, maps
from soacraft.view.charts.studies.drawing import Drawn, Wanted, figure_of

#: Functions that draw each kind of study.
_MAKERS: dict[str, Callable[[Any, Wanted], list[Drawn]]] = {
    Gait.kind: lines.gait,
    Limit.kind: lines.limit,
    MassProperties.kind: lines.masses,
    Payload.kind: maps.payload,
    ReachMap.kind: maps.reach,
    Sequence.kind: lines.sequence,
    Singularities.kind: maps.singularities,
    Sizing.kind: lines.sizing,
}


def study(result: Study, of: str | None = None, *, axes: str | None = None, at: float | None = None) -> Chart:
    """A chart of a study: maps as squares in colours, by dof as bars, along time or a parameter as lines.

    `of` names what is drawn where there are several. Maps of voxels show the largest value along the third axis, or the
    layer at a place `at`; `axes` are the two that are shown, such as "xz".

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("ur5e")).limb("arm", "inertial", "wrist_3_link")
    >>> sc.view.study(sc.robot.study.reach_map(arm, 0.5, orientations=2), axes="xz")
    Chart: reach of 'arm' in 'inertial'; the largest along y (1)
    """
    make = _MAKERS.get(result.kind) if isinstance(result, Study) else None
    if make is None:
        raise ViewError(f"a chart of a study takes a result of sc.robot.study, got {result!r:.60}.")
    return figure_of(make(result, Wanted(of, axes, at)))
