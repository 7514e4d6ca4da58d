"""Plans of closed chains: every configuration closes, the loops are nearly closed between, nothing is touched."""

import gc
import weakref
from itertools import pairwise

import numpy as np
import pytest

import soacraft as sc
from soacraft.contact import Sphere
from soacraft.errors import LoopError, StateError
from soacraft.robot import Robot, World, plan
from soacraft.robot.planning.closed import CLOSED, OFF, ClosedChecker
from soacraft.robot.planning.of_ompl import FIRST
from soacraft.robot.planning.space import Space
from soacraft.spatial.rotations import log

Z = sc.Pin((0, 0, 1))


def five_bar():
    """Two arms of two rods whose tips are joined, and two closed configurations."""
    mb = sc.Multibody("five bar")
    turned = sc.Pose.from_rpy(0, np.pi / 2, 0).rotation
    for name, parent, at, length in (
        ("a1", None, 0.0, 1.0), ("a2", "a1", 1.0, 1.2), ("b1", None, 1.0, 1.0), ("b2", "b1", 1.0, 1.2),
    ):  # fmt: skip
        body = mb.add_body(name, parent, Z, sc.Inertia(1.0), inboard=sc.Pose(translation=(at, 0, 0)))
        rod = sc.Pose(rotation=turned, translation=(0.5 * length, 0, 0))
        body.add_geometry(sc.Geometry("rod", "capsule", (0.04, 0.8 * length), rod, role="collision"))
        body.add_node("end", sc.Pose(translation=(length, 0, 0)))
        body.limits = sc.Limits(-3.1, 3.1)
    mb.close_loop("tip", "a2/end", "b2/end", Z)
    solver = sc.loops.TreeAugmented(mb)
    ends = [solver.assemble(q, limits=True) for q in ([2.2, -1.0, 1.0, 1.0], [1.2, -1.2, 0.3, 1.2])]
    w = World(Robot(mb))
    w.allow("a2", "b2", "joined at the tip")
    return w, solver, ends


def opened(mb, q):
    """How far apart the tips are."""
    a, b = (mb.pose(x, state=mb.state(q)).translation for x in ("a2/end", "b2/end"))
    return float(np.abs(a - b).max())


