"""`check_component`: what an author of a component wants to know before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soacraft.errors import WiringError
from soacraft.markup import Text
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Equation, OfState, Output, Quantity, Signal, as_value
from soacraft.sim.components.twins import call_twin, numbers_of

#: States of a batch, and draws that are tried.
_BATCH, _DRAWS = 3, 4
#: A batch agrees with its states one by one to this, relative: sums may be taken in another order.
_SAME = 1e-12
#: And a twin with its equation to this, relative to the largest number.
_LAST_BITS = 1e-15
#: Sizes of a plant that a component alone is checked for.
_SIZES = {"nq": 3, "nv": 3}


def check_component(component: Component, seed: int = 0) -> Text:
    """Call every equation with random values: it gives the shape that is declared and finite numbers, changes no
    argument, gives the same twice, and takes a leading batch axis; its twin gives the same to the last bits. Quantities
    that not all numbers are values of, such as unit quaternions, are drawn by `Component.draw`. `WiringError` with all
    that is wrong.

    >>> import soacraft as sc
    >>> print(sc.sim.check_component(sc.sim.LowPass(time_constant=0.1)))
    LowPass: 2 equations are pure, of their shapes, and take a batch
    """
    if not isinstance(component, Component):
        raise WiringError(f"check_component takes a component, got {component!r:.60}.")
    rng, faults = np.random.default_rng(seed), []
    for equation in component.interface.equations:
        for _ in range(_DRAWS):
            wrong = _fault(component, equation, rng)
            if wrong:
                faults.append(f"the {equation.kind} {equation.name!r} of {type(component).__name__} {wrong}")
                break
    if faults:
        error = WiringError("\n".join(faults))
        error.faults = tuple(faults)
        raise error
    count = len(component.interface.equations)
    return Text(f"{type(component).__name__}: {count} equations are pure, of their shapes, and take a batch")


def _fault(component: Component, equation: Equation, rng: np.random.Generator) -> str:
    wanted = _wanted(component, equation)
    draws = [_drawn(component, equation, wanted, rng) for _ in range(_BATCH)]
    singles = []
    for arguments in draws:
        copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in arguments]
        try:
            value, again = equation(*arguments), equation(*arguments)
        except Exception as wrong:
            return f"fails: {type(wrong).__name__}: {wrong}"
        for name, x, y in zip(equation.arguments, arguments, copies, strict=True):
            if isinstance(y, np.ndarray) and not np.array_equal(x, y):
                return f"changes its argument {name!r}: let it make a new array."
        if np.shape(value) != wanted.shape:
            return f"gives shape {np.shape(value)}, and {wanted.shape} is declared."
        if not np.isfinite(value).all():
            return f"gives {value!r:.40}, which is not finite."
        if not np.array_equal(value, again):
            return f"gives {value!r:.40} and then {again!r:.40} for the same arguments: it must keep nothing."
        singles.append(value)
        if equation.twin is not None:
            wrong_twin = _twin_fault(component, equation, arguments, value)
            if wrong_twin:
                return wrong_twin
    stacked = [
        arguments[0] if name in ("p", "dt") else np.array(arguments)
        for name, arguments in zip(equation.arguments, zip(*draws, strict=True), strict=True)
    ]
    if all(name in ("p", "dt") for name in equation.arguments):
        return ""
    try:
        batch = equation(*stacked)
    except Exception as wrong:
        return f"takes no leading batch axis: {type(wrong).__name__}: {wrong}"
    batch = np.broadcast_to(batch, (_BATCH, *wanted.shape)) if np.ndim(batch) <= len(wanted.shape) else batch
    if np.shape(batch) != (_BATCH, *wanted.shape) or not np.allclose(batch, singles, rtol=_SAME, atol=_SAME):
        return "gives something else for a batch than for its states one by one: use functions of numpy, or sim.clip."
    return ""


def _twin_fault(component: Component, equation: Equation, given: list[Any], value: Any) -> str:
    """Fault of the twin of an equation, from the values of both for the same arguments; empty if they agree."""
    p = numbers_of(component.p)
    if p is None:
        return "has a twin, which takes parameters that are numbers, tuples of numbers, texts or None."
    named = zip(equation.arguments, given, strict=True)
    taken = [np.ravel(x).astype(float).tolist() for name, x in named if name != "p"]
    twin = np.reshape(call_twin(equation.twin, taken, p, int(np.size(value))), np.shape(value))
    off = np.abs(twin - value).max(initial=0.0)
    if not off <= _LAST_BITS * np.abs(value).max(initial=0.0):
        return f"gives {value!r:.60}, and its twin {twin if np.ndim(twin) else float(twin)!r:.60}."
    return ""


def _wanted(component: Component, equation: Equation) -> Signal:
    """Declaration that the value of an equation must satisfy: shape, unit, frame and type."""
    if isinstance(equation, Output):
        return Quantity.signal(equation, component.p, _SIZES)
    if isinstance(equation, OfState):
        return equation.state.signal(component.p, _SIZES)
    return Signal((), None, None, float)


def _drawn(component: Component, equation: Equation, wanted: Signal, rng: np.random.Generator) -> list[Any]:
    """Arguments of an equation: what the component draws itself, else any numbers."""
    random_values, quantities = component.draw(component.p, rng), component.interface.quantities
    if not isinstance(random_values, Mapping):
        raise WiringError(
            f"{type(component).__name__}.draw returns a mapping {{name: value}}; got {random_values!r:.60}."
        )
    drawn = dict(random_values)
    for name in (x for x in drawn if x in quantities):
        what = f"{name!r} as {type(component).__name__} draws it"
        drawn[name] = as_value(drawn[name], quantities[name].signal(component.p, _SIZES), what)
    return [drawn[x] if x in drawn else _draw(component, x, wanted, rng) for x in equation.arguments]


def _draw(component: Component, name: str, wanted: Signal, rng: np.random.Generator) -> Any:
    if name == "p":
        return component.p
    if name == "dt":
        return 0.01
    if name == "t":
        return float(rng.uniform(0.0, 2.0))
    signal = wanted if name == "noise" else component.interface.quantities[name].signal(component.p, _SIZES)
    if signal.dtype is float:
        drawn: Any = rng.standard_normal(signal.shape)
    else:
        drawn = rng.integers(0, 2 if signal.dtype is bool else 5, signal.shape).astype(signal.dtype)
    return drawn if signal.shape else np.asarray(drawn).item()
