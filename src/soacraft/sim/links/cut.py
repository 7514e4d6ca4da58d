"""A system cut at sampled signals: what each share has, what crosses, and why a cut is refused.

In each share all parts stay under their names. Those of other shares are shadows: same ports and clock, no equations;
outputs that are needed here are received at their ticks. Shares evaluate in one order, that of the whole system: a
shadow comes after all that is sent from here and is before it there. So no two shares wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, NamedTuple, Protocol

import numpy as np

from soacraft.errors import WiringError, near
from soacraft.sim.components.component import Component, Interface
from soacraft.sim.components.declarations import In, Output, Quantity, Signal, as_value
from soacraft.sim.patterns import pattern
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.system import System
from soacraft.sim.systems.wiring import Part, Wire, Wiring

#: Bytes that one share may send another at one instant: what a pipe takes without being read.
_AT_ONCE = 32_000


class Ways(Protocol):
    """Transport of values between shares."""

    def send(self, key: str, t: float, value: Any) -> None:
        """Send a value to all shares that need it; once for each time."""

    def receive(self, key: str, t: float) -> Any:
        """The value of a time."""


class Cut(NamedTuple):
    """Owners of the parts and plants, and the signals that cross between shares."""

    owners: Mapping[str, str]
    crossing: Mapping[str, tuple[str, ...]]
    """Outputs that cross, in the order of evaluation, and the shares that need each."""
    signals: Mapping[str, Signal]


def cut(system: System, shares: Mapping[str, Any]) -> Cut:
    """The cut of a system into shares, {name: patterns of parts}, or why it is none."""
    compilation = system.board.compiled()
    wiring, schedule = compilation.wiring, compilation.schedule
    owners = _owners(system, shares)
    if len({owners[x] for x in system.diagram.plants}) > 1:
        a, b = sorted(system.diagram.plants)[:2]
        raise WiringError(
            f"the plants {a!r} and {b!r} are in two shares, and plants move as one model: keep them in one."
        )
    needed: dict[str, set[str]] = {}
    for target, link in sorted(wiring.links.items()):
        _cross(system, owners, needed, link.source, target.rsplit(".", 1)[0], target)
    for x in wiring.contributions:
        _cross(system, owners, needed, x.link.source, next(iter(system.diagram.plants)), "the plant")
    tied = {call.key for knot in schedule.knots for call in knot.calls}
    for key in sorted(needed):
        if key in tied:
            raise WiringError(f"{key!r} crosses the cut, and is in a loop that is solved: keep the loop in one share.")
    _require_time(system, owners, schedule)
    crossing = {key: tuple(sorted(needed[key])) for key in schedule.order if key in needed}
    signals = {key: wiring.sources[key] for key in crossing}
    for name in shares:
        sent = sum(16 + 8 * int(np.prod(signals[x].shape, dtype=int)) for x in crossing if owners[_path(x)] == name)
        if sent > _AT_ONCE:
            raise WiringError(f"the share {name!r} would send {sent} bytes at once, and {_AT_ONCE} are allowed.")
    return Cut(owners, crossing, signals)


def _path(key: str) -> str:
    return key.partition(".")[0]


def _owners(system: System, shares: Mapping[str, Any]) -> dict[str, str]:
    if not isinstance(shares, Mapping) or len(shares) < 2:
        raise WiringError(f"a system is split into two shares or more, {{name: patterns}}; got {shares!r:.60}.")
    paths = [*system.diagram.parts, *system.diagram.plants]
    owners: dict[str, str] = {}
    for name, patterns in shares.items():
        for text in [patterns] if isinstance(patterns, str) else patterns:
            matched = pattern(str(text), "/").of(paths)
            if not matched:
                raise WiringError(
                    f"the pattern {text!r:.60} of the share {name!r} matches nothing{near(str(text), paths)}"
                )
            for x in matched:
                if owners.setdefault(x, name) != name:
                    raise WiringError(f"{x!r} is in two shares, {owners[x]!r} and {name!r}: keep it in one.")
    missing = sorted(x for x in paths if x not in owners)
    if missing:
        raise WiringError(f"{missing[0]!r} is in no share: name it, or give a share the pattern '**' of what it has.")
    return owners


def _cross(
    system: System, owners: Mapping[str, str], needed: dict[str, set[str]], source: str, user: str, target: str
) -> None:
    """Note what crosses; refuse what is not sampled."""
    path = _path(source)
    if owners[path] == owners[user]:
        return
    part = system.diagram.parts.get(path)
    if part is None or part.clock is None:
        what = "of a plant" if part is None else "of a continuous component"
        raise WiringError(
            f"the cut between {owners[path]!r} and {owners[user]!r} is at {source!r} -> {target!r}, which is {what}: a "
            "system is split at outputs of sampled components. Put a sim.SampleHold with every= before it, in "
            f"{owners[path]!r}."
        )
    needed.setdefault(source, set()).add(owners[user])


def _require_time(system: System, owners: Mapping[str, str], schedule: Schedule) -> None:
    """Steps of continuous states must be the same in all shares."""
    moving = {owners[_path(x.key)] for x in schedule.places} | {owners[x] for x in system.diagram.plants}
    if len(moving) < 2:
        return
    a, b = sorted(moving)[:2]
    method = system.board.how["integrator"]
    if method != "rk4":
        raise WiringError(
            f"{a!r} and {b!r} both have continuous states, and steps of {method!r} depend on all of them: keep these "
            "in one share, or use integrator='rk4'."
        )
    if schedule.watched:
        raise WiringError(
            f"{a!r} and {b!r} both have continuous states, and the crossing {schedule.watched[0].call.key!r} would end "
            "steps in one of them: keep these in one share."
        )


# -- shares --------------------------------------------------------------------------------------------------------


class _Function:
    """A function whose arguments have names that are known when it is made."""

    def __init__(self, name: str, arguments: Sequence[str], function: Callable[..., Any]) -> None:
        self.__name__, self.__doc__ = name, None
        self.__signature__ = Signature([Parameter(x, Parameter.POSITIONAL_OR_KEYWORD) for x in arguments])
        self._function = function

    def __call__(self, *given: Any) -> Any:
        return self._function(*given)


class Shadow(Component):
    """A component of another share: its ports, and nothing in them but what is received."""


def reduce(system: System, at: Cut, me: str, ways: Ways) -> None:
    """Let a system have the equations of one share alone. It must not have begun."""
    wiring = system.board.compiled().wiring
    wires = _resolved(wiring, system.diagram.wires)
    has_plants = any(at.owners[x] == me for x in system.diagram.plants)
    if not has_plants:
        wires = [x for x in wires if not {_path(x.source), _path(x.target)} & {*system.diagram.plants}]
    keys = list(at.crossing)
    sent = [x for x in keys if at.owners[_path(x)] == me]
    parts: dict[str, Part] = {}
    for path, part in system.diagram.parts.items():
        if at.owners[path] == me:
            component = _sending(part, sent, ways)
        else:
            got = {x: sum(y in sent for y in keys[: keys.index(x)]) for x in keys if _path(x) == path}
            got = {x: count for x, count in got.items() if me in at.crossing[x]}
            before = sent[: max(got.values(), default=0)]
            component = _shadow(part, got, before, at.signals, ways)
            wires += [Wire(x, f"{path}.after_{i}", False) for i, x in enumerate(before)]
        parts[path] = part._replace(component=component, mount=part.mount if has_plants else None)
    diagram = system.diagram
    system.board.set_diagram(
        diagram.changed(
            plants=diagram.plants if has_plants else {},
            parts=parts,
            wires=tuple(wires),
            exports={},
            starts={key: x for key, x in diagram.starts.items() if at.owners[_path(key)] == me},
            tears=tuple(x for x in diagram.tears if at.owners[_path(x)] == me),
        )
    )


def _resolved(wiring: Wiring, wires: Sequence[Wire]) -> list[Wire]:
    """Connections with patterns and exported ports as what they stand for."""
    return [Wire(source, target, wire.convert) for wire in wires for source, target in wiring.pairs(wire)]


def _sending(part: Part, sent: Sequence[str], ways: Ways) -> Component:
    """The component, whose outputs that cross are sent when they are computed."""
    old, face = part.component, part.component.interface
    keys = {x.partition(".")[2]: x for x in sent if _path(x) == part.path}
    if not keys:
        return old

    def sends(key: str, x: Output) -> Callable[..., Any]:
        at = x.arguments.index("t") if "t" in x.arguments else None

        def send(*given: Any) -> Any:
            t, taken = (given[0], given[1:]) if at is None else (given[at], given)
            value = x.function(*taken)
            if np.isfinite(value).all():  # else this share ends with an error that tells it
                ways.send(key, t, value)
            return value

        return _Function(x.name, x.arguments if at is not None else ("t", *x.arguments), send)

    outputs = {name: _output(x, sends(keys[name], x)) if name in keys else x for name, x in face.outputs.items()}
    new: Component = object.__new__(type(old))
    new.__dict__.update(old.__dict__, interface=face._replace(outputs=outputs))
    return new


def _shadow(
    part: Part, got: Mapping[str, int], before: Sequence[str], signals: Mapping[str, Signal], ways: Ways
) -> Component:
    """`got` are the outputs that are received, each after so many of those that are sent from here."""
    face, p = part.component.interface, part.component.p
    inputs = {
        name: _named(In(x.unit, shape=part.signal(name).shape, dtype=x.dtype, frame=x.frame, default=x.dtype(0)), name)
        for name, x in face.inputs.items()
    }
    after = [f"after_{i}" for i in range(len(before))]
    for key, name in zip(before, after, strict=True):
        inputs[name] = _named(In(None, shape=signals[key].shape, dtype=signals[key].dtype), name)

    def receives(key: str) -> Callable[..., Any]:
        return lambda t, *_: ways.receive(key, t)

    def holds(value: Any) -> Callable[..., Any]:
        return lambda *_: value

    outputs = {}
    for name, x in face.outputs.items():
        key, signal = f"{part.path}.{name}", Quantity.signal(x, p, part.sizes)
        if key in got:
            outputs[name] = _output(x, _Function(name, ("t", *after[: got[key]]), receives(key)), signal)
        else:
            outputs[name] = _output(x, _Function(name, (), holds(as_value(signal.dtype(0), signal, key))), signal)
    shadow = Shadow()
    shadow.p = p
    shadow.interface = Interface(inputs, {}, {}, outputs, {}, {}, {}, [])  # type: ignore[misc]
    return shadow


def _output(x: Output, function: Callable[..., Any], signal: Signal | None = None) -> Output:
    shape = x.shape if signal is None else signal.shape
    output = Output(function, Quantity(x.unit, shape=shape, dtype=x.dtype, frame=x.frame), x.to)
    return _named(output, x.name)  # type: ignore[no-any-return]


def _named(x: Any, name: str) -> Any:
    x.name, x.owner = name, "share"
    return x
