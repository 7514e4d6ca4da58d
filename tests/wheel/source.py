"""Run by `./run check` with a source distribution: it has every file of the repository, and tests of pages run in it.

python tests/wheel/source.py build/wheel/soacraft-0.1.0.tar.gz
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Folders of the repository that are not distributed.
OUTSIDE = (".ci/",)
#: Tests that read README, pages, benchmarks, examples and data of models from the folder they are in.
TESTS = (
    "tests/packaging", "tests/docs/test_readme.py", "tests/docs/test_install.py",
    "tests/docs/test_architecture.py", "tests/files/test_library.py",
)  # fmt: skip


def missing(names: set[str], tracked: set[str]) -> list[str]:
    """Tracked files that a distribution with these names does not have.

    >>> missing({"a.py"}, {"a.py", "b.md", ".ci/run"})
    ['b.md']
    """
    return sorted(name for name in tracked - names if not name.startswith(OUTSIDE))


def main(archive: str) -> int:
    """Status 0 if the distribution is complete and its tests pass."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder, tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
        (top,) = Path(folder).iterdir()
        names = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
        absent = missing(names, {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()})
        if absent:
            print(f"the source distribution lacks {len(absent)} files: {', '.join(absent[:10])}", file=sys.stderr)
            return 1
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        return subprocess.run(command, cwd=top).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
