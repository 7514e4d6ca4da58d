"""The relations of the papers as data: name, source, left, right, and where they hold.

Each side is a function of an `Operators` namespace `s` and returns an operator expression, a stacked vector or a
number. The list feeds the tests, the documentation and `verify`. 000 is the PyCraft paper, 001 the serial-chain
slides, 002 the PyCraft slides, 004 the SKO-models paper; misprints are corrected.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from soacraft import markup
from soacraft.algebra.expressions.nodes import I
from soacraft.algebra.expressions.operator import Operator
from soacraft.cards import card
from soacraft.citations import cite, each, numbered
from soacraft.errors import ModelError
from soacraft.ops.derived import diag_of
from soacraft.ops.namespace import VECTORS, Operators
from soacraft.ops.printed import Relation, printed
from soacraft.ops.table import NAMES

Side = Callable[[Operators], Any]


@dataclass(frozen=True)
class Identity:
    """left = right, on every SKO model that meets the conditions.

    Conditions: "serial" (a single chain), "rigid" (a rigid tree), "nodes" (some nodes to pick off), "closed" (the tree
    of a chain with loops, `sc.operators(sc.loops.TreeAugmented(mb))`, whose rows are independent; without couplings).
    """

    name: str
    source: str
    left: Side
    right: Side
    conditions: frozenset[str] = frozenset()

    @property
    def citation(self) -> str:
        """The source as it is cited: "Jain 2011 Eq. 15"."""
        return cite(self.source)

    @property
    def relation(self) -> Relation:
        """Both sides as text and LaTeX, the stacked vectors as symbols.

        >>> identities.find("composite bodies")[0].relation.text
        'H*phi*M*phi.T*H.T = H * (phi*R + R*phi.T - R) * H.T'
        """
        return printed().relation(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """One of the list goes by its name; one of your own by its parts, whose functions must have names."""
        if any(self is one for one in IDENTITIES):
            return _listed, (self.name, self.source)
        return Identity, (self.name, self.source, self.left, self.right, self.conditions)

    @property
    def equations(self) -> tuple[str, ...]:
        """The equations it is, each by itself: ("000 Eq. 26", "004 Eq. 45")."""
        return each(self.source)

    def latex(self) -> str:
        """left = right as the papers print them."""
        return self.relation.latex

    def __repr__(self) -> str:
        return f"{self.name}: {self.relation.text}  ({_where(self)})"

    def _repr_latex_(self) -> str:
        return f"${self.relation.latex}$"

    def _repr_html_(self) -> str:
        text = markup.paragraph(markup.code(self.relation.text))
        return card(self.name, markup.paragraph(markup.math(self.relation.latex)), text, markup.paragraph(_where(self)))


def _listed(name: str, source: str) -> Identity:
    return next(x for x in IDENTITIES if (x.name, x.source) == (name, source))


def _serial(name: str, source: str, left: Side, right: Side) -> Identity:
    return Identity(name, source, left, right, frozenset({"serial"}))


def mass_matrix(s: Operators) -> Operator:
    """H phi M phi* H* (000 Eq. 1)."""
    expr: Operator = s.H * s.phi * s.M * s.phi.T * s.H.T
    return expr


def innovations(s: Operators) -> Operator:
    """I + H phi K (000 Eq. 28)."""
    expr: Operator = I + s.H * s.phi * s.K
    return expr


def innovations_inverse(s: Operators) -> Operator:
    """I - H psi K (000 Eq. 29)."""
    expr: Operator = I - s.H * s.psi * s.K
    return expr


def _depth(s: Operators) -> int:
    return max(s.sko.tree.depth, default=0)


def _power_series(s: Operators) -> Operator:
    terms: list[Operator] = [s.E_phi**k for k in range(1, max(_depth(s), 2))]
    return reduce(lambda x, y: x + y, terms, I + 0 * s.E_phi)


def _one(s: Operators, space: str) -> Operator:
    return I.with_space(getattr(s, space))


def _lyapunov(s: Operators) -> Operator:
    return s.E_phi.lyapunov(s.R, s.E_psi)


def _backward(s: Operators) -> Operator:
    return s.E_phi.T.lyapunov(s.M, s.E_psi.T)


def _forward_dynamics(s: Operators) -> Any:
    L = innovations_inverse(s)
    bracket = s.T - s.H * (s.psi * (s.K * s.T + s.P * s.a + s.b))
    return L.T * (s.D.inv * bracket) - s.K.T * (s.psi.T * s.a)


def _bias(s: Operators) -> Any:
    """M phi* a + b."""
    return s.M * (s.phi.T * s.a) + s.b


def _nodes(s: Operators) -> Operator:
    """B of the tips and of one inner body."""
    names = s.body.labels
    return s.B([names[0], names[-1]] if len(names) > 1 else list(names))


def _compliance_of_nodes(s: Operators) -> Operator:
    B, L = _nodes(s), innovations_inverse(s)
    return B.T * s.phi.T * s.H.T * L.T * s.D.inv * L * s.H * s.phi * B


def _closed(name: str, source: str, left: Callable[[Any], Any], right: Callable[[Any], Any]) -> Identity:
    return Identity(name, source, left, right, frozenset({"closed"}))


def _factor_of_S(s: Any) -> Operator:
    """b = Q B* psi* H* D^-1/2, with b b* = S (002)."""
    expr: Operator = s.Q * s.Bc.T * s.psi.T * s.H.T * s.D.inv.sqrt()
    return expr


def _closed_inverse(s: Any) -> Operator:
    """L* D^-1/2 [I - b* (b b*)^-1 b] D^-1/2 L, with L = I - H psi K (002)."""
    b, root, L = _factor_of_S(s), s.D.inv.sqrt(), innovations_inverse(s)
    expr: Operator = L.T * root * (I - b.T * (b * b.T).inv * b) * root * L
    return expr


def _closed_accelerations(s: Any) -> Any:
    """vdot - L* D^-1 H psi B Q* S^-1 (Gc vdot + Gcdot v - Udot) for the vdot of the tree (003 section III)."""
    multipliers = s.S.inv * (s.Gc * s.vdot + s.Gcdot_v - s.Udot)
    return s.vdot - innovations_inverse(s).T * (s.D.inv * (s.H * (s.psi * (s.Bc * (s.Q.T * multipliers)))))


def _log_det(x: Operator) -> Any:
    return np.linalg.slogdet(x.array())[1]


def _sum_log_det_D(s: Operators) -> Any:
    return sum(np.linalg.slogdet(x)[1] for x in s.D.blocks().diagonal() if x.shape[-1])


IDENTITIES: tuple[Identity, ...] = (
    # -- velocities and propagation -----------------------------------------------------------------------------
    Identity("velocities, implicit", "000 Eq. 8", lambda s: s.V, lambda s: s.E_phi.T * s.V + s.H.T * s.v),
    Identity("velocities, explicit", "000 Eq. 10", lambda s: s.V, lambda s: s.phi.T * s.H.T * s.v),
    Identity("inboard velocities", "001", lambda s: s.V_plus, lambda s: s.phi_tilde.T * s.H.T * s.v),
    Identity("propagation operator", "000 Eq. 9", lambda s: s.phi * (I - s.E_phi), lambda s: _one(s, "body")),
    Identity("propagation operator, left", "000 Eq. 9", lambda s: (I - s.E_phi) * s.phi, lambda s: _one(s, "body")),
    Identity("power series of phi", "000 Eq. 9", lambda s: s.phi, _power_series),
    Identity("the kernel is nilpotent", "000 Eq. 9", lambda s: s.E_phi ** _depth(s), lambda s: 0 * s.E_phi),
    Identity("phi tilde", "004 Cor. 3.1", lambda s: s.phi_tilde, lambda s: s.phi - I),
    Identity("phi tilde, kernel first", "001", lambda s: s.phi_tilde, lambda s: s.E_phi * s.phi),
    Identity("phi tilde, kernel last", "001", lambda s: s.phi_tilde, lambda s: s.phi * s.E_phi),
    Identity("articulated propagation", "004 Eq. 34", lambda s: s.psi * (I - s.E_psi), lambda s: _one(s, "body")),
    Identity("psi tilde", "004 Cor. 3.1", lambda s: s.psi_tilde, lambda s: s.psi - I),
    Identity("psi tilde, kernel first", "004 Cor. 3.1", lambda s: s.psi_tilde, lambda s: s.E_psi * s.psi),
    # -- equations of motion --------------------------------------------------------------------------------------
    Identity("equations of motion", "000 Eq. 17", lambda s: mass_matrix(s) * s.vdot + s.C, lambda s: s.T),
    Identity("accelerations, implicit", "004 Eq. 1", lambda s: s.alpha,
             lambda s: s.E_phi.T * s.alpha + s.H.T * s.vdot + s.a),
    Identity("interbody forces, implicit", "004 Eq. 1", lambda s: s.f, lambda s: s.E_phi * s.f + s.M * s.alpha + s.b),
    # -- composite bodies -----------------------------------------------------------------------------------------
    Identity("forward Lyapunov equation of R", "000 Eq. 21, 004 Eq. 18, Lemma 4", lambda s: s.M,
             lambda s: s.R - s.E_phi * s.R * s.E_phi.T),
    Identity("R is the diagonal of phi M phi*", "004 Eq. 15", lambda s: diag_of(s.phi * s.M * s.phi.T), lambda s: s.R),
    Identity("decomposition of phi M phi*", "000 Eq. 18", lambda s: s.phi * s.M * s.phi.T,
             lambda s: s.phi * s.R + s.R * s.phi.T - s.R),
    Identity("decomposition with tildes", "002, 004 Eq. 19", lambda s: s.phi * s.M * s.phi.T,
             lambda s: s.R + s.phi_tilde * s.R + s.R * s.phi_tilde.T),
    Identity("mass matrix by composite bodies", "000 Eq. 20", mass_matrix,
             lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T),
    Identity("mass matrix, diagonal and triangles", "004 Eq. 17, Lemma 4", mass_matrix,
             lambda s: s.H * s.R * s.H.T + s.H * s.phi_tilde * s.R * s.H.T + s.H * s.R * s.phi_tilde.T * s.H.T),
    Identity("general forward Lyapunov equation", "004 Eq. 12, Lemma 3", lambda s: s.R,
             lambda s: _lyapunov(s) - s.E_phi * _lyapunov(s) * s.E_psi.T),
    Identity("decomposition of A X B*", "004 Eq. 11, Lemma 3", lambda s: s.phi * s.R * s.psi.T,
             lambda s: _lyapunov(s) + s.phi_tilde * _lyapunov(s) + _lyapunov(s) * s.psi_tilde.T),
    Identity("kernels on both sides of a diagonal", "004 Eq. 16", lambda s: s.E_phi * s.R * s.E_psi.T,
             lambda s: diag_of(s.E_phi * s.R * s.E_psi.T)),
    Identity("general backward Lyapunov equation", "004 Eq. 22, Lemma 5", lambda s: s.M,
             lambda s: _backward(s) - diag_of(s.E_phi.T * _backward(s) * s.E_psi)),
    Identity("diagonal of A* X B", "004 Eq. 25", lambda s: diag_of(s.phi.T * s.M * s.psi), _backward),
    Identity("decomposition of A* X B on a tree", "004 Eq. 21, Lemma 5", lambda s: s.phi.T * s.M * s.psi,
             lambda s: _backward(s) + s.phi_tilde.T * _backward(s) + _backward(s) * s.psi_tilde
             + s.E_phi.T.remainder(s.M, s.E_psi.T)),
    _serial("decomposition of A* X B", "004 Eq. 27, Lemma 6", lambda s: s.phi.T * s.M * s.psi,
            lambda s: _backward(s) + s.phi_tilde.T * _backward(s) + _backward(s) * s.psi_tilde),
    _serial("backward Lyapunov equation, serial", "004 Eq. 28, Lemma 6", lambda s: s.M,
            lambda s: _backward(s) - s.E_phi.T * _backward(s) * s.E_psi),
    # -- articulated bodies ---------------------------------------------------------------------------------------
    Identity("D", "000 Eq. 24", lambda s: s.D, lambda s: s.H * s.P * s.H.T),
    Identity("G", "000 Eq. 24", lambda s: s.G, lambda s: s.P * s.H.T * s.D.inv),
    Identity("K", "004 Eq. 37", lambda s: s.K, lambda s: s.E_phi * s.G),
    Identity("tau", "000 Eq. 24", lambda s: s.tau, lambda s: s.G * s.H),
    Identity("tau bar", "000 Eq. 24", lambda s: s.tau_bar, lambda s: I - s.tau),
    Identity("P+ between projections", "000 Eq. 24", lambda s: s.P_plus, lambda s: s.tau_bar * s.P * s.tau_bar.T),
    Identity("P+ from the left", "000 Eq. 24", lambda s: s.P_plus, lambda s: s.tau_bar * s.P),
    Identity("E psi", "004 Eq. 34, Lemma 8", lambda s: s.E_psi, lambda s: s.E_phi * s.tau_bar),
    Identity("Riccati equation", "000 Eq. 25", lambda s: s.M, lambda s: s.P - s.E_psi * s.P * s.E_psi.T),
    Identity("Riccati equation, written out", "004 Eq. 31, Lemma 7", lambda s: s.M,
             lambda s: s.P - s.E_phi * (I - s.P * s.H.T * (s.H * s.P * s.H.T).inv * s.H) * s.P * s.E_phi.T),
    Identity("Riccati equation with P+", "004 Eq. 36", lambda s: s.M, lambda s: s.P - s.E_phi * s.P_plus * s.E_phi.T),
    Identity("Riccati equation, mixed", "004 Eq. 36", lambda s: s.M, lambda s: s.P - s.E_psi * s.P * s.E_phi.T),
    Identity("tau is a projection", "004 Eq. 32", lambda s: s.tau * s.tau, lambda s: s.tau),
    Identity("tau P tau*", "002", lambda s: s.tau * s.P * s.tau.T, lambda s: s.tau * s.P),
    Identity("E psi annihilates G", "004 Eq. 37", lambda s: s.E_psi * s.G, lambda s: 0 * s.K),
    Identity("H G", "004 Eq. 38, Lemma 9", lambda s: s.H * s.G, lambda s: _one(s, "hinge")),
    Identity("H tau", "004 Eq. 38", lambda s: s.H * s.tau, lambda s: s.H),
    Identity("H tau bar", "004 Eq. 38", lambda s: s.H * s.tau_bar, lambda s: 0 * s.H),
    Identity("innovations factor by G", "004 Eq. 38", innovations, lambda s: s.H * s.phi * s.G),
    Identity("H phi tau bar", "004 Eq. 39", lambda s: s.H * s.phi * s.tau_bar, lambda s: s.H * s.phi * s.E_psi),
    Identity("H phi tau", "004 Eq. 40", lambda s: s.H * s.phi * s.tau, lambda s: s.H * s.phi * (I - s.E_psi)),
    Identity("H phi tau by psi inverse", "004 Eq. 40", lambda s: s.H * s.phi * s.tau,
             lambda s: s.H * s.phi * s.psi.inv),
    Identity("phi M psi*", "004 Eq. 41", lambda s: s.phi * s.M * s.psi.T,
             lambda s: s.P + s.phi_tilde * s.P + s.P * s.psi_tilde.T),
    Identity("psi M psi*", "004 Eq. 42, Lemma 10", lambda s: s.psi * s.M * s.psi.T,
             lambda s: s.P + s.psi_tilde * s.P + s.P * s.psi_tilde.T),
    Identity("difference of inverses", "004 Eq. 43", lambda s: s.psi.inv - s.phi.inv, lambda s: s.K * s.H),
    Identity("psi inverse phi", "004 Eq. 44", lambda s: s.psi.inv * s.phi, lambda s: I + s.K * s.H * s.phi),
    Identity("phi psi inverse", "004 Eq. 44", lambda s: s.phi * s.psi.inv, lambda s: I + s.phi * s.K * s.H),
    Identity("phi inverse psi", "004 Eq. 44", lambda s: s.phi.inv * s.psi, lambda s: I - s.K * s.H * s.psi),
    Identity("psi phi inverse", "004 Eq. 44", lambda s: s.psi * s.phi.inv, lambda s: I - s.psi * s.K * s.H),
    Identity("H phi to H psi", "000 Eq. 26, 004 Eq. 45",
             lambda s: innovations_inverse(s) * s.H * s.phi, lambda s: s.H * s.psi),
    Identity("phi K to psi K", "000 Eq. 26, 004 Eq. 45",
             lambda s: s.phi * s.K * innovations_inverse(s), lambda s: s.psi * s.K),
    Identity("H psi to H phi", "000 Eq. 26, 004 Eq. 45", lambda s: innovations(s) * s.H * s.psi, lambda s: s.H * s.phi),
    Identity("psi K to phi K", "000 Eq. 26, 004 Eq. 45", lambda s: s.psi * s.K * innovations(s), lambda s: s.phi * s.K),
    Identity("block-diagonalization", "000 Eq. 27, 004 Eq. 46", lambda s: s.H * s.psi * s.M * s.psi.T * s.H.T,
             lambda s: s.D),
    Identity("phi M phi* by articulated bodies", "004 Eq. 47", lambda s: s.phi * s.M * s.phi.T,
             lambda s: s.P + s.phi_tilde * s.P + s.P * s.phi_tilde.T + s.phi * s.K * s.D * s.K.T * s.phi.T),
    Identity("phi M phi* H*", "004 Eq. 48", lambda s: s.phi * s.M * s.phi.T * s.H.T,
             lambda s: (I + s.phi * s.K * s.H) * s.P * s.phi.T * s.H.T),
    # -- factorization and inverse --------------------------------------------------------------------------------
    Identity("innovations factorization", "000 Eq. 2, 28, 004 Eq. 49, Lemma 11", mass_matrix,
             lambda s: innovations(s) * s.D * innovations(s).T),
    Identity("innovations factor inverse", "000 Eq. 2, 29, 004 Eq. 50, Lemma 11",
             lambda s: innovations(s) * innovations_inverse(s),
             lambda s: _one(s, "hinge")),
    Identity("innovations factor inverse, left", "000 Eq. 29", lambda s: innovations_inverse(s) * innovations(s),
             lambda s: _one(s, "hinge")),
    Identity("mass matrix inverse", "000 Eq. 2, 30, 004 Eq. 51, Lemma 11",
             lambda s: mass_matrix(s) * innovations_inverse(s).T * s.D.inv * innovations_inverse(s),
             lambda s: _one(s, "hinge")),
    Identity("mass matrix inverse, expanded", "004 Eq. 51",
             lambda s: innovations_inverse(s).T * s.D.inv * innovations_inverse(s),
             lambda s: s.D.inv - s.D.inv * s.H * s.psi * s.K - s.K.T * s.psi.T * s.H.T * s.D.inv
             + s.K.T * s.Omega * s.K),
    Identity("determinant of the innovations factor", "004 Eq. 52, Corollary 6.1",
             lambda s: np.exp(_log_det(innovations(s))), lambda s: 1.0),
    Identity("determinant of the mass matrix", "004 Eq. 53, Corollary 6.1",
             # as a ratio: a logarithm near zero is a choice of units
             lambda s: np.exp(_log_det(mass_matrix(s)) - _sum_log_det_D(s)), lambda s: 1.0),
    # -- forward dynamics -----------------------------------------------------------------------------------------
    Identity("forward dynamics", "000 Eq. 31, 004 Eq. 54, Lemma 12", _forward_dynamics, lambda s: s.vdot),
    Identity("forward dynamics by the inverse", "004 Eq. 55, Lemma 12", lambda s: s.vdot,
             lambda s: innovations_inverse(s).T * (s.D.inv * (innovations_inverse(s) * (s.T - s.C)))),
    Identity("bias through the innovations factor", "004 Eq. 56, Lemma 12",
             lambda s: innovations_inverse(s) * s.H * s.phi * _bias(s),
             lambda s: (s.H * s.psi * s.P + s.D * s.K.T * s.phi.T) * s.a + s.H * s.psi * s.b),
    Identity("bias through the inverse", "004 Eq. 57, Lemma 12",
             lambda s: innovations_inverse(s).T * s.D.inv * innovations_inverse(s) * s.H * s.phi * _bias(s),
             lambda s: innovations_inverse(s).T * s.D.inv * s.H * s.psi * (s.P * s.a + s.b) + s.K.T * s.psi.T * s.a),
    Identity("residual forces z", "004 Eq. 58", lambda s: s.z,
             lambda s: s.E_phi * (s.z + s.G * s.eps) + s.P * s.a + s.b),
    Identity("accelerations by innovations", "004 Eq. 58", lambda s: s.alpha, lambda s: s.psi.T * (s.H.T * s.nu + s.a)),
    Identity("generalized accelerations", "004 Eq. 58", lambda s: s.vdot,
             lambda s: s.nu - s.G.T * (s.E_phi.T * s.alpha)),
    Identity("hinge forces by P", "004 Eq. 58", lambda s: s.f, lambda s: s.P * (s.alpha - s.a) + s.z),
    Identity("hinge forces by P+", "004 Eq. 58", lambda s: s.f,
             lambda s: s.P_plus * (s.E_phi.T * s.alpha) + s.z + s.G * s.eps),
    # -- operational space ----------------------------------------------------------------------------------------
    Identity("operational compliance", "000 Eq. 34, 004 Eq. 60",
             lambda s: s.phi.T * s.H.T * mass_matrix(s).inv * s.H * s.phi,
             lambda s: s.Omega),
    Identity("compliance of nodes", "000 Eq. 32, 33, 004 Eq. 59, 60",
             _compliance_of_nodes,
             lambda s: _nodes(s).T * s.Omega * _nodes(s)),
    Identity("Upsilon, backward Lyapunov equation", "004 Eq. 22", lambda s: s.H.T * s.D.inv * s.H,
             lambda s: s.Upsilon - diag_of(s.E_psi.T * s.Upsilon * s.E_psi)),
    Identity("Upsilon is the diagonal of Omega", "002", lambda s: diag_of(s.Omega), lambda s: s.Upsilon),
    Identity("decomposition of Omega on a tree", "000 Eq. 35, 004 Eq. 21", lambda s: s.Omega,
             lambda s: s.psi.T * s.Upsilon + s.Upsilon * s.psi - s.Upsilon
             + s.E_psi.T.remainder(s.H.T * s.D.inv * s.H)),
    _serial("Upsilon, serial", "000 Eq. 37", lambda s: s.H.T * s.D.inv * s.H,
            lambda s: s.Upsilon - s.E_psi.T * s.Upsilon * s.E_psi),
    _serial("decomposition of Omega", "000 Eq. 35", lambda s: s.Omega,
            lambda s: s.psi.T * s.Upsilon + s.Upsilon * s.psi - s.Upsilon),
    _serial("decomposition of Omega with tildes", "002", lambda s: s.Omega,
            lambda s: s.Upsilon + s.psi_tilde.T * s.Upsilon + s.Upsilon * s.psi_tilde),
    # -- closed chains, tree-augmented ------------------------------------------------------------------------------
    _closed("rows of the closures", "003 Eq. 2", lambda s: s.Gc, lambda s: s.Q * s.Bc.T * s.phi.T * s.H.T),
    _closed("velocities on the closures", "003 Eq. 2", lambda s: s.Gc * s.v, lambda s: s.U),
    _closed("compliance of the closures", "002, 003 section III", lambda s: s.S,
            lambda s: s.Gc * mass_matrix(s).inv * s.Gc.T),
    _closed("compliance of the closures from Omega", "002, 003 section III",
            lambda s: s.Gc * mass_matrix(s).inv * s.Gc.T, lambda s: s.Q * s.Bc.T * s.Omega * s.Bc * s.Q.T),
    _closed("factor of the compliance of the closures", "002", lambda s: _factor_of_S(s) * _factor_of_S(s).T,
            lambda s: s.S),
    _closed("inverse of a closed chain", "002", _closed_inverse,
            lambda s: mass_matrix(s).inv - mass_matrix(s).inv * s.Gc.T * s.S.inv * s.Gc * mass_matrix(s).inv),
    _closed("what forces cause keeps the closures", "002", lambda s: s.Gc * _closed_inverse(s), lambda s: 0 * s.Gc),
    _closed("accelerations on the closures", "003 Eq. 2, section III", lambda s: s.Gc * _closed_accelerations(s),
            lambda s: s.Udot - s.Gcdot_v),
)  # fmt: skip


class Identities(tuple[Identity, ...]):
    """Relations in the order of the papers. `find` searches them; a notebook shows a table with a filter box.

    `sc.identities` is all of them, and so is `sc.identities()`.

    >>> len(identities) >= 45
    True
    >>> identities.find("phi.inv psi Jain 2011 Eq. 44")
    phi inverse psi  phi.inv*psi = I - K*H*psi  (Jain 2011 Eq. 44)
    psi phi inverse  psi*phi.inv = I - psi*K*H  (Jain 2011 Eq. 44)
    """

    __slots__ = ()

    def __call__(self) -> Identities:
        """Every relation of the papers that soacraft knows."""
        return Identities(IDENTITIES)

    def find(self, text: str) -> Identities:
        """Identities of an equation ("004 Eq. 15", "Jain 2011 Lemma 5", "Eq. 26") that have every other word of the
        text: the name of an operator or vector that occurs in them, or a word of their name, their source, their
        conditions or the text of a side. Only sides are case-sensitive.

        >>> [x.name for x in identities.find("004 Lemma 11")]
        ['innovations factorization', 'innovations factor inverse', 'mass matrix inverse']
        >>> [x.name for x in identities.find("Eq. 24 tau_bar")]
        ['tau bar', 'P+ between projections', 'P+ from the left']
        """
        if not isinstance(text, str):
            raise ModelError(f"identities are searched by words, not by {text!r}.")
        wanted, words = numbered(text)
        return Identities(
            identity
            for identity in self
            if all(any(one.endswith(place) for one in identity.equations) for place in wanted)
            and all(_has(identity, word) for word in words)
        )

    def __repr__(self) -> str:
        rows = [(identity.name, identity.relation.text, f"({_where(identity)})") for identity in self]
        widths = [min(60, max((len(row[i]) for row in rows), default=0)) for i in (0, 1)]
        return "\n".join(f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c}" for a, b, c in rows) or "no identities"

    def _repr_html_(self) -> str:
        rows = [(x.name, markup.math(x.relation.latex), markup.code(x.relation.text), _where(x)) for x in self]
        table = markup.searchable(["name", "relation", "as text", "source"], rows)
        return card(f"{len(self)} identities", table)


def _has(identity: Identity, word: str) -> bool:
    if word in (*NAMES, *VECTORS):
        sides = f"{identity.name} {identity.relation.text}"
        return re.search(rf"(?<![\w.]){word}(?!\w)", sides) is not None
    words = " ".join((identity.name, identity.citation, identity.source, *identity.conditions))
    return word.lower() in words.lower() or word in identity.relation.text


def _where(identity: Identity) -> str:
    return ", ".join((identity.citation, *(f"{condition} only" for condition in sorted(identity.conditions))))


#: Every relation of the papers that soacraft knows.
identities = Identities(IDENTITIES)
