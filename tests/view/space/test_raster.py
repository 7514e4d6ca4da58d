"""The rasteriser: what covers which pixels, what is in front, and how colours mix."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft.view.space import surfaces
from soacraft.view.space.camera import FIELD, camera
from soacraft.view.space.raster import Drawn, render

UP, WHITE = np.array([0.0, 0.0, 1.0]), (1.0, 1.0, 1.0)
RED, BLUE = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


def drawn(surface, colour=RED, at=(0.0, 0.0, 0.0), alpha=1.0):
    moved = surface.moved(np.eye(3), np.array(at))
    return Drawn(moved.points, moved.normals, moved.triangles, colour, alpha, moved.solid)


def red(pixels):
    return pixels[..., 0].astype(int) - pixels[..., 2] > 30


def blue(pixels):
    return pixels[..., 2].astype(int) - pixels[..., 0] > 30


def look(azimuth=0.0, elevation=0.0, radius=2.0):
    return camera(np.zeros(3), radius, UP, azimuth, elevation, 1.0)


def test_a_sphere_covers_the_disc_of_its_silhouette():
    """A ball of radius r at distance d is seen under asin(r / d): a disc of radius f tan(asin(r / d))."""
    view, size = look(), 200
    pixels = render([drawn(surfaces.sphere(1.0))], view, size, size, WHITE)
    focal = 0.5 * size / np.tan(0.5 * FIELD)
    wanted = np.pi * (focal * np.tan(np.arcsin(1.0 / view.distance))) ** 2
    assert red(pixels).sum() == pytest.approx(wanted, rel=0.03)
    rows, columns = np.nonzero(red(pixels))
    assert (rows.mean(), columns.mean()) == pytest.approx((99.5, 99.5), abs=0.5)


def test_right_is_right_and_up_is_up():
    """Seen from +x with z up, +y is on the right."""
    place = {}
    for name, at in (("right", (0, 1, 0)), ("up", (0, 0, 1))):
        rows, columns = np.nonzero(red(render([drawn(surfaces.sphere(0.2), at=at)], look(), 100, 100, WHITE)))
        place[name] = rows.mean(), columns.mean()
    assert place["right"][1] > 60 and place["right"][0] == pytest.approx(49.5, abs=1.0)  # noqa: PT018
    assert place["up"][0] < 40 and place["up"][1] == pytest.approx(49.5, abs=1.0)  # noqa: PT018


@pytest.mark.parametrize("turned", [False, True])
def test_the_nearer_one_is_seen_whatever_the_order(turned):
    near, far = drawn(surfaces.sphere(0.5), RED, (1, 0, 0)), drawn(surfaces.sphere(0.5), BLUE, (-1, 0, 0))
    pixels = render([far, near] if turned else [near, far], look(), 100, 100, WHITE)
    assert red(pixels)[50, 50]
    assert not blue(pixels)[45:55, 45:55].any()
    behind = render([near, far], look(azimuth=180.0), 100, 100, WHITE)
    assert blue(behind)[50, 50]


def test_surfaces_that_cross_are_cut_where_they_cross():
    """Two boxes along the view's diagonals: each is in front on one side of the picture."""
    c, s = np.cos(np.pi / 4), np.sin(np.pi / 4)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    board = surfaces.box(0.05, 2.0, 1.0)
    parts = []
    for R, colour in ((turn, RED), (turn.T, BLUE)):
        x = board.moved(R, np.zeros(3))
        parts.append(Drawn(x.points, x.normals, x.triangles, colour))
    pixels = render(parts, look(), 100, 100, WHITE)
    left, right = pixels[45:55, 37:46], pixels[45:55, 54:63]
    assert {bool(red(left).all()), bool(blue(left).all())} == {True, False}
    assert {bool(red(right).all()), bool(blue(right).all())} == {True, False}
    assert red(left).all() != red(right).all()


def test_what_is_transparent_lets_through_what_is_behind_and_hides_behind_what_is_not():
    wall = drawn(surfaces.box(0.1, 4.0, 4.0), BLUE, (-1, 0, 0))
    veil = surfaces.box(0.1, 1.0, 1.0)
    plain = render([wall], look(), 60, 60, WHITE)[30, 30].astype(float)
    solid = render([wall, drawn(veil, RED, (1, 0, 0))], look(), 60, 60, WHITE)[30, 30].astype(float)
    mixed = render([wall, drawn(veil, RED, (1, 0, 0), 0.25)], look(), 60, 60, WHITE)[30, 30]
    assert np.allclose(mixed, 0.75 * plain + 0.25 * solid, atol=1.5)
    hidden = render([wall, drawn(veil, RED, (-1.5, 0, 0), 0.25)], look(), 60, 60, WHITE)[30, 30]
    assert np.array_equal(hidden, plain)


def test_a_face_is_lighter_towards_the_light():
    top = render([drawn(surfaces.box(1, 1, 1))], look(elevation=40.0), 100, 100, WHITE)
    rows, columns = np.nonzero(red(top))
    middle = columns == int(columns.mean())
    column = top[rows[middle], columns[middle], 0]
    assert column[2] > column[-3] + 20  # the upper face and the front


def test_what_is_behind_the_camera_is_not_drawn():
    view = look()
    behind = drawn(surfaces.sphere(0.5), RED, tuple(view.position + np.array([2.0, 0, 0])))
    assert (render([behind], view, 40, 40, WHITE) == 255).all()
    assert (render([], view, 40, 40, WHITE) == 255).all()


def test_what_reaches_behind_the_camera_is_cut_off_in_front_of_it():
    """A floor below the camera that goes on behind it, as two triangles and as many small ones, most of them whole: the
    same picture, in which all below the horizon is floor."""
    view = look()
    x = view.position[0]

    def floor(count):
        along, across = np.linspace(-x, 3.0 * x, count + 1), np.linspace(-3.0 * x, 3.0 * x, count + 1)
        points = np.array([(a, b, -1.0) for a in along for b in across])
        i = np.array([k * (count + 1) + j for k in range(count) for j in range(count)])
        halves = (i, i + count + 2, i + 1), (i, i + count + 1, i + count + 2)
        corners = np.concatenate([np.stack(x, axis=1) for x in halves])
        return Drawn(points, np.tile(UP, (len(points), 1)), corners, RED, solid=False)

    few, many = (render([floor(count)], view, 60, 60, WHITE) for count in (1, 64))
    assert red(few)[59].all()  # the lower edge of the picture
    assert not red(few)[:30].any()
    edge = np.abs(few.astype(int) - many).max(axis=2) > 3
    assert edge.mean() < 0.01


def test_a_large_zoom_goes_into_a_box():
    """The camera is inside: the face behind it does not hide, the others, seen from their backs, are not drawn."""
    inside = camera(np.zeros(3), 2.0, UP, 20.0, 10.0, 100.0)
    wall = drawn(surfaces.box(0.1, 8.0, 8.0), BLUE, (-1, 0, 0))
    pixels = render([drawn(surfaces.box(1, 1, 1)), wall], inside, 60, 60, WHITE)
    assert blue(pixels).mean() > 0.9
