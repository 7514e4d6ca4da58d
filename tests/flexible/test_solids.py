"""Solids of tetrahedra against beams and closed forms, their second-order displacement by unit loads too."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import soacraft.flexible as fx
from soacraft.errors import ModelError, SingularError
from soacraft.flexible.solids import EDGES

#: A cube of corners 0 to 7 (bits z, y, x) as six tetrahedra around its diagonal 0-7.
SIX = ((0, 4, 6, 7), (0, 6, 2, 7), (0, 2, 3, 7), (0, 3, 1, 7), (0, 1, 5, 7), (0, 5, 4, 7))
STEEL = fx.Elastic(200e9, 0.3, 7850.0)


def block(size, divisions, quadratic=True):
    """Points and tetrahedra of a box from the origin, its axis x in the middle of its section."""
    step = 2 if quadratic else 1
    counts = [step * n + 1 for n in divisions]
    starts = (0.0, -size[1] / 2, -size[2] / 2)
    axes = [x + np.linspace(0, s, n) for x, s, n in zip(starts, size, counts, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    cells = []
    for cell in np.ndindex(*divisions):
        for tet in SIX:
            corners = [step * (np.array(cell) + np.array([(c >> 2) & 1, (c >> 1) & 1, c & 1])) for c in tet]
            places = corners + [(corners[a] + corners[b]) // 2 for a, b in EDGES] * quadratic
            cells.append([np.ravel_multi_index(tuple(p), counts) for p in places])
    used = np.unique(cells)
    number = np.zeros(len(points), dtype=int)
    number[used] = np.arange(len(used))
    return points[used], number[np.array(cells)]


def bar(length=1.0, width=0.05, n=10, by="RBE2", material=STEEL, across=1):
    points, cells = block((length, width, width), (n, across, across))
    fe = fx.solid(points, cells, material)
    fe.interface("root", nodes=np.flatnonzero(points[:, 0] == 0.0), by="RBE2", at=(0, 0, 0))
    fe.interface("tip", nodes=np.flatnonzero(points[:, 0] == length), by=by, at=(length, 0, 0))
    return fe


def test_mass_properties_and_uniform_strain_of_a_block():
    """Its mass and moments, and stress of uniform strain: exact for linear and quadratic elements."""
    size = np.array([2.0, 0.5, 0.3])
    for quadratic in (False, True):
        points, cells = block(size, (3, 2, 1), quadratic)
        fe = fx.solid(points, cells, STEEL)
        m = STEEL.rho * size.prod()
        R = fe.rigid_motions()
        own = R.T @ (fe.M @ R)
        b, c = size[1:] ** 2
        assert own[0, 0] == pytest.approx(m)
        np.testing.assert_allclose(np.diagonal(own)[3:], m * np.array([(b + c) / 12, c / 12 + 4 / 3, b / 12 + 4 / 3]))
        assert np.abs(fe.K @ R).max() < 1e-9 * abs(fe.K).max()
        strain = np.array([[1.0, 0.3, -0.2], [0.3, -0.4, 0.1], [-0.2, 0.1, 0.6]]) * 1e-3
        u = (points @ strain).ravel()
        lame = STEEL.E * STEEL.nu / ((1 + STEEL.nu) * (1 - 2 * STEEL.nu))
        stress = lame * np.trace(strain) * np.eye(3) + STEEL.E / (1 + STEEL.nu) * strain
        assert u @ (fe.K @ u) == pytest.approx(size.prod() * np.sum(stress * strain), rel=1e-10)
        assert np.abs(fe.solid.stress(u[:, None])[..., 0] - stress).max() < 1e-9 * np.abs(stress).max()


def test_a_bar_of_tetrahedra_vibrates_like_a_beam():
    fe, line = soft("RBE2", 20)
    solid = fx.reduce(fe, ["root"], "fixed", modes=5, geometric=False)
    beam = fx.reduce(line, ["root"], "fixed", modes=5)
    np.testing.assert_allclose(np.diagonal(solid.K), np.diagonal(beam.K), rtol=0.02)  # omega within 1 %


def soft(by, n=10):
    """A slender bar without Poisson's effect, and the beam it is."""
    material = fx.Elastic(1.0, 0.0, 1.0)
    fe = bar(1.0, 0.05, n, by, material)
    beam = fx.beam(1.0, fx.Rectangle(0.05, 0.05), material, n)
    beam.interface("root", at=(0, 0, 0))
    beam.interface("tip", at=(1, 0, 0))
    return fe, beam


@pytest.mark.parametrize("by", ["RBE2", "RBE3"])
def test_second_order_of_a_bar_is_that_of_the_beam(by):
    """Static modes: unit motions of the tip. S, T, gam2 and lam2 of bending, twist and both."""
    fe, line = soft(by)
    solid = fx.reduce(fe, ["root", "tip"], "guyan")
    beam = fx.reduce(line, ["root", "tip"], "guyan")
    assert "geometric stiffening by geometric stiffness of unit loads" in solid.notes
    a, b = solid.node("tip"), beam.node("tip")
    for got, known in ((a.gam2, b.gam2), (a.lam2, b.lam2), (solid.S, beam.S), (solid.T, beam.T)):
        bending = np.ix_(*[range(1, 6) if n == 6 else range(n) for n in known.shape])
        assert np.abs(got[bending] - known[bending]).max() < 0.03 * np.abs(known).max()


