"""Where a robot stands: closed forms of blocks, tripods, slopes and wedges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft import robot as rob
from soacraft.errors import StateError
from soacraft.robot.standing import stability

UP = np.array([0.0, 0.0, 1.0])
G = 9.80665
SEEDS = st.integers(0, 10_000)


def base(half=0.5):
    """The corners of a square foot."""
    return np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0.0]])


def tilt(angle):
    """Rotation about y: the ground rises along -x."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


# -- support polygons -------------------------------------------------------------------------------------------------


def test_a_support_polygon_is_the_hull_seen_along_gravity():
    region = rob.support_polygon(np.vstack([base(), [[0.0, 0.0, 0.3]]]))
    assert np.allclose(sorted(map(tuple, region.corners)), sorted(map(tuple, base()[:, :2])))
    depth, _ = region.margin([0.2, 0.0, 5.0])
    assert abs(depth - 0.3) < 1e-12
    assert not region.contains([0.6, 0.0, 0.0])
    assert abs(region.margin([0.6, 0.0, 0.0])[0] + 0.1) < 1e-12
    depths, edges = region.margin([[0.2, 0.0, 5.0], [0.6, 0.0, 0.0]])
    assert np.allclose(depths, [0.3, -0.1])
    assert edges.shape == (2,)
    assert region.contains([[0.2, 0.0, 5.0], [0.6, 0.0, 0.0]]).tolist() == [True, False]
    assert abs(region.area - 1.0) < 1e-12
    assert np.allclose(region.points(0.2)[:, 2], 0.2)
    assert repr(region) == "region with 4 corners, 1 m^2"


@given(SEEDS)
@tries(20)
def test_a_hull_holds_all_its_points_and_turns_left(seed):
    rng = np.random.default_rng(seed)
    p = rng.standard_normal((int(rng.integers(3, 12)), 3)) * 10.0 ** rng.integers(-6, 6)
    region = rob.support_polygon(p)
    assert (region.margin(p)[0] >= -1e-12 * np.abs(p).max()).all()
    assert region.area > 0.0


def test_points_on_a_line_have_two_ends():
    region = rob.support_polygon([[0.0, 0, 0], [1, 1, 0], [0.3, 0.3, 0], [2, 2, 5.0]])
    assert np.allclose(sorted(map(tuple, region.corners)), [(0, 0), (2, 2)])
    assert region.area == 0.0
    assert len(rob.support_polygon([[1.0, 2, 3], [1, 2, 0]]).corners) == 1


# -- closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.1, 0.3, 0.5])
def test_a_block_on_a_slope_stands_where_it_neither_tips_nor_slides(angle):
    """It slides where tan > mu, and tips where its centre of mass, h above the face of half width a, is past its edge:
    tan > a / h. The margin is (a - h tan) cos, along the level."""
    R = tilt(angle)
    points, normal = base() @ R.T, R @ UP
    holds = rob.standing_region(points, np.tile(normal, (4, 1)), 0.8, sides=16)
    assert holds
    for height in (0.4, 0.5 / np.tan(angle) * 0.99, 0.5 / np.tan(angle) * 1.01):
        center = R @ np.array([0.0, 0.0, height])
        assert holds.contains(center) == (np.tan(angle) < 0.5 / height)
        sideways = 0.5                                               # the edges along the slope
        assert abs(holds.margin(center)[0] - min((0.5 - height * np.tan(angle)) * np.cos(angle), sideways)) < 1e-8


@pytest.mark.parametrize("sides", [4, 8, 16, 64])
def test_a_block_slides_where_the_slope_is_steeper_than_friction(sides):
    """Pyramids of an even number of sides have an edge down this slope: it slides at tan = mu exactly. Across a face
    they have cos(pi / sides) of it."""
    mu = 0.4
    for angle, stands in ((np.arctan(mu) - 1e-6, True), (np.arctan(mu) + 1e-6, False)):
        R = tilt(angle)
        region = rob.standing_region(base() @ R.T, np.tile(R @ UP, (4, 1)), mu, sides=sides)
        assert bool(region) == stands
    least = np.arctan(mu * np.cos(np.pi / sides))
    for turn in np.linspace(0, np.pi, 7):                            # any direction of the slope: never more than mu
        Z = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
        R = Z @ tilt(least - 1e-6)
        assert rob.standing_region(base() @ R.T, np.tile(R @ UP, (4, 1)), mu, sides=sides)
        R = Z @ tilt(np.arctan(mu) + 1e-6)
        assert not rob.standing_region(base() @ R.T, np.tile(R @ UP, (4, 1)), mu, sides=sides)


