"""Derivatives of runs against differences of runs; the adjoint against the forward form."""

import numpy as np
import pytest
from tests.loops.cases import near

import soacraft as sc
from soacraft.errors import ModelError, StaleError, StateError
from soacraft.model.samples.random_models import random_inertia

STEPS, H = 3, 0.03
STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))


def tree():
    """A free body with an arm on a ball joint and a pin, springs and dampers."""
    mb, rng = sc.Multibody("tree"), np.random.default_rng(4)
    parent = None
    for i, hinge in enumerate([sc.Free(), sc.Spherical(), sc.Pin((0.3, 1, 0))]):
        body = mb.add_body(f"b{i}", parent, hinge, random_inertia(rng), sc.Pose(translation=(0.3, 0.1, 0.2 * i)))
        parent = body.name
    mb.body("b2").passive = sc.Passive(stiffness=3.0, damping=0.2)
    mb.set_state(mb.integrate(mb.q, 0.3 * rng.standard_normal(mb.nv)), rng.standard_normal(mb.nv))
    return mb


def closed():
    """A four-bar of unlike bars on a platform on a ball joint, in motion."""
    mb, rng = sc.Multibody("four-bar"), np.random.default_rng(5)
    z, bars = sc.Pin((0, 0, 1)), {"crank": 0.5, "coupler": 1.2, "rocker": 0.9}
    mb.add_body("platform", None, sc.Spherical(), random_inertia(rng))
    for name, parent, x in (("crank", "platform", 0.0), ("coupler", "crank", 0.5), ("rocker", "platform", 1.1)):
        bar = mb.add_body(name, parent, z, random_inertia(rng), sc.Pose(translation=(x, 0, 0)))
        bar.add_node("tip", sc.Pose(translation=(bars[name], 0, 0)))
    mb.close_loop("pin", "rocker/tip", "coupler/tip", z)
    s = sc.loops.ConstraintEmbedding(mb)
    q = s.assemble(np.concatenate([sc.Pose.from_rpy(0.2, 0.1, 0.3).as_quaternion(), [1.0, -0.6, 1.4]]))
    mb.set_state(q, s.project_velocity(q, 0.8 * rng.standard_normal(mb.nv)))
    return mb


def run_of(mb, method, solver, force=None, push=False):
    """With `push` functions act, and steps are taken in Python; else they are compiled."""
    p = sc.sim.Propagator(mb, solver=solver, integrator=method, step=H)
    for name, value in zip(mb.dof_names, np.zeros(mb.nv) if force is None else force, strict=True):
        p.control(name, float(value))
    if push:
        p.add(lambda t, state: np.sin(3 * t) - 0.3 * state.v * np.abs(state.v) - np.cos(state.v[0]))
    return p.advance_to(STEPS * H)


def last(mb, reference, run):
    """The end of a run as a tangent vector at that of another."""
    return np.concatenate([mb.difference(reference.q[-1], run.q[-1]), run.v[-1] - reference.v[-1]])


@pytest.mark.parametrize(
    ("make", "method", "solver", "push"),
    [(tree, "rk4", "tree", True), (tree, "verlet", "tree", True), (closed, "rk4", "ce", True),
     (closed, "euler_symplectic", "ce", True), (closed, "verlet", "ce", True), (closed, "rk4", "ta", True),
     (closed, "rk4", "ta", False), (closed, "rk4", "fa", False), (closed, "verlet", "fa", False),
     (closed, "euler_symplectic", "ta", False)],
)  # fmt: skip
def test_a_run_against_differences(make, method, solver, push):
    mb, rng = make(), np.random.default_rng(0)
    q, v, nv = mb.q.copy(), mb.v.copy(), mb.nv
    run = run_of(mb, method, solver, push=push)
    s = run.derivatives()
    near(s.q, run.q, 0.0)
    dx, dT = rng.standard_normal(2 * nv), rng.standard_normal(nv)
    if solver != "tree":
        dx = _admissible(mb, q, v, dx)

    def moved(size):
        """From a start a little on along dx, under a force a little more."""
        x = mb.integrate(q, size * dx[:nv]), v + size * dx[nv:]
        if solver != "tree":
            e = sc.loops.ConstraintEmbedding(mb)
            at = e.complete(x[0])
            x = at, e.expand(at, {name: x[1][mb.dof_names.index(name)] for name in e.independent(at)})
        mb.set_state(*x)
        return last(mb, run, run_of(mb, method, solver, size * dT, push=push))

    h = 2e-3
    wanted = sum(w * (moved(k * h) - moved(-k * h)) for k, w in STENCIL) / h
    found = s.forward(dx, dT)[-1]
    near(found, wanted, (2e-7 if push else 1e-11) * np.abs(wanted).max())

    g = rng.standard_normal((STEPS + 1, 2 * nv))
    in_state, in_force, _ = s.adjoint(g)
    assert in_state @ dx + (in_force @ dT).sum() == pytest.approx(float((g * s.forward(dx, dT)).sum()), rel=1e-10)


def _admissible(mb, q, v, dx):
    """A tangent vector of states on the closures: dq along them, dv so that velocities stay on them."""
    e = sc.loops.ConstraintEmbedding(mb)
    X = e.velocity_map(q)
    names = e.independent(q)
    i = [mb.dof_names.index(name) for name in names]
    nv, h = mb.nv, 1e-4
    dq = X @ dx[:nv][i]

    def velocity(size):
        at = e.complete(mb.integrate(q, size * dq))
        return e.expand(at, dict(zip(names, v[i], strict=True)))

    dv = sum(w * (velocity(k * h) - velocity(-k * h)) for k, w in STENCIL) / h
    return np.concatenate([dq, dv + X @ dx[nv:][i]])


