"""Bodies of the heaviest and the lightest numbers: right, or refused, never zeros."""

from functools import partial

import numpy as np
import pytest

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SingularError, SoacraftError

J = np.array([[2.0, 0.3, -0.2], [0.3, 3.0, 0.1], [-0.2, 0.1, 4.0]])
W, T = np.array([0.3, -0.2, 0.5]), np.array([0.7, 0.1, -0.4])
BIG = [1e-280, 1e-154, 1e-103, 1e-46, 1e52, 1e103, 1e150, 1e154, 1e290]
HINGES = {"ball": sc.Spherical(), "free": sc.Free(), "rolling ball": sc.RollingBall(1.0)}


def body(hinge, scale):
    """A body of inertia `scale` times that of one kilogram and a metre."""
    mb = sc.Multibody("body", gravity=(0, 0, 0))
    mb.add_body("a", None, hinge, sc.Inertia(scale, (0, 0, 0), scale * J))
    return mb


@pytest.mark.parametrize("scale", BIG)
@pytest.mark.parametrize("kind", HINGES)
@pytest.mark.parametrize("by_handle", [False, True])
@pytest.mark.parametrize("batch", [(), (5,)])
def test_mass_cancels(kind, scale, by_handle, batch):
    """vdot does not change when inertias and forces are scaled alike; the inverse mass matrix goes with 1 / scale."""
    one, mb = body(HINGES[kind], 1.0), body(HINGES[kind], scale)
    call = dyn.Dynamics(mb) if by_handle else None
    fd = call.forward_dynamics if by_handle else partial(dyn.forward_dynamics, mb)
    minv = call.mass_matrix_inverse if by_handle else partial(dyn.mass_matrix_inverse, mb)
    q = np.broadcast_to(one.neutral(), (*batch, one.nq)).copy()
    v, force = (np.broadcast_to(np.resize(x, one.nv), (*batch, one.nv)).copy() for x in (W, T))
    np.testing.assert_allclose(fd(q, v, scale * force), dyn.forward_dynamics(one, q, v, force), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(scale * minv(q), dyn.mass_matrix_inverse(one, q), rtol=1e-11, atol=1e-13)


def test_euler():
    """J wdot = T - w x J w, where the determinant of J is beyond the range of doubles."""
    for scale in (1e-110, 1e110):
        mb = body(sc.Spherical(), scale)
        wanted = np.linalg.solve(J, T - np.cross(W, J @ W))
        np.testing.assert_allclose(dyn.forward_dynamics(mb, [0, 0, 0, 1], W, scale * T), wanted, rtol=1e-12)


@pytest.mark.parametrize("kind", HINGES)
@pytest.mark.parametrize("scale", [1e-295, 1e-305, 1e-310, 3e-323])
def test_digits_that_are_lost_at_the_end_of_the_range_are_refused(kind, scale):
    mb = body(HINGES[kind], scale)
    for function in (dyn.mass_matrix_inverse, dyn.log_det_mass_matrix):
        with pytest.raises(SoacraftError):
            function(mb, mb.neutral())
    with pytest.raises(SingularError, match=r"Numbers this small lose their digits; give masses and"):
        dyn.mass_matrix_inverse(body(sc.Pin((0, 0, 1)), 1e-300), [0.0])
