"""`diag_of` by recursions: the diagonal of the dense matrix, on trees, at every state, in few words."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.ops.diagonals import diagonal_form
from soacraft.ops.programs.roads import road_of

I = sc.I

KNOWN = {
    "psi.T*M*psi": (lambda s: s.psi.T * s.M * s.psi, "E_psi.T.lyapunov(M)"),
    "phi.T*M*psi": (lambda s: s.phi.T * s.M * s.psi, "E_phi.T.lyapunov(M, E_psi.T)"),
    "phi*M*phi.T": (lambda s: s.phi * s.M * s.phi.T, "R"),
    "Omega": (lambda s: s.Omega, "Upsilon"),
    "mass matrix": (lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T, "H*R*H.T"),
    "inverse": (lambda s: (s.H * s.phi * s.M * s.phi.T * s.H.T).inv, None),
    "one way": (lambda s: s.phi * s.M * s.psi, "M"),
    "down": (lambda s: s.K.T * s.phi * s.R * s.H.T, None),
    "back along an edge": (lambda s: s.E_phi.T * s.phi * s.R, None),
    "tilde": (lambda s: s.phi_tilde, "0*I"),
    "tilde pair": (lambda s: s.phi_tilde * s.M * s.phi_tilde.T, None),
    "tilde pair outward": (lambda s: s.psi_tilde.T * s.M * s.psi_tilde, None),
    "tilde on one side": (lambda s: s.phi * s.M * s.psi_tilde.T, None),
    "sums": (lambda s: 2 * s.Omega - (I + s.phi) * s.M * (I - 3 * s.psi.T), None),
    "three": (lambda s: s.phi * s.phi * s.M * s.phi.T, None),
    "out and in": (lambda s: s.phi.T * s.M * s.phi * s.phi.T, None),
    "power": (lambda s: s.phi**2 * s.M, "M"),
    "transposed": (lambda s: (s.phi * s.R * s.psi.T).T, None),
    "kernels outside": (lambda s: s.E_psi.T * s.Omega * s.E_psi, None),
}
UNKNOWN = {
    "four": lambda s: s.phi * s.phi * s.M * s.phi.T * s.phi.T,
    "two remainders": lambda s: s.phi.T * s.phi * s.M * s.phi,
    "siblings": lambda s: s.E_phi * s.Omega * s.E_phi.T,
    "swept": lambda s: (2 * I - s.E_phi).inv,
}


@pytest.fixture(scope="module", params=["chain", "tree", "sko", "star"])
def s(request):
    if request.param == "star":
        n = 6
        rng = np.random.default_rng(2)
        A = [None, *(rng.normal(size=(n - 1, 2, 2)))]
        return sc.operators(sc.SKOModel([-1] + [0] * (n - 1), A, [[[1.0, 0.5]]] * n, [np.eye(2) + 0.1] * n))
    model = {"chain": sc.serial_chain(5), "tree": sc.random_tree(9, seed=5), "sko": sc.random_sko(8, seed=3)}
    return sc.operators(model[request.param])


def compared(s, x):
    diagonal, dense = sc.diag_of(x), x.array()
    space = x.spaces[0]
    wanted = np.zeros_like(dense)
    for k in range(len(space)):
        wanted[space.block(k), space.block(k)] = dense[space.block(k), space.block(k)]
    scale = np.abs(dense).max()
    np.testing.assert_allclose(diagonal.array(), wanted, rtol=0, atol=1e-12 * scale)
    y = np.linspace(-1, 1, space.size)
    np.testing.assert_allclose(np.asarray(diagonal * y), wanted @ y, rtol=0, atol=1e-11 * scale)


@pytest.mark.parametrize("name", KNOWN)
def test_diagonals_by_recursions(s, name):
    make, text = KNOWN[name]
    x = make(s)
    form = diagonal_form(x)
    assert form is not None
    assert form.pattern() <= frozenset("d")
    if text is not None:
        assert form.text() == text
    compared(s, x)
    assert all(step.cost == "O(n)" for step in sc.diag_of(x).explain().product)


@pytest.mark.parametrize("name", UNKNOWN)
def test_diagonals_column_by_column(s, name):
    x = UNKNOWN[name](s)
    assert diagonal_form(x) is None
    compared(s, x)
    assert [step.cost for step in sc.diag_of(x).explain().product] == ["O(n^2)"]


def test_diagonals_of_nodes():
    s = sc.operators(sc.load("arm7"))
    x = s.B(["link7", "link3"]).T * s.Omega * s.B(["link7", "link3"])
    assert diagonal_form(x) is not None
    compared(s, x)


def test_the_answers_follow_the_state_and_batches():
    mb = sc.random_tree(6, seed=1)
    s = sc.operators(mb)
    x = sc.diag_of(s.psi.T * s.M * s.psi)
    first = x.array()
    q = mb.integrate(mb.q, np.linspace(0.1, 0.5, mb.nv))
    several = x.at(q=np.stack([mb.q, q])).array()
    np.testing.assert_allclose(several[0], first, atol=1e-12 * np.abs(first).max())
    mb.q = q
    np.testing.assert_allclose(several[1], x.array(), atol=1e-12 * np.abs(first).max())
    compared(s, s.psi.T * s.M * s.psi)


def test_simplify_and_explain_name_the_cheaper_form():
    s = sc.operators(sc.random_tree(6, seed=1))
    assert sc.simplify(sc.diag_of(s.Omega)).text() == "Upsilon"
    assert sc.simplify(sc.diag_of(s.psi.T * s.M * s.psi)).text() == "E_psi.T.lyapunov(M)"
    assert sc.simplify(sc.diag_of(s.phi * s.M * s.phi.T)).text() == "R"
    assert "simplified: n, Upsilon" in repr(sc.diag_of(s.Omega).explain())


def test_the_compiled_program_needs_no_python():
    mb = sc.load("arm7")
    s = sc.operators(mb)
    compiled = sc.diag_of(s.psi.T * s.M * s.psi).compile()
    assert "Lyapunov: E_psi.T.lyapunov(M)" in compiled.explain().program
    q, x = mb.q + 0.3, np.linspace(0, 1, s.body.size)
    expected = sc.diag_of(s.psi.T * s.M * s.psi).at(q=q) * x
    np.testing.assert_allclose(compiled(q, None, x), expected, atol=1e-12 * np.abs(np.asarray(expected)).max())


@pytest.mark.parametrize(("parents", "in_python"), [([-1, 0, 1, 2], False), ([-1] + [0] * 30, True)])
def test_programs_form_no_pairs_of_many_siblings(parents, in_python):
    n = len(parents)
    A = lambda q: [None if p < 0 else [[np.cos(q[k])]] for k, p in enumerate(parents)]  # noqa: E731
    s = sc.operators(sc.SKOModel(parents, A, [[[1.0]]] * n, [[[1.0]]] * n, q=np.linspace(0, 1, n)))
    x = s.E_phi.T * s.M * s.E_phi
    lowered = road_of(s.binding).lowered(sc.diag_of(x))
    assert bool(lowered.outside) is in_python
    compared(s, x)


def test_only_the_diagonal_of_siblings_is_formed(monkeypatch):
    """E* Y E has a block for each pair of siblings; its diagonal needs none of the pairs."""
    n = 40
    A = [None, *np.random.default_rng(3).normal(size=(n - 1, 2, 2))]
    H, M = [[[1.0, 0.5]]] * n, [np.eye(2)] * n
    s = sc.operators(sc.SKOModel([-1] + [0] * (n - 1), A, H, M))
    times = []
    monkeypatch.setattr(Blocks, "times", lambda X, Y, work=Blocks.times: times.append(made := work(X, Y)) or made)
    assert len(sc.diag_of(s.E_psi.T * s.Upsilon * s.E_psi).solve()) == n
    assert max(len(made.entries) for made in times) < n
    compared(s, s.E_psi.T * s.Upsilon * s.E_psi)
