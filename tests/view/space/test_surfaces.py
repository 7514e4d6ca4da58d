"""Surfaces: closed, outside out, of the sizes asked for; volumes by the divergence theorem."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft.view.space import surfaces

SOLIDS = [
    (surfaces.sphere(0.3), (0.6, 0.6, 0.6), 4 / 3 * np.pi * 0.3**3),
    (surfaces.capsule(0.2, 1.0), (0.4, 0.4, 1.4), np.pi * 0.2**2 * 1.0 + 4 / 3 * np.pi * 0.2**3),
    (surfaces.cylinder(0.2, 1.0), (0.4, 0.4, 1.0), np.pi * 0.2**2),
    (surfaces.cone(0.2, 1.0), (0.4, 0.4, 1.0), np.pi * 0.2**2 / 3),
    (surfaces.ellipsoid(0.1, 0.2, 0.3), (0.2, 0.4, 0.6), 4 / 3 * np.pi * 0.006),
    (surfaces.box(0.1, 0.2, 0.3), (0.1, 0.2, 0.3), 0.006),
]


@pytest.mark.parametrize(("surface", "extent", "volume"), SOLIDS)
def test_a_solid_has_its_size_and_volume_and_its_normals_point_out(surface, extent, volume):
    a, b, c = (surface.points[surface.triangles[:, i]] for i in range(3))
    assert np.allclose(np.ptp(surface.points, axis=0), extent, rtol=0.03)
    enclosed = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert 0.9 * volume < enclosed <= volume * (1.0 + 1e-12)  # chords: inscribed
    flat = np.cross(b - a, c - a)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    for i in range(3):
        assert (np.einsum("ij,ij->i", flat, surface.normals[surface.triangles[:, i]]) > 0.75).all()
    assert np.allclose(np.linalg.norm(surface.normals, axis=1), 1.0)
    # closed: the vector areas of the triangles add up to nothing
    assert np.allclose(np.cross(b - a, c - a).sum(axis=0), 0.0, atol=1e-12)


def test_a_capsule_between_two_points_reaches_past_both_by_its_radius():
    a, b = np.array([0.1, 0.2, 0.3]), np.array([-0.4, 0.6, 1.0])
    surface, unit = surfaces.between(a, b, 0.05), (b - a) / np.linalg.norm(b - a)
    along = (surface.points - a) @ unit
    assert along.min() == pytest.approx(-0.05)
    assert along.max() == pytest.approx(np.linalg.norm(b - a) + 0.05)
    assert np.allclose(surfaces.between(a, a, 0.05).points.mean(axis=0), a)


def test_tiles_cover_a_square_once():
    even, odd = surfaces.tiles(2.0, 5, False), surfaces.tiles(2.0, 5, True)
    area = 0.0
    for x in (even, odd):
        a, b, c = (x.points[x.triangles[:, i]] for i in range(3))
        area += 0.5 * np.cross(b - a, c - a)[:, 2].sum()
    assert area == pytest.approx(16.0)
    assert len(even.triangles) + len(odd.triangles) == 50


def test_a_mesh_leaves_out_triangles_without_area():
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 0, 0)], dtype=float)
    made = surfaces.mesh(points, np.array([(0, 1, 2), (0, 1, 3)]))
    assert len(made.triangles) == 1
    assert np.allclose(made.normals, [0, 0, 1])
