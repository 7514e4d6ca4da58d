"""Ellipsoids at nodes: closed forms of a planar arm, the same picture in all units, refusals."""

from __future__ import annotations

import numpy as np
import pytest
from tests.view.space.test_details import matrix
from tests.view.space.test_page import data_of, numbers

import soacraft as sc
from soacraft.errors import LoopError, ModelError, ViewError
from soacraft.view.space.ellipsoid import THINNEST
from soacraft.view.space.node_ellipsoids import LIGHT, REACH, NodeEllipsoid


def arm(length=1.0):
    """Two rods of one length with point masses at their ends, in the x-y plane, and a node at the tip."""
    mb = sc.Multibody(gravity=(0, -9.81, 0))
    rod = None
    for name in ("upper", "lower"):
        place = sc.Pose(translation=(length, 0, 0)) if rod else sc.Pose()
        rod = mb.add_body(name, rod, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (length, 0, 0)), inboard=place)
    rod.add_node("tip", sc.Pose(translation=(length, 0, 0)))
    return mb


def at(mb, kind, q):
    state = mb.state(q=np.array([q]), v=np.zeros((1, mb.nv)))
    return NodeEllipsoid(mb.frame("lower/tip"), kind, 1.0).at(mb, state)[0]


def test_manipulability_of_a_bent_arm():
    """At the elbow 90 degrees: J_v = [[-1, -1], [1, 0]] for rods of 1 m along x and then y."""
    nine = at(arm(), "manipulability", [0.0, np.pi / 2])
    J = np.array([[-1.0, -1.0], [1.0, 0.0]])
    assert np.allclose((matrix(nine) @ matrix(nine))[:2, :2], REACH**2 * J @ J.T)
    radii = np.linalg.eigvalsh(matrix(nine))
    assert radii[0] == pytest.approx(THINNEST * radii[2])  # out of the plane it cannot move
    assert np.allclose(nine[6:], [1, 1, 0])


def test_operational_space_of_a_bent_arm():
    """By hand: Mcal = [[3, 1], [1, 1]] at 90 degrees, so J Mcal^-1 J* = [[1, 0], [0, 1/2]]: along the first rod the tip
    is a free mass of 1 kg, along the second both masses move."""
    nine = at(arm(), "operational_space", [0.0, np.pi / 2])
    wanted = (LIGHT * 2.0) ** 2 * 2.0 * np.diag([1.0, 0.5])  # length 2 m, mass 2 kg
    assert np.allclose((matrix(nine) @ matrix(nine))[:2, :2], wanted)


@pytest.mark.parametrize("kind", ["manipulability", "operational_space"])
def test_a_small_model_looks_like_a_large_one(kind):
    q = [0.3, 0.8]
    large, small = at(arm(1.0), kind, q), at(arm(1e-3), kind, q)
    assert np.allclose(small, 1e-3 * large, rtol=1e-9, atol=1e-15)


def test_a_dof_that_slides_is_measured_by_the_length_of_the_model():
    """A cart that slides along x, with a rod of 2 m: unit velocity of the slide is 2 m, as of the rod's end."""
    mb = sc.Multibody()
    cart = mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    rod = mb.add_body("lower", cart, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (2, 0, 0)))
    rod.add_node("tip", sc.Pose(translation=(2, 0, 0)))
    S = matrix(at(mb, "manipulability", [0.0, 0.0]))
    assert np.allclose(S[:2, :2], REACH * 2.0 * np.eye(2))


def test_ellipsoids_are_on_pictures_and_pages_and_move():
    mb = arm()
    plain = sc.view.scene(mb)
    before = plain.pixels(size=(96, 72))
    plain.ellipsoid("lower/tip", "operational_space", size=2.0)
    assert (plain.pixels(size=(96, 72)) != before).any()
    t = np.linspace(0.0, 1.0, 3)
    scene = sc.view.scene(mb, (t, np.stack([t, 0.5 + t], axis=1)))
    scene.ellipsoid("lower/tip")
    data = data_of(scene.html(rate=2.0))
    (told,) = data["ellipsoids"]
    assert told["name"] == "manipulability at lower/tip"
    shape = numbers(told["shape"], "<f4").reshape(3, 9)
    wanted = at(mb, "manipulability", [0.5, 1.0])
    assert np.allclose(shape[1, :6], wanted[:6], atol=1e-6)
    assert np.allclose(shape[1, 6:] + data["centre"], wanted[6:], atol=1e-6)


def test_refusals():
    scene = sc.view.scene(arm())
    with pytest.raises(ViewError, match=r"kind='force' is unknown; give 'manipulability' or 'operational_space'\."):
        scene.ellipsoid("lower/tip", "force")
    with pytest.raises(ModelError, match="hand"):
        scene.ellipsoid("hand")
    with pytest.raises(ViewError, match="size must be positive, got 0"):
        scene.ellipsoid("lower/tip", size=0.0)
    closed = sc.view.scene(sc.load("five_bar"))
    with pytest.raises(LoopError, match="loop"):
        closed.ellipsoid(closed.graph.bodies[-1])
    assert data_of(scene.html())["ellipsoids"] == data_of(closed.html())["ellipsoids"] == []
