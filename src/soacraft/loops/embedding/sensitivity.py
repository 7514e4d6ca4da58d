"""Derivatives of the operators of systems with compound bodies, along their independent dofs.

Along an independent dof the dofs of its unit alone move, by the column X e of v = X v_i. The edge above the unit then
changes by A(p,S) X, its hinge map by dH (`soacraft.loops.embedding.rates`), no inertia does. So d E_phi = E_phi X as in
a tree, and the rules for all other operators are those of trees (`soacraft.ops.derivatives.rates`); only H X = 0 and
its kin do not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import LoopError, ModelError
from soacraft.loops.embedding.rates import UnitRate
from soacraft.model.modal.refusals import require_rigid
from soacraft.model.tree.frames.frame import Body
from soacraft.ops.derivatives.directions import Direction, Source, dof_number
from soacraft.ops.derivatives.leaves import Entries, SensitivityLeaf, momentum_cross
from soacraft.ops.namespace import Operators, operators_of
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.embedding.binding import EmbeddedBinding


@dataclass(frozen=True)
class IndependentDof(Source):
    """Independent dof number i."""

    i: int
    moving = False

    def columns(self, binding: Any) -> Array:
        return np.eye(len(binding.owner.dofs))[:, self.i : self.i + 1]

    def rate(self, u: Direction) -> None:
        raise second(u)

    def nodes(self, binding: Any) -> frozenset[int]:
        ends = np.cumsum([len(part) for part in binding.embedded().parts])
        return frozenset({int(np.searchsorted(ends, self.i, side="right"))})


@dataclass(frozen=True)
class IndependentVelocity(Source):
    """The current velocity of the independent dofs."""

    def columns(self, binding: Any) -> Array:
        return np.asarray(binding.velocity()[:, None])

    def rate(self, u: Direction) -> None:
        raise second(u)

    def token(self, binding: Any) -> object:
        return binding.embedded().one.state.motion

    def nodes(self, binding: Any) -> frozenset[int]:
        return frozenset(range(len(binding.embedded().parts)))


def second(u: Direction) -> ModelError:
    """Error for a second derivative, with its reason."""
    return ModelError(
        "the derivative of a system with compound bodies cannot be differentiated again, here by "
        f"{'dot' if u.body is None else 'diff'}({u.call}): that needs third derivatives of its closures. Take "
        "differences of the first derivative."
    )


class EmbeddedDirection(Direction):
    """An independent dof, or with None the current velocity; all dofs that depend on it move along."""

    def _source(self) -> Source:
        if self.body is None:
            return IndependentVelocity()
        graph, embedded = self.binding.system.graph, self.binding.embedded()
        number = graph.layout.v_slices[graph.index(self.body)].start + self.dof
        return IndependentDof(embedded.independent.tolist().index(number))

    @property
    def parents(self) -> Sequence[int]:
        parents: Sequence[int] = self.binding.embedded().units.tree.parents
        return parents

    def changes(self) -> dict[int, UnitRate]:
        """Derivatives of the units that move, by number; stored for the state."""
        embedded = self.binding.embedded()
        token: object = embedded.sko.memo if self.body is not None else embedded
        stored: tuple[object, dict[int, UnitRate]] | None = self.__dict__.get("_kept")
        if stored is None or stored[0] is not token:
            w = embedded.expanded(self.source.columns(self.binding)[:, 0])
            stored = self.__dict__["_kept"] = token, {u: UnitRate(embedded, u, w) for u in sorted(self.nodes)}
        return stored[1]

    def leaf(self, kind: str, *nodes: str) -> EmbeddedLeaf:
        """X and dH, along the velocity B_hat; W and W_nd are zero in body axes."""
        leaves, key = self.ops.sensitivities, (kind, (self.step,), nodes)
        if key not in leaves:
            leaves[key] = EmbeddedLeaf(self, kind, nodes)
        result: EmbeddedLeaf = leaves[key]
        return result


class EmbeddedLeaf(SensitivityLeaf):
    """A leaf of a first derivative. `terms` holds the direction's vector, nothing where the leaf is zero."""

    binding: Any
    terms: list[Source]

    def __init__(self, u: EmbeddedDirection, kind: str, nodes: tuple[str, ...]) -> None:
        super().__init__(u.binding, kind, (u.step,), nodes)
        self.u = u
        self.terms = [u.source] if self._varies() else []

    def __reduce__(self) -> tuple[Any, ...]:
        return EmbeddedLeaf, (self.u, self.kind, self.nodes)

    def _varies(self) -> bool:
        """True if it can be other than zero."""
        if self.kind == "dH":
            return any(self._map_varies(u) for u in self.u.nodes)
        return self.kind in ("X", "B_hat")

    def _map_varies(self, u: int) -> bool:
        embedded = self.binding.embedded()
        if u in embedded.compounds:
            return True
        hinge = embedded.graph.bodies[embedded.units.groups[u].members[0]].hinge
        if self.u.body is None:
            return bool(hinge.nv) and not hinge.constant_H
        return bool(hinge.H_T_varies((self.u.dof,)))

    def sources(self) -> list[Source]:
        return list(self.terms)

    def entries(self) -> Entries:
        if not self.terms:
            return {}
        if self.kind == "B_hat":
            return self._momenta()
        return {(u, u): rate.X if self.kind == "X" else rate.dH for u, rate in self.u.changes().items()}

    def _momenta(self) -> Entries:
        """-[[n~, f~], [f~, 0]] with [n; f] = M V of each member."""
        s, embedded = operators_of(self.binding), self.binding.embedded()
        x = (s.M * s.phi.T * s.H.T).apply(self.terms[0].columns(self.binding))[:, 0]
        blocks = {(u, u): np.zeros((size, size)) for u, size in enumerate(embedded.sko.dims)}
        for k in embedded.tree.nodes:
            u, place = embedded.place(k)
            six = slice(place.start, place.start + 6)
            start = int(self.binding.body.offsets[u]) + place.start
            blocks[u, u][six, six] = momentum_cross(x[start : start + 6])
        return blocks

    def extended(self, u: Direction) -> SensitivityLeaf:
        raise second(u)


