"""Wrenches in grasps: weights, motions and squeezes by the equations of the object itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.scales.scaled import NINE, Units, scaled

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.model.sizes.scale import scale_of
from soacraft.robot import Fingertip, Robot


def arms():
    """Two arms with seven dofs each, and a box in reach of both."""
    mb = sc.Multibody("arms")
    rng = np.random.default_rng(0)
    for side, y in (("left", 0.4), ("right", -0.4)):
        last, at = None, (0.0, y, 0.5)
        for i, axis in enumerate([(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]):
            inertia = sc.Inertia(1.0, (0.05, 0, 0), np.diag(rng.uniform(0.01, 0.02, 3)))
            last = mb.add_body(f"{side}{i}", last, sc.Pin(axis), inertia, sc.Pose(translation=at)).name
            at = (0.15, 0, 0)
        mb[last].add_node("hand", sc.Pose(translation=(0.1, 0, 0)))
    mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia(2.0, (0.02, 0.01, 0.03), np.diag([0.1, 0.2, 0.3])))
    q = np.concatenate([rng.uniform(-0.6, 0.6, 14), [0, 0, 0, 1, 0.9, 0.0, 0.4]])
    mb.set_state(q=q)
    return Robot(mb)


def needed(mb, v, vdot):
    """What the box needs by Newton and Euler in its own frame: the force of all hands, [moment; force]."""
    state = mb.state(mb.q, v, vdot)
    R = mb.pose("box").rotation
    w = R.T @ np.asarray(mb.velocity("box", state=state))[:3]
    a = np.asarray(mb.acceleration("box", state=state))
    inertia = mb["box"].inertia
    wdot, p2 = R.T @ a[:3], R.T @ (a[3:] - mb.gravity)
    c = inertia.com
    force = inertia.mass * (p2 + np.cross(wdot, c) + np.cross(w, np.cross(w, c)))
    moment = inertia.moment @ wdot + np.cross(w, inertia.moment @ w) + np.cross(c, force)
    return np.concatenate([moment, force])


def test_one_hand_gives_what_the_object_needs():
    rb, rng = arms(), np.random.default_rng(1)
    rb.attach("box", "left6/hand")
    v, vdot = rng.normal(size=(2, rb.mb.nv))
    found = rb.reactions("box", v=v, vdot=vdot)
    assert found.unique
    assert np.allclose(found.wrenches["left6/hand"], needed(rb.mb, v, vdot), atol=1e-10)
    force = dyn.inverse_dynamics(rb.mb, rb.mb.q, v, vdot)
    again = rb.reactions("box", v=v, force=force)
    assert np.allclose(again.wrenches["left6/hand"], found.wrenches["left6/hand"], atol=1e-8)
    assert repr(found).startswith("'box' is held by 'left6/hand' ")


@pytest.mark.parametrize("hinge", [None, sc.Pin((0, 0, 1)), sc.Spherical()])
def test_two_hands_together_give_what_the_object_needs(hinge):
    rb, rng = arms(), np.random.default_rng(2)
    mb = rb.mb
    rb.attach("box", "left6/hand")
    rb.grasp("box", ["right6/hand"], hinge)
    v = sc.loops.TreeAugmented(mb).project_velocity(mb.q, rng.normal(size=mb.nv))
    force = rng.normal(size=mb.nv)
    vdot = sc.loops.TreeAugmented(mb).forward_dynamics(mb.q, v, force).vdot
    found = rb.reactions("box", v=v, force=force)
    assert found.unique
    assert np.allclose(sum(found.wrenches.values()), needed(mb, v, vdot), atol=1e-7)
    # what the second hand gives is felt by its arm as an external force: the arms alone move the same
    free = mb.copy()
    free.remove_loop(free.loops[0].name)
    pushes = {"box": found.wrenches["right6/hand"], **_back(mb, found, "right6/hand")}
    lone = dyn.forward_dynamics(free, mb.q, v, force, pushes)
    assert np.allclose(lone, vdot, atol=1e-7 * np.abs(vdot).max())


def _back(mb, found, hand):
    """The opposite of what a hand gives, at the hand."""
    w, T = found.wrenches[hand], mb.pose(hand, "box")
    moment = w[:3] - np.cross(T.translation, w[3:])
    return {hand: -np.concatenate([T.rotation.T @ moment, T.rotation.T @ w[3:]])}


def test_a_squeeze_that_does_not_move_the_box_is_in_the_wrenches():
    """Forces of the arms that cancel in the box change the wrenches by that, and not the motion."""
    rb = arms()
    mb = rb.mb
    hold = sc.robot.Holding(mb, "box", ["left6/hand", "right6/hand"])
    rb.grasp("box", ["left6/hand", "right6/hand"])
    still = sc.loops.TreeAugmented(mb)
    zero, force = np.zeros(mb.nv), sc.loops.TreeAugmented(mb).gravity_force(mb.q, "all")
    squeeze = np.linalg.svd(hold.A)[2][-1] * 20.0  # A f = 0
    J = hold.J[:, : mb.nv]
    a, b = (rb.reactions("box", force=x) for x in (force, force + J.T @ squeeze))
    one, two = (still.forward_dynamics(mb.q, zero, x).vdot for x in (force, force + J.T @ squeeze))
    assert np.allclose(one, two, atol=1e-8)
    change = [b.wrenches[x] - a.wrenches[x] for x in ("left6/hand", "right6/hand")]
    assert np.allclose(change[0] + change[1], 0.0, atol=1e-6)
    T = mb.pose("left6/hand", "box")
    assert np.allclose(change[0], T.phi() @ squeeze[:6], atol=1e-6)


UP, TILT = sc.Prismatic((0, 0, 1)), sc.Pin((0.6, 0.8, 0))
SI = Units()
LIFTS = {"left": (UP, (-0.3, 0.1, 0.0)), "right": (UP, (0.2, -0.1, 0.05)), "back": (TILT, (0.0, 0.4, 0.1))}


def lifts(hands=("left", "right"), units=SI, arms=()):
    """Hands that go up and down or tilt, and a box: with two of them most of a wrench is a matter of choice."""
    mb = sc.Multibody("lifts")
    for name, (hinge, at) in LIFTS.items():
        mb.add_body(name, None, hinge, sc.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3)), sc.Pose(translation=at))
        mb[name].add_node("palm", sc.Pose(translation=(0.1, 0.05, -0.2)))
    mb.add_body("box", hinge=sc.Free(), inertia=sc.Inertia(2.0, (0.05, 0.02, 0.1), np.diag([0.1, 0.2, 0.3])))
    for name in arms:  # with a redundant loop of its own
        one = mb.add_body(name, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)))
        mb.close_loop(f"{name} again", "inertial", one, sc.Pin((0, 0, 1)))
    mb = scaled(mb, units)
    rb = Robot(mb)
    rb.grasp("box", [f"{x}/palm" for x in hands])
    return rb


def lifting(mb, units=SI):
    """Forces of the lifts."""
    force = np.zeros(mb.nv)
    for (name, (hinge, _)), given in zip(LIFTS.items(), (30.0, 5.0, 11.0), strict=True):
        force[mb.dof_names.index(name)] = given * units.energy / (units.length if hinge is UP else 1.0)
    return force


def told_of(rb, units=SI):
    """The wrenches at the hands, and these in SI units."""
    found = rb.reactions("box", force=lifting(rb.mb, units))
    size = np.repeat([units.energy, units.energy / units.length], 3)
    return found, {hand: w / size for hand, w in found.wrenches.items()}


@pytest.mark.parametrize("units", NINE, ids=str)
def test_of_many_wrenches_the_least_is_the_same_in_all_units(units):
    (one, here), (other, there) = (told_of(lifts(["left", "back"], u), u) for u in (SI, units))
    assert not one.unique
    assert not other.unique
    for hand, w in here.items():
        np.testing.assert_allclose(there[hand], w, rtol=0.0, atol=1e-7 * np.abs(w).max())


def test_the_least_wrenches_move_the_box_and_lifts_as_they_do_and_are_least():
    rb = lifts()
    mb, w, force = rb.mb, told_of(rb)[1], lifting(rb.mb)
    vdot = sc.loops.TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force).vdot
    np.testing.assert_allclose(sum(w.values()), needed(mb, mb.v, vdot), atol=1e-9)
    for hand in w:  # each lift: its force, its weight and what it gives the box
        i = mb.dof_names.index(hand.partition("/")[0])
        assert np.isclose(force[i] - 1.0 * 9.80665 - w[hand][5], 1.0 * vdot[i], atol=1e-9)
    # exchanged between the hands, anything but a force upward does the same; at the least no such change is a gain
    length = scale_of(mb).length
    at = {hand: mb.pose(hand, "box").translation for hand in w}

    def size(f):
        moments = [f[x][:3] - np.cross(at[x], f[x][3:]) for x in f]  # about the hands
        return sum(m @ m for m in moments) / length**2 + sum(f[x][3:] @ f[x][3:] for x in f)

    left, right = w
    for change in 1e-3 * np.eye(6)[:5]:
        for step in (change, -change):
            assert size({left: w[left] + step, right: w[right] - step}) > size(w)


@pytest.mark.parametrize("hands", [("left", "right"), ("left", "back"), ("back", "left", "right")])
def test_the_least_wrenches_give_the_motion(hands):
    """Taken for external forces on the box and the hands, they do what the loops do."""
    rb = lifts(hands)
    mb, found, force = rb.mb, told_of(rb)[0], lifting(rb.mb)
    vdot = sc.loops.TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force).vdot
    free = mb.copy()
    for loop in mb.loops:
        free.remove_loop(loop.name)
    pushes = {"box": 0.0}
    for hand in [f"{x}/palm" for x in hands[1:]]:
        pushes["box"] = pushes["box"] + found.wrenches[hand]
        pushes |= _back(mb, found, hand)
    np.testing.assert_allclose(dyn.forward_dynamics(free, mb.q, mb.v, force, pushes), vdot, atol=1e-8)
    np.testing.assert_allclose(sum(found.wrenches.values()), needed(mb, mb.v, vdot), atol=1e-8)


@pytest.mark.parametrize("how", ["loops", "couplings"])
def test_what_repeats_elsewhere_leaves_the_wrenches_unique(how):
    rb = lifts(["left"], arms=["crank"] if how == "loops" else [])
    for name in ("one", "other") if how == "couplings" else ():
        rb.mb.couple(name, {"right": 1.0, "back": -0.3})
    assert sc.loops.TreeAugmented(rb.mb).forward_dynamics(rb.mb.q, rb.mb.v, np.zeros(rb.mb.nv)).redundant
    found, w = told_of(rb)
    assert found.unique
    plain = told_of(lifts(["left"]))[1]
    np.testing.assert_allclose(w["left/palm"], plain["left/palm"], rtol=0.0, atol=1e-9 * np.abs(w["left/palm"]).max())


def test_whether_hands_hold_as_they_move():
    """An arm that accelerates upward by a needs 2 mu N >= m (g + a)."""
    mb = sc.Multibody("lift")
    mb.add_body("jaw", hinge=sc.Prismatic((0, 0, 1)), inertia=sc.Inertia(1.0))
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia(0.5, moment=1e-3 * np.eye(3)))
    rb = Robot(mb)
    rb.attach("cup", "jaw")
    fingers = [Fingertip((s * 0.04, 0, 0), (-s, 0, 0), 0.5, 8.0) for s in (-1, 1)]
    for a in (0.0, 3.0, 12.0):
        r = rb.strength("cup", fingers, vdot=[a])["jaw"]
        assert np.isclose(r.margin, 2 * 0.5 * 8.0 / (0.5 * (9.80665 + a)), rtol=1e-8)
    assert not rb.strength("cup", {"jaw": fingers}, vdot=[12.0])["jaw"].holds


def test_what_is_refused():
    rb = arms()
    with pytest.raises(ModelError, match="'box' is not held; it holds nothing"):
        rb.reactions("box", vdot=np.zeros(rb.mb.nv))
    rb.attach("box", "left6/hand")
    with pytest.raises(StateError, match=r"follow from vdot=..., or from force=...; give one of them"):
        rb.reactions("box")
    with pytest.raises(StateError, match="are those of one state, got a batch"):
        rb.reactions("box", q=np.tile(rb.mb.q, (2, 1)), vdot=np.zeros(rb.mb.nv))
    tip = Fingertip((0, 0, 0), (0, 0, 1))
    with pytest.raises(StateError, match="'foot' does not hold 'box'; it is held by 'left6/hand'"):
        rb.strength("box", {"foot": [tip]}, vdot=np.zeros(rb.mb.nv))
    rb.grasp("box", ["right6/hand"])
    with pytest.raises(StateError, match=r"closed to loops, .* Give force=..., the generalized forces of all dofs"):
        rb.reactions("box", vdot=np.zeros(rb.mb.nv))
    with pytest.raises(StateError, match="give fingertips by hand"):
        rb.strength("box", [tip], force=np.zeros(rb.mb.nv))
    with pytest.raises(StateError, match="the fingertips of 'right6/hand', which holds 'box', are missing"):
        rb.strength("box", {"left6/hand": [tip]}, force=np.zeros(rb.mb.nv))


@pytest.mark.parametrize("what", ["vdot", "force"])
def test_accelerations_and_forces_are_of_one_state(what):
    mb = sc.load("panda")
    mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.5, 0.05))
    rb = sc.robot.Robot(mb)
    rb.attach("cup", "link7")
    for rows in (0, 2):
        with pytest.raises(StateError, match="the wrenches on 'cup' are those of one state, got a batch"):
            rb.reactions("cup", **{what: np.zeros((rows, 7))})
