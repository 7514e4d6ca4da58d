"""Arms that carry an object: it moves as told, the load is shared best, and closed chains agree."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from tests.robot.control.cases import arms, near

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft import robot as rob
from soacraft.errors import SingularError, StateError
from soacraft.robot.control.freedoms import sizes_of_dofs

WAYS = ["free", "hung", "loops"]


def moving(seed=0, hands=2, how="free"):
    """Arms that hold a box, in motion with it; v is that of the arms and the box, as the hands allow."""
    rb, names = arms(seed, hands, how)
    mb, rng = rb.mb, np.random.default_rng(seed)
    q = np.array(mb.q)
    if mb.is_closed:
        return rb, names, q, sc.loops.TreeAugmented(mb).project_velocity(q, 0.5 * rng.standard_normal(mb.nv))
    J = dyn.jacobian(mb, q, ["box", *names]).reshape(-1, 6, mb.nv)
    at = dyn.node_motion(mb, q, np.zeros(mb.nv), np.zeros(mb.nv), ["box", *names])[1]
    rows = []
    for i in range(1, len(names) + 1):
        shift = np.eye(6)
        shift[3:, :3] = -sc.spatial.skew(at[i] - at[0])
        rows.append(J[i] - shift @ J[0])
    free = scipy.linalg.null_space(np.concatenate(rows))
    return rb, names, q, free @ (0.5 * rng.standard_normal(free.shape[1]))


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("squeeze", [None, 20.0])
def test_the_object_moves_as_told(how, squeeze):
    rb, names, q, v = moving(how=how)
    mb, a = rb.mb, np.random.default_rng(5).standard_normal(6)
    made = rob.carry(rb, "box", names, q, v, a, squeeze=squeeze)
    near(dyn.jacobian(mb, q, "box") @ made.vdot + dyn.jacobian_dot_v(mb, q, v, "box"), a, 1e-8)
    if mb.is_closed:
        s = sc.loops.TreeAugmented(mb)
        near(s.forward_dynamics(q, v, made.force).vdot, made.vdot, 1e-7)
        return
    # of separate bodies: the wrenches of the hands act on the box, and their opposites on the hands
    f_ext = {name: -w for name, w in made.wrenches.items()}
    at_box = [mb.pose(name, "box", state=mb.state(q)).phi() @ w for name, w in made.wrenches.items()]
    f_ext["box"] = sum(at_box)
    near(f_ext["box"], made.wrench, 1e-9)
    near(dyn.forward_dynamics(mb, q, v, made.force, f_ext), made.vdot, 1e-8)
    assert not made.force[mb.v_slice("box")].any()


def test_all_ways_to_hold_it_give_the_same_torques():
    """Free, hung on one hand, joined by loops: the arms' dofs are the first 14 of each."""
    a = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7])
    found = []
    for how in WAYS:
        rb, names = arms(0, how=how)
        v = np.zeros(rb.mb.nv)
        found.append(rob.carry(rb, "box", names, np.array(rb.mb.q), v, a))
    for other in found[1:]:
        near(other.force[:14], found[0].force[:14], 1e-7)
        near(other.f, found[0].f, 1e-7)
        near(other.vdot[:14], found[0].vdot[:14], 1e-7)


@pytest.mark.parametrize("how", ["hung", "loops"])
def test_it_is_inverse_dynamics_of_the_closed_chain_up_to_inner_forces(how):
    rb, names, q, v = moving(how=how)
    mb = rb.mb
    s = sc.loops.TreeAugmented(mb)
    made = rob.carry(rb, "box", names, q, v, [0, 0, 0.5, 0.2, 0.1, 1.0], squeeze=15.0)
    X = s.velocity_map(q)
    one = s.inverse_dynamics(q, v, made.vdot)
    near(X.T @ made.force, X.T @ one, 1e-7)
    assert np.abs(made.force - one).max() > 1e-2


@pytest.mark.parametrize("hands", [2, 3])
def test_the_load_is_shared_best(hands):
    """The gradient of |T|_W^2 along the squeezes, null(A), is zero; and other squeezes cost more."""
    rb, names, q, v = moving(hands=hands)
    W = np.random.default_rng(1).uniform(0.5, 2.0, rb.mb.nv)
    a = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7])
    made = rob.carry(rb, "box", names, q, v, a, weight=W)
    hold = rob.Holding(rb.mb, "box", names, q)
    N = scipy.linalg.null_space(hold.A)
    gradient = N.T @ hold.J @ (W * made.force)
    assert np.abs(gradient).max() < 1e-9 * np.abs(hold.J @ (W * made.force)).max()
    pressed = rob.carry(rb, "box", names, q, v, a, squeeze=5.0)
    assert pressed.force @ (W * pressed.force) > made.force @ (W * made.force)
    near(hold.A @ pressed.f, hold.A @ made.f, 1e-9)


