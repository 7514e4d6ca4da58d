"""Rules of the papers for inverses, dense matrices and blocks, for the algebra. Symbolic: no number is computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions, rules
from soacraft.algebra.expressions.nodes import I, Identity, Product, Scaled, Sum, Transpose, product
from soacraft.algebra.expressions.operator import DIAGONAL, Operator
from soacraft.model.flat.sko import SKOModel
from soacraft.ops.derivatives.diff import along, diff, dot
from soacraft.ops.derived import DOWN, UP, LyapunovLeaf, RiccatiInverse, SweptInverse, diag_of, lyapunov
from soacraft.ops.given import inverse_of_closures, inverse_of_given
from soacraft.ops.leaves import BoundLeaf, DefinedLeaf, PropagatorLeaf, edges_of, tree_of
from soacraft.ops.namespace import operators_of
from soacraft.ops.programs.compile import compiled
from soacraft.ops.proofs import side_rules
from soacraft.ops.proofs.inverses import inverse_by_normal_form
from soacraft.ops.proofs.simplify import simplify
from soacraft.ops.recognise import as_mass_matrix
from soacraft.ops.recursion_text import recursion
from soacraft.ops.remainder import named_solution, remainder
from soacraft.ops.roots import cholesky, sqrt
from soacraft.ops.structure import (
    determinant_of_mass_matrix,
    regular_mass_matrix,
    regular_propagator,
    singular_projection,
)
from soacraft.recursions import block_of_AsXB, block_of_AXBs, mass_matrix
from soacraft.recursions._backend import composite_body
from soacraft.recursions.products import along as weights_along

Array = npt.NDArray[np.float64]


# -- inverses -----------------------------------------------------------------------------------------------------


def inverse_of_propagator(x: Operator) -> tuple[Operator, str] | None:
    """phi^-1 = I - E_phi (000 Eq. 9)."""
    if isinstance(x, PropagatorLeaf) and not x.what.tilde:
        return I - x.kernel, "000 Eq. 9"
    return None


def inverse_of_mass_matrix(x: Operator) -> tuple[Operator, str] | None:
    """Mcal^-1 = (I - H psi K)* D^-1 (I - H psi K) (000 Eq. 30)."""
    found = as_mass_matrix(x)
    if found is None:
        return None
    if not found.known:
        return RiccatiInverse(found.H, found.phi.kernel, found.X), "000 Eq. 30"
    s = operators_of(found.H.binding)
    factor = I - s.H * s.psi * s.K
    return factor.T * s.D.inv * factor, "000 Eq. 30"


def inverse_of_innovations_factor(x: Operator) -> tuple[Operator, str] | None:
    """(I + H phi K)^-1 = I - H psi K and back (000 Eq. 29)."""
    first = next((leaf for leaf in x.leaves() if isinstance(leaf, BoundLeaf)), None)
    besides = _besides_identity(x)
    if besides is None or first is None:
        return None
    s = operators_of(first.binding)
    plus, minus = s.H * s.phi * s.K, -(s.H * s.psi * s.K)
    if besides.key() == plus.key():
        return I + minus, "000 Eq. 29"
    return (I + plus, "000 Eq. 29") if besides.key() == minus.key() else None


def _besides_identity(x: Operator) -> Operator | None:
    """X of I + X or X + I."""
    if not isinstance(x, Sum) or len(x.terms) != 2:
        return None
    one, other = x.terms
    if isinstance(one, Identity):
        return other
    return one if isinstance(other, Identity) else None


def inverse_on_edges(x: Operator) -> tuple[Operator, str] | None:
    """(C + L)^-1 for C on the diagonal and L on the edges: one gather (004 Lemma 1)."""
    found = x.pattern()
    if found is None or found == DIAGONAL or x.rows is None or x.rows.tree is None:
        return None
    if found <= DIAGONAL | UP:
        return SweptInverse(x), "004 Lemma 1"
    return (Transpose(SweptInverse(x.T)), "004 Lemma 2") if found <= DIAGONAL | DOWN else None


def inverse_by_push_through(x: Operator) -> tuple[Operator, str] | None:
    """(I + U S W)^-1 = I - U (S^-1 + W U)^-1 W, where S is a propagator and W U lies on the edges."""
    term, sign = _besides_identity(x), 1
    if isinstance(term, Scaled) and term.factor == -1:
        term, sign = term.arg, -1
    if not isinstance(term, Product):
        return None
    at = [i for i, f in enumerate(term.factors) if f.pattern() is None]
    if len(at) != 1 or not isinstance(term.factors[at[0]], PropagatorLeaf) or at[0] in (0, len(term.factors) - 1):
        return None
    S = term.factors[at[0]]
    assert isinstance(S, PropagatorLeaf)
    U, W = reduce(product, term.factors[: at[0]]), reduce(product, term.factors[at[0] + 1 :])
    W = S.kernel * W if S.what.tilde else W
    WU = W * U
    if WU.pattern() != UP:
        return None
    middle = I - S.kernel + WU if sign > 0 else I - S.kernel - WU
    swept = U * SweptInverse(middle) * W
    return (I - swept if sign > 0 else I + swept), "push-through"


# -- dense matrices -----------------------------------------------------------------------------------------------


def array_of_mass_matrix(x: Operator) -> tuple[Callable[[], Array], str] | None:
    """The composite-body algorithm (004 Algorithm 4.2)."""
    found = as_mass_matrix(x)
    if found is None:
        return None
    H, phi, X = found

    def work() -> Array:
        if found.known:
            return mass_matrix(H.binding.sko(), operators_of(H.binding).R.blocks().diagonal())
        tree = tree_of(phi.spaces[0])
        swapped = SKOModel.trusted(
            tree, edges_of(tree, phi.kernel.blocks()), H.blocks().diagonal(), X.blocks().diagonal()
        )
        return mass_matrix(swapped, composite_body(swapped))

    return work, "000 Eq. 20, 004 Alg. 4.2"


# -- blocks -------------------------------------------------------------------------------------------------------


def block_of_propagator(x: Operator) -> tuple[Callable[[int, int], Array], str] | None:
    """phi(i, j) is the product of the weights along the path from j up to i (001)."""
    if not isinstance(x, PropagatorLeaf):
        return None

    def work(i: int, j: int) -> Array:
        space, sweeps = x.spaces[0], x.sweeps()
        path = sweeps.tree.path(i, j)
        if path is None or (x.what.tilde and i == j):
            return np.zeros((space.dims[i], space.dims[j]))
        found = np.eye(space.dims[j])
        for weight in weights_along(sweeps.A, path):
            found = weight @ found
        return found

    return work, "product along the path (001)"


def block_of_defined(x: Operator) -> tuple[Callable[[int, int], Array], str] | None:
    """Blocks of the expression that a name is defined by."""
    return rules.block(x.meaning) if isinstance(x, DefinedLeaf) else None


def block_of_product(x: Operator) -> tuple[Callable[[int, int], Array], str] | None:
    """Blocks of A X B* (004 Eq. 15) and of A* X B (004 Eq. 25) from the Lyapunov solution and the path."""
    if not isinstance(x, Product) or len(x.factors) < 3:
        return None
    left, *middle, right = x.factors
    X = reduce(product, middle)
    if X.pattern() != DIAGONAL:
        return None
    A, B = _plain(left), _plain(right.T)
    if A is not None and B is not None:
        return _forward(A, X, B), "004 Eq. 15"
    A, B = _plain(left.T), _plain(right)
    if A is not None and B is not None:
        return _backward(A, X, B), "004 Eq. 25"
    return None


def _plain(x: Operator) -> PropagatorLeaf | None:
    return x if isinstance(x, PropagatorLeaf) and not x.what.tilde else None


def _forward(A: PropagatorLeaf, X: Operator, B: PropagatorLeaf) -> Callable[[int, int], Array]:
    def work(i: int, j: int) -> Array:
        Y = _solution(lyapunov(A.kernel, X, B.kernel))
        return block_of_AXBs(tree_of(A.spaces[0]), A.sweeps().A, Y, B.sweeps().A, i, j)

    return work


def _backward(A: PropagatorLeaf, X: Operator, B: PropagatorLeaf) -> Callable[[int, int], Array]:
    def work(i: int, j: int) -> Array:
        Y = _solution(lyapunov(A.kernel.T, X, B.kernel.T))
        return block_of_AsXB(tree_of(A.spaces[0]), A.sweeps().A, Y, B.sweeps().A, i, j)

    return work


def _solution(Y: Operator) -> list[Array]:
    """The blocks of a Lyapunov solution; R and Upsilon are taken from the memo of their configuration."""
    assert isinstance(Y, LyapunovLeaf)
    return named_solution(Y).blocks().diagonal()


def install() -> None:
    """Teach the algebra; the order is the order in which rules are tried."""
    rules.inverse_rules[:] = [
        inverse_of_propagator,
        inverse_of_mass_matrix,
        inverse_of_innovations_factor,
        inverse_on_edges,
        inverse_by_push_through,
        inverse_of_given,
        inverse_of_closures,
    ]
    rules.last_inverse_rules[:] = [inverse_by_normal_form]
    rules.array_rules[:] = [array_of_mass_matrix]
    rules.block_rules[:] = [block_of_propagator, block_of_defined, block_of_product]
    rules.determinant_rules[:] = [determinant_of_mass_matrix]
    rules.singular_rules[:] = [singular_projection]
    rules.regular_rules[:] = [regular_propagator, regular_mass_matrix]
    questions.diag_of.register(Operator, diag_of)
    questions.lyapunov.register(Operator, lyapunov)
    questions.remainder.register(Operator, remainder)
    questions.sqrt.register(Operator, sqrt)
    questions.cholesky.register(Operator, cholesky)
    questions.diff.register(Operator, diff)
    questions.dot.register(Operator, dot)
    questions.along.register(Operator, along)
    questions.recursion.register(Operator, recursion)
    questions.compiled.register(Operator, compiled)
    questions.simplify.register(Operator, simplify)
    side_rules.install()
