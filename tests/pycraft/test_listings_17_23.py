"""Listings 17 to 23 of the PyCraft paper, mended where they are misprinted, in the paper's setting and for any hinge.

Mended: H~*(i) stands for bodies i and outboard of it (Listing 17: ">=" reads "<="); phi_3 and M_3 (Listing 18, Eq. 41b
and 41d); `Dinvs`, `Hs_3` and `Hd_3` are `Dinv`, `Hsi_3` and `Hdi_3` (Listings 21, 22); `Trace{...}` (Listing 23).

The paper's setting: pins with the body frame on their axis, inertial-oriented axes.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import soacraft as sc
from soacraft.pycraft import *

STEP = 1e-3


def papers_chain(n=6, branching=0.0, seed=1):
    """Pins in general directions, each body frame at its hinge."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("pins")
    for k in range(n):
        parent = None if k == 0 else f"link{(k if rng.random() >= branching else int(rng.integers(k)) + 1)}"
        moment = np.diag(rng.uniform(0.1, 0.2, 3))
        inboard = sc.Pose.from_rpy(*rng.uniform(-1, 1, 3), translation=rng.uniform(-0.5, 0.5, 3))
        inertia = sc.Inertia(rng.uniform(1, 2), rng.uniform(-0.2, 0.2, 3), moment)
        mb.add_body(f"link{k + 1}", parent, sc.Pin(rng.standard_normal(3)), inertia, inboard)
    mb.set_state(*mb.random_state(2))
    return mb


PAPERS = {"chain": papers_chain(), "tree": papers_chain(7, 0.7, 0), "sub-graph": None}
PAPERS["sub-graph"] = PAPERS["chain"].subgraph(["link2", "link3", "link4", "link5"])
ANY = {"every hinge": sc.random_tree(13, seed=2), "two bases": sc.random_tree(8, seed=5, bases=2)}


@pytest.fixture(params=PAPERS, ids=str)
def g(request):
    return PAPERS[request.param]


def differences(g, bd3, dof=0):
    """f -> its derivative along the dof of body bd3, by central differences of order four."""
    q, e = g.q, np.eye(g.nv)[g.v_slice(bd3).start + dof]

    def along(f):
        total = 0.0
        for k, weight in ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0)):
            total = total + weight * f(g.state(q=g.integrate(q, k * STEP * e)))
        return total / (12 * STEP)

    return along


def listing_operators(g):
    """Listings 1 to 15."""
    H, Hst, ephi, M, Id = HClass(g), HStarClass(g), EPhiClass(g), MClass(g), IdClass(g)
    phi, phistar, P, epsi = SPOClass(ephi), SPOStarClass(ephi), PClass(g), EPsiClass(g)
    psi = SPOClass(epsi)
    D = H * P * Hst
    Dinv = D.inverse()
    G = P * Hst * Dinv
    K = ephi * G
    tau = G * H
    taubar = Id - tau
    Y = SKOStarClass(epsi).LyapunovRecursion(Hst * Dinv * H)
    phitilde, massmat = phi - Id, H * phi * M * phistar * Hst
    InFac, InFacInv = Id + H * phi * K, Id - H * psi * K
    return SimpleNamespace(**{name: x for name, x in locals().items() if name != "g"})


def close(found, expected):
    expected = np.asarray(expected)
    np.testing.assert_allclose(found.asArray(), expected, atol=1e-8 * max(1.0, np.abs(expected).max(initial=0.0)))


def apart(found, expected):
    """The printed form is wrong, and seen to be."""
    assert np.abs(found.asArray() - expected).max() > 1e-2


