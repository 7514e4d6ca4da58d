"""A mutant: one statement of one file, changed; and a choice of mutants spread over the files."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A statement of a file, the one counted `nth` of its like, and what takes its place."""

    path: str
    statement: str
    changed: str
    nth: int = 0

    @property
    def title(self) -> str:
        """The file, and the statement before and after."""
        which = f" ({self.nth + 1})" if self.nth else ""
        return f"{self.path}{which}: {self.statement}  ->  {self.changed or '(nothing)'}"

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is listed by among those that no test can notice."""
        return self.path, self.statement, self.changed

    @property
    def place(self) -> tuple[str, int]:
        """The line that it is in, within its file."""
        return self.statement, self.nth

    @property
    def rank(self) -> str:
        """A number without meaning that orders mutants the same way every time."""
        return hashlib.sha256(self.title.encode()).hexdigest()


def spread(everything: Sequence[Mutant], count: int, least: int = 1) -> list[Mutant]:
    """So many mutants, spread over the files in proportion to what each has, and at least `least` of each file (all of
    one that has fewer); one of each statement before the second of any.
    """
    by_file: dict[str, list[Mutant]] = {}
    for mutant in everything:
        by_file.setdefault(mutant.path, []).append(mutant)
    share = min(1.0, count / max(1, len(everything)))
    chosen = [m for own in by_file.values() for m in _by_turns(own)[: max(least, round(share * len(own)))]]
    return sorted(chosen, key=lambda mutant: mutant.rank)


def _by_turns(own: Sequence[Mutant]) -> list[Mutant]:
    """The first of each statement, then the second of each, and so on."""
    turns = Counter[tuple[str, int]]()
    order = []
    for mutant in own:
        order.append(turns[mutant.place])
        turns[mutant.place] += 1
    return [mutant for _, mutant in sorted(zip(order, own, strict=True), key=lambda both: both[0])]
