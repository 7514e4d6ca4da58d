"""A derivative applied in one pass: y and its rate dy go through the factors side by side.

By the product rule d(F1 F2 ... Fm) is a sum of m products; applied term by term it would cost m + 1 times the product
itself. Carried along, `y' = F y, dy' = F dy + dF y`, it costs about twice as much, whatever m is: for a propagator
`dphi = phi dE phi` gives `dy' = phi (dy + dE y')`, for an inverse `dy' = F^-1 (dy - dF y')`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.explanation import Step
from soacraft.algebra.descriptions import cost, explain
from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator, Pattern
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.ops.derivatives import questions
from soacraft.ops.derivatives.deriving import Deriving
from soacraft.ops.leaves import PropagatorLeaf
from soacraft.ops.named import named_of
from soacraft.recursions._backend import PackedBlocks

Array = npt.NDArray[np.float64]


class Machine:
    """Machine that works on y and dy: on numbers, or on a list of the steps that would be run."""

    def times(self, x: Operator, T: bool, *ys: Any) -> tuple[Any, ...]:
        """x y, or x* y, for several y at once; None stays None."""
        raise AssertionError("each kind of machine multiplies")

    def change(self, x: Operator, T: bool, y: Any) -> Any:
        """Product with the derivative of a factor, as `times`; a sparse derivative is stored as blocks."""
        raise AssertionError("each kind of machine multiplies")

    def add(self, x: Any, y: Any, c: float = 1.0) -> Any:
        """x + c y, None being zero."""
        raise AssertionError("each kind of machine adds")


class Numbers(Machine):
    """Products with numbers; what is sparse is packed once."""

    def __init__(self) -> None:
        self.kept: dict[int, tuple[Operator, Callable[[Array, bool], Array]]] = {}

    def times(self, x: Operator, T: bool, *ys: Any) -> tuple[Any, ...]:
        apply = x.apply_T if T else x.apply
        if len(ys) == 2 and ys[0] is not None and ys[1] is not None and ys[0].shape == ys[1].shape:
            m = ys[0].shape[-1]
            both = apply(np.concatenate(ys, axis=-1))
            return both[..., :m], both[..., m:]
        return tuple(None if y is None else apply(y) for y in ys)

    def change(self, x: Operator, T: bool, y: Any) -> Any:
        if id(x) not in self.kept:
            self.kept[id(x)] = x, self._prepared(x)
        return self.kept[id(x)][1](y, T)

    def _prepared(self, x: Operator) -> Callable[[Array, bool], Array]:
        if x.pattern() is None:
            return lambda y, T: x.apply_T(y) if T else x.apply(y)
        return packed(x.blocks())

    def add(self, x: Any, y: Any, c: float = 1.0) -> Any:
        if y is None:
            return x
        return c * y if x is None else x + c * y


class Steps(Machine):
    """Steps that would be run, in order and in words; `runs` has the operators, once for each vector, `kept` counts the
    products with stored blocks.
    """

    def __init__(self, why: str) -> None:
        self.why, self.steps, self.runs, self.kept = why, list[Step](), list[Operator](), 0

    def times(self, x: Operator, T: bool, *ys: Any) -> tuple[Any, ...]:
        vectors = sum(y is not None for y in ys)
        self.runs += [x] * vectors
        if vectors:
            self.steps += explain.steps(x, T, self.why)
        return ys

    def change(self, x: Operator, T: bool, y: Any) -> Any:
        if x.pattern() is None:
            self.runs.append(x)
            self.steps += explain.steps(x, T, self.why)
        else:
            self.kept += 1
            name = x.called if isinstance(x, Derivative) else x.text()
            if T:
                name = f"{name if isinstance(x, (Leaf, Derivative)) else f'({name})'}.T"
            self.steps.append(Step("sparse", name, "O(n)", self.why or "blocks kept for the state"))
        return True

    def add(self, x: Any, y: Any, c: float = 1.0) -> Any:
        return x or y


def packed(blocks: Blocks) -> Callable[[Array, bool], Array]:
    """A product with blocks or their transpose."""
    if blocks.batch:
        return lambda y, T: blocks.apply_T(y) if T else blocks.apply(y)
    return PackedBlocks(blocks.rows, blocks.cols, blocks.entries).apply


class Push:
    """y, dy -> F y, F dy + dF y through an expression; `keep` says whether F y is wanted."""

    def __init__(self, d: Deriving, machine: Machine) -> None:
        self.d, self.m = d, machine

    def __call__(self, x: Operator, T: bool, y: Any, dy: Any, keep: bool = True) -> tuple[Any, Any]:
        if self.d.delta(x) is None:
            y, dy = self.m.times(x, T, y if keep else None, dy)
            return y, dy
        return pushed(x, self, T, y, dy, keep)

    def chain(self, factors: tuple[Operator, ...], T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
        """One factor after the other; y is dropped after the last one that changes."""
        order = list(factors if T else reversed(factors))
        seams = [self.d.seam(a, b) if T else self.d.seam(b, a) for a, b in pairwise(order)]
        last = max(
            (i for i, f in enumerate(order) if self.d.delta(f) is not None or (i and seams[i - 1] is not None)),
            default=-1,
        )
        for i, f in enumerate(order):
            between = seams[i - 1] if i else None
            if between is not None:
                dy = self.m.add(dy, self.m.change(between, T, y))
            y, dy = self(f, T, y, dy, keep or i < last)
        return y, dy


@singledispatch
def pushed(x: Operator, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    """y and dy through a kind of expression that changes."""
    raise no_rule("diff", x)


@pushed.register
def _(x: Transpose, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    return push(x.arg, not T, y, dy, keep)


@pushed.register
def _(x: Scaled, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    y, dy = push(x.arg, T, y, dy, keep)
    return push.m.add(None, y, x.factor), push.m.add(None, dy, x.factor)


@pushed.register
def _(x: Product, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    return push.chain(x.factors, T, y, dy, keep)


@pushed.register
def _(x: Power, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    return push.chain((x.arg,) * x.n, T, y, dy, keep)


@pushed.register
def _(x: Sum, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    m, total, rate = push.m, None, None
    for term in x.terms:
        row, col = push.d.offsets(term, x)
        first, then = (row, col) if T else (col, row)
        start = dy if first is None else m.add(dy, m.change(first, T, y), 1.0 if T else -1.0)
        y_term, dy_term = push(term, T, y, start, keep or then is not None)
        if then is not None:
            dy_term = m.add(dy_term, m.change(then, T, y_term), -1.0 if T else 1.0)
        total, rate = m.add(total, y_term), m.add(rate, dy_term)
    return total, rate


@pushed.register
def _(x: Inverse, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    """d(F^-1) = -F^-1 dF F^-1."""
    m, change = push.m, push.d.delta(x.arg)
    assert change is not None
    y = m.times(x, T, y)[0]
    dy = m.add(dy, m.change(change, T, y), -1.0)
    return y, m.times(x, T, dy)[0]


@pushed.register
def _(x: Leaf, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    meaning, m = x.definition(), push.m
    if meaning is not None:
        return push(meaning, T, y, dy, keep)
    change = push.d.delta(x)
    assert change is not None
    changed = m.change(change, T, y)
    y, dy = m.times(x, T, y if keep else None, dy)
    return y, m.add(dy, changed)


@pushed.register
def _(x: PropagatorLeaf, push: Push, T: bool, y: Any, dy: Any, keep: bool) -> tuple[Any, Any]:
    """dphi = phi dE phi; phi~ = phi E."""
    m, dE = push.m, push.d.delta(x.kernel)
    assert dE is not None
    moved = m.times(x, T, y)[0]
    whole = x
    reached = moved
    if x.what.tilde:
        whole = getattr(named_of(x.binding), x.what.name.removesuffix("_tilde"))
        reached = m.add(moved, y)
        dy = m.times(x.kernel, T, dy)[0]
    dy = m.add(dy, m.change(dE, T, reached))
    return moved, m.times(whole, T, dy)[0]


class Derivative(Sum):
    """The derivative of an expression: prints as the sum of the product rule, runs in one pass."""

    turning = True  # whether the turning of the axes is in it

    def __init__(self, d: Deriving, of: Operator, terms: tuple[Operator, ...]) -> None:
        super().__init__(terms)
        self.d, self.of = d, of
        self.claims = frozenset({"symmetric"} & of.tags)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.d, self.of, self.terms)

    @property
    def called(self) -> str:
        """Text of the call that makes it, such as K.diff('link')."""
        verb = "dot" if self.d.u.body is None else "diff"
        if not self.turning and self.d.axes != "body":
            verb = "along"
        return f"{before_dot(self.of)}.{verb}({self.d.u.call})"

    @cached_property
    def _leaves(self) -> tuple[Leaf, ...]:
        return tuple({id(leaf): leaf for x in (self.of, *self.terms) for leaf in x.leaves()}.values())

    def leaves(self) -> Iterator[Leaf]:
        """Leaves of the differentiated expression and of its rates, each once."""
        return iter(self._leaves)

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        """The derivative of the same expression bound elsewhere; for other changes the sum of the terms."""
        old = list(self.of.leaves())
        new = [change(leaf) for leaf in old]
        if all(isinstance(a, Leaf) and a.name == b.name for a, b in zip(new, old, strict=True)):
            made: Operator = questions.differentiated(self.of.with_leaves(change), self.d.u.step, self.turning)
            return made
        return super().with_leaves(change)

    @cached_property
    def _pattern(self) -> Pattern | None:
        return super().pattern()

    def pattern(self) -> Pattern | None:
        return self._pattern

    def _numbers(self) -> Numbers:
        return self.cached("numbers", Numbers)

    def run(self, machine: Machine, T: bool, x: Any) -> Any:
        """The product with x, or that of the transpose, in one pass."""
        row, col = self.d.connections(self.of) if self.turning else (None, None)
        first, then = (row, col) if T else (col, row)
        dy = None if first is None else machine.add(None, machine.change(first, T, x), 1.0 if T else -1.0)
        y, dy = Push(self.d, machine)(self.of, T, x, dy, then is not None)
        return dy if then is None else machine.add(dy, machine.change(then, T, y), -1.0 if T else 1.0)

    def apply(self, x: Array) -> Array:
        return self._applied(x, False)

    def apply_T(self, x: Array) -> Array:
        return self._applied(x, True)

    def _applied(self, x: Array, T: bool) -> Array:
        if self.pattern() is not None:
            product = self.cached("packed", lambda: packed(super(Derivative, self).blocks()))
            return product(x, T)
        found: Array = self.run(self._numbers(), T, x)
        return found

    def blocks(self) -> Blocks:
        return self.cached("blocks", super().blocks)

    def listed(self, transposed: bool, why: str) -> Steps:
        """Steps of a product with a vector: the operators, each as often as it runs, and the number of stored blocks.
        """
        machine = Steps(why)
        self.run(machine, transposed, True)
        return machine


class Delta(Derivative):
    """The derivative of an expression, the turning of the axes left out."""

    turning = False


@explain.steps.register
def _(expr: Derivative, transposed: bool, why: str) -> list[Step]:
    if expr.pattern() is not None:
        name = expr.called + (".T" if transposed else "")
        return [Step("sparse", name, "O(n)", why or "blocks kept for the state")]
    return expr.listed(transposed, why).steps


@cost.counted.register
def _(x: Derivative, weights: cost.Weights) -> Any:
    if x.pattern() is not None:
        return weights.diagonal
    listed = x.listed(False, "")
    return listed.kept * weights.diagonal + sum(cost.counted(part, weights) for part in listed.runs)
