"""Declarations: what a class may say, and what is refused when it is defined."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
from msgspec import Meta

from soacraft import sim
from soacraft.errors import WiringError


class Lag(sim.Component):
    """A lag with a limit."""

    class Params(sim.Params):
        tau: Annotated[float, sim.Unit("s"), Meta(gt=0)]
        size: int = 2

    u = sim.In("V", shape=lambda p: (p.size,))
    x = sim.Continuous("V", shape=lambda p: p.size, start=lambda p: p.tau)

    @sim.output("V", shape=lambda p: (p.size,), frame="inertial")
    def y(x):
        """The state."""
        return x

    @sim.rate(x)
    def x_rate(p, u, x):
        return (u - x) / p.tau


def test_the_arguments_of_an_equation_are_what_it_depends_on():
    face = Lag.interface
    assert face.rates["x"].arguments == ("p", "u", "x")
    assert face.outputs["y"].arguments == ("x",)
    assert Lag.x_rate(Lag(tau=2.0).p, 3.0, 1.0) == 1.0
    assert Lag.y.__doc__ == "The state."
    assert repr(Lag.y) == "<output Lag.y(x)>"
    assert repr(Lag.u) == "<In Lag.u>"


def test_shapes_and_starts_follow_the_parameters():
    lag = Lag(tau=0.5, size=3)
    signal = Lag.u.signal(lag.p)
    assert signal.shape == (3,)
    assert signal.unit == "V"
    assert np.array_equal(Lag.x.first(lag.p), [0.5, 0.5, 0.5])
    assert lag.interface.outputs["y"].signal(lag.p).frame == "inertial"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, r"parameters of Lag: Object missing required field `tau`"),
        ({"tau": 0.0}, r"parameters of Lag: Expected `float` > 0.0 - at `\$.tau`"),
        ({"tau": "x"}, r"Expected `float`, got `str` - at `\$.tau`"),
        ({"tao": 1.0}, r"Lag has no parameter 'tao'; did you mean 'tau'\?"),
    ],
)
def test_parameters_are_checked(given, why):
    with pytest.raises(WiringError, match=why):
        Lag(**given)


def test_a_start_that_is_none_is_refused():
    class Odd(sim.Component):
        x = sim.Discrete(start=lambda p: float("nan"))

    with pytest.raises(WiringError, match=r"the start of Odd.x must be finite, got nan"):
        Odd.x.first(Odd().p)
    with pytest.raises(WiringError, match=r"the shape of .* must be whole numbers, got \(-1,\)"):
        sim.In(shape=-1).signal(None)


def define(**body):
    return type("Own", (sim.Component,), body)


def test_what_a_class_may_not_say():
    x, c = sim.Continuous(), sim.crossing()(lambda x: x)
    with pytest.raises(
        WiringError, match=r"the output 'y' of Own takes 'uu', which it does not declare; did you mean 'u'\?"
    ):
        define(u=sim.In(), y=sim.output()(lambda uu: uu))
    with pytest.raises(WiringError, match=r"the continuous state 'x' of Own has no rate: give one with @sim.rate\(x\)"):
        define(x=sim.Continuous())
    with pytest.raises(WiringError, match=r"'t' of Own is a reserved name"):
        define(t=sim.In())
    with pytest.raises(WiringError, match=r"the output 'z' of Own takes the output 'y': let both take"):
        define(y=sim.output()(lambda: 1.0), z=sim.output()(lambda y: y))
    with pytest.raises(WiringError, match=r"'x' of Own has two equations: 'a' and 'b'"):
        define(x=x, a=sim.rate(x)(lambda: 1.0), b=sim.rate(x)(lambda: 2.0))
    with pytest.raises(WiringError, match=r"the rate 'a' of Own takes noise, which outputs and updates have"):
        define(x=x, a=sim.rate(x)(lambda noise: noise))
    with pytest.raises(WiringError, match=r"'x' of Own has two jumps at crossing 'c'"):
        define(x=x, a=sim.rate(x)(lambda: 1.0), c=c, j=sim.jump(x, at=c)(lambda: 1.0), k=sim.jump(x, at=c)(lambda: 2.0))
    with pytest.raises(WiringError, match=r"takes \*args: arguments of an equation are names of quantities"):
        sim.output()(lambda *args: 1.0)
    with pytest.raises(WiringError, match=r"takes u=3: arguments of an equation"):
        sim.output()(lambda u=3: 1.0)
    with pytest.raises(WiringError, match=r"rate takes a Continuous state, got <Discrete"):
        sim.rate(sim.Discrete())(lambda: 1.0)
    with pytest.raises(WiringError, match=r"jump takes a crossing with at=, got 3"):
        sim.jump(x, at=3)
    with pytest.raises(WiringError, match=r"the direction of crossing .* must be -1, 0 or 1, got 2"):
        sim.crossing(direction=2)(lambda: 1.0)
    with pytest.raises(WiringError, match=r"the nominal size of a state must be positive, got 0"):
        sim.Continuous(nominal=0)
    with pytest.raises(WiringError, match=r"the dtype of a quantity is float, int or bool"):
        sim.In(dtype=str)
    with pytest.raises(WiringError, match=r"the unit of a quantity is a text such as 'N m', got 3"):
        sim.In(3)
    with pytest.raises(WiringError, match=r"Own.Params must derive from sim.Params"):
        define(Params=dict)
    with pytest.raises(WiringError, match=r"the parameter 'R' of Own: 'Ohm' is no unit that is known"):
        define(
            Params=type(sim.Params)(
                "Params", (sim.Params,), {"__annotations__": {"R": Annotated[float, sim.Unit("Ohm")]}}
            )
        )


def test_a_derived_component_has_what_its_base_has():
    class Louder(Lag):
        @sim.output("V", shape=lambda p: (p.size,))
        def y(x):
            return 2.0 * x

    assert [*Louder.interface.inputs] == ["u"]
    assert Louder.interface.outputs["y"](3.0) == 6.0
    assert Lag.interface.outputs["y"](3.0) == 3.0


def test_parameters_may_be_arrays_and_numbers_of_numpy():
    assert sim.Constant(value=np.array([1.0, 2.0])).p.value == (1.0, 2.0)
    assert sim.Gain(gain=np.float64(2.0)).p.gain == 2.0
    with pytest.raises(WiringError, match="parameters of Gain"):
        sim.Gain(gain=np.array([[1.0]]))


def test_signals_are_bounded():
    assert sim.Gain.y.signal(sim.Gain(gain=1.0, size=10**6).p).shape == (10**6,)
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("one", sim.Gain(gain=1.0, size=10**6 + 1))
    text = r"Gain\.y of shape \(1000001,\) is too large: 1000000 numbers are the most that a signal holds\."
    with pytest.raises(WiringError, match=text):
        s.check()
    square = define(x=sim.In(shape=(1001, 1000)))
    with pytest.raises(WiringError, match=r"Own\.x of shape \(1001, 1000\) is too large"):
        square.interface.inputs["x"].signal(None)
