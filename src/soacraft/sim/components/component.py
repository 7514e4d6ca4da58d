"""`Component`: the base of what a system is made of. Its class is read once, when it is defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, get_args, get_type_hints

import msgspec
import numpy as np

from soacraft.errors import WiringError, near
from soacraft.sim.components.bundles import spread
from soacraft.sim.components.declarations import (
    RESERVED,
    Continuous,
    Crossing,
    Discrete,
    Equation,
    In,
    OfState,
    Output,
    Params,
    Quantity,
    Unit,
)
from soacraft.sim.components.units import read_unit


class Interface(NamedTuple):
    """Declarations of a component; dictionaries from name to declaration."""

    inputs: dict[str, In]
    continuous: dict[str, Continuous]
    discrete: dict[str, Discrete]
    outputs: dict[str, Output]
    rates: dict[str, OfState]
    """Equations of rates, keyed by the name of the state."""
    updates: dict[str, OfState]
    crossings: dict[str, Crossing]
    jumps: list[OfState]
    bundles: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """The fields of each; the port of one is named `bundle_field`."""

    @property
    def quantities(self) -> dict[str, Quantity]:
        """All that an equation may name."""
        return {**self.inputs, **self.continuous, **self.discrete, **self.outputs}

    @property
    def equations(self) -> list[Equation]:
        """All of them."""
        kinds = [self.outputs, self.rates, self.updates, self.crossings]
        return [x for kind in kinds for x in kind.values()] + [*self.jumps]  # type: ignore[attr-defined]


class Component:
    """A model of a part: quantities are declared, equations are functions whose arguments are what they depend on.

    An equation can read nothing that it does not name, so that it is known for each output which inputs act on it at
    once. `p` are the parameters, `t` the time in seconds, `dt` the period of a sampled component, `noise` standard
    normal numbers of the shape of what the equation gives, new at each of its ticks.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> class Motor(sim.Component):
    ...     '''DC motor with gear:  L di/dt = V - R i - k n w,   T = n k i.'''
    ...     class Params(sim.Params):
    ...         R: float
    ...         L: float
    ...         k: float
    ...         n: float = 1.0
    ...     voltage = sim.In("V")
    ...     speed = sim.In("rad/s", of="velocity")
    ...     current = sim.Continuous("A")
    ...     @sim.output("N m", to="force")
    ...     def torque(p, current): return p.n * p.k * current
    ...     @sim.rate(current)
    ...     def current_rate(p, voltage, speed, current):
    ...         return (voltage - p.R * current - p.k * p.n * speed) / p.L
    >>> motor = Motor(R=1.0, L=5e-4, k=0.05, n=100)
    >>> motor, Motor.torque(motor.p, 2.0)
    (Motor(R=1.0, L=0.0005, k=0.05, n=100.0), 10.0)
    """

    Params: ClassVar[type[Params]] = Params
    interface: ClassVar[Interface] = Interface({}, {}, {}, {}, {}, {}, {}, [])

    def __init__(self, **params: Any) -> None:
        self.p = read_params(type(self), params)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.interface = read_class(cls)
        if "Params" in cls.__dict__:
            check_params(cls)

    @staticmethod
    def draw(p: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Random values {name: value} of quantities that are restricted within their shape, for `check_component`:
        unit quaternions, a state and its velocities on closures. None unless a class defines them.

        >>> import numpy as np
        >>> from soacraft import sim
        >>> class Turned(sim.Component):
        ...     q = sim.In(shape=4)                                    # a unit quaternion
        ...     @sim.output()
        ...     def half(p, q): return np.arccos(q[..., 3])
        ...     @staticmethod
        ...     def draw(p, rng):
        ...         q = rng.standard_normal(4)
        ...         return {"q": q / np.linalg.norm(q)}
        >>> print(sim.check_component(Turned()))
        Turned: 1 equations are pure, of their shapes, and take a batch
        """
        return {}

    @staticmethod
    def breaks(p: Any) -> Sequence[float]:
        """Times in seconds at which outputs or rates jump, or bend, by themselves: steps end there, so that no pulse is
        missed between two of them. None unless a class says so. A sampled component is asked at its ticks alone.

        >>> from soacraft import sim
        >>> class Pulse(sim.Component):
        ...     class Params(sim.Params):
        ...         start: float
        ...         width: float
        ...     @sim.output()
        ...     def y(p, t): return np.where((t >= p.start) & (t < p.start + p.width), 1.0, 0.0)
        ...     @staticmethod
        ...     def breaks(p): return p.start, p.start + p.width
        >>> s = sim.System("push", rtol=1e-3)
        >>> _ = s.add("pulse", Pulse(start=50.0, width=1e-3)), s.add("sum", sim.Integrator())
        >>> s.connect("pulse.y", "sum.u")
        >>> _ = s.run(100.0)
        >>> round(s.states["sum.x"], 12)
        0.001
        """
        return ()

    def __repr__(self) -> str:
        fields = ", ".join(f"{x}={getattr(self.p, x)!r}" for x in type(self.p).__struct_fields__)
        return f"{type(self).__name__}({fields})"


