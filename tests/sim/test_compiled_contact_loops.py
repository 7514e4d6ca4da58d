"""Compiled steps with contact of closed chains: those of Python, impulses of the mechanism that the closures leave, and
rollouts."""

import numpy as np
import pytest
from tests.loops.cases import Z, rod
from tests.sim.chains import ball_jointed_four_bar, four_bar, slider_crank, turned_four_bar
from tests.sim.test_compiled import in_python, is_compiled

import soacraft as sc
from soacraft.errors import SimulationError, StateError

UP_IS_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
PIN = sc.Pin((0, 1, 0))


def ball(body, at, radius=0.05, name="skin"):
    body.add_geometry(sc.Geometry(name, "sphere", (radius,), pose=sc.Pose(translation=at)))


def over_a_floor():
    """A planar four-bar on the ground whose crank and coupler meet a floor; most of its rows repeat others."""
    mb = four_bar(0.4, 1.0, 0.8, 1.0, 0.7, -3.0)
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(UP_IS_Y, (0, 0.08, 0))))
    ball(mb["crank"], (0.4, 0, 0))
    ball(mb["coupler"], (0.5, -0.4, 0), 0.08)
    return mb


def falling(size=1.0, rate=2.0):
    """A four-bar on a free base, with balls at its joints, that falls on a floor; `size` is a length."""
    mb = sc.Multibody("falling four-bar", gravity=(0, 0, -9.81))
    mb.root.add_geometry(sc.Geometry("floor", "plane"))

    def bar(length):
        return rod(1.0, size * length)

    base = mb.add_body("base", None, sc.Free(), bar(1.0))
    mb.add_body("crank", base, PIN, bar(0.4))
    mb.add_body("coupler", "crank", PIN, bar(1.0), sc.Pose(translation=(0.4 * size, 0, 0)))
    mb.add_body("rocker", base, PIN, bar(0.8), sc.Pose(translation=(size, 0, 0)))
    mb["coupler"].add_node("end", sc.Pose(translation=(size, 0, 0)))
    mb["rocker"].add_node("end", sc.Pose(translation=(0.8 * size, 0, 0)))
    mb.close_loop("loop", "coupler/end", "rocker/end", PIN)
    for name, at in (("base", 0.0), ("base", 1.0), ("crank", 0.4), ("rocker", 0.8)):
        ball(mb[name], (at * size, 0, 0), 0.05 * size, f"ball{at}")
    turn = np.array([0.1, 0.05, 0.0, 1.0])
    turn /= np.linalg.norm(turn)
    speeds = rate / np.sqrt(size) * np.array([0.3, 0.2, 0.1, *(size * np.array([0.5, 0.2, -1.0])), 1.0, -0.3, 0.4])
    return closed(mb, [*turn, 0, 0, 0.155 * size, -0.7, -0.2, -2.0], speeds)


def closed(mb, q, v):
    solver = sc.loops.TreeAugmented(mb)
    mb.q = solver.assemble(q)
    mb.v = solver.project_velocity(mb.q, v)
    return mb


def geared():
    """The same with a wheel that a coupling of coordinates turns."""
    mb = falling()
    q, v = mb.q, mb.v
    ball(mb.add_body("wheel", "rocker", PIN, rod(0.3, 0.3), sc.Pose(translation=(0.8, 0, 0))), (0.3, 0, 0), name="tip")
    mb.couple("gear", {"crank": 1.0, "wheel": -2.0})
    return closed(mb, [*q, -0.35], [*v, 0.5])


def stopped():
    """A slider that meets its limit, with dry friction in all hinges of the loop."""
    mb = slider_crank(-4.0)
    mb["slider"].limits = sc.Limits(0.9, 1.29)
    for body in mb.bodies:
        body.passive = sc.Passive(damping=0.1, friction=0.3)
    return mb


def sprung():
    """Springs and dampers of the loop that are fast for the step, and a servo."""
    mb = falling()
    for body in mb.bodies[1:3]:
        body.passive = sc.Passive(damping=1.0, stiffness=500.0)
    law = {"biastype": "affine", "gainprm": [2000.0], "biasprm": [0.0, -2000.0, -20.0]}
    mb.add_actuator(sc.Actuator("servo", "general", {"rocker": 1.0}, law))
    return mb


def in_space():
    """A loop with a ball joint, whose rows turn, and a coupler that rolls on the ground."""
    mb = ball_jointed_four_bar(3.0)
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, 0.185))))
    mb["coupler"].add_geometry(sc.Geometry("skin", "capsule", (0.04, 0.6), pose=sc.Pose(translation=(0.7, 0, 0))))
    return mb


