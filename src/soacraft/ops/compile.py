"""`expr.compile()`: an expression as a function of the state, for many states.

The mass matrix and its inverse, however they are written, and blocks `B.T*Omega*B` go to the kernels that are made for
them (a product with the inverse is articulated-body forward dynamics); any other expression runs its sweeps at a
snapshot of the state. `explain()` says which.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.explain import Explanation, Step
from soacraft.algebra.nodes import Inverse, Product
from soacraft.algebra.operator import Operator
from soacraft.errors import SpaceError
from soacraft.model.compiled import CompiledModel, kernel_names
from soacraft.model.coordinates import read_q, read_v
from soacraft.model.frame import Frame
from soacraft.model.subgraph import SubGraph
from soacraft.ops.binding import GraphBinding
from soacraft.ops.leaves import PickOffLeaf
from soacraft.ops.namespace import operators_of
from soacraft.ops.recognise import as_mass_matrix, named

Array = npt.NDArray[np.float64]


class CompiledExpression:
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
                f"{expr.text()} cannot be compiled: it must be of one Multibody or sub-graph, at one state."
            )
        self.expr, self.graph, self._binding = expr, binding.graph, binding
        self.kernels = _kernels_of(expr, binding)
        self._frames = _picked_off(expr, binding)
        self._moving = any(len(leaf.changes()) > 1 for leaf in expr.leaves())

    @property
    def _model(self) -> CompiledModel | None:
        """The compiled tree with the parameters that the model has now."""
        return CompiledModel.of(self.graph.layout) if self.kernels or self._frames else None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.expr,)

    def __call__(self, q: Any, v: Any = None, *vectors: Any) -> Any:
        self._binding.owner.check()
        q = read_q(self.graph, q)
        v = read_v(self.graph, v) if v is not None and self._moving else None
        if not vectors:
            return self._dense(q, v)
        found = tuple(self._product(q, v, x) for x in vectors)
        return found[0] if len(found) == 1 else found

    def _dense(self, q: Array, v: Array | None) -> Array:
        model = self._model
        if model is not None and self._frames and q.ndim == 1:
            compliance = model.compliance(
                self.graph.layout, q, self._frames, own_axes=self._binding.axes == "body"
            )
            if compliance is not None:
                return compliance
        if model is not None and self.kernels is not None and self.kernels[1] in kernel_names():
            n = self.graph.nv
            found = self._run(self.kernels[1], q, None, n * n)
            if found is not None:
                return found.reshape(*q.shape[:-1], n, n)
        return self._at(q, v).array()

    def _product(self, q: Array, v: Array | None, x: Any) -> Array:
        numbers = np.asarray(x)
        fits = numbers.dtype == np.float64 and numbers.shape in ((self.graph.nv,), (*q.shape[:-1], self.graph.nv))
        if self._model is not None and self.kernels is not None and fits and np.isfinite(numbers).all():
            found = self._run(self.kernels[0], q, numbers, self.graph.nv)
            if found is not None:
                return found.reshape(*q.shape[:-1], self.graph.nv)
        return np.asarray(self._at(q, v) * x)

    def _at(self, q: Array, v: Array | None) -> Operator:
        return self.expr.at(q=q) if v is None else self.expr.at(q=q, v=v)

    def _run(self, kernel: str, q: Array, x: Array | None, width: int) -> Array | None:
        """Every state through a kernel; None when it could not answer, so that the sweeps say why."""
        model = self._model
        assert model is not None
        count = math.prod(q.shape[:-1])
        out = np.empty((count, width))
        rows = np.ascontiguousarray(q.reshape(count, -1))
        zero = None if x is None else np.zeros(self.graph.nv)
        given = None if x is None else np.ascontiguousarray(x if x.ndim == 1 else x.reshape(count, -1))
        fine = model.kernels.run(kernel, rows, zero, given, None, np.zeros(12), (out,))
        return out if fine and np.isfinite(out).all() else None

    def explain(self) -> Explanation:
        """What a call runs."""
        plain = self.expr.explain()
        if self._model is not None and self._frames:
            by_forces = Step("kernel", "forward_dynamics", "O(n)", "compiled: unit forces at the nodes")
            return Explanation(plain.expression, plain.spaces, plain.product, plain.block, by_forces)
        if self._model is None or self.kernels is None:
            return plain
        product, dense = self.kernels
        steps = (Step("kernel", product, "O(n)", "compiled"),)
        array = Step("kernel", dense, "O(N^2)", "compiled") if dense in kernel_names() else plain.array
        return Explanation(plain.expression, plain.spaces, steps, plain.block, array)

    def __repr__(self) -> str:
        return f"compiled {self.expr!r}"


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


def _picked_off(expr: Operator, binding: GraphBinding) -> list[Frame]:
    """The nodes of B.T*Omega*B, for a graph on the inertial frame in body or inertial axes; empty for other forms."""
    if not isinstance(expr, Product) or len(expr.factors) != 3 or isinstance(binding.graph, SubGraph):
        return []
    _, Omega, B = expr.factors
    form = isinstance(B, PickOffLeaf) and expr.factors[0].key() == B.T.key() and named(Omega, "Omega")
    if not form or binding.axes == "origin" or not isinstance(B, PickOffLeaf):
        return []
    return [binding.graph.frame(name) for name in B.nodes]


def _is_mass_matrix(expr: Operator) -> bool:
    found = as_mass_matrix(expr)
    return found is not None and found.known