def test_listings_17_to_23(g):
    o = listing_operators(g)
    bd3 = g.bodies[2]
    slope = differences(g, bd3)

    def numeric(name):
        return slope(lambda state: getattr(listing_operators(state), name).asArray())

    # Listing 17
    Hi_3 = H_iClass(g, bd3)
    Hsi_3 = Hs_iClass(g, bd3)
    Hdi_3 = Hd_iClass(g, bd3)
    h = o.Hst[bd3][bd3][:3, 0]
    one = np.kron(np.eye(2), np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]]))
    for k, body in enumerate(g.bodies):
        outboard = g.topology.path(2, k) is not None
        np.testing.assert_allclose(Hi_3[body][body], one if outboard else 0 * one, atol=1e-14)
        np.testing.assert_allclose(Hdi_3[body][body], one if k == 2 else 0 * one, atol=1e-14)
        np.testing.assert_allclose(Hsi_3[body][body], one if outboard and k != 2 else 0 * one, atol=1e-14)

    # Listing 18
    phi_3 = Hsi_3 * o.phi - o.phi * Hi_3 + o.phi * Hdi_3 * o.phi
    M_3 = Hi_3 * o.M - o.M * Hi_3
    close(phi_3, numeric("phi"))
    close(M_3, numeric("M"))
    apart(Hdi_3 * o.phi * Hdi_3 - o.phi * Hdi_3, numeric("phi"))
    apart(Hdi_3 * o.M - o.M * Hdi_3, numeric("M"))
    # Eq. 41a and 41c
    close(Hi_3 * o.ephi - o.ephi * Hsi_3, numeric("ephi"))
    close(Hsi_3 * o.Hst, numeric("Hst"))

    # Listing 19
    massmat_3 = o.H * o.phi * (Hdi_3 * o.phi * o.M - o.M * o.phistar * Hdi_3) * o.phistar * o.Hst
    close(massmat_3, numeric("massmat"))
    assert (massmat_3.operator - o.massmat.operator.diff(bd3)).is_zero(), "Eq. 42 is massmat.diff"
    apart(-massmat_3, numeric("massmat"))

    # Listing 20
    lambda_3 = o.epsi.LyapunovRecursion(Hdi_3 * o.P - o.P * Hdi_3)
    close(lambda_3 + Hsi_3 * o.P - o.P * Hsi_3, numeric("P"))
    apart(lambda_3, numeric("P"))

    # Listing 21, and the rest of Eq. 44
    D_3 = o.H * lambda_3 * o.Hst
    G_3 = o.taubar * lambda_3 * o.Hst * o.Dinv + Hsi_3 * o.G
    tau_3 = o.taubar * lambda_3 * o.Hst * o.Dinv * o.H + Hsi_3 * o.tau - o.tau * Hsi_3
    close(D_3, numeric("D"))
    close(-o.Dinv * D_3 * o.Dinv, numeric("Dinv"))
    close(G_3, numeric("G"))
    close(tau_3, numeric("tau"))
    close(-tau_3, numeric("taubar"))
    close(Hi_3 * o.epsi - o.epsi * Hsi_3 - o.epsi * lambda_3 * o.Hst * o.Dinv * o.H, numeric("epsi"))
    close(Hsi_3 * o.psi - o.psi * Hi_3 + o.psi * Hdi_3 * o.psi
          - o.psi * o.epsi * lambda_3 * o.Hst * o.Dinv * o.H * o.psi, numeric("psi"))  # fmt: skip

    # Listing 22
    InFac_3 = o.H * o.phi * (Hdi_3 * o.phitilde * o.P + o.taubar * lambda_3) * o.Hst * o.Dinv
    InFacInv_3 = -o.H * o.psi * (Hdi_3 * o.phi * o.K + o.taubar * lambda_3 * o.Hst * o.Dinv) * o.InFacInv
    close(InFac_3, numeric("InFac"))
    close(InFacInv_3, numeric("InFacInv"))
    apart(o.H * o.phi * (Hdi_3 * o.phi * o.P + o.taubar * lambda_3) * o.Hst * o.Dinv, numeric("InFac"))

    # Listing 23, and Eq. 47
    grad_fixman_3 = 2 * Trace(o.P[bd3][bd3] * o.Y[bd3][bd3] * Hdi_3[bd3][bd3])
    gradient = slope(lambda state: np.linalg.slogdet(listing_operators(state).massmat.asArray())[1])
    np.testing.assert_allclose(grad_fixman_3, gradient, atol=1e-8)