def two_arms():
    """Two arms of three hinges in the plane, whose hands hold a bar between them, and the limb to that bar."""
    mb = sc.Multibody("two arms")
    turned = sc.Pose.from_rpy(0, np.pi / 2, 0).rotation
    for side, x in (("left", -0.5), ("right", 0.5)):
        parent, at = None, sc.Pose(translation=(x, 0, 0))
        for i, length in enumerate((0.6, 0.5, 0.1)):
            body = mb.add_body(f"{side}{i}", parent, Z, sc.Inertia(1.0), inboard=at)
            body.limits = sc.Limits(-3.0, 3.0)
            rod = sc.Pose(rotation=turned, translation=(0.5 * length, 0, 0))
            if i < 2:
                body.add_geometry(sc.Geometry("rod", "capsule", (0.03, 0.7 * length), rod, role="collision"))
            parent, at = body.name, sc.Pose(translation=(length, 0, 0))
    bar = mb.add_body("bar", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    bar.add_geometry(sc.Geometry("skin", "box", (0.3, 0.06, 0.06), role="collision"))
    rb = Robot(mb)
    for side, x, turn, near in (("left", -0.25, 0.0, [2.2, -1.7, -0.5]), ("right", 0.25, np.pi, [0.94, 1.7, 0.5])):
        arm = rb.limb(side, "inertial", f"{side}2")
        hand = sc.Pose(rotation=sc.Pose.from_rpy(0, 0, turn).rotation, translation=(x, 0.7, 0))
        mb.q = arm.placed(arm.ik(hand, near=near).q)
    mb.q = [*mb.q[:-7], 0, 0, 0, 1, 0, 0.7, 0]
    rb.grasp("bar", hands=["left2", "right2"])
    return World(rb), rb.limb("bar", "inertial", "bar")


def verify(w, p, solver):
    """Closed at every configuration, nearly so at points between that nobody looked at, and free there."""
    mb = w.robot.mb
    for x, y in pairwise(p.path):
        assert np.linalg.norm(solver.assemble(y) - y) <= CLOSED
        assert w.edge(x, y)
        for s in (0.1, 0.4, 0.6, 0.9):
            q = x + s * (y - x)
            shut = solver.assemble(q)
            assert np.linalg.norm(shut - q) <= 1.01 * OFF
            assert not w.collides(shut)
            assert (np.abs(q) <= mb.bodies[0].limits.upper + 1e-9).all()  # all have the same


@pytest.mark.parametrize("seed", [0, 1])
def test_a_tip_goes_round_a_post_with_the_loop_closed(seed):
    w, solver, (a, b) = five_bar()
    mb = w.robot.mb
    middle = mb.pose("a2/end", state=mb.state(solver.assemble(0.5 * (a + b), limits=True))).translation
    w.add("post", Sphere(0.08), sc.Pose(translation=middle))
    p = plan(w, a, b, seed=seed)
    assert p, p.why
    assert np.abs(p.path[[0, -1]] - [a, b]).max() < 1e-12
    assert max(opened(mb, q) for q in p.path) < 1e-8
    verify(w, p, solver)
    again = plan(w, a, b, seed=seed)
    assert (again.path == p.path).all()
    with pytest.raises(StateError, match=r"the path is one of a closed chain: put sc.robot.spline"):
        p.motion()


def test_couplings_are_kept():
    mb = sc.serial_chain(2)
    mb.couple("geared", {"link1": 1.0, "link2": -2.0})
    p = plan(World(Robot(mb)), [0.0, 0.0], [2.0, 1.0])
    assert p
    assert np.abs(p.path[:, 0] - 2.0 * p.path[:, 1]).max() < 1e-8


def test_what_is_refused():
    w, _, (a, b) = five_bar()
    with pytest.raises(
        StateError, match=r"the start does not close the loops of 'five bar' .*TreeAugmented\(mb\).assemble"
    ):
        plan(w, a + 0.1, b)
    for name in ("InformedRRTstar", "BITstar"):
        with pytest.raises(
            StateError, match=rf"'{name}' is for .* the loops or couplings of 'five bar', which it draws past: take 'RR"
        ):
            plan(w, a, b, planner=name)
    tip = w.robot.mb.pose("a2/end", state=w.robot.mb.state(b)).translation
    w.add("post", Sphere(0.1), sc.Pose(translation=tip))
    with pytest.raises(StateError, match=r"the goal is in collision: .*post/shape"):
        plan(w, a, b)


def test_a_search_ends_where_nothing_can_move():
    """q^2 = 1/4 has two solutions and no way between them: no motion is ever checked."""
    mb = sc.serial_chain(2)
    mb.couple("either side", {"link1": (0.0, 1.0)}, 0.25)
    mb.couple("still", {"link2": 1.0})
    p = sc.robot.plan(sc.robot.World(sc.robot.Robot(mb)), [0.5, 0.0], [-0.5, 0.0], most=20)
    assert not p
    assert "configurations that were looked at hardly any leads on" in p.why


@pytest.mark.parametrize("name", [*FIRST, "PRM", "RRTstar"])
def test_planners_of_ompl_keep_the_loop_closed_and_give_the_same_again(name):
    w, solver, (a, b) = five_bar()
    p = plan(w, a, b, planner=name, most=800 if name == "RRTstar" else 4000, shortcuts=5)
    assert p, p.why
    assert np.abs(p.path[[0, -1]] - [a, b]).max() < 1e-12
    verify(w, p, solver)
    again = plan(w, a, b, planner=name, most=800 if name == "RRTstar" else 4000, shortcuts=5)
    assert (again.path == p.path).all()


def test_nothing_of_a_search_by_ompl_is_kept():
    """OMPL holds what projects, and that must not hold OMPL: no collector sees through it."""
    w, _, (a, b) = five_bar()
    plan(w, a, b, planner="RRT", most=20)
    robot = weakref.ref(w.robot)
    del w
    gc.collect()
    assert robot() is None


def test_ompl_goes_round_a_post():
    w, solver, (a, b) = five_bar()
    middle = w.robot.mb.pose("a2/end", state=w.robot.mb.state(solver.assemble(0.5 * (a + b)))).translation
    w.add("post", Sphere(0.08), sc.Pose(translation=middle))
    p = plan(w, a, b, planner="BKPIECE1", seed=2, shortcuts=5)
    assert p, p.why
    verify(w, p, solver)


@pytest.mark.parametrize("name", ["RRTConnect", "RRT"])
def test_angles_that_are_coupled_do_not_go_the_short_way(name):
    """A turn less of link1 is half a turn less of link2, so that (4 - 2 pi, 2) is no end of the way to (4, 2)."""
    mb = sc.serial_chain(2)
    mb.couple("geared", {"link1": 1.0, "link2": -2.0})
    p = plan(World(Robot(mb)), [0.0, 0.0], [4.0, 2.0], planner=name)
    assert p, p.why
    assert np.abs(p.path[:, 0] - 2.0 * p.path[:, 1]).max() < 1e-8
    assert np.abs(p.path[-1] - [4.0, 2.0]).max() < 1e-12


def test_angles_without_limits_of_a_loop_go_through_ompl():
    """As cosines and sines, which have no seam at half a turn: a parallel crank goes on through it."""
    mb = sc.Multibody("parallel cranks")
    for name, parent, x in (("a", None, 0.0), ("rod", "a", 0.5), ("b", None, 2.0)):
        mb.add_body(name, parent, Z, sc.Inertia(1.0), inboard=sc.Pose(translation=(x, 0, 0)))
    mb["rod"].add_node("end", sc.Pose(translation=(2.0, 0, 0)))
    mb["b"].add_node("end", sc.Pose(translation=(0.5, 0, 0)))
    mb.close_loop("pin", "rod/end", "b/end", Z)
    p = plan(World(Robot(mb)), [2.8, -2.8, 2.8], [3.4 - 2 * np.pi, 2 * np.pi - 3.4, 3.4 - 2 * np.pi], planner="RRT")
    assert p, p.why
    assert np.abs(p.path - p.path[:, :1] * [1.0, -1.0, 1.0]).max() < 1e-6  # the cranks stay parallel
    assert p.path[-1, 0] == pytest.approx(3.4)
    assert p.length == pytest.approx(0.6 * np.sqrt(3.0), rel=1e-3)


@pytest.mark.parametrize("planner", ["RRTConnect", "BKPIECE1"])
def test_two_arms_bring_a_bar_to_a_pose_and_into_a_region(planner):
    w, bar = two_arms()
    mb, q0 = w.robot.mb, np.array(w.robot.mb.q)
    solver = sc.loops.TreeAugmented(mb)
    w.add("post", Sphere(0.05), sc.Pose(translation=(0.0, 0.85, 0)))
    goal = sc.Pose(rotation=sc.Pose.from_rpy(0, 0, -0.3).rotation, translation=(0.15, 0.5, 0))
    mb.q = [0.0] * 6  # where the model is does not matter
    p = plan(w, q0, goal, planner, limb="bar", shortcuts=5)
    assert p, p.why
    assert (mb.q == 0.0).all()
    assert bar.pose(p.path[-1][bar.q_places]).is_close(goal)
    right = [mb.pose("right2", "left2", state=mb.state(q)) for q in p.path[[0, -1]]]
    assert right[1].is_close(right[0])  # both hands still hold it
    verify(w, p, solver)
    within = np.array([0.1, 0.1, 0.2, 0.02, 0.02, 0.02])
    near = plan(w, q0, goal, planner, limb=bar, tolerance=within, shortcuts=0, seed=1)
    X = goal.inv @ bar.pose(near.path[-1][bar.q_places])
    assert (np.abs(np.concatenate([log(X.rotation), X.translation])) <= within * (1 + 1e-9)).all()


def test_poses_that_two_arms_cannot_reach_and_coordinates_of_a_tied_limb():
    w, bar = two_arms()
    q0 = np.array(w.robot.mb.q)
    far = plan(w, q0, sc.Pose(translation=(3.0, 0, 0)), limb=bar)
    assert not far
    assert "too far" in far.why
    arm = w.robot["left"]
    solver = sc.loops.TreeAugmented(w.robot.mb)
    end = solver.assemble(q0 + np.array([0.1, 0.0, 0.0, 0.1, 0.0, 0.0]))
    p = plan(w, q0, end[arm.q_places], limb="left")  # the right arm goes along
    assert p, p.why
    assert np.abs(p.path[-1] - end).max() < 1e-6
    with pytest.raises(LoopError, match=r"limb 'left' has .* open by"):
        plan(w, q0, [-2.0, 0.0, 0.0], limb="left")


def checker_of(w, q):
    return ClosedChecker(w, Space(w.robot, q, range(w.robot.mb.nv), q), 100, None)


def test_a_step_never_ends_where_loops_are_open():
    """An end that is nearly closed, within what steps are from the loops between, is not taken for closed."""
    w, _, (a, _) = five_bar()
    checker = checker_of(w, a)
    made, whole = checker.go(a, a + np.array([3e-4, 0.0, 0.0, 0.0]), 3e-4, np.inf)
    assert not whole
    assert not made
    assert checker.way(a, a) == [a]


def test_a_path_that_leaves_the_loops_is_refused():
    w, _, (a, b) = five_bar()
    checker = checker_of(w, a)
    path = plan(w, a, b).path
    assert checker.refused(path) == ""
    assert "way 0: it leaves the loops by" in checker.refused(path[[0, -1]])
    open_ = path.copy()
    open_[3] += 1e-5
    assert "configuration 3 does not close, off by" in checker.refused(open_)
    tip = w.robot.mb.pose("a2/end", state=w.robot.mb.state(path[5])).translation
    w.add("post", Sphere(0.05), sc.Pose(translation=tip))
    assert "post/shape" in checker_of(w, a).refused(path)
    w.robot.mb["a1"].limits = sc.Limits(-3.1, float(path[5, 0]) - 1e-3)
    assert f"way 0: dof 'a1' = {path[1, 0]:.6g} is outside its limits" in checker_of(w, a).refused(path)
