"""Operational limits in closed form: payload of a pendulum, speed by torque ~ s^2, a block on a slope, reach of two
links by length, torque and a wall, a four-bar linkage that cannot be closed further, a cart that tips over."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import bars, pendulum, planar

import soacraft as sc
from soacraft.errors import ConvergenceError, ModelError, StateError
from soacraft.robot.studies import operation

study = sc.robot.study
G = 9.81
FEET = np.array([[0.2, 0.1, 0], [-0.2, 0.1, 0], [-0.2, -0.1, 0], [0.2, -0.1, 0]])


def block(height=0.5):
    mb = sc.Multibody("block", gravity=(0, 0, -G))
    at = sc.Pose(translation=(0, 0, height))
    mb.add_body("box", None, sc.Weld(), sc.Inertia.box(5.0, (0.1, 0.1, 0.1)), inboard=at)
    return mb


# -- payload ---------------------------------------------------------------------------------------------------------


def test_payload_by_torque_is_that_of_the_closed_form():
    rb = pendulum(2.0, 0.5, G, 30.0)
    r = study.largest_payload(rb, "bob/tip", [0.4])
    assert r.most == pytest.approx(30.0 / (G * 0.5 * np.cos(0.4)) - 2.0, rel=1e-9)
    assert (r.binding, r.why) == ("torque", "'bob'")
    arm = rb.limb("arm", "inertial", "bob/tip")
    way = dict(v=[[2.0], [1.0]], vdot=[[3.0], [-1.0]], com=(0.1, 0, 0.1))
    q = [[0.4], [0.6]]
    moving = study.largest_payload(rb, "bob/tip", q, **way)
    assert moving.most == pytest.approx(study.payload(arm, q, **way).everywhere, rel=1e-9)


def test_payload_by_standing():
    """A boom on a platform tips about its front feet: m0 (a) = M (x - a)."""
    mb = block(0.1)
    mb.add_body("boom", "box", sc.Pin((0, -1, 0)), sc.Inertia(1e-9, (1, 0, 0)))
    mb["boom"].add_node("hook", sc.Pose(translation=(1.0, 0, 0)))
    r = study.largest_payload(mb, "boom/hook", [0.0], contacts=study.Contacts(FEET))
    assert r.most == pytest.approx(5.0 * 0.2 / 0.8, rel=1e-6)
    assert r.binding == "standing"
    assert np.array_equal(mb.gravity, [0, 0, -G])


# -- speed -----------------------------------------------------------------------------------------------------------


def motion(rows=81):
    t = np.linspace(0, 2 * np.pi, rows)[:, None]
    return t[:, 0], 0.5 * np.sin(t), 0.5 * np.cos(t), -0.5 * np.sin(t)


def test_speed_by_torque_grows_with_its_square():
    rb = planar(0.5, masses=[2.0])
    r = study.largest_speed(rb, motion(), efforts=4.0)
    peak = 2.0 * 0.25 * np.abs(motion()[3]).max()
    assert r.most == pytest.approx(np.sqrt(4.0 / peak), rel=1e-9)
    assert (r.binding, r.unit) == ("torque", "times")


def test_speed_by_the_limit_of_velocity_and_with_gravity():
    rb = planar(0.5, masses=[2.0])
    rb.mb["l1"].limits = sc.Limits(velocity=[1.1])
    r = study.largest_speed(rb, motion(), efforts=400.0)
    assert r.most == pytest.approx(1.1 / 0.5, rel=1e-9)
    assert (r.binding, r.why) == ("speed", "'l1'")
    weak = study.largest_speed(pendulum(effort=5.0), motion())
    assert np.isnan(weak.most)
    assert weak.binding == "torque"


def cart(height=0.5):
    """A mass on a slide along x, at a height."""
    mb = sc.Multibody("cart", gravity=(0, 0, -G))
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(3.0), inboard=sc.Pose(translation=(0, 0, height)))
    return mb


def test_speed_by_the_zero_moment_point():
    """z = x - h a/g: at the front foot where h a/g = 0.2 + x, for all rows; friction a/g."""
    t, q, v, vdot = motion()
    way = (t, 0.01 * q, 0.01 * v, 0.01 * vdot)
    r = study.largest_speed(cart(), way, contacts=study.Contacts(FEET, friction=2.0))
    x, a = 0.01 * q[:, 0], np.abs(0.01 * vdot[:, 0])
    moving = a > 1e-6
    assert r.most == pytest.approx(np.sqrt(((0.2 - np.abs(x)) * G / 0.5)[moving] / a[moving]).min(), rel=1e-6)
    assert r.binding == "standing"
    r = study.largest_speed(cart(), way, contacts=study.Contacts(FEET, friction=0.3))
    assert r.most == pytest.approx(np.sqrt(0.3 * G / a.max()), rel=1e-6)
    assert (r.binding, r.why) == ("friction", "the feet slide")


# -- slope -----------------------------------------------------------------------------------------------------------


def test_a_block_slides_or_tips_over():
    """tan x = mu, or a/h, whichever is first; about y the feet are 0.2 m away, about x 0.1 m."""
    r = study.largest_slope(block(), [], (0, 1, 0), contacts=study.Contacts(FEET, friction=0.9), samples=9)
    assert np.tan(r.most) == pytest.approx(0.2 / 0.5, rel=1e-7)
    assert r.binding == "standing"
    r = study.largest_slope(block(), [], (1, 0, 0), contacts=study.Contacts(FEET, friction=0.9), samples=9)
    assert np.tan(r.most) == pytest.approx(0.1 / 0.5, rel=1e-7)
    r = study.largest_slope(block(), [], (0, 1, 0), contacts=study.Contacts(FEET, friction=0.3), samples=9)
    assert np.tan(r.most) == pytest.approx(0.3, rel=1e-7)
    assert r.why == "no forces inside the friction cones hold it, wherever its mass is"


def down(about):
    """Where a slope about an axis falls to, in the plane of the feet."""
    return np.array([about[1], -about[0]]) / np.hypot(*about[:2])


@pytest.mark.parametrize("degrees", [0.0, 10.0, 22.5, 67.5, 100.0, 200.0])
def test_a_block_slides_where_the_slope_is_friction_whatever_its_direction(degrees):
    """By cones, not pyramids: tan x = mu about any axis."""
    about = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees)), 0.0
    r = study.largest_slope(block(0.05), [], about, contacts=study.Contacts(FEET, friction=0.3), samples=5)
    assert np.tan(r.most) == pytest.approx(0.3, rel=1e-7)
    assert (r.binding, r.why) == ("standing", "no forces inside the friction cones hold it, wherever its mass is")


def test_a_block_slides_about_an_axis_of_the_feet_with_all_defaults():
    r = study.largest_slope(block(0.05), [], (1, 0, 0), contacts=study.Contacts(FEET, friction=0.3))
    assert np.tan(r.most) == pytest.approx(0.3, rel=1e-7)


@pytest.mark.parametrize("degrees", [10.0, 22.5, 67.5, 100.0])
def test_a_block_tips_over_the_edge_that_its_weight_passes_first(degrees):
    """h tan x along the way down, against the edges at 0.2 and 0.1."""
    about = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees)), 0.0
    r = study.largest_slope(block(), [], about, contacts=study.Contacts(FEET, friction=0.9), samples=5)
    assert np.tan(r.most) == pytest.approx((np.array([0.2, 0.1]) / np.abs(down(about))).min() / 0.5, rel=1e-7)
    assert r.binding == "standing"
    assert r.why.startswith("edge ")


def test_how_far_it_is_from_sliding_is_told_by_pyramids_and_is_never_too_much():
    """Where the cones hold it and the pyramids do not, the margin is zero; before, that of the edges of the feet."""
    about = np.array([np.cos(np.pi / 32), np.sin(np.pi / 32), 0.0])  # between two edges of the pyramids
    g = sc.spatial.rotations.from_axis_angle
    steep = np.arctan(0.3) * (1.0 - 1e-3)

    def operation(x):
        return study.Operation([], gravity=g(about, -x) @ [0, 0, -G])

    margins = study.Margins(block(0.05), operation, contacts=study.Contacts(FEET, friction=0.3))
    assert margins(0.0)["standing"][0] == pytest.approx(0.1, abs=1e-9)
    assert margins(steep)["standing"] == (0.0, "friction: its cones hold it, and only just")
    assert margins(np.arctan(0.3) * (1.0 + 1e-6))["standing"][0] == -np.inf


def test_where_a_cone_program_is_not_solved_the_pyramids_tell(monkeypatch):
    """Of 32 sides, by a direction between two of their edges: tan x = mu cos(pi / 32)."""

    def unsolved(*given):
        raise ConvergenceError("a cone program was not solved.")

    monkeypatch.setattr(operation, "reserve", unsolved)
    contacts, about = study.Contacts(FEET, friction=0.3), (np.cos(np.pi / 32), np.sin(np.pi / 32), 0.0)
    r = study.largest_slope(block(0.05), [], about, contacts=contacts, samples=3)
    assert np.tan(r.most) == pytest.approx(0.3 * np.cos(np.pi / 32), rel=1e-7)
    assert r.why == "no forces inside the friction cones hold it"


def test_nothing_stands_on_a_line():
    r = study.largest_slope(block(), [], (0, 1, 0), contacts=study.Contacts(FEET[:2] - [0, 0.1, 0]), samples=3)
    assert np.isnan(r.most)
    assert (r.binding, r.why) == ("standing", "its contacts are on a line, and nothing stands on one")


def test_the_worst_configuration_of_several_decides():
    """A mass on a slide along x, at 0, 0.15 and 0.1 m: it tips where h tan x = 0.2 - 0.15."""
    mb = cart()
    mb["cart"].limits = sc.Limits(effort=[1e6])
    contacts = study.Contacts(FEET, friction=0.9)
    r = study.largest_slope(mb, [[0.0], [0.15], [0.1]], (0, 1, 0), contacts=contacts, samples=5)
    assert np.tan(r.most) == pytest.approx(0.05 / 0.5, rel=1e-7)


def test_a_pendulum_on_a_slope_is_held_until_it_is_too_heavy():
    """m g l cos(q - x) <= T_max, q = 1.2: with the slope it comes down."""
    rb = pendulum(2.0, 0.5, G, 8.0)
    r = study.largest_slope(rb, [1.2], (0, 1, 0))
    assert r.most == pytest.approx(1.2 - np.arccos(8.0 / (2.0 * G * 0.5)), rel=1e-9)
    assert r.binding == "torque"


def biped():
    """A mass on two legs that slide along z; the base floats."""
    mb = sc.Multibody("biped", gravity=(0, 0, -G))
    body = mb.add_body("body", None, sc.Free(), sc.Inertia.box(8.0, (0.2, 0.2, 0.2)))
    for side, x in (("front", 0.3), ("back", -0.3)):
        for wing, y in (("left", 0.2), ("right", -0.2)):
            leg = mb.add_body(f"{side} {wing}", body, sc.Prismatic((0, 0, 1)), sc.Inertia(0.5),
                              inboard=sc.Pose(translation=(x, y, -0.5)))  # fmt: skip
            leg.add_node("foot")
    return mb


def test_a_floating_robot_on_four_legs():
    """Legs carry the weight by their slides: on a slope about y the two lower ones more, up to their effort.
    Least squares share as the planes do: f = W cos/4 (1 +- 4 h tan / (4 a)) on each pair, a = 0.3, h of the mass."""
    mb = biped()
    feet = [f"{x}/foot" for x in ("front left", "front right", "back left", "back right")]
    q = np.array(mb.q)
    W, height = mb.total_mass * G, 8.0 * 0.5 / 10.0
    contacts = study.Contacts(feet, friction=1.5)
    tip = study.largest_slope(mb, q, (0, 1, 0), contacts=contacts, efforts=1e6, samples=9)
    assert np.tan(tip.most) == pytest.approx(0.3 / height, rel=1e-6)
    x = 0.2
    foot = 0.25 * W * (np.cos(x) + np.sin(x) * height / 0.3)  # of the lower feet, along the normal
    strong = foot - 0.5 * G * np.cos(x)  # a leg's own weight is on the ground
    r = study.largest_slope(mb, q, (0, 1, 0), contacts=contacts, efforts=strong, samples=9)
    assert r.binding == "torque"
    assert r.why in ("'front left'", "'front right'")
    assert r.most == pytest.approx(x, rel=1e-6)


@pytest.mark.parametrize("degrees", [0.0, 22.5])
def test_a_floating_robot_slides_where_the_slope_is_friction(degrees):
    """Also the forces of its feet are inside of cones, not of pyramids."""
    mb = biped()
    feet = [f"{x}/foot" for x in ("front left", "front right", "back left", "back right")]
    about = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees)), 0.0
    contacts = study.Contacts(feet, friction=0.2)
    r = study.largest_slope(mb, np.array(mb.q), about, contacts=contacts, efforts=1e6, samples=5)
    assert np.tan(r.most) == pytest.approx(0.2, rel=1e-7)


# -- reach -----------------------------------------------------------------------------------------------------------


def two_links(effort=np.inf, gravity=(0, 0, 0)):
    rb = planar(2.0, 1.0, masses=[1e-9, 1e-9], gravity=gravity)
    for name in ("l1", "l2"):
        rb.mb[name].limits = sc.Limits(effort=[effort])
    return rb, rb.limb("arm", "inertial", "l2/tip")


FREE = ("rx", "ry", "rz")


def test_reach_by_the_links():
    _, arm = two_links()
    r = study.largest_reach(arm, sc.Pose(translation=(1.5, 0, 0)), (1, 0, 0), free=FREE)
    assert r.most == pytest.approx(1.5, abs=1e-6)
    assert r.binding == "configuration"
    assert "the nearest approach is off by" in r.why


def test_reach_by_torque():
    """A load of 2 kg at x holds the shoulder to 2 g x <= 50."""
    _, arm = two_links(50.0, gravity=(0, -G, 0))
    r = study.largest_reach(arm, sc.Pose(translation=(1.5, 0, 0)), (1, 0, 0), free=FREE, mass=2.0)
    assert 1.5 + r.most == pytest.approx(50.0 / (2.0 * G), rel=1e-7)
    assert (r.binding, r.why) == ("torque", "'l1'")


def test_reach_by_a_wall():
    rb, arm = two_links()
    rb.mb["l2"].add_geometry(sc.Geometry("hand", "sphere", (0.05,), sc.Pose(translation=(1, 0, 0)), role="collision"))
    w = sc.robot.World(rb)
    w.add("wall", sc.contact.Box(0.2, 8.0, 1.0), sc.Pose(translation=(2.6, 0, 0)))
    r = study.largest_reach(arm, sc.Pose(translation=(1.5, 0, 0)), (1, 0, 0), free=FREE, world=w)
    assert 1.5 + r.most == pytest.approx(2.45, rel=1e-9)
    assert r.binding == "collision"
    assert "wall" in r.why


# -- closure ---------------------------------------------------------------------------------------------------------


def test_a_linkage_that_cannot_be_closed_further():
    """The bars are straight at cos x = 0.26/0.54."""
    mb = bars()
    solver = sc.loops.TreeAugmented(mb)

    def operation(x):
        return study.Operation(solver.assemble([x, 2.5, 0.5], fixed=["crank"]))

    margins = study.Margins(mb, operation, efforts={"crank": 1.0})
    r = study.limit("crank", margins, 0.1, 2.0, unit="rad", samples=5)
    assert r.most == pytest.approx(np.arccos(0.26 / 0.54), abs=1e-5)
    assert r.binding == "configuration"
    open_ = study.Margins(mb, lambda x: study.Operation([x, 2.5, 0.5]), efforts={"crank": 1.0})
    r = study.limit("crank", open_, 0.1, 2.0, samples=3)
    assert r.binding == "closure"
    assert "is open by" in r.why


# -- refusals --------------------------------------------------------------------------------------------------------


def test_refused():
    rb, arm = two_links()
    far = sc.Pose(translation=(9, 0, 0))
    with pytest.raises(StateError, match="limb 'arm' does not reach the pose that it is to start from: too far"):
        study.largest_reach(arm, far, (1, 0, 0), free=FREE)
    with pytest.raises(ModelError, match="reach is that of a Limb"):
        study.largest_reach(rb, far, (1, 0, 0))
    with pytest.raises(StateError, match=r"reach begins at one Pose\(...\) in the limb's base, got 5"):
        study.largest_reach(arm, 5, (1, 0, 0))
    with pytest.raises(StateError, match="a payload is held at a frame: say which one with tip"):
        study.largest_payload(rb, None, [0.0, 0.0])
    with pytest.raises(StateError, match="'arm' has no gravity, so that slopes do not matter"):
        study.largest_slope(rb, [0.0, 0.0], (0, 1, 0))
    with pytest.raises(StateError, match=r"contacts= is sc\.robot\.study\.Contacts\(points\), got 5"):
        study.largest_slope(block(), [], (0, 1, 0), contacts=5)
    with pytest.raises(StateError, match="world= is a World around this robot, got 5"):
        study.largest_payload(rb, "l2/tip", [0.0, 0.0], world=5)
    with pytest.raises(StateError, match=r"an operation is a sc\.robot\.study\.Operation\(q\), got 5 at 0"):
        study.limit("x", study.Margins(rb, lambda x: 5), 0.0, 1.0)
    with pytest.raises(StateError, match="a mass is held at tip=: say where"):
        study.limit("x", study.Margins(rb, lambda x: study.Operation([0.0, 0.0], mass=1.0)), 0.0, 1.0)
    with pytest.raises(StateError, match="standing in motion is judged on level ground"):
        study.largest_speed(cart(), motion(), contacts=study.Contacts(FEET, normal=(0.1, 0, 1)))
    with pytest.raises(StateError, match=r"dof 'body.*' of 'biped' has no motor"):
        study.largest_slope(biped(), biped().q, (0, 1, 0))
    with pytest.raises(StateError, match="contacts are at least one foot or place, as a list; got 'foot'"):
        study.Contacts("foot")
    with pytest.raises(StateError, match="friction is one number, or 4, not negative; got -1"):
        study.largest_slope(block(), [], (0, 1, 0), contacts=study.Contacts(FEET, friction=-1))
    with pytest.raises(StateError, match="the normal of contacts is one that is not zero, or 4; got"):
        study.largest_slope(block(), [], (0, 1, 0), contacts=study.Contacts(FEET, normal=(0, 0, 0)))


def test_a_search_that_fails_is_a_margin():
    def operation(x):
        if x > 0.5:
            raise ConvergenceError("no way on.")
        return study.Operation([0.0])

    r = study.limit("x", study.Margins(pendulum(), operation), 0.0, 1.0)
    assert r.most == pytest.approx(0.5, rel=1e-9)
    assert (r.binding, r.why) == ("configuration", "no way on.")
