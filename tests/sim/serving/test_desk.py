"""Runs that are followed, paused, stepped and changed have the numbers of runs that are not."""

from __future__ import annotations

import threading
from time import monotonic, sleep

import numpy as np
import pytest
from tests.sim.serving.clients import Client, swing, wait

from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim.serving import desk as desk_module


def idle(client):
    return client.good("status")["status"] == "idle"


def test_steps_pauses_and_a_run_have_the_bits_of_one_run():
    alone, s = swing(), swing()
    run = alone.run(0.5)
    with s.serve() as served, Client(served) as client:
        assert client.good("step")["t"] == 1e-3
        told = client.good("step", count=9)
        assert (told["t"], told["status"], told["goal"]) == (1e-2, "paused", None)
        q = client.good("get", names=["arm.q"])["values"]["arm.q"]
        assert q == run.q[10].tolist()
        assert client.good("run", t=0.25)["status"] == "running"
        client.good("pause")
        if client.good("status")["goal"] is not None:  # else it was at its end before the pause came
            client.good("run")
            wait(lambda: idle(client))
        assert client.good("run", t=0.5)["goal"] == 0.5
        wait(lambda: idle(client))
        now = client.good("get", names=["t", "arm.*", "smooth.*", "control.command", "drive.command"])["values"]
    assert now["t"] == 0.5
    assert now["arm.q"] == run.q[-1].tolist()
    assert now["arm.v"] == run.v[-1].tolist()
    assert now["smooth.y"] == run.signals["smooth.y"][-1] == now["drive.command"]
    assert now["control.command"] == run.signals["control.command"][-1] == now["smooth.u"]
    assert now["smooth.time_constant"] == 0.02
    assert s.t == 0.5


def looks(s):
    """The steps that a run of a system took before each look, and what is read there."""
    desk, taken, read = s.desk(), [], []
    own = desk.look

    def look(steps):
        taken.append(steps)
        if sum(taken):
            read.append(desk._read(["arm.q", "arm.v", "smooth.y"]))
        return own(steps)

    desk.look = look
    return taken, read


@pytest.mark.parametrize("every", [1e-3, 0.7e-3])
@pytest.mark.parametrize("ahead", [None, 1, 128, 300])
def test_many_steps_between_looks_have_the_bits_of_one_run(every, ahead, monkeypatch):
    if ahead is not None:
        monkeypatch.setattr(desk_module.Desk, "ahead", ahead)
    alone, s = swing(every), swing(every)
    with s.serve():
        taken, read = looks(s)
        run = s.run(0.6)
    whole = alone.run(0.6)
    assert (max(taken) > 10) == (ahead != 1)
    assert len(read) > 0
    for key in ("t", "q", "v", "vdot"):
        assert np.array_equal(getattr(run, key), getattr(whole, key))
    for key in whole.signals:
        assert np.array_equal(run.signals[key], whole.signals[key])
    place = {t: i for i, t in enumerate(whole.t.tolist())}
    for t, now in read:  # clients see the row that the run is at
        i = place[t]
        assert (now["arm.q"], now["arm.v"]) == (whole.q[i].tolist(), whole.v[i].tolist())
        assert now["smooth.y"] == whole.signals["smooth.y"][i]


def test_a_pause_acts_soon_and_single_steps_are_single():
    s = swing()
    with s.serve() as served:
        taken, _ = looks(s)
        with Client(served) as client:
            client.good("run", t=1e5)
            wait(lambda: max(taken, default=0) > 10)
            waits = []
            for _ in range(5):
                began = monotonic()
                told = client.good("pause")
                waits.append(monotonic() - began)
                assert told["status"] == "paused"
                assert client.good("status")["t"] == told["t"]
                del taken[:]
                t = client.good("step", count=3)["t"]
                assert [x for x in taken if x] == [1, 1, 1]
                assert t == pytest.approx(told["t"] + 3e-3, abs=1e-12)
                client.good("run")
                sleep(0.02)
    assert min(waits) < 0.03


