"""`Properties`: which properties an expression has, each True, False or not known, with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from soacraft import markup
from soacraft.cards import card


@dataclass(frozen=True)
class Properties:
    """True, False, or None where it is not known; `why` has the reason of each."""

    expression: str
    square: bool | None
    block_diagonal: bool | None
    triangular: bool | None
    """Triangularity in the order of the tree: only blocks (ancestor, body), or only blocks (body, ancestor), and the
    diagonal."""
    nilpotent: bool | None
    invertible: bool | None
    """False for a singular one."""
    symmetric: bool | None
    definite: bool | None
    """Symmetric and positive definite."""
    semidefinite: bool | None
    """Symmetric and positive semi-definite."""
    why: Mapping[str, str]

    def _rows(self) -> list[tuple[str, str, str]]:
        names = [f.name for f in fields(self) if f.name in self.why]
        told = {True: "yes", False: "no", None: "not known"}
        return [(name.replace("_", " "), told[getattr(self, name)], self.why[name]) for name in names]

    def __repr__(self) -> str:
        lines = [f"  {name:<14}  {value:<9}  {why}" for name, value, why in self._rows()]
        return "\n".join([f"properties of {self.expression}", *lines])

    def _repr_html_(self) -> str:
        head = markup.Html(f"properties of {markup.code(self.expression)}")
        return card(head, markup.table(["property", "", "because"], self._rows()))
