"""Listings 1 to 16 of the PyCraft paper and the lines of its introduction, as printed, with the known misprints mended.

Mended: `ephil` and `eps` are `ephi` and `epsi` (Listings 2, 9), `MassMat` is `MassMatrix` (introduction), `ephistar`
and `epsistar` are created (Listings 14, 15), `massmatInv` in Listing 16 is `Dinv`, `psist` is `psistar`.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries
from tests.strategies import HINGES, parents

import soacraft as sc
from soacraft.pycraft import *
from soacraft.recursions import forward_dynamics, newton_euler


def serial_models():
    return {
        "arm7": moving(sc.load("arm7")),
        "serial, every hinge": sc.random_tree(12, seed=5, branching=0.0),
        "sub-graph": moving(sc.load("arm7")).subgraph(["link3", "link4", "link5"]),
        "flexible chain": flexible_tree((-1, 0, 1, 2, 3), 2, HINGES, (2, 0, 3)),
        "on a node that deforms": flexible_tree((-1, 0, 1, 2), 1, modes=(2, 3)).subgraph(["body1", "body2"]),
    }


def branched_models():
    return {
        "branched, every hinge": sc.random_tree(14, seed=3),
        "two bases": sc.random_tree(13, seed=4, bases=2),
        "biped": moving(sc.load("biped")),
        "flexible tree": flexible_tree((-1, 0, 0, 1, 1, 3, -1), 5, HINGES),
    }


def moving(mb):
    q, v = mb.random_state(seed=7)
    mb.set_state(q, v, np.random.default_rng(8).standard_normal(mb.nv))
    return mb


MODELS = serial_models() | branched_models()


@pytest.fixture(params=MODELS, ids=str)
def g(request):
    return MODELS[request.param]


def dense(expr):
    return expr.asArray()


def test_introduction(g):
    MassMatrix = H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g)
    InnovFactorInv = Id(g) - H(g) * Psi(g) * K(g)
    MassmatInv = InnovFactorInv.getTranspose() * Dinv(g) * InnovFactorInv
    assert (MassMatrix * MassmatInv).isIdentity()


def test_slides_of_2005(g):
    tip = g.bodies[-1]
    V = PhiStar(g) * HStar(g) * Thetadot(g)
    Jacobian = BStar(g, tip) * (PhiStar(g) * HStar(g))
    node_velocity = Jacobian * Thetadot(g)
    # the body frame is its own node: the pick-off gives its velocity, in inertial axes
    np.testing.assert_allclose(node_velocity[tip], V[tip][:6], atol=1e-12)  # rates of modes and rotors follow the six
    Betadot = np.linspace(-1, 1, g.nv)
    T = H(g) * Phi(g) * M(g) * PhiStar(g) * HStar(g) * Betadot
    again = (Id(g) - H(g) * Psi(g) * K(g)).transpose() * Dinv(g) * (Id(g) - H(g) * Psi(g) * K(g)) * T
    np.testing.assert_allclose(np.asarray(again), Betadot, atol=1e-9)


def test_listings_1_to_14(g):
    # Listing 1
    H = HClass(g)
    ephi = EPhiClass(g)
    M = MClass(g)
    # Listing 2
    Hst = HStarClass(g)
    phi = SPOClass(ephi)
    phistar = SPOStarClass(ephi)
    nodes = [g.bodies[0], g.bodies[-1]]
    bstar = BStarClass(g, nodes)
    Jac = bstar * phistar * Hst
    massmat = H * phi * M * phistar * Hst
    marray = massmat.asArray()
    assert marray.shape == (g.nv, g.nv)
    np.testing.assert_allclose(marray, dense(H) @ dense(phi) @ dense(M) @ dense(phistar) @ dense(Hst), atol=1e-10)
    # the Jacobian gives the velocities of the frames, when the anchor is at rest
    if g.bodies[0].parent is g.root:
        V_nd = Jac * g.v
        for node in nodes:
            np.testing.assert_allclose(V_nd[node], np.asarray(g.velocity(node)), atol=1e-11)
    # Listing 3
    thetaddot = np.linspace(1, -1, g.nv)
    T = H * phi * M * phistar * Hst * thetaddot
    np.testing.assert_allclose(np.asarray(T), marray @ thetaddot, atol=1e-10)
    # Listing 4
    R = ephi.LyapunovRecursion(M)
    # Listing 5
    massmat = H * (phi * R + R * phistar - R) * Hst
    np.testing.assert_allclose(massmat.asArray(), marray, atol=1e-10)
    # Listing 6
    P = PClass(g)
    # Listing 7
    D = H * P * Hst
    Dinv = D.inverse()
    G = P * Hst * Dinv
    K = ephi * G
    tau = G * H
    Id = IdClass(g)
    taubar = Id - tau
    for block_diagonal in (D, Dinv, G, tau, taubar):
        assert isinstance(block_diagonal, SpatialDiagonalMatrixOperator)
    assert isinstance(K, SpatialSquareMatrixOperator)
    assert not isinstance(K, SpatialDiagonalMatrixOperator)
    # Listing 8
    epsi = EPsiClass(g)
    assert (epsi - ephi * taubar).isZero()
    # Listing 9
    psi = SPOClass(epsi)
    psistar = SPOStarClass(epsi)
    # Listing 10
    assert ((Id - H * psi * K) * H * phi - H * psi).isZero()
    assert (D - H * psi * M * psistar * Hst).isZero()
    # Listing 11
    InFac = Id + H * phi * K
    massmat = InFac * D * InFac.getTranspose()
    np.testing.assert_allclose(massmat.asArray(), marray, atol=1e-9)
    # Listing 12
    InFacInv = Id - H * psi * K
    assert (InFac * InFacInv).isIdentity()
    # Listing 13
    massmatInv = InFacInv.getTranspose() * Dinv * InFacInv
    assert (massmat * massmatInv).isIdentity()
    np.testing.assert_allclose(massmatInv.asArray() @ marray, np.eye(g.nv), atol=1e-8)
    # Listing 14
    s = sc.operators(g, axes="inertial")
    a, b = s.a, s.b
    T = np.linspace(-2, 3, g.nv)
    ephistar = SKOStarClass(ephi)
    z = psi * (K * T + P * a + b)
    eps = T - H * z
    nu = Dinv * eps
    alpha = psistar * (Hst * nu + a)
    thetaddot = nu - G.getTranspose() * ephistar * alpha
    C = np.asarray(H * phi * (b + M * phistar * a))
    np.testing.assert_allclose(np.asarray(thetaddot), np.linalg.solve(marray, T - C), rtol=1e-8, atol=1e-8)
    ends = np.cumsum([s.sko.H(k).shape[0] for k in range(len(g))])[:-1]  # of hinges with their modes
    forces = np.split(T[:, None], ends)
    by_recursion = forward_dynamics(s.sko, forces).vdot
    np.testing.assert_allclose(
        np.asarray(thetaddot), np.concatenate([by_recursion[k][:, 0] for k in range(len(g))]), rtol=1e-9, atol=1e-9
    )
    back = newton_euler(s.sko, np.split(np.asarray(thetaddot)[:, None], ends)).T
    np.testing.assert_allclose(np.concatenate([back[k][:, 0] for k in range(len(g))]), T, atol=1e-8)


@st.composite
def flexible_trees(draw, serial=False):
    """All hinges, several children on several nodes that deform, modes 0 to 6, rotors, with phi2 or without."""
    modes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any))
    tree = draw(parents(max_size=4, serial=serial))
    return flexible_tree(tree, draw(st.integers(0, 99)), HINGES, tuple(modes), geometric=draw(st.booleans()))


@tries(10)
@given(g=flexible_trees())
def test_listings_1_to_14_on_random_flexible_trees(g):
    test_introduction(g)
    test_listings_1_to_14(g)


@tries(10)
@given(g=flexible_trees(serial=True))
def test_listings_15_and_16_on_random_flexible_chains(g):
    H, Hst, epsi = HClass(g), HStarClass(g), EPsiClass(g)
    psi, psistar, epsistar = SPOClass(epsi), SPOStarClass(epsi), SKOStarClass(epsi)
    Dinv = (H * PClass(g) * Hst).inverse()
    Y = epsistar.LyapunovRecursion(Hst * Dinv * H)
    assert (psistar * Hst * Dinv * H * psi - (psistar * Y + Y * psi - Y)).isZero()


@pytest.mark.parametrize("g", serial_models().values(), ids=serial_models())
def test_listings_15_and_16(g):
    H, Hst, ephi = HClass(g), HStarClass(g), EPhiClass(g)
    epsi = EPsiClass(g)
    psi, psistar, epsistar = SPOClass(epsi), SPOStarClass(epsi), SKOStarClass(epsi)
    Dinv = (H * PClass(g) * Hst).inverse()
    # Listing 15
    Y = epsistar.LyapunovRecursion(Hst * Dinv * H)
    # Listing 16
    Omega = psistar * Hst * Dinv * H * psi
    assert (Omega - (psistar * Y + Y * psi - Y)).isZero()
    # as printed it is wrong
    InFacInv = IdClass(g) - H * psi * (ephi * PClass(g) * Hst * Dinv)
    massmatInv = InFacInv.getTranspose() * Dinv * InFacInv
    with pytest.warns(UserWarning, match="Listing 16 prints massmatInv there, which is a misprint: write Omega"):
        printed = psistar * Hst * massmatInv * H * psi
    assert not (printed - (psistar * Y + Y * psi - Y)).isZero()


@pytest.mark.parametrize("g", branched_models().values(), ids=branched_models())
def test_listing_16_needs_a_serial_chain(g):
    """On a tree the unrelated bodies add a remainder (004 Lemma 5); the diagonal blocks are Upsilon all the same."""
    H, Hst, epsi = HClass(g), HStarClass(g), EPsiClass(g)
    psi, psistar = SPOClass(epsi), SPOStarClass(epsi)
    Dinv = (H * PClass(g) * Hst).inverse()
    Y = SKOStarClass(epsi).LyapunovRecursion(Hst * Dinv * H)
    Omega = psistar * Hst * Dinv * H * psi
    assert not (Omega - (psistar * Y + Y * psi - Y)).isZero()
    for body in g.bodies:
        np.testing.assert_allclose(Omega[body][body], Y[body][body], atol=1e-11)


def test_elements(g):
    phi, V = SPOClass(EPhiClass(g)), PhiStar(g) * HStar(g) * Thetadot(g)
    o, p = g.bodies[0], g.bodies[-1]
    blocks, (rows, columns) = phi.asArray(), phi[o][p].shape
    np.testing.assert_allclose(phi[o][p], blocks[:rows, -columns:], atol=1e-13)
    np.testing.assert_array_equal(phi[o.name][o.name], np.eye(rows))
    np.testing.assert_array_equal(V[p], np.asarray(V)[-columns:])


def test_phi_is_printed_as_in_eq_4():
    """In the papers' axes phi(o, p) is [[I, l~], [0, I]], l from o to p in inertial axes."""
    g = moving(sc.load("arm7"))
    o, p = g["link2"], g["link6"]
    block = Phi(g)[o][p]
    l = g.pose(p).translation - g.pose(o).translation
    np.testing.assert_array_equal(block[:3, :3], np.eye(3))
    np.testing.assert_array_equal(block[3:, :3], np.zeros((3, 3)))
    np.testing.assert_allclose(block[:3, 3:], np.cross(l, np.eye(3)).T, atol=1e-14)
    np.testing.assert_array_equal(block[3:, 3:], np.eye(3))
