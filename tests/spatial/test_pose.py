"""Poses: conventions, laws, what is refused, how they print."""

import copy
import pickle

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft.errors import ModelError
from soacraft.spatial import Pose, RelativePose, exp, phi, se3_exp

twists = hnp.arrays(np.float64, 6, elements=st.floats(-3.0, 3.0, allow_nan=False, allow_subnormal=False))
poses = twists.map(lambda xi: Pose(*se3_exp(xi)))
angles = st.floats(-3.0, 3.0, allow_subnormal=False)


def some_pose(seed=0, batch=()):
    return Pose(*se3_exp(np.random.default_rng(seed).standard_normal((*batch, 6))))


# -- anchors ------------------------------------------------------------------------------------------------


def test_a_pose_takes_points_of_the_inner_frame_to_the_outer():
    T = Pose(exp([0, 0, np.pi / 2]), (1, 0, 0))
    np.testing.assert_allclose(T @ (1, 0, 0), [1, 1, 0], atol=1e-15)


def test_rpy_turns_about_fixed_axes_x_y_z():
    T = Pose.from_rpy(np.pi / 2, 0, np.pi / 2)                  # first about x, then about the fixed z
    np.testing.assert_allclose(T @ (0, 1, 0), [0, 0, 1], atol=1e-15)
    np.testing.assert_allclose(T @ (1, 0, 0), [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(Pose.from_rpy(0, np.pi / 2, 0) @ (1, 0, 0), [0, 0, -1], atol=1e-15)


def test_quaternion_is_xyzw():
    half = np.sqrt(0.5)
    np.testing.assert_allclose(Pose.from_quaternion((0, 0, half, half)) @ (1, 0, 0), [0, 1, 0], atol=1e-15)


def test_phi_of_a_pose():
    T = some_pose()
    np.testing.assert_array_equal(T.phi(), phi(T.rotation, T.translation))


# -- laws ---------------------------------------------------------------------------------------------------


@given(poses, poses, poses)
def test_group(a, b, c):
    assert ((a @ b) @ c).is_close(a @ (b @ c), 1e-12)
    assert (a @ a.inv).is_close(Pose(), 1e-13)
    assert (a @ b).inv.is_close(b.inv @ a.inv, 1e-12)
    np.testing.assert_allclose((a @ b).phi(), a.phi() @ b.phi(), atol=1e-11)
    np.testing.assert_allclose((a @ b) @ (1, 2, 3), a @ (b @ (1, 2, 3)), atol=1e-12)
    np.testing.assert_allclose(np.asarray(a @ b), np.asarray(a) @ np.asarray(b), atol=1e-12)


@given(poses)
def test_representations_round_trip(T):
    assert Pose.from_matrix(T.as_matrix()).is_close(T, 1e-14)
    assert Pose.from_quaternion(T.as_quaternion(), T.translation).is_close(T, 1e-14)
    assert Pose.from_rpy(*T.as_rpy(), T.translation).is_close(T, 1e-14)


@given(poses)
def test_repr_reads_back(T):
    assert eval(repr(T)) == T
    assert hash(eval(repr(T))) == hash(T)


@given(angles, st.sampled_from([-1.0, 1.0]), angles, st.sampled_from([0.0, 1e-16, 1e-12, 1e-8, 1e-4]))
def test_rpy_near_gimbal_lock(roll, sign, yaw, gap):
    T = Pose.from_rpy(roll, sign * (np.pi / 2 - gap), yaw)
    assert Pose.from_rpy(*T.as_rpy()).is_close(T, 1e-14)


@given(angles, st.floats(-1.5, 1.5, allow_subnormal=False), angles)
def test_rpy_angles_come_back(roll, pitch, yaw):
    np.testing.assert_allclose(Pose.from_rpy(roll, pitch, yaw).as_rpy(), [roll, pitch, yaw], atol=1e-13)


# -- batches ------------------------------------------------------------------------------------------------


def test_batches():
    T, one = some_pose(1, (2, 3)), some_pose(2)
    assert T.batch_shape == (2, 3)
    assert (T @ one).batch_shape == (one @ T).batch_shape == T.inv.batch_shape == (2, 3)
    for index in np.ndindex(2, 3):
        single = Pose(T.rotation[index], T.translation[index])
        np.testing.assert_allclose(np.asarray(T @ one)[index], np.asarray(single @ one), atol=1e-15)
        np.testing.assert_allclose(np.asarray(T.inv)[index], np.asarray(single.inv), atol=1e-15)
        np.testing.assert_allclose((T @ (1, 2, 3))[index], single @ (1, 2, 3), atol=1e-15)
        np.testing.assert_allclose(T.as_rpy()[index], single.as_rpy(), atol=1e-14)
        np.testing.assert_allclose(T.as_quaternion()[index], single.as_quaternion(), atol=1e-15)
        np.testing.assert_allclose(T.phi()[index], single.phi(), atol=1e-15)
    assert eval(repr(T)) == T
    assert Pose.from_matrix(T.as_matrix()).is_close(T, 1e-14)


def test_one_pose_moves_many_points():
    T, points = some_pose(), np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(T @ points, [T @ p for p in points], atol=1e-14)


def test_constant_parts_take_the_batch_of_the_other():
    T = Pose(translation=np.zeros((5, 3)))
    assert T.rotation.shape == (5, 3, 3)
    assert Pose.unchecked(np.broadcast_to(np.eye(3), (5, 3, 3)), np.zeros(3)).translation.shape == (5, 3)
    assert Pose.from_rpy(np.zeros(4), 0.1, 0.2).batch_shape == (4,)


# -- an immutable value -------------------------------------------------------------------------------------


def test_immutable():
    given_translation = np.zeros(3)
    pose = Pose(translation=given_translation)
    given_translation[0] = 1.0
    assert pose == Pose()
    with pytest.raises(AttributeError):
        pose.rotation = np.eye(3)
    with pytest.raises(AttributeError):
        pose.other = 1
    for array in (pose.rotation, pose.translation, some_pose().inv.rotation, (some_pose() @ pose).translation):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_copies_and_pickles():
    T = some_pose()
    assert copy.deepcopy(T) is T
    assert copy.copy(T) is T
    again = pickle.loads(pickle.dumps(T))
    assert again == T
    assert not again.rotation.flags.writeable


def test_equality():
    assert Pose(translation=(0, 0, 1)) != Pose()
    assert Pose() != "Pose()"
    assert Pose(translation=(0.0, -0.0, 0.0)) == Pose()
    assert hash(Pose(translation=(0.0, -0.0, 0.0))) == hash(Pose())


def test_repr():
    assert repr(Pose()) == "Pose()"
    assert repr(Pose(translation=(0, 0, 0.1))) == "Pose(translation=(0, 0, 0.1))"
    assert repr(Pose(np.diag([1, -1, -1]))) == "Pose(rotation=[[1, 0, 0], [0, -1, 0], [0, 0, -1]])"


def test_a_long_pose_prints_on_four_short_lines():
    T = Pose.from_rpy(0.1, 0.2, 0.3, (1 / 3, 2 / 3, -1e-3))
    lines = repr(T).splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 82
    assert (lines[0][:7], lines[1][:7]) == ("Pose([[", "      [")
    assert lines[3] == "     (0.3333333333333333, 0.6666666666666666, -0.001))"
    assert eval(repr(T)) == T
    assert "\n" not in repr(Pose([[0, -1, 0], [1, 0, 0], [0, 0, 1]], (1, 2, 3)))


def test_a_measured_pose_prints_on_four_short_lines():
    T = RelativePose(Pose.from_rpy(0.1, 0.2, 0.3, (1 / 3, 2e-7, -1.0)), of="tool", relative_to="base")
    assert repr(T).splitlines() == [
        "pose of 'tool' relative to 'base':",
        "  [ 0.936293  -0.275096   0.218351 | 0.333333]",
        "  [ 0.289629   0.956425  -0.036957 |    2e-07]",
        "  [-0.198669  0.0978434    0.97517 |       -1]",
    ]


def test_array():
    np.testing.assert_array_equal(np.asarray(Pose(translation=(1, 2, 3)))[:3, 3], [1, 2, 3])
    assert np.asarray(Pose(), dtype=np.float32).dtype == np.float32
    with pytest.raises(TypeError):
        np.eye(3) @ Pose()


# -- what is refused ----------------------------------------------------------------------------------------


def test_rotation_near_orthonormal_is_made_so():
    R = exp([0.1, 0.2, 0.3])
    T = Pose(R + 1e-7 * np.arange(9).reshape(3, 3) / 9)
    np.testing.assert_allclose(T.rotation.T @ T.rotation, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(T.rotation, R, atol=2e-7)
    assert Pose(T.rotation) == T                                # once orthonormal it is left alone


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Pose(1.1 * np.eye(3)), r"rotation of a Pose is not orthonormal: R\* R differs from I by 0.21 \(allowed "
                                    r"1e-06\); normalise it, or use Pose.from_quaternion"),
    (lambda: Pose(np.diag([1, 1, -1])), r"rotation of a Pose is a reflection \(determinant -1\); flip the sign of one"),
    (lambda: Pose((0, 0, 1)), r"got shape \(3,\); three numbers are a translation: Pose\(translation=\(x, y, z\)\)"),
    (lambda: Pose(np.eye(4)), r"rotation of a Pose must have shape \(\.\.\., 3, 3\), got shape \(4, 4\)"),
    (lambda: Pose(translation=(0, 0)), r"translation of a Pose must have shape \(\.\.\., 3\), got shape \(2,\)"),
    (lambda: Pose(translation=(0, np.nan, 0)), "translation of a Pose must be finite, got nan at index 1"),
    (lambda: Pose(np.broadcast_to(np.eye(3), (2, 3, 3)), np.zeros((5, 3))),
     r"must have the same leading axes, got shapes \(2, 3, 3\) and \(5, 3\)"),
    (lambda: Pose.from_matrix(np.diag([1, 1, 1, 2])), r"must have \(0, 0, 0, 1\) as its last row, got \(0, 0, 0, 2\)"),
    (lambda: Pose.from_quaternion((0, 0, 0, 2)), "quaternion of a Pose is not a unit quaternion .* has norm 2"),
    (lambda: Pose.from_rpy(np.zeros(2), np.zeros(3), 0), r"roll, pitch, yaw of a Pose must have matching shapes, got"),
    (lambda: Pose() @ (1, 2), r"a point that a Pose acts on must have shape \(\.\.\., 3\), got shape \(2,\)"),
])
def test_refusals(make, text):
    with pytest.raises(ModelError, match=text):
        make()
