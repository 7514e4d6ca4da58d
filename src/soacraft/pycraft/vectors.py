"""SpatialVector: a stacked vector as a map from bodies to vectors (000 section 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import SpaceError
from soacraft.ops.namespace import Operators
from soacraft.pycraft.bound import block_number, bound

Array = npt.NDArray[np.float64]


class SpatialVector(StackedVector):
    """A stacked vector, a map of body objects to vectors: `V[o]` is the part of body o, `V[o] = x` sets it (000
    section 3).

    It is made of `{body: x}` (what is not named is zero), of all numbers, or of nothing. The sizes say whether it is of
    bodies or hinges, or `space="body"` does. `for o in V` goes over the bodies, `V.items()` over bodies and their
    parts, `V(k)` is the part of the papers' number k (tip 1, base n), and `V()` all numbers in a tuple, as printed in
    the slides.

    >>> import soacraft as sc
    >>> g = sc.load("arm7")
    >>> f = SpatialVector(g, {"link7": [0, 0, 0, 0, 0, 1.0]})
    >>> f[g["link7"]], f(1)
    (array([0., 0., 0., 0., 0., 1.]), array([0., 0., 0., 0., 0., 1.]))
    >>> [body.name for body, x in f.items() if x.any()]
    ['link7']
    """

    def __init__(self, g: Any = None, data: Any = None, space: str | None = None) -> None:
        s = bound(g)
        if data is None:
            data = {}
        if isinstance(data, Mapping):
            stacked = s.vector(_space_of_parts(s, data, space), data)
        else:
            stacked = s.vector(_space_of_numbers(s, np.asarray(data, dtype=np.float64), space), data)
        super().__init__(stacked.space, stacked.in_model_order)

    @classmethod
    def of(cls, x: StackedVector) -> SpatialVector:
        """Vector with these numbers under the printed name."""
        self = cls.__new__(cls)
        vars(self).update(vars(x))
        return self

    def _made(self, do: Callable[..., Array], *others: StackedVector | Array | float) -> StackedVector:
        return SpatialVector.of(super()._made(do, *others))

    def __setitem__(self, o: Any, x: npt.ArrayLike) -> None:
        part = self[o]
        value = np.asarray(x, dtype=np.float64)
        if value.shape != part.shape or not np.isfinite(value).all():
            raise SpaceError(f"the part of {o!r:.60} is {part.shape} finite numbers, not {x!r:.60}.")
        data = self.in_model_order.copy()
        data[..., self.space.block(self.space.index(o))] = value
        data.flags.writeable = False
        self._data = data

    def keys(self) -> list[Any]:
        """The bodies (nodes) themselves; names, where a model has only names."""
        graph = getattr(self.space.owner, "graph", None)
        bodies = graph is not None and all(label in graph for label in self.space.labels)
        labels = [self.space.labels[k] for k in self.space.order]
        return [graph[label] for label in labels] if bodies else labels  # type: ignore[index]

    def values(self) -> list[Array]:
        """The parts, in the order of the bodies."""
        return [self[self.space.labels[k]] for k in self.space.order]

    def items(self) -> list[tuple[Any, Array]]:
        """Bodies and their parts."""
        return list(zip(self.keys(), self.values(), strict=True))

    def __iter__(self) -> Iterator[Any]:  # type: ignore[override]
        return iter(self.keys())

    def __call__(self, k: int | None = None) -> Any:
        if k is None:
            return tuple(self.data.ravel().tolist())
        return self[self.space.labels[block_number(self.space, k)]]


def _space_of_parts(s: Operators, parts: Mapping[Any, Any], space: str | None) -> Any:
    if space is not None or not parts:
        return space or "body"
    shapes = [(s.body.index(o), np.shape(x)) for o, x in parts.items()]
    fits = [where for where in (s.body, s.hinge) if all(_fits(where.dims[k], shape) for k, shape in shapes)]
    if len(fits) == 1:
        return fits[0]
    which = "both" if fits else "neither"
    raise SpaceError(f"the parts fit {which} of {s.hinge} and {s.body}; say space='hinge' or space='body'.")


def _fits(size: int, shape: tuple[int, ...]) -> bool:
    return shape[-1:] == (size,) or (shape == () and size == 1)


def _space_of_numbers(s: Operators, numbers: Array, space: str | None) -> Space:
    kinds = {"hinge": s.hinge, "body": s.body}
    fits = [x for kind, x in kinds.items() if space in (None, kind) and numbers.shape[-1:] == (x.size,)]
    if not fits:
        raise SpaceError(f"a vector of {s.hinge} or of {s.body} is wanted, got shape {numbers.shape}.")
    return fits[0]
