"""Limbs with loops and couplings inside: what moves along, their true Jacobian, and its gradient."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.limbs.test_reaching import four_bar

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints
from soacraft.model.states.ties import moved_with, tied_dofs
from soacraft.robot.limbs import searching
from soacraft.spatial.rotations import log


def along(limb, q, name, h):
    """Coordinates of the limb after an independent dof has moved by h, loops closed."""
    mb = limb.robot.mb
    whole = limb.of_robot(q)
    whole[mb.layout.hinge_q[[x.hinge_name for x in mb.bodies].index(name)]] += h
    closed = sc.loops.ConstraintEmbedding(mb).assemble(whole, fixed=list(limb.independent), limits=False)
    return closed[limb.q_places]


def finger():
    """Three pins, the last two geared."""
    mb = sc.serial_chain(3)
    mb.couple("mimic", {"link2": 1.0, "link3": -1.0})
    mb.set_state(q=[0.1, 0.4, 0.4])
    return sc.robot.Robot(mb).limb("finger", "inertial", "link3/tip")


LIMBS = {"finger": finger, "four bar": lambda: four_bar(0)[0]}


@pytest.mark.parametrize("name", LIMBS)
def test_the_jacobian_is_that_of_the_motions_that_loops_leave(name):
    limb = LIMBS[name]()
    q, J = limb.q, limb.jacobian()
    assert J.shape == (6, len(limb.independent))
    assert len(limb.independent) == {"finger": 2, "four bar": 3}[name]
    for i, dof in enumerate(limb.independent):
        ends = [limb.pose(along(limb, q, dof, s * 1e-5)) for s in (1, -1)]
        linear = (ends[0].translation - ends[1].translation) / 2e-5
        angular = log(ends[0].rotation @ ends[1].rotation.T) / 2e-5
        assert np.allclose(J[:, i], np.concatenate([angular, linear]), atol=1e-7)
    assert np.allclose(limb.jacobian(np.array([q, q]))[1], J)
    f = np.arange(6.0)
    assert np.allclose(limb.torques(q, f), J.T @ f)


@pytest.mark.parametrize("name", LIMBS)
def test_manipulability_and_its_gradient_are_those_of_these_motions(name):
    limb = LIMBS[name]()
    q = limb.q
    rows = [3, 5] if name == "finger" else "linear"
    m = limb.manipulability(q, rows=rows)
    J = limb.jacobian(q)[[3, 5] if name == "finger" else [3, 4, 5]]
    assert np.isclose(m.volume, np.sqrt(np.linalg.det(J @ J.T)))
    assert m.rank == len(J)
    for i, dof in enumerate(limb.independent):
        ends = [limb.manipulability(along(limb, q, dof, s * 1e-4), rows=rows).volume for s in (1, -1)]
        assert np.isclose(m.volume_gradient[i], (ends[0] - ends[1]) / 2e-4, rtol=1e-5, atol=1e-7)


def test_what_is_tied_moves_along_and_keeps_its_limits():
    """The rocker is no part of the limb, and its limits hold: a goal for which it would have to pass them is told."""
    limb, _ = four_bar(1)
    mb = limb.robot.mb
    rocker = mb.dof_names.index("rocker")
    assert "rocker" not in limb.dof_names
    assert tied_dofs(mb).tolist() == [True, True, True, False, False]
    assert moved_with(mb, np.arange(5) == 0).tolist() == [True, True, True, False, False]
    moved = np.array(mb.q)
    moved[0] += 0.3
    moved = sc.loops.ConstraintEmbedding(mb).assemble(moved, fixed=["crank"])
    goal, free = limb.pose(moved[limb.q_places]), ("rx", "ry", "rz")
    r = limb.ik(goal, near=limb.q, free=free)
    assert r.found
    assert np.allclose(r.robot_q[rocker], moved[rocker], atol=1e-6)
    assert Constraints(mb, mb.state(r.robot_q)).opening < 1e-6
    half = 0.5 * (mb.q[rocker] + moved[rocker])
    assert moved[rocker] > half
    mb["rocker"].limits = sc.Limits(lower=[-1.0], upper=[half])
    held = limb.ik(goal, near=limb.q, free=free, seeds=3)
    assert not held.found
    assert f"rocker at its upper limit {half:.4g}" in held.why
    assert held.robot_q[rocker] <= half
    assert Constraints(mb, mb.state(held.robot_q)).opening < 1e-6


def test_a_limb_with_a_coupling_goes_by_the_model():
    limb = finger()
    assert limb.engine is None
    goal = limb.pose([0.3, 0.7, 0.7])
    r = limb.ik(goal, near=[0.2, 0.5, 0.5], free=("rx", "ry", "rz"))
    assert r.found
    assert abs(r.q[1] - r.q[2]) < 1e-6
    assert np.linalg.norm(limb.pose(r.q).translation - goal.translation) < 1e-8
    assert (r.robot_q == limb.of_robot(r.q)).all()


def test_coordinates_at_which_loops_are_open_are_refused():
    limb = finger()
    for ask in (limb.jacobian, limb.manipulability, limb.of_robot):
        with pytest.raises(LoopError, match=r"limb 'finger' has 'mimic' open by .* at q = \[0.1, 0.4, 0.9\]: give coo"):
            ask([0.1, 0.4, 0.9])


def test_a_goal_in_a_frame_that_a_loop_moves_is_refused():
    limb, _ = four_bar(2)
    with pytest.raises(sc.errors.StateError, match="'rocker' moves with limb 'leg', by hinge 'rocker'"):
        limb.ik(sc.Pose(), relative_to="rocker")


def test_an_arm_that_holds_something_with_another_still_reaches():
    """Two arms hold a bar: the loop goes through both, and the other arm follows."""
    mb = sc.Multibody("two arms")
    for side, y in (("l", 0.3), ("r", -0.3)):
        last = None
        for i in range(4):
            at = sc.Pose(translation=(0.0, y, 0.0)) if last is None else sc.Pose(translation=(0.4, 0.0, 0.0))
            pin = sc.Pin((0, 1, 0) if i % 2 else (0, 0, 1))
            last = mb.add_body(f"{side}{i}", last, pin, sc.Inertia(1.0), inboard=at).name
        mb[last].add_node("hand", sc.Pose(translation=(0.3, 0.0, 0.0)))
    mb.add_body("bar", "l3", sc.Weld(), sc.Inertia(1.0), inboard=sc.Pose(translation=(0.3, 0.0, 0.0)))
    mb["bar"].add_node("end", sc.Pose(translation=(0.0, -0.6, 0.0)))
    mb.close_loop("grip", "bar/end", "r3/hand", sc.Spherical())
    mb.set_state(q=sc.loops.ConstraintEmbedding(mb).assemble([0.2, 0.5, -0.4, -0.7, -0.3, 0.4, 0.5, -0.8]))
    limb = sc.robot.Robot(mb).limb("left", "inertial", "l3/hand")
    assert set(limb.independent) == set(limb.dof_names)  # the right arm follows, and moves on its own besides
    goal = limb.pose(limb.of_robot(limb.q + np.array([0.03, -0.03, 0.03, 0.03]))[limb.q_places])
    r = limb.ik(goal, near=limb.q)
    assert r.found
    assert np.abs(r.robot_q - mb.q).max() > 0.01
    assert Constraints(mb, mb.state(r.robot_q)).opening < 1e-6


@pytest.fixture(scope="module")
def leg():
    """A leg of Cassie: rods that are no part of it drive its foot and its spring. As loaded, both foot and crank are
    outside their limits."""
    return sc.robot.Robot(sc.load("cassie")).limb("leg", "cassie-pelvis", "left-foot")


def goals(limb, count):
    rng, here = np.random.default_rng(0), limb.pose()
    ways = rng.uniform([-0.3, -0.2, -0.1], [0.3, 0.2, 0.4], (count, 3))
    return [sc.Pose(here.rotation, here.translation + x) for x in ways]


def test_what_ik_finds_is_taken_by_all_else(leg):
    """The limb has its own answers: the same configuration of the robot, pose, Jacobian, forces, manipulability."""
    mb, f, found = leg.robot.mb, np.arange(6.0), 0
    for goal in goals(leg, 8):
        r = leg.ik(goal, near=leg.q, free=("rx", "ry", "rz"), seeds=6)
        if not r.found:
            continue
        found += 1
        assert np.abs(leg.pose(r.q).translation - goal.translation).max() < 1e-8
        assert (leg.of_robot(r.q) == r.robot_q).all()
        assert Constraints(mb, mb.state(r.robot_q)).opening < 1e-9
        J = leg.jacobian(r.q)
        assert np.allclose(leg.torques(r.q, f), J.T @ f)
        assert np.isclose(leg.manipulability(r.q, rows="linear").volume, np.sqrt(np.linalg.det(J[3:] @ J[3:].T)))
    assert found >= 5
    best = leg.ik(goals(leg, 2)[1], near=leg.q, free=("rx", "ry", "rz"), seeds=3, prefer="manipulability")
    assert best.found
    assert best.why == ""


def test_what_is_tied_stays_on_the_branch_that_it_is_on(leg):
    """Without limits, the spring could be turned over by almost half a turn, and close as well."""
    mb = leg.robot.mb
    spring = mb.layout.hinge_q[mb.layout.index[mb["left-heel-spring"]]]
    q = np.array([0.0, 0.0, 0.0, -0.91, -0.3, 1.28, -0.87])
    assert np.abs(leg.of_robot(q)[spring]).max() < 0.5
    ends = leg.of_robot(np.array([q, leg.q]))
    assert (ends[0] == leg.of_robot(q)).all()
    assert (ends[1] == mb.q).all()  # closed as it is, though beyond its limits


def test_the_reach_of_a_limb_with_loops_is_mapped(leg):
    box = ((-0.2, 0.1, -0.9), (0.2, 0.1, -0.6))
    m = sc.robot.study.reach_map(leg, 0.2, box, free=("rx", "ry", "rz"), seeds=3, progress=False)
    assert (m.reached > 0).sum() >= 2


def test_what_does_not_close_is_no_answer(leg, monkeypatch):
    def nothing(limb, q):
        raise LoopError("open by a mile")

    monkeypatch.setattr(searching, "closed", nothing)
    r = leg.ik(goals(leg, 2)[1], near=leg.q, free=("rx", "ry", "rz"), seeds=3)
    assert not r.found
    assert np.abs(r.residual).max() < 1e-8
    assert r.why == "open by a mile"


def test_coordinates_from_which_nothing_closes_are_refused_from_all_starts(leg):
    text = r"limb 'leg' has 'left-achilles-rod:left-heel-spring' open by .*close within limits, such as those that ik"
    with pytest.raises(LoopError, match=text):
        leg.of_robot([0.0, 0.0, 0.0, 0.1, 0.0, 1.9, -0.8])
    leg.of_robot([0.0, 0.0, 0.0, 1e300, 0.0, 0.0, -0.8])  # the way there is long, and not gone in short steps
