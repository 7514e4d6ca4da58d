"""Refusals of runs name what the call has: no scene, no integrator, no Contact of a propagator."""

from __future__ import annotations

import numpy as np
import pytest
from tests.robot.studies.models import planar

import soacraft as sc
from soacraft.contact import Plane
from soacraft.errors import ConvergenceError, LoopError, ModelError, SimulationError, StateError
from soacraft.robot import Robot, World
from soacraft.robot.estimation.filter import StateFilter
from soacraft.robot.estimation.wording import in_words_of
from soacraft.robot.studies.trial import simulated

#: Arguments of a propagator and its parts that a prediction does not have.
FOREIGN = ("scene.", "penetration", "integrator", "rollout", "advance_to", "limits=", "one_sided=")


def refused(error, call):
    with pytest.raises(error) as told:
        call()
    text = str(told.value)
    assert not [x for x in FOREIGN if x in text], text
    return text


def test_shapes_in_each_other_are_moved_apart_or_allowed_to_touch():
    rb = Robot(sc.load("anymal_b"))
    w = World(rb)
    said = refused(StateError, lambda: rb.predict(horizon=0.01, world=w))
    assert said.startswith("the prediction begins with 'LF_THIGH/geom12' and 'base/geom1' 0.0025 m in each other; ")
    assert said.endswith("begin where they are apart, or let them touch with w.allow('LF_THIGH', 'base').")
    w.make_allowed(samples=100)
    assert rb.predict(horizon=0.002, world=w).smooth


def test_springs_that_are_too_fast_for_the_step():
    rb = Robot(sc.load("cassie"))
    q = rb.mb.neutral()  # it moves: where all fall freely, springs are at rest but for rounding
    rb.mb.set_state(q, sc.loops.TreeAugmented(rb.mb).project_velocity(q, 0.1 * np.ones(rb.mb.nv)))
    said = refused(SimulationError, lambda: rb.predict(horizon=0.01))
    assert said.startswith("the prediction of 'cassie': the problem is stiff: stability limits the steps of 'rk4' to ")
    assert said.endswith(" Give step= at most that.")
    assert len(rb.predict(horizon=0.002, step=5e-4).t) == 5  # the cure is one


def test_contacts_that_are_not_solved():
    said = r"not solved; give a smaller step=, or other friction= and restitution=\.$"
    with pytest.raises(ConvergenceError, match=said), in_words_of("the prediction", "step="):
        raise ConvergenceError("2 contacts were not solved; take a shorter step or otherwise='report'")


def test_closures_that_are_open():
    rb = Robot(sc.load("five_bar"))
    rb.mb.set_state(rb.mb.neutral())  # open
    said = refused(LoopError, lambda: rb.predict(horizon=0.01))
    assert said.startswith("the prediction of 'five_bar': a run cannot begin off its closures")
    assert said.endswith("s = sc.loops.TreeAugmented(rb.mb); q = s.assemble(q); v = s.project_velocity(q, v).")


def test_a_dof_beyond_its_limits():
    rb = Robot(sc.load("panda"))
    w = World(rb)
    said = refused(StateError, lambda: rb.predict([0, 0, 0, -1.5, 0, 5.0, 0], horizon=0.01, world=w))
    assert said.startswith("the prediction begins with 'joint")
    assert said.endswith("; begin within them, or give the model other limits.")


def test_steps_that_are_too_long():
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia.sphere(1.0, 0.1))
    rb = Robot(mb)
    said = refused(SimulationError, lambda: rb.predict(v=[400.0, 0, 0], horizon=0.1, step=0.01))
    assert said.startswith("the prediction of 'ball' stopped in step 0")
    assert said.endswith("a hinge turns by more than 3 rad within the step. Give a smaller step=.")


def test_forces_that_are_kept_with_the_model():
    rb = Robot(sc.load("pendulum"))
    rb.mb.set_force("bob/tip", [0, 0, 0, 1.0, 0, 0])
    with pytest.raises(ModelError, match=r"has some; run it by sc\.sim\.Propagator instead\.$"):
        rb.predict(horizon=0.01)


def stiff():
    rb = planar(1.0)
    rb.mb["l1"].passive = sc.Passive(stiffness=1e9)
    return rb


def test_a_filter_has_a_dt():
    rb = stiff()
    f = StateFilter(rb, [0.1], [0.0], np.ones(2))
    said = refused(SimulationError, lambda: [f.predict([0.0], 0.01) for _ in range(20)])
    assert said.startswith("the filter of ")
    assert said.endswith(" Give dt= at most that.")


def test_a_simulation_of_a_sequence_has_a_dt():
    rb = stiff()
    error, why = simulated(rb, (np.array([0.1]), 0.5), {"l1": 1e3}, 1e-2, 0.02)
    assert np.isinf(error)
    assert why.startswith("simulation ends: ")
    assert why.endswith(" Give dt= at most that.")


def test_other_errors_pass_as_they_are():
    wrong = StateError("q is wrong: give another.")
    with pytest.raises(StateError) as told, in_words_of("it", "step="):
        raise wrong
    assert told.value is wrong


def test_a_world_of_objects_is_named_too():
    mb = sc.Multibody("ball")
    body = mb.add_body("ball", hinge=sc.Free(), inertia=sc.Inertia.sphere(1.0, 0.1))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    rb = Robot(mb)
    w = World(rb)
    w.add("floor", Plane())
    said = refused(StateError, lambda: rb.predict(horizon=0.01, world=w))
    assert said.endswith("w.allow('ball', 'floor').")
    w.allow("ball", "floor")
    assert rb.predict(horizon=0.01, world=w).smooth
