"""A rasteriser: triangles to pixels with a depth buffer, in numpy, all triangles at once.

A pixel p is in a triangle where its barycentric coordinates w are not negative; 1/depth is linear in them. Of all
triangles over a pixel the one with the largest 1/depth is seen. What reaches behind the camera is cut off in front of
it. Light comes from above the camera's left shoulder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array
from soacraft.view.drawing.pixels import Pixels
from soacraft.view.space.camera import Camera
from soacraft.view.space.surfaces import Corners

#: Pairs of a triangle and a pixel that are looked at together: 100 MB.
_TOGETHER = 1_000_000
#: Pixels across and down for one of the picture.
_FINER = 2
_LIGHT = np.array([-0.45, 0.65, 0.75]) / np.linalg.norm([-0.45, 0.65, 0.75])
_AMBIENT, _SHINE = 0.42, 0.12
#: Part of the distance of the camera from its target below which triangles are cut off.
_NEAR = 1e-3


@dataclass(frozen=True, eq=False)
class Drawn:
    """A surface in the inertial frame with its colour."""

    points: Array
    normals: Array
    triangles: Corners
    colour: tuple[float, float, float]
    alpha: float = 1.0
    solid: bool = True
    front: bool = False
    """Seen through all that is not: what acts inside bodies."""
    tints: Array | None = None
    """The colours of the points (n, 3), where they differ."""


def render(drawn: list[Drawn], view: Camera, width: int, height: int, background: tuple[float, ...]) -> Pixels:
    """A picture (height, width, 3). O(triangles + pixels covered, each as often as it is)."""
    w, h = _FINER * width, _FINER * height
    colours = np.empty((h * w, 3))
    colours[:] = background
    for front in (False, True):
        layer = [x for x in drawn if x.front is front]
        depths = np.zeros(h * w)  # 1/depth, 0 at infinity
        opaque = [x for x in layer if x.alpha >= 1.0]
        if opaque:
            where, shade = _shaded(opaque, view, w, h, depths)
            colours[where] = shade
        for x in _far_first([x for x in layer if 0.0 < x.alpha < 1.0], view):
            where, shade = _shaded([x], view, w, h, depths.copy())
            colours[where] = (1.0 - x.alpha) * colours[where] + x.alpha * shade
    fine = colours.reshape(height, _FINER, width, _FINER, 3).mean(axis=(1, 3))
    return np.asarray(np.clip(255.0 * fine + 0.5, 0.0, 255.0), dtype=np.uint8)


def _far_first(drawn: list[Drawn], view: Camera) -> list[Drawn]:
    return sorted(drawn, key=lambda x: float(x.points.mean(axis=0) @ view.axes[2]))


def _shaded(drawn: list[Drawn], view: Camera, w: int, h: int, depths: Array) -> tuple[npt.NDArray[np.intp], Array]:
    """The pixels where these surfaces are the nearest, and their colours there; `depths` takes theirs."""
    starts = np.cumsum([0, *(len(x.points) for x in drawn)])
    points = np.concatenate([x.points for x in drawn])
    normals = np.concatenate([x.normals for x in drawn]) @ view.axes.T
    corners = np.concatenate([x.triangles + start for x, start in zip(drawn, starts, strict=False)])
    owner = np.repeat(np.arange(len(drawn)), [len(x.triangles) for x in drawn])
    solid = np.array([x.solid for x in drawn])
    tints = np.concatenate([np.tile(x.colour, (len(x.points), 1)) if x.tints is None else x.tints for x in drawn])
    points, both, corners, owner = _cut_off(points, np.hstack([normals, tints]), corners, owner, view)
    place, depth = view.seen(points, w, h)
    corners, owner = _facing(corners, owner, solid, place)
    nearest, weights = np.full(h * w, -1, dtype=np.intp), np.zeros((h * w, 3))
    _fill(place[corners], 1.0 / depth[corners], w, h, depths, nearest, weights)
    where = np.flatnonzero(nearest >= 0)
    triangle = nearest[where]
    seen = np.einsum("pi,pij->pj", weights[where], both[corners[triangle]])
    return where, _lit(seen[:, 3:], seen[:, :3])


def _cut_off(
    points: Array, values: Array, corners: Corners, owner: Corners, view: Camera
) -> tuple[Array, Array, Corners, Corners]:
    """Triangles, with values at their points, without what is behind the camera or next to it: where the plane in front
    of it crosses two edges there are new points, and one triangle or two. O(triangles)."""
    depth = (view.position - points) @ view.axes[2]
    near = _NEAR * view.distance
    ahead = (depth > near)[corners]
    count = ahead.sum(axis=1)
    inside, cut = count == 3, (count == 1) | (count == 2)
    if not cut.any():
        return points, values, corners[inside], owner[inside]
    tip_ahead = count[cut] == 1
    tip = np.argmax(np.where(tip_ahead[:, None], ahead[cut], ~ahead[cut]), axis=1)  # the corner alone on its side
    a, b, c = np.take_along_axis(corners[cut], (tip[:, None] + np.arange(3)) % 3, axis=1).T
    crossed = []
    for other in (b, c):
        s = ((near - depth[a]) / (depth[other] - depth[a]))[:, None]
        crossed.append([x[a] + s * (x[other] - x[a]) for x in (points, values)])
    ab = len(points) + np.arange(len(a))
    ac = ab + len(a)
    behind = ~tip_ahead
    tips = np.stack([a, ab, ac], axis=1)[tip_ahead]
    rests = [np.stack(x, axis=1)[behind] for x in ((ab, b, c), (ab, c, ac))]
    owners = owner[cut]
    return (
        np.concatenate([points, crossed[0][0], crossed[1][0]]),
        np.concatenate([values, crossed[0][1], crossed[1][1]]),
        np.concatenate([corners[inside], tips, *rests]),
        np.concatenate([owner[inside], owners[tip_ahead], owners[behind], owners[behind]]),
    )


def _facing(
    corners: Corners, owner: Corners, solid: npt.NDArray[np.bool_], place: Array
) -> tuple[Corners, Corners]:
    """Triangles without those of no area, and without the backs of solids."""
    a, b, c = (place[corners[:, i]] for i in range(3))
    with np.errstate(all="ignore"):
        area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    seen = np.where(solid[owner], area < 0.0, area != 0.0)
    return corners[seen], owner[seen]


def _fill(
    place: Array, near: Array, w: int, h: int, depths: Array, nearest: npt.NDArray[np.intp], weights: Array
) -> None:
    """The depth test of all pixels in the boxes about the triangles."""
    low = np.clip(np.ceil(place.min(axis=1) - 0.5), 0, [w, h]).astype(np.int64)
    high = np.clip(np.floor(place.max(axis=1) - 0.5) + 1, 0, [w, h]).astype(np.int64)
    size = np.maximum(high - low, 0)
    for some in _shares(size[:, 0] * size[:, 1]):
        _fill_some(some, place[some], near[some], low[some], size[some], w, depths, nearest, weights)


def _shares(counts: Corners) -> list[npt.NDArray[np.intp]]:
    """Triangles by the share, each with about `_TOGETHER` pixels."""
    used = np.flatnonzero(counts)
    share = np.cumsum(counts[used]) // _TOGETHER
    return np.split(used, np.flatnonzero(np.diff(share)) + 1) if len(used) else []


def _fill_some(
    numbers: npt.NDArray[np.intp], place: Array, near: Array, low: Corners, size: Corners, w: int,
    depths: Array, nearest: npt.NDArray[np.intp], weights: Array,
) -> None:  # fmt: skip
    counts = size[:, 0] * size[:, 1]
    t = np.repeat(np.arange(len(counts)), counts)
    local = np.arange(len(t)) - np.repeat(np.cumsum(counts) - counts, counts)
    column, row = low[t, 0] + local % size[t, 0], low[t, 1] + local // size[t, 0]
    a, b, c = place[:, 0], place[:, 1], place[:, 2]
    # w_b and w_c solve  p - a = w_b (b - a) + w_c (c - a)
    u, v = b - a, c - a
    area = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
    x, y = column + 0.5 - a[t, 0], row + 0.5 - a[t, 1]
    w_b = (x * v[t, 1] - y * v[t, 0]) / area[t]
    w_c = (y * u[t, 0] - x * u[t, 1]) / area[t]
    w_a = 1.0 - w_b - w_c
    inside = np.flatnonzero((w_a >= 0.0) & (w_b >= 0.0) & (w_c >= 0.0))
    t, bary = t[inside], np.stack([w_a[inside], w_b[inside], w_c[inside]], axis=1)
    z = np.einsum("pi,pi->p", bary, near[t])
    pixel = row[inside] * w + column[inside]
    np.maximum.at(depths, pixel, z)
    won = np.flatnonzero(z >= depths[pixel])
    nearest[pixel[won]], weights[pixel[won]] = numbers[t[won]], bary[won]


def _lit(colour: Array, normal: Array) -> Array:
    """Colours in the light, on the side that is seen."""
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    n = normal / np.where(length > 0.0, length, 1.0)
    n = np.where(n[:, 2:] < 0.0, -n, n)
    straight = np.maximum(n @ _LIGHT, 0.0)[:, None]
    half = _LIGHT + np.array([0.0, 0.0, 1.0])
    shine = np.maximum(n @ (half / np.linalg.norm(half)), 0.0)[:, None] ** 30
    return np.asarray(colour * (_AMBIENT + (1.0 - _AMBIENT) * straight) + _SHINE * shine)
