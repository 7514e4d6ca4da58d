"""`E.lyapunov(X)` and `diag_of` as operators: values, text, what they accept and refuse."""

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SpaceError

I = sc.I


@pytest.fixture(scope="module")
def s():
    return sc.operators(sc.random_tree(6, seed=4))


def refused(text, attempt):
    with pytest.raises(SpaceError, match=f"^{re.escape(text)}$"):
        attempt()


FORWARD = {
    "E_phi.lyapunov(M)": lambda s: (s.E_phi, s.M, s.E_phi),
    "E_psi.lyapunov(M)": lambda s: (s.E_psi, s.M, s.E_psi),
    "E_phi.lyapunov(R, E_psi)": lambda s: (s.E_phi, s.R, s.E_psi),
    "E_phi.lyapunov(I)": lambda s: (s.E_phi, I, s.E_phi),
    "E_phi.lyapunov(2*I + M)": lambda s: (s.E_phi, 2 * I + s.M, s.E_phi),
    "(2*E_phi).lyapunov(tau)": lambda s: (2 * s.E_phi, s.tau, 2 * s.E_phi),
    "(E_phi*tau_bar).lyapunov(M)": lambda s: (s.E_phi * s.tau_bar, s.M, s.E_phi * s.tau_bar),
    "(E_phi - E_psi).lyapunov(M, E_phi)": lambda s: (s.E_phi - s.E_psi, s.M, s.E_phi),
    "(E_phi**1).lyapunov(M, E_phi)": lambda s: (s.E_phi**1, s.M, s.E_phi),
}


@pytest.mark.parametrize("text", FORWARD)
def test_forward(s, text):
    """X = Y - E Y E_B*."""
    E, X, other = FORWARD[text](s)
    Y = E.lyapunov(X, other)
    assert Y.text() == text
    dense_X = (X + 0 * s.M).array()
    np.testing.assert_allclose(Y.array() - E.array() @ Y.array() @ other.array().T, dense_X, atol=1e-10)
    report = sc.check_operator(Y)
    assert report.ok, report


BACKWARD = {
    "E_psi.T.lyapunov(H.T*D.inv*H)": lambda s: (s.E_psi, s.H.T * s.D.inv * s.H, s.E_psi),
    "E_phi.T.lyapunov(M, E_psi.T)": lambda s: (s.E_phi, s.M, s.E_psi),
    "(2*E_phi).T.lyapunov(I)": lambda s: (2 * s.E_phi, I, 2 * s.E_phi),
}


@pytest.mark.parametrize("text", BACKWARD)
def test_backward(s, text):
    """X = Y - diagOf(E* Y E_B)."""
    E, X, other = BACKWARD[text](s)
    Y = E.T.lyapunov(X, other.T)
    assert Y.text() == text
    inner = E.array().T @ Y.array() @ other.array()
    for k in range(len(s.body)):
        at = s.body.block(k), s.body.block(k)
        np.testing.assert_allclose(Y.array()[at] - inner[at], (X + 0 * s.M).array()[at], atol=1e-10)
    report = sc.check_operator(Y)
    assert report.ok, report


def test_the_named_solutions(s):
    assert (s.E_phi.lyapunov(s.M) - s.R).is_zero()
    assert (s.E_psi.lyapunov(s.M) - s.P).is_zero()
    assert (s.E_psi.T.lyapunov(s.H.T * s.D.inv * s.H) - s.Upsilon).is_zero()
    assert (s.E_phi.T.lyapunov(s.M, s.E_psi) - s.E_phi.T.lyapunov(s.M, s.E_psi.T)).is_zero()  # either way round


def test_R_written_as_a_solution_is_R(s):
    """The mass matrix by composite bodies is recognised when R is written out (Listings 4 and 5)."""
    R = s.E_phi.lyapunov(s.M)
    expr = s.H * (s.phi * R + R * s.phi.T - R) * s.H.T
    assert expr.explain().array.why == "000 Eq. 20, 004 Alg. 4.2"
    assert R.key() == s.R.key()
    elsewhere = s.E_phi.at(q=s.binding.graph.random_state(1)[0])
    assert elsewhere.lyapunov(s.M).key() != s.R.key()


