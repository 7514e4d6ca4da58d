"""Environments of systems that a stepper knows: the motion of runs, by compiled steps; others are run, and say why."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


def swing(**how):
    s = sim.System("swing", **(how or {"integrator": "rk4", "step": 0.01}))
    mb = sc.load("double_pendulum")
    arm = s.add("arm", sim.Plant(mb))
    for dof in mb.dof_names:
        s.add(f"drive_{dof}", sim.Force(), at=arm.dof(dof))
    return s


def begin(system, rng):
    system.plants["arm"].mb.set_state(rng.uniform(-0.5, 0.5, 2), rng.uniform(-0.1, 0.1, 2))


def env(s=None, **more):
    s = swing() if s is None else s
    act = [f"drive_{x}.command" for x in reversed(s.plants["arm"].mb.dof_names)]
    return sim.gym(
        s, ["arm.v", "arm.q"], dict.fromkeys(act, (-2.0, 2.0)), lambda seen, u: seen["arm.q"][0] + u[1],
        lambda seen: abs(seen["arm.q"][0]) > 0.6, **{"every": 0.02, "begin": begin, "limit": 20, **more},
    )  # fmt: skip


def rows(e, seed=7):
    made = [e.reset(seed=seed)[0]]
    for u in np.random.default_rng(2).uniform(-3.0, 3.0, (15, 2)):
        seen, reward, ended, cut, info = e.step(u)
        made.append(np.concatenate([seen, [reward, ended, cut, info["t"]]]))
    return made


def test_motions_are_those_of_runs():
    stepped, run = env(), env(batch=False)
    assert "a stepper for each, compiled" in stepped.report()
    assert "runs of the system: batch=False" in run.report()
    for a, b in zip(rows(stepped), rows(run), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)


def test_vectors_have_the_bits_of_single_ones():
    v = env(num_envs=3, threads=2)
    assert "one batch of compiled steps" in v.report()
    seen, _ = v.reset(seed=4)
    singles = [env() for _ in range(3)]
    for i, e in enumerate(singles):
        assert e.reset(seed=4 + i)[0].tobytes() == seen[i].tobytes()
    u = np.random.default_rng(1).uniform(-2.0, 2.0, (3, 2))
    for _ in range(5):
        seen = v.step(u)[0]
        for i, e in enumerate(singles):
            assert e.step(u[i])[0].tobytes() == seen[i].tobytes()


def test_contact_of_the_plant_acts():
    s = sim.System("ball", integrator="moreau", step=0.004)
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, 0.2], np.zeros(6))
    s.add("plant", sim.Plant(mb, forces=[sim.Contact()]))
    v = sim.gym(s, ["plant.q"], [], lambda seen, u: 0.0, every=0.04, num_envs=4)
    assert "one batch of compiled steps" in v.report()
    v.reset(seed=1)
    for _ in range(20):
        seen = v.step(np.zeros((4, 0)))[0]
    np.testing.assert_allclose(seen[:, 6], 0.1, atol=1e-4)


def test_servos_of_the_model_are_actions_by_their_exported_names():
    s = sim.System("robot", integrator="rk4", step=0.0005)
    arm = s.add("arm", sim.Plant(sc.load("ur5e")))
    s.add("devices", sim.from_model(arm.mb), at=arm)
    names = [f"devices.{x.name}" for x in arm.mb.actuators]
    made = [
        sim.gym(s, ["arm.q"], names, lambda seen, u: 0.0, every=0.02, batch=batch, num_envs=2)
        for batch in (True, False)
    ]
    assert "one batch of compiled steps" in made[0].report()
    target = np.tile(arm.mb.q + 0.1, (2, 1))
    for e in made:
        e.reset(seed=1)
    for _ in range(5):
        seen = [e.step(target)[0] for e in made]
    np.testing.assert_allclose(*seen, rtol=0, atol=1e-12)


def sensed():
    s = swing()
    s.add("seen", sim.Gain(gain=1.0))
    s.connect(f"arm.q[{s.plants['arm'].mb.dof_names[0]}]", "seen.u")
    return s


@pytest.mark.parametrize(
    ("make", "more", "why"),
    [
        (sensed, {}, "'seen' is a Gain, which acts within runs"),
        (lambda: swing(integrator="dop853"), {}, "'dop853' chooses its steps"),
        (swing, {"every": 0.025}, "the period of 0.025 s is no multiple of the step"),
    ],
)
def test_others_are_run_and_say_why(make, more, why):
    e = env(make(), **more)
    assert f"runs of the system: {why}" in e.report()
    e.reset(seed=1)
    assert np.isfinite(e.step(np.zeros(2))[0]).all()


def test_starts_that_change_more_than_the_state_are_refused():
    def heavier(system, rng):
        system.plants["arm"].mb.bodies[0].inertia = sc.Inertia(rng.uniform(1, 2), com=(0, 0, -1), moment=np.eye(3))

    def gravity(system, rng):
        system.plants["arm"].mb.gravity = (0, 0, -rng.uniform(1, 2))

    for change in (heavier, gravity):
        e = env(begin=change)
        with pytest.raises(
            WiringError, match=r"begin changed the model of 'arm', which environments on steppers share"
        ):
            e.reset(seed=1)
        other = env(begin=change, batch=False)
        other.reset(seed=1)
        assert np.isfinite(other.step(np.zeros(2))[0]).all()


def test_an_action_is_needed_for_every_input():
    with pytest.raises(WiringError, match="act are inputs of the system that nothing fills: name them"):
        sim.gym(swing(), ["arm.q"], None, lambda seen, u: 0.0)
    with pytest.raises(WiringError, match="is not connected"):
        sim.gym(swing(), ["arm.q"], [], lambda seen, u: 0.0)
