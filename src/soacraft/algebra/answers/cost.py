"""`Cost`: products of blocks that an expression takes, as polynomials of the sizes of the tree (`Count`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from soacraft.arguments import whole_number
from soacraft.errors import SpaceError

#: Variables of a count: bodies, bodies on the longest path, serial segments.
VARIABLES = ("n", "depth", "branches")
Powers = tuple[int, int, int]


class Count:
    """A number of block products: a polynomial in n, depth and branches.

    >>> 5 * Count.of("n") + 2
    5n + 2
    >>> (Count.of("n") * Count.of("depth")).at(n=20, depth=4)
    80
    """

    def __init__(self, terms: Mapping[Powers, int]) -> None:
        self.terms = {powers: c for powers, c in terms.items() if c}

    @staticmethod
    def of(variable: str) -> Count:
        """One variable."""
        i = VARIABLES.index(variable)
        return Count({(int(i == 0), int(i == 1), int(i == 2)): 1})

    def __add__(self, other: Count | int) -> Count:
        more = other.terms if isinstance(other, Count) else {(0, 0, 0): other}
        return Count({p: self.terms.get(p, 0) + more.get(p, 0) for p in (*self.terms, *more)})

    __radd__ = __add__

    def __mul__(self, other: Count | int) -> Count:
        more = other.terms if isinstance(other, Count) else {(0, 0, 0): other}
        found = Count({})
        for a, c in self.terms.items():
            for b, d in more.items():
                found = found + Count({(a[0] + b[0], a[1] + b[1], a[2] + b[2]): c * d})
        return found

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Count) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def at(self, **sizes: int) -> int:
        """The number for a tree of these sizes; every variable that occurs is wanted."""
        total = 0
        for powers, c in self.terms.items():
            for variable, power in zip(VARIABLES, powers, strict=True):
                if power and variable not in sizes:
                    raise SpaceError(f"the cost {self} depends on {variable}: write at({variable}=...).")
                if power:
                    c *= whole_number(sizes[variable], f"{variable} of a cost", 0, error=SpaceError) ** power
            total += c
        unknown = set(sizes) - set(VARIABLES)
        if unknown:
            raise SpaceError(f"a cost is a function of n, depth and branches, not of {', '.join(sorted(unknown))}.")
        return total

    def __repr__(self) -> str:
        ordered = sorted(self.terms.items(), key=lambda t: (-sum(t[0]), [-p for p in t[0]]))
        return " + ".join(_monomial(powers, c) for powers, c in ordered) or "0"


def _monomial(powers: Powers, c: int) -> str:
    words = [v if p == 1 else f"{v}^{p}" for v, p in zip(VARIABLES, powers, strict=True) if p]
    if not words:
        return str(c)
    return ("" if c == 1 else str(c) if words[0].startswith("n") else f"{c}*") + "*".join(words)


N, DEPTH = Count.of("n"), Count.of("depth")
NOTHING = Count({})


class Cost:
    """Block products of a product with a vector (`product`), of one block (`block`), of the dense matrix (`array`).

    Costs of one model are ordered by the product with a vector. An addition of blocks counts nothing next to a product;
    what is computed once for a configuration in O(n) (P, D, K, ...) is not counted.
    """

    def __init__(self, product: Count, block: Count, array: Count, sizes: Mapping[str, int]) -> None:
        self.product, self.block, self.array, self.sizes = product, block, array, dict(sizes)

    def at(self, **sizes: int) -> int:
        """Block products of a product with a vector, on a tree of other sizes than the bound one."""
        return self.product.at(**(self.sizes | sizes))

    def __int__(self) -> int:
        return self.product.at(**self.sizes)

    def _other(self, other: object) -> int:
        if not isinstance(other, Cost):
            raise SpaceError(f"a cost is compared with a cost, not with {other!r}; int(cost) is a number.")
        if self.sizes and other.sizes and self.sizes != other.sizes:
            raise SpaceError(
                f"costs of different trees, {_sizes(self.sizes)} and {_sizes(other.sizes)}, are not compared; "
                "use cost.at(n=...)."
            )
        return other.product.at(**(other.sizes or self.sizes))

    def _own(self, other: Any) -> int:
        return self.product.at(**(self.sizes or other.sizes))

    def __lt__(self, other: Cost) -> bool:
        return self._other(other) > self._own(other)

    def __le__(self, other: Cost) -> bool:
        return self._other(other) >= self._own(other)

    def __gt__(self, other: Cost) -> bool:
        return self._other(other) < self._own(other)

    def __ge__(self, other: Cost) -> bool:
        return self._other(other) <= self._own(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cost) and (self.product, self.sizes) == (other.product, other.sizes)

    def __hash__(self) -> int:
        return hash(self.product)

    def __repr__(self) -> str:
        return f"{self.product} block products with a vector, {self.block} for a block, {self.array} for the matrix"


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sizes.items())
