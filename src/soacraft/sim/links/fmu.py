"""`Fmu`: a model of another tool as a component, by the Functional Mock-up Interface 2.0 and 3.0."""

from __future__ import annotations

import re
import struct
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.errors import LinkError
from soacraft.sim.components.component import Interface
from soacraft.sim.components.declarations import (
    RESERVED,
    Continuous,
    Crossing,
    OfState,
    Output,
    Quantity,
    jump,
    rate,
)
from soacraft.sim.links.fmu_archive import Description, Variable, chosen, contents, read_fmu, unpack
from soacraft.sim.links.host import Host, named
from soacraft.sim.links.layout import BadPacketError
from soacraft.sim.links.ports import STATE, Equated, Linked, named_port

#: A state may grow to so many times what it has at the start, and so many bytes more.
_GROWS, _MORE = 2, 1024


class Fmu(Linked):
    """A model in an FMU. Its inputs and outputs are ports, whose names have "_" where the FMU has other signs.

    An FMU is code: it runs only with `trust=True`, in a separate process, so that its crash is a `LostPeerError`.
    `kind` "cs" is co-simulation: add it with every=; at a tick its outputs are read, then it takes a step to the next,
    with inputs held. "me" is model exchange: its continuous states are integrated with all others, its event indicators
    are crossings. Without `kind` co-simulation is taken where there is one. `start` has values of parameters and inputs
    by the names of the FMU. `fmu.ignored` says which ports are none of numbers, and which units are not known.

    An FMU that serializes its state has it as the discrete state "state", for checkpoints; others refuse these. Steps
    of model exchange are not reported to the FMU; one that requires it (completedIntegratorStep) is refused, unless
    `untold=True` says that it does well without. Needs fmpy: pip install 'soacraft[fmi]'.

    >>> import soacraft as sc
    >>> sc.sim.Fmu("motor.fmu")
    Traceback (most recent call last):
        ...
    soacraft.errors.LinkError: the FMU 'motor.fmu' is code, which would run on this machine: say trust=True if you \
know where it is from.
    """

    def __new__(cls, path: str | PathLike[str], *given: Any, **more: Any) -> Any:
        """One for co-simulation, or one for model exchange."""
        if cls is not Fmu:
            return object.__new__(cls)
        about, kind = _read(path, more.get("trust", given[0] if given else False), more.get("kind", _second(given)))
        fmu = object.__new__(FmuSlave if kind == "cs" else FmuModel)
        fmu._about = about
        return fmu

    def __init__(
        self,
        path: str | PathLike[str],
        trust: bool = False,
        kind: str | None = None,
        start: Mapping[str, Any] | None = None,
        start_time: float = 0.0,
        untold: bool = False,
        timeout: float = 30.0,
    ) -> None:
        about = self._about
        self._kind = "cs" if isinstance(self, FmuSlave) else "me"
        if self._kind == "me" and about.completes and not untold:
            raise LinkError(
                f"the FMU {about.name!r} must be told of completed steps (completedIntegratorStep), which is not done "
                "here: use co-simulation, or say untold=True if it does well without."
            )
        self._peer, self._timeout = about.name, timeout
        self.ignored = about.ignored
        self._ports = _ports(about)
        self._serializes = about.serializes[self._kind]
        values = chosen(about, dict(start or {}))
        self._folder = tempfile.TemporaryDirectory(prefix="soacraft_fmu_")
        Linked.__init__(self, about.name, _bundle(self._ports, "input"), _bundle(self._ports, "output"))
        self._config = {
            "version": about.version,
            "kind": self._kind,
            "token": about.token,
            "identifier": about.kinds[self._kind],
            "folder": self._folder.name,
            "name": about.name,
            "start_time": float(start_time),
            "start": [(_told(x), np.ravel((start or {})[name]).tolist()) for name, x in values.items()],
            "inputs": [_told(x) for x in self._ports.values() if x.causality == "input"],
            "outputs": [_told(x) for x in self._ports.values() if x.causality == "output"],
            "in_format": self.sent.format,
            "out_format": self.received.format,
            "states": about.states,
            "indicators": about.indicators,
            "serialize": self._serializes,
        }
        self._host: Host | None = None
        try:
            unpack(about.path, Path(self._folder.name))
            self.content = contents(about.path), float(start_time), self._config["start"]
            self._host = self._start()
            self._made()
        except BaseException:
            self.close()
            raise

    _about: Description

    def _made(self) -> None:
        """Make the ports, from what the FMU says."""

    def _start(self) -> Host:
        return Host(self._peer, "serve_fmu", self._config, self._timeout)

    def _values(self, body: bytes, when: str) -> tuple[Any, ...]:
        try:
            return self.received.fields(body)
        except BadPacketError as wrong:
            raise named(LinkError(f"{self._peer!r} gave a bad answer {when}: {wrong}."), self._peer) from None

    def close(self) -> None:
        """End the process, and remove the unpacked files."""
        if self._host is not None:
            self._host.close()
            self._host = None
        self._folder.cleanup()


