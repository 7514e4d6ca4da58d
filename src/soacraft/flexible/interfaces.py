"""Interfaces of an FE model: frames of six dofs by which the body meets others, and the dofs that remain.

    d = T z,    z = [free dofs; (tx, ty, tz, rx, ry, rz) of each interface]

A node with turns is an interface as it is. RBE2 ties nodes rigidly to the frame, d_i = [t + theta x (x_i - at); theta].
RBE3 makes the frame's motion the average of its nodes',

    c = mean of x_i,   theta = J^-1 sum (x_i - c) x u_i,   J = sum of -(x_i - c)~ (x_i - c)~
    t = mean of u_i + theta x (at - c)

which adds no stiffness: six of the nodes' dofs follow from the frame's and the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr
from scipy.sparse import csr_array

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, near
from soacraft.spatial.checks import Array, finite, number_text
from soacraft.spatial.rotations import skew

if TYPE_CHECKING:
    from soacraft.flexible.fe import FEModel, Sparse

#: The least moment of nodes that hold a turn, relative to the largest: below it they lie on a line.
ON_A_LINE = 1e-12


@dataclass(frozen=True)
class Interface:
    """A named frame of an FE model, its place, and the nodes it is joined to: by "node", "RBE2", "RBE3"."""

    name: str
    at: tuple[float, float, float]
    nodes: tuple[int, ...]
    by: str

    def __repr__(self) -> str:
        return f"Interface(name={self.name!r}, at={number_text(self.at)}, nodes={_list(self.nodes)}, by={self.by!r})"


def read_interface(fe: FEModel, name: Any, at: Any, nodes: Any, by: Any) -> Interface:
    """The interface that was asked for; what cannot be one is refused."""
    if not isinstance(name, str) or not name or "/" in name:
        raise ModelError(f"an interface needs a name without '/', got {name!r:.60}.")
    if name in fe.interfaces:
        raise ModelError(f"this FE model already has an interface {name!r}; give another name.")
    if by not in (None, "RBE2", "RBE3"):
        raise ModelError(f"interface {name!r} can be by='RBE2' or by='RBE3', got {by!r:.60}.")
    if nodes is None and at is None:
        raise ModelError(f"interface {name!r} needs a place at=... or nodes=....")
    chosen = (fe.node_at(at),) if nodes is None else _read_nodes(fe, nodes, name)
    taken = {i: x.name for x in fe.interfaces.values() for i in x.nodes}
    twice = [i for i in chosen if i in taken]
    if twice:
        raise ModelError(f"node {twice[0]} is part of interface {taken[twice[0]]!r}; {name!r} cannot have it too.")
    place = fe.nodes[list(chosen)].mean(axis=0) if at is None or isinstance(at, str) else finite(at, (3,), "at")
    where = (float(place[0]), float(place[1]), float(place[2]))
    if by is None:
        if len(chosen) > 1 or fe.dofs == 3:
            raise ModelError(
                f"interface {name!r} is of {len(chosen)} node{'s' * (len(chosen) > 1)} of {fe.dofs} dofs: say how they "
                "move it, nodes=[...] with by='RBE2' (rigid) or by='RBE3' (average)."
            )
        x = fe.nodes[chosen[0]]
        return Interface(name, (float(x[0]), float(x[1]), float(x[2])), chosen, "node")
    if by == "RBE3" or fe.dofs == 3:
        _refuse_line(fe, chosen, name)
    return Interface(name, where, chosen, by)


def find_interface(fe: FEModel, name: Any) -> Interface:
    """An interface by name."""
    if not isinstance(name, str) or name not in fe.interfaces:
        shown = name if isinstance(name, str) else repr(name)
        raise ModelError(f"this FE model has no interface {name!r:.60}{near(shown, fe.interfaces, 'it has')}")
    return fe.interfaces[name]


def coordinates(fe: FEModel, chosen: list[Interface]) -> tuple[Sparse, int]:
    """T of d = T z for these interfaces, and the number of free dofs, which come first in z."""
    from soacraft.flexible.fe import rigid_at

    follows = np.zeros(fe.size, dtype=bool)  # dofs that the interfaces and the other dofs give
    averages = []
    for each in chosen:
        dofs = _dofs(fe, each)
        if each.by == "RBE3":
            W, moved = _average(fe, each)
            size = np.repeat((1.0, fe.length), 3)[:, None]  # turns as lengths, so that units do not choose
            pivots = np.sort(qr(size * W, mode="r", pivoting=True)[1][:6])
            follows[moved[pivots]] = True
            averages.append((each, W, moved, pivots))
        else:
            follows[dofs] = True
    free = np.flatnonzero(~follows)
    place = np.full(fe.size, -1, dtype=np.intp)
    place[free] = np.arange(len(free))
    rows, columns, values = [free], [place[free]], [np.ones(len(free))]

    def add(at: npt.NDArray[np.intp], to: npt.NDArray[np.intp], block: Array) -> None:
        rows.append(np.repeat(at, len(to)))
        columns.append(np.tile(to, len(at)))
        values.append(block.ravel())

    for k, each in enumerate(chosen):
        own_columns = len(free) + 6 * k + np.arange(6)
        if each.by == "node":
            add(_dofs(fe, each), own_columns, np.eye(6))
        elif each.by == "RBE2":
            add(
                _dofs(fe, each),
                own_columns,
                rigid_at(fe.nodes[list(each.nodes)], np.array(each.at), fe.dofs).reshape(-1, 6),
            )
        else:
            _, W, moved, pivots = next(x for x in averages if x[0] is each)
            inverse: Array = np.linalg.inv(W[:, pivots]).astype(np.float64)  # d_pivots = W_p^-1 (x - W_o d_others)
            others = np.setdiff1d(np.arange(len(moved)), pivots)
            add(moved[pivots], own_columns, inverse)
            add(moved[pivots], place[moved[others]], -inverse @ W[:, others])
    stacked = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return csr_array(stacked, shape=(fe.size, len(free) + 6 * len(chosen))), len(free)


def _average(fe: FEModel, each: Interface) -> tuple[Array, npt.NDArray[np.intp]]:
    """W of the average motion, (6, 3 k), of the translations of its k nodes, and their dofs."""
    x = fe.nodes[list(each.nodes)]
    k, r = len(x), x - x.mean(axis=0)
    J = np.einsum("nij,nkj->ik", skew(r), skew(r))
    turn = np.einsum("ij,njk->ink", np.linalg.inv(J), skew(r)).reshape(3, 3 * k)
    slide = np.tile(np.eye(3) / k, k) - skew(np.array(each.at) - x.mean(axis=0)) @ turn
    moved = (fe.dofs * np.array(each.nodes)[:, None] + np.arange(3)).ravel()
    return np.vstack([slide, turn]), moved


def _dofs(fe: FEModel, each: Interface) -> npt.NDArray[np.intp]:
    return np.asarray((fe.dofs * np.array(each.nodes, dtype=np.intp)[:, None] + np.arange(fe.dofs)).ravel())


def _read_nodes(fe: FEModel, nodes: Any, name: str) -> tuple[int, ...]:
    numbers = [nodes] if isinstance(nodes, int | np.integer) else nodes
    if isinstance(numbers, str | bytes) or not isinstance(numbers, Iterable):
        raise ModelError(f"nodes of interface {name!r} are a list of their numbers, got {nodes!r:.60}.")
    chosen = tuple(whole_number(i, f"a node of interface {name!r}", 0, len(fe.nodes) - 1) for i in numbers)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ModelError(f"interface {name!r} needs nodes, each once, got {_list(chosen)}.")
    return chosen


def _refuse_line(fe: FEModel, chosen: tuple[int, ...], name: str) -> None:
    r = fe.nodes[list(chosen)] - fe.nodes[list(chosen)].mean(axis=0)
    moments = np.linalg.eigvalsh(np.einsum("nij,nkj->ik", skew(r), skew(r)))
    if len(chosen) < 3 or moments[0] <= ON_A_LINE * moments[-1]:
        raise ModelError(
            f"the nodes {_list(chosen)} of interface {name!r} lie on a line or a point, and their translations do not "
            "hold its turns; choose three or more nodes of a face."
        )


def _list(nodes: tuple[int, ...]) -> str:
    return repr(nodes) if len(nodes) <= 6 else f"({', '.join(map(str, nodes[:5]))}, ... {len(nodes)} in all)"
