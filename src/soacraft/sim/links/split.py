"""`split`: one system in several processes, in lockstep, with the bits of one."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from multiprocessing import connection, get_context
from typing import Any, NamedTuple, cast

from soacraft import errors
from soacraft.attributes import Strict
from soacraft.errors import LinkError, LostPeerError, SoacraftError, WiringError
from soacraft.sim.components.declarations import Quantity
from soacraft.sim.links.cut import Cut, cut, reduce
from soacraft.sim.links.host import named
from soacraft.sim.links.layout import Layout
from soacraft.sim.links.ports import Linked
from soacraft.sim.runs.signals import Signals
from soacraft.sim.systems.description import SystemData, build, describe
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

_HEAD = struct.Struct("<IQ")


class ShareRun(NamedTuple):
    """The run of one share: its rows, and of the share that has the plants their coordinates and velocities."""

    t: Array
    q: Array
    v: Array
    signals: Signals


class SplitRun(NamedTuple):
    """The run of a system that is split: `shares` {name: run}, and `signals` of all parts, each from the share that has
    it."""

    shares: dict[str, ShareRun]
    signals: dict[str, Array]


class Recipe(NamedTuple):
    """A system that can be sent to another process."""

    data: SystemData
    classes: dict[str, Any]
    models: dict[str, Any]
    forces: dict[str, Any]

    def __call__(self) -> System:
        return build(self.data, self.classes, self.models, self.forces)


class Job(NamedTuple):
    """Task of a process."""

    make: Callable[[], System]
    shares: dict[str, Any]
    me: str
    timeout: float


class Split(Strict):
    """Processes that run the shares of a system, in lockstep. `run` goes on from where it is; `close` ends them."""

    def __init__(self, job: Job, crew: Crew, owned: bool) -> None:
        self._names, self._crew, self._owned = list(job.shares), crew, owned
        self._crew.tell([("take", job._replace(me=name)) for name in self._names], self._names)

    def run(self, t: float, signals: str | Sequence[str] = "**") -> SplitRun:
        """Carry all shares on to time t, in seconds."""
        answers = self._crew.tell([("run", (t, signals))] * len(self._names), self._names)
        shares = {
            name: ShareRun(x[0], x[1], x[2], Signals(*x[3])) for name, (x, _) in zip(self._names, answers, strict=True)
        }
        merged = {
            key: shares[name].signals[key] for name, (_, keys) in zip(self._names, answers, strict=True) for key in keys
        }
        return SplitRun(shares, dict(sorted(merged.items())))

    def close(self) -> None:
        """End the processes."""
        if self._owned:
            self._crew.close()

    def __enter__(self) -> Split:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def split(
    system: System | Callable[[], System], shares: Mapping[str, Any], timeout: float = 30.0, crew: Crew | None = None
) -> Split:
    """Split a system at sampled signals into shares, {name: patterns of parts and plants}, each in a separate
    process. At a tick values go to those who need them as soon as they are computed; the run has the bits of the whole.

    Another cut is refused: outputs of continuous components and plants; plants in two shares; continuous states in two
    with steps that depend on all. A share whose process ends, or that is silent for `timeout` seconds, is a
    `LostPeerError`. Classes must be importable, or `system` a function at the top of a module that makes it. `crew` are
    processes that are there already.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> s = sim.System("two", integrator="rk4", step=0.1)
    >>> _ = s.add("wave", sim.Sine(frequency=1.0))
    >>> _ = s.add("gain", sim.Gain(gain=2.0), every=0.1)
    >>> s.connect("wave.y", "gain.u")
    >>> sim.split(s, {"a": "wave", "b": "gain"})
    Traceback (most recent call last):
        ...
    soacraft.errors.WiringError: the cut between 'a' and 'b' is at 'wave.y' -> 'gain.u', which is of a continuous \
