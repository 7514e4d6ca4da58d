"""Passive dofs: against dense algebra, the operator form, mixed dynamics, and momentum kept along a motion."""

import numpy as np
import pytest
from tests.analysis.cases import GRAPHS, armed
from tests.dynamics.calls import GRAVITY, close, nodes_of

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError, StateError

every_graph = pytest.mark.parametrize("name", GRAPHS)


def masked(g):
    """Some dofs passive, parts of hinges among them."""
    return np.arange(g.nv) % 3 != 1


@every_graph
def test_the_disturbance_jacobian(name):
    g = GRAPHS[name]()
    q, _ = g.random_state(1)
    p, nodes = masked(g), nodes_of(g)
    M, J = dynamics.mass_matrix(g, q), dynamics.jacobian(g, q, nodes)
    wanted = J[:, ~p] - J[:, p] @ np.linalg.solve(M[np.ix_(p, p)], M[np.ix_(p, ~p)])
    close(analysis.disturbance_jacobian(g, q, nodes, p), wanted, 1e-11)
    own = analysis.disturbance_jacobian(g, q, nodes, np.flatnonzero(p), "node")
    J = dynamics.jacobian(g, q, nodes, "node")
    close(own, J[:, ~p] - J[:, p] @ np.linalg.solve(M[np.ix_(p, p)], M[np.ix_(p, ~p)]), 1e-11)


def test_the_operator_form():
    """B* (psi_p* - Omega_p P_p) H_a*, with articulated bodies built on the passive dofs."""
    g = GRAPHS["armature"]()
    g.set_state(*g.random_state(1))
    p, nodes = masked(g), nodes_of(g)
    whole = g.state().sko("body")
    parts = [(whole.H(k)[p[where]], whole.H(k)[~p[where]]) for k, where in enumerate(g.layout.v_slices)]
    blocks = whole.edges, [x for x, _ in parts], [whole.M(k) for k in whole.nodes]
    s = sc.operators(sc.SKOModel(whole.tree.parents, *blocks))
    psi, Omega, P = (np.asarray(x) for x in (s.psi, s.Omega, s.P))
    H_a = np.zeros((int((~p).sum()), sum(whole.dims)))
    row = column = 0
    for _, x in parts:
        H_a[row : row + x.shape[0], column : column + x.shape[1]] = x
        row, column = row + x.shape[0], column + x.shape[1]
    B = np.asarray(sc.operators(g).B(nodes))
    close(analysis.disturbance_jacobian(g, g.q, nodes, p, "node"), B.T @ (psi.T - Omega @ P) @ H_a.T, 1e-11)


@every_graph
def test_the_equations_of_the_active_dofs(name):
    g = GRAPHS[name]()
    q, v = g.random_state(2)
    p = masked(g)
    u = analysis.underactuated(g, q, v, passive=p)
    close(u.inertia, np.linalg.inv(dynamics.mass_matrix_inverse(g, q)[np.ix_(~p, ~p)]), 1e-10)
    rng = np.random.default_rng(3)
    vdot_a = rng.standard_normal((~p).sum())
    vdot = np.zeros(g.nv)
    vdot[~p], vdot[p] = vdot_a, -u.follow @ vdot_a - u.drift
    force = dynamics.inverse_dynamics(g, q, v, vdot)
    close(force[p], np.zeros(p.sum()), 1e-10)
    close(u.inertia @ vdot_a + u.bias, force[~p], 1e-10)
    mixed, _ = dynamics.mixed_dynamics(g, q, v, np.zeros(g.nv), np.where(p, 0.0, vdot), ~p)
    close(mixed, vdot, 1e-10)
    names = np.array(g.dof_names)
    assert (u.active, u.passive) == (tuple(names[~p]), tuple(names[p]))


