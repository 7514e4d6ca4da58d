"""The named algorithms on SKO models of functions, against dense matrices and against rigid trees."""

import numpy as np
import pytest
from tests.strategies import as_functions, dense

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.dynamics.sko import FUNCTIONS
from soacraft.errors import ModelError, StateError


@pytest.fixture(scope="module")
def m():
    return as_functions(sc.random_sko(5, seed=4), 2)


def test_against_dense_matrices(m):
    q, v, vdot = m.q, m.v, m.vdot
    at = m.at(q, v)
    d = dense(at)
    X, C = d.mass_matrix, d.H @ d.A @ (d.M @ d.A.T @ d.a + d.b)
    T = X @ vdot + C
    x = np.linspace(0, 1, m.nv)

    def close(found, wanted):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())

    close(dynamics.mass_matrix(m, q), X)
    close(dynamics.mass_matrix_inverse(m, q) @ X, np.eye(m.nv))
    close(dynamics.mass_matrix_multiply(m, q, x), X @ x)
    close(X @ dynamics.mass_matrix_solve(m, q, x), x)
    close(dynamics.log_det_mass_matrix(m, q), np.linalg.slogdet(X)[1])
    close(dynamics.inverse_dynamics(m, q, v, vdot), T)
    close(dynamics.forward_dynamics(m, q, v, T), vdot)
    close(dynamics.bias_force(m, q, v), C)
    close(dynamics.velocities(m, q, v), d.A.T @ d.H.T @ v)
    close(dynamics.accelerations(m, q, v, vdot), d.A.T @ (d.H.T @ vdot + d.a))
    close(dynamics.interbody_forces(m, q, v, vdot), d.A @ (d.M @ d.A.T @ (d.H.T @ vdot + d.a) + d.b))
    close(dynamics.kinetic_energy(m, q, v), 0.5 * v @ X @ v)
    B = np.eye(sum(m.dims))[:, d.body(0)]
    J = B.T @ d.A.T @ d.H.T
    close(dynamics.jacobian(m, q, m.names[0]), J)
    close(dynamics.jacobian_dot_v(m, q, v, m.names[0]), B.T @ d.A.T @ d.a)
    close(dynamics.operational_space_compliance(m, q, [m.names[0]]), J @ np.linalg.solve(X, J.T))
    found, force = dynamics.mixed_dynamics(m, q, v, T, vdot, [0, 2])
    close(found, vdot)
    close(force, T)


def test_batches_and_out(m):
    q = np.stack([m.q, m.q + 1.0])
    v = np.stack([m.v, -m.v])
    T = np.linspace(-1, 1, m.nv)
    many = dynamics.forward_dynamics(m, q, v, T)
    np.testing.assert_allclose(many[1], dynamics.forward_dynamics(m, q[1], v[1], T), rtol=1e-10)
    np.testing.assert_allclose(dynamics.mass_matrix_multiply(m, q, T)[1], dynamics.mass_matrix(m, q[1]) @ T, rtol=1e-10)
    x = np.stack([T, 2 * T, 3 * T])
    np.testing.assert_allclose(dynamics.mass_matrix_multiply(m, q[0], x)[2], dynamics.mass_matrix(m, q[0]) @ x[2])
    out = np.empty(m.nv)
    assert dynamics.bias_force(m, q[0], v[0], out=out) is out
    with pytest.raises(StateError, match=r"out of bias_force must be a float64 array of shape"):
        dynamics.bias_force(m, q[0], v[0], out=np.empty(m.nv + 1))


def test_analyses_against_differences(m):
    h = 1e-4

    def slope(f):
        stencil = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
        return np.stack([sum(w / h * f(m.q + x * h * e) for x, w in stencil) for e in np.eye(m.nv)], axis=-1)

    d = slope(lambda q: dynamics.mass_matrix(m, q))
    np.testing.assert_allclose(analysis.mass_matrix_gradient(m, m.q), d, atol=1e-7 * np.abs(d).max())
    gradient = slope(lambda q: dynamics.log_det_mass_matrix(m, q))
    np.testing.assert_allclose(analysis.log_det_gradient(m, m.q), gradient, atol=1e-7 * np.abs(gradient).max())
    np.testing.assert_allclose(analysis.fixman_force(m, m.q, kT=2.0), -gradient, atol=1e-7 * np.abs(gradient).max())
    assert analysis.fixman_potential(m, m.q, kT=2.0) == pytest.approx(dynamics.log_det_mass_matrix(m, m.q))
    symbols = 0.5 * (d + np.swapaxes(d, -1, -2) - np.moveaxis(d, -1, -3))
    np.testing.assert_allclose(analysis.christoffel(m, m.q), symbols, atol=1e-7 * np.abs(d).max())


