"""Handing results over: into `out=` or a new array, with the batch's leading axes, finite or refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.dynamics.problem import Problem
from soacraft.dynamics.table import TABLE
from soacraft.errors import SoacraftError, StateError
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, state_text

Tail = tuple[int, ...]


def read_out(p: Problem, out: Any, tails: tuple[Tail, ...]) -> None:
    """Check `out=` against the shapes of the results and keep it in the problem."""
    if out is None:
        p.out = (None,) * len(tails)
    elif len(tails) == 1:
        p.out = (_target(p, out, tails[0], "out"),)
    elif not isinstance(out, tuple | list) or len(out) != len(tails):
        shapes = ", ".join(str((*p.batch, *tail)) for tail in tails)
        raise StateError(
            f"out of {p.function} must be {len(tails)} arrays of shapes {shapes}, got {_what(out)}."
        )
    else:
        p.out = tuple(_target(p, x, tail, f"out[{i}]") for i, (x, tail) in enumerate(zip(out, tails, strict=True)))
        for i, x in enumerate(p.out):
            for j in range(i):
                other = p.out[j]
                if x is not None and other is not None and np.may_share_memory(x, other):
                    raise StateError(f"out[{j}] and out[{i}] of {p.function} share memory; give separate arrays.")


def _target(p: Problem, out: Any, tail: Tail, what: str) -> Array:
    """An array that can take a result as it is."""
    wanted = (*p.batch, *tail)
    need = f"{what} of {p.function} must be a writeable C-contiguous float64 array of shape {wanted}, got"
    if not isinstance(out, np.ndarray):
        raise StateError(f"{need} {_what(out)}.")
    if out.dtype != np.float64 or not out.dtype.isnative:
        raise StateError(f"{need} {out.dtype}.")
    if out.shape != wanted:
        raise StateError(f"{need} shape {out.shape}.")
    if not out.flags.writeable:
        raise StateError(f"{need} one that is read-only.")
    if not out.flags.c_contiguous or not out.flags.aligned:
        raise StateError(f"{need} one with strides {out.strides}.")
    return out


def _what(out: Any) -> str:
    return f"{type(out).__name__} of length {len(out)}" if isinstance(out, tuple | list) else type(out).__name__


#: Number of 6 x 6 blocks for each body that the reference engine holds at a time.
_BLOCKS = 8


def refuse_large_results(p: Problem, tails: tuple[Tail, ...]) -> None:
    """Raise `SizeError` for results that would take more than half of the free memory, before any is allocated."""
    instead = TABLE[p.function].instead
    cure = f"Use {instead}." if instead and not p.batch else "Take the batch in parts."
    for tail, out in zip(tails, p.out, strict=True):
        if out is None:
            refuse_large((*p.batch, *tail), lambda: f"the result of {p.function} for {p.graph.name!r}", cure)


def refuse_large_work(p: Problem) -> None:
    """Refuse a batch whose blocks of all bodies in all states, in the reference engine, need too much memory."""
    refuse_large(
        (*p.batch, p.n, 6, 6, _BLOCKS),
        lambda: f"what {p.function} for {p.graph.name!r} works on",
        "Take the batch in parts." if p.batch else "Take a sub-graph.",
    )


def deliver(p: Problem, results: tuple[Any, ...], tails: tuple[Tail, ...]) -> tuple[Array, ...]:
    """The results in `out` or in new arrays, if all are finite. Read-only ones are kept by others: they are copied."""
    for value in results:
        if not np.isfinite(value).all():
            raise not_finite(p, np.asarray(value))
    return tuple(_deliver(p, x, tail, to) for x, tail, to in zip(results, tails, p.out, strict=True))


def _deliver(p: Problem, value: Any, tail: Tail, out: Array | None) -> Array:
    if out is None:
        shape = (*p.batch, *tail)
        if isinstance(value, np.ndarray) and value.shape == shape and value.flags.carray:  # not one that is kept
            return value
        return np.array(np.broadcast_to(value, shape), order="C")
    if value is not out:
        out[...] = value
    return out


def not_finite(p: Problem, value: Array | None = None, cause: SoacraftError | None = None) -> StateError:
    """The error for numbers that overflow in a result, or on the way to it."""
    sizes = ", ".join(
        f"|{name}| up to {float(np.max(np.abs(x))):.3g}" for name, x in p.given.items() if x.size
    )
    at, shape = (cause.entry, cause.shape) if cause is not None else ((), ())
    if value is not None:
        at, shape = tuple(np.argwhere(~np.isfinite(value))[0].tolist()), value.shape
    axes = len(p.batch)
    state = state_text(at[:axes], p.batch) if shape[:axes] == p.batch else ""
    inputs = f" ({sizes})" if sizes else ""
    return StateError(
        f"{state}the result of {p.function} for {p.graph.name!r} is not finite: numbers of this size overflow{inputs}. "
        "Check the units and the state."
    )
