"""`convergence`: the error of runs against their step, and the order that it falls by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soacraft.errors import ViewError
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Chart, Panel, chart_of
from soacraft.view.charts.runs import labels_for

Family = Sequence[Run]


def convergence(runs: Family | Mapping[str, Family], reference: Run | None = None) -> Chart:
    """The largest error of the coordinates at the end of each run, against its mean step, both by powers of ten.

    `runs` are runs of one motion with different steps, in a list, or several lists by name. They are compared with
    `reference`, by default with the run of the smallest step, which is then left out. The order is the slope of the
    line through the points by least squares; the legend has it. Coordinates of different units have their own panels.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")
    >>> def run(step):
    ...     mb.set_state([1.0], [0.0])
    ...     return sc.sim.Propagator(mb, integrator="verlet", step=step).advance_to(1.0)
    >>> list(sc.view.convergence([run(h) for h in (0.04, 0.02, 0.01, 0.001)]).panels[0].lines)
    ['order 2.0']
    """
    families = _read(runs)
    every = [(name, run) for name, family in families.items() for run in family]
    if reference is None:
        reference = min((run for _, run in every), key=_step)
        every = [(name, run) for name, run in every if run is not reference]
    if not isinstance(reference, Run):
        raise ViewError(f"reference of convergence is a run of sc.sim, got {type(reference).__name__}.")
    for name, run in every:
        _require_alike(run, reference, name)
    labels = labels_for(reference, None)
    panels = [_panel(unit, labels, families, dict.fromkeys(map(id, (x for _, x in every))), reference)
              for unit in dict.fromkeys(labels.q_units)]  # fmt: skip
    return chart_of([x for x in panels if x.lines])


def _panel(unit: str, labels: Labels, families: dict[str, Family], compared: dict[int, None], reference: Run) -> Panel:
    places = [i for i, x in enumerate(labels.q_units) if x == unit]
    lines: dict[str, tuple[Array, Array]] = {}
    for name, family in families.items():
        points = sorted(
            (_step(run), float(np.abs(run.q[-1] - reference.q[-1])[places].max()))
            for run in family
            if id(run) in compared
        )
        if points:
            steps, errors = (np.array(x) for x in zip(*points, strict=True))
            said = f"order {_order(steps, errors):.1f}"
            lines[f"{name}, {said}" if name else said] = (steps, errors)
    label = f"error at the end [{unit}]" if unit else "error at the end"
    return Panel("convergence", "step [s]", label, lines, False, True, True, "o")


def _order(steps: Array, errors: Array) -> float:
    """The slope of log(error) by log(step), of errors that are not zero; NaN of fewer than two."""
    positive = errors > 0.0
    if np.count_nonzero(positive) < 2 or np.ptp(np.log(steps[positive])) == 0.0:
        return float("nan")
    return float(np.polyfit(np.log(steps[positive]), np.log(errors[positive]), 1)[0])


def _step(run: Run) -> float:
    return float((run.t[-1] - run.t[0]) / max(np.count_nonzero(np.diff(run.t)), 1))


def _read(runs: Family | Mapping[str, Family]) -> dict[str, Family]:
    families: dict[str, Family] = {str(k): x for k, x in runs.items()} if isinstance(runs, Mapping) else {"": runs}
    for family in families.values():
        listed = isinstance(family, list | tuple)
        wrong = [x for x in family if not isinstance(x, Run)] if listed else [family]
        if wrong:
            got = f"got {type(wrong[0]).__name__}"
            raise ViewError(f"convergence takes runs of different steps in a list, or such lists by name; {got}.")
        if not all(len(x) > 1 for x in family):
            raise ViewError("convergence takes runs of at least two rows, and one has less.")
    if sum(map(len, families.values())) < 2:
        raise ViewError("convergence needs at least two runs of different steps.")
    return families


def _require_alike(run: Run, reference: Run, name: str) -> None:
    called = f"a run of {name!r:.60}" if name else "a run"
    if run.q.shape[1] != reference.q.shape[1]:
        raise ViewError(f"{called} has {run.q.shape[1]} coordinates, the reference {reference.q.shape[1]}.")
    if abs(run.t[-1] - reference.t[-1]) > 1e-9 * max(abs(reference.t[-1]), 1e-9):
        raise ViewError(
            f"{called} ends at t = {run.t[-1]:.9g} s, the reference at {reference.t[-1]:.9g} s: errors are compared at "
            "the same time."
        )
