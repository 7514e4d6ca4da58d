"""Bindings: the source of the operators' numbers. A graph at its current state, a snapshot, or a plain SKO model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.instant import held
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import ModelError, SpaceError, StaleError, StateError
from soacraft.model.flat.axes import check_axes
from soacraft.model.flat.passive import passive_force
from soacraft.model.flat.sko import BODY, SKOModel
from soacraft.model.sizes.lengths import longest_arm
from soacraft.model.sizes.scale import scaled_random_state
from soacraft.model.states.coordinates import common_batch, read_forces
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.names import find_body
from soacraft.ops.numbering import read_numbering
from soacraft.ops.programs import calls
from soacraft.order import Order, in_order, order_of
from soacraft.spatial.checks import finite, frozen

Array = npt.NDArray[np.float64]


class Owner:
    """The bodies a space belongs to: equal for equal sets of bodies of one model, until its structure changes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.version, self.bodies = graph, graph.version, graph.bodies

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Owner)
            and self.graph.root is other.graph.root
            and self.version == other.version
            and self.bodies == other.bodies
        )

    def __hash__(self) -> int:
        return hash((id(self.graph.root), self.version))

    def __reduce__(self) -> tuple[Any, ...]:
        self.check()
        return Owner, (self.graph,)

    def __str__(self) -> str:
        return repr(self.graph.name)

    def block_name(self, kind: str, given: Any) -> str:
        """The label of a block in a space of this owner: of a node from the node, of a body from it or its hinge."""
        self.check()
        return block_name(self.graph, kind, given)

    def check(self) -> None:
        """Raise `StaleError` after a structural change."""
        if self.graph.version != self.version:
            raise StaleError(
                f"this expression of {self.graph.name!r} was made before a structural change of the model; "
                "make its operators again with sc.operators(...)."
            )


class ModelBinding:
    """Common to both kinds: the spaces of a tree of blocks."""

    axes: str | None
    owner: Any
    namespace: Any = None  # its class: `Operators`, set there, or one with more
    operators: Any = None  # the namespace made of this binding, kept by `named.named_of`
    numbering: tuple[int, ...] | None = None  # the bodies in the order that users count them
    with_passive: bool = False
    """True if vectors answer to T and the model's own springs and dampers."""
    _pinned: int | None = None

    def sko(self) -> SKOModel:
        raise AssertionError("each kind of binding provides its SKO model")

    @property
    def parameters(self) -> int:
        """The version of the model's parameters; blocks alone have but one."""
        return 0

    def pinned(self) -> Self:
        """Copy that is valid for the present parameters alone, for an expression rewritten by relations that hold for
        them.
        """
        made = object.__new__(type(self))
        vars(made).update(vars(self), operators=None, _pinned=self.parameters)
        return made

    def _after_copy(self) -> dict[str, Any] | None:
        """State that `__reduce__` adds to the arguments of the constructor."""
        return {"with_passive": True} if self.with_passive else None

    def alike(self, made: Bound) -> Any:
        """Another binding of the same kind, pinned and with passive forces as this one."""
        made.with_passive = self.with_passive
        return made if self._pinned is None else made.pinned()

    def check_parameters(self) -> None:
        """Raise `StaleError` for other parameters than those it is pinned to."""
        if self._pinned is not None and self._pinned != self.parameters:
            raise StaleError(
                f"this expression of {self.owner} was simplified by what holds for the parameters that the model had; "
                "they changed: simplify it again."
            )

    @cached_property
    def body(self) -> Space:
        """The space of stacked body velocities and forces."""
        sko = self.sko()
        return Space("body", sko.names, sko.dims, self.owner, self.axes, sko.tree, sko.units.body, self.numbering)

    @cached_property
    def hinge(self) -> Space:
        """The space of generalized velocities and forces."""
        sko = self.sko()
        return Space("hinge", sko.names, sko.nvs, self.owner, None, sko.tree, sko.units.hinge, self.numbering)

    def product_call(
        self, expr: Operator, fallback: Callable[[Any], StackedVector]
    ) -> Callable[[Any], StackedVector] | None:
        """A quick call for products of an expression with vectors, or None."""
        return calls.product_call(expr, fallback)

    def columns(self, expr: Operator, x: Array) -> Array | None:
        """The product of an expression with columns, or None when its recursions should compute it."""
        return calls.columns(expr, x)

    def block(self, expr: Operator, i: int, j: int) -> Array | None:
        """Block (i, j) of an expression, or None when its recursions should compute it."""
        return calls.block(expr, i, j)

    def blocks(self, expr: Operator) -> Blocks | None:
        """All blocks of an expression that has a pattern, or None when its recursions should compute them."""
        return calls.blocks(expr)

    def token(self) -> object:
        """The store of what was derived from A, H and M: another one for another configuration."""
        return self.sko().memo


