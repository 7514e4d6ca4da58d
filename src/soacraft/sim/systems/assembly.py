"""`Assembly`: parts that belong together, built many times under different names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from soacraft.errors import WiringError
from soacraft.model.tree.frames.frame import Carrier
from soacraft.sim.components.component import check_params, read_params
from soacraft.sim.components.declarations import Params
from soacraft.sim.patterns import pattern
from soacraft.sim.systems.plants.plant import Mount, Plant

T = TypeVar("T")

if TYPE_CHECKING:
    from soacraft.model.hinges.base import Hinge
    from soacraft.model.tree.frames.frame import Body, Node
    from soacraft.model.tree.multibody import Multibody
    from soacraft.model.tree.parts.closures import Closure, Coupling
    from soacraft.model.tree.parts.records import Geometry
    from soacraft.sim.systems.builder import Builder
    from soacraft.spatial.pose import Pose


class Assembly:
    """Components, inner connections and exported ports under one name. Derive from it and write `build(self, p, at)`,
    which calls `self.add`, `self.connect` and `self.export`; assemblies may hold assemblies. `self.add_body`,
    `add_node`, `add_geometry`, `couple` and `close_loop` add to the model of the plant that it is mounted at.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> class Servo(sim.Assembly):
    ...     class Params(sim.Params):
    ...         kp: float
    ...     def build(self, p, at):
    ...         self.add("control", sim.PD(kp=p.kp, kd=0.1 * p.kp))
    ...         self.add("motor", sim.Force(), at=at)
    ...         self.connect("control.command", "motor.command")
    ...         self.export("target", "control.target")
    ...         self.export("measured", "control.measured")
    ...         self.export("speed", "control.rate")
    >>> s = sim.System("arm", integrator="rk4", step=1e-3)
    >>> arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    >>> _ = s.add("servo", Servo(kp=50.0), at=arm.dof("bob"))
    >>> print(s.tree())
    arm: Plant('pendulum')
    servo
      control: PD(kp=50.0, kd=5.0, size=None)
      motor: Force() at dof 'bob' of 'arm'
    """

    Params: ClassVar[type[Params]] = Params

    def __init__(self, **params: Any) -> None:
        self.p = read_params(type(self), params)
        self._scope: tuple[Builder, str] | None = None
        self._at: Any = None

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "Params" in cls.__dict__:
            check_params(cls)

    def build(self, p: Any, at: Any) -> None:
        """Add what it consists of; `at` is what it is mounted at."""
        raise WiringError(f"{type(self).__name__} has no build(self, p, at), which adds what it consists of.")

    def add(self, name: str, part: Any, **how: Any) -> Any:
        """Add a part as `System.add` does, below the name of the assembly."""
        system, prefix = self._building
        return system.add(f"{prefix}/{name}", part, **how)

    def add_body(self, name: str, parent: Any = None, hinge: Hinge | None = None, *rest: Any, **more: Any) -> Body:
        """Add a body to the plant that the assembly is mounted at, as `Multibody.add_body`, under the name of the
        assembly: "rover/left/wheel". Its parent is what the assembly is mounted at (a node or a body), a body of the
        assembly by its name there, or one of the plant."""
        mb, full, on = self._plant().mb, self._own(name), self._frame(parent)
        return self._grow(f"the body {full!r}", lambda: mb.add_body(full, on, hinge, *rest, **more), mb.remove)

    def add_node(self, name: str, on: str | None = None, pose: Pose | None = None, role: str = "") -> Node:
        """Add a node to a body of the assembly, or to what it is mounted at, as `Body.add_node`: for a sensor, say.
        There its name has that of the assembly, "hull/rover_imu", and the assembly knows it as "imu"."""
        frame = self._carrier(on)
        full = name if on is not None else self._joined_name(name)
        return self._grow(f"the node {full!r}", lambda: frame.add_node(full, pose, role=role), frame.remove_node)

    def add_geometry(self, geometry: Geometry, on: str | None = None) -> Geometry:
        """Add a shape to a body of the assembly, or to what it is mounted at, as `Body.add_geometry`."""
        frame = self._carrier(on)
        return self._grow(f"the shape {geometry!r:.60}", lambda: frame.add_geometry(geometry), frame.remove_geometry)

    def couple(self, name: str, terms: Mapping[str, Any], offset: float = 0.0, **more: Any) -> Coupling:
        """Tie dofs of the assembly by their own names, or others of the plant, as `Multibody.couple`: a gear, a
        differential."""
        mb, full = self._plant().mb, self._own(name)
        coefficients = {
            self._own(x) if self._own(x) in mb or self._own(x) in mb.dof_names else x: y for x, y in terms.items()
        }
        return self._grow(
            f"the coupling {full!r}", lambda: mb.couple(full, coefficients, offset, **more), mb.remove_coupling
        )

    def close_loop(self, name: str, a: str, b: str, hinge: Hinge, **more: Any) -> Closure:
        """Close a loop between frames of the assembly by their own names, or others of the plant, as
        `Multibody.close_loop`."""
        mb, full, ends = self._plant().mb, self._own(name), (self._frame(a), self._frame(b))
        return self._grow(f"the loop {full!r}", lambda: mb.close_loop(full, *ends, hinge, **more), mb.remove_loop)

    def dof(self, name: str) -> Mount:
        """A dof of a body of the assembly, to mount a part at."""
        return self._plant().dof(self._own(name))

    def node(self, name: str) -> Mount:
        """A body of the assembly, or a node that it has, to mount a part at."""
        return self._plant().node(self._located(name))

    def port(self, text: str) -> str:
        """A port of the plant, with a body of the assembly, or a node that it has, in brackets: "velocity[wheel]"."""
        port, _, rest = text.partition("[")
        return f"{self._plant().path}.{port}[{self._located(rest.removesuffix(']'))}]"

    def _grow(self, what: str, add: Callable[[], T], remove: Callable[[T], None]) -> T:
        return self._building[0].board.grow(what, add, remove)

    def _carrier(self, name: str | None) -> Carrier:
        frame = self._frame(name)
        if not isinstance(frame, Carrier):
            raise WiringError(
                f"{self._building[1]!r} adds a node or a shape to {frame.full_name!r}, which is no body: mount the "
                "assembly at a body, or name one with on=."
            )
        return frame

    def _frame(self, name: Any) -> Any:
        """Frame that the assembly is mounted at, one of the assembly by its name in it, or one of the plant."""
        mb = self._plant().mb
        if name is None:
            return self._on(mb)
        is_inside = isinstance(name, str) and self._own(name) in mb
        return mb.frame(self._own(name) if is_inside else name)

    def _joined_name(self, name: str) -> str:
        return f"{self._building[1].replace('/', '_')}_{name}"

    def _located(self, name: str) -> str:
        """A frame of the assembly, or a node that it has on what it is mounted at."""
        mb, full = self._plant().mb, self._own(name)
        node = f"{self._at.name}/{self._joined_name(name)}" if self._at.kind == "node" else ""
        return node if full not in mb and node in mb else full

    def _own(self, name: str) -> str:
        return f"{self._building[1]}/{name}"

    def _plant(self) -> Plant:
        assert self._scope is not None
        at = self._at
        if not isinstance(at, Mount):
            raise WiringError(
                f"{self._scope[1]!r} has bodies, so it is mounted at a plant, or a body or node of one: "
                f"at=plant.node('hull'); got {at!r:.60}."
            )
        return at.plant

    def _on(self, mb: Multibody) -> Any:
        if self._at.kind != "node":
            raise WiringError(f"{self._building[1]!r} adds a body to {self._at}: mount it at a node or a body.")
        return mb.frame(self._at.name)

    def connect(self, source: str, target: str, convert: bool = False) -> None:
        """Connect ports as `System.connect` does, with names of parts of the assembly; a port of a plant has its own
        name."""
        system, prefix = self._building
        system.connect(system.under(prefix, source), system.under(prefix, target), convert)

    def export(self, name: str, port: str) -> None:
        """Let a port of a part, or all that match a pattern, be a port of the assembly.

        With "*" in the name there is a port for each that matches the pattern so far, named by what its "*" is:
        `export("*_voltage", "*/motor.voltage")` gives "front_voltage" and "rear_voltage".
        """
        system, prefix = self._building
        for port_name, each in matched(system, prefix, name, port):
            system.export(f"{prefix}.{port_name}", system.under(prefix, each))

    @property
    def _building(self) -> tuple[Builder, str]:
        if self._scope is None:
            raise WiringError(f"{type(self).__name__} adds and connects in its build(self, p, at) alone.")
        return self._scope

    def built(self, system: Builder, path: str, at: Any) -> None:
        """Build it into a system."""
        before = self._scope, self._at
        self._scope, self._at = (system, path), at
        try:
            with system.edit(), system.board.growing():
                self.build(self.p, at)
        finally:
            self._scope, self._at = before


def matched(system: Builder, prefix: str, name: str, port: str) -> list[tuple[str, str]]:
    """Names and ports of an export: itself, or one for each port that matches its pattern."""
    if "*" not in name:
        return [(name, port)]
    if name.count("*") != 1 or port.count("*") != 1:
        raise WiringError(
            f"{prefix!r} exports {name!r:.60} as {port!r:.60}: a name with '*' has one, and so has its pattern."
        )
    (first, last), (before, behind) = port.split("*"), name.split("*")
    ports = [x.removeprefix(f"{prefix}/") for x in _ports(system) if x.startswith(f"{prefix}/")]
    stars = {x[len(first) : len(x) - len(last)]: x for x in ports
             if pattern(port).matches(x) and x.startswith(first) and x.endswith(last)}  # fmt: skip
    if not stars:
        raise WiringError(f"{prefix!r} exports {name!r:.60}, and {port!r:.60} matches no port of its parts.")
    return [(f"{before}{star}{behind}", x) for star, x in stars.items()]


def _ports(system: Builder) -> list[str]:
    """Ports of all parts, and those that are exported."""
    faces = [(path, x.component.interface) for path, x in system.diagram.parts.items()]
    ports = [f"{path}.{name}" for path, face in faces for name in (*face.inputs, *face.outputs, *face.bundles)]
    return [*ports, *system.diagram.exports]


class Built(NamedTuple):
    """An assembly in a system, and what it is mounted at, from which it was built."""

    assembly: Assembly
    at: Any
