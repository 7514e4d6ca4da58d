"""Calls of compiled programs that bindings ask for; `soacraft.ops.programs.roads` registers its functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.vectors import StackedVector

Array = npt.NDArray[np.float64]


@singledispatch
def product_call(expr: Any, fallback: Callable[[Any], StackedVector]) -> Callable[[Any], StackedVector] | None:
    """A quick call for products of an expression with vectors, or None."""
    return None


@singledispatch
def columns(expr: Any, x: Array) -> Array | None:
    """The product of an expression with columns, or None when its recursions should compute it."""
    return None


@singledispatch
def block(expr: Any, i: int, j: int) -> Array | None:
    """Block (i, j) of an expression, or None when its recursions should compute it."""
    return None


@singledispatch
def blocks(expr: Any) -> Blocks | None:
    """All blocks of an expression that has a pattern, or None when its recursions should compute them."""
    return None