def test_a_wanted_squeeze_is_what_hands_press_with():
    rb, names, q, v = moving()
    mb = rb.mb
    plain, pressed = (rob.carry(rb, "box", names, q, v, np.zeros(6), squeeze=x) for x in (0.0, 12.0))
    near(plain.squeeze, np.zeros(12), 1e-9)
    at = [mb.pose(x, state=mb.state(q)) for x in names]
    line = at[1].translation - at[0].translation
    line = line / np.linalg.norm(line)
    grown = [(pressed.wrenches[n] - plain.wrenches[n])[3:] for n in names]
    more = [np.asarray(p.rotation) @ f for p, f in zip(at, grown, strict=True)]
    near(more[0], 12.0 * line, 1e-8)
    near(more[1], -12.0 * line, 1e-8)
    given = {names[0]: np.concatenate([np.zeros(3), at[0].rotation.T @ (12.0 * line)]),
             names[1]: np.concatenate([np.zeros(3), at[1].rotation.T @ (-12.0 * line)])}  # fmt: skip
    near(rob.carry(rb, "box", names, q, v, np.zeros(6), squeeze=given).f, pressed.f, 1e-8)


def test_redundant_arms_do_what_is_wanted_besides():
    rb, names, q, v = moving()
    wish = np.random.default_rng(8).standard_normal(rb.mb.nv)
    a = np.zeros(6)
    made, other = rob.carry(rb, "box", names, q, v, a), rob.carry(rb, "box", names, q, v, a, vdot=wish)
    M = dyn.mass_matrix(rb.mb, q)
    assert np.abs(made.vdot - other.vdot).max() > 1e-3

    def off(vdot):
        return (vdot - wish) @ M @ (vdot - wish)

    assert off(other.vdot) < off(made.vdot)


def test_two_hands_lift_half_each():
    """Two slides a metre to each side of a box of 2 kg, lifted with 1 m/s^2."""
    mb = sc.Multibody("carry", gravity=(0, 0, -10.0))
    for side, x in (("left", -1.0), ("right", 1.0)):
        at = sc.Pose(translation=(x, 0, 0))
        mb.add_body(side, None, sc.Prismatic((0, 0, 1)), sc.Inertia(1, (0, 0, 0), np.eye(3)), at)
    mb.add_body("box", None, sc.Free(), sc.Inertia(2, (0, 0, 0), np.eye(3)))
    made = rob.carry(rob.Robot(mb), "box", ["left", "right"], mb.q, mb.v, [0, 0, 0, 0, 0, 1.0], transmits="force")
    near(made.force[:2], [22.0, 22.0], 1e-12)
    assert repr(made) == "Carried by 'left', 'right': forces to 22"


def test_hands_may_part_by_rounding_of_how_the_robot_moves():
    """Half of 1e-8 m/s at rest, as projections leave it, is nothing; what is fast enough to matter is refused."""
    rb, names, q, v = moving()
    still = np.zeros(rb.mb.nv)
    off = still.copy()
    off[0] = 1e-8
    slow, none = (rob.carry(rb, "box", names, q, x, np.zeros(6)).force for x in (off, still))
    near(slow, none, 1e-6)
    with pytest.raises(StateError, match="move apart"):
        rob.carry(rb, "box", names, q, off * 1e4, np.zeros(6))
    rb.mb.gravity = (0.0, 0.0, 0.0)                                 # relative to the state's own speeds alone
    rob.carry(rb, "box", names, q, v + 1e-8 * np.abs(v).max() * (np.arange(rb.mb.nv) == 0), np.zeros(6))
    with pytest.raises(StateError, match="move apart"):
        rob.carry(rb, "box", names, q, off, np.zeros(6))


