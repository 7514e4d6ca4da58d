"""Break the C++ code on purpose, one statement at a time, and see that tests fail.

    python -m tests.mutations.cpp                    the campaign: 160 mutants of all files
    python -m tests.mutations.cpp --count 8          a sample
    python -m tests.mutations.cpp --only rigid/aba   of these files

One build of a copy of the tree holds all mutants; `SOACRAFT_MUTANT` picks one when the tests run. Each is tried by the
tests of what it belongs to, which stop at the first failure. A mutant that no test can notice is listed in
`survivors.py` with the reason. Ends with status 1 when another goes unnoticed (more than one in twenty of a campaign).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

from tests.mutations.cpp_mutants import Mutant, plant, sample
from tests.mutations.run import LAUNCH, ROOT
from tests.mutations.survivors import SURVIVORS

#: Which tests are tried, in this order, for the files whose path has the words.
TESTS = (
    (("loops",), ("core/test_closed_model.py", "loops/test_compiled.py", "loops/test_rank.py", "loops")),
    (("rigid",), ("core", "dynamics", "analysis/test_compiled_gradients.py", "peers/test_dynamics_functions.py")),
    (("",), ("core", "recursions", "dynamics")),
)
#: Unnoticed, of those that change an answer.
ALLOWED = 0.05
#: Processor time of the tests of one mutant: one that never ends is noticed too.
SECONDS = 900
_HEADER = """#pragma once
#include <cstdlib>
inline const int soacraft_mutant = std::getenv("SOACRAFT_MUTANT") ? std::atoi(std::getenv("SOACRAFT_MUTANT")) : 0;
"""
_ERROR = re.compile(r"([^\s:]*core/[^\s:]+):(\d+):\d+: (?:error|  +required)", re.MULTILINE)


def copy_of_the_tree(folder: Path) -> Path:
    """Sources, tests and settings."""
    leave = shutil.ignore_patterns("__pycache__", ".*cache*", "*.so")
    for part in ("src", "core", "tests"):
        shutil.copytree(ROOT / part, folder / part, ignore=leave)
    for name in ("pyproject.toml", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "mutant.hpp").write_text(_HEADER)
    return folder


def build(copy: Path) -> str | None:
    """Build the module into the copy of the package; what the compiler says, None when all is well."""
    place = copy / "build"
    flags = f"-include {copy / 'mutant.hpp'}"
    configure = ["cmake", "-S", str(copy), "-B", str(place), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DSOACRAFT_PORTABLE=ON", f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_FLAGS={flags}",
                 f"-DSKBUILD_PROJECT_VERSION={version('soacraft')}"]  # fmt: skip
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command in (configure, ["cmake", "--build", str(place), "--", "-k", "0"]):
        done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stdout + done.stderr
    for made in place.glob("_core*"):
        shutil.copy(made, copy / "src" / "soacraft")
    return None


def planted(copy: Path, chosen: Sequence[Mutant]) -> list[int]:
    """Build the copy with mutants in it; the numbers of those that the compiler takes."""
    numbers = dict.fromkeys(plant(copy, chosen).values())
    for _ in range(8):
        said = build(copy)
        if said is None:
            return list(numbers)
        refused = {_number(copy, path, int(line)) for path, line in _ERROR.findall(said)} - {0}
        if not refused:
            raise SystemExit(f"the copy does not build, and no mutant is to blame:\n{said[-3000:]}")
        for number in refused:
            _unplant(copy, chosen[number - 1], number)
            numbers.pop(number, None)
    raise SystemExit("the copy does not build: too many mutants that the compiler refuses")


def _number(copy: Path, path: str, line: int) -> int:
    """The mutant in a line that the compiler names, 0 for none."""
    lines = (copy / path[path.rindex("core/") :]).read_text().splitlines()
    at = re.search(r"soacraft_mutant == (\d+)", lines[line - 1]) if line <= len(lines) else None
    return int(at[1]) if at else 0


def _unplant(copy: Path, mutant: Mutant, number: int) -> None:
    path = copy / mutant.path
    path.write_text(path.read_text().replace(mutant.both(number), mutant.statement))


def first_failure(copy: Path, number: int, tests: Sequence[str]) -> str | None:
    """The name of the first test that fails with a mutant, None when all pass."""
    arguments = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *(f"tests/{name}" for name in tests)]
    settings = {"SOACRAFT_MUTANT": str(number), "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))

    run = subprocess.run([sys.executable, "-c", LAUNCH, *arguments], cwd=copy, env=os.environ | settings,
                         capture_output=True, text=True, check=False, preexec_fn=limit)  # fmt: skip
    if run.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
    return failed[1] if failed else f"exit {run.returncode}"


def tests_of(path: str) -> Sequence[str]:
    """The tests of a file of the core."""
    return next(tests for words, tests in TESTS if any(word in path for word in words))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=160, help="about how many mutants (default: %(default)s)")
    parser.add_argument("--first", type=int, help="of these, only so many")
    parser.add_argument("--only", nargs="+", default=[""], help="parts of the paths of files")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    asked = parser.parse_args(arguments)
    chosen = [m for m in sample(ROOT, asked.count) if any(part in m.path for part in asked.only)][: asked.first]
    counts = {"noticed": 0, "NOT NOTICED": 0, "cannot be noticed": 0}
    with tempfile.TemporaryDirectory() as place:
        copy = copy_of_the_tree(Path(place))
        numbers = planted(copy, chosen)
        print(f"{len(numbers)} mutants in one build; {len(chosen) - len(numbers)} share a line or do not compile")
        for tests in dict.fromkeys(tests_of(mutant.path) for mutant in chosen):
            if broken := first_failure(copy, 0, tests[:1]):
                print(f"the copy fails before anything was broken: {broken}")
                return 1

        def tried(number: int) -> tuple[Mutant, str | None, float]:
            start = time.monotonic()
            mutant = chosen[number - 1]
            return mutant, first_failure(copy, number, tests_of(mutant.path)), time.monotonic() - start

        with ThreadPoolExecutor(asked.jobs) as pool:
            for mutant, failed, seconds in pool.map(tried, numbers):
                reason = SURVIVORS.get((mutant.path, mutant.statement, mutant.changed))
                word = "noticed" if failed else "cannot be noticed" if reason else "NOT NOTICED"
                counts[word] += 1
                print(f"{word} ({seconds:.0f} s) {mutant.title}\n    {failed or reason or ''}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in counts.items()))
    able = counts["noticed"] + counts["NOT NOTICED"]
    return 1 if counts["NOT NOTICED"] > ALLOWED * able else 0


if __name__ == "__main__":
    sys.exit(main())
