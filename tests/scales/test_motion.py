"""One motion in metres, in millionths of a metre and in millions of metres is one motion: no integrator looks at the
size of a number."""

import numpy as np
import pytest
from tests.scales.scaled import Units, scaled, scaled_state

import soacraft as sc
from soacraft.sim.choice import read_solver
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism

LENGTHS = Units(), Units(length=1e-6), Units(length=1e6)


def tree():
    """A free body with a slide and a pin, which swing and turn."""
    hinges = [sc.Free(), sc.Prismatic((0.6, 0.2, -0.4)), sc.Pin((0.1, 1.0, 0.3))]
    mb = sc.random_tree(3, seed=5, hinges=hinges, branching=0.5)
    mb.bodies[1].passive = sc.Passive(stiffness=40.0, damping=0.3)
    q, v = mb.random_state(np.random.default_rng(2))
    mb.set_state(q, v)
    return mb


def moved(units, integrator, in_python, **options):
    """q and v after a motion, in the units of the model."""
    mb = scaled(tree(), units)
    p = sc.sim.Propagator(mb, integrator=integrator, **options)
    if in_python:
        p.control(mb.dof_names[-1], lambda t, state: 0.0)
    p.advance_to(0.1)
    return scaled_state(mb, Units(1.0 / units.length), mb.q, mb.v)


def bounced(units, integrator, in_python, step):
    """The path of a mass on a spring of one radian per second, in steps so long that they converge slowly."""
    mb, at = sc.Multibody("slide", gravity=(0, 0, 0)), sc.Pose(translation=(0, 0, 1))
    mb.add_body("mass", None, sc.Prismatic((1, 0, 0)), sc.Inertia.box(1.0, (0.5, 0.5, 0.5)), at)
    mb.bodies[0].passive = sc.Passive(stiffness=1.0)
    mb.set_state([0.3], [0.1])
    other = scaled(mb, units)
    p = sc.sim.Propagator(other, integrator=integrator, step=step)
    if in_python:
        p.control("mass", lambda t, state: 0.0)
    return p.advance_to(5 * step).q[:, 0] / units.length


@pytest.mark.parametrize(
    ("method", "step", "in_python"),
    [(x, h, y) for x, h in (("variational", 1.48), ("variational4", 0.85)) for y in (False, True)]
    + [("gauss4", 1.85, True), ("gauss6", 2.2, True)],
)
def test_implicit_steps_end_by_the_size_of_the_motion(method, step, in_python):
    """Judged in metres, the repetition of a step would end early in a small model, and never in a large one. Each round
    leaves 0.55 of the error, so that neither is hidden by one round too many."""
    one, *others = (bounced(units, method, in_python, step) for units in LENGTHS)
    assert np.ptp(one) > 0.2
    for other in others:
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-11)


@pytest.mark.parametrize("method", ["rk4", "verlet", "euler_symplectic"])
def test_explicit_steps(method):
    one, *others = (np.concatenate(moved(units, method, False, step=0.01)) for units in LENGTHS)
    for other in others:
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["dop853", "radau", "cvode", "ida", "generalized_alpha"])
def test_adaptive_steps_are_as_many(method):
    """The length of steps follows the model's own sizes: the same ones are taken."""
    counts, ends = [], []
    for units in LENGTHS:
        mb = scaled(tree(), units)
        counts.append(len(sc.sim.Propagator(mb, integrator=method, rtol=1e-6).advance_to(0.3).t))
        ends.append(np.concatenate(scaled_state(mb, Units(1.0 / units.length), mb.q, mb.v)))
    assert max(counts) - min(counts) <= 0.02 * max(counts)
    for other in ends[1:]:
        np.testing.assert_allclose(other, ends[0], rtol=1e-4, atol=1e-5)


def test_dofs_that_closures_tie_to_those_that_stick():
    """A wheel rests with the rack that sticks, also where an arm sticks whose compliance is 1e12 times the rack's."""
    mb = sc.Multibody("rack", gravity=(0, 0, 0))
    mb.add_body("rack", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(2.0, (0, 0, 0)))
    mb.add_body("wheel", None, sc.Pin((0, 0, 1)), sc.Inertia.box(1.0, (0.4, 0.4, 0.1)))
    mb.add_body("arm", None, sc.Pin((0, 0, 1)), sc.Inertia.point(0.2, (0.5, 0, 0)))
    mb.couple("mesh", {"rack": (1.0,), "wheel": (-0.2,)})
    for units in LENGTHS:
        other = scaled(mb, units)
        solver, _ = read_solver(other, "ta")
        sticking = [sc.sim.HingeFriction(name, coulomb=1.0) for name in ("rack", "arm")]
        for each in sticking:
            each.bind(other)
        holds = Mechanism(RunProblem.of(other, sticking, closed=solver)).holds
        assert holds._rested(other.q, np.array([0.0, 1e-9, 0.0])).tolist() == [0.0, 0.0, 0.0]
