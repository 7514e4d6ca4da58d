"""`Lines`: a system served to programs of this machine, as lines of JSON over TCP."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from threading import Thread, current_thread
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from soacraft.errors import SimulationError
from soacraft.messages import Handler, Refusal, answer, event, fault, id_of, read
from soacraft.sim.serving.verbs import Hello, Verbs

if TYPE_CHECKING:
    from soacraft.sim.serving.desk import Desk
    from soacraft.sim.systems.system import System

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Limits:
    """Bounds of a served system. Beyond them a request is answered with an error, or a connection is closed.

    >>> Limits().clients
    32
    """

    #: Bytes of one line to the server.
    line: int = 2**20
    #: Bytes of one answer.
    answer: int = 8 * 2**20
    #: Bytes that wait for a slow client before values to it are left out; of twice as many it is closed.
    backlog: int = 4 * 2**20
    #: Clients at once.
    clients: int = 32
    #: Requests of one client in a second, on average over some seconds.
    rate: float = 500.0
    #: Subscriptions of one client.
    subscriptions: int = 16
    #: Names in one request.
    names: int = 2000
    #: Seconds for one request, and for the token.
    seconds: float = 20.0


class Lines:
    """A served system: `address` and `token` are what a client needs, `close()` ends it. `System.serve` makes it."""

    def __init__(self, system: System, port: int, folder: str | PathLike[str] | None, limits: Limits | None) -> None:
        self._system, self._limits, self._token = system, limits or Limits(), secrets.token_urlsafe(24)
        self._folder = None if folder is None else Path(folder)
        self._desk, self._closed, self._clients = system.desk(), False, 0
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        ready: Future[int] = Future()
        self._thread = Thread(target=lambda: asyncio.run(self._serve(port, ready)), name="soacraft-lines", daemon=True)
        self._thread.start()
        try:
            self._port = ready.result()
        except (OSError, OverflowError, TypeError) as error:
            why = getattr(error, "strerror", None) or error
            message = f"cannot serve {system.name!r} at port {port!r:.40}: {why}. Take another port, or none."
            raise SimulationError(message) from None
        self._desk.users += 1

    @property
    def address(self) -> tuple[str, int]:
        """Host, which is this machine, and port."""
        return HOST, self._port

    @property
    def token(self) -> str:
        """Secret that a client sends first: who has it may ask everything."""
        return self._token

    @property
    def clients(self) -> int:
        """Number of connected clients."""
        return self._clients

    def close(self) -> None:
        """End the server, the runs that were asked for here, and a pause. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._stop.set)
        if current_thread() is not self._thread:
            self._thread.join()
        self._desk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{self._system.name!r}, {'closed' if self._closed else f'served at {HOST}:{self._port}'}"

    # -- in the thread ---------------------------------------------------------------------------------------------

    async def _serve(self, port: int, ready: Future[int]) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await asyncio.start_server(self._talk, HOST, port, limit=self._limits.line)
        except Exception as error:
            ready.set_exception(error)
            return
        ready.set_result(server.sockets[0].getsockname()[1])
        await self._stop.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        for writer in list(self._open):
            writer.transport.abort()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client: its lines are answered one after the other."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        client = _Client(_Service(self._desk, self._token, self._limits, self._folder, self._loop), writer)
        try:
            if self._clients >= self._limits.clients:
                most = f"{self._limits.clients} clients are here, which is the most; come again later."
                client.send(fault(None, Refusal("busy", most)))
                return
            self._clients += 1
            self._open.add(writer)
            try:
                await client.live(reader)
            finally:
                self._clients -= 1
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._open.discard(writer)
            self._tasks.discard(task)
            client.verbs.close()
            with suppress(OSError, RuntimeError, asyncio.CancelledError):
                writer.close()
                await asyncio.wait_for(writer.wait_closed(), 2.0)


