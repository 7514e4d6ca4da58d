"""Declarations of a component: inputs, states, and equations, whose arguments are the quantities they depend on.

In            a value from outside                   output      y = g(p, t, inputs, states)
Continuous    a state with a rate                    rate        dx/dt = f(...)
Discrete      a state that is kept between ticks     update      the next value, at a tick of the component
                                                     crossing    a function whose zeros are located
                                                     jump        a state's value after a crossing
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import prod
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np

from soacraft.errors import WiringError, near
from soacraft.sim.components.twins import read_twin
from soacraft.sim.components.units import read_unit

#: Arguments of equations that are no quantity of the component: its parameters, the time, the period of its ticks in
#: seconds, and standard normal numbers of the shape of what the equation gives.
RESERVED = ("p", "t", "dt", "noise")
#: The most numbers that one signal holds.
MOST_NUMBERS = 10**6
#: Whole numbers up to here are all doubles; compiled steps, rows and logs hold them as such.
LARGEST_WHOLE = 2**53
_DTYPES = {float: "float", int: "int", bool: "bool"}


class Params(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of a component's parameters: a frozen struct whose fields are checked, with bounds by `msgspec.Meta`.

    >>> import soacraft as sc
    >>> sc.sim.Gain(gain=2.0).p
    GainParams(gain=2.0, size=None)
    """


class Unit(NamedTuple):
    """The unit of a parameter: `R: Annotated[float, sim.Unit("ohm")]`."""

    text: str


class Signal(NamedTuple):
    """Shape, unit, frame and type of the values of a port, for a set of parameters."""

    shape: tuple[int, ...]
    unit: str | None
    frame: str | None
    dtype: type


#: Sizes of the plant that a component is mounted on, which shapes may name.
PLANT_SIZES = ("nq", "nv")


class Quantity:
    """A declared quantity. `unit` None is any unit; `shape`, `unit` and `frame` may be functions of the parameters.

    "nq" and "nv" in a shape are the numbers of coordinates and of dofs of the plant that the component is mounted on:
    `shape="nv"`, `shape=("nv", 3)`.
    """

    def __init__(self, unit: Any = None, *, shape: Any = (), dtype: type = float, frame: Any = None) -> None:
        if dtype not in _DTYPES:
            raise WiringError(f"the dtype of a quantity is float, int or bool, got {dtype!r:.40}.")
        if isinstance(unit, str):
            read_unit(unit)
        elif unit is not None and not callable(unit):
            raise WiringError(f"the unit of a quantity is a text such as 'N m', got {unit!r:.40}.")
        self.unit, self.shape, self.dtype, self.frame = unit, shape, dtype, frame
        self.name = ""
        self.owner = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.owner = name, owner.__name__

    @property
    def of_plant(self) -> bool:
        """True if the shape has a size of a plant, whatever the parameters are."""
        shape = (self.shape,) if isinstance(self.shape, str) else self.shape
        return isinstance(shape, tuple) and any(x in PLANT_SIZES for x in shape)

    def signal(self, p: Any, sizes: Mapping[str, int] | None = None) -> Signal:
        """Signal with these parameters, on a plant of these sizes."""
        shape, unit, frame = (x(p) if callable(x) else x for x in (self.shape, self.unit, self.frame))
        shape = (shape,) if isinstance(shape, int | str) else tuple(shape)
        if any(isinstance(n, str) for n in shape):
            shape = tuple(self._size(n, sizes) if isinstance(n, str) else n for n in shape)
        if not all(isinstance(n, int) and n >= 0 for n in shape):
            raise WiringError(f"the shape of {self.owner}.{self.name} must be whole numbers, got {shape!r:.60}.")
        if prod(shape) > MOST_NUMBERS:
            raise WiringError(
                f"{self.owner}.{self.name} of shape {shape!r:.60} is too large: {MOST_NUMBERS} numbers are the most "
                "that a signal holds. Take a smaller size, or several components."
            )
        return Signal(shape, unit, frame, self.dtype)

    def _size(self, name: str, sizes: Mapping[str, int] | None) -> int:
        if name not in PLANT_SIZES:
            raise WiringError(f"the shape of {self.owner}.{self.name} has {name!r:.40}{near(name, PLANT_SIZES)}")
        if not sizes:
            raise WiringError(
                f"{self.owner}.{self.name} has the size {name!r} of a plant: mount the component on one, with at=plant."
            )
        return sizes[name]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.owner}.{self.name}>"


