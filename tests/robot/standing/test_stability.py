"""Standing on contacts: closed forms of blocks, tripods and slopes."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import StateError

UP = np.array([0.0, 0.0, 1.0])
G = 9.80665


def base(half=0.5):
    """The corners of a square foot."""
    return np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0.0]])


def tilt(angle):
    """Rotation about y: the ground rises along -x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def test_a_support_polygon_is_the_hull_seen_along_gravity():
    region = rob.support_polygon(np.vstack([base(), [[0.0, 0.0, 0.3]]]))
    assert np.allclose(sorted(map(tuple, region.corners)), sorted(map(tuple, base()[:, :2])))
    depth, _ = region.margin([0.2, 0.0, 5.0])
    assert abs(depth - 0.3) < 1e-12
    assert not region.contains([0.6, 0.0, 0.0])
    assert abs(region.margin([0.6, 0.0, 0.0])[0] + 0.1) < 1e-12


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.5])
def test_a_block_on_a_slope_stands_where_it_neither_tips_nor_slides(angle):
    """It slides where tan > mu, and tips where its centre of mass, h above the face of half width a, is past its edge:
    tan > a / h."""
    R = tilt(angle)
    points, normal = base() @ R.T, R @ UP
    holds = rob.standing_region(points, np.tile(normal, (4, 1)), 0.8, sides=16)
    assert bool(holds) == (np.tan(angle) < 0.8 * np.cos(np.pi / 16))
    slides = rob.standing_region(points, np.tile(normal, (4, 1)), 0.9 * np.tan(angle), sides=16)
    assert not slides
    for height in (0.4, 0.5 / np.tan(angle) * 0.99, 0.5 / np.tan(angle) * 1.01):
        center = R @ np.array([0.0, 0.0, height])
        assert holds.contains(center) == (np.tan(angle) < 0.5 / height)


def test_a_tripod_stands_over_its_triangle():
    feet = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0.0]])
    region = rob.standing_region(feet, np.tile(UP, (3, 1)), 0.3)
    assert np.allclose(sorted(map(tuple, region.corners)), [(0, 0), (0, 1), (2, 0)], atol=1e-8)
    depth, edge = region.margin([0.5, 0.1, 1.0])
    assert abs(depth - 0.1) < 1e-8
    a, b = region.corners[edge], region.corners[(edge + 1) % 3]
    assert abs(a[1]) < 1e-8
    assert abs(b[1]) < 1e-8


def test_two_feet_on_two_slopes_stand_without_friction_only_where_their_normals_meet():
    """Two frictionless contacts in a plane hold a weight whose line passes where their normals meet."""
    a, b = np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    na, nb = np.array([np.sin(0.5), 0.0, np.cos(0.5)]), np.array([-np.sin(0.8), 0.0, np.cos(0.8)])
    t = np.linalg.solve(np.column_stack([na[[0, 2]], -nb[[0, 2]]]), (b - a)[[0, 2]])[0]
    meets = (a + t * na)[0]
    region = rob.standing_region([a, b], [na, nb], 1e-6, sides=4)
    assert np.abs(region.corners[:, 0] - meets).max() < 1e-4
    wide = rob.standing_region([a, b], [na, nb], 0.2, sides=32)
    # with friction the lines of force fill wedges: the region reaches where the outermost edges meet
    lo, hi = wide.corners[:, 0].min(), wide.corners[:, 0].max()
    assert lo < meets < hi


def test_a_push_moves_the_region_as_leaning_into_the_wind_does():
    """On level ground a sideways force of w for each kilogram turns the net force: the region is seen along that."""
    push = np.array([3.0, 0.0, 0.0])
    region = rob.standing_region(base(), np.tile(UP, (4, 1)), 0.9, push=push)
    height, lean = 1.0, 3.0 / G
    assert region.contains([0.5 - lean * height - 1e-6, 0.0, height])
    assert not region.contains([0.5 - lean * height + 1e-6, 0.0, height])


