"""Twins: what they are given, and that `check_component` holds them against their equations."""

from __future__ import annotations

import ctypes
import math

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import WiringError
from soacraft.sim.components.twins import TwinFunction, numbers_of
from soacraft.sim.library.listed import COMPONENTS, examples

seen: list[tuple[list[float], list[float], int]] = []


@TwinFunction
def weighted(given, p, out, n):
    """gain * u + t, written in the form of C."""
    seen.append(([given[0][0], given[1][0]], [p[0], p[1]], n))
    for i in range(n):
        out[i] = p[1] * given[0][i] + given[1][0]


@TwinFunction
def off(given, p, out, n):
    out[0] = p[1] * given[0][0] + given[1][0] * (1.0 + 1e-14)


def component(twin, **params):
    class Own(sim.Component):
        class Params(sim.Params):
            label: str = "a"
            gain: float = 3.0

        u = sim.In()

        @sim.output(twin=twin)
        def y(u, p, t):
            return p.gain * u + t

    return Own(**params)


def test_a_twin_is_called_in_the_place_of_its_equation():
    s = sim.System("s", integrator="rk4", step=0.5)
    s.add("source", sim.Constant(value=2.0))
    s.add("own", component(weighted, gain=4.0), every=0.5)
    s.connect("source.y", "own.u")
    seen.clear()
    run = s.run(1.0)
    assert run.signals["own.y"].tolist() == [8.0, 8.5, 9.0]
    assert [(x, p[1], n) for x, p, n in seen] == [([2.0, 0.5], 4.0, 1), ([2.0, 1.0], 4.0, 1)]
    assert math.isnan(seen[0][1][0])  # the text


def test_a_twin_that_differs_in_the_last_bits_is_told():
    sim.check_component(component(weighted))
    with pytest.raises(WiringError, match=r"the output 'y' of Own gives .*, and its twin"):
        sim.check_component(component(off))


@pytest.mark.parametrize("given", [3, lambda x: x, "sin", ctypes.CFUNCTYPE(None)(lambda: None)])
def test_what_is_no_twin_is_refused(given):
    with pytest.raises(WiringError, match=r"the twin of the output 'y' must be a sim\.TwinFunction, made of the"):
        component(given)


def test_a_function_at_no_address_is_refused():
    with pytest.raises(WiringError, match="the twin of the output 'y' is a function at address 0"):
        component(TwinFunction(0))


def test_parameters_that_are_no_numbers_have_no_twin():
    class Own(sim.Component):
        class Params(sim.Params):
            table: dict[str, float]

        @sim.output(twin=weighted)
        def y(p):
            return p.table["a"]

    own = Own(table={"a": 2.0})
    assert numbers_of(own.p) is None
    with pytest.raises(WiringError, match=r"has a twin, which takes parameters that are numbers, tuples of numbers"):
        sim.check_component(own)
    s = sim.System("s", integrator="rk4", step=0.5)
    s.add("own", own)
    assert s.run(1.0).signals["own.y"].tolist() == [2.0, 2.0, 2.0]  # by its equation


def test_equations_that_come_along_have_twins():
    missing = [f"{x.__name__}.{y.name}" for x in COMPONENTS for y in x.interface.equations if y.twin is None]
    assert missing == ["WideDrive.force"]  # which must know the sizes of two of its parameters


def test_twins_of_ours_have_the_bits_of_their_equations():
    """Sums of three products, and sines, may be rounded in another way."""
    rng = np.random.default_rng(4)
    from soacraft.sim.components.checks import _drawn, _wanted
    from soacraft.sim.components.twins import call_twin

    for x in examples():
        for equation in x.interface.equations:
            wanted = _wanted(x, equation)
            for _ in range(20 if equation.twin is not None else 0):
                given = _drawn(x, equation, wanted, rng)
                value = np.asarray(equation(*given), dtype=float)
                taken = [np.ravel(a).tolist() for n, a in zip(equation.arguments, given, strict=True) if n != "p"]
                twin = np.reshape(call_twin(equation.twin, taken, numbers_of(x.p), value.size), value.shape)
                rounded = type(x).__name__ in ("Express", "Sine")
                assert np.array_equal(twin, value) or (rounded and np.allclose(twin, value, rtol=1e-14)), equation