@pytest.mark.parametrize("mu", [0.05, 0.3, 3.0])
def test_the_border_of_sliding_is_found_to_rounding(mu):
    """Bisected as far as numbers go: the solver does not decide there, and the least that is left of the equations
    does. An edge of the pyramids points down these slopes."""
    for turn in np.arange(5) * np.pi / 4:
        axis = np.array([np.cos(turn), np.sin(turn), 0.0])
        stands, slides = 0.0, 1.5
        while slides - stands > 1e-14:
            x = 0.5 * (stands + slides)
            down = -UP * np.cos(x) + np.cross(axis, UP) * np.sin(x)
            if rob.standing_region(base(), np.tile(UP, (4, 1)), mu, G * down):
                stands = x
            else:
                slides = x
        assert abs(np.tan(stands) / mu - 1.0) < 1e-8


@pytest.mark.parametrize("angle", [0.2, 0.4])
def test_a_solver_that_does_not_decide_is_asked_for_what_is_left_of_the_equations(monkeypatch, angle):
    """Here it never does at first: the region is the one that it has otherwise."""
    R = tilt(angle)
    given = base() @ R.T, np.tile(R @ UP, (4, 1)), 0.3
    expected, asked, real = rob.standing_region(*given), [], stability.linprog

    def undecided(cost, **more):
        found = real(cost, **more)
        asked.append(len(cost))
        if asked.count(asked[0]) % 3 and len(cost) == asked[0]:  # twice, then once more after what is left is known
            found.status = 4
        return found

    monkeypatch.setattr(stability, "linprog", undecided)
    region = rob.standing_region(*given)
    assert max(asked) > min(asked)
    assert bool(region) == (angle < np.arctan(0.3))
    assert np.allclose(sorted(map(tuple, region.corners.round(8))), sorted(map(tuple, expected.corners.round(8))))


def test_a_tripod_stands_over_its_triangle():
    feet = np.array([[0.0, 0, 0], [2, 0, 0], [0, 1, 0.0]])
    region = rob.standing_region(feet, np.tile(UP, (3, 1)), 0.3)
    assert np.allclose(sorted(map(tuple, region.corners.round(9) + 0.0)), [(0, 0), (0, 1), (2, 0)])
    depth, edge = region.margin([0.5, 0.1, 1.0])
    assert abs(depth - 0.1) < 1e-8
    a, b = region.corners[edge], region.corners[(edge + 1) % 3]
    assert abs(a[1]) < 1e-8
    assert abs(b[1]) < 1e-8


def test_a_tripod_on_uneven_level_ground_stands_over_its_triangle_too():
    """Friction that is large enough for every direction between the feet: heights play no part."""
    feet = np.array([[0.0, 0, 0.3], [2, 0, -0.1], [0, 1, 0.2]])
    region = rob.standing_region(feet, np.tile(UP, (3, 1)), 0.3)
    assert np.allclose(sorted(map(tuple, region.corners.round(9) + 0.0)), [(0, 0), (0, 1), (2, 0)])


@pytest.mark.parametrize(("alpha", "mu"), [(0.6, 0.2), (0.4, 0.3), (0.3, 0.1), (0.2, 0.5)])
def test_two_feet_on_two_slopes_of_a_wedge(alpha, mu):
    """Feet at x = -a and a on ground that falls towards the middle at an angle alpha, friction angle phi: the lines of
    force meet within |x| <= a sin(2 phi) / sin(2 alpha), and between the feet where phi >= alpha."""
    a, b, phi = 1.3, 0.2, np.arctan(mu)
    left, right = np.array([np.sin(alpha), 0, np.cos(alpha)]), np.array([-np.sin(alpha), 0, np.cos(alpha)])
    points = np.array([[-a, -b, 0], [-a, b, 0], [a, -b, 0], [a, b, 0.0]])
    region = rob.standing_region(points, [left, left, right, right], mu, sides=8)
    half = a if phi >= alpha else a * np.sin(2 * phi) / np.sin(2 * alpha)
    assert abs(region.corners[:, 0].max() - half) < 1e-7
    assert abs(region.corners[:, 0].min() + half) < 1e-7


def test_without_friction_a_wedge_holds_only_where_its_normals_meet():
    """Two frictionless contacts in a plane hold a weight whose line passes where their normals meet."""
    a, b = np.array([-1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0])
    na, nb = np.array([np.sin(0.5), 0.0, np.cos(0.5)]), np.array([-np.sin(0.8), 0.0, np.cos(0.8)])
    t = np.linalg.solve(np.column_stack([na[[0, 2]], -nb[[0, 2]]]), (b - a)[[0, 2]])[0]
    meets = (a + t * na)[0]
    region = rob.standing_region([a, b], [na, nb], 0.0)
    assert len(region.corners) == 1
    assert np.allclose(region.corners[0], [meets, 0.0], atol=1e-8)
    assert not rob.standing_region(base(), np.tile([np.sin(0.1), 0, np.cos(0.1)], (4, 1)), 0.0)
    level = rob.standing_region(base(), np.tile(UP, (4, 1)), 0.0)
    assert np.allclose(level.area, 1.0)