def test_weights_are_given_by_name():
    """As numbers by dof, those that are not named as they are without weights: moments, and forces times a length."""
    rb, names, q, v = moving()
    mb = rb.mb
    by_dof = sizes_of_dofs(mb) ** 2
    by_dof[mb.v_slice("fore0")] = 9.0
    by_dof[mb.v_slice("hand1")] = 4.0
    named = rob.carry(rb, "box", names, q, v, np.ones(6), weight={"fore0": 9.0, "hand1": 4.0})
    near(named.force, rob.carry(rb, "box", names, q, v, np.ones(6), weight=by_dof).force, 1e-9)
    assert np.abs(named.force - rob.carry(rb, "box", names, q, v, np.ones(6)).force).max() > 1e-3
    with pytest.raises(StateError, match="no dof, hinge or body 'elbow'"):
        rob.carry(rb, "box", names, q, v, np.zeros(6), weight={"elbow": 1.0})
    with pytest.raises(StateError, match=r"weight of carry names 'hand1\.0' twice"):
        rob.carry(rb, "box", names, q, v, np.zeros(6), weight={"hand1": 1.0, "hand1.0": 2.0})


def test_an_arm_without_a_motor_cannot_carry():
    rb, names, q, v = moving()
    with pytest.raises(StateError, match=r"dof 'upper0.\d' has no motor and needs a force of .*: no equilibrium"):
        rob.carry(rb, "box", names, q, v, np.zeros(6), actuated=["upper1", "fore0", "fore1", "hand0", "hand1"])


def test_what_is_refused():
    rb, names, q, v = moving()
    with pytest.raises(StateError, match="carry takes one state, got a batch"):
        rob.carry(rb, "box", names, [q, q], v, np.zeros(6))
    with pytest.raises(StateError, match=r"'hand0/palm' and 'box' move apart, by .* rad/s and .* m/s"):
        rob.carry(rb, "box", names, q, v + 0.1, np.zeros(6))
    with pytest.raises(StateError, match="squeeze names 'hand0', which is none of the hands"):
        rob.carry(rb, "box", names, q, v, np.zeros(6), squeeze={"hand0": np.zeros(6)})
    with pytest.raises(StateError, match="an object is a body of the model"):
        rob.carry(rb, "hand0/palm", names[1:], q, v, np.zeros(6))
    door = sc.Multibody("door")
    door.add_body("door", None, sc.Pin((0, 0, 1)), sc.Inertia(5.0, moment=np.eye(3)))
    door.add_body("hand", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    with pytest.raises(StateError, match="carry takes an object that is free, or welded to a hand"):
        rob.carry(rob.Robot(door), "door", ["hand"], door.q, door.v, np.zeros(6))
    rb.mb.add_body("lid", "box", sc.Pin((1, 0, 0)), sc.Inertia(1.0, moment=np.eye(3)))
    with pytest.raises(StateError, match="'box' has parts that move by themselves, such as 'lid'"):
        rob.carry(rb, "box", names, rb.mb.q, np.zeros(rb.mb.nv), np.zeros(6))
    slides = sc.Multibody("slides")
    slides.add_body("left", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0))
    slides.add_body("box", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    with pytest.raises(StateError, match="the arms cannot give 'box' this acceleration"):
        rob.carry(rob.Robot(slides), "box", ["left"], slides.q, slides.v, [0, 0, 0, 1.0, 0, 0])
    with pytest.raises(StateError, match="hands at one place have no direction to press in"):
        rob.carry(rob.Robot(slides), "box", ["left"], slides.q, slides.v, [0, 0, 0, 0, 0, 1.0], squeeze=1.0)
    turned = sc.Multibody("turned")
    turned.add_body("left", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3)))
    turned.add_body("box", None, sc.Free(), sc.Inertia(1.0, (0.1, 0, 0), moment=np.eye(3)))
    with pytest.raises(SingularError, match="the hands cannot give 'box' the wrench that it needs: a moment of"):
        rob.carry(rob.Robot(turned), "box", ["left"], turned.q, turned.v, np.zeros(6), transmits="force")


def test_a_load_that_is_weighed_and_squeezed_and_arms_without_mass_are_refused():
    rb, names, q, v = moving()
    with pytest.raises(StateError, match="carry shares the load by weight=, or presses as squeeze= says; give one"):
        rob.carry(rb, "box", names, q, v, np.zeros(6), squeeze=10.0, weight=np.ones(rb.mb.nv))
    mb = sc.Multibody("empty")
    for side, x in (("left", -1.0), ("right", 1.0)):
        mb.add_body(side, None, sc.Prismatic((0, 0, 1)), sc.Inertia(0.0), sc.Pose(translation=(x, 0, 0)))
    mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, moment=np.eye(3)))
    with pytest.raises(SingularError, match="mass matrix of 'empty' is not positive definite"):
        rob.carry(rob.Robot(mb), "box", ["left", "right"], mb.q, mb.v, np.zeros(6))
