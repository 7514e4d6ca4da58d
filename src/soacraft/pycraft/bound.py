"""Operators meant by a printed constructor: those of the model it is given, or of the model named last."""

from __future__ import annotations

from threading import local
from typing import Any

import numpy as np

from soacraft.algebra.spaces.space import Space
from soacraft.errors import LoopError, ModelError, SpaceError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.ops.namespace import Operators, operators

#: The operators of the model named last, in each thread its own.
_named = local()


def bound(g: Any = None) -> Operators:
    """The operators of g in the papers' axes; without g, of the model that a constructor was given last."""
    if g is None:
        last: Operators | None = getattr(_named, "last", None)
        if last is None:
            raise ModelError(
                "a constructor without an argument takes the model named last, and none was named yet; name one, as "
                "in Phi(g)."
            )
        return last
    _named.last = operators_of = g if isinstance(g, Operators) else _made(g)
    return operators_of


def _made(g: Any) -> Operators:
    if isinstance(g, SKOModel) or (not isinstance(g, (Graph, State)) and callable(getattr(g, "binding", None))):
        result: Operators = operators(g)  # blocks, and systems with compound bodies, have one kind of axes
        return result
    try:
        result = operators(g, axes="inertial")
    except LoopError as error:
        raise LoopError(
            f"{str(error).partition(' Pass ')[0]} In the names of the papers: HClass(sc.loops.ConstraintEmbedding(g)) "
            "with its loops, HClass(sc.operators(g, axes='inertial', ignore_loops=True)) without them."
        ) from None
    return result


def block_number(space: Space, k: Any) -> int:
    """Block of a space meant by the papers' number k: tip 1, base n; nodes are counted from 1 in the order of the call.
    """
    n = len(space)
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= n:
        raise SpaceError(f"{space} has blocks 1 to {n}, counted as in the papers from the tips, not {k!r}.")
    number = int(k) - 1
    if space.numbering is not None:
        return space.numbering[number]
    return number if space.tree is None else space.tree.tips_to_base()[number]
