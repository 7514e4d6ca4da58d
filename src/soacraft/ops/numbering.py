"""Numbering of the bodies of a model for users: the papers' (tip 1, base n), or a list of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import ModelError


def read_numbering(numbering: Any, tree: Tree, number: Callable[[Any], int]) -> tuple[int, ...] | None:
    """The nodes of a tree in the order they are counted; None for that of the model.

    `number` gives the number that a body has in the model. The papers count from the tips: children before parents.
    """
    if numbering is None:
        return None
    if isinstance(numbering, str):
        if numbering != "tip":
            raise ModelError(f"numbering={numbering!r}: 'tip' (tip 1, base n, as the papers do) or a list of bodies.")
        return tuple(tree.tips_to_base())
    if not isinstance(numbering, (list, tuple)):
        raise ModelError(f"numbering={numbering!r:.60}: 'tip' or a list of all bodies is wanted.")
    found = [number(body) for body in numbering]
    for k in found:
        if found.count(k) > 1:
            raise ModelError(f"numbering names {tree.names[k]!r} twice.")
    missing = [tree.names[k] for k in range(tree.n) if k not in found]
    if missing:
        raise ModelError(f"numbering leaves out {', '.join(map(repr, missing))}; it is a list of all bodies.")
    return tuple(found)
