"""Controls: forces on dofs, and actuators of the model by the laws their file gave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from itertools import count
from typing import Any, ClassVar

import numpy as np

from soacraft.errors import ModelError, StateError, near
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.model.tree.parts.records import Actuator
from soacraft.sim.breaks import Breaks
from soacraft.sim.forces.calls import require_call
from soacraft.spatial.checks import Array, finite, shape_text
from soacraft.spatial.wrench import Wrench

#: Names of the numbers of an actuator's law.
LAW = ("gain", "b0", "b1", "b2")
#: Counts numbers that are set, in any thread.
_COUNT = count(1)


class Control:
    """A control u of a dof or an actuator: a number, a function of (t, state), or (times, values), linear in between.

    On a dof u is the generalized force. On an actuator u is cut to its `ctrlrange`, the actuator's force is

        f = gain u + b0 + b1 length + b2 velocity,    length = sum of gear q,   velocity = sum of gear v

    cut to its `forcerange`, and each dof feels gear f: a motor has b = 0, a position servo gain = -b1 = kp, a velocity
    servo gain = -b2 = kv.
    """

    last_set: ClassVar[int] = 0
    """A count that grows each time that a number of any control is set."""

    def __init__(self, name: str, u: Any, breaks: Any = ()) -> None:
        if not isinstance(name, str):
            raise StateError(f"a control is of an actuator or a dof, by its name; got {name!r:.60}.")
        self.name, self._u = name, u
        self.together: Together | None = None
        """The function of several controls that gives the number of this one too, if any."""
        if isinstance(u, PartOfTogether):
            self.together = u.together
        self.knots = Breaks()
        """Times at which u has a kink, or jumps: steps end there."""
        self.samples: tuple[Array, Array] | None = None
        """Times and values of u, a constant as one of them; None for a function."""
        if isinstance(u, tuple) and len(u) == 2:
            times = finite(u[0], (None,), f"times of {name!r}", StateError)
            values = finite(u[1], (None,), f"values of {name!r}", StateError)
            if len(times) != len(values) or not len(times) or (np.diff(times) <= 0.0).any():
                raise StateError(
                    f"the control of {name!r} over time takes (times, values), as many of both and times that grow; "
                    f"got {len(times)} times and {len(values)} values."
                )
            self._u = lambda t, state: float(np.interp(t, times, values))
            self.samples = times, values
            self.knots = Breaks(times, f"the samples of {name!r}", jumps=False)
        elif callable(u):
            require_call(u, f"the control of {name!r}")
            self.knots = Breaks(breaks, f"breaks of the control of {name!r}")
        else:
            self.set(float(finite(u, (), f"the control of {name!r}", StateError)))
        if self.samples is not None and np.size(breaks):
            raise StateError(f"breaks= are of a control that is a function; {name!r} is a number or samples.")

    @property
    def is_number(self) -> bool:
        """True if u is one number, which may become another one."""
        return self.samples is not None and not callable(self._u)

    @property
    def number(self) -> float:
        """Number of the control."""
        assert type(self._u) is float
        return self._u

    @property
    def function(self) -> Callable[[float, State], Any]:
        """The function of (t, state) that gives u, where u is no number."""
        function: Callable[[float, State], Any] = self._u
        return function

    def u(self, t: float, state: State) -> float:
        """Return the number of the control at a state."""
        return self.read(t, self._u(t, state)) if callable(self._u) else self.number

    def read(self, t: float, u: Any) -> float:
        """Return the number that a function gave. A `StateError` where it is none."""
        return float(finite(u, (), f"the control of {self.name!r} at t = {t:.9g} s", StateError))

    def held(self, t: float, state: State) -> Control:
        """Return the same control with the number that its function gives at a state."""
        other = copy(self)
        other.knots, other.together = Breaks(), None
        other.set(self.u(t, state))
        return other

    def set(self, u: float) -> None:
        """Let u be another number."""
        self._u, self.samples = float(u), (np.zeros(1), np.array([u], dtype=np.float64))
        Control.last_set = next(_COUNT)

    def bind(self, mb: Multibody) -> None:
        """Find the actuator or the dof."""
        actuators = {x.name: x for x in mb.actuators}
        names = mb.dof_names
        self._row, self._nq = np.zeros(mb.nv), mb.nq
        self._law: Law | None = None
        if self.name in actuators:
            self._law = Law(mb, actuators[self.name])
            self._row = self._law.row
        elif self.name in names:
            self._row[names.index(self.name)] = 1.0
        else:
            available = [*actuators, *names]
            raise ModelError(
                f"{mb.name!r} has no actuator or dof {self.name!r:.60}{near(self.name, available, 'it has')}"
            )

    @property
    def has_law(self) -> bool:
        """True of an actuator, whose force has a law."""
        return self._law is not None

    def tune(self, numbers: Mapping[str, float]) -> None:
        """Give the law of an actuator other numbers: of "gain", "b0", "b1" and "b2" those that are named."""
        assert self._law is not None
        self._law = self._law.tuned(numbers)

    @property
    def is_told(self) -> bool:
        """True if its force depends on time alone."""
        return self.samples is not None and not self.law[2:4].any()

    @property
    def row(self) -> Array:
        """Generalized force on the dofs for a unit force, (nv)."""
        return self._row

    @property
    def length(self) -> Array:
        """Slope of the length in the law along the coordinates, (nq)."""
        return np.zeros(self._nq) if self._law is None else self._law.length

    @property
    def law(self) -> Array:
        """Gain, b0, b1, b2, and the limits of control and force, (8)."""
        return np.array([1.0, 0, 0, 0, -np.inf, np.inf, -np.inf, np.inf]) if self._law is None else self._law.numbers

    @property
    def tuned_law(self) -> object:
        """The law that it has now: another object once it was tuned, the same one where its number is held."""
        return self._row if self._law is None else self._law

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        u = self.u(t, state)
        return self._row * (u if self._law is None else self._law.force(u, state))

    def wrenches(self, t: float, state: State) -> Mapping[Any, Wrench]:
        """None on nodes: it acts through hinges."""
        return {}

    def uncut(self, t: float, state: State) -> float:
        """The force itself, not cut to its limits."""
        u = self.u(t, state)
        return u if self._law is None else self._law.uncut(u, state)

    @property
    def along(self) -> Array:
        """Slope of the length in the law along the dofs, (nv)."""
        return np.zeros_like(self._row) if self._law is None else self._law.along


class Together:
    """A function f(t, state) that gives the numbers of several controls: in their order, or a mapping for some of
    them."""

    def __init__(self, function: Callable[[float, State], Any], names: Sequence[str]) -> None:
        require_call(function, f"the control of {', '.join(map(repr, names)):.60}")
        self._function, self._names = function, tuple(names)
        self._last: tuple[float, State, dict[str, float]] | None = None

    def numbers(self, t: float, state: State) -> dict[str, float]:
        """The numbers {control: number}; those that the function leaves out do not change."""
        if self._last is None or self._last[0] != t or self._last[1] is not state:
            self._last = t, state, self.read(t, self._function(t, state))
        return self._last[2]

    def of(self, name: str) -> PartOfTogether:
        """The number of one control as a function, which f must give."""
        return PartOfTogether(self, name)

    @property
    def function(self) -> Callable[[float, State], Any]:
        """The function."""
        return self._function

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the controls, in their order."""
        return self._names

    def read(self, t: float, value: Any) -> dict[str, float]:
        """Return the numbers that the function gave, all or some, as {control: number}."""
        what = f"the numbers of {len(self._names)} controls at t = {t:.9g} s"
        if isinstance(value, Mapping):
            for name in value:
                if name not in self._names:
                    raise StateError(f"there is no control {name!r:.60} among {what}{near(str(name), self._names)}")
            return {name: float(finite(x, (), f"the control of {name!r}", StateError)) for name, x in value.items()}
        if len(self._names) == 1:
            value = np.reshape(value, -1)
        return dict(zip(self._names, finite(value, (len(self._names),), what, StateError).tolist(), strict=True))


