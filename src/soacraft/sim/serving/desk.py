"""`Desk`: where what clients ask of a system is done, between the steps of a run or while there is none.

A run calls `look` between its steps, in its own thread, every few milliseconds: there requests are answered, values are
sent to who follows them, and the run waits while it is paused. So no two threads touch a system at once.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Condition, RLock, Thread, current_thread
from typing import TYPE_CHECKING, Any, NamedTuple

from soacraft.errors import SimulationError, SoacraftError, WiringError, near
from soacraft.sim.course.task import CHANGED
from soacraft.sim.serving.followers import Followers, Following
from soacraft.sim.serving.stretch import Stretch
from soacraft.sim.systems.present import Present

if TYPE_CHECKING:
    from soacraft.sim.systems.system import System

_LOG = logging.getLogger("soacraft.sim.serving")
#: Cause of the end of a part of a run that clients started; it goes on after what had to be done between runs.
_BETWEEN = "served"
#: Steps after which a run that clients started is divided, so that its rows are released.
_ROWS = 20_000
#: Seconds ahead of a run without an end, as single steps make one.
_FAR = 1e6


class _Job(NamedTuple):
    """Task of the desk: if it is for between runs alone, and if it changes values that rates depend on."""

    act: Callable[[], Any]
    done: Future[Any]
    between: bool
    changes: bool


class _Order(NamedTuple):
    """A run that was asked for here."""

    goal: float
    is_open: bool = False
    """True for a run of single steps, which has no end."""
    pace: float | None = None


class Desk:
    """One for a system, however many servers there are."""

    def __init__(self, system: System) -> None:
        self._system, self._changed = system, Condition(RLock())
        self._jobs: deque[_Job] = deque()
        self._followers = Followers()
        self._present: Present | None = None
        self._thread: Thread | None = None  # that in which a run is
        self._driver: Thread | None = None  # that of a run that was asked for here
        self._order: _Order | None = None
        self._leave, self._error = False, ""
        self._steps_left: int | None = None  # of a run that is paused
        self._altered = False  # what rates depend on was changed
        self._stretch = Stretch()
        self._stepped: list[Future[Any]] = []
        self.users = 0
        """Number of servers."""

    # -- of the system -----------------------------------------------------------------------------------------

    @contextmanager
    def running(self) -> Iterator[None]:
        """A run of the system, in the thread that calls this."""
        with self._changed:
            if self._thread is not None:
                raise SimulationError(
                    f"the system {self._system.name!r} is in a run already, at t = {self._system.t:.9g} s: wait for "
                    "its end."
                )
            self._thread, self._leave = current_thread(), False
            self._stretch = Stretch()
        try:
            yield
        finally:
            with self._changed:
                self._thread = None
                self._work()
                self._followers.send(self._read, every=True)
                if self._driver is not current_thread():
                    self._ended("")

    def look(self, taken: int) -> str:
        """Work between two steps of a run, in its thread, after `taken` steps since the last look."""
        self._stretch.end(taken)
        cause = ""
        rows = self._stretch.total
        if self._jobs or self._is_paused or self._altered or self._leave or self._followers.due or rows >= _ROWS:
            cause = self._attend()
        self._stretch.begin()
        return cause

    @property
    def ahead(self) -> int:
        """Number of steps that a run takes before it looks again: one if clients step singly, else as many as take
        a few milliseconds."""
        if self._is_paused:
            return 1
        rows = _ROWS - self._stretch.total
        return min(self._stretch.steps, rows) if rows > 0 and self._driver is self._thread else self._stretch.steps

    @property
    def _is_paused(self) -> bool:
        return self._steps_left is not None

    def _attend(self) -> str:
        """Do what is asked for, send what is due, and wait while there is a pause."""
        with self._changed:
            while True:
                self._work()
                if self._stretch.total >= _ROWS and self._driver is self._thread:
                    self._leave = True
                if self._followers.due:
                    self._followers.send(self._read)
                if self._leave:
                    return _BETWEEN
                if self._steps_left is None or self._steps_left > 0:
                    self._steps_left = None if self._steps_left is None else self._steps_left - 1
                    cause, self._altered = CHANGED if self._altered else "", False
                    return cause
                self._resolve_steps()
                self._changed.wait(min(0.5, self._followers.wait))

    def _work(self) -> None:
        """Do what is asked for."""
        later = []
        while self._jobs:
            job = self._jobs.popleft()
            if job.between and self._thread is not None:
                if self._driver is self._thread:
                    later.append(job)
                    self._leave = True
                    continue
                job = job._replace(act=self._refuse_between)
            self._do(job)
            self._altered = self._altered or job.changes
        self._jobs.extend(later)

    def _refuse_between(self) -> None:
        raise SimulationError(
            f"this is done between runs, and {self._system.name!r} is in a run that its program began, at t = "
            f"{self._system.t:.9g} s: wait for its end."
        )

    def _do(self, job: _Job) -> None:
        if not job.done.set_running_or_notify_cancel():  # nobody waits for it any more
            return
        try:
            result = job.act()
        except Exception as wrong:
            job.done.set_exception(wrong)
        else:
            if isinstance(result, Future):  # it is answered later
                result.add_done_callback(lambda x: _copy(x, job.done))
            else:
                job.done.set_result(result)

    # -- of servers ----------------------------------------------------------------------------------------------

    def ask(self, act: Callable[[], Any], between: bool = False, changes: bool = False) -> Future[Any]:
        """Have something done where nothing else touches the system: at once where there is no run, else between two
        steps of it, or between runs. `changes`: it may change what rates depend on."""
        job = _Job(act, Future(), between, changes)
        with self._changed:
            self._jobs.append(job)
            if (self._thread is None and self._driver is None) or self._thread is current_thread():
                self._work()
            self._changed.notify_all()
        return job.done

    @property
    def system(self) -> System:
        """The system that is served."""
        return self._system

    @property
    def is_running(self) -> bool:
        """True if the system is in a run."""
        return self._thread is not None

    def status(self) -> dict[str, Any]:
        """The time, whether a run is going or paused, and what ended the last that was asked for here."""
        going = self.is_running or self._driver is not None
        word = "paused" if self._is_paused else "running" if going else "idle"
        order = self._order
        goal = None if self._driver is None or order is None or order.is_open else order.goal
        return {"system": self._system.name, "t": self._system.t, "status": word, "goal": goal, "error": self._error}

    def present(self) -> Present:
        """Names and values of the system."""
        if self._present is None or not self._present.is_current:
            self._present = Present(self._system)
        return self._present

    def _read(self, names: Sequence[str]) -> tuple[float, dict[str, Any]]:
        present, running = self.present(), self.is_running
        return self._system.t, {key: present.value(key, running) for key in names if key in present.names}

    def show(self) -> None:
        """Give the models of plants the state of the run, so that scenes of them follow; the run has its own."""
        if self.is_running:
            present = self.present()
            for path, plant in self._system.diagram.plants.items():
                q, v = (present.value(f"{path}.{x}", True) for x in "qv")
                if len(q) == plant.mb.nq and len(v) == plant.mb.nv:
                    plant.mb.set_state(q, v)

    def get(self, patterns: Sequence[str], most: int) -> dict[str, Any]:
        """Values {name: value} of the names that match, and the time."""
        t, values = self._read(self._chosen(patterns, most))
        return {"t": t, "values": values}

    def _chosen(self, patterns: Sequence[str], most: int) -> list[str]:
        names = list(dict.fromkeys(key for x in patterns for key in self.present().matching(x)))
        if len(names) > most:
            raise WiringError(f"these are {len(names)} names, and {most} are the most at once: ask for fewer.")
        return names

    def follow(self, patterns: Sequence[str], period: float, most: int, send: Callable[[Any], None]) -> int:
        """Have values sent, from now on, every `period` seconds of the clock on the wall while they change."""
        names = self._chosen(patterns, most)
        number = self._followers.add(Following(tuple(names), period, send))
        if not self.is_running:
            self._followers.send(self._read)
        return number

    def leave(self, number: int) -> bool:
        """Send them no more; whether they were sent."""
        return self._followers.remove(number)

    def set(self, name: str, value: Any) -> Any:
        """Set a parameter; between runs also a state, or q or v of a plant."""
        port = self.present().names.get(name)
        kind = "nothing that it has" if port is None else f"an {port.kind}"
        if port is None or port.kind not in ("parameter", "state", "coordinates", "velocities"):
            settable = [key for key, x in self.present().names.items() if x.kind in ("parameter", "state")]
            raise WiringError(f"{name!r:.60} of {self._system.name!r} is {kind}; parameters, states, and q and v of "
                              f"plants can be set{near(name, settable)}")  # fmt: skip
        if port.kind != "parameter" and self.is_running:
            return self.ask(lambda: self.set(name, value), between=True)
        if port.kind == "parameter":
            self._system.params[name] = value
        elif port.kind == "state":
            self._system.states[name] = value
        else:
            mb = self._system.diagram.plants[name.rpartition(".")[0]].mb
            mb.set_state(*((value, mb.v) if port.kind == "coordinates" else (mb.q, value)))
        return self._read([name])[1]

    # -- runs that are asked for here ------------------------------------------------------------------------------

    def pause(self) -> dict[str, Any]:
        """Wait where the run is; a run that begins later waits at its beginning."""
        self._steps_left = 0
        return self.status()

    def run(self, t: float | None, pace: float | None = None) -> dict[str, Any]:
        """Go on to time t; without one, go on after a pause. `pace` as in `System.run`."""
        if t is None:
            if not self._is_paused and not self.is_running and self._driver is None:
                raise SimulationError("there is no run to go on with: say to which time, t.")
        elif self.is_running and self._driver is None:
            raise SimulationError(
                f"the system {self._system.name!r} is in a run that its program began, at t = {self._system.t:.9g} s."
            )
        elif not t > self._system.t:
            raise SimulationError(f"the run is at t = {self._system.t:.9g} s already, so it cannot go on to {t:.9g} s.")
        else:
            self._drive(t, pace=pace)
        if self._order is not None and self._order.pace is not None and self._driver is not None:
            self._leave = True  # a clock on the wall does not wait: it starts again
        self._steps_left = None
        self._resolve_steps()
        return self.status()

    def step(self, count: int) -> Future[Any]:
        """Take some steps of the integrator and pause; the answer comes after the last."""
        if not self._is_paused and (self.is_running or self._driver is not None):
            raise SimulationError(f"the run goes on at t = {self._system.t:.9g} s: pause it before single steps.")
        self._steps_left = (self._steps_left or 0) + count
        if not self.is_running and self._driver is None:
            self._drive(self._system.t + _FAR, True)
        done: Future[Any] = Future()
        self._stepped.append(done)
        return done

    def _drive(self, goal: float, is_open: bool = False, pace: float | None = None) -> None:
        self._system.check()
        self._order, self._error = _Order(goal, is_open, pace), ""
        if self._driver is None:
            self._driver = Thread(target=self._drives, name="soacraft-run", daemon=True)
            self._driver.start()
        else:
            self._leave = True  # and begin again, to the new time

    def _drives(self) -> None:
        """Runs, one after the other, up to the goal."""
        error = ""
        try:
            while (order := self._order) is not None and self._system.t < order.goal:
                run = self._system.run(order.goal, pace=order.pace)
                if run.stopped_by not in ("", _BETWEEN):
                    break
        except SoacraftError as wrong:
            error = str(wrong)
        except Exception as wrong:
            _LOG.exception("a run failed inside soacraft")
            error = f"a mistake inside soacraft, please report it: {type(wrong).__name__}."
        with self._changed:
            self._driver, self._order, self._steps_left = None, None, None
            self._ended(error)
            self._work()

    def _ended(self, error: str) -> None:
        self._error = error
        self._resolve_steps()
        self._followers.tell("ended", {"t": self._system.t, "error": error})

    def _resolve_steps(self) -> None:
        while self._stepped:
            done = self._stepped.pop(0)
            if not done.done():
                done.set_result(self.status())

    def close(self) -> None:
        """A server ends; with the last one a run that was asked for here is stopped, and a pause ends."""
        with self._changed:
            self.users -= 1
            if self.users > 0:
                return
            self._followers.clear()
            self._order = self._steps_left = None
            self._leave = self._driver is not None
            driver = self._driver
            self._changed.notify_all()
        if driver is not None and driver is not current_thread():
            driver.join()


def _copy(a: Future[Any], b: Future[Any]) -> None:
    wrong = a.exception()
    if wrong is None:
        b.set_result(a.result())
    else:
        b.set_exception(wrong)
