"""Fields of a plan: what of an expression must be there as blocks before its steps run.

A field is a block-sparse operator of the plan (`model.flat.plans`). What has blocks becomes a field only where its
numbers are needed together, in inverses and equations; everywhere else a product is applied factor by factor, by the
steps (`soacraft.ops.programs.steps`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.tree import Tree
from soacraft.model.flat.plans import Plan, spots_of
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derived import UP, DiagOf, DiagonalLeaf, LyapunovLeaf, RiccatiInverse, SweptInverse
from soacraft.ops.given import GivenBlocks
from soacraft.ops.leaves import BlockLeaf, DefinedLeaf, PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.programs.forms import form

Array = npt.NDArray[np.float64]

A, H, M = range(3)

#: A plan keeps its fields, and there are derivatives along every dof: once a state has this many numbers, or this many
#: times those of A, H and M, further derivatives are left to Python, whose blocks are given back.
MOST_NUMBERS, MOST_TIMES = 1 << 20, 8
#: A program forms E* Y E before it takes the diagonal: where siblings have more pairs than this for each body, that
#: would not be O(n), and Python forms the diagonal alone.
MOST_PAIRS = 8

#: The leaves that are lowered by what they are. Others, and classes of the user's own made of these, are lowered by
#: their blocks, if their products are those of their blocks.
KNOWN: set[type[Leaf]] = {
    SparseLeaf, PickOffLeaf, PropagatorLeaf, DefinedLeaf, LyapunovLeaf, DiagOf, SweptInverse, RiccatiInverse
}  # fmt: skip
_BY_BLOCKS = frozenset(
    method
    for kind in (BlockLeaf, DiagonalLeaf, PickOffLeaf)
    for method in (kind.apply, kind.apply_T)
)


class NotLowered(Exception):
    """There is no program for this expression: it is computed by its own recursions."""


class Fields:
    """The fields of a model, by name: made once for a structure and its axes."""

    def __init__(self, plan: Plan, body: Space) -> None:
        self.plan = plan
        self.most = MOST_NUMBERS + MOST_TIMES * plan.size  # with those of derivatives
        self.rigid = False  # whether C++ knows where nodes are
        self.picked: dict[int, tuple[Frame, ...]] = {}  # the nodes of pick-off fields
        self.names: dict[int, str] = {}  # how the fields are written
        self.constants: dict[int, Array] = {}  # numbers of the fields that are the same at every state
        self._known: dict[Any, int] = {}
        self._spaces: dict[tuple[int, ...], int] = {}
        self._body = body

    def once(self, key: Any, make: Callable[[], int]) -> int:
        """A field by a key that says all about it."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def space(self, space: Space) -> int:
        """The number of a space."""
        if space.kind in ("body", "hinge"):
            return 0 if space.kind == "body" else 1
        if space.dims not in self._spaces:
            self._spaces[space.dims] = self.plan.space(space.offsets)
        return self._spaces[space.dims]

    @cached_property
    def column(self) -> int:
        """The number of the space of one number: fields of a column map from it."""
        return self.plan.space(np.array([0, 1]))

    def named(self, name: str) -> int:
        """A field of the table of operators."""
        made = self.once(name, lambda: _NAMED[name](self))
        self.names.setdefault(made, name.replace("_inv", ".inv"))
        return made

    def eye(self, space: Space) -> int:
        """The identity of a space."""
        number = self.space(space)

        def make() -> int:
            k = np.arange(len(space), dtype=np.int64)
            field = self.plan.given(number, number, k, k, True)
            self.constants[field] = np.concatenate([np.zeros(0), *(np.eye(d).ravel() for d in space.dims)])
            return field

        return self.once(("I", number), make)

    def times(self, X: int, Y: int, left: bool = False, right: bool = False) -> int:
        """X Y, either of them transposed."""
        return self.plan.product(X, left, Y, right)

    def scaled(self, c: float, X: int, turned: bool = False, part: int = 0) -> int:
        """c X or c X*; of it the diagonal blocks (part 1), those off the diagonal (2) or all (0)."""
        return self.plan.sum(c, X, turned, 0.0, -1, False, part)

    def complement(self, X: int) -> int:
        """I - X in the body space."""
        return self.plan.sum(1.0, self.eye(self._body), False, -1.0, X, False)


def _riccati(part: int) -> Callable[[Fields], int]:
    return lambda f: f.plan.riccati(A, H, M) + part


def _compliance(f: Fields) -> int:
    X = f.times(f.times(H, f.named("D_inv"), left=True), H)
    return f.plan.lyapunov(f.named("E_psi"), X, f.named("E_psi"), True)


#: Definitions of the operators of `ops.table` by A, H and M.
_NAMED: dict[str, Callable[[Fields], int]] = {
    "E_phi": lambda f: A,
    "H": lambda f: H,
    "M": lambda f: M,
    "R": lambda f: f.plan.lyapunov(A, M, A, False),
    "P": _riccati(0),
    "P_plus": lambda f: f.plan.past_hinge(f.named("P")),
    "D": _riccati(1),
    "G": _riccati(2),
    "K": lambda f: f.times(A, f.named("G")),
    "tau": lambda f: f.times(f.named("G"), H),
    "tau_bar": lambda f: f.complement(f.named("tau")),
    "E_psi": lambda f: f.plan.remainder(A, f.named("K"), H),  # E_phi (I - G H)
    "D_inv": lambda f: f.plan.inverse(f.named("D")),
    "Upsilon": _compliance,
}


# -- of one expression ------------------------------------------------------------------------------------------------


