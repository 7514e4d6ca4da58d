"""`plot`: charts of runs with names and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import cast

from soacraft.errors import StateError, ViewError, near
from soacraft.model.tree.graph import Graph
from soacraft.sim.runs.labels import Labels, check_labels, labels_of
from soacraft.sim.runs.log_reader import read
from soacraft.sim.runs.run import Run
from soacraft.view.charts.chart import Chart, Panel, chart_of
from soacraft.view.charts.kinds import KINDS, Chosen
from soacraft.view.charts.signals import signal_panels

Runs = Run | Sequence[Run] | Mapping[str, Run]


def plot(
    run: Runs | str | PathLike[str],
    *what: str,
    dofs: Sequence[str] | str | None = None,
    graph: Graph | None = None,
) -> Chart:
    """Charts of a run, one under the other. `what` are any of: coordinates, velocities, accelerations, forces, energy,
    balance, violation, phase, contacts, spectrum, or names and patterns of signals ("motor_*.torque"); without them
    coordinates and energy, and the violation where closures were open; of a run without coordinates all signals.

    Several runs, in a list or by name, are drawn over one another, each line with the name of its run. A log is drawn
    by its path, or as `plot(sc.sim.read(path))`.

    `dofs` names the coordinates and dofs that are drawn, by their names or by those of their hinges. Numbers of
    different units are in separate panels. `phase` has a velocity against its coordinate. `balance` is the growth of
    energy, the work that explains it, and the residual (`run.check()`). `contacts` is how hard each pair of shapes
    presses, `spectrum` the amplitude of each coordinate by frequency. Events of a single run are marked. `graph` gives
    the names for a log that has no names.

    >>> import soacraft as sc
    >>> mb = sc.load("cart_pole")
    >>> mb.q = [0.0, 0.3]
    >>> run = sc.sim.Propagator(mb).advance_to(0.5)
    >>> sc.view.plot(run, "coordinates", "phase", dofs="pole")
    Chart: coordinates (1); phase portrait (1)
    >>> mb.set_state([0.0, 0.3], [0.0, 0.0])
    >>> other = sc.sim.Propagator(mb, integrator="rk4", step=0.05).advance_to(0.5)
    >>> list(sc.view.plot({"dop853": run, "rk4": other}, dofs="pole").panels[0].lines)
    ['pole, dop853', 'pole, rk4']
    """
    if isinstance(run, PathLike) or (isinstance(run, str) and Path(run).suffix):
        run = read(run)
    runs = _read(cast(Runs, run))
    for name, one in runs.items():
        _require_rows(one, name)
    first = next(iter(runs.values()))
    is_open = any(one.violation.any() for one in runs.values())
    usual = ("coordinates", "energy", *(["violation"] if is_open else []))
    wanted = what or (usual if first.q.shape[1] or first.v.shape[1] else ("**",))
    for name in wanted:
        if not isinstance(name, str):
            raise ViewError(f"charts are named one by one, plot(run, 'energy', 'phase'); got {name!r:.60}.")
        if name not in KINDS and not any(len(x.signals) for one in runs.values() for x in one.segments):
            raise ViewError(f"there is no chart {name!r:.60}{near(str(name), sorted(KINDS), 'there are')}")
    panels = {name: _panels(one, wanted, dofs, graph) for name, one in runs.items()}
    if isinstance(run, Run):
        return chart_of(panels[""], first.events)
    return chart_of(_merged(panels))


def _read(run: Runs) -> dict[str, Run]:
    """Runs by name; a single one has none, those of a list are counted."""
    if isinstance(run, Run):
        return {"": run}
    named: dict[str, Run] | None = None
    if isinstance(run, Mapping):
        named = {str(name): x for name, x in run.items()}
    elif isinstance(run, list | tuple):
        named = {f"run {i + 1}": x for i, x in enumerate(run)}
    if not named:
        got = type(run).__name__ if named is None else f"an empty {type(run).__name__}"
        raise ViewError(f"plot takes a run of sc.sim, or several in a list or by name; got {got}.")
    for name, x in named.items():
        if not isinstance(x, Run):
            raise ViewError(f"plot takes runs of sc.sim; {name!r:.60} is a {type(x).__name__}.")
    return named


def _require_rows(run: Run, name: str) -> None:
    called = f"the run {name!r:.60}" if name else "the run"
    if not len(run):
        raise ViewError(f"{called} has no rows, so there is nothing to plot.")
    if not run.q.shape[1] and not run.v.shape[1] and not len(run.signals):
        raise ViewError(f"{called} has no coordinates and no dofs, so there is nothing to plot.")


def _panels(run: Run, wanted: Sequence[str], dofs: Sequence[str] | str | None, graph: Graph | None) -> list[Panel]:
    labels = labels_for(run, graph)
    chosen = chosen_dofs(labels, dofs)
    panels: list[Panel] = []
    for name in wanted:
        drawn = KINDS[name](run, labels, chosen) if name in KINDS else signal_panels(run, name)
        if not drawn:
            why = "dofs= leaves none of its lines" if dofs is not None else "the run has none of its lines"
            raise ViewError(f"there is nothing to draw for the chart {name!r}: {why}.")
        panels += drawn
    return panels


def _merged(panels_of: Mapping[str, Sequence[Panel]]) -> list[Panel]:
    """Panels of the same chart and unit in one, each line with the name of its run."""
    merged: dict[tuple[str, str], Panel] = {}
    for run, panels in panels_of.items():
        for panel in panels:
            title = panel.title.partition(":")[0]
            place = merged.setdefault((title, panel.y_label), panel._replace(title=title, lines={}))
            place.lines.update({f"{name}, {run}": line for name, line in panel.lines.items()})
    return [x._replace(logarithmic=x.logarithmic or _any_log(panels_of, key)) for key, x in merged.items()]


def _any_log(panels_of: Mapping[str, Sequence[Panel]], key: tuple[str, str]) -> bool:
    panels = (x for each in panels_of.values() for x in each if (x.title.partition(":")[0], x.y_label) == key)
    return any(x.logarithmic for x in panels)


def labels_for(run: Run, graph: Graph | None) -> Labels:
    """The names and units of a run: its own, or those of a model."""
    nq, nv = run.q.shape[1], run.v.shape[1]
    labels = run.labels if graph is None else labels_of(graph)
    if labels is None:
        return Labels(tuple(f"q[{i}]" for i in range(nq)), ("",) * nq, tuple(f"v[{i}]" for i in range(nv)), ("",) * nv)
    if (len(labels.q), len(labels.v)) != (nq, nv):
        sizes = f"{len(labels.q)} and {len(labels.v)}"
        raise StateError(f"the run has {nq} coordinates and {nv} dofs, but the model has {sizes}.")
    check_labels(run.labels, labels)
    return labels


def chosen_dofs(labels: Labels, dofs: Sequence[str] | str | None, owner: str = "the run") -> Chosen:
    """The numbers of the coordinates and dofs that are named, all by default."""
    if dofs is None:
        return list(range(len(labels.q))), list(range(len(labels.v)))
    named = [dofs] if isinstance(dofs, str) else dofs
    if not isinstance(named, Sequence) or not all(isinstance(x, str) for x in named):
        raise ViewError(f"dofs are names of dofs or hinges, one or a list of them; got {dofs!r:.60}.")
    q: list[int] = []
    v: list[int] = []
    for name in named:
        of_q = [i for i, x in enumerate(labels.q) if x == name or x.startswith(f"{name}.")]
        of_v = [i for i, x in enumerate(labels.v) if x == name or x.startswith(f"{name}.")]
        if not of_q and not of_v:
            dof_names = dict.fromkeys((*labels.v, *labels.q))
            raise ViewError(f"{owner} has no dof {name!r:.60}{near(str(name), dof_names, 'it has')}")
        q, v = [*q, *of_q], [*v, *of_v]
    return q, v
