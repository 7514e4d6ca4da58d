"""Results for all bodies at once: arrays in the order of `g.bodies` that also answer to names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StaleError
from soacraft.model.tree.frame import Body, Frame
from soacraft.model.tree.graph import Graph, size_text
from soacraft.model.tree.names import find_keyed, key_names
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose


class _PerBody:
    """The graph a result is of, as it was then."""

    __slots__ = ("_graph", "_index", "_parameters", "_version")

    def __init__(self, graph: Graph) -> None:
        self._graph, self._version, self._index = graph, graph.version, graph.layout.index
        self._parameters = graph.parameters

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, in the order of the results."""
        return tuple(self._index)

    def _ipython_key_completions_(self) -> list[str]:
        return key_names(self._graph)

    def _frame(self, frame: Any) -> Frame:
        self._require_fresh()
        found: Frame = find_keyed(self._graph, frame)
        if not isinstance(found, Body) and self._graph.parameters != self._parameters:
            raise StaleError(
                f"this result of {self._graph.name!r} was made before a parameter of the model changed; it answers for "
                f"bodies, not for {found.full_name!r}, which would be of other parameters. Compute it again."
            )
        return found

    def _require_fresh(self) -> None:
        if self._graph.version != self._version:
            raise StaleError(
                f"this result of {self._graph.name!r} was made before a structural change of the model, so it no "
                "longer answers to names; its arrays are unchanged."
            )


class Poses(_PerBody):
    """Poses of all bodies in the inertial frame: `rotation` (..., n, 3, 3), `translation` (..., n, 3).

    A body, a node, or the name of one (of a body also that of its hinge) gives its `Pose`;
    `np.asarray` gives homogeneous matrices (..., n, 4, 4).
    """

    __slots__ = ("rotation", "translation")
    rotation: Array
    translation: Array

    def __init__(self, graph: Graph, rotation: Array, translation: Array) -> None:
        super().__init__(graph)
        self.rotation, self.translation = rotation, translation

    @classmethod
    def maker(cls, graph: Graph) -> Callable[[Array, Array], Poses]:
        """A quick way to make many results of one graph, as long as its structure stays."""
        pattern, new = cls(graph, np.empty(0), np.empty(0)), cls.__new__
        version, index = pattern._version, pattern._index

        def make(rotation: Array, translation: Array) -> Poses:
            self = new(cls)
            self._graph, self._version, self._index = graph, version, index
            self._parameters = graph.parameters
            self.rotation, self.translation = rotation, translation
            return self

        return make

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_fresh()
        return Poses, (self._graph, self.rotation, self.translation)

    def __getitem__(self, frame: Frame | str) -> Pose:
        found = self._frame(frame)
        if not isinstance(found.carrier, Body):
            return found.offset
        k = self._index[found.carrier]
        pose = Pose.unchecked(self.rotation[..., k, :, :].copy(), self.translation[..., k, :].copy())
        return pose if found is found.carrier else pose @ found.offset

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Pose]:
        return (self[body] for body in self._index)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        T = np.zeros((*self.rotation.shape[:-2], 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = self.rotation, self.translation, 1.0
        return T if dtype is None else T.astype(dtype)

    def __repr__(self) -> str:
        return f"poses of {_shown(self._graph, self.rotation.shape[:-3])}"


class NodeMotion(NamedTuple):
    """Motion of k nodes relative to the inertial frame: poses, and [angular; linear] of their origins."""

    rotation: Array
    """(..., k, 3, 3)"""
    translation: Array
    """(..., k, 3)"""
    velocity: Array
    """(..., k, 6)"""
    acceleration: Array
    """(..., k, 6): [d omega/dt; d^2 p/dt^2]"""


class BodyArray(_PerBody, np.lib.mixins.NDArrayOperatorsMixin):
    """Numbers for all bodies, (..., n, 6) or (..., n, 6, 6), in the order of `g.bodies`.

    A body, its name or that of its hinge gives that body's part; where it makes sense, so does a node. Any other index,
    and arithmetic, are those of the array, which `np.asarray` gives.
    """

    __slots__ = ("_array", "_of_node", "_rank", "expressed_in", "kind")
    _array: Array
    kind: str
    expressed_in: str

    def __init__(
        self,
        graph: Graph,
        array: Array,
        kind: str,
        expressed_in: str,
        rank: int = 1,
        of_node: Callable[[Frame], Array] | None = None,
    ) -> None:
        super().__init__(graph)
        self._array, self.kind, self.expressed_in, self._rank, self._of_node = array, kind, expressed_in, rank, of_node

    @classmethod
    def maker(
        cls, graph: Graph, kind: str, expressed_in: str, of_node: Callable[[tuple[Array, ...], Frame], Array]
    ) -> Callable[..., BodyArray]:
        """A quick way to make many results of one graph, as long as its structure stays: of an array, and of the state
        that `of_node` needs for a node.
        """
        pattern, new = cls(graph, np.empty(0), kind, expressed_in), cls.__new__
        version, index = pattern._version, pattern._index

        def make(array: Array, *state: Array) -> BodyArray:
            self = new(cls)
            self._graph, self._version, self._index = graph, version, index
            self._parameters = graph.parameters
            self._array, self.kind, self.expressed_in, self._rank = array, kind, expressed_in, 1
            self._of_node = partial(of_node, state)
            return self

        return make

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_fresh()
        return BodyArray, (self._graph, self._array, self.kind, self.expressed_in, self._rank, self._of_node)

    @overload
    def __getitem__(self, index: Frame | str) -> Array: ...

    @overload
    def __getitem__(self, index: Any) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str | Frame):
            return self._array[index]
        found = self._frame(index)
        if isinstance(found, Body):
            where: Any = (..., self._index[found], *(slice(None),) * self._rank)
            return self._array[where]
        if self._of_node is None:
            raise ModelError(f"{self.kind} are those of bodies; {found.full_name!r} is not a body.")
        return self._of_node(found)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._array.shape

    @property
    def ndim(self) -> int:
        """The number of axes of the array."""
        return self._array.ndim

    def _ipython_key_completions_(self) -> list[str]:
        keys = key_names(self._graph)
        return keys if self._of_node else [key for key in keys if isinstance(find_keyed(self._graph, key), Body)]

    def __len__(self) -> int:
        return len(self._array)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, BodyArray) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs)

    def __repr__(self) -> str:
        lead = self._array.shape[: self._array.ndim - 1 - self._rank]
        return f"{self.kind} of {_shown(self._graph, lead)}, expressed in {self.expressed_in}:\n{self._array!r}"


def _shown(graph: Graph, batch: tuple[int, ...]) -> str:
    several = f", batch {batch}" if batch else ""
    return f"{graph.name!r} ({size_text(graph.layout.n, graph.layout.nv)}{several})"


def axes_text(axes: Frame | str) -> str:
    """The axes of a result in words."""
    if isinstance(axes, Frame):
        return repr(axes.full_name)
    return {"inertial": "'inertial'"}.get(axes, f"each {axes}'s own axes")