def test_batches():
    g = GRAPHS["armature"]()
    rng = np.random.default_rng(0)
    q = np.array([g.random_state(rng)[0] for _ in range(6)]).reshape(2, 3, g.nq)
    v, p, nodes = rng.standard_normal((3, g.nv)), masked(g), nodes_of(g)
    u, one = analysis.underactuated(g, q, v, passive=p), analysis.underactuated(g, q[1, 2], v[2], passive=p)
    for field in ("inertia", "bias", "follow", "drift"):
        close(getattr(u, field)[1, 2], getattr(one, field), 1e-11)
    J = analysis.disturbance_jacobian(g, q, nodes, p)
    close(J[1, 2], analysis.disturbance_jacobian(g, q[1, 2], nodes, p), 1e-11)


def test_all_or_none_passive():
    g = sc.load("arm7")
    q = 0.3 * np.ones(7)
    none, every = ([], list(range(7)))
    close(analysis.disturbance_jacobian(g, q, "link7/tool", none), dynamics.jacobian(g, q, "link7/tool"), 1e-14)
    assert analysis.disturbance_jacobian(g, q, "link7/tool", every).shape == (6, 0)
    u = analysis.underactuated(g, q, np.ones(7), passive=none)
    close(u.inertia, dynamics.mass_matrix(g, q), 1e-13)
    close(u.bias, dynamics.bias_force(g, q, np.ones(7)), 1e-13)
    assert repr(u) == "Underactuated: active link1, link2, link3, link4, link5, link6, link7; passive none"
    u = analysis.underactuated(g, q, np.zeros(7), passive=every)
    close(-u.drift, dynamics.forward_dynamics(g, q, np.zeros(7), np.zeros(7)), 1e-12)


def test_the_state_of_the_model_is_the_default():
    g = sc.load("cart_pole")
    g.set_state([0.1, 0.2], [0.3, 0.4])
    ours, told = analysis.underactuated(g, passive=["pole"]), analysis.underactuated(g, g.q, g.v, passive=["pole"])
    np.testing.assert_array_equal(ours.bias, told.bias)


def test_the_cart_pole():
    """S = M + m - (m l cos)^2 / (J + m l^2): the pole gives way."""
    g = sc.load("cart_pole")
    cart, pole = (body.inertia for body in g.bodies)
    M, m, l, J = cart.mass, pole.mass, np.linalg.norm(pole.com), pole.moment[1, 1]
    for angle in (0.0, 0.7, np.pi / 2):
        u = analysis.underactuated(g, [0.2, angle], [0.0, 0.0], passive=["pole"])
        np.testing.assert_allclose(
            u.inertia, [[M + m - (m * l * np.cos(angle)) ** 2 / (J + m * l**2)]], rtol=1e-13
        )


# -- free-floating ---------------------------------------------------------------------------------------------------


def floating(seed=2):
    """A free base with a branched arm, and no gravity."""
    mb = sc.Multibody("floating", (0, 0, 0))
    hinges = [sc.Free(), sc.Gimbal(np.eye(3)), sc.Pin((1, 2, 3)), sc.Spherical(), sc.Prismatic((0, 1, 1)), sc.Planar()]
    other = sc.random_tree(6, seed, [sc.Pin((1, 0, 0))])
    for hinge, body in zip(hinges, other.bodies, strict=True):
        parent = None if body.parent is other.root else body.parent.name
        twin = mb.add_body(body.name, parent, hinge, body.inertia, body.inboard, body.outboard)
        twin.add_node("end", sc.Pose(translation=(0.1, 0.2, 0.3)))
    return mb


def test_zero_momentum():
    """J_G v_m is the velocity of nodes when the base takes up the momentum."""
    mb = floating()
    q, v = mb.random_state(1)
    nodes = ["body5/end", "body6/end"]
    M = dynamics.mass_matrix(mb, q)
    v[:6] = -np.linalg.solve(M[:6, :6], M[:6, 6:] @ v[6:])
    momentum = dynamics.momentum(mb, q, v)
    np.testing.assert_allclose(np.asarray(momentum), 0.0, atol=1e-12)
    J = analysis.generalized_jacobian(mb, q, nodes)
    close(J @ v[6:], dynamics.jacobian(mb, q, nodes) @ v, 1e-11)


