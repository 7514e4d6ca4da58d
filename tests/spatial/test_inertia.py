"""Inertias: closed forms of solids, the parallel-axis theorem, what is refused."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft.errors import ModelError
from soacraft.spatial import Inertia, Pose, exp, se3_exp, skew

seeds = st.integers(0, 10_000)


def random_inertia(seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((3, 3))
    return Inertia(rng.uniform(0.1, 3.0), rng.standard_normal(3), A @ A.T)


def random_pose(seed):
    return Pose(*se3_exp(np.random.default_rng(seed).standard_normal(6)))


def sampled_moment(points):
    """The moment of equal point masses of total mass 1 about their centre."""
    c = points - points.mean(axis=0)
    return (np.sum(c * c) * np.eye(3) - c.T @ c) / len(points)


# -- anchors ------------------------------------------------------------------------------------------------


def test_point_mass_kinetic_energy():
    """Two times the energy of a point at c: m |v + w x c|^2."""
    c, V = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.4, 0.5, 1.0, 0.2, -0.6])
    speed = V[3:] + np.cross(V[:3], c)
    assert V @ Inertia.point(2.0, at=c).matrix() @ V == pytest.approx(2.0 * speed @ speed)


def test_momentum_of_a_point_mass():
    """[angular; linear] momentum about the frame: p = m (v + w x c), L = c x p."""
    c, V = np.array([1.0, 2.0, 3.0]), np.array([0.3, -0.4, 0.5, 1.0, 0.2, -0.6])
    p = 2.0 * (V[3:] + np.cross(V[:3], c))
    np.testing.assert_allclose(Inertia.point(2.0, at=c).matrix() @ V, [*np.cross(c, p), *p])


def test_solids():
    np.testing.assert_allclose(Inertia.box(3.0, (0.2, 0.4, 0.6)).moment, np.diag([0.13, 0.1, 0.05]), atol=1e-16)
    np.testing.assert_allclose(Inertia.sphere(3.0, 0.2).moment, 0.4 * 3.0 * 0.04 * np.eye(3))
    np.testing.assert_allclose(Inertia.cylinder(3.0, 0.2, 0.6).moment, np.diag([0.12, 0.12, 0.06]))
    np.testing.assert_allclose(Inertia.cylinder(3.0, 0.2, 0.6, axis=(2, 0, 0)).moment, np.diag([0.06, 0.12, 0.12]))
    np.testing.assert_allclose(Inertia.rod(3.0, 0.6, axis=(0, 1, 0)).moment, np.diag([0.09, 0.0, 0.09]), atol=1e-17)


def test_solids_against_a_grid_of_points():
    n = 60
    line = (np.arange(n) + 0.5) / n - 0.5
    grid = np.stack(np.meshgrid(line, line, line, indexing="ij"), axis=-1).reshape(-1, 3)
    brick = grid * [1, 2, 3]
    np.testing.assert_allclose(Inertia.box(1, (1, 2, 3)).moment, sampled_moment(brick), rtol=1e-3, atol=1e-12)
    ball = 2 * grid[np.sum(grid * grid, axis=1) < 0.25]
    np.testing.assert_allclose(Inertia.sphere(1, 1).moment, sampled_moment(ball), rtol=1e-2, atol=1e-12)
    tube = grid[np.sum(grid[:, :2] ** 2, axis=1) < 0.25] * [2, 2, 3]
    np.testing.assert_allclose(Inertia.cylinder(1, 1, 3).moment, sampled_moment(tube), rtol=1e-2, atol=1e-12)


def test_solids_in_any_direction():
    R = exp([0.3, -0.5, 0.7])
    turned = Inertia.cylinder(2, 0.1, 0.5).transformed(Pose(R))
    np.testing.assert_allclose(Inertia.cylinder(2, 0.1, 0.5, axis=R[:, 2]).moment, turned.moment, atol=1e-16)


def test_parallel_axis():
    """J about the frame = J about the centre of mass + m (|c|^2 I - c c*)."""
    body = random_inertia(0)
    c = body.com
    expected = body.moment + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(body.matrix()[:3, :3], expected)
    np.testing.assert_allclose(body.matrix()[:3, 3:], body.mass * skew(c))


# -- laws ---------------------------------------------------------------------------------------------------


@given(seeds)
def test_transformed_is_phi_M_phi_star(seed):
    body, T = random_inertia(seed), random_pose(seed + 1)
    X = T.phi()
    np.testing.assert_allclose(body.transformed(T).matrix(), X @ body.matrix() @ X.T, rtol=1e-11, atol=1e-11)
    back = body.transformed(T).transformed(T.inv)
    np.testing.assert_allclose(back.matrix(), body.matrix(), rtol=1e-11, atol=1e-11)


@given(seeds)
def test_sum_is_the_sum_of_matrices(seed):
    a, b, c = random_inertia(seed), random_inertia(seed + 1), Inertia.point(0.3, (1, 2, 3))
    np.testing.assert_allclose(sum([a, b, c]).matrix(), a.matrix() + b.matrix() + c.matrix(), rtol=1e-12, atol=1e-12)


@given(seeds)
def test_round_trips(seed):
    body = random_inertia(seed)
    again = Inertia.from_matrix(body.matrix())
    np.testing.assert_allclose(again.matrix(), body.matrix(), rtol=1e-13, atol=1e-13)
    assert eval(repr(body)) == body
    assert pickle.loads(pickle.dumps(body)) == body
    assert hash(eval(repr(body))) == hash(body)


def test_point_mass_far_away_survives_rounding():
    far = Inertia.point(3.0, (10.1, -20.3, 7.7))
    again = Inertia.from_matrix(far.transformed(random_pose(5)).matrix())
    assert again.mass == pytest.approx(3.0)
    assert eval(repr(again)) == again
    np.testing.assert_allclose(again.moment, 0.0, atol=1e-11)


def test_massless():
    assert (Inertia() + Inertia()) == Inertia()
    assert (Inertia(0, (1, 2, 3)) + Inertia(2, (0, 0, 1))).com.tolist() == [0, 0, 1]
    assert Inertia.from_matrix(np.zeros((6, 6))) == Inertia()
    rotor = Inertia(0, moment=np.diag([1, 2, 3]))
    assert Inertia.from_matrix(rotor.matrix()) == rotor
    assert not Inertia().matrix().any()


def test_immutable():
    body = random_inertia(1)
    for array in (body.com, body.moment, body.matrix()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError):
        body.mass = 3.0
    assert body.matrix() is body.matrix()


def test_positional_and_printing():
    body = Inertia(2.0, (0, 0, 0.2), np.diag([0.1, 0.1, 0.02]))
    assert body == Inertia(mass=2.0, com=(0, 0, 0.2), moment=np.diag([0.1, 0.1, 0.02]))
    assert repr(Inertia()) == "Inertia(mass=0)"
    assert repr(body) == "Inertia(mass=2, com=(0, 0, 0.2), moment=[[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.02]])"
    assert body != 3


def test_triangle_inequality_is_not_refused():
    assert Inertia(1, moment=np.diag([1, 1, 5])).moment[2, 2] == 5


# -- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Inertia(-1), "mass of an Inertia must not be negative, got -1"),
    (lambda: Inertia(np.nan), "mass of an Inertia must be finite, got nan"),
    (lambda: Inertia([1, 2]), r"mass of an Inertia must have shape \(\), got shape \(2,\)"),
    (lambda: Inertia(1, (0, 0)), r"com of an Inertia must have shape \(3,\), got shape \(2,\)"),
    (lambda: Inertia(1, moment=[1, 2, 3]), r"moment of an Inertia must have shape \(3, 3\), got shape \(3,\)"),
    (lambda: Inertia(1, moment=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]),
     r"moment of an Inertia must be symmetric, got \[\["),
    (lambda: Inertia(1, moment=np.diag([1, 1, -0.5])),
     "must not have a negative eigenvalue, got -0.5 in .*about the centre"),
    (lambda: Inertia.sphere(-1, 1), "mass of an Inertia must not be negative, got -1"),
    (lambda: Inertia.sphere(1, -1), "radius of Inertia.sphere must not be negative, got -1"),
    (lambda: Inertia.box(1, (1, -2, 1)), "size of Inertia.box must not be negative, got -2"),
    (lambda: Inertia.cylinder(1, 1, np.inf), "length of Inertia.cylinder must be finite, got inf"),
    (lambda: Inertia.cylinder(1, -1, 1), "radius of Inertia.cylinder must not be negative"),
    (lambda: Inertia.rod(1, 1, axis=(0, 0, 0)), "axis of Inertia.rod must not be zero"),
    (lambda: Inertia.from_matrix(np.eye(5)), r"matrix of an Inertia must have shape \(6, 6\), got shape \(5, 5\)"),
    (lambda: Inertia.from_matrix(np.diag([1, 1, 1, 2, 2, 3])), r"must have the form \[\[J, m c~\], \[-m c~, m I\]\]"),
    (lambda: Inertia(1) + 3, "unsupported operand"),
])
def test_refusals(make, text):
    with pytest.raises((ModelError, TypeError), match=text):
        make()
