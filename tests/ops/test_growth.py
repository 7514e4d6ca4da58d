"""The work of every kind of step that `explain` names grows as the step claims. Counted, not timed.

Work is a polynomial in the number n of bodies, so that the ratio of two differences, w(4n) - w(2n) and w(2n) - w(n), is
2 for O(n), 4 for O(n^2) and 8 for O(n^3), whatever is constant.
"""

import re

import numpy as np
import pytest
from tests.ops.counted import Counted, installed, work

import soacraft as sc
from soacraft.algebra.answers.explanation import KINDS, Step
from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import SpaceError, StructureError
from soacraft.model.flat.sko import SKOModel
from soacraft.recursions import forward_dynamics, mass_matrix

SIZES = 12, 24, 48
#: The least and the largest ratio of each claim on a chain; on other trees less is allowed.
RATIOS = {
    "O(n)": (1.8, 2.2),
    "O(1) to O(n)": (0.0, 2.2),
    "O(n) or less": (0.0, 2.2),
    "O(n^2)": (3.0, 4.4),
    "O(N^2)": (3.0, 4.4),
    "O(n N)": (3.0, 4.4),
    "O(N^3)": (6.0, 8.8),
}
TREES = {
    "chain": lambda k: k - 1,
    "star": lambda k: 0 if k else -1,
    "binary": lambda k: (k - 1) // 2 if k else -1,
}


def sko(n, parent):
    """A random model of n bodies whose blocks count; they have a batch axis, so that Python runs the recursions."""
    rng = np.random.default_rng(1)
    parents = [parent(k) for k in range(n)]

    def block(x):
        return x[None].view(Counted)

    A = [None if p < 0 else block(np.eye(2) + 0.1 * rng.normal(size=(2, 2))) for p in parents]
    H, M = ([block(x) for _ in parents] for x in (np.array([[1.0, 0.5]]), np.eye(2) + 0.1))
    return SKOModel.trusted(Tree(parents), A, H, M)


def moving(n, parent):
    """A model of functions of q."""
    parents = [parent(k) for k in range(n)]

    def A(q):
        return [None if p < 0 else np.cos(q[..., k, None, None]).view(Counted) for k, p in enumerate(parents)]

    ones = [np.ones((1, 1)) for _ in parents]
    return sc.SKOModel(parents, A, ones, ones, q=np.zeros(n))


def times_one(x):
    return lambda: x.apply(np.ones((x.spaces[1].size, 1)))


