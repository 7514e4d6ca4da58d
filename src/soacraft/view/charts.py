"""`plot`: charts of a run with names and units: coordinates, energies, their balance, violation, phase portraits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.errors import StateError, ViewError, near
from soacraft.model.tree.graph import Graph
from soacraft.sim.runs.labels import Labels, check_labels, labels_of
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array
from soacraft.view.drawing.extras import extra
from soacraft.view.palette import segment_colour

#: Lines that a legend names; it says how many more there are.
NAMED = 12
#: Letters of a name in a legend at most.
LONGEST = 40
#: Events that are marked by their names.
_MARKED = 12
#: Points of a line at least, where the run knows the state between its rows.
SMOOTH = 400
#: Of a sum of energies: what is less is rounding.
ROUNDING = 1e-12


class Panel(NamedTuple):
    """One pair of axes: lines by name, each with its x and y, and what is written on the axes."""

    title: str
    x_label: str
    y_label: str
    lines: dict[str, tuple[Array, Array]]
    of_time: bool = True
    logarithmic: bool = False


class Chart(Strict):
    """What `plot` gives: `panels` with their lines, `figure` by matplotlib; a notebook shows it, `save` writes it."""

    _set_once = frozenset({"panels", "figure"})

    def __init__(self, panels: Sequence[Panel], figure: Any) -> None:
        self.panels, self.figure = tuple(panels), figure

    def __repr__(self) -> str:
        return "Chart: " + "; ".join(f"{x.title} ({len(x.lines)})" for x in self.panels)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a file by the end of its name: .png, .svg or .pdf."""
        place = read_path(path, "save of a chart", ViewError)
        if place.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ViewError(f"a chart is saved as .png, .svg or .pdf, by the end of the name; got {place.name!r}.")
        self.figure.savefig(place)
        return place

    def _repr_png_(self) -> bytes:
        made = BytesIO()
        self.figure.savefig(made, format="png")
        return made.getvalue()


def plot(run: Run, *what: str, dofs: Sequence[str] | str | None = None, graph: Graph | None = None) -> Chart:
    """Charts of a run, one under the other. `what` are any of: coordinates, velocities, accelerations, forces, energy,
    balance, violation, phase; without them coordinates and energy, and the violation where closures were open.

    `dofs` names the coordinates and dofs that are drawn, by their names or by those of their hinges. Numbers of
    different units are in panels of their own. `phase` has a velocity against its coordinate. `balance` is the growth
    of energy, the work that explains it, and what is left (`run.check()`). Events are marked. `graph` gives the names
    for a log that has no names.

    >>> import soacraft as sc
    >>> mb = sc.load("cart_pole")
    >>> mb.q = [0.0, 0.3]
    >>> run = sc.sim.Propagator(mb).advance_to(0.5)
    >>> sc.view.plot(run, "coordinates", "phase", dofs="pole")
    Chart: coordinates (1); phase portrait (1)
    """
    if not isinstance(run, Run):
        raise ViewError(f"plot takes a run of sc.sim, got {type(run).__name__}.")
    if not len(run):
        raise ViewError("the run has no rows, so there is nothing to plot.")
    if not run.q.shape[1] and not run.v.shape[1]:
        raise ViewError("the run has no coordinates and no dofs, so there is nothing to plot.")
    labels = _labels(run, graph)
    wanted = what or ("coordinates", "energy", *(["violation"] if run.violation.any() else []))
    for name in wanted:
        if not isinstance(name, str):
            raise ViewError(f"charts are named one by one, plot(run, 'energy', 'phase'); got {name!r:.60}.")
        if name not in _KINDS:
            raise ViewError(f"there is no chart {name!r:.60}{near(str(name), sorted(_KINDS), 'there are')}")
    chosen = _chosen(labels, dofs)
    panels: list[Panel] = []
    for name in wanted:
        made = _KINDS[name](run, labels, chosen)
        if not made:
            why = "dofs= leaves none of its lines" if dofs is not None else "the run has none of its lines"
            raise ViewError(f"there is nothing to draw for the chart {name!r}: {why}.")
        panels += made
    return Chart(panels, _drawn(run, panels))


