"""Parameters and states by name."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import WiringError


def lag() -> sim.System:
    s = sim.System("s", integrator="rk4", step=0.01)
    s.add("one", sim.Constant(value=1.0))
    s.add("lag", sim.LowPass(time_constant=0.5))
    s.add("kept", sim.UnitDelay(start=4.0), every=0.1)
    s.connect("one.y", "*.u")
    return s


def test_parameters_act_from_the_next_evaluation_on():
    s = lag()
    assert s.params["lag.time_constant"] == 0.5
    first = s.run(0.1)
    s.params["lag.time_constant"] = 0.25
    second = s.run(0.2)
    x = first.signals["lag.x"][-1]
    assert x == pytest.approx(1 - np.exp(-0.2), rel=1e-8)
    assert second.signals["lag.x"][-1] == pytest.approx(1 - (1 - x) * np.exp(-0.4), rel=1e-7)
    assert dict(s.params) == {
        "kept.start": 4.0,
        "kept.size": None,
        "lag.time_constant": 0.25,
        "lag.start": 0.0,
        "lag.size": None,
        "one.value": 1.0,
        "one.unit": None,
    }
    assert len(s.params) == 7


def test_states_are_read_and_set():
    s = lag()
    assert s.states["kept.x"] == 4.0
    s.states["lag.x"] = 0.5
    run = s.run(0.1)
    assert run.signals["lag.x"][0] == 0.5
    s.states["lag.x"] = -1.0
    s.states["kept.x"] = 3.0
    assert s.states["lag.x"] == -1.0
    run = s.run(0.2)
    assert run.signals["lag.x"][0] == -1.0
    assert run.signals["kept.x"][0] == 3.0


def test_what_is_refused():
    s = lag()
    with pytest.raises(WiringError, match=r"the system 's' has no parameter 'lag.tau'"):
        s.params["lag.tau"] = 1.0
    with pytest.raises(WiringError, match=r"parameters of LowPass: Expected `float` > 0.0"):
        s.params["lag.time_constant"] = 0.0
    with pytest.raises(WiringError, match=r"the system 's' has no state 'lag.y'; did you mean 'lag.x'\?"):
        s.states["lag.y"] = 1.0
    with pytest.raises(WiringError, match=r"the state 'lag.x' must be float numbers of shape \(\), got \[1, 2\]"):
        s.states["lag.x"] = [1, 2]
    with pytest.raises(WiringError, match=r"the state 'lag.x' must be finite, got nan"):
        s.states["lag.x"] = float("nan")
    with pytest.raises(WiringError, match=r"'lag.x' cannot be taken away: a component has all its states"):
        del s.states["lag.x"]
    assert s.params["lag.time_constant"] == 0.5
    s.run(0.1)
    with pytest.raises(WiringError, match=r"'lag.size' changes what 'u' carries, which cannot change"):
        s.params["lag.size"] = 3
    assert s.params["lag.size"] is None
