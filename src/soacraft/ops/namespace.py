"""`sc.operators`: every operator and stacked vector of the papers, bound to one model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, overload

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.nodes import I
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.attributes import Strict
from soacraft.errors import ModelError, SpaceError
from soacraft.model.flat.passive import has_passive
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.sko_functions import SKOFunctions
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph, graph_of
from soacraft.model.tree.parts.closures import refuse_loops
from soacraft.ops import from_numbers, vectors
from soacraft.ops.binding import Bound, GraphBinding, ModelBinding, SKOBinding
from soacraft.ops.derivatives.directions import Direction, direction_of
from soacraft.ops.derivatives.flexible import FlexibleDirection
from soacraft.ops.leaves import DefinedLeaf, PickOffLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.named import named_of
from soacraft.ops.names import ALONG_VELOCITY
from soacraft.ops.sko_binding import FunctionBinding
from soacraft.ops.table import NAMES, PROPAGATORS, SPARSE

Array = npt.NDArray[np.float64]

VECTORS = tuple(vectors.VECTORS)
#: Names for type checkers, which then see that one name gives one operator, and several give a tuple.
OneOperator = Literal[
    "H", "M", "E_phi", "R", "P", "P_plus", "D", "G", "K", "tau", "tau_bar", "E_psi", "Upsilon", "phi", "phi_tilde",
    "psi", "psi_tilde", "Omega", "I", "coriolis", "B_hat", "X_v", "W_v", "dH_v", "dE_phi_v", "dM_v",
]  # fmt: skip
OneVector = Literal[
    "q", "v", "vdot", "V", "V_plus", "Delta_V", "alpha", "alpha_plus", "f", "T", "C", "passive", "a", "b", "z",
    "z_plus", "eps", "nu",
]  # fmt: skip


class Operators(Strict):
    """The operators of one model as attributes; made by `sc.operators`.

    Operators: `H E_phi phi phi_tilde M R P P_plus D G K tau tau_bar E_psi psi psi_tilde Upsilon Omega B(nodes)`.
    For derivatives: `X(body, dof) W(body, dof) dH(body, dof) W_nd(nodes, body, dof)`, along the velocity `X_v W_v dH_v
    W_nd_v(nodes) B_hat`, and the Coriolis matrix `coriolis`.
    Stacked vectors, computed when read: `q v vdot V V_plus Delta_V alpha alpha_plus f T C passive a b z
    z_plus eps nu`.
    Operators and vectors of your own numbers: `block_diagonal diagonal sparse vector`, and `sc.matrix`.
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
    q: StackedVector
    v: StackedVector
    vdot: StackedVector
    V: StackedVector
    V_plus: StackedVector
    Delta_V: StackedVector
    alpha: StackedVector
    alpha_plus: StackedVector
    f: StackedVector
    T: StackedVector
    C: StackedVector
    passive: StackedVector
    a: StackedVector
    b: StackedVector
    z: StackedVector
    z_plus: StackedVector
    eps: StackedVector
    nu: StackedVector

    #: The names of further operators of a class derived from this one.
    operators_besides: ClassVar[tuple[str, ...]] = ()
    _set_once = frozenset({"directions", "sensitivities"})
    _cures: ClassVar = {"*": "operators follow from their model; give an expression a name with sc.define(name, expr)"}

    def __init__(self, binding: Bound) -> None:
        self._binding = binding
        self._leaves: dict[str, Operator] = {}
        self.directions: dict[tuple[str | None, int], Direction] = {}
        self.sensitivities: dict[tuple[Any, ...], Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return operators_of, (self._binding,)

    @property
    def I(self) -> Operator:  # noqa: E743
        """The identity; it takes its space from its neighbour."""
        return I

    if not TYPE_CHECKING:  # so that an editor sees the attributes above and marks all others

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
            raise AttributeError(f"there is no operator or vector {name!r}{self._there_are(name)}")

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

    # -- derivatives ----------------------------------------------------------------------------------------------

    def direction(self, body: str | None, dof: int = 0) -> Direction:
        """The direction of a dof of a body's hinge, of the current velocity for None; always the same object."""
        if (body, dof) not in self.directions:
            self.directions[body, dof] = self._kind_of_direction(body, dof)(self, body, dof)
        return self.directions[body, dof]

    def _kind_of_direction(self, body: str | None, dof: int) -> type[Direction]:
        """Class of a direction: modes, and a velocity that has some, change more blocks than a hinge does."""
        graph = getattr(self.binding, "graph", None)
        if graph is None or graph.layout.rigid:
            return Direction
        if body is not None and dof < graph.bodies[graph.index(body)].hinge.nv:
            return Direction
        return FlexibleDirection

    def X(self, body: Any, dof: Any = 0) -> Operator:
        """diag{ crf(H*(k) e) }, zero but for the body whose hinge moves: d E_phi = E_phi X in body axes (G1).

        For a pin with the body frame on its axis it is H~*(k) (000 Eq. 39) in its place, H~(= i) of 000 Eq. 40.
        """
        return direction_of(self, body, dof).leaf("X")

    def W(self, body: Any, dof: Any = 0) -> Operator:
        """Turning of the axes of the bodies outboard of a hinge: H~(<= i) of 000 Eq. 40, corrected; zero in body axes.
        """
        return direction_of(self, body, dof).leaf("W")

    def dH(self, body: Any, dof: Any = 0) -> Operator:
        """Derivative of the hinge map of a body in body axes; zero for hinges whose map is constant (G3)."""
        return direction_of(self, body, dof).leaf("dH")

    def dE_phi(self, body: Any, dof: Any = 0) -> Operator:
        """Derivative of the weights of an SKO model of functions; of rigid bodies E_phi X."""
        return self.E_phi.along(body, dof)

    def dM(self, body: Any, dof: Any = 0) -> Operator:
        """Derivative of the inertias of an SKO model of functions; zero for rigid bodies."""
        return self.M.along(body, dof)

    @property
    def dE_phi_v(self) -> Operator:
        """`dE_phi` along the current velocity."""
        return self.E_phi.along()

    @property
    def dM_v(self) -> Operator:
        """`dM` along the current velocity."""
        return self.M.along()

    def W_nd(self, nodes: Any, body: Any, dof: Any = 0) -> Operator:
        """Turning of the axes of nodes (G17); zero in body axes."""
        return direction_of(self, body, dof).leaf("W_nd", *self._binding.nodes(nodes))

    def W_nd_v(self, nodes: Any) -> Operator:
        """`W_nd` along the current velocity."""
        return direction_of(self).leaf("W_nd", *self._binding.nodes(nodes))

    @property
    def X_v(self) -> Operator:
        """`X` along the current velocity: diag{ crf(H*(k) v(k)) }."""
        return direction_of(self).leaf("X")

    @property
    def W_v(self) -> Operator:
        """`W` along the current velocity, a moving anchor's included."""
        return direction_of(self).leaf("W")

    @property
    def dH_v(self) -> Operator:
        """`dH` along the current velocity."""
        return direction_of(self).leaf("dH")

    @property
    def B_hat(self) -> Operator:
        """diag{ -[[n~, f~], [f~, 0]] } with [n; f] = M V: the matrix B_hat(k) with B_hat(k) s = crf(s) M(k) V(k)."""
        return direction_of(self).leaf("B_hat")

    @property
    def coriolis(self) -> Operator:
        """The Coriolis matrix C = H phi (M d/dt(phi* H*) + B_hat phi* H*), the same in all axes.

        C v is the bias force without gravity, and d/dt(mass matrix) - 2 C is skew, quasi-velocities included. With a
        moving anchor it is that of the anchor at rest.

        >>> import soacraft as sc
        >>> s = sc.operators(sc.load("arm7"))
        >>> mass_matrix = s.H * s.phi * s.M * s.phi.T * s.H.T
        >>> (mass_matrix.dot() - s.coriolis - s.coriolis.T).is_zero()
        True
        """
        if "coriolis" not in self._leaves:
            J = self.phi.T * self.H.T
            self._leaves["coriolis"] = self.H * self.phi * (self.M * J.along() + self.B_hat * J)
        return self._leaves["coriolis"]

    @overload
    def __getitem__(self, names: OneOperator) -> Operator: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, names: OneVector) -> StackedVector: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, names: str) -> tuple[Operator, ...]: ...

    def __getitem__(self, names: str) -> Any:
        if not isinstance(names, str):
            raise SpaceError(f'operators are named in one text, such as "H phi M", not by {names!r}.')
        unknown = [name for name in names.split() if name not in (*self.names(), *ALONG_VELOCITY)]
        if unknown or not names.split():
            raise SpaceError(f"there is no operator {' '.join(unknown)!r}{self._there_are(*unknown)}")
        found = [getattr(self, name) for name in names.split()]
        return found[0] if len(found) == 1 else tuple(found)

    @staticmethod
    def names() -> tuple[str, ...]:
        """All names, operators first."""
        return (*NAMES, "B", "I", *VECTORS)

    @classmethod
    def _there_are(cls, *unknown: str) -> str:
        """The end of a message about unknown names: those that differ in capitals alone, and all that there are."""
        known = cls.names()
        meant = [name for name in known if name.lower() in {x.lower() for x in unknown}]
        hint = f"; did you mean {' or '.join(map(repr, meant))}? There are" if meant else "; there are"
        return f"{hint} {' '.join(known)}."

    def __dir__(self) -> list[str]:
        public = (name for name in vars(Operators) if not name.startswith("_"))
        return sorted({*public, *self.names()})

    def _ipython_key_completions_(self) -> list[str]:
        return [*self.names(), *ALONG_VELOCITY]

    @property
    def sko(self) -> SKOModel:
        """The SKO model at the bound state."""
        return self._binding.sko()

    @property
    def binding(self) -> Bound:
        """Binding that the numbers are taken from."""
        return self._binding

    @property
    def hinge(self) -> Space:
        """The space of generalized velocities and forces."""
        return self._binding.hinge

    @property
    def body(self) -> Space:
        """The space of stacked body velocities and forces."""
        return self._binding.body

    # -- numbers of the user's own ------------------------------------------------------------------------------------

    def vector(self, space: Space | str, data: Any) -> StackedVector:
        """Numbers as a stacked vector of a space: "hinge", "body", or one of an operator, such as `B(nodes).cols`.

        The numbers are an array, or a dictionary by body (node), in hinge space also by dof; what it does not name is
        zero.

        >>> import soacraft as sc
        >>> s = sc.operators(sc.load("arm7"))
        >>> s.vector("body", {"link7": [0, 0, 0, 0, 0, 1]})["link6":"link7"]
        array([0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 0., 1.])
        """
        where = from_numbers.space_named(self, space)
        if isinstance(data, Mapping):
            return from_numbers.stacked(self._binding, "vector", where, data)
        return from_numbers.whole(where, data)

    def block_diagonal(self, name: str, blocks: Mapping[Any, Any], space: Any = None) -> Operator:
        """A constant block-diagonal operator of your own: `{body: block}`; bodies that are not named have zero blocks.

        `space` is "body", "hinge", two as in "body <- hinge", or an operator that maps between the spaces meant, as
        `B.T*B` between nodes; by default the sizes of the blocks decide. The numbers stay as they are at every state
        and in every batch, so its derivatives are zero. What is true of them is claimed: symmetric, positive definite
        or semi-definite. In body axes they are in the axes of each body.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> mb = sc.load("arm7")
        >>> s = sc.operators(mb)
        >>> N = s.block_diagonal("N", {"link7": np.eye(6)})
        >>> s.H * s.phi * N * s.phi.T * s.H.T
        H*phi*N*phi.T*H.T : hinge[7] <- hinge[7]
        """
        return from_numbers.sparse(self, name, blocks, space, diagonal=True)

    def sparse(self, name: str, blocks: Mapping[tuple[Any, Any], Any], space: Any = None) -> Operator:
        """A constant operator of your own with blocks anywhere: `{(row, column): block}`, all others zero.

        Blocks at (parent, child) alone make a kernel operator, which has Lyapunov solutions and whose `(I - E).inv` is
        one sweep. `space` is as for `block_diagonal`.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> mb = sc.load("biped")
        >>> s = sc.operators(mb)
        >>> E = s.sparse("E", {(body.parent, body): np.eye(6) for body in mb.bodies if body.parent in mb.bodies})
        >>> (s.I - E).inv.explain().product[0].kind
        'gather'
        """
        return from_numbers.sparse(self, name, blocks, space, diagonal=False)

    def diagonal(self, name: str, values: Any, space: Space | str | None = None) -> Operator:
        """A constant operator of your own with these values on its diagonal: an array of the size of the hinge or the
        body space, `{dof or body: value}` (the others are zero), or one number for all with `space`.

        >>> import soacraft as sc
        >>> s = sc.operators(sc.load("arm7"))
        >>> stiffness = s.diagonal("stiffness", {"link1": 40.0, "link2": 25.0})
        >>> stiffness["link2", "link2"], (stiffness * s.v).shape
        (array([[25.]]), (7,))
        """
        return from_numbers.diagonal(self, name, values, space)

    def _counted(self) -> list[str]:
        return [f"{n} {self.body.labels[k]}" for n, k in enumerate(self.body.order, 1)]

    def __repr__(self) -> str:
        bound = self._binding
        where = "" if bound.axes is None else f" in {bound.axes} axes"
        where += "" if bound.numbering is None else f", numbered {' '.join(self._counted())}"
        head = f"operators of {bound.owner}{where}: {self.body}, {self.hinge}"
        return f"{head}\n  {' '.join(self.names())}{self._passive_text()}"

    def _passive_text(self) -> str:
        """A line on the model's own springs and dampers, where it has some."""
        bound = self._binding
        graph = getattr(bound, "graph", getattr(bound.owner, "graph", None))
        if graph is None or not has_passive(graph):
            return ""
        if bound.with_passive:
            return "\n  with the model's own springs and dampers, `passive`, in T, C, z, eps, nu and vdot"
        return (
            "\n  the model's own springs and dampers, `passive`, are left out; sc.operators(..., passive=True) has "
            "them in T, C, z, eps, nu and vdot"
        )


