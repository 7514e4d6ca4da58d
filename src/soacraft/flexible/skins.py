"""The skins of flexible bodies (`ModalSkin`), for pictures: outlines of sections along beams, the surface of solids."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.flexible.elements import GAUSS, BeamElement
from soacraft.flexible.fe import FEModel
from soacraft.flexible.second import SecondOrder
from soacraft.flexible.sections import Shape, outline
from soacraft.model.modal import ModalSkin
from soacraft.spatial.checks import Array

#: Points of quadrature that are stations, beside the ends of elements: by the number of elements from which on so few
#: are enough for a smooth line.
_INSIDE = ((12, ()), (6, (2,)), (0, (1, 2, 3)))
#: Faces of a tetrahedron, counter-clockwise seen from outside, each with the middles of its edges (quadratic ones).
_FACES = np.array([(0, 2, 1, 6, 5, 4), (0, 1, 3, 4, 8, 7), (1, 2, 3, 5, 9, 8), (0, 3, 2, 7, 9, 6)])
#: A quadratic face as four triangles, of its corners 0 to 2 and the middles 3 to 5 of its edges 01, 12, 02.
_QUARTERS = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])
#: Axes of elements that go on straight agree to this.
STRAIGHT = 1e-9

Numbers = npt.NDArray[np.int64]


def skin_of(fe: FEModel, X: Array, second: SecondOrder | None) -> ModalSkin | None:
    """The skin of an FE model with shapes X (dofs, n); None of one that has matrices alone. O(nodes)."""
    if fe.elements:
        return _beams(fe, X, second)
    return None if fe.solid is None else _solid(fe, fe.solid.cells, X)


class Ring(NamedTuple):
    """The outline of a section at a station, with the axes R (3, 3) of the beam there."""

    station: int
    R: Array
    shape: Shape


def tube(rings: list[Ring], start: int, caps: tuple[bool, bool]) -> tuple[Numbers, Array, Array, Numbers]:
    """Owners, offsets, normals and triangles of what rings of one shape span, corners counted from `start`."""
    points, outward = outline(rings[0].shape)
    c = len(points)
    owner = [np.repeat([x.station for x in rings], c)]
    offset = [points @ x.R[:, 1:].T for x in rings]
    normals = [outward @ x.R[:, 1:].T for x in rings]
    a = np.arange(c * (len(rings) - 1)).reshape(-1, c)
    a1 = np.roll(a, -1, axis=1)
    cells = [np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, a1, a1 + c), (a, a1 + c, a + c))]
    count = c * len(rings)
    for ring, capped, sign in ((rings[0], caps[0], -1), (rings[-1], caps[1], 1)):
        if capped:  # the outline is convex: a fan of its corners
            owner.append(np.full(c, ring.station))
            offset.append(points @ ring.R[:, 1:].T)
            normals.append(np.tile(sign * ring.R[:, 0], (c, 1)))
            fan = np.stack([np.zeros(c - 2, dtype=np.int64), np.arange(1, c - 1), np.arange(2, c)], axis=1)
            cells.append(count + fan[:, ::sign])
            count += c
    return np.concatenate(owner), np.concatenate(offset), np.concatenate(normals), start + np.concatenate(cells)


def joined(tubes: list[tuple[list[Ring], tuple[bool, bool]]]) -> dict[str, Any]:
    """Several tubes as the arrays of a skin; each is an element."""
    tubes_made, count = [], 0
    for rings, caps in tubes:
        tubes_made.append(tube(rings, count, caps))
        count += len(tubes_made[-1][0])
    owner, offset, normals, triangles = (np.concatenate(x) for x in zip(*tubes_made, strict=True))
    element = np.repeat(np.arange(len(tubes_made)), [len(x[3]) for x in tubes_made])
    return {"owner": owner, "offset": offset, "normals": normals, "triangles": triangles, "element": element}


def _beams(fe: FEModel, X: Array, second: SecondOrder | None) -> ModalSkin:
    """Stations are the nodes, then the chosen points of quadrature of each element."""
    n, count = X.shape[1], len(fe.nodes)
    inside = next(list(chosen) for least, chosen in _INSIDE if len(fe.elements) >= least)
    nodes = X.reshape(count, 6, n)
    at, field = [fe.nodes], [nodes]
    gam2 = None if second is None else [second.gam2]
    tubes = []
    straight = _straight(fe)
    for number, e in enumerate(fe.elements):
        i, j = e.nodes
        inner = [count + len(inside) * number + k for k in range(len(inside))]
        if inside:
            at.append(fe.nodes[i] + GAUSS[inside, None] * e.length * e.R[:, 0])
            field.append(e.at_gauss[0][inside] @ np.concatenate([X[6 * i : 6 * i + 6], X[6 * j : 6 * j + 6]]))
            if gam2 is not None and second is not None and second.inside is not None:
                gam2.append(second.inside[number, inside])
        rings = [Ring(station, e.R, e.shape) for station in (i, *inner, j)]
        tubes.append((rings, (i not in straight, j not in straight)))
    u = np.concatenate(field)
    return ModalSkin(
        at=np.concatenate(at), gam=u[:, :3], lam=u[:, 3:], gam2=None if gam2 is None else np.concatenate(gam2),
        **joined(tubes),
    )  # fmt: skip


def _straight(fe: FEModel) -> set[int]:
    """Nodes through which a beam goes on straight, with the same section and axes."""
    meets: dict[int, list[BeamElement]] = {}
    for e in fe.elements:
        for i in e.nodes:
            meets.setdefault(i, []).append(e)

    def same(a: BeamElement, b: BeamElement) -> bool:
        return a.shape == b.shape and bool(np.abs(a.R - b.R).max() < STRAIGHT) and a.nodes[1] != b.nodes[1]

    return {i for i, each in meets.items() if len(each) == 2 and same(*each)}


def _solid(fe: FEModel, cells: npt.NDArray[np.intp], X: Array) -> ModalSkin:
    faces, element = boundary(cells)
    used, renumbered = np.unique(faces, return_inverse=True)
    shapes = X.reshape(len(fe.nodes), 3, -1)[used]
    return ModalSkin(at=fe.nodes[used], gam=shapes, triangles=renumbered.reshape(-1, 3), element=element)


def boundary(cells: npt.NDArray[np.intp]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The triangles of tetrahedra (e, 4) or (e, 10) that belong to one of them alone, (m, 3), and to which, (m); a
    quadratic one is four.

    >>> boundary(np.array([(0, 1, 2, 3), (1, 2, 3, 4)]))[1]
    array([0, 0, 0, 1, 1, 1])
    """
    width = 3 if cells.shape[1] == 4 else 6
    faces = cells[:, _FACES[:, :width]].reshape(-1, width)
    _, first, times = np.unique(np.sort(faces[:, :3], axis=1), axis=0, return_index=True, return_counts=True)
    outer = np.sort(first[times == 1])
    triangles = faces[outer] if width == 3 else faces[outer][:, _QUARTERS].reshape(-1, 3)
    return triangles, np.repeat(outer // 4, 1 if width == 3 else 4)
