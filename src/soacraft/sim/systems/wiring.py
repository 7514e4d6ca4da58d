"""Wiring: which source fills each input. Every fault is listed, none ends the search."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from soacraft.errors import SoacraftError, WiringError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.component import Component
from soacraft.sim.components.declarations import Signal
from soacraft.sim.components.units import read_unit
from soacraft.sim.patterns import LONGEST, pattern
from soacraft.sim.systems.bundles import Bundles, paired
from soacraft.sim.systems.frames import FrameTree, UserFrame
from soacraft.sim.systems.plants.masses import weighed
from soacraft.sim.systems.plants.plant import WHOLE, Mount, Plant, Push
from soacraft.sim.systems.running.clocks import Clock

_REF = re.compile(r"^([^.\[\]]+)\.([A-Za-z_*][\w*]*)(?:\[(.+)\])?$")
_ELEMENT = re.compile(r"^(.+)\]\[(\d+)$")
#: Faults of one kind that a message lists.
_LISTED = 50


class Condition(NamedTuple):
    """A signal and the number that it must be below (-1) or above (1)."""

    port: str
    direction: int
    value: float

    def beyond(self, now: float) -> float:
        """Distance of the signal above the number."""
        return now - self.value


class Part(NamedTuple):
    """A component in a system."""

    path: str
    component: Component
    clock: Clock | None
    mount: Mount | None
    convert: bool
    active: bool = True
    """One that is not holds its outputs and states."""

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of coordinates and dofs of the plant that it is mounted on; empty where it is on none."""
        return {} if self.mount is None else {"nq": self.mount.plant.mb.nq, "nv": self.mount.plant.mb.nv}

    @property
    def of_plant(self) -> bool:
        """True if its ports have sizes of its plant, or are filled from or push all dofs of it."""
        face = self.component.interface
        return (
            any(x.of_plant for x in face.quantities.values())
            or any(x.of in WHOLE for x in face.inputs.values())
            or any(x.to in WHOLE for x in face.outputs.values())
        )

    def signal(self, name: str) -> Signal:
        """Signal of a port or a state; a frame "mount" is that of the node it is mounted at."""
        signal = self.component.interface.quantities[name].signal(self.component.p, self.sizes)
        if signal.frame == "mount" and self.mount is not None:
            signal = signal._replace(frame=f"{self.mount.plant.path}:{self.mount.name}")
        return signal


class Wire(NamedTuple):
    """A connection as it was asked for; names are under a prefix."""

    source: str
    target: str
    convert: bool


class Link(NamedTuple):
    """Source of an input: a signal, an element of it, and the factor between their units."""

    source: str
    element: int | None = None
    factor: float = 1.0


class Contribution(NamedTuple):
    """A force on a plant."""

    name: str
    link: Link
    push: Push
    plant: str
    """The path of the plant."""