class In(Quantity):
    """An input. `of` fills it from what the component is mounted at: "position" or "velocity" of a dof, "position",
    "rotation", "velocity", "angular_velocity" of a node; "q", "v" or "vdot" of the whole plant. `default` is its value
    where nothing is connected.

    `bundle` is a class of `msgspec.Struct`, each of whose fields is an input: `imu = sim.In(bundle=Imu)` is `imu_rate`
    and `imu_force`, which equations name one by one."""

    def __init__(
        self,
        unit: Any = None,
        *,
        of: str | None = None,
        default: Any = None,
        bundle: type[msgspec.Struct] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(unit, **more)
        self.of, self.default, self.bundle = of, default, bundle
        if bundle is not None:
            check_bundle(bundle, "an input", {"unit": unit, "of": of, **more})
            if default is not None and not isinstance(default, bundle):
                raise WiringError(f"the default of a bundle is a {bundle.__name__}, got {default!r:.60}.")


class _State(Quantity):
    def __init__(self, unit: Any = None, *, start: Any = 0.0, **more: Any) -> None:
        super().__init__(unit, **more)
        self.start = start

    def first(self, p: Any, sizes: Mapping[str, int] | None = None) -> Any:
        """Value at the start: `start`, which may be a function of the parameters."""
        signal = self.signal(p, sizes)
        start = self.start(p) if callable(self.start) else self.start
        return as_value(start, signal, f"the start of {self.owner}.{self.name}")


class Continuous(_State):
    """A state with a rate. `nominal` is its usual size in its own unit: adaptive integrators allow `rtol` of it, or of
    the state where that is larger."""

    def __init__(self, unit: Any = None, *, nominal: float = 1.0, **more: Any) -> None:
        super().__init__(unit, **more)
        if not nominal > 0.0:
            raise WiringError(f"the nominal size of a state must be positive, got {nominal!r:.40}.")
        self.nominal = float(nominal)


class Discrete(_State):
    """A state that keeps its value until an update at a tick, or a jump at a crossing."""


_E = TypeVar("_E", bound="Equation")


class Equation:
    """A function of a component. It can be called directly: `Motor.torque(p, current)`."""

    kind = "equation"

    twin: Any = None
    """Compiled form of the equation; None without one."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.__doc__ = function, function.__doc__
        self.name, self.owner = getattr(function, "__name__", ""), ""
        taken = inspect.signature(function).parameters.values()
        for x in taken:
            if x.kind is not x.POSITIONAL_OR_KEYWORD or x.default is not x.empty:
                raise WiringError(
                    f"the {self.kind} {self.name!r} takes {x}: arguments of an equation are names of quantities, "
                    "without defaults or stars."
                )
        self.arguments = tuple(x.name for x in taken)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.owner = name, owner.__name__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.function(*arguments, **named)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.owner}.{self.name}({', '.join(self.arguments)})>"


class Output(Equation, Quantity):
    """An output: a quantity and the equation that gives it."""

    kind = "output"

    def __init__(self, function: Callable[..., Any], quantity: Quantity, to: str | None) -> None:
        Equation.__init__(self, function)
        self.unit, self.shape, self.dtype, self.frame = quantity.unit, quantity.shape, quantity.dtype, quantity.frame
        self.to = to


class BundleOutput(Equation):
    """The outputs of a bundle: one equation that gives an instance of its struct."""

    kind = "output"

    def __init__(self, function: Callable[..., Any], bundle: type[msgspec.Struct]) -> None:
        super().__init__(function)
        self.bundle = bundle
        if "noise" in self.arguments:
            raise WiringError(
                f"the output {self.name!r} of a bundle takes noise, which has the shape of one output: write an output "
                f"for each field, as '{self.name}_{(*bundle.__struct_fields__, 'x')[0]}'; they connect as a bundle."
            )


def check_bundle(bundle: Any, what: str, others: dict[str, Any]) -> None:
    """Refuse a bundle that is no class of structs, and options that belong to its fields."""
    if not (isinstance(bundle, type) and issubclass(bundle, msgspec.Struct)):
        raise WiringError(f"the bundle of {what} is a class of msgspec.Struct, got {bundle!r:.60}.")
    for name, x in others.items():
        if x is not None:
            raise WiringError(f"{what} with bundle={bundle.__name__} has no {name}=: its fields have theirs.")


class OfState(Equation):
    """An equation that gives a state: a rate, an update, a jump."""

    def __init__(self, function: Callable[..., Any], state: Any, kind: str, allowed: type, at: Any = None) -> None:
        self.kind = kind
        super().__init__(function)
        if not isinstance(state, allowed):
            raise WiringError(f"{kind} takes a {allowed.__name__.strip('_')} state, got {state!r:.60}.")
        self.state: _State = state  # type: ignore[assignment]
        self.at: Crossing | None = at


class Crossing(Equation):
    """A function whose zeros are located: rising (1), falling (-1) or either (0)."""

    kind = "crossing"

    def __init__(self, function: Callable[..., Any], direction: int) -> None:
        super().__init__(function)
        if direction not in (-1, 0, 1):
            raise WiringError(f"the direction of crossing {self.name!r} must be -1, 0 or 1, got {direction!r:.40}.")
        self.direction = direction


def output(
    unit: Any = None,
    *,
    to: str | None = None,
    twin: Any = None,
    bundle: type[msgspec.Struct] | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Any]:
    """An output by its equation. `to` says what it does where the component is mounted: "force" on a dof; "force",
    "moment" or "wrench" on a node; "generalized_force" on all dofs of the plant, `shape="nv"`. `twin` is its compiled
    form, a `sim.TwinFunction`. `bundle` is a class of `msgspec.Struct`, of which the equation gives an instance: each
    field is an output, `imu_rate` of `imu`, that depends on all arguments. It is called once for each field."""
    if bundle is not None:
        check_bundle(bundle, "an output", {"unit": unit, "to": to, "twin": twin, **more})
        return lambda function: BundleOutput(function, bundle)
    return lambda function: _twinned(Output(function, Quantity(unit, **more), to), twin)


def rate(state: Continuous, twin: Any = None) -> Callable[[Callable[..., Any]], OfState]:
    """The rate of a continuous state, per second, by its equation; `twin` is its compiled form."""
    return lambda function: _twinned(OfState(function, state, "rate", Continuous), twin)


def update(state: Discrete, twin: Any = None) -> Callable[[Callable[..., Any]], OfState]:
    """The next value of a discrete state, from the values at a tick, by its equation; `twin` is its compiled form."""
    return lambda function: _twinned(OfState(function, state, "update", Discrete), twin)


def _twinned(equation: _E, twin: Any) -> _E:
    equation.twin = read_twin(twin, f"the {equation.kind} {equation.name!r}")
    return equation


def crossing(*, direction: int = 0) -> Callable[[Callable[..., Any]], Crossing]:
    """A function whose zeros are located: rising (1), falling (-1) or either (0)."""
    return lambda function: Crossing(function, direction)


def jump(state: Quantity, at: Crossing) -> Callable[[Callable[..., Any]], OfState]:
    """The value of a state after a crossing, from the values before it."""
    if not isinstance(at, Crossing):
        raise WiringError(f"jump takes a crossing with at=, got {at!r:.60}.")
    return lambda function: OfState(function, state, "jump", _State, at)


def is_exact(array: Any) -> bool:
    """True if whole numbers are doubles and 64-bit integers, exactly.

    >>> is_exact(np.array([2**53, 2**60])), is_exact(np.array([2**53 + 1])), is_exact(np.array(2**70))
    (True, False, False)
    """
    return all(-(2**63) <= x < 2**63 and int(float(x)) == x for x in np.ravel(array).tolist())


def as_value(given: Any, signal: Signal, what: str) -> Any:
    """A value of a signal: a number of Python, or an array of its shape."""
    kind = {float: np.float64, int: np.int64, bool: np.bool_}[signal.dtype]
    try:
        array = np.asarray(given)
        if signal.dtype is int and array.dtype.kind in "iuO" and not is_exact(array):
            raise OverflowError
        if array.dtype.kind not in {float: "fiu", int: "iu", bool: "b"}[signal.dtype]:
            raise TypeError
        array = np.broadcast_to(array, signal.shape).astype(kind)
    except OverflowError:
        raise WiringError(
            f"{what} must be whole numbers that a double holds exactly, as all up to 2^53; got {given!r:.60}."
        ) from None
    except (TypeError, ValueError):
        raise WiringError(
            f"{what} must be {_DTYPES[signal.dtype]} numbers of shape {signal.shape}, got {given!r:.60}."
        ) from None
    if signal.dtype is float and not np.isfinite(array).all():
        raise WiringError(f"{what} must be finite, got {given!r:.60}.")
    return array if signal.shape else array.item()
