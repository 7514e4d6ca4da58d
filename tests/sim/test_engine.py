"""`engine_of`: one answer for runs, steppers and rollouts, with the reason where steps are taken in Python."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.sim.engine import Engine, engine_of
from soacraft.sim.integrators.methods import find_method
from soacraft.sim.problem.run_problem import RunProblem


def method(name):
    return find_method(name, 1e-9, name not in ("dop853", "radau"), None)


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("rk4", lambda: sc.load("double_pendulum"), ""),
        ("radau", lambda: sc.load("double_pendulum"), "'radau' is written in Python"),
        ("moreau", lambda: sc.load("double_pendulum"), "nothing touches"),
        ("rk4", four_bar, ""),
        ("variational", four_bar, ""),
    ],
)
def test_the_reason_is_that_of_the_method_and_the_model(name, make, reason):
    assert engine_of(RunProblem.of(make()), method(name)).reason == reason


def test_the_report_the_stepper_and_the_rollout_give_one_answer():
    p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
    p.control(p.mb.dof_names[0], lambda t, state: 0.0, breaks=[0.1])
    reason = "a function has breaks"
    assert f"steps: one by one in Python, since {reason}" in p.report()
    assert f"steps: those of runs, since {reason}" in p.stepper([]).report()


def test_calls_are_listed_and_cut():
    engine = Engine(calls=tuple(f"'f{i}'" for i in range(8)))
    assert str(engine).endswith("'f5' and 2 more")
    assert engine.obstacle_alone == "'f0' is a function"
    assert Engine("why", ("'f'",)).obstacle_alone == "why"
    assert str(Engine("why", ("'f'",))) == "one by one in Python, since why"


def test_rollouts_do_not_call_python():
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=0.01 * np.eye(3))).add_geometry(
        sc.Geometry("skin", "sphere", (0.1,))
    )
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    name = mb.dof_names[0]
    p.control(name, lambda t, state: 0.0)
    with pytest.raises(ModelError, match=f"with contact is not compiled: the control of '{name}' is a function; use"):
        p.rollout([0, 0, 0, 1, 0, 0, 0.2], np.zeros(6), steps=3)
