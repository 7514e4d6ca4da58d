"""Expressions as programs: which fields must be made, and the steps that take a vector through them.

A field is a block-sparse operator of the plan (`model.flat.plans`). What has blocks becomes a field only where its
numbers are needed together, in inverses and equations; everywhere else a product is applied factor by factor.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.space import Space
from soacraft.model.flat.plans import Plan, Program, make_program, spots_of
from soacraft.model.tree.frame import Body, Frame
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derived import UP, DiagOf, DiagonalLeaf, LyapunovLeaf, RiccatiInverse, SweptInverse
from soacraft.ops.given import GivenBlocks
from soacraft.ops.leaves import BlockLeaf, DefinedLeaf, DerivedLeaf, PickOffLeaf, PropagatorLeaf, SparseLeaf

Array = npt.NDArray[np.float64]

#: A higher power is left to Python, which squares sparse operators; up to this one it is applied again and again.
HIGHEST_POWER = 16

A, H, M = range(3)
APPLY, APPLY_T, GATHER, SCATTER, GATHER_TILDE, SCATTER_TILDE, COMBINE = range(7)
Step = tuple[int, int, int, int, int, float, float]


#: The leaves that are lowered by what they are. Others, and classes of the user's own made of these, are lowered by
#: their blocks, if their products are those of their blocks.
_KNOWN = frozenset(
    {SparseLeaf, PickOffLeaf, PropagatorLeaf, DefinedLeaf, LyapunovLeaf, DiagOf, SweptInverse, RiccatiInverse}
)
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


#: How the operators of `ops.table` are made of A, H and M.
_NAMED: dict[str, Callable[[Fields], int]] = {
    "E_phi": lambda f: A,
    "H": lambda f: H,
    "M": lambda f: M,
    "R": lambda f: f.plan.lyapunov(A, M, A, False),
    "P": _riccati(0),
    "P_plus": _riccati(1),
    "D": _riccati(2),
    "G": _riccati(3),
    "K": lambda f: f.times(A, f.named("G")),
    "tau": lambda f: f.times(f.named("G"), H),
    "tau_bar": lambda f: f.complement(f.named("tau")),
    "E_psi": lambda f: f.plan.sum(1.0, A, False, -1.0, f.times(f.named("K"), H), False),  # E_phi (I - G H)
    "D_inv": lambda f: f.plan.inverse(f.named("D")),
    "Upsilon": _compliance,
}


class Lowering:
    """One expression: its registers and steps, and the fields whose numbers Python must give."""

    def __init__(self, fields: Fields) -> None:
        self.fields = fields
        self.outside: dict[int, tuple[Leaf, bytes]] = {}  # with the places of its blocks
        self.registers: list[int] = []
        self.steps: list[Step] = []
        self._free: dict[int, list[int]] = {}

    def program(self, expr: Operator) -> Program:
        """The program of products with an expression."""
        rows, cols = expr.spaces
        self.registers = [self.fields.space(cols), self.fields.space(rows)]
        last = steps(expr, self, 0, False)
        if last == 0:
            self.combine(1.0, 0, 0.0, -1, 1)
        else:
            act, which, one, other, out, a, b = self.steps[-1]
            assert out == last
            self.steps[-1] = (act, which, one, other, 1, a, b)
        return make_program(self.fields.plan, self.registers, self.steps, [])

    def register(self, space: int) -> int:
        """A register for a vector of a space."""
        free = self._free.get(space)
        if free:
            return free.pop()
        self.registers.append(space)
        return len(self.registers) - 1

    def release(self, register: int) -> None:
        """Nobody reads it any more; the argument itself is never released."""
        if register > 1:
            self._free.setdefault(self.registers[register], []).append(register)

    def act(self, what: int, field: int, x: int, space: Space) -> int:
        """Apply a field, or the sweep of one, to a register; the result is in a register of its own."""
        out = self.register(self.fields.space(space))
        self.steps.append((what, field, x, -1, out, 1.0, 0.0))
        return out

    def combine(self, a: float, x: int, b: float, other: int, out: int) -> int:
        """out = a x + b other."""
        self.steps.append((COMBINE, -1, x, other, out, a, b))
        return out

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


def listing(fields: Fields, makers: list[tuple[str, int]], steps: list[Step]) -> tuple[str, ...]:
    """A program in words: how its fields are made, then what its steps do."""

    def name(which: int) -> str:
        return fields.names.get(which, f"field {which}")

    made = [
        f"{how}: {'A, H, M' if how == 'blocks at q' else 'P, P_plus, D, G' if how == 'Riccati' else name(which)}"
        for how, which in makers
        if how != "given"
    ]
    return (*made, *(_step_text(step, name) for step in steps))


def _step_text(step: Step, name: Callable[[int], str]) -> str:
    act, which, x, other, out, a, b = step
    if act == COMBINE:
        return f"r{out} = {a:g} r{x}" + ("" if other < 0 else f" + {b:g} r{other}")
    kind = ("", "", "gather", "scatter", "gather~", "scatter~")[act]
    star = ".T" if act == APPLY_T else ""
    return f"r{out} = {kind}({name(which)}) r{x}" if kind else f"r{out} = {name(which)}{star} r{x}"


# -- forms -------------------------------------------------------------------------------------------------------------


def form(expr: Operator) -> Any:
    """What is written, whatever it is bound to: equal for expressions that one program serves."""
    if isinstance(expr, DefinedLeaf):
        return form(expr.meaning)
    if isinstance(expr, DerivedLeaf):  # the names in its key may have had other meanings
        forms = tuple(form(arg) for arg in expr.args)
        return (type(expr), _without(expr.key(), expr.binding.identity()), *forms)
    if isinstance(expr, Leaf):  # a class of the user's own may have the name of another
        return (type(expr), _without(expr.key(), expr.binding.identity()))
    if isinstance(expr, Scaled):
        return ("scaled", expr.factor, form(expr.arg))
    if isinstance(expr, Power):
        return ("power", expr.n, form(expr.arg))
    if isinstance(expr, Identity):
        space = expr.spaces[0]
        return ("I", space.kind, space.dims if space.kind == "node" else None)
    return (type(expr).__name__, *(form(part) for part in expr.parts()))


def _without(key: Any, identity: Any) -> Any:
    if isinstance(key, tuple):
        return None if key == identity else tuple(_without(x, identity) for x in key)
    return None if key is identity or (type(key) is type(identity) and key == identity) else key


# -- fields ------------------------------------------------------------------------------------------------------------


def field(expr: Operator, low: Lowering) -> int:
    """The field of an expression that has blocks."""
    made = low.given(expr) if isinstance(expr, Leaf) and type(expr) not in _KNOWN else _field(expr, low)
    low.fields.names.setdefault(made, expr.text())
    return made


@singledispatch
def _field(expr: Operator, low: Lowering) -> int:
    raise NotLowered


@_field.register
def _(expr: SparseLeaf, low: Lowering) -> int:
    return low.fields.named(expr.name)


@_field.register
def _(expr: PickOffLeaf, low: Lowering) -> int:
    if not low.fields.rigid:
        return low.given(expr)
    assert expr.cols is not None and isinstance(expr.binding, GraphBinding)
    graph, space = expr.binding.graph, low.fields.space(expr.cols)
    frames = tuple(graph.frame(name) for name in expr.nodes)
    if not all(isinstance(frame.carrier, Body) for frame in frames):
        raise NotLowered
    made = low.fields.once(("B", expr.nodes), lambda: low.fields.plan.pick_off(space, spots_of(graph.layout, frames)))
    low.fields.picked[made] = frames
    return made


@_field.register
def _(expr: DefinedLeaf, low: Lowering) -> int:
    return field(expr.meaning, low)


@_field.register
def _(expr: Identity, low: Lowering) -> int:
    return low.fields.eye(expr.spaces[0])


@_field.register
def _(expr: Scaled, low: Lowering) -> int:
    return low.fields.scaled(float(expr.factor), field(expr.arg, low))


@_field.register
def _(expr: Transpose, low: Lowering) -> int:
    return low.fields.scaled(1.0, field(expr.arg, low), turned=True)


@_field.register
def _(expr: Sum, low: Lowering) -> int:
    (a, first), *rest = [_factor(term) for term in expr.terms]
    total = field(first, low) if a == 1.0 else low.fields.scaled(a, field(first, low))
    for b, term in rest:
        total = low.fields.plan.sum(1.0, total, False, b, field(term, low), False)
    return total


@_field.register
def _(expr: Product, low: Lowering) -> int:
    result, turned = _turned(expr.factors[0], low)
    for factor in expr.factors[1:]:
        next_field, right = _turned(factor, low)
        result, turned = low.fields.times(result, next_field, turned, right), False
    return result


@_field.register
def _(expr: Power, low: Lowering) -> int:
    raise NotLowered


@_field.register
def _(expr: Inverse, low: Lowering) -> int:
    if expr.arg.pattern() == DIAGONAL:
        if isinstance(expr.arg, SparseLeaf) and expr.arg.name == "D":
            return low.fields.named("D_inv")
        try:
            return low.fields.plan.inverse(field(expr.arg, low))
        except ValueError:  # a block of the diagonal is zero: the expression itself says so
            raise NotLowered from None
    known = expr.known()
    if known is None:
        raise NotLowered
    return field(known[0], low)


@_field.register
def _(expr: LyapunovLeaf, low: Lowering) -> int:
    X = field(expr.X, low)
    if expr.E.pattern() == UP:
        return low.fields.plan.lyapunov(field(expr.E, low), X, field(expr.other, low), False)
    return low.fields.plan.lyapunov(field(expr.E.T, low), X, field(expr.other.T, low), True)


@_field.register
def _(expr: DiagOf, low: Lowering) -> int:
    if expr.expr.pattern() is None:
        return low.given(expr)
    return low.fields.scaled(1.0, field(expr.expr, low), part=1)


def _turned(expr: Operator, low: Lowering) -> tuple[int, bool]:
    """The field of an expression or of its transpose, and whether it is the latter."""
    if isinstance(expr, Transpose):
        return field(expr.arg, low), True
    return field(expr, low), False


def _factor(expr: Operator) -> tuple[float, Operator]:
    """A number and what it multiplies."""
    c = 1.0
    while isinstance(expr, Scaled):
        c, expr = c * float(expr.factor), expr.arg
    return c, expr


# -- steps -------------------------------------------------------------------------------------------------------------


def steps(expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    """The register with the product of an expression (or its transpose) with register x."""
    if isinstance(expr, Leaf) and type(expr) not in _KNOWN:
        return _apply(field(expr, low), expr, low, x, turned)
    return _steps(expr, low, x, turned)


@singledispatch
def _steps(expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    return _apply(field(expr, low), expr, low, x, turned)


def _apply(which: int, expr: Operator, low: Lowering, x: int, turned: bool) -> int:
    rows, cols = expr.spaces
    return low.act(APPLY_T if turned else APPLY, which, x, cols if turned else rows)


@_steps.register
def _(expr: Identity, low: Lowering, x: int, turned: bool) -> int:
    return x


@_steps.register
def _(expr: PropagatorLeaf, low: Lowering, x: int, turned: bool) -> int:
    tilde = expr.what.tilde
    act = (SCATTER_TILDE if tilde else SCATTER) if turned else (GATHER_TILDE if tilde else GATHER)
    return low.act(act, field(expr.kernel, low), x, expr.spaces[0])


@_steps.register
def _(expr: DefinedLeaf, low: Lowering, x: int, turned: bool) -> int:
    return steps(expr.meaning, low, x, turned)


@_steps.register
def _(expr: Transpose, low: Lowering, x: int, turned: bool) -> int:
    return steps(expr.arg, low, x, not turned)


@_steps.register
def _(expr: Scaled, low: Lowering, x: int, turned: bool) -> int:
    c, arg = _factor(expr)
    return _scaled(c, arg, low, x, turned)


def _scaled(c: float, arg: Operator, low: Lowering, x: int, turned: bool) -> int:
    y = steps(arg, low, x, turned)
    if c == 1.0:
        return y
    out = low.register(low.registers[y]) if y == x else y
    return low.combine(c, y, 0.0, -1, out)


@_steps.register
def _(expr: Product, low: Lowering, x: int, turned: bool) -> int:
    return _chain(list(expr.factors), low, x, turned)


def _chain(factors: list[Operator], low: Lowering, x: int, turned: bool) -> int:
    y = x
    for factor in factors if turned else reversed(factors):
        z = steps(factor, low, y, turned)
        if y not in (x, z):
            low.release(y)
        y = z
    return y


@_steps.register
def _(expr: Sum, low: Lowering, x: int, turned: bool) -> int:
    terms = [_factor(term) for term in expr.terms]
    c, arg = terms[0]
    total, a = steps(arg, low, x, turned), c
    for b, term in terms[1:]:
        y = steps(term, low, x, turned)
        fresh = total if total != x else y if y != x else low.register(low.registers[x])
        low.combine(a, total, b, y, fresh)
        for used in (total, y):
            if used not in (x, fresh):
                low.release(used)
        total, a = fresh, 1.0
    if a == 1.0:
        return total
    return low.combine(a, total, 0.0, -1, low.register(low.registers[x]) if total == x else total)


@_steps.register
def _(expr: Power, low: Lowering, x: int, turned: bool) -> int:
    if expr.n > HIGHEST_POWER:
        raise NotLowered
    return _chain([expr.arg] * expr.n, low, x, turned)


@_steps.register
def _(expr: Inverse, low: Lowering, x: int, turned: bool) -> int:
    if expr.arg.pattern() == DIAGONAL:
        return _apply(field(expr, low), expr, low, x, turned)
    known = expr.known()
    if known is None:
        raise NotLowered
    return steps(known[0], low, x, turned)


@_steps.register
def _(expr: SweptInverse, low: Lowering, x: int, turned: bool) -> int:
    """C^-1 (I - L C^-1)^-1 with -L on the edges."""
    plan, whole = low.fields.plan, field(expr.arg, low)
    if expr.arg.pattern() not in (frozenset("du"), UP):
        raise NotLowered
    try:
        C_inv = plan.inverse(low.fields.scaled(1.0, whole, part=1))
    except ValueError:
        raise NotLowered from None
    L = low.fields.times(low.fields.scaled(-1.0, whole, part=2), C_inv)
    space = expr.spaces[0]
    if turned:
        y = low.act(APPLY_T, C_inv, x, space)
        z = low.act(SCATTER, L, y, space)
    else:
        y = low.act(GATHER, L, x, space)
        z = low.act(APPLY, C_inv, y, space)
    low.release(y)
    return z


@_steps.register
def _(expr: RiccatiInverse, low: Lowering, x: int, turned: bool) -> int:
    """(I - H psi K)* D^-1 (I - H psi K) with X in the place of M; it is symmetric."""
    H_arg, E, X = expr.args
    f, plan = low.fields, low.fields.plan
    H_field, E_field = field(H_arg, low), field(E, low)
    P = plan.riccati(E_field, H_field, field(X, low))
    D, G = P + 2, P + 3
    K = f.times(E_field, G)
    E_psi = plan.sum(1.0, E_field, False, -1.0, f.times(K, H_field), False)
    D_inv, hinge, body = plan.inverse(D), H_arg.spaces[0], H_arg.spaces[1]

    def chain(start: int, *acts: tuple[int, int, Space]) -> int:
        y = start
        for what, which, space in acts:
            z = low.act(what, which, y, space)
            if y != start:
                low.release(y)
            y = z
        return y

    inner = chain(x, (APPLY, K, body), (GATHER, E_psi, body), (APPLY, H_field, hinge))
    low.combine(1.0, x, -1.0, inner, inner)
    middle = low.act(APPLY, D_inv, inner, hinge)
    low.release(inner)
    outer = chain(middle, (APPLY_T, H_field, body), (SCATTER, E_psi, body), (APPLY_T, K, hinge))
    low.combine(1.0, middle, -1.0, outer, outer)
    low.release(middle)
    return outer
