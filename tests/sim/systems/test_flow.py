"""What goes wrong inside equations is named: component, time, inputs."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, WiringError


def own(**body):
    return type("Own", (sim.Component,), body)()


def alone(component, **how) -> sim.System:
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("own", component, **how)
    return s


def late(value, bad):
    """A function of t that is bad from 0.25 s on."""
    return lambda t: bad if t > 0.24 else value


STATE, VECTOR, KEPT = sim.Continuous(), sim.Continuous(shape=(2,)), sim.Discrete(shape=(2,))
WIDE = np.zeros(2)


@pytest.mark.parametrize(
    ("body", "how", "text"),
    [
        ({"x": STATE, "r": sim.rate(STATE)(late(0.0, np.inf))}, {}, r"'own.r' gave inf at t = 0.25 s, from t = 0.25"),
        (
            {"x": STATE, "r": sim.rate(STATE)(lambda t: 1 / (t > 5) if t > 0.24 else 0.0)},
            {},
            r"'own.r' failed: ZeroDiv",
        ),
        ({"x": VECTOR, "r": sim.rate(VECTOR)(late(WIDE, WIDE * np.nan))}, {}, r"'own.r' gave array\(\[nan, nan\]\) at"),
        (
            {"x": VECTOR, "r": sim.rate(VECTOR)(late(WIDE, np.zeros(3)))},
            {},
            r"'own.r' must give an array of shape \(2,\), and gave",
        ),
        ({"x": KEPT, "r": sim.update(KEPT)(late(WIDE, WIDE * np.nan))}, {"every": 0.1}, r"'own.r' gave array\(\[nan"),
        (
            {"x": KEPT, "r": sim.update(KEPT)(lambda t: WIDE if t < 0.24 else 1 / 0)},
            {"every": 0.1},
            r"'own.r' failed: ZeroDivision",
        ),
        ({"y": sim.output()(late(0.0, np.nan))}, {}, r"'own.y' gave nan at t = 0.3 s"),
        (
            {"y": sim.output(shape=(2,))(late(WIDE, WIDE + np.nan))},
            {},
            r"'own.y' gave array\(\[nan, nan\]\) at t = 0.3",
        ),
        ({"y": sim.output()(late(0.0, np.nan))}, {"every": 0.1}, r"'own.y' gave nan at t = 0.3 s"),
        ({"y": sim.output(shape=(2,))(late(WIDE, WIDE + np.nan))}, {"every": 0.1}, r"'own.y' gave array\(\[nan, nan"),
        ({"c": sim.crossing()(late(1.0, np.nan))}, {}, r"'own.c' gave nan at t = 0.25"),
    ],
)
def test_what_is_not_finite_or_fails_is_named(body, how, text):
    with np.errstate(invalid="ignore"), pytest.raises(SimulationError, match=text):
        alone(own(**body), **how).run(1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_forces_that_are_not_finite_are_named(bad):
    for body in (
        {"force": sim.output(to="force")(late(0.0, bad))},
        {"force": sim.output(shape=(2,))(late(WIDE, WIDE + bad))},
    ):
        s = sim.System("s", integrator="rk4", step=0.1)
        arm = s.add("arm", sim.Plant(sc.load("double_pendulum")))
        mounted = len(body["force"].signal(None).shape) == 0
        s.add("own", own(**body), at=arm.dof(arm.mb.dof_names[0]) if mounted else None)
        if not mounted:
            s.connect("own.force", "arm.force")
        with pytest.raises(SimulationError, match=r"'own.force' gave .* at t = 0.25 s, from t = 0.25"):
            s.run(1.0)


def falling(**jumps):
    x, y = sim.Continuous(start=1.0), sim.Discrete()
    c = sim.crossing(direction=-1)(lambda x: x - 0.5)
    d = sim.crossing(direction=-1)(lambda x: x - 0.5)
    body = {"x": x, "y": y, "r": sim.rate(x)(lambda: -1.0), "c": c, "d": d}
    body |= {
        name: sim.jump({"x": x, "y": y}[state], at={"c": c, "d": d}[at])(f) for name, (state, at, f) in jumps.items()
    }
    return own(**body)


def test_jumps_that_are_not_finite_or_set_one_state_twice():
    with pytest.raises(SimulationError, match=r"'own.j' gave nan at t = 0.5 s, from x = 0.5"):
        alone(falling(j=("y", "c", lambda x: x * np.nan))).run(1.0)
    with pytest.raises(SimulationError, match=r"'own.k' and 'own.j' both set one state at t = 0.5 s"):
        alone(falling(j=("y", "c", lambda: 1.0), k=("y", "d", lambda: 2.0))).run(1.0)


def test_jumps_take_values_before_them():
    """Two states change places at once."""
    s = alone(falling(j=("x", "c", lambda y: y + 3.0), k=("y", "c", lambda x: x)))
    run = s.run(0.6)
    assert s.states["own.y"] == pytest.approx(0.5, abs=1e-9)
    assert run.signals["own.x"][-1] == pytest.approx(2.9, abs=1e-9)


def test_states_get_values_of_their_shapes():
    for kind, state, how in (("rate", STATE, {}), ("rate", VECTOR, {}), ("update", KEPT, {"every": 0.1})):
        wrong = own(x=state, r=getattr(sim, kind)(state)(lambda: np.zeros(3)))
        with pytest.raises(
            WiringError, match=r"'own.r' must give (a number|an array of shape \(2,\)), and gave array\("
        ):
            alone(wrong, **how).check()
    with pytest.raises(WiringError, match=r"'own.j' must give a number, and gave array\("):
        alone(falling(j=("y", "c", lambda: np.zeros(3)))).check()


def test_a_number_of_another_kind_is_no_start():
    with pytest.raises(WiringError, match=r"the start of Own.x must be int numbers of shape \(\), got 0.5"):
        alone(own(x=sim.Discrete(dtype=int, start=0.5))).check()
