"""Sliders: which dofs may be moved, between which limits, and what a move of a closed chain leaves closed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.view.space.test_bending import crane

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StateError, ViewError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tolerances import CLOSED
from soacraft.model.sizes.scale import scale_of
from soacraft.view.space.live.sliders import Sliders


def four_bar(lengths=(1.0, 2.0, 1.5), ground=2.0):
    """Crank, coupler and rocker in the x-y plane, closed by a pin; assembled."""
    mb = sc.Multibody("four_bar")
    body, at = None, sc.Pose()
    for name, length in zip(("crank", "coupler", "rocker"), lengths, strict=True):
        body = mb.add_body(name, body, sc.Pin((0, 0, 1)), sc.Inertia.rod(1.0, length, (1, 0, 0)), inboard=at)
        at = sc.Pose(translation=(length, 0, 0))
    end = body.add_node("end", at)
    mb.close_loop("pin", mb.root.add_node("ground", sc.Pose(translation=(ground, 0, 0))), end, sc.Pin((0, 0, 1)))
    mb.q = sc.loops.TreeAugmented(mb).assemble([1.0, -0.5, -1.5])
    return mb


def test_a_tree_has_a_slider_for_every_dof_with_its_limits():
    mb = sc.load("h1")
    told = {x["name"]: x for x in Sliders(mb).told(np.asarray(mb.q))}
    assert list(told) == list(mb.dof_names)
    knee = next(x for x in mb.bodies if x.hinge_name == "left_knee")
    assert (told["left_knee"]["lower"], told["left_knee"]["upper"]) == (knee.limits.lower[0], knee.limits.upper[0])
    assert told["left_knee"]["unit"] == "rad"


def test_without_limits_a_turn_or_a_length_of_the_model_to_both_sides():
    mb = sc.load("cart_pole")
    length = scale_of(mb).length
    slide, turn = Sliders(mb).told(np.asarray(mb.q))
    assert (slide["unit"], slide["lower"], slide["upper"]) == ("m", -length, length)
    assert (turn["unit"], turn["lower"], turn["upper"]) == ("rad", -np.pi, np.pi)


def test_a_slider_of_a_mode_bends_its_body_as_far_as_can_be_seen():
    mb = crane()
    skin, extent = mb["boom"].modal.skin, np.hypot(2.0, np.hypot(0.1, 0.1))
    near, far = (Sliders(mb, exaggerate=s).told(np.asarray(mb.q)) for s in (1.0, 10.0))
    assert [x["name"] for x in near] == list(mb.dof_names)
    for one, other in zip(near[1:], far[1:], strict=True):
        assert (one["unit"], one["lower"]) == ("", -one["upper"])
        assert other["upper"] == pytest.approx(one["upper"] / 10.0)
        eta = np.where(np.arange(skin.n) == one["number"] - 1, one["upper"], 0.0)
        moved, turned = (np.linalg.norm(x @ eta, axis=1).max() for x in (skin.gam, skin.lam))
        assert max(moved / (0.15 * extent), turned / 0.3) == pytest.approx(1.0)
    assert near[0]["upper"] == far[0]["upper"] == np.pi
    q = Sliders(mb).moved(np.asarray(mb.q), "boom.mode2", near[3]["upper"])
    assert q[3] == pytest.approx(near[3]["upper"])


def test_balls_and_free_bodies_move_by_the_way_from_their_neutral_place():
    """A rotation vector along one axis is the angle about it."""
    mb = sc.Multibody()
    ball = mb.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0))
    mb.add_body("box", ball, sc.Free(), sc.Inertia(1.0))
    sliders = Sliders(mb)
    q = sliders.moved(mb.neutral(), mb.dof_names[2], 0.8)
    assert np.allclose(q[:4], [0, 0, np.sin(0.4), np.cos(0.4)])
    q = sliders.moved(q, mb.dof_names[8], 0.5)
    assert np.allclose(q[8:], [0, 0, 0.5])
    assert np.allclose(sliders.values(q), [0, 0, 0.8, 0, 0, 0, 0, 0, 0.5])


def test_a_closed_chain_has_the_independent_dofs_and_stays_closed():
    mb = four_bar()
    sliders, q = Sliders(mb), np.asarray(mb.q)
    (told,) = sliders.told(q)
    number = told["number"]
    moved = sliders.moved(q, told["name"], told["value"] + 0.7)
    assert moved[number] == pytest.approx(told["value"] + 0.7, abs=1e-12)
    assert max(x.opening for x in Constraints(mb, mb.state(q=moved)).loops) <= CLOSED
    back = sliders.moved(moved, told["name"], told["value"])
    assert np.allclose(back, q, atol=1e-8)  # on the same branch


def test_a_dependent_dof_and_what_cannot_close_are_refused():
    mb = four_bar(lengths=(1.0, 1.0, 1.0), ground=2.5)  # after Grashof, nothing turns round
    sliders, q = Sliders(mb), np.asarray(mb.q)
    (told,) = sliders.told(q)
    follower = next(x for x in mb.dof_names if x != told["name"])
    with pytest.raises(ViewError, match=f"dof '{follower}' follows others, or rolls, .* move '{told['name']}'"):
        sliders.moved(q, follower, 0.1)
    ends = (told["value"] - 3.1, told["value"] + 3.1)
    goal = next(x for x in ends if -np.pi <= x <= np.pi)
    with pytest.raises(LoopError, match="'four_bar' cannot be assembled from here"):
        sliders.moved(q, told["name"], goal)
    assert np.array_equal(mb.q, q)


def test_where_a_loop_is_open_every_dof_moves():
    mb = four_bar()
    q = np.asarray(mb.q) + np.array([0.0, 0.3, 0.0])
    sliders = Sliders(mb)
    assert len(sliders.told(q)) == 3
    assert sliders.moved(q, "rocker", 0.25)[2] == 0.25


def test_velocities_are_those_that_loops_allow():
    mb = four_bar()
    q = np.asarray(mb.q)
    v = Sliders(mb).velocities(q, np.array([1.0, 2.0, -1.0]))
    assert np.allclose(Constraints(mb, mb.state(q=q)).jacobian() @ v, 0.0, atol=1e-9)
    assert v.any()


def test_refusals_by_text():
    mb = sc.load("arm7")
    mb.bodies[0].limits = sc.Limits(-1.0, 1.0)
    sliders, q = Sliders(mb), np.asarray(mb.q)
    with pytest.raises(ModelError, match="'arm7' has no dof 'link9'"):
        sliders.moved(q, "link9", 0.0)
    with pytest.raises(StateError, match=r"dof 'link1' goes from -1 to 1, so it cannot be at 1\.5"):
        sliders.moved(q, "link1", 1.5)
    with pytest.raises(StateError, match="the value of dof 'link1'"):
        sliders.moved(q, "link1", np.nan)
    assert sliders.moved(q, "link1", 1.0 + 1e-9)[0] == 1.0  # rounding of a slider


def test_what_rolls_has_no_slider():
    mb = sc.Multibody()
    mb.add_body("ball", None, sc.RollingBall(0.1), sc.Inertia.sphere(1.0, 0.1))
    assert Sliders(mb).told(np.asarray(mb.q)) == []


def test_a_ball_in_a_loop_is_held_as_a_whole_or_not_at_all():
    """The rods at Cassie's heels are on balls, of which the spin alone is free: it has no slider, the others move."""
    mb = sc.load("cassie")
    sliders, q = Sliders(mb), np.asarray(mb.q)
    told = {x["name"]: x for x in sliders.told(q)}
    assert not any("achilles" in name for name in told)
    knee = next(x for name, x in told.items() if "knee" in name)
    moved = sliders.moved(q, knee["name"], knee["value"] + 0.02)
    assert max(x.opening for x in Constraints(mb, mb.state(q=moved)).loops) <= CLOSED
    others = [i for x, i in ((x, x["number"]) for x in told.values()) if x is not knee]
    assert np.allclose(sliders.values(moved)[others], sliders.values(q)[others], atol=1e-9)


def test_open_loops_are_closed_on_request():
    mb = sc.load("five_bar")
    mb.set_state(mb.neutral())
    sliders, q = Sliders(mb), np.asarray(mb.q)
    assert not sliders.closed(q)
    assert len(sliders.told(q)) == mb.nv
    q = sliders.assembled(q)
    assert sliders.closed(q)
    assert len(sliders.told(q)) == 3