class GraphBinding(ModelBinding):
    """A `Multibody` or sub-graph, at its current state (live) or at a snapshot."""

    def __init__(
        self,
        graph: Graph,
        state: State | None = None,
        axes: str = "body",
        f_ext: Any = None,
        force: Any = None,
        numbering: Any = None,
    ) -> None:
        self.graph, self.snapshot, self.axes, self.f_ext = graph, state, check_axes(axes), read_forces(graph, f_ext)
        self.owner = Owner(graph)
        tree = self.sko().tree
        self.numbering = read_numbering(numbering, tree, lambda body: tree.names.index(block_name(graph, "body", body)))
        self.given_force = None if force is None else read(f"force of {self.owner}", force, graph.layout.v_order)
        if self.given_force is not None:
            common_batch(force=self.given_force, state=self.state.v)

    def __reduce__(self) -> tuple[Any, ...]:
        self.owner.check()
        self.check_parameters()
        given = (self.graph, self.snapshot, self.axes, self.f_ext, self.given_force, self._named())
        kind, args = (GraphBinding, given) if self._pinned is None else (again_pinned, (GraphBinding, given))
        return kind, args, self._after_copy()

    def _named(self) -> list[str] | None:
        """The bodies in the order that users count them, by name."""
        return None if self.numbering is None else [self.graph.bodies[k].name for k in self.numbering]

    @property
    def parameters(self) -> int:
        """The version of the model's parameters."""
        return self.graph.parameters

    @property
    def state(self) -> State:
        """The bound snapshot, or the current state."""
        self.owner.check()
        self.check_parameters()
        return held(self.graph, self.graph.state) if self.snapshot is None else self.snapshot

    def sko(self) -> SKOModel:
        return self.graph.sko(self.state, self.axes or "body", self.f_ext)

    @property
    def batch(self) -> tuple[int, ...]:
        return self.state.batch

    def identity(self) -> Hashable:
        return (self.owner, self.axes, id(self.snapshot) if self.snapshot is not None else None, self.numbering)

    def at(self, **state: Any) -> GraphBinding:
        """Binding to a snapshot of the same graph."""
        unknown = set(state) - {"q", "v", "vdot"}
        if unknown:
            raise StateError(f"at() takes q=, v= and vdot=, not {', '.join(sorted(unknown))}.")
        snapshot = self.state.replace(**state)
        made = GraphBinding(self.graph, snapshot, self.axes or "body", self.f_ext, self.given_force, self._named())
        found: GraphBinding = self.alike(made)
        return found

    def elsewhere(self, seed: int) -> dict[str, Array]:
        """Random state of the model, scaled to it, at which expressions are compared."""
        q, v, _ = scaled_random_state(self.graph, seed)
        return {"q": q, "v": v}

    def moved(self, w: Array, t: float, in_time: bool) -> dict[str, Array]:
        """The state after t along a velocity w; in time the velocity itself changes by vdot."""
        state = self.state
        there = {"q": self.graph.integrate(state.q, t * w + (0.5 * t * t * state.vdot if in_time else 0.0))}
        return there | ({"v": state.v + t * state.vdot} if in_time else {})

    def coordinates(self) -> tuple[list[int], Array]:
        """Number of coordinates of each hinge, and all coordinates."""
        return [x.stop - x.start for x in self.graph.layout.q_slices], self.state.q

    def velocity(self) -> Array:
        return self.state.v

    def acceleration(self) -> Array:
        return self.state.vdot

    def passive(self) -> Array:
        """Generalized force of the springs, dampers and gravity compensation of the model."""
        return np.broadcast_to(passive_force(self.state), self.state.v.shape)

    def body_velocities(self) -> Sequence[Array] | None:
        """True velocities of the bodies, a moving anchor's included."""
        return self.graph.body_velocities(self.state, self.axes or "body")

    def longest_arm(self) -> float:
        """The longest arm of its bodies about the origin, in metres."""
        return longest_arm(self.graph)

    def nodes(self, nodes: Any) -> tuple[str, ...]:
        """Names of nodes, from one or several nodes or names."""
        several = nodes if isinstance(nodes, (list, tuple)) else [nodes]
        return tuple(self.graph.frame(node).full_name for node in several)

    def pick_off(self, names: tuple[str, ...]) -> dict[tuple[int, int], Array]:
        """phi(k, O) by (number of the body, number of the node)."""
        found = [self.graph.node_block(name, self.state, self.axes or "body") for name in names]
        return {(k, i): block for i, (k, block) in enumerate(found)}

    def node_space(self, names: tuple[str, ...]) -> Space:
        sizes, units = [6] * len(names), [BODY] * len(names)
        counted = None if self.numbering is None else range(len(names))
        return Space("node", names, sizes, self.owner, self.axes, units=units, numbering=counted)


