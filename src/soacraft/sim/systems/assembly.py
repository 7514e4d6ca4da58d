"""`Assembly`: parts that belong together, built many times under different names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from soacraft.errors import WiringError
from soacraft.sim.components.component import check_params, read_params
from soacraft.sim.components.declarations import Params

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System


class Assembly:
    """Components, inner connections and exported ports under one name. Derive from it and write `build(self, p, at)`,
    which calls `self.add`, `self.connect` and `self.export`; assemblies may hold assemblies.

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
        self._scope: tuple[System, str] | None = None

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

    def connect(self, source: str, target: str, convert: bool = False) -> None:
        """As `System.connect`, with names of parts of the assembly; a port of a plant goes by its own name."""
        system, prefix = self._building
        system.connect(system.under(prefix, source), system.under(prefix, target), convert)

    def export(self, name: str, port: str) -> None:
        """Let a port of a part, or all that match a pattern, be a port of the assembly."""
        system, prefix = self._building
        system.export(f"{prefix}.{name}", system.under(prefix, port))

    @property
    def _building(self) -> tuple[System, str]:
        if self._scope is None:
            raise WiringError(f"{type(self).__name__} adds and connects in its build(self, p, at) alone.")
        return self._scope

    def built(self, system: System, path: str, at: Any) -> None:
        """Build it into a system."""
        before, self._scope = self._scope, (system, path)
        try:
            self.build(self.p, at)
        finally:
            self._scope = before


class Built(NamedTuple):
    """An assembly in a system, and what it is mounted at, from which it was built."""

    assembly: Assembly
    at: Any
