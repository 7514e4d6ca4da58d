"""Elements of operators: `*` is the matrix product however one was reached; operators take the signs of Python."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SingularError, SpaceError
from soacraft.pycraft import *
from soacraft.pycraft.elements import Element


@pytest.fixture
def g():
    return sc.random_tree(5, seed=1, hinges=[sc.Pin((0, 0, 1)), sc.Spherical()])


WAYS = {
    "X[o][p]": lambda X, k: X[k][k],
    "X[o, p]": lambda X, k: X[k, k],
    "X(k)": lambda X, k: X(X.operator.rows.tree.tips_to_base().index(X.operator.rows.index(k)) + 1),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_of_the_fixman_potential_as_printed(way):
    """Listing 23: 2 Trace{P(i) Y(i) H~*(i)} is the slope of log det of the mass matrix, by central differences."""
    g = sc.load("arm7")
    q = np.linspace(-0.6, 0.7, g.nq)
    get, body = WAYS[way], "link4"
    k = g.index(body)
    state = g.state(q)
    s = sc.operators(state, axes="inertial")
    Hd = SpatialDiagonalMatrixOperator(s.X(body))
    P, Y = SpatialDiagonalMatrixOperator(s.P), SpatialDiagonalMatrixOperator(s.Upsilon)
    by_listing = 2 * Trace(get(P, body) * get(Y, body) * get(Hd, body))

    def logdet(t):
        return np.linalg.slogdet(sc.dynamics.mass_matrix(g, q + t * np.eye(g.nv)[k]))[1]

    h = 1e-3
    slope = (8 * (logdet(h) - logdet(-h)) - (logdet(2 * h) - logdet(-2 * h))) / (12 * h)
    assert abs(slope) > 1e-3
    np.testing.assert_allclose(by_listing, slope, rtol=1e-8)


@pytest.mark.parametrize("way", WAYS)
def test_products_powers_and_quotients_of_elements(g, way):
    X = PClass(g)
    x, plain = WAYS[way](X, g.bodies[2].name), X.operator[g.bodies[2].name, g.bodies[2].name]
    rng = np.random.default_rng(3)
    y = rng.normal(size=(6, 6))
    np.testing.assert_allclose(x * x, plain @ plain)
    np.testing.assert_allclose(x * y, plain @ y)
    np.testing.assert_allclose(y * x, y @ plain)
    np.testing.assert_allclose(x @ y, plain @ y)
    np.testing.assert_allclose(y @ x, y @ plain)
    np.testing.assert_allclose(2 * x, 2 * plain)
    np.testing.assert_allclose(x * np.float64(0.5), plain / 2)
    np.testing.assert_allclose(x / 2, plain / 2)
    np.testing.assert_allclose(x**3, plain @ plain @ plain)
    np.testing.assert_allclose(x**-1 * x, np.eye(6), atol=1e-9)
    np.testing.assert_allclose(x * y[0], plain @ y[0])
    np.testing.assert_allclose(np.multiply(x, x), plain * plain)
    assert isinstance(x * x + x, Element)
    assert isinstance(x.T * x, Element)
    assert type(x * y[0]) is np.ndarray
    x *= y
    np.testing.assert_allclose(x, plain @ y)


def test_elements_of_a_batch_meet_vectors_of_a_batch():
    g = sc.load("arm7")
    q = np.random.default_rng(0).normal(size=(4, 7))
    X = PClass(g.state(q))
    x, w = X["link3"]["link3"], np.random.default_rng(1).normal(size=(4, 6))
    np.testing.assert_allclose(x * w, np.einsum("bij,bj->bi", np.asarray(x), w))
    np.testing.assert_allclose(x * X["link3", "link3"], np.asarray(x) @ np.asarray(x))
    six = PClass(g.state(np.zeros((6, 7))))["link3"]["link3"]
    with pytest.raises(SpaceError, match=r"may be a matrix or a vector for each of 6 states; write np.matmul"):
        six * np.eye(6)
    np.testing.assert_allclose(six * six, np.asarray(six) @ np.asarray(six))


def test_what_has_no_meaning_is_refused():
    g = sc.load("arm7")
    x, h = PClass(g)["link3"]["link3"], HClass(g)["link3"]["link3"]
    with pytest.raises(SpaceError, match=r"shape \(6, 6\) cannot be multiplied by one of shape \(1, 6\)"):
        x * h
    with pytest.raises(SpaceError, match=r"shape \(1, 6\) is not square"):
        h**2
    with pytest.raises(SpaceError, match=r"whole number, got 0\.5"):
        x**0.5
    with pytest.raises(SingularError, match="no power -1"):
        (0 * x) ** -1
    with pytest.raises(SpaceError, match="inverse of an element y is y"):
        x / x
    with pytest.raises(SpaceError, match="inverse of an element y is y"):
        1 / x
    with pytest.raises(SpaceError, match="divided by zero"):
        x / 0
    with pytest.raises(SpaceError, match=r"np.dot\(x, y\)"):
        x[0] * x[1]


def test_operators_take_the_signs_of_python(g):
    phi, ephi, x = Phi(g), EPhiClass(g), np.linspace(1, 2, Phi(g).shape[1])
    dense, kernel = phi.asArray(), ephi.asArray()
    assert phi.shape == dense.shape
    np.testing.assert_allclose((ephi**2).asArray(), kernel @ kernel, atol=1e-12)
    np.testing.assert_allclose((phi / 2).asArray(), dense / 2)
    np.testing.assert_allclose(np.asarray(phi @ x), dense @ x)
    np.testing.assert_allclose((phi @ ephi).asArray(), dense @ kernel, atol=1e-12)
    np.testing.assert_allclose((sc.operators(g, "phi", axes="inertial") @ ephi).asArray(), dense @ kernel, atol=1e-12)
    np.testing.assert_array_equal(phi(np.int64(3)), phi(3))
    np.testing.assert_array_equal(phi(np.int64(3), np.int32(1)), phi(3, 1))
    assert ((Id(g) ** 3 / 2) * phi - phi / 2).isZero()
    with pytest.raises(SpaceError, match="cannot be divided by zero"):
        phi / 0
    assert BStarClass(sc.load("panda"), np.int64(0)).shape == BStarClass(sc.load("panda"), 0).shape


def test_parts_of_vectors_by_numbers_of_numpy(g):
    np.testing.assert_array_equal(V(g)(np.int64(2)), V(g)(2))
