"""Requests that a client may send to a served system, and the answers."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from msgspec import Meta

from soacraft.errors import SimulationError
from soacraft.messages import Handler, Request
from soacraft.sim.serving.desk import Desk
from soacraft.sim.systems.changes.segments import do_actions
from soacraft.sim.systems.changes.sequence import Action, check_action
from soacraft.sim.systems.present import Present

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System

_Name = Annotated[str, Meta(max_length=1000)]
_Names = Annotated[list[_Name], Meta(min_length=1, max_length=2000)]


class Bounds(Protocol):
    """Bounds of a client's requests."""

    @property
    def names(self) -> int: ...
    @property
    def subscriptions(self) -> int: ...


class Hello(Request):
    """The first line: the token."""

    token: Annotated[str, Meta(max_length=200)]


class List(Request):
    """List parts and names; `under` is the name of an assembly or a part."""

    under: _Name = ""


class Get(Request):
    """Values of names, or of patterns."""

    names: _Names


class Set(Request):
    """A parameter, a state, or q or v of a plant."""

    name: _Name
    value: Any


class Subscribe(Request):
    """Values that are sent from now on, every `period` seconds of the clock on the wall."""

    names: _Names
    period: Annotated[float, Meta(ge=0.01, le=3600.0)] = 0.05


class Unsubscribe(Request):
    """The end of that."""

    subscription: int


class Run(Request):
    """Go on to time t, as fast as possible or `pace` times as fast as the clock on the wall; without t, go on after
    a pause."""

    t: Annotated[float, Meta(ge=-1e9, le=1e9)] | None = None
    pace: Annotated[float, Meta(gt=1e-6, le=1e6)] | None = None


class Step(Request):
    """Some steps of the integrator."""

    count: Annotated[int, Meta(ge=1, le=100_000)] = 1


class Checkpoint(Request):
    """A checkpoint, by the name of a file in the folder of the server."""

    file: Annotated[str, Meta(max_length=200, pattern=r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*\.h5$")]


class Change(Request):
    """A change between runs, as a `sim.Action`: bodies that part, are welded, caught, let go or taken out, and
    connections."""

    do: Literal["detach", "attach", "capture", "release", "remove", "connect", "disconnect"]
    plant: _Name = ""
    body: _Name = ""
    parent: _Name = ""
    mounted: Literal["follow", "stop", "remove"] | None = None
    source: _Name = ""
    target: _Name = ""


class Verbs:
    """The answers to one client; `send` takes the values of its subscriptions."""

    def __init__(self, desk: Desk, bounds: Bounds, folder: Path | None, send: Callable[[Any], None]) -> None:
        self._desk, self._bounds, self._folder, self._send = desk, bounds, folder, send
        self._mine: set[int] = set()

    @property
    def handlers(self) -> dict[str, Handler]:
        """Handlers, keyed by verb. Answers that take a step are futures."""
        ask, desk = self._desk.ask, self._desk
        return {
            "list": Handler(List, lambda x: ask(lambda: listed(desk.system, desk.present(), x.under))),
            "get": Handler(Get, lambda x: ask(lambda: desk.get(x.names, self._bounds.names))),
            "set": Handler(Set, lambda x: ask(lambda: desk.set(x.name, x.value), changes=True)),
            "subscribe": Handler(Subscribe, lambda x: ask(lambda: self._subscribe(x.names, x.period))),
            "unsubscribe": Handler(Unsubscribe, lambda x: ask(lambda: self._unsubscribe(x.subscription))),
            "status": Handler(Request, lambda x: ask(desk.status)),
            "pause": Handler(Request, lambda x: ask(desk.pause)),
            "step": Handler(Step, lambda x: ask(lambda: desk.step(x.count))),
            "run": Handler(Run, lambda x: ask(lambda: desk.run(x.t, x.pace))),
            "change": Handler(Change, lambda x: ask(lambda: changed(desk.system, x), between=True)),
            "checkpoint": Handler(Checkpoint, lambda x: self._checkpoint(x.file)),
        }

    def _subscribe(self, names: list[str], period: float) -> dict[str, Any]:
        if len(self._mine) >= self._bounds.subscriptions:
            raise SimulationError(f"there are {self._bounds.subscriptions} subscriptions, which is the most: end one.")
        number = self._desk.follow(names, period, self._bounds.names, self._send)
        self._mine.add(number)
        return {"subscription": number}

    def _unsubscribe(self, number: int) -> dict[str, Any]:
        if number not in self._mine:
            raise SimulationError(f"there is no subscription {number}.")
        self._mine.discard(number)
        self._desk.leave(number)
        return {"subscription": number}

    def _checkpoint(self, file: str) -> Future[Any]:
        if self._folder is None:
            raise SimulationError("this server writes no files: let it, with s.serve(folder=...).")
        path, system = self._folder / file, self._desk.system

        def write() -> dict[str, Any]:
            system.checkpoint(path)
            return {"file": file, "t": system.t}

        return self._desk.ask(write, between=True)

    def close(self) -> None:
        """Follow nothing any more."""
        numbers, self._mine = self._mine, set()
        if numbers:
            self._desk.ask(lambda: [self._desk.leave(number) for number in numbers])


def changed(system: System, asked: Change) -> dict[str, Any]:
    """Do what is asked for, all of it or nothing; the changes that were made."""
    fields = {name: getattr(asked, name) for name in asked.__struct_fields__ if name in Action.__struct_fields__}
    act = Action(**fields)
    check_action(act, "a request")
    before = len(system.changes)
    do_actions(system, [act])
    rows = [
        {
            "kind": x.kind,
            "plant": x.plant,
            "body": x.body,
            "name": x.name,
            "energy_lost": x.energy_lost,
            "impulse": None if x.impulse is None else x.impulse.tolist(),
        }
        for x in system.changes[before:]
    ]
    return {"t": system.t, "changes": rows}


def listed(system: System, present: Present, under: str = "") -> dict[str, Any]:
    """The parts and the names of a system, or of what is under a name of it."""

    def inside(path: str) -> bool:
        return not under or path == under or path.startswith(f"{under}/")

    parts = [
        {"path": path, "type": "Plant", "model": x.mb.name} for path, x in system.diagram.plants.items() if inside(path)
    ]
    parts += [{"path": path, "type": kind} for path, kind in system.diagram.groups.items() if inside(path)]
    for path, part in system.diagram.parts.items():
        if inside(path):
            entry = {"path": path, "type": type(part.component).__name__}
            entry |= {} if part.mount is None else {"at": str(part.mount)}
            entry |= {} if part.clock is None else {"every": str(part.clock.seconds)}
            parts.append(entry)
    names = {
        key: {"kind": x.kind, "unit": x.unit, "shape": x.shape, **({"from": x.filled_by} if x.filled_by else {})}
        for key, x in present.names.items()
        if key == "t" or inside(key.rpartition(".")[0])
    }
    return {"system": system.name, "parts": sorted(parts, key=lambda x: str(x["path"]).split("/")), "names": names}