def test_claims(s):
    assert s.E_phi.lyapunov(s.M).tags == {"symmetric", "block_diagonal"}
    assert "symmetric" not in s.E_phi.lyapunov(s.M, s.E_psi).tags
    assert "symmetric" not in s.E_phi.lyapunov(s.tau).tags


def test_what_lyapunov_refuses(s):
    kernel = "a kernel operator such as E_phi or E_psi, or its transpose, is wanted on the left."
    refused(f"phi.lyapunov: {kernel}", lambda: s.phi.lyapunov(s.M))
    refused(f"M.lyapunov: {kernel}", lambda: s.M.lyapunov(s.M))
    refused(f"K.lyapunov: {kernel}", lambda: s.K.lyapunov(s.D))
    refused(f"(I - E_phi).lyapunov: {kernel}", lambda: (I - s.E_phi).lyapunov(s.M))
    refused("E_phi.lyapunov(phi): X must be block-diagonal.", lambda: s.E_phi.lyapunov(s.phi))
    refused("E_phi.lyapunov(ndarray): X must be block-diagonal.", lambda: s.E_phi.lyapunov(np.eye(36)))
    refused("E_phi.lyapunov(int): X must be block-diagonal.", lambda: s.E_phi.lyapunov(3))
    second = "a kernel operator is wanted in the second place too."
    refused(f"E_phi.lyapunov(X, M): {second}", lambda: s.E_phi.lyapunov(s.M, s.M))
    refused(f"E_phi.lyapunov(X, K): {second}", lambda: s.E_phi.lyapunov(s.M, s.K))
    refused(f"E_phi.lyapunov(X, int): {second}", lambda: s.E_phi.lyapunov(s.M, 3))
    refused(
        f"E_phi.lyapunov(D): X maps {s.hinge} <- {s.hinge}, but body[36] <- body[36] is wanted.",
        lambda: s.E_phi.lyapunov(s.D),
    )


def test_lyapunov_of_different_models(s):
    other = sc.operators(sc.random_tree(6, seed=5))
    with pytest.raises(SpaceError, match="Operators of different models or sub-graphs cannot be mixed"):
        s.E_phi.lyapunov(other.M)
    with pytest.raises(SpaceError, match="Operators of different models or sub-graphs cannot be mixed"):
        s.E_phi.lyapunov(s.M, other.E_phi)
    inertial = sc.operators(s.binding.graph, axes="inertial")
    with pytest.raises(SpaceError, match="Bind both with the same axes"):
        s.E_phi.lyapunov(inertial.M)


# -- diag_of ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expr",
    [
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.Omega,
        lambda s: s.E_psi.T * s.Upsilon * s.E_psi,
        lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T,
        lambda s: (s.H * s.phi * s.M * s.phi.T * s.H.T).inv,
        lambda s: s.phi,
        lambda s: s.E_phi,
        lambda s: s.M,
    ],
)
def test_diag_of(s, expr):
    x = expr(s)
    found = sc.diag_of(x)
    rows, dense = x.spaces[0], x.array()
    expected = np.zeros_like(dense)
    for k in range(len(rows)):
        expected[rows.block(k), rows.block(k)] = dense[rows.block(k), rows.block(k)]
    np.testing.assert_allclose(found.array(), expected, atol=1e-10)
    assert found.text() == f"diag_of({x.text()})"
    assert "block_diagonal" in found.tags
    assert sc.check_operator(found).ok


def test_diag_of_the_identity(s):
    one = I.with_space(s.body)
    assert sc.diag_of(one) is one
    with pytest.raises(SpaceError, match="I has no size by itself"):
        sc.diag_of(I)
