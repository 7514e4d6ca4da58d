"""Binding of the operators of a system with compound bodies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from soacraft.algebra.expressions.instant import held
from soacraft.algebra.spaces.space import Space
from soacraft.errors import LoopError, SpaceError, StaleError, StateError
from soacraft.loops.embedding.model import EmbeddedModel
from soacraft.loops.embedding.sensitivity import EmbeddedDirection, embedded_direction
from soacraft.loops.embedding.tree_map import TreeMap
from soacraft.model.flat.passive import passive_force
from soacraft.model.flat.sko import BODY, SKOModel
from soacraft.model.sizes.lengths import longest_arm
from soacraft.model.states.coordinates import read_forces, read_v
from soacraft.model.states.motion import Motion
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.ops.binding import GraphBinding, SKOBinding, again_pinned, block_name
from soacraft.ops.namespace import Operators, operators_of
from soacraft.recursions import _backend
from soacraft.spatial.checks import Array, finite


class Epoch:
    """One choice of independent dofs: the owner of the spaces made for it."""

    def __init__(self, system: CompoundSystem, dofs: tuple[str, ...]) -> None:
        self.system, self.graph, self.version, self.dofs = system, system.graph, system.graph.version, dofs
        self.says = f"{self.graph.name!r} with compound bodies"
        self.first: SKOModel | None = None
        self.members: dict[str, str] = {}  # bodies by name, with the compound body each is part of

    def __reduce__(self) -> tuple[Any, ...]:
        """The choice that a copied system has; that of an older choice is stale."""
        self.require_current()
        return _epoch_of, (self.system,)

    def require_current(self) -> None:
        """Raise `StaleError` after a structural change, or once other dofs were chosen."""
        if self.version != self.graph.version:
            raise StaleError(
                f"this expression of {self} was made before a structural change of the model; make the solver and its "
                "operators again."
            )
        now = self.system.epoch
        if now is not self:
            raise StaleError(
                f"this expression of {self} was made for the independent dofs {_shown(self.dofs)}; they are now "
                f"{_shown(now.dofs)}. Make its operators again with sc.operators(...)."
            )

    def __str__(self) -> str:
        return self.says

    def block_name(self, kind: str, argument: Any) -> str:
        """The label of a block: of a node from the node, of a body outside the compounds from it or its hinge."""
        name = block_name(self.graph, kind, argument)
        if kind != "node" and self.members.get(name, name) != name:
            raise SpaceError(f"body {name!r} is part of the compound body {self.members[name]!r} of {self}; give that.")
        return name


def _epoch_of(system: CompoundSystem) -> Epoch:
    return system.epoch


class CompoundSystem(ABC):
    """Base of systems with compound bodies: constraint embedding, or an aggregated tree."""

    _epoch: Epoch | None = None

    @property
    @abstractmethod
    def graph(self) -> Graph:
        """The graph of the bodies."""

    @abstractmethod
    def model(self, state: State, f_ext: Any = None) -> EmbeddedModel:
        """The system at a state: its SKO model, Xt and x0."""

    @property
    def epoch(self) -> Epoch:
        """The choice of independent dofs that holds now."""
        if self._epoch is None:
            self.model(self.graph.current)
        assert self._epoch is not None
        return self._epoch

    def sko(self, q: Any = None, v: Any = None) -> SKOModel:
        """The SKO model at a state (default: the current one)."""
        return self.model(self.graph.state(q, v)).sko

    def log_det_mass_matrix(self, q: Any = None) -> float:
        """log det of the mass matrix of the hinge space at one configuration (default: the current one): the sum over
        bodies and compound bodies of log det D (004 Eq. 53). O(n).

        >>> import soacraft as sc
        >>> mb = sc.load("arm7")
        >>> folded = sc.aggregate(mb, ["link3", "link4"])
        >>> bool(abs(folded.log_det_mass_matrix() - sc.dynamics.log_det_mass_matrix(mb, mb.q)) < 1e-12)
        True
        """
        state = self.graph.state(q, np.zeros(self.graph.nv))
        if state.batch:
            raise StateError(f"log_det_mass_matrix takes one configuration, got a batch {state.batch}.")
        D = _backend.articulated_body(self.model(state).sko).D
        return float(sum(np.linalg.slogdet(D[k])[1] for k in D))

    @overload
    def operators(
        self, q: Any = None, v: Any = None, names: None = None, f_ext: Any = None, force: Any = None
    ) -> Operators: ...

    @overload
    def operators(
        self, q: Any = None, v: Any = None, names: str = "", f_ext: Any = None, force: Any = None
    ) -> Any: ...

    def operators(
        self, q: Any = None, v: Any = None, names: str | None = None, f_ext: Any = None, force: Any = None
    ) -> Any:
        """The operators at a state; without q and v those at the current state, whatever it becomes.

        `force` is one of the tree, in its size or by name, or one of the size of T. The hinge space is that of the
        independent dofs, `epoch.dofs`.
        """
        state = None if q is None and v is None else self.graph.state(q, v)
        operators: Operators = operators_of(EmbeddedBinding(self, state, f_ext, force))
        return operators if names is None else operators[names]

    def binding(self, f_ext: Any = None, force: Any = None) -> EmbeddedBinding:
        """Binding of `sc.operators(s)`: this system at the current state."""
        return EmbeddedBinding(self, None, f_ext, force)


class EmbeddedBinding(SKOBinding):
    """A system with compound bodies at the model's current state (live) or at a snapshot; for one choice of dofs."""

    def __init__(
        self, system: CompoundSystem, state: State | None = None, f_ext: Any = None, force: Any = None
    ) -> None:
        self.system, self.snapshot, self.batch = system, state, ()
        self.f_ext = read_forces(system.graph, f_ext)
        self._found: tuple[State, Motion, EmbeddedModel] | None = None
        embedded = system.model(self._state())
        self.owner: Any = system.epoch
        self._force = None if force is None else self._read_force(force)
        if system.epoch.first is None:
            system.epoch.first = embedded.sko
            names, bodies = embedded.units.tree.names, system.graph.bodies
            system.epoch.members = {bodies[k].name: names[u] for k, u in embedded.units.of.items()}
        self.model = system.epoch.first

    def _read_force(self, force: Any) -> Array:
        """One force in the size of the tree, or of T, that of the independent dofs."""
        graph, dofs = self.system.graph, self.owner.dofs
        space = getattr(force, "space", None)
        if space is not None and space.kind == "hinge" and hasattr(space.owner, "dofs"):
            if space.owner is not self.owner:
                raise LoopError(
                    f"force is a vector of {space.owner} with {_shown(space.owner.dofs)} independent, but here these "
                    f"are {_shown(dofs)}; give it in the {graph.nv} dofs of the tree, or by name."
                )
            force = force.in_model_order
        if not isinstance(force, Mapping) and len(dofs) != graph.nv and np.shape(force)[-1:] == (len(dofs),):
            what = f"force of {graph.name!r} at {_shown(dofs)}"
            values = finite(force, (..., len(dofs)), what, StateError)
        else:
            values = read_v(graph, force, "force", rest=np.zeros(graph.nv))
        if values.ndim > 1:
            raise LoopError(f"operators of compound bodies take one force of {graph.nv} entries, not a batch.")
        return values

    def _state(self) -> State:
        graph = self.system.graph
        state = held(graph, graph.state) if self.snapshot is None else self.snapshot
        if state.batch:
            raise LoopError(f"operators of compound bodies are made for one state, got a batch {state.batch}.")
        return state

    def __reduce__(self) -> tuple[Any, ...]:
        self.owner.require_current()
        self.check_parameters()
        parts = (self.system, self.snapshot, self.f_ext, self._force)
        kind, args = (EmbeddedBinding, parts) if self._pinned is None else (again_pinned, (EmbeddedBinding, parts))
        return kind, args, self._after_copy()

    @property
    def parameters(self) -> int:
        """The version of the model's parameters."""
        return self.system.graph.parameters

    def embedded(self) -> EmbeddedModel:
        """The numbers at the bound state; a `StaleError` when they need another choice of independent dofs."""
        self.owner.require_current()
        self.check_parameters()
        state = self._state()
        motion, before = state.motion, self._found  # another motion after a change of parameters
        if before is None or before[0] is not state or before[1] is not motion:
            model = self.system.model(state, self.f_ext)
            self.owner.require_current()
            if before is not None and before[1].configuration is motion.configuration:
                model.sko.share_memo(before[2].sko)
            self._found = before = state, motion, model
        return before[2]

    def sko(self) -> SKOModel:
        return self.embedded().sko

    def into_tree(self, tree: GraphBinding) -> TreeMap:
        """The map to the tree of its members, for `sc.ops.between`."""
        return TreeMap(self, tree)

    def identity(self) -> Hashable:
        return (id(self.system), id(self.owner), id(self.snapshot) if self.snapshot is not None else None)

    def at(self, **state: Any) -> EmbeddedBinding:
        """Binding to a snapshot of the same system; v and vdot are those of the tree."""
        if set(state) - {"q", "v", "vdot"}:
            unknown = ", ".join(sorted(set(state) - {"q", "v", "vdot"}))
            raise StateError(f"at() takes q=, v= and vdot=, not {unknown}.")
        self.owner.require_current()
        binding = EmbeddedBinding(self.system, self._state().replace(**state), self.f_ext, self._force)
        self.owner.require_current()
        result: EmbeddedBinding = self.alike(binding)
        return result

    @property
    def given_force(self) -> Array | None:
        """Xt* T for a force of the tree; one of the independent dofs as it is."""
        if self._force is None:
            return None
        if len(self._force) != self.system.graph.nv:
            return self._force
        return np.concatenate([np.zeros(0), *self.embedded().reduced(self._force)])

    @given_force.setter
    def given_force(self, value: Array | None) -> None:
        raise AssertionError("the force of the tree is given once")

    def direction(self, ops: Operators, body: Any = None, dof: Any = 0) -> EmbeddedDirection:
        """An independent dof, without a body the current velocity, for derivatives."""
        return embedded_direction(ops, self, body, dof)

    def coordinates(self) -> tuple[list[int], Array]:
        """The coordinates of the members of each unit, one after the other."""
        embedded, slices = self.embedded(), self.system.graph.layout.q_slices
        units = [[embedded.one.state.q[slices[k]] for k in group.members] for group in embedded.units.groups]
        return [sum(map(len, parts)) for parts in units], np.concatenate([np.zeros(0), *(x for u in units for x in u)])

    def velocity(self) -> Array:
        embedded = self.embedded()
        return np.asarray(embedded.one.state.v[embedded.independent])

    def acceleration(self) -> Array:
        embedded = self.embedded()
        return np.asarray(embedded.one.state.vdot[embedded.independent])

    def passive(self) -> Array:
        """Xt* of the passive forces of the tree."""
        embedded = self.embedded()
        return np.concatenate([np.zeros(0), *embedded.reduced(passive_force(embedded.one.state))])

    def body_velocities(self) -> Sequence[Array] | None:
        """True velocities of the members where a moving anchor adds to phi* H* v."""
        embedded = self.embedded()
        if embedded.one.state.motion.base is None:
            return None
        velocities = embedded.graph.body_velocities(embedded.one.state)
        return [embedded.stacked(velocities, u) for u in range(len(embedded.units.groups))]

    def longest_arm(self) -> float:
        """The longest arm of the bodies of its tree about the origin, in metres."""
        return longest_arm(self.system.graph)

    def nodes(self, nodes: Any) -> tuple[str, ...]:
        """Names of nodes and bodies of the tree, or of whole compound bodies."""
        graph, several = self.system.graph, nodes if isinstance(nodes, (list, tuple)) else [nodes]
        return tuple(x if x in self.compounds() else graph.frame(x).full_name for x in several)

    def pick_off(self, names: tuple[str, ...]) -> dict[tuple[int, int], Array]:
        """e_j phi(j, O) by (number of the unit, number of the node) for a node on member j."""
        embedded, compounds = self.embedded(), self.compounds()
        blocks: dict[tuple[int, int], Array] = {}
        for i, name in enumerate(names):
            if name in compounds:
                u = compounds[name]
                blocks[u, i] = np.eye(embedded.sko.dims[u])
            else:
                k, block = embedded.graph.node_block(name, embedded.one.state)
                u, place = embedded.place(k)
                blocks[u, i] = np.zeros((embedded.sko.dims[u], 6))
                blocks[u, i][place] = block
        return blocks

    def node_space(self, names: tuple[str, ...]) -> Space:
        compounds = self.compounds()
        units = [self.body.units[compounds[name]] if name in compounds else BODY for name in names]
        return Space("node", names, list(map(len, units)), self.owner, units=units)

    def compounds(self) -> dict[str, int]:
        """The numbers of compound bodies by name."""
        embedded = self.embedded()
        return {embedded.units.tree.names[u]: u for u in embedded.compounds}


def _shown(names: tuple[str, ...]) -> str:
    quoted = [repr(name) for name in names]
    return ", ".join(quoted if len(quoted) <= 8 else [*quoted[:6], "...", quoted[-1]]) or "none"