class FmuSlave(Fmu):
    """Co-simulation: sampled."""

    def _made(self) -> None:
        assert self._host is not None
        self._next: float | None = None
        size = None
        if self._serializes:
            first = bytes.fromhex(self._host.hello["state"])
            self._capacity = _GROWS * len(first) + _MORE
            self._first = self._known = self._filled(first)
            size = len(self._first)
        else:
            self.unkept = f"the FMU {self._peer!r} cannot serialize its state"
        inputs, outputs = (_bundle(self._ports, x) for x in ("input", "output"))
        Linked.__init__(self, self._peer, inputs, outputs, state=size)

    def _filled(self, data: bytes) -> Any:
        """A state as numbers: its length, then its bytes, then zeros."""
        if len(data) > self._capacity:
            raise named(
                LinkError(f"the state of {self._peer!r} grew to {len(data)} bytes, and {self._capacity} are kept."),
                self._peer,
            )
        out = np.zeros(1 + self._capacity, dtype=np.int64)
        out[0], out[1 : 1 + len(data)] = len(data), np.frombuffer(data, dtype=np.uint8)
        return out

    def first(self) -> Any:
        """The state after initialization."""
        return self._first

    def exchange(self, t: float, dt: float, body: bytes, state: Any) -> tuple[tuple[Any, ...], Any]:
        """Outputs at t, and a step."""
        when = f"at t = {t:.9g} s"
        if self._host is None or not self._host.alive:
            if not self._serializes and self._next is not None:
                raise named(LinkError(f"{self._peer!r} ended, and its state {when} is lost; make another."), self._peer)
            self._host = self._start()
            if self._serializes:
                self._known = self._first
        packed, size = b"", -1
        if not self._serializes:
            if self._next is not None and abs(self._next - t) > 1e-9:
                raise named(
                    LinkError(
                        f"{self._peer!r} is at t = {self._next:.9g} s and cannot serialize its state: no step {when}."
                    ),
                    self._peer,
                )
        elif not np.array_equal(state, self._known):
            if not (0 <= state[0] < len(state) and ((state[1:] >= 0) & (state[1:] <= 255)).all()):
                raise named(
                    LinkError(f"the state of {self._peer!r} has numbers that are no bytes, {when}."), self._peer
                )
            packed = state[1 : 1 + state[0]].astype(np.uint8).tobytes()
            size = len(packed)
        answer = self._host.call("step", struct.pack("<ddi", t, dt, size) + packed + body, when)
        width = struct.calcsize(self.received.format)
        values = self._values(answer[:width], when)
        self._next = t + dt
        if not self._serializes:
            return values, None
        self._known = self._filled(answer[width:])
        return values, self._known


