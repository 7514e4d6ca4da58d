"""The user's own names and identities. They belong to the model or sub-graph, and the axes, they were made with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces.space import Space
from soacraft.citations import cite
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.leaves import DefinedLeaf

if TYPE_CHECKING:
    from soacraft.ops.proofs.translate import Translator


@dataclass(frozen=True)
class StatedIdentity:
    """left = right, stated for one model with the parameters it had, and checked with numbers."""

    name: str
    source: str
    left: Operator
    right: Operator
    binding: Bound = field(repr=False)
    parameters: int = field(repr=False)

    def forget(self) -> None:
        """Take it back: `prove` and `simplify` use it no more."""
        book_of(self.binding).identities.pop((self.name, self.binding.body), None)

    def __repr__(self) -> str:
        return f"{self.name}: {self.left.text()} = {self.right.text()} ({cite(self.source)})"


Key = tuple[str, Space]


class Book:
    """Definitions and stated identities of one model, by name and space of its bodies. A definition lives as long as
    its operator is referenced. A copy of the model starts with an empty book.
    """

    def __init__(self) -> None:
        self.definitions: WeakValueDictionary[Key, DefinedLeaf] = WeakValueDictionary()
        self.identities: dict[Key, StatedIdentity] = {}

    def __reduce__(self) -> tuple[type[Book], tuple[()]]:
        return Book, ()


def book_of(binding: Bound) -> Book:
    """The book of a binding's model; kept with the model."""
    model = binding.graph.root if isinstance(binding, GraphBinding) else binding.model
    found: Book | None = model.__dict__.get("_book")
    if found is None:
        found = model.__dict__["_book"] = Book()
    return found


def moved(expr: Operator, binding: Bound) -> Operator:
    """Expression at the state of another binding of the same model."""
    here = next((leaf.binding.identity() for leaf in expr.leaves()), None)
    if here == binding.identity():
        return expr
    return expr.with_leaves(lambda leaf: leaf.bound_to(binding))


def _moved_leaf(leaf: DefinedLeaf, binding: Bound) -> Leaf:
    return leaf if leaf.binding.identity() == binding.identity() else leaf.bound_to(binding)


def names_of(binding: Bound) -> list[Leaf]:
    """The user's operators, at the state of a binding."""
    known = list(book_of(binding).definitions.items())
    return [_moved_leaf(leaf, binding) for (_, body), leaf in known if body == binding.body]


def teach(translator: Translator) -> None:
    """Add the identities that were stated for the translator's model."""
    binding = translator.binding
    if binding is None:
        return
    for (_, body), identity in list(book_of(binding).identities.items()):
        if body == binding.body and identity.parameters == binding.parameters:
            translator.stated.append(identity.name)
            translator.relate(
                identity.name, identity.source, moved(identity.left, binding), moved(identity.right, binding)
            )