@pytest.mark.parametrize(("make", "solver"), [(tree, "tree"), (closed, "ce"), (closed, "ta")])
def test_a_run_in_parameters(make, solver):
    mb = make()
    q, v = mb.q.copy(), mb.v.copy()
    body = mb.bodies[1]
    names = [f"{body.name}.mass", f"{body.name}.com_x", f"{mb.bodies[-1].hinge_name}.damping"]
    force = 0.1 * np.ones((mb.nv, 1))

    def started(x):
        x.set_state(q, v)
        p = sc.sim.Propagator(x, solver=solver, integrator="rk4", step=H)
        for name in x.dof_names:
            p.control(name, float(force[0, 0]))
        return p.advance_to(STEPS * H)

    run = started(mb)
    s = run.derivatives(names)
    h = 1e-3
    for k, name in enumerate(names):

        def moved(size, name=name):
            other = mb.copy()
            mass, com, moment = (other.body(body.name).inertia.mass, np.array(other.body(body.name).inertia.com),
                                 other.body(body.name).inertia.moment)  # fmt: skip
            if name.endswith("damping"):
                old = other.bodies[-1].passive
                other.bodies[-1].passive = sc.Passive(old.stiffness, old.damping + size, rest=old.rest)
            elif name.endswith("mass"):
                other.body(body.name).inertia = sc.Inertia(mass + size, com, moment)
            else:
                other.body(body.name).inertia = sc.Inertia(mass, com + np.array([size, 0, 0]), moment)
            return last(mb, run, started(other))

        wanted = sum(w * (moved(j * h) - moved(-j * h)) for j, w in STENCIL) / h
        near(s.forward(parameters=np.eye(len(names))[k])[-1], wanted, 1e-7 * np.abs(wanted).max())


def test_refusals(tmp_path):
    mb = sc.load("cart_pole")
    p = sc.sim.Propagator(mb)
    with pytest.raises(StateError, match=r"known for 'rk4', 'euler_symplectic', 'verlet', and this one is by 'dop853'"):
        p.advance_to(0.1).derivatives()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.event("half", lambda t, state: t - 0.05)
    with pytest.raises(StateError, match=r"this one has events or jumps of the state. Take the derivatives between"):
        p.advance_to(0.1).derivatives()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(sc.sim.HingeFriction(mb.dof_names[0], 1.0))
    with pytest.raises(StateError, match=r"not known of 'friction of .*', which switches"):
        p.advance_to(0.02).derivatives()
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.add(sc.sim.Drag("pole", linear=0.1))
    run = p.advance_to(0.02)
    assert run.derivatives().A.shape == (2, 4, 4)
    with pytest.raises(StateError, match=r"in parameters are not known of 'drag at pole', which may depend on them"):
        run.derivatives("pole.mass")
    with pytest.raises(ModelError, match=r"derivatives: parameter 'pole.weight'"):
        run.derivatives("pole.weight")
    mb.body("pole").inertia = sc.Inertia.point(2.0, (0, 0, 1))
    with pytest.raises(StaleError, match=r"parameters of .* changed after this run"):
        run.derivatives()
    chain = closed()
    p = sc.sim.Propagator(chain, integrator="rk4", step=0.01, stabilization="baumgarte", time_constant=0.05)
    with pytest.raises(StateError, match=r"not known with stabilization='baumgarte'; leave that out"):
        p.advance_to(0.02).derivatives()
    run = sc.sim.Propagator(chain, solver="ce", integrator="rk4", step=0.01).advance_to(0.02)
    with pytest.raises(StateError, match=r"are not known on a closed chain, whose closures it moves; take mass, com"):
        run.derivatives(f"{chain.bodies[0].name}.inboard_x")
    ball = sc.Multibody("ball")
    ball.add_body("ball", None, sc.RollingBall(0.5), sc.Inertia.sphere(1.0, 0.5))
    with pytest.raises(ModelError, match=r"'ball' rolls or skates"):
        sc.sim.Propagator(ball, integrator="rk4", step=0.01).advance_to(0.02).derivatives()


def test_what_acts_must_be_what_acted():
    mb = sc.load("cart_pole")
    name, node = mb.dof_names[0], mb.bodies[-1]
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    p.control(name, 1.0)
    mb.set_force(node, [0, 0, 0, 1.0, 0, 0])
    run = p.advance_to(0.05)
    before = run.derivatives().A
    changes = (lambda: mb.set_force(node, [0, 0, 0, 2.0, 0, 0]), mb.clear_forces)
    for change in changes:
        change()
        with pytest.raises(StaleError, match=r"a control or a force of mb.set_force on .* changed in this run"):
            run.derivatives()
    mb.set_force(node, [0, 0, 0, 1.0, 0, 0])
    near(run.derivatives().A, before, 0.0)
    p.control(name, lambda t, state: 50.0 * state.q[1])
    with pytest.raises(StaleError, match=r"a control or a force"):
        run.derivatives()
    p.every(0.01, lambda t, state: p.control(name, t))
    with pytest.raises(StaleError, match=r"a control or a force"):
        p.advance_to(0.1).derivatives()
