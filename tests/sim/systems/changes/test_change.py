"""Structure that changes while a system runs, and what becomes of what is mounted there."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import ModelError, WiringError


def capsule():
    """A capsule with a heat shield and a turning antenna, free to move."""
    mb = sc.Multibody("capsule", gravity=(0, 0, 0))
    hull = mb.add_body("hull", None, sc.Free(), sc.Inertia(10.0, (0, 0, 0.1), np.diag([2.0, 2.0, 1.0])))
    hull.add_node("jet", sc.Pose(translation=(0, 0, 1.0)))
    shield = mb.add_body("shield", "hull", sc.Weld(), sc.Inertia(3.0, (0, 0, 0), np.diag([0.4, 0.4, 0.7])),
                         sc.Pose(translation=(0, 0, -0.8)))  # fmt: skip
    shield.add_node("gauge", sc.Pose(translation=(0, 0, -0.1)))
    mb.add_body("dish", "hull", sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.2, 0, 0), 0.1 * np.eye(3)),
                sc.Pose(translation=(0, 0, 0.9)))  # fmt: skip
    mb.set_state(None, [0.3, -0.2, 0.5, 1.0, 2.0, 0.0, 0.4])
    return mb


def flight(mb=None, **how) -> tuple[sim.System, sim.Plant]:
    s = sim.System("flight", **(how or {"integrator": "rk4", "step": 1e-2}))
    return s, s.add("ship", sim.Plant(mb or capsule()))


def test_what_parts_floats_on_and_momentum_is_kept():
    s, ship = flight()
    s.run(0.5)
    before = np.asarray(ship.mb.velocity("shield"))
    done = ship.detach("shield")
    assert (done.t, done.kind, done.plant, done.body, done.mounted) == (0.5, "detach", "ship", "shield", ())
    assert done.momentum_after == pytest.approx(done.momentum_before, abs=1e-12 * np.abs(done.momentum_before).max())
    assert np.asarray(ship.mb.velocity("shield")) == pytest.approx(before, abs=1e-13)
    run = s.run(1.0)
    assert run.t[0] == 0.5
    assert run.labels.q[-7:] != run.labels.q[:7]
    assert run.q.shape[1] == 15
    h = [np.asarray(sc.dynamics.momentum(ship.mb, q, v)) for q, v in zip(run.q, run.v, strict=True)]
    assert np.abs(np.array(h) - done.momentum_before).max() < 1e-7  # of the integrator
    assert s.changes == (done,)


def test_a_detached_body_moves_as_one_alone():
    s, ship = flight(integrator="dop853")
    s.run(0.5)
    ship.detach("shield")
    alone = sc.Multibody("alone", gravity=(0, 0, 0))
    alone.add_body("shield", None, sc.Free(), ship.mb["shield"].inertia)
    alone.set_state(ship.mb.q[ship.mb["shield"].q_slice], ship.mb.v[ship.mb["shield"].v_slice])
    s.run(2.0)
    sim.Propagator(alone, t=0.5).advance_to(2.0)
    assert ship.mb.pose("shield").is_close(alone.pose("shield"), 1e-8)


def test_components_go_on_with_states_clocks_and_steps():
    """A change that nothing is on changes no bit of what the components do."""

    def made(change):
        s, ship = flight()
        s.add("slow", sim.LowPass(time_constant=0.3))
        s.add("noise", sim.Sensor(deviation=1.0), rate=7)
        s.add("wave", sim.Sine(frequency=1.3))
        s.add("count", sim.DiscreteFilter(weight=0.2), every=0.03)
        s.connect("wave.y", "slow.u")
        s.connect("wave.y", "noise.u")
        s.connect("noise.y", "count.u")
        runs = [s.run(0.503)]
        if change:
            ship.detach("shield")
        return [*runs, s.run(1.0)]

    plain, changed = made(False), made(True)
    assert np.array_equal(plain[1].t, changed[1].t)
    for name in ("slow.y", "noise.y", "count.y"):
        assert np.array_equal(plain[1].signals[name], changed[1].signals[name]), name


def mounted() -> tuple[sim.System, sim.Plant]:
    s, ship = flight()
    s.add("gauge", sim.Gain(gain=2.0, size=3))
    s.add("fire", sim.Constant(value=1.5))
    s.add("jet", sim.Thruster(), at=ship.node("shield/gauge"))
    s.connect("fire.y", "jet.thrust")
    s.connect("ship.velocity[shield/gauge]", "gauge.u")
    return s, ship


def test_what_is_mounted_is_named_and_must_be_told():
    s, ship = mounted()
    s.run(0.1)
    mb, q = ship.mb, np.array(ship.mb.q)
    with pytest.raises(WiringError) as caught:
        ship.detach("shield")
    text = str(caught.value)
    assert "component 'jet' at node 'shield/gauge' of 'ship'" in text
    assert "connection 'ship.velocity[shield/gauge]' -> 'gauge.u'" in text
    assert "mounted='follow'" in text
    assert "'stop'" in text
    assert "'remove'" in text
    assert ship.mb is mb
    assert np.array_equal(mb.q, q)
    assert mb["shield"].parent.name == "hull"
    with pytest.raises(WiringError, match=r"mounted= of detach is 'follow' or 'remove' or 'stop', got 'go'"):
        ship.detach("shield", mounted="go")
    s.run(0.2)  # all is as it was
    assert s.changes == ()


def test_follow_goes_on_pushing_what_went():
    s, ship = mounted()
    s.run(0.1)
    ship.detach("shield", mounted="follow")
    run = s.run(0.3)
    hull, shield = (ship.mb[x].v_slice for x in ("hull", "shield"))
    push = run.forces["jet.force"]
    assert not push[:, hull].any()
    assert np.abs(push[:, shield]).max() > 1.0
    assert np.ptp(run.signals["gauge.y"], axis=0).max() > 0.0


def test_stop_holds_and_pushes_nothing():
    s, ship = mounted()
    before = s.run(0.1)
    ship.detach("shield", mounted="stop")
    run = s.run(0.3)
    assert "jet.force" not in run.forces
    assert np.array_equal(run.signals["jet.force"], np.repeat([[1.5, 0, 0]], len(run), axis=0))
    assert np.array_equal(run.signals["gauge.y"], np.repeat(before.signals["gauge.y"][-1:], len(run), axis=0))


def test_remove_takes_away_what_is_told_and_names_what_needs_it():
    s, ship = mounted()
    s.run(0.1)
    with pytest.raises(WiringError, match=r"the input 'gauge.u' is not connected"):
        ship.remove("shield", mounted="remove")
    assert "shield" in ship.mb
    assert "jet" in s._parts
    with pytest.raises(WiringError, match=r"what is mounted on it cannot follow; mounted='stop' or 'remove'"):
        ship.remove("shield", mounted="follow")
    mass = ship.mb.total_mass
    ship.remove("shield", mounted="stop")
    assert "shield" not in ship.mb
    assert ship.mb.total_mass == mass - 3.0
    assert s.run(0.2).q.shape[1] == 8
    s, ship = flight()
    s.add("fire", sim.Constant(value=1.5))
    for name in ("jet_a", "jet_b"):
        s.add(name, sim.Thruster(), at=ship.node("shield/gauge" if name == "jet_a" else "hull/jet"))
    s.connect("fire.y", "jet_*.thrust")
    s.run(0.1)
    ship.remove("shield", mounted="remove")
    assert set(s.run(0.2).forces) == {"jet_b.force"}


def test_capture_tells_impulse_and_energy():
    mb = capsule()
    mb.add_body("probe", None, sc.Free(), sc.Inertia(2.0, moment=0.1 * np.eye(3)))
    v = np.array(mb.v)
    v[mb["probe"].v_slice] = [0, 0, 0, -1.0, 0, 0]
    q = np.array(mb.q)
    q[mb["probe"].q_slice][4:] = [2.0, 1.0, 0.0]
    mb.set_state(q, v)
    s, ship = flight(mb)
    s.run(0.1)
    e = float(sc.dynamics.kinetic_energy(mb, mb.q, mb.v))
    done = ship.capture("probe", "hull", sc.Pin((0, 0, 1)))
    assert done.momentum_after == pytest.approx(done.momentum_before, abs=1e-12 * np.abs(done.momentum_before).max())
    assert e - float(sc.dynamics.kinetic_energy(mb, mb.q, mb.v)) == pytest.approx(done.energy_lost, abs=1e-12 * e)
    assert done.energy_lost > 0.1
    assert np.linalg.norm(done.impulse[3:]) > 0.1
    run = s.run(0.4)
    assert run.labels.v[-1] == "probe"
    assert len(run.labels.v) == 8


def test_a_loop_that_capture_closes_holds_in_the_run():
    mb = capsule()
    mb.add_body("prey", None, sc.Free(), sc.Inertia(2.0, moment=0.1 * np.eye(3)))
    mb.add_body("wing", "prey", sc.Pin((1, 0, 0)), sc.Inertia(0.5, (0, 0.3, 0), 0.1 * np.eye(3)))
    s, ship = flight(mb, integrator="rk4", step=2e-3)
    s.run(0.02)
    ship.capture("wing", "dish", sc.Spherical())
    run = s.run(0.06)
    assert run.violation.max() < 1e-8
    h = [np.asarray(sc.dynamics.momentum(mb, q, v, ignore_loops=True)) for q, v in zip(run.q, run.v, strict=True)]
    assert np.ptp(h, axis=0).max() < 1e-8


def test_what_the_model_refuses_leaves_everything_as_it_was():
    s, ship = flight()
    s.run(0.1)
    with pytest.raises(ModelError, match="has no body or hinge 'sheild'; did you mean 'shield'"):
        ship.detach("sheild")
    ship.detach("dish")
    s.run(0.5)
    with pytest.raises(ModelError, match=r"that is an impact. Use capture"):
        ship.attach("dish", "hull", sc.Prismatic((0, 0, 1)))
    assert len(s.changes) == 1
    s.run(0.6)


def test_one_plant_of_several_changes():
    s, ship = flight()
    other = s.add("other", sim.Plant(capsule()))
    s.run(0.1)
    done = ship.detach("shield")
    run = s.run(0.2)
    assert [x for x in run.labels.v if x.startswith("ship:shield")]
    assert len(run.labels.v) == 20
    assert done.momentum_after == pytest.approx(done.momentum_before, rel=1e-12)
    assert other.mb.nv == 7


def test_a_drag_of_a_node_that_goes_refuses():
    s = sim.System("flight", integrator="rk4", step=1e-2)
    ship = s.add("ship", sim.Plant(capsule(), forces=[sim.Drag("shield", linear=1.0)]))
    s.run(0.1)
    with pytest.raises(ModelError, match="shield"):
        ship.remove("shield")
    assert s.run(0.2).work["drag at shield"][-1] < 0.0
