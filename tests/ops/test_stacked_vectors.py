"""The stacked vectors of the papers against the recursions, the model's own kinematics, and each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import AXES, SKO, keep, models, rigid_trees

import soacraft as sc
from soacraft.recursions import forward_dynamics, newton_euler


def close(x, y, what=""):
    y = np.asarray(y)
    np.testing.assert_allclose(
        np.asarray(x), y, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(y).max(initial=0.0)), err_msg=what
    )


def columns(x, sizes):
    cuts = np.cumsum(sizes)[:-1]
    return [part[:, None] for part in np.split(np.asarray(x), cuts)]


def stack(y):
    return np.concatenate([np.zeros(0), *(y[k][:, 0] for k in sorted(y))])


@pytest.mark.parametrize("kind", SKO)
@tries(12)
@given(data=st.data(), seed=st.integers(0, 99))
def test_inverse_dynamics_is_newton_euler(kind, data, seed):
    model = data.draw(models(kind))
    keep()
    v, vdot = np.random.default_rng(seed).standard_normal((2, sum(model.nvs)))
    s = sc.operators(model, v=v, vdot=vdot)
    found = newton_euler(model, columns(vdot, model.nvs))
    close(s.alpha, stack(found.alpha))
    close(s.f, stack(found.f))
    close(s.T, stack(found.T))
    close(s.v, v)
    close(s.vdot, vdot)
    close(s.V, s.phi.T * (s.H.T * v))
    close(s.V_plus, s.E_phi.T * s.V)
    close(s.Delta_V, s.H.T * v)
    close(s.alpha_plus + s.H.T * vdot + s.a, s.alpha)
    close(s.E_phi * s.z_plus + s.P * s.a + s.b, s.z)
    close(s.f, s.P_plus * s.alpha_plus + s.z_plus)


@pytest.mark.parametrize("kind", SKO)
@tries(12)
@given(data=st.data(), seed=st.integers(0, 99))
def test_with_a_force_everything_answers_to_it(kind, data, seed):
    model = data.draw(models(kind))
    keep()
    T = np.random.default_rng(seed).standard_normal(sum(model.nvs))
    s = sc.operators(model, force=T, vdot=np.ones(len(T)))
    found = forward_dynamics(model, columns(T, model.nvs))
    for name in ("vdot", "alpha", "z", "eps", "nu"):
        close(getattr(s, name), stack(getattr(found, name)), name)
    close(s.T, T)
    close(s.H * s.f, T)


@tries(15)
@given(mb=rigid_trees())
def test_generalized_vectors_are_the_same_in_all_axes(mb):
    """Not eps and nu: they hold alpha+, the rate of components in those axes."""
    keep()
    body, inertial, origin = (sc.operators(mb, axes=axes) for axes in AXES)
    pushed = [sc.operators(mb, axes=axes, force=np.linspace(-1, 1, mb.nv)) for axes in AXES]
    for other in (inertial, origin):
        close(other.T, body.T)
        close(other.C, body.C)
    for other in pushed[1:]:
        close(other.vdot, pushed[0].vdot)


@pytest.mark.parametrize("axes", AXES)
def test_velocities_are_those_of_the_model(axes):
    mb = sc.random_tree(6, seed=3)
    s = sc.operators(mb, axes=axes)
    for k, V in enumerate(mb.body_velocities(axes=axes)):
        close(s.V[k], V)


def test_C_is_the_force_at_zero_acceleration():
    mb = sc.random_tree(6, seed=3)
    mb.vdot = np.zeros(mb.nv)
    s = sc.operators(mb)
    close(s.C, s.T)
    mb.vdot = np.ones(mb.nv)
    close((s.H * s.phi * s.M * s.phi.T * s.H.T) * s.vdot + s.C, s.T)


def test_gravity_enters_b_and_not_a():
    """At rest a is zero and alpha is the true acceleration."""
    mb = sc.serial_chain(3)
    s = sc.operators(mb)
    assert not np.asarray(s.a).any()
    assert not np.asarray(s.alpha).any()
    assert np.asarray(s.b).any()
    weight = sum(body.inertia.mass for body in mb.bodies) * 9.80665
    np.testing.assert_allclose(s.f["link1"][3:], [0, 0, weight])


def test_vectors_go_back_into_operators():
    """Listing 14: the forward dynamics written out, with vectors of the namespace."""
    mb = sc.random_tree(6, seed=9)
    T = np.random.default_rng(0).standard_normal(mb.nv)
    s = sc.operators(mb, force=T)
    z = s.psi * (s.K * T + s.P * s.a + s.b)
    eps = T - s.H * z
    nu = s.D.inv * eps
    alpha = s.psi.T * (s.H.T * nu + s.a)
    vdot = nu - s.G.T * (s.E_phi.T * alpha)
    close(z, s.z)
    close(eps, s.eps)
    close(nu, s.nu)
    close(alpha, s.alpha)
    close(vdot, s.vdot)
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    close(mass_matrix * vdot + s.C, T)


def test_names_give_fresh_values():
    mb = sc.random_tree(3, seed=9)
    s = sc.operators(mb)
    before = s.V
    mb.v = 3 * mb.v
    close(s.V, 3 * np.asarray(before))
    close(s["V"], s.V)


@pytest.mark.parametrize("numbering", [None, "tip"])
def test_coordinates_by_body(numbering):
    mb = sc.load("hinges")
    s = sc.operators(mb, numbering=numbering)
    for body in mb.bodies:
        np.testing.assert_array_equal(s.q[body], mb.q[mb.q_slice(body)])
    np.testing.assert_array_equal(sc.operators(mb).q, mb.q)


def test_coordinates_of_compound_bodies_are_those_of_their_members():
    mb = sc.load("five_bar")
    solver = sc.loops.ConstraintEmbedding(mb)
    mb.q = solver.assemble(mb.q)
    s = sc.operators(solver)
    assert sorted(np.asarray(s.q)) == sorted(mb.q)
