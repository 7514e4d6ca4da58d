"""Equations of a system for many runs at once: every value has a leading axis of runs.

An equation is called once for all runs where that gives what it gives for each; this is tried first, with values of its
runs and others near them. One that does not take the axis, or parameters that vary with it, is called run by run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.made import Columns
from soacraft.sim.campaigns.variations import is_argument, target_of
from soacraft.sim.components.component import read_params
from soacraft.sim.components.declarations import Equation, as_value
from soacraft.sim.systems.running.noise import Stream
from soacraft.sim.systems.system import System
from soacraft.sim.systems.wiring import Link, Part
from soacraft.spatial.checks import Array

#: A batch agrees with its runs one by one to this, relative: sums may be taken in another order.
_SAME = 1e-11
#: Change of values for a trial, relative.
_AWAY = 0.1
Values = dict[str, Any]


class Lane(NamedTuple):
    """An equation: what it gives, its shape, what it needs, and how it is called."""

    key: str
    shape: tuple[int, ...]
    needs: frozenset[str]
    call: Callable[[Values], Array]


class Lanes:
    """Parameters, states and equations of `count` runs of one system."""

    def __init__(
        self,
        system: System,
        paths: Sequence[str],
        values: Array,
        seeds: Sequence[int],
        columns: Columns | None = None,
    ) -> None:
        self.system, self.count = system, len(values)
        self._wiring = system.board.compiled().wiring
        self._varied: dict[str, dict[str, list[Any]]] = {}
        self._params: dict[str, list[Any]] = {}
        self.states: dict[str, Array] = {}
        """The first values of states,"""
        self.q: dict[str, Array] = {}
        self.v: dict[str, Array] = {}
        """of coordinates and velocities, by plant."""
        self.models: dict[str, dict[str, Array]] = {}
        """Parameters of models that vary, by plant and name: those of all runs."""
        self.times_differ = any(x.component.interface.crossings for x in system.diagram.parts.values())
        """True if each run has its own time, within steps."""
        self.constants: dict[str, Any] = {}
        """Values that stay: inputs that nothing is connected to, parameters that vary."""
        self.by_run: list[str] = []
        """Equations that are called run by run."""
        for path, plant in system.diagram.plants.items():
            self.q[path] = np.tile(np.array(plant.mb.q), (self.count, 1))
            self.v[path] = np.tile(np.array(plant.mb.v), (self.count, 1))
        self._firsts: dict[str, Array] = {}
        if columns is not None:
            self._take(columns)
        self._vary(paths, values)
        self.streams: dict[str, list[Stream]] = {}
        """Noise of sampled equations, by run."""
        for path, part in sorted(system.diagram.parts.items()):
            self._start(path, part)
            face = part.component.interface
            for x in [*face.outputs.values(), *face.updates.values()]:
                if "noise" in x.arguments:
                    of = x.name if x.kind == "output" else x.state.name  # type: ignore[attr-defined]
                    shape, name = part.signal(of).shape, f"{path}.{x.name}"
                    self.streams[name] = [Stream(seed, name, shape) for seed in seeds]

    # -- what varies -------------------------------------------------------------------------------------------

    def _take(self, columns: Columns) -> None:
        """Numbers of systems that were made by other arguments."""
        for (path, field), values in columns.params.items():
            self._varied.setdefault(path, {})[field] = list(values)
        for path, (q, v) in columns.states.items():
            self.q[path], self.v[path] = np.array(q), np.array(v)
        self.models |= {path: dict(x) for path, x in columns.models.items()}
        self._firsts = columns.starts

    def _vary(self, paths: Sequence[str], values: Array) -> None:
        states: list[tuple[str, int | None, Array]] = []
        for column, path in enumerate(paths):
            if is_argument(path):
                continue
            target, column_values = target_of(self.system, path), values[:, column]
            if target.kind in ("q", "v"):
                (self.q if target.kind == "q" else self.v)[target.key][:, target.element] = column_values
            elif target.kind == "model":
                self.models.setdefault(target.key, {})[target.name] = column_values
            elif target.kind == "state":
                states.append((target.key, target.element, column_values))
            else:
                part, _, field = target.key.rpartition(".")
                old = getattr(self.system.diagram.parts[part].component.p, field)
                varied = self._varied.setdefault(part, {}).setdefault(field, [old] * self.count)
                for i, x in enumerate(column_values.tolist()):
                    at = target.element
                    varied[i] = x if at is None else tuple(x if k == at else y for k, y in enumerate(varied[i]))
        for path, fields in self._varied.items():
            component = self.system.diagram.parts[path].component
            plain = {name: getattr(component.p, name) for name in type(component.p).__struct_fields__}
            plain = msgspec.structs.asdict(component.p) if plain else plain
            self._params[path] = [
                read_params(type(component), {**plain, **{name: x[i] for name, x in fields.items()}})
                for i in range(self.count)
            ]
        self._states_given = states

    def _start(self, path: str, part: Part) -> None:
        face = part.component.interface
        params = self._params.get(path, [part.component.p] * self.count)
        for name, x in {**face.continuous, **face.discrete}.items():
            key, signal = f"{path}.{name}", part.signal(name)
            if key in self._firsts:
                first = list(self._firsts[key])
            elif key in self.system.diagram.starts:
                first = [self.system.diagram.starts[key]] * self.count
            elif path in self._params:
                first = [x.first(p, part.sizes) for p in params]
            else:
                first = [x.first(part.component.p, part.sizes)] * self.count
            first_values = np.array(first).reshape(self.count, *signal.shape)
            for state, element, start in self._states_given:
                if state == key and element is None:
                    first_values[:] = start.reshape(-1, *(1,) * len(signal.shape))
                elif state == key:
                    first_values[:, element] = start
            self.states[key] = first_values

    # -- equations ---------------------------------------------------------------------------------------------

    def lane(self, part: Part, equation: Equation, of: str, key: str, called: str = "") -> Lane:
        """An equation of a component; `of` is the quantity that it gives, `called` its name where that is not the
        key."""
        face = part.component.interface
        shape = () if equation.kind == "crossing" else part.signal(of).shape
        gets: list[Callable[[Values], Any]] = []
        shapes: list[tuple[int, ...] | None] = []
        needs = set()
        for name in equation.arguments:
            if name in ("p", "t", "dt"):
                shapes.append(() if name == "t" and self.times_differ else None)
                gets.append(self._plain(part, name))
                continue
            signal = part.signal(of if name == "noise" else name)
            shapes.append(signal.shape)
            full = f"{part.path}.{equation.name}:noise" if name == "noise" else f"{part.path}.{name}"
            if name in face.inputs and full in self._wiring.links:
                link = self._wiring.links[full]
                needs.add(link.source)
                gets.append(linked(link))
            elif name in face.inputs:
                default = face.inputs[name].default
                value = as_value(signal.dtype(0) if default is None else default, signal, full)
                self.constants[full] = np.broadcast_to(value, (self.count, *signal.shape))
                gets.append(_got(full))
            else:
                if name in face.outputs:
                    needs.add(full)
                gets.append(_got(full))
        return Lane(key, shape, frozenset(needs), self._called(part, equation, called or key, shape, gets, shapes))

    def _plain(self, part: Part, name: str) -> Callable[[Values], Any]:
        if name == "t":
            return _got("t")
        if name == "dt":
            return _constant(part.clock.seconds if part.clock is not None else 0.0)
        return _constant(part.component.p)

    def _called(
        self,
        part: Part,
        equation: Equation,
        key: str,
        shape: tuple[int, ...],
        gets: Sequence[Callable[[Values], Any]],
        shapes: Sequence[tuple[int, ...] | None],
    ) -> Callable[[Values], Array]:
        """Call of an equation, for all runs at once where that is right, which is found out at its first call."""
        f = equation.function
        at = equation.arguments.index("p") if "p" in equation.arguments and part.path in self._params else None
        ways: list[Callable[[Values, list[Any]], Array]] = []
        extras = range(1 if at is None else 1 + max([len(shape), *(len(s) for s in shapes if s)]))
        if at is not None:
            self._keep_params(part, extras)

        def full(V: Values, given: Any) -> Array:
            array, wanted = np.asarray(given), (len(V["runs"]), *shape)
            return array if array.shape == wanted else np.broadcast_to(array, wanted)

        def by_run(V: Values, given: list[Any]) -> Array:
            rows, params = [], V[f"{part.path}:params"] if at is not None else ()
            for i in range(len(V["runs"])):
                one = [_one(x, s, i) for x, s in zip(given, shapes, strict=True)]
                if at is not None:
                    one[at] = params[i]
                rows.append(f(*one))
            return np.array(rows).reshape(len(rows), *shape)

        def at_once(extra: int) -> Callable[[Values, list[Any]], Array]:
            if at is None:
                return lambda V, given: full(V, f(*given))
            name = f"{part.path}:p{extra}"
            return lambda V, given: full(V, f(*given[:at], V[name], *given[at + 1 :]))

        def choose(V: Values, given: list[Any]) -> Callable[[Values, list[Any]], Array]:
            rng = np.random.default_rng(0)
            trials = [given, [_moved(x, s, rng) for x, s in zip(given, shapes, strict=True)]]
            for extra in extras:
                way = at_once(extra)
                if all(_agree(partial(way, V), partial(by_run, V), x) for x in trials):
                    return way
            self.by_run.append(key)
            return by_run

        def call(V: Values) -> Array:
            arguments = [get(V) for get in gets]
            if not ways:
                ways.append(choose(V, arguments))
            return ways[0](V, arguments)

        return call

    def _keep_params(self, part: Part, extras: range) -> None:
        """The parameters of a component of all runs, one by one and together."""
        params = np.empty(self.count, dtype=object)
        params[:] = self._params[part.path]
        self.constants[f"{part.path}:params"] = params
        for extra in extras:
            self.constants[f"{part.path}:p{extra}"] = Together(part.component.p, self._varied[part.path], extra)


class Together:
    """Parameters of many runs: fields that vary are arrays, with `extra` axes behind that of runs."""

    def __init__(self, p: Any, varied: Mapping[str, Sequence[Any]], extra: int) -> None:
        for name in type(p).__struct_fields__:
            setattr(self, name, getattr(p, name))
        self._varied = list(varied)
        for name, values in varied.items():
            array = np.array(values, dtype=float)
            setattr(self, name, array.reshape(array.shape + (1,) * extra) if array.ndim == 1 else array)

    def of(self, chosen: npt.NDArray[np.intp]) -> Together:
        """The parameters of some of the runs."""
        some = copy(self)
        for name in self._varied:
            setattr(some, name, getattr(self, name)[chosen])
        return some


def linked(link: Link) -> Callable[[Values], Any]:
    """Getter of the value of an input: a source, an element of it, in the unit of the input."""
    key, element, factor = link.source, link.element, link.factor
    if element is None:
        return _got(key) if factor == 1.0 else lambda V: V[key] * factor
    return (lambda V: V[key][:, element]) if factor == 1.0 else (lambda V: V[key][:, element] * factor)


def _got(key: str) -> Callable[[Values], Any]:
    return lambda V: V[key]


def _constant(value: Any) -> Callable[[Values], Any]:
    return lambda V: value


def _one(x: Any, shape: tuple[int, ...] | None, i: int) -> Any:
    """The value of one run: a number of Python, or an array."""
    return x if shape is None else x[i] if shape else x[i].item()


def _moved(x: Any, shape: tuple[int, ...] | None, rng: np.random.Generator) -> Any:
    if shape is None or np.asarray(x).dtype.kind != "f":
        return x
    return x + _AWAY * (1.0 + np.abs(x)) * rng.standard_normal(np.shape(x))


def _agree(way: Callable[[list[Any]], Array], by_run: Callable[[list[Any]], Array], given: list[Any]) -> bool:
    """True if a call for all runs gives what each gives, and changes no argument."""
    copies = [np.array(x) if isinstance(x, np.ndarray) else x for x in given]
    with np.errstate(all="ignore"):
        try:
            expected = by_run([np.array(x) if isinstance(x, np.ndarray) else x for x in given])
        except Exception:  # no value there: nothing is learned of it
            return True
        try:
            at_once = way(given)
        except Exception:
            return False
    pure = all(
        np.array_equal(x, y, equal_nan=True) for x, y in zip(given, copies, strict=True) if isinstance(y, np.ndarray)
    )
    scale = float(np.abs(np.where(np.isfinite(expected), expected, 0.0)).max(initial=0.0))
    return pure and bool(np.allclose(at_once, expected, rtol=_SAME, atol=_SAME * scale, equal_nan=True))


def require_numbers(values: Array, what: str) -> None:
    """Raise where a run has no finite value: the runs then go one by one, and the run is named."""
    if not np.isfinite(values).all():
        raise CampaignError(f"{what} is not finite in a run of the batch.")