class PartOfTogether:
    """The number of one control as a function of (t, state), from a function of several controls."""

    def __init__(self, together: Together, name: str) -> None:
        self.together, self._name = together, name

    def __call__(self, t: float, state: State) -> float:
        return part_of(self.together.numbers(t, state), self._name, t)


def part_of(numbers: Mapping[str, float], name: str, t: float) -> float:
    """Return the number of one control, or raise `StateError` where the function of all controls gave none."""
    if name not in numbers:
        raise StateError(
            f"the function of all controls gives none for {name!r} at t = {t:.9g} s: let it give all, or hold "
            "numbers with p.control(f, every=...)."
        )
    return numbers[name]


def controls_of(mb: Multibody) -> list[str]:
    """The names of the controls of a model: its actuators, or all dofs of a model without any."""
    return [x.name for x in mb.actuators] or list(mb.dof_names)


#: The laws that a control knows, with that of an actuator which does not say.
_KNOWN = {"dyntype": ("none",), "gaintype": ("fixed",), "biastype": ("none", "affine")}


def unknown_law(actuator: Actuator) -> str:
    """The part of an actuator's law that is not simulated, such as dyntype 'muscle'; empty where all is."""
    for key, values in _KNOWN.items():
        value = actuator.attributes.get(key, values[0])
        if not any(value == x for x in values):
            return f"{key} {value!r:.60}"
    return "" if actuator.gears else "no dof that it drives by a constant gear"