def library(name, drop):
    """A robot of the library over a floor, which it reaches in some steps; its bodies do not touch each other."""
    mb = sc.load(name)
    q = sc.loops.TreeAugmented(mb).assemble(mb.q)
    if name == "delta":  # its shapes are meshes
        for body in (mb.root, *mb.bodies):
            for shape in list(body.geometries):
                body.remove_geometry(shape.name)
        ball(mb["effector"], (0, 0, 0), 0.02)
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -50.0))))
    down = min(x.distance for x in sc.contact.Scene(mb).distances(q) if "floor" in x.a + x.b)
    mb.root.remove_geometry("floor")
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -50.0 + down - drop))))
    v = np.zeros(mb.nv)
    if name == "cassie":
        v[3], v[5] = 0.2, -0.3
    return closed(mb, q, v)


CASES = {
    "over a floor": (over_a_floor, 90, {}),
    "bouncing": (over_a_floor, 90, {"restitution": 0.5, "friction": 0.1}),
    "falling": (falling, 60, {}),
    "falling, elastic": (falling, 60, {"restitution": 0.7, "friction": (0.5, 0.02, 0.01)}),
    "geared": (geared, 60, {}),
    "stopped": (stopped, 60, {}),
    "sprung": (sprung, 40, {}),
    "in space": (in_space, 60, {}),
    "cassie": (lambda: library("cassie", 1e-3), 20, {}),
    "delta": (lambda: library("delta", 1e-5), 12, {"tolerance": 1e-9}),
}


def run(make, steps, solver="auto", step=1e-3, tolerance=1e-11, **laws):
    mb = make()
    scene = sc.contact.Scene(mb)
    for a, b in list(scene.pairs):
        if not a.startswith("inertial/") and not b.startswith("inertial/"):
            scene.exclude(a, b)
    p = sc.sim.Propagator(mb, solver, integrator="moreau", step=step)
    touch = sc.sim.Contact(scene, tolerance=tolerance, **laws)
    p.add(touch)
    if mb.actuators and mb.actuators[0].name == "servo":
        p.control("servo", -1.5)
    return p.advance_to(steps * step), touch


def agree(r, other, tolerance=1e-9):
    """Coordinates, velocities, energies and works, each relative to the largest."""
    for x, y in [(r.q, other.q), (r.v, other.v), (r.energy, other.energy)]:
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.abs(y).max())
    assert r.work.keys() == other.work.keys()
    energy = max(np.ptp(other.kinetic), max(np.abs(x).max() for x in other.work.values()))
    for name, work in r.work.items():
        np.testing.assert_allclose(work, other.work[name], rtol=0, atol=10.0 * tolerance * energy, err_msg=name)
        force, most = other.forces[name], 1e2 * tolerance * np.abs(other.forces[name]).max()
        np.testing.assert_allclose(r.forces[name], force, rtol=0, atol=most, err_msg=name)


@pytest.mark.parametrize("name", CASES)
def test_steps_of_closed_chains(name, monkeypatch):
    """Closures that repeat rows, couplings, limits and friction in loops, forces taken implicitly, robots: states, work
    and forces are those of Python, where closures are rows of the contact problem."""
    make, steps, laws = CASES[name]
    r, touch = run(make, steps, **laws)
    assert is_compiled(r)
    assert r.violation.max() < 1e-12
    assert np.abs(r.forces["contact"]).max() > 0.0
    in_python(monkeypatch)
    other, told = run(make, steps, **laws)
    agree(r, other)
    assert [x.pairs for x in touch.steps] == [x.pairs for x in told.steps]
    most = max(np.abs(x.impulses).max(initial=0.0) for x in told.steps)
    for x, y in zip(touch.steps, told.steps, strict=True):  # known to fewer digits where closures hold with them
        np.testing.assert_allclose(x.impulses, y.impulses, rtol=0, atol=1e-7 * most)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_sizes(size):
    """A mechanism of any size moves alike, in times that grow with its root."""
    ends = []
    for scale in (1.0, size):
        step = 1e-3 * np.sqrt(scale) if scale > 1.0 else round(1e6 * np.sqrt(scale)) / 1e9
        r, touch = run(lambda scale=scale: falling(scale), 60, step=round(step, 9))
        assert is_compiled(r)
        ends.append((r.q[-1], len(touch.steps)))
    q = np.array(ends[1][0])
    q[4:7] /= size
    np.testing.assert_allclose(q, ends[0][0], rtol=0, atol=2e-3)  # the step is rounded to nanoseconds
    assert ends[0][1] > 0


@pytest.mark.parametrize("solver", ["fa", "ce"])
def test_solvers(solver):
    """Contacts are those of the closures, whichever solver answers forces."""
    r, other = (run(falling, 60, x)[0] for x in ("ta", solver))
    assert is_compiled(r)
    assert is_compiled(other)
    agree(other, r, 1e-7)


