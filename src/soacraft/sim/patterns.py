"""Patterns of names: "*" is any text within a name, "**" any text at all. They are matched letter by letter."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from soacraft.errors import WiringError

#: Letters of a pattern, or of any text that names a port, at most: as many as a path of components and a port have.
LONGEST = 2000


class Pattern:
    """A pattern; `within` are the letters at which a name ends, which "*" does not match.

    Bit i of a number means "the first i letters of the pattern are matched". A letter c of the name takes

        now = (now & letters[c]) << 1  |  now & any  |  now & star, where c ends no name

    Cost: O(letters of the name) operations on numbers of as many bits as the pattern has letters.

    >>> Pattern("leg*.q").of(["leg3.q", "leg/knee.q"]), Pattern("leg**.q").of(["leg3.q", "leg/knee.q"])
    (['leg3.q'], ['leg3.q', 'leg/knee.q'])
    """

    def __init__(self, text: Any, within: str = "/.") -> None:
        require_short(text, "a pattern")
        self.text, self._within = text, within
        self._letters: dict[str, int] = {}
        self._star = self._any = 0
        count = stars = 0
        for x in f"{text}\0":
            if x == "*":
                stars += 1
                continue
            if stars == 1:
                self._star |= 1 << count
            elif stars:
                self._any |= 1 << count
            stars = 0
            if count < len(text) - text.count("*"):
                self._letters[x] = self._letters.get(x, 0) | 1 << count
                count += 1
        self._end = 1 << count

    def matches(self, name: str) -> bool:
        """True if the pattern matches all of a name."""
        now, letters, any_text, star = 1, self._letters, self._any, self._star
        for x in name:
            stay = any_text if x in self._within else any_text | star
            now = (now & letters.get(x, 0)) << 1 | now & stay
            if not now:
                return False
        return bool(now & self._end)

    def of(self, names: Iterable[str]) -> list[str]:
        """The names that it matches, in their order."""
        return [x for x in names if self.matches(x)]


@lru_cache(256)
def pattern(text: str, within: str = "/.") -> Pattern:
    """A pattern, made once."""
    return Pattern(text, within)


def require_short(text: Any, what: str) -> None:
    """Raise for what is no text, and for one that is longer than any name is."""
    if not isinstance(text, str):
        raise WiringError(f"{what} is a text, such as 'leg*.q', got {text!r:.60}.")
    if len(text) > LONGEST:
        raise WiringError(f"{what} has at most {LONGEST} letters, got one of {len(text)}: {text[:40]!r}...")
