"""`expr.cost()`: block products as functions of the tree, the same as what `explain` lists and what runs."""

import re

import pytest
from tests.strategies import OPEN

import soacraft as sc
from soacraft.algebra.answers.cost import Count
from soacraft.algebra.descriptions.cost import multiplications
from soacraft.errors import SpaceError

I = sc.I


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.load("arm7"))


@pytest.mark.parametrize(
    ("expr", "product", "block", "array"),
    [
        (lambda s: s.H, "n", "1", "n"),
        (lambda s: s.phi, "n", "depth", "n^2"),
        (lambda s: s.E_phi * s.G, "2n", "1", "2n"),
        (mass_matrix, "5n", "depth", "n*depth"),
        (lambda s: mass_matrix(s).inv, "7n", "7n", "7n^2"),
        (lambda s: I - s.H * s.psi * s.K, "3n", "depth", "3n^2"),
        (lambda s: s.Omega, "5n", "depth", "5n^2"),
        (lambda s: s.B(["link7", "link3"]).T * s.Omega * s.B("link7"), "5n + 3", "depth", "5n^2 + 3n"),
        (lambda s: s.E_phi**3, "3n", "1", "3n"),
        (lambda s: (I + s.phi * s.phi.T).inv, "n^3", "n^3", "n^3"),
        (lambda s: s.phi.inv, "n", "1", "n"),
        (lambda s: s.D.inv, "n", "1", "n"),
        (lambda s: (s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv, "7n", "7n", "7n^2"),
        (lambda s: I.with_space(s.body), "0", "1", "0"),
        (lambda s: I, "0", "0", "0"),
    ],
)
def test_counts(s, expr, product, block, array):
    found = expr(s).cost()
    assert (repr(found.product), repr(found.block), repr(found.array)) == (product, block, array)


@pytest.mark.parametrize("identity", OPEN, ids=lambda identity: identity.name)
def test_the_cost_is_the_number_of_sweeps_that_explain_lists(identity):
    s = sc.operators(sc.random_tree(5, seed=1))
    for side in (identity.left, identity.right):
        expr = side(s)
        if isinstance(expr, sc.Operator) and expr.rows is not None and "B(" not in expr.text():
            assert int(expr.cost()) == 5 * len(expr.explain().product)


def test_at_other_sizes(s):
    found = mass_matrix(s).cost()
    assert int(found) == 35
    assert found.at(n=100) == 500
    assert found.array.at(n=100, depth=10) == 1000
    assert (found.sizes["n"], found.sizes["depth"], found.sizes["branches"]) == (7, 7, 1)
    assert sc.operators(sc.load("biped")).phi.cost().sizes["branches"] == len(sc.load("biped").branches())


def test_costs_of_one_model_are_ordered(s):
    cheap, dear = (s.H * s.psi).cost(), ((I - s.H * s.psi * s.K) * s.H * s.phi).cost()
    assert cheap < dear
    assert cheap <= dear
    assert dear > cheap
    assert dear >= cheap
    assert cheap == (s.H * s.phi).cost()
    assert cheap != dear
    assert len({cheap, (s.H * s.phi).cost()}) == 1
    assert I.cost() < cheap


def test_how_it_prints(s):
    text = "5n block products with a vector, depth for a block, n*depth for the matrix"
    assert repr(mass_matrix(s).cost()) == text


def test_explain_tells_the_cost_before_and_after(s):
    plan = ((I - s.H * s.psi * s.K) * s.H * s.phi).explain()
    assert repr(plan).splitlines()[-2] == "cost    5n block products; simplified: 2n, H*psi"
    assert repr(plan.cost.product) == "5n"
    assert plan.simplified.text() == "H*psi"
    assert repr(s.phi.explain()).splitlines()[-2] == "cost    n block products; simplify knows no cheaper form"


def test_fewer_numbers_decide_between_equal_blocks(s):
    assert multiplications(s.K * s.H) < multiplications(s.E_phi - s.E_psi)
    assert multiplications(s.M) == 7 * 36
    assert multiplications(s.E_phi) == 6 * 36
    assert multiplications(s.K) == 6 * 6


def test_polynomials_of_counts():
    n, depth = Count.of("n"), Count.of("depth")
    assert repr(2 * n * depth + n + 3) == "2n*depth + n + 3"
    assert repr(4 * depth) == "4*depth"
    assert repr(Count({})) == "0"
    assert n + n == 2 * n


def test_what_cost_refuses(s):
    def refused(text, attempt):
        with pytest.raises(SpaceError, match=f"^{re.escape(text)}$"):
            attempt()

    refused("the cost n*depth depends on n: write at(n=...).", lambda: mass_matrix(s).cost().array.at())
    refused("a cost is a function of n, depth and branches, not of m.", lambda: s.phi.cost().at(m=3))
    refused("a cost is compared with a cost, not with 3; int(cost) is a number.", lambda: s.phi.cost() < 3)
    other = sc.operators(sc.serial_chain(3)).phi.cost()
    refused(
        "costs of different trees, n=7, depth=7, branches=1 and n=3, depth=3, branches=1, are not compared; use "
        "cost.at(n=...).",
        lambda: s.phi.cost() < other,
    )
