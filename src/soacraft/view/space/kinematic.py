"""Figure of a body without a shape: rods from its hinge to the next ones, and the hinge by its kind."""

from __future__ import annotations

import numpy as np

from soacraft.model.hinges.base import H_T_of, Hinge
from soacraft.model.sizes.lengths import hinge_point
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia
from soacraft.view.space import surfaces
from soacraft.view.space.ellipsoid import rigid_shape, surface_of
from soacraft.view.space.surfaces import Surface

#: Relative to the length of the model: the radius of a rod, and that of a hinge. A rod is no thicker than a part of it.
ROD, HINGE, STOUTEST = 0.016, 0.026, 0.15
#: Distance relative to the length of the model below which points are in one place.
SAME = 1e-6


def figure(graph: Graph, body: Body) -> tuple[Surface | None, Surface | None]:
    """The rods of a body and its hinge, in body axes.

    Rods go from the hinge to the hinges of its children; of a body without children to its nodes, or to its centre of
    mass, where its ellipsoid of inertia is, no larger than these links. A mass in a point is a ball; what has neither
    mass nor extent is a small one.
    """
    length = scale_of(graph).length
    start = hinge_point(body)
    ends = [np.asarray(child.inboard.translation) for child in body.children if child in graph.layout.index]
    ends = ends or [np.asarray(node.pose.translation) for node in body.nodes]
    far = [x for x in ends if np.linalg.norm(x - start) > SAME * length]
    rods = [_rod(start, end, length) for end in far]
    if not far or (body.inertia.mass > 0.0 and not np.asarray(body.inertia.moment).any()):
        rods += _mass(body, start, length)
    drum = _hinge(body, start, HINGE * length)
    if not rods and drum is None:
        rods = [surfaces.sphere(ROD * length).moved(np.eye(3), start)]
    return (surfaces.joined(rods) if rods else None), drum


def _rod(a: Array, b: Array, length: float) -> Surface:
    return surfaces.between(a, b, min(ROD * length, STOUTEST * float(np.linalg.norm(b - a))))


def _mass(body: Body, start: Array, length: float) -> list[Surface]:
    """Figure of a body without children: a rod to its centre of mass, and its ellipsoid of inertia there."""
    if not body.inertia.mass > 0.0:
        return []
    com = np.asarray(body.inertia.com)
    shape = inertia_ellipsoid(body.inertia)
    extent = 0.0 if shape is None else float(np.ptp(shape.points, axis=0).max())
    if shape is None or extent < 2.0 * HINGE * length:
        shape = surfaces.sphere(1.5 * HINGE * length).moved(np.eye(3), com)
    else:
        most = max(link_of(body, start), 3.0 * HINGE * length)
        if extent > most:
            shape = Surface(com + (shape.points - com) * (most / extent), shape.normals, shape.triangles)
    return [_rod(start, com, length), shape] if np.linalg.norm(com - start) > SAME * length else [shape]


def link_of(body: Body, start: Array) -> float:
    """The length of a body's links: from the hinge that carries it to its own, and from there to its centre of mass;
    infinite for a body that is free, which is drawn as large as it is."""
    if body.hinge.nv == 6:
        return float("inf")
    before = hinge_point(body.parent) if isinstance(body.parent, Body) else np.zeros(3)
    return float(
        max(np.linalg.norm(np.asarray(body.inboard.translation) - before), np.linalg.norm(body.inertia.com - start))
    )


def _hinge(body: Body, at: Array, radius: float) -> Surface | None:
    """A drum about the axis of a hinge that turns, a block along that of one that slides, a ball for more of them;
    nothing for a weld, and for what can move freely."""
    hinge, R = body.hinge, np.asarray(body.outboard.inv.rotation)
    if hinge.nv in (0, 6):
        return None
    axis, turns = _axis(hinge)
    if axis is None:
        return surfaces.sphere(1.15 * radius).moved(np.eye(3), at)
    shape = surfaces.cylinder(radius, 2.6 * radius) if turns else surfaces.box(1.7 * radius, 1.7 * radius, 3.0 * radius)
    return shape.moved(surfaces.rotation_to(R @ axis), at)


def _axis(hinge: Hinge) -> tuple[Array | None, bool]:
    """The one axis of a hinge, and whether it turns about it; None where there are several."""
    H = H_T_of(hinge, np.asarray(hinge.neutral(), dtype=np.float64))
    turn, slide = H[:3], H[3:]
    columns = (turn if turn.any() else slide).T
    columns = columns[np.linalg.norm(columns, axis=1) > 0.0]
    if len(columns) == 0:
        return None, False
    unit = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    one = np.abs(unit @ unit[0]).min() > 1.0 - 1e-9
    return (unit[0] if one else None), bool(turn.any())


def inertia_ellipsoid(inertia: Inertia) -> Surface | None:
    """The uniform ellipsoid with the same mass and moments (`ellipsoid.rigid_shape`); None without mass, or where it is
    in a point. Thin ones are drawn with a hundredth of their extent."""
    return surface_of(rigid_shape(inertia))
