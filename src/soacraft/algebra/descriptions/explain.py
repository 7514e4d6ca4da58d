"""Plan of an expression: each sweep, its cost, and the relation that chose it. No number is computed."""

from __future__ import annotations

from functools import singledispatch

from soacraft.algebra.answers.explanation import Explanation, Step
from soacraft.algebra.expressions import questions, rules
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator


def explain(expr: Operator, loops: bool = False) -> Explanation:
    """The plan of a product with a vector, of one block and of the dense matrix."""
    rows, cols = expr.spaces
    product, written = tuple(steps(expr, False, "")), questions.recursion(expr) if loops else None
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


questions.explain.register(Operator, explain)
