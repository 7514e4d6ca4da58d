"""Typed, lazy operator expressions over the blocks of a tree. Knows trees and matrices, no mechanics."""

from soacraft.algebra.nodes import I, Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator
from soacraft.algebra.space import Space
from soacraft.algebra.tree import Branch, Tree
from soacraft.algebra.vectors import StackedVector

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
