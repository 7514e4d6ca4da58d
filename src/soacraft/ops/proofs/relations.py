"""Relations that a leaf adds to a proof: its letter, if it is one of the papers', and the relations that define its
kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch
from typing import TypeGuard

from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.ops.derived import UP, DiagOf, LyapunovLeaf
from soacraft.ops.leaves import DefinedLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.roots import RootLeaf, RootRate
from soacraft.ops.table import NAMES

#: Further relation of a leaf: (name, source, left, right), from the module that makes such leaves.
SideRule = tuple[str, str, Operator, Operator | None]

SERIAL = ", on a chain"


@singledispatch
def paper_letter(leaf: Leaf) -> str | None:
    """The letter of one of the operators of the papers, None for any other leaf."""
    return None


@paper_letter.register
def _(leaf: SparseLeaf | PropagatorLeaf) -> str | None:
    return leaf.name if leaf.name in NAMES else None


@paper_letter.register
def _(leaf: LyapunovLeaf) -> str | None:
    return "R" if leaf.key()[:2] == ("leaf", "R") else None


@paper_letter.register
def _(leaf: DefinedLeaf) -> str | None:
    return "Omega" if leaf.name == "Omega" else None


def is_path(x: Operator) -> TypeGuard[PropagatorLeaf]:
    """True for phi or psi."""
    return isinstance(x, PropagatorLeaf) and not x.what.tilde


def is_serial(leaf: Leaf) -> bool:
    """True if it is of a single chain."""
    tree = leaf.spaces[0].tree
    return tree is not None and tree.is_serial


def own_relations(leaf: Leaf) -> Iterator[SideRule]:
    """Relations of a leaf: zero for one that does not change; the relations that define its kind."""
    if leaf.pattern() == frozenset():
        yield f"{leaf.name} is zero", leaf.source, leaf, None
    yield from defining_relations(leaf)


@singledispatch
def defining_relations(leaf: Leaf) -> Iterable[SideRule]:
    """Relations that define a kind of leaf."""
    return ()


@defining_relations.register
def _(leaf: RootLeaf) -> Iterable[SideRule]:
    yield f"{leaf.name} times its transpose", leaf.source, leaf * leaf.T, leaf.X


@defining_relations.register
def _(leaf: RootRate) -> Iterable[SideRule]:
    yield f"equation of {leaf.name}", leaf.source, leaf.W * leaf.T + leaf * leaf.W.T, leaf.Z


@defining_relations.register
def _(leaf: LyapunovLeaf) -> Iterable[SideRule]:
    """Equation that a Lyapunov solution solves (004 Eq. 12, 22)."""
    E, X, other = leaf.E, leaf.X, leaf.other
    if E.pattern() == UP:
        yield f"forward Lyapunov equation of {leaf.name}", "004 Eq. 12", leaf - E * leaf * other.T, X
    else:
        yield f"backward Lyapunov equation of {leaf.name}", "004 Eq. 22", leaf - DiagOf(E * leaf * other.T), X
        if is_serial(leaf):
            yield f"backward Lyapunov equation of {leaf.name}{SERIAL}", "004 Eq. 28", leaf - E * leaf * other.T, X