def operators_of(binding: Bound) -> Operators:
    """The operators of a binding, always the same ones."""
    return cast(Operators, named_of(binding))


ModelBinding.namespace = Operators  # the class of operators of every binding that has no other


@overload
def operators(
    model: Graph | State | SKOModel | Any, names: None = None, *, axes: str = "body", f_ext: Any = None,
    force: Any = None, v: Any = None, vdot: Any = None, ignore_loops: bool = False, numbering: Any = None,
    passive: bool = False,
) -> Operators: ...


@overload
def operators(  # type: ignore[overload-overlap]
    model: Graph | State | SKOModel | Any, names: OneOperator, *, axes: str = "body", f_ext: Any = None,
    force: Any = None, v: Any = None, vdot: Any = None, ignore_loops: bool = False, numbering: Any = None,
    passive: bool = False,
) -> Operator: ...


@overload
def operators(  # type: ignore[overload-overlap]
    model: Graph | State | SKOModel | Any, names: OneVector, *, axes: str = "body", f_ext: Any = None,
    force: Any = None, v: Any = None, vdot: Any = None, ignore_loops: bool = False, numbering: Any = None,
    passive: bool = False,
) -> StackedVector: ...


@overload
def operators(
    model: Graph | State | SKOModel | Any, names: str, *, axes: str = "body", f_ext: Any = None,
    force: Any = None, v: Any = None, vdot: Any = None, ignore_loops: bool = False, numbering: Any = None,
    passive: bool = False,
) -> tuple[Operator, ...]: ...


