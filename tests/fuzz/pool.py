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
#: Seconds of processor time without an answer, or asleep, that count as a hang. Waiting for a core is neither.
SILENCE = 30.0
_LOOK = 0.25


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
        self.silence = silence
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
        line = self._line()
        if line is None:
            self.stop()
            return Answer("broken", self.silence, 0.0, f"hang: no answer for {self.silence:.0f} s"), False
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

    def _line(self) -> bytes | None:
        """A line of the worker's; b'' at its end, None when it stays silent."""
        assert self._process is not None
        assert self._process.stdout is not None
        handle, begin, asleep = self._process.stdout.fileno(), None, 0.0
        while b"\n" not in self._buffer:
            looked = time.monotonic()
            if not select.select([handle], [], [], _LOOK)[0]:
                spent, sleeping = _use(self._process.pid)
                begin = spent if begin is None else begin
                asleep = asleep + time.monotonic() - looked if sleeping else 0.0
                if max(spent - begin, asleep) > self.silence:
                    return None
                continue
            read = os.read(handle, 65536)
            if not read:
                return b""
            self._buffer += read
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line


def _use(process: int) -> tuple[float, bool]:
    """The processor time of a process in seconds, and whether it sleeps."""
    state, *numbers = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(numbers[10]) + int(numbers[11])) / os.sysconf("SC_CLK_TCK"), state == "S"
