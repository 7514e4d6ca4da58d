"""A campaign: the tests of each mutant are run, and what was noticed is written down."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.mutations import ledger
from tests.mutations.mutants import Mutant


def exists(test: str, root: Path) -> bool:
    """True if there is a test function of that name below `root`: pytest ends with an error for a name that is missing,
    which looks as if the mutant had been noticed.
    """
    path, _, name = test.rpartition("::")
    file = root / "tests" / path
    return file.is_file() and f"def {name}(" in file.read_text()


@dataclass
class Campaign:
    """Mutants, counted from 1, and the way to try one."""

    root: Path
    chosen: Sequence[Mutant]
    known: ledger.Ledger
    #: The reasons why mutants cannot be noticed, by their keys.
    survivors: Mapping[tuple[str, str, str], str]
    tests_of: Callable[[Mutant], Sequence[str]]
    #: The name of the first test that fails with the mutant of a number, 0 for none; None when all pass.
    first_failure: Callable[[int, Sequence[str]], str | None]
    _sound: dict[str, bool] = field(default_factory=dict)

    def run(self, numbers: Sequence[int], jobs: int, file: Path | None) -> int:
        """Try those of the numbers, and write those that were noticed into `file`; 1 when one goes unnoticed or a test
        fails without a mutant.
        """
        counts = {"noticed": 0, "NOT NOTICED": 0, "cannot be noticed": 0, "fails without a mutant": 0}
        with ThreadPoolExecutor(jobs) as pool:
            for number, failed, seconds in pool.map(self._try, numbers):
                mutant = self.chosen[number - 1]
                reason = self.survivors.get(mutant.key)
                word = "noticed" if failed else "cannot be noticed" if reason else "NOT NOTICED"
                word = word if failed is None or self._sound[failed] else "fails without a mutant"
                counts[word] += 1
                print(f"{number}: {word} ({seconds:.0f} s) {mutant.title}\n    {failed or reason or ''}", flush=True)
                self.known.pop(mutant, None)
                if failed and word == "noticed":
                    self.known[mutant] = failed if exists(failed, self.root) else ""
                if file:
                    ledger.write(self.known, file)
        print(", ".join(f"{count} {word}" for word, count in counts.items()))
        return 1 if counts["NOT NOTICED"] or counts["fails without a mutant"] else 0

    def _try(self, number: int) -> tuple[int, str | None, float]:
        """The test of the ledger's entry first, then those of the file; that it passes without a mutant, last."""
        start, mutant = time.monotonic(), self.chosen[number - 1]
        before = self.known.get(mutant, "")
        failed = self.first_failure(number, [before]) if exists(before, self.root) else None
        tests = self.tests_of(mutant)
        failed = failed or self.first_failure(number, tests)
        if failed and failed not in self._sound:
            again = [failed] if exists(failed, self.root) else tests  # an error before the first test has no name
            self._sound[failed] = self.first_failure(0, again) is None
        return number, failed, time.monotonic() - start
