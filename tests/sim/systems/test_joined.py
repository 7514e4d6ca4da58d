"""Several plants in one system: moved as one model, each as it would be alone."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import WiringError


def pendulum(angle: float = 0.3):
    mb = sc.load("pendulum")
    mb.set_state([angle], [0.0])
    return mb


def double():
    mb = sc.load("double_pendulum")
    mb.set_state([0.2, -0.4], [0.5, 0.1])
    return mb


def two(order=("a", "b"), **how) -> tuple[sim.System, dict]:
    """A pendulum and a double pendulum, joined by a spring of components between two of their dofs."""
    s = sim.System("s", **(how or {"integrator": "rk4", "step": 1e-3}))
    models = {"a": double(), "b": pendulum()}
    plants = {name: s.add(name, sim.Plant(models[name])) for name in order}
    for name in reversed(order):
        s.add(f"drive_{name}", sim.Force(), at=plants[name].dof(models[name].dof_names[0]))
    s.add("stretch", sim.Sum(sign_b=-1.0))
    s.add("spring", sim.Gain(gain=-3.0))
    s.add("back", sim.Gain(gain=3.0))
    s.connect(f"a.q[{models['a'].dof_names[0]}]", "stretch.a")
    s.connect("b.q[bob]", "stretch.b")
    s.connect("stretch.y", "spring.u")
    s.connect("stretch.y", "back.u")
    s.connect("spring.y", "drive_a.command")
    s.connect("back.y", "drive_b.command")
    return s, models


def test_plants_that_nothing_joins_move_as_each_alone():
    alone = {}
    for name, make in (("a", double), ("b", pendulum)):
        s = sim.System(name, integrator="rk4", step=1e-3)
        s.add(name, sim.Plant(make()))
        alone[name] = s.run(0.2)
    s = sim.System("both", integrator="rk4", step=1e-3)
    s.add("b", sim.Plant(pendulum()))
    s.add("a", sim.Plant(double()))
    run = s.run(0.2)
    assert run.labels.q == ("a:upper", "a:lower", "b:bob")
    assert np.array_equal(run.q, np.hstack([alone["a"].q, alone["b"].q]))
    assert np.array_equal(run.v, np.hstack([alone["a"].v, alone["b"].v]))


def test_signals_between_plants_push_both_and_energy_is_kept():
    s, _ = two()
    run = s.run(1.0)
    stretch = run.q[:, 0] - run.q[:, 2]
    stored = 1.5 * stretch**2
    total = run.energy + stored
    assert np.ptp(stored) > 0.05  # it does something
    assert np.abs(total - total[0]).max() < 1e-8
    work = run.work["drive_a.force"] + run.work["drive_b.force"]
    assert np.abs(work + stored - stored[0]).max() < 1e-9
    assert run.check().imbalance < 1e-8


def test_what_was_added_first_changes_no_bit():
    runs = [two(order)[0].run(0.3) for order in (("a", "b"), ("b", "a"))]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert list(runs[0].forces) == list(runs[1].forces)


def test_the_models_of_the_user_keep_their_states():
    s, models = two()
    whole = s.run(0.2)
    assert models["a"].q.tolist() == whole.q[-1, :2].tolist()
    assert models["b"].v.tolist() == whole.v[-1, 2:].tolist()
    s, models = two()
    halves = [s.run(0.1), s.run(0.2)]
    assert np.array_equal(whole.q[-1], halves[1].q[-1])
    models["b"].q = [1.0]
    assert s.run(0.3).q[0].tolist() == [*whole.q[-1, :2], 1.0]


def test_forces_of_plants_and_stored_ones_act_on_their_own():
    models = pendulum(), pendulum()
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("a", sim.Plant(models[0], forces=[sim.Drag("bob/tip", linear=0.5)]))
    s.add("b", sim.Plant(models[1]))
    models[1].set_force("bob/tip", sc.Wrench((0, 0, 0), (0, 0, 1.0), expressed_in="inertial"))
    run = s.run(0.1)
    for i, model in enumerate((pendulum(), pendulum())):
        p = sim.Propagator(model, integrator="rk4", step=1e-3)
        if i:
            model.set_force("bob/tip", sc.Wrench((0, 0, 0), (0, 0, 1.0), expressed_in="inertial"))
        else:
            p.add(sim.Drag("bob/tip", linear=0.5))
        assert np.abs(p.advance_to(0.1).q[:, 0] - run.q[:, i]).max() < 1e-14
    assert run.work["a:drag at bob/tip"][-1] < 0.0


def test_nodes_are_pushed_and_measured_in_their_own_plant():
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("near", sim.Plant(pendulum()))
    far = sc.Multibody("far", gravity=(0, 0, -9.81))
    far.root.add_node("dock", sc.Pose(translation=(0, 0, 5.0)))
    far.add_body("car", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0), sc.Pose(translation=(0, 3.0, 0)))
    s.add("far", sim.Plant(far))
    s.add("push", sim.Constant(value=(4.0, 0.0, 0.0)))
    s.add("seen", sim.Gain(gain=1.0, size=3))
    s.add("dock", sim.Gain(gain=1.0, size=3))
    s.connect("push.y", "far.node_force[car]")
    s.connect("far.position[car]", "seen.u")
    s.connect("far.position[inertial/dock]", "dock.u")
    run = s.run(1.0)
    assert run.signals["seen.y"][-1] == pytest.approx([1.0, 3.0, 0.0], abs=1e-12)
    assert run.signals["dock.y"][-1].tolist() == [0.0, 0.0, 5.0]


def test_a_closed_chain_next_to_a_tree():
    bar = sc.load("five_bar")
    bar.q = sc.loops.TreeAugmented(bar).assemble(bar.q)
    bar.gravity = (0, 0, -9.81)
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("bar", sim.Plant(bar.copy(), solver="ta"))
    s.add("bob", sim.Plant(pendulum()))
    run = s.run(0.02)
    p = sim.Propagator(bar, solver="ta", integrator="rk4", step=1e-3)
    assert np.abs(p.advance_to(0.02).q - run.q[:, : bar.nq]).max() < 1e-11
    assert run.violation.max() < 1e-9


def test_what_is_refused():
    def check(*plants, match):
        s = sim.System("s", integrator="rk4", step=0.1)
        for name, plant in zip("pr", plants, strict=True):
            s.add(name, plant)
        with pytest.raises(WiringError, match=match):
            s.check()

    one, moon = pendulum(), pendulum()
    moon.gravity = (0, 0, -1.62)
    check(sim.Plant(one), sim.Plant(one), match=r"the model of 'r' is that of another plant, too: give it mb.copy\(\)")
    check(sim.Plant(pendulum()), sim.Plant(moon), match=r"gravity is .*-9.81.* in 'p' and .*-1.62.*GravityField")
    check(
        sim.Plant(pendulum(), solver="tree"),
        sim.Plant(pendulum(), solver="ta"),
        match="ask for different solvers: 'tree' of 'p', 'ta' of 'r'",
    )
    bar = sc.load("five_bar")
    bar.gravity = (0, 0, -9.81)
    check(
        sim.Plant(bar, solver=sc.loops.TreeAugmented(bar)),
        sim.Plant(pendulum()),
        match="'p' has a solver object for its model, and 2 plants are solved as one",
    )


def test_models_that_are_changed_between_runs():
    s, models = two()
    s.run(0.01)
    models["b"]["bob"].inertia = sc.Inertia(3.0, (0, 0, -1.0))
    run = s.run(0.02)
    assert run.vdot[0, 2] == pytest.approx(
        -9.81 * np.sin(run.q[0, 2]) + run.forces["drive_b.force"][0, 2] / 3.0, rel=1e-9
    )
    assert run.work["drive_b.force"][0] != 0.0  # goes on from the first run
    models["b"].add_body("more", "bob", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)))
    more = s.run(0.03)
    assert more.q.shape[1] == run.q.shape[1] + 1
    assert more.q[0, :-1] == pytest.approx(run.q[-1], abs=1e-15)
    assert [(x.kind, x.plant) for x in s.changes] == [("edit", "b")]
