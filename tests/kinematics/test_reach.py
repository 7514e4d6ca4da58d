"""What cannot be met: proofs by links and by boxes of configurations, on both sides of what can be reached."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import Direction, Placement, Position, inverse_kinematics
from soacraft.errors import ConvergenceError, LoopError
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.boxes import excluded
from soacraft.kinematics.reach import out_of_reach
from soacraft.kinematics.targets import aims_of, read_targets

Y, Z = (0, 1, 0), (0, 0, 1)
UNIT = sc.Inertia(1.0, (0, 0, 0), np.eye(3))


def arm(*links, hinges=None, limits=None):
    """Links along x from (5, 0, 0), pins about y unless told."""
    mb, parent, at = sc.Multibody("arm"), None, sc.Pose(translation=(5.0, 0, 0))
    for i, length in enumerate(links):
        hinge = sc.Pin(Y) if hinges is None else hinges[i]
        parent = mb.add_body(f"link{i}", parent, hinge, UNIT, at)
        if limits is not None:
            parent.limits = limits[i]
        at = sc.Pose(translation=(length, 0, 0))
    parent.add_node("tip", at)
    return mb


def verdict(mb, targets, q0=None, fixed=(), limits=True):
    """What links and boxes alone say: a text, and a number of boxes."""
    mask = np.isin(mb.dof_names, list(fixed))
    bounds = Bounds(mb, mask, limits)
    q = mb.q if q0 is None else q0
    ((*aims,),) = aims_of(mb, read_targets(targets), (), 1e-9)
    state = mb.state(q=bounds.inside(np.asarray(q)))
    texts = [out_of_reach(bounds, state, aim) for aim in aims]
    return next((x for x in texts if x), ""), excluded(bounds, state, aims)


# -- links ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("far", [1.3, 1.3001, 3.9999, 4.0])
def test_points_between_the_circles_of_an_arm(far):
    """Links of 2.65, 0.8 and 0.55 m: the tip is between 1.3 and 4 m from the first hinge."""
    mb = arm(2.65, 0.8, 0.55)
    mb.q = [0.3, 0.4, -0.5]
    found = inverse_kinematics(mb, {"link2/tip": 5.0 * np.eye(3)[0] + far * np.array([0.6, 0.0, -0.8])})
    assert found.converged
    assert found.proof == ""


@pytest.mark.parametrize(("far", "text"), [
    (1.2999, "0.0001 m within the 1.3 m that the links between keep it outside"),
    (4.0001, "0.0001 m beyond the 4 m that the links and slides between reach"),
])  # fmt: skip
def test_points_outside_of_them(far, text):
    mb = arm(2.65, 0.8, 0.55)
    goal = {"link2/tip": 5.0 * np.eye(3)[0] + far * np.array([0.6, 0.0, -0.8])}
    found = inverse_kinematics(mb, goal, q0=[0.3, 0.4, -0.5], allow_partial=True, starts=2)
    assert found.impossible
    assert found.proof == f"'link2/tip' would have to be {far:.4g} m from hinge 'link0', {text}"
    assert found.residual["link2/tip"].distance == pytest.approx(1e-4, rel=1e-5)


def test_a_pose_says_where_its_last_hinge_is():
    """The tip may be at 1.5 m, but not with the last link turned away: its hinge would be at 2.5 m."""
    mb = arm(1.0, 1.0, 1.0)
    back = sc.Pose(sc.Pose.from_rpy(0, np.pi, 0).rotation, (6.5, 0, 0))
    text, _ = verdict(mb, {"link2/tip": back})
    assert text.startswith("the last hinge before 'link2/tip' would have to be 2.5 m from hinge 'link0', 0.5 m beyond")
    assert verdict(mb, {"link2/tip": (6.5, 0, 0)})[0] == ""


def test_slides_count_by_their_travel():
    hinges = [sc.Pin(Y), sc.Prismatic((1, 0, 0))]
    mb = arm(1.0, 0.5, hinges=hinges, limits=[sc.Limits(), sc.Limits(0.2, 0.7)])
    for far, reached in ((2.19, True), (2.21, False)):
        assert (verdict(mb, {"link1/tip": (5.0 + far, 0, 0)})[0] == "") == reached
    assert verdict(mb, {"link1/tip": (15.0, 0, 0)}, limits=False)[0] == ""
    text, _ = verdict(mb, {"link1/tip": (7.0, 0, 0)}, q0=[0.0, 0.3], fixed=["link1"])
    assert text.startswith("'link1/tip' would have to be 2 m from hinge 'link0', 0.2 m beyond the 1.8 m")


def test_seen_from_a_frame_on_another_branch():
    """Two arms of 1 + 1 m from bases 3 m apart: their tips meet if they want, and are never more than 7 m apart."""
    mb = sc.Multibody("pair")
    for side, x in (("left", 0.0), ("right", 3.0)):
        lower = mb.add_body(f"{side}0", None, sc.Pin(Y), UNIT, sc.Pose(translation=(x, 0, 0)))
        upper = mb.add_body(f"{side}1", lower, sc.Pin(Y), UNIT, sc.Pose(translation=(1, 0, 0)))
        upper.add_node("tip", sc.Pose(translation=(1, 0, 0)))
    for far, reached in ((0.0, True), (6.99, True), (7.01, False)):
        target = Position("left1/tip", (-far, 0, 0), relative_to="right1/tip")
        assert (verdict(mb, target, q0=[0.2, 0.3, 0.4, 0.5])[0] == "") == reached


def test_held_hinges_make_one_link():
    mb = arm(1.0, 1.0, 1.0)
    bent = [0.0, np.pi / 2, 0.0]
    with pytest.raises(ConvergenceError, match=r"0\.1\d* m beyond the 2\.414 m that"):
        inverse_kinematics(mb, {"link2/tip": (5, 0, 2.55)}, fixed=["link1"], q0=bent)
    assert inverse_kinematics(mb, {"link2/tip": (5, 0, 2.35)}, fixed=["link1"], q0=bent)


# -- boxes ----------------------------------------------------------------------------------------------------------


def test_boxes_agree_with_a_fine_grid():
    """Two links with limits: points that are proved to be out of reach are those that no configuration comes near."""
    limits = [sc.Limits(-0.5, 1.0), sc.Limits(0.3, 2.0)]
    mb = arm(1.0, 0.7, limits=limits)
    a, b = np.meshgrid(np.linspace(-0.5, 1.0, 400), np.linspace(0.3, 2.0, 400))
    x, z = np.cos(a) + 0.7 * np.cos(a + b), -np.sin(a) - 0.7 * np.sin(a + b)
    rng, proved = np.random.default_rng(0), 0
    for goal in rng.uniform(-1.8, 1.8, (60, 2)):
        nearest = np.hypot(x - goal[0], z - goal[1]).min()
        text, boxes = verdict(mb, {"link1/tip": (5.0 + goal[0], 0.0, goal[1])}, q0=[0.0, 0.5])
        assert not (text or boxes) or nearest > 1e-4
        if nearest > 0.05:
            assert text or boxes
            proved += bool(boxes and not text)
    assert proved > 10


def test_directions_and_limits():
    """A wrist of two pins within half a radian each cannot point backwards; about parallel axes nothing tilts."""
    limits = [sc.Limits(-0.5, 0.5)] * 2
    mb = arm(1.0, 1.0, hinges=[sc.Pin(Z), sc.Pin(Y)], limits=limits)
    assert verdict(mb, Direction("link1", (1, 0, 0), (-1, 0.2, 0)))[1] > 0
    assert verdict(mb, Direction("link1", (1, 0, 0), (np.cos(0.4), np.sin(0.4), 0)))[1] == 0
    assert verdict(arm(1.0, 1.0), Direction("link1", Y, (0, 1, 1)), q0=[0.3, 0.4])[1] > 0
    found = inverse_kinematics(mb, Direction("link1", (1, 0, 0), (-1, 0.2, 0)), allow_partial=True, starts=2)
    assert found.proof.startswith("no configuration within the limits does (")


def test_loops_and_couplings_are_part_of_it():
    """A crank that a belt holds to a third of the other; four rods of which one is longer than the rest together."""
    mb = arm(1.0, 1.0, limits=[sc.Limits(-1, 1)] * 2)
    mb.couple("belt", {"link0": 1.0, "link1": -1.0})
    assert verdict(mb, {"link1/tip": (5 + np.cos(0.5), 0, -np.sin(0.5))}, q0=[0.0, 0.0])[1] > 0
    goal = (5 + np.cos(0.5) + np.cos(1.0), 0, -np.sin(0.5) - np.sin(1.0))
    assert verdict(mb, {"link1/tip": goal}, q0=[0.0, 0.0])[1] == 0
    long = arm(1.0, 1.0, 1.0)
    long.root.add_node("far", sc.Pose(translation=(9.0, 0, 0)))
    long.close_loop("ring", "inertial/far", "link2/tip", sc.Pin(Y))
    with pytest.raises(LoopError, match=r"the loops of 'arm' cannot close: .* 1 m beyond the 3 m that the links"):
        inverse_kinematics(long, {"link0": sc.Pose(translation=(5, 0, 0))}, starts=2)


@pytest.mark.parametrize("pitch", [0.5, -0.5, 3.0])
@pytest.mark.parametrize("far", [0.0, 0.2])
def test_a_screw_takes_its_axis_along(pitch, far):
    """A nut that turns by a tenth of a radian either way and carries a point on its axis or beside it: what it reaches
    is not excluded, what lies a little beyond its end is."""
    mb = sc.Multibody("screw")
    nut = mb.add_body("nut", None, sc.Helical((1, 0, 0), pitch), UNIT)
    nut.limits = sc.Limits(-0.1, 0.1)
    nut.add_node("tip", sc.Pose(translation=(0, far, 0)))
    for turn in (-0.1, -0.06, 0.0, 0.08, 0.1):
        point = (pitch * turn, far * np.cos(turn), far * np.sin(turn))
        assert verdict(mb, {"nut/tip": point}) == ("", 0)
        assert verdict(mb, {"nut": sc.Pose.from_rpy(turn, 0, 0, (pitch * turn, 0, 0))}) == ("", 0)
    beyond = (pitch * 0.11, far * np.cos(0.11), far * np.sin(0.11))
    text, boxes = verdict(mb, {"nut/tip": beyond})
    assert text or boxes


# -- never of what can be met -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_nothing_that_is_reached_is_proved_to_be_out_of_reach(seed):
    """Random chains of pins, universal joints, slides and screws, random limits and held dofs: the pose at a random
    configuration within them, asked for from another."""
    rng = np.random.default_rng(seed)
    kinds = [sc.Pin(Z), sc.Pin((1, 2, 2)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Prismatic((0, 0.6, 0.8)),
             sc.Cylindrical((0, 1, 0)), sc.Helical((1, 0, 0), 0.2), sc.Gimbal()]  # fmt: skip
    mb, parent = sc.Multibody("drawn"), None
    for i in range(rng.integers(1, 5)):
        hinge = kinds[rng.integers(len(kinds))]
        place = [sc.Pose.from_rpy(*rng.normal(size=3), rng.normal(size=3)) for _ in range(2)]
        parent = mb.add_body(f"body{i}", parent, hinge, UNIT, *place)
        low = rng.uniform(-2, 1, hinge.nv)
        parent.limits = sc.Limits(low, low + rng.uniform(0, 1.5, hinge.nv))
    parent.add_node("tip", sc.Pose.from_rpy(*rng.normal(size=3), rng.normal(size=3)))
    low = np.concatenate([body.limits.lower for body in mb.bodies])
    high = np.concatenate([body.limits.upper for body in mb.bodies])
    q, start = rng.uniform(low, high), rng.uniform(low, high)
    fixed = [name for name in mb.dof_names if rng.random() < 0.2]
    start = np.where(np.isin(mb.dof_names, fixed), q, start)
    T = mb.pose(f"{parent.name}/tip", state=mb.state(q=q))
    tip = f"{parent.name}/tip"
    for targets in (
        Placement(tip, sc.Pose(T.rotation, T.translation)),
        Position(tip, T.translation),
        Direction(tip, Z, T.rotation @ Z),
        [Position("inertial", -T.rotation.T @ T.translation, relative_to=tip)],
    ):
        assert verdict(mb, targets, q0=start, fixed=fixed) == ("", 0)
