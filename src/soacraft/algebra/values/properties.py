"""Properties of an expression: square, block-diagonal, triangular, nilpotent, invertible, symmetric, definite.

True follows from structure: which blocks can be non-zero (`support`), what is claimed of leaves (`tags`), rank and
factorizations; for invertible and definite ones also from diagonal blocks at this state, and the reason says so. False
follows from structure, or from the numbers at the present state: one state is enough to refute. None means that neither
decides; where the numbers happen to have the property the reason says so.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.properties import Properties
from soacraft.algebra.expressions import questions, rules
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.spaces.definite import definiteness
from soacraft.algebra.spaces.regular import is_regular
from soacraft.algebra.values.determinant import is_triangular, narrowest
from soacraft.algebra.values.evaluate import array
from soacraft.algebra.values.measure import sizes
from soacraft.algebra.values.support import MOST, Flags, closure, support
from soacraft.errors import SingularError, SpaceError, StructureError

Array = npt.NDArray[np.float64]
Answer = tuple[bool | None, str]

#: Entries on a side of what is looked at in numbers; a gap above this part of what went into an entry is no rounding.
LOOKED_AT, GAP = 500, 1e-9


@at_one_instant
def properties(expr: Operator) -> Properties:
    """All of them."""
    look = Look(expr)
    found = {
        "square": look.square,
        "block_diagonal": look.block_diagonal,
        "triangular": look.triangular,
        "nilpotent": look.nilpotent,
        "invertible": look.invertible,
        "symmetric": look.symmetric,
        "definite": look.definite,
        "semidefinite": look.semidefinite,
    }
    values = {name: answer[0] for name, answer in found.items()}
    return Properties(expr.text(), **values, why={name: answer[1] for name, answer in found.items()})


class Look:
    """The answers for one expression, each computed once."""

    def __init__(self, expr: Operator) -> None:
        self.expr = expr
        self.rows, self.cols = expr.spaces
        self.size = self.rows.size

    # -- what can be non-zero, and what is ------------------------------------------------------------------------

    @cached_property
    def flags(self) -> Flags | None:
        """Flags of the blocks that can be non-zero; None in a model of too many nodes."""
        return support(self.expr) if max(len(self.rows), len(self.cols)) <= MOST else None

    @cached_property
    def numbers(self) -> tuple[Array, Array] | None:
        """The dense matrix and, entry by entry, the size of what went into it (`measure.sizes`); None where there are
        too many entries or no numbers at this state.
        """
        if max(self.expr.shape) > LOOKED_AT:
            return None
        try:
            dense = array(self.expr)
            by_piece = self.cols.sizes(sizes(self.expr).swapaxes(-1, -2)).swapaxes(-1, -2)
        except (SingularError, SpaceError, StructureError):
            return None
        return dense, by_piece[..., self.rows.piece_of, :][..., self.cols.piece_of]

    @cached_property
    def nonzero(self) -> Flags | None:
        """Flags of the entries that are not zero at this state, or at one state of a batch."""
        if self.numbers is None:
            return None
        dense, scale = self.numbers
        found = np.abs(dense) > GAP * scale
        return np.asarray(found.reshape(-1, *found.shape[-2:]).any(axis=0))

    def _seen(self, outside: Flags) -> str | None:
        """A block outside of a pattern that is not zero at this state."""
        if self.nonzero is None:
            return None
        for i, j in np.argwhere(outside):
            if self.nonzero[self.rows.block(i), self.cols.block(j)].any():
                return f"block ({self.rows.labels[i]!r}, {self.cols.labels[j]!r}) is not zero at this state"
        return None

    def _within(self, allowed: Flags, because: str) -> Answer:
        """Answer to the question if all blocks lie within `allowed`."""
        if self.flags is None:
            return None, f"there are more than {MOST} nodes"
        outside = self.flags & ~allowed
        if not outside.any():
            return True, because
        seen = self._seen(outside)
        if seen is not None:
            return False, seen
        i, j = (int(k) for k in np.argwhere(outside)[0])
        return None, f"structure allows a block ({self.rows.labels[i]!r}, {self.cols.labels[j]!r})" + self._zero_here()

    def _zero_here(self) -> str:
        return "; the numbers are not looked at" if self.nonzero is None else "; it is zero at this state"

    # -- the properties -------------------------------------------------------------------------------------------

    @cached_property
    def square(self) -> Answer:
        same = self.rows == self.cols
        return same, f"it maps {self.rows} <- {self.cols}"

    @cached_property
    def block_diagonal(self) -> Answer:
        if self.rows.labels != self.cols.labels:
            return False, f"{self.rows} and {self.cols} have other blocks"
        return self._within(np.eye(len(self.rows), dtype=np.bool_), "structure has blocks on the diagonal only")

    @cached_property
    def triangular(self) -> Answer:
        tree = self.rows.tree
        if tree is None or self.cols.tree != tree:
            return None, "only hinge and body spaces have the order of the tree"
        if len(self.rows) > MOST:
            return None, f"there are more than {MOST} nodes"
        inboard = closure(tree.adjacency() > 0)
        up = self._within(inboard, "blocks (ancestor, body) only: lower triangular when tips are counted first")
        if up[0]:
            return (True, self.block_diagonal[1]) if self.block_diagonal[0] else up
        down = self._within(inboard.T, "blocks (body, ancestor) only: upper triangular when tips are counted first")
        if down[0]:
            return down
        if up[0] is down[0] is False:
            return False, f"{up[1]}; {down[1]}"
        return None, down[1] if up[0] is False else up[1]

    @cached_property
    def nilpotent(self) -> Answer:
        if not self.square[0]:
            return False, "it is not square"
        if self.flags is None:
            return None, f"there are more than {MOST} nodes"
        order = _order(self.flags)
        if order is not None:
            return True, f"no path of its blocks comes back to a node: its power {order} is zero"
        if self.size and self.invertible[0]:
            return False, "it is invertible"
        if self.nonzero is not None and self.symmetric[0] and self.nonzero.any():
            return False, "it is symmetric and not zero"
        if self.numbers is not None:
            diagonal, scale = (np.diagonal(x, axis1=-2, axis2=-1).sum(axis=-1) for x in self.numbers)
            if (np.abs(diagonal) > GAP * scale).any():
                return False, "its trace is not zero at this state"
        return None, "paths of its blocks come back to a node; only the numbers show if they cancel"

    @cached_property
    def invertible(self) -> Answer:
        if not self.square[0]:
            return False, "it is not square"
        found = _invertible(self.expr)
        if found[0] is not None or self.flags is None:
            return found
        if _order(self.flags) is not None:
            return False, "it is nilpotent"
        return self._by_blocks() if is_triangular(self.flags) else found

    def _by_blocks(self) -> Answer:
        """Answer for a block-triangular expression: every diagonal block must be regular."""
        try:
            blocks = questions.diag_of(self.expr).blocks().diagonal()
        except (SingularError, StructureError) as error:
            return None, str(error)
        kind = "block-diagonal" if self.expr.pattern() == DIAGONAL else "block-triangular"
        bad = next((k for k, x in enumerate(blocks) if not is_regular(x).all()), None)
        if bad is None:
            return True, f"{kind}, and every diagonal block is regular at this state"
        return False, f"{kind}, and block {self.rows.labels[bad]!r} is singular at this state"

    @cached_property
    def symmetric(self) -> Answer:
        if not self.square[0]:
            return False, "it is not square"
        if "symmetric" in self.expr.tags:
            return True, self._told("X*Y*X.T with a symmetric Y", "symmetric")
        if self.numbers is None:
            return None, "structure does not say; the numbers are not looked at"
        if not self.expr.is_symmetric(GAP):
            return False, "it differs from its transpose at this state"
        return None, "structure does not say; it is its own transpose at this state"

    def _told(self, product: str, word: str) -> str:
        """Source of a tag, in words."""
        if isinstance(self.expr, Leaf):
            return f"{word} by its definition" + (f" ({self.expr.source})" if self.expr.source else "")
        return product if isinstance(self.expr, Product) else f"its parts are {word}"

    @cached_property
    def definite(self) -> Answer:
        if self.symmetric[0] is False:
            return False, f"not symmetric: {self.symmetric[1]}"
        if "positive_definite" in self.expr.tags:
            return True, self._told("it is made of positive definite parts", "positive definite")
        if self.invertible[0] is False:
            return False, f"singular: {self.invertible[1]}"
        if self.semidefinite[0] and self.invertible[0]:
            return True, f"positive semi-definite and invertible: {self.invertible[1]}"
        if self.semidefinite[0] is False:
            return False, self.semidefinite[1]
        return None, f"{self.semidefinite[1]}; {self.invertible[1]}"

    @cached_property
    def semidefinite(self) -> Answer:
        if self.symmetric[0] is False:
            return False, f"not symmetric: {self.symmetric[1]}"
        if {"positive_definite", "positive_semidefinite"} & self.expr.tags:
            return True, self._told("X*Y*X.T with a positive semi-definite Y", "positive")
        if isinstance(self.expr, Inverse):
            return Look(self.expr.arg).semidefinite
        if self.expr.pattern() == DIAGONAL and self.symmetric[0]:
            blocks = [x for x in self.expr.blocks().diagonal() if x.shape[-1]]
            if all(definiteness(x) for x in blocks):
                return True, "every diagonal block is positive at this state"
        lowest = self._lowest()
        if lowest is not None and lowest < -GAP:
            return False, "it has a negative eigenvalue at this state"
        return None, "structure does not say whether it is positive"

    def _lowest(self) -> float | None:
        """The smallest eigenvalue with ones for the sizes on the diagonal."""
        if self.numbers is None or not self.size:
            return None
        dense, scale = self.numbers
        d = np.sqrt(np.diagonal(scale, axis1=-2, axis2=-1))
        d = np.where(d > 0.0, d, 1.0)
        X = dense / d[..., :, None] / d[..., None, :]
        return float(np.min(np.linalg.eigvalsh(0.5 * (X + X.mT))))


def _order(flags: Flags) -> int | None:
    """The power that is zero by structure; None when blocks form a cycle."""
    n = len(flags)
    length, known = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    waiting = flags.sum(axis=1)  # blocks in a row that lead to nodes not yet known
    ready = [int(k) for k in np.flatnonzero(waiting == 0)]
    while ready:
        k = ready.pop()
        known[k] = True
        for i in np.flatnonzero(flags[:, k]):
            length[i] = max(length[i], length[k] + 1)
            waiting[i] -= 1
            if waiting[i] == 0:
                ready.append(int(i))
    return int(length.max(initial=0)) + 1 if known.all() else None


def _invertible(x: Operator) -> Answer:
    """Answer about invertibility from structure alone."""
    if isinstance(x, Identity):
        return True, "the identity"
    if not x.shape[0]:
        return True, "it has no entries"
    why = rules.singular(x) or narrowest(x)
    if why is not None:
        return False, why
    known = rules.regular(x)
    if known is not None:
        return known
    if isinstance(x, Leaf) and (meaning := x.definition()) is not None:
        return _invertible(meaning)
    if isinstance(x, Transpose):
        return _invertible(x.arg)
    if isinstance(x, Inverse):
        lost = _invertible(x.arg)
        return (None, f"there is no such inverse: {lost[1]}") if lost[0] is False else (True, "it is an inverse")
    if isinstance(x, Scaled):
        return (False, "it is zero") if x.factor == 0 else _invertible(x.arg)
    if isinstance(x, Power):
        return _invertible(x.arg) if x.n else (True, "the identity")
    parts = rules.square_parts(x)
    if len(parts) > 1:
        answers = [_invertible(part) for part in parts]
        for part, answer in zip(parts, answers, strict=True):
            if answer[0] is False:
                return False, f"its factor {part.text()} is singular: {answer[1]}"
        if all(one[0] for one in answers):
            return True, "all its square factors are"
    if "positive_definite" in x.tags:
        return True, "it is positive definite"
    return None, "structure does not say whether it has an inverse"


questions.properties.register(Operator, properties)
