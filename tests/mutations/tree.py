"""A copy of the tree, and the program that runs its tests."""

from __future__ import annotations

import os
import re
import resource
import shutil
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


#: Processor time of the tests of one mutant: one that never ends is noticed too.
SECONDS = 300
_TEST = re.compile(r"^tests/(.*?::.*?)(?: (?:[A-Z]+) +\[.*|\s*)$", re.MULTILINE)


def failed_test(
    copy: Path, tests: Sequence[str], settings: Mapping[str, str], without: Sequence[str] = ()
) -> str | None:
    """The function of the first test that fails in a copy or ends the interpreter, None when all pass."""
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
        return "exit without end"
    if run.returncode == 0:
        return None
    last = _TEST.findall(run.stdout)
    return last[-1].partition("[")[0] if last else f"exit {run.returncode}"
