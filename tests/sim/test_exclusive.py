"""One run at a time: a call within a run, or of another thread, is refused, and the run goes on unchanged."""

import threading

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import StateError


def pendulum():
    mb = sc.load("pendulum")
    mb.set_state([1.0], [0.0])
    return mb


def attempt(calls, act):
    """A function that acts once, and keeps what was raised."""

    def function(*_):
        if not calls:
            calls.append(None)
            with pytest.raises(StateError) as refused:
                act()
            calls[0] = str(refused.value)
        return 0.0

    return function


@pytest.mark.parametrize(
    ("where", "call"),
    [(x, "advance_to") for x in ("every", "action", "event", "control", "force")] + [("every", "rollout")],
)
def test_a_call_within_its_own_run_is_refused(where, call, tmp_path):
    def run(act):
        p = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.01)
        calls = []
        file = tmp_path / "a.h5"
        asked = {"advance_to": lambda: p.advance_to(5.0, log=file), "rollout": lambda: p.rollout([0.0], [0.0])}
        function = attempt(calls, asked[call])
        if where == "every":
            p.every(0.1, function if act else lambda t, state: 0.0)
        elif where == "action":
            p.event("low", lambda t, state: t - 0.35, action=function if act else None)
        elif where == "control":
            p.control("bob", (lambda t, state: function() if t > 0.3 else 0.0) if act else (lambda t, state: 0.0))
        elif where == "event":
            p.event("low", lambda t, state: function() + state.q[0] if act and t > 0.3 else state.q[0])
        else:
            p.add((lambda t, state: [function() if t > 0.3 else 0.0]) if act else (lambda t, state: [0.0]))
        return p.advance_to(0.5), calls

    (with_call, said), (without, _) = run(True), run(False)
    np.testing.assert_array_equal(with_call.q, without.q)
    np.testing.assert_array_equal(with_call.t, without.t)
    where = "within advance_to of the propagator of 'pendulum'"
    assert said[0].startswith(f"{call} was called {where}, by one of its functions")
    assert "sc.sim.Propagator(mb.copy())" in said[0]
    assert not (tmp_path / "a.h5").exists()


def test_a_call_in_another_thread_is_refused():
    p = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.01)
    inside, leave, said = threading.Event(), threading.Event(), []

    def wait(t, state):
        if t > 0.05:
            inside.set()
            assert leave.wait(20.0)

    p.every(0.1, wait)
    thread = threading.Thread(target=lambda: said.append(p.advance_to(0.5)))
    thread.start()
    assert inside.wait(20.0)
    for act, call in ((lambda: p.advance_to(1.0), "advance_to"), (lambda: p.rollout([0.0], [0.0]), "rollout")):
        with pytest.raises(StateError, match=rf"{call} was called while another thread is in advance_to of the propa"):
            act()
    leave.set()
    thread.join()
    other = sc.sim.Propagator(pendulum(), integrator="rk4", step=0.01)
    other.every(0.1, lambda t, state: None)
    np.testing.assert_array_equal(said[0].q, other.advance_to(0.5).q)
    assert p.advance_to(0.6).t[-1] == 0.6


def system(act):
    class Asks(sim.Component):
        @sim.output()
        def y(p, t):
            act(t)
            return 1.0

    s = sim.System("asks", integrator="rk4", step=0.1)
    s.add("asks", Asks())
    s.add("sum", sim.Integrator())
    s.connect("asks.y", "sum.u")
    return s


@pytest.mark.parametrize("call", ["run", "checkpoint"])
def test_a_call_within_the_run_of_a_system_is_refused(call, tmp_path):
    said = []

    def act(t):
        if t > 0.45 and not said:
            with pytest.raises(StateError) as refused:
                s.run(2.0, log=tmp_path / "a.h5") if call == "run" else s.checkpoint(tmp_path / "a.h5")
            said.append(str(refused.value))

    s = system(act)
    s.run(1.0)
    assert said[0].startswith(f"{call} was called within run of the system 'asks', by one of its functions")
    assert s.t == 1.0
    assert s.states["sum.x"] == pytest.approx(1.0)
    assert not (tmp_path / "a.h5").exists()


def test_a_system_runs_in_one_thread():
    inside, leave = threading.Event(), threading.Event()

    def act(t):
        if t > 0.45:
            inside.set()
            assert leave.wait(20.0)

    s = system(act)
    thread = threading.Thread(target=s.run, args=(1.0,))
    thread.start()
    assert inside.wait(20.0)
    with pytest.raises(StateError, match="run was called while another thread is in run of the system 'asks'"):
        s.run(1.5)
    leave.set()
    thread.join()
    assert s.t == 1.0
    assert s.states["sum.x"] == pytest.approx(1.0)
