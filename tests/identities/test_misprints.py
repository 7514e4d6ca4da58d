"""Forms as printed in the papers that are not true, and close relatives of true ones: `verify` rejects them."""

import pytest

import soacraft as sc
from soacraft.ops.identities import innovations_inverse, mass_matrix

I = sc.I


def lyapunov(s):
    return s.E_phi.T.lyapunov(s.M, s.E_psi.T)


PRINTED = {
    "000 Eq. 25, with the trailing + M": (
        lambda s: s.M,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * (s.H * s.P * s.H.T).inv * s.H) * s.P * s.E_phi.T + s.M,
    ),
    "004 Eq. 36, last term E_A P E_A*": (lambda s: s.M, lambda s: s.P - s.E_phi * s.P * s.E_phi.T),
    "004 Eq. 37, K = E_psi G": (lambda s: s.K, lambda s: s.E_psi * s.G),
    "000 Listing 16, with massmatInv for Dinv": (
        lambda s: s.Omega,
        lambda s: s.psi.T * s.H.T * mass_matrix(s).inv * s.H * s.psi,
    ),
    "000 Eq. 35, on a tree": (lambda s: s.Omega, lambda s: s.psi.T * s.Upsilon + s.Upsilon * s.psi - s.Upsilon),
    "000 Eq. 37, on a tree": (
        lambda s: s.H.T * s.D.inv * s.H,
        lambda s: s.Upsilon - s.E_psi.T * s.Upsilon * s.E_psi,
    ),
    "004 Eq. 27, on a tree": (
        lambda s: s.phi.T * s.M * s.psi,
        lambda s: lyapunov(s) + s.phi_tilde.T * lyapunov(s) + lyapunov(s) * s.psi_tilde,
    ),
    "004 Cor. 3.1, proof": (lambda s: s.phi_tilde, lambda s: s.phi_tilde * s.phi_tilde - I),
    "004 Eq. 47, proof: A~K": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi_tilde * s.K * s.H * s.P * s.phi_tilde.T,
    ),
    "004 Eq. 47, proof: P A*": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.P + s.phi_tilde * s.P + s.P * s.phi.T + s.phi * s.K * s.D * s.K.T * s.phi.T,
    ),
    "004 Eq. 51, proof: inverse of the last factor": (
        lambda s: mass_matrix(s).inv,
        lambda s: innovations_inverse(s).T * s.D.inv * innovations_inverse(s).inv,
    ),
    "004 Cor. 6.1, proof: I - H A K": (lambda s: I - s.H * s.phi * s.K, lambda s: (I - s.H * s.psi * s.K).inv),
    "a sign in P+": (lambda s: s.P_plus, lambda s: s.P + s.G * s.H * s.P),
    "phi for phi~": (lambda s: s.phi * s.M * s.phi.T, lambda s: s.phi * s.R + s.R * s.phi.T),
}

TRUE = {
    "000 Eq. 25": (
        lambda s: s.M,
        lambda s: s.P - s.E_phi * (I - s.P * s.H.T * (s.H * s.P * s.H.T).inv * s.H) * s.P * s.E_phi.T,
    ),
    "004 Eq. 36": (lambda s: s.M, lambda s: s.P - s.E_phi * s.P_plus * s.E_phi.T),
    "004 Eq. 37": (lambda s: s.K, lambda s: s.E_phi * s.G),
    "000 Listing 16": (lambda s: s.Omega, lambda s: s.psi.T * s.H.T * s.D.inv * s.H * s.psi),
    "004 Eq. 47, proof": (
        lambda s: s.phi * s.M * s.phi.T,
        lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.H * s.P * s.phi_tilde.T,
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_not_true_is_rejected(name):
    found = sc.verify(*PRINTED[name])
    assert not found.ok
    assert found.worst[1] > 1e-2
    assert repr(found).startswith("not equal on ")


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_what_is_not_true_is_rejected_on_one_tree_in_all_axes(name, axes):
    assert not sc.verify(*PRINTED[name], on=sc.operators(sc.random_tree(7, seed=4), axes=axes)).ok


@pytest.mark.parametrize("name", TRUE)
def test_what_should_have_been_printed_is_accepted(name):
    found = sc.verify(*TRUE[name])
    assert found.ok, found


def test_determinants_see_a_wrong_factor():
    """det(I + H phi K) = 1, while det(2I + H phi K) is not."""
    import numpy as np

    s = sc.operators(sc.random_tree(6, seed=3))
    true, false = ((c * I + s.H * s.phi * s.K).array() for c in (1, 2))
    assert np.isclose(np.linalg.det(true), 1.0)
    assert not np.isclose(np.linalg.det(false), 1.0)
