"""Components whose ports have the sizes of the plant that they are mounted on."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


class Law(sim.Component):
    """A PD of all dofs, for any plant, that sums up the time with a target for each."""

    class Params(sim.Params):
        kp: float = 40.0
        kd: float = 5.0

    q = sim.In(shape="nq", of="q")
    v = sim.In(shape="nv", of="v")
    past = sim.Continuous(shape="nv")

    @sim.rate(past)
    def past_rate(v):
        return v

    @sim.output(shape="nv", to="generalized_force")
    def force(p, q, v):
        return -p.kp * q - p.kd * v


def held(name: str, **how) -> tuple[sim.System, sim.Plant]:
    mb = sc.load(name)
    mb.set_state(0.1 + 0.1 * np.arange(mb.nq), None)
    s = sim.System(name, integrator="rk4", step=1e-3)
    arm = s.add("arm", sim.Plant(mb))
    s.add("law", Law(**how), at=arm)
    return s, arm


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum", "panda"])
def test_one_law_serves_every_plant(name):
    s, arm = held(name)
    other = arm.mb.copy()
    q0 = np.array(arm.mb.q)
    run = s.run(0.05)
    p = sim.Propagator(other, integrator="rk4", step=1e-3)
    p.add(lambda t, state: -40.0 * state.q - 5.0 * state.v)
    assert run.q == pytest.approx(p.run(0.05).q, abs=1e-11)
    assert run.signals["law.past"].shape == (len(run), arm.mb.nv)
    assert run.signals["law.past"][-1] == pytest.approx(run.q[-1] - q0, abs=1e-9)


def test_without_a_plant_the_size_is_unknown():
    s = sim.System("a", integrator="rk4", step=1e-3)
    s.add("law", Law())
    with pytest.raises(WiringError, match=r"Law.q has the size 'nq' of a plant: mount the component on one, with"):
        s.check()

    class Other(sim.Component):
        u = sim.In(shape="nw", default=0.0)

        @sim.output()
        def y(u):
            return 0.0

    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    s.remove("law")
    s.add("other", Other(), at=arm)
    with pytest.raises(WiringError, match=r"the shape of Other.u has 'nw'; did you mean"):
        s.check()


def test_sizes_are_those_of_one_plant_of_several():
    s, _ = held("panda")
    small = s.add("small", sim.Plant(sc.load("pendulum")))
    small.mb.gravity = s.plants["arm"].mb.gravity
    s.add("other", Law(), at=small)
    run = s.run(0.01)
    assert run.signals["law.force"].shape[1:] == (s.plants["arm"].mb.nv,)
    assert run.signals["other.force"].shape[1:] == (1,)


def test_a_component_alone_is_checked():
    assert "2 equations" in str(sim.check_component(Law()))


def test_a_system_file_has_it(tmp_path):
    s, _ = held("double_pendulum", kp=20.0)
    s.save(tmp_path / "a.toml")
    other = sim.load_system(tmp_path / "a.toml", [Law])
    assert np.array_equal(s.run(0.02).q, other.run(0.02).q)


class Damper(sim.Component):
    """Damping of all dofs, with the work that it took."""

    v = sim.In(shape="nv", of="v")
    past = sim.Continuous(shape="nv")

    @sim.rate(past)
    def past_rate(v):
        return v

    @sim.output(shape="nv", to="generalized_force")
    def force(v):
        return -2.0 * v


def test_a_plant_that_gets_another_size_names_what_has_its_size():
    mb = sc.load("double_pendulum")
    mb["lower"].inertia = sc.Inertia(1.0, (0, 0, -0.5), np.eye(3))
    mb.set_state([0.3, 0.2], [0.1, 0.4])
    s = sim.System("a", integrator="rk4", step=1e-3)
    arm = s.add("arm", sim.Plant(mb))
    s.add("law", Damper(), at=arm)
    s.run(0.01)
    name = mb.bodies[1].name
    q, version, build = np.array(mb.q), mb.version, s.board.build
    with pytest.raises(WiringError, match=r"component 'law' at node 'inertial' of 'arm'"):
        arm.detach(name)
    with pytest.raises(WiringError, match=r"the state 'law.past' has a size of its plant, which changes: remove the"):
        arm.detach(name, mounted="follow")
    assert np.array_equal(mb.q, q)
    assert mb.version == version
    assert s.board.build is build
    arm.detach(name, mounted="remove")
    s.add("law", Damper(), at=arm)
    run = s.run(0.02)
    assert run.signals["law.force"].shape[1:] == (7,)
    assert run.signals["law.force"][-1] == pytest.approx(-2.0 * run.v[-1])