class _Service(NamedTuple):
    """Parts of a server that all its clients share."""

    desk: Desk
    token: str
    limits: Limits
    folder: Path | None
    loop: asyncio.AbstractEventLoop


class _Client:
    """A connection, and what it may do."""

    def __init__(self, service: _Service, writer: asyncio.StreamWriter) -> None:
        self._service, self._writer, self._limits = service, writer, service.limits
        self._left, self._last = 2.0 * self._limits.rate, monotonic()
        self._dropped = 0
        self.verbs = Verbs(service.desk, self._limits, service.folder, self._take)

    async def live(self, reader: asyncio.StreamReader) -> None:
        """Read lines and answer them, until the end."""
        async with asyncio.timeout(self._limits.seconds):
            first = await self._line(reader)
        if first is None or not await self._admitted(first):
            return
        while (line := await self._line(reader)) is not None:
            if not line.strip():
                continue
            await self._reply(line, self.verbs.handlers)
            await self._writer.drain()

    async def _line(self, reader: asyncio.StreamReader) -> bytes | None:
        """The next line; None at the end, or where it is too long, which is answered."""
        try:
            return await reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as rest:
            return rest.partial or None
        except asyncio.LimitOverrunError:
            most = self._limits.line
            self.send(fault(None, Refusal("large", f"a line has {most:,} bytes at most; the connection is closed.")))
            return None

    async def _admitted(self, line: bytes) -> bool:
        """True if the first line has the token; compared in a time that does not reveal how much of it is right."""
        good = False

        def hello(asked: Hello) -> dict[str, Any]:
            nonlocal good
            good = hmac.compare_digest(asked.token.encode("utf-8", "surrogatepass"), self._service.token.encode())
            if not good:
                raise Refusal("token", "the token is not that of this system.")
            return {"system": self._service.desk.system.name, "format": "soacraft-lines/1"}

        await self._reply(line, {"hello": Handler(Hello, hello)})
        return good

    async def _reply(self, line: bytes, handlers: Mapping[str, Handler]) -> None:
        text = line.decode("utf-8", "replace")
        asked = id_of(text)
        try:
            self._pay()
            handler, request = read(text, handlers)
            result = handler.answer(request)
            if isinstance(result, Future):
                try:
                    async with asyncio.timeout(self._limits.seconds):
                        result = await asyncio.wrap_future(result)
                except TimeoutError:
                    raise Refusal("time", f"no answer in {self._limits.seconds:g} s: a step takes longer.") from None
            data = answer(request.id, result, self._limits.answer)
        except Exception as error:
            data = fault(asked, error)
        self.send(data)

    def _pay(self) -> None:
        """Refuse who asks too fast."""
        now, most = monotonic(), 2.0 * self._limits.rate
        self._left, self._last = min(most, self._left + (now - self._last) * self._limits.rate), now
        if self._left < 1.0:
            raise Refusal("rate", f"more than {self._limits.rate:g} requests in a second: ask more slowly.")
        self._left -= 1.0

    def send(self, data: str | bytes) -> None:
        """A line to the client; one that takes nothing any more is closed."""
        self._writer.write((data if isinstance(data, bytes) else data.encode()) + b"\n")
        if self._writer.transport.get_write_buffer_size() > 2 * self._limits.backlog:
            self._writer.transport.abort()

    def _take(self, message: dict[str, Any]) -> None:
        """Take a message for the client, from any thread."""
        with suppress(RuntimeError):  # the server is closed, and so is its loop
            self._service.loop.call_soon_threadsafe(self._push, message)

    def _push(self, message: dict[str, Any]) -> None:
        if self._writer.transport.get_write_buffer_size() > self._limits.backlog:
            self._dropped += 1
            return
        if self._dropped:
            message, self._dropped = {**message, "data": {**message["data"], "left_out": self._dropped}}, 0
        with suppress(OSError, RuntimeError):
            self.send(event(message["event"], message["data"]))