# -- names ----------------------------------------------------------------------------------------------------------


def embedded_direction(ops: Operators, binding: EmbeddedBinding, body: Any, dof: Any) -> EmbeddedDirection:
    """The direction of an independent dof: of the hinge of a body, of a compound body, or by its name alone.

    A derivative costs what it does in a tree, with the units for bodies, and cubic in the size of the unit that moves.

    >>> import soacraft as sc
    >>> s = sc.operators(sc.loops.ConstraintEmbedding(sc.load("robotiq_2f85")))
    >>> s.phi.diff("left_follower_joint")
    phi_tilde * X('left_follower') * phi : body[92] <- body[92]
    >>> s.D.diff("left_driver")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    soacraft.errors.LoopError: dof 'left_driver_joint' depends on others by the closures, so it cannot ...
    """
    require_rigid(binding.system.graph.layout, "a derivative of an operator")
    step = (None, 0) if body is None else _step(binding, body, dof)
    if body is None:
        _refuse_anchor(binding)
    if step not in ops.directions:
        ops.directions[step] = EmbeddedDirection(ops, *step)
    direction = ops.directions[step]
    assert isinstance(direction, EmbeddedDirection)
    return direction


def _step(binding: EmbeddedBinding, body: Any, dof: Any) -> tuple[str, int]:
    """The body and the number in its hinge of an independent dof."""
    graph, embedded = binding.system.graph, binding.embedded()
    names, free = graph.dof_names, [graph.dof_names[i] for i in embedded.independent]
    listed = f"the independent dofs of {binding.owner} are {', '.join(map(repr, free)) or 'none'}"
    other = isinstance(body, str) and body not in {x.name for x in graph.bodies}  # a body's name means its own hinge
    if other and body in names and dof == 0:
        number = names.index(body)
    elif other and body in binding.compounds():
        of_body = embedded.parts[binding.compounds()[body]]
        number = names.index(_of_compound(body, [names[i] for i in of_body], dof, listed))
    else:
        try:
            k = graph.index(body)
            number = graph.layout.v_slices[k].start + dof_number(graph, k, dof)
        except ModelError as error:
            raise ModelError(f"{str(error).rstrip('.')}; {listed}.") from None
    if names[number] not in free:
        raise LoopError(
            f"dof {names[number]!r} depends on others by the closures, so it cannot be differentiated along: {listed}. "
            "sc.loops.ConstraintEmbedding(mb, independent=[...]) chooses others."
        )
    k = next(k for k, dofs in enumerate(graph.layout.v_slices) if dofs.start <= number < dofs.stop)
    return graph.bodies[k].name, number - graph.layout.v_slices[k].start


def _of_compound(name: str, free: list[str], dof: Any, listed: str) -> str:
    """The name of a dof of a compound body."""
    if isinstance(dof, str) and dof in free:
        return dof
    if isinstance(dof, (int, np.integer)) and not isinstance(dof, bool) and 0 <= dof < len(free):
        return free[int(dof)]
    dofs = ", ".join(map(repr, free)) or "none"
    raise ModelError(
        f"compound body {name!r} has the independent dofs {dofs}, so there is no dof {dof!r:.60}; {listed}."
    )


def _refuse_anchor(binding: EmbeddedBinding) -> None:
    """Closures with the ground, seen from an anchor that moves: time derivatives need more than the dofs."""
    one = binding.embedded().one
    for loop in one.loops if one.state.motion.base is not None else []:
        if not all(isinstance(frame.carrier, Body) for frame in (loop.closure.a, loop.closure.b)):
            raise LoopError(
                f"loop {loop.name!r} holds bodies of {one.graph.name!r} to the inertial frame while their anchor "
                "moves, so the velocities of the dofs do not say how its operators change; differentiate along dofs, "
                "or take the anchor at rest."
            )
