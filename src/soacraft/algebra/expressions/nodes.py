"""The kinds of expression: `Identity, Scaled, Sum, Product, Power, Transpose, Inverse`."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.once import once
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator, Pattern, allowed
from soacraft.algebra.spaces.blocks import Blocks, identity
from soacraft.algebra.spaces.regular import inverse as regular_inverse
from soacraft.algebra.spaces.regular import is_regular
from soacraft.algebra.spaces.space import Space
from soacraft.errors import SingularError, SpaceError, StructureError

Array = npt.NDArray[np.float64]


class Identity(Operator):
    """The identity; it takes its space from its neighbour."""

    def __init__(self, space: Space | None = None) -> None:
        self.rows = self.cols = space

    def apply(self, x: Array) -> Array:
        return x

    apply_T = apply

    def pattern(self) -> Pattern:
        return DIAGONAL

    def blocks(self) -> Blocks:
        return identity(self.spaces[0])

    def parts(self) -> tuple[Operator, ...]:
        return ()

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return self

    def with_space(self, space: Space) -> Operator:
        return Identity(space)

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        return I  # other leaves may have other spaces: it takes the new neighbour's

    def key(self) -> tuple[Any, ...]:
        return ("I",)


#: The identity operator of whatever space its neighbour has.
I = Identity()


def _around(parts: tuple[Operator, ...]) -> int:
    """The depth of an expression made of parts."""
    return 1 + max(part.depth for part in parts)


class Scaled(Operator):
    """A number times an operator."""

    def __init__(self, factor: int | float, arg: Operator) -> None:
        self.factor, self.arg, self.depth = factor, arg, allowed(arg.depth + 1)
        self.rows, self.cols = arg.rows, arg.cols

    def apply(self, x: Array) -> Array:
        return self.factor * self.arg.apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.factor * self.arg.apply_T(x)

    def pattern(self) -> Pattern | None:
        return self.arg.pattern()

    def blocks(self) -> Blocks:
        return self.arg.blocks().scaled(self.factor)

    def parts(self) -> tuple[Operator, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return Scaled(self.factor, parts[0])

    @once
    def key(self) -> tuple[Any, ...]:
        return ("scaled", self.factor, self.arg.key())


class Sum(Operator):
    """A sum of operators of the same spaces."""

    claims: frozenset[str] = frozenset()  # known properties of the sum, in addition to those of all its terms

    def __init__(self, terms: tuple[Operator, ...], depth: int | None = None) -> None:
        self.terms, self.depth = terms, allowed(_around(terms) if depth is None else depth)
        self.rows, self.cols = terms[0].rows, terms[0].cols

    def apply(self, x: Array) -> Array:
        return reduce(np.add, [t.apply(x) for t in self.terms])

    def apply_T(self, x: Array) -> Array:
        return reduce(np.add, [t.apply_T(x) for t in self.terms])

    def pattern(self) -> Pattern | None:
        found: Pattern = frozenset()
        for t in self.terms:
            one = t.pattern()
            if one is None:
                return None
            found |= one
        return found

    def blocks(self) -> Blocks:
        return reduce(Blocks.plus, [t.blocks() for t in self.terms])

    def parts(self) -> tuple[Operator, ...]:
        return self.terms

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return reduce(lambda x, y: total(x, y, "+"), parts)

    @once
    def key(self) -> tuple[Any, ...]:
        return ("sum", *(t.key() for t in self.terms))


#: The pattern of a product of two patterns; pairs not listed are sparse but of no special kind.
_MEET = {("d", x): x for x in "duts"} | {(x, "d"): x for x in "duts"} | {("u", "t"): "d"}


class Product(Operator):
    """A product, applied right to left."""

    def __init__(self, factors: tuple[Operator, ...], depth: int | None = None) -> None:
        self.factors, self.depth = factors, allowed(_around(factors) if depth is None else depth)
        self.rows, self.cols = factors[0].rows, factors[-1].cols

    def apply(self, x: Array) -> Array:
        return reduce(lambda y, f: f.apply(y), reversed(self.factors), x)

    def apply_T(self, x: Array) -> Array:
        return reduce(lambda y, f: f.apply_T(y), self.factors, x)

    def pattern(self) -> Pattern | None:
        found: Pattern | None = None
        for f in self.factors:
            one = f.pattern()
            if one is None:
                return None
            found = one if found is None else frozenset(_MEET.get((a, b), "s") for a in found for b in one)
        return found

    def blocks(self) -> Blocks:
        return reduce(Blocks.times, [f.blocks() for f in self.factors])

    def parts(self) -> tuple[Operator, ...]:
        return self.factors

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return reduce(product, parts)

    @once
    def key(self) -> tuple[Any, ...]:
        return ("product", *(f.key() for f in self.factors))


class Power(Operator):
    """A whole power of a square operator."""

    def __init__(self, arg: Operator, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0:
            raise SpaceError(f"{arg.text()} ** {n!r}: a power is a whole number, zero or more; .inv is the inverse.")
        _square(arg, f"**{n}")
        self.arg, self.n, self.depth = arg, int(n), allowed(arg.depth + 1)
        self.rows = self.cols = arg.rows

    def apply(self, x: Array) -> Array:
        if self.pattern() is not None:
            return self.blocks().apply(x)
        return reduce(lambda y, _: self.arg.apply(y), range(self.n), x)

    def apply_T(self, x: Array) -> Array:
        if self.pattern() is not None:
            return self.blocks().apply_T(x)
        return reduce(lambda y, _: self.arg.apply_T(y), range(self.n), x)

    def pattern(self) -> Pattern | None:
        one = self.arg.pattern()
        if self.n == 0:
            return DIAGONAL
        if one is None or one == DIAGONAL or self.n == 1:
            return one
        return frozenset("s")

    def blocks(self) -> Blocks:
        """Blocks of the power, by repeated squaring."""
        return self.cached("blocks", self._squared)

    def _squared(self) -> Blocks:
        found, n = identity(self.spaces[0]), self.n
        square = self.arg.blocks() if n else found
        while n:
            found = found.times(square) if n % 2 else found
            n //= 2
            square = square.times(square) if n else square
        return found

    def parts(self) -> tuple[Operator, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return Power(parts[0], self.n)

    @once
    def key(self) -> tuple[Any, ...]:
        return ("power", self.n, self.arg.key())


class Transpose(Operator):
    """The transpose of an expression."""

    def __init__(self, arg: Operator) -> None:
        self.arg, self.depth = arg, allowed(arg.depth + 1)
        self.rows, self.cols = arg.cols, arg.rows

    def apply(self, x: Array) -> Array:
        return self.arg.apply_T(x)

    def apply_T(self, x: Array) -> Array:
        return self.arg.apply(x)

    def pattern(self) -> Pattern | None:
        found = self.arg.pattern()
        return None if found is None else frozenset({"u": "t", "t": "u"}.get(x, x) for x in found)

    def blocks(self) -> Blocks:
        return self.arg.blocks().transposed()

    def parts(self) -> tuple[Operator, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return Transpose(parts[0])

    @once
    def key(self) -> tuple[Any, ...]:
        return ("T", self.arg.key())


class Inverse(Operator):
    """The inverse: block by block where the operator is block-diagonal, else by a rule that knows another form."""

    def __init__(self, arg: Operator) -> None:
        _square(arg, ".inv")
        self.arg, self.depth = arg, allowed(arg.depth + 1)
        self.rows = self.cols = arg.rows
        self._known: tuple[Operator, str] | None = None
        self._asked = False

    def known(self) -> tuple[Operator, str] | None:
        """An expression with the same value that sweeps can compute, and its source; None when there is none."""
        if not self._asked:
            self._known, self._asked = questions.known_inverse(self.arg), True
        return self._known

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_known": None, "_asked": False}

    def _structured(self) -> Operator:
        found = self.known()
        if found is None:
            raise StructureError(
                f"no structured inverse of {self.arg.text()} is known, so it cannot be applied to vectors or give "
                f"blocks; np.linalg.solve(({self.arg.text()}).array(), x) solves it densely."
            )
        return found[0]

    def apply(self, x: Array) -> Array:
        return self.blocks().apply(x) if self.pattern() is not None else self._structured().apply(x)

    def apply_T(self, x: Array) -> Array:
        return self.blocks().apply_T(x) if self.pattern() is not None else self._structured().apply_T(x)

    def pattern(self) -> Pattern | None:
        if self.arg.pattern() == DIAGONAL:
            return DIAGONAL
        found = self.known()
        return None if found is None else found[0].pattern()

    def blocks(self) -> Blocks:
        if self.arg.pattern() == DIAGONAL:
            return self.cached("blocks", self._invert)
        return self._structured().blocks()

    def _invert(self) -> Blocks:
        """Block by block, those of one size side by side."""
        space = self.spaces[0]
        blocks = self.arg.blocks()
        entries = {(k, k): blocks.block(k, k) for k, d in enumerate(space.dims) if d == 0}
        for d in sorted(set(space.dims) - {0}):
            which = [k for k, size in enumerate(space.dims) if size == d]
            same = [np.broadcast_to(blocks.block(k, k), (*blocks.batch, d, d)) for k in which]
            found = _inverted(np.stack(same, axis=-3), self, which)
            entries |= {(k, k): found[..., i, :, :] for i, k in enumerate(which)}
        return Blocks(space, space, dict(sorted(entries.items())))

    def parts(self) -> tuple[Operator, ...]:
        return (self.arg,)

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return inverse(parts[0])  # what it has computed is kept with it

    @once
    def key(self) -> tuple[Any, ...]:
        return ("inv", self.arg.key())


def _inverted(x: Array, of: Inverse, which: list[int]) -> Array:
    """The inverses of diagonal blocks (..., blocks, d, d); a singular one is refused by name."""
    bad = ~is_regular(x).reshape(-1, len(which)).all(axis=0)
    if bad.any():
        i = int(np.argmax(bad))
        raise SingularError(
            f"block {of.spaces[0].labels[which[i]]!r} of {of.arg.text()} is singular (largest entry "
            f"{float(np.max(np.abs(x[..., i, :, :]))):.3g}); an inverse needs every diagonal block to be regular."
        )
    return regular_inverse(x)


def _square(arg: Operator, tried: str) -> None:
    if arg.rows != arg.cols:
        name = f"({arg.text()})" if arg.parts() else arg.text()
        raise SpaceError(f"cannot form {name}{tried}: {arg.text()} is not square, it maps {arg.rows} <- {arg.cols}.")


def transpose(x: Operator) -> Operator:
    """x.T; the transpose of a transpose is the operator itself."""
    return x.arg if isinstance(x, Transpose) else Transpose(x)


def inverse(x: Operator) -> Operator:
    """x.inv; the inverse of an inverse is the operator itself. Made once, so that what it computes is kept."""
    if isinstance(x, Inverse):
        return x.arg
    if "_inverse" not in x.__dict__:
        x.__dict__["_inverse"] = Inverse(x)
    made: Inverse = x.__dict__["_inverse"]
    return made


def product(left: Operator, right: Operator) -> Operator:
    """left * right, with the identity taking the space of its neighbour."""
    if left.rows is None and right.rows is not None:
        left = left.with_space(right.rows)
    if right.rows is None and left.cols is not None:
        right = right.with_space(left.cols)
    if left.cols != right.rows:
        assert left.cols is not None and right.rows is not None
        raise SpaceError(_no_product(left, right, left.cols, right.rows))
    parts = [(x.factors, x.depth) if isinstance(x, Product) else ((x,), x.depth + 1) for x in (left, right)]
    (head, above), (tail, below) = parts
    return Product((*head, *tail), max(above, below))


def _no_product(left: Operator, right: Operator, takes: Space, gives: Space) -> str:
    a, b = _short(left), _short(right)
    why = (
        f"cannot form {a} * {b}: {a} takes a vector of {takes.describe_against(gives)}, "
        f"but {b} gives a vector of {gives.describe_against(takes)}."
    )
    cure = takes.mismatch(gives)
    if not cure and left.rows == right.rows:
        cure = f" Did you mean {_short(left.T)} * {b}?"
    elif not cure and left.cols == right.cols:
        cure = f" Did you mean {a} * {_short(right.T)}?"
    return why + cure


def _short(x: Operator) -> str:
    return f"({x.text()})" if isinstance(x, (Sum, Scaled)) else x.text()


def total(left: Operator, right: Any, sign: str) -> Operator:
    """left + right or left - right, with the identity taking the space of its neighbour."""
    if not isinstance(right, Operator):
        if np.ndim(right) == 0 and np.isscalar(right) and right == 0:
            return left
        raise SpaceError(
            f"cannot form {left.text()} {sign} {type(right).__name__}: an operator adds to operators only; "
            "for a multiple of the identity write c*I, for numbers use .array()."
        )
    if left.rows is None and right.rows is not None:
        left = _with_neighbour(left, right, sign)
    elif right.rows is None and left.rows is not None:
        right = _with_neighbour(right, left, sign)
    if (left.rows, left.cols) != (right.rows, right.cols):
        raise SpaceError(_no_sum(left, right, sign))
    tail = right if sign == "+" else Scaled(-1, right)
    parts = [(x.terms, x.depth) if type(x) is Sum else ((x,), x.depth + 1) for x in (left, tail)]
    (head, above), (rest, below) = parts
    return Sum((*head, *rest), max(above, below))


def _with_neighbour(free: Operator, other: Operator, sign: str) -> Operator:
    if other.rows != other.cols or other.rows is None:
        raise SpaceError(
            f"cannot form {free.text()} {sign} {other.text()}: I is square, but {other.text()} maps "
            f"{other.rows} <- {other.cols}."
        )
    return free.with_space(other.rows)


def _no_sum(left: Operator, right: Operator, sign: str) -> str:
    (lr, lc), (rr, rc) = left.spaces, right.spaces
    why = (
        f"cannot form {left.text()} {sign} {right.text()}: the first maps {lr.describe_against(rr)} <- "
        f"{lc.describe_against(rc)}, the second {rr.describe_against(lr)} <- {rc.describe_against(lc)}."
    )
    cure = lr.mismatch(rr) or lc.mismatch(rc)
    if not cure and (lr, lc) == (rc, rr):
        cure = f" Did you mean {_short(right.T)}?"
    return why + cure