def stander():
    mb = sc.Multibody("stander")
    mb.add_body("hip", hinge=sc.Free(), inertia=sc.Inertia(4.0, (0.0, 0, 0.1), np.diag([0.1, 0.2, 0.3])))
    mb.add_body("leg", parent="hip", hinge=sc.Pin((0, 1, 0)), inertia=sc.Inertia(2.0, (0.1, 0, -0.4), 0.05 * np.eye(3)))
    return mb


def test_the_zero_moment_point_of_what_rests_is_below_its_centre_of_mass():
    mb = stander()
    q = [0, 0, 0, 1, 0.3, 0.2, 1.0, 0.4]
    c = dyn.center_of_mass(mb, q)
    z = rob.zero_moment_point(mb, q, np.zeros(7), np.zeros(7))
    assert np.allclose(z, [c[0], c[1], 0.0], atol=1e-12)


def test_the_zero_moment_point_is_where_the_ground_pushes():
    """The wrench that moves the robot, by inverse dynamics of its free hinge, has no level moment there."""
    mb = stander()
    rng = np.random.default_rng(3)
    q, v = mb.random_state(rng)[:2]
    vdot = rng.standard_normal(mb.nv)
    z = rob.zero_moment_point(mb, q, v, vdot)
    T = dyn.inverse_dynamics(mb, q, v, vdot)[:6]
    X = mb.pose("hip", state=mb.state(q, v))
    moment, force = X.rotation @ T[:3], X.rotation @ T[3:]
    about = moment + np.cross(X.translation - z, force)
    assert abs(z[2]) < 1e-12
    assert np.abs(about[:2]).max() < 1e-9 * np.abs(moment).max()


def test_a_capture_point_is_that_of_the_inverted_pendulum():
    mb = stander()
    q = np.array([0, 0, 0, 1, 0.3, 0.2, 1.0, 0.0])
    v = np.array([0, 0, 0, 0.5, -0.2, 0, 0.0])
    c = dyn.center_of_mass(mb, q)
    expected = c[:2] + np.array([0.5, -0.2]) * np.sqrt(c[2] / G)
    assert np.allclose(rob.capture_point(mb, q, v), [*expected, 0.0], atol=1e-12)


def test_the_angle_to_tipping_is_that_to_the_nearest_edge():
    angle, edge = rob.tip_over(base(), [0.2, 0.0, 1.0], [0.0, 0.0, -G])
    assert abs(angle - np.arctan2(0.3, 1.0)) < 1e-12
    assert edge == (1, 2)                                            # along y at x = 0.5
    beyond, edge = rob.tip_over(base(), [0.6, 0.0, 1.0], [0.0, 0.0, -G])
    assert abs(beyond + np.arctan2(0.1, 1.0)) < 1e-12
    assert edge == (1, 2)


def test_what_is_refused():
    with pytest.raises(StateError, match="friction that is not negative"):
        rob.standing_region(base(), np.tile(UP, (4, 1)), -0.1)
    with pytest.raises(StateError, match="three sides or more"):
        rob.standing_region(base(), np.tile(UP, (4, 1)), 0.1, sides=2)
    with pytest.raises(StateError, match="the region has no end"):
        rob.standing_region([[0, 0, 0.0], [0, 0, 1.0]], [UP, -UP], 5.0)
    with pytest.raises(StateError, match="too few contacts"):
        rob.support_polygon([[0.0, 0, 0], [1, 0, 0]]).margin([0, 0, 0])
    with pytest.raises(StateError, match="without gravity nothing stands"):
        rob.support_polygon(base(), (0, 0, 0))
    mb = stander()
    with pytest.raises(StateError, match="the robot flies"):
        rob.zero_moment_point(mb, [0, 0, 0, 1, 0, 0, 1, 0], np.zeros(7), [0, 0, 0, 0, 0, -20.0, 0])
    with pytest.raises(StateError, match="at least three contacts"):
        rob.tip_over([[0.0, 0, 0], [1, 0, 0]], [0, 0, 1], [0, 0, -1])
