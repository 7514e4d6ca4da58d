"""Typed, lazy operator expressions over the blocks of a tree. Knows trees and matrices, no mechanics."""

from soacraft.algebra.descriptions import cards, cost, explain, printing
from soacraft.algebra.expressions.nodes import I, Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces import vector_card
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.tree import Branch, Tree
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.algebra.values import determinant, evaluate, measure, norms, properties

__all__ = [
    "Branch",
    "I",
    "Identity",
    "Inverse",
    "Leaf",
    "Operator",
    "Power",
    "Product",
    "Scaled",
    "Space",
    "StackedVector",
    "Sum",
    "Transpose",
    "Tree",
]


def __dir__() -> list[str]:
    return __all__
