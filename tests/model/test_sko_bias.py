"""b of SKO models of functions that give none: Lagrange's equations, closed forms, rigid trees; and wrong derivatives,
found at their first use."""

import numpy as np
import pytest

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError


def polar(mass=2.0, metre=1.0, **options):
    """A point mass in polar coordinates (r, angle), lengths in units of `metre`."""
    return sc.SKOModel(
        [-1], [None], [np.eye(2)], lambda q: [np.diag([mass, mass * q[0] ** 2])], q=[1.5 * metre, 0.0], **options
    )


@pytest.mark.parametrize("metre", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("exact", [False, True])
def test_a_point_mass_in_polar_coordinates(metre, exact):
    """r'' = r omega^2 and omega' = -2 r' omega / r."""
    options = {"dM": lambda q, w: [np.diag([0.0, 4.0 * q[0] * w[0]])]} if exact else {"step": 1e-3 * metre}
    m = polar(metre=metre, **options)
    q, v = np.array([1.5 * metre, 0.3]), np.array([0.4 * metre, 2.0])
    found = dynamics.forward_dynamics(m, q, v, [0.0, 0.0])
    np.testing.assert_allclose(found, [6.0 * metre, -16.0 / 15.0], rtol=1e-9)
    np.testing.assert_allclose(dynamics.bias_force(m, q, v), [-12.0 * metre, 2.4 * 2.0 * metre**2], rtol=1e-9)


def test_a_batch_is_its_states_one_by_one():
    m = polar()
    q, v = np.array([[1.5, 0.3], [0.7, 1.0], [2.0, 0.0]]), np.array([[0.4, 2.0], [-1.0, 0.3], [0.0, 1.0]])
    many = dynamics.bias_force(m, q, v)
    np.testing.assert_allclose(many, [dynamics.bias_force(m, *one) for one in zip(q, v, strict=True)])
    np.testing.assert_allclose(dynamics.bias_force(m, q[0], v), [dynamics.bias_force(m, q[0], one) for one in v])


def spinning():
    """Two nodes whose weights, hinge maps and inertias depend on both coordinates."""
    def A(q):
        return [None, [[np.cos(q[1]), 0.3 * q[0]]]]

    def H(q):
        return [[[1.0]], [[1.0, np.sin(q[0])]]]

    def M(q):
        return [[[2.0 + np.sin(q[1])]], [[1.0 + q[0] ** 2, 0.1 * q[1]], [0.1 * q[1], 2.0 + np.cos(q[0])]]]

    return sc.SKOModel([-1, 0], A, H, M, q=[0.4, -0.6], v=[0.7, 1.1])


@pytest.mark.parametrize("make", [polar, spinning])
def test_lagrange_s_equations_and_the_energy_rate(make):
    """The Christoffel symbols of the mass matrix, and v* T = d/dt(v* Mcal v / 2), by differences of the mass matrix."""
    m, h = make(), 1e-4
    q, v, vdot = np.array([0.9, -0.4]), np.array([0.8, -1.3]), np.array([0.5, 2.0])
    symbols = np.einsum("ijk,j,k->i", analysis.christoffel(m, q), v, v)
    np.testing.assert_allclose(dynamics.bias_force(m, q, v), symbols, rtol=1e-8)

    def energy(t):
        w = v + t * vdot
        return 0.5 * w @ dynamics.mass_matrix(m, q + t * v + 0.5 * t * t * vdot) @ w

    rate = (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)
    assert v @ dynamics.inverse_dynamics(m, q, v, vdot) == pytest.approx(rate, rel=1e-8)


def tree_without_b(mb, q, v, **options):
    tree, bodies = mb.topology, range(len(mb.bodies))

    def blocks(name):
        def of(q):
            at = mb.sko(mb.state(q))
            return [getattr(at, name)(k) for k in bodies]

        return of

    return sc.SKOModel(
        tree.parents, lambda q: mb.sko(mb.state(q)).edges, blocks("H"), blocks("M"), names=tree.names, q=q, v=v,
        **options,
    )  # fmt: skip


def test_bodies_in_axes_that_turn_have_their_gyroscopic_forces():
    """A rigid tree in body axes, its b not given: the bias force of the tree, weightless. At q = 0 too."""
    pins = [sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 1, 0))]
    mb = sc.random_tree(5, seed=3, hinges=pins, gravity=(0, 0, 0))
    v = mb.random_state(2)[1]
    for q in (np.zeros(mb.nv), mb.random_state(2)[0]):
        m = tree_without_b(mb, q, v)
        np.testing.assert_allclose(dynamics.bias_force(m, q, v), dynamics.bias_force(mb, q, v), rtol=1e-7, atol=1e-8)


def test_a_part_has_the_b_of_its_own_nodes():
    m = spinning()
    part = m.subgraph(["0"])
    np.testing.assert_allclose(part.at([0.4], [0.7]).b(0), [0.0], atol=1e-12)     # M(0) does not depend on q[0]
    m.v = [0.0, 0.0]
    np.testing.assert_array_equal(m.b(1), [0.0, 0.0])


