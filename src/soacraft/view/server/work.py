"""Requests in work: a bounded number of them, each with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from soacraft.messages import Refusal
from soacraft.view.server.job import Job
from soacraft.view.server.limits import Limits

#: Seconds between two attempts to end a call: time for `finally` to clean up after the first.
_AGAIN = 0.5


class Work:
    """Threads for handlers: `limits.workers` at once. A handler that is out of time is answered for and ended
    (`Job.end`), and so is one whose server closes; its thread is free again once the compiled code it is in returns.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = asyncio.Semaphore(limits.workers)
        self._taken = 0

    def enter(self) -> None:
        """Take a place for a request, or refuse."""
        if self._taken >= self._limits.requests:
            raise Refusal("busy", f"{self._limits.requests} requests are in work, which is the most; ask again later.")
        self._taken += 1

    def leave(self) -> None:
        """Give the place back."""
        self._taken -= 1

    async def run(self, call: Callable[[], Any]) -> Any:
        """Result or error of a call; a refusal where it takes too long."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                await self._free.acquire()
                return await self._start(call)
        except TimeoutError:
            most = self._limits.seconds
            raise Refusal("time", f"no answer in {most:g} s, which is the limit; ask for something smaller.") from None

    def _start(self, call: Callable[[], Any]) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def finish(value: Any, error: BaseException | None) -> None:
            self._free.release()
            if future.done():  # given up
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def done(value: Any, error: BaseException | None) -> None:
            # a TimeoutError or StopIteration of a handler must not look like one of ours
            if error is not None and (
                not isinstance(error, Exception) or isinstance(error, (TimeoutError, StopIteration))
            ):
                error = RuntimeError(type(error).__name__)
            with suppress(RuntimeError):  # the server is closed, and so is its loop
                loop.call_soon_threadsafe(finish, value, error)

        def end() -> None:
            if not job.over:
                job.end()
                loop.call_later(_AGAIN, end)

        job = Job(call, done)
        try:
            job.start()
            future.add_done_callback(lambda answered: end() if answered.cancelled() else None)
        except RuntimeError:  # no more threads
            finish(None, Refusal("busy", "the machine has no thread left; ask again later."))
        return future