class Law:
    """Law from an actuator's control to its force."""

    def __init__(self, mb: Multibody, actuator: Actuator) -> None:
        what, self._facts = f"actuator {actuator.name!r} of {mb.name!r}", actuator.attributes
        if wrong := unknown_law(actuator):
            raise ModelError(
                f"{what} has {wrong}, which is kept and not simulated. Let its force act with p.add(function of t and "
                "state)."
            )
        self.row, self.length = np.zeros(mb.nv), np.zeros(mb.nq)
        self.along = np.zeros(mb.nv)
        places = coordinate_names(mb)
        for dof, gear in actuator.gears.items():
            self.row[mb.dof_names.index(dof)] = gear
            if dof in places:
                self.length[places[dof]] = self.along[mb.dof_names.index(dof)] = gear
        self._what = what
        self._ranges = {key: self._range(key) for key in ("ctrlrange", "forcerange")}
        self._gain = self._numbers("gainprm", 1, 1.0)[0]
        self._bias = self._numbers("biasprm", 3, 0.0) if self._facts.get("biastype") == "affine" else np.zeros(3)
        self._placed = set(actuator.gears) <= set(places)
        self._require_placed()

    def _require_placed(self) -> None:
        if self._bias[1] and not self._placed:
            raise ModelError(
                f"{self._what} is a position servo on dofs without coordinates of their own; use p.add(...)."
            )

    def _numbers(self, key: str, count: int, missing: float) -> Array:
        numbers = np.atleast_1d(finite(self._facts.get(key, missing), (...,), f"{key} of {self._what}"))
        if numbers.ndim != 1 or not numbers.size:
            raise ModelError(f"{key} of {self._what} must be numbers in a row, got shape {shape_text(numbers.shape)}.")
        numbers = numbers[:count]
        return np.concatenate([numbers, np.zeros(count - len(numbers))])

    def force(self, u: float, state: State) -> float:
        """gain u + b0 + b1 length + b2 velocity, within its limits."""
        return self._cut(self.uncut(u, state), "forcerange")

    def uncut(self, u: float, state: State) -> float:
        """Force of the control without the limits of force."""
        b0, b1, b2 = self._bias
        u = self._cut(u, "ctrlrange")
        return float(self._gain * u + b0 + b1 * (self.length @ state.q) + b2 * (self.row @ state.v))

    def tuned(self, numbers: Mapping[str, float]) -> Law:
        """The law with other numbers of LAW."""
        law, old = copy(self), [self._gain, *self._bias]
        law._gain, *bias = (float(numbers.get(name, x)) for name, x in zip(LAW, old, strict=True))
        law._bias = np.array(bias)
        law._require_placed()
        return law

    @property
    def numbers(self) -> Array:
        """Gain, b0, b1, b2, and the limits of control and force, (8)."""
        return np.concatenate([[self._gain], self._bias, *self._ranges.values()])

    def _cut(self, x: float, key: str) -> float:
        lower, upper = self._ranges[key]
        return float(min(max(x, lower), upper))

    def _range(self, key: str) -> Array:
        """The limits of control or force; infinite where there are none."""
        if key not in self._facts:
            return np.array([-np.inf, np.inf])
        lower, upper = finite(self._facts[key], (2,), f"{key} of {self._what}")
        if lower > upper:
            raise ModelError(f"{key} of {self._what} goes from {lower:g} up to {upper:g}: give the lower end first.")
        return np.array([lower, upper])
