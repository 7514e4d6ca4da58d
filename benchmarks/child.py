"""Tasks in a process of their own, with one thread: a peer's gigabytes go with it, and peaks of memory are its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def in_child(script: str, tasks: list[list[Any]]) -> list[Any]:
    """What the tasks of a script, `[name, *arguments]` each, return; all in one process."""
    named = ", ".join(" ".join(map(str, task[:2])) for task in tasks)
    print(f"{Path(script).stem}: {named}", file=sys.stderr, flush=True)
    command = [sys.executable, script, json.dumps(tasks)]
    done = subprocess.run(command, env=os.environ | ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def answer(*functions: Callable[..., Any]) -> None:
    """In the process: do the tasks by functions of their names, and print what they return."""
    known = {function.__name__: function for function in functions}
    print(json.dumps([known[name](*arguments) for name, *arguments in json.loads(sys.argv[1])]))
