"""Results of a simulation: states over time, energy, work, events; with dense output and a check of the balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.attributes import Strict
from soacraft.errors import StateError
from soacraft.sim.events import Happened
from soacraft.sim.integrators.steps import Step
from soacraft.sim.runs.balance import Balance
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.clocked import Paced
from soacraft.sim.runs.contacts import ContactHistory
from soacraft.sim.runs.instants import Instants
from soacraft.sim.runs.labels import Labels
from soacraft.sim.runs.modal_damping import MODAL_DAMPING, modal_damping_work
from soacraft.sim.runs.reactions import reactions_at
from soacraft.sim.runs.sample import Sample
from soacraft.sim.runs.signals import NO_SIGNALS, Signals
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.sim.sensitivity import Sensitivity


#: Half a nanosecond, to which times are rounded, and a part of it.
_ROUNDED = 0.5e-9 * (1.0 + 1e-6)
#: Contacts may gain this part of the energy that moves by what leaves and is pressed back within a step.
_GAIN = 1e-2
#: Roundings of energies that a balance has at least: each is a sum over bodies, springs and closures.
_ROUNDINGS = 100


class Run(Strict):
    """The states of a simulation, a row for every step: `t` (n), `q` (n, nq), `v` and `vdot` (n, nv).

    Where an event or a callback changed the state there are two rows with the same time, before and after. `energy`
    (n) is kinetic, potential and that of springs; `forces[name]` (n, nv) and `work[name]` (n) are of every force;
    `violation` (n) is how far closures are open, in radians or lengths of the loop; `events` what happened; `contacts`
    (with `sc.sim.Contact`, else None) where shapes pressed and how hard, by pair and by body. `labels` are the names
    and units of coordinates and dofs; None of a run read from a log that has none. `signals["motor.current"]` are
    those of the components of a `sc.sim.System`; where its structure changed, `segments` are the runs between.
    """

    t: Array
    q: Array
    v: Array
    vdot: Array
    kinetic: Array
    potential: Array
    energy: Array
    violation: Array
    work: dict[str, Array]
    forces: Mapping[str, Array]
    events: list[Happened]
    integrator: str
    stopped_by: str
    contacts: ContactHistory | None
    labels: Labels | None
    signals: Signals
    _dense: list[tuple[float, Step | Block]] | None
    _explained: float | None
    _acting: tuple[object, ...]
    _starts: Array | None
    _pace: Paced | None
    _cut: bool
    _segments: tuple[Run, ...]
    _documents: Mapping[str, str]

    _set_once = frozenset(
        "t q v vdot energy kinetic potential work forces violation events contacts integrator stopped_by labels "
        "signals".split()
    )

    def __init__(
        self,
        rows: Mapping[str, Array],
        work: Mapping[str, Array],
        forces: Mapping[str, Array],
        events: list[Happened],
        integrator: str,
        stopped_by: str = "",
        dense: list[tuple[float, Step | Block]] | None = None,
        explained: float | None = None,
        acting: tuple[object, ...] = (),
        labels: Labels | None = None,
        contacts: ContactHistory | None = None,
        signals: Signals | None = None,
        paced: Paced | None = None,
    ) -> None:
        vars(self).update(  # at once: a setter for each would take longer than a short run
            t=rows["t"],
            q=rows["q"],
            v=rows["v"],
            vdot=rows["vdot"],
            kinetic=rows["kinetic"],
            potential=rows["potential"],
            energy=rows["kinetic"] + rows["potential"] + rows["springs"],
            violation=rows["violation"],
            work=dict(work),
            forces=forces,
            events=list(events),
            integrator=integrator,
            stopped_by=stopped_by,
            contacts=contacts,
            labels=labels,
            signals=NO_SIGNALS if signals is None else signals,
            _dense=dense,
            _explained=explained,
            _acting=acting,
            _starts=None,
            _pace=paced,
            _cut=False,
            _segments=(),
            _documents={},
        )

    def __len__(self) -> int:
        return len(self.t)

    def __repr__(self) -> str:
        span = f"t = {self.t[0]:.6g} to {self.t[-1]:.6g} s" if len(self) else "no time"
        end = f", stopped by {self.stopped_by!r}" if self.stopped_by else ""
        end += ", cut: its log has no end" if self._cut else ""
        return f"Run: {len(self)} rows, {span} by {self.integrator}, {len(self.events)} events{end}"

    def _repr_html_(self) -> str:
        from soacraft.sim.runs.cards import run_card

        return run_card(self)

    @property
    def pace(self) -> Paced | None:
        """Timing of a run that was paced by a clock; None for others."""
        return self._pace

    @property
    def cut(self) -> bool:
        """True if it was read from a log that has no end: the process was killed, or still writes."""
        return self._cut

    @property
    def segments(self) -> tuple[Run, ...]:
        """The runs between changes of structure, one after the other; this one is the last."""
        return (*self._segments, self)

    def follow(self, segments: Sequence[Run]) -> None:
        """Be the last of several segments; `System.run` calls this."""
        self._segments = tuple(segments)

    @property
    def documents(self) -> Mapping[str, str]:
        """Documents of a run read from a log: "model" and "system" at its start, in their native formats, and
        "versions" of what it ran with."""
        return dict(self._documents)

    def __getstate__(self) -> dict[str, Any]:
        """A copy of the run of a system has its rows alone: the steps between them are tied to the system."""
        problems: list[Any] = [getattr(x, "problem", None) for _, x in (self._dense or ())[:1]]
        carries = any(hasattr(x, "components") and not x.components.is_empty for x in problems)
        if carries:
            return {**vars(self), "_dense": None, "_acting": ()}
        return {**vars(self), "_versions": [getattr(x, "versions", None) for x in problems]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a pickle. A copy of a model counts its changes from zero: steps of the copied version are
        those of the copy."""
        before = state.pop("_versions", [])
        self.__dict__.update(state)
        for old in before:
            self._dense = [(t, x.of_versions(old, getattr(x.problem, "versions", None))) for t, x in self._dense or ()]

    @property
    def has_dense_output(self) -> bool:
        """True if `at` knows the state between rows: of a run that was made here, and not read from a log."""
        return self._dense is not None

    def at(self, t: Any) -> Sample:
        """The state at a time between the first and the last, or at an array of times, by the dense output of the
        integrator: coordinates and velocities, and when they are read accelerations, forces, work, energy, signals and
        reactions. At a jump the side after it. Times may be half a nanosecond beyond the ends, as times are rounded.

        Accelerations and forces are evaluated at these states, so that they are as accurate; with `sc.sim.Contact`
        impulses and accelerations are means of the step. In systems with clocks, forces and signals of components are
        those of the row before; with crossings or masses that vary they are interpolated between rows.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.q = [np.pi / 2]                                      # released level: down after a quarter period
        >>> run = sc.sim.Propagator(mb).advance_to(1.0)
        >>> bool(abs(run.at(0.591960486894).q[0]) < 1e-8)
        True
        """
        t = finite(t, (...,), "the times", StateError)
        if len(self):
            slack = np.maximum(_ROUNDED, np.spacing(np.abs(t)))
            outside = ~((self.t[0] - slack <= t) & (t <= self.t[-1] + slack))
        else:
            outside = np.ones(t.shape, dtype=bool)
        if outside.any():
            covered = f"{self.t[0]:.9g} to {self.t[-1]:.9g} s" if len(self) else "no time"
            raise StateError(f"t = {t[outside][0]:.9g} s is not in this run, which covers {covered}.")
        if self._dense is None:
            raise StateError(
                "a run read from a file has its rows alone and no dense output, and so has a copy of a run of a "
                "system; interpolate run.q."
            )
        if not len(self):
            return Sample(self._instants(np.zeros(0)), t.shape)
        return Sample(self._instants(np.clip(np.ravel(t), self.t[0], self.t[-1])), t.shape)

    def _instants(self, t: Array | None) -> Instants:
        dense = self._dense or []
        if self._starts is None or len(self._starts) != len(dense):
            self._starts = np.array([x for x, _ in dense])
        return Instants(self, dense, self._starts, t)

    def reactions(self, name: str, node: Any = None, expressed_in: Any = None, t: Any = None) -> Array:
        """Reactions of a hinge, a closure or a coupling along the run, at its rows, (rows, 6), or at times, (..., 6).

        Of a hinge or body the wrench [moment; force] through the hinge on the body outboard of it, about the origin of
        the body's frame in its axes; of a closure the wrench on the body of its frame b, at b in the axes of its frame
        a; of a coupling its multiplier, (rows). `node` is another frame about whose origin the moment is, and
        `expressed_in` another frame, or "inertial", whose axes are used.

        All hinges of trees and closed chains have them, with all that acts: forces on nodes enter where they act,
        generalized forces act through the hinges. Impulses of contact count as mean forces of their steps, with
        accelerations that are means, too: to first order in the step. Refused where forces on bodies are known along
        the dofs alone: ropes of `sc.sim.Contact`, node forces of components, force elements without a method
        `wrenches(t, state)`. O(rows n).

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")                               # 1 kg at 1 m, g = 9.81
        >>> mb.q = [np.pi / 2]                                      # released level
        >>> run = sc.sim.Propagator(mb, rtol=1e-12).advance_to(0.591960486894)
        >>> tension = run.reactions("bob")[-1]                      # 3 m g at the lowest point
        >>> round(float(np.linalg.norm(tension[3:])), 6)
        29.43
        """
        if t is not None:
            return self.at(t).reactions(name, node, expressed_in)
        return reactions_at(self._instants(None), name, node, expressed_in)

    def derivatives(self, parameters: Sequence[str] | str = ()) -> Sensitivity:
        """The derivatives of every step in the state, in a force held in the step, and in parameters, named as in
        `sc.analysis.parameter_derivatives`; `forward` and `adjoint` carry them through the run. O(n nv) a step.

        Exact for the steps as they were taken, by "rk4", "euler_symplectic" or "verlet", of trees and closed chains;
        functions that act, and projections of the solvers "ta" and "fa", are differentiated by differences of order
        six. In inertias, these projections count as fixed: an error as small as a step ends off the closures. A control
        of a dof is its force. Runs with events, prescribed motions and what sticks or rolls are refused, and runs whose
        controls or forces of `mb.set_force` were changed meanwhile or since.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> mb = sc.load("cart_pole")
        >>> mb.q = [0.0, 0.1]
        >>> run = sc.sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(0.1)
        >>> s = run.derivatives("pole.mass")
        >>> s.forward(parameters=[1.0])[-1].shape, s.B.shape
        ((4,), (10, 4, 2))
        """
        from soacraft.sim.run_derivatives import run_derivatives

        if self._dense is None:
            raise StateError("a run read from a file has its rows alone, and no steps to differentiate; run it again.")
        return run_derivatives(self, [x[1] for x in self._dense], parameters, self._acting)

    def to_mat(self, path: str | PathLike[str]) -> Path:
        """Write it as a MATLAB file: `t`, `q`, `v`, `vdot`, energies, and structs `work`, `forces` and `signals`. Their
        fields are names with "_" for what MATLAB takes not; `names` has both, `units` those of signals. Where structure
        changed, `segments` has all, and the rest is of the last.

        >>> import pathlib, tempfile
        >>> import soacraft as sc
        >>> run = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.to_mat(pathlib.Path(folder) / "run.mat").name
        'run.mat'
        """
        from soacraft.sim.runs.exports import write_mat

        return write_mat(self, path)

    def to_csv(self, path: str | PathLike[str]) -> Path:
        """Write its rows as a table of text, a line for every row under one of names and units: `t (s)`,
        `q[elbow] (rad)`, `v[elbow] (rad/s)`, `vdot[elbow] (rad/s^2)`, energies, `work[motor] (J)`,
        `forces[motor][elbow] (N m)`, and signals. Numbers read back are the same in all bits. Where structure changed
        it is of the last segment; others are written by `run.segments[0].to_csv(path)`.

        >>> import pathlib, tempfile
        >>> import soacraft as sc
        >>> run = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run.to_csv(pathlib.Path(folder) / "run.csv").read_text().splitlines()[0]
        't (s),q[bob] (rad),v[bob] (rad/s),vdot[bob] (rad/s^2),energy (J),kinetic (J),potential (J),violation'
        """
        from soacraft.sim.runs.exports import write_csv

        return write_csv(self, path)

    def to_pandas(self) -> Any:
        """Make a `pandas.DataFrame` of its rows, with the columns of `to_csv` and the times as index. It needs the
        package pandas, which is not installed with soacraft. At an event two rows have the same time."""
        from soacraft.sim.runs.exports import data_frame

        return data_frame(self)

    def to_mcap(self, path: str | PathLike[str]) -> Path:
        """Write it as an MCAP file, for Foxglove and the like (extra `bag`): messages in JSON with schemas, a topic for
        coordinates, velocities, accelerations, energy, work, forces and events, and one for each component."""
        from soacraft.sim.runs.exports import write_mcap

        return write_mcap(self, path)

    def check(self) -> Balance:
        """The balance of energy: kinetic and potential energy grow by the work of all forces, springs and the damping
        of elastic modes included.

            max over t of | (T + V)(t) - (T + V)(0) - sum of work(t) |,     jumps of the state taken out

        With contact also what contacts gave beyond restitution, and how much deeper shapes are in each other than the
        way of their points in two steps. Against it the accuracy: the sum of the local errors of all steps, each as a
        part of the largest kinetic energy and of the swing of the potential. O(rows), with contact O(rows n).
        """
        energy = self.kinetic + self.potential
        done = sum(self.work.values(), np.zeros(len(energy)))
        jumps = np.diff(self.t) <= 0.0  # also of masses, whose work is that of the jump
        grown, worked = (np.concatenate([np.zeros(min(len(x), 1)), np.diff(x)]) for x in (energy, done))
        grown[1:][jumps], worked[1:][jumps] = 0.0, 0.0
        total = np.cumsum(grown)
        imbalances = total - np.cumsum(worked)
        swing = float(self.kinetic.max(initial=0.0) + np.ptp(self.potential) if len(energy) else 0.0)
        rounding = 1e-15 * max(len(energy), _ROUNDINGS) * (swing + float(np.abs(self.potential).max(initial=0.0)))
        accuracy = None if self._explained is None else self._explained * swing + rounding
        work = {name: float(x[-1]) for name, x in self.work.items() if len(x)}
        damping = modal_damping_work(self)
        if damping is not None:
            imbalances, work[MODAL_DAMPING] = imbalances - damping, float(damping[-1])
        imbalance = float(np.abs(imbalances - imbalances[0]).max()) if len(imbalances) else 0.0
        gain, sunk = self._of_contacts(_GAIN * swing + rounding)
        return Balance(float(total[-1]) if len(total) else 0.0, work, imbalance, accuracy, gain, sunk)

    def _of_contacts(self, most: float) -> tuple[float, float]:
        """The energy that contacts gave, where it is more than `most`, and how deep they sank in, beyond what is
        explained."""
        if self.contacts is None or "contact" not in self.work or "prescribed" in self.work:
            return 0.0, 0.0
        gain = self.contacts.gain(self.work["contact"])
        return gain if gain > most else 0.0, self.contacts.sunk(self.v)
