"""`System`: components joined by signals, around a model, carried through time by a `Propagator`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Uncopied
from soacraft.errors import CheckpointError, StateError, WiringError, near
from soacraft.hints import hinted
from soacraft.late import higher
from soacraft.markup import Text
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.clock import nanoseconds
from soacraft.sim.exclusive import Exclusive
from soacraft.sim.links.ports import running
from soacraft.sim.propagator import Propagator
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.runs.outputs import Keeping
from soacraft.sim.runs.run import Run
from soacraft.sim.serving.desk import Desk
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.systems import linear, now, stepper_inputs, texts
from soacraft.sim.systems.builder import Builder, Handle
from soacraft.sim.systems.changes import segments
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.running.flow import Flow
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.settings import ParamsOf, StatesOf
from soacraft.sim.systems.switchboard import Switchboard
from soacraft.sim.systems.wiring import Wiring
from soacraft.spatial.checks import Array
from soacraft.spatial.measured import Measured, RelativePose

__all__ = ["Handle", "System"]

if TYPE_CHECKING:
    from soacraft.sim.components.registry import PartClass
    from soacraft.sim.forces.loads import Load
    from soacraft.sim.serving.lines import Limits, Lines

#: Integrators that carry states of components along with those of a model.
_INTEGRATORS = ("rk4", "dop853", "radau", "gauss4", "gauss6", "cvode", "moreau")


class System(Uncopied, Builder):
    """Components joined by signals, around a model, carried through time.

    Integrator, tolerance and lengths of steps are those of `sc.sim.Propagator`, which takes the steps: none crosses a
    tick, a crossing, or a time of `Component.breaks`. Time is in whole nanoseconds, from `t` on. `seed` is that of all
    noise. The order of evaluation depends on names alone. `s.check()` lists every fault at once; `run` checks first.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> s = sim.System("swing", integrator="rk4", step=1e-3)
    >>> arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    >>> _ = s.add("drive", sim.Force(), at=arm.dof("bob"))
    >>> _ = s.add("target", sim.Constant(value=0.5))
    >>> _ = s.add("control", sim.PD(kp=100.0, kd=20.0), every=1e-3)
    >>> s.connect("target.y", "control.target")
    >>> s.connect("arm.q[bob]", "control.measured")
    >>> s.connect("arm.v[bob]", "control.rate")
    >>> s.connect("control.command", "drive.command")
    >>> run = s.run(2.0)
    >>> float(run.q[-1, 0].round(3)), float(run.signals["control.command"][-1].round(2))
    (0.457, 4.33)
    """

    _instead: ClassVar = (
        "it is a run in time, with functions that act; make another by the function that made this one, by "
        "s.save(path) and sim.load_system, or by s.checkpoint(path) and sim.restore"
    )
    _cures: ClassVar = {"*": "a system is changed by s.add, s.connect, s.params[...] and s.states[...]"}

    @hinted
    def __init__(
        self,
        name: str,
        integrator: str = "dop853",
        rtol: float = 1e-9,
        step: float | None = None,
        t: float = 0.0,
        seed: int = 0,
        max_step: float | None = None,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise WiringError(f"a system has a name, got {name!r:.60}.")
        if integrator not in _INTEGRATORS:
            raise WiringError(
                f"integrator {integrator!r:.60} does not carry states of components"
                f"{near(str(integrator), _INTEGRATORS)}"
            )
        how = {"integrator": integrator, "rtol": rtol, "step": step, "max_step": max_step}
        seed = whole_number(seed, "the seed of a system", 0)
        super().__init__(Switchboard(name, how, nanoseconds(t, "t"), seed))
        self._alone = Exclusive(f"the system {name!r}", "by the function that makes it, or by sim.load_system")
        Propagator(Multibody(name), **how)  # type: ignore[arg-type]  # refuses a step or tolerance that is none
        self._params, self._states = ParamsOf(self), StatesOf(self)
        self._restored: LogPlace | None = None  # where the log was at the checkpoint it comes from
        self._desk: Desk | None = None
        self._begun: dict[str, tuple[Array, Array]] = {}
        """q and v of each plant, where the first run began."""
        self._going = False  # from one in the middle of a run
        self._recalled = False  # from a checkpoint

    # -- checking ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise `WiringError` with every fault: inputs that nothing fills, units, shapes, frames, two writers, cycles,
        unknown names, patterns that match nothing, values of the wrong shape."""
        self._compiled()

    def _compiled(self) -> tuple[Wiring, Schedule, Flow]:
        x = self.board.compiled()
        return x.wiring, x.schedule, x.flow

    def become(self, other: System, diagram: Diagram) -> None:
        """Be as another system that has not begun either, with a diagram of it; `reload` calls this."""
        for path, plant in diagram.plants.items():
            plant.join(self, path)
        self.board.become(other.board, diagram)

    def take_up(self) -> bool:
        """True once, if the system comes from a checkpoint in the middle of a run; sequences ask."""
        going, self._going = self._going, False
        return going

    # -- running -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the system."""
        return self._name

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self.board.t

    @property
    def begun(self) -> Mapping[str, tuple[Array, Array]]:
        """q and v of each plant where the first run began; empty before it."""
        return MappingProxyType(self._begun)

    @property
    def recalled(self) -> bool:
        """True if it comes from a checkpoint, so that the start is not known."""
        return self._recalled

    @property
    def params(self) -> ParamsOf:
        """Parameters {"component.name": value}, read and set: `s.params["motor.R"] = 1.2`. They act from the next
        evaluation on."""
        return self._params

    @property
    def plants(self) -> Mapping[str, Plant]:
        """Plants {name: plant}. The state of a plant is that of its model, to be set between runs.

        >>> import soacraft as sc
        >>> s = sc.sim.System("swing", integrator="rk4", step=1e-2)
        >>> _ = s.add("bob", sc.sim.Plant(sc.load("pendulum")))
        >>> s.plants["bob"].mb.set_state([0.3], [0.1])
        >>> run = s.run(0.1)
        >>> run.q[0], run.v[0]
        (array([0.3]), array([0.1]))
        """
        return MappingProxyType(self._plants)

    @property
    def states(self) -> StatesOf:
        """States of components, {"component.name": value}, read and set: `s.states["motor.current"] = 0.1`."""
        return self._states

    @hinted
    def run(
        self,
        t: float,
        log: str | PathLike[str] | None = None,
        until: str | None = None,
        signals: str | Sequence[str] = "**",
        progress: bool = False,
        pace: float | None = None,
        overrun: str = "catch_up",
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float | None = None,
    ) -> Run:
        """Carry the system on to time t, in seconds, or to the crossing, or the phase of a sequence, named `until`; the
        run up to there, of several segments the last.

        `signals` are patterns of the outputs and states that are recorded in `run.signals`; `log`, `progress`, `pace`
        and `overrun` as in `Propagator.advance_to`. One run, and the same in two halves, give the same bits with fixed
        steps.

        `checkpoint` is a file that is written at the end, and at multiples of `checkpoint_every` seconds: the run goes
        on from each as `sc.sim.restore` does. A restored system whose `log` is that of before goes on with it.
        """
        self.board.refuse_in_edit("a run cannot begin")
        with nullcontext() if self._desk is None else self._desk.running(), self._alone.held("run"):
            keeping = self._keeping(log, checkpoint, checkpoint_every)
            if self._sequences:
                return segments.advance(self, t, until, keeping, (signals, progress, pace, overrun))
            return self.advance(t, keeping, until, signals, progress, pace, overrun)

    def advance(
        self,
        t: float,
        keeping: Keeping,
        until: str | Sequence[str] | None,
        signals: str | Sequence[str],
        progress: bool,
        pace: float | None,
        overrun: str,
    ) -> Run:
        """One segment of a run; `run` calls it for each."""
        x = self.board.compiled()
        strict = not any(change.plant for change in self.board.build.changes)
        x.flow.record(texts.columns(x.diagram.parts, x.wiring, x.schedule, signals, strict))
        x.joined.take()
        moved = self._moved()
        moved.look_in(self._desk)
        try:
            with running({path: part.component for path, part in x.diagram.parts.items()}):
                return moved.advance(t, keeping, progress, until, pace, overrun)
        finally:
            x.joined.give()
            self.board.settle()

    def _moved(self) -> Propagator:
        """The propagator; where the plants begin is remembered for system files."""
        if not self.board.is_begun:
            plants = self.board.compiled().diagram.plants
            self._begun = {path: (np.array(x.mb.q), np.array(x.mb.v)) for path, x in plants.items()}
        return self.board.moved()

    # -- checkpoints -------------------------------------------------------------------------------------------

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Write everything that tells how the system goes on into a file, whole or not at all; `sc.sim.restore` reads
        it. A multistep integrator starts again here, too, so that both go on with the same bits."""
        self.board.refuse_in_edit("a checkpoint cannot be written")
        with self._alone.held("checkpoint"):
            write = higher("system_writer")(self, path)
            write(self._present(), None)

    def state(self) -> SimState:
        """Return the state of all plants and components as one value, from which `set_state` continues with the same
        bits, here or in another system made alike. Parameters are not in it, nor are phases of sequences.

        Two futures of one motion, the second under another command:

        >>> import soacraft as sc
        >>> s = sc.sim.System("swing", integrator="rk4", step=1e-3)
        >>> bob = s.add("bob", sc.sim.Plant(sc.load("pendulum")))
        >>> _ = s.add("drive", sc.sim.Force(), at=bob.dof("bob"))
        >>> _ = s.add("target", sc.sim.Constant(value=0.0, unit="N m"))
        >>> s.connect("target.y", "drive.command")
        >>> _ = s.run(0.5)
        >>> state = s.state()
        >>> still = s.run(1.0).q[-1, 0]
        >>> s.set_state(state)
        >>> s.params["target.value"] = 1.0
        >>> s.t, bool(s.run(1.0).q[-1, 0] > still)
        (0.5, True)
        """
        with self._alone.held("state"):
            higher("require_kept")(self)
            self._refuse_phases()
            return self._present()

    def set_state(self, state: SimState) -> None:
        """Continue from a state that `s.state()` returned, of this system or of one with the same plants and
        components. One of another system is refused, and nothing changes."""
        if not isinstance(state, SimState):
            raise StateError(
                f"set_state takes what s.state() gave, got {state!r:.60}. Coordinates are set by "
                "s.plants[name].mb.set_state(q, v)."
            )
        with self._alone.held("set_state"):
            higher("require_kept")(self)
            self._refuse_phases()
            self._present()
            self._take(state, "this SimState")

    def _refuse_phases(self) -> None:
        """Raise for a system with sequences: their phases, and the bodies that they detach, are not in a state."""
        if self._sequences:
            raise CheckpointError(
                f"the system {self._name!r} has the sequence {next(iter(self._sequences))!r}, whose phases are in no "
                "SimState. Write s.checkpoint(path), and read it with sc.sim.restore(path)."
            )

    def _present(self) -> SimState:
        """Return the state of all that moves, with the states that plants were given meanwhile."""
        self.board.compiled().joined.take()
        return self._moved().state()

    def _take(self, state: SimState, whose: str) -> None:
        """Move to a state, and so the models of the plants."""
        self._moved().set_state(state, whose)
        self.board.compiled().joined.give()
        self._restored, self._going = None, False  # a log of before is not of this motion

    def recall(self, state: SimState, file: str, log: LogPlace | None) -> None:
        """Continue from a checkpoint."""
        self._take(state, f"the checkpoint {file!r}")
        self._restored, self._recalled, self._going = log, True, state.within

    def _keeping(self, log: Any, checkpoint: Any, every: Any) -> Keeping:
        """Log and checkpoints of a run."""
        write = None if checkpoint is None else higher("system_writer")(self, checkpoint)
        keeping = Keeping.of(log, checkpoint, every, self._restored, write, lambda: higher("system_documents")(self))
        keeping.origin, self._restored = self._start, None
        return keeping

    def serve(self, port: int = 0, folder: str | PathLike[str] | None = None, limits: Limits | None = None) -> Lines:
        """Serve the system to programs of this machine: JSON lines over TCP, until `close()`.

        A client sends the token first, `{"id": 1, "verb": "hello", "token": ...}`, then asks: list, get, set,
        subscribe, unsubscribe, status, pause, step, run, checkpoint. Runs of this program are followed and paused, too.
        Checkpoints are written into `folder` alone.

        >>> import soacraft as sc
        >>> s = sc.sim.System("a", integrator="rk4", step=0.1)
        >>> _ = s.add("wave", sc.sim.Sine(frequency=1.0))
        >>> with s.serve() as served:
        ...     served.address[0], len(served.token) > 20
        ('127.0.0.1', True)
        """
        lines: Lines = higher("Lines")(self, port, folder, limits)
        return lines

    def desk(self) -> Desk:
        """Desk at which requests of servers are done; one for a system."""
        self._desk = self._desk or Desk(self)
        return self._desk

    @hinted
    def stepper(
        self,
        controls: Sequence[str] | None = None,
        *,
        states: int | None = None,
        threads: int | None = None,
        period: float | None = None,
    ) -> Stepper:
        """The motion step by step, from the present state on, as `Propagator.stepper`: for a system of one plant, with
        its force elements, and `Force` or `Drive` components at its dofs whose inputs nothing fills. `u` are those
        inputs, all of them, in the order in which they were added or in that of `controls`. Other systems are refused
        with the reason. The system stays where it is.

        >>> import soacraft as sc
        >>> from soacraft import sim
        >>> s = sim.System("swing", integrator="rk4", step=1e-3)
        >>> arm = s.add("arm", sim.Plant(sc.load("pendulum")))
        >>> _ = s.add("drive", sim.Force(), at=arm.dof("bob"))
        >>> step = s.stepper()
        >>> for _ in range(4000):
        ...     step.u[:] = 9.81 * np.sin(step.q) + 20 * (0.5 - step.q) - 8 * step.v
        ...     step()
        >>> step.names, step.q.round(3)
        (('drive.command',), array([0.5]))
        """
        with self._alone.held("stepper"):
            p, names, driven = self.driven(controls)
            return p.stepper(driven, states=states, threads=threads, period=period, labels=names)

    def driven(self, controls: Sequence[str] | None = None) -> stepper_inputs.Driven:
        """A propagator of its plant, with the inputs that nothing fills and the control that each of them is: what
        `stepper` steps. Refused with the reason where components act within runs alone."""
        return stepper_inputs.stepped(
            stepper_inputs.Contents(self.name, self.diagram, self.t, self.board.how), controls
        )

    def phase(self, sequence: str) -> str:
        """The phase that a sequence is in."""
        return self.diagram.phase(sequence)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Results of `detach`, `attach`, `capture`, `release` and `remove` of plants so far, and the components and
        connections that came and went since the system began."""
        return self.board.build.changes

    # -- frames --------------------------------------------------------------------------------------------------

    def state_now(self) -> State:
        """The state of the model that is moved, with the accelerations that all forces give it now."""
        return now.state_now(self)

    def pose(self, of: str, relative_to: str = "inertial") -> RelativePose:
        """The pose of a frame seen from another, now: "arm:hand/tool", a frame of `add_frame`, "inertial"."""
        mb, state, (frame, to, _) = now.seen(self, of, relative_to)
        return mb.pose(frame, to, state=state)

    def velocity(self, of: str, relative_to: str = "inertial", expressed_in: str | None = None) -> Measured:
        """[angular; linear] velocity of a frame seen from another, now, in the axes of a third (default: of
        `relative_to`)."""
        mb, state, frames = now.seen(self, of, relative_to, expressed_in, 13)
        return mb.velocity(*frames, state=state)

    def acceleration(self, of: str, relative_to: str = "inertial", expressed_in: str | None = None) -> Measured:
        """[d omega/dt; d^2 p/dt^2] of a frame, differentiated in `relative_to`, now, in the axes of a third."""
        mb, state, frames = now.seen(self, of, relative_to, expressed_in, 19)
        return mb.acceleration(*frames, state=state)

    # -- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | PathLike[str], models: Mapping[str, str] | None = None) -> None:
        """Write the system to a file, `.toml` or `.json`, as `sim.load_system` reads it: what it was built from, not
        what it is doing, which a checkpoint has. The file is written whole or not at all.

        Models are kept as they were referred to in the file that was loaded, or by their name in the library where it
        has the same; others are in the file. `models={"arm": "arm.json"}` refers to a file next to it, or a name.
        """
        higher("save_system")(self, path, models)

    def reload(
        self,
        path: str | PathLike[str],
        classes: Iterable[PartClass] = (),
        forces: Mapping[str, Sequence[Load]] | None = None,
        roots: Sequence[str | PathLike[str]] = (),
    ) -> Text:
        """Take over what is different in a file, and say what that is. Arguments as of `sim.load_system`; classes that
        the system has are known.

        Before the first run all may change. Once it runs parameters alone do, from the next evaluation on; anything
        else is refused with its name, and nothing is changed. The state of a model in the file is that of the start.
        """
        reload = partial(higher("reload"), self, path, classes, forces, roots)
        changes: Text = reload() if self._desk is None else self._desk.ask(reload, changes=True).result()
        return changes

    def to_fmu(
        self, path: str | PathLike[str], inputs: Sequence[str] = (), outputs: Sequence[str] = (), version: int = 2
    ) -> Path:
        """Write the system as an FMU for co-simulation, of FMI 2.0 or 3.0. `inputs` are inputs of components that
        nothing fills, `outputs` are outputs; vectors become numbers, "arm.q[2]". In a step inputs are held; at the
        start outputs are those of the inputs that are set then.

        It runs where soacraft is installed. Your own classes must be in modules: single files go into the FMU,
        packages must be installed there. Its state is not serialized. Needs pythonfmu or pythonfmu3: pip install
        'soacraft[fmi]'.
        """
        written: Path = higher("to_fmu")(self, path, inputs, outputs, version)
        return written

    def linearize(self, inputs: str | Sequence[str], outputs: str | Sequence[str]) -> linear.Linear:
        """The continuous part as linear equations next to the present state: `A`, `B`, `C`, `D` and names.

            d/dt dx = A dx + B du,    dy = C dx + D du,    dx = [dq; dv; states of components]

        `inputs` are outputs of components, whose place du takes; `outputs` are those of components and plants, and
        states of components. Derivatives of the plant are exact, those of equations differences of fourth order. What
        other sampled components give is held: `held` names it. Trees of holonomic hinges. O(n nv + states^2).
        """
        return linear.linearize(self, inputs, outputs)

    # -- looking -----------------------------------------------------------------------------------------------

    def tree(self) -> Text:
        """The parts, level by level."""
        return texts.tree(self._parts, {**self._plants, **self._sequences}, self._groups, self._frames)

    def signals(self) -> Text:
        """Every input and output: unit, shape, and what fills it."""
        wiring, schedule, _ = self._compiled()
        return texts.signals(self._parts, wiring, schedule)

    def schedule(self) -> Text:
        """Order and instants of all evaluations."""
        _, schedule, _ = self._compiled()
        return texts.schedule_text(schedule)

    def to_mermaid(self) -> Text:
        """The diagram in the language of Mermaid."""
        wiring, _, _ = self._compiled()
        return texts.mermaid(self._parts, self._plants, wiring)

    def explain(self, port: str) -> Text:
        """Description of a port: its equation, what it depends on at once, what fills it and what it fills."""
        wiring, schedule, _ = self._compiled()
        return texts.explain(port, self._parts, wiring, schedule)

    def __repr__(self) -> str:
        plants = f", {len(self._plants)} plant{'s' if len(self._plants) > 1 else ''}" if self._plants else ""
        joined = f"{len(self._parts)} components{plants}, {len(self._wires)} connections"
        return f"System {self._name!r} at t = {self.t:.9g} s: {joined}"
