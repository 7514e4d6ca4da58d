"""`serve`: one page and its requests, in a thread."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from html import escape
from http import HTTPStatus
from threading import Thread, current_thread
from types import TracebackType
from typing import Any, ClassVar, Self

from soacraft.attributes import Uncopied
from soacraft.errors import SoacraftError, ViewError
from soacraft.messages import Handler, Refusal, answer, event, fault, id_of, read
from soacraft.view.drawing.extras import extra
from soacraft.view.server.gate import Gate
from soacraft.view.server.limits import Limits
from soacraft.view.server.work import Work

#: The text of a page, given the nonce that its scripts and styles carry: `<script nonce="...">`.
Page = Callable[[str], str]

_LOG = logging.getLogger("soacraft.view.server")
#: Strangers at the door are no news to a notebook.
_DOOR = logging.getLogger("soacraft.view.server.door")
_DOOR.addHandler(logging.NullHandler())
_DOOR.propagate = False
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Serving(Uncopied):
    """A page that is served: open `url` in a browser, `close()` at the end. In a notebook it shows the page."""

    _instead: ClassVar = "it serves a page in this process; serve another one there"

    def __init__(self, page: Page, handlers: Mapping[str, Handler], host: str, port: int, limits: Limits) -> None:
        self._page, self._handlers, self._limits = page, dict(handlers), limits
        self._sockets = extra("websockets.asyncio.server", "a live page")
        self._http = extra("websockets.http11", "a live page").Response
        self._headers = extra("websockets.datastructures", "a live page").Headers
        self._gone: type[Exception] = extra("websockets.exceptions", "a live page").ConnectionClosed
        self._open: set[Any] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._gate = Gate(host, port, secrets.token_urlsafe(24))
        self._closed = False
        ready: Future[int] = Future()
        self._thread = Thread(target=self._live, args=(ready,), name="soacraft-page", daemon=True)
        self._thread.start()
        try:
            self._gate = Gate(host, ready.result(), self._gate.token)
        except OSError as error:
            raise ViewError(
                f"cannot serve a page at {host!r}, port {port}: {error.strerror or error}. Take another port, or none."
            ) from None

    @property
    def url(self) -> str:
        """The address of the page, with its token: who has it may ask everything that the page may."""
        host = f"[{self._gate.host}]" if ":" in self._gate.host else self._gate.host
        return f"http://{host}:{self._gate.port}/?token={self._gate.token}"

    @property
    def pages(self) -> int:
        """Number of open pages."""
        return len(self._open)

    def send(self, name: str, data: Any) -> None:
        """Send an event to every open page: JSON, or bytes as a binary frame, which a page that is behind does not get.
        From any thread; nothing where the server is closed."""
        if not self._closed:
            self._loop.call_soon_threadsafe(self._push, event(name, data), isinstance(data, bytes))

    def close(self) -> None:
        """End the server and its thread. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._loop.call_soon_threadsafe(self._stop.set)
        if current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return "a page, closed" if self._closed else f"a page at {self.url}"

    def _repr_html_(self) -> str:
        if self._closed:
            return "<p>a page, closed</p>"
        address = escape(self.url, quote=True)
        return f'<iframe title="soacraft" src="{address}" style="width:100%;height:640px;border:0"></iframe>'

    # -- in the thread ---------------------------------------------------------------------------------------------

    def _live(self, ready: Future[int]) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: Future[int]) -> None:
        self._loop, self._stop, self._work = asyncio.get_running_loop(), asyncio.Event(), Work(self._limits)
        most = self._limits
        try:
            server = await self._sockets.serve(
                self._talk, self._gate.host, self._gate.port, process_request=self._request, compression=None,
                max_size=most.message, open_timeout=most.opening, close_timeout=most.opening, server_header=None,
                logger=_DOOR,
            )  # fmt: skip
        except (OSError, OverflowError, UnicodeError) as error:
            ready.set_exception(error if isinstance(error, OSError) else OSError(str(error)))
            return
        port = server.sockets[0].getsockname()[1]
        self._gate = Gate(self._gate.host, port, self._gate.token)
        ready.set_result(port)
        await self._stop.wait()
        for task in self._tasks:
            task.cancel()
        server.close()
        await server.wait_closed()

    def _request(self, connection: Any, request: Any) -> Any:
        """The answer to an HTTP request; None lets a WebSocket in."""
        way = request.path.partition("?")[0]
        socket = way == "/socket"
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if refused := self._gate.refused(request.path, hosts, origins, socket):
            return self._respond(HTTPStatus.FORBIDDEN, f"refused: {refused}\n")
        if socket:
            if len(self._open) < self._limits.connections:
                return None
            text = f"{self._limits.connections} pages are open, which is the most; close one.\n"
            return self._respond(HTTPStatus.SERVICE_UNAVAILABLE, text)
        if way != "/":
            return self._respond(HTTPStatus.NOT_FOUND, "there is one page here, at /.\n")
        nonce = secrets.token_urlsafe(16)
        try:
            text = self._page(nonce)
        except Exception as error:
            _LOG.exception("the page cannot be made")
            return self._respond(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}\n")
        return self._respond(HTTPStatus.OK, text, "text/html", nonce)

    def _respond(self, status: HTTPStatus, text: str, kind: str = "text/plain", nonce: str = "") -> Any:
        body = text.encode("utf-8", "replace")
        headers = {"Content-Type": f"{kind}; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
        policy = {"Content-Security-Policy": self._gate.policy(nonce) if nonce else "default-src 'none'"}
        return self._http(status.value, status.phrase, self._headers({**headers, **_HEADERS, **policy}), body)

    async def _talk(self, connection: Any) -> None:
        """One page: every message is answered, in the order in which answers are ready."""
        if len(self._open) >= self._limits.connections:  # several came in at once
            await connection.close(1013, "too many pages are open; close one")
            return
        self._open.add(connection)
        try:
            async for message in connection:
                try:
                    self._work.enter()
                except Refusal as error:  # sent from here, so that who asks too fast is read the slower
                    await connection.send(fault(id_of(message) if isinstance(message, str) else None, error))
                    continue
                task = asyncio.create_task(self._reply(connection, message))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
        except self._gone:
            pass
        finally:
            self._open.discard(connection)

    async def _reply(self, connection: Any, message: str | bytes) -> None:
        asked = None
        try:
            try:
                if isinstance(message, bytes):
                    raise Refusal("unreadable", "a request is a JSON object, not a binary frame.")
                asked = id_of(message)
                handler, request = read(message, self._handlers)
                asked = number = request.id
                most = self._limits.answer
                data = await self._work.run(lambda: answer(number, handler.answer(request), most))
            except Exception as error:
                if not isinstance(error, SoacraftError):  # the page gets its kind alone
                    _LOG.error("a request failed inside soacraft", exc_info=error)
                data = fault(asked, error)
            await connection.send(data)
        except self._gone:
            pass  # nobody waits for it
        finally:
            self._work.leave()

    def _push(self, data: str | bytes, frame: bool) -> None:
        most = self._limits.backlog
        ready = [x for x in self._open if not frame or x.transport.get_write_buffer_size() < most]
        self._sockets.broadcast(ready, data)


def serve(
    page: Page, handlers: Mapping[str, Handler], *, host: str = "127.0.0.1", port: int = 0, limits: Limits | None = None
) -> Serving:
    """Serve a page and answer its requests, in a thread, until `close()`. Needs the extra `view`.

    `page` gives the text of the page for the nonce that its scripts and styles must carry; nothing else runs there, and
    nothing outside this server is asked (Content-Security-Policy). It opens its WebSocket at `"/socket" +
    location.search`. `handlers` answer verbs; what they raise goes to the page as a message. The server listens on this
    machine alone unless `host` is another of its addresses. Each server has another token in its address.

    >>> from soacraft.view.server import Handler, Request, serve
    >>> def add(asked): return asked.a + asked.b
    >>> class Add(Request):
    ...     a: float
    ...     b: float
    >>> with serve(lambda nonce: "<!doctype html><title>sum</title>", {"add": Handler(Add, add)}) as page:
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    return Serving(page, handlers, host, port, limits or Limits())
