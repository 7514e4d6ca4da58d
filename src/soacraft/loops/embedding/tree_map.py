"""The map from a system with compound bodies to the tree of its bodies, for `sc.ops.between` (formula F5).

    v = Xt v_i,    V = Xb V_S,    vdot = Xt vdot_i + x0

Xt solves the rows of every loop for its dependent dofs; Xb takes the velocity of each member out of that of its
compound body. Every motion of the system is one of the tree. St picks the independent dofs: St Xt = I.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import StateError
from soacraft.ops.binding import GraphBinding
from soacraft.ops.maps.leaves import BlocksBy, ModelMap
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.embedding.binding import EmbeddedBinding


class TreeMap(ModelMap):
    """Compound bodies a, and the tree b of their members in body axes."""

    a: EmbeddedBinding
    b: GraphBinding
    source = "003 section III-A, F5"
    body_isometry = True

    def check(self) -> None:
        q, other = self.a.embedded().one.state.q, self.b.state.q
        if self.b.batch or not np.array_equal(q, other):
            raise StateError(
                f"sc.ops.between maps between models in one pose, but {self.a.owner} and {self.b.owner} are bound to "
                "different states: bind both to one."
            )

    @property
    def hinge_isometry(self) -> bool:  # type: ignore[override]
        """True without loops: the dofs are those of the tree in another order."""
        return not self.a.embedded().rank

    def hinge(self) -> BlocksBy:
        embedded, slices = self.a.embedded(), self.b.graph.layout.v_slices
        blocks = {}
        for k, u in embedded.units.of.items():
            unit = np.zeros((embedded.graph.nv, len(embedded.parts[u])))
            if u in embedded.compounds:
                unit[embedded.compounds[u].dofs] = embedded.solved[u].X
            else:
                unit[embedded.parts[u]] = np.eye(len(embedded.parts[u]))
            blocks[k, u] = unit[slices[k]]
        return dict(sorted(blocks.items()))

    def left_hinge(self) -> BlocksBy:
        embedded, slices = self.a.embedded(), self.b.graph.layout.v_slices
        return {
            (u, k): (embedded.parts[u][:, None] == np.arange(slices[k].start, slices[k].stop)).astype(np.float64)
            for k, u in sorted(embedded.units.of.items())
        }

    def body(self) -> BlocksBy:
        embedded = self.a.embedded()
        blocks = {}
        for k in sorted(embedded.units.of):
            u, place = embedded.place(k)
            blocks[k, u] = np.eye(embedded.sko.dims[u])[place]
        return blocks

    def x0(self) -> Array:
        self.check()
        return self.a.embedded().x0

    def arm(self) -> float:
        return self.a.longest_arm() or 1.0

    def keeps_inertia(self) -> bool:
        return True

    def moved(self, a: Any, b: Any) -> TreeMap:
        return TreeMap(a, b)
