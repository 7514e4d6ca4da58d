"""Innovations coordinates: the factor, the equations of motion along a motion, and what the Coriolis terms obey."""

import numpy as np
import pytest
import scipy.linalg
from tests.analysis.cases import GRAPHS, STENCIL, along
from tests.dynamics.calls import GRAVITY, close, tree, wrenches

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import SingularError, StateError

every_graph = pytest.mark.parametrize("name", GRAPHS)


def state_of(g, seed=1):
    q, v = g.random_state(seed)
    return q, v, np.random.default_rng(seed).standard_normal(g.nv)


def dense(g, blocks):
    """Blocks by body as one matrix."""
    return scipy.linalg.block_diag(*(blocks[body.name] for body in g.bodies if body.hinge.nv))


@every_graph
def test_the_factor(name):
    g = GRAPHS[name]()
    q, v, T = state_of(g)
    d = analysis.diagonalize(g, q, v)
    m, D = d.factor, dense(g, d.D)
    L = m @ np.linalg.inv(scipy.linalg.sqrtm(D))
    close(m @ m.T, dynamics.mass_matrix(g, q), 1e-13)
    close(np.linalg.slogdet(D)[1], dynamics.log_det_mass_matrix(g, q), 1e-12)
    assert d.nu.shape == d.eta.shape == d.C_nu.shape == d.C_eta.shape == (g.nv,)
    close(d.nu, m.T @ v, 1e-13)
    close(d.eta, L.T @ v, 1e-12)
    energies = dynamics.mass_matrix_multiply(g, q, v) @ v, d.nu @ d.nu, d.eta @ D @ d.eta
    np.testing.assert_allclose(energies, energies[0], rtol=1e-12)
    close(d.nu_of(T), m.T @ T, 1e-13)
    close(d.nu_of(T, normalized=False), L.T @ T, 1e-12)
    close(d.eps_of(T), np.linalg.solve(m, T), 1e-11)
    close(d.eps_of(T, normalized=False), np.linalg.solve(L, T), 1e-11)
    close(d.force_of(T), m @ T, 1e-13)
    close(d.force_of(T, normalized=False), L @ T, 1e-12)
    close(d.v_of(T), np.linalg.solve(m.T, T), 1e-11)
    close(d.v_of(T, normalized=False), np.linalg.solve(L.T, T), 1e-11)


def test_the_factor_by_operators():
    """Of a model whose D are not all numbers, the operators' (I + H phi K) D^1/2."""
    g = GRAPHS["armature"]()
    s = sc.operators(g)
    L = np.asarray(s.I + s.H * s.phi * s.K)
    close(analysis.diagonalize(g, g.q, g.v).factor, L @ scipy.linalg.sqrtm(np.asarray(s.D)), 1e-12)


@every_graph
def test_along_a_motion(name):
    """nudot and D etadot of a motion under a force, by differences."""
    g = GRAPHS[name]()
    q, v, T = state_of(g, 2)
    f_ext = wrenches(g, np.random.default_rng(1))
    vdot = dynamics.forward_dynamics(g, q, v, T, f_ext)
    d = analysis.diagonalize(g, q, v, f_ext)
    step = 1e-3
    t = step * STENCIL[:, :1]
    seen = analysis.diagonalize(g, g.integrate(q, t * v + 0.5 * t**2 * vdot), v + t * vdot)
    nu_dot, eta_dot = (STENCIL[:, 1] @ x / step for x in (seen.nu, seen.eta))
    close(nu_dot + d.C_nu + d.load_nu, d.eps_of(T), 1e-8)
    close(dense(g, d.D) @ eta_dot + d.C_eta + d.load_eta, d.eps_of(T, normalized=False), 1e-8)
    for body, rate in d.D_rate.items():
        close(rate, np.tensordot(STENCIL[:, 1], seen.D[body], 1) / step, 1e-8)


@every_graph
def test_the_coriolis_terms(name):
    """m^-1 C - mdot* v, which does no work."""
    g = GRAPHS[name](gravity=(0, 0, 0))
    q, v, _ = state_of(g, 3)
    d = analysis.diagonalize(g, q, v)
    C = analysis.coriolis_matrix(g, q, v) @ v
    m_dot = along(lambda t: analysis.diagonalize(g, g.integrate(q, t * v), v).factor, 1e-3)
    close(d.C_nu, np.linalg.solve(d.factor, C) - m_dot.T @ v, 1e-9)
    scale = np.abs(d.nu) @ np.abs(d.C_nu)
    assert abs(d.nu @ d.C_nu) < 1e-12 * scale
    assert abs(d.eta @ d.C_eta - 0.5 * d.eta @ dense(g, d.D_rate) @ d.eta) < 1e-12 * scale
    if not isinstance(g, sc.SubGraph) or not g.anchor_moves:
        np.testing.assert_allclose(d.load_nu, 0.0, atol=1e-11 * np.abs(d.C_nu).max())


