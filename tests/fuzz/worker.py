"""A process that checks inputs one after the other, and says so, so that its end or silence points at the input.

Reads lines of JSON: {"kind", "seed", "first", "last"} for a row of inputs, or {"case"} for one given in full. Answers a
line for each input: [outcome, seconds, peak megabytes, text].
"""

from __future__ import annotations

import base64
import json
import os
import resource
import shutil
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

import mujoco
from tests.fuzz.cases import Case, make
from tests.fuzz.check import MEGABYTES, Broken, check, peak

_ROOM = 2**30
_EACH = 25


def main() -> None:
    """Answer until the input ends."""
    limit_memory()
    warnings.simplefilter("error")
    out, folder = os.fdopen(os.dup(1), "w"), Path(sys.argv[1])
    os.dup2(2, 1)
    os.chdir(folder)
    for line in sys.stdin:
        order = json.loads(line)
        if "case" in order:
            say(out, answer(decode(order["case"]), folder, True))
            continue
        for number in range(order["first"], order["last"]):
            case = make(order["kind"], order["seed"], number)
            say(out, answer(case, folder, number % _EACH == 0))


def say(out: Any, words: list[Any]) -> None:
    out.write(json.dumps(words) + "\n")
    out.flush()


def limit_memory() -> None:
    """Bound the address space: what asks for much more ends this process, not the machine."""
    assert mujoco.__version__
    held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (held + _ROOM, held + _ROOM))


def answer(case: Case, folder: Path, thorough: bool) -> list[Any]:
    """What became of one input, in a clean folder."""
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    before = peak()
    try:
        outcome, seconds = check(case, place, thorough)
        text = ""
    except Broken as problem:
        outcome, seconds, text = "broken", 0.0, str(problem)
    except Exception as problem:
        outcome, seconds, text = "broken", 0.0, described(problem)
    if before < MEGABYTES <= peak():  # said first: it may be why it was slow
        outcome, text = "broken", f"held {peak():.0f} MB" + (f"; {text}" if text else "")
    return [outcome, round(seconds, 4), round(peak(), 1), text]


def described(problem: Exception) -> str:
    """The error and the innermost lines that raised it."""
    frames = traceback.extract_tb(problem.__traceback__)[-3:]
    where = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return f"{type(problem).__name__} at {where}: {str(problem)[:300]}"


def encode(case: Case) -> dict[str, Any]:
    """A case as JSON."""
    files = {name: base64.b64encode(data).decode() for name, data in case.files.items()}
    return {"files": files, "main": case.main, "options": case.options}


def decode(given: dict[str, Any]) -> Case:
    """A case from JSON."""
    return Case({k: base64.b64decode(v) for k, v in given["files"].items()}, given["main"], given["options"])

