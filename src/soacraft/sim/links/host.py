"""Foreign code in a separate process: its crash is an error with a name, and its silence too."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import sys
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from soacraft.errors import LinkError, LostPeerError

_Error = TypeVar("_Error", bound=LinkError)
_HERE = Path(__file__).parent
#: A process may take so long to start, in seconds, whatever the time for answers.
_START = 60.0
#: Seconds between looks at the clock, for answers that are late.
_LOOK = 0.05


class Host:
    """A process that runs `serve_NAME.py`. `peer` is its name in messages; `timeout` is for each answer, in seconds."""

    def __init__(self, peer: str, module: str, config: dict[str, Any], timeout: float) -> None:
        self._peer, self._timeout = peer, timeout
        command = [sys.executable, "-P", str(_HERE / "serve.py"), str(_HERE / f"{module}.py")]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._watched = _Watched(self._process)
        weakref.finalize(self, _stop, self._process, self._watched)
        threading.Thread(target=self._watched.look, daemon=True).start()
        try:
            self.hello: dict[str, Any] = json.loads(self.call("begin", json.dumps(config).encode(), "at its start"))
        except BaseException:
            self.close()
            raise

    def call(self, name: str, body: bytes, when: str) -> bytes:
        """Bytes that a method returns for bytes; `when` is for messages."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        request = bytes([len(name)]) + name.encode() + body
        self._watched.due = time.monotonic() + (max(_START, self._timeout) if name == "begin" else self._timeout)
        try:
            stdin.write(struct.pack("<I", len(request)) + request)
            stdin.flush()
            head = stdout.read(4)
            data = stdout.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
        except OSError:
            data = b""
        finally:
            self._watched.due = None
        if not data:
            raise self._gone(when)
        if data[0]:
            raise named(LinkError(f"{self._peer!r} failed {when}: {data[1:].decode(errors='replace')}."), self._peer)
        return data[1:]

    def _gone(self, when: str) -> LostPeerError:
        self._process.kill() if self._watched.late else None
        code = self._process.wait()
        why = f"with code {code}"
        if code < 0:
            try:
                why = f"by {signal.Signals(-code).name}"
            except ValueError:
                why = f"by signal {-code}"
        text = f"lost peer: the process of {self._peer!r} ended {why}, {when}."
        if self._watched.late:
            text = f"lost peer: {self._peer!r} gave no answer within {self._timeout:g} s, {when}; it was ended."
        self.close()
        return named(LostPeerError(text), self._peer)

    @property
    def alive(self) -> bool:
        """True if the process runs."""
        return self._process.poll() is None

    def close(self) -> None:
        """End the process."""
        _stop(self._process, self._watched)


class _Watched:
    """A process that is killed when an answer is late."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self.due: float | None = None
        self.late = self.done = False

    def look(self) -> None:
        """Watch the process until it is released."""
        while not self.done and self._process.poll() is None:
            due = self.due
            if due is not None and time.monotonic() > due:
                self.late = True
                self._process.kill()
                return
            time.sleep(_LOOK)


def _stop(process: subprocess.Popen[bytes], watched: _Watched) -> None:
    watched.done = True
    if process.poll() is None:
        process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):  # what was not sent is lost with it
                stream.close()


def named(error: _Error, peer: str) -> _Error:
    """An error with the name of the other side."""
    error.peer = peer
    return error
