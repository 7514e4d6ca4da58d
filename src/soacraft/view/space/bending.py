"""Drawing of flexible bodies: skins that move with the modes, and surfaces that ride on their nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from soacraft.flexible.sections import Circle
from soacraft.flexible.skins import Ring, joined
from soacraft.model.modal import ModalData, ModalNode, ModalSkin
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose
from soacraft.view.palette import rgb
from soacraft.view.space import surfaces
from soacraft.view.space.surfaces import Corners, Surface

#: Colours from no deflection to the largest.
RAMP = ("#3e4a89", "#2a788e", "#22a884", "#7ad151", "#fde725", "#f2711c")
#: Relative to the extent of a body that has points alone: the balls at them, and at most how many.
BALL, MOST_BALLS = 0.012, 400
#: A mode that is well seen bends its body by this part of its extent, or turns a part of it by so much, in radians.
BENT, TURNED = 0.15, 0.3
#: The outline of a section is drawn at least so far from the axis, relative to the length of the model.
THINNEST = 0.005
#: A rod between nodes of a body that has nothing else to be seen, relative to its length.
ROD = 0.03


def tinted(values: Array, most: float) -> Array:
    """Colours (..., 3) of values from 0 to `most`, along the ramp.

    >>> tinted(np.array([0.0]), 1.0).round(2).tolist()
    [[0.24, 0.29, 0.54]]
    """
    anchors = np.array([rgb(x) for x in RAMP])
    part = np.clip(values / most if most > 0.0 else 0.0 * values, 0.0, 1.0) * (len(anchors) - 1)
    low = np.minimum(part.astype(int), len(anchors) - 2)
    share = (part - low)[..., None]
    return np.asarray((1.0 - share) * anchors[low] + share * anchors[low + 1])


@dataclass(frozen=True, eq=False)
class Bending:
    """A surface that a skin carries: its points are the corners of the skin, or those of flat triangles. `modes` says
    which of all modal coordinates of a graph are those of its body."""

    skin: ModalSkin
    modes: slice
    solid: bool = True
    stress: Array | None = None
    """Stress of unit modal coordinates in each element (e, 4 or 6, n), where it is recovered."""

    @cached_property
    def corners(self) -> Corners:
        """The corner of the skin that each point of the surface is."""
        skin = self.skin
        return np.arange(len(skin.owner)) if skin.owner is not None else skin.triangles.ravel()

    @property
    def still(self) -> Surface:
        """Surface of the undeformed body."""
        return self._surface(np.zeros(self.skin.n))

    def surface(self, eta: Array) -> Surface:
        """Surface at all modal coordinates of the graph, in body axes."""
        return self._surface(eta[self.modes])

    def _surface(self, eta: Array) -> Surface:
        skin, points = self.skin, self.skin.corners(eta)
        normals = skin.outward(eta)
        if normals is not None:
            return Surface(points, normals, skin.triangles, self.solid)
        a, b, c = (points[skin.triangles[:, i]] for i in range(3))
        n = np.cross(b - a, c - a)
        length = np.linalg.norm(n, axis=1, keepdims=True)
        n = n / np.where(length > 0.0, length, 1.0)
        triangles = np.arange(skin.triangles.size).reshape(-1, 3)
        return Surface(points[self.corners], np.repeat(n, 3, axis=0), triangles, self.solid)

    def deflections(self, eta: Array) -> Array:
        """Distances of its points from their places on the undeformed body at all modal coordinates of the graph (...,
        modes), in metres, (..., points).
        """
        return self.skin.deflections(eta[..., self.modes])[..., self.corners]


    @cached_property
    def elements(self) -> Corners:
        """The element that each point of the surface belongs to."""
        skin = self.skin
        assert skin.element is not None
        if skin.owner is None:
            return np.repeat(skin.element, 3)
        elements = np.zeros(len(skin.owner), dtype=np.int64)
        elements[skin.triangles.ravel()] = np.repeat(skin.element, 3)
        return elements

    def stresses(self, eta: Array) -> Array:
        """The stress at its points, that of their elements, in pascals: the largest normal stress of a section, von
        Mises' stress of a solid, (..., points)."""
        assert self.stress is not None
        return measure(np.tensordot(eta[..., self.modes], self.stress, axes=(-1, -1)))[..., self.elements]

    def values(self, kind: str, eta: Array) -> Array | None:
        """Values that its points are coloured by; None where they are not."""
        if kind == "stress":
            return None if self.stress is None else self.stresses(eta)
        return self.deflections(eta) if kind == "deflection" else None