def test_a_pause_acts_soon_where_steps_are_slow():
    def y(p):
        sleep(2e-3)
        return 0.0

    s, waits = swing(), []
    s.add("slow", type("Slow", (sim.Component,), {"y": sim.output()(y)})(), every=1e-3)
    with s.serve() as served, Client(served) as client:
        client.good("run", t=1e5)
        for _ in range(5):
            sleep(0.02)
            began = monotonic()
            client.good("pause")
            waits.append(monotonic() - began)
            client.good("run")
    assert min(waits) < 0.05


def test_rows_of_long_runs_are_let_go_and_bits_stay(monkeypatch):
    monkeypatch.setattr(desk_module, "_ROWS", 37)
    alone, s = swing(), swing()
    alone.run(0.4)
    with s.serve() as served, Client(served) as client:
        client.good("run", t=0.4)
        wait(lambda: idle(client))
    assert np.array_equal(s._plants["arm"].mb.q, alone._plants["arm"].mb.q)
    assert len(s._propagator.last_run.t) <= 38


def test_a_run_of_the_program_is_followed_paused_and_changed():
    s, runs = swing(), []
    with s.serve() as served, Client(served) as client:
        client.good("pause")  # so that the run waits at its beginning
        thread = threading.Thread(target=lambda: runs.append(s.run(0.2)))
        thread.start()
        wait(lambda: s.desk().is_running)
        client.good("step", count=100)
        assert client.good("status") == {
            "system": "swing", "t": 0.1, "status": "paused", "goal": None, "error": ""
        }  # fmt: skip
        assert client.good("set", name="target.value", value=0.9) == {"target.value": 0.9}
        text = client.refused("set", name="smooth.x", value=1.0)
        assert "this is done between runs, and 'swing' is in a run that its program began, at t = 0.1 s" in text
        assert "is in a run that its program began" in client.refused("run", t=5.0)
        with pytest.raises(SimulationError, match=r"the system 'swing' is in a run already, at t = 0.1 s"):
            s.run(1.0)
        client.good("run")
        thread.join()
    alone = swing()
    first = alone.run(0.1)
    alone.params["target.value"] = 0.9
    second = alone.run(0.2)
    both = np.concatenate([first.q, second.q[1:]])
    assert np.array_equal(runs[0].q, both)


class Lag(sim.Component):
    """A lag with a crossing, for which steps are taken in Python."""

    class Params(sim.Params):
        pace: float

    u = sim.In()
    y = sim.Continuous()

    @sim.rate(y)
    def y_rate(p, u, y):
        return p.pace * (u - y)

    @sim.crossing()
    def far(y):
        return y - 1e6


@pytest.mark.parametrize("in_python", [False, True])  # compiled or not
def test_rates_begin_with_a_parameter_that_was_changed_between_ticks(in_python):
    """The lag is continuous and no clock ticks at the change: the step after it begins with rates of the new value."""

    def built():
        s = swing(every=0.05)
        if in_python:
            s.add("late", Lag(pace=30.0))
            s.connect("smooth.y", "late.u")
        return s

    name = "late.pace" if in_python else "smooth.time_constant"
    s, alone, runs = built(), built(), []
    with s.serve() as served, Client(served) as client:
        client.good("pause")
        thread = threading.Thread(target=lambda: runs.append(s.run(0.1)))
        thread.start()
        wait(lambda: s.desk().is_running)
        assert client.good("step", count=13)["t"] == 0.013
        client.good("set", name=name, value=0.5)
        client.good("run")
        thread.join()
    first = alone.run(0.013)
    alone.params[name] = 0.5
    second = alone.run(0.1)
    assert np.array_equal(runs[0].q, np.concatenate([first.q, second.q[1:]]))
    for key in runs[0].signals:
        assert np.array_equal(runs[0].signals[key][14:], second.signals[key][1:])


def test_states_are_set_between_parts_of_a_run_that_was_asked_for():
    s, alone = swing(), swing()
    with s.serve() as served, Client(served) as client:
        client.good("step", count=50)
        assert client.good("set", name="smooth.x", value=2.0) == {"smooth.x": 2.0}
        assert client.good("set", name="arm.v", value=[0.25]) == {"arm.v": [0.25]}
        assert client.good("status")["status"] == "paused"
        assert client.good("step", count=50)["t"] == 0.1
        q = client.good("get", names=["arm.q"])["values"]["arm.q"]
    alone.run(0.05)
    alone.states["smooth.x"] = 2.0
    alone._plants["arm"].mb.v = [0.25]
    assert q == alone.run(0.1).q[-1].tolist()
    assert s.t == 0.1  # closing ended the open run


