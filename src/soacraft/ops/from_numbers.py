"""The user's own numbers read as operators and stacked vectors: blocks by body, values by dof, whole matrices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import ModelError, SpaceError
from soacraft.ops.binding import Bound, GraphBinding
from soacraft.ops.given import GivenBlocks, GivenMatrix, Index
from soacraft.ops.named import Named
from soacraft.ops.names import check_name
from soacraft.ops.proofs.stated import book_of

Array = npt.NDArray[np.float64]
Spaces = tuple[Space, Space]


# -- operators ----------------------------------------------------------------------------------------------------


def sparse(s: Named, name: Any, blocks: Any, space: Any, diagonal: bool) -> Operator:
    """The operator of a dictionary of blocks, by body, or by (row, column) where it is not diagonal."""
    _check(s.binding, name)
    if not isinstance(blocks, Mapping):
        key = "body" if diagonal else "(row, column)"
        raise ModelError(f"{name}: blocks are given as {{{key}: block}}, not as {type(blocks).__name__}.")
    read = {key: _block(name, key, x) for key, x in blocks.items()}
    if not diagonal and (odd := next((key for key in read if not _is_pair(key)), None)) is not None:
        raise ModelError(f"{name}: blocks are given by (row, column), not by {odd!r}.")
    rows, cols = _spaces(s, name, read, space, diagonal)
    found: dict[Index, Array] = {}
    for key, x in read.items():
        i, j = _at((rows, cols), key, diagonal)
        if (i, j) in found:
            raise ModelError(f"{name}: the block of {_shown(_labels(rows, cols, i, j, diagonal))} is given twice.")
        if x.shape != (rows.dims[i], cols.dims[j]):
            raise ModelError(
                f"{name}: the block of {_shown(_labels(rows, cols, i, j, diagonal))} has shape {x.shape}, but "
                f"{(rows.dims[i], cols.dims[j])} is wanted ({rows.kind} <- {cols.kind})."
            )
        found[i, j] = x
    return GivenBlocks(s.binding, name, rows, cols, found)


def diagonal(s: Named, name: Any, values: Any, space: Any) -> Operator:
    """The operator with given values on its diagonal."""
    _check(s.binding, name)
    where = _space_of_values(s, name, values, space)
    x = stacked(s.binding, name, where, values).in_model_order
    if x.ndim != 1:
        raise ModelError(
            f"{name}: the values have shape {x.shape}, but ({where.size},) is wanted: a constant operator has the same "
            "numbers at every state of a batch."
        )
    blocks = {(k, k): np.diag(x[where.block(k)]) for k, d in enumerate(where.dims) if d}
    return GivenBlocks(s.binding, name, where, where, blocks)


def matrix(binding: Bound, like: Operator, array: Any, name: Any) -> Operator:
    """The operator of a dense matrix, between the spaces of another operator."""
    _check(binding, name)
    rows, cols = like.spaces
    x = _numbers(name, f"the matrix of {rows} <- {cols}", array)
    if x.shape != (rows.size, cols.size):
        raise ModelError(
            f"{name}: the matrix has shape {x.shape}, but {(rows.size, cols.size)} is wanted, as {like.text()} maps "
            f"{rows} <- {cols}."
        )
    return GivenMatrix(binding, name, rows, cols, cols.inward(rows.inward(x, -2), -1))


# -- vectors ------------------------------------------------------------------------------------------------------


def stacked(binding: Bound, name: str, space: Space, values: Any) -> StackedVector:
    """A stacked vector of an array, or of a dictionary by body, node or dof; what it does not name is zero."""
    if not isinstance(values, Mapping):
        whole = _numbers(name, f"the values of {space}", space.shown_in_order(values, name))
        return StackedVector(space, np.full(space.size, float(whole)) if whole.ndim == 0 else _inward(space, whole))
    read = [(key, _numbers(name, f"the part of {_shown(key)}", x)) for key, x in values.items()]
    found: dict[int, tuple[Any, Array]] = {}
    for key, x in read:
        where = _entries(binding, space, key)
        if x.shape[-1:] != (len(where),) and (x.ndim or len(where) != 1):
            raise ModelError(
                f"{name}: the part of {_shown(key)} has shape {x.shape}, but ({len(where)},) is wanted ({space.kind})."
            )
        for n, i in enumerate(where):
            if i in found:
                raise ModelError(f"{name}: {_shown(key)} and {_shown(found[i][0])} give the same entry.")
            found[i] = key, x[..., n] if x.ndim else x
    try:
        batch = np.broadcast_shapes(*(x.shape for _, x in found.values()))
    except ValueError:
        shapes = " and ".join(sorted({str(x.shape) for _, x in read}))
        raise ModelError(f"{name}: the leading (batch) axes of its parts do not fit: {shapes}.") from None
    data = np.zeros((*batch, space.size))
    for i, (_, x) in found.items():
        data[..., i] = x
    return StackedVector(space, data)


def whole(space: Space, data: Any) -> StackedVector:
    """A stacked vector of all its numbers, in the order that users count; one of the same space is taken as it is."""
    if isinstance(data, StackedVector) and data.space == space:
        return data
    shown = space.shown_in_order(data, "the data")
    return StackedVector(space, _inward(space, np.asarray(shown, dtype=np.float64)))


def _inward(space: Space, x: Array) -> Array:
    """Numbers in the order of the labels; of another length they are refused where they are used."""
    return space.inward(x) if x.shape[-1:] == (space.size,) else x


def space_named(s: Named, space: Any) -> Space:
    """The hinge or body space by name, or a space of this model itself."""
    if isinstance(space, Space):
        if space not in (s.hinge, s.body) and space.owner != s.binding.owner:
            raise SpaceError(f"{space} belongs to {space.owner}, not to {s.binding.owner}." + space.mismatch(s.body))
        return space
    if space == "hinge" or space == "body":
        return s.hinge if space == "hinge" else s.body
    raise SpaceError(f"there is no space {space!r}; there are 'hinge', 'body', and those of operators, B(nodes).cols.")


# -- reading ------------------------------------------------------------------------------------------------------


def _check(binding: Bound, name: Any) -> None:
    known = book_of(binding).definitions.get((check_name(name, taken=()), binding.body))
    if known is not None:
        raise ModelError(
            f"{name} is already defined as {known.meaning.text()}; choose another name, or drop the first."
        )


def _numbers(name: str, what: str, x: Any) -> Array:
    try:
        data = np.asarray(x)
        if data.dtype.kind not in "iuf":
            raise TypeError(f"dtype {data.dtype}")
        found = np.array(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name}: {what} cannot be read as numbers: {error}.") from None
    if not np.isfinite(found).all():
        raise ModelError(f"{name}: {what} has an entry that is not finite.")
    found.flags.writeable = False
    return found


def _block(name: str, key: Any, x: Any) -> Array:
    """One block; a plain number is a block of one row and one column."""
    found = _numbers(name, f"the block of {_shown(key)}", x)
    if found.ndim not in (0, 2):
        raise ModelError(
            f"{name}: the block of {_shown(key)} has shape {found.shape}, but a block has rows and columns, and the "
            "same numbers at every state of a batch."
        )
    return found.reshape(1, 1) if found.ndim == 0 else found


def _spaces(s: Named, name: str, blocks: Mapping[Any, Array], space: Any, diagonal: bool) -> Spaces:
    """The spaces that were named, or the only ones that all blocks fit."""
    if space is not None:
        return _named_pair(s, space)
    every = [(rows, cols) for rows in (s.body, s.hinge) for cols in (s.body, s.hinge)]
    fitting = [pair for pair in every if _fit(blocks, pair, diagonal)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting or not blocks:
        kinds = " or ".join(repr(f"{r.kind} <- {c.kind}") for r, c in fitting) or "'body' or 'hinge'"
        raise ModelError(f"{name}: its blocks do not determine the spaces; give space={kinds}.")
    most = max(every, key=lambda pair: sum(_fit({key: x}, pair, diagonal) for key, x in blocks.items()))
    key, x = next((key, x) for key, x in blocks.items() if not _fit({key: x}, most, diagonal))
    wanted = ", ".join(f"{_shape((r, c), key, diagonal)} for {r.kind} <- {c.kind}" for r, c in every)
    raise ModelError(f"{name}: the block of {_shown(key)} has shape {x.shape}, but {wanted} is wanted.")


def _named_pair(s: Named, space: Any) -> Spaces:
    if isinstance(space, Operator):
        rows, cols = space.spaces
        return space_named(s, rows), space_named(s, cols)
    words = [word.strip() for word in space.split("<-")] if isinstance(space, str) else [space]
    if len(words) > 2:
        raise SpaceError(f"space={space!r}: one space, or two as in 'hinge <- body', are wanted.")
    return space_named(s, words[0]), space_named(s, words[-1])


def _fit(blocks: Mapping[Any, Array], spaces: Spaces, diagonal: bool) -> bool:
    return bool(blocks) and all(x.shape == _shape(spaces, key, diagonal) for key, x in blocks.items())


def _shape(spaces: Spaces, key: Any, diagonal: bool) -> Index:
    i, j = _at(spaces, key, diagonal)
    return spaces[0].dims[i], spaces[1].dims[j]


def _at(spaces: Spaces, key: Any, diagonal: bool) -> Index:
    rows, cols = spaces
    if diagonal:
        if rows.labels != cols.labels:
            raise SpaceError(f"a block-diagonal operator cannot map {rows} <- {cols}: their labels differ.")
        return rows.index(key), cols.index(key)
    return rows.index(key[0]), cols.index(key[1])


def _labels(rows: Space, cols: Space, i: int, j: int, diagonal: bool) -> Any:
    return rows.labels[i] if diagonal else (rows.labels[i], cols.labels[j])


def _is_pair(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) == 2


def _space_of_values(s: Named, name: str, values: Any, space: Any) -> Space:
    if space is not None:
        return space_named(s, space)
    if isinstance(values, Mapping):
        return s.hinge
    size = np.shape(values)[-1:]
    fitting = [x for x in (s.hinge, s.body) if size == (x.size,)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting or not size:
        raise ModelError(f"{name}: its values do not determine the space; give space='hinge' or space='body'.")
    raise ModelError(
        f"{name}: {size[0]} values, but the hinge space wants {s.hinge.size} and the body space {s.body.size}."
    )


def _entries(binding: Bound, space: Space, key: Any) -> range:
    """The entries of a stacked vector that a key names: a dof, or all of a body, hinge or node."""
    if space.kind == "hinge" and isinstance(key, str) and key in (names := dof_names(binding)):
        return range(at := names.index(key), at + 1)
    block = space.block(space.index(key))
    return range(block.start, block.stop)


def dof_names(binding: Bound) -> tuple[str, ...]:
    """The names of the entries of the hinge space; none for a plain SKO model."""
    if isinstance(binding, GraphBinding):
        return binding.graph.dof_names
    names: tuple[str, ...] = getattr(binding.owner, "dofs", ())
    return names


def _shown(key: Any) -> str:
    if isinstance(key, tuple):
        return f"({', '.join(_shown(x) for x in key)})"
    return repr(getattr(key, "full_name", getattr(key, "name", key)))
