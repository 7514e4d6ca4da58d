"""Break the product on purpose, one sign at a time, and see that tests fail.

    python -m tests.mutations.run                     stop at the first test that fails, for each mutation
    python -m tests.mutations.run --each              the first that fails in each folder or file of tests
    python -m tests.mutations.run phi quaternion      only these
    python -m tests.mutations.run --drawn 300         so many drawn from the newer rooms instead (see drawn.py)
    python -m tests.mutations.run --some 6            so many of those that were noticed before

Works on a copy of the project in a temporary folder; the tree itself is never touched. Ends with
status 1 when a mutation goes unnoticed, or when the copy fails before anything was broken.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutations import drawn
from tests.mutations.caches import CACHES
from tests.mutations.mutations import MUTATIONS, Mutation
from tests.mutations.tree import LAUNCH, copy_of_the_tree

ALL = (*MUTATIONS, *CACHES)
#: The tests of a group of mutations; of all others, `FOLDERS`.
OWN = {
    "modal": ("model/modal",),
    "passive": ("dynamics/test_passive.py", "dynamics/test_passive_force.py", "loops/test_passive.py"),
    "flexible": (
        "model/modal/test_node_derivatives.py", "dynamics/test_derivatives.py", "ops/derivatives/test_flexible.py",
        "analysis/test_modes.py",
    ),
    "caches": (
        "model/test_versions.py", "model/test_sko_functions.py", "ops/test_binding.py", "ops/programs/test_compile.py",
        "ops/derivatives/test_sko_functions.py", "dynamics/test_results.py", "loops/test_hinge_forces.py",
        "loops/test_subgraphs.py", "loops/embedding", "loops/test_compiled_lifetime.py",
    ),
}  # fmt: skip
FOLDERS = ("anchors", "identities", "recursions", "ops", "model", "spatial", "kinematics", "loops", "peers", "pycraft")

def first_failure(copy: Path, folders: Sequence[str]) -> str | None:
    """The name of the first test that fails in the copy, None when all pass."""
    arguments = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *(f"tests/{name}" for name in folders)]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # bytecode is kept by size and second: too coarse here
    run = subprocess.run(
        [sys.executable, "-c", LAUNCH, *arguments],
        cwd=copy,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == 0:
        return None
    failed = re.search(r"^(?:FAILED|ERROR) (?:tests/)?(.*?)(?: - .*)?$", run.stdout, re.MULTILINE)
    return failed[1] if failed else (run.stdout + run.stderr).strip().splitlines()[-1]


def break_it(text: str, mutation: Mutation) -> str:
    """The text of a file with the mutation in it."""
    found = text.count(mutation.old)
    if found != mutation.of:
        raise SystemExit(
            f"{mutation.path}: {mutation.old!r} occurs {found} times, not {mutation.of}; mend mutations.py"
        )
    parts = text.split(mutation.old)
    head, tail = mutation.old.join(parts[: mutation.nth + 1]), mutation.old.join(parts[mutation.nth + 1 :])
    return head + mutation.new + tail


def noticed(copy: Path, mutation: Mutation, parts: Sequence[Sequence[str]]) -> list[str]:
    """The first failure in each part of the tests that notices the mutation."""
    path = copy / "src" / "soacraft" / mutation.path
    whole = path.read_text()
    path.write_text(break_it(whole, mutation))
    try:
        return [name for part in parts if (name := first_failure(copy, part))]
    finally:
        path.write_text(whole)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", help="how titles of mutations begin: a group, or more of it (default: all)")
    parser.add_argument("--folders", nargs="+", metavar="PATH", help="folders or files of tests to run")
    parser.add_argument("--each", action="store_true", help="look at each folder or file of tests by itself")
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="a campaign of so many drawn mutants")
    parser.add_argument("--some", type=int, default=0, metavar="N", help="so many drawn ones that were noticed before")
    parser.add_argument("--only", nargs="+", default=[], dest="parts", metavar="PART", help="parts of paths")
    parser.add_argument("--new", action="store_true", help="drawn ones that nothing is known of")
    parser.add_argument("--jobs", type=int, default=2, help="how many drawn ones at once")
    asked = parser.parse_args(arguments)
    if asked.drawn or asked.some:
        return drawn.campaign(count=asked.drawn, some=asked.some, only=asked.parts, new=asked.new, jobs=asked.jobs)
    chosen = [m for m in ALL if not asked.only or m.title.startswith(tuple(asked.only))]
    if not chosen:
        parser.error(f"no mutation is called {asked.only}; there are: {', '.join(m.title for m in ALL)}")
    tests = {m.group: tuple(asked.folders or OWN.get(m.group, FOLDERS)) for m in chosen}
    missed = 0
    with tempfile.TemporaryDirectory() as place:
        copy = copy_of_the_tree(Path(place) / "tree")
        for some in dict.fromkeys(tests.values()):
            if broken := first_failure(copy, some):
                print(f"the copy fails before anything was broken: {broken}")
                return 1
        for mutation in chosen:
            start = time.monotonic()
            own = tests[mutation.group]
            names = noticed(copy, mutation, [[name] for name in own] if asked.each else [own])
            missed += not names
            seconds = f"{time.monotonic() - start:.0f} s"
            print(f"{mutation.title} ({seconds})", *(names or ["NOT NOTICED"]), sep="\n    ", flush=True)
    print(f"{len(chosen)} mutations, {missed} not noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
