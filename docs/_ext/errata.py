"""Misprints of the papers: what is printed, what is true, and a witness.

A witness is either a comparison, made when the documentation is built and in the tests, of both forms with what they
should be, or the reason that makes the printed form unusable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import soacraft as sc
from soacraft.ops.verify import difference

I = sc.I
Form = Callable[[Any], Any]


class Compared(NamedTuple):
    """Both forms on a model, and what they should be; None where the printed form cannot even be written."""

    on: str
    wanted: Form
    printed: Form | None
    true: Form

    def errors(self) -> tuple[float | None, float]:
        """The relative errors of the printed and of the true form; None for one that is refused."""
        s = models()[self.on]
        wanted = self.wanted(s)
        try:
            wrong = None if self.printed is None else difference(self.printed(s), wanted)
        except sc.errors.SpaceError:
            wrong = None
        return wrong, difference(self.true(s), wanted)


class Erratum(NamedTuple):
    """One misprint: where, what is printed, what is true, and the witness."""

    place: str
    printed: str
    true: str
    witness: Compared | str


@cache
def models() -> dict[str, Any]:
    """A branched tree with every kind of hinge, and a chain of pins with each body frame on its axis."""
    tree, chain = sc.random_tree(7, seed=3), sc.load("arm7")
    chain.set_state(*chain.random_state(seed=2))
    return {"tree": sc.operators(tree, axes="inertial"), "chain": sc.operators(chain, axes="inertial")}


def witness(one: Compared | str) -> str:
    """In words for the page."""
    if isinstance(one, str):
        return one
    wrong, right = one.errors()
    printed = "cannot be formed" if wrong is None else f"off by {wrong:.0e}"
    return f"printed: {printed}; mended: {right:.0e} (on a {one.on})"


def mass_matrix(s: Any) -> Any:
    """H phi M phi* H*."""
    return s.H * s.phi * s.M * s.phi.T * s.H.T


def inverse(s: Any) -> Any:
    """The inverse of the mass matrix, Eq. 30."""
    return factor_inverse(s).T * s.D.inv * factor_inverse(s)


def factor(s: Any) -> Any:
    """I + H phi K."""
    return I + s.H * s.phi * s.K


def factor_inverse(s: Any) -> Any:
    """I - H psi K."""
    return I - s.H * s.psi * s.K


def upsilon_form(s: Any) -> Any:
    """Eq. 35."""
    return s.psi.T * s.Upsilon + s.Upsilon * s.psi - s.Upsilon


BODY = "link3"


def le(s: Any) -> Any:
    """H~ for bodies k <= i."""
    return s.W(BODY)


def lt(s: Any) -> Any:
    """H~ for bodies k < i."""
    return s.W(BODY) - s.X(BODY)


def eq(s: Any) -> Any:
    """H~ for body i."""
    return s.X(BODY)


def ge(s: Any) -> Any:
    """H~ for bodies k >= i, as printed: bodies inboard of i and i itself."""
    block = np.asarray(s.X(BODY)[BODY, BODY])
    bodies = [f"link{k}" for k in range(1, int(BODY[4:]) + 1)]
    return s.block_diagonal("W_ge", dict.fromkeys(bodies, block), space="body")


def own_axes(s: Any) -> Any:
    """Eq. 40 as printed: H~*(k) of body k's own axis in slot k <= i."""
    bodies = [f"link{k}" for k in range(int(BODY[4:]), 8)]
    return s.block_diagonal("W_own", {b: np.asarray(s.X(b)[b, b]) for b in bodies}, space="body")


def slope(name: str) -> Form:
    """The derivative of a named operator along the third hinge."""
    return lambda s: getattr(s, name).diff(BODY)


def lam(s: Any) -> Any:
    """Eq. 43."""
    return s.E_psi.lyapunov(eq(s) * s.P - s.P * eq(s))


def moment(s: Any, first: bool) -> Any:
    """M(k) of a body by Eq. 14, with p the centre of mass, or with p read as the first moment m c."""
    inertia = s.binding.graph["link4"].inertia
    m, c = inertia.mass, np.asarray(inertia.com)
    p = m * c if first else c
    cross = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
    J = sc.operators(s.binding.graph).M["link4", "link4"][:3, :3]
    return np.block([[J, m * cross], [-m * cross, m * np.eye(3)]])


