"""Payload: a pendulum in closed form at rest and in motion; the verdict agrees with a model that has the mass on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.robot.studies.models import four_bar, pendulum, planar

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.robot.studies.payload import masses

study = sc.robot.study
G = 9.81


def arm_of(rb, tip="bob/tip"):
    return rb.limb("arm", "inertial", tip)


def test_a_pendulum_at_rest():
    """(m + M) g l |cos q| = T_max."""
    q = np.array([[0.0], [0.5], [1.2], [2.5]])
    p = study.payload(arm_of(pendulum(2.0, 0.5, G, 30.0)), q)
    assert p.most == pytest.approx(30.0 / (G * 0.5 * np.abs(np.cos(q[:, 0]))) - 2.0)
    assert (p.least == 0.0).all()
    assert (p.binding == 0).all()
    assert p.everywhere == pytest.approx(30.0 / (G * 0.5) - 2.0)
    assert p.position[1] == pytest.approx([0.5 * np.cos(0.5), 0, 0.5 * np.sin(0.5)])


def test_a_pendulum_in_motion_with_its_load_off_the_tip():
    """(m l^2 + M c^2) vdot + (m l + M c) g cos q = T_max, c = l + 0.2; the speed does not matter."""
    q, v, vdot = [[0.4]], [[3.0]], [[2.0]]
    p = study.payload(arm_of(pendulum(2.0, 0.5, G, 30.0)), q, v=v, vdot=vdot, com=(0.2, 0, 0))
    c = 0.7
    M = (30.0 - 2.0 * 0.25 * 2.0 - 2.0 * 0.5 * G * np.cos(0.4)) / (c * c * 2.0 + c * G * np.cos(0.4))
    assert p.most == pytest.approx([M])


def test_a_motor_that_is_too_weak_and_one_that_needs_a_counterweight():
    weak = study.payload(arm_of(pendulum(2.0, 0.5, G, 5.0)), [[0.0], [1.5]])
    assert np.isnan(weak.most[0])
    assert weak.binding[0] == 0
    assert weak.most[1] == pytest.approx(5.0 / (G * 0.5 * np.cos(1.5)) - 2.0)
    assert np.isnan(weak.everywhere)
    assert "1 do not hold at all" in repr(weak)
    beam = pendulum(2.0, -0.5, G, 6.0)  # the mass is behind the pivot, the tip in front of it
    beam.mb["bob"].add_node("hand", sc.Pose(translation=(1.0, 0, 0)))
    p = study.payload(arm_of(beam, "bob/hand"), [[0.0]])
    assert p.least == pytest.approx([(2.0 * 0.5 * G - 6.0) / G])
    assert p.most == pytest.approx([(2.0 * 0.5 * G + 6.0) / G])


def test_straight_up_nothing_is_felt():
    p = study.payload(arm_of(planar(1.0, gravity=(0, 0, -G)), "l1/tip"), [[0.3]], efforts=1.0)
    assert np.isinf(p.most).all()
    assert p.binding[0] == -1
    assert p.table().column("binding") == ["none"]


@tries(20)
@given(seed=st.integers(0, 10**6), dofs=st.integers(2, 6))
def test_the_mass_on_the_model_uses_the_motor_up(seed, dofs):
    """A model that has the largest mass at its tip asks the limit of the binding motor, and no more of others."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("random", gravity=(0.0, 0.0, -G))
    parent = None
    for i in range(dofs):
        hinge = sc.Pin(rng.normal(size=3)) if rng.random() < 0.7 else sc.Prismatic(rng.normal(size=3))
        parent = mb.add_body(f"b{i}", parent, hinge, sc.Inertia(0.3, rng.normal(size=3) * 0.1),
                             inboard=sc.Pose.from_rpy(*rng.normal(size=3), rng.normal(size=3) * 0.3))  # fmt: skip
    tip = parent.add_node("tip", sc.Pose.from_rpy(*rng.normal(size=3), rng.normal(size=3) * 0.3))
    q, v, vdot = rng.normal(size=(3, 1, dofs))
    com = rng.normal(size=3) * 0.1
    limit = np.abs(sc.dynamics.inverse_dynamics(mb, q[0], v[0], vdot[0])) + rng.uniform(1.0, 20.0, dofs)
    rb = sc.robot.Robot(mb)
    p = study.payload(arm_of(rb, f"b{dofs - 1}/tip"), q, v=v, vdot=vdot, com=com, efforts=limit)
    assert p.most[0] > 0.0
    mb.add_body("load", parent, sc.Weld(), sc.Inertia(float(p.most[0]), com), inboard=tip.offset)
    T = np.abs(sc.dynamics.inverse_dynamics(mb, q[0], v[0], vdot[0]))
    assert T[p.binding[0]] == pytest.approx(limit[p.binding[0]], rel=1e-8)
    assert (T / limit).max() <= 1 + 1e-8


