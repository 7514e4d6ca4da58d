"""The kinds of charts that a run has: which lines, with which names and units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from soacraft.errors import ViewError
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Panel

#: Points of a line at least, where the run knows the state between its rows.
SMOOTH = 400
#: Of a sum of energies: what is less is rounding.
ROUNDING = 1e-12
#: Samples of a spectrum: at least, and at most.
SAMPLES = (256, 8192)
#: Steps of a log that differ by no more than this part of their mean are even.
EVEN = 1e-6


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


def _contacts(run: Run, labels: Labels, chosen: Chosen) -> list[Panel]:
    """How hard each pair of shapes presses: the size of the mean force over each step."""
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
    found = _picked("spectrum", frequencies[1:], values[1:], chosen[0], labels.q, labels.q_units)
    return [
        x._replace(x_label="frequency [Hz]", y_label=x.y_label.replace("spectrum", "amplitude"), of_time=False,
                   logarithmic=True)
        for x in found
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
    return t, np.array([run.at(x).q for x in t])


KINDS: dict[str, Maker] = {
    "coordinates": _coordinates, "velocities": _velocities, "accelerations": _accelerations, "forces": _forces,
    "energy": _energy, "balance": _balance, "violation": _violation, "phase": _phase, "contacts": _contacts,
    "spectrum": _spectrum,
}  # fmt: skip
