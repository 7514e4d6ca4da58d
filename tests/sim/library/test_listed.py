"""All components that come along are listed, checked, documented and public."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

from soacraft import sim
from soacraft.sim import library
from soacraft.sim.library.listed import COMPONENTS, examples


@pytest.mark.parametrize("component", examples(), ids=repr)
def test_each_is_sound(component):
    assert type(component).__name__ in str(sim.check_component(component))


def test_each_class_is_listed_tried_and_public():
    modules = [importlib.import_module(f"{library.__name__}.{x.name}") for x in pkgutil.iter_modules(library.__path__)]
    classes = {
        y
        for module in modules
        for y in vars(module).values()
        if inspect.isclass(y) and issubclass(y, sim.Component) and y.__module__ == module.__name__
    }
    assert classes == set(COMPONENTS) == {type(x) for x in examples()}
    assert all(getattr(sim, x.__name__) is x and ">>>" in x.__doc__ for x in COMPONENTS)


def test_a_lag_follows_its_exponential():
    s = sim.System("lag", rtol=1e-11)
    s.add("one", sim.Step(after=3.0))
    s.add("lag", sim.LowPass(time_constant=0.2, start=1.0))
    s.connect("one.y", "lag.u")
    run = s.run(1.0)
    assert np.allclose(run.signals["lag.y"], 3.0 - 2.0 * np.exp(-run.t / 0.2), atol=1e-9)


def test_a_limited_pid_does_not_wind_up():
    s = sim.System("limit", integrator="rk4", step=0.01)
    s.add("target", sim.Constant(value=100.0))
    s.add("still", sim.Constant(value=0.0))
    s.add("pid", sim.PID(kp=0.0, ki=1.0, lower=-2.0, upper=2.0), every=0.01)
    s.connect("target.y", "pid.target")
    s.connect("still.y", "pid.measured")
    run = s.run(1.0)
    assert run.signals["pid.sum"].max() == 2.0
    assert run.signals["pid.command"][-1] == 2.0


def test_noise_of_a_density_grows_with_the_rate():
    drawn = {}
    for rate in (100, 400):
        s = sim.System("noise", integrator="rk4", step=0.01, seed=1)
        s.add("zero", sim.Constant(value=0.0))
        s.add("gyro", sim.Sensor(density=0.1), rate=rate)
        s.connect("zero.y", "gyro.u")
        drawn[rate] = s.run(20.0).signals["gyro.y"].std()
    assert drawn[100] == pytest.approx(1.0, rel=0.05)
    assert drawn[400] == pytest.approx(2.0, rel=0.05)
