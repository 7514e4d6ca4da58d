"""What rolls and what skates: closed forms, and integrations of Newton's and Euler's equations written here."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.loops.cases import near
from tests.sim.test_compiled import agree, in_python, is_compiled

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.kinematics.rows import Constraints, loop_rows

G = 9.81


def sleigh(gravity=(0, 0, 0), com=(0.0, 0, 0), mass=2.0, moment=0.3):
    mb = sc.Multibody("sleigh", gravity=gravity)
    mb.add_body("sleigh", None, sc.Planar(), sc.Inertia(mass, com, np.diag([0.1, 0.1, moment])))
    mb.add_knife_edge("blade", "sleigh")
    return mb


@pytest.mark.parametrize("solver", ["fa", "ce"])
def test_a_skate_on_an_incline_does_not_slide_down(solver):
    """It turns at w and goes along a cycloid across the slope (Neimark and Fufaev, Dynamics of Nonholonomic Systems):

    x = (g' / 2 w^2) sin^2(w t),    y = (g' / 2 w^2) (w t - sin(2 w t) / 2),    g' = g sin(slope) along x
    """
    slope, w, t = 0.4, 1.7, 0.6
    mb = sleigh(G * np.array([np.sin(slope), 0, -np.cos(slope)]))
    mb.set_state([0, 0, 0], [0, 0, w])
    run = sc.sim.Propagator(mb, solver=solver, rtol=1e-7).advance_to(t)
    c = G * np.sin(slope) / (2 * w**2)
    near(mb.q, [c * np.sin(w * t) ** 2, c * (w * t - np.sin(2 * w * t) / 2), w * t], 1e-6)
    assert run.check().holds


def test_a_skate_turns_past_the_ends_of_its_independent_dofs():
    """Along y the blade tells nothing of x: whichever of the two is independent, the other must be in time, or its
    error is multiplied. The motion is that of the test above, past such a heading."""
    slope, w, t = 0.4, 1.7, 1.2
    mb = sleigh(G * np.array([np.sin(slope), 0, -np.cos(slope)]))
    mb.set_state([0, 0, 0], [0, 0, w])
    run = sc.sim.Propagator(mb, "ce", rtol=1e-7).advance_to(t)
    c = G * np.sin(slope) / (2 * w**2)
    near(mb.q, [c * np.sin(w * t) ** 2, c * (w * t - np.sin(2 * w * t) / 2), w * t], 1e-6)
    assert np.abs(run.energy - run.energy[0]).max() < 3e-6


def test_the_sleigh_of_chaplygin():
    """With the centre of mass a ahead of the blade and k^2 = a^2 + I / m, its speed u and its turning w are

    u = c tanh(a c (t - t0) / k^2),    w = (c / k) / cosh(a c (t - t0) / k^2),    u^2 + k^2 w^2 = c^2
    """
    a, mass, moment, c, t0, t = 0.3, 2.0, 0.3, 1.4, 0.4, 0.6
    k = np.sqrt(a**2 + moment / mass)
    mb = sleigh(com=(a, 0, 0))

    def closed_form(t):
        s = a * c * (t - t0) / k**2
        return c * np.tanh(s), c / k / np.cosh(s)

    u, w = closed_form(0.0)
    mb.set_state([0, 0, 0.2], [u * np.cos(0.2), u * np.sin(0.2), w])
    sc.sim.Propagator(mb, rtol=1e-7).advance_to(t)
    heading = mb.q[2]
    near([mb.v[:2] @ [np.cos(heading), np.sin(heading)], mb.v[2]], closed_form(t), 1e-6)


# -- shapes on a plane ---------------------------------------------------------------------------------------------

MASS = 1.3
ASKEW = sc.Pose.from_rpy(0, 0, 0.3).rotation
SHAPES = {
    "ball": (dict(radius=0.4), np.diag([0.08, 0.09, 0.07]), lambda n: -0.4 * n),
    "disc": (
        dict(radius=0.4, axis=(0, 1, 0)),
        np.diag([0.05, 0.1, 0.05]),
        lambda n: -0.4 * n * [1, 0, 1] / np.linalg.norm(n[[0, 2]]),
    ),
    "rattleback": (
        dict(semi_axes=(1.0, 0.3, 0.25)),
        ASKEW @ np.diag([0.03, 0.3, 0.31]) @ ASKEW.T,
        lambda n: -np.array([1.0, 0.09, 0.0625]) * n / np.sqrt(np.array([1.0, 0.09, 0.0625]) @ n**2),
    ),
}


def by_hand(moment, touch, w, n, t):
    """Angular velocity and normal in axes of the body, from Newton and Euler about the centre of mass: the contact at l
    does not move, so the centre has the velocity l x w, and N is what the plane pushes with.

    m (l x w)' = N - m g n,    I w' + w x I w = l x N,    n' = n x w
    """

    def rates(_, x):
        w, n = x[:3], x[3:]
        nd, h = np.cross(n, w), 1e-4
        l = touch(n)
        ld = (8 * (touch(n + h * nd) - touch(n - h * nd)) - touch(n + 2 * h * nd) + touch(n - 2 * h * nd)) / (12 * h)
        known = MASS * (np.cross(ld, w) + np.cross(w, np.cross(l, w)) + G * n)
        M = moment + MASS * (l @ l * np.eye(3) - np.outer(l, l))
        return np.concatenate([np.linalg.solve(M, np.cross(l, known) - np.cross(w, moment @ w)), nd])

    return solve_ivp(rates, (0, t), np.concatenate([w, n]), method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]


def on_the_floor(shape, rpy=(0.2, 0.1, 0.3), w=(0.2, 0.6, 1.5)):
    """A free body that rolls on a floor that leans, in a frame of its own."""
    given, moment, touch = SHAPES[shape]
    mb = sc.Multibody("roller")
    mb.root.add_node("floor", sc.Pose.from_rpy(0.3, -0.2, 0.5, (0.1, 0.2, -0.4)))
    mb.gravity = mb.frame("inertial/floor").offset.rotation @ [0, 0, -G]
    mb.add_body("body", None, sc.Free(), sc.Inertia(MASS, (0, 0, 0), moment))
    mb.add_rolling("rolls", "body", "inertial/floor", **given)
    floor, hinge = mb.frame("inertial/floor").offset, mb.loops["rolls"].hinge
    at = floor @ hinge.pose(np.concatenate([sc.Pose.from_rpy(*rpy).as_quaternion(), [0.1, 0.2]]))
    n = at.rotation.T @ floor.rotation[:, 2]
    mb.set_state(np.concatenate([at.as_quaternion(), at.translation]), np.concatenate([w, np.cross(touch(n), w)]))
    return mb, n


@pytest.mark.parametrize(("shape", "solver"), [("ball", "ta"), ("disc", "fa"), ("rattleback", "ce")])
def test_shapes_roll_as_newton_and_euler_say(shape, solver):
    mb, n = on_the_floor(shape)
    wanted = by_hand(SHAPES[shape][1], SHAPES[shape][2], mb.v[:3], n, 0.2)
    run = sc.sim.Propagator(mb, solver=solver, rtol=1e-9).advance_to(0.2)
    R = mb.pose("body").rotation
    near(np.concatenate([mb.v[:3], R.T @ mb.frame("inertial/floor").offset.rotation[:, 2]]), wanted, 2e-6)
    assert run.check().holds
    assert run.violation.max() < 1e-9
    assert np.abs(wanted[:3] - [0.2, 0.6, 1.5]).max() > 0.01


def test_the_tree_hinge_and_the_closure_are_one_motion():
    closed, _ = on_the_floor("rattleback", w=(0.4, 3.0, 5.0))
    hinge = closed.loops["rolls"].hinge
    tree = sc.Multibody("roller", gravity=closed.gravity)
    floor = closed.frame("inertial/floor").offset
    tree.add_body("body", None, hinge, closed.body("body").inertia, floor)
    tree.set_state(hinge.place(floor.inv @ closed.pose("body")), closed.v[:3])
    for mb in (closed, tree):
        sc.sim.Propagator(mb, rtol=1e-7).advance_to(0.05)
    near(tree.v, closed.v[:3], 1e-6)
    near(tree.pose("body").translation, closed.pose("body").translation, 1e-6)


# -- as records of the model -----------------------------------------------------------------------------------------


def records(mb):
    return {x.name: (x.a.full_name, x.b.full_name, x.hinge, x.active) for x in mb.loops}


def test_files_copies_and_joined_models_keep_them(tmp_path):
    mb, _ = on_the_floor("rattleback")
    mb.add_knife_edge("blade", mb.body("body").add_node("tip", sc.Pose(translation=(0.2, 0, 0))), across=(0.1, 1, 0))
    wanted = records(mb)
    assert records(mb.copy()) == wanted
    sc.save(mb, tmp_path / "roller.json")
    assert records(sc.load(tmp_path / "roller.json")) == wanted
    whole = sc.Multibody("whole")
    whole.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia.point(1.0, (0, 0, 0)))
    whole.add_model(mb, "cart", prefix="my_")
    assert {x.hinge for x in whole.loops} == {x.hinge for x in mb.loops}
    assert all(x.a.full_name.startswith("cart") for x in whole.loops)
    assert "blade" in str(sc.loops.report(mb))


def test_refusals():
    mb, _ = on_the_floor("ball")
    with pytest.raises(ModelError, match=r"rolling 'x' needs radius= \(a ball\), .* got radius and semi_axes"):
        mb.add_rolling("x", "body", radius=1.0, semi_axes=(1, 1, 1))
    with pytest.raises(ModelError, match=r"rolling 'x' needs radius= .* got none of them"):
        mb.add_rolling("x", "body")
    with pytest.raises(ModelError, match=r"rolling 'x' needs radius= .* got axis"):
        mb.add_rolling("x", "body", axis=(0, 1, 0))
    with pytest.raises(ModelError, match=r"semi_axes of a RollingEllipsoid must be positive, got \(1, 0, 1\)"):
        mb.add_rolling("x", "body", semi_axes=(1, 0, 1))
    assert len(mb.loops) == 1
    skate = sc.Multibody("skate")
    skate.add_body("skate", None, sc.KnifeEdge(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    with pytest.raises(ModelError, match=r"Use a Free hinge, and close it with this one: mb.close_loop"):
        sc.sim.Propagator(skate).advance_to(1.0)
    with pytest.raises(sc.errors.SimulationError, match=r"and loop 'rolls' of 'roller' rolls or skates; use 'radau'"):
        sc.sim.Propagator(mb, integrator="generalized_alpha", step=0.01).advance_to(0.1)


def test_a_callback_may_change_the_state_of_what_rolls():
    """A wheel that runs straight ahead is slowed down at every tick."""
    mb = sc.Multibody("wheel", gravity=(0, 0, -9.81))
    mb.add_body("wheel", None, sc.RollingDisc(0.5), sc.Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.1])))
    mb.set_state(mb.neutral(), [0.0, 2.0, 0.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)

    def slow(t, state):
        if t > 0.0:
            mb.v = 0.5 * np.array(state.v)

    p.every(0.1, slow)
    run = p.advance_to(0.3)
    speeds = [float(run.v[run.t <= t + 1e-9][-1, 1]) for t in (0.05, 0.1, 0.2, 0.3)]
    np.testing.assert_allclose(speeds, [2.0, 1.0, 0.5, 0.25], rtol=1e-12)
    np.testing.assert_allclose(mb.q[4:], [0.5 * (2.0 + 1.0 + 0.5) * 0.1, 0.0], atol=1e-12)


# -- compiled ----------------------------------------------------------------------------------------------------------


def skater():
    """A free body on a leaning slope with a knife edge under it, and an arm that swings."""
    mb = sc.Multibody("skater", gravity=(1.0, 0.5, -9.0))
    mb.add_body("body", None, sc.Free(), sc.Inertia(2.0, (0.05, 0.02, 0.3), np.diag([0.2, 0.3, 0.15])))
    mb.add_body("arm", "body", sc.Pin((1, 0, 0)), sc.Inertia(0.3, (0, 0, -0.2), 0.01 * np.eye(3)))
    mb.root.add_node("ice", sc.Pose.from_rpy(0.1, -0.05, 0.4, (0.1, 0.2, 0.3)))
    mb.close_loop("blade", "inertial/ice", "body", sc.KnifeEdge((0.2, 1.0, -0.3)))
    v = sc.loops.TreeAugmented(mb).project_velocity(mb.q, [0.3, 0.2, 1.0, 1.0, 0.4, -0.2, 0.5])
    mb.set_state(mb.q, v)
    return mb


ROLLERS = {
    "knife edge": skater,
    "sleigh": lambda: moving_sleigh(),
    **{x: lambda x=x: on_the_floor(x)[0] for x in SHAPES},
}


def moving_sleigh():
    mb = sleigh((0.5, 0.2, 0.0), com=(0.3, 0.1, 0))
    mb.set_state(mb.q, [1.0, 0.0, 0.8])
    return mb


@pytest.mark.parametrize("method", ["rk4", "dop853", "gauss4", "verlet", "euler_symplectic"])
@pytest.mark.parametrize("name", ROLLERS)
def test_compiled_steps_of_what_rolls_are_those_of_python(name, method, monkeypatch):
    def run(solver):
        step = None if method == "dop853" else 0.004
        return sc.sim.Propagator(ROLLERS[name](), solver, integrator=method, step=step, rtol=1e-8).advance_to(0.024)

    solvers = ("ta", "fa") if method == "rk4" else ("ta",)
    runs = [run(x) for x in solvers]
    assert all(is_compiled(x) for x in runs)
    assert all(x.violation.max() < 1e-12 for x in runs)
    in_python(monkeypatch)
    for compiled, solver in zip(runs, solvers, strict=True):
        agree(compiled, run(solver), 1e-11)


def test_energy_and_slip_of_a_compiled_rattleback():
    """Over many turns: it keeps its energy to the order of the method, stays on its plane and does not slip."""
    errors = []
    for step in (4e-3, 2e-3):
        mb, _ = on_the_floor("rattleback", w=(0.4, 3.0, 5.0))
        run = sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(2.0)
        assert is_compiled(run)
        assert run.violation.max() < 1e-12
        errors.append(np.abs(run.energy - run.energy[0]).max())
        slip = [np.abs(Constraints(mb, mb.state(run.q[i], run.v[i])).speed).max() for i in (50, -1)]
        assert max(slip) < 1e-12
    assert errors[1] < 0.12 * errors[0] < 1e-4


def test_a_run_of_what_rolls_goes_on_with_the_same_bits():
    mb = skater()
    whole = sc.sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(0.2)
    mb = skater()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.advance_to(0.1)
    state = p.state()
    other = sc.sim.Propagator(skater(), integrator="rk4", step=0.01)
    other.set_state(state)
    np.testing.assert_array_equal(other.advance_to(0.2).q[-1], whole.q[-1])


def test_constraint_embedding_of_what_rolls_is_left_to_python():
    p = sc.sim.Propagator(moving_sleigh(), "ce", integrator="rk4", step=0.01)
    assert "in Python, since 'blade' rolls, and constraint embedding of it is written in Python" in p.report()
    ta = sc.sim.Propagator(moving_sleigh(), "ta", integrator="rk4", step=0.01)
    np.testing.assert_allclose(p.advance_to(0.1).q[-1], ta.advance_to(0.1).q[-1], rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", ROLLERS)
def test_compiled_rows_are_those_of_the_hinge(name):
    """At poses off the plane and velocities that slip, too: rows, bias, speed, what is open, and coordinates."""
    mb, rng = ROLLERS[name](), np.random.default_rng(5)
    for _ in range(5):
        state = mb.state(mb.integrate(mb.q, 0.3 * rng.normal(size=mb.nv)), rng.normal(size=mb.nv))
        rows = Constraints(mb, state)
        assert rows.arrays is not None
        loop = mb.loops[0]
        one = loop_rows(mb, state, loop, rows.measure.loops[loop.name])
        pairs = [
            (rows.Q.T @ rows.Q, one.Q.T @ one.Q), (rows.arrays.gap[0], one.gap), (rows.theta[loop.name], one.theta),
            (rows.Q.T @ rows.arrays.local, one.Q.T @ one.gamma), (rows.Q.T @ rows.speed, one.Q.T @ one.speed),
        ]  # fmt: skip
        for x, y in pairs:
            near(x, y, 1e-12)


def test_contact_with_a_knife_edge_is_compiled(monkeypatch):
    """A sleigh that runs into a wall: impulses keep the blade from moving across."""

    def run():
        mb = moving_sleigh()
        mb["sleigh"].add_geometry(sc.Geometry("nose", "sphere", (0.1,), pose=sc.Pose(translation=(0.4, 0.1, 0))))
        wall = sc.Pose.from_rpy(0, -np.pi / 2, 0.3, (0.6, 0, 0))
        mb.root.add_geometry(sc.Geometry("wall", "plane", pose=wall))
        p = sc.sim.Propagator(mb, integrator="moreau", step=2e-3)
        p.add(sc.sim.Contact(tolerance=1e-12))
        return p.advance_to(0.2), mb

    compiled, mb = run()
    assert is_compiled(compiled)
    assert np.abs(compiled.forces["contact"]).max() > 0.0
    near(Constraints(mb, mb.state(compiled.q[-1], compiled.v[-1])).speed, 0.0, 1e-12)
    in_python(monkeypatch)
    other, _ = run()
    near(compiled.q, other.q, 1e-9)
    near(compiled.v, other.v, 1e-8)
