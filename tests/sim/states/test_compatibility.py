"""States of another run are refused by name, and nothing changes."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.sim.state_scenes import crossing, eventful, same_run, swinging, tree

from soacraft import sim
from soacraft.errors import CheckpointError, StateError


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
