"""What is seen of flexible bodies: closed surfaces of the right volume, carried as the nodes are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from tests.flexible.test_solids import block

import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.model.modal import ModalSkin, nodes
from soacraft.spatial.rotations import exp

STEEL = fx.Elastic(200e9, 0.3, 7850.0)


PLATE = fx.Rectangle(0.2, 0.1)


def beam(section=PLATE, elements=4, **more):
    fe = fx.beam(2.0, section, STEEL, elements=elements)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(2, 0, 0))
    return fx.reduce(fe, ["root", "tip"], **{"modes": 3, **more})


def volume(skin, eta):
    """By the theorem of Gauss: a third of the sum of x . n dA, positive where triangles turn outward."""
    a, b, c = np.moveaxis(skin.corners(eta)[skin.triangles], 1, 0)
    return float(np.einsum("ki,ki->", a, np.cross(b, c)) / 6.0)


def stations(skin, eta):
    """Where the axis of a beam is."""
    return skin.at + skin.gam @ eta + 0.5 * np.einsum("kaij,i,j->ka", skin.gam2, eta, eta)


@pytest.mark.parametrize("elements", [2, 6, 12])
def test_a_beam_has_the_volume_of_its_section(elements):
    skin = beam(elements=elements).skin
    assert volume(skin, np.zeros(skin.n)) == pytest.approx(2.0 * 0.2 * 0.1, rel=1e-12)


def test_a_section_of_numbers_alone_has_its_radii_of_gyration():
    skin = beam(PLATE.section).skin
    assert np.ptp(skin.corners(np.zeros(skin.n)), axis=0) == pytest.approx([2.0, 0.2, 0.1])


def test_normals_point_outward_as_triangles_do():
    skin = beam(fx.Tube(0.05, 0.002)).skin
    eta = 0.02 * np.ones(skin.n)
    a, b, c = np.moveaxis(skin.corners(eta)[skin.triangles], 1, 0)
    face, area = np.cross(b - a, c - a), np.linalg.norm(np.cross(b - a, c - a), axis=1)
    told = skin.outward(eta)[skin.triangles].mean(axis=1)
    assert (np.einsum("ki,ki->k", face, told)[area > 1e-12] > 0.0).all()


@pytest.mark.parametrize("quadratic", [False, True])
def test_a_solid_shows_its_surface(quadratic):
    points, cells = block((2.0, 0.4, 0.3), (3, 2, 1), quadratic)
    fe = fx.solid(points, cells, STEEL)
    fe.interface("root", nodes=np.flatnonzero(points[:, 0] < 1e-9), by="RBE2")
    data = fx.reduce(fe, ["root"], "fixed", modes=2)
    assert volume(data.skin, np.zeros(2)) == pytest.approx(2.0 * 0.4 * 0.3, rel=1e-12)
    shown = {tuple(x) for x in data.skin.at.round(9)}
    on = (np.isclose(points, points.min(axis=0)) | np.isclose(points, points.max(axis=0))).any(axis=1)
    assert shown == {tuple(x) for x in points[on].round(9)}


@pytest.mark.parametrize("elements", [3, 12])
def test_the_end_of_a_beam_is_where_its_node_is(elements):
    data = beam(elements=elements)
    eta = np.array([0.0, 0.1, -0.2, 0.1, 0.1, 0.1, 0.2, 0.1, -0.1]) * 0.3
    place = data.node("tip").pose.translation
    R, l = nodes.pose(data.node("tip"), eta)
    end = np.isclose(data.skin.corners(np.zeros(data.n))[:, 0], 2.0)
    corners = data.skin.corners(eta)[end]
    assert corners.mean(axis=0) == pytest.approx(l, abs=1e-12)  # with the second order: the beam gets shorter
    still = data.skin.corners(np.zeros(data.n))[end] - place
    turn = exp(data.node("tip").lam @ eta)
    assert corners - l == pytest.approx(still @ turn.T, abs=1e-12)
    assert np.abs(turn - R).max() < 0.05  # the second order of the turn is left out


def test_points_between_nodes_are_where_nodes_of_a_finer_model_are():
    coarse, fine = (beam(elements=n, method="guyan", modes=None).skin for n in (2, 12))
    eta = np.array([0.0, 0.3, 0.2, 0.0, 0.1, -0.2])
    lines = [stations(x, eta) for x in (coarse, fine)]
    for x in (0.5, 1.5):  # in the middle of an element, and a node: static modes of both are exact
        i, j = (int(np.argmin(np.abs(skin.at[:, 0] - x))) for skin in (coarse, fine))
        assert coarse.at[i] == pytest.approx(fine.at[j], abs=1e-12)
        assert lines[0][i] == pytest.approx(lines[1][j], abs=1e-10)


@pytest.mark.parametrize("to", ["mean", "chord", "tip"])
def test_another_frame_sees_the_same_skin(to):
    """The two frames see one body: distances between stations are the same, to third order."""
    data = beam()
    other = fx.rereference(data, to)
    eta = np.array([0.0, 0.1, -0.2, 0.1, 0.1, 0.1, 0.2, 0.1, -0.1])
    sizes = []
    for size in (0.1, 0.05):
        lines = (stations(x.skin, size * eta) for x in (data, other))
        apart = [np.linalg.norm(x[:, None] - x, axis=2) for x in lines]
        sizes.append(float(np.abs(apart[0] - apart[1]).max()))
    assert 1e-9 < sizes[0] < 1e-5
    assert sizes[0] / sizes[1] > 7.5


def test_a_frame_and_functions_have_a_skin():
    bar = fx.Circle(0.02)
    fe = fx.frame({"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 1, 0)}, [fx.Member(*x, bar, STEEL) for x in ("ab", "bc")])
    fe.interface("root", at="a")
    frame = fx.reduce(fe, ["root"], "fixed", modes=2).skin
    sixteen = 8.0 * np.sin(np.pi / 8.0) * 0.02**2  # the area of the polygon
    assert volume(frame, np.zeros(2)) == pytest.approx(2.0 * sixteen, rel=1e-12)
    given = fx.shapes(1.0, bar, STEEL, {"y": [Polynomial([0, 0, 1.5, -0.5])]})
    assert volume(given.skin, np.zeros(1)) == pytest.approx(sixteen, rel=1e-12)
    end = np.isclose(given.skin.corners(np.zeros(1))[:, 0], 1.0)
    l = nodes.pose(given.node("tip"), np.array([0.1]))[1]
    assert given.skin.corners(np.array([0.1]))[end].mean(axis=0) == pytest.approx(l, abs=1e-12)


def test_a_skin_that_is_none_is_refused():
    at, gam, triangles = np.zeros((3, 3)), np.zeros((3, 3, 1)), np.array([[0, 1, 2]])
    ModalSkin(triangles=triangles, at=at, gam=gam)
    with pytest.raises(ModelError, match="triangles of the skin of modal data must be whole numbers from 0 to 2"):
        ModalSkin(triangles=np.array([[0, 1, 3]]), at=at, gam=gam)
    for wrong in ([[0, 0.5, 2]], [[0, 1, np.nan]], [0, 1, 2], [["0", "1", "2"]]):
        with pytest.raises(ModelError, match="triangles of the skin of modal data must be whole numbers"):
            ModalSkin(triangles=wrong, at=at, gam=gam)
    with pytest.raises(ModelError, match=r"gam of the skin of modal data must have shape \(3, 3, any\)"):
        ModalSkin(triangles=triangles, at=at, gam=gam[:2])
    with pytest.raises(ModelError, match="lam, owner, offset and normals of the skin of modal data are given together"):
        ModalSkin(triangles=triangles, at=at, gam=gam, lam=gam)
    with pytest.raises(ModelError, match="element of the skin of modal data needs a number for each of its 1"):
        ModalSkin(triangles=triangles, at=at, gam=gam, element=np.array([0, 1]))
    with pytest.raises(ModelError, match="the skin of modal data of 9 modes must be a ModalSkin of as many"):
        replace(beam(), skin=ModalSkin(triangles=triangles, at=at, gam=gam))
