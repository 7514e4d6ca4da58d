"""Flexible hinges: deflections by C, frequencies of a bushing, the rigid hinge as their limit, refusals."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import eigh

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.spatial.transforms import se3_log

PIN = sc.Pin((0, 0, 1))
BODY = sc.Inertia(2.0, (0.4, 0.1, 0.2), np.diag([0.3, 0.4, 0.5]))


def compliance(seed=0, size=1e-3):
    """Full, but for the turn about z that the pin has."""
    x = np.random.default_rng(seed).standard_normal((6, 6)) * np.sqrt(size)
    x[2] = 0.0
    return x @ x.T


def stiffness_of(mb, q):
    zero, h = np.zeros(mb.nv), 1e-6
    rows = [dyn.bias_force(mb, mb.integrate(q, h * e), zero) - dyn.bias_force(mb, mb.integrate(q, -h * e), zero)
            for e in np.eye(mb.nv)]  # fmt: skip
    return np.array(rows).T / (2 * h)


def frequencies(mb, q):
    K = stiffness_of(mb, q)
    return np.sqrt(np.abs(eigh(0.5 * (K + K.T), dyn.mass_matrix(mb, q), eigvals_only=True)))


@pytest.mark.parametrize("angle", [0.0, 2.0, 40.0])
def test_a_wrench_moves_it_by_c(angle):
    """To first order, whatever the angle of the pin, in the axes of the outboard frame."""
    C = compliance()
    mb = sc.Multibody(gravity=(0, 0, 0))
    body = mb.add_body("arm", None, PIN, BODY, compliance=C)
    assert (body.hinge.nv, mb.dof_names[0], len(mb.bodies)) == (6, "arm.0", 1)
    wrench = 1e-4 * np.random.default_rng(2).standard_normal(6)
    q = np.zeros(6)
    q[0] = angle
    J = dyn.jacobian(mb, q, ["arm"], expressed_in="node")
    q[1:] = (J.T @ wrench)[1:] / body.passive.stiffness[1:]
    moved = mb.pose("arm/inboard").inv @ mb.pose("arm", state=mb.state(q))
    back = sc.Pose.from_rpy(0, 0, -angle) @ moved
    np.testing.assert_allclose(se3_log(back.rotation, back.translation), C @ wrench, rtol=0, atol=1e-11)
    assert dyn.passive_energy(mb, q) == pytest.approx(0.5 * wrench @ C @ wrench, rel=1e-9)


def test_small_motion_is_that_of_a_bushing():
    """Six frequencies on a weld that gives way, those of a free hinge with the bushing C^-1."""
    x = np.random.default_rng(1).standard_normal((6, 6))
    C = 1e-2 * x @ x.T
    one, other = (sc.Multibody(gravity=(0, 0, 0)) for _ in range(2))
    one.add_body("arm", None, sc.Weld(), BODY, compliance=C)
    other.add_body("arm", None, sc.Free(), BODY)
    other.add_bushing("mount", "inertial", "arm", np.linalg.inv(C))
    np.testing.assert_allclose(frequencies(one, one.neutral()), frequencies(other, other.neutral()), rtol=1e-6)


def test_a_stiff_one_is_the_hinge():
    """A pendulum on a pin that gives way: its slow frequency tends to that of the pin, a tenth for a tenth of C."""

    def swing(C):
        mb = sc.Multibody(gravity=(9.81, 0, 0))
        mb.add_body("arm", None, PIN, sc.Inertia(2.0, (0.4, 0, 0), np.diag([0.3, 0.4, 0.5])), compliance=C)
        return frequencies(mb, mb.neutral())[0]

    wanted = np.sqrt(2.0 * 9.81 * 0.4 / (0.5 + 2.0 * 0.16))
    assert swing(None) == pytest.approx(wanted, rel=1e-9)
    errors = [abs(swing([0, 0, 0, 0, c, 0]) / wanted - 1.0) for c in (1e-4, 1e-5)]
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.01)


def test_rigid_directions_have_no_dof():
    mb = sc.Multibody()
    body = mb.add_body("a", None, PIN, BODY, compliance=[1e-3, 0, 0, 0, 1e-5, 0])
    assert body.hinge == sc.Screws([PIN, (1, 0, 0, 0, 0, 0), (0, 0, 0, 0, 1, 0)])
    np.testing.assert_allclose(body.passive.stiffness, [0.0, 1e3, 1e5], rtol=1e-12)
    rank_two = np.outer((0, 1, 0, 2, 0, 0), (0, 1, 0, 2, 0, 0)) + np.outer((0, 0, 0, 0, 0, 3), (0, 0, 0, 0, 0, 3))
    assert mb.add_body("b", "a", PIN, BODY, compliance=rank_two).hinge.nv == 3


REFUSED = [
    (sc.Gimbal(), np.eye(6), "does not allow the same directions in all its poses"),
    (sc.Free(), np.eye(6), "does not allow the same directions in all its poses"),
    (PIN, np.eye(6), "lets it give way where Pin(axis=(0, 0, 1)) moves already; give zero there, and a spring"),
    (PIN, np.zeros(6), "the compliance of hinge 'x' is zero, so the hinge is rigid; leave it out."),
    (PIN, np.diag([1, 1, 0, 1, 1, -1]), "is indefinite (travel along z): a wrench would gain energy."),
    (sc.Weld(), np.eye(6) + np.eye(6, k=5) + np.eye(6, k=-5) * 2, "must be symmetric; it differs from its transpose"),
    (sc.Weld(), np.ones(5), "the compliance of hinge 'x' must have shape (6,)"),
]


@pytest.mark.parametrize(("hinge", "C", "text"), REFUSED, ids=range(len(REFUSED)))
def test_refusals(hinge, C, text):
    mb = sc.Multibody()
    with pytest.raises(ModelError, match=re.escape(text)):
        mb.add_body("x", None, hinge, BODY, compliance=C)
    assert not mb.bodies
