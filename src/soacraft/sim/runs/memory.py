"""What a run keeps in memory from step to step, as plain data: with the model and what acts, it tells all that follows.

Everything else a run has is computed from it. So two propagators that `recall` the same memory go on with the same
bits, in one process or in two; the one that wrote a checkpoint recalls it, too. Multistep integrators begin anew there.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from soacraft.spatial.checks import Array


class Memory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The memory of a runner."""

    ns: int
    """The present time in nanoseconds,"""
    rest: float
    """and the rest of one in seconds."""
    origin: int
    """The nanosecond from which fixed steps are counted."""
    x: Array
    """The point: coordinates, velocities, work, continuous states of components."""
    names: list[str]
    """Of the forces whose work is in it."""
    length: float | None = None
    """Of the next step, in seconds, where it adapts,"""
    longest: float = 0.0
    """that of the longest so far,"""
    counts: tuple[int, int] = (0, 0)
    """and those of stability (`Pace.counts`)."""
    signs: dict[str, float] = {}
    """Of the functions of events,"""
    storm: list[int] = []
    """and when the last of them happened, in nanoseconds."""
    events: list[str] = []
    """The names of all events that are looked for."""
    callbacks: list[tuple[int, int]] = []
    """When each is called next, and its period."""
    turns: dict[str, list[float]] = {}
    """Coordinates of the hinges of closures, as a solver follows them,"""
    kept: list[int] | None = None
    """the dofs that it took for independent last,"""
    choice: tuple[list[int], bool] | None = None
    """and those of constraint embedding."""
    going: bool = False
    """Whether it was kept in the middle of a run."""
    began: bool = False
    """Whether contact has looked at the start."""
    controls: dict[str, float] = {}
    """The numbers of controls."""
    ticks: list[int] = []
    """The number of the next tick of each clock,"""
    held: dict[str, Any] = {}
    """and what components hold: discrete states, sampled outputs, outputs of loops that are solved."""


def pack(held: dict[str, Any]) -> tuple[list[tuple[str, str, list[int]]], Array, Any]:
    """Values as names with kinds and shapes, and as two arrays: of float numbers, and of whole ones."""
    listed: list[tuple[str, str, list[int]]] = []
    floats: list[Any] = [np.zeros(0)]
    whole: list[Any] = [np.zeros(0, dtype=np.int64)]
    for name, value in held.items():
        array = np.asarray(value)
        kind = {"f": "float", "i": "int", "u": "int", "b": "bool"}[array.dtype.kind]
        listed.append((name, kind, list(array.shape)))
        (floats if kind == "float" else whole).append(array.ravel())
    return listed, np.concatenate(floats).astype("f8"), np.concatenate(whole).astype("i8")


def shapes(held: dict[str, Any]) -> list[tuple[str, tuple[int, ...], str]]:
    """Names, shapes and kinds of values."""
    return sorted((name, np.shape(x), np.asarray(x).dtype.kind) for name, x in held.items())


def unpack(listed: list[tuple[str, str, list[int]]], floats: Array, whole: Any) -> dict[str, Any]:
    """Values from names and arrays. A ValueError where these do not fit."""
    held: dict[str, Any] = {}
    at = {"float": 0, "int": 0, "bool": 0}
    for name, kind, shape in listed:
        if kind not in at or any(n < 0 for n in shape):
            raise ValueError(f"{name!r:.60} is of the kind {kind!r:.20} and the shape {shape!r:.40}")
        source, counted = (floats, "float") if kind == "float" else (whole, "int")
        size = int(np.prod(shape, dtype=object)) if shape else 1
        if size > len(source) - at[counted]:
            raise ValueError(f"there are no {size} numbers for {name!r:.60}")
        array = source[at[counted] : at[counted] + size].reshape(shape)
        at[counted] += size
        array = np.array(array, dtype={"float": np.float64, "int": np.int64, "bool": np.bool_}[kind])
        held[name] = array if shape else array.item()
    if (at["float"], at["int"]) != (len(floats), len(whole)):
        raise ValueError("there are more numbers than names")
    return held
