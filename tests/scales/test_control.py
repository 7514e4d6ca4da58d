"""Control laws and standing in other units: the same forces, the same judgements."""

import numpy as np
import pytest
from tests.robot.control.cases import arms
from tests.scales.scaled import NINE, force_units, scaled, scaled_state, velocity_units

import soacraft as sc
from soacraft import robot as rob

nine_scales = pytest.mark.parametrize("units", NINE, ids=str)
LEGS = [f"{x}_SHANK" for x in ("LF", "RF", "LH", "RH")]


def close(x, y, rtol=1e-6):
    np.testing.assert_allclose(x, y, rtol=0.0, atol=rtol * np.abs(y).max())


@nine_scales
@pytest.mark.parametrize("bend", [0.5, 0.01, 0.0])
def test_operational_space(units, bend):
    """Damped directions are the same, and so are forces, near a singular pose too."""
    one = sc.serial_chain(3)
    q, v = np.array([0.3, bend, bend]), np.array([0.1, 0.2, -0.3])
    found = []
    for mb, u in ((one, NINE[0]), (scaled(one, units), units)):
        rb = rob.Robot(mb)
        arm = rb.limb("arm", "inertial", "link3/tip")
        at, moves = scaled_state(one, u, q, v)
        acceleration = np.array([1.0, -0.5]) * u.length / u.time**2
        made = rob.operational_space(rb, arm, at, moves, acceleration, rows=[3, 5])
        found.append((made.force / force_units(one, u), made.damped))
    assert found[0][1] == found[1][1] == int(bend < 0.1)
    close(found[1][0], found[0][0])


MIXED = {
    "cylindrical": sc.Cylindrical((0.5, 0.1, 0.9)), "planar": sc.Planar(), "free": sc.Free(),
    "screws": sc.Screws([(0.4, 0.1, 0.7, 0.2, -0.5, 0.3), sc.Prismatic((0.3, 1.0, 0.2))]),
}  # fmt: skip


@nine_scales
@pytest.mark.parametrize("kind", MIXED)
def test_decoupled_control_of_hinges_that_turn_and_slide(units, kind):
    """One damping for all, one for each nu, and a spring."""
    one = sc.random_tree(3, seed=4, hinges=[MIXED[kind], sc.Pin((0, 1, 0)), MIXED[kind]], branching=0.0)
    rng = np.random.default_rng(5)
    q, v = one.random_state(rng)
    q_d, kp = one.integrate(q, 0.1 * rng.standard_normal(one.nv)), rng.uniform(1.0, 9.0, one.nv)
    damping, nudot = rng.uniform(0.5, 3.0, one.nv), rng.standard_normal(one.nv)
    found = []
    for mb, u in ((one, NINE[0]), (scaled(one, units), units)):
        (at, moves), force = scaled_state(one, u, q, v), force_units(one, u)
        to = scaled_state(one, u, q_d, v)[0]
        spring = kp * force / (u.time * velocity_units(one, u))
        push = nudot * np.sqrt(u.energy) / u.time
        same = rob.decoupled(rob.Robot(mb), at, moves, 2.0 / u.time, actuated=mb.dof_names)
        goal = {"q_d": to, "kp": spring, "nudot": push, "actuated": mb.dof_names}
        each = rob.decoupled(rob.Robot(mb), at, moves, damping / u.time, **goal)
        found.append((same / force, each / force))
    close(found[1][0], found[0][0])
    close(found[1][1], found[0][1])


@nine_scales
@pytest.mark.parametrize("lean", [0.2, 0.7])
def test_forces_of_feet(units, lean):
    one = sc.load("anymal_b")
    for leg in LEGS:
        one[leg].add_node("ball", next(x for x in one[leg].geometries if x.kind == "sphere").pose)
    q = np.array(one.q)
    q[7:] = [0, 0.4, -0.8, 0, 0.4, -0.8, 0, -0.4, 0.8, 0, -0.4, 0.8]
    found = []
    for mb, u in ((one, NINE[0]), (scaled(one, units), units)):
        at = scaled_state(one, u, q, np.zeros(18))[0]
        normal = (np.sin(lean), 0.0, np.cos(lean))
        stance = rob.stance(rob.Robot(mb), at, [f"{leg}/ball" for leg in LEGS], friction=0.6, normal=normal)
        made = rob.foot_forces(stance)
        margin = stance.margin()
        found.append((made.holds, made.force / force_units(one, u), made.left / force_units(one, u),
                      margin / u.length, stance.tip_over()[0]))  # fmt: skip
    assert found[0][0] == found[1][0] == (lean < 0.5)
    close(found[1][1], found[0][1], 1e-5)
    close(found[1][2] + 1.0, found[0][2] + 1.0, 1e-5)
    assert found[1][3] == found[0][3] or abs(found[1][3] / found[0][3] - 1.0) < 1e-6
    assert abs(found[1][4] - found[0][4]) < 1e-9


@nine_scales
@pytest.mark.parametrize("how", ["free", "loops"])
def test_arms_that_carry(units, how):
    rb, names = arms(0, how=how)
    one = rb.mb
    found = []
    for mb, u in ((one, NINE[0]), (scaled(one, units), units)):
        a = np.array([0.3, -0.2, 0.5, *(u.length * np.array([1.0, -2.0, 0.7]))]) / u.time**2
        made = rob.carry(rob.Robot(mb), "box", names, mb.q, np.zeros(mb.nv), a)
        found.append(made.force / force_units(one, u))
    close(found[1], found[0], 1e-5)
