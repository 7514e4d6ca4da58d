"""Each function against the expression of the papers, on trees with every hinge and on sub-graphs."""

import numpy as np
import pytest
from tests.dynamics.calls import arguments, close, nodes_of, subtree, tree

import soacraft as sc
from soacraft import dynamics as dyn

I = sc.I
GRAPHS = {
    "tree": lambda: tree(1),
    "one base": lambda: tree(2, bases=1),
    "chain": lambda: tree(3, branching=0.0, bases=1),
    "sub-graph": lambda: subtree(tree(4, bases=1)),
    "sub-graph on a moving anchor": lambda: subtree(tree(5, bases=1), anchor="moving"),
}


@pytest.fixture(params=GRAPHS, scope="module")
def case(request):
    """A graph, arguments, and its operators at them, in inertial axes; a force is stored with the state."""
    g = GRAPHS[request.param]()
    mb = getattr(g, "multibody", g)
    mb.set_force(g.bodies[2], np.arange(6.0))
    given = arguments(g, seed=7)
    state = g.state(given["q"], given["v"], given["vdot"])
    s = sc.operators(state, axes="inertial", f_ext=given["f_ext"])
    return g, given, s


def mass(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def test_inverse_dynamics(case):
    g, x, s = case
    close(dyn.inverse_dynamics(g, x["q"], x["v"], x["vdot"], x["f_ext"]), s.T)


def test_forward_dynamics(case):
    g, x, s = case
    H, psi, K, P, D = s["H psi K P D"]
    T = s.vector(s.hinge, x["force"])
    expected = (I - H * psi * K).T * D.inv * (T - H * psi * (K * T + P * s.a + s.b)) - K.T * psi.T * s.a
    close(dyn.forward_dynamics(g, x["q"], x["v"], x["force"], x["f_ext"]), expected)


def test_bias_force(case):
    g, x, s = case
    close(dyn.bias_force(g, x["q"], x["v"], x["f_ext"]), s.C)
    close(dyn.bias_force(g, x["q"], x["v"]), dyn.inverse_dynamics(g, x["q"], x["v"], np.zeros(g.nv)))


def test_the_equations_of_motion(case):
    g, x, _ = case
    force = dyn.mass_matrix_multiply(g, x["q"], x["vdot"]) + dyn.bias_force(g, x["q"], x["v"], x["f_ext"])
    close(force, dyn.inverse_dynamics(g, x["q"], x["v"], x["vdot"], x["f_ext"]))
    close(dyn.forward_dynamics(g, x["q"], x["v"], force, x["f_ext"]), x["vdot"])


def test_gravity_force(case):
    g, x, s = case
    fall = np.zeros((len(g), 6))
    fall[:, 3:] = g.gravity
    expected = s.H * (s.phi * (s.M * s.vector(s.body, -fall.ravel())))
    close(dyn.gravity_force(g, x["q"]), expected)


def test_mass_matrix_and_inverse(case):
    g, x, s = case
    close(dyn.mass_matrix(g, x["q"]), mass(s).array())
    close(dyn.mass_matrix_inverse(g, x["q"]), mass(s).inv.array())
    close(dyn.mass_matrix_multiply(g, x["q"], x["x"]), mass(s) * x["x"])
    close(dyn.mass_matrix_solve(g, x["q"], x["x"]), mass(s).inv * x["x"])
    close(dyn.log_det_mass_matrix(g, x["q"]), np.linalg.slogdet(mass(s).array()).logabsdet)


def test_interbody_forces(case):
    g, x, s = case
    args = (g, x["q"], x["v"], x["vdot"], x["f_ext"])
    close(np.asarray(dyn.interbody_forces(*args, expressed_in="inertial")).ravel(), s.f)
    own = sc.operators(s.binding.state, axes="body", f_ext=x["f_ext"]).f
    close(np.asarray(dyn.interbody_forces(*args)).ravel(), own)


def test_velocities_and_composite_inertia(case):
    g, x, s = case
    body = sc.operators(s.binding.state, axes="body")
    close(np.asarray(dyn.velocities(g, x["q"], x["v"])).ravel(), s.V)
    close(np.asarray(dyn.velocities(g, x["q"], x["v"], "body")).ravel(), body.V)
    R = np.asarray(dyn.composite_inertia(g, x["q"]))
    for k, b in enumerate(g.bodies):
        close(R[k], body.R[b.name, b.name])


def test_jacobian_and_operational_space(case):
    g, x, s = case
    nodes = nodes_of(g)
    B, phi, H, Omega = s.B(nodes), s.phi, s.H, s.Omega
    close(dyn.jacobian(g, x["q"], nodes), (B.T * phi.T * H.T).array())
    close(dyn.operational_space_compliance(g, x["q"], nodes), (B.T * Omega * B).array())
    own = sc.operators(s.binding.state, axes="body")
    close(dyn.jacobian(g, x["q"], nodes, "node"), (own.B(nodes).T * own.phi.T * own.H.T).array())
    C = dyn.operational_space_compliance(g, x["q"], nodes, "node")
    close(C, (own.B(nodes).T * own.Omega * own.B(nodes)).array())


def test_compensating_force(case):
    g, x, _ = case
    with_them = dyn.bias_force(g, x["q"], x["v"], x["f_ext"])
    close(dyn.compensating_force(g, x["q"], x["f_ext"]), dyn.bias_force(g, x["q"], x["v"]) - with_them)
    nodes, rng = nodes_of(g), np.random.default_rng(1)
    f = rng.standard_normal((len(nodes), 6))
    J = dyn.jacobian(g, x["q"], nodes, "node")
    close(dyn.compensating_force(g, x["q"], dict(zip(nodes, f, strict=True))), J.T @ f.ravel())
    assert not dyn.compensating_force(g, x["q"], {}).any()  # stored forces play no part


def test_energy_and_momentum(case):
    g, x, s = case
    V, M = np.asarray(s.V), s.M
    close(dyn.kinetic_energy(g, x["q"], x["v"]), 0.5 * V @ np.asarray(M * V))
    poses = dyn.poses(g, x["q"])
    p, c = poses.translation, dyn.center_of_mass(g, x["q"])
    h = np.asarray(M * V).reshape(-1, 6)
    total = np.concatenate([np.sum(h[:, :3] + np.cross(p, h[:, 3:]), axis=0), h[:, 3:].sum(axis=0)])
    close(dyn.momentum(g, x["q"], x["v"]), total)
    masses = np.array([body.inertia.mass for body in g.bodies])
    coms = np.array([poses[body] @ body.inertia.com for body in g.bodies])
    close(c, masses @ coms / masses.sum())
    close(dyn.potential_energy(g, x["q"]), -masses @ coms @ g.gravity)


def test_passive_force_is_zero(case):
    g, x, _ = case
    found = dyn.passive_force(g, x["q"], x["v"])
    assert found.shape == (g.nv,)
    assert not found.any()
