"""Bindings of the operators of an SKO model of functions: to its current state, or to a snapshot."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.instant import held
from soacraft.errors import StateError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.sko_functions import SKOFunctions
from soacraft.model.states.coordinates import common_batch
from soacraft.ops.binding import SKOBinding
from soacraft.ops.derivatives.sko import sko_direction
from soacraft.ops.numbering import read_numbering

Array = npt.NDArray[np.float64]
#: q, v and vdot.
Snapshot = tuple[Array, Array, Array]


class FunctionBinding(SKOBinding):
    """An SKO model of functions, live or at a snapshot."""

    def __init__(
        self, model: SKOFunctions, snapshot: Snapshot | None = None, force: Any = None, numbering: Any = None
    ) -> None:
        self.owner = self.functions = model
        self.model = model
        self.snapshot = snapshot
        self.numbering = read_numbering(numbering, model.tree, self._number)
        self.given_force = None if force is None else model.read("force", force)
        q, v, vdot = self.state
        given = {"q": q, "v": v, "vdot": vdot}
        self.batch = common_batch(**given, **({} if self.given_force is None else {"force": self.given_force}))
        self._made: tuple[Array, Array, SKOModel] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return FunctionBinding, (self.functions, self.snapshot, self.given_force, self._named())

    @property
    def state(self) -> Snapshot:
        """The snapshot, or the current state."""
        return held(self.functions, lambda: self.functions._state) if self.snapshot is None else self.snapshot

    @property
    def roads(self) -> dict[str, Any]:
        """Memo that holds the plan of its structure, shared by all states."""
        found: dict[str, Any] = vars(self.functions).setdefault("_plans", {})
        return found

    def sko(self) -> SKOModel:
        q, v, _ = self.state
        made = self._made
        if made is None or made[0] is not q or made[1] is not v:
            found = self.functions.at() if self.snapshot is None and q is self.functions.q else self.functions.at(q, v)
            if made is not None and made[0] is q:
                found.share_memo(made[2])
            self._made = made = q, v, found
        return made[2]

    def identity(self) -> Hashable:
        return id(self.functions), None if self.snapshot is None else id(self.snapshot), self.numbering

    def at(self, **state: Any) -> FunctionBinding:
        """Binding to a snapshot of the same model."""
        unknown = set(state) - {"q", "v", "vdot"}
        if unknown:
            raise StateError(f"at() takes q=, v= and vdot=, not {', '.join(sorted(unknown))}.")
        read = {name: self.functions.read(name, x) for name, x in state.items()}
        q, v, vdot = (read.get(name, x) for name, x in zip(("q", "v", "vdot"), self.state, strict=True))
        return FunctionBinding(self.functions, (q, v, vdot), self.given_force, self._named())

    def moved(self, w: Array, t: float, in_time: bool) -> dict[str, Array]:
        """The state after t along a velocity w; in time the velocity itself changes by vdot."""
        q, v, vdot = self.state
        there = {"q": self.functions.integrate(q, t * w + (0.5 * t * t * vdot if in_time else 0.0))}
        return there | ({"v": v + t * vdot} if in_time else {})

    def coordinates(self) -> tuple[list[int], Array]:
        """The coordinates, by node where each velocity has one; all with the first node otherwise."""
        m, q = self.functions, self.state[0]
        return (list(m.nvs) if m.nq == m.nv else [m.nq, *[0] * (m.n - 1)]), q

    def velocity(self) -> Array:
        return self.state[1]

    def acceleration(self) -> Array:
        return self.state[2]

    def passive(self) -> Array:
        """Blocks alone have no springs."""
        return np.zeros(self.state[1].shape)

    def direction(self, ops: Any, body: Any = None, dof: Any = 0) -> Any:
        """A dof of a node, without a node the current velocity."""
        return sko_direction(ops, self, body, dof)
