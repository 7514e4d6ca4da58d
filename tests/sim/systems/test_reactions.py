"""Forces of closures and of contact as outputs of a plant."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.systems.test_compiled import slow

import soacraft as sc
from soacraft import sim
from soacraft.errors import AlgebraicLoopError, WiringError
from soacraft.sim.runs.block import Block

M, L, G = 2.0, 0.7, 9.81


def hung(angle=0.0, rate=0.0, name="hung"):
    """A pendulum whose pin is a closure: a free body that is held at a distance L above its centre of mass."""
    mb = sc.Multibody(name, gravity=(0, 0, -G))
    bob = mb.add_body("bob", None, sc.Free(), sc.Inertia(M, moment=np.eye(3) * 0.01))
    bob.add_node("eye", sc.Pose(translation=(0, 0, L)))
    mb.close_loop("pin", "inertial", "bob/eye", sc.Pin((0, 1, 0)))
    turn, way = np.array([0, np.sin(angle / 2), 0, np.cos(angle / 2)]), np.array([np.sin(angle), 0, np.cos(angle)])
    mb.set_state([*turn, *(-L * way)], np.zeros(6))
    omega = rate * np.array([0.0, 1.0, 0.0])
    mb.set_state(mb.q, np.concatenate([omega, _in_body(mb, np.cross(omega, -L * way))]))
    return mb


def _in_body(mb, linear):
    return np.asarray(mb.pose("bob").rotation).T @ linear


def at_pin(angle, rate):
    """The force of the pin on the bob, in closed form: m (a - g), with rotation about y by `angle`."""
    inertia = 0.01 + M * L * L
    way, side = np.array([np.sin(angle), 0, np.cos(angle)]), np.array([np.cos(angle), 0, -np.sin(angle)])
    # the centre of mass is at -L way; d way/dangle = side
    second = -M * G * L * np.sin(angle) / inertia
    a = -L * (second * side - rate * rate * way)
    return M * (a + np.array([0, 0, G]))


@pytest.mark.parametrize("solver", ["ta", "fa", "ce"])
@pytest.mark.parametrize(("angle", "rate"), [(0.0, 0.0), (0.4, 0.0), (-0.9, 1.7)])
def test_the_force_of_a_pin(solver, angle, rate):
    s = sim.System("s", integrator="rk4", step=2e-3)
    s.add("arm", sim.Plant(hung(angle, rate), solver=solver))
    s.add("seen", sim.Gain(gain=1.0, size=6))
    s.connect("arm.closure_force[pin]", "seen.u")
    run = s.run(0.04)
    F = run.signals["arm.closure_force[pin]"]
    assert F.shape == (len(run.t), 6)
    assert np.abs(F[0, 3:] - at_pin(angle, rate)).max() < 1e-9 * M * G
    assert np.abs(F[:, 1]).max() < 1e-9 * M * G * L  # a pin has no moment about its axis
    for i in (10, -1):  # m (a - g) of the motion that it makes
        mb = hung()
        mb.set_state(run.q[i], run.v[i], run.vdot[i])
        a = np.asarray(mb.acceleration("bob").linear)
        assert np.abs(F[i, 3:] - M * (a + np.array([0, 0, G]))).max() < 1e-8 * M * G
    assert run.signals["seen.y"].tobytes() == F.tobytes()


class Push(sim.Component):
    @sim.output(shape=(3,), unit="N")
    def y(t):
        return np.array([3.0, 0.0, -5.0])


class Lift(sim.Component):
    """Up with 2 m/s^2."""

    @sim.output(shape=(3,))
    def y(t):
        return np.array([t * t, 2.0 * t, 2.0])


def test_the_force_of_a_pin_knows_pushes_and_force_elements():
    s = sim.System("s", integrator="rk4", step=1e-3)
    wind = sim.GravityField(lambda t, p: (1.5, 0.0, 0.0), "wind")
    s.add("arm", sim.Plant(hung(0.4), forces=[wind]))
    s.add("push", Push())
    s.add("seen", sim.Gain(gain=1.0, size=6))
    s.connect("push.y", "arm.node_force[bob/eye]")
    s.connect("arm.closure_force[pin]", "seen.u")
    run = s.run(0.05)
    for i in (0, 20, -1):
        mb = hung()
        mb.set_state(run.q[i], run.v[i], run.vdot[i])
        a = np.asarray(mb.acceleration("bob").linear)
        F = M * (a + np.array([-1.5, 0, G])) - np.array([3.0, 0.0, -5.0])
        assert np.abs(run.signals["arm.closure_force[pin]"][i, 3:] - F).max() < 1e-8 * M * G


def carried(closed=True):
    mb = sc.Multibody("carried", gravity=(0, 0, -G))
    mb.add_body("lift", None, sc.Prismatic((0, 0, 1)), sc.Inertia(5.0, moment=np.eye(3) * 0.1))
    mb.add_body("load", None, sc.Free(), sc.Inertia(M, moment=np.eye(3) * 0.01))
    if closed:
        mb.close_loop("grip", "lift", "load", sc.Weld())
    return mb


def test_the_force_of_a_grip_on_what_moves_as_told_among_two_plants():
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("a", sim.Plant(other()))
    s.add("crane", sim.Plant(carried()))
    s.add("up", Lift())
    s.add("seen", sim.Gain(gain=1.0))
    s.connect("up.y", "crane.motion[lift]")
    s.connect("crane.closure_force[grip][5]", "seen.u")
    run = s.run(0.3)
    assert np.abs(run.signals["seen.y"] - M * (G + 2.0)).max() < 1e-8 * M * G


def other():
    mb = sc.Multibody("other", gravity=(0, 0, -G))
    mb.add_body("swing", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.3, 0, 0), np.eye(3) * 0.1))
    return mb


def test_a_closure_that_is_not_active_has_no_force():
    mb = carried(False)
    mb.close_loop("grip", "lift", "load", sc.Weld(), active=False)
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("crane", sim.Plant(mb))
    s.add("seen", sim.Gain(gain=1.0, size=6))
    s.connect("crane.closure_force[grip]", "seen.u")
    assert not s.run(0.05).signals["seen.y"].any()


# -- contact -----------------------------------------------------------------------------------------------------


def ball(height=0.1, name="ball"):
    mb = sc.Multibody(name, gravity=(0, 0, -G))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    body = mb.add_body("ball", None, sc.Free(), sc.Inertia(M, moment=np.eye(3) * 0.004))
    body.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    mb.set_state([0, 0, 0, 1, 0, 0, height], np.zeros(6))
    return mb


def felt(mb, every=None):
    s = sim.System("s", integrator="moreau", step=1e-2)
    s.add("ball", sim.Plant(mb, forces=[sim.Contact()]))
    s.add("seen", sim.Gain(gain=1.0, size=3), **({} if every is None else {"every": every}))
    s.connect("ball.contact_force[ball]", "seen.u")
    return s


class Switch(sim.Component):
    on = sim.In(dtype=bool)

    @sim.output()
    def y(on):
        return 1.0 if on else 0.0


def test_a_ball_at_rest_is_carried_by_its_weight():
    s = felt(ball())
    s.add("floor", sim.Gain(gain=1.0, size=3))
    s.add("on", Switch())
    s.connect("ball.contact_force[inertial/floor,ball/skin]", "floor.u")
    s.connect("ball.touching[ball]", "on.on")
    run = s.run(0.1)
    F = run.signals["ball.contact_force[ball]"]
    assert not F[0].any()
    assert run.signals["on.y"][0] == 0.0
    assert np.abs(F[1:] - [0, 0, M * G]).max() < 1e-7 * M * G
    assert np.abs(run.signals["floor.y"] + F).max() == 0.0
    assert (run.signals["on.y"][1:] == 1.0).all()
    assert np.abs(F - run.contacts.force("ball")).max() < 1e-12 * M * G


def test_a_ball_that_falls_is_pressed_from_its_impact_on():
    s = felt(ball(0.2))
    run = s.run(0.3)
    F = run.signals["seen.y"][:, 2]
    hits = np.flatnonzero(F)[0]
    assert abs(run.t[hits] - np.sqrt(0.2 / G)) <= 1e-2
    assert np.abs(F - run.contacts.force("ball")[:, 2]).max() <= 1e-12 * F.max()
    # the impulses stop the fall and then carry the weight: sum F h = m g t
    assert abs(F.sum() * 1e-2 - M * G * 0.3) < 1e-6 * M * G


def test_sampled_components_have_the_contact_of_the_step_that_ends_at_their_tick():
    run = felt(ball(), every=0.03).run(0.1)
    seen = run.signals["seen.y"][:, 2]
    assert seen[0] == 0.0
    assert abs(seen[3] - M * G) < 1e-6


def test_a_force_of_contact_that_begins_crosses():
    """The crossing is at the end of the step that has the impact, and its jump happens once."""
    s = felt(ball(0.2))
    s.add("alarm", Alarm())
    s.connect("ball.contact_force[ball][2]", "alarm.u")
    s.run(0.3)
    hit = np.sqrt(0.2 / G)
    assert 0.0 <= s.states["alarm.at"] - hit <= 1e-2


class Alarm(sim.Component):
    u = sim.In()
    at = sim.Discrete(start=-1.0)

    @sim.crossing(direction=1)
    def presses(u):
        return u - 1.0

    @sim.jump(at, at=presses)
    def noted(t):
        return t


class Hop(sim.Component):
    """A push by the force of contact, which is also watched."""

    force = sim.In("N", shape=(3,))
    lag = sim.Continuous("N", start=0.0)
    hits = sim.Discrete(dtype=int, start=0)

    @sim.output("N", to="force", shape=(3,), frame="inertial")
    def push(force, lag):
        return np.array([0.1 * lag, 0.0, 0.2 * force[2]])

    @sim.rate(lag)
    def follow(force, lag):
        return 20.0 * (force[2] - lag)

    @sim.crossing()
    def hard(force):
        return -force[2] - 30.0

    @sim.jump(hits, at=hard)
    def hit(hits):
        return hits + 1


class Count(sim.Component):
    """Ticks at which something was pressed, and the force then."""

    force = sim.In("N", shape=(3,))
    on = sim.In(dtype=bool)
    steps = sim.Discrete(dtype=int, start=0)

    @sim.output("N")
    def seen(force):
        return force[2]

    @sim.update(steps)
    def count(on, steps):
        return steps + on


def hopping(sampled):
    """Two balls, of which one falls on the other; forces between them and on the floor."""
    s = sim.System("s", integrator="moreau", step=4e-3)
    a = s.add("a", sim.Plant(ball(), forces=[sim.Contact(restitution=0.5)]))
    s.add("b", sim.Plant(ball(0.45, "upper")))
    s.add("hop", Hop(), at=a.node("ball"))
    s.connect("a.contact_force[ball,b:ball]", "hop.force")
    if sampled:
        s.add("counter", Count(), every=8e-3)
        s.connect("a.contact_force[ball]", "counter.force")
        s.connect("a.touching[ball,inertial/floor]", "counter.on")
    return s


@pytest.mark.parametrize("sampled", [False, True])
def test_contacts_are_felt_in_compiled_steps(sampled):
    """As in steps of Python, between two plants, by forces, rates, crossings and ticks."""
    one, other = hopping(sampled), hopping(sampled)
    run, plain = one.run(0.5), slow(other).run(0.5)
    assert "compiled" in one._propagator.report()
    assert one.states["hop.hits"] == other.states["hop.hits"] > 1
    assert sum(not isinstance(x, Block) for _, x in run._dense) <= 3 * one.states["hop.hits"]
    for key, x in plain.signals.items():
        np.testing.assert_allclose(run.signals[key], x, rtol=0, atol=1e-7 * max(1.0, np.abs(x).max()), err_msg=key)
    np.testing.assert_allclose(run.q, plain.q, rtol=0, atol=1e-8)
    if sampled:
        assert one.states["counter.steps"] == other.states["counter.steps"] > 10


@pytest.mark.parametrize("cut", [0.05, 0.16, 0.22])
def test_a_restored_system_has_the_bits_of_one_that_goes_on(tmp_path, cut):
    whole = felt(ball(0.2), every=0.03)
    whole.run(0.3, checkpoint=tmp_path / "w.h5", checkpoint_every=cut)
    felt(ball(0.2), every=0.03).run(cut, checkpoint=tmp_path / "c.h5")
    again = sim.restore(tmp_path / "c.h5", forces={"ball": [sim.Contact()]})
    again.run(0.3)
    a, c = whole.run(0.5), again.run(0.5)
    for key in ("ball.contact_force[ball]", "seen.y"):
        assert a.signals[key].tobytes() == c.signals[key].tobytes()
    assert a.q.tobytes() == c.q.tobytes()


def test_what_is_held_is_in_a_checkpoint(tmp_path):
    """At the start of a run that goes on the force is that of the last step, not zero."""
    s = felt(ball())
    s.run(0.05, checkpoint=tmp_path / "c.h5")
    again = sim.restore(tmp_path / "c.h5", forces={"ball": [sim.Contact()]})
    mine, other = s.run(0.1), again.run(0.1)
    assert abs(mine.signals["seen.y"][0, 2] - M * G) < 1e-6
    assert mine.signals["seen.y"].tobytes() == other.signals["seen.y"].tobytes()


def test_contact_between_two_plants():
    lower, upper = ball(), ball(0.1 + 0.2, "upper")
    s = sim.System("s", integrator="moreau", step=1e-2)
    s.add("a", sim.Plant(lower, forces=[sim.Contact()]))
    s.add("b", sim.Plant(upper))
    s.add("seen", sim.Gain(gain=1.0, size=3))
    s.connect("b.contact_force[ball,a:ball]", "seen.u")
    F = s.run(0.05).signals["seen.y"]
    assert np.abs(F[1:] - [0, 0, M * G]).max() < 1e-6 * M * G


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("arm.closure_force", r"arm.closure_force is of a loop: write arm.closure_force\[loop\]"),
        ("arm.closure_force[pim]", r"the plant 'arm' has no loop 'pim'; did you mean 'pin'"),
        ("arm.closure_forse[pin]", r"has no output 'closure_forse'; did you mean 'closure_force'"),
        ("arm.contact_force[bob]", r"arm.contact_force\[bob\]: nothing touches in this system, or not by impulses"),
        ("arm.touching", r"arm.touching is of a body or shape: write arm.touching\[foot\]"),
        ("tree.closure_force[pin]", r"the plant 'tree' has no loop 'pin': its model is a tree"),
        ("tied.closure_force[gear]", r"'gear' of the plant 'tied' is a coupling, which has no wrench"),
    ],
)
def test_closures_and_contacts_that_are_not_there(source, text):
    tied = other()
    tied.add_body("wheel", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, moment=np.eye(3)))
    tied.couple("gear", {"swing": 1.0, "wheel": -2.0})
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("arm", sim.Plant(hung()))
    s.add("tree", sim.Plant(other()))
    s.add("tied", sim.Plant(tied))
    s.add("seen", sim.Gain(gain=1.0, size=6))
    s.connect(source, "seen.u")
    with pytest.raises(WiringError, match=text):
        s.check()


def test_a_shape_that_is_not_there():
    s = felt(ball())
    s.add("more", sim.Gain(gain=1.0, size=3))
    s.connect("ball.contact_force[ball,flor]", "more.u")
    with pytest.raises(WiringError, match=r"there is no shape or body with shapes 'flor'"):
        s.check()


def test_closures_next_to_contact_are_refused():
    mb = hung()
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -3))))
    mb["bob"].add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    s = sim.System("s", integrator="moreau", step=1e-2)
    s.add("arm", sim.Plant(mb, forces=[sim.Contact()]))
    s.add("seen", sim.Gain(gain=1.0, size=6))
    s.connect("arm.closure_force[pin]", "seen.u")
    with pytest.raises(WiringError, match=r"where a sim.Contact acts, closures hold by the impulses of a step"):
        s.check()


def test_a_force_that_follows_the_force_of_a_closure_is_a_loop():
    s = sim.System("s", integrator="rk4", step=1e-2)
    s.add("arm", sim.Plant(hung()))
    s.add("back", sim.Gain(gain=0.1, size=6))
    s.connect("arm.closure_force[pin]", "back.u")
    s.connect("back.y", "arm.node_wrench[bob]")
    with pytest.raises(AlgebraicLoopError, match=r"arm.closure_force\[pin\]"):
        s.check()
