"""Random combinations of features: steps as in Python, events as in Python, and the same bits after a restart.

Each combination is compared with itself in three ways. A run in one piece is one whose steps are all taken in Python,
to rounding. A run that goes on from a state, written and read in its middle, has the bits of one that paused there.
What one of them refuses all refuse, in the same words.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.random_runs import END, propagator

from soacraft.errors import SoacraftError
from soacraft.sim import SimState
from soacraft.sim.stride import Stride, Walked

#: Sums are in another order in compiled code; the rates of stiff contacts grow it.
ROUNDING = 1e-8
#: The pause of a run, between its steps.
PAUSE = 0.0937


def ended(p, times):
    """The end of a run with pauses and its events, or the text of its refusal."""
    try:
        events = [(x.name, round(x.t, 7)) for t in times for x in p.run(t).events]
    except SoacraftError as refusal:
        return str(refusal).split(":")[1][:60], []
    return np.concatenate([p.mb.q, p.mb.v]), events


def same(one, other, error):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return one.shape == other.shape and bool((np.abs(one - other) <= error).all())


def compare(seed, monkeypatch):
    p, words = propagator(seed)
    end, events = ended(p, [END])
    with monkeypatch.context() as patch:
        patch.setattr(Stride, "many", lambda stride, problem, memory, *given, **options: Walked(None, memory))
        python, python_events = ended(propagator(seed)[0], [END])
    assert same(end, python, ROUNDING), words
    assert events == python_events, words
    if isinstance(end, str):
        return
    p, _ = propagator(seed)
    p.run(PAUSE)
    state = SimState.decode(p.state().encode())
    paused = ended(p, [END])
    restored, _ = propagator(seed)
    restored.set_state(state)
    again = ended(restored, [END])
    assert same(paused[0], again[0], 0.0), words
    assert paused[1] == again[1], words


@pytest.mark.parametrize("seed", range(24))
def test_compiled_steps_are_those_of_python_and_restarts_keep_bits(seed, monkeypatch):
    compare(seed, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24, 500))
def test_many_compiled_steps_are_those_of_python_and_restarts_keep_bits(seed, monkeypatch):
    compare(seed, monkeypatch)
