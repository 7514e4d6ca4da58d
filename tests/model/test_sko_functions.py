"""SKO models of functions of a state: blocks, bias terms, parts, states, and what is refused for what it is."""

import numpy as np
import pytest
from tests.strategies import as_functions, dense

import soacraft as sc
from soacraft.errors import ModelError, StateError, UnknownAttributeError
from soacraft.recursions import newton_euler


def model(seed=1, **options):
    return as_functions(sc.random_sko(6, seed=4), seed, **options)


def moved(m, t):
    """The model a time t later, along its velocity and acceleration."""
    return m.at(m.q + t * m.v + 0.5 * t * t * m.vdot, m.v + t * m.vdot)


def velocities(m, v):
    d = dense(m)
    return d.A.T @ d.H.T @ v


def test_a_is_what_makes_alpha_the_rate_of_V():
    """By differences of the dense velocities."""
    m, h = model(), 1e-4
    stencil = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))
    rate = sum(w * velocities(moved(m, x * h), m.v + x * h * m.vdot) / h for x, w in stencil)
    np.testing.assert_allclose(sc.operators(m).alpha, rate, atol=1e-7 * np.abs(rate).max())


def test_operators_follow_the_state():
    m = model()
    s = sc.operators(m)
    X = s.H * s.phi * s.M * s.phi.T * s.H.T
    before = X.array()
    q = np.linspace(-1, 1, m.nq)
    m.q = q
    np.testing.assert_allclose(X.array(), dense(m.at(q)).mass_matrix, rtol=1e-10, atol=1e-9)
    assert np.abs(X.array() - before).max() > 1e-3
    np.testing.assert_array_equal(s.q, q)
    a = np.array(s.a)
    m.v = np.ones(m.nv)
    np.testing.assert_allclose(s.V, velocities(m, m.v), rtol=1e-10)
    fresh = sc.operators(m.at(q, m.v))
    np.testing.assert_array_equal(s.a, fresh.a)
    np.testing.assert_array_equal(s.b, fresh.b)
    assert np.abs(a - np.asarray(fresh.a)).max() > 1e-3


def test_a_batch_is_its_states_one_by_one():
    m = model()
    q = np.stack([m.q + k for k in range(3)])
    v = np.stack([m.v * (k + 1) for k in range(3)])
    many = m.at(q, v)
    for i in range(3):
        one = m.at(q[i], v[i])
        for k in m.nodes:
            for name in "HMab":
                x, wanted = getattr(many, name)(k), getattr(one, name)(k)
                np.testing.assert_allclose(np.broadcast_to(x, (3, *wanted.shape))[i], wanted)


def test_given_derivatives_and_differences_agree():
    def A(q):
        return [None, [[np.cos(q[1]), q[0]]]]

    def dA(q, w):
        return [None, [[-np.sin(q[1]) * w[1], w[0]]]]

    blocks = {"H": [[[1.0]], [[1.0, 0.5]]], "M": [[[2.0]], np.eye(2)], "q": [0.3, -0.7]}
    exact, by_differences = sc.SKOModel([-1, 0], A, dA=dA, **blocks), sc.SKOModel([-1, 0], A, **blocks)
    assert exact.derivatives == "A by the function given, H constant, M constant"
    assert by_differences.derivatives == "A by differences of step 0.001, H constant, M constant"
    w = np.array([1.0, -2.0])
    one, other = (m.rates(m.q, w).A[1] for m in (exact, by_differences))
    np.testing.assert_allclose(one, [[-np.sin(-0.7) * -2.0, 1.0]])
    np.testing.assert_allclose(one, other, atol=1e-11)


