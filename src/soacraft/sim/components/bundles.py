"""Bundles: ports that belong together, as the fields of a class of `msgspec.Struct`.

A field is read as a quantity: `Annotated[float, sim.Unit("m")]`, `Annotated[tuple[float, float], sim.Unit("m")]`, or
with a declaration that has all of it, `Annotated[Array, sim.In("rad/s", shape=3, frame="mount")]`. The bundle `imu`
with the fields `rate` and `force` is the ports `imu_rate` and `imu_force`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from soacraft.errors import WiringError
from soacraft.sim.components.declarations import RESERVED, BundleOutput, In, Output, Quantity, Unit

Bundle = Mapping[str, Any] | type[msgspec.Struct]


def read_bundle(bundle: Any, what: str) -> dict[str, Quantity]:
    """Names with units, or with declarations such as `sim.In("rad", shape=3)`, in their order; or the fields of a
    class of `msgspec.Struct`.

    >>> [x.unit for x in read_bundle({"angle": "rad", "on": Quantity(dtype=bool)}, "it").values()]
    ['rad', None]
    """
    if isinstance(bundle, type) and issubclass(bundle, msgspec.Struct):
        bundle = _of_struct(bundle, what)
    if not isinstance(bundle, Mapping):
        raise WiringError(
            f"{what} is a mapping from names to units, as {{'angle': 'rad'}}, or a class of msgspec.Struct; got "
            f"{bundle!r:.60}."
        )
    quantities = {}
    for name, x in bundle.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise WiringError(f"{what} has {name!r:.40}, which is no name of a port.")
        if isinstance(x, Output) or not (x is None or isinstance(x, str | Quantity)) or getattr(x, "bundle", None):
            raise WiringError(
                f"{name!r} of {what} is a unit, or a declaration as sim.In('rad', shape=3); got {x!r:.40}."
            )
        fresh = Quantity(x) if x is None or isinstance(x, str) else x
        if callable(fresh.unit) or callable(fresh.shape) or callable(fresh.frame):
            raise WiringError(f"{name!r} of {what} has a function of parameters, and a bundle has none: give values.")
        quantities[name] = Quantity(fresh.unit, shape=fresh.shape, dtype=fresh.dtype, frame=fresh.frame)
        quantities[name].__set_name__(type("bundle", (), {}), name)
        signal = quantities[name].signal(None)
        if not all(signal.shape):
            raise WiringError(f"{name!r} of {what} has no elements: its shape is {signal.shape}.")
    return quantities


def _of_struct(kind: type[msgspec.Struct], what: str) -> dict[str, Quantity]:
    """The fields of a struct: float, int, bool, or tuples of one of them, with a unit; or what a declaration says."""
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as wrong:
        raise WiringError(
            f"{what}: {wrong}; define {kind.__name__} and what it names at the top of a module."
        ) from None
    quantities = {}
    for name, hint in hints.items():
        if name not in kind.__struct_fields__:
            continue
        plain, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        declared = next((x for x in marks if isinstance(x, Quantity)), None)
        if declared is not None:
            quantities[name] = declared
            continue
        unit = next((x.text for x in marks if isinstance(x, Unit)), None)
        each = get_args(plain) if get_origin(plain) is tuple else (plain,)
        if not each or any(x is not each[0] for x in each) or each[0] not in (float, int, bool):
            raise WiringError(
                f"{name!r} of {what} is float, int or bool, or a tuple of one of them as tuple[float, float]; got "
                f"{plain!r:.60}."
            )
        quantities[name] = Quantity(unit, shape=(len(each),) if get_origin(plain) is tuple else (), dtype=each[0])
    return quantities


def spread(owner: str, members: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, tuple[str, ...]]]:
    """The declarations of a class with those of bundles as one for each field; and the fields of each bundle."""
    declarations: dict[str, Any] = {}
    bundles: dict[str, tuple[str, ...]] = {}
    for name, x in members.items():
        kind = x.bundle if isinstance(x, In | BundleOutput) else None
        if kind is None:
            fields = {name: x}
        else:
            read = read_bundle(kind, f"the bundle {name!r} of {owner}")
            if not read:
                raise WiringError(f"the bundle {name!r} of {owner} has no fields.")
            bundles[name] = tuple(read)
            fields = {f"{name}_{field}": _port(x, name, field, y, owner) for field, y in read.items()}
        for port, y in fields.items():
            if port in declarations or (port in members and port != name):
                raise WiringError(f"{port!r} of {owner} is declared twice: by itself, and as a field of a bundle.")
            declarations[port] = y
    return declarations, bundles


def _port(x: In | BundleOutput, name: str, field: str, quantity: Quantity, owner: str) -> Quantity:
    more: dict[str, Any] = {"shape": quantity.shape, "dtype": quantity.dtype, "frame": quantity.frame}
    port: In | Output
    if isinstance(x, In):
        default = None if x.default is None else getattr(x.default, field)
        port = In(quantity.unit, default=default, **more)
    else:
        port = Output(_field(x, field, quantity), Quantity(quantity.unit, **more), None)
    port.name, port.owner = f"{name}_{field}", owner
    return port


def _field(x: BundleOutput, field: str, quantity: Quantity) -> Callable[..., Any]:
    """The equation of one field; a tuple is a vector, of numbers or of batches."""
    function, kind, shape, dtype = x.function, x.bundle, quantity.signal(None).shape, quantity.dtype

    def take(*arguments: Any) -> Any:
        values = function(*arguments)
        if not isinstance(values, kind):
            raise WiringError(f"the output {x.name!r} gives {values!r:.60}, and a {kind.__name__} is declared.")
        value = getattr(values, field)
        if shape and isinstance(value, tuple | list):
            return np.stack(np.broadcast_arrays(*value), axis=-1).astype(dtype)
        return value

    take.__name__, take.__doc__ = f"{x.name}_{field}", function.__doc__
    take.__wrapped__ = function  # type: ignore[attr-defined]  # whose arguments and text it has
    return take
