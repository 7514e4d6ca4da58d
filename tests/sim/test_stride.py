"""Lengths of steps: none of an adaptive method is longer than `max_step`, in Python and compiled."""

import numpy as np
import pytest
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.errors import StateError
from soacraft.sim.integrators.pace import Pace

ADAPTIVE = ("dop853", "radau", "cvode", "ida", "generalized_alpha")


def rest():
    """A pendulum that hangs at rest: nothing but `max_step` bounds a step."""
    mb = sc.load("pendulum")
    mb.set_state([0.0], [0.0])
    return mb


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_no_step_is_longer_than_max_step(integrator):
    def longest(**bounds):
        mb = rest()
        mb.set_state([0.1], [0.0])
        p = sc.sim.Propagator(mb, integrator=integrator, rtol=1e-2, **bounds)
        p.add(lambda t, state: None)  # steps in Python
        return np.diff(p.advance_to(2.0).t).max()

    assert longest() > 0.05
    assert longest(max_step=0.03) <= 0.03 + 1e-9


def test_compiled_steps_are_those_of_python():
    def run(function):
        p = sc.sim.Propagator(rest(), rtol=1e-3, max_step=0.07)
        if function:
            p.add(lambda t, state: None)
        return p.advance_to(1.0)

    compiled, python = run(False), run(True)
    np.testing.assert_array_equal(compiled.t, python.t)
    assert np.diff(compiled.t).max() <= 0.07 + 1e-9
    assert len(compiled.t) > 14


def test_a_pulse_that_nothing_tells_of_is_met_by_max_step():
    """1 N s at t = 50 s on a cart at rest."""
    mb = sc.load("cart_pole")
    mb.gravity = (0, 0, 0)
    p = sc.sim.Propagator(mb, rtol=1e-3, max_step=0.4)
    p.control("cart", lambda t, state: 1.0 if 50.0 <= t < 51.0 else 0.0)
    p.advance_to(100.0)
    assert (sc.dynamics.mass_matrix(mb, mb.q) @ mb.v)[0] == pytest.approx(1.0, rel=2e-3)


def test_max_step_of_systems():
    s = sc.sim.System("rest", rtol=1e-3, max_step=0.25)
    s.add("arm", sc.sim.Plant(rest()))
    assert np.diff(s.run(3.0).t).max() <= 0.25 + 1e-9


@pytest.mark.parametrize("integrator", ["rk4", "verlet", "moreau", "generalized_alpha"])
def test_fixed_steps_have_no_max_step(integrator):
    with pytest.raises(StateError, match=rf"adaptive method; those of '{integrator}' are step= long"):
        sc.sim.Propagator(rest(), integrator=integrator, step=0.01, max_step=0.1)


@pytest.mark.parametrize("given", [0.0, -1.0, np.nan, "a"])
def test_max_step_is_a_positive_time(given):
    with pytest.raises(StateError, match="max_step must"):
        sc.sim.Propagator(rest(), max_step=given)


def test_a_checkpoint_keeps_max_step(tmp_path):
    p = sc.sim.Propagator(rest(), max_step=0.1)
    p.advance_to(0.5)
    p.checkpoint(tmp_path / "a.h5")
    other = sc.sim.Propagator(rest(), max_step=0.2)
    with pytest.raises(sc.errors.CheckpointError, match="max_step"):
        other.restore(tmp_path / "a.h5")


def test_a_system_file_keeps_max_step(tmp_path):
    s = sc.sim.System("one", max_step=0.125)
    s.add("target", sc.sim.Constant(value=0.5))
    s.save(tmp_path / "one.toml")
    assert "max_step = 0.125" in (tmp_path / "one.toml").read_text()
    assert sc.sim.load_system(tmp_path / "one.toml")._how["max_step"] == 0.125


def servo_stop(rtol, python):
    """An oscillator at a stop of 1e8 N/m at q = 0, made of a servo that pushes to one side alone."""
    mb = sc.Multibody(gravity=(0, 0, 0))
    body = mb.add_body("m", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, moment=0.1 * np.eye(3)))
    body.passive = sc.Passive(stiffness=1.0)
    law = {"gainprm": [0.0], "biastype": "affine", "biasprm": [0.0, -1e8, 0.0], "forcerange": [-1e300, 0.0]}
    mb.add_actuator(sc.Actuator("stop", "general", {"m": 1.0}, law))
    mb.set_state([-1.0], [0.0])
    p = sc.sim.Propagator(mb, rtol=rtol)
    p.control("stop", 0.0)
    with pytest.MonkeyPatch.context() as patch:
        if python:
            in_python(patch)
        return p.advance_to(3.0)


def test_compiled_steps_refuse_ends_beyond_a_kink_as_python_does(monkeypatch):
    tolerances = (1e-2, 1e-3, 1e-4)
    runs = [(servo_stop(rtol, False), servo_stop(rtol, True)) for rtol in tolerances]
    for compiled, python in runs:
        np.testing.assert_array_equal(compiled.t, python.t)
    monkeypatch.setattr(Pace, "bend", lambda *_: 0.0)
    others = [servo_stop(rtol, True) for rtol in tolerances]
    assert any(len(x.t) != len(y.t) or (x.t != y.t).any() for x, (y, _) in zip(others, runs, strict=True))