def crba(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def unknown_inverse(s):
    return (sc.I + s.phi * s.phi.T).inv


def dense(s):
    return sc.matrix(s.M, np.arange(s.body.size**2).reshape(s.body.size, -1), "Z")


def dear(s):
    return sc.diag_of(s.phi.T * s.phi * s.M * s.phi)


#: Kind and claim -> (expression of a namespace, which step of its plan, what is run).
CASES = {
    ("diagonal", "O(n)"): [
        (lambda s: s.M, "product", times_one),
        (lambda s: s.P, "product", times_one),
        (lambda s: s.Upsilon, "product", times_one),
        (lambda s: s.D.inv, "product", times_one),
        (lambda s: s.E_phi.lyapunov(s.M), "product", times_one),
        (lambda s: s.E_psi.T.lyapunov(s.M), "product", times_one),
        (lambda s: sc.diag_of(s.psi.T * s.M * s.psi), "product", times_one),
        (lambda s: sc.diag_of(s.phi.T * s.M * s.psi), "product", times_one),
        (lambda s: sc.diag_of(s.Omega), "product", times_one),
        (lambda s: sc.diag_of(crba(s)), "product", times_one),
        (lambda s: sc.diag_of(crba(s).inv), "product", times_one),
        (lambda s: sc.diag_of(s.phi_tilde * s.M * s.phi_tilde.T), "product", times_one),
        (lambda s: sc.diag_of(s.phi * s.R * s.psi.T * s.tau), "product", times_one),
        (lambda s: sc.diag_of(s.E_psi.T * s.Upsilon * s.E_psi), "product", times_one),
        (lambda s: sc.diag_of(s.E_phi.T * s.E_phi * s.M), "product", times_one),
        (lambda s: (s.M + s.R).sqrt(), "product", times_one),
        (lambda s: (s.M + s.R).cholesky(), "product", times_one),
    ],
    ("edges", "O(n)"): [(lambda s: s.K, "product", times_one), (lambda s: s.E_psi, "product", times_one)],
    ("pick-off", "O(n)"): [(lambda s: s.B(list(s.body.labels)), "product", times_one)],
    ("gather", "O(n)"): [(lambda s: s.phi, "product", times_one), (lambda s: s.psi_tilde, "product", times_one)],
    ("scatter", "O(n)"): [(lambda s: s.psi.T, "product", times_one)],
    ("gather, diagonal, scatter", "O(n)"): [
        (lambda s: (s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv, "product", times_one)
    ],
    ("columns", "O(n^2)"): [
        (dear, "product", times_one),
        (dear, "block", lambda x: lambda: x[0, 0]),
        (dear, "array", lambda x: x.array),
    ],
    ("dense", "O(N^2)"): [(dense, "product", times_one)],
    ("dense", "O(N^3)"): [(unknown_inverse, "array", lambda x: x.array)],
    ("look-up", "O(1) to O(n)"): [
        (lambda s: s.E_phi * s.G, "block", lambda x: lambda: x[0, 1]),
        (lambda s: sc.diag_of(s.Omega), "block", lambda x: lambda: x[1, 1]),
    ],
    ("path", "O(n) or less"): [
        (lambda s: s.phi, "block", lambda x: lambda: x[0, -1]),
        (lambda s: s.Omega, "block", lambda x: lambda: x[0, -1]),
        (crba, "block", lambda x: lambda: x[0, -1]),
    ],
    ("column", "O(n)"): [
        (lambda s: crba(s).inv, "block", lambda x: lambda: x[0, -1]),
        (lambda s: s.phi * s.phi, "block", lambda x: lambda: x[0, -1]),
    ],
    ("recursion", "O(N^2)"): [(crba, "array", lambda x: x.array)],
    ("fill in", "O(N^2)"): [(lambda s: s.M, "array", lambda x: x.array)],
    ("sweeps", "O(n N)"): [(lambda s: s.phi, "array", lambda x: x.array)],
}
LISTED = [(kind, cost, *case) for (kind, cost), cases in CASES.items() for case in cases]


#: Steps with tests of their own below.
APART = {("sparse", "O(n)"), ("kernel", "O(n)"), ("kernel", "O(N^2)"), ("refused", "")}


@pytest.fixture
def counting(monkeypatch):
    installed(monkeypatch)


def grown(run_at):
    """Growth of the differences of the counts grow, of numbers and of lines; 0 for a count that stays the same."""
    counts = []
    run_at(SIZES[0])()  # imports, and what is kept with the classes
    for n in SIZES:
        run = run_at(n)
        with work() as done:
            run()
        counts.append((done.numbers, done.lines))
    return [(c - b) / max(b - a, 1) for a, b, c in zip(*counts, strict=True)]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize(("kind", "cost", "make", "part", "run"), LISTED)
def test_a_step_grows_as_it_claims(counting, tree, kind, cost, make, part, run):
    plan = make(sc.operators(sko(12, TREES[tree]))).explain()
    step = plan.product[0] if part == "product" else getattr(plan, part)
    assert (step.kind, step.cost) == (kind, cost)
    growth = grown(lambda n: run(make(sc.operators(sko(n, TREES[tree])))))
    least, largest = RATIOS[cost]
    assert max(growth) <= largest
    if tree == "chain":
        assert max(growth) >= least


def test_every_kind_of_step_has_its_growth_measured():
    claimed = {(kind, cost) for kind, costs in KINDS.items() for cost in costs}
    assert claimed == set(CASES) | APART


def test_a_step_of_no_known_kind_or_cost_is_refused():
    for kind, cost in (("guess", "O(n)"), ("gather", "O(1)")):
        with pytest.raises(SpaceError, match=f"{kind!r} with the cost {re.escape(repr(cost))}, of phi, is none"):
            Step(kind, "phi", cost, "")


@pytest.mark.parametrize("tree", TREES)
def test_blocks_of_derivatives_that_are_kept(counting, tree):
    def expression(n):
        s = sc.operators(moving(n, TREES[tree]))
        return s.K.dot().at(q=np.zeros((1, n)))

    step = expression(12).explain().product[0]
    assert (step.kind, step.cost) == ("sparse", "O(n)")
    assert max(grown(lambda n: times_one(expression(n)))) <= RATIOS["O(n)"][1]


@pytest.mark.parametrize("tree", TREES)
def test_kernels_by_the_recursions_they_compile(counting, tree):
    """Forward dynamics for a product with the inverse of the mass matrix, composite bodies for the matrix."""
    mass = crba(sc.operators(sc.serial_chain(3)))
    plan = mass.inv.compile().explain()
    assert (plan.product[0].kind, plan.product[0].cost) == ("kernel", "O(n)")
    plan = mass.compile().explain()
    assert (plan.array.kind, plan.array.cost) == ("kernel", "O(N^2)")

    def dynamics(n):
        model = sko(n, TREES[tree])
        return lambda: forward_dynamics(model, [np.ones((1, 1, 1))] * n)

    def matrix(n):
        model = sko(n, TREES[tree])
        return lambda: mass_matrix(model, sc.operators(model).R.blocks().diagonal())

    assert max(grown(dynamics)) <= RATIOS["O(n)"][1]
    assert max(grown(matrix)) <= RATIOS["O(N^2)"][1]


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("name", ["P", "D", "Upsilon", "E_psi"])
def test_derivatives_of_sparse_operators(counting, tree, name):
    """The diagonal of E* Y dE is taken for Upsilon: its other blocks are as many as pairs of siblings."""

    def expression(n):
        return getattr(sc.operators(moving(n, TREES[tree])), name).dot().at(q=np.zeros((1, n)))

    assert {step.cost for step in expression(12).explain().product} == {"O(n)"}
    assert max(grown(lambda n: times_one(expression(n)))) <= RATIOS["O(n)"][1]


def test_a_refused_block_is_refused():
    x = unknown_inverse(sc.operators(sc.random_sko(4, seed=1)))
    assert (x.explain().block.kind, x.explain().block.cost) == ("refused", "")
    with pytest.raises(StructureError, match="no structured inverse"):
        x[0, 0]
