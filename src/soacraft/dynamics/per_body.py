"""Results for all bodies at once: arrays in the order of `g.bodies` that also answer to names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.cards import card, says_why
from soacraft.errors import ModelError, StaleError
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph, size_text
from soacraft.model.tree.names import find_keyed, key_names
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: The part of a node, from the state that a result was computed for.
OfNode = Callable[[Any, Frame], Array]


class Source(NamedTuple):
    """The graph of a result at the time of the call, and the kind of the numbers of an array. Quick calls share it
    among their results.
    """

    graph: Graph
    version: int
    parameters: int
    place: dict[Body, int]
    kind: str = ""
    expressed_in: str = ""
    rank: int = 1
    of_node: OfNode | None = None

    @classmethod
    def of(cls, graph: Graph, *what: Any) -> Source:
        return cls(graph, graph.version, graph.parameters, graph.layout.index, *what)


class _PerBody:
    """Base of the results of a graph for all bodies."""

    __slots__ = ("_source",)
    _source: Source

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies, in the order of the results."""
        return tuple(self._source.place)

    def _ipython_key_completions_(self) -> list[str]:
        return key_names(self._source.graph)

    def _frame(self, frame: Any) -> Frame:
        self._require_fresh()
        graph = self._source.graph
        carried: Frame = find_keyed(graph, frame)
        if not isinstance(carried, Body) and graph.parameters != self._source.parameters:
            raise StaleError(
                f"this result of {graph.name!r} was made before a parameter of the model changed; it answers for "
                f"bodies, not for {carried.full_name!r}, which would be of other parameters. Compute it again."
            )
        return carried

    def _require_fresh(self) -> None:
        graph = self._source.graph
        if graph.version != self._source.version:
            raise StaleError(
                f"this result of {graph.name!r} was made before a structural change of the model, so it no "
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
        self._source, self.rotation, self.translation = Source.of(graph), rotation, translation

    @classmethod
    def wrap(cls, graph: Graph) -> tuple[Any, ...]:
        """Recipe of quick calls for results of a graph: the class, the function that gives their source, and the slots
        to fill.
        """
        return cls, partial(Source.of, graph), "_source", "rotation", "translation"

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_fresh()
        return Poses, (self._source.graph, self.rotation, self.translation)

    def __getitem__(self, frame: Frame | str) -> Pose:
        node = self._frame(frame)
        if not isinstance(node.carrier, Body):
            return node.offset
        k = self._source.place[node.carrier]
        pose = Pose.unchecked(self.rotation[..., k, :, :].copy(), self.translation[..., k, :].copy())
        return pose if node is node.carrier else pose @ node.offset

    def __len__(self) -> int:
        return len(self._source.place)

    def __iter__(self) -> Iterator[Pose]:
        return (self[body] for body in self._source.place)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        T = np.zeros((*self.rotation.shape[:-2], 4, 4))
        T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = self.rotation, self.translation, 1.0
        return T if dtype is None else T.astype(dtype)

    def __repr__(self) -> str:
        return f"poses of {_shown(self._source.graph, self.rotation.shape[:-3])}"

    @says_why
    def _repr_html_(self) -> str:
        if self.rotation.ndim > 3:
            return card(repr(self))
        names = [body.name for body in self._source.place][: markup.ROWS]
        rows = [
            (name, markup.numbers(p), " | ".join(map(markup.numbers, R)))
            for name, p, R in zip(names, self.translation, self.rotation, strict=False)
        ]
        head = ["body", "place [m]", "rotation, row by row"]
        return card(repr(self), markup.table(head, rows, total=len(self), more="np.asarray has all"))


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

    __slots__ = ("_array", "_state")
    _array: Array
    _state: Any

    def __init__(
        self,
        graph: Graph,
        array: Array,
        kind: str,
        expressed_in: str,
        rank: int = 1,
        of_node: OfNode | None = None,
        state: Any = None,
    ) -> None:
        self._source = Source.of(graph, kind, expressed_in, rank, of_node)
        self._array, self._state = array, state

    @classmethod
    def wrap(cls, graph: Graph, kind: str, expressed_in: str, of_node: OfNode) -> tuple[Any, ...]:
        """Recipe of quick calls for results of a graph: the class, the function that gives their source, and the slots
        to fill. The last is for the state, which `of_node` needs: the bytes of its vectors, or a tuple of those of a
        batch.
        """
        return cls, partial(Source.of, graph, kind, expressed_in, 1, of_node), "_source", "_array", "_state"

    @property
    def kind(self) -> str:
        """Kind of the numbers, in words."""
        return self._source.kind

    @property
    def expressed_in(self) -> str:
        """The axes they are expressed in."""
        return self._source.expressed_in

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_fresh()
        s = self._source
        return BodyArray, (s.graph, self._array, s.kind, s.expressed_in, s.rank, s.of_node, self._state)

    @overload
    def __getitem__(self, index: Frame | str) -> Array: ...

    @overload
    def __getitem__(self, index: Any) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, str | Frame):
            return self._array[index]
        node = self._frame(index)
        if isinstance(node, Body):
            entry: Any = (..., self._source.place[node], *(slice(None),) * self._source.rank)
            return self._array[entry]
        if self._source.of_node is None:
            raise ModelError(f"{self.kind} are those of bodies; {node.full_name!r} is not a body.")
        return self._source.of_node(self._state, node)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._array.shape

    @property
    def ndim(self) -> int:
        """The number of axes of the array."""
        return self._array.ndim

    def _ipython_key_completions_(self) -> list[str]:
        graph = self._source.graph
        keys = key_names(graph)
        return keys if self._source.of_node else [key for key in keys if isinstance(find_keyed(graph, key), Body)]

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
        lead = self._array.shape[: self._array.ndim - 1 - self._source.rank]
        return f"{self.kind} of {_shown(self._source.graph, lead)}, expressed in {self.expressed_in}:\n{self._array!r}"

    @says_why
    def _repr_html_(self) -> str:
        lead = self._array.shape[: self._array.ndim - 1 - self._source.rank]
        head = f"{self.kind} of {_shown(self._source.graph, lead)}, expressed in {self.expressed_in}"
        if lead:
            return card(head)
        names = [body.name for body in self._source.place][: markup.ROWS]
        rows = [
            (name, " | ".join(map(markup.numbers, np.atleast_2d(x))))
            for name, x in zip(names, self._array, strict=False)
        ]
        return card(head, markup.table(["body", "numbers"], rows, total=len(self._array), more="np.asarray has all"))


def _shown(graph: Graph, batch: tuple[int, ...]) -> str:
    several = f", batch {batch}" if batch else ""
    return f"{graph.name!r} ({size_text(graph.layout.n, graph.layout.nv)}{several})"


def axes_text(axes: Frame | str) -> str:
    """The axes of a result in words."""
    if isinstance(axes, Frame):
        return repr(axes.full_name)
    return {"inertial": "'inertial'"}.get(axes, f"each {axes}'s own axes")
