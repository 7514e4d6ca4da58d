"""`expr.compile()`: an expression as a function of the state, for many states.

The mass matrix and its inverse, however they are written, go to the kernels that are made for them (a product with the
inverse is articulated-body forward dynamics); any other expression runs its program, for one state or for several side
by side. `explain()` says which.
"""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.explanation import Explanation, Step
from soacraft.algebra.expressions.compiled import Compiled
from soacraft.algebra.expressions.nodes import Inverse
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import ModelFileError, SoacraftError, SpaceError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.flat.plans import function_of, make_numbers, quaternions_of, read_orders
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.subgraph import SubGraph
from soacraft.ops.binding import GraphBinding
from soacraft.ops.namespace import operators_of
from soacraft.ops.programs.roads import road_of
from soacraft.ops.recognise import as_mass_matrix
from soacraft.ops.sko_binding import FunctionBinding
from soacraft.results import refuse_large

Array = npt.NDArray[np.float64]
_ABSENT = object()  # None is a vector that is refused
_PART = 1 << 16  # states of a batch that are computed at a time


class CompiledExpression(Compiled):
    """`f(q, v=None, *vectors)`: the product with a vector at q, a tuple for several; without vectors the dense matrix.

    q may have leading batch axes; vectors then have the same ones, or none. `v` matters to time derivatives and what is
    made of them (default: the current one), to no other operator.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("arm7")
    >>> H, phi, M = sc.operators(mb, "H phi M")
    >>> f = (H * phi * M * phi.T * H.T).inv.compile()
    >>> f(np.zeros(7), None, np.ones(7)).shape, f(np.zeros((5, 7)), None, np.ones(7)).shape
    ((7,), (5, 7))
    """

    def __init__(self, expr: Operator) -> None:
        bindings = {leaf.binding.identity(): leaf.binding for leaf in expr.leaves()}
        binding = next(iter(bindings.values()), None)
        if len(bindings) != 1 or not isinstance(binding, GraphBinding):
            raise SpaceError(
                f"{expr.text()} cannot be compiled: it must be of one Multibody, sub-graph or SKO model of functions, "
                "at one state."
            )
        if binding.numbering is not None:
            raise SpaceError(
                f"{expr.text()} cannot be compiled: a program takes and gives numbers in the order of the model; make "
                "it of operators without numbering=."
            )
        self.expr, self.graph, self._binding = expr, binding.graph, binding
        self.kernels = _kernels_of(expr, binding)
        self._moving = any(len(leaf.changes()) > 1 for leaf in expr.leaves())
        self._quick = self._quick_call() or self._checked

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.expr,)

    def __call__(self, q: Any, v: Any = None, x: Any = _ABSENT, *more: Any) -> Any:
        v = v if v is None or self._moving else None
        if more or x is _ABSENT:
            return tuple(self._quick(q, v, vector) for vector in (x, *more)) if more else self._quick(q, v)
        return self._quick(q, v, x)

    def _quick_call(self) -> Any:
        """A call that costs little more than its kernel or program; None for expressions that have no program."""
        graph, binding = self.graph, self._binding
        if isinstance(graph, SubGraph) and binding.axes != "body":
            return None  # its anchor moves with the model
        road = road_of(binding)
        lowered = road.lowered(self.expr) if road.rigid else None
        if lowered is None or lowered.outside:
            return None
        numbers = make_numbers(road.fields.plan)
        lowered.provide(numbers)
        model = None if self.kernels is None else CompiledModel.of(graph.layout)
        product, dense = self.kernels if model is not None and self.kernels is not None else (None, None)
        store, quaternions = graph.root.graph.store, quaternions_of(graph.layout)
        rigid = None if model is None else model.kernels
        call = function_of(
            numbers, lowered.program, store, quaternions, self._checked, rigid, product, dense
        )
        layout = graph.layout
        read_orders(call, (layout.q_order, layout.v_order, self.expr.spaces[1].entries))
        return call

    def _checked(self, q: Any, v: Any = None, *vectors: Any) -> Any:
        """Value by the expression at a snapshot of the state, for arguments that the quick call does not accept."""
        self._binding.owner.check()
        CompiledModel.of(self.graph.layout)  # newer parameters, for the calls to come
        state = {"q": read_q(self.graph, q)} | ({} if v is None else {"v": read_v(self.graph, v)})
        if math.prod(state["q"].shape[:-1]) > _PART:
            return self._in_parts(state["q"], state.get("v"), vectors)
        expr = self.expr.at(**state)
        return np.asarray(expr * vectors[0]) if vectors else expr.array()

    def _in_parts(self, q: Array, v: Array | None, vectors: tuple[Any, ...]) -> Array:
        """Value for many states, some at a time, since the memory for steps is many times that of the result."""
        axes, count = q.shape[:-1], math.prod(q.shape[:-1])

        def rows(x: Any) -> Any:
            """Rows of an array that has one for each state; any other array unchanged."""
            x = np.asarray(x)
            return x.reshape(count, *x.shape[len(axes) :]) if x.shape[: len(axes)] == axes else x

        q, v = rows(q), None if v is None else rows(v)
        x = None if not vectors else rows(vectors[0])

        def part(first: int) -> Array:
            chosen = slice(first, first + _PART)
            its = [y[chosen] if y is not None and y.shape[:1] == (count,) else y for y in (v, x)]
            try:
                made: Array = self._quick(q[chosen], its[0]) if x is None else self._quick(q[chosen], its[0], its[1])
            except SoacraftError as error:
                error.add_note(f"States of the batch are counted from {first} here.")
                raise
            return made

        begin = part(0)
        what = f"{self.expr.text():.200} of a batch of states"
        refuse_large((*axes, *begin.shape[1:]), what, "Take the batch in parts.")
        made = np.empty((count, *begin.shape[1:]))
        made[:_PART] = begin
        for first in range(_PART, count, _PART):
            made[first : first + _PART] = part(first)
        return made.reshape(*axes, *begin.shape[1:])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the program for C++: `soacraft::Expression::load(path)` multiplies it with vectors at any q.

        The file holds the present parameters of the model. An expression without a program is refused: one that depends
        on v, on a hinge of your own, or on the motion of the frame that carries a sub-graph.

        >>> import tempfile
        >>> import soacraft as sc
        >>> H, psi = sc.operators(sc.load("arm7"), "H psi")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     (H * psi).compile().save(f"{folder}/H_psi.soacraft")
        """
        # reading and writing files takes long to load
        from soacraft.files.core_file import core_path
        from soacraft.files.native import write_bytes

        target = core_path(path)
        self._binding.owner.check()
        moving_base = isinstance(self.graph, SubGraph) and self._binding.axes != "body"
        road = road_of(self._binding)
        lowered = road.lowered(self.expr) if road.rigid and not moving_base else None
        if lowered is None or lowered.outside or not self.expr.shape[1]:
            raise ModelFileError(
                f"{self.expr.text():.200} cannot be saved for C++: a part of it is computed in Python, since it "
                "depends on v, on a hinge of your own or on the anchor of a sub-graph; or it takes no vector."
            )
        numbers = make_numbers(road.fields.plan)
        lowered.provide(numbers)
        write_bytes(target, lowered.program.saved(numbers))

    def explain(self) -> Explanation:
        """Steps of a call and its time on this machine: the least of a few calls at the current state.

        >>> import soacraft as sc
        >>> H, psi = sc.operators(sc.load("arm7"), "H psi")
        >>> (H * psi).compile().explain().program[-2:]
        ('r2 = gather(E_psi) r0', 'r1 = H r2')
        """
        plain = self.expr.explain()
        took = self._microseconds()
        if self.kernels is not None and CompiledModel.of(self.graph.layout) is not None:
            product, dense = self.kernels
            steps = (Step("kernel", product, "O(n)", "compiled"),)
            array = Step("kernel", dense, "O(N^2)", "compiled")
            return Explanation(
                plain.expression, plain.spaces, steps, plain.block, array, self.expr, microseconds=took
            )
        lowered = road_of(self._binding).lowered(self.expr)
        return replace(plain, program=() if lowered is None else lowered.listing, microseconds=took)

    def _microseconds(self) -> float | None:
        """Time of one call at the current state, in microseconds; None where the expression has no value there."""
        q, x = np.array(self.graph.current.q), np.ones(self.expr.shape[1])
        elsewhere = self.graph.integrate(q, np.full(self.graph.nv, 1e-3))  # so that no call is at the state it was at
        calls = []
        try:
            for _ in range(5):
                self._quick(elsewhere, None, x)
                start = perf_counter()
                self._quick(q, None, x)
                calls.append(1e6 * (perf_counter() - start))
        except SoacraftError:
            return None
        return min(calls)

    def __repr__(self) -> str:
        return f"compiled {self.expr!r}"


class CompiledFunctions(Compiled):
    """`f(q, v=None, *vectors)` of an expression of an SKO model of functions: Python makes the blocks at q, the same
    program for all states takes vectors through them.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> m = sc.SKOModel([-1, 0], lambda q: [None, [[np.cos(q[1])]]], [[[1.0]]] * 2, [[[1.0]]] * 2, q=[0.0, 0.0])
    >>> H, phi = sc.operators(m, "H phi")
    >>> (H * phi).compile()([0.0, np.pi / 3], None, [1.0, 2.0]).round(12)
    array([2., 2.])
    """

    def __init__(self, expr: Operator, binding: FunctionBinding) -> None:
        self.expr, self._binding = expr, binding
        self._moving = any(len(leaf.changes()) > 1 for leaf in expr.leaves())

    def __reduce__(self) -> tuple[Any, ...]:
        return compiled, (self.expr,)

    def __call__(self, q: Any, v: Any = None, *vectors: Any) -> Any:
        state = {"q": q} | ({"v": v} if v is not None and self._moving else {})
        expr = self.expr.at(**state)
        if not vectors:
            return expr.array()
        found = tuple(np.asarray(expr * x) for x in vectors)
        return found[0] if len(found) == 1 else found

    def save(self, path: str | PathLike[str]) -> None:
        """Refuse: the blocks are functions of Python."""
        raise ModelFileError(
            f"{self.expr.text():.200} cannot be saved for C++: the blocks of its SKO model are functions in Python."
        )

    def explain(self) -> Explanation:
        """Steps of a call and its time on this machine: the least of a few calls at the current state."""
        q, x = self._binding.functions.q, np.ones(self.expr.shape[1])
        calls = []
        for i in range(4):
            start = perf_counter()
            self(q + 1e-9 * i, None, x)  # so that no call is at the state it was at
            calls.append(1e6 * (perf_counter() - start))
        lowered = road_of(self._binding).lowered(self.expr)
        listing = () if lowered is None else lowered.listing
        return replace(self.expr.explain(), program=listing, microseconds=min(calls))

    def __repr__(self) -> str:
        return f"compiled {self.expr!r}"


def compiled(expr: Operator) -> Compiled:
    """An expression as a function of the state: of rigid bodies, or of an SKO model of functions."""
    bindings = {leaf.binding.identity(): leaf.binding for leaf in expr.leaves()}
    binding = next(iter(bindings.values()), None)
    if len(bindings) == 1 and isinstance(binding, FunctionBinding) and binding.numbering is None:
        return CompiledFunctions(expr, binding)
    return CompiledExpression(expr)


def _kernels_of(expr: Operator, binding: GraphBinding) -> tuple[str, str] | None:
    """The kernels for a product and for the dense matrix, of a recognised form."""
    if _is_mass_matrix(expr):
        return "inverse_dynamics", "mass_matrix"
    s = operators_of(binding)
    factor = s.I - s.H * s.psi * s.K
    written_out = factor.T * s.D.inv * factor
    if expr.key() == written_out.key() or (isinstance(expr, Inverse) and _is_mass_matrix(expr.arg)):
        return "forward_dynamics", "mass_matrix_inverse"
    return None


def _is_mass_matrix(expr: Operator) -> bool:
    found = as_mass_matrix(expr)
    return found is not None and found.known
