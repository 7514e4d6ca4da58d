"""Elastic joints: a closed form, the geared hinge as their limit, Spong's approximation, refusals. (Geared hinges:
tests/loops/embedding/test_geared.py.)"""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import eigh

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError
from soacraft.model.samples.random_models import random_inertia, random_pose

PIN = sc.Pin((0, 0, 1))


def disc(moment, mass=0.5):
    return sc.Inertia(mass, (0, 0, 0), moment * np.eye(3))


def eigenvalues(mb):
    return sc.analysis.linearize(mb, mb.neutral(), np.zeros(mb.nv), np.zeros(mb.nv)).eigenvalues


def test_a_link_and_a_rotor_swing_against_each_other():
    """k (1 / link + 1 / (ratio^2 rotor)) = 100 (1 + 1 / 10)."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_geared_hinge("link", None, PIN, disc(1.0), ratio=100, rotor=disc(1e-3), stiffness=100.0)
    assert np.abs(eigenvalues(mb)).max() == pytest.approx(10.488088481701515, rel=1e-13)
    mb = sc.Multibody(gravity=(0, 0, 0))
    mb.add_geared_hinge("link", None, PIN, disc(1.0), ratio=100, rotor=disc(1e-3), stiffness=100.0, damping=2.0)
    damped = eigenvalues(mb)
    assert damped.real.min() == pytest.approx(-0.5 * 2.0 * 1.1, rel=1e-10)
    assert np.abs(damped).max() == pytest.approx(np.sqrt(110.0), rel=1e-10)


def arm(stiffness=None, approximate=None, base=None):
    """Two geared hinges, the second carried by the first with its rotor's axis aslant; springs in the hinges."""
    mb = sc.Multibody("arm", gravity=(0, 0, 0))
    if base is not None:
        mb.add_body("base", None, base, random_inertia(1))
    given = dict(stiffness=stiffness, approximate=approximate) if stiffness else {}
    mb.add_geared_hinge("upper", None if base is None else "base", PIN, random_inertia(2), ratio=20,
                        rotor=disc(0.01), rotor_axis=(0, 0.6, 0.8), inboard=random_pose(3), **given)  # fmt: skip
    mb.add_geared_hinge("lower", "upper", sc.Pin((0, 1, 0)), random_inertia(4), ratio=-30,
                        rotor=disc(0.02), rotor_axis=(0, 0, 1), inboard=random_pose(5), **given)  # fmt: skip
    for name in ("upper", "lower"):
        mb[name].passive = sc.Passive(stiffness=3.0)
    return mb


def test_a_stiff_spring_is_the_geared_hinge():
    """The slow frequencies of the elastic arm tend to those of the rigid one; a tenth of the error for ten times k."""
    rigid = arm()
    solver = sc.loops.ConstraintEmbedding(rigid)
    H, phi, M = sc.operators(solver, "H phi M")
    wanted = np.sqrt(eigh(3.0 * np.eye(2), (H * phi * M * phi.T * H.T).array(), eigvals_only=True))
    errors = []
    for k in (1e4, 1e5, 1e6):
        found = np.unique(np.abs(eigenvalues(arm(k)).imag).round(9))
        errors.append(np.abs(found[found > 1e-3][:2] / wanted - 1.0).max())
    assert errors[0] / errors[1] == pytest.approx(10.0, rel=0.02)
    assert errors[1] / errors[2] == pytest.approx(10.0, rel=0.05)


def test_what_spongs_approximation_leaves_out():
    """J times the turning of the parent about the rotor's axis, in the row of each rotor, and nothing else."""
    exact, spong = (arm(50.0, how, sc.Free()) for how in (None, "spong"))
    q, _ = exact.random_state(3)
    at = np.array(spong.neutral())
    for body in exact.bodies:
        at[spong.q_slice(body.name)] = q[exact.q_slice(body.name)]
    order = [spong.dof_names.index(x) for x in exact.dof_names]
    left = dyn.mass_matrix(exact, q) - dyn.mass_matrix(spong, at)[np.ix_(order, order)]
    wanted = np.zeros((exact.nv, exact.nv))
    state = exact.state(q)
    for name, parent, J, axis in (("upper", "base", 0.01, (0, 0.6, 0.8)), ("lower", "upper", 0.02, (0, 0, 1))):
        turning = dyn.jacobian(exact, q, [parent])[:3]
        line = exact.pose(f"{name}_rotor/inboard", state=state).rotation @ np.array(axis)
        i = exact.dof_names.index(f"{name}_rotor")
        wanted[i] += J * line @ turning
        wanted[:, i] += J * line @ turning
    np.testing.assert_allclose(left, wanted, rtol=0, atol=1e-12)
    assert np.abs(wanted).max() > 1e-3
    assert [x.name for x in spong.bodies][-3:] == ["lower", "lower_rotor", "lower_rotor_mass"]


REFUSED = [
    (dict(damping=1.0), "geared hinge 'x': damping is of an elastic joint; give its stiffness= too."),
    (dict(approximate="spong"), "geared hinge 'x': approximate is of an elastic joint; give its stiffness= too."),
    (dict(stiffness=1.0, approximate="fast"), "geared hinge 'x': approximate is 'spong' or None (exact), got 'fast'."),
    (dict(stiffness=1.0, approximate="spong", rotor=sc.Inertia(1.0)), "its rotor has no moment about its axis"),
    (dict(stiffness="soft"), "the stiffness of tendon 'x_gear' must be real numbers, got text: 'soft'"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=[text[:40] for _, text in REFUSED])
def test_refusals(given, text):
    mb = sc.Multibody()
    with pytest.raises(ModelError, match=re.escape(text)):
        mb.add_geared_hinge("x", None, PIN, disc(1.0), **(dict(ratio=5, rotor=disc(0.1)) | given))
    assert not mb.bodies