class Wiring:
    """All links of a system, and all faults.

    `exports` are ports of assemblies, {name: pattern of the ports}.
    """

    def __init__(
        self,
        parts: Mapping[str, Part],
        plants: Mapping[str, Plant],
        wires: Sequence[Wire],
        exports: Mapping[str, str],
        frames: Mapping[str, UserFrame] | None = None,
        holds: Mapping[str, Any] | None = None,
        conditions: Mapping[str, Condition] | None = None,
    ) -> None:
        self.motions: dict[str, Link] = {}
        """Links of the prescribed motions of dofs, by their names in the model that is moved."""
        self.masses: dict[str, Link] = {}
        """Links of the masses of bodies, by their names in the model that is moved."""
        self.conditions: dict[str, tuple[Link, Condition]] = {}
        """Conditions that are watched in addition to the crossings of components, {name: link and condition}."""
        self.holds = holds or {}
        """Inputs that hold a value, as what gave it is gone."""
        self._parts, self._plants, self._exports = parts, plants, exports
        self.user_frames = frames or {}
        mb = next((x.seat.mb for x in plants.values()), None) or Multibody("none")
        self.frames = FrameTree(mb, {path: x.frame for path, x in plants.items()}, self.user_frames)
        """All frames of the system."""
        self.moving: dict[str, Link] = {}
        """Links that move frames of the user, keyed by the text of their ports."""
        self.links: dict[str, Link] = {}
        self.contributions: list[Contribution] = []
        self.sources: dict[str, Signal] = {}
        """All outputs of components, and those of plants that are used."""
        self.faults: list[str] = []
        self.unfilled: dict[str, str] = {}
        """Inputs that nothing fills, with the fault of each."""
        self._writers: dict[str, str] = {}
        self._inputs: dict[str, Signal] = {}
        self._bundles: dict[bool, Bundles] = {True: {}, False: {}}  # of outputs, of inputs
        for path in sorted(parts):
            self._read(parts[path])
        for path in sorted(self.user_frames):
            self._guarded(self._move, self.user_frames[path])
        for wire in sorted(wires, key=lambda x: (str(x.source), str(x.target))):
            self._guarded(self._connect, wire)
        for path in sorted(parts):
            self._mounted(parts[path])
        for key in sorted(self._inputs):
            self._require(key)
        for name, condition in sorted((conditions or {}).items()):
            self._guarded(self._look_for, name, condition)
        self.contributions.sort(key=lambda x: x.name)

    # -- parts -------------------------------------------------------------------------------------------------

    def _read(self, part: Part) -> None:
        face = part.component.interface
        for name in face.outputs:
            self._guarded(lambda n: self.sources.__setitem__(f"{part.path}.{n}", part.signal(n)), name)
        for name in face.inputs:
            self._guarded(lambda n: self._inputs.__setitem__(f"{part.path}.{n}", part.signal(n)), name)
        for name, fields in face.bundles.items():
            ports = {field: f"{part.path}.{name}_{field}" for field in fields}
            self._bundles[f"{name}_{fields[0]}" in face.outputs][f"{part.path}.{name}"] = ports
        if part.clock is not None and face.continuous:
            self.faults.append(
                f"{part.path!r} ticks {part.clock}, but {next(iter(face.continuous))!r} is a continuous state: leave "
                "out every=, or make it sim.Discrete."
            )
        if part.clock is None:
            for x in [*face.updates.values(), *face.outputs.values()]:
                why = "is an update" if x.kind == "update" else ""
                why = why or next((f"takes {y}" for y in ("dt", "noise") if y in x.arguments), "")
                if why:
                    self.faults.append(f"{x.name!r} of {part.path!r} {why}, so it needs ticks: give every= or rate=.")
                    break

    def _mounted(self, part: Part) -> None:
        face = part.component.interface
        for name, x in face.inputs.items():
            key = f"{part.path}.{name}"
            if x.of is None or key in self._writers:
                continue
            if part.mount is not None:
                self._guarded(
                    self._fill, key, part.mount.source(x.of) if self._allowed(part, x.of, "of") else "", part.convert
                )
        for name, y in face.outputs.items():
            if y.to is not None and part.mount is not None and self._allowed(part, y.to, "to"):
                self._guarded(self._fill, part.mount.target(y.to), f"{part.path}.{name}", part.convert)

    def _allowed(self, part: Part, what: str, way: str) -> bool:
        """True if a mount has the quantity; a fault is listed if not."""
        assert part.mount is not None
        try:
            part.mount.source(what) if way == "of" else part.mount.target(what)
        except WiringError as wrong:
            self.faults.append(f"{part.path!r} at {part.mount}: {wrong}")
            return False
        return True

    def _require(self, key: str) -> None:
        path, name = key.rsplit(".", 1)
        declared = self._parts[path].component.interface.inputs[name]
        if key in self._writers or key in self.holds or declared.default is not None or not self._parts[path].active:
            return
        hint = f" It is of={declared.of!r}: mount the component with at=." if declared.of else ""
        self.unfilled[key] = f"the input {key!r} is not connected: s.connect(source, {key!r}).{hint}"
        self.faults.append(self.unfilled[key])

    # -- connections -------------------------------------------------------------------------------------------

    def _guarded(self, act: object, *given: object) -> None:
        try:
            act(*given)  # type: ignore[operator]
        except SoacraftError as wrong:
            self.faults.append(str(wrong))

    def _connect(self, wire: Wire) -> None:
        for source, target in self.pairs(wire):
            self._guarded(self._fill, target, source, wire.convert)

    def pairs(self, wire: Wire) -> list[tuple[str, str]]:
        """Source and target of each connection that a wire means: patterns, exported ports, bundles."""
        sources, bundles = self._bundles_of(wire.source, outputs=True), self._bundles_of(wire.target, outputs=False)
        if sources or (bundles and "*" not in wire.target) or any(self._flat(wire.source, x, True) for x in bundles):
            return self._joined(wire, sources, bundles)
        source = self._one(wire.source)
        targets = self.expand(wire.target, outputs=False)
        signal, _, _ = self.source(source)
        many = len(targets) > 1 or "*" in wire.target
        return [(self._share(source, signal, target, many), target) for target in targets]

    def _move(self, frame: UserFrame) -> None:
        """Look up what moves a frame of the user, and what it is on."""
        if frame.signal is not None:
            signal, name, element = self.source(self._one(frame.signal))
            self.frames.known(frame, signal)
            self.moving[frame.signal] = Link(name, element)
        self.frames.frame(frame.path)

    def _prescribe(self, target: str, source: str, dof: str, link: Link, signal: Signal, convert: bool) -> None:
        if target in self._writers:
            raise WiringError(
                f"{target!r} has two writers, {self._writers[target]!r} and {source!r}: a dof moves one way."
            )
        _factor(source, signal, target, Signal((3,), None, None, float), convert)
        self._writers[target], self.motions[dof] = source, link

    def _look_for(self, name: str, condition: Condition) -> None:
        signal, source, element = self.source(self._one(condition.port))
        if signal.shape:
            raise WiringError(
                f"{name!r:.80}: {condition.port!r:.60} has the shape {signal.shape}; take an element of it."
            )
        self.conditions[name] = Link(source, element), condition

    def _one(self, text: str) -> str:
        sources = self.expand(text, outputs=True)
        if len(sources) != 1:
            raise WiringError(f"{text!r:.80} is {len(sources)} outputs; a connection has one source.")
        return sources[0]

    def _share(self, source: str, signal: Signal, target: str, many: bool) -> str:
        """Element of a vector with a number for each dof, for a component that is mounted at a dof; else the source."""
        path, _, _ = split(target)
        part = self._parts.get(path)
        mount = None if part is None else part.mount
        if not many or len(signal.shape) != 1 or mount is None or mount.kind != "dof" or source.endswith("]"):
            return source
        if self._inputs[target].shape or signal.shape != (mount.plant.mb.nv,):
            return source
        return f"{source}[{mount.plant.mb.dof_names.index(mount.name)}]"

    def expand(self, text: str, outputs: bool) -> list[str]:
        """The ports that a text names; exported ones as what they stand for."""
        path, port, at = split(text)
        if (path in self._plants or path in self.user_frames) and "*" not in text:
            return [text]
        base, tail = f"{path}.{port}", f"[{at}]" if at is not None else ""
        signals = self.sources if outputs else self._inputs
        if base in self._exports:
            return [f"{x}{tail}" for x in self.expand(self._exports[base], outputs)]
        if base in signals:
            return [text]
        bundles = self._bundles[outputs]
        if base in bundles and at is None:
            return list(bundles[base].values())
        names = [*signals, *self._exports]
        if "*" not in base:
            raise self._unknown(path, base, names, outputs)
        matches = _matching(base, [*names, *(bundles if at is None else ())])
        if not matches:
            what = "output" if outputs else "input"
            raise WiringError(f"the pattern {text!r:.80} matches no {what}{near(base.replace('*', ''), names)}")
        each = (self.expand(x, outputs) if x in self._exports or x in bundles else [f"{x}{tail}"] for x in matches)
        return list(dict.fromkeys(y for x in each for y in x))

    # -- bundles -----------------------------------------------------------------------------------------------

    def _bundles_of(self, text: str, outputs: bool) -> Bundles:
        """The bundles that a text names; exported ones as what they stand for."""
        split(text)  # refuses what is no text of a port
        available = self._bundles[outputs]
        named = [text] if "*" not in text else _matching(text, [*available, *self._exports]) if available else []
        bundles: Bundles = {}
        for x in named:
            if x in available:
                bundles[x] = available[x]
            elif x in self._exports:
                bundles |= self._bundles_of(self._exports[x], outputs)
        return bundles

    def _flat(self, text: str, bundle: str, outputs: bool) -> dict[str, str]:
        """Ports that were declared one by one, with the names that the fields of a bundle on the other side give."""
        text, signals = self._exports.get(text, text), self.sources if outputs else self._inputs
        fields = self._bundles[not outputs][bundle]
        ports = {field: f"{text}_{field}" for field in fields}
        return ports if all(x in signals for x in ports.values()) else {}

    def _joined(self, wire: Wire, sources: Bundles, targets: Bundles) -> list[tuple[str, str]]:
        """A bundle with each of the others, which may be ports that were declared one by one."""
        if not targets:
            flat = self._flat(wire.target, next(iter(sources)), False)
            targets = {wire.target: flat} if flat else {}
        elif not sources:
            flat = self._flat(wire.source, next(iter(targets)), True)
            sources = {wire.source: flat} if flat else {}
        if not sources or not targets:
            self.expand(wire.target if sources else wire.source, outputs=not sources)  # refuses what there is not
        return paired(wire.source, wire.target, sources, targets)

    def _unknown(self, path: str, base: str, known: list[str], outputs: bool) -> WiringError:
        what, paths = "output" if outputs else "input", {**self._parts, **self._plants, **self.user_frames}
        if path not in paths and not any(x.startswith(f"{path}.") for x in known):
            return WiringError(f"there is no component {path!r:.60}{near(path, paths)}")
        ports = [x for x in known if x.startswith(f"{path}.")]
        if base in (self._inputs if outputs else self.sources):
            return WiringError(f"{base!r:.80} is an {'input' if outputs else 'output'}, and an {what} is needed.")
        return WiringError(f"there is no {what} {base!r:.80}{near(base, ports, f'{path!r} has')}")

    def source(self, key: str) -> tuple[Signal, str, int | None]:
        """Signal of a source, the name of what stores it, and the element of it."""
        path, port, at = split(key)
        inner = _ELEMENT.match(at) if at is not None and (path in self._plants or path in self.user_frames) else None
        if inner is not None:  # an element of what a node has
            signal, name, _ = self.source(f"{path}.{port}[{inner[1]}]")
            if len(signal.shape) != 1 or int(inner[2]) >= signal.shape[0]:
                raise WiringError(f"{key!r:.80} is no element of {name!r}, whose shape is {signal.shape}.")
            return signal._replace(shape=()), name, int(inner[2])
        if path in self._plants:
            signal, kind, number = self._plants[path].output(port, at)
            name = key if number is None else f"{path}.{kind}"
            self.sources.setdefault(name, signal if number is None else self._plants[path].output(kind, None)[0])
            return signal, name, number
        if path in self.user_frames:
            self.sources.setdefault(key, self.frames.output(path, port, at))
            return self.sources[key], key, None
        base = f"{path}.{port}"
        signal = self.sources[base]
        if at is None:
            return signal, base, None
        if len(signal.shape) != 1 or not at.isdigit() or int(at) >= signal.shape[0]:
            raise WiringError(f"{key!r:.80} is no element of {base!r}, whose shape is {signal.shape}.")
        return signal._replace(shape=()), base, int(at)

    def _fill(self, target: str, source: str, convert: bool) -> None:
        if not source:
            return
        path, port, at = split(target)
        signal, name, element = self.source(source)
        if path in self.user_frames:
            raise WiringError(f"{target!r:.80} is no input: a frame is moved by what pose= of s.add_frame names.")
        if path in self._plants and port == "motion":
            self._prescribe(target, source, self._plants[path].motion(at), Link(name, element), signal, convert)
            return
        if path in self._plants and port == "mass":
            body = weighed(self._plants[path], at)
            if target in self._writers:
                raise WiringError(
                    f"{target!r} has two writers, {self._writers[target]!r} and {source!r}: add them up in a sim.Sum."
                )
            factor = _factor(source, signal, target, Signal((), "kg", None, float), convert)
            self._writers[target], self.masses[body] = source, Link(name, element, factor)
            return
        if path in self._plants:
            push = self._plants[path].push(port, at, signal.frame)
            link = Link(name, element, _factor(source, signal, target, push.signal, convert))
            taken = {x.name for x in self.contributions}
            self.contributions.append(
                Contribution(source if source not in taken else f"{source} on {target}", link, push, path)
            )
            return
        if at is not None:
            raise WiringError(f"{target!r:.80} is an element of an input: connect the input itself.")
        wanted = self._inputs[target]
        if target in self._writers:
            raise WiringError(
                f"the input {target!r} has two writers, {self._writers[target]!r} and {source!r}: add them up in a "
                "sim.Sum."
            )
        self._writers[target] = source
        self.links[target] = Link(name, element, _factor(source, signal, target, wanted, convert))


