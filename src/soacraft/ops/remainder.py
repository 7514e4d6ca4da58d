"""The remainder of A* X B on a tree (004 Lemma 5, Eq. 21): what bodies on different branches have in common.

    A* X B = Y + A~* Y + Y B~ + R,     Y the solution of X = Y - diagOf{ E_A* Y E_B }

    R = A* [ E_A* Y E_B - diagOf{ E_A* Y E_B } ] B

R(i, j) is A*(c, i) Y(c) B(c, j) for i and j neither of which is on the other's path to the base, c their closest common
ancestor; zero for all others, and so on a serial chain. (Multiply Y - E_A* Y E_B = X - [E_A* Y E_B - diagOf{...}] by A*
and B.)
"""

from __future__ import annotations

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.nodes import I
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import SpaceError
from soacraft.ops.derived import DOWN, LyapunovLeaf, diag_of, lyapunov
from soacraft.ops.leaves import BoundLeaf, DefinedLeaf
from soacraft.ops.named import named_of


def remainder(E: Operator, X: Operator, other: Operator) -> Operator:
    """R of A* X B, for the transposed kernel operators of A and B (004 Eq. 21)."""
    if E.pattern() != DOWN:
        raise SpaceError(
            f"{before_dot(E)}.remainder: the transpose of a kernel operator is wanted on the left, as in "
            "E_psi.T.remainder(X): A* X B has a remainder, A X B* has none."
        )
    solution = lyapunov(E, X, other)
    assert isinstance(solution, LyapunovLeaf)
    E, X, other, Y = solution.E, solution.X, solution.other, named_solution(solution)
    between = E * Y * other.T
    meaning = propagator(E.T).T * (between - diag_of(between)) * propagator(other.T)
    same = E.key() == other.key()
    name = f"{before_dot(E)}.remainder({X.text()}{'' if same else ', ' + other.text()})"
    latex = ", ".join(x.latex() for x in ((E, X) if same else (E, X, other)))
    claims = frozenset({"symmetric"} if same and "symmetric" in X.tags else ())
    return DefinedLeaf(name, rf"\operatorname{{rem}}\left({latex}\right)", meaning, claims, "004 Eq. 21")


def named_solution(Y: LyapunovLeaf) -> Operator:
    """A Lyapunov solution under its name, where the papers have one, R or Upsilon: its numbers are kept by state."""
    s = named_of(Y.binding)  # type: ignore[arg-type]
    keys, named = [x.key() for x in Y.args], ((s.R, s.E_phi, s.M), (s.Upsilon, s.E_psi.T, s.H.T * s.D.inv * s.H))
    return next((op for op, E, X in named if keys == [E.key(), X.key(), E.key()]), Y)


def propagator(kernel: Operator) -> Operator:
    """(I - E)^-1, by name where it has one."""
    name = {"E_phi": "phi", "E_psi": "psi"}.get(kernel.name) if isinstance(kernel, BoundLeaf) else None
    if name is None or not isinstance(kernel, BoundLeaf):
        return (I - kernel).inv
    found: Operator = getattr(named_of(kernel.binding), name)
    return found
