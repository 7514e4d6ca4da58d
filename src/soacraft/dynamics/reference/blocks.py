"""Conversions between arrays over dofs or bodies and the blocks of the recursions."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.recursions.types import Blocks
from soacraft.spatial.checks import Array


def columns(p: Problem, x: Array) -> list[Array]:
    """A vector over the dofs (..., nv) as columns (..., nv_k, 1) by body."""
    return [x[..., dofs, None] for dofs in p.layout.v_slices]


def rows(p: Problem, X: Array) -> list[Array]:
    """A matrix over the dofs (..., nv, m) as blocks (..., nv_k, m) by body."""
    return [X[..., dofs, :] for dofs in p.layout.v_slices]


def over_dofs(p: Problem, blocks: Blocks) -> Array:
    """Blocks (..., nv_k, m) by body as (..., nv, m)."""
    m = max((blocks[k].shape[-1] for k in range(p.n)), default=1)
    x = np.empty((*_batch(p, blocks), p.nv, m))
    for k, dofs in enumerate(p.layout.v_slices):
        x[..., dofs, :] = blocks[k]
    return x


def vector(p: Problem, blocks: Blocks) -> Array:
    """Columns (..., nv_k, 1) by body as a vector (..., nv)."""
    return over_dofs(p, blocks)[..., 0]


def over_bodies(p: Problem, blocks: Blocks, tail: tuple[int, ...]) -> Array:
    """Blocks by body as (..., n, *tail)."""
    lead = np.broadcast_shapes(*{blocks[k].shape[: blocks[k].ndim - len(tail)] for k in range(p.n)})
    x = np.empty((*lead, p.n, *tail))
    for k in range(p.n):
        entry: Any = (..., k, *(slice(None),) * len(tail))
        x[entry] = blocks[k]
    return x


def _batch(p: Problem, blocks: Blocks) -> tuple[int, ...]:
    return np.broadcast_shapes(*{blocks[k].shape[:-2] for k in range(p.n)})