def _matching(text: str, known: Iterable[str]) -> list[str]:
    return pattern(text).of(sorted(known))


def split(text: str) -> tuple[str, str, str | None]:
    """The path, the port and the element that a text names."""
    match = _REF.match(text) if isinstance(text, str) and len(text) <= LONGEST else None
    if match is None:
        raise WiringError(f"a port is written 'component.port', got {text!r:.80}.")
    return match[1], match[2], match[3]


def _factor(source: str, a: Signal, target: str, b: Signal, convert: bool) -> float:
    """The factor between the units of a source and a target, after all that must agree was compared."""
    ends = f"{source!r} -> {target!r}"
    if a.shape != b.shape:
        raise WiringError(
            f"{ends}: the shape {a.shape} is not {b.shape}; take an element as {source + '[0]'!r}, or a sim.Join."
        )
    if a.dtype is not b.dtype:
        raise WiringError(f"{ends}: {a.dtype.__name__} is not {b.dtype.__name__}.")
    if a.frame is not None and b.frame is not None and a.frame != b.frame:
        raise WiringError(
            f"{ends}: axes of {a.frame!r} are not those of {b.frame!r}; put a sim.Express between them, which turns "
            "vectors by a rotation."
        )
    if a.unit is None or b.unit is None:
        return 1.0
    x, y = read_unit(a.unit), read_unit(b.unit)
    if x.exponents != y.exponents:
        raise WiringError(f"{ends}: the unit {a.unit!r} is not of the dimension of {b.unit!r}.")
    if abs(x.scale - y.scale) <= 1e-14 * y.scale:
        return 1.0
    if not convert:
        raise WiringError(
            f"{ends}: {a.unit!r} is another scale than {b.unit!r}; say convert=True to have it converted."
        )
    return x.scale / y.scale


def faults_error(name: str, faults: Sequence[str], kind: type[WiringError] = WiringError) -> WiringError:
    """All faults of a system as one error."""
    count = len(faults)
    lines = [f"  {i}. {x}" for i, x in enumerate(faults[:_LISTED], 1)]
    more = [f"  and {count - _LISTED} more."] if count > _LISTED else []
    head = f"the system {name!r} has {'a fault' if count == 1 else f'{count} faults'}:"
    error = kind("\n".join([head, *lines, *more]))
    error.faults = tuple(faults)
    return error