@pytest.mark.parametrize("by", ["RBE2", "RBE3"])
def test_a_frame_off_the_face_moves_rigidly_with_the_one_on_it(by):
    """l = l_c + R a to second order: gam2 = gam2_c + lam2 x a + 1/2 sym theta x (theta x a), lam2 and S the same."""
    a, tips, datas = np.array([0.4, 0.3, -0.2]), [], []
    for offset in (0.0 * a, a):
        points, cells = block((1.0, 0.3, 0.2), (3, 1, 1))
        fe = fx.solid(points, cells, fx.Elastic(1.0, 0.3, 1.0))
        fe.interface("root", nodes=np.flatnonzero(points[:, 0] == 0.0), by="RBE2")
        fe.interface("tip", nodes=np.flatnonzero(points[:, 0] == 1.0), by=by, at=np.array([1.0, 0, 0]) + offset)
        datas.append(fx.reduce(fe, ["root", "tip"], "fixed", modes=5))
        tips.append(datas[-1].node("tip"))
    sign = np.sign(np.einsum("kai,kai->i", datas[0].shapes, datas[1].shapes))
    theta, lam2 = tips[0].lam, tips[0].lam2
    once = np.cross(theta, a, axis=0)
    twice = np.cross(theta[:, :, None], once[:, None, :], axis=0)
    expected = tips[0].gam2 + np.cross(lam2, a, axisa=0, axisc=0) + 0.5 * (twice + twice.mT)
    np.testing.assert_allclose(tips[1].gam2 * np.outer(sign, sign), expected, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(tips[1].lam2 * np.outer(sign, sign), lam2, atol=1e-7 * np.abs(lam2).max())
    np.testing.assert_allclose(datas[1].S * np.outer(sign, sign)[:, :, None], datas[0].S, atol=1e-7)


@pytest.mark.parametrize("by", ["RBE2", "RBE3"])
def test_a_solid_column_buckles_at_eulers_load(by):
    """Under a load at its tip and under its own weight, within 1 %."""
    fe, _ = soft(by, 12)
    data = fx.reduce(fe, ["root", "tip"], "fixed", modes=8)
    EI, A = 0.05**4 / 12, 0.05**2
    tip = 1.0 / eigh(-data.node("tip").gam2[0], data.K, eigvals_only=True)[-1]
    weight = 1.0 / eigh(-data.S[:, :, 0], data.K, eigvals_only=True)[-1]
    assert tip / EI == pytest.approx(2.467401100, rel=0.01)
    assert weight * A / EI == pytest.approx(7.837347439, rel=0.01)


def test_a_tip_that_is_not_joined_to_the_root_is_named():
    points, cells = block((1.0, 0.2, 0.2), (2, 1, 1))
    both, apart = np.vstack([points, points + np.array([3.0, 0, 0])]), np.vstack([cells, cells + len(points)])
    fe = fx.solid(both, apart, STEEL)
    fe.interface("root", nodes=np.flatnonzero(both[:, 0] == 0.0), by="RBE2")
    fe.interface("tip", nodes=np.flatnonzero(both[:, 0] == 4.0), by="RBE2")
    with pytest.raises(SingularError, match=r"the stiffness with 'root' held is singular: nothing holds tip\.\w\w"):
        fx.reduce(fe, ["root", "tip"], modes=2)


def test_what_is_no_solid_is_refused():
    points, cells = block((1, 1, 1), (1, 1, 1))
    swapped = cells[:, [0, 1, 2, 3, 4, 5, 6, 7, 9, 8]]
    inside_out = cells[:, [1, 0, 2, 3, 4, 6, 5, 8, 7, 9]]
    for call, text in (
        (lambda: fx.solid(points, cells[:, :5], STEEL), r"numbers of shape \(any, 4\) or \(any, 10\), got int64 of"),
        (lambda: fx.solid(points, cells + 1, STEEL), f"name points 0 to {len(points) - 1}, got 1 to {len(points)}"),
        (lambda: fx.solid(points, inside_out, STEEL), "tetrahedron 0 of the solid is inside out or flat"),
        (lambda: fx.solid(points, swapped, STEEL), "node 8 of tetrahedron . is not in the middle of its edge 1-3"),
        (lambda: fx.solid([*points, (9, 9, 9)], cells, STEEL), f"point {len(points)} of the solid belongs to no"),
        (lambda: fx.solid(points, cells, 1.0), "the material of a solid must be Elastic"),
        (lambda: fx.reduce(bar(), ["root"], "free", modes=1, geometric=True), "free modes of a solid; reduce with"),
    ):
        with pytest.raises(ModelError, match=text):
            call()
