"""Names of MuJoCo as names of ours."""

from __future__ import annotations

from soacraft.model.tree.arguments import ROOT_NAME


class Names:
    """Gives out names, each once within its kind.

    An empty name becomes the fallback, a name that is taken gets a number.

    >>> names = Names()
    >>> names.take("body", "arm/hand", ""), names.take("body", "", "body3"), names.take("body", "body3", "")
    ('arm/hand', 'body3', 'body3_2')
    """

    def __init__(self) -> None:
        self._taken: dict[str, set[str]] = {}
        self._counts: dict[tuple[str, str], int] = {}

    def take(self, kind: str, wanted: str, fallback: str) -> str:
        """A name as near to the wanted one as can be."""
        taken = self._taken.setdefault(kind, {ROOT_NAME})
        base = wanted if wanted.strip() else fallback
        name, count = base, self._counts.get((kind, base), 1)
        while name in taken:
            count += 1
            name = f"{base}_{count}"
        self._counts[kind, base] = count
        taken.add(name)
        return name