def test_all_that_hangs_from_the_limb_counts_and_a_floating_base_is_held():
    """An arm of h1: the same as of a model of that arm alone, whose base is welded."""
    rb = sc.robot.Robot(sc.load("h1"))
    arm = rb.limb("right arm", "torso_link", "right_elbow_link")
    q = np.array([[0.3, -0.4, 0.2, 0.9], [0.0, 0.0, 0.0, 0.0]])
    p = study.payload(arm, q)
    whole = arm.of_robot(q)
    J = sc.dynamics.jacobian(rb.mb, whole, "right_elbow_link")[..., arm.v_places]
    assert p.per_mass == pytest.approx(G * J[:, 5])
    assert p.empty == pytest.approx(sc.dynamics.gravity_force(rb.mb, whole)[:, arm.v_places], abs=1e-12)
    upper = rb.limb("upper arm", "torso_link", "right_shoulder_yaw_link")
    assert study.payload(upper, q[:, :3]).empty == pytest.approx(
        sc.dynamics.gravity_force(rb.mb, rb["upper arm"].of_robot(q[:, :3]))[:, upper.v_places], abs=1e-12
    )


def test_a_closed_chain():
    """A load on the rocker of a four-bar linkage: virtual work of gravity, T dq = M g dh, gives T1 of the crank."""
    rb = sc.robot.Robot(four_bar())
    q, mb = np.array(rb.mb.q), rb.mb
    solver = sc.loops.TreeAugmented(mb)
    v = solver.project_velocity(q, [1.0, 0.0, 0.0])
    lifted = sc.dynamics.jacobian(mb, q, "rocker/end")[4] @ v / v[0]
    T0 = solver.inverse_dynamics(q, 0 * v, 0 * v, ["crank"])[0]
    ends = (np.array([-20.0, 20.0]) - T0) / (G * lifted)
    for tip in ("rocker/end", "coupler/end"):  # the same point
        limb = rb.limb("bar", "inertial", tip)
        p = study.payload(limb, limb.q[None], efforts={"crank": 20.0})
        assert p.dofs == ("crank",)
        assert p.empty[0] == pytest.approx([T0])
        assert p.per_mass[0] == pytest.approx([G * lifted], rel=1e-6)
        assert p.most == pytest.approx([ends.max()], rel=1e-6)
    with pytest.raises(StateError, match="limb 'bar' has loops or couplings: give configurations at which"):
        study.payload(limb, efforts={"crank": 20.0})


def test_a_map_of_reach_and_samples_are_configurations():
    rb = pendulum()
    arm = arm_of(rb)
    m = study.reach_map(arm, 0.5, ((-0.5, 0, -0.5), (0.5, 0, 0.5)), free=("rx", "ry", "rz"))
    p = study.payload(arm, m)
    assert len(p.most) == (m.reached > 0).sum() == 4
    a, b = (study.payload(arm, samples=200, seed=3) for _ in range(2))
    assert a.same_as(b)
    assert a.most.min() > 30.0 / (G * 0.5) - 2.0


def test_intervals_are_shared():
    lower, upper = np.array([-4.0, -4.0]), np.array([4.0, 4.0])
    T0, T1 = np.array([[8.0, 0.0], [8.0, -3.0], [0.0, 9.0]]), np.array([[-2.0, 1.0], [-2.0, 7.0], [1.0, 0.0]])
    least, most, binding = masses(T0, T1, lower, upper)
    assert least[0] == 2.0  # 8 - 2 m <= 4
    assert most[0] == 4.0  # m <= 4
    assert binding[0] == 1
    assert np.isnan(most[1:]).all()  # m >= 2 and m <= 1; a dof that no mass relieves
    assert list(binding[1:]) == [0, 1]


def test_it_shows_itself_and_comes_back_from_its_file(tmp_path):
    p = study.payload(arm_of(pendulum()), [[0.0], [0.7]])
    assert repr(p).startswith("Payload of 'arm' at 2 configurations: 4.116 to 5.997 kg, bound by 'bob' at the least")
    assert p.table().rows[0][:2] == ("bob", 2)
    assert study.load(p.save(tmp_path / "p.h5")).same_as(p)
    none = study.payload(arm_of(pendulum(effort=1.0)), [[0.0]])
    assert repr(none) == "Payload of 'arm': it holds at none of 1 configurations"
    assert none.table().column("binding") == ["holds nothing"]


def test_refused():
    with pytest.raises(ModelError, match="payload is of a Limb"):
        study.payload("arm")
    with pytest.raises(StateError, match="no motor of limb 'arm' has a limit of effort: give efforts="):
        study.payload(arm_of(planar(1.0), "l1/tip"))
    with pytest.raises(StateError, match=r"q of limb 'arm' must have shape \(any, 1\)"):
        study.payload(arm_of(pendulum()), [[0.0, 1.0]])
