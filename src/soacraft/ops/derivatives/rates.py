"""Derivatives of the operators of the papers, the turning of the axes left out (G1-G18).

In body axes these are the derivatives; in other axes each operator A gains [A]_W = W A - A W (see
`soacraft.ops.derivatives.diff`). With EX = E_phi X, and Pi, rho, y the solutions of Lyapunov equations:

    E_phi    E_phi X                         phi      phi~ X phi
    H        dH                              M, B     0
    R        rho                             P        Pi
    P_plus   tau_bar Pi tau_bar* - G dH P_plus - P_plus dH* G*
    D        H Pi H* + dH P H* + H P dH*
    G        dG = tau_bar (Pi H* + P dH*) D^-1 - G dH G
    K        E_phi (X G + dG)                tau      dG H + G dH = - d tau_bar
    E_psi    F = E_phi (X tau_bar - dG H - G dH)
    psi      psi F psi                       Upsilon  y
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.nodes import Inverse, Product, Scaled, Sum, product
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.tree import Tree
from soacraft.ops.derivatives import questions
from soacraft.ops.derivatives.directions import Direction
from soacraft.ops.derived import UP, LyapunovLeaf, diag_of
from soacraft.ops.leaves import DerivedLeaf, tree_of
from soacraft.recursions._backend import forward_lyapunov

Array = npt.NDArray[np.float64]
Term = Operator | None


def plus(*terms: Term) -> Term:
    """The sum of the terms that are not zero."""
    found = [t for t in terms if t is not None]
    return sum(found[1:], found[0]) if found else None


def times(*factors: Term) -> Term:
    """The product, zero if a factor is; a number comes out in front."""
    scale: int | float = 1
    result: Term = None
    for f in factors:
        if f is None:
            return None
        while isinstance(f, Scaled):
            scale, f = scale * f.factor, f.arg
        result = f if result is None else product(result, f)
    assert result is not None
    return result if scale == 1 else Scaled(scale, result)


def minus(x: Term) -> Term:
    """-x."""
    if isinstance(x, Scaled):
        return x.arg if x.factor == -1 else Scaled(-x.factor, x.arg)
    return None if x is None else -x


def symmetric_part(x: Term) -> Term:
    """x + x*."""
    return None if x is None else x + star(x)


@singledispatch
def star(x: Operator) -> Operator:
    """The transpose with the star moved inside sums and products; symmetric leaves are their own."""
    return x.T


@star.register
def _(x: Sum) -> Operator:
    starred = plus(*map(star, x.terms))
    assert starred is not None
    return starred


@star.register
def _(x: Product) -> Operator:
    starred = times(*map(star, reversed(x.factors)))
    assert starred is not None
    return starred


@star.register
def _(x: Scaled) -> Operator:
    return Scaled(x.factor, star(x.arg))


@star.register
def _(x: Leaf | Inverse) -> Operator:
    return x if "symmetric" in x.tags else x.T


# -- solutions of Lyapunov equations ------------------------------------------------------------------------------


class LyapunovRate(LyapunovLeaf):
    """The derivative of a symmetric solution of a Lyapunov equation, by the same recursion; only nodes inboard of what
    changes are swept. It goes by the name of what it is the derivative of.
    """

    shown: tuple[str, str] | None = None

    def __init__(self, E: Operator, X: Operator, other: Operator) -> None:
        super().__init__(E, X, other)
        self.claims = frozenset({"symmetric", "block_diagonal"})

    def named(self, of: Leaf, u: Direction) -> LyapunovRate:
        """Set the name to `P.diff('link')` and return it."""
        body = u.axes == "body"
        verb = ("dot" if u.body is None else "diff") if body else "along"
        self.shown = f"{of.name}.{verb}({u.call})", f"[{of.latex_name}]_{{{u.latex}}}"
        self.name, self.latex_name = self.shown
        return self

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        old = list(self.leaves())
        new = [change(leaf) for leaf in old]
        found = LyapunovRate(*(arg.with_leaves(change) for arg in self.args))
        if self.shown and all(isinstance(x, Leaf) and x.name == y.name for x, y in zip(new, old, strict=True)):
            found.shown = found.name, found.latex_name = self.shown
        return found

    def bound_to(self, binding: Any) -> Leaf:
        found = self.with_leaves(lambda leaf: leaf.bound_to(binding))
        assert isinstance(found, Leaf)
        return found

    key = DerivedLeaf.key

    def solved(self, X: Blocks) -> dict[int, Array]:
        tree = tree_of(self.spaces[0])
        reached = _inboard(tree, (i for i, _ in X.entries))
        if self.E.pattern() != UP or len(reached) == tree.n:
            return super().solved(X)
        part = Part(tree, reached)
        A, B, old = self.E.blocks(), self.other.blocks(), part.nodes
        found = forward_lyapunov(
            part,
            lambda p, k: A.block(old[p], old[k]),
            [X.block(k, k) for k in old],
            lambda p, k: B.block(old[p], old[k]),
        )
        return {old[k]: Y for k, Y in found.items()}


def _inboard(tree: Tree, nodes: Iterable[int]) -> set[int]:
    """Some nodes with all nodes inboard of them; each is visited once."""
    reached: set[int] = set()
    for k in nodes:
        while k >= 0 and k not in reached:
            reached.add(k)
            k = tree.parents[k]
    return reached


class Part:
    """Some nodes of a tree with all nodes inboard of them, numbered from 0, base first."""

    def __init__(self, tree: Tree, nodes: set[int]) -> None:
        self.nodes = sorted(nodes, key=lambda k: tree.depth[k])
        number = {k: i for i, k in enumerate(self.nodes)}
        self._parents = [number.get(tree.parents[k], -1) for k in self.nodes]
        self._children: list[list[int]] = [[] for _ in self.nodes]
        for k, p in enumerate(self._parents):
            if p >= 0:
                self._children[p].append(k)

    def base_to_tips(self) -> range:
        return range(len(self.nodes))

    def tips_to_base(self) -> range:
        return range(len(self.nodes) - 1, -1, -1)

    def parent(self, k: int) -> int:
        return self._parents[k]

    def children(self, k: int) -> list[int]:
        return self._children[k]


def lyapunov_rate(E: Operator, X: Term) -> Term:
    """The symmetric Y with X = Y - E Y E*, zero if X is."""
    return None if X is None else LyapunovRate(E, X, E)


# -- the table ----------------------------------------------------------------------------------------------------


class Rates:
    """The derivatives of the named operators along one direction, each made once when asked for.

    `whole(direction, operator, rate)` makes sums that keep their blocks for the state.
    """

    def __init__(self, u: Direction, whole: Callable[[Direction, Operator, Term], Term]) -> None:
        self.u, self.s, self._whole = u, u.ops, whole
        self._made: dict[str, Term] = {}

    def __call__(self, name: str) -> Term:
        if name not in self._made:
            self._made[name] = self._whole(self.u, getattr(self.s, name), getattr(self, f"_{name}")())
        return self._made[name]

    def _named(self, found: Term, name: str) -> Term:
        if isinstance(found, LyapunovRate):
            return found.named(getattr(self.s, name), self.u)
        return found

    def _H(self) -> Term:
        return self.u.dH

    def _M(self) -> Term:
        return None

    def _E_phi(self) -> Term:
        return self.u.EX

    def _phi(self) -> Term:
        return None if self.u.EX is None else self.s.phi_tilde * self.u.X * self.s.phi

    def _phi_tilde(self) -> Term:
        return self("phi")

    def _R(self) -> Term:
        """rho - E_phi rho E_phi* = E_phi (X R + R X*) E_phi*   (G14)"""
        s, X = self.s, self.u.X
        if self.u.EX is None:
            return None
        return self._named(lyapunov_rate(s.E_phi, s.E_phi * (X * s.R + s.R * X.T) * s.E_phi.T), "R")

    def _P(self) -> Term:
        """Pi - E_psi Pi E_psi* = E_phi (X P+ + P+ X* - G dH P+ - P+ dH* G*) E_phi*   (G6)"""
        s, u = self.s, self.u
        if u.EX is None:
            return None
        inner = plus(u.X * s.P_plus, s.P_plus * u.X.T, *self._gain_lost())
        return self._named(lyapunov_rate(s.E_psi, times(s.E_phi, inner, s.E_phi.T)), "P")

    def _gain_lost(self) -> list[Term]:
        """- G dH P+ - P+ dH* G*"""
        s, lost = self.s, times(self.s.G, self.u.dH, self.s.P_plus)
        return [] if lost is None or self.u.dH is None else [-lost, -(s.P_plus * self.u.dH.T * s.G.T)]

    def _P_plus(self) -> Term:
        s = self.s
        return plus(times(s.tau_bar, self("P"), s.tau_bar.T), *self._gain_lost())

    def _D(self) -> Term:
        s, dH = self.s, self.u.dH
        return plus(times(s.H, self("P"), s.H.T), symmetric_part(times(dH, s.P, s.H.T)))

    def _G(self) -> Term:
        s, dH = self.s, self.u.dH
        inner = plus(times(self("P"), s.H.T), None if dH is None else s.P * dH.T)
        return plus(times(s.tau_bar, inner, s.D.inv), minus(times(s.G, dH, s.G)))

    def _K(self) -> Term:
        return plus(times(self.u.EX, self.s.G), times(self.s.E_phi, self("G")))

    def _tau(self) -> Term:
        return plus(times(self("G"), self.s.H), times(self.s.G, self.u.dH))

    def _tau_bar(self) -> Term:
        return minus(self("tau"))

    def _E_psi(self) -> Term:
        return plus(times(self.u.EX, self.s.tau_bar), times(self.s.E_phi, self("tau_bar")))

    def _psi(self) -> Term:
        return times(self.s.psi, self("E_psi"), self.s.psi)

    def _psi_tilde(self) -> Term:
        return self("psi")

    def _Upsilon(self) -> Term:
        """y - diagOf(E_psi* y E_psi) = diagOf(F* Y E_psi + E_psi* Y F) + d(H* D^-1 H)   (G16)"""
        s, F, dD = self.s, self("E_psi"), self("D")
        edges = symmetric_part(times(s.E_psi.T, s.Upsilon, F))
        own = symmetric_part(times(s.H.T, s.D.inv, self.u.dH))
        lost = minus(times(s.H.T, s.D.inv, dD, s.D.inv, s.H))
        X = plus(None if edges is None else diag_of(edges), own, lost)
        return self._named(lyapunov_rate(s.E_psi.T, X), "Upsilon")


#: Gauges of the operators: f for forces on bodies, v for velocities, "" for hinges. An operator maps (to, from).
GAUGES = {
    **dict.fromkeys("E_phi phi phi_tilde tau tau_bar E_psi psi psi_tilde".split(), ("f", "f")),
    **dict.fromkeys("M R P P_plus".split(), ("f", "v")),
    "H": ("", "f"),
    "G": ("f", ""),
    "K": ("f", ""),
    "D": ("", ""),
    "Upsilon": ("v", "f"),
}


questions.rates.register(Direction, Rates)
