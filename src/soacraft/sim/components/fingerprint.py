"""Fingerprints of classes of components: others where an equation, what it reads, a declaration or a parameter is.

Comments, layout and docstrings play no part.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from soacraft.fingerprint import Fingerprint, fingerprint_all
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Crossing, Equation, OfState, Quantity

_KNOWN: WeakKeyDictionary[type, Fingerprint] = WeakKeyDictionary()
_DECLARED = ("unit", "shape", "dtype", "frame", "of", "default", "start", "nominal", "to")


def class_fingerprint(component: Component) -> Fingerprint:
    """The fingerprint of the class of a component; of one whose ports are its own, of these.

    >>> from soacraft import sim
    >>> a, b = sim.Gain(gain=1.0), sim.Gain(gain=2.0)
    >>> class_fingerprint(a) == class_fingerprint(b), class_fingerprint(a) == class_fingerprint(sim.Sum())
    (True, False)
    """
    if "interface" in vars(component):
        return fingerprint_all(_parts(component))
    kind = type(component)
    if kind not in _KNOWN:
        _KNOWN[kind] = fingerprint_all(_parts(component))
    return _KNOWN[kind]


def _parts(component: Component) -> dict[str, Any]:
    face = component.interface
    parts: dict[str, Any] = {"class": type(component).__name__}
    for field in msgspec.structs.fields(type(component.p)):
        default = field.default_factory if field.default is msgspec.NODEFAULT else field.default
        value = "none" if default is msgspec.NODEFAULT else default
        parts[f"parameter {field.name}"] = repr(field.type), value
    for name, quantity in sorted(face.quantities.items()):
        parts[f"declaration of {name}"] = type(quantity).__name__, _declared(quantity)
    for x in sorted(face.equations, key=lambda x: (x.kind, x.name)):
        parts[f"{x.kind} {x.name}"] = x.function
        parts[f"{x.kind} {x.name} takes"] = x.arguments, _target(x)
    return parts


def _declared(quantity: Quantity) -> list[Any]:
    return [getattr(quantity, name, None) for name in _DECLARED]


def _target(equation: Equation) -> str:
    if isinstance(equation, OfState):
        return f"of {equation.state.name} at {equation.at.name if equation.at is not None else ''}"
    return f"direction {equation.direction}" if isinstance(equation, Crossing) else ""
