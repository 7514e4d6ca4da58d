"""`Job`: one call in a separate thread, which can be ended."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_ulong, py_object, pythonapi
from threading import Lock, Thread, get_ident
from typing import Any


class Ended(BaseException):
    """Raised inside a call that is ended. No `except Exception` stops it; `with` and `finally` clean up."""


class Job:
    """A call in a thread. `done(value, error)` is called from that thread when the call has come back.

    `end()` raises `Ended` inside the call, at the next bytecode that Python executes in its thread
    (`PyThreadState_SetAsyncExc`). One call into compiled code - a factorization of NumPy, a compiled recursion - is not
    interrupted: the call ends when that returns. An exception which a destructor or a callback swallows is lost, so
    `end()` is repeated until `over`.

    >>> from threading import Event
    >>> outcome, back = [], Event()
    >>> def forever():
    ...     while True:
    ...         pass
    >>> job = Job(forever, lambda value, error: (outcome.append(type(error).__name__), back.set()))
    >>> job.start()
    >>> job.end()
    >>> back.wait(10.0), job.over, outcome
    (True, True, ['Ended'])
    """

    def __init__(self, call: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        self._call, self._done = call, done
        self._lock = Lock()
        self._thread = Thread(target=self._run, name="soacraft-request", daemon=True)
        self.over = False

    def start(self) -> None:
        """Begin the call; RuntimeError where the machine has no thread left."""
        self._thread.start()

    def end(self) -> None:
        """Raise `Ended` inside the call, unless it is over. From another thread."""
        with self._lock:
            if not self.over and self._thread.ident is not None:
                _raise_in(self._thread.ident, Ended)

    def _run(self) -> None:
        value, error = None, None
        try:
            try:
                value = self._call()
            except BaseException as raised:
                error = raised
            self._settle()
        except Ended as late:  # after the call, or while its own error was taken
            error = error or late
            self._settle()
        self._done(value if error is None else None, error)

    def _settle(self) -> None:
        """Let no further `Ended` in: none is sent from here on, and one that was sent and not raised is withdrawn."""
        while not self.over:
            try:
                with self._lock:
                    self.over = True
            except Ended:
                continue
        _raise_in(get_ident(), None)


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next bytecode; None withdraws one that is pending."""
    pythonapi.PyThreadState_SetAsyncExc(c_ulong(thread), py_object() if kind is None else py_object(kind))
