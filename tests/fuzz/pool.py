"""Workers watched from outside: a crash or a silence is an answer too."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.cases import Case
from tests.fuzz.check import MEGABYTES
from tests.fuzz.worker import encode

ROOT = Path(__file__).parents[2]
SILENCE = 30.0


class Answer(NamedTuple):
    """What became of an input: 'accepted', 'refused' or 'broken', with the reason for the last."""

    outcome: str
    seconds: float
    megabytes: float
    text: str


class Worker:
    """A worker process; started when it is needed, and anew after it broke. `first` is code that it runs before."""

    def __init__(self, first: str = "", silence: float = SILENCE) -> None:
        self._program = f"{first}\nfrom tests.fuzz.worker import main\nmain()\n"
        self._silence = silence
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="soacraft-fuzz-")
        self._buffer = b""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process, self._buffer = None, b""

    def row(self, kind: str, seed: int, first: int, last: int) -> Iterator[tuple[int, Answer]]:
        """The answers to inputs first .. last - 1."""
        number = first
        while number < last:
            self._send({"kind": kind, "seed": seed, "first": number, "last": last})
            while number < last:
                answer, alive = self._receive()
                yield number, answer
                number += 1
                if not alive:
                    break

    def one(self, case: Case) -> Answer:
        """The answer to one case."""
        self._send({"case": encode(case)})
        return self._receive()[0]

    def _send(self, order: dict[str, Any]) -> None:
        if self._process is None:
            command = [sys.executable, "-X", "faulthandler", "-c", self._program, self._folder.name]
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
            with open(Path(self._folder.name) / "stderr", "wb") as said:
                self._process = subprocess.Popen(
                    command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said
                )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()

    def _receive(self) -> tuple[Answer, bool]:
        """The next answer, and whether the worker can go on."""
        assert self._process is not None
        line = self._line(time.monotonic() + self._silence)
        if line is None:
            self.stop()
            return Answer("broken", self._silence, 0.0, f"hang: no answer for {self._silence:.0f} s"), False
        if not line:
            code = self._process.wait()
            self.stop()
            said = (Path(self._folder.name) / "stderr").read_text(errors="replace").strip().splitlines()
            return Answer("broken", 0.0, 0.0, f"crash: exit {code}: {' | '.join(said[:6])[:500]}"), False
        answer = Answer(*json.loads(line))
        if answer.megabytes > MEGABYTES:
            self.stop()
            return answer, False
        return answer, True

    def _line(self, deadline: float) -> bytes | None:
        """A line of the worker's; b'' at its end, None when it stays silent."""
        assert self._process is not None
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return None
            read = os.read(handle, 65536)
            if not read:
                return b""
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line
