"""Steps that may lead shapes through each other: their widths, and random motions between two poses."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Sphere, TriangleMesh
from soacraft.spatial.rotations import exp, matrix_to_quaternion

CUBE = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
SIDES = [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6],
         [1, 3, 5], [3, 7, 5]]  # fmt: skip
KINDS = ("sphere", "box", "capsule", "cylinder", "ellipsoid")


def test_least_widths():
    """Of a hull half of what its faces tell, as it may be less wide across two edges: a tetrahedron is."""
    for shape, width in (
        (Sphere(0.5), 1.0),
        (Capsule(0.1, 2.0), 0.2),
        (Box(1.0, 0.02, 3.0), 0.02),
        (Box(1.0, 0.0, 3.0), 0.0),
        (Cylinder(0.5, 0.1), 0.1),
        (Cylinder(0.01, 1.0), 0.02),
        (Ellipsoid(1.0, 0.2, 0.4), 0.4),
        (Plane(), np.inf),
        (ConvexHull(CUBE * [1.0, 0.1, 2.0]), 0.1),
        (TriangleMesh(CUBE, SIDES), 0.01 * 2.0 * np.sqrt(3.0) / 2.0),
        (TriangleMesh(CUBE, SIDES[:3]), 0.0),
    ):
        np.testing.assert_allclose(shape.core.thin, width, rtol=1e-12)
    regular = ConvexHull(CUBE[[0, 3, 5, 6]])
    assert regular.core.thin <= 2.0  # the distance of two edges


def pair(kind, size, other="box", walls=(0.01, 1.0, 1.0)):
    """A scene of a body that is free and a fixed one."""
    mb = sc.Multibody()
    mb.root.add_geometry(sc.Geometry("wall", other, walls))
    body = mb.add_body("body", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    body.add_geometry(sc.Geometry("skin", kind, size))
    return sc.contact.Scene(mb)


def at(x, y=0.0, z=0.0, R=None):
    return [*([0, 0, 0, 1] if R is None else matrix_to_quaternion(R)), x, y, z]


def test_how_much_closer_they_come():
    """A ball that flies at a wall, along it, away from it, and one that turns where it is."""
    scene, still = pair("sphere", (0.01,)), np.zeros(6)
    found = scene.passing((at(-0.05), still), (at(0.05), still), 0.01)
    assert (found.a, found.b) == ("body/skin", "inertial/wall")
    np.testing.assert_allclose([found.closer, found.gap, found.thick], [0.1, 0.035, 0.03], rtol=1e-12)
    np.testing.assert_allclose(found.part, (0.035 + 0.3 * 0.03) / 0.1, rtol=2e-3)  # to ten binary digits
    np.testing.assert_allclose(found.longest(0.01), 0.01 * 0.2 * 0.03 / 0.1, rtol=1e-12)
    assert scene.passing((at(-0.05), still), (at(-0.05 + 0.034), still), 0.01) is None
    assert scene.passing((at(-0.016), still), (at(-0.016, 0.4), still), 0.01) is None
    assert scene.passing((at(-0.016), still), (at(-5.0), still), 0.01) is None
    spun = [300.0, 300.0, 0, 0, 0, 0]
    assert scene.passing((at(-0.016), spun), (at(-0.016, R=exp(np.array([2.0, 2.0, 0.0]))), spun), 0.01) is None
    assert pair("box", (0.01,) * 3).passing((at(-0.016), spun), (at(-0.016), spun), 0.01) is not None
    floor = pair("sphere", (0.01,), "plane", ())
    assert floor.thinnest == np.inf
    assert floor.passing((at(0, 0, 1.0), still), (at(0, 0, -9.0), still), 0.01) is None


def test_a_padding_counts_as_width():
    scene, still = pair("sphere", (0.0,), walls=(0.0, 1.0, 1.0)), np.zeros(6)
    found = scene.passing((at(-0.05), still), (at(0.05), still), 0.01)
    assert (found.thick, found.part) == (0.0, 0.5)
    scene.set_padding(0.01, "body/skin")
    found = scene.passing((at(-0.05), still), (at(0.05), still), 0.01)
    np.testing.assert_allclose([found.thick, found.gap], [0.02, 0.04], rtol=1e-12)


def tumble(rng, kind):
    """A random pair and a motion of the free one: a line, and a turn about a fixed axis, at constant rates."""
    size = tuple(rng.uniform(0.02, 0.3, {"sphere": 1, "capsule": 2, "cylinder": 2}.get(kind, 3)))
    scene = pair(kind, size, walls=tuple(10.0 ** rng.uniform(-2.0, 0.0, 3)))
    p, way, turn = rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
    way = -p * rng.uniform(0.5, 1.5) + 0.3 * way
    turn *= rng.uniform(0.0, 1.5) / np.linalg.norm(turn)
    R = exp(rng.normal(size=3))

    def state(s):
        R1 = R @ exp(s * turn)
        return at(*(p + s * way), R=R1), np.array([*turn, *(R1.T @ way)])

    return scene, state


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_is_let_through_is_no_deeper_than_that(kind):
    """Parts of random motions, looked at in 40 poses: what is not refused is never deeper than 2/5 of the width, or
    than a seventh where it ends apart, past an edge; what is refused has a part that is not."""
    rng, seen = np.random.default_rng(KINDS.index(kind)), [0, 0]
    for _ in range(25):
        scene, state = tumble(rng, kind)
        if scene.distances(state(0.0)[0]).distance[0] < 0.0:
            continue
        part = 1.0
        while (found := scene.passing(state(0.0), state(part), part)) is not None:
            assert 0.0 < found.part <= 0.9
            part *= found.part
        thick = scene.thinnest
        gaps = np.array([scene.distances(state(s)[0]).distance[0] for s in np.linspace(0.0, part, 41)])
        deep = 0.15 if gaps[-1] > 0.0 else 0.4
        assert gaps.min() >= -(deep + 1e-9) * thick
        seen[int(part < 1.0)] += 1
    assert min(seen) > 3