ERRATA: tuple[Erratum, ...] = (
    # -- the PyCraft paper ----------------------------------------------------------------------------------------
    Erratum("000 Eq. 2, first line", "M = H phi Mcal phi* H*", "Mcal = H phi M phi* H*",
            "the sizes do not meet: the mass matrix is N x N, the middle factor 6n x 6n"),
    Erratum("000 Eq. 2, text", "G = P H D^-1", "G = P H* D^-1",
            Compared("tree", lambda s: s.G, lambda s: s.P * s.H * s.D.inv, lambda s: s.P * s.H.T * s.D.inv)),
    Erratum("000 Eq. 9, text", "its 1-resolvent (I - E_phi)", "its 1-resolvent is (I - E_phi)^-1",
            Compared("tree", lambda s: s.phi, lambda s: I - s.E_phi, lambda s: (I - s.E_phi).inv)),
    Erratum("000 Eq. 10, text", "the recursion of Eq. 5", "the recursion of Eq. 3",
            "Eq. 5 defines the stacked vectors"),
    Erratum("000 Eq. 14, text", "p(k) is the first moment", "p(k) is the vector to the centre of mass",
            Compared("chain", lambda s: np.asarray(sc.operators(s.binding.graph).M["link4", "link4"]),
                     lambda s: moment(s, True), lambda s: moment(s, False))),
    Erratum("000 Eq. 16, 21", "the letter of the mass matrix for the spatial inertias, and the other way round",
            "Mcal = H phi M phi* H*, M = R - E_phi R E_phi*", "the sizes of the two sides"),
    Erratum("000 Eq. 25", "M = P - E_phi (I - P H* (H P H*)^-1 H) P E_phi* + M", "without the last term",
            Compared("tree", lambda s: s.M,
                     lambda s: s.P - s.E_phi * (I - s.P * s.H.T * s.D.inv * s.H) * s.P * s.E_phi.T + s.M,
                     lambda s: s.P - s.E_phi * (I - s.P * s.H.T * s.D.inv * s.H) * s.P * s.E_phi.T)),
    Erratum("000 Eq. 35", "Omega = psi* Y + Y psi - Y (said of serial chains)",
            "on a tree Omega = psi* Y + Y psi - Y + R, R the remainder of 004 Eq. 21",
            Compared("tree", lambda s: s.Omega, upsilon_form,
                     lambda s: upsilon_form(s) + s.E_psi.T.remainder(s.H.T * s.D.inv * s.H))),
    Erratum("000 Eq. 37", "H* D^-1 H = Y - E_psi* Y E_psi (said of serial chains)",
            "on a tree Y - diagOf(E_psi* Y E_psi)",
            Compared("tree", lambda s: s.H.T * s.D.inv * s.H,
                     lambda s: s.Upsilon - s.E_psi.T * s.Upsilon * s.E_psi,
                     lambda s: s.Upsilon - sc.diag_of(s.E_psi.T * s.Upsilon * s.E_psi))),
    Erratum("000 Eq. 38", "i, j, k = 1 ... n, the number of bodies", "i, j, k = 1 ... N, the number of dofs",
            "a hinge may have several dofs; with quasi-velocities (ball, free) the symbols are not defined"),
    Erratum("000 Eq. 40", "diag{ H~*(k) } for k <= i, k < i", "diag{ H~*(i) }: the axis of the hinge that moves",
            Compared("chain", slope("M"), lambda s: own_axes(s) * s.M - s.M * own_axes(s),
                     lambda s: le(s) * s.M - s.M * le(s))),
    Erratum("000 Eq. 41a", "H~(>= i) E_phi - E_phi H~(< i)", "H~(<= i) E_phi - E_phi H~(< i)",
            Compared("chain", slope("E_phi"), lambda s: ge(s) * s.E_phi - s.E_phi * lt(s),
                     lambda s: le(s) * s.E_phi - s.E_phi * lt(s))),
    Erratum("000 Eq. 41b", "phi H~(>= i) phi - phi H~(< i)", "H~(< i) phi - phi H~(<= i) + phi H~(= i) phi",
            Compared("chain", slope("phi"), lambda s: s.phi * ge(s) * s.phi - s.phi * lt(s),
                     lambda s: lt(s) * s.phi - s.phi * le(s) + s.phi * eq(s) * s.phi)),
    Erratum("000 Eq. 41d", "H~(>= i) M - M H~(>= i)", "H~(<= i) M - M H~(<= i)",
            Compared("chain", slope("M"), lambda s: ge(s) * s.M - s.M * ge(s), lambda s: le(s) * s.M - s.M * le(s))),
    Erratum("000 Eq. 41c, 42, 44", "for rotary hinges of one dof",
            "for pins with the body frame on the axis; else the general form, `expr.diff(body)`",
            "helical, sliding, offset and several-dof hinges give other numbers; `soacraft.pycraft` refuses them"),
    Erratum("000 Eq. 43, text", "lambda is the sensitivity of P", "[P]_i = lambda + H~(< i) P - P H~(< i)",
            Compared("chain", slope("P"), lam, lambda s: lam(s) + lt(s) * s.P - s.P * lt(s))),
    Erratum("000 Eq. 44f", "H~(< i) E_psi - E_psi H~(< i) - E_psi lambda H* D^-1 H",
            "H~(<= i) E_psi - E_psi H~(< i) - E_psi lambda H* D^-1 H",
            Compared("chain", slope("E_psi"),
                     lambda s: lt(s) * s.E_psi - s.E_psi * lt(s) - s.E_psi * lam(s) * s.H.T * s.D.inv * s.H,
                     lambda s: le(s) * s.E_psi - s.E_psi * lt(s) - s.E_psi * lam(s) * s.H.T * s.D.inv * s.H)),
    Erratum("000 Eq. 47", "U = log det Mcal", "kT/2 log det Mcal is the potential: `fixman_potential` has the factor",
            "`log_det_mass_matrix` is the printed Eq. 47"),
    Erratum("000 introduction", "`MassMat * MassmatInv`", "`MassMatrix * MassmatInv`", "no line makes `MassMat`"),
    Erratum("000 Listing 2", "`SPOClass(ephil)`; comment: B", "`SPOClass(ephi)`; B*", "no line makes `ephil`"),
    Erratum("000 Listing 5", "comment: Eq. 16", "Eq. 20", "Eq. 16 is the form without R"),
    Erratum("000 Listing 9", "`SPOClass(eps)`", "`SPOClass(epsi)`", "no line makes `eps` before Listing 14"),
    Erratum("000 Listing 14", "`ephistar`", "`ephistar = SKOStarClass(ephi)`", "no line makes it"),
    Erratum("000 Listing 15", "`epsistar`", "`epsistar = SKOStarClass(epsi)`", "no line makes it"),
    Erratum("000 Listing 16", "`psistar * Hst * massmatInv * H * psi`, `psist`",
            "`psistar * Hst * Dinv * H * psi`, `psistar`",
            Compared("chain", lambda s: s.Omega, lambda s: s.psi.T * s.H.T * inverse(s) * s.H * s.psi,
                     lambda s: s.psi.T * s.H.T * s.D.inv * s.H * s.psi)),
    Erratum("000 Listing 17", "comment: H~(>= i)", "H~(<= i)", "as Eq. 41a"),
    Erratum("000 Listing 18, phi_3", "`Hdi_3 * phi * Hdi_3 - phi * Hdi_3`",
            "`Hsi_3 * phi - phi * Hi_3 + phi * Hdi_3 * phi`",
            Compared("chain", slope("phi"), lambda s: eq(s) * s.phi * eq(s) - s.phi * eq(s),
                     lambda s: lt(s) * s.phi - s.phi * le(s) + s.phi * eq(s) * s.phi)),
    Erratum("000 Listing 18, M_3", "`Hdi_3 * M - M * Hdi_3`", "`Hi_3 * M - M * Hi_3`",
            Compared("chain", slope("M"), lambda s: eq(s) * s.M - s.M * eq(s), lambda s: le(s) * s.M - s.M * le(s))),
    Erratum("000 Listing 21", "`Dinvs`, `Hs_3`; comments: Eq. 43", "`Dinv`, `Hsi_3`; Eq. 44a, 44c",
            "no line makes them"),
    Erratum("000 Listing 22", "`Hd_3`, `Dinvs`, `phitilde`", "`Hdi_3`, `Dinv`, `phitilde = phi - Id`",
            "no line makes them"),
    Erratum("000 Listing 23", "`Trace{P(3) * Y(3) * Hd_3(3)}`", "`Trace(P(3) * Y(3) * Hdi_3(3))`", "not Python"),
    # -- the slides ---------------------------------------------------------------------------------------------------
    Erratum("001, hinge pose", "d(+T_O)/dt = [[w~, v], [0, 0]]", "[[w~ R, v], [0, 0]], w and v in axes of O+",
            "the derivative of a rotation R is w~ R; the slide's form holds at R = I"),
    Erratum("002, operational space", "Lambda^-1 = B*(0) Y(0) B(0)", "B*(k) Y(k) B(k) for one node, on body k",
            "bodies are numbered from 1; 0 stands for the body that carries the node"),
    Erratum("002, last identity", "psi* H* D^-1 H psi = Y + psi~* Y + Y psi~", "so on serial chains; on trees + R",
            Compared("tree", lambda s: s.Omega,
                     lambda s: s.Upsilon + s.psi_tilde.T * s.Upsilon + s.Upsilon * s.psi_tilde,
                     lambda s: upsilon_form(s) + s.E_psi.T.remainder(s.H.T * s.D.inv * s.H))),
    Erratum("002, closed chains", "I - B* Omega^-1 B", "I - b* (b b*)^-1 b, b = Q B* psi* H* D^-1/2",
            "B and Omega of that slide are b and b b*, not the pick-off and compliance operators; T is T - C there"),
    # -- the SKO-models paper ----------------------------------------------------------------------------------
    Erratum("004 Cor. 3.1, proof", "y = A~ x = A~ ybar - x, ybar = A~ x", "y = A~ x = ybar - x, ybar = A x",
            Compared("tree", lambda s: s.phi_tilde, lambda s: s.phi_tilde * s.phi_tilde - I, lambda s: s.phi - I)),
    Erratum("004 Eq. 17, 18", "a tilde on R; the letters M and Mcal", "Mcal = H R H* + H A~ R H* + H R A~* H*",
            Compared("tree", mass_matrix, None, lambda s: s.H * s.R * s.H.T + s.H * s.phi_tilde * s.R * s.H.T
                     + s.H * s.R * s.phi_tilde.T * s.H.T)),
    Erratum("004 Algorithm 4.2", "while j", "while the parent of j is a body",
            "one step too many: the inertial frame has no H"),
    Erratum("004 Eq. 21", "the remainder R sums over i != j",
            "over i and j that are unrelated: neither is on the other's path",
            Compared("tree", lambda s: s.phi.T * s.M * s.phi,
                     lambda s: doubled(s), lambda s: tree_form(s) + s.E_phi.T.remainder(s.M))),
    Erratum("004 Eq. 26, next line", "index j", "index k", "the sum is over k"),
    Erratum("004 Eq. 27, 28", "(said of serial chains)", "on trees the remainder, and diagOf",
            Compared("tree", lambda s: s.phi.T * s.M * s.phi, lambda s: tree_form(s),
                     lambda s: tree_form(s) + s.E_phi.T.remainder(s.M))),
    Erratum("004 Eq. 29", "for k = 1 ... n", "for k = n ... 1", "Y(k) needs that of the parent, which comes later"),
    Erratum("004 Algorithm 4.3", "cases 2 and 3 for k an ancestor of j", "case 2 is Z(j, k), case 3 is Z(k, j)",
            "the two have the same hypothesis in print"),
    Erratum("004 Eq. 36", "M = P - E_A P E_A*", "M = P - E_A P+ E_A*",
            Compared("tree", lambda s: s.M, lambda s: s.P - s.E_phi * s.P * s.E_phi.T,
                     lambda s: s.P - s.E_phi * s.P_plus * s.E_phi.T)),
    Erratum("004 Eq. 37", "K = E_psi G", "K = E_A G; E_psi G is zero",
            Compared("tree", lambda s: s.K, lambda s: s.E_psi * s.G, lambda s: s.E_phi * s.G)),
    Erratum("004 Eq. 46, proof", "first step by Eq. 36", "by Eq. 42", "Eq. 42 is the decomposition of psi M psi*"),
    Erratum("004 Eq. 47, proof", "A P + P A~* + A~ K H P A~*", "A P + P A~* + A K H P A~*",
            Compared("tree", lambda s: s.phi * s.M * s.phi.T,
                     lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi_tilde * s.K * s.H * s.P * s.phi_tilde.T,
                     lambda s: s.phi * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.H * s.P * s.phi_tilde.T)),
    Erratum("004 Eq. 51, proof", "the last factor carries ^-1", "it does not",
            Compared("tree", lambda s: mass_matrix(s).inv,
                     lambda s: factor_inverse(s).T * s.D.inv * factor(s),
                     lambda s: factor_inverse(s).T * s.D.inv * factor_inverse(s))),
    Erratum("004 Cor. 6.1", "strictly lower triangular with identity diagonal; proof: I - H A K",
            "unit lower triangular; I + H A K, the innovations factor",
            Compared("tree", lambda s: factor_inverse(s).inv, lambda s: I - s.H * s.phi * s.K, factor)),
    Erratum("004 Eq. 59, text", "phi is an SPO operator", "psi is an SPO operator", "Omega is made of psi"),
    Erratum("004 section 8.2", "none of the powers are nonzero", "none of the powers are zero",
            "a cycle is not nilpotent"),
)  # fmt: skip


def tree_form(s: Any) -> Any:
    """Y + A~* Y + Y A~ of A* M A."""
    Y = s.E_phi.T.lyapunov(s.M)
    return Y + s.phi_tilde.T * Y + Y * s.phi_tilde


def doubled(s: Any) -> Any:
    """Eq. 21 read literally: the remainder over all i != j, which counts related pairs twice."""
    related = s.phi_tilde.T * s.E_phi.T.lyapunov(s.M)
    return tree_form(s) + s.E_phi.T.remainder(s.M) + related + related.T