def _labels(run: Run, graph: Graph | None) -> Labels:
    nq, nv = run.q.shape[1], run.v.shape[1]
    found = run.labels if graph is None else labels_of(graph)
    if found is None:
        return Labels(tuple(f"q[{i}]" for i in range(nq)), ("",) * nq, tuple(f"v[{i}]" for i in range(nv)), ("",) * nv)
    if (len(found.q), len(found.v)) != (nq, nv):
        known = f"{len(found.q)} and {len(found.v)}"
        raise StateError(f"the run has {nq} coordinates and {nv} dofs, but the model has {known}.")
    check_labels(run.labels, found)
    return found


def _chosen(labels: Labels, dofs: Sequence[str] | str | None) -> tuple[list[int], list[int]]:
    """The numbers of the coordinates and dofs that are drawn."""
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
            known = dict.fromkeys((*labels.v, *labels.q))
            raise ViewError(f"the run has no dof {name!r:.60}{near(str(name), known, 'it has')}")
        q, v = [*q, *of_q], [*v, *of_v]
    return q, v


def _by_unit(title: str, t: Array, values: Array, names: Sequence[str], units: Sequence[str]) -> list[Panel]:
    """A panel for each unit."""
    found = []
    for unit in dict.fromkeys(units):
        some = [i for i, x in enumerate(units) if x == unit]
        lines = {names[i]: (t, values[:, i]) for i in some}
        found.append(Panel(title, "t [s]", f"{title} [{unit}]" if unit else title, lines))
    return found


def _picked(
    title: str, t: Array, values: Array, chosen: list[int], names: Sequence[str], units: Sequence[str]
) -> list[Panel]:
    return _by_unit(title, t, values[:, chosen], [names[i] for i in chosen], [units[i] for i in chosen])


def smooth(run: Run) -> tuple[Array, Array, Array]:
    """The rows of a run, and states between those that are far apart, by its dense output: t (m), q (m, nq), v (m, nv).
    An adaptive method may take a step of a quarter turn."""
    span = float(run.t[-1] - run.t[0])
    if not run.has_dense_output or not span > 0.0 or len(run) >= SMOOTH:
        return run.t, run.q, run.v
    instants = []
    for a, b in pairwise(run.t):
        count = int(np.ceil((b - a) / span * SMOOTH))
        instants.append(a + (b - a) * np.arange(1, count) / max(count, 1))
    more = [run.at(x) for x in np.concatenate(instants)]
    where = np.repeat(np.arange(1, len(run)), [len(x) for x in instants])
    t = np.insert(run.t, where, [x.t for x in more])
    q = np.insert(run.q, where, np.array([x.q for x in more]).reshape(-1, run.q.shape[1]), axis=0)
    return t, q, np.insert(run.v, where, np.array([x.v for x in more]).reshape(-1, run.v.shape[1]), axis=0)


Chosen = tuple[list[int], list[int]]
Maker = Callable[[Run, Labels, Chosen], list[Panel]]