def measure(stress: Array) -> Array:
    """One number for the stress of an element: of four normal stresses of a section, or of xx, yy, zz, yz, xz, xy.

    >>> measure(np.array([[3.0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1.0]])) ** 2
    array([9., 3.])
    """
    if stress.shape[-1] == 4:
        return np.asarray(np.abs(stress).max(axis=-1))
    normal, shear = stress[..., :3], stress[..., 3:]
    apart = normal - np.roll(normal, 1, axis=-1)
    return np.asarray(np.sqrt(0.5 * (apart**2).sum(axis=-1) + 3.0 * (shear**2).sum(axis=-1)))


def bending_of(data: ModalData, modes: slice, length: float = 0.0) -> Bending:
    """Surface of a body in a model of this length: its skin, a thin one thicker than it is; without one balls at its
    points; without those rods between its nodes.
    """
    if data.skin is not None:
        stress = None if data.skin.element is None else data.recovery.get("stress")
        drawable = stress is not None and stress.ndim == 3 and stress.shape[1] in (4, 6)
        return Bending(_seen(data.skin, length), modes, stress=stress if drawable else None)
    return _balls(data, modes) if data.points is not None else _rods(data, modes)


def farthest(data: ModalData) -> Array:
    """Amplitude of each mode of a flexible body at which it is well seen, (n)."""
    skin = bending_of(data, slice(0, data.n)).skin
    extent = float(np.linalg.norm(np.ptp(skin.corners(np.zeros(data.n)), axis=0)))
    moves = np.linalg.norm(skin.gam, axis=1).max(axis=0) / (BENT * extent)
    turns = np.zeros(data.n) if skin.lam is None else np.linalg.norm(skin.lam, axis=1).max(axis=0) / TURNED
    most = np.maximum(moves, turns)
    return np.asarray(1.0 / np.where(most > 0.0, most, 1.0))


def carried(surface: Surface, node: ModalNode, modes: slice) -> Bending:
    """A surface, in body axes, that rides on a node."""
    at = np.asarray(node.pose.translation)
    skin = ModalSkin(
        at=at[None], gam=node.gam[None], lam=node.lam[None], gam2=None if node.gam2 is None else node.gam2[None],
        owner=np.zeros(len(surface.points), dtype=np.int64), offset=surface.points - at, normals=surface.normals,
        triangles=surface.triangles,
    )  # fmt: skip
    return Bending(skin, modes, surface.solid)


def _seen(skin: ModalSkin, length: float) -> ModalSkin:
    """The skin with sections that are thick enough to be seen in a model of this length; the axis stays where it is."""
    if skin.offset is None:
        return skin
    least = THINNEST * max(length, float(np.linalg.norm(np.ptp(skin.at, axis=0))))
    thick = float(np.linalg.norm(skin.offset, axis=1).max(initial=0.0))
    return replace(skin, offset=skin.offset * (least / thick)) if 0.0 < thick < least else skin


def _balls(data: ModalData, modes: slice) -> Bending:
    assert data.points is not None and data.shapes is not None
    some = np.unique(np.linspace(0, len(data.points) - 1, min(len(data.points), MOST_BALLS)).round().astype(int))
    ball = surfaces.box(1.0, 1.0, 1.0)
    size = BALL * (float(np.linalg.norm(np.ptp(data.points, axis=0))) or 1.0)
    k, c = len(some), len(ball.points)
    triangles = (ball.triangles + c * np.arange(k)[:, None, None]).reshape(-1, 3)
    skin = ModalSkin(
        at=data.points[some], gam=data.shapes[some], lam=0.0 * data.shapes[some], owner=np.repeat(np.arange(k), c),
        offset=np.tile(size * ball.points, (k, 1)), normals=np.tile(ball.normals, (k, 1)), triangles=triangles,
    )  # fmt: skip
    return Bending(skin, modes)


def _rods(data: ModalData, modes: slice) -> Bending:
    """Rods from the first node to each of the others, from the body frame where there is one node, a ball where none
    is.
    """
    still = ModalNode(Pose(), np.zeros((3, data.n)), np.zeros((3, data.n)))
    nodes = [still, *data.nodes.values()] if len(data.nodes) < 2 else list(data.nodes.values())
    places = np.array([x.pose.translation for x in nodes])
    tubes = []
    for k in range(1, len(nodes)):
        way = places[k] - places[0]
        length = float(np.linalg.norm(way))
        if length > 0.0:
            R = surfaces.rotation_to(way)[:, [2, 0, 1]]
            tubes.append(([Ring(i, R, Circle(ROD * length)) for i in (0, k)], (True, True)))
    if not tubes:
        size = np.sqrt(np.trace(data.second) / data.mass) or 1.0
        return carried(surfaces.sphere(0.2 * float(size)), still, modes)
    gam, lam = (np.array([getattr(x, name) for x in nodes]) for name in ("gam", "lam"))
    return Bending(ModalSkin(at=places, gam=gam, lam=lam, **joined(tubes)), modes)
