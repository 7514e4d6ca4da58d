"""Steppers and runs hand states to each other; what a stepper cannot continue from is refused."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.sim.state_scenes import buried, closed, crossing, eventful, flexible, how, swinging, touching, tree

from soacraft import sim
from soacraft.errors import CheckpointError, StateError
from soacraft.sim.states.sim_state import SimState

COMPILED = [(tree, "rk4"), (touching, "moreau"), (touching, "moreau_midpoint"), (flexible, "rk4")]
IN_PYTHON = [
    (closed, "rk4"),
    (closed, "gauss4"),
    (tree, "dop853"),
    (closed, "dop853"),
    (tree, "generalized_alpha"),
    (tree, "moreau"),
]


def stepping(make, integrator):
    """A stepper, and the period of its calls."""
    p = make(integrator)
    return p.stepper(controls=[*p._acting.controls], period=0.01)


def parts(state):
    return state.q.tobytes(), state.v.tobytes(), dict(zip(state.forces, state.work.tolist(), strict=True)), state.ns


@pytest.mark.parametrize(("make", "integrator"), [*COMPILED, *IN_PYTHON])
def test_a_stepper_continues_from_a_run_and_a_run_from_a_stepper(make, integrator):
    """From between two steps of the grid; through bytes; with the same bits where steps are compiled."""
    p, step = make(integrator), stepping(make, integrator)
    p.run(0.067)
    step.set_state(SimState.decode(p.state().encode()))
    assert step.t == 0.067
    assert parts(step.sim_state()) == parts(p.state())
    step(4)
    p.run(0.1)
    assert step.t == p.t == 0.1
    if (make, integrator) in COMPILED:
        assert "compiled" in step.report()
        assert parts(step.sim_state()) == parts(p.state())
    else:
        np.testing.assert_allclose(step.q, p.mb.q, rtol=0, atol=1e-6)
    back = make(integrator)
    back.set_state(step.sim_state())
    assert parts(back.state()) == parts(step.sim_state())
    step(5)
    back.run(0.15)
    if (make, integrator) in COMPILED:
        assert parts(back.state()) == parts(step.sim_state())
    else:
        np.testing.assert_allclose(step.q, back.mb.q, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("make", "integrator"), [*COMPILED, *IN_PYTHON])
def test_another_stepper_continues_with_the_same_bits(make, integrator):
    a, b = stepping(make, integrator), stepping(make, integrator)
    a(6)
    b(2)
    b.set_state(a.sim_state())
    assert b.sim_state() == a.sim_state()
    a(5), b(5)
    assert parts(a.sim_state()) == parts(b.sim_state())


def test_what_is_driven_is_part_of_the_state():
    """Also by controls that the propagator does not have, once it has them."""
    p = sim.Propagator(swinging(), **how("rk4"))
    step = p.stepper()
    assert step.sim_state().controls == {}
    step.u[:] = 0.5, -0.25
    step(10)
    state = step.sim_state()
    assert dict(state.controls) == {"upper": 0.5, "lower": -0.25}
    with pytest.raises(
        CheckpointError, match=r"its forces are \['upper', 'lower', .* here are \['mb.set_force', .*\. Add"
    ):
        p.set_state(state)
    p.control("upper", 0.0), p.control("lower", 0.0)
    p.set_state(state)
    step(10)
    p.run(0.2)
    assert parts(p.state()) == parts(step.sim_state())
    other = p.stepper()
    other.u[:] = 7.0
    other.set_state(p.state())
    assert other.u.tolist() == [0.5, -0.25]
    still = sim.Propagator(swinging(), **how("rk4")).stepper()
    other.set_state(still.sim_state())
    assert other.u.tolist() == [0.0, 0.0]


def test_numbers_of_controls_that_are_not_driven_are_part_of_the_state():
    """They are in compiled steps from the next one on."""
    p = sim.Propagator(swinging(), **how("rk4"))
    p.control("upper", 1.0), p.control("lower", 0.0)
    step = p.stepper(controls=["lower"])
    p.control("upper", -2.0)
    p.run(0.05)
    step.set_state(p.state())
    step(5)
    p.run(0.1)
    assert parts(step.sim_state()) == parts(p.state())


def batch_of(count=3):
    p = sim.Propagator(swinging(), **how("rk4"))
    p.control("upper", 0.3)
    return p, p.stepper(controls=["upper"], states=count)


def test_batches_take_and_give_states():
    p, batch = batch_of()
    p.run(0.05)
    state = p.state()
    batch(5)
    batch.set_state(state, which=[1])
    assert parts(batch.sim_state(1)) == parts(state)
    rows = batch.q.copy()
    later = msgspec.structs.replace(state, q=[0.2, 0.1])
    batch.set_state(later, which=np.array([False, False, True]))
    assert batch.q[:2].tolist() == rows[:2].tolist()
    assert batch.q[2].tolist() == [0.2, 0.1]
    p.run(0.1)
    batch(5)
    assert parts(batch.sim_state(1)) == parts(p.state())
    batch.set_state(state)
    assert batch.t == 0.05
    batch(5)
    assert all(parts(batch.sim_state(i)) == parts(p.state()) for i in range(3))
    with pytest.raises(StateError, match="which"):
        batch.sim_state()


def test_a_part_of_a_batch_with_samples_keeps_its_time():
    p = sim.Propagator(swinging(), **how("rk4"))
    p.control("upper", 0.0), p.control("lower", ([0.0, 1.0], [0.0, 1.0]))
    batch = p.stepper(controls=["upper"], states=2)
    p.run(0.05)
    with pytest.raises(
        StateError, match=r"this SimState is of t = 0\.05 s, that of the batch is 0 s, .* give it to all"
    ):
        batch.set_state(p.state(), which=1)
    batch.set_state(p.state())
    batch(2)
    p.run(0.07)
    assert parts(batch.sim_state(1)) == parts(p.state())


def everything(step):
    return step.t, step.q.tolist(), step.v.tolist(), step.u.tolist()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: eventful("rk4").state(), "this SimState has events, which belong to runs: continue from it with p"),
        (lambda: crossing("rk4").state(), "this SimState has events, which belong to runs"),
        (lambda: tree("rk4").state(), "this SimState is of another run: its dofs are .* Add the same"),
    ],
)
def test_states_that_do_not_fit_are_refused(make, text):
    for count in (None, 2):
        step = sim.Propagator(swinging(), **how("rk4")).stepper(states=count)
        step.u[...] = 0.25
        step(3)
        before = everything(step)
        with pytest.raises(CheckpointError, match=text):
            step.set_state(make())
        assert everything(step) == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"rest": 5e-10}, "has an instant between two nanoseconds, which belong to runs"),
        ({"callbacks": ((10**9, 10),)}, "has callbacks, which belong to runs"),
        ({"held": {"a": 1.0}}, "has states of components, which belong to runs"),
        ({"forces": ("wind",), "work": [0.0]}, r"its forces are \['wind'\]"),
        ({"controls": {"wind": 1.0}}, r"its controls that are numbers are \['wind'\]"),
        ({"closures": {"loop": (1.0,)}}, "the closure 'loop' has 0 coordinates"),
    ],
)
def test_states_with_other_parts_are_refused(change, text):
    step = sim.Propagator(swinging(), **how("rk4")).stepper()
    with pytest.raises(CheckpointError, match=text):
        step.set_state(msgspec.structs.replace(step.sim_state(), **change))
    with pytest.raises(StateError, match=r"a SimState has the velocities, too: give step\.set_state\(state\)"):
        step.set_state(step.sim_state(), step.v)


def test_a_force_that_the_state_does_not_have_is_refused():
    p, bare = (sim.Propagator(swinging(), **how("rk4")) for _ in range(2))
    p.add(lambda t, state: [0.1, 0.0])
    step = p.stepper(controls=[])
    with pytest.raises(CheckpointError, match=r"its forces are .*, and those of 'double_pendulum' here are .*'lambda'"):
        step.set_state(bare.state())


def test_a_batch_refuses_shapes_in_each_other():
    """A state before the first step, which was not looked at; as an array is."""
    p = touching("moreau")
    fine, batch = p.state(), p.stepper(controls=[], states=2)
    q = fine.q.copy()
    q[6] = -0.05
    with pytest.raises(StateError, match="begins with"):
        batch.set_state(msgspec.structs.replace(fine, q=q), which=0)
    assert batch.q[0].tolist() == fine.q.tolist()


def test_shapes_that_are_taken_out_go_on_in_a_stepper():
    """These steps are taken in Python."""
    p = buried("moreau")
    step = p.stepper(controls=[])
    p.run(0.01)
    step.set_state(p.state())
    step(40)
    p.run(0.21)
    np.testing.assert_allclose(step.q, p.mb.q, rtol=0, atol=1e-12)
    assert step.q[6] > 0.0999