def _coordinates(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    t, q, _ = smooth(run)
    return _picked("coordinates", t, q, chosen[0], labels.q, labels.q_units)


def _velocities(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [f"{x}/s" if x else "1/s" for x in labels.v_units]
    t, _, v = smooth(run)
    return _picked("velocities", t, v, chosen[1], labels.v, units)


def _accelerations(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [f"{x}/s²" if x else "1/s²" for x in labels.v_units]
    return _picked("accelerations", run.t, run.vdot, chosen[1], labels.v, units)


def _forces(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [{"rad": "N m", "m": "N"}.get(x, "") for x in labels.v_units]
    return [x for name, values in run.forces.items()
            for x in _picked(f"forces of {name}", run.t, values, chosen[1], labels.v, units)]  # fmt: skip


def _energy(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    springs = run.energy - run.kinetic - run.potential
    lines = {"kinetic": (run.t, run.kinetic), "potential": (run.t, run.potential)}
    if np.abs(springs).max() > ROUNDING * np.abs([run.kinetic, run.potential]).max():
        lines["springs"] = (run.t, springs)
    lines["total"] = (run.t, run.energy)
    return [Panel("energy", "t [s]", "energy [J]", lines)]


def _balance(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """T + V less what it was, jumps of the state taken out; the sum of all work; their difference."""
    energy = run.kinetic + run.potential
    grown = np.diff(energy, prepend=energy[0])
    grown[1:][np.diff(run.t) <= 0.0] = 0.0
    total, work = np.cumsum(grown), sum(run.work.values(), np.zeros(len(run)))
    work = work - work[0]
    told = run.check()
    accuracy = "not estimated" if told.accuracy is None else f"{told.accuracy:.2g} J"
    title = f"balance: imbalance {told.imbalance:.2g} J, accuracy {accuracy}"
    lines = {"energy grown": (run.t, total), "work done": (run.t, work), "left over": (run.t, total - work)}
    return [Panel(title, "t [s]", "energy [J]", lines)]


def _violation(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    lines = {"violation": (run.t, run.violation)}
    logarithmic = bool((run.violation > 0.0).any())
    return [Panel("violation of closures", "t [s]", "open by [rad, or lengths of the loop]", lines, True, logarithmic)]


def _phase(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """For dofs whose velocity is the rate of one coordinate."""
    place = {name: i for i, name in enumerate(labels.q)}
    pairs = [(i, place[labels.v[i]]) for i in chosen[1] if labels.v[i] in place]
    if not pairs:
        raise ViewError("a phase portrait needs a dof whose velocity is the rate of a coordinate; name one with dofs=.")
    found, (_, q, v) = [], smooth(run)
    for unit in dict.fromkeys(labels.v_units[i] for i, _ in pairs):
        lines = {labels.v[i]: (q[:, j], v[:, i]) for i, j in pairs if labels.v_units[i] == unit}
        x, y = (f"coordinate [{unit}]", f"velocity [{unit}/s]") if unit else ("coordinate", "velocity [1/s]")
        found.append(Panel("phase portrait", x, y, lines, of_time=False))
    return found


_KINDS: dict[str, Maker] = {
    "coordinates": _coordinates, "velocities": _velocities, "accelerations": _accelerations, "forces": _forces,
    "energy": _energy, "balance": _balance, "violation": _violation, "phase": _phase,
}  # fmt: skip


def _drawn(run: Run, panels: Sequence[Panel]) -> Any:
    """A figure that belongs to no window and no global state."""
    heights = [3.6 if not x.of_time else 2.4 for x in panels]
    made = extra("matplotlib.figure", "a chart").Figure
    figure = made(figsize=(8.0, sum(heights) + 0.3), layout="constrained", dpi=100)
    grid = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        for n, (x, y) in enumerate(panel.lines.values()):
            axes.plot(x, y, color=segment_colour(n), linewidth=1.4)
        if panel.logarithmic:
            axes.set_yscale("log")
        axes.set_title(_short(panel.title, 2 * LONGEST), parse_math=False, fontsize=10)
        axes.set_xlabel(panel.x_label, parse_math=False)
        axes.set_ylabel(_short(panel.y_label), parse_math=False)
        axes.grid(alpha=0.3)
        _name(axes, list(panel.lines))
        if panel.of_time:
            _mark(axes, run)
    return figure


def _name(axes: Any, names: list[str]) -> None:
    """A legend outside the axes; names are written as they are, whatever they begin with or hold."""
    lines = list(axes.lines)[:NAMED]
    shown = names[:NAMED]
    if len(names) > NAMED:
        (blank,) = axes.plot([], [], linestyle="none")
        lines, shown = [*lines, blank], [*shown, f"and {len(names) - NAMED} more"]
    numbers = [str(i) for i in range(len(lines))]
    legend = axes.legend(lines, numbers, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    for text, name in zip(legend.get_texts(), shown, strict=True):
        text.set_parse_math(False)
        text.set_text(_short(name))


def _short(name: str, most: int = LONGEST) -> str:
    """A name that leaves room for the lines: of a long one its beginning and its end."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"


def _mark(axes: Any, run: Run) -> None:
    """Events as dotted lines, the first of them with their names."""
    for n, event in enumerate(run.events):
        axes.axvline(event.t, color="#7b8794", linewidth=0.8, linestyle=":")
        if n < _MARKED:
            axes.text(event.t, 1.0, _short(event.name), transform=axes.get_xaxis_transform(), fontsize=7, va="top",
                      rotation=90, color="#7b8794", parse_math=False)  # fmt: skip