def test_momentum_stays_zero_along_a_motion():
    """Moving the joints as told, with J_G for the base, a node's path is that of the motion which keeps momentum."""
    mb = floating()
    q, v = mb.random_state(1)
    joints, step = v[6:], 1e-3
    base = mb.bodies[0].name

    def rate(q):
        """The base follows by its own generalized Jacobian."""
        M = dynamics.mass_matrix(mb, q)
        follow = analysis.generalized_jacobian(mb, q, base, "node") @ joints
        moved = np.concatenate([np.linalg.solve(dynamics.jacobian(mb, q, base, "node")[:, :6], follow), joints])
        assert np.abs(M[:6] @ moved).max() < 1e-11
        return moved

    start = dynamics.center_of_mass(mb, q)
    for _ in range(20):
        half = mb.integrate(q, 0.5 * step * rate(q))
        q = mb.integrate(q, step * rate(half))
    assert np.abs(dynamics.center_of_mass(mb, q) - start).max() < 1e-6 * 20 * step


def test_the_form_with_composite_bodies():
    """M_bb = H_b R(b) H_b*, M_bm = H_b (phi R)(b,:) H_m*."""
    mb = armed(floating())
    mb.bodies[0].armature = 0.0
    mb.set_state(*mb.random_state(3))
    s = sc.operators(mb)
    whole = np.asarray(s.H * (s.phi * s.R) * s.H.T)
    J = dynamics.jacobian(mb, mb.q, "body6/end")
    wanted = J[:, 6:] - J[:, :6] @ np.linalg.solve(whole[:6, :6], whole[:6, 6:])
    close(analysis.generalized_jacobian(mb, mb.q, "body6/end"), wanted, 1e-11)


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: sc.load("arm7"), "'arm7' has 'link1' by Pin(axis=(0, 0, 1))"),
        (lambda: sc.random_tree(2, 1, [sc.Free()], bases=2), "'random tree' has 'body1' by Free(), 'body2' by Free()"),
    ],
)
def test_models_that_do_not_float(make, found):
    g = make()
    with pytest.raises(ModelError) as error:
        analysis.generalized_jacobian(g, g.q, g.bodies[-1])
    assert str(error.value) == (
        f"generalized_jacobian is for a free-floating model: one base body on a Free() hinge; {found}."
    )


def test_refusals():
    g = sc.load("cart_pole")
    with pytest.raises(ModelError, match="generalized_jacobian takes a Multibody or a sub-graph of one, got None"):
        analysis.generalized_jacobian(None, [0.0, 0.0], "pole/tip")
    for function in (
        lambda passive: analysis.underactuated(g, passive=passive),
        lambda passive: analysis.disturbance_jacobian(g, g.q, "pole/tip", passive),
    ):
        with pytest.raises(StateError) as error:
            function(["wheel"])
        assert str(error.value) == (
            "passive dofs: 'cart_pole' has no dof, hinge or body 'wheel'; it has 'cart', 'pole'."
        )
        with pytest.raises(StateError, match="the mask of passive dofs of 'cart_pole' needs 2 entries, got 3"):
            function([True, False, True])
        with pytest.raises(StateError, match="the passive dofs of 'cart_pole' name 'pole' twice"):
            function(["pole", "pole"])
        with pytest.raises(StateError, match="'cart_pole' has dofs 0 to 1; there is no dof 2"):
            function([2])


def test_gravity_pulls_the_passive():
    """From rest the accelerations of nodes are J_D vdot_a, less what gravity does to the passive dofs."""
    g = sc.random_tree(5, 2, [sc.Pin((1, 0, 1)), sc.Gimbal(np.eye(3))], gravity=GRAVITY)
    q, _ = g.random_state(1)
    p = masked(g)
    u = analysis.underactuated(g, q, np.zeros(g.nv), passive=p)
    a = np.random.default_rng(1).standard_normal((~p).sum())
    vdot = np.zeros(g.nv)
    vdot[~p], vdot[p] = a, -u.follow @ a - u.drift
    J, J_D = dynamics.jacobian(g, q, "body1"), analysis.disturbance_jacobian(g, q, "body1", p)
    close(J @ vdot, J_D @ a - J[:, p] @ u.drift, 1e-11)
