"""Plan of an expression: each sweep, its cost, and the relation that chose it. No number is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import TYPE_CHECKING, Any

from soacraft import markup
from soacraft.algebra.expressions import rules
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.cards import card, part
from soacraft.citations import cite, key
from soacraft.errors import SpaceError
from soacraft.markup import Html

if TYPE_CHECKING:
    from soacraft.algebra.descriptions.cost import Cost


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
    source: Operator | None = field(default=None, repr=False, compare=False)
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
    def simplified(self) -> Operator | None:
        """The expression that `simplify` would give."""
        return None if self.source is None else rules.simplify(self.source)

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


def explain(expr: Operator, loops: bool = False) -> Explanation:
    """The plan of a product with a vector, of one block and of the dense matrix."""
    rows, cols = expr.spaces
    product, written = tuple(steps(expr, False, "")), rules.recursion(expr) if loops else None
    plan = (product, block_step(expr), array_step(expr), expr)
    return Explanation(expr.text(), f"{rows} <- {cols}", *plan, loops=written)


#: Reason for a dear product at a new state: its blocks are kept, but each is one block column of an expression.
_ONE_BY_ONE = "a product with one block column for each block, kept for the state"


# -- the sweeps of a product with a vector ----------------------------------------------------------------------------


@singledispatch
def steps(expr: Operator, transposed: bool, why: str) -> list[Step]:
    """The sweeps of a product with a vector, in the order they run."""
    raise no_rule("explain", expr)


@steps.register
def _(expr: Leaf, transposed: bool, why: str) -> list[Step]:
    meaning = expr.definition()
    if meaning is not None:
        return steps(meaning, transposed, why or expr.source)
    star = ".T" if transposed else ""
    reason = _ONE_BY_ONE if expr.columns is not None else why or expr.source
    return [Step(expr.sweep(transposed), expr.name + star, expr.order, reason)]


@steps.register
def _(expr: Identity, transposed: bool, why: str) -> list[Step]:
    return []


@steps.register
def _(expr: Transpose, transposed: bool, why: str) -> list[Step]:
    return steps(expr.arg, not transposed, why)


@steps.register
def _(expr: Product, transposed: bool, why: str) -> list[Step]:
    order = expr.factors if transposed else reversed(expr.factors)
    return [step for f in order for step in steps(f, transposed, why)]


@steps.register
def _(expr: Sum, transposed: bool, why: str) -> list[Step]:
    return [step for t in expr.terms for step in steps(t, transposed, why)]


@steps.register
def _(expr: Scaled, transposed: bool, why: str) -> list[Step]:
    return steps(expr.arg, transposed, why)


@steps.register
def _(expr: Power, transposed: bool, why: str) -> list[Step]:
    return steps(expr.arg, transposed, why) * expr.n


@steps.register
def _(expr: Inverse, transposed: bool, why: str) -> list[Step]:
    if expr.arg.pattern() == DIAGONAL:
        return [Step("diagonal", expr.text(), "O(n)", why or "inverse block by block")]
    known = expr.known()
    if known is not None:
        return steps(known[0], transposed, known[1])
    return [Step("dense", expr.text(), "O(N^3)", "no structured inverse is known: only .array() computes it")]


# -- one block, and the dense matrix -----------------------------------------------------------------------------------


def block_step(expr: Operator) -> Step:
    """Step that computes one block."""
    if not rules.structured(expr):
        return Step("refused", expr.text(), "", "no structured inverse is known")
    if expr.pattern() is not None:
        if by_columns(expr):
            return Step("columns", expr.text(), "O(n^2)", _ONE_BY_ONE)
        return Step("look-up", expr.text(), "O(1) to O(n)", "sparse: the block itself")
    return _long_block_step(expr)


def by_columns(expr: Operator) -> bool:
    """True if a leaf of the expression, as written, needs every block column of another expression."""
    if isinstance(expr, Leaf):
        meaning = expr.definition()
        return expr.columns is not None if meaning is None else by_columns(meaning)
    return any(map(by_columns, expr.parts()))


@singledispatch
def _long_block_step(expr: Operator) -> Step:
    """Step that computes one block of an expression whose blocks reach along paths."""
    return _rule_or_column(expr, expr)


@_long_block_step.register
def _(expr: Transpose | Scaled) -> Step:
    return block_step(expr.arg)


@_long_block_step.register
def _(expr: Sum) -> Step:
    """The sum of the terms' blocks: the step of the dearest term tells the cost."""
    terms = [block_step(term) for term in expr.terms]
    dearest = max(terms, key=lambda step: ("look-up", "path", "column", "columns").index(step.kind))
    whys = dict.fromkeys(step.why for step in terms if step.kind == dearest.kind)
    return Step(dearest.kind, expr.text(), dearest.cost, "term by term: " + "; ".join(whys))


@_long_block_step.register
def _(expr: Product) -> Step:
    """Sparse factors at the ends only choose which blocks of the middle are needed."""
    inner = [f for f in expr.factors if f.pattern() is None]
    first, last = expr.factors.index(inner[0]), len(expr.factors) - expr.factors[::-1].index(inner[-1])
    return _rule_or_column(Product(expr.factors[first:last]), expr) if last - first > 1 else block_step(inner[0])


def _rule_or_column(core: Operator, expr: Operator) -> Step:
    rule = rules.block(core)
    if rule is not None:
        return Step("path", core.text(), "O(n) or less", rule[1])
    return Step("column", expr.text(), "O(n)", "a product with one block column")


def array_step(expr: Operator) -> Step:
    """Step that computes the dense matrix."""
    found = rules.array(expr)
    if found is not None:
        return Step("recursion", expr.text(), "O(N^2)", found[1])
    if not rules.structured(expr):
        return Step("dense", expr.text(), "O(N^3)", "dense arithmetic: an inverse of no known structure")
    if expr.pattern() is not None:
        if by_columns(expr):
            return Step("columns", expr.text(), "O(n^2)", _ONE_BY_ONE)
        return Step("fill in", expr.text(), "O(N^2)", "sparse: blocks put in their places")
    return Step("sweeps", expr.text(), "O(n N)", "a product with the identity, column by column")