@pytest.mark.parametrize("name", ANY)
def test_the_general_form_for_any_hinge(name):
    """G1-G12 with H_i = W, Hd_i = X, Hs_i = W - X; where the paper has -H~ for a skew matrix, its transpose stands."""
    g = ANY[name]
    o, s = listing_operators(g), sc.operators(g, axes="inertial")
    for body in g.bodies:
        for dof in range(body.hinge.nv):
            W, X, dH = s.W(body, dof), s.X(body, dof), s.dH(body, dof)
            Hi, Hsi, Hdi = (SpatialDiagonalMatrixOperator(x) for x in (W, W - X, X))
            # Listing 18 as mended holds for every hinge
            phi_i = Hsi * o.phi - o.phi * Hi + o.phi * Hdi * o.phi
            assert (phi_i.operator - o.phi.operator.diff(body, dof)).is_zero()
            assert ((Hi * o.M - o.M * Hi).operator - o.M.operator.diff(body, dof)).is_zero(1e-8)
            assert (s.H.diff(body, dof).T - W * s.H.T - dH.T).is_zero()
            # Listing 19: G5
            S = dH * s.phi * s.M * s.phi.T * s.H.T + s.H * s.phi_tilde * X * s.phi * s.M * s.phi.T * s.H.T
            assert (S + S.T - o.massmat.operator.diff(body, dof)).is_zero()
            # Listings 20 and 21: G6-G8
            lost = s.G * dH * s.P_plus
            Pi = s.E_psi.lyapunov(s.E_phi * (X * s.P_plus + s.P_plus * X.T - lost - lost.T) * s.E_phi.T)
            assert (s.P.diff(body, dof) - (W * s.P - s.P * W + Pi)).is_zero(1e-8)
            D_i = s.H * Pi * s.H.T + dH * s.P * s.H.T + s.H * s.P * dH.T
            assert (s.D.diff(body, dof) - D_i).is_zero(1e-8)
            dG0 = s.tau_bar * (Pi * s.H.T + s.P * dH.T) * s.D.inv - s.G * dH * s.G
            assert (s.G.diff(body, dof) - (W * s.G + dG0)).is_zero(1e-8)
            # Listing 22: G11
            dL = dH * s.phi_tilde * s.G + s.H * s.phi_tilde * X * s.phi * s.G + s.H * s.phi_tilde * dG0
            assert ((s.I + s.H * s.phi * s.K).diff(body, dof) - dL).is_zero(1e-8)


def test_the_gradient_of_the_fixman_potential_for_any_hinge():
    """Listing 23, G12: 2 Tr{P+ Y+ X} + 2 Tr{dH (I - P+ Y+) G}, Y+ = phi* Y(p) phi."""
    g = ANY["every hinge"]
    s = sc.operators(g, axes="inertial")
    Y_plus = sc.diag_of(s.E_phi.T * s.Upsilon * s.E_phi)
    for body in g.bodies:
        for dof in range(body.hinge.nv):
            X, dH = s.X(body, dof), s.dH(body, dof)
            gradient = 2 * (s.P_plus * Y_plus * X).trace() + 2 * (dH * (s.I - s.P_plus * Y_plus) * s.G).trace()
            by_D = (s.D.inv * s.D.diff(body, dof)).trace()
            np.testing.assert_allclose(gradient, by_D, atol=1e-9)
            if body.hinge.nv == 1:
                np.testing.assert_allclose(2 * (s.P * s.Upsilon * X).trace(), by_D, atol=1e-9)