def test_an_impulse_moves_the_mechanism_that_the_closures_leave():
    """dv = Y N* p with the compliance Y of all dofs, closures considered, in the step of an impact."""
    r, touch = run(over_a_floor, 90, restitution=0.5, friction=0.0)
    mb = over_a_floor()
    hit = next(x for x in touch.steps if x.impulses.any())
    i = int(np.argmin(np.abs(r.t - hit.t)))
    Y = sc.loops.TreeAugmented(mb).mass_matrix_inverse(r.q[i], "all")
    np.testing.assert_allclose(
        r.v[i] - r.v[i - 1], Y @ (r.forces["contact"][i] * 1e-3), rtol=0, atol=0.03 * np.abs(r.v[i]).max()
    )  # besides gravity in a millisecond, and as the pose has changed by half a step
    normal = 0.5 * (r.v[i] @ np.linalg.pinv(Y) @ r.v[i]) - 0.5 * (r.v[i - 1] @ np.linalg.pinv(Y) @ r.v[i - 1])
    assert r.work["contact"][i] - r.work["contact"][i - 1] == pytest.approx(normal, rel=0.05)
    assert normal < 0.0


def test_a_mechanism_of_one_dof_bounces_back():
    """Without friction e alone tells its speed: all of a four-bar stops and returns with e times what it came with."""
    for e in (0.25, 1.0):
        r, touch = run(over_a_floor, 90, restitution=e, friction=0.0)
        hit = next(x.t for x in touch.steps if x.impulses.any())
        i = int(np.argmin(np.abs(r.t - hit)))
        np.testing.assert_allclose(r.v[i] / r.v[i - 1], -e, atol=0.02)  # gravity acts in the step, too


def test_closures_push_no_mechanism_as_a_whole():
    """Two linkages that meet in space: what moves each is the impulse of the contact, and none of its closures."""
    mb = sc.Multibody("pair", gravity=(0, 0, 0))
    q, v = [], []
    for name, y, speed in (("a", 0.0, 1.0), ("b", 0.4, -1.5)):
        base = mb.add_body(name, None, sc.Free(), rod(1.0, 1.0))
        arms = [
            mb.add_body(f"{name}{i}", above, PIN, rod(0.5, 0.6), sc.Pose(translation=(x, 0, 0)))
            for i, (above, x) in enumerate(((base, 0.0), (base, 1.0)))
        ]
        link = mb.add_body(f"{name}2", arms[0], PIN, rod(0.7, 1.0), sc.Pose(translation=(0.6, 0, 0)))
        ends = [x.add_node("end", sc.Pose(translation=(far, 0, 0))) for x, far in ((link, 1.0), (arms[1], 0.6))]
        mb.close_loop(name, *ends, PIN)
        ball(link, (0.5, 0, 0), 0.15)
        q += [0, 0, 0, 1, 0.1 * y, y, 0, -1.2, -1.2, 1.2]
        v += [0.2, 0.1, 0.3, 0.1, speed, 0.2, 1.0, 1.0, -1.0]
    closed(mb, q, v)
    scene = sc.contact.Scene(mb)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    touch = sc.sim.Contact(scene, restitution=0.4)
    p.add(touch)
    r = p.advance_to(0.12)
    assert is_compiled(r)
    assert any(x.impulses.any() for x in touch.steps)
    hit = next(x for x in touch.steps if x.impulses.any())
    force = r.forces["contact"][int(np.argmin(np.abs(r.t - hit.t)))]
    for first in (3, 12):  # the travel of each base, in its own axes
        travel = force[first : first + 3]
        assert np.linalg.norm(travel) == pytest.approx(np.linalg.norm(hit.impulses.sum(axis=0)) / 1e-3)


def test_a_pose_whose_rank_is_in_doubt_is_left_to_python():
    """A parallelogram next to its flat pose, which lies on a floor: where compiled code is not sure, Python takes the
    step, and the run goes on."""
    mb = turned_four_bar(0.0)
    mb.set_state([-1.5708, 0.0, -1.5708], np.zeros(3))
    mb.q = sc.loops.TreeAugmented(mb).assemble([-1.57, 1e-6, -1.57])
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(translation=(0, 0, -0.25))))
    ball(mb["a"], (0, 0, -1.0), 0.2)
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact())
    r = p.advance_to(0.05)
    assert np.isfinite(r.v).all()
    assert r.violation.max() < 1e-6


