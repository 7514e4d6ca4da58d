"""Small trees at rest, with the accelerations that RBDL's tests print; every body 1 kg, gravity along -y."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, forward, mass_matrix

import soacraft as sc
from soacraft.recursions import forward_dynamics, newton_euler

X, Y, Z = np.eye(3)


def tree(*bodies):
    """Bodies given as (name, parent, axis, at, com[, moments])."""
    mb = sc.Multibody("small", gravity=(0, -9.81, 0))
    for name, parent, axis, at, com, *moments in bodies:
        inertia = sc.Inertia(1.0, com, np.diag(moments[0] if moments else (1, 1, 1)))
        mb.add_body(name, parent, sc.Pin(axis), inertia, inboard=sc.Pose(translation=at))
    return mb


O, E = (0, 0, 0), (1, 0, 0)
CASES = {
    "one": (tree(("a", None, Z, O, (1, 0, 0))), [-4.905]),
    "one, full inertia": (tree(("a", None, Z, O, (1.5, 1, 1), (1, 2, 3))), [-2.3544]),
    "two": (tree(("a", None, Z, O, E), ("b", "a", Z, E, E)), [-5.886, 3.924]),
    "three": (
        tree(("a", None, Z, O, E), ("b", "a", Z, E, E), ("c", "b", Z, E, E)),
        [-6.03692307692308, 3.77307692307692, 1.50923076923077],
    ),
    "z then y": (tree(("a", None, Z, O, E), ("b", "a", Y, E, (0, 1, 0))), [-3.924, 0.0]),
    "branched": (
        tree(
            ("a", None, Z, O, (1, 0, 0)),
            ("b1", "a", Y, (1, 0, 0), (0, 1, 0)),
            ("c1", "b1", X, (0, 1, 0), (0, 0, 1)),
            ("b2", "a", Y, (-0.5, 0, 0), (0, 1, 0)),
            ("c2", "b2", X, (0, -0.5, 0), (0, 0, 1)),
        ),
        [-1.60319066147860, -0.534396887159533, 4.10340466926070, 0.267198443579767, 5.30579766536965],
    ),
}


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("case", CASES)
def test_accelerations(case, axes):
    mb, expected = CASES[case]
    ops, T = sc.operators(mb, axes=axes), np.zeros(mb.nv)
    np.testing.assert_allclose(forward(ops, T), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sc.operators(mb, axes=axes, force=T).vdot, expected, rtol=0, atol=1e-13)
    inverse = ops.H * ops.phi * ops.M * ops.phi.T * ops.H.T
    np.testing.assert_allclose(inverse.inv * (T - bias_force(ops)), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(np.linalg.solve(mass_matrix(ops), -bias_force(ops)), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("case", CASES)
def test_recursions(case, axes):
    """The articulated-body and the Newton-Euler sweep, each written out over the SKO model."""
    mb, expected = CASES[case]
    sko = mb.sko(axes=axes)
    found = forward_dynamics(sko, [np.zeros((1, 1))] * mb.nv)
    np.testing.assert_allclose([found.vdot[k].item() for k in sko.nodes], expected, rtol=0, atol=1e-13)
    needed = newton_euler(sko, [np.array([[x]]) for x in expected])
    np.testing.assert_allclose([needed.T[k].item() for k in sko.nodes], 0.0, rtol=0, atol=1e-12)
