"""`Builder`: the parts of a system and their connections, put together before a run and changed at any pause."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from soacraft.attributes import Strict
from soacraft.errors import WiringError, near
from soacraft.sim.components.component import Component
from soacraft.sim.propagator import Propagator
from soacraft.sim.systems.assembly import Assembly, Built
from soacraft.sim.systems.changes.change import Change
from soacraft.sim.systems.changes.sequence import Sequence as Phases
from soacraft.sim.systems.compilation import Compilation
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.frames import UserFrame, read_frame
from soacraft.sim.systems.plants.plant import Mount, Plant
from soacraft.sim.systems.running.clocks import read_clock
from soacraft.sim.systems.switchboard import Switchboard
from soacraft.sim.systems.wiring import Part, Wire, Wiring, split
from soacraft.spatial.pose import Pose

_NAME = re.compile(r"[A-Za-z_][\w-]*(?:/[A-Za-z_][\w-]*)*")
_AT_ORIGIN = Pose()


def _is_of(key: str, path: str) -> bool:
    return key.rpartition(".")[0] == path


class Handle(Strict):
    """A component in a system, with its ports as attributes: `motor.torque` is "arm/motor.torque"."""

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


class Builder(Strict):
    """The building of a system. What it consists of is one frozen `diagram`; each call makes another one.

    Before the first run a diagram is checked where it is needed, by `check` or `run`. Once the system has begun, at a
    pause, every call is checked at once, with all faults that a new system would have, and nothing changes where it is
    refused. A component that was added and whose inputs are not connected yet waits for them until the next run;
    `edit` makes several calls one change.
    """

    def __init__(self, board: Switchboard) -> None:
        self.board = board

    _set_once = frozenset({"board"})

    @property
    def diagram(self) -> Diagram:
        """Components, plants and connections, as one frozen value."""
        return self.board.diagram

    @contextmanager
    def edit(self) -> Iterator[None]:
        """Calls that are one change: checked at the end, all of them or none.

        >>> from soacraft import sim
        >>> s = sim.System("one", integrator="rk4", step=0.1)
        >>> for name, value in (("low", 1.0), ("high", 5.0)):
        ...     _ = s.add(name, sim.Constant(value=value))
        >>> _ = s.add("level", sim.Integrator())
        >>> s.connect("low.y", "level.u")
        >>> run = s.run(1.0)
        >>> with s.edit():
        ...     s.disconnect("low.y", "level.u")
        ...     s.connect("high.y", "level.u")
        >>> run = s.run(2.0)
        >>> round(s.states["level.x"], 9), [x.kind for x in s.changes]
        (6.0, ['connect', 'disconnect'])
        """
        with self.board.edit():
            yield

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

        At a pause of a running system a component begins with its initial states at the present time, a plant with the
        state of its model; ticks are counted from the start of the system, as those of all others.
        """
        what = f"{name!r} cannot be added"
        self._refuse_taken(name)
        at = at.node("inertial") if isinstance(at, Plant) else at
        if at is not None and not isinstance(at, Mount) and not isinstance(part, Assembly):
            raise WiringError(f"{name!r} is mounted at a dof or a node, as plant.dof('elbow'); got {at!r:.60}.")
        clock, diagram = read_clock(every, rate, offset, repr(name)), self.diagram
        if isinstance(part, Plant):
            if part.is_joined:
                raise WiringError(f"the plant is in a system already, as {part.path!r}; make another.")
            part.join(self, name)
            try:
                self.board.set_diagram(diagram.changed(plants={**diagram.plants, name: part}), what)
            except BaseException:
                part.leave()
                raise
            return part
        if isinstance(part, Assembly):
            if clock is not None:
                raise WiringError(f"{name!r} is an assembly: give every= to the components in its build.")
            with self.edit():
                groups, built = {**diagram.groups, name: type(part).__name__}, {**diagram.built, name: Built(part, at)}
                self.board.set_diagram(diagram.changed(groups=groups, built=built), what)
                part.built(self, name, at)
            return Handle(name, [x.rpartition(".")[2] for x in self.diagram.exports if x.startswith(f"{name}.")])
        if isinstance(part, Phases):
            now = {name: (part.first, self.board.ns)} if self.board.is_begun else {}
            sequences = {**diagram.sequences, name: part}
            self.board.set_diagram(diagram.changed(sequences=sequences, phases={**diagram.phases, **now}), what)
            return part
        if not isinstance(part, Component):
            raise WiringError(f"a system takes components, plants, assemblies and sequences, got {part!r:.60}.")
        self.board.set_diagram(diagram.with_part(Part(name, part, clock, at, bool(convert))), what)
        return Handle(name, [*part.interface.inputs, *part.interface.outputs, *part.interface.bundles])

    def remove(self, name: str) -> None:
        """Take out a component, a sequence, a frame or an assembly with all its parts, and all connections of it.

        A component that another one needs cannot be removed, and the error names both: connect that otherwise in the
        same `edit`. Bodies of an assembly stay; `Plant.remove` takes bodies out.

        >>> from soacraft import sim
        >>> s = sim.System("one", integrator="rk4", step=0.1)
        >>> _ = s.add("wave", sim.Sine(frequency=1.0))
        >>> run = s.run(1.0)
        >>> s.remove("wave")
        >>> len(s.run(1.5).signals)
        0
        """
        diagram = self.diagram
        if name in diagram.plants:
            raise WiringError(
                f"{name!r} is a plant, which stays in its system: {name}.remove(body) takes a body out of it."
            )
        tables = (diagram.parts, diagram.groups, diagram.frames, diagram.sequences)
        inside = {path for table in tables for path in table if path == name or path.startswith(f"{name}/")}
        if not any(name in table for table in tables):
            raise WiringError(f"there is no component {name!r:.60}{near(str(name), [x for y in tables for x in y])}")
        self.board.set_diagram(self._unwired(diagram, inside).without(inside), f"{name!r} cannot be removed")

    def _unwired(self, diagram: Diagram, paths: set[str]) -> Diagram:
        """The diagram without the connections from or to paths; patterns stay that name others too."""
        wiring = Wiring(diagram.parts, diagram.plants, (), diagram.exports, diagram.frames, diagram.holds)

        def is_gone(text: str, outputs: bool) -> bool:
            path = split(text)[0]
            if "*" not in text:
                return path in paths or (text in diagram.exports and is_gone(diagram.exports[text], outputs))
            return all(split(x)[0] in paths for x in wiring.expand(text, outputs))

        wires = tuple(x for x in diagram.wires if not is_gone(x.source, True) and not is_gone(x.target, False))
        return diagram.changed(wires=wires)

    def connect(self, source: str, target: str, convert: bool = False) -> None:
        """Let an output fill an input, or all that match a pattern: "*" is any text within a name, "**" any at all.

        A vector with a number for each dof gives each component that is mounted at a dof its number. Another scale
        of the same unit is refused unless `convert`. A plant's inputs add up. Bundles are joined field by field.
        """
        diagram = self.diagram
        wires = (*diagram.wires, Wire(source, target, bool(convert)))
        self.board.set_diagram(diagram.changed(wires=wires), f"{target!r} cannot be connected")

    def disconnect(self, source: str, target: str) -> None:
        """Take a connection away, named as it was made. Inputs go back to their defaults; an input without one is an
        error that names it: connect it otherwise in the same `edit`.

        >>> from soacraft import sim
        >>> s = sim.System("one", integrator="rk4", step=0.1)
        >>> _ = s.add("wave", sim.Sine(frequency=1.0))
        >>> _ = s.add("twice", sim.Gain(gain=2.0))
        >>> s.connect("wave.y", "twice.u")
        >>> s.disconnect("wave.y", "twice.u")
        >>> s.diagram.wires
        ()
        """
        diagram = self.diagram
        wires = tuple(x for x in diagram.wires if (x.source, x.target) != (source, target))
        if wires == diagram.wires:
            listed = [f"{x.source} -> {x.target}" for x in diagram.wires]
            raise WiringError(
                f"there is no connection {f'{source} -> {target}'!r:.160}{near(f'{source} -> {target}', listed)} One "
                "is disconnected by the texts that it was made with."
            )
        self.board.set_diagram(diagram.changed(wires=wires), f"{target!r} cannot be disconnected")

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
        self._refuse_taken(name)
        frame, diagram = read_frame(name, parent, pose), self.diagram
        frames = {**diagram.frames, name: frame}
        self.board.set_diagram(diagram.changed(frames=frames), f"the frame {name!r} cannot be added")
        return frame

    def export(self, name: str, port: str) -> None:
        """Let "assembly.port" stand for ports of its parts; `Assembly.export` calls this."""
        diagram = self.diagram
        if name in diagram.exports:
            raise WiringError(f"{name!r} is exported already, as {diagram.exports[name]!r}.")
        self.board.set_diagram(diagram.changed(exports={**diagram.exports, name: port}), f"{name!r} cannot be exported")

    def under(self, prefix: str, text: str) -> str:
        """A port of a part under a prefix; ports of plants have no prefix."""
        path = str(text).partition(".")[0]
        return text if path in self.diagram.plants or path in self.diagram.frames else f"{prefix}/{text}"

    def replace(self, name: str, component: Component) -> None:
        """Put another component with the same ports in the place of one. It begins with its own initial states."""
        part = self.diagram.require_part(name)
        old, new = part.component.interface, component.interface
        missing = [x for x in [*old.inputs, *old.outputs] if x not in new.inputs and x not in new.outputs]
        if missing:
            raise WiringError(f"{component!r:.60} has no port {missing[0]!r}, which {name!r} has.")
        part = Part(part.path, component, part.clock, part.mount, part.convert, part.active)
        diagram = self.diagram.with_part(part)
        if self.board.is_begun:
            diagram = diagram.changed(starts={key: x for key, x in diagram.starts.items() if not _is_of(key, name)})
        self.board.set_diagram(diagram, f"{name!r} cannot be replaced")

    def solve_loop(self, *outputs: str) -> None:
        """Let Newton's method solve the cycle that these outputs are in; it raises where that does not converge."""
        tears = tuple(sorted({*self.diagram.tears, *outputs}))
        self.board.set_diagram(self.diagram.changed(tears=tears), "a loop cannot be named")

    def _refuse_taken(self, name: str) -> None:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise WiringError(f"a name is letters, digits, '_' and '-', with '/' between levels; got {name!r:.60}.")
        x = self.diagram
        if any(name in table for table in (x.parts, x.plants, x.groups, x.frames, x.sequences)):
            raise WiringError(f"there is a component {name!r} already; give the new one another name.")

    # -- the parts of the present value by their names, for the other modules of systems -----------------------

    @property
    def _name(self) -> str:
        return self.board.name

    @property
    def _how(self) -> Mapping[str, Any]:
        return self.board.how

    @property
    def _start(self) -> int:
        return self.board.start

    @property
    def _seed(self) -> int:
        return self.board.seed

    @property
    def _parts(self) -> Mapping[str, Part]:
        return self.diagram.parts

    @property
    def _plants(self) -> Mapping[str, Plant]:
        return self.diagram.plants

    @property
    def _wires(self) -> tuple[Wire, ...]:
        return self.diagram.wires

    @property
    def _exports(self) -> Mapping[str, str]:
        return self.diagram.exports

    @property
    def _groups(self) -> Mapping[str, str]:
        return self.diagram.groups

    @property
    def _built(self) -> Mapping[str, Built]:
        return self.diagram.built

    @property
    def _frames(self) -> Mapping[str, UserFrame]:
        return self.diagram.frames

    @property
    def _sequences(self) -> Mapping[str, Phases]:
        return self.diagram.sequences

    @property
    def _changes(self) -> tuple[Change, ...]:
        return self.board.build.changes

    @property
    def _propagator(self) -> Propagator | None:
        return self.board.build.propagator

    @property
    def _compilation(self) -> Compilation | None:
        return self.board.build.compilation
