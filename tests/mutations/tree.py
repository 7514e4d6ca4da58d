"""A copy of the tree, and the program that runs its tests."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The editable install finds `soacraft` before sys.path is asked: its finder is taken out, so that the copy is found.
LAUNCH = """
import sys
sys.meta_path[:] = [f for f in sys.meta_path if "editable" not in type(f).__module__]
sys.path.insert(0, "src")
import os, soacraft, soacraft._core
for module in (soacraft, soacraft._core):
    assert os.path.realpath(module.__file__).startswith(os.path.realpath("src")), module.__file__
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""


def copy_of_the_tree(folder: Path) -> Path:
    """Everything that tests read, with the compiled module in the package."""
    from soacraft import _core

    leave = shutil.ignore_patterns(".*", "build", "_build", "__pycache__", "*.so")
    shutil.copytree(ROOT, folder, ignore=leave)
    shutil.copy(_core.__file__, folder / "src" / "soacraft")
    return folder


#: Processor time of one run of tests: a test that never ends has noticed the mutant.
SECONDS = 300
_TEST = re.compile(r"^tests/(.*?::.*?)(?: (?:[A-Z]+) +\[.*|\s*)$", re.MULTILINE)


def failed_test(
    copy: Path, tests: Sequence[str], settings: Mapping[str, str], without: Sequence[str] = ()
) -> str | None:
    """The function of the first test that fails in a copy, ends the interpreter or does not end, None when all pass."""
    name, out_of_time = _first_failure(copy, tests, settings, without)
    if not out_of_time or not name or "::" not in name or _first_failure(copy, [name], settings, without)[0]:
        return name
    files = [test.partition("::")[0] for test in tests]  # many tests, none of which takes long: go on with the others
    at = files.index(name.partition("::")[0])
    return failed_test(copy, tests[max(at, 1) :], settings, without) if len(tests) > 1 else None


def _first_failure(
    copy: Path, tests: Sequence[str], settings: Mapping[str, str], without: Sequence[str]
) -> tuple[str | None, bool]:
    """The first test that fails, and true if the time of all had gone by then."""
    arguments = ["-x", "-v", "--no-header", "--tb=no", "--no-summary", "-p", "no:cacheprovider"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "HYPOTHESIS_PROFILE": "first",
                   **settings}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))

    leave = [f"--deselect=tests/{name}" for name in without]
    command = [sys.executable, "-c", LAUNCH, *arguments, *leave, *(f"tests/{name}" for name in tests)]
    try:
        run = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False,
                             preexec_fn=limit, timeout=2 * SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:  # one that waits for ever spends no time of the processor
        return "exit without end", False
    if run.returncode == 0:
        return None, False
    last = _TEST.findall(run.stdout)
    out_of_time = run.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    return last[-1].partition("[")[0] if last else f"exit {run.returncode}", out_of_time