def test_b_that_is_given_is_taken():
    m = polar(b=lambda q, v: [np.array([1.0, 2.0])])
    np.testing.assert_allclose(dynamics.bias_force(m, [1.5, 0.0], [0.4, 2.0]), [1.0, 2.0])


def test_velocities_that_are_no_rates_of_coordinates_need_b():
    def integrate(q, w):
        return q + w / (1.0 + q**2)

    m = polar(integrate=integrate)
    state = m.q, m.v
    with pytest.raises(ModelError, match=r"b of this SKO model is not given, .* are not rates .* Give b="):
        dynamics.forward_dynamics(m, [1.5, 0.0], [0.4, 2.0], [0.0, 0.0])
    assert m.q is state[0]
    assert m.v is state[1]
    np.testing.assert_allclose(dynamics.forward_dynamics(m, [1.5, 0.0], [0.0, 0.0], [2.0, 0.0]), [1.0, 0.0])
    given = polar(integrate=integrate, b=[np.zeros(2)])
    np.testing.assert_allclose(dynamics.forward_dynamics(given, [1.5, 0.0], [0.4, 2.0], [0.0, 0.0]), [0.0, 0.0])


# -- derivatives that are none ----------------------------------------------------------------------------------------


BLOCKS = {
    "A": lambda q: [None, [[np.cos(q[1]), q[0] ** 2]]],
    "H": lambda q: [[[1.0]], [[1.0, np.sin(q[0])]]],
    "M": lambda q: [[[2.0 + np.sin(q[1])]], np.diag([1.0, 1.0 + q[0] ** 2])],
}
RIGHT = {
    "A": lambda q, w: [None, [[-np.sin(q[1]) * w[1], 2.0 * q[0] * w[0]]]],
    "H": lambda q, w: [None, [[0.0, np.cos(q[0]) * w[0]]]],
    "M": lambda q, w: [[[np.cos(q[1]) * w[1]]], np.diag([0.0, 2.0 * q[0] * w[0]])],
}
WRONG = {
    "A": lambda q, w: [None, [[np.sin(q[1]) * w[1], 2.0 * q[0] * w[0]]]],        # a sign
    "H": lambda q, w: [None, [[0.0, np.cos(q[0])]]],                             # not along w
    "M": lambda q, w: [[[np.cos(q[1]) * w[1]]], None],                           # one forgotten
}
USES = {
    "operators": lambda m: sc.operators(m).E_phi.dot().array() + sc.operators(m).H.dot().array().sum()
    + sc.operators(m).M.dot().array(),
    "dynamics": lambda m: dynamics.bias_force(m, m.q, [1.0, 0.5]),
    "rates": lambda m: m.rates(m.q, [1.0, 0.5]),
}


def pair(derivatives, q=(0.4, -0.6), **options):
    return sc.SKOModel([-1, 0], **BLOCKS, q=q, v=[1.0, 0.5], names=["a", "b"],
                       **{f"d{x}": derivatives[x] for x in derivatives}, **options)  # fmt: skip


@pytest.mark.parametrize("what", "AHM")
@pytest.mark.parametrize("use", USES)
def test_a_wrong_derivative_is_found_at_the_first_use(what, use):
    m = pair(RIGHT | {what: WRONG[what]})
    entry = {"A": r"\(0, 0\) along a velocity is -0.\d+, by diff.* 0.\d+", "H": r"\(0, 1\)", "M": r"\(1, 1\)"}[what]
    with pytest.raises(ModelError, match=rf"d{what} of node 'b' is not the derivative of {what}: entry {entry}"):
        USES[use](m)
    USES[use](pair(RIGHT | {what: WRONG[what]}, check=False))
    USES[use](pair(RIGHT))


def test_one_that_is_right_at_the_first_configuration_only_is_found_at_the_next():
    m = pair({"A": lambda q, w: [None, [[-np.sin(q[1]) * w[1], 0.0]]]}, q=[0.0, -0.6])
    m.rates(m.q, [1.0, 0.5])
    with pytest.raises(ModelError, match="dA of node 'b' is not the derivative of A"):
        m.rates([0.5, -0.6], [1.0, 0.5])


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e9])
def test_no_unit_of_the_coordinates_makes_a_right_one_wrong(unit):
    """Coordinates in units of any size, with the default step."""
    def scaled(f):
        return lambda *given: f(*(x / unit for x in given))

    blocks = {x: scaled(f) for x, f in BLOCKS.items()}
    rates = {f"d{x}": scaled(f) for x, f in RIGHT.items()}
    m = sc.SKOModel([-1, 0], **blocks, **rates, q=[0.4 * unit, -0.6 * unit])
    m.rates(m.q, [unit, 0.5 * unit])
    rates["dA"] = scaled(WRONG["A"])
    m = sc.SKOModel([-1, 0], **blocks, **rates, q=[0.4 * unit, -0.6 * unit])
    with pytest.raises(ModelError, match="dA of node '1' is not the derivative of A"):
        m.rates(m.q, [unit, 0.5 * unit])


def test_check_is_true_or_false():
    with pytest.raises(ModelError, match="check must be True or False, got 3"):
        pair(RIGHT, check=3)
