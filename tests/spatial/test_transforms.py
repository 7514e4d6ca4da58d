"""Spatial transforms: force shift and velocity shift in closed form, then laws."""

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft.spatial import adjoint, crf, crm, exp, phi, se3_exp, se3_log, skew

twists = hnp.arrays(np.float64, 6, elements=st.floats(-3.0, 3.0, allow_nan=False, allow_subnormal=False))


# -- anchors: identities hold for any phi, these do not ------------------------------------------------------


def test_force_shift():
    """A force f at l has the moment l x f about the parent's origin."""
    offset, force, moment = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0]), np.array([0.1, 0.2, 0.3])
    shifted = phi(np.eye(3), offset) @ np.concatenate([moment, force])
    np.testing.assert_allclose(shifted, [*(moment + np.cross(offset, force)), *force])


def test_velocity_shift():
    """A point at l on a turning body moves with v + omega x l."""
    offset, w, v = np.array([1.0, 2.0, 3.0]), np.array([0.5, -1.0, 2.0]), np.array([0.1, 0.2, 0.3])
    shifted = phi(np.eye(3), offset).T @ np.concatenate([w, v])
    np.testing.assert_allclose(shifted, [*w, *(v + np.cross(w, offset))])


def test_rotation_takes_child_axes_to_parent_axes():
    R = exp([0, 0, np.pi / 2])                                  # the child's x is the parent's y
    np.testing.assert_allclose(phi(R, np.zeros(3)) @ [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], atol=1e-15)
    X = phi(R, [0.0, 0.0, 2.0])
    np.testing.assert_allclose(X @ [0, 0, 0, 1, 0, 0], [-2, 0, 0, 0, 1, 0], atol=1e-15)


def test_helix():
    """Turning and travelling along z, offset by a radius: the closed form of a helix."""
    R, p = se3_exp([0, 0, 2.0, 0.0, 2.0, 0.3])                  # about the line through (-1, 0)
    np.testing.assert_allclose(R, exp([0, 0, 2.0]), atol=1e-15)
    np.testing.assert_allclose(p, [np.cos(2.0) - 1, np.sin(2.0), 0.3], atol=1e-15)


def test_crm_is_the_rate_of_a_moving_frame():
    """d/dt of phi* along a motion with twist V is -crm(V) phi*."""
    V, h = np.array([0.3, -0.2, 0.5, 1.0, 0.4, -0.7]), 1e-5
    rate = (phi(*se3_exp(h * V)).T - phi(*se3_exp(-h * V)).T) / (2 * h)
    np.testing.assert_allclose(rate, -crm(V), atol=1e-9)


# -- laws ---------------------------------------------------------------------------------------------------


@given(twists, twists)
def test_phi_composes(a, b):
    (Ra, pa), (Rb, pb) = se3_exp(a), se3_exp(b)
    np.testing.assert_allclose(phi(Ra, pa) @ phi(Rb, pb), phi(Ra @ Rb, pa + Ra @ pb), atol=1e-12)


@given(twists)
def test_phi_inverse_and_adjoint(xi):
    R, p = se3_exp(xi)
    np.testing.assert_allclose(phi(R, p) @ phi(R.T, -R.T @ p), np.eye(6), atol=1e-12)
    np.testing.assert_allclose(adjoint(R, p) @ phi(R, p).T, np.eye(6), atol=1e-12)


@given(twists, twists, twists)
def test_cross_products(a, b, c):
    np.testing.assert_array_equal(crf(a), -crm(a).T)
    np.testing.assert_allclose(crm(a) @ b, -(crm(b) @ a), atol=1e-12)
    jacobi = crm(a) @ crm(b) @ c + crm(b) @ crm(c) @ a + crm(c) @ crm(a) @ b
    np.testing.assert_allclose(jacobi, 0.0, atol=1e-11)
    R, p = se3_exp(c)
    np.testing.assert_allclose(adjoint(R, p) @ (crm(a) @ b), crm(adjoint(R, p) @ a) @ (adjoint(R, p) @ b), atol=1e-10)


@given(twists)
def test_exponential_is_a_one_parameter_group(xi):
    (R1, p1), (R2, p2), (R3, p3) = se3_exp(0.4 * xi), se3_exp(0.6 * xi), se3_exp(xi)
    np.testing.assert_allclose(R1 @ R2, R3, atol=1e-14)
    np.testing.assert_allclose(p1 + R1 @ p2, p3, atol=1e-13)


@given(twists)
def test_log_undoes_exp(xi):
    xi = xi / max(1.0, np.linalg.norm(xi[:3]) / 3.0)
    np.testing.assert_allclose(se3_log(*se3_exp(xi)), xi, atol=1e-12)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 1e-5, 1e-3, 0.1, 0.2499999, 0.25, 0.4999999, 0.5, 1.0, 3.0,
                                   np.pi - 1e-6, np.pi - 1e-12])
def test_exp_and_log_over_all_angles(angle):
    """Against the integral of the rotation by Gauss quadrature, and back."""
    w, v = angle * np.array([2.0, -1.0, 2.0]) / 3.0, np.array([0.3, 1.0, -0.5])
    R, p = se3_exp(np.concatenate([w, v]))
    nodes, weights = np.polynomial.legendre.leggauss(30)
    integral = np.einsum("t,tij->ij", weights / 2, exp(np.outer((nodes + 1) / 2, w)))
    np.testing.assert_allclose(p, integral @ v, atol=1e-15)
    np.testing.assert_allclose(se3_log(R, p), np.concatenate([w, v]), atol=1e-14)


def test_batches():
    xi = np.random.default_rng(3).standard_normal((2, 3, 6))
    R, p = se3_exp(xi)
    for index in np.ndindex(2, 3):
        R1, p1 = se3_exp(xi[index])
        np.testing.assert_allclose(phi(R, p)[index], phi(R1, p1), atol=1e-15)
        np.testing.assert_allclose(adjoint(R, p)[index], adjoint(R1, p1), atol=1e-15)
        np.testing.assert_allclose(crm(xi)[index], crm(xi[index]))
        np.testing.assert_allclose(crf(xi)[index], crf(xi[index]))
        np.testing.assert_allclose(se3_log(R, p)[index], se3_log(R1, p1), atol=1e-14)
    assert phi(R[:0], p[:0]).shape == (0, 3, 6, 6)
    assert phi(np.eye(3), p).shape == (2, 3, 6, 6)              # a constant rotation, a batch of offsets
    np.testing.assert_allclose(phi(np.eye(3), p)[1, 2, :3, 3:], skew(p[1, 2]))
