"""Another system continues from a state with the same bits; what does not fit is refused."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.restarts import descent
from tests.sim.state_scenes import crossing, pushing, same_run, two_plants

from soacraft import sim
from soacraft.errors import CheckpointError, StateError
from soacraft.sim.states.sim_state import SimState

SYSTEMS = [(x, y) for x in (two_plants, crossing) for y in ("rk4", "dop853", "radau", "gauss4", "gauss6", "cvode")]


@pytest.mark.parametrize(("make", "integrator"), [*SYSTEMS, (two_plants, "moreau"), (pushing, "moreau")])
def test_another_system_continues_with_the_same_bits(make, integrator):
    """With the noise to come, ticks, held values and states of components."""
    s, other = make(integrator), make(integrator)
    s.run(s.t + 0.0567)
    state = s.state()
    copied = SimState.decode(state.encode())
    assert copied == state
    other.set_state(copied)
    assert other.t == s.t
    assert repr(dict(other.states)) == repr(dict(s.states))
    assert [x.mb.q.tolist() for x in other.plants.values()] == [x.mb.q.tolist() for x in s.plants.values()]
    a, b = s.run(s.t + 0.08), other.run(other.t + 0.08)
    same_run(a, b)
    assert a.signals._rows.tobytes() == b.signals._rows.tobytes()
    assert s.state() == other.state()


def test_a_system_goes_back():
    """To a state of its own, from a later time; and on with the same bits."""
    s = two_plants("rk4")
    s.run(0.3)
    state = s.state()
    first = s.run(0.5)
    s.plants["right"].mb.set_state([0.1, 0.2], [0.0, 0.0])
    s.run(0.6)
    s.set_state(state)
    assert s.t == 0.3
    again = s.run(0.5)
    same_run(first, again)
    assert first.signals._rows.tobytes() == again.signals._rows.tobytes()


def test_a_checkpoint_has_the_state_of_the_system(tmp_path):
    s = two_plants("rk4")
    s.run(0.3)
    s.checkpoint(tmp_path / "a.h5")
    assert sim.restore(tmp_path / "a.h5").state() == s.state()


def test_systems_refuse_states_that_do_not_fit():
    s, other = two_plants("rk4"), crossing("rk4")
    s.run(0.3)
    other.run(0.05)
    before, states = s.state(), dict(s.states)
    with pytest.raises(CheckpointError, match=r"this SimState is of another run: its dofs are .* Add the same"):
        s.set_state(other.state())
    with pytest.raises(StateError, match=r"set_state takes what s\.state\(\) gave, got array.* s\.plants\[name\]"):
        s.set_state(np.zeros(4))
    assert s.state() == before
    assert dict(s.states) == states
    same_run(s.run(0.4), _continued(before).run(0.4))


def _continued(state):
    s = two_plants("rk4")
    s.set_state(state)
    return s


def test_systems_with_sequences_and_open_links_are_refused():
    s = descent()
    with pytest.raises(CheckpointError, match=r"has the sequence 'mission', whose phases are in no SimState\. Write"):
        s.state()
    s = two_plants("rk4")
    state = s.state()
    s._parts["lag"].component.unkept = "its peer keeps a state of its own."
    for call in (s.state, lambda: s.set_state(state)):
        with pytest.raises(CheckpointError, match="'lag' cannot be in a checkpoint: its peer keeps a state of its own"):
            call()


def test_a_state_that_is_set_after_a_checkpoint_was_restored_begins_another_log(tmp_path):
    log, file = tmp_path / "run.h5", tmp_path / "a.h5"
    s = two_plants("rk4")
    start = s.state()
    s.run(0.4, log=log, checkpoint=file)
    other = sim.restore(file)
    other.set_state(start)
    run = other.run(0.3, log=log)
    assert sim.read(log).t.tolist() == run.t.tolist()
    assert run.t[0] == 0.25
