"""Closures by a screw: whatever it has turned by since it was last seen, the thread is the one it is on."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

PITCH = 0.01  # metres a radian
ALL = (TreeAugmented, FullyAugmented, ConstraintEmbedding)


def screw():
    """A spindle that turns, a nut that slides on it: z = -PITCH angle."""
    mb, body = sc.Multibody("screw", gravity=(0, 0, -9.81)), sc.Inertia(1.0, (0, 0, 0), 0.1 * np.eye(3))
    mb.add_body("spindle", None, sc.Pin((0, 0, 1)), body)
    mb.add_body("nut", None, sc.Prismatic((0, 0, 1)), body)
    mb.close_loop("thread", "spindle", "nut", sc.Helical((0, 0, 1), PITCH))
    return mb


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("angle", [6.4, -6.2, 31.0])
def test_what_is_closed_stays_where_it_is(kind, angle):
    solver = kind(screw())
    solver.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    q = np.array([angle, -PITCH * angle])
    np.testing.assert_allclose(solver.project(q, np.zeros(2))[0], q, atol=1e-12)
    np.testing.assert_allclose(solver.assemble(q), q, atol=1e-12)
    if kind is ConstraintEmbedding:
        np.testing.assert_allclose(solver.complete(q), q, atol=1e-12)


@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
def test_a_nut_falls_many_turns(solver):
    """m z'' = -m g + f, J w' = PITCH f: w' = g PITCH m / (J + m PITCH^2), in steps of many radians."""
    mb = screw()
    run = sc.sim.Propagator(mb, solver=solver, integrator="rk4", step=0.5).advance_to(12.0)
    rate = 9.81 * PITCH / (0.1 + PITCH**2)
    np.testing.assert_allclose(mb.q, [0.5 * rate * 144, -0.5 * PITCH * rate * 144], rtol=1e-9)
    for t in (0.3, 11.7):
        np.testing.assert_allclose(run.at(t).q[1], -PITCH * run.at(t).q[0], atol=1e-12)


def test_a_state_that_is_refused_leaves_no_trace():
    solver = TreeAugmented(screw())
    solver.forward_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))
    with pytest.raises(LoopError, match="'thread' of 'screw' is open by"):
        solver.forward_dynamics([31.0, -0.309], np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(solver._theta["thread"], [0.0], atol=1e-15)