class FmuModel(Fmu):
    """Model exchange: continuous, with event indicators as crossings."""

    def _made(self) -> None:
        assert self._host is not None
        hello = self._host.hello
        self._nx, self._nz = len(hello["states"]), int(hello["indicators"])
        if self._nz or self._about.indicators:
            self.unkept = f"the FMU {self._peer!r} keeps discrete states inside"
        face, first = self.interface, np.array(hello["states"])
        inputs = tuple(face.inputs)
        names = ("t", *inputs, *((STATE,) if self._nx else ()))
        outputs = {
            name: named_port(Output(Equated(self, name, i, names), _quantity(x), None), name, self._peer)
            for i, (name, x) in enumerate(face.outputs.items())
        }
        continuous: dict[str, Continuous] = {}
        rates: dict[str, OfState] = {}
        crossings: dict[str, Crossing] = {}
        jumps: list[OfState] = []
        count = len(outputs)
        if self._nx:
            x = named_port(Continuous(shape=(self._nx,), start=lambda _: first), STATE, self._peer)
            continuous[STATE] = x
            rates[STATE] = named_port(rate(x)(Equated(self, "rates", count, names)), "rates", self._peer)
        for i in range(self._nz):
            name = f"event_{i}"
            crossings[name] = named_port(Crossing(Equated(self, name, count + 1 + i, names), 0), name, self._peer)
            if self._nx:
                after = jump(continuous[STATE], crossings[name])(Equated(self, f"after_{i}", -1 - i, names))
                jumps.append(named_port(after, f"after_{i}", self._peer))
        self.interface = Interface(face.inputs, continuous, {}, outputs, rates, {}, crossings, jumps)  # type: ignore[misc]

    def item(self, i: int, given: tuple[Any, ...]) -> Any:
        """An output, the rates, an event indicator, or (negative) the states after the event of one."""
        if not self._open:
            return np.zeros(self._nx) if i < 0 else (*self.received.zeros(), np.zeros(self._nx), *([1.0] * self._nz))[i]
        t, inputs, x = given[0], given[1:], np.zeros(0)
        if self._nx:
            inputs, x = given[1:-1], given[-1]
        when, body = f"at t = {t:.9g} s", struct.pack("<d", t) + x.tobytes() + self.sent.body(inputs)
        if self._host is None or not self._host.alive:
            raise named(LinkError(f"{self._peer!r} ended, and its state {when} is lost; make another."), self._peer)
        if i < 0:
            self._last = None
            return np.frombuffer(self._host.call("event", struct.pack("<I", -1 - i) + body, when))
        if self._last is None or self._last[0] != body:
            answer = self._host.call("rates", body, when)
            at = 8 * (self._nx + self._nz)
            numbers = np.frombuffer(answer[:at])
            values = self._values(answer[at:], when)
            self._last = body, (*values, numbers[: self._nx].copy(), *numbers[self._nx :].tolist())
        return self._last[1][i]


def _second(given: tuple[Any, ...]) -> Any:
    return given[1] if len(given) > 1 else None


def _read(path: Any, trust: Any, kind: Any) -> tuple[Description, str]:
    if trust is not True:
        raise LinkError(
            f"the FMU {fspath(path)!r:.120} is code, which would run on this machine: say trust=True if you know where "
            "it is from."
        )
    if find_spec("fmpy") is None:
        raise LinkError("FMUs are run by fmpy, which is not installed: pip install 'soacraft[fmi]'.")
    about = read_fmu(Path(fspath(path)))
    kind = kind or next(iter(about.kinds))
    if kind not in about.kinds:
        raise LinkError(f"the FMU {about.name!r} offers {' and '.join(map(repr, about.kinds))}, not kind={kind!r:.40}.")
    return about, kind


def _ports(about: Description) -> dict[str, Variable]:
    """Inputs and outputs by names that ports may have."""
    variables: dict[str, Variable] = {}
    for name, x in about.variables.items():
        if x.causality not in ("input", "output"):
            continue
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        plain = f"_{plain}" if not plain or plain[0].isdigit() else plain
        while plain in variables or plain in (*RESERVED, STATE):
            plain += "_"
        variables[plain] = x
    return variables


def _bundle(ports: Mapping[str, Variable], causality: str) -> dict[str, Quantity]:
    return {
        name: Quantity(x.unit, shape=() if x.length is None else (x.length,), dtype=x.dtype)
        for name, x in ports.items()
        if x.causality == causality
    }


def _quantity(x: Quantity) -> Quantity:
    return Quantity(x.unit, shape=x.shape, dtype=x.dtype, frame=x.frame)


def _told(x: Variable) -> tuple[int, str, int]:
    return x.reference, x.kind, 1 if x.length is None else x.length
