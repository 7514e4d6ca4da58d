"""Mass properties: two masses on a rod in closed form, the operators of the model, parts, frames, what is held."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.studies.models import planar

import soacraft as sc
from soacraft.errors import StateError

study = sc.robot.study


def test_two_masses():
    """At r = l1 and l1 + l2 cos: reduced mass times distance squared."""
    rb = planar(2.0, 1.0, masses=[3.0, 1.0])
    q = np.array([[0.0, 0.0], [0.0, np.pi / 2], [0.3, np.pi]])
    m = study.mass_properties(rb, q)
    assert m.mass == 4.0
    assert m.com[0] == pytest.approx([(3 * 2 + 1 * 3) / 4, 0, 0])
    assert m.com[1] == pytest.approx([2.0, 0.25, 0])
    mu = 3.0 * 1.0 / 4.0  # the masses are 1 m apart
    assert m.principal == pytest.approx(np.tile([0.0, mu, mu], (3, 1)), abs=1e-12)
    assert np.abs(m.axes[1, :, 0]) == pytest.approx([0, 1, 0])
    assert np.linalg.det(m.axes) == pytest.approx(1.0)
    low, high = m.span
    assert low == pytest.approx(m.com.min(axis=0))
    assert high[0] == pytest.approx(2.25)


@tries(15)
@given(seed=st.integers(0, 10**6))
def test_it_is_what_momentum_and_composite_inertia_say(seed):
    """Of random trees with all hinges: the centre of dyn.center_of_mass, and the composite inertia of the base body."""
    rng = np.random.default_rng(seed)
    mb = sc.random_tree(5, seed=seed)
    q = np.array([mb.random_state(rng)[0] for _ in range(3)])
    m = study.mass_properties(mb, q)
    assert m.com == pytest.approx(sc.dynamics.center_of_mass(mb, q), abs=1e-12)
    for k in range(3):
        R = _composite(mb, q[k])
        c = m.com[k]
        S = np.array([[0, -c[2], c[1]], [c[2], 0, -c[0]], [-c[1], c[0], 0]])
        assert pytest.approx(m.inertia[k] - m.mass * S @ S, abs=1e-9) == R
        assert m.axes[k] @ np.diag(m.principal[k]) @ m.axes[k].T == pytest.approx(m.inertia[k], abs=1e-9)


def _composite(mb, q):
    """The sum of the composite inertias of the base bodies about the inertial origin."""
    total = np.zeros((3, 3))
    R = sc.dynamics.composite_inertia(mb, q)
    for body in mb.bodies:
        if body.parent is mb.root:
            X = mb.pose(body, state=mb.state(q))
            phi = np.block([[X.rotation, _skew(X.translation) @ X.rotation], [np.zeros((3, 3)), X.rotation]])
            total += (phi @ R[body.name] @ phi.T)[:3, :3]
    return total


def _skew(p):
    return np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])


def test_parts_frames_and_what_is_held():
    mb = sc.load("panda")
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.4, 0.05))
    rb = sc.robot.Robot(mb)
    arm = rb.limb("arm", "inertial", "link7")
    with pytest.raises(StateError, match="'panda' holds nothing"):
        study.mass_properties(rb, bodies="held")
    rb.attach("cup", "link7")
    held = study.mass_properties(rb, bodies="held")
    assert (held.bodies, held.mass) == (("cup",), 0.4)
    assert held.com[0] == pytest.approx(mb.pose("cup").translation)
    assert held.principal[0] == pytest.approx(np.full(3, 0.4 * 0.4 * 0.05**2))
    whole, some = study.mass_properties(rb), study.mass_properties(rb, bodies=["link1", "link2"], frame="link2")
    assert whole.mass == pytest.approx(mb.total_mass)
    assert (whole.frame, some.frame) == ("inertial", "link2")
    X = mb.pose("link1", "link2")
    m1, m2 = mb["link1"].inertia, mb["link2"].inertia
    assert some.com[0] == pytest.approx((m1.mass * (X @ m1.com) + m2.mass * m2.com) / (m1.mass + m2.mass))
    limb = study.mass_properties(rb, bodies=rb["arm"])
    assert limb.mass == pytest.approx(sum(b.inertia.mass for b in rb["arm"].bodies))
    del arm


def test_samples_come_from_a_seed_and_stay_within_limits():
    rb = sc.robot.Robot(sc.load("ur5e"))
    a, b = (study.mass_properties(rb, samples=20, seed=4) for _ in range(2))
    assert a.same_as(b)
    assert len(a.q) == 20
    assert np.ptp(a.com[:, 2]) > 0.1


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    m = study.mass_properties(planar(2.0, 1.0), [[0.0, 0.0], [0.0, 1.0]])
    assert m.table().rows[0] == ("mass [kg]", 2.0, 2.0)
    assert repr(m).startswith("MassProperties of 'arm', 2 bodies: 2 kg at (2.27 to 2.5, 0 to 0.4207, 0) m in")
    assert study.load(m.save(tmp_path / "m.h5")).same_as(m)


def test_refused():
    rb = planar(1.0)
    with pytest.raises(StateError, match="mass is that of bodies, and 'l1/tip' is none"):
        study.mass_properties(rb, bodies=["l1/tip"])
    with pytest.raises(StateError, match="give q, or a number of samples, not both"):
        study.mass_properties(rb, [[0.0]], samples=3)
    with pytest.raises(StateError, match="'five_bar' has loops or couplings: give configurations that are closed"):
        study.mass_properties(sc.load("five_bar"), samples=3)
    other = planar(1.0).limb("arm", "inertial", "l1")
    with pytest.raises(StateError, match="limb 'arm' is of another robot"):
        study.mass_properties(rb, bodies=other)
    rb.mb.add_body("ghost", "l1", sc.Weld(), sc.Inertia(0.0))
    with pytest.raises(StateError, match="the bodies of 'arm' that are asked for have no mass"):
        study.mass_properties(rb, bodies="ghost")
