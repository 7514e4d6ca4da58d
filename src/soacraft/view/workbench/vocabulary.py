"""Vocabulary of the prompt: operators and vectors of the papers, functions, and members of values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import ExpressionError
from soacraft.ops.derived import diag_of
from soacraft.ops.names import ALONG_VELOCITY, FOR_DERIVATIVES
from soacraft.ops.namespace import VECTORS, Operators
from soacraft.ops.proofs.prove import prove
from soacraft.ops.proofs.simplify import simplify
from soacraft.ops.roots import root_rate
from soacraft.ops.table import NAMES

#: Names that are operators, and follow the state; vectors are computed when they are named.
OPERATORS = (*NAMES, *ALONG_VELOCITY, "I")
STACKED = VECTORS
#: Seconds that a proof and a simplification may take.
PROVING, SIMPLIFYING = 8.0, 2.0


@dataclass(frozen=True)
class Function:
    """A function or a method: the kinds of its arguments, the number it needs, its purpose, and its place in Python.

    A kind of argument is `o` an operator, `v` a vector, `t` a text or a list of texts, `n` a whole number, `b` a body
    or dof: a text or a whole number. `does` is given the operators of the model first, for functions. `home` is `s` for
    those of `s = sc.operators(mb)`, `sc` for those of soacraft, and empty for those that a notebook defines.
    """

    kinds: tuple[str, ...]
    least: int
    does: Callable[..., Any]
    home: str = ""


def _space(s: Operators, name: str, fill: Callable[[int], Any]) -> StackedVector:
    if name not in ("hinge", "body"):
        raise ExpressionError(f"there is no space {name[:40]!r}; the page has vectors of 'hinge' and of 'body'.")
    space = s.hinge if name == "hinge" else s.body
    return StackedVector(space, fill(space.size))


def _random(s: Operators, name: str, seed: int = 0) -> StackedVector:
    if seed < 0:
        raise ExpressionError(f"a seed is a whole number from 0 on, got {seed}.")
    return _space(s, name, np.random.default_rng(seed).standard_normal)


def _of(name: str) -> Callable[..., Any]:
    def call(s: Operators, *args: Any) -> Any:
        return getattr(s, name)(*args)

    return call


FUNCTIONS: dict[str, Function] = {
    "B": Function(("t",), 1, _of("B"), "s"),
    **{x: Function(("b", "b"), 1, _of(x), "s") for x in FOR_DERIVATIVES if x not in ("W_nd", "W_nd_v")},
    "W_nd": Function(("t", "b", "b"), 2, _of("W_nd"), "s"),
    "W_nd_v": Function(("t",), 1, _of("W_nd_v"), "s"),
    "diag_of": Function(("o",), 1, lambda s, x: diag_of(x), "sc"),
    "root_rate": Function(("o", "o"), 2, lambda s, x, y: root_rate(x, y)),
    "simplify": Function(("o",), 1, lambda s, x: simplify(x, SIMPLIFYING), "sc"),
    "prove": Function(("o", "o"), 2, lambda s, x, y: prove(x, y, PROVING), "sc"),
    "explain": Function(("o",), 1, lambda s, x: x.explain()),
    "zeros": Function(("t",), 1, lambda s, x: _space(s, x, np.zeros)),
    "ones": Function(("t",), 1, lambda s, x: _space(s, x, np.ones)),
    "random": Function(("t", "n"), 1, _random),
}

#: Members of operators that are called.
_ASKED = "dot sqrt cholesky simplify explain array trace det log_det norm properties is_zero is_identity is_symmetric"
METHODS: dict[str, Function] = {
    **{name: Function((), 0, getattr(Operator, name)) for name in _ASKED.split()},
    "diff": Function(("b", "b"), 1, Operator.diff),
    "along": Function(("b", "b"), 0, Operator.along),
    "lyapunov": Function(("o", "o"), 1, Operator.lyapunov),
    "remainder": Function(("o", "o"), 1, Operator.remainder),
}
#: Methods of vectors.
VECTOR_METHODS: dict[str, Function] = {"dot": Function(("v",), 1, StackedVector.dot)}
#: Members of operators that are not called.
PROPERTIES = ("T", "inv")

#: Every name that means something already.
TAKEN = frozenset((*OPERATORS, *STACKED, *FUNCTIONS, *METHODS, *PROPERTIES))
