"""Two hands that hold one box in a running system: impacts, loops, and hands that let go."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.systems.test_edits import energy, own_momentum, sizes

import soacraft as sc
from soacraft import sim
from soacraft.errors import LoopError, ModelError, WiringError

V = [0.05, -0.1, 0.2, 0.1, 0.2, 0.05, 0.4, -0.3, 0.2, 0.5, 0.1, 0.2, 0.3, -0.4, 0.5, 0.05]


def arms() -> sc.Multibody:
    """A satellite with two arms of two links each, and a box that flies by."""
    mb = sc.Multibody("arms", gravity=(0, 0, 0))
    mb.add_body("base", None, sc.Free(), sc.Inertia(5.0, (0, 0, 0.1), np.diag([1.0, 2.0, 2.0])))
    for name, y in (("left", 0.5), ("right", -0.5)):
        at = sc.Pose(translation=(0, y, 0))
        mb.add_body(name, "base", sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.5, 0, 0), 0.1 * np.eye(3)), at)
        hand = mb.add_body(f"{name}_hand", name, sc.Pin((0, 1, 1)), sc.Inertia(0.3, (0.1, 0, 0), 0.02 * np.eye(3)),
                           sc.Pose(translation=(1.0, 0, 0)))  # fmt: skip
        hand.add_node("tip", sc.Pose(translation=(0.2, 0, 0)))
    mb.add_body("box", None, sc.Free(), sc.Inertia(2.0, (0.1, 0, 0), 0.2 * np.eye(3)))
    q = np.array(mb.q)
    q[7:11] = 0.4, 0.3, -0.2, 0.5
    q[mb["box"].q_slice] = [0, 0, 0, 1, 1.2, 0, 0]
    mb.set_state(q, [*V[:6], 0.4, -0.3, 0.2, 0.5, *V[10:]])
    return mb


def flight(mb: sc.Multibody | None = None) -> tuple[sim.System, sim.Plant]:
    s = sim.System("flight", integrator="rk4", step=2e-3)
    return s, s.add("ship", sim.Plant(mb or arms()))


@pytest.mark.parametrize("hinge", [None, sc.Spherical(), sc.Pin((0, 0, 1))])
def test_a_second_hand_closes_a_loop_and_the_impact_is_told(hinge):
    s, ship = flight()
    mb = ship.mb
    s.run(0.01)
    ship.capture("box", "left_hand")
    h, e, size = own_momentum(mb), energy(mb), sizes(mb)
    box = np.asarray(mb.velocity("box"))
    done = ship.capture("box", "right_hand", hinge)
    assert (done.kind, done.body, done.name) == ("capture", "box", "right_hand")
    assert [x.name for x in mb.loops] == ["capture of box by right_hand"]
    assert mb["box"].parent is mb["left_hand"]
    assert np.abs((own_momentum(mb) - h) / size).max() < 1e-12
    assert e - energy(mb) == pytest.approx(done.energy_lost, abs=1e-12 * e)
    assert done.energy_lost > 1e-3
    assert np.abs(np.asarray(mb.velocity("box")) - box).max() > 1e-3
    a, b = (np.asarray(mb.velocity(x)) for x in (mb.loops[0].a, mb.loops[0].b))
    assert b[3:] == pytest.approx(a[3:], abs=1e-12)
    run = s.run(0.05)
    assert run.violation.max() < 1e-9
    h = np.array([sc.dynamics.momentum(mb, q, v, ignore_loops=True) for q, v in zip(run.q, run.v, strict=True)])
    assert np.abs((h - h[0]) / size).max() < 1e-8  # of the integrator


def test_the_impulse_in_a_closed_chain_is_that_of_closures_alone():
    """The same impact, of a box that floats and that two closures hold, the left one from before."""
    mb, other = arms(), arms()
    _, ship = flight(mb)
    ship.capture("box", "left_hand")
    v = np.zeros(other.nv)
    v[:10], v[10:] = mb.v, np.asarray(mb.velocity("box"))  # whose axes are the inertial ones
    other.set_state(other.q, v)
    assert np.asarray(other.velocity("box")) == pytest.approx(np.asarray(mb.velocity("box")), abs=1e-12)
    done = ship.capture("box", "right_hand", sc.Spherical())
    for name in ("left", "right"):
        node = other[f"{name}_hand"].add_node("grip", other.pose("box", relative_to=f"{name}_hand"))
        other.close_loop(name, node, "box", sc.Weld() if name == "left" else sc.Spherical(), active=name == "left")
    peer = sc.contact.plastic_impact(other, "right")
    assert done.energy_lost == pytest.approx(peer.energy_lost, rel=1e-9)
    assert done.impulse == pytest.approx(peer.impulses["right"], abs=1e-9)
    assert mb.v == pytest.approx(peer.v[:10], abs=1e-9)


@pytest.mark.parametrize("hinge", [None, sc.Spherical(), sc.Pin((0, 0, 1))])
@pytest.mark.parametrize("first", ["left_hand", "right_hand"])
def test_one_hand_lets_go_and_the_other_holds_on(first, hinge):
    """Whichever lets go first: every velocity stays, the box hangs from the other, and its nodes are gone."""
    s, ship = flight()
    mb = ship.mb
    bodies, nodes = len(mb), {x.full_name for body in mb.bodies for x in body.nodes}
    s.run(0.01)
    ship.capture("box", "left_hand")
    ship.capture("box", "right_hand", hinge)
    s.run(0.03)
    velocities = {x.name: np.asarray(mb.velocity(x)) for x in mb.bodies}
    done = ship.release("box", first)
    other = "right_hand" if first == "left_hand" else "left_hand"
    assert (done.kind, done.name, done.energy_lost, done.impulse) == ("release", first, 0.0, None)
    assert not mb.is_closed
    assert mb["box"].parent is mb[other]
    assert len(mb) == bodies
    assert {x.full_name for body in mb.bodies for x in body.nodes} == nodes
    for name, before in velocities.items():
        assert np.asarray(mb.velocity(name)) == pytest.approx(before, abs=1e-9), name
    assert done.momentum_after == pytest.approx(done.momentum_before, abs=1e-9)
    s.run(0.05)
    ship.release("box", other)
    assert isinstance(mb["box"].hinge, sc.Free)
    assert s.run(0.07).q.shape[1] == 7 + 4 + 7
    assert [x.kind for x in s.changes] == ["capture", "capture", "release", "release"]
    assert np.asarray(sc.dynamics.momentum(mb, mb.q, mb.v)) == pytest.approx(done.momentum_before, abs=1e-7)


def test_the_world_catches_and_lets_go():
    s, ship = flight()
    mb = ship.mb
    s.run(0.01)
    done = ship.capture("box", "inertial")
    assert np.abs(np.asarray(mb.velocity("box"))).max() < 1e-12
    assert -done.impulse[3:] == pytest.approx(done.momentum_before[3:] - done.momentum_after[3:], abs=1e-12)
    s.run(0.02)
    with pytest.raises(ModelError, match=r"held by 'inertial' already"):
        ship.capture("box", "inertial")
    ship.release("box", "inertial")
    with pytest.raises(ModelError, match=r"'box' of 'arms' is not held by 'inertial'; it is held by \[\]"):
        ship.release("box", "inertial")
    assert np.abs(np.asarray(mb.velocity("box"))).max() < 1e-12
    s.run(0.03)


@pytest.mark.parametrize("options", [{"integrator": "moreau", "step": 1e-3}, {"integrator": "dop853"}])
def test_hands_work_in_every_integrator_and_in_one_plant_of_two(options):
    s = sim.System("flight", **options)
    ship, other = s.add("ship", sim.Plant(arms())), s.add("other", sim.Plant(arms()))
    s.run(0.01)
    for hand in ("left_hand", "right_hand"):
        ship.capture("box", hand)
    run = s.run(0.03)
    assert run.violation.max() < 1e-6
    ship.release("box", "left_hand")
    s.run(0.04)
    assert ship.mb["box"].parent is ship.mb["right_hand"]
    assert other.mb.nv == 16
    assert [x.plant for x in s.changes] == ["ship"] * 3


def test_what_is_held_cannot_float_and_is_not_caught_twice():
    s, ship = flight()
    mb = ship.mb
    s.run(0.01)
    ship.capture("box", "left_hand")
    with pytest.raises(ModelError, match=r"'box' of 'arms' is held by 'left_hand' already: .*plant.release\('box', 'l"):
        ship.capture("box", "left_hand/tip")
    ship.capture("box", "right_hand/tip")
    q, build = np.array(mb.q), s.board.build
    with pytest.raises(ModelError, match=r"'box' of 'arms' is held by 'right_hand' already"):
        ship.capture("box", "right_hand")
    with pytest.raises(
        ModelError,
        match=r"'box' of 'arms' cannot float: 'right_hand' holds it by the loop 'capture of box by right_hand'. Open "
        r"that first, plant.release\('box', 'right_hand'\)",
    ):
        ship.detach("box")
    with pytest.raises(ModelError, match=r"'left_hand' of 'arms' cannot float: 'right_hand' holds it"):
        ship.detach("left_hand")
    with pytest.raises(ModelError, match=r"'box' of 'arms' is not held by 'left'; it is held by \['left_hand', 'right"):
        ship.release("box", "left")
    assert s.board.build is build
    assert np.array_equal(mb.q, q)
    s.run(0.02)
    ship.release("box", "right_hand")
    ship.detach("box")
    assert isinstance(mb["box"].hinge, sc.Free)


def test_what_looks_at_a_loop_that_opens_is_named():
    s, ship = flight()
    ship.capture("box", "left_hand")
    ship.capture("box", "right_hand")
    s.add("felt", sim.Gain(gain=1.0, size=6))
    s.connect("ship.closure_force[capture of box by right_hand]", "felt.u")
    s.run(0.01)
    with pytest.raises(WiringError, match=r"release of 'box': .*\n  connection 'ship.closure_force\[capture of box by"):
        ship.release("box", "right_hand")
    before = np.array(s.run(0.02).signals["felt.y"][-1])
    ship.release("box", "right_hand", mounted="stop")
    assert s.run(0.03).signals["felt.y"][-1] == pytest.approx(before)


def test_a_sequence_catches_and_lets_go(tmp_path):
    s, _ = flight()
    catch = [sim.Action("capture", plant="ship", body="box", parent=x) for x in ("left_hand", "right_hand")]
    drop = [sim.Action("release", plant="ship", body="box", parent=x) for x in ("left_hand", "right_hand")]
    steps = [sim.Transition("wait", "hold", after=0.02), sim.Transition("hold", "free", after=0.02)]
    s.add("plan", sim.Sequence(["wait", "hold", "free"], steps, {"hold": catch, "free": drop}))
    s.save(tmp_path / "a.toml")
    runs = [x.run(0.06) for x in (s, sim.load_system(tmp_path / "a.toml"))]
    assert [x.kind for x in s.changes] == ["capture", "capture", "release", "release"]
    assert [len(x.labels.v) for x in runs[0].segments] == [16, 10, 16]
    assert np.array_equal(runs[0].q, runs[1].q)
    with pytest.raises(WiringError, match="the action 'release' of 'a' needs parent="):
        sim.Sequence(["a"], [], {"a": [sim.Action("release", plant="ship", body="box")]})


def test_a_closed_loop_of_two_hands_is_restored(tmp_path):
    s, ship = flight()
    ship.capture("box", "left_hand")
    s.run(0.01)
    ship.capture("box", "right_hand")
    s.run(0.02)
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert [(x.kind, x.name) for x in other.changes] == [("capture", "left_hand"), ("capture", "right_hand")]
    a, b = s.run(0.03), other.run(0.03)
    assert np.array_equal(a.q, b.q)
    other.plants["ship"].release("box", "left_hand")
    ship.release("box", "left_hand")
    assert np.array_equal(s.run(0.04).q, other.run(0.04).q)


# -- edits of the model between runs -------------------------------------------------------------------------------


def test_a_robot_grasps_and_lets_go_in_a_running_system():
    """`rb.grasp` and `rb.ungrasp` reach the system; grasp is the impact that `capture` is."""
    s, ship = flight()
    t, other = flight()
    s.run(0.01), t.run(0.01)
    rb = sc.robot.Robot(ship.mb)
    told = rb.grasp("box", ["left_hand", "right_hand"])
    e = [other.capture("box", x).energy_lost for x in ("left_hand", "right_hand")]
    assert [x.energy_lost for x in told] == pytest.approx(e, rel=1e-9)
    a, b = s.run(0.03), t.run(0.03)
    assert a.q == pytest.approx(b.q, abs=1e-12)
    assert a.violation.max() < 1e-9
    (done,) = s.changes
    assert (done.t, done.kind, done.plant) == (0.01, "edit", "ship")
    assert done.energy_lost == pytest.approx(sum(e), rel=1e-9)
    assert done.momentum_after == pytest.approx(done.momentum_before, abs=1e-12)
    rb.ungrasp("box")
    assert s.run(0.05).q.shape[1] == 18
    assert s.changes[-1].energy_lost == pytest.approx(0.0, abs=1e-12)


def test_a_body_that_is_added_between_runs_moves_along():
    mb = sc.load("pendulum")
    mb.set_state([0.4], [0.1])
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("bob", sim.Plant(mb))
    s.add("slow", sim.LowPass(time_constant=0.3))
    s.connect("bob.q[bob]", "slow.u")
    s.run(0.02)
    mb.add_body("more", "bob", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)))
    alone = mb.copy()
    s.check()
    assert [(x.kind, x.plant) for x in s.changes] == [("edit", "bob")]
    before = s.states["slow.x"]
    run = s.run(0.04)
    p = sim.Propagator(alone, integrator="rk4", step=1e-3, t=0.02)
    assert run.q == pytest.approx(p.run(0.04).q, abs=1e-15)
    assert run.signals["slow.x"][0] == before


def test_loops_are_closed_and_opened_between_runs():
    mb = arms()
    mb.set_state(mb.q, np.zeros(mb.nv))
    s, ship = flight(mb)
    s.add("push", sim.Force(), at=ship.dof("left"))
    s.add("three", sim.Constant(value=3.0))
    s.connect("three.y", "push.command")
    s.run(0.01)
    mb.set_state(mb.q, np.zeros(mb.nv))
    a = mb["base"].add_node("eye", mb.pose("left_hand", relative_to="base"))
    mb.close_loop("lock", a, "left_hand", sc.Spherical())
    run = s.run(0.05)
    assert run.violation.max() < 1e-9
    mb.remove_loop("lock")
    s.run(0.09)
    assert np.linalg.norm(mb.pose("left_hand", relative_to=a).translation) > 1e-4


def test_a_loop_that_is_open_is_refused_with_the_call_to_use():
    s, ship = flight()
    t, _ = flight()
    s.run(0.01), t.run(0.01)
    mb, build = ship.mb, s.board.build
    mb.close_loop("lock", "left_hand", "right_hand", sc.Spherical())
    for _ in range(2):
        with pytest.raises(LoopError, match=r"changed after the run began, .*'lock' .* is open by 1[.]59 m(.|\n)*ship"
                                            r"\.detach, attach, capture, release"):  # fmt: skip
            s.run(0.02)
    assert s.t == 0.01
    assert s.board.build is build
    mb.remove_loop("lock")
    assert np.array_equal(s.run(0.02).q, t.run(0.02).q)


def test_a_loop_whose_ends_move_apart_is_refused():
    s, ship = flight()
    s.run(0.01)
    mb = ship.mb
    node = mb["base"].add_node("eye", mb.pose("left_hand", relative_to="base"))
    mb.close_loop("lock", node, "left_hand", sc.Spherical())
    with pytest.raises(LoopError, match=r"'lock' of 'arms' opens at .* with this v(.|\n)*capture"):
        s.run(0.02)
    mb.remove_loop("lock")
    s.run(0.02)


def test_an_edit_under_a_component_is_refused_until_it_is_unmounted():
    s, ship = flight()
    s.add("push", sim.Force(), at=ship.dof("right_hand"))
    s.add("three", sim.Constant(value=3.0))
    s.connect("three.y", "push.command")
    s.run(0.01)
    ship.mb.remove("right_hand", subtree=True)
    with pytest.raises(WiringError, match=r"'arms' changed after the run began, .*(.|\n)*has no dof 'right_hand'(.|\n)*"
                                          "ship.detach, attach"):  # fmt: skip
        s.run(0.02)
    assert s.t == 0.01
    s.remove("push")
    assert s.run(0.02).q.shape[1] == 17
    assert [x.kind for x in s.changes] == ["edit", "remove", "disconnect"]


def test_one_of_two_plants_is_edited():
    s, ship = flight()
    other = s.add("other", sim.Plant(sc.load("pendulum")))
    other.mb.gravity = (0, 0, 0)
    s.run(0.01)
    ship.mb.add_body("more", "base", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0.1), np.eye(3)))
    run = s.run(0.02)
    assert run.q.shape[1] == 1 + 18 + 1
    assert [(x.kind, x.plant) for x in s.changes] == [("edit", "ship")]