component: a system is split at outputs of sampled components. Put a sim.SampleHold with every= before it, in 'a'.
    """
    complete = system() if callable(system) else system
    if not isinstance(complete, System):
        raise WiringError(f"split takes a system, or a function that makes one; got {complete!r:.60}.")
    complete.board.refuse_begun("it cannot be split")
    cut(complete, shares)
    make = cast(Callable[[], System], system if callable(system) else _recipe(complete))
    job = Job(make, dict(shares), "", float(timeout))
    try:
        pickle.dumps(job)
    except Exception as wrong:
        raise WiringError(
            f"the system {complete.name!r} cannot be sent to other processes: {wrong}. Define its classes, or a "
            "function that makes it, at the top of a module."
        ) from None
    if crew is not None and len(crew) < len(shares):
        raise WiringError(f"{len(shares)} shares need as many processes, and the crew has {len(crew)}.")
    processes = Crew(len(shares)) if crew is None else crew
    try:
        return Split(job, processes, crew is None)
    except BaseException:
        if crew is None:
            processes.close()
        raise


def _recipe(system: System) -> Recipe:
    for path, part in system.diagram.parts.items():
        if isinstance(part.component, Linked):
            raise WiringError(
                f"{path!r} is a link to another program, which cannot be sent to another process: give split a "
                "function that makes the system."
            )
    classes = {type(x.component).__name__: type(x.component) for x in system.diagram.parts.values()}
    models = {path: x.mb for path, x in system.diagram.plants.items()}
    forces = {path: list(x.forces) for path, x in system.diagram.plants.items()}
    return Recipe(describe(system, documents=False), classes, models, forces)


# -- processes -----------------------------------------------------------------------------------------------------


class Crew:
    """Processes that are started once, each joined to each other, and given shares of systems to run."""

    def __init__(self, count: int) -> None:
        context = get_context("spawn")
        mesh: list[dict[int, Any]] = [{} for _ in range(count)]
        for i in range(count):
            for j in range(i):
                mesh[i][j], mesh[j][i] = context.Pipe()
        self._controls, self._processes = [], []
        for i in range(count):
            here, there = context.Pipe()
            process = context.Process(target=work, args=(there, mesh[i]), daemon=True)
            process.start()
            there.close()
            self._controls.append(here)
            self._processes.append(process)
        for ends in mesh:
            for end in ends.values():
                end.close()  # so that the end of a process is seen by the others

    def __len__(self) -> int:
        return len(self._processes)

    def tell(self, messages: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """Answers of the first processes; the first cause is raised if one fails or is gone."""
        waiting: dict[Any, int] = {}
        failed: list[Exception] = []
        answers: list[Any] = [None] * len(messages)
        for i, message in enumerate(messages):
            try:
                self._controls[i].send(message)
                waiting[self._controls[i]] = i
            except OSError:
                failed.append(self._gone(i, names[i]))
        while waiting and not any(not isinstance(x, LostPeerError) for x in failed):
            ready = connection.wait(list(waiting), None if not failed else 2.0)
            if not ready:
                break
            for end in cast(list[connection.Connection], ready):
                i = waiting.pop(end)
                try:
                    good, answers[i] = end.recv()
                except (EOFError, OSError):
                    failed.append(self._gone(i, names[i]))
                    continue
                if not good:
                    failed.append(_error(names[i], *answers[i]))
        if failed:
            self.close()
            raise next((x for x in failed if not isinstance(x, LostPeerError)), _plainest(failed))
        return answers

    def _gone(self, i: int, name: str) -> LostPeerError:
        self._processes[i].join(2.0)
        code = self._processes[i].exitcode
        return named(LostPeerError(f"lost peer: the process of the share {name!r} ended with code {code}."), name)

    def close(self) -> None:
        """End them."""
        for x in self._controls:
            x.close()
        for process in self._processes:
            process.join(0.5)
            if process.is_alive():
                process.kill()
                process.join()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _plainest(failed: Sequence[Exception]) -> Exception:
    """The plainest error of several lost peers: the one whose process ended, before those who missed it."""
    return next((x for x in failed if "ended with code" in str(x)), failed[0])


def _error(name: str, kind: str, text: str) -> Exception:
    error_class = getattr(errors, kind, LinkError)
    error = error_class(f"the share {name!r} failed: {text}")
    if isinstance(error, LinkError):
        error.peer = name
    return error


class Channels:
    """The ways of one share to the others, by pipes."""

    def __init__(self, at: Cut, names: Sequence[str], me: str, mesh: Mapping[int, Any], timeout: float) -> None:
        self._at, self._names, self._me, self._mesh, self._timeout = at, list(names), me, mesh, timeout
        self._numbers = {key: i for i, key in enumerate(at.crossing)}
        self._layouts = {
            key: Layout(key, {"value": Quantity(None, shape=x.shape, dtype=x.dtype)}) for key, x in at.signals.items()
        }
        self._counts = dict.fromkeys(at.crossing, 0)
        self._early: dict[tuple[int, int], bytes] = {}
        self._latest: dict[str, tuple[float, Any]] = {}
        self.open = False

    def send(self, key: str, t: float, value: Any) -> None:
        """Send a value to all shares that need it; once for each time, also where a tick is tried again."""
        if not self.open or self._latest.get(key, (None, None))[0] == t:
            return
        self._latest[key] = t, value
        data = _HEAD.pack(self._numbers[key], self._counts[key]) + self._layouts[key].body((value,))
        self._counts[key] += 1
        for name in self._at.crossing[key]:
            try:
                self._mesh[self._names.index(name)].send_bytes(data)
            except OSError:
                raise self._lost(name, "its process ended") from None

    def receive(self, key: str, t: float) -> Any:
        """The value of a time."""
        if not self.open:
            return self._layouts[key].zeros()[0]
        if self._latest.get(key, (None, None))[0] == t:
            return self._latest[key][1]
        name = self._at.owners[key.partition(".")[0]]
        wanted, pipe = (self._numbers[key], self._counts[key]), self._mesh[self._names.index(name)]
        self._counts[key] += 1
        while wanted not in self._early:
            try:
                if not pipe.poll(self._timeout):
                    raise self._lost(name, f"it was silent for {self._timeout:g} s")
                data = pipe.recv_bytes()
            except (EOFError, OSError):
                raise self._lost(name, "its process ended") from None
            self._early[_HEAD.unpack_from(data)] = data[_HEAD.size :]
        value = self._layouts[key].fields(self._early.pop(wanted))[0]
        self._latest[key] = t, value
        return value

    def _lost(self, name: str, why: str) -> LostPeerError:
        return named(LostPeerError(f"lost peer: the share {name!r} is gone, {why}."), name)


def work(control: Any, mesh: Mapping[int, Any]) -> None:
    """Loop of a process: take shares, run them, answer. It ends after an error, which the others see."""
    shared: tuple[System, Channels, list[str]] | None = None
    with suppress(EOFError, OSError, KeyboardInterrupt):  # nobody is there any more
        while True:
            try:
                verb, argument = control.recv()
                if verb == "take":
                    shared, answer = _taken(argument, mesh), None
                else:
                    assert shared is not None
                    answer = _ran(*shared, *argument)
            except (EOFError, OSError):
                raise
            except SoacraftError as wrong:
                return control.send((False, (type(wrong).__name__, str(wrong))))  # type: ignore[no-any-return]
            except Exception as wrong:  # as a class that cannot be imported here
                return control.send((False, ("WiringError", f"{type(wrong).__name__}: {wrong}")))  # type: ignore[no-any-return]
            control.send((True, answer))


def _taken(job: Job, mesh: Mapping[int, Any]) -> tuple[System, Channels, list[str]]:
    system = job.make()
    at = cut(system, job.shares)
    ways = Channels(at, list(job.shares), job.me, mesh, job.timeout)
    reduce(system, at, job.me, ways)
    system.check()
    return system, ways, [x for x in system.diagram.parts if at.owners[x] == job.me]


def _ran(system: System, ways: Channels, owned: Sequence[str], t: float, signals: Any) -> Any:
    ways.open = True
    try:
        run = system.run(t, signals=signals)
    finally:
        ways.open = False
    keys = [x for x in run.signals if x.partition(".")[0] in owned]
    return (run.t, run.q, run.v, (run.signals._columns, run.signals._rows)), keys