def test_what_a_run_cannot_do_is_said():
    s = swing()
    with s.serve() as served, Client(served) as client:
        assert client.refused("run") == "there is no run to go on with: say to which time, t."
        assert "already, so it cannot go on to -1 s" in client.refused("run", t=-1.0)
        client.good("run", t=1e6)
        assert "pause it before single steps" in client.refused("step")
        client.good("pause")
        client.good("step")
    assert s.t < 1e6


def test_a_run_that_fails_is_told():
    s = swing()
    with s.serve() as served, Client(served) as client:
        client.good("subscribe", names=["t"])
        client.good("set", name="control.kp", value=1e300)
        client.good("run", t=1.0)
        wait(lambda: idle(client))
        told = client.good("status")["error"]
        assert told.startswith("the run of 'pendulum' stopped at t = ")
        assert {"t": s.t, "error": told} in [x["data"] for x in client.events if x["event"] == "ended"]


def test_values_are_sent_while_they_change():
    s = swing()
    with s.serve() as served, Client(served) as one, Client(served) as two:
        number = one.good("subscribe", names=["t", "arm.q"], period=0.01)["subscription"]
        two.good("subscribe", names=["control.command"], period=3600.0)
        one.good("run", t=0.3)
        wait(lambda: idle(one) and idle(two))
        seen = [x["data"] for x in one.events if x["event"] == "values"]
        assert [x["t"] for x in seen] == sorted({x["t"] for x in seen})
        assert all(x["subscription"] == number and x["values"]["t"] == x["t"] for x in seen)
        assert seen[0]["t"] == 0.0
        values = {"t": 0.3, "arm.q": s._plants["arm"].mb.q.tolist()}
        assert seen[-1] == {"subscription": number, "t": 0.3, "values": values}
        assert [x["data"]["t"] for x in two.events if x["event"] == "values"] == [0.0, 0.3]  # the first and the last
        assert one.good("unsubscribe", subscription=number) == {"subscription": number}
        assert one.refused("unsubscribe", subscription=number) == f"there is no subscription {number}."
        count = len(one.events)
        one.good("step", count=5)
        assert len(one.events) == count


def test_a_paused_run_goes_on_when_the_server_closes():
    s, runs = swing(), []
    served = s.serve()
    client = Client(served)
    client.good("pause")
    thread = threading.Thread(target=lambda: runs.append(s.run(0.05)))
    thread.start()
    wait(lambda: s.desk().is_running)
    client.good("step")
    served.close()
    served.close()
    thread.join(30)
    client.close()
    assert runs[0].t[-1] == 0.05
    assert np.array_equal(s.run(0.06).t[-1:], [0.06])


def test_a_checkpoint_is_written_between_parts_of_a_run(tmp_path):
    s, alone = swing(), swing()
    with s.serve(folder=tmp_path) as served, Client(served) as client:
        client.good("step", count=50)
        assert client.good("checkpoint", file="a.h5") == {"file": "a.h5", "t": 0.05}
        assert client.good("step", count=50)["t"] == 0.1
        assert client.good("run", t=0.2)["status"] == "running"
        wait(lambda: idle(client))
    run = alone.run(0.2)
    assert s._plants["arm"].mb.q.tolist() == run.q[-1].tolist()
    back = sim.restore(tmp_path / "a.h5")
    assert back.run(0.2).q[-1].tolist() == run.q[-1].tolist()


def test_a_run_by_the_clock_is_paused_and_keeps_its_bits():
    s, alone = swing(), swing()
    began = monotonic()
    with s.serve() as served, Client(served) as client:
        client.good("run", t=0.3, pace=1.0)
        client.good("pause")
        sleep(0.2)
        client.good("run")
        wait(lambda: idle(client))
        assert client.good("status")["error"] == ""
    assert monotonic() - began >= 0.45  # the pause is not caught up with
    assert s._plants["arm"].mb.q.tolist() == alone.run(0.3).q[-1].tolist()