def test_a_single_foot_holds_over_itself_alone():
    point = rob.standing_region([[0.2, 0.3, 0.0]], [UP], 0.5)
    assert np.allclose(point.corners, [[0.2, 0.3]])
    with pytest.raises(StateError, match="no inside"):
        point.margin([0.2, 0.3, 1.0])
    foot = rob.standing_region(base(0.1) + np.array([1.0, 0, 0]), np.tile(UP, (4, 1)), 0.5)
    assert abs(foot.margin([1.0, 0, 0.5])[0] - 0.1) < 1e-9


def test_a_push_moves_the_region_as_leaning_into_the_wind_does():
    """On level ground a sideways force of w for each kilogram turns the net force: the region is seen along that."""
    push = np.array([3.0, 0.0, 0.0])
    region = rob.standing_region(base(), np.tile(UP, (4, 1)), 0.9, push=push)
    height, lean = 1.0, 3.0 / G
    assert region.contains([0.5 - lean * height - 1e-6, 0.0, height])
    assert not region.contains([0.5 - lean * height + 1e-6, 0.0, height])


@given(SEEDS)
@tries(8)
def test_a_region_is_the_same_wherever_it_is_and_in_any_units(seed):
    rng = np.random.default_rng(seed)
    p, n = rng.standard_normal((4, 3)) * [1, 1, 0.1], np.tile(UP, (4, 1)) + 0.1 * rng.standard_normal((4, 3))
    one = rob.standing_region(p, n, 0.4)
    shift, scale = rng.standard_normal(3), 10.0 ** rng.integers(-4, 5)
    other = rob.standing_region(scale * (p + shift), n, 0.4, gravity=(0, 0, -G * scale))
    assert bool(one) == bool(other)
    assert abs(other.area / scale**2 - one.area) < 1e-7 * max(1.0, one.area)


@given(SEEDS)
@tries(8)
def test_forces_exist_inside_and_not_outside(seed):
    """By the other side: a separate linear program for each point."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    p, n = rng.standard_normal((3, 3)) * [1, 1, 0.2], np.tile(UP, (3, 1)) + 0.2 * rng.standard_normal((3, 3))
    region = rob.standing_region(p, n, 0.5, sides=6)
    if len(region.corners) < 3:
        return
    n = n / np.linalg.norm(n, axis=1)[:, None]
    rays, at = [], []
    for x, m in zip(p, n, strict=True):
        first = np.cross(m, np.eye(3)[np.argmin(np.abs(m))])
        first = first / np.linalg.norm(first)
        for k in range(6):
            out = np.cos(k * np.pi / 3) * first + np.sin(k * np.pi / 3) * np.cross(m, first)
            rays.append(m + 0.5 * out)
            at.append(x)
    A = np.vstack([np.array(rays).T, np.cross(at, rays).T])
    middle = region.corners.mean(axis=0)
    for corner in region.corners:
        for part, stands in ((0.99, True), (1.01, False)):
            c = np.array([*(middle + part * (corner - middle)), 0.0])
            right = np.concatenate([[0, 0, G], np.cross(c, [0, 0, G])])
            assert (linprog(np.zeros(len(rays)), A_eq=A, b_eq=right, method="highs").status == 0) == stands


def test_what_is_refused():
    with pytest.raises(StateError, match="friction that is not negative"):
        rob.standing_region(base(), np.tile(UP, (4, 1)), -0.1)
    with pytest.raises(StateError, match="friction that is not negative"):
        rob.standing_region(base(), np.tile(UP, (4, 1)), [0.1, 0.2])
    with pytest.raises(StateError, match="sides of a friction pyramid must be a whole number from 3 to 10000, got 2"):
        rob.standing_region(base(), np.tile(UP, (4, 1)), 0.1, sides=2)
    with pytest.raises(StateError, match="the region has no end"):
        rob.standing_region([[0, 0, 0.0], [0, 0, 1.0]], [UP, -UP], 5.0)
    with pytest.raises(StateError, match="too few contacts"):
        rob.support_polygon([[0.0, 0, 0], [1, 0, 0]]).margin([0, 0, 0])
    with pytest.raises(StateError, match="without gravity nothing stands"):
        rob.support_polygon(base(), (0, 0, 0))


@pytest.mark.parametrize("friction", [1e-9, 1.0, 1e9, 1e100, 1e300])
def test_on_level_ground_friction_of_any_size_gives_the_polygon(friction):
    region = rob.standing_region(base(), np.tile(UP, (4, 1)), friction)
    assert np.isclose(region.area, rob.support_polygon(base()).area)
    with pytest.raises(StateError, match="height must be real numbers"):
        region.points("high")
