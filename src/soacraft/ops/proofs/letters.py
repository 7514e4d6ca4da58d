"""Polynomials as expressions: the operators meant by the letters on one model."""

from __future__ import annotations

from functools import reduce

from soacraft.algebra.expressions.nodes import Identity, Scaled, product, total
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.rewriting.completion import OutOfBudget
from soacraft.algebra.rewriting.polynomial import Number, Polynomial, Word
from soacraft.algebra.spaces.space import Space
from soacraft.errors import SpaceError
from soacraft.ops.binding import Bound, GraphBinding, SKOBinding
from soacraft.ops.maps.leaves import MapLeaf
from soacraft.ops.named import named_of


def binding_of(tried: str, *exprs: Operator, maps: bool = False) -> Bound | None:
    """The one binding of all leaves, None for expressions made of identities; mixed ones are refused, with `maps` only
    where no map leads between them: then it is that of the model that the first map leads to.
    """
    leaves = [leaf for expr in exprs for leaf in expr.leaves()]
    if maps and (ways := [leaf.numbers for leaf in leaves if isinstance(leaf, MapLeaf)]):
        known = {s.identity() for way in ways for s in (way.a, way.b)}
        if all(isinstance(leaf, MapLeaf) or leaf.binding.identity() in known for leaf in leaves):
            return ways[0].b
    found = {leaf.binding.identity(): leaf for leaf in leaves}
    if len(found) > 1:
        a, b = list(found.values())[:2]
        cure = ", or map between them with sc.ops.between(a, b)" if maps else ""
        raise SpaceError(
            f"{tried} takes operators of one model at one state, but {a.name} and {b.name} are bound to different "
            f"ones; bind both with the same sc.operators(...){cure}."
        )
    for leaf in found.values():
        binding = leaf.binding
        if not isinstance(binding, (GraphBinding, SKOBinding)):
            raise SpaceError(f"{tried}: {leaf.name} is bound to no model.")
        return binding
    return None


class Letters:
    """The operators that letters stand for: those of the papers by name, others as they were met."""

    def __init__(self, binding: Bound | None) -> None:
        self.binding = binding
        self.operators: dict[str, Operator] = {}

    def operator(self, letter: str) -> Operator:
        """The operator of a letter."""
        if letter in self.operators:
            return self.operators[letter]
        if letter.endswith(".T"):
            return self.operator(letter[:-2]).T
        assert self.binding is not None, "letters come from leaves, and these are bound"
        s = named_of(self.binding)
        self.operators[letter] = s.D.inv if letter == "D.inv" else getattr(s, letter)
        return self.operators[letter]

    def write(self, p: Polynomial, rows: Space | None, cols: Space | None) -> Operator:
        """A polynomial as a plain sum of products, short words first."""
        if not p:
            return self.zero(rows, cols)
        made: Operator | None = None
        for word in sorted(p.terms, key=lambda w: (p.terms[w] < 0, len(w), w)):
            made = plus(made, self.word(word, rows), p.terms[word])
        assert made is not None
        return made

    def word(self, word: Word, rows: Space | None) -> Operator:
        """A product of letters."""
        return reduce(product, map(self.operator, word)) if word else Identity(rows)

    def zero(self, rows: Space | None, cols: Space | None) -> Operator:
        """Zero times the shortest product between two spaces."""
        if rows == cols:
            return Scaled(0, Identity(rows))
        steps = [self.operator("H"), *self.operators.values()]
        paths: list[Operator] = [x for step in steps for x in (step, step.T) if x.rows == rows]
        seen = [rows]
        for path in paths:
            if path.cols == cols:
                return Scaled(0, path)
            if path.cols not in seen:
                seen.append(path.cols)
                paths += [path * x for step in steps for x in (step, step.T) if x.rows == path.cols]
        raise AssertionError("an expression maps between spaces that its letters connect")


def plus(so_far: Operator | None, more: Operator, c: Number) -> Operator:
    """so_far + c * more, written with a minus where c is negative."""
    if so_far is None:
        return scaled(c, more)
    return total(so_far, scaled(-c if c < 0 else c, more), "-" if c < 0 else "+")


def scaled(c: Number, x: Operator) -> Operator:
    """c * x, plain x for one."""
    return x if c == 1 else Scaled(plain_number(c), x)


def plain_number(c: Number) -> int | float:
    """A coefficient as expressions have them."""
    try:
        return c if isinstance(c, int) and abs(c) <= 2**53 else float(c)
    except OverflowError:
        raise OutOfBudget("a number in it is beyond the largest float") from None