class SKOBinding(ModelBinding):
    """A plain SKO model; its velocity and acceleration are zero unless given."""

    axes = None

    def __init__(
        self, model: SKOModel, v: Any = None, vdot: Any = None, force: Any = None, numbering: Any = None
    ) -> None:
        self.owner = self.model = model
        self.numbering = read_numbering(numbering, model.tree, self._number)
        self.batch = batch_of(model)
        order = order_of(model.names, model.nvs)
        self._v, self._vdot = (read(f"{what} of this SKO model", x, order) for what, x in (("v", v), ("vdot", vdot)))
        self.given_force = None if force is None else read("force of this SKO model", force, order)
        given = {"v": self._v, "vdot": self._vdot, "force": self.given_force}
        common_batch(model=np.empty((*self.batch, 0)), **{what: x for what, x in given.items() if x is not None})

    def __reduce__(self) -> tuple[Any, ...]:
        return SKOBinding, (self.model, self._v, self._vdot, self.given_force, self._named())

    def _number(self, node: Any) -> int:
        names = self.model.names
        if isinstance(node, str) and node in names:
            return names.index(node)
        if isinstance(node, (int, np.integer)) and not isinstance(node, bool) and 0 <= node < len(names):
            return int(node)
        raise ModelError(f"numbering: this SKO model has no node {node!r:.60}; its nodes are {', '.join(names)}.")

    def _named(self) -> list[str] | None:
        return None if self.numbering is None else [self.model.names[k] for k in self.numbering]

    def sko(self) -> SKOModel:
        return self.model

    @property
    def roads(self) -> dict[str, Any]:
        """Memo that holds the plan of its structure."""
        return vars(self)

    def identity(self) -> Hashable:
        return id(self.model), self.numbering

    def at(self, **state: Any) -> SKOBinding:
        """Binding with another v or vdot; an SKO model is constant and has no q."""
        if "q" in state or set(state) - {"v", "vdot"}:
            raise StateError("an SKO model is at one configuration: at() takes v= and vdot= only.")
        given = {"v": self._v, "vdot": self._vdot, "force": self.given_force} | state
        return SKOBinding(self.model, **given, numbering=self._named())

    def coordinates(self) -> tuple[list[int], Array]:
        """Blocks alone have no coordinates."""
        return [0] * self.model.n, np.zeros((*self.batch, 0))

    def velocity(self) -> Array:
        return self._v

    def acceleration(self) -> Array:
        return self._vdot

    def passive(self) -> Array:
        """Blocks alone have no springs."""
        return np.zeros(self._v.shape)

    def body_velocities(self) -> Sequence[Array] | None:
        return None

    def longest_arm(self) -> float:
        """Blocks alone have no arms."""
        return 0.0

    def direction(self, ops: Any, body: Any = None, dof: Any = 0) -> Any:
        """Refuse to differentiate: a plain SKO model has no direction to differentiate its operators along."""
        raise ModelError(
            "an SKO model is at one configuration and has no hinges to move along, so its operators have no "
            "derivatives; bind a Multibody or a sub-graph."
        )

    def nodes(self, nodes: Any) -> tuple[str, ...]:
        """Names of nodes, from one or several names or numbers."""
        several = nodes if isinstance(nodes, (list, tuple)) else [nodes]
        return tuple(self.model.names[self.body.index(node)] for node in several)

    def pick_off(self, names: tuple[str, ...]) -> dict[tuple[int, int], Array]:
        """An SKO model's nodes are picked off as they are."""
        return {(k := self.body.index(name), i): np.eye(self.body.dims[k]) for i, name in enumerate(names)}

    def node_space(self, names: tuple[str, ...]) -> Space:
        where = [self.body.index(name) for name in names]
        units = [self.body.units[k] for k in where]
        counted = None if self.numbering is None else range(len(names))
        return Space("node", names, [self.body.dims[k] for k in where], self.owner, units=units, numbering=counted)


def again_pinned(kind: Any, given: tuple[Any, ...]) -> Any:
    """A pinned binding that was copied."""
    return kind(*given).pinned()


def block_name(graph: Graph, kind: str, given: Any) -> str:
    """The name of the frame, in node spaces, or of the body, from itself or what else it is called."""
    return graph.frame(given).full_name if kind == "node" else find_body(graph, given, SpaceError).name


def read(what: str, x: Any, order: Order) -> Array:
    """A vector (..., nv) of the hinge space, in the order of the model, read-only; zero for None."""
    nv = order.size
    return frozen(np.zeros(nv) if x is None else finite(in_order(x, order, what), (..., nv), what, StateError))


def batch_of(model: SKOModel) -> tuple[int, ...]:
    """The leading axes of its blocks."""
    blocks = [x for k in model.nodes for x in (model.H(k), model.M(k))] + [x for x in model.edges if x is not None]
    batches = {x.shape[:-2] for x in blocks}
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        shapes = " and ".join(str(batch) for batch in sorted(batches) if batch)
        raise ModelError(f"the leading (batch) axes of the blocks of this SKO model do not fit: {shapes}.") from None


Bound = GraphBinding | SKOBinding
