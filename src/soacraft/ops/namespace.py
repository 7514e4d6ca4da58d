"""`sc.operators`: every operator and stacked vector of the papers, bound to one model."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.nodes import I
from soacraft.algebra.operator import Operator
from soacraft.algebra.space import Space
from soacraft.algebra.vectors import StackedVector
from soacraft.errors import ModelError, SpaceError
from soacraft.model.interface import Graph
from soacraft.model.sko import SKOModel
from soacraft.model.state import State
from soacraft.ops import vectors
from soacraft.ops.binding import Bound, GraphBinding, SKOBinding
from soacraft.ops.leaves import DefinedLeaf, PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.table import NAMES, PROPAGATORS, SPARSE

Array = npt.NDArray[np.float64]

VECTORS = tuple(vectors.VECTORS)


class Operators:
    """The operators of one model as attributes; made by `sc.operators`.

    Operators: `H E_phi phi phi_tilde M R P P_plus D G K tau tau_bar E_psi psi psi_tilde Upsilon Omega B(nodes)`.
    Stacked vectors, worked out when asked for: `v vdot V V_plus Delta_V alpha f T C a b z eps nu`.
    """

    H: Operator
    M: Operator
    E_phi: Operator
    R: Operator
    P: Operator
    P_plus: Operator
    D: Operator
    G: Operator
    K: Operator
    tau: Operator
    tau_bar: Operator
    E_psi: Operator
    Upsilon: Operator
    phi: Operator
    phi_tilde: Operator
    psi: Operator
    psi_tilde: Operator
    Omega: Operator
    v: StackedVector
    vdot: StackedVector
    V: StackedVector
    V_plus: StackedVector
    Delta_V: StackedVector
    alpha: StackedVector
    f: StackedVector
    T: StackedVector
    C: StackedVector
    a: StackedVector
    b: StackedVector
    z: StackedVector
    eps: StackedVector
    nu: StackedVector

    def __init__(self, binding: Bound) -> None:
        self._binding = binding
        self._leaves: dict[str, Operator] = {}

    @property
    def I(self) -> Operator:  # noqa: E743
        """The identity; it takes its space from its neighbour."""
        return I

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._leaves:
            return self._leaves[name]
        if name in NAMES:
            self._leaves[name] = self._leaf(name)
            return self._leaves[name]
        if name in VECTORS:
            return vectors.VECTORS[name](self)
        raise AttributeError(f"there is no operator or vector {name!r}; there are {' '.join(self.names())}.")

    def _leaf(self, name: str) -> Operator:
        for sparse in SPARSE:
            if sparse.name == name:
                return SparseLeaf(self._binding, sparse)
        for propagator in PROPAGATORS:
            if propagator.name == name:
                return PropagatorLeaf(self._binding, propagator, getattr(self, propagator.kernel))
        meaning = self.psi.T * self.H.T * self.D.inv * self.H * self.psi
        claims = frozenset({"symmetric", "positive_semidefinite"})
        return DefinedLeaf("Omega", r"\Omega", meaning, claims, "000 Eq. 34")

    def B(self, nodes: Any) -> Operator:
        """The pick-off operator of one or several nodes (000 Eq. 12): forces at nodes to forces on bodies."""
        return PickOffLeaf(self._binding, nodes)

    def __getitem__(self, names: str) -> Any:
        if not isinstance(names, str):
            raise SpaceError(f'operators are named in one text, such as "H phi M", not by {names!r}.')
        unknown = [name for name in names.split() if name not in self.names()]
        if unknown or not names.split():
            raise SpaceError(f"there is no operator {' '.join(unknown)!r}; there are {' '.join(self.names())}.")
        found = [getattr(self, name) for name in names.split()]
        return found[0] if len(found) == 1 else tuple(found)

    @staticmethod
    def names() -> tuple[str, ...]:
        """All names, operators first."""
        return (*NAMES, "B", "I", *VECTORS)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.names()]

    @property
    def sko(self) -> SKOModel:
        """The SKO model at the bound state."""
        return self._binding.sko()

    @property
    def binding(self) -> Bound:
        """What the numbers are taken from."""
        return self._binding

    @property
    def hinge(self) -> Space:
        """The space of generalized velocities and forces."""
        return self._binding.hinge

    @property
    def body(self) -> Space:
        """The space of stacked body velocities and forces."""
        return self._binding.body

    def vector(self, space: Space, data: Any) -> StackedVector:
        """Numbers as a stacked vector of a space."""
        return StackedVector(space, np.asarray(data, dtype=np.float64))

    def __repr__(self) -> str:
        bound = self._binding
        where = "" if bound.axes is None else f" in {bound.axes} axes"
        return f"operators of {bound.owner}{where}: {self.body}, {self.hinge}\n  {' '.join(self.names())}"


def operators_of(binding: Bound) -> Operators:
    """The operators of a binding, always the same ones."""
    if binding.operators is None:
        binding.operators = Operators(binding)
    found: Operators = binding.operators
    return found


def operators(
    model: Graph | State | SKOModel,
    names: str | None = None,
    *,
    axes: str = "body",
    f_ext: Any = None,
    force: Any = None,
    v: Any = None,
    vdot: Any = None,
) -> Any:
    """The operators of a model, or those named: `H, phi, M = sc.operators(mb, "H phi M")`.

    A `Multibody` or sub-graph is bound live: change `mb.q` and the same expressions give new values. A state
    `mb.state(q, v)` binds a snapshot. `axes` is "body", "inertial" (the papers') or "origin" (phi becomes I).
    `f_ext = {node: wrench}` enters `b`. `force` is the generalized force that `vdot`, `alpha`, `f`, `z`, `eps`, `nu`
    answer to; without it they answer to the state's `vdot`. An `SKOModel` takes `v` and `vdot` here.

    >>> import soacraft as sc
    >>> H, phi, M = sc.operators(sc.load("arm7"), "H phi M")
    >>> H * phi * M * phi.T * H.T
    H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]
    """
    if isinstance(model, SKOModel):
        if axes != "body" or f_ext is not None:
            raise ModelError("an SKO model has blocks only: axes= and f_ext= need a Multibody or a sub-graph.")
        binding: Bound = SKOBinding(model, v, vdot, force)
    elif isinstance(model, (Graph, State)):
        if v is not None or vdot is not None:
            raise ModelError("v= and vdot= are for SKO models; bind mb.state(q, v, vdot) instead.")
        graph, state = (model, None) if isinstance(model, Graph) else (model.graph, model)
        binding = GraphBinding(graph, state, axes, f_ext, force)
    else:
        raise ModelError(f"operators() takes a Multibody, a sub-graph, a state or an SKOModel, got {model!r}.")
    found = operators_of(binding)
    return found if names is None else found[names]
