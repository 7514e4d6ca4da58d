"""Derivatives of the operators of trees with flexible bodies, along modal dofs and along the velocity.

Along a hinge dof all is as between rigid bodies: E_phi, H and M change by X, W and dH (G1-G17). Along a mode the
weights, hinge maps and inertias change by matrices of their own, and so do the pick-offs of nodes that the mode moves:

    dE_phi   A(p,k) of the body where a node holds its hinge, and of bodies that ride on its nodes
    dH       where a node of the body holds its hinge           dM   M(eta)           dB   [phi(k,O); Pi*]

from which all others follow as in an SKO model of functions (`soacraft.ops.derivatives.sko`). The axes turn by W as
they do along hinge dofs; blocks are those of `soacraft.model.modal.block_rates`, turned into the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soacraft.algebra.expressions.operator import DIAGONAL, Binding, Leaf, Operator, Pattern
from soacraft.model.flat.axes import check_axes, force_map, velocity_map
from soacraft.model.modal.block_rates import block_rates, pick_off_rate
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.ops.derivatives.directions import Direction, Source, direction_of
from soacraft.ops.derivatives.rates import Rates, Term
from soacraft.ops.derivatives.sko import KINDS, WORDS, BlockRateLeaf, Entries, SKODirection, SKORates
from soacraft.ops.named import named_of
from soacraft.spatial.checks import Array


class FlexibleDirection(SKODirection):
    """A modal dof of a flexible body, or with None the current velocity of a tree that has some."""

    def _source(self) -> Source:
        return Direction._source(self)

    @property
    def parents(self) -> Sequence[int]:
        found: Sequence[int] = self.binding.graph.layout.parents
        return found

    def leaf(self, kind: str, *nodes: str) -> Any:
        """dE_phi, dH, dM, dB of nodes; W and W_nd as along hinges."""
        if kind in ("W", "W_nd"):
            return Direction.leaf(self, kind, *nodes)
        if kind != "dB":
            return super().leaf(kind, *nodes)
        known, key = self.ops.sensitivities, (kind, (self.step,), nodes)
        if key not in known:
            known[key] = FlexibleRateLeaf(self, kind, nodes)
        return known[key]

    def made(self, kind: str) -> FlexibleRateLeaf:
        """The leaf of a kind of block."""
        return FlexibleRateLeaf(self, kind)

    def varies(self, what: str) -> bool:
        """True if a kind of block changes along it."""
        layout, moved = self.binding.graph.layout, self.nodes
        held = any(k in moved for k in layout.held)
        if what == "M":
            return any(k in moved for k in layout.flexible)
        if what == "H":
            return held or (self.body is None and any(not group.hinge.constant_H for group in layout.groups))
        return held or self.body is None or any(layout.parents[k] in moved for k in layout.riding)

    def rates_of(self, whole: Callable[[Direction, Operator, Term], Term]) -> Rates:
        return SKORates(self, whole)

    def moves(self, nodes: tuple[str, ...]) -> bool:
        """True if modes that change along it move one of these nodes on their bodies."""
        layout, graph = self.binding.graph.layout, self.binding.graph
        bodies = {layout.index[graph.frame(name).carrier] for name in nodes}
        return bool(bodies & self.nodes & set(layout.flexible))

    def blocks(self, kind: str) -> Entries:
        """The blocks of dE_phi, dH or dM in the axes of the operators."""
        c, w = self.binding.state.configuration, self.source.columns(self.binding)[..., 0]
        found, layout, axes = block_rates(c, w), c.layout, check_axes(self.binding.axes)
        T_f, T_v = force_map(axes, c.world), velocity_map(axes, c.world)

        def wide(T: Array, k: int) -> Array:
            """diag(T, I) of a node."""
            block = np.zeros((*T.shape[:-3], layout.dims[k], layout.dims[k]))
            block[...] = np.eye(layout.dims[k])
            block[..., :6, :6] = T[..., k, :, :]
            return block

        entries: Entries = {}
        for k in range(layout.n):
            part = {"dE_phi": found.A, "dH": found.H, "dM": found.M}[kind][k]
            i = layout.parents[k] if kind == "dE_phi" else k
            if part is None or i < 0:
                continue
            left = part if kind == "dH" else wide(T_f, i) @ part
            entries[i, k] = left @ (wide(T_f, k) if kind == "dM" else wide(T_v, k)).mT
        return entries

    def pick_off(self, nodes: tuple[str, ...]) -> Entries:
        """The blocks of dB."""
        state, graph = self.binding.state, self.binding.graph
        c, w = state.configuration, self.source.columns(self.binding)[..., 0]
        axes, entries = check_axes(self.binding.axes), Entries()
        T_f = force_map(axes, c.world)
        for i, name in enumerate(nodes):
            frame = graph.frame(name)
            k = c.layout.index[frame.carrier]
            if k not in c.layout.flexible or k not in self.nodes or frame.modal_node is None:
                continue
            block = pick_off_rate(c, frame, k, w)
            whole = np.zeros((*block.shape[:-2], c.layout.dims[k], 6))
            whole[..., : block.shape[-2], :] = block
            if axes != "body":
                R = pose_of_frame(state, frame)[0]
                whole[..., :6, :] = T_f[..., k, :, :] @ whole[..., :6, :]
                whole = np.concatenate([whole[..., :3] @ R.mT, whole[..., 3:] @ R.mT], axis=-1)
            entries[k, i] = whole
        return entries


class FlexibleRateLeaf(BlockRateLeaf):
    """dE_phi, dH, dM or dB along a mode or the velocity of a tree with flexible bodies."""

    u: FlexibleDirection

    def __init__(self, u: FlexibleDirection, kind: str, nodes: tuple[str, ...] = ()) -> None:
        self.u, self.kind, self.binding, self.nodes = u, kind, u.binding, nodes
        spaces = {"body": u.binding.body, "hinge": u.binding.hinge}
        self.what, rows, cols = KINDS.get(kind, ("B", "body", "node"))
        self.rows = spaces[rows]
        self.cols = u.binding.node_space(nodes) if cols == "node" else spaces[cols]
        listed = [repr(list(nodes))] if nodes else []
        call = ", ".join([*listed, *([u.call] if u.call else [])])
        self.name = f"{kind}{'_v' if u.body is None else ''}" + (f"({call})" if call else "")
        self.latex_name = f"[{WORDS.get(kind, chr(92) + 'partial' + chr(92) + 'mathcal{B}')}]_{{{u.latex}}}"
        self.source = "derivatives of the modal data"
        self.claims = frozenset({"block_diagonal", "symmetric"} if kind == "dM" else ())

    def __reduce__(self) -> tuple[Any, ...]:
        return FlexibleRateLeaf, (self.u, self.kind, self.nodes)

    def pattern(self) -> Pattern:
        if self.kind == "dB":
            return frozenset("s")
        return frozenset("u") if self.kind == "dE_phi" else DIAGONAL

    def entries(self) -> Entries:
        return self.u.pick_off(self.nodes) if self.kind == "dB" else self.u.blocks(self.kind)

    def bound_to(self, binding: Binding) -> Leaf:
        ops = named_of(binding)  # type: ignore[arg-type]
        nodes = ops.binding.nodes(list(self.nodes)) if self.nodes else ()
        found: Leaf = direction_of(ops, *self.u.step).leaf(self.kind, *nodes)
        return found
