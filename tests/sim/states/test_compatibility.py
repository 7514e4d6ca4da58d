"""States of another run are refused by name, and nothing changes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.sim.state_scenes import crossing, eventful, same_run, swinging, tree

from soacraft import sim
from soacraft.errors import CheckpointError, StateError
from soacraft.sim import SimState


def everything(p):
    """All that a refused state must leave as it is."""
    mb = p.mb
    numbers = [mb.q.tolist(), mb.v.tolist(), mb.vdot.tolist(), p._acting.numbers]
    return [p.t, *numbers, [x[:2] for x in p._runner.callbacks], [x.name for x in p._runner.events], p.last_run]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"q": [0.0]}, "its coordinates are 1, and those of 'double_pendulum' here are 2"),
        ({"v": [0.0] * 3}, "its velocities are 3"),
        ({"z": [1.0]}, "its states of components are 1"),
        ({"dofs": ("a", "b")}, r"its dofs are \['a', 'b'\]"),
        ({"forces": ("a",), "work": [0.0]}, r"its forces are \['a'\]"),
        ({"events": ()}, r"its events are \[\]"),
        ({"callbacks": ()}, r"its periods of callbacks are \[\], .* here are \[0\.05, 0\.03\]"),
        ({"controls": {}}, r"its controls that are numbers are \[\]"),
        ({"ticks": (1,)}, "its clocks are 1"),
        ({"held": {"a": 1.0}}, "its held values are"),
        ({"signs": {"other": 1.0}}, r"signs of \['other'\], which are no events"),
        ({"closures": {"loop": (1.0,)}}, "the closure 'loop' has 0 coordinates"),
        ({"independent": (0,)}, "'double_pendulum' has no closures"),
    ],
)
def test_a_refused_state_changes_nothing(change, text):
    p, other = eventful("rk4"), eventful("rk4")
    p.run(0.117), other.run(0.117)
    wrong = msgspec.structs.replace(eventful("rk4").state(), **change)
    before = everything(p)
    with pytest.raises(CheckpointError, match=f"this SimState .*{text}"):
        p.set_state(wrong)
    assert everything(p) == before
    same_run(p.run(0.3), other.run(0.3))


def test_a_state_that_fails_on_the_way_changes_nothing(monkeypatch):
    """Where the last of its parts raises, those before are put back."""
    s, other = crossing("rk4"), crossing("rk4")
    s.run(0.05), other.run(0.05)
    start, before, states = crossing("rk4").state(), s.state(), dict(s.states)
    flow = s._compiled()[2]
    recall, calls = type(flow).recall, []

    def fails_once(self, counts, held):
        calls.append(counts)
        recall(self, counts, held)
        if len(calls) == 2:  # after the one of the present state
            raise ValueError("no such slot")

    monkeypatch.setattr(type(flow), "recall", fails_once)
    with pytest.raises(CheckpointError, match="this SimState cannot be restored, it is damaged: no such slot"):
        s.set_state(start)
    assert (s.state(), dict(s.states)) == (before, states)
    other.state()
    same_run(s.run(0.1), other.run(0.1))


def test_quaternions_of_no_length_are_refused():
    p = tree("rk4")
    wrong = msgspec.structs.replace(p.state(), q=np.zeros(p.mb.nq))
    with pytest.raises(CheckpointError, match=r"this SimState cannot be restored, it is damaged: .*quaternion"):
        p.set_state(wrong)


def test_what_is_no_state_and_what_a_run_does_are_refused():
    p = sim.Propagator(swinging(), integrator="rk4", step=0.01)
    with pytest.raises(StateError, match=r"set_state takes what p\.state\(\) gave, got array.*mb\.set_state"):
        p.set_state(p.mb.q)
    state, said = p.state(), []

    def ask(t, x):
        for call in (p.state, lambda: p.set_state(state)):
            with pytest.raises(StateError, match="a run goes on") as wrong:
                call()
            said.append(str(wrong.value))

    p.every(1.0, ask)
    p.run(0.1)
    assert len(said) == 2


SAMPLES = (np.array([0.0, 0.05, 0.2, 1.0]), np.array([0.1, -0.4, 0.3, 0.0]))


def given_a_number(control):
    """A pendulum of two rods under a control, which a callback makes a number from 0.06 s on."""
    p = sim.Propagator(swinging(), integrator="rk4", step=0.01)
    first, second = p.mb.dof_names
    if control == "together":
        p.control(lambda t, s: {first: 0.1 * np.sin(9 * t), second: -0.2 * s.v[1]})
    else:
        p.control(first, SAMPLES if control == "samples" else lambda t, s: 0.3 * np.cos(9 * t))
        p.control(second, 0.2)
    p.every(0.03, lambda t, s: p.control(first, 0.5 * t) if 0.06 <= t < 0.1 else None)
    return p


@pytest.mark.parametrize("control", ["samples", "function", "together"])
@pytest.mark.parametrize("through", ["state", "checkpoint"])
def test_controls_that_became_numbers_are_restored_as_these(control, through, tmp_path):
    """A callback gave a number in place of samples or a function: the number is part of the state."""
    p, other, first = given_a_number(control), given_a_number(control), swinging().dof_names[0]
    p.run(0.14)
    assert p.state().controls[first] == pytest.approx(0.045)
    if through == "state":
        other.set_state(SimState.decode(p.state().encode()))
    else:
        p.checkpoint(tmp_path / "a.h5")
        other.restore(tmp_path / "a.h5")
    assert other._acting.numbers == p._acting.numbers
    one, again = p.run(0.3), other.run(0.3)
    same_run(one, again)
    assert set(one.forces[first][:, 0]) == {0.5 * 0.09}


def test_a_control_that_is_another_function_is_refused(tmp_path):
    """A function that a callback gave is in no state: such a checkpoint is of another program."""
    p = given_a_number("samples")
    p.run(0.02)
    p.control(p.mb.dof_names[0], lambda t, s: 0.7 * t)
    p.checkpoint(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match="the control of"):
        given_a_number("samples").restore(tmp_path / "a.h5")


def test_a_number_whose_control_is_none_here_is_refused():
    p, other = given_a_number("samples"), sim.Propagator(swinging(), integrator="rk4", step=0.01)
    other.control(other.mb.dof_names[1], 0.2)
    p.run(0.14)
    with pytest.raises(CheckpointError, match="this SimState is of another run"):
        other.set_state(p.state())


def test_samples_that_became_numbers_do_not_come_back_from_a_state():
    """A state of before, when samples acted, does not have them: the propagator refuses it."""
    p = given_a_number("samples")
    p.run(0.03)
    before = p.state()
    p.run(0.14)
    with pytest.raises(CheckpointError, match=r"its controls that are numbers are \['.*'\], and those of"):
        p.set_state(before)


def test_samples_stay_where_a_state_with_a_number_fails_on_the_way(monkeypatch):
    """Where a later part of the state raises, the samples act as before."""
    p, other, given = given_a_number("samples"), given_a_number("samples"), given_a_number("samples")
    p.run(0.02), other.run(0.02), given.run(0.14)
    state = given.state()
    forget, calls = type(p._runner._parts.stability).forget, []

    def fails_once(self):
        calls.append(self)
        forget(self)
        if len(calls) == 1:
            raise ValueError("no such row")

    with monkeypatch.context() as patch:
        patch.setattr(type(p._runner._parts.stability), "forget", fails_once)
        with pytest.raises(CheckpointError, match="it is damaged: no such row"):
            p.set_state(state)
    other.set_state(other.state())
    same_run(p.run(0.3), other.run(0.3))
