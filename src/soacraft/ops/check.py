"""`check_operator`: dense against apply, the adjoint dot test, blocks, tags and text of any operator expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.algebra.measure import scale
from soacraft.algebra.nodes import I
from soacraft.algebra.operator import Operator
from soacraft.arguments import Seed, read_seed
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
        """Whether all are within the tolerance."""
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
        head = markup.paragraph(markup.Html(f"check of {markup.code(self.expression)}"))
        return markup.joined(head, markup.table(["check", "relative error", ""], rows))


def check_operator(expr: Operator, tolerance: float = 1e-9, seed: Seed = 0) -> OperatorReport:
    """Whether an operator keeps its promises; for small models, it forms the dense matrix.

    Products with vectors and with its transpose against the dense matrix, `y* (X x) = (X* y)* x`, every block against
    the dense matrix, each tag against the numbers, and that its text reads back to an operator of the same value.

    >>> import soacraft as sc
    >>> sc.check_operator(sc.operators(sc.load("arm7"), "Omega")).ok
    True
    """
    if not isinstance(expr, Operator):
        raise SpaceError(f"check_operator takes an operator, not {expr!r}.")
    rows, cols = expr.spaces
    dense, size = expr.array(), scale(expr)
    rng = read_seed(seed, "the seed of check_operator")
    x, y = rng.standard_normal((cols.size, 3)), rng.standard_normal((rows.size, 3))
    Xx, XTy = expr.apply(x), expr.apply_T(y)
    gaps: list[tuple[str, float]] = [
        ("product with vectors", _gap(Xx, dense @ x)),
        ("transpose with vectors", _gap(XTy, dense.mT @ y)),
        ("adjoint dot test", _gap(np.sum(y * Xx, axis=-2), np.sum(XTy * x, axis=-2))),
        ("blocks", _blocks_gap(expr, dense)),
    ]
    gaps += [(f"tag {tag}", TAGS[tag](expr, dense)) for tag in sorted(expr.tags)]
    gaps.append(("text reads back", _text_gap(expr, dense)))
    return OperatorReport(expr.text(), tuple((name, gap / (size or 1.0)) for name, gap in gaps), tolerance)


def _gap(x: Array, y: Array) -> float:
    gap = float(np.max(np.abs(x - y), initial=0.0))
    return gap if np.isfinite(gap) else float("inf")


def _blocks_gap(expr: Operator, dense: Array) -> float:
    rows, cols = expr.spaces
    gaps = [
        _gap(expr[i, j], dense[..., rows.block(i), cols.block(j)]) for i in range(len(rows)) for j in range(len(cols))
    ]
    return max(gaps, default=0.0)


def _text_gap(expr: Operator, dense: Array) -> float:
    """Read the text with the names of the operators and nothing else."""
    binding = next((leaf.binding for leaf in expr.leaves()), None)
    if not isinstance(binding, (GraphBinding, SKOBinding)):
        raise SpaceError(f"{expr.text()} is bound to no model.")
    own = {leaf.name: leaf for leaf in expr.leaves() if isinstance(leaf, (DefinedLeaf, GivenLeaf))}
    found = read_back(expr.text(), operators_of(binding), own)
    if found.rows is None:  # made of identities alone
        found = found.with_space(expr.spaces[0])
    return _gap(found.array(), dense)


def read_back(text: str, s: Any, own: Mapping[str, Operator] | None = None) -> Operator:
    """The expression a text stands for, with the names of a namespace and the user's own."""
    names = {name: getattr(s, name) for name in NAMES}
    names |= {"I": I, "B": s.B, "diag_of": diag_of, "root_rate": root_rate}
    names |= {name: getattr(s, name) for name in FOR_DERIVATIVES}
    names |= {name: getattr(s, name) for name in ALONG_VELOCITY if name in text}
    found = eval(text, {"__builtins__": {}}, names | dict(own or {}))
    assert isinstance(found, Operator)
    return found


def _symmetric(expr: Operator, dense: Array) -> float:
    return _gap(dense, dense.mT)


def _block_diagonal(expr: Operator, dense: Array) -> float:
    rows, cols = expr.spaces
    rest = dense.copy()
    for k in range(len(rows)):
        rest[..., rows.block(k), cols.block(k)] = 0.0
    return float(np.max(np.abs(rest), initial=0.0))


def _smallest(dense: Array) -> float:
    """The smallest eigenvalue."""
    return float(np.min(np.linalg.eigvalsh(0.5 * (dense + dense.mT)))) if dense.size else np.inf


def _positive_semidefinite(expr: Operator, dense: Array) -> float:
    return max(0.0, -_smallest(dense))


def _positive_definite(expr: Operator, dense: Array) -> float:
    return 0.0 if _smallest(dense) > 0 else np.inf


TAGS: dict[str, Callable[[Operator, Array], float]] = {
    "symmetric": _symmetric,
    "block_diagonal": _block_diagonal,
    "positive_semidefinite": _positive_semidefinite,
    "positive_definite": _positive_definite,
}
