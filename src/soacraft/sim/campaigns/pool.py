"""Processes that compute rows, which may die: what a dead one had is given to another, a few times.

The standard library's pools end when a process of theirs is killed. Here every process has a pipe and one piece of
work; its end is seen, and another takes its place. Processes end by themselves when their parent is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from time import sleep
from typing import Any, NamedTuple

from soacraft.errors import CampaignError

#: Deaths of a process over one piece of work, after which it is not tried again.
DEATHS = 3
#: Seconds until a process that could not be started is tried again.
_AGAIN = 0.2
#: New interpreters, which share nothing with this one; where the system has it, copies of one that has all imported.
_WAY = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
_CONTEXT: Any = multiprocessing.get_context(_WAY)
if _WAY == "forkserver":
    _CONTEXT.set_forkserver_preload(["soacraft.sim.campaigns.job"])


class Task(NamedTuple):
    """A piece of work: a method of the job, and its arguments."""

    method: str
    arguments: tuple[Any, ...]


class Done(NamedTuple):
    """Result of a task: the value of the method, or the end of its process."""

    task: Task
    value: Any
    death: str = ""


class _Worker:
    def __init__(self, job: Any) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_serve, args=(theirs,), daemon=True)
        try:
            self.process.start()
        except (OSError, EOFError):
            self.pipe.close()
            raise
        finally:
            theirs.close()
        self.ready = False
        self.task: Task | None = None
        _guarded(self.pipe.send, job)

    def give(self, task: Task) -> None:
        self.task = task
        self.pipe.send(task)

    def end(self) -> None:
        self.pipe.close()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


def _serve(pipe: Connection) -> None:
    """A process: take work until the pipe ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    try:
        job = pipe.recv()
        pipe.send(None)
        while True:
            task = pipe.recv()
            try:
                pipe.send((True, getattr(job, task.method)(*task.arguments)))
            except Exception as wrong:
                pipe.send((False, f"{type(wrong).__name__}: {wrong}"))
    except (EOFError, OSError):
        return


def _follow(parent: Any) -> None:
    """End with the parent, whatever is being computed."""
    wait([parent.sentinel])
    os._exit(1)


def compute(job: Any, tasks: Iterable[Task], workers: int, deaths: int = DEATHS) -> Iterator[Done]:
    """Results of tasks, in the order in which they end. `workers` 0 computes here."""
    if workers == 0:
        for task in tasks:
            yield Done(task, getattr(job, task.method)(*task.arguments))
        return
    _refuse_notebook(job)
    todo, died = deque(tasks), dict[Task, int]()
    crew: list[_Worker] = []
    stillborn = 0
    try:
        while todo or any(x.task is not None for x in crew):
            while len(crew) < min(workers, len(todo) + sum(x.task is not None for x in crew)):
                try:
                    crew.append(_Worker(job))
                except (OSError, EOFError) as wrong:  # the process that starts others was killed: it is started again
                    stillborn += 1
                    if stillborn > deaths + workers:
                        how = f"{type(wrong).__name__}: {wrong}"
                        raise CampaignError(f"processes do not start: {how}. {_CURE}") from wrong
                    sleep(_AGAIN)
            for worker in crew:
                if worker.ready and worker.task is None and todo:
                    _guarded(worker.give, todo.popleft())
            wait([x for worker in crew for x in (worker.pipe, worker.process.sentinel)])
            for worker in list(crew):
                answer = _answer(worker)
                if answer is _DEAD:
                    crew.remove(worker)
                    worker.end()
                    lost, how = worker.task, _how(worker.process.exitcode)
                    if not worker.ready:
                        stillborn += 1
                        if stillborn > deaths + workers:
                            raise CampaignError(f"processes do not start: {how}. {_CURE}")
                    elif lost is not None:
                        died[lost] = died.get(lost, 0) + 1
                        if died[lost] < deaths:
                            todo.appendleft(lost)
                        else:
                            yield Done(lost, None, f"its process ended {deaths} times: {how}")
                elif answer is not _NOTHING and not worker.ready:
                    worker.ready, stillborn = True, 0
                elif answer is not _NOTHING:
                    ended, worker.task = worker.task, None
                    assert ended is not None
                    good, value = answer
                    if not good:
                        raise CampaignError(f"{ended.method}{ended.arguments} failed outside of its run: {value}")
                    yield Done(ended, value)
    finally:
        for worker in crew:
            worker.end()


_DEAD, _NOTHING = object(), object()
_CURE = (
    "The functions that make and measure must be in a module that can be imported, and a script has its work below "
    "`if __name__ == '__main__':`. workers=0 computes in this process."
)


def _answer(worker: _Worker) -> Any:
    try:
        alive = worker.process.is_alive()  # before the pipe is looked at: what it sent last is read first
        if worker.pipe.poll():
            return worker.pipe.recv()
    except (EOFError, OSError):
        return _DEAD
    return _NOTHING if alive else _DEAD


def _guarded(act: Callable[[Any], None], given: Any) -> None:
    """The end of a process is seen afterwards."""
    with suppress(OSError):
        act(given)


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {-code}" + (" (killed, perhaps for want of memory)" if code == -9 else "")
    return f"exit code {code}"


def _refuse_notebook(job: Any) -> None:
    main = sys.modules.get("__main__")
    has_file = getattr(main, "__file__", None) is not None or getattr(main, "__spec__", None) is not None
    function = getattr(job.source, "function", None)
    if not has_file and any(getattr(x, "__module__", "") == "__main__" for x in (function, *job.functions.values())):
        raise CampaignError(f"other processes cannot import functions that are typed at a prompt. {_CURE}")