def test_rollouts_are_runs():
    """A batch of states, each with a solver of its own, under controls by numbers; with a force in each step."""
    mb = sprung()
    p = sc.sim.Propagator(mb, integrator="moreau", step=1e-3)
    p.add(sc.sim.Contact(restitution=0.3))
    p.control("servo", -1.5)
    q, v = mb.q, mb.v
    Q, V = p.rollout([q, q], [v, 0.5 * v], steps=50)
    r = p.advance_to(0.05)
    assert is_compiled(r)
    np.testing.assert_allclose(Q[0], r.q, rtol=0, atol=1e-11)
    np.testing.assert_allclose(V[0], r.v, rtol=0, atol=1e-9 * np.abs(r.v).max())
    assert np.abs(Q[1] - Q[0]).max() > 0.01
    force = np.zeros((50, mb.nv))
    force[:25, 7] = 1.0
    pushed = p.rollout(q, v, force, steps=50)[0]
    halves = p.rollout(q, v, force[0], steps=25)
    np.testing.assert_array_equal(pushed[:26], halves[0])
    np.testing.assert_allclose(pushed[-1], p.rollout(halves[0][-1], halves[1][-1], steps=25)[0][-1], rtol=0, atol=1e-9)


def test_steppers_are_runs():
    """One state and a batch of them, with the bits of a run."""

    def made():
        p = sc.sim.Propagator(sprung(), integrator="moreau", step=1e-3)
        p.add(sc.sim.Contact(restitution=0.3))
        return p

    p = made()
    p.control("servo", -1.5)
    r = p.advance_to(0.05)
    for step in (made().stepper(["servo"]), made().stepper(["servo"], states=3, threads=2)):
        assert "steps: compiled" in str(step.report())
        step.u[:] = -1.5
        step(50)
        np.testing.assert_array_equal(np.atleast_2d(step.q) - r.q[-1], 0.0)
        np.testing.assert_array_equal(np.atleast_2d(step.v) - r.v[-1], 0.0)


def test_rollouts_take_steps_in_parts_where_shapes_would_pass():
    """A coupler that is thrown at a thin wall: rows stay those of the steps, and forces theirs."""

    def thrown():
        mb = slider_crank(-6.0)
        mb.root.add_geometry(sc.Geometry("wall", "box", (0.01, 1.0, 1.0), pose=sc.Pose(translation=(1.42, 0, 0))))
        ball(mb["slider"], (0, 0, 0), 0.05)
        return mb

    mb = thrown()
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.02)
    touch = sc.sim.Contact()
    p.add(touch)
    force = np.linspace(0.0, 2.0, 20)[:, None] * np.ones(3)
    Q, _ = p.rollout(mb.q, mb.v, force, steps=20)
    fine = sc.sim.Propagator(thrown(), integrator="moreau", step=0.001)
    fine.add(sc.sim.Contact())
    near = fine.rollout(mb.q, mb.v, np.repeat(force, 20, axis=0), steps=400)[0][::20]
    assert Q[:, 2].max() < 1.365 + 1e-3
    np.testing.assert_allclose(Q, near, rtol=0, atol=0.03)


def test_refusals():
    """Rollouts name the state and what may be wrong; the midpoint rule takes trees."""
    mb = falling()
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.2)
    p.add(sc.sim.Contact())
    text = r"state [01] of the rollout of 'falling four-bar' stopped in step \d+, .*its contacts were not solved to the"
    with pytest.raises(SimulationError, match=text):
        p.rollout([mb.q, mb.q], [0.0 * mb.v, 40.0 * mb.v], steps=3)
    low = np.array(mb.q)
    low[6] -= 0.3
    with pytest.raises(StateError, match=r"state 0 of the rollout begins with"):
        p.rollout(low, mb.v, steps=3)
    other = sc.sim.Propagator(mb, integrator="moreau_midpoint", step=1e-3)
    other.add(sc.sim.Contact())
    assert "since 'moreau_midpoint' on a closed chain is written in Python" in str(other.report())


def test_a_loop_that_holds_a_body_lets_no_contact_move_it():
    """A triangle of rods, which nothing moves, stands on a floor with a swing on it: its contacts have no impulses."""
    mb = sc.Multibody("frame", gravity=(0, -9.81, 0))
    mb.root.add_geometry(sc.Geometry("floor", "plane", pose=sc.Pose(UP_IS_Y, (0, -0.05, 0))))
    for name, x in (("a", 0.0), ("b", 1.0)):
        mb.add_body(name, None, sc.Pin(Z), rod(1.0, 1.0), sc.Pose(translation=(x, 0, 0)))
        mb[name].add_node("end", sc.Pose(translation=(1.0, 0, 0)))
        ball(mb[name], (0, 0, 0))
    swing = mb.add_body("swing", "a", sc.Pin(Z), rod(0.5, 0.4), sc.Pose(translation=(1.0, 0, 0)))
    mb.close_loop("top", "a/end", "b/end", sc.Pin(Z))
    ball(swing, (0.4, 0, 0))
    mb.set_state(sc.loops.TreeAugmented(mb).assemble([np.pi / 3, 2 * np.pi / 3, 0.3]), np.zeros(3))
    r, _ = run(lambda: mb, 40)
    assert is_compiled(r)
    np.testing.assert_allclose(r.v[:, :2], 0.0, atol=1e-12)
    assert np.abs(r.v[-1, 2]) > 0.1
