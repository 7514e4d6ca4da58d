"""Control laws of closed chains are functions of the state: the same bits whatever was asked before."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.control.cases import arms, closed, near

import soacraft as sc
from soacraft import robot as rob
from soacraft.errors import LoopError, StateError
from soacraft.robot.control.closures import closed_motion


def five_bar():
    return rob.Robot(sc.load("five_bar")), "rod_2", None


def joined():
    rb, names = arms(how="loops")
    return rb, "hand0", names


def hung():
    rb, names = arms(how="hung")
    return rb, "hand0", names


def states(mb, count):
    """States on the closures, some of them far from each other."""
    rng, s = np.random.default_rng(5), sc.loops.TreeAugmented(mb)
    q, found = s.assemble(np.array(mb.q)), []
    while len(found) < count:
        X = s.velocity_map(q)
        q = s.assemble(mb.integrate(q, 0.5 * X @ rng.standard_normal(X.shape[1])))
        found.append((q, s.project_velocity(q, rng.standard_normal(mb.nv))))
    return found


def laws(rb, tip, hands, q, v):
    """What all laws say at a state, by name."""
    none, every = np.zeros(rb.mb.nv), {"actuated": rb.mb.dof_names}
    limb = rb.limb("arm", "inertial", tip)
    found = {
        "gravity": rob.gravity(rb, q, **every),
        "computed_torque": rob.computed_torque(rb, q, v, (q, none, none), 25.0, 10.0, **every),
        "operational_space": rob.operational_space(rb, limb, q, v, [0.3, -0.2, 0.1], rows=[2, 3, 4], **every).force,
        "lqr": rob.lqr(rb, q, Q=2.0, **every).K,
    }
    if hands:
        found["carry"] = rob.carry(rb, "box", hands, q, v, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).force
    return found


def test_a_loop_that_moves_beside_a_dof_at_rest_has_its_own_accelerations():
    """x0 with a wheel that stands still: second differences of q where the independent dofs go at constant speed."""
    mb = sc.load("five_bar")
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia.cylinder(0.1, 0.1, 0.1))
    s = sc.loops.TreeAugmented(mb)
    q = s.assemble(np.array(mb.q))
    free = closed_motion(mb, q, np.zeros(mb.nv))
    a = np.where(np.array(free.names) == "wheel", 0.0, np.linspace(0.7, -1.3, len(free.names)))
    v = free.X @ a
    assert v[-1] == 0.0
    h = 1e-3
    ends = [s.assemble(mb.integrate(q, t * v), free.names) for t in (h, -h)]
    expected = (mb.difference(q, ends[0]) + mb.difference(q, ends[1])) / h**2
    assert np.abs(expected).max() > 0.1
    near(closed_motion(mb, q, v).x0, expected, 1e-5)


@pytest.mark.parametrize("made", [five_bar, joined, hung])
def test_the_same_bits_whatever_was_asked_before(made):
    rb, tip, hands = made()
    first, *others = states(rb.mb, 4)
    alone = laws(rb.copy(), tip, hands, *first)
    asked = rb.copy()
    for q, v in others:
        laws(asked, tip, hands, q, v)
    for _ in range(2):
        for name, x in laws(asked, tip, hands, *first).items():
            assert np.array_equal(x, alone[name]), name


def test_motions_are_those_of_a_solver():
    rb, s, q, v = closed(4)
    found = closed_motion(rb.mb, q, v)
    assert found.names == s.independent(q)
    T = np.random.default_rng(1).standard_normal(rb.mb.nv)
    vdot = s.forward_dynamics(q, v, T).vdot
    near(found.X @ vdot[found.choice.independent] + found.x0, vdot)
    found.require(vdot)


def test_what_closures_do_not_allow_is_refused():
    rb, _, q, v = closed(4)
    with pytest.raises(LoopError, match=r"loop '.*' of 'five_bar' is open by .*Close it first: q = s\.assemble\(q\)"):
        closed_motion(rb.mb, q + 0.01, v)
    with pytest.raises(LoopError, match=r"of 'five_bar' opens at .*Make v agree first: v = s\.project_velocity"):
        closed_motion(rb.mb, q, v + 1.0)
    found = closed_motion(rb.mb, q, v)
    with pytest.raises(LoopError, match="vdot of all dofs of 'five_bar' does not agree with its closures"):
        found.require(found.x0 + 1.0)
    with pytest.raises(StateError, match=r"of 'five_bar' has 3 entries here, got 2; they are of .*All 6 dofs may be"):
        found.require(np.zeros(2))
