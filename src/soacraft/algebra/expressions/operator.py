"""Operators as typed, lazy expressions: building computes nothing, a product with a vector runs right to left.

An expression is a leaf or one of `Sum, Product, Scaled, Power, Transpose, Inverse, Identity`. What is known of every
one: its spaces, its pattern (which blocks can be non-zero), its product with columns and that of its transpose.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.cost import Cost
from soacraft.algebra.answers.explanation import Explanation
from soacraft.algebra.answers.properties import Properties
from soacraft.algebra.answers.row import Row
from soacraft.algebra.expressions import (
    nodes,  # operators themselves: imported first, and they import this file
    questions,
)
from soacraft.algebra.expressions.held import Held
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.once import KEPT, once
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.rounding import measurer
from soacraft.algebra.spaces.space import Space, columns, real
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.cards import card_of, says_why
from soacraft.errors import SpaceError
from soacraft.results import refuse_large

if TYPE_CHECKING:
    from soacraft.algebra.expressions.compiled import Compiled

Array = npt.NDArray[np.float64]
Pattern = frozenset[str]
Value = TypeVar("Value")

#: Largest depth of a nested expression. A level is up to five calls inside each other, and Python allows a thousand.
DEEPEST = 150
#: Positions of non-zero blocks: d on the diagonal, u (parent, child), t (child, parent), s sparse otherwise.
DIAGONAL: Pattern = frozenset("d")


class Binding(Protocol):
    """Source of the numbers of a leaf: a model at a fixed or at the current state."""

    @property
    def batch(self) -> tuple[int, ...]: ...

    def token(self) -> object:
        """An object that is another one whenever the numbers may have changed."""

    def identity(self) -> Hashable:
        """Equal for bindings that give the same numbers."""

    def at(self, **state: Any) -> Binding: ...

    def product_call(
        self, expr: Operator, fallback: Callable[[Any], StackedVector]
    ) -> Callable[[Any], StackedVector] | None:
        """A quick call for products of an expression with vectors, or None."""

    def columns(self, expr: Operator, x: Array) -> Array | None:
        """The product of an expression with columns, or None when its recursions should compute it."""

    def block(self, expr: Operator, i: int, j: int) -> Array | None:
        """Block (i, j) of an expression, or None when its recursions should compute it."""

    def blocks(self, expr: Operator) -> Blocks | None:
        """All blocks of an expression that has a pattern, or None when its recursions should compute them."""


class Operator(ABC):
    """A linear map from one stacked space to another, `rows <- cols`.

    `* @ + - .T .inv **` and numbers combine operators; a product with an array or a stacked vector is computed at
    once by sweeps; `expr[i, j]` is one block, slices and lists of bodies give several; `.array()` and
    `np.asarray(expr)` form the dense matrix.
    """

    __array_ufunc__ = None
    __iter__ = None
    rows: Space | None
    cols: Space | None
    depth: int = 1
    """Depth of the nesting of expressions: 1 for a leaf, 2 for a sum or a product of leaves."""

    # -- what every kind of expression provides -------------------------------------------------------------------

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """The product with columns (..., N, m)."""

    @abstractmethod
    def apply_T(self, x: Array) -> Array:
        """The product of the transpose with columns."""

    @abstractmethod
    def pattern(self) -> Pattern | None:
        """Positions of the blocks that can be non-zero, or None when they reach along whole paths of the tree."""

    @abstractmethod
    def blocks(self) -> Blocks:
        """The numbers of an expression whose pattern is not None."""

    @abstractmethod
    def parts(self) -> tuple[Operator, ...]:
        """The expressions this one is made of."""

    @abstractmethod
    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        """Expression of this kind with other parts."""

    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """Equal for expressions that are written alike."""

    # -- spaces ---------------------------------------------------------------------------------------------------

    @property
    def spaces(self) -> tuple[Space, Space]:
        """(rows, cols); refused while an identity has not met a neighbour to take its space from."""
        if self.rows is None or self.cols is None:
            raise SpaceError(
                f"{self.text()} has no size by itself: I takes its space from a neighbour, as in I - H*psi*K."
            )
        return self.rows, self.cols

    @property
    def shape(self) -> tuple[int, int]:
        """The size of the dense matrix."""
        rows, cols = self.spaces
        return rows.size, cols.size

    def with_space(self, space: Space) -> Operator:
        """An expression made of identities alone, in a space."""
        return self.with_parts(tuple(part.with_space(space) for part in self.parts()))

    def leaves(self) -> Iterator[Leaf]:
        """Every leaf, from left to right."""
        for part in self.parts():
            yield from part.leaves()

    @once
    def bindings(self) -> tuple[Binding, ...]:
        """Bindings of the leaves, each once."""
        return tuple({id(leaf.binding): leaf.binding for leaf in self.leaves()}.values())

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the bound states, () for one state."""
        batches = {binding.batch for binding in self.bindings()}
        try:
            return np.broadcast_shapes(*batches)
        except ValueError:
            shapes = " and ".join(str(batch) for batch in sorted(batches) if batch)
            raise SpaceError(f"{self.text()} is made of batches of states that do not fit: {shapes}.") from None

    # -- building -------------------------------------------------------------------------------------------------

    @overload
    def __mul__(self, other: Operator | float) -> Operator: ...

    @overload
    def __mul__(self, other: StackedVector | npt.ArrayLike) -> StackedVector: ...

    def __mul__(self, other: Any) -> Operator | StackedVector:
        if type(other) is np.ndarray and other.ndim:
            return self._times(other)
        if isinstance(other, Operator):
            return nodes.product(self, other)
        if isinstance(other, Held):
            return NotImplemented
        return self._times(other) if _is_array(other) else nodes.Scaled(_number(other), self)

    __matmul__ = __mul__

    def __rmul__(self, other: Any) -> Operator:
        if _is_array(other):
            raise SpaceError(f"an array is left of {self.text()}; for a row vector write ({self.text()}).T * x.")
        return nodes.Scaled(_number(other), self)

    __rmatmul__ = __rmul__

    def __truediv__(self, c: Any) -> Operator:
        divisor = _number(c)
        if divisor == 0:
            raise SpaceError(f"{self.text()} cannot be divided by zero.")
        return nodes.Scaled(_number(1.0 / divisor), self)

    def __neg__(self) -> Operator:
        return nodes.Scaled(-1, self)

    def __add__(self, other: Any) -> Operator:
        return NotImplemented if isinstance(other, Held) else nodes.total(self, other, "+")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Operator:
        return NotImplemented if isinstance(other, Held) else nodes.total(self, other, "-")

    def __rsub__(self, other: Any) -> Operator:
        return nodes.total(-self, other, "+")

    def __pow__(self, n: int) -> Operator:
        return nodes.Power(self, n)

    @property
    def T(self) -> Operator:
        """The transpose, the papers' star."""
        return nodes.transpose(self)

    @property
    def inv(self) -> Operator:
        """The inverse, computed from structure where the papers know one (see `explain`)."""
        return nodes.inverse(self)

    def lyapunov(self, X: Operator, other: Operator | None = None) -> Operator:
        """Y with X = Y - E Y E_B* for a kernel operator E (tips to base), or with X = Y - diagOf(E* Y E_B) for its
        transpose (base to tips); E_B defaults to E (004 Eq. 12-14, 22-24). O(n).
        """
        made: Operator = questions.lyapunov(self, X, self if other is None else other)
        return made

    def remainder(self, X: Operator, other: Operator | None = None) -> Operator:
        """The remainder R of A* X B on a tree, for the transposed kernel operators of A and B (004 Lemma 5, Eq. 21):
        A* X B = Y + A~* Y + Y B~ + R with Y = E.T.lyapunov(X, E_B.T). Zero on a serial chain.

        >>> import soacraft as sc
        >>> psi, E_psi, Upsilon, H, D, Omega = sc.operators(sc.load("biped"), "psi E_psi Upsilon H D Omega")
        >>> R = E_psi.T.remainder(H.T * D.inv * H)
        >>> (Omega - (psi.T * Upsilon + Upsilon * psi - Upsilon + R)).is_zero()
        True
        """
        made: Operator = questions.remainder(self, X, self if other is None else other)
        return made

    def sqrt(self) -> Operator:
        """The square root W of a block-diagonal operator X: W W = X, symmetric and positive semi-definite. O(n).

        Every block of X must be symmetric and positive semi-definite, which is judged without regard to units; another
        one is refused by name. So `(I + H*phi*K) * D.sqrt()` is a factor of the mass matrix.

        >>> import soacraft as sc
        >>> H, phi, M, K, D, I = sc.operators(sc.load("arm7"), "H phi M K D I")
        >>> F = (I + H * phi * K) * D.sqrt()
        >>> F, (F * F.T - H * phi * M * phi.T * H.T).is_zero()
        ((I + H*phi*K) * D.sqrt() : hinge[7] <- hinge[7], True)
        """
        made: Operator = questions.sqrt(self)
        return made

    def cholesky(self) -> Operator:
        """The Cholesky factor L of a block-diagonal operator X: L L* = X, lower triangular in every block. O(n).

        X is wanted and judged as by `sqrt`. Where X is singular, L has zero columns.

        >>> import soacraft as sc
        >>> M = sc.operators(sc.load("arm7"), "M")
        >>> (M.cholesky() * M.cholesky().T - M).is_zero()
        True
        """
        made: Operator = questions.cholesky(self)
        return made

    def diff(self, body: Any, dof: Any = 0) -> Operator:
        """The derivative along dof `dof` (a number or a name) of the hinge of a body, as an operator (G1-G19); for a
        pin with the body frame on its axis it is what 000 Eq. 41-46 print, misprints mended.

        The body may be given by the name of its hinge or by its number, as in `expr[0, 2]`, and one dof of several by
        its own name: `expr.diff("hip.1")`.

        In the tangent sense: along `graph.integrate(q, t e)` for the unit velocity e of that dof. So it is defined for
        nonholonomic hinges too, along the motions they allow; second derivatives need not commute.
        """
        made: Operator = questions.diff(self, body, dof)
        return made

    def dot(self) -> Operator:
        """The time derivative along the current velocity, as an operator."""
        made: Operator = questions.dot(self)
        return made

    def along(self, body: Any = None, dof: Any = 0) -> Operator:
        """`diff`, or without a body `dot`, with the turning of the axes left out: the same in body axes."""
        made: Operator = questions.along(self, body, dof)
        return made

    # -- numbers --------------------------------------------------------------------------------------------------

    def _times(self, x: Any) -> StackedVector:
        """The product with numbers: by a call that costs little more than its sweeps, where there is one."""
        call = self.__dict__.get("_call")
        if call is None:
            call = self.__dict__["_call"] = self._quick_call() or self._checked_product
        if self.cols is not None and type(x) is not np.ndarray and not isinstance(x, StackedVector):
            x = self.cols.shown_in_order(x, "x")
        if self.cols is not None and self.cols.numbering is not None and not isinstance(x, StackedVector):
            data, vector = columns(x, self.cols, self.batch, "x")
            data = self.cols.inward(data, -2)
            x = StackedVector(self.cols, data[..., 0] if vector else data, not vector)
        if measurer() is not None:
            return self._checked_product(x)
        if isinstance(x, StackedVector) and x.space is self.cols and x.in_model_order.ndim == 1 + x.is_columns:
            x = x.in_model_order
        return call(x)

    @at_one_instant
    def _quick_call(self) -> Callable[[Any], StackedVector] | None:
        leaf = next(self.leaves(), None)
        if leaf is None or self.rows is None:
            return None
        return leaf.binding.product_call(self, self._checked_product)

    @at_one_instant
    def _checked_product(self, x: Any) -> StackedVector:
        if self.cols is None:
            raise SpaceError("I * x is x; I takes its space from a neighbouring operator, not from an array.")
        rows, cols = self.spaces
        data, vector = self._columns_of(x, cols)
        batch = np.broadcast_shapes(self.batch, data.shape[:-2])
        refuse_large((*batch, rows.size, data.shape[-1]), lambda: f"{self.text()} * x", "Take fewer columns or states.")
        with np.errstate(all="ignore"):
            y, rounding = self._followed(x, data)
        y = np.broadcast_to(y, (*batch, *y.shape[-2:]))
        return StackedVector(rows, y[..., 0] if vector else y, not vector, lambda: f"{self.text()} * x", rounding)

    def _followed(self, x: Any, data: Array) -> tuple[Array, Array | None]:
        """The product with columns and, within `measuring()`, what rounding may have made of it."""
        rng = measurer()
        if rng is None:
                return questions.columns_of(self, data), None
        given = x if isinstance(x, StackedVector) else StackedVector(self.spaces[1], data, True)
        return questions.with_rounding(self, data, given.rounding, rng)

    def _columns_of(self, x: Any, cols: Space) -> tuple[Array, bool]:
        """Columns of the argument of a product, and True if it was a vector."""
        if not isinstance(x, StackedVector):
            return columns(x, cols, self.batch, "x")
        if x.space != cols:
            raise SpaceError(
                f"cannot form {self.text()} * x: it takes a vector of {cols.describe_against(x.space)}, "
                f"but x is a vector of {x.space.describe_against(cols)}." + cols.mismatch(x.space)
            )
        data = x.in_model_order if x.is_columns else x.in_model_order[..., None]
        try:
            np.broadcast_shapes(data.shape[:-2], self.batch)
        except ValueError:
            raise SpaceError(
                f"cannot form {self.text()} * x: x has shape {x.shape}, but there is a batch of {self.batch} states."
            ) from None
        return data, not x.is_columns

    @overload
    def __getitem__(self, index: tuple[Any, Any]) -> Array: ...

    @overload
    def __getitem__(self, index: Any) -> Row: ...

    def __getitem__(self, index: Any) -> Array | Row:
        return questions.block(self, *index) if isinstance(index, tuple) and len(index) == 2 else Row(self, index)

    def _ipython_key_completions_(self) -> list[str]:
        return [] if self.rows is None else list(self.rows.labels)

    def array(self) -> Array:
        """The dense matrix, with the batch's leading axes. `explain()` says how it is computed."""
        rows, cols = self.spaces
        return cols.outward(rows.outward(questions.array(self), -2), -1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self.array(), dtype=dtype)

    def trace(self) -> Any:
        """The sum of the diagonal entries, from the diagonal blocks."""
        return questions.trace(self)

    def log_det(self, dense: bool = False) -> Any:
        """log |det|, from structure: that of the mass matrix is the sum of log det D(k) (004 Eq. 53), that of phi is 0,
        block-triangular ones are the products of their diagonal blocks. -inf for a singular one.

        An expression of which no factorization is known is refused; `dense=True` forms its matrix.

        >>> import soacraft as sc
        >>> mb = sc.load("arm7")
        >>> H, phi, M = sc.operators(mb, "H phi M")
        >>> mass_matrix = H * phi * M * phi.T * H.T
        >>> bool(abs(mass_matrix.log_det() - sc.dynamics.log_det_mass_matrix(mb, mb.q)) < 1e-12), float(phi.log_det())
        (True, 0.0)
        """
        return questions.log_det(self, dense)

    def det(self, dense: bool = False) -> Any:
        """The determinant, as `log_det` finds it, with its sign; refused where no double holds it.

        >>> import soacraft as sc
        >>> E_phi, phi, I = sc.operators(sc.load("arm7"), "E_phi phi I")
        >>> float(phi.det()), float(E_phi.det()), float((I - 2 * E_phi).det())
        (1.0, 0.0, 1.0)
        """
        return questions.det(self, dense)

    def properties(self) -> Properties:
        """Properties: square, block-diagonal, triangular along the tree, nilpotent, invertible, symmetric, positive
        definite or semi-definite: each True, False or None (not known), with the reason.

        True follows from structure or, where the reason says so, from the diagonal blocks at this state; False follows
        from structure or from the numbers at this state, since one state is enough to refute. O(n^2) flags for n nodes;
        where structure leaves a question, numbers are computed in models of up to 500 entries.

        >>> import soacraft as sc
        >>> E_phi = sc.operators(sc.load("arm7"), "E_phi")
        >>> p = E_phi.properties()
        >>> p.nilpotent, p.invertible, p.why["nilpotent"]
        (True, False, 'no path of its blocks comes back to a node: its power 7 is zero')
        """
        return questions.properties(self)

    def by_branch(self) -> dict[tuple[int, int], Array]:
        """Dense blocks by (row branch, column branch) of the tree of serial segments (004 Eq. 61-63)."""
        return questions.by_branch(self)

    def is_zero(self, tolerance: float = 1e-9) -> bool:
        """True if it vanishes, row by row and column by column, relative to the terms it is the sum of: the answer does
        not depend on the units of length, mass and time (see `soacraft.algebra.values.measure`).
        """
        return bool(questions.relative_norm(self, enough=tolerance) <= tolerance)

    def is_identity(self, tolerance: float = 1e-9) -> bool:
        """True if `self - I` vanishes, as `is_zero` judges it."""
        return (self - nodes.I).is_zero(tolerance)

    def is_symmetric(self, tolerance: float = 1e-9) -> bool:
        """True if it is its own transpose, judged as by `is_zero`; False if it is not square.

        >>> import soacraft as sc
        >>> s = sc.operators(sc.load("arm7"))
        >>> (s.phi * s.M * s.phi.T).is_symmetric(), s.phi.is_symmetric(), s.H.is_symmetric()
        (True, False, False)
        """
        return self.rows == self.cols and (self.rows is None or (self - self.T).is_zero(tolerance))

    def norm(self, kind: Any = "fro") -> Any:
        """The Frobenius norm of the matrix of numbers, one for each state of a batch; `norm(2)` is the largest singular
        value. The first is summed up column by column, O(n N), from the blocks where it is sparse; the second forms
        the dense matrix unless it is block-diagonal.

        Entries of a matrix can have different units, and the norm depends on them: whether something is zero or equal
        is asked by `is_zero`, `is_identity` and `sc.verify`.

        >>> import soacraft as sc
        >>> tau = sc.operators(sc.load("arm7"), "tau")
        >>> bool(abs(tau.norm()**2 - (tau.T * tau).trace()) < 1e-9)
        True
        """
        return questions.norm(self, kind)

    def at(self, **state: Any) -> Operator:
        """Expression bound to a snapshot: `expr.at(q=..., v=...)`; a leading batch axis gives a batch."""
        snapshots: dict[int, Binding] = {}

        def bound(leaf: Leaf) -> Operator:
            key = id(leaf.binding)
            if key not in snapshots:
                snapshots[key] = leaf.binding.at(**state)
            return leaf.bound_to(snapshots[key])

        return self.with_leaves(bound)

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        """Expression with every leaf replaced."""
        return self.with_parts(tuple(part.with_leaves(change) for part in self.parts()))

    @at_one_instant
    def cached(self, name: str, compute: Callable[[], Value]) -> Value:
        """Compute once for as long as no leaf takes other numbers."""
        if "_watched" not in self.__dict__:
            self.__dict__["_watched"] = {key: f for leaf in self.leaves() for key, f in leaf.changes().items()}
        tokens = [token() for token in self.__dict__["_watched"].values()]
        store: dict[str, tuple[list[object], Any]] = self.__dict__.setdefault("_cache", {})
        if name in store:
            old, value = store[name]
            if len(old) == len(tokens) and all(a is b for a, b in zip(old, tokens, strict=True)):
                return value  # type: ignore[no-any-return]
        fresh = compute()
        store[name] = (tokens, fresh)
        return fresh

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: the fields without computed values, which are computed again when needed."""
        computed = {"_cache", "_watched", "_inverse", "_call"} | KEPT
        return {name: x for name, x in vars(self).items() if name not in computed}

    def __deepcopy__(self, memo: dict[int, Any]) -> Operator:
        """Deep copy, equal to that of `copy` by default, in fewer calls for each level of the expression."""
        if type(self).__reduce__ is not object.__reduce__:  # made again by a function
            made: Any = self.__reduce__()
            again: Operator = made[0](*(deepcopy(x, memo) for x in made[1]))
            return again
        other = memo[id(self)] = object.__new__(type(self))
        for name, x in self.__getstate__().items():
            whole = type(x) is not tuple
            vars(other)[name] = deepcopy(x, memo) if whole else tuple([deepcopy(part, memo) for part in x])
        return other

    def compile(self) -> Compiled:
        """A function `f(q, v=None, *vectors)` of the expression, for many states: see `ops.programs.compile`."""
        function: Compiled = questions.compiled(self)
        return function

    def simplify(self, seconds: float = 2.0) -> Operator:
        """The cheapest expression of the same value that is known: see `soacraft.simplify`.

        >>> import soacraft as sc
        >>> H, phi, psi, K, I = sc.operators(sc.load("arm7"), "H phi psi K I")
        >>> ((I - H * psi * K) * H * phi).simplify()
        H*psi : hinge[7] <- body[42]
        """
        made: Operator = questions.simplify(self, seconds)
        return made

    # -- looking --------------------------------------------------------------------------------------------------

    @property
    def tags(self) -> frozenset[str]:
        """Claimed properties: symmetric, block_diagonal, positive_definite, positive_semidefinite."""
        return questions.tags(self)

    def text(self) -> str:
        """Python that reads back."""
        return questions.text(self)

    def latex(self) -> str:
        """The expression as the paper prints it."""
        return questions.latex(self)

    def explain(self, loops: bool = False) -> Explanation:
        """Sweeps that a product, a block and the dense matrix will run, and their costs. Computes no number.

        With `loops=True` the product with a vector is written as the recursion of the papers too, in text
        (`print(expr.explain(loops=True).loops)`) and in LaTeX (`.loops.latex`).

        >>> import soacraft as sc
        >>> phi, H = sc.operators(sc.load("arm7"), "phi H")
        >>> (phi.T * H.T).explain(loops=True).loops
        for k = n...1:
            V(k) = phi*(k+1,k) V(k+1) + H*(k) v(k)
        """
        return questions.explain(self, loops)

    def cost(self) -> Cost:
        """Block products of a product with a vector, a block and the dense matrix, as functions of n, depth and
        branches: `(H * phi * M * phi.T * H.T).cost()` is 5n. Computes nothing.
        """
        return questions.cost(self)

    def __repr__(self) -> str:
        spaces = "" if self.rows is None else f" : {self.rows} <- {self.cols}"
        return self.text() + spaces

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    @says_why
    def _repr_html_(self) -> str:
        return card_of(self)


class Leaf(Operator):
    """Named operator whose numbers come from a binding."""

    name: str
    latex_name: str
    binding: Binding
    claims: frozenset[str] = frozenset()
    source: str = ""
    sweeps_in_product: int = 1  # how often a product with a vector goes over the tree
    dense: bool = False  # whether it is a plain matrix: a product costs n^2 block products
    kernel: Operator | None = None  # E of a propagator (I - E)^-1

    @property
    def order(self) -> str:
        """The order of cost of a product with a vector, at a state where nothing is computed yet."""
        return "O(n^2)" if self.columns is not None else "O(N^2)" if self.dense else "O(n)"

    @property
    def columns(self) -> Operator | None:
        """The expression of which every block column is computed before the first product at a state; None for most."""
        return None

    def sweep(self, transposed: bool) -> str:
        """Kind of work of a product with a vector: gather, scatter, diagonal, edges, pick-off, columns."""
        if self.columns is not None:
            return "columns"
        found = self.pattern()
        return {DIAGONAL: "diagonal", frozenset("u"): "edges"}.get(found or DIAGONAL, "pick-off")

    def magnitude(self) -> Blocks:
        """The sizes of the pieces of what its blocks were computed from, for a leaf that has a pattern or is dense:
        their rounding is measured by them. Where nothing says otherwise their own sizes.
        """
        own = self.blocks().magnitude
        return own.bounded() if "symmetric" in self.claims and self.rows == self.cols else own

    def definition(self) -> Operator | None:
        """Expression that a product with this operator runs in its place; None if there is none."""
        return None

    def changes(self) -> dict[Hashable, Callable[[], object]]:
        """Functions whose results are other objects whenever its numbers may have changed, by what they look at."""
        meaning = self.definition()
        if meaning is None:
            return {id(self.binding): self.binding.token}
        return {key: token for leaf in meaning.leaves() for key, token in leaf.changes().items()}

    def parts(self) -> tuple[Operator, ...]:
        return ()

    def with_parts(self, parts: tuple[Operator, ...]) -> Operator:
        return self

    def leaves(self) -> Iterator[Leaf]:
        yield self

    def with_leaves(self, change: Callable[[Leaf], Operator]) -> Operator:
        return change(self)

    @once
    def key(self) -> tuple[Any, ...]:
        return ("leaf", self.name, self.binding.identity())

    @abstractmethod
    def bound_to(self, binding: Binding) -> Leaf:
        """This operator with the numbers of another binding."""


def allowed(depth: int) -> int:
    """A depth of nesting that every function of expressions can work with; a larger one is refused."""
    if depth > DEEPEST:
        raise SpaceError(
            f"an expression nested {depth} deep is refused, {DEEPEST} is the deepest allowed: write sums and products "
            "side by side, as a*b*c + d + e, or apply the parts to a vector one after the other."
        )
    return depth


def _number(c: Any) -> int | float:
    return real(c, "an operator cannot be multiplied by")


def _is_array(x: Any) -> bool:
    try:
        return isinstance(x, StackedVector) or np.ndim(x) > 0
    except ValueError:  # ragged rows
        return True