def operators(
    model: Graph | State | SKOModel | Any,
    names: str | None = None,
    *,
    axes: str = "body",
    f_ext: Any = None,
    force: Any = None,
    v: Any = None,
    vdot: Any = None,
    ignore_loops: bool = False,
    numbering: Any = None,
    passive: bool = False,
) -> Any:
    """The operators of a model, or those named: `H, phi, M = sc.operators(mb, "H phi M")`.

    A `Multibody` or sub-graph is bound live: change `mb.q` and the same expressions give new values. A state
    `mb.state(q, v)` binds a snapshot. `axes` is "body", "inertial" (the papers') or "origin" (phi becomes I).
    `f_ext = {node: wrench}` enters `b`. `force` is the generalized force that `vdot`, `alpha`, `f`, `z`, `eps`, `nu`
    answer to; without it they answer to the state's `vdot`. An `SKOModel` takes `v` and `vdot` here; one of functions
    is bound live unless these are given. The operators are those of the tree: a graph with active loops or couplings is
    refused, unless `ignore_loops=True`. Constraint embedding `sc.loops.ConstraintEmbedding(mb)` and
    `sc.aggregate(mb, bodies)` give those of the system with compound bodies (any object with a method
    `binding(f_ext, force)` does).

    `numbering="tip"` counts bodies as the papers do, tip 1 and base n; a list of all bodies counts in its order.
    Numbers as indices, stacked vectors as arrays, `.array()` and pictures are then in this order: phi(2,1) is
    `phi[2, 1]`, and E_phi has its blocks below the diagonal. What belongs to the model (`q`, `v`, `force=`) stays in
    the model's order.

    Operators and vectors leave out the model's own springs, dampers and gravity compensation, which `passive` has. With
    `passive=True` the vectors answer to them too: `T`, `C`, `z`, `eps`, `nu` and `vdot` are as in `soacraft.dynamics`.

    >>> import soacraft as sc
    >>> H, phi, M = sc.operators(sc.load("arm7"), "H phi M")
    >>> H * phi * M * phi.T * H.T
    H*phi*M*phi.T*H.T : hinge[7] <- hinge[7]
    """
    if isinstance(model, SKOFunctions):
        if axes != "body" or f_ext is not None:
            raise ModelError("an SKO model has blocks only: axes= and f_ext= need a Multibody or a sub-graph.")
        binding: Bound = FunctionBinding(model, None, force, numbering)
        if v is not None or vdot is not None:
            binding = binding.at(**{name: x for name, x in (("v", v), ("vdot", vdot)) if x is not None})
    elif isinstance(model, SKOModel):
        if axes != "body" or f_ext is not None:
            raise ModelError("an SKO model has blocks only: axes= and f_ext= need a Multibody or a sub-graph.")
        binding = SKOBinding(model, v, vdot, force, numbering)
    elif isinstance(model, (Graph, State)):
        if v is not None or vdot is not None:
            raise ModelError("v= and vdot= are for SKO models; bind mb.state(q, v, vdot) instead.")
        graph, state = (model, None) if isinstance(model, Graph) else (graph_of(model), model)
        refuse_loops("operators", graph, ignore_loops)
        binding = GraphBinding(graph, state, axes, f_ext, force, numbering)
    elif callable(bind := getattr(model, "binding", None)):
        if axes != "body" or v is not None or vdot is not None or numbering is not None:
            raise ModelError(
                "axes=, v=, vdot= and numbering= are not for a system with compound bodies; it is in body axes."
            )
        binding = bind(f_ext=f_ext, force=force)
    else:
        raise ModelError(f"operators() takes a Multibody, a sub-graph, a state or an SKOModel, got {model!r}.")
    if not isinstance(passive, bool | np.bool_):
        raise ModelError(f"passive of operators must be True or False, got {passive!r:.60}.")
    binding.with_passive = bool(passive)
    found = operators_of(binding)
    return found if names is None else found[names]
