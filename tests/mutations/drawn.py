"""Break the Python code of the newer rooms, one operator at a time, and see that tests fail.

    python -m tests.mutations.run --drawn 300               a campaign: the first of all, in an order without meaning
    python -m tests.mutations.run --drawn 300 --only sim/   of these files
    python -m tests.mutations.run --drawn 300 --new         only those that nothing is known of
    python -m tests.mutations.run --some 6                  so many that were noticed before, by turns

Each mutant is tried in a copy of the tree by the tests that belong to it: those of the same name, then those that name
its function, its class, its module or what modules that import it define, then those of the same folder. What was
noticed, and by which test, is written into `drawn.json`; what no test can notice is listed in `drawn_survivors.py`,
each with the reason.
"""

from __future__ import annotations

import compileall
import hashlib
import py_compile
import re
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from queue import Queue

from tests.mutations import ledger
from tests.mutations.campaign import Campaign
from tests.mutations.drawn_survivors import SURVIVORS
from tests.mutations.mutants import Mutant
from tests.mutations.python_mutants import ROOMS, SOURCE, broken, function_of, mutants
from tests.mutations.tree import ROOT, copy_of_the_tree, failed_test

FILE = Path(__file__).with_name("drawn.json")
#: Files of tests that name something of a mutant's, at most so many.
MOST = 20
#: Weight of a name that a module defines which imports the mutant's, and so on with the modules that import that one.
_USER = 0.3
_DEFINED = re.compile(r"^(?:def|class) ([A-Za-z]\w*)", re.MULTILINE)


def tests_of(mutant: Mutant) -> list[str]:
    """Files of tests, those that most likely notice the mutant first."""
    inside = Path(mutant.path).relative_to(SOURCE)
    text = (ROOT / mutant.path).read_text()
    weights = dict.fromkeys((inside.stem, *function_of(text, mutant), *_DEFINED.findall(text)), 1.0)
    users = (mutant.path,)
    for weight in (_USER, _USER**2):
        users = tuple(sorted({user for path in users for user in _users(path)}))
        for path in users:
            for word in (Path(path).stem, *_DEFINED.findall((ROOT / path).read_text())):
                weights.setdefault(word, weight)
    mentions = _mentions()
    score: dict[str, float] = {}
    for word, weight in weights.items():
        files = mentions.get(word, ())
        for name in files:
            score[name] = score.get(name, 0.0) + weight / len(files)
    folder = inside.parent.as_posix() + "/"
    room = inside.parts[0] + "/"
    near = {name: 2.0 * name.startswith(folder) + name.startswith(room) + value for name, value in score.items()}
    ranked = sorted(near, key=lambda name: (-near[name], name))[:MOST]
    tests = ROOT / "tests"
    same = [x.relative_to(tests).as_posix() for x in (tests / room).rglob(f"test_{inside.stem}.py")]
    mirror = sorted(same, key=lambda name: (not name.startswith(folder), name))
    beside = sorted(x.relative_to(tests).as_posix() for x in (tests / folder).glob("test_*.py"))
    return list(dict.fromkeys((*mirror, *ranked, *beside)))


@cache
def _users(path: str) -> tuple[str, ...]:
    """The files of the package that import a module."""
    module = Path(path).relative_to("src").with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    package, _, name = module.rpartition(".")
    words = re.compile(rf"^\s*(?:from {module} import|from {package} import .*\b{name}\b)", re.MULTILINE)
    files = sorted((ROOT / SOURCE).rglob("*.py"))
    return tuple(x.relative_to(ROOT).as_posix() for x in files if words.search(_text(x)))


@cache
def _text(path: Path) -> str:
    return path.read_text()


@cache
def _mentions() -> dict[str, tuple[str, ...]]:
    """The files of tests that have a word in them, by the word."""
    files: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT / "tests").as_posix()
        if not name.startswith(("mutations/", "docs/", "wheel/")):
            for word in set(re.findall(r"\w+", path.read_text())):
                files.setdefault(word, []).append(name)
    return {word: tuple(names) for word, names in files.items()}


def digest() -> str:
    """A number that changes with the Python code."""
    files = sorted(x for room in ROOMS for x in (ROOT / SOURCE / room).rglob("*.py"))
    return hashlib.sha256(b"".join(x.read_bytes() for x in files)).hexdigest()


def campaign(*, count: int, some: int, only: Sequence[str], new: bool, jobs: int) -> int:
    """Draw mutants and try them; 1 when one goes unnoticed."""
    present = mutants(ROOT)
    known = ledger.live(ledger.read(FILE), present)
    of_files = [m for m in present if any(part in m.path for part in only or [""])]
    chosen = ledger.drawn(known, some, digest(), FILE, ROOMS) if some else of_files[:count]
    if new:
        chosen = [m for m in chosen if m not in known and m.key not in SURVIVORS]
    print(f"{len(chosen)} mutants", flush=True)
    with tempfile.TemporaryDirectory() as place:
        copies: Queue[Path] = Queue()
        for i in range(jobs):
            copies.put(_compiled(copy_of_the_tree(Path(place) / str(i))))

        def failure(number: int, tests: Sequence[str]) -> str | None:
            copy = copies.get()
            try:
                return _with(copy, chosen[number - 1] if number else None, tests)
            finally:
                copies.put(copy)

        return Campaign(ROOT, chosen, known, SURVIVORS, tests_of, failure).run(
            range(1, len(chosen) + 1), jobs, None if some else FILE
        )


def _compiled(copy: Path) -> Path:
    """The copy with bytecode that is valid by the hash of its source: by its size and second, as usual, a mutant could
    be missed, or outlive its turn.
    """
    compileall.compile_dir(copy / "src", quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    return copy


def _with(copy: Path, mutant: Mutant | None, tests: Sequence[str]) -> str | None:
    """The first failure in a copy that has the mutant in it: in the first file, which most often sees it, or else in
    the others.
    """
    if mutant is None:
        return failed_test(copy, tests, {})
    path = copy / mutant.path
    text = path.read_text()
    path.write_text(broken(text, mutant))
    try:
        return failed_test(copy, tests[:1], {}) or (failed_test(copy, tests[1:], {}) if tests[1:] else None)
    finally:
        path.write_text(text)
