"""Tolerances of what is read, on both sides: just inside is taken, just outside is refused."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.spatial.rotations import normalize_quaternion

R = sc.Pose.from_rpy(0.3, -0.5, 0.8).rotation
Q = np.array([0.1, 0.2, 0.3, 0.4]) / np.linalg.norm([0.1, 0.2, 0.3, 0.4])
INSIDE, OUTSIDE = (0.99, -0.99), (1.01, -1.01)  # of the tolerance


def test_quaternions_within_1e6_of_unit():
    for part in INSIDE:
        found = normalize_quaternion(Q * (1.0 + part * 1e-6), "q")
        np.testing.assert_allclose(found, Q, atol=1e-15)
    for part in OUTSIDE:
        with pytest.raises(StateError, match="is not a unit quaternion"):
            normalize_quaternion(Q * (1.0 + part * 1e-6), "q")


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free(), sc.RollingBall(1.0)])
@pytest.mark.parametrize("by_handle", [False, True])
@pytest.mark.parametrize("batch", [(), (7,)])
def test_quaternions_of_a_state(hinge, by_handle, batch):
    """The quick call draws the line where Python does, in every state of a batch, and normalises what is inside."""
    mb = sc.Multibody("one")
    mb.add_body("a", None, hinge, sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([1.0, 2.0, 2.5])))
    call = dyn.Dynamics(mb).mass_matrix if by_handle else lambda q: dyn.mass_matrix(mb, q)
    q = np.broadcast_to(hinge.neutral(), (*batch, mb.nq)).copy()
    q[..., :4] = Q
    wanted = call(q)
    for part in INSIDE:
        near = q.copy()
        near.reshape(-1, mb.nq)[-1, :4] *= 1.0 + part * 1e-6
        np.testing.assert_allclose(call(near), wanted, atol=1e-14)
    for part in OUTSIDE:
        off = q.copy()
        off.reshape(-1, mb.nq)[-1, :4] *= 1.0 + part * 1e-6
        with pytest.raises(StateError, match="is not a unit quaternion"):
            call(off)


def test_rotations_within_1e6_of_orthonormal():
    """R* R is off by twice what the rotation is stretched by."""
    for part in INSIDE:
        stretched = R * (1.0 + part * 0.5e-6)
        np.testing.assert_allclose(sc.Pose(stretched).rotation, R, atol=1e-15)
    for part in OUTSIDE:
        with pytest.raises(ModelError, match="is not orthonormal"):
            sc.Pose(R * (1.0 + part * 0.5e-6))


def test_the_last_row_of_a_homogeneous_matrix_to_1e12():
    T = np.eye(4)
    T[3, 3] = 1.0 + 0.9e-12
    sc.Pose.from_matrix(T)
    T[3, 3] = 1.0 + 1.1e-12
    with pytest.raises(ModelError, match="as its last row"):
        sc.Pose.from_matrix(T)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_moments_symmetric_to_1e8_of_the_largest_entry(scale):
    J = scale * np.array([[2.0, 0.1, 0.0], [0.1, 3.0, 0.0], [0.0, 0.0, 4.0]])
    for part, good in ((0.9, True), (1.1, False)):
        off = J.copy()
        off[0, 1] += part * 1e-8 * 4.0 * scale
        if good:
            assert np.array_equal(sc.Inertia(scale, (0, 0, 0), off).moment, sc.Inertia(scale, (0, 0, 0), off).moment.T)
        else:
            with pytest.raises(ModelError, match="must be symmetric"):
                sc.Inertia(scale, (0, 0, 0), off)


@pytest.mark.parametrize("scale", [1e-40, 1.0, 1e40])
def test_moments_negative_by_no_more_than_1e9(scale):
    sc.Inertia(scale, (0, 0, 0), scale * np.diag([-0.9e-9, 1.0, 1.0]))
    with pytest.raises(ModelError, match="must not have a negative eigenvalue"):
        sc.Inertia(scale, (0, 0, 0), scale * np.diag([-1.1e-9, 1.0, 1.0]))


def test_blocks_of_an_sko_model_symmetric_to_1e9():
    def model(gap):
        return sc.SKOModel([-1], [None], [np.eye(2)[:1]], [[[2.0, 1.0 + gap], [1.0, 3.0]]])

    model(0.9e-9)
    with pytest.raises(ModelError, match="is not symmetric"):
        model(1.2e-9)
