"""`check_operator`: dense against apply, the adjoint dot test, blocks, tags and text of any operator expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.algebra.expressions.held import released
from soacraft.algebra.expressions.nodes import I
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.values.evaluate import array, columns_of
from soacraft.algebra.values.measure import largest_ratio, random_columns, sizes
from soacraft.arguments import Seed, read_seed
from soacraft.cards import card
from soacraft.errors import SpaceError
from soacraft.ops.binding import GraphBinding, SKOBinding
from soacraft.ops.derived import diag_of
from soacraft.ops.given import GivenLeaf
from soacraft.ops.leaves import DefinedLeaf
from soacraft.ops.names import ALONG_VELOCITY, FOR_DERIVATIVES
from soacraft.ops.namespace import operators_of
from soacraft.ops.roots import root_rate
from soacraft.ops.table import NAMES

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OperatorReport:
    """One line for each check: its name and the relative error. `.ok` when all are within the tolerance."""

    expression: str
    checks: tuple[tuple[str, float], ...]
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if all errors are within the tolerance."""
        return all(error <= self.tolerance for _, error in self.checks)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        width = max(len(name) for name, _ in self.checks)
        told = {True: "ok", False: "FAILS"}
        lines = [f"  {name:<{width}}  {x:.1e}  {told[bool(x <= self.tolerance)]}" for name, x in self.checks]
        return "\n".join([f"check of {self.expression}", *lines])

    def _repr_html_(self) -> str:
        rows = [(name, f"{error:.1e}", "ok" if error <= self.tolerance else "FAILS") for name, error in self.checks]
        head = markup.Html(f"check of {markup.code(self.expression)}")
        return card(head, markup.table(["check", "relative error", ""], rows))


def check_operator(expr: Operator, tolerance: float = 1e-9, seed: Seed = 0) -> OperatorReport:
    """Check the promises of an operator; for small models, since it forms the dense matrix.

    It compares products with vectors and with its transpose against the dense matrix, `y* (X x) = (X* y)* x`, every
    block against the dense matrix, each tag against the numbers, and tests that its text reads back to an operator of
    the same value.

    >>> import soacraft as sc
    >>> sc.check_operator(sc.operators(sc.load("arm7"), "Omega")).ok
    True
    """
    expr = released(expr)
    if not isinstance(expr, Operator):
        raise SpaceError(f"check_operator takes an operator, not {expr!r}.")
    look = Look(expr, read_seed(seed, "the seed of check_operator"))
    ratios: list[tuple[str, float]] = [
        ("product with vectors", look.product()),
        ("transpose with vectors", look.transpose()),
        ("adjoint dot test", look.adjoint()),
        ("blocks", look.ratio(_from_blocks(expr) - look.dense)),
    ]
    ratios += [(f"tag {tag}", TAGS[tag](look)) for tag in sorted(expr.tags)]
    ratios.append(("text reads back", look.ratio(_from_text(expr) - look.dense)))
    return OperatorReport(expr.text(), tuple(ratios), tolerance)


class Look:
    """The dense matrix of an expression and the sizes that its errors are measured by, entry by entry: the largest of
    what went into the entries that share their units (`soacraft.algebra.values.measure`).
    """

    def __init__(self, expr: Operator, rng: np.random.Generator) -> None:
        rows, cols = expr.spaces
        self.expr, self.dense = expr, array(expr)
        pieces = cols.sizes(sizes(expr).swapaxes(-1, -2)).swapaxes(-1, -2)
        self.sizes = pieces[..., rows.piece_of, :][..., cols.piece_of]
        drawn = ([np.zeros((space.size, 0)), *random_columns(space, 3, rng)] for space in (cols, rows))
        self.x, self.y = (np.concatenate(columns, axis=-1) for columns in drawn)

    def ratio(self, gap: Array, size: Array | None = None) -> float:
        """The largest error relative to its size."""
        return largest_ratio(np.abs(gap), self.sizes if size is None else size)

    def product(self) -> float:
        """X x by sweeps and by the dense matrix."""
        return self.ratio(columns_of(self.expr, self.x) - self.dense @ self.x, self.sizes @ np.abs(self.x))

    def transpose(self) -> float:
        """X* y by sweeps and by the dense matrix."""
        return self.ratio(columns_of(self.expr.T, self.y) - self.dense.mT @ self.y, self.sizes.mT @ np.abs(self.y))

    def adjoint(self) -> float:
        """y* (X x) = (X* y)* x."""
        gap = self.y.mT @ columns_of(self.expr, self.x) - columns_of(self.expr.T, self.y).mT @ self.x
        return self.ratio(gap, np.abs(self.y).mT @ self.sizes @ np.abs(self.x))

    def smallest(self) -> float:
        """The smallest eigenvalue of the symmetric part, with rows and columns relative to the roots of their sizes."""
        if not self.dense.size:
            return np.inf
        d = np.sqrt(np.diagonal(self.sizes, axis1=-2, axis2=-1))
        d = np.where(d > 0.0, d, 1.0)
        X = self.dense / d[..., :, None] / d[..., None, :]
        return float(np.min(np.linalg.eigvalsh(0.5 * (X + X.mT))))


def _from_blocks(expr: Operator) -> Array:
    """The dense matrix, block by block."""
    rows, cols = expr.spaces
    X = np.zeros((*expr.batch, rows.size, cols.size))
    for i in range(len(rows)):
        for j in range(len(cols)):
            X[..., rows.block(i), cols.block(j)] = expr[rows.labels[i], cols.labels[j]]
    return X


def _from_text(expr: Operator) -> Array:
    """The dense matrix of what the text reads back to, with the names of the operators and nothing else."""
    binding = next((leaf.binding for leaf in expr.leaves()), None)
    if not isinstance(binding, (GraphBinding, SKOBinding)):
        raise SpaceError(f"{expr.text()} is bound to no model.")
    own = {leaf.name: leaf for leaf in expr.leaves() if isinstance(leaf, (DefinedLeaf, GivenLeaf))}
    found = read_back(expr.text(), operators_of(binding), own)
    if found.rows is None:  # made of identities alone
        found = found.with_space(expr.spaces[0])
    return array(found)


def read_back(text: str, s: Any, own: Mapping[str, Operator] | None = None) -> Operator:
    """Expression of a text, with the names of a namespace and those of the user."""
    names = {name: getattr(s, name) for name in (*NAMES, *s.operators_besides)}
    names |= {"I": I, "B": s.B, "diag_of": diag_of, "root_rate": root_rate}
    names |= {name: getattr(s, name) for name in FOR_DERIVATIVES}
    names |= {name: getattr(s, name) for name in ALONG_VELOCITY if name in text}
    found = eval(text, {"__builtins__": {}}, names | dict(own or {}))
    assert isinstance(found, Operator)
    return found


def _symmetric(look: Look) -> float:
    return look.ratio(look.dense - look.dense.mT, np.maximum(look.sizes, look.sizes.mT))


def _block_diagonal(look: Look) -> float:
    rows, cols = look.expr.spaces
    rest = look.dense.copy()
    for k in range(len(rows)):
        rest[..., rows.block(k), cols.block(k)] = 0.0
    return look.ratio(rest)


def _positive_semidefinite(look: Look) -> float:
    return max(0.0, -look.smallest())


def _positive_definite(look: Look) -> float:
    return 0.0 if look.smallest() > 0 else np.inf


TAGS: dict[str, Callable[[Look], float]] = {
    "symmetric": _symmetric,
    "block_diagonal": _block_diagonal,
    "positive_semidefinite": _positive_semidefinite,
    "positive_definite": _positive_definite,
}
