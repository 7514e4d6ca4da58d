"""Derivatives of rollouts against differences of rollouts; the adjoint against the forward form."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, StateError

STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
HINGES = [sc.Free(), sc.Spherical(), sc.Pin((0, 1, 0)), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Planar()]


def model(seed):
    mb = sc.random_tree(4, seed=seed, hinges=HINGES, bases=1)
    mb.bodies[1].armature = 0.3
    mb.bodies[2].passive = sc.Passive(stiffness=2.0, damping=0.4)
    mb.root.add_node("wall", sc.Pose(translation=[0.3, 2.0, 1.0]))
    mb.add_spring("s", "inertial/wall", mb.bodies[3], 5.0, 0.7, 0.3)
    mb.add_bushing("b", mb.bodies[1], mb.bodies[3], [1, 2, 3, 4, 5, 6], 0.2)
    return mb


def propagator(mb, step=0.02):
    return sc.sim.Propagator(mb, integrator="rk4", step=step)


def differences(mb, run, h):
    """d[q; v] of the last state along a direction: `run(t)` gives a rollout."""
    Q, total = run(0.0)[0], 0.0
    for i, weight in STENCIL:
        for sign in (1.0, -1.0):
            q, v = run(sign * i * h)
            total = total + sign * weight * np.concatenate([mb.difference(Q[-1], q[-1]), v[-1]])
    return total / h


@pytest.mark.parametrize("seed", range(4))
def test_against_differences(seed):
    mb, rng, steps = model(seed), np.random.default_rng(seed), 6
    p, (q, v) = propagator(mb), mb.random_state(rng)
    T = rng.standard_normal((steps, mb.nv))
    names = [f"{mb.bodies[-1].name}.mass", f"{mb.bodies[-1].name}.com"]
    s = p.rollout_derivatives(q, v, T, steps, names)
    assert np.array_equal(s.q, p.rollout(q, v, T, steps)[0])
    dq, dv, dT = rng.standard_normal(mb.nv), rng.standard_normal(mb.nv), rng.standard_normal((steps, mb.nv))
    by_state = differences(mb, lambda t: p.rollout(mb.integrate(q, t * dq), v + t * dv, T, steps), 1e-3)
    ours = s.forward(np.concatenate([dq, dv]))
    assert np.abs(ours[-1] - by_state).max() < 1e-9 * np.abs(by_state).max()
    by_force = differences(mb, lambda t: p.rollout(q, v, T + t * dT, steps), 1e-2)
    assert np.abs(s.forward(force=dT)[-1] - by_force).max() < 1e-9 * np.abs(by_force).max()
    dp, last = 0.1 * rng.standard_normal(4), mb.bodies[-1].inertia
    values = np.array([last.mass, *last.com])

    def run(t):
        other = mb.copy()
        sc.analysis.set_parameters(other, names, values + t * dp)
        return propagator(other).rollout(q, v, T, steps)

    by_parameters = differences(mb, run, 1e-3)
    assert np.abs(s.forward(parameters=dp)[-1] - by_parameters).max() < 1e-8 * np.abs(by_parameters).max()


def test_the_adjoint_is_the_transpose_in_batches():
    mb, rng, steps = model(1), np.random.default_rng(1), 5
    q, v = mb.random_state(rng)
    Q, V = np.stack([q, mb.integrate(q, 0.1 * v)]), np.stack([v, -v])
    s = propagator(mb).rollout_derivatives(Q, V, steps=steps, parameters=[f"{mb.bodies[0].name}.mass"])
    assert s.A.shape == (2, steps, 2 * mb.nv, 2 * mb.nv)
    g = rng.standard_normal((2, steps + 1, 2 * mb.nv))
    dx, dT = rng.standard_normal((2, 2 * mb.nv)), rng.standard_normal((2, steps, mb.nv))
    in_state, in_force, in_mass = s.adjoint(g)
    along = np.sum(in_state * dx) + np.sum(in_force * dT) + np.sum(in_mass * 0.7)
    assert np.sum(g * s.forward(dx, dT, [0.7])) == pytest.approx(along, rel=1e-11)
    one = propagator(mb).rollout_derivatives(Q[1], V[1], steps=steps)
    assert np.allclose(one.A, s.A[1], rtol=1e-10, atol=1e-12)


def test_an_oscillator_has_a_closed_form():
    """Of x'' = -4 x: the stability function of the method, I + F + F^2/2 + F^3/6 + F^4/24."""
    mb = sc.Multibody("mass", gravity=(0, 0, 0))
    mb.add_body("m", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0))
    mb["m"].passive = sc.Passive(stiffness=8.0)
    s = propagator(mb, 0.1).rollout_derivatives([0.3], [0.1], steps=1)
    F = 0.1 * np.array([[0.0, 1.0], [-4.0, 0.0]])
    expected = np.eye(2) + F + F @ F / 2 + F @ F @ F / 6 + F @ F @ F @ F / 24
    np.testing.assert_allclose(s.A[0], expected, rtol=1e-14, atol=1e-15)


def test_refusals():
    mb = sc.load("cart_pole")
    with pytest.raises(StateError, match="rollout is by integrator='rk4'"):
        sc.sim.Propagator(mb).rollout_derivatives([0, 0], [0, 0])
    s = propagator(mb).rollout_derivatives([0, 0.1], [0, 0], steps=2)
    with pytest.raises(StateError, match="gradient of a sensitivity"):
        s.adjoint(np.full((3, 4), np.nan))
    for bad in (lambda: s.forward(dx=[1, 0]), lambda: s.forward(force=[1, 2, 3]), lambda: s.forward(parameters=[1.0])):
        with pytest.raises(StateError, match="of a sensitivity"):
            bad()
    with pytest.raises(StateError, match=r"gradient of a sensitivity has shape \(3, 4\)"):
        s.adjoint(np.ones((5, 4)))
    assert propagator(mb).rollout_derivatives([0, 0.1], [0, 0], steps=0).A.shape == (0, 4, 4)
    assert propagator(mb).rollout_derivatives([0, 0.1], [0, 0], parameters="pole.mass").C.shape == (1, 4, 1)
    mb.bodies[-1].gravity_compensation = 0.5
    with pytest.raises(ModelError, match=r"'pole' has gravity compensation; use p\.advance_to"):
        propagator(mb).rollout_derivatives([0, 0.1], [0, 0])