def test_velocities_that_are_not_rates_of_coordinates():
    """A unit vector in the plane as coordinates, one velocity: q = (cos, sin)."""
    def integrate(q, w):
        c, s = np.cos(w[..., 0]), np.sin(w[..., 0])
        return np.stack([c * q[..., 0] - s * q[..., 1], s * q[..., 0] + c * q[..., 1]], axis=-1)

    blocks = {"H": [[[1.0]], np.zeros((0, 2))], "M": [[[0.5]], 3.0 * np.eye(2)]}
    m = sc.SKOModel([-1, 0], lambda q: [None, [[-q[1], q[0]]]], **blocks, q=[1.0, 0.0], v=[2.0], integrate=integrate)
    np.testing.assert_allclose(m.a(1), [-4.0, 0.0], atol=1e-9)          # centripetal
    assert sc.check_derivative(sc.operators(m, "phi"), "0").ok
    with pytest.raises(ModelError, match="has 2 coordinates and 1 velocities: give integrate="):
        sc.SKOModel([-1, 0], lambda q: [None, [[-q[1], q[0]]]], **blocks, q=[1.0, 0.0])


# -- parts ------------------------------------------------------------------------------------------------------------


def branch_below(m, k):
    return [m.names[j] for j in m.nodes if m.tree.path(k, j) is not None]


@pytest.mark.parametrize("make", [model, lambda: sc.random_sko(6, seed=4)], ids=["functions", "constant"])
def test_a_sub_graph_is_a_block_of_the_whole(make):
    m = make()
    root = next(k for k in m.nodes if m.tree.parents[k] >= 0 and m.children(k))
    names = branch_below(m, root)
    part = m.subgraph(names)
    whole = sc.operators(m)
    own = sc.operators(part)
    np.testing.assert_allclose(own.phi.array(), whole.phi[names, names], rtol=1e-12)
    np.testing.assert_allclose(own.R.array(), whole.R[names, names], rtol=1e-10)
    assert [branch.names for branch in part.branches()] == [
        tuple(part.names[k] for k in branch.nodes) for branch in part.tree.branches
    ]
    with pytest.raises(ModelError, match="a sub-graph is connected"):
        m.subgraph([m.names[k] for k in m.nodes if m.tree.depth[k] == 2 or k == m.tree.tips_to_base()[0]])


def test_a_part_moves_with_its_own_coordinates():
    m = model()
    root = next(k for k in m.nodes if m.tree.parents[k] >= 0 and m.children(k))
    names = branch_below(m, root)
    part = m.subgraph(names)
    assert (part.nq, part.nv) == (sum(m.nvs[m.tree.number(x)] for x in names),) * 2
    q = np.array(m.q)
    ends = np.cumsum([0, *m.nvs])
    for name in names:
        k = m.tree.number(name)
        q[ends[k] : ends[k + 1]] += 0.3
    part.q = part.q + 0.3
    np.testing.assert_allclose(sc.operators(part).phi.array(), sc.operators(m.at(q)).phi[names, names], rtol=1e-12)


@pytest.mark.parametrize("make", [model, lambda: sc.random_sko(6, seed=4)], ids=["functions", "constant"])
def test_aggregation_keeps_the_equations_of_motion(make):
    m = make()
    p = next(k for k in m.nodes if m.children(k))
    group = [p, *m.children(p)]
    whole = sc.aggregate(m, [m.names[k] for k in group])
    order = [m.tree.number(name) for label in whole.names for name in label.split("+")]
    ends = np.cumsum([0, *m.nvs])
    at = np.concatenate([np.arange(ends[k], ends[k + 1]) for k in order])
    vdot = np.linspace(-1, 1, sum(m.nvs))
    d, e = dense(m), dense(whole)
    np.testing.assert_allclose(e.mass_matrix, d.mass_matrix[np.ix_(at, at)], rtol=1e-9, atol=1e-9)
    one = np.concatenate([x[:, 0] for _, x in sorted(newton_euler(m, columns(vdot, m.nvs)).T.items())])
    other = np.concatenate([x[:, 0] for _, x in sorted(newton_euler(whole, columns(vdot[at], whole.nvs)).T.items())])
    np.testing.assert_allclose(other, one[at], atol=1e-8 * np.abs(one).max())
    with pytest.raises(ModelError, match="is named in two groups"):
        m.aggregated([m.names[p]], [m.names[p]])


def columns(x, sizes):
    return [part[:, None] for part in np.split(x, np.cumsum(sizes)[:-1])]


# -- refused for what it is -------------------------------------------------------------------------------------------


