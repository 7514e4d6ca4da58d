"""`Explanation`: the plan of an expression, each `Step` with its cost and the relation that chose it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from soacraft import markup
from soacraft.algebra.answers.cost import Cost
from soacraft.cards import card, part
from soacraft.citations import cite, key
from soacraft.errors import SpaceError
from soacraft.markup import Html

HEAD = ("", "sweep", "operator", "cost", "because")

#: Every kind of step, and the orders of cost that steps of the kind may claim. n counts bodies, N numbers.
KINDS: Mapping[str, tuple[str, ...]] = {
    # a product with a vector
    "diagonal": ("O(n)",),
    "edges": ("O(n)",),
    "pick-off": ("O(n)",),
    "gather": ("O(n)",),
    "scatter": ("O(n)",),
    "gather, diagonal, scatter": ("O(n)",),
    "sparse": ("O(n)",),
    "columns": ("O(n^2)",),
    "dense": ("O(N^2)", "O(N^3)"),
    "kernel": ("O(n)", "O(N^2)"),
    # one block
    "look-up": ("O(1) to O(n)",),
    "path": ("O(n) or less",),
    "column": ("O(n)",),
    "refused": ("",),
    # the dense matrix
    "recursion": ("O(N^2)",),
    "fill in": ("O(N^2)",),
    "sweeps": ("O(n N)",),
}


@dataclass(frozen=True)
class Step:
    """One sweep: what it runs (one of `KINDS`), on which operator, at which order of cost, and why."""

    kind: str
    operator: str
    cost: str
    why: str

    def __post_init__(self) -> None:
        if self.cost not in KINDS.get(self.kind, ()):
            raise SpaceError(
                f"a step of explain is one of {', '.join(map(repr, KINDS))}, each with its cost; {self.kind!r} with "
                f"the cost {self.cost!r}, of {self.operator:.60}, is none."
            )


class Explained(Protocol):
    """An expression, of which only its cost, its text and a cheaper form matter here."""

    def cost(self) -> Cost:
        """Cost of a product with a vector, of a block and of the matrix."""

    def simplify(self) -> Explained:
        """The cheapest expression of the same value."""

    def text(self) -> str:
        """Python that reads back."""


@dataclass(frozen=True)
class Explanation:
    """Prints as a table. `product` lists the sweeps of a product with a vector in the order they run; `cost` counts
    them, `simplified` is the result of `simplify`, computed when it is read or printed.
    """

    expression: str
    spaces: str
    product: tuple[Step, ...]
    block: Step
    array: Step
    source: Explained | None = field(default=None, repr=False, compare=False)
    program: tuple[str, ...] = ()
    """Program of a compiled expression, line by line; `microseconds` is the time of a call."""
    microseconds: float | None = field(default=None, compare=False)
    loops: Any = None
    """Product with a vector as the recursion of the papers, for `explain(loops=True)`; `loops.latex` in LaTeX."""

    @property
    def cost(self) -> Cost | None:
        """The cost as it is."""
        return None if self.source is None else self.source.cost()

    @cached_property
    def simplified(self) -> Explained | None:
        """The expression that `simplify` would give."""
        return None if self.source is None else self.source.simplify()

    def _costs(self) -> list[str]:
        """The cost before and after simplification."""
        if self.source is None or self.simplified is None:
            return []
        before, after = self.source.cost(), self.simplified.cost()
        head = f"cost    {before.product} block products"
        if self.simplified is self.source:
            return [f"{head}; simplify knows no cheaper form"]
        return [f"{head}; simplified: {after.product}, {self.simplified.text()}"]

    @property
    def _steps(self) -> list[tuple[str, Step]]:
        numbered = [(str(i + 1), s) for i, s in enumerate(self.product)]
        return [*numbered, ("[i, j]", self.block), ("array", self.array)]

    def _program(self) -> list[str]:
        """The program, and what it was measured to take."""
        if self.microseconds is None:
            return []
        head = f"program {len(self.program)} lines, " if self.program else "kernel  "
        return [f"{head}{self.microseconds:.2g} microseconds a call", *(f"        {line}" for line in self.program)]

    def _papers(self) -> list[str]:
        found = key(step.why for _, step in self._steps)
        return [f"papers  {found}"] if found else []

    def __repr__(self) -> str:
        rows = [HEAD]
        rows += [(name, s.kind, _shortened(s.operator), s.cost, cite(s.why)) for name, s in self._steps]
        widths = [max(len(r[c]) for r in rows) for c in range(5)]
        lines = ["  ".join(w.ljust(n) for w, n in zip(r, widths, strict=True)).rstrip() for r in rows]
        rule = "-" * max(len(line) for line in lines)
        head = f"{self.expression} : {self.spaces}"
        told = () if self.loops is None else ("loops", *(f"        {line}" for line in self.loops.text))
        below = (*self._costs(), *self._program(), *told, *self._papers())
        return "\n".join([head, lines[0], rule, *lines[1:-2], rule, *lines[-2:], *below])

    def html_table(self) -> Html:
        """The sweeps as a table for a card."""
        rows = [(name, s.kind, markup.code(s.operator), s.cost, cite(s.why)) for name, s in self._steps]
        return markup.table(HEAD, rows)

    def _repr_html_(self) -> str:
        below = [markup.paragraph(line) for line in (*self._costs(), *self._papers())]
        if self._program():
            below.append(part("program", lambda: markup.preformatted("\n".join(self._program()))))
        if self.loops is not None:
            below.append(part("loops", lambda: markup.preformatted("\n".join(self.loops.text)), True))
        head = Html(f"{markup.code(self.expression)} : {markup.words(self.spaces)}")
        return card(head, self.html_table(), *below)


def _shortened(text: str, width: int = 48) -> str:
    """The beginning of a long text: the whole expression is above the table."""
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."
