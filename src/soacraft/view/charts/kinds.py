"""The kinds of charts that a run has: which lines, with which names and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from soacraft.errors import StaleError, ViewError
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.run import Run
from soacraft.sim.runs.sample import Sample
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Panel

#: Points of a line at least, where the run knows the state between its rows.
SMOOTH = 400
#: Part of a sum of energies below which it is rounding.
ROUNDING = 1e-12
#: Samples of a spectrum: at least, and at most.
SAMPLES = (256, 8192)
#: Steps of a log that differ by no more than this part of their mean are even.
EVEN = 1e-6


def _by_unit(title: str, t: Array, values: Array, names: Sequence[str], units: Sequence[str]) -> list[Panel]:
    """A panel for each unit."""
    panels = []
    for unit in dict.fromkeys(units):
        some = [i for i, x in enumerate(units) if x == unit]
        lines = {names[i]: (t, values[:, i]) for i in some}
        panels.append(Panel(title, "t [s]", f"{title} [{unit}]" if unit else title, lines))
    return panels


def _picked(
    title: str, t: Array, values: Array, chosen: list[int], names: Sequence[str], units: Sequence[str]
) -> list[Panel]:
    return _by_unit(title, t, values[:, chosen], [names[i] for i in chosen], [units[i] for i in chosen])


def smooth(run: Run, rows: Array, between: Callable[[Sample], Array], rates: bool = True) -> tuple[Array, Array]:
    """Rows of a run (n, ...), and values between those that are far apart, at states of its dense output: times (m) and
    values (m, ...). An adaptive method may take a step of a quarter turn. The rows alone where the run knows no more of
    them (`rates` are those that a sample may have from rows), or where the model was changed since."""
    span = float(run.t[-1] - run.t[0])
    if not run.has_dense_output or not span > 0.0 or len(run) >= SMOOTH:
        return run.t, rows
    instants = []
    for a, b in pairwise(run.t):
        count = int(np.ceil((b - a) / span * SMOOTH))
        instants.append(a + (b - a) * np.arange(1, count) / max(count, 1))
    where = np.repeat(np.arange(1, len(run)), [len(x) for x in instants])
    more = np.concatenate(instants)
    try:
        sample = run.at(more)
        if rates and sample.from_rows:
            return run.t, rows
        values = between(sample)
    except StaleError:
        return run.t, rows
    return np.insert(run.t, where, more), np.insert(rows, where, values, axis=0)


Chosen = tuple[list[int], list[int]]
Maker = Callable[[Run, Labels, Chosen], list[Panel]]


def _coordinates(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    t, q = smooth(run, run.q, lambda x: x.q, rates=False)
    return _picked("coordinates", t, q, chosen[0], labels.q, labels.q_units)


def _velocities(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [f"{x}/s" if x else "1/s" for x in labels.v_units]
    t, v = smooth(run, run.v, lambda x: x.v, rates=False)
    return _picked("velocities", t, v, chosen[1], labels.v, units)


def _accelerations(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [f"{x}/s²" if x else "1/s²" for x in labels.v_units]
    t, vdot = smooth(run, run.vdot, lambda x: x.vdot)
    return _picked("accelerations", t, vdot, chosen[1], labels.v, units)


def _forces(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    units = [{"rad": "N m", "m": "N"}.get(x, "") for x in labels.v_units]
    if not run.forces:
        return []
    rows = np.stack([*run.forces.values()], axis=1)
    t, all_forces = smooth(run, rows, lambda x: np.stack([*x.forces.values()], axis=1))
    return [x for i, name in enumerate(run.forces)
            for x in _picked(f"forces of {name}", t, all_forces[:, i], chosen[1], labels.v, units)]  # fmt: skip


def _energy(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """Parts of the energy also between rows; their sum at the rows, where it tells of the integrator alone."""
    rows = np.stack([run.kinetic, run.potential, run.energy - run.kinetic - run.potential], axis=1)
    t, energies = smooth(run, rows, _energies)
    lines = {name: (t, x) for name, x in zip(("kinetic", "potential", "springs"), energies.T, strict=True)}
    if not np.abs(rows[:, 2]).max() > ROUNDING * np.abs(rows[:, :2]).max():
        del lines["springs"]
    lines["total"] = (run.t, run.energy)
    return [Panel("energy", "t [s]", "energy [J]", lines)]


def _energies(sample: Sample) -> Array:
    """Kinetic, potential and that of springs, (m, 3)."""
    kinetic, potential = sample.kinetic, sample.potential
    return np.stack([kinetic, potential, sample.energy - kinetic - potential], axis=1)


def _balance(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """T + V less what it was, jumps of the state taken out; the sum of all work; their difference."""
    energy = run.kinetic + run.potential
    grown = np.diff(energy, prepend=energy[0])
    grown[1:][np.diff(run.t) <= 0.0] = 0.0
    total, work = np.cumsum(grown), sum(run.work.values(), np.zeros(len(run)))
    work = work - work[0]
    check = run.check()
    accuracy = "not estimated" if check.accuracy is None else f"{check.accuracy:.2g} J"
    title = f"balance: imbalance {check.imbalance:.2g} J, accuracy {accuracy}"
    lines = {"energy grown": (run.t, total), "work done": (run.t, work), "left over": (run.t, total - work)}
    return [Panel(title, "t [s]", "energy [J]", lines)]


def _violation(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    lines = {"violation": (run.t, run.violation)}
    logarithmic = bool((run.violation > 0.0).any())
    return [Panel("violation of closures", "t [s]", "open by [rad, or lengths of the loop]", lines, True, logarithmic)]


def _phase(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """Panels for dofs whose velocity is the rate of one coordinate."""
    place = {name: i for i, name in enumerate(labels.q)}
    pairs = [(i, place[labels.v[i]]) for i in chosen[1] if labels.v[i] in place]
    if not pairs:
        raise ViewError("a phase portrait needs a dof whose velocity is the rate of a coordinate; name one with dofs=.")
    panels = []
    _, q = smooth(run, run.q, lambda x: x.q, rates=False)
    _, v = smooth(run, run.v, lambda x: x.v, rates=False)
    for unit in dict.fromkeys(labels.v_units[i] for i, _ in pairs):
        lines = {labels.v[i]: (q[:, j], v[:, i]) for i, j in pairs if labels.v_units[i] == unit}
        x, y = (f"coordinate [{unit}]", f"velocity [{unit}/s]") if unit else ("coordinate", "velocity [1/s]")
        panels.append(Panel("phase portrait", x, y, lines, of_time=False))
    return panels


def _contacts(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """Force between each pair of shapes: the size of the mean force over each step."""
    if run.contacts is None:
        raise ViewError("the run has no contacts to draw: add sc.sim.Contact() to its propagator.")
    forces = run.contacts.forces_by_pair()
    lines = {f"{a} - {b}": (run.t, np.linalg.norm(x, axis=1)) for (a, b), x in forces.items()}
    return [Panel("forces of contact", "t [s]", "force [N]", lines)] if lines else []


def _spectrum(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """The amplitudes of coordinates by frequency: of samples at even times, less their mean, in a Hann window

    |sum over k of w(k) x(k) exp(-2 pi i f t(k))| 2 / sum of w
    """
    t, q = even_samples(run)
    window = np.hanning(len(t))
    values = 2.0 / window.sum() * np.abs(np.fft.rfft((q - q.mean(axis=0)) * window[:, None], axis=0))
    frequencies = np.fft.rfftfreq(len(t), t[1] - t[0])
    panels = _picked("spectrum", frequencies[1:], values[1:], chosen[0], labels.q, labels.q_units)
    return [
        x._replace(x_label="frequency [Hz]", y_label=x.y_label.replace("spectrum", "amplitude"), of_time=False,
                   logarithmic=True)
        for x in panels
    ]  # fmt: skip


def even_samples(run: Run) -> tuple[Array, Array]:
    """Coordinates at even times: t (m), q (m, nq): the rows of a run where they are even, else by its dense output."""
    span = float(run.t[-1] - run.t[0])
    if not span > 0.0:
        raise ViewError("a spectrum needs a run that takes some time.")
    steps = np.diff(run.t)
    if np.ptp(steps) <= EVEN * steps.mean():
        return run.t, run.q
    if not run.has_dense_output:
        raise ViewError(
            "a spectrum needs rows at even times, and those of this log are not: write it with a fixed step "
            "(integrator='rk4', step=...), or draw the run itself."
        )
    t = np.linspace(run.t[0], run.t[-1], int(np.clip(4 * len(run), *SAMPLES)))
    return t, run.at(t).q


KINDS: dict[str, Maker] = {
    "coordinates": _coordinates, "velocities": _velocities, "accelerations": _accelerations, "forces": _forces,
    "energy": _energy, "balance": _balance, "violation": _violation, "phase": _phase, "contacts": _contacts,
    "spectrum": _spectrum,
}  # fmt: skip
