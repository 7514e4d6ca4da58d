"""`Assembly`: parts that belong together, built many times under different names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from soacraft.errors import WiringError
from soacraft.sim.components.component import check_params, read_params
from soacraft.sim.components.declarations import Params
from soacraft.sim.systems.plants.plant import Mount, Plant

if TYPE_CHECKING:
    from soacraft.model.hinges.base import Hinge
    from soacraft.model.tree.frames.frame import Body
    from soacraft.model.tree.multibody import Multibody
    from soacraft.sim.systems.builder import Builder


class Assembly:
    """Components, inner connections and exported ports under one name. Derive from it and write `build(self, p, at)`,
    which calls `self.add`, `self.connect` and `self.export`; assemblies may hold assemblies. `self.add_body` hangs
    bodies on the plant that it is mounted at.

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
        """As `System.add`, under the name of the assembly."""
        system, prefix = self._building
        return system.add(f"{prefix}/{name}", part, **how)

    def add_body(self, name: str, parent: Any = None, hinge: Hinge | None = None, **more: Any) -> Body:
        """Add a body to the plant that the assembly is mounted at, as `Multibody.add_body`, under the name of the
        assembly: "rover/left/wheel". It hangs on what the assembly is mounted at (a node or a body), on a body of the
        assembly by its own name, or on one of the plant."""
        system, prefix = self._building
        plant, mb = self._plant(), self._plant().mb
        if parent is None:
            parent = self._on(mb)
        elif isinstance(parent, str) and f"{prefix}/{parent}" in mb:
            parent = f"{prefix}/{parent}"
        return system.board.grow(plant, f"{prefix}/{name}", parent, hinge, **more)

    def dof(self, name: str) -> Mount:
        """A dof of a body of the assembly, to mount a part at."""
        return self._plant().dof(self._own(name))

    def node(self, name: str) -> Mount:
        """A body of the assembly or a node on one, to mount a part at."""
        return self._plant().node(self._own(name))

    def port(self, text: str) -> str:
        """A port of the plant, with what is in brackets of a body of the assembly: "velocity[wheel]"."""
        port, _, rest = text.partition("[")
        return f"{self._plant().path}.{port}[{self._own(rest.removesuffix(']'))}]"

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
            raise WiringError(f"{self._building[1]!r} hangs a body on {self._at}: mount it at a node or a body.")
        return mb.frame(self._at.name)

    def connect(self, source: str, target: str, convert: bool = False) -> None:
        """As `System.connect`, with names of parts of the assembly; a port of a plant goes by its own name."""
        system, prefix = self._building
        system.connect(system.under(prefix, source), system.under(prefix, target), convert)

    def export(self, name: str, port: str) -> None:
        """Let a port of a part, or all that match a pattern, be a port of the assembly."""
        system, prefix = self._building
        system.export(f"{prefix}.{name}", system.under(prefix, port))

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


class Built(NamedTuple):
    """An assembly in a system, and what it is mounted at, from which it was built."""

    assembly: Assembly
    at: Any
