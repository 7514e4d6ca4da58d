"""Dofs that are tied to each other cannot each go their own way: refused by name, the others are tracked."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StateError
from soacraft.robot import MotionLimits, Robot, Tracker
from soacraft.robot.motion.ties import require_independent


def geared():
    mb = sc.serial_chain(3)
    mb.couple("gear", {"link2": 1.0, "link1": -2.0})
    return Robot(mb)


def limits(rb):
    return MotionLimits.of(rb, velocity=2.0, acceleration=10.0, jerk=100.0)


def test_a_tracker_of_dofs_that_a_coupling_ties_is_refused():
    rb = geared()
    with pytest.raises(
        StateError,
        match=r"a Tracker moves each dof by itself, and loops or couplings of 'chain' tie 'link[12]' to others of "
        r"them: give limb=..., a limb whose dofs are independent, of 'link[12]', 'link3'; what is tied to them follows",
    ):
        Tracker(rb, 0.01, limits(rb))


def test_dofs_that_others_follow_are_tracked():
    rb = geared()
    limb = rb.limb("first", "inertial", "link1")
    tracker = Tracker(rb, 0.01, limits(rb), limb)
    state = tracker.rest([0.0])
    for _ in range(200):
        state = tracker.step(state, [0.4])
    assert state.arrived
    assert state.q == pytest.approx([0.4], abs=1e-9)


def test_a_loop_leaves_as_many_as_its_rank_does():
    """Of the six hinges of a five-bar with a free pin three are independent: any two of the driven ones, not all."""
    rb = Robot(sc.load("five_bar"))
    mb = rb.mb
    mb.q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    with pytest.raises(StateError, match=r"loops or couplings of 'five_bar' tie"):
        Tracker(rb, 0.01, limits(rb))
    for k in range(mb.nv):
        require_independent(mb, np.array([k]), "a Tracker")
    G = sc.loops.TreeAugmented(mb).constraint_matrix(mb.q)
    rank = np.linalg.matrix_rank(G, tol=1e-6)
    for dofs in ([0, 1], [0, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3], [3, 4, 5]):
        rest = np.delete(G, dofs, axis=1)
        if np.linalg.matrix_rank(rest, tol=1e-6) == rank:
            require_independent(mb, np.array(dofs), "a Tracker")
        else:
            with pytest.raises(StateError, match="moves each dof by itself"):
                require_independent(mb, np.array(dofs), "a Tracker")


def test_a_loop_elsewhere_does_not_matter():
    rb = Robot(sc.load("five_bar"))
    rb.mb.add_body("lid", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, moment=np.eye(3)))
    Tracker(rb, 0.01, limits(rb), rb.limb("lid", "inertial", "lid"))