ONE = {"H": [[[1.0]]], "M": [[[1.0]]]}


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ({"M": [np.diag([1.0, -1.0])], "H": [[[1.0, 0.0]]]}, r"M of node 'a' is indefinite, its smallest .* is -1; "),
        ({"M": [[[1e-9, 2e-9], [2e-9, 1e-9]]], "H": [[[1.0, 0.0]]]}, r"M of node 'a' is indefinite, .* is -1e-09; "),
        ({"M": [[[0.0, 1.0], [1.0, 5.0]]], "H": [[[1.0, 0.0]]]}, r"M of node 'a' is indefinite"),
        ({"M": [np.eye(2)], "H": [[[1.0, 2.0], [2.0, 4.0]]]}, r"H of node 'a' has dependent rows: .* rank 2"),
        ({"M": [np.eye(2)], "H": [[[1e-9, 2.0], [2e-9, 4.0]]]}, r"H of node 'a' has dependent rows"),
        ({"M": [np.eye(2)], "H": [[[0.0, 0.0]]]}, r"H of node 'a' has dependent rows"),
    ],
)
def test_indefinite_inertias_and_dependent_hinges(blocks, text):
    with pytest.raises(ModelError, match=text):
        sc.SKOModel([-1], [None], **blocks, names=["a"])
    with pytest.raises(ModelError, match=text):
        sc.SKOModel([-1], [None], blocks["H"], lambda q: blocks["M"], names=["a"], q=[0.0] * len(blocks["H"][0]))


def test_singular_inertias_and_mixed_units_are_no_fault():
    sc.SKOModel([-1], [None], [[[1.0, 1e-9]]], [np.diag([1e-14, 1e6])])
    rng = np.random.default_rng(0)
    half = rng.standard_normal((6, 3))
    sc.SKOModel([-1], [None], [np.eye(6)[:2] * 1e-7], [half @ half.T])


def test_the_state_is_as_it_was_after_a_refused_one():
    def M(q):
        return [[[q[0]]]]

    m = sc.SKOModel([-1], [None], [[[1.0]]], M, names=["a"], q=[2.0])
    with pytest.raises(ModelError, match="M of node 'a' is indefinite, its smallest eigenvalue is -1"):
        m.q = [-1.0]
    assert m.q == 2.0
    assert m.M(0)[0, 0] == 2.0
    with pytest.raises(StateError, match=r"q of this SKO model must have shape \(1,\)"):
        m.q = [1.0, 2.0]
    with pytest.raises(UnknownAttributeError, match="what can be set is its state, q, v and vdot"):
        m.nq = 3


def test_what_functions_give_is_checked():
    with pytest.raises(ModelError, match="needs q=: the coordinates"):
        sc.SKOModel([-1], [None], [[[1.0]]], lambda q: [[[1.0]]])
    with pytest.raises(ModelError, match=r"M\(q\) must give a list with a block for each node, got 3"):
        sc.SKOModel([-1], [None], [[[1.0]]], lambda q: 3, q=[0.0])
    with pytest.raises(ModelError, match="sizes are structure and stay as they are"):
        sc.SKOModel([-1], [None], lambda q: [np.eye(2)[: 1 + (q[0] > 0)]], [np.eye(2)], q=[0.0]).at([1.0])
    m = sc.SKOModel([-1], [None], lambda q: [[[1.0]]], [[[1.0]]], q=[0.0], dH=lambda q, w: [np.eye(2)])
    with pytest.raises(ModelError, match="dH of node '0' must have shape"):
        m.rates([0.0], [1.0])
    with pytest.raises(ModelError, match="v= is for an SKO model of functions: none of A, H and M given here is one"):
        sc.SKOModel([-1], [None], **ONE, v=[1.0])
    with pytest.raises(ModelError, match="is at one configuration and has no q"):
        sc.SKOModel([-1], [None], **ONE).at([1.0])


def test_several_parents_point_to_loops():
    with pytest.raises(ModelError, match=r"node 'c' has several parents.*sc.loops"):
        sc.SKOModel([-1, 0, (0, 1)], [None, [[1]], [[1]]], [[[1]]] * 3, [[[1]]] * 3, names=["a", "b", "c"])