class Needed:
    """The fields of one expression, and those of them whose numbers Python must give."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.outside: dict[int, tuple[Leaf, bytes]] = {}  # with the places of its blocks
        self.made: dict[Any, int] = {}  # the fields by form: parts of an expression are often alike

    def given(self, leaf: Leaf) -> int:
        """The field of a leaf whose numbers Python computes."""
        by_blocks = type(leaf).apply in _BY_BLOCKS and type(leaf).apply_T in _BY_BLOCKS
        if not by_blocks or leaf.pattern() is None or (blocks := leaf.blocks()).batch:
            raise NotLowered
        where = np.array(list(blocks.entries), dtype=np.int64).reshape(-1, 2)
        rows, cols = (self.fields.space(space) for space in leaf.spaces)
        constant = isinstance(leaf, GivenBlocks)

        def make() -> int:
            i, j = np.ascontiguousarray(where[:, 0]), np.ascontiguousarray(where[:, 1])
            field = self.fields.plan.given(rows, cols, i, j, constant)
            if constant:
                self.fields.constants[field] = numbers_of(leaf)
            return field

        field = self.fields.once((form(leaf), where.tobytes()), make)
        if not constant:
            self.outside[field] = (leaf, where.tobytes())
        return field


def numbers_of(leaf: Leaf) -> Array:
    """The blocks of a leaf one after the other."""
    return np.concatenate([np.zeros(0), *(x.ravel() for x in leaf.blocks().entries.values())])


def field(expr: Operator, need: Needed) -> int:
    """The field of an expression that has blocks."""
    written = form(expr)
    if written not in need.made:
        made = need.given(expr) if isinstance(expr, Leaf) and type(expr) not in KNOWN else _field(expr, need)
        if made not in need.fields.names:
            need.fields.names[made] = expr.text()
        need.made[written] = made
    return need.made[written]


@singledispatch
def _field(expr: Operator, need: Needed) -> int:
    raise NotLowered


@_field.register
def _(expr: SparseLeaf, need: Needed) -> int:
    return need.fields.named(expr.name)


@_field.register
def _(expr: PickOffLeaf, need: Needed) -> int:
    if not need.fields.rigid:
        return need.given(expr)
    assert expr.cols is not None and isinstance(expr.binding, GraphBinding)
    graph, space = expr.binding.graph, need.fields.space(expr.cols)
    frames = tuple(graph.frame(name) for name in expr.nodes)
    if not all(isinstance(frame.carrier, Body) for frame in frames):
        raise NotLowered
    made = need.fields.once(("B", expr.nodes), lambda: need.fields.plan.pick_off(space, spots_of(graph.layout, frames)))
    need.fields.picked[made] = frames
    return made


@_field.register
def _(expr: DefinedLeaf, need: Needed) -> int:
    return field(expr.meaning, need)


@_field.register
def _(expr: Identity, need: Needed) -> int:
    return need.fields.eye(expr.spaces[0])


@_field.register
def _(expr: Scaled, need: Needed) -> int:
    return need.fields.scaled(float(expr.factor), field(expr.arg, need))


@_field.register
def _(expr: Transpose, need: Needed) -> int:
    return need.fields.scaled(1.0, field(expr.arg, need), turned=True)


@_field.register
def _(expr: Sum, need: Needed) -> int:
    (a, first), *rest = [factor_of(term) for term in expr.terms]
    total = field(first, need) if a == 1.0 else need.fields.scaled(a, field(first, need))
    for b, term in rest:
        total = need.fields.plan.sum(1.0, total, False, b, field(term, need), False)
    return total


@_field.register
def _(expr: Product, need: Needed) -> int:
    result, turned = _turned(expr.factors[0], need)
    for factor in expr.factors[1:]:
        next_field, right = _turned(factor, need)
        result, turned = need.fields.times(result, next_field, turned, right), False
    return result


@_field.register
def _(expr: Power, need: Needed) -> int:
    raise NotLowered


@_field.register
def _(expr: Inverse, need: Needed) -> int:
    if expr.arg.pattern() == DIAGONAL:
        if isinstance(expr.arg, SparseLeaf) and expr.arg.name == "D":
            return need.fields.named("D_inv")
        try:
            return need.fields.plan.inverse(field(expr.arg, need))
        except ValueError:  # a block of the diagonal is zero: the expression itself says so
            raise NotLowered from None
    known = expr.known()
    if known is None:
        raise NotLowered
    return field(known[0], need)


@_field.register
def _(expr: LyapunovLeaf, need: Needed) -> int:
    X = field(expr.X, need)
    if expr.E.pattern() == UP:
        return need.fields.plan.lyapunov(field(expr.E, need), X, field(expr.other, need), False)
    return need.fields.plan.lyapunov(field(expr.E.T, need), X, field(expr.other.T, need), True)


@_field.register
def _(expr: DiagOf, need: Needed) -> int:
    form = expr.form()
    if form is not None:
        return field(form, need)
    tree = expr.spaces[0].tree
    if expr.expr.pattern() is None or (tree is not None and _pairs_of_siblings(tree) > MOST_PAIRS * tree.n):
        return need.given(expr)
    return need.fields.scaled(1.0, field(expr.expr, need), part=1)


def _pairs_of_siblings(tree: Tree) -> int:
    """Number of blocks of E* E."""
    return sum(len(tree.children(k)) ** 2 for k in range(-1, tree.n))


def _turned(expr: Operator, need: Needed) -> tuple[int, bool]:
    """The field of an expression or of its transpose, and whether it is the latter."""
    if isinstance(expr, Transpose):
        return field(expr.arg, need), True
    return field(expr, need), False


def factor_of(expr: Operator) -> tuple[float, Operator]:
    """A number and what it multiplies."""
    c = 1.0
    while isinstance(expr, Scaled):
        c, expr = c * float(expr.factor), expr.arg
    return c, expr
