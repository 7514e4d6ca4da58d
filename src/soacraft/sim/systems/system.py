"""`System`: components joined by signals, around a model, carried through time by a `Propagator`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Strict, Uncopied
from soacraft.errors import (
    AlgebraicLoopError,
    CheckpointError,
    SoacraftError,
    StaleError,
    StateError,
    WiringError,
    near,
)
from soacraft.hints import hinted
from soacraft.markup import Text
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.clock import nanoseconds
from soacraft.sim.components.component import Component
from soacraft.sim.exclusive import Exclusive
from soacraft.sim.links.ports import running
from soacraft.sim.propagator import Propagator
from soacraft.sim.runs.keeping import Keeping
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.runs.run import Run
from soacraft.sim.serving.desk import Desk
from soacraft.sim.sim_state import SimState
from soacraft.sim.stepper import Stepper
from soacraft.sim.systems import describing, linear, now, stepping
from soacraft.sim.systems.assembly import Assembly, Built
from soacraft.sim.systems.changes import driving
from soacraft.sim.systems.changes.changing import Change, restart
from soacraft.sim.systems.changes.sequence import Sequence as Phases
from soacraft.sim.systems.frames import UserFrame, read_frame
from soacraft.sim.systems.plants.inertias import pull_faults
from soacraft.sim.systems.plants.joined import Joined, joined_solver
from soacraft.sim.systems.plants.plant import Mount, Plant
from soacraft.sim.systems.running.clocks import read_clock
from soacraft.sim.systems.running.flow import Flow
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.settings import ParamsOf, StatesOf
from soacraft.sim.systems.wiring import Part, Wire, Wiring, faults_error
from soacraft.spatial.checks import Array
from soacraft.spatial.measured import Measured, RelativePose
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.sim.components.registry import PartClass
    from soacraft.sim.forces.loads import Load
    from soacraft.sim.serving.lines import Limits, Lines

_NAME = re.compile(r"[A-Za-z_][\w-]*(?:/[A-Za-z_][\w-]*)*")
_AT_ORIGIN = Pose()
#: Integrators that carry states of components along with those of a model.
_INTEGRATORS = ("rk4", "dop853", "radau", "gauss4", "gauss6", "cvode", "moreau")


class Handle(Strict):
    """A component in a system: its ports by name, `motor.torque` is "arm/motor.torque"."""

    def __init__(self, path: str, ports: Sequence[str]) -> None:
        self._path, self._ports = path, tuple(ports)

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)  # as copy and pickle expect
        if name.startswith("_") or name not in self._ports:
            raise WiringError(f"{self._path!r} has no port {name!r:.60}{near(name, self._ports, 'it has')}")
        return f"{self._path}.{name}"

    def __repr__(self) -> str:
        return f"<component {self._path!r}: {', '.join(self._ports)}>"


class System(Uncopied, Strict):
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
        self._alone = Exclusive(f"the system {name!r}", "by the function that makes it, or by sim.load_system")
        self._name, self._how = name, {"integrator": integrator, "rtol": rtol, "step": step, "max_step": max_step}
        self._start, self._seed = nanoseconds(t, "t"), whole_number(seed, "the seed of a system", 0)
        Propagator(Multibody(name), **self._how)  # type: ignore[arg-type]  # refuses a step or tolerance that is none
        self._parts: dict[str, Part] = {}
        self._plants: dict[str, Plant] = {}
        self._wires: list[Wire] = []
        self._exports: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._frames: dict[str, UserFrame] = {}
        self._holds: dict[str, Any] = {}
        self._sequences: dict[str, Phases] = {}
        self._changes: list[Change] = []
        self._tears: list[str] = []
        self._made: tuple[Wiring, Schedule, Flow] | None = None
        self._joined: Joined | None = None
        self._propagator: Propagator | None = None
        self._params, self._states = ParamsOf(self), StatesOf(self)
        self._starts: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}  # plain data of what drives the system, for checkpoints
        self._restored: LogPlace | None = None  # where the log was at the checkpoint it comes from
        self._desk: Desk | None = None
        self._built: dict[str, Built] = {}
        self._grown: list[tuple[Plant, Body]] = []  # bodies that assemblies have added
        self._begun: dict[str, tuple[Array, Array]] = {}
        """q and v of each plant, where the first run began."""
        self._going = False  # from one in the middle of a run
        self._recalled = False  # from a checkpoint, so that this is not known

    # -- building ----------------------------------------------------------------------------------------------

    def add(
        self,
        name: str,
        part: Any,
        at: Mount | Plant | None = None,
        every: Any = None,
        rate: Any = None,
        offset: float = 0.0,
        convert: bool = False,
    ) -> Any:
        """Add a component, a plant or an assembly under a name; names of parts of assemblies have slashes.

        `every` (seconds) or `rate` (Hz) make it sampled: evaluated at ticks, from t + `offset` on, and held between.
        `at` mounts it on a dof or a node of a plant (of a plant itself: on its inertial frame): inputs with of= are
        filled from there, outputs with to= push it. `convert` allows other scales of units there. A plant is given
        back; of a component a handle with its ports.
        """
        self._refuse_begun(f"{name!r} cannot be added")
        self._refuse_taken(name)
        at = at.node("inertial") if isinstance(at, Plant) else at
        if at is not None and not isinstance(at, Mount) and not isinstance(part, Assembly):
            raise WiringError(f"{name!r} is mounted at a dof or a node, as plant.dof('elbow'); got {at!r:.60}.")
        clock = read_clock(every, rate, offset, repr(name))
        if isinstance(part, Plant):
            if part._path:
                raise WiringError(f"the plant is in a system already, as {part.path!r}; make another.")
            part._path, part._owner = name, self
            self._plants[name], self._made = part, None
            return part
        if isinstance(part, Assembly):
            if clock is not None:
                raise WiringError(f"{name!r} is an assembly: give every= to the components in its build.")
            self._groups[name], self._built[name] = type(part).__name__, Built(part, at)
            try:
                part.built(self, name, at)
            except BaseException:
                del self._groups[name], self._built[name]
                raise
            return Handle(name, [x.rpartition(".")[2] for x in self._exports if x.startswith(f"{name}.")])
        if isinstance(part, Phases):
            self._sequences[name], self._made = part, None
            return part
        if not isinstance(part, Component):
            raise WiringError(f"a system takes components, plants, assemblies and sequences, got {part!r:.60}.")
        self._parts[name], self._made = Part(name, part, clock, at, bool(convert)), None
        return Handle(name, [*part.interface.inputs, *part.interface.outputs, *part.interface.bundles])

    def connect(self, source: str, target: str, convert: bool = False) -> None:
        """Let an output fill an input, or all that match a pattern: "*" is any text within a name, "**" any at all.

        A vector with a number for each dof gives each component that is mounted at a dof that of its own. Another scale
        of the same unit is refused unless `convert`. A plant's inputs add up. Bundles are joined field by field.
        """
        self._refuse_begun(f"{target!r} cannot be connected")
        self._wires.append(Wire(source, target, bool(convert)))
        self._made = None

    def add_frame(
        self, name: str, parent: str = "inertial", pose: Pose | str | Callable[[float], Any] = _AT_ORIGIN
    ) -> UserFrame:
        """Add a frame that you move: on a frame of a plant ("arm:hand"), on another such frame, or on the inertial one.

        `pose` is fixed; or a function of t that gives a `Pose`, (pose, velocity) or (pose, velocity, acceleration),
        relative to the parent in its axes; or a port that gives the pose [x, y, z, w, px, py, pz], and behind it the
        velocity (6) and the acceleration (6). "camera.position[arm:hand]" is then a signal: where the hand is, seen
        from the camera in its axes; likewise rotation, velocity, angular_velocity, linear_acceleration and
        angular_acceleration.

        >>> import soacraft as sc
        >>> s = sc.sim.System("swing")
        >>> _ = s.add("bob", sc.sim.Plant(sc.load("pendulum")))
        >>> belt = s.add_frame("belt", pose=lambda t: sc.Pose(translation=(1.0 + 0.2 * t, 0.0, 0.0)))
        >>> belt.position("bob:bob/tip"), s.velocity("bob:bob/tip", relative_to="belt").linear.round(9) + 0.0
        ('belt.position[bob:bob/tip]', array([-0.2,  0. ,  0. ]))
        """
        self._refuse_begun(f"the frame {name!r} cannot be added")
        self._refuse_taken(name)
        self._frames[name], self._made = read_frame(name, parent, pose), None
        return self._frames[name]

    def export(self, name: str, port: str) -> None:
        """Let "assembly.port" stand for ports of its parts; `Assembly.export` calls this."""
        if name in self._exports:
            raise WiringError(f"{name!r} is exported already, as {self._exports[name]!r}.")
        self._exports[name], self._made = port, None

    def under(self, prefix: str, text: str) -> str:
        """A port of a part under a prefix; ports of plants have no prefix."""
        path = str(text).partition(".")[0]
        return text if path in self._plants or path in self._frames else f"{prefix}/{text}"

    def replace(self, name: str, component: Component) -> None:
        """Put another component with the same ports in the place of one."""
        self._refuse_begun(f"{name!r} cannot be replaced")
        part = self._part(name)
        old, new = part.component.interface, component.interface
        missing = [x for x in [*old.inputs, *old.outputs] if x not in new.inputs and x not in new.outputs]
        if missing:
            raise WiringError(f"{component!r:.60} has no port {missing[0]!r}, which {name!r} has.")
        self._parts[name], self._made = part._replace(component=component), None

    def solve_loop(self, *outputs: str) -> None:
        """Let Newton's method solve the cycle that these outputs are in; it raises where that does not converge."""
        self._refuse_begun("a loop cannot be named")
        self._tears, self._made = sorted({*self._tears, *outputs}), None

    def _part(self, name: str) -> Part:
        if name not in self._parts:
            raise WiringError(f"there is no component {name!r:.60}{near(str(name), self._parts)}")
        return self._parts[name]

    def _refuse_taken(self, name: str) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise WiringError(f"a name is letters, digits, '_' and '-', with '/' between levels; got {name!r:.60}.")
        if any(name in known for known in (self._parts, self._plants, self._groups, self._frames, self._sequences)):
            raise WiringError(f"there is a component {name!r} already; give the new one another name.")

    def _refuse_begun(self, what: str) -> None:
        if self._propagator is not None:
            raise WiringError(f"{what}: the system {self._name!r} is at t = {self.t:.9g} s already. Make another one.")

    # -- checking ----------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise `WiringError` with every fault: inputs that nothing fills, units, shapes, frames, two writers, cycles,
        unknown names, patterns that match nothing, values of the wrong shape."""
        self._compiled()

    def _compiled(self) -> tuple[Wiring, Schedule, Flow]:
        joined = self._joined
        if self._made is not None and (
            self._propagator is not None or joined is None or not (joined.changed or joined.stale)
        ):
            return self._made
        try:
            self._joined = Joined(self._name, self._plants)
            joined_solver(self._plants)
        except WiringError as wrong:
            raise faults_error(self._name, [str(wrong)]) from wrong
        if self._sequences:
            driving.set_active(self)
        looked_for = driving.conditions(self)
        wiring = Wiring(self._parts, self._plants, self._wires, self._exports, self._frames, self._holds, looked_for)
        faults = [*wiring.faults, *driving.faults(self)]
        if not self._changes:
            faults += pull_faults(self._parts, self._plants)
        kind: type[WiringError] = WiringError
        cycle: tuple[str, ...] = ()
        try:
            flow = Flow(Schedule(self._parts, self._plants, wiring, self._tears, self._seed))
            if not faults:
                mb = self._joined.mb
                faults += flow.trial(np.array(mb.q), np.array(mb.v))
        except AlgebraicLoopError as wrong:
            kind, cycle = (AlgebraicLoopError if not faults else WiringError), wrong.cycle
            faults.append(str(wrong))
        except (SoacraftError, KeyError) as wrong:  # a KeyError follows from faults that are listed
            if not faults or isinstance(wrong, SoacraftError):
                faults.append(str(wrong))
        if faults:
            error = faults_error(self._name, faults, kind)
            if isinstance(error, AlgebraicLoopError):
                error.cycle = cycle
            raise error
        schedule = Schedule(self._parts, self._plants, wiring, self._tears, self._seed)  # as it is before any trial
        self._made = wiring, schedule, Flow(schedule)
        self._joined.varying = tuple(schedule.masses)
        for key, value in self._starts.items():
            self._made[2].set_state(key, value)
        return self._made

    # -- running -----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self._start / 1e9 if self._propagator is None else self._propagator.t

    @property
    def params(self) -> ParamsOf:
        """Parameters by name, read and set: `s.params["motor.R"] = 1.2`. They act from the next evaluation on."""
        return self._params

    @property
    def plants(self) -> Mapping[str, Plant]:
        """Plants by name. The state of a plant is that of its model, to be set between runs.

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
        """States of components by name, read and set: `s.states["motor.current"] = 0.1`."""
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
        with nullcontext() if self._desk is None else self._desk.running(), self._alone.held("run"):
            keeping = self._keeping(log, checkpoint, checkpoint_every)
            if self._sequences:
                return driving.advance(self, t, until, keeping, (signals, progress, pace, overrun))
            return self._advance(t, keeping, until, signals, progress, pace, overrun)

    def _advance(
        self,
        t: float,
        keeping: Keeping,
        until: str | Sequence[str] | None,
        signals: str | Sequence[str],
        progress: bool,
        pace: float | None,
        overrun: str,
    ) -> Run:
        _, schedule, flow = self._compiled()
        flow.record(describing.columns(self._parts, self._compiled()[0], schedule, signals, not self._changes))
        joined = self._joined
        assert joined is not None
        if joined.changed and self._propagator is not None:
            raise StaleError(
                f"the structure of {self._plants[joined.changed].mb.name!r} changed after the run began. Change that "
                f"of a plant that moves by {joined.changed}.detach, attach, capture or remove."
            )
        if joined.stale and self._propagator is not None:
            restart(self, flow)
            return self._advance(t, keeping, until, signals, progress, pace, overrun)
        joined.take()
        moved = self._moved()
        moved.look_in(self._desk)
        try:
            with running({path: x.component for path, x in self._parts.items()}):
                return moved.advance(t, keeping, progress, until, pace, overrun)
        finally:
            joined.give()

    def _moved(self) -> Propagator:
        """What carries the system along, made for the first run."""
        _, _, flow = self._compiled()
        joined = self._joined
        assert joined is not None
        if self._propagator is None:
            flow.ticks.origin = self._start
            self._propagator = self._propagating()
            self._begun = {path: (np.array(x.mb.q), np.array(x.mb.v)) for path, x in self._plants.items()}
        return self._propagator

    # -- checkpoints -------------------------------------------------------------------------------------------

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Write everything that tells how the system goes on into a file, whole or not at all; `sc.sim.restore` reads
        it. A multistep integrator begins anew here, too, so that both go on with the same bits."""
        from soacraft.sim.systems.checkpoint import writer

        with self._alone.held("checkpoint"):
            write = writer(self, path)
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
        from soacraft.sim.systems.checkpoint import require_kept

        with self._alone.held("state"):
            require_kept(self)
            self._refuse_phases()
            return self._present()

    def set_state(self, state: SimState) -> None:
        """Continue from a state that `s.state()` returned, of this system or of one with the same plants and
        components. One of another system is refused, and nothing changes."""
        from soacraft.sim.systems.checkpoint import require_kept

        if not isinstance(state, SimState):
            raise StateError(
                f"set_state takes what s.state() gave, got {state!r:.60}. Coordinates are set by "
                "s.plants[name].mb.set_state(q, v)."
            )
        with self._alone.held("set_state"):
            require_kept(self)
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
        _, _, flow = self._compiled()
        assert self._joined is not None
        if self._joined.stale and self._propagator is not None:
            restart(self, flow)
        self._joined.take()
        return self._moved().state()

    def _take(self, state: SimState, whose: str) -> None:
        """Move to a state, and so the models of the plants."""
        self._moved().set_state(state, whose)
        assert self._joined is not None
        self._joined.give()
        self._restored, self._going = None, False  # a log of before is not of this motion

    def _recall(self, state: SimState, file: str, log: LogPlace | None) -> None:
        """Continue from a checkpoint."""
        self._take(state, f"the checkpoint {file!r}")
        self._restored, self._recalled, self._going = log, True, state.within

    def _keeping(self, log: Any, checkpoint: Any, every: Any) -> Keeping:
        """What a run keeps on the disk."""
        from soacraft.sim.systems.checkpoint import writer
        from soacraft.sim.systems.description import documents

        write = None if checkpoint is None else writer(self, checkpoint)
        keeping = Keeping.of(log, checkpoint, every, self._restored, write, lambda: documents(self))
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
        from soacraft.sim.serving.lines import Lines

        return Lines(self, port, folder, limits)

    def desk(self) -> Desk:
        """Where requests of servers are done; one for a system."""
        self._desk = self._desk or Desk(self)
        return self._desk

    def _propagating(self, loads: bool = True) -> Propagator:
        """A propagator of what is compiled now."""
        _, _, flow = self._compiled()
        joined = self._joined
        assert joined is not None
        solver = joined_solver(self._plants)
        made = Propagator(joined.mb, solver, t=self._start / 1e9, **self._how)  # type: ignore[arg-type]
        if loads:
            made.add(*joined.loads)
        made.carry(flow)
        for dof, give in flow.motions().items():
            made.prescribe(dof, give)
        return made

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
            made, names, driven = self.driven(controls)
            return made.stepper(driven, states=states, threads=threads, period=period, labels=names)

    def driven(self, controls: Sequence[str] | None = None) -> stepping.Driven:
        """A propagator of its plant, with the inputs that nothing fills and the control that each of them is: what
        `stepper` steps. Refused with the reason where components act within runs alone."""
        others: dict[str, Mapping[str, Any]] = {
            "sequence": self._sequences,
            "frame": self._frames,
            "held input": self._holds,
        }
        contents = stepping.Contents(
            self._name, self._plants, self._parts, self._wires, self._exports, others, bool(self._changes), self.t,
            self._how,
        )  # fmt: skip
        return stepping.stepped(contents, controls)

    def phase(self, sequence: str) -> str:
        """The phase that a sequence is in."""
        return driving.phase(self, sequence)[0]

    @property
    def changes(self) -> tuple[Change, ...]:
        """What `detach`, `attach`, `capture` and `remove` of plants did so far."""
        return tuple(self._changes)

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
        from soacraft.sim.files.writing import save_system

        save_system(self, path, models)

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
        else is refused by name, with nothing changed. The state of a model in the file is that of the start.
        """
        from soacraft.sim.files.reloading import reload

        if self._desk is None:
            return reload(self, path, classes, forces, roots)
        done: Text = self._desk.ask(lambda: reload(self, path, classes, forces, roots), changes=True).result()
        return done

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
        from soacraft.sim.links.fmu_export import to_fmu

        return to_fmu(self, path, inputs, outputs, version)

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
        """The parts by name, level by level."""
        return describing.tree(self._parts, {**self._plants, **self._sequences}, self._groups, self._frames)

    def signals(self) -> Text:
        """Every input and output: unit, shape, and what fills it."""
        wiring, schedule, _ = self._compiled()
        return describing.signals(self._parts, wiring, schedule)

    def schedule(self) -> Text:
        """What is evaluated, in which order, and when."""
        _, schedule, _ = self._compiled()
        return describing.schedule_text(schedule)

    def to_mermaid(self) -> Text:
        """The diagram in the language of Mermaid."""
        wiring, _, _ = self._compiled()
        return describing.mermaid(self._parts, self._plants, wiring)

    def explain(self, port: str) -> Text:
        """What a port is: its equation, what it depends on at once, what fills it and what it fills."""
        wiring, schedule, _ = self._compiled()
        return describing.explain(port, self._parts, wiring, schedule)

    def __repr__(self) -> str:
        plants = f", {len(self._plants)} plant{'s' if len(self._plants) > 1 else ''}" if self._plants else ""
        joined = f"{len(self._parts)} components{plants}, {len(self._wires)} connections"
        return f"System {self._name!r} at t = {self.t:.9g} s: {joined}"