def test_bad_bodies_are_refused_by_name():
    g = PAPERS["chain"]
    for kind in (H_iClass, Hs_iClass, Hd_iClass):
        with pytest.raises(sc.errors.ModelError, match="'link9'"):
            kind(g, "link9")


def hung_by(hinge, outboard=None):
    """A chain whose third body hangs by a hinge of any kind, its frame where it is said to be."""
    mb = sc.Multibody("odd")
    for k in range(4):
        third = k == 2
        mb.add_body(
            f"link{k + 1}", None if k == 0 else f"link{k}", hinge if third else sc.Pin([0, 0.6, 0.8]),
            sc.Inertia(1.0 + k, [0.1, 0.2, 0.3], np.diag([0.1, 0.2, 0.25])), sc.Pose(translation=[0.3, 0.1, 0.2]),
            outboard=outboard if third else None,
        )  # fmt: skip
    mb.set_state(*mb.random_state(3))
    return mb


@pytest.mark.parametrize(
    ("hinge", "outboard", "why"),
    [
        (sc.Helical([0, 0, 1], 0.1), None, "Helical"),
        (sc.Prismatic([0, 0, 1]), None, "Prismatic"),
        (sc.Pin([0, 0, 1]), sc.Pose(translation=[0.2, 0, 0.5]), "Pin.*, its frame 0.2 m off the axis"),
        (sc.Gimbal(), None, "Gimbal"),
    ],
    ids=["helical", "prismatic", "off the axis", "gimbal"],
)
def test_what_is_printed_for_pins_is_refused_for_other_hinges(hinge, outboard, why):
    """Eq. 41c, Listings 19 and 21 as printed are not the derivatives there; the general form is X.diff."""
    g = hung_by(hinge, outboard)
    for kind in (H_iClass, Hs_iClass, Hd_iClass):
        with pytest.raises(sc.errors.ModelError, match=f"'link3' has {why}.*; Listings 17 to 23 .*X.diff"):
            kind(g, "link3")
    # what would have come out, and what is right
    s, o = sc.operators(g, axes="inertial"), listing_operators(g)
    X = SpatialDiagonalMatrixOperator(s.X("link3"))
    printed = o.H * o.phi * (X * o.phi * o.M - o.M * o.phistar * X) * o.phistar * o.Hst
    slope = differences(g, g["link3"])
    right = slope(lambda state: listing_operators(state).massmat.asArray())
    apart(printed, right)
    close(o.massmat.diff("link3"), right)
    # the other hinges of the model are pins, and Listing 19 holds along them as printed
    X = Hd_iClass(g, "link2")
    printed = o.H * o.phi * (X * o.phi * o.M - o.M * o.phistar * X) * o.phistar * o.Hst
    close(printed, differences(g, g["link2"])(lambda state: listing_operators(state).massmat.asArray()))


def test_a_frame_along_the_axis_is_on_it():
    """Also where rounding has put it beside the axis."""
    for axis in ([0, 0, 1], [1, 2, 3], [0.3, -0.1, 0.7]):
        g = hung_by(sc.Pin(axis), sc.Pose(translation=0.37 * np.asarray(axis) / np.linalg.norm(axis)))
        o, X = listing_operators(g), Hd_iClass(g, "link3")
        printed = o.H * o.phi * (X * o.phi * o.M - o.M * o.phistar * X) * o.phistar * o.Hst
        assert (printed - o.massmat.diff("link3")).isZero()


def test_the_classes_are_for_rigid_trees_in_inertial_axes():
    for g in (sc.operators(PAPERS["chain"]), sc.random_sko(4, seed=1)):
        with pytest.raises(sc.errors.ModelError, match="is for a tree of rigid bodies in inertial axes"):
            Hd_iClass(g, 0)


def test_they_derive_as_printed(g):
    for kind in (H_iClass, Hs_iClass, Hd_iClass):
        assert issubclass(kind, HStarClass)
        assert isinstance(kind(g, g.bodies[2]), HStarClass)
