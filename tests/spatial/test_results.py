"""Wrenches, and results that say what they are of."""

import pickle

import numpy as np
import pytest

from soacraft.errors import ModelError
from soacraft.spatial import Measured, Pose, RelativePose, Wrench


def test_wrench():
    w = Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial")
    np.testing.assert_array_equal(np.asarray(w), [1, 2, 3, 4, 5, 6])
    assert w.moment.tolist() == [1, 2, 3]
    assert w.force.tolist() == [4, 5, 6]
    assert repr(w) == "Wrench(moment=(1, 2, 3), force=(4, 5, 6), expressed_in='inertial')"
    assert eval(repr(w)) == w
    assert pickle.loads(pickle.dumps(w)) == w
    assert w != Wrench((1, 2, 3), (4, 5, 6))
    assert repr(Wrench((0, 0, 0), (1, 0, 0))) == "Wrench(moment=(0, 0, 0), force=(1, 0, 0))"
    with pytest.raises(ValueError, match="read-only"):
        w.force[0] = 1
    with pytest.raises(AttributeError):
        w.force = (1, 2, 3)


def test_wrench_batch():
    w = Wrench((0, 0, 0), np.ones((5, 3)))
    assert np.asarray(w).shape == (5, 6)


@pytest.mark.parametrize(("moment", "force", "text"), [
    ((0, 0), (0, 0, 0), r"moment of a Wrench must have shape \(\.\.\., 3\), got shape \(2,\)"),
    ((0, 0, 0), (0, np.nan, 0), "force of a Wrench must be finite, got nan at index 1"),
    (np.zeros((2, 3)), np.zeros((5, 3)), r"must have the same leading axes, got shapes \(2, 3\) and \(5, 3\)"),
])
def test_wrench_refusals(moment, force, text):
    with pytest.raises(ModelError, match=text):
        Wrench(moment, force)


def test_measured():
    V = Measured([0, 0, 1, 0.5, 0, 1 / 3], "velocity", of="upper/tool", relative_to="inertial", expressed_in="upper")
    assert repr(V) == ("velocity of 'upper/tool' relative to 'inertial', expressed in 'upper': "
                       "angular (0, 0, 1), linear (0.5, 0, 0.333333)")
    assert (V.kind, V.of, V.relative_to, V.expressed_in) == ("velocity", "upper/tool", "inertial", "upper")
    assert V.angular.tolist() == [0, 0, 1]
    assert V.linear.tolist() == [0.5, 0, 1 / 3]
    assert (V[3], len(V), V.shape) == (0.5, 6, (6,))
    np.testing.assert_array_equal(np.asarray(V), [0, 0, 1, 0.5, 0, 1 / 3])
    np.testing.assert_array_equal(2 * np.asarray(V), np.asarray(V) + np.asarray(V))
    assert repr(pickle.loads(pickle.dumps(V))) == repr(V)
    with pytest.raises(AttributeError, match="a measured velocity cannot be changed"):
        V.of = "other"
    with pytest.raises(ValueError, match="read-only"):
        V.linear[0] = 1


def test_measured_batch():
    A = Measured(np.zeros((4, 6)), "acceleration", of="a", relative_to="b", expressed_in="c")
    assert A.linear.shape == (4, 3)
    assert repr(A) == ("acceleration of 'a' relative to 'b', expressed in 'c': angular array of shape (4, 3), "
                       "linear array of shape (4, 3)")


def test_relative_pose():
    pose = RelativePose(Pose(translation=(0, 0, 0.5)), of="tool", relative_to="inertial")
    assert repr(pose) == "pose of 'tool' relative to 'inertial': Pose(translation=(0, 0, 0.5))"
    assert (pose.of, pose.relative_to) == ("tool", "inertial")
    assert pose == Pose(translation=(0, 0, 0.5))
    assert type(pose @ pose) is Pose
    assert np.asarray(pose).shape == (4, 4)
    assert repr(pickle.loads(pickle.dumps(pose))) == repr(pose)
    with pytest.raises(AttributeError):
        pose.of = "other"