def check_params(cls: type) -> None:
    """Refuse a Params that is none; name it after the component; read the units of its fields."""
    kind: Any = cls.__dict__["Params"]
    if not (isinstance(kind, type) and issubclass(kind, Params)):
        raise WiringError(f"{cls.__name__}.Params must derive from sim.Params, got {kind!r:.60}.")
    kind.__name__, kind.__qualname__ = f"{cls.__name__}Params", f"{cls.__qualname__}.Params"  # where pickle finds it
    for field, hint in _hints(kind).items():
        for mark in get_args(hint)[1:]:
            if isinstance(mark, Unit):
                try:
                    read_unit(mark.text)
                except WiringError as wrong:
                    raise WiringError(f"the parameter {field!r} of {cls.__name__}: {wrong}") from None


def _hints(kind: type) -> dict[str, Any]:
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:  # names of a function's own scope: msgspec says so when the first one is made
        return {}


def read_params(cls: Any, given: dict[str, Any]) -> Params:
    """The parameters, checked: unknown and missing fields, types and bounds."""
    kind: type[Params] = cls.Params
    fields = kind.__struct_fields__
    for name in given:
        if name not in fields:
            raise WiringError(f"{cls.__name__} has no parameter {name!r:.60}{near(name, fields, 'it has')}")
    plain = {name: x.tolist() if isinstance(x, np.ndarray | np.generic) else x for name, x in given.items()}
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as wrong:
        raise WiringError(f"parameters of {cls.__name__}: {wrong}.") from None


def read_class(cls: type) -> Interface:
    """The declarations of a class and of those it derives from, checked."""
    members: dict[str, Any] = {}
    for each in reversed(cls.__mro__):
        members.update(each.__dict__)
    members, bundles = spread(cls.__name__, members)

    def of(kind: type) -> dict[str, Any]:
        return {name: x for name, x in members.items() if type(x) is kind}

    states = [x for x in members.values() if isinstance(x, OfState)]
    rates = _by_state(cls, [x for x in states if x.kind == "rate"])
    updates = _by_state(cls, [x for x in states if x.kind == "update"])
    jumps = [x for x in states if x.kind == "jump"]
    interface = Interface(
        of(In),
        of(Continuous),
        of(Discrete),
        of(Output),
        rates,
        updates,
        of(Crossing),
        sorted(jumps, key=lambda x: x.name),
        bundles,
    )
    names = interface.quantities
    for name in [*names, *bundles]:
        if name in (*RESERVED, "interface", "Params", "draw", "breaks"):
            raise WiringError(f"{name!r} of {cls.__name__} is a reserved name; give the quantity another one.")
    for x in interface.equations:
        declared = [y for y in names if y not in interface.outputs or not isinstance(x, Output)]
        for argument in x.arguments:
            if argument in interface.outputs and isinstance(x, Output):
                raise WiringError(
                    f"the output {x.name!r} of {cls.__name__} takes the output {argument!r}: let both take what that "
                    "is made of."
                )
            if argument in bundles:
                fields = ", ".join(f"{argument}_{field}" for field in bundles[argument])
                raise WiringError(
                    f"the {x.kind} {x.name!r} of {cls.__name__} takes the bundle {argument!r}: let it take what it "
                    f"needs of {fields}."
                )
            if argument not in (*names, *RESERVED):
                raise WiringError(
                    f"the {x.kind} {x.name!r} of {cls.__name__} takes {argument!r}, which it does not declare"
                    f"{near(argument, [*declared, *RESERVED])}"
                )
        if "noise" in x.arguments and not (isinstance(x, Output) or x.kind == "update"):
            raise WiringError(f"the {x.kind} {x.name!r} of {cls.__name__} takes noise, which outputs and updates have.")
    for name in interface.continuous:
        if name not in rates:
            raise WiringError(
                f"the continuous state {name!r} of {cls.__name__} has no rate: give one with @sim.rate({name})."
            )
    _check_jumps(cls, interface)
    return interface


def _by_state(cls: type, equations: list[OfState]) -> dict[str, OfState]:
    by: dict[str, OfState] = {}
    for x in equations:
        if x.state.name in by:
            raise WiringError(
                f"{x.state.name!r} of {cls.__name__} has two equations: {by[x.state.name].name!r} and {x.name!r}."
            )
        by[x.state.name] = x
    return by


def _check_jumps(cls: type, found: Interface) -> None:
    seen: set[tuple[str, str]] = set()
    for x in found.jumps:
        key = (x.state.name, "" if x.at is None else x.at.name)
        if key in seen:
            raise WiringError(f"{key[0]!r} of {cls.__name__} has two jumps at crossing {key[1]!r}.")
        seen.add(key)
