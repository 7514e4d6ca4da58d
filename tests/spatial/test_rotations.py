"""Laws of rotations, and anchors for the conventions they cannot see."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft.errors import ModelError, StateError
from soacraft.spatial import rotations as rot

coordinate = st.floats(-4.0, 4.0, allow_nan=False, allow_subnormal=False)
vectors = hnp.arrays(np.float64, 3, elements=coordinate)


def quaternions():
    return vectors.map(rot.quaternion_exp)


def same_rotation(a, b):
    """Two quaternions up to sign."""
    return min(np.abs(a - b).max(), np.abs(a + b).max())


# -- anchors ------------------------------------------------------------------------------------------------


def test_quaternion_order_is_xyzw():
    q = [0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)]            # 90 degrees about z takes x to y
    np.testing.assert_allclose(rot.quaternion_to_matrix(q) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


def test_exponential_turns_by_the_right_hand():
    np.testing.assert_allclose(rot.exp([0, 0, np.pi / 2]) @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(rot.from_axis_angle((3, 0, 0), np.pi / 2) @ [0, 1, 0], [0, 0, 1], atol=1e-15)


def test_skew_is_the_cross_product():
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
    np.testing.assert_array_equal(rot.skew(a) @ b, np.cross(a, b))
    np.testing.assert_array_equal(rot.cross(a, b), np.cross(a, b))
    np.testing.assert_array_equal(rot.unskew(rot.skew(a)), a)


def test_quaternion_rate_is_in_turned_axes():
    q, w, h = rot.quaternion_exp([0.3, -0.2, 0.9]), np.array([0.4, 0.5, -0.6]), 1e-5
    R = rot.quaternion_to_matrix
    Rdot = (R(q + h * rot.quaternion_rate(q, w)) - R(q - h * rot.quaternion_rate(q, w))) / (2 * h)
    np.testing.assert_allclose(Rdot, R(q) @ rot.skew(w), atol=1e-9)


# -- laws ---------------------------------------------------------------------------------------------------


@given(vectors)
def test_exp_is_a_rotation_and_log_undoes_it(w):
    R = rot.exp(w)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) > 0
    again = rot.log(R)
    assert np.linalg.norm(again) <= np.pi + 1e-14
    np.testing.assert_allclose(rot.exp(again), R, atol=2e-14)


@given(vectors)
def test_log_exp_within_half_a_turn(w):
    w = w / max(1.0, np.linalg.norm(w) / 3.0)
    np.testing.assert_allclose(rot.log(rot.exp(w)), w, atol=1e-13)
    np.testing.assert_allclose(rot.quaternion_log(rot.quaternion_exp(w)), w, atol=1e-14)
    np.testing.assert_allclose(rot.quaternion_log(-rot.quaternion_exp(w)), w, atol=1e-14)


@pytest.mark.parametrize("angle", [0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.1])
def test_small_angles_keep_relative_accuracy(angle):
    w = angle * np.array([0.6, 0.0, 0.8])
    for again in (rot.log(rot.exp(w)), rot.quaternion_log(rot.quaternion_exp(w))):
        np.testing.assert_allclose(again, w, rtol=1e-13, atol=1e-320)


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-9, 1e-12, 1e-14])
def test_log_near_half_a_turn(gap):
    rng = np.random.default_rng(1)
    for axis in [*np.eye(3), *rng.standard_normal((20, 3))]:
        w = (np.pi - gap) * axis / np.linalg.norm(axis)
        np.testing.assert_allclose(rot.log(rot.exp(w)), w, atol=2e-15)


def test_log_at_half_a_turn_starts_positive():
    for axis in np.vstack([np.eye(3), [[0.6, 0.8, 0], [0, -0.6, 0.8], [-0.6, 0.0, 0.8]]]):
        w = rot.log(2 * np.outer(axis, axis) - np.eye(3))
        np.testing.assert_allclose(np.linalg.norm(w), np.pi, atol=1e-15)
        assert w[np.flatnonzero(np.abs(w) > 1e-12)[0]] > 0
        np.testing.assert_allclose(np.abs(w @ axis), np.pi, atol=1e-15)


@given(quaternions(), quaternions(), quaternions())
def test_quaternion_product(a, b, c):
    mul, R = rot.quaternion_multiply, rot.quaternion_to_matrix
    np.testing.assert_allclose(R(mul(a, b)), R(a) @ R(b), atol=1e-14)
    np.testing.assert_allclose(mul(mul(a, b), c), mul(a, mul(b, c)), atol=1e-14)
    np.testing.assert_allclose(mul(a, a * [-1, -1, -1, 1]), [0, 0, 0, 1], atol=1e-14)


@given(quaternions())
def test_matrix_quaternion_round_trip(q):
    again = rot.matrix_to_quaternion(rot.quaternion_to_matrix(q))
    assert again[3] >= 0
    assert same_rotation(again, q) < 1e-14


@given(vectors)
def test_exponentials_agree(w):
    np.testing.assert_allclose(rot.quaternion_to_matrix(rot.quaternion_exp(w)), rot.exp(w), atol=1e-14)
    angle = np.linalg.norm(w)
    if angle > 1e-3:
        np.testing.assert_allclose(rot.from_axis_angle(w, angle), rot.exp(w), atol=1e-14)


def test_matrix_of_a_nearly_unit_quaternion_is_a_rotation():
    R = rot.quaternion_to_matrix(np.array([0.1, 0.2, 0.3, 0.9]))
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)


# -- batches and refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "size"), [
    (rot.skew, 3), (rot.exp, 3), (rot.quaternion_exp, 3), (rot.quaternion_to_matrix, 4), (rot.quaternion_log, 4),
    (lambda w: rot.log(rot.exp(w)), 3), (lambda w: rot.matrix_to_quaternion(rot.exp(w)), 3),
    (lambda w: rot.unskew(rot.exp(w)), 3), (lambda w: rot.quaternion_multiply(w, w[..., ::-1]), 4),
    (lambda w: rot.quaternion_rate(w, w[..., :3]), 4), (lambda w: rot.from_axis_angle((1, 2, 3), w[..., 0]), 3),
    (lambda w: rot.normalize_quaternion(w / np.linalg.norm(w, axis=-1, keepdims=True), "q"), 4),
])
def test_batch_is_one_at_a_time(function, size):
    x = np.random.default_rng(2).standard_normal((2, 3, size))
    x[0, 0] = 0.0
    if size == 4:
        x[0, 0, 3] = 1.0
    batch = function(x)
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(batch[index], function(x[index]), atol=1e-15)
    assert function(x[:0]).shape == (0, *batch.shape[1:])


def test_normalize_quaternion_gives_the_same_bits_one_by_one():
    """Few are looked at one by one, many at once: of unit length to rounding, off by more, off by a little more."""
    rng = np.random.default_rng(11)
    q = rng.normal(size=(300, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    q[100:200] *= 1.0 + rng.uniform(-1e-15, 1e-15, (100, 1))
    q[200:] *= 1.0 + rng.uniform(-1e-7, 1e-7, (100, 1))
    many = rot.normalize_quaternion(q, "q")
    assert (many == q).all(axis=1).any()
    assert (many != q).any(axis=1).sum() > 100
    np.testing.assert_array_equal([rot.normalize_quaternion(x, "q") for x in q], many)


def test_normalize_quaternion():
    np.testing.assert_allclose(rot.normalize_quaternion([0, 0, 0, 1 + 5e-7], "q"), [0, 0, 0, 1], atol=1e-16)
    exact = rot.quaternion_exp([0.1, 0.2, 0.3])
    assert np.array_equal(rot.normalize_quaternion(exact, "q"), exact)
    text = (r"^state 1 of 2: the attitude of 'base' is not a unit quaternion \[x, y, z, w\]: \(0, 0, 0, 1.1\) has "
            r"norm 1.1; normalise it first$")
    with pytest.raises(StateError, match=text):
        rot.normalize_quaternion([[0, 0, 0, 1], [0, 0, 0, 1.1]], "the attitude of 'base'")
    with pytest.raises(StateError, match="has norm 0; normalise"):
        rot.normalize_quaternion([0, 0, 0, 0], "q")
    with pytest.raises(StateError, match=r"q must have shape \(\.\.\., 4\), got shape \(3,\)"):
        rot.normalize_quaternion([0, 0, 1], "q")
    with pytest.raises(ModelError, match="has norm 2"):
        rot.normalize_quaternion([0, 0, 0, 2], "q", ModelError)


def test_zero_axis_is_refused():
    with pytest.raises(ModelError, match="the axis of the rotation must not be zero"):
        rot.from_axis_angle((0, 0, 0), 1.0)


def test_a_huge_quaternion_is_refused_without_a_warning():
    with pytest.raises(StateError, match=r"q is not a unit quaternion .* has norm inf; normalise it first"):
        rot.normalize_quaternion([1e200, 0.0, 0.0, 0.0], "q")


@given(vectors)
def test_axes_along_a_vector_are_right_handed_and_turn_with_nothing_else(v):
    size = np.linalg.norm(v)
    if size < 1e-3:
        return
    axes = rot.axes_along(v / size)
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0, atol=1e-14)
    assert (axes[0] == v / size).all()
    assert (rot.axes_along(v / size) == axes).all()
