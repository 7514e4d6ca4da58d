"""Every operator of the table: `check_operator` on every class of model, and its value against plain numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded import sample
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries
from tests.strategies import AXES, SKO, as_functions, dense, keep, models

import soacraft as sc
from soacraft.ops.table import NAMES


def tree():
    return sc.load("hinges")


def part():
    """A branched sub-graph, anchored on a moving body."""
    mb = sc.random_tree(9, seed=5)
    root = next(body for body in mb.bodies if len(body.children) > 1 and not isinstance(body.parent, type(mb.root)))
    return mb.subgraph(list(root.subtree()))


PLACES = {
    **{f"tree, {axes}": lambda axes=axes: sc.operators(tree(), axes=axes) for axes in AXES},
    **{f"sub-graph, {axes}": lambda axes=axes: sc.operators(part(), axes=axes) for axes in AXES},
    "moving anchor": lambda: sc.operators(
        (g := part()).multibody.subgraph([body.name for body in g.bodies], anchor="moving")
    ),
    "two bases": lambda: sc.operators(sc.random_tree(7, seed=3, bases=2)),
    "serial chain": lambda: sc.operators(sc.serial_chain(5)),
    "flexible tree": lambda: sc.operators(flexible_tree((-1, 0, 0, 1, 1), 3)),
    "on a moving node that deforms": lambda: sc.operators(
        flexible_tree((-1, 0, 1, 1), 3, modes=(2, 1)).subgraph(["body1", "body2", "body3"], anchor="moving")
    ),
    "SKO model": lambda: sc.operators(sc.random_sko(7, seed=4)),
    "SKO model of functions": lambda: sc.operators(as_functions(sc.random_sko(7, seed=4), 1)),
    "SKO model, serial": lambda: sc.operators(sc.random_sko(6, seed=2, branching=0.0)),
    "compound bodies": sample,
    "batch": lambda: sc.operators((mb := sc.random_tree(5, seed=6)).state(*batch(mb))),
}


def batch(mb, count=3):
    return (np.stack(parts) for parts in zip(*(mb.random_state(i) for i in range(count)), strict=True))


@pytest.fixture(scope="module", params=PLACES)
def s(request):
    return PLACES[request.param]()


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_keeps_its_promises(s, name):
    report = sc.check_operator(getattr(s, name))
    assert report.ok, report


def test_pick_off_keeps_its_promises(s):
    labels = s.body.labels
    B = s.B([labels[-1], labels[0]])
    assert sc.check_operator(B).ok
    assert sc.check_operator(B.T * s.phi.T * s.H.T).ok
    assert sc.check_operator(B.T * s.Omega * B).ok


def test_every_name_of_the_issue_exists(s):
    operators = (
        "H E_phi phi phi_tilde M R P P_plus D G K tau tau_bar E_psi psi psi_tilde Upsilon Omega"  # besides B(nodes)
    )
    assert set(operators.split()) == set(NAMES)
    vectors = "V V_plus Delta_V alpha f a b z eps nu"
    assert set(vectors.split()) <= set(s.names())
    assert set(dir(s)) >= {*NAMES, "B", "I", *vectors.split()}


@pytest.mark.parametrize("name", NAMES)
def test_claims_are_made(name):
    """Tags are claims; those of the table are checked above, these are the ones expected."""
    s = sc.operators(tree())
    expected = {
        **{one: {"symmetric", "block_diagonal", "positive_semidefinite"} for one in "M R P P_plus Upsilon".split()},
        "D": {"symmetric", "block_diagonal", "positive_definite"},
        "tau": {"block_diagonal"},
        "tau_bar": {"block_diagonal"},
        "Omega": {"symmetric", "positive_semidefinite"},
    }
    assert getattr(s, name).tags == expected.get(name, set())


# -- values -------------------------------------------------------------------------------------------------------


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=1e-8, atol=1e-9 * max(1.0, np.abs(y).max(initial=0.0)))


def eliminated(Mcal, model, d):
    """Mcal = L D L*, L unit triangular, by block elimination, tips first: D(k) are the pivots."""
    S, L, D = Mcal.copy(), np.eye(len(Mcal)), np.zeros_like(Mcal)
    for k in model.tips_to_base():
        at = d.hinge(k)
        pivot = S[at, at].copy()
        D[at, at] = pivot
        column = np.linalg.solve(pivot, S[at, :]).T  # S(:, k) D^-1(k)
        S = S - column @ pivot @ column.T
        S[at, :], S[:, at] = 0.0, 0.0
        done = np.zeros(len(S), dtype=bool)
        for j in model.nodes:
            done[d.hinge(j)] = D[d.hinge(j), d.hinge(j)].any() or j == k
        L[~done, at] = column[~done]
    return L, D


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data())
def test_values_against_dense_matrices(kind, data):
    """From E, H and M alone: D and I + H phi K by eliminating the dense mass matrix, the rest by definition."""
    model = data.draw(models(kind))
    keep()
    s, d = sc.operators(model), dense(model)
    one = np.eye(len(d.E))
    L, D = eliminated(d.mass_matrix, model, d)
    for name, value in (("H", d.H), ("M", d.M), ("E_phi", d.E), ("phi", d.A), ("phi_tilde", d.A - one), ("D", D)):
        close(getattr(s, name).array(), value)
    close((s.I + s.H * s.phi * s.K).array(), L)
    diagonal = np.zeros_like(d.M)
    for k in model.nodes:
        diagonal[d.body(k), d.body(k)] = (d.A @ d.M @ d.A.T)[d.body(k), d.body(k)]
    close(s.R.array(), diagonal)
    # psi M psi* = P + psi~ P + P psi~* : P is its diagonal, E_psi = E (I - G H), G = P H* D^-1
    P, G = s.P.array(), s.G.array()
    psi = np.linalg.inv(one - d.E @ (one - G @ d.H))
    whole = psi @ d.M @ psi.T
    for k in model.nodes:
        close(P[d.body(k), d.body(k)], whole[d.body(k), d.body(k)])
    close(G @ D, P @ d.H.T)
    close(s.psi.array(), psi)
    close(s.tau.array(), G @ d.H)
    close(s.tau_bar.array(), one - G @ d.H)
    close(s.P_plus.array(), P - G @ d.H @ P)
    close(s.K.array(), d.E @ G)
    close(s.E_psi.array(), one - np.linalg.inv(psi))
    close(s.psi_tilde.array(), psi - one)
    inverse = np.linalg.inv(d.mass_matrix)
    Omega = d.A.T @ d.H.T @ inverse @ d.H @ d.A
    close(s.Omega.array(), Omega)
    for k in model.nodes:
        close(s.Upsilon[k, k], Omega[d.body(k), d.body(k)])


@pytest.mark.parametrize("axes", AXES)
def test_pick_off_gives_node_velocities(axes):
    """B* V are the velocities of the nodes, in node axes for body axes, otherwise in inertial axes (000 Eq. 12)."""
    mb = sc.random_tree(7, seed=8)
    s = sc.operators(mb, axes=axes)
    nodes = ["body5/tip", "body1/tip", "body4"]
    found = s.B(nodes).T * s.V
    for node in nodes:
        seen = mb.velocity(node, expressed_in=node if axes == "body" else None)
        np.testing.assert_allclose(found[node], seen, atol=1e-10)


def test_pick_off_takes_one_or_several_nodes():
    mb = sc.random_tree(5, seed=8)
    s = sc.operators(mb)
    assert s.B("body1/tip").text() == "B(['body1/tip'])"
    assert s.B(mb["body1/tip"]).text() == "B(['body1/tip'])"
    assert s.B([mb["body1/tip"], "body2"]).text() == "B(['body1/tip', 'body2'])"
    assert s.B(mb.bodies[:2]).shape == (30, 12)
    assert s.B(["body2", "body2"]).shape == (30, 12)
    sko = sc.operators(sc.random_sko(4, seed=1))
    assert sko.B(2).text() == sko.B("node3").text() == "B(['node3'])"
    assert sko.B([0, "node2"]).shape[1] == sko.body.dims[0] + sko.body.dims[1]


@given(data=st.data())
@tries(20)
def test_blocks_by_name_number_and_object(data):
    mb = sc.load("biped")
    s = sc.operators(mb)
    i, j = (data.draw(st.integers(0, len(mb.bodies) - 1)) for _ in range(2))
    keep()
    mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
    a, b = mb.bodies[i], mb.bodies[j]
    expected = mass_matrix.array()[mb.v_slice(a), mb.v_slice(b)]
    for block in (
        mass_matrix[i, j],
        mass_matrix[a.name, b.name],
        mass_matrix[a, b],
        mass_matrix[i][b],
        mass_matrix[a][j],
    ):
        np.testing.assert_allclose(block, expected, atol=1e-12)


def test_rows_of_blocks_print():
    s = sc.operators(sc.load("double_pendulum"))
    label = s.body.labels[0]
    assert repr(s.phi[0]) == f"block row {label!r} of phi"