def test_a_rigid_tree_written_as_functions_is_the_tree():
    """Blocks, a and b of a tree in body axes at each q: every named function gives what that of the tree gives."""
    mb = sc.random_tree(5, seed=3, hinges=[sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0)), sc.Helical((0, 1, 0), 0.3)])
    q, v = mb.random_state(2)
    tree, bodies = mb.topology, range(len(mb.bodies))

    def blocks(name):
        def of(q, v=None):
            at = mb.sko(mb.state(q, np.zeros(mb.nv) if v is None else v))
            return [getattr(at, name)(k) for k in bodies]

        return of

    given = {name: blocks(name) for name in "HMb"}
    m = sc.SKOModel(tree.parents, lambda q: mb.sko(mb.state(q)).edges, **given, names=tree.names, q=q, v=v)
    T, vdot = np.linspace(-1, 1, mb.nv), np.linspace(1, 2, mb.nv)
    for name, args in {
        "mass_matrix": (q,), "forward_dynamics": (q, v, T), "inverse_dynamics": (q, v, vdot), "bias_force": (q, v),
        "log_det_mass_matrix": (q,), "kinetic_energy": (q, v),
    }.items():  # fmt: skip
        f = getattr(dynamics, name)
        np.testing.assert_allclose(f(m, *args), f(mb, *args), rtol=1e-8, atol=1e-8, err_msg=name)
    for name in ("mass_matrix_gradient", "log_det_gradient", "christoffel"):
        f = getattr(analysis, name)
        np.testing.assert_allclose(f(m, q), f(mb, q), rtol=1e-7, atol=1e-8, err_msg=name)


def test_what_has_no_meaning_is_refused(m):
    with pytest.raises(ModelError, match=r"^poses is not for SKO models, whose nodes have no frames.*forward_dynamics"):
        dynamics.poses(m, m.q)
    with pytest.raises(ModelError, match=r"diagonalize takes a Multibody .* An SKO model has blocks only"):
        analysis.diagonalize(m, m.q, m.v)
    with pytest.raises(ModelError, match=r"mass_matrix_gradient needs coordinates: .* is of constant blocks"):
        analysis.mass_matrix_gradient(sc.random_sko(3), None)
    with pytest.raises(ModelError, match=r"forward_dynamics of an SKO model: .*missing"):
        dynamics.forward_dynamics(m, m.q)
    with pytest.raises(StateError, match="prescribed must be a mask of"):
        dynamics.mixed_dynamics(m, m.q, m.v, m.v, m.v, ["elbow"])
    known = {name for module in (dynamics, analysis) for name in module.__all__}
    assert set(FUNCTIONS) <= known


def test_batches_of_what_does_not_matter_and_arguments_are_read():
    sko = sc.random_sko(4, seed=1)
    v = np.zeros((3, sum(sko.nvs)))
    assert dynamics.bias_force(sko, None, v).shape == dynamics.inverse_dynamics(sko, None, v, v[0]).shape == v.shape
    with pytest.raises(StateError, match="threads of bias_force must be a whole number"):
        dynamics.bias_force(sko, None, v[0], threads="x")
    with pytest.raises(StateError, match="ignore_loops of bias_force must be True or False"):
        dynamics.bias_force(sko, None, v[0], ignore_loops=[1])
    out = np.zeros(sum(sko.nvs))
    out.flags.writeable = False
    with pytest.raises(StateError, match="to write to, got"):
        dynamics.bias_force(sko, None, v[0], out=out)
    with pytest.raises(StateError, match="takes one state, not a batch"):
        dynamics.mixed_dynamics(sko, None, v, v[0], v[0], [])


def test_constant_models_too():
    sko = sc.random_sko(4, seed=1)
    T = np.ones(sum(sko.nvs))
    vdot = dynamics.forward_dynamics(sko, None, 0 * T, T)
    np.testing.assert_allclose(dynamics.inverse_dynamics(sko, None, 0 * T, vdot), T)