def test_gravity_is_a_load():
    g, heavy = (tree(1, gravity=gravity) for gravity in ((0, 0, 0), GRAVITY))
    q, v, _ = state_of(g)
    d, h = (analysis.diagonalize(x, q, v) for x in (g, heavy))
    close(h.C_nu, d.C_nu, 1e-14)
    close(h.C_eta, d.C_eta, 1e-14)
    close(h.load_nu, h.eps_of(dynamics.gravity_force(heavy, q)), 1e-11)
    close(h.load_eta, h.eps_of(dynamics.gravity_force(heavy, q), normalized=False), 1e-11)


def test_stored_forces_act_too():
    g = tree(2, n=6)
    q, v, _ = state_of(g)
    wrench = sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial")
    given = analysis.diagonalize(g, q, v, {g.bodies[3]: wrench})
    g.set_force(g.bodies[3], wrench)
    close(analysis.diagonalize(g, q, v).load_nu, given.load_nu, 1e-13)


@every_graph
def test_batches(name):
    g = GRAPHS[name]()
    rng = np.random.default_rng(0)
    q = np.array([g.random_state(rng)[0] for _ in range(6)]).reshape(2, 3, g.nq)
    v = rng.standard_normal((3, g.nv))
    d = analysis.diagonalize(g, q, v)
    assert d.factor.shape == (2, 3, g.nv, g.nv)
    one = analysis.diagonalize(g, q[1, 2], v[2])
    for field in ("nu", "eta", "C_nu", "C_eta", "load_nu", "load_eta", "factor"):
        close(getattr(d, field)[1, 2], getattr(one, field), 1e-12)
    for body in d.D:
        close(d.D[body][1, 2], one.D[body], 1e-12)
        close(d.D_rate[body][1, 2], one.D_rate[body], 1e-12)
    close(d.nu_of(v), d.nu, 1e-13)
    close(d.v_of(d.nu), np.broadcast_to(v, (2, 3, g.nv)), 1e-12)
    many = rng.standard_normal((4, 2, 3, g.nv))
    close(d.eps_of(many)[2, 1, 2], one.eps_of(many[2, 1, 2]), 1e-12)
    assert repr(d) == f"Diagonalized: {g.nv} dofs in {len(d.D)} hinges, batch (2, 3)"


def test_a_model_without_dofs():
    d = analysis.diagonalize(sc.random_tree(2, 1, [sc.Weld()]), [], [])
    assert d.nu.shape == (0,)
    assert d.factor.shape == (0, 0)
    assert repr(d) == "Diagonalized: 0 dofs in 0 hinges"


def test_it_stays_right_when_the_model_changes():
    g = tree(1, n=4)
    q, v, T = state_of(g)
    d = analysis.diagonalize(g, q, v)
    before = d.eps_of(T)
    g.add_body("more", g.bodies[-1], sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    np.testing.assert_array_equal(d.eps_of(T), before)


def test_refusals():
    g = sc.load("double_pendulum")
    d = analysis.diagonalize(g, np.zeros((3, 2)), [1.0, 2.0])
    with pytest.raises(StateError, match=r"^force of 'double_pendulum' must have shape \(\.\.\., 2\), got"):
        d.eps_of([1.0, 2.0, 3.0])
    with pytest.raises(StateError, match=r"^eps of 'double_pendulum' must be finite, got nan at index 1"):
        d.force_of([1.0, np.nan])
    with pytest.raises(StateError) as error:
        d.nu_of(np.zeros((2, 2)))
    assert str(error.value) == "the leading (batch) axes do not agree: v (2, 2), diagonalized at (3, 2)."
    with pytest.raises(StateError, match=r"the result of .* for 'double_pendulum' is not finite"):
        analysis.diagonalize(g, [0.1, 0.2], [1e200, 1.0])
    light = sc.Multibody("light")
    light.add_body("rod", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 1.0), np.zeros((3, 3))))
    with pytest.raises(SingularError, match="the hinge of 'rod' has no inertia to move"):
        analysis.diagonalize(light, [0.3], [0.0])
