"""The dofs that a page may move: all of a tree, the independent ones where loops are closed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import LoopError, ModelError, StateError, ViewError, near
from soacraft.kinematics.rows import Constraints
from soacraft.loops import TreeAugmented
from soacraft.model.hinges.base import difference_of, integrate_of
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite
from soacraft.view.space.bending import farthest
from soacraft.view.space.motion import modes_of

#: A closed chain is moved in steps no longer than this, in radians or lengths of the model: so it stays on its branch.
STRIDE = 0.1
#: Beyond a limit by less than this part of the range is on it: sliders round.
ROUNDING = 1e-6


class Sliders:
    """The sliders of a graph at its present structure and limits. A hinge whose velocities are not the rates of
    coordinates, a ball or a free body, is moved by the rotation vector, or the twist, from its neutral place. Modes of
    flexible bodies are moved as far as can be seen when they are drawn `exaggerate` times as large."""

    def __init__(self, graph: Graph, exaggerate: float = 1.0) -> None:
        self._graph, self._scale, self._exaggerate = graph, scale_of(graph), exaggerate
        layout = graph.layout
        self._ranges = Ranges(graph, limits=False)
        self._others = [
            (body, q, v)
            for body, q, v in zip(layout.bodies, layout.hinge_q, layout.hinge_v, strict=True)
            if body.hinge.nv and self._ranges.place[v.start] < 0 and body.hinge.holonomic
        ]
        self.tied = any(x.active for x in graph.loops) or any(x.active for x in graph.couplings)
        """True if loops or couplings tie the dofs."""
        self._solver = TreeAugmented(graph) if self.tied else None
        self.last: list[dict[str, Any]] = []
        """Last result of `told`."""
        self._lower, self._upper = self._limits()

    def _limits(self) -> tuple[Array, Array]:
        """Limits of the model; a turn, or a length of the model, to both sides where it has none."""
        layout = self._graph.layout
        reach = np.where(np.array(list("".join(layout.units.hinge)), dtype="<U1") == "m", self._scale.length, np.pi)
        for k, modes in modes_of(self._graph).items():
            reach[layout.own.v[modes]] = farthest(layout.modal(k)) / self._exaggerate
        lower, upper = -reach, reach.copy()
        for body, v in zip(layout.bodies, layout.hinge_v, strict=True):
            if self._ranges.place[v.start : v.stop].min(initial=0) >= 0 and body.hinge.nv:
                low, high = np.asarray(body.limits.lower), np.asarray(body.limits.upper)
                lower[v] = np.where(np.isfinite(low), low, lower[v])
                upper[v] = np.where(np.isfinite(high), high, upper[v])
        return lower, upper

    def values(self, q: Array) -> Array:
        """Values of the sliders, (nv); NaN for dofs that have none, those of hinges that roll."""
        place = self._ranges.place
        shown = np.where(place >= 0, q[place], np.nan)
        for body, at, v in self._others:
            shown[v] = difference_of(body.hinge, _neutral(body), q[at])
        return shown

    def free(self, q: Array) -> npt.NDArray[np.intp]:
        """The numbers of the dofs that may be moved at q."""
        finite = np.flatnonzero(np.isfinite(self.values(q)))
        if self._solver is None:
            return finite
        if not self.closed(q):
            return finite  # every dof moves, and the page shows how far loops are open
        index = {name: i for i, name in enumerate(self._graph.dof_names)}
        free = {index[name] for name in self._solver.independent(q)} & set(finite.tolist())
        for _, _, v in self._others:  # a ball is held as a whole or not at all
            if not free.issuperset(range(v.start, v.stop)):
                free -= set(range(v.start, v.stop))
        return np.array(sorted(free), dtype=np.intp)

    def closed(self, q: Array) -> bool:
        """True if all loops and couplings are closed at q; those of a tree are."""
        if self._solver is None:
            return True
        return Constraints(self._graph, self._graph.state(q=q)).opening <= self._solver.tolerance

    def assembled(self, q: Array) -> Array:
        """Coordinates near q at which loops and couplings are closed, within the limits."""
        return q if self._solver is None else self._solver.assemble(q, limits=True)

    def told(self, q: Array) -> list[dict[str, Any]]:
        """The sliders as data: name, unit, limits, value, and the number of the dof."""
        values, units = self.values(q), "".join(self._graph.layout.units.hinge)
        words = {"m": "m", "x": ""}
        self.last = [
            {
                "name": self._graph.dof_names[i], "number": int(i), "unit": words.get(units[i], "rad"),
                "lower": float(self._lower[i]), "upper": float(self._upper[i]), "value": float(values[i]),
            }
            for i in self.free(q)
        ]  # fmt: skip
        return self.last

    def moved(self, q: Array, name: str, value: float) -> Array:
        """Coordinates with a dof at a value. Closed loops stay closed, the other independent dofs where they are.
        What cannot be is refused."""
        names, value = self._graph.dof_names, float(finite(value, (), f"the value of dof {name!r:.60}", StateError))
        if name not in names:
            raise ModelError(f"{self._graph.name!r} has no dof {name!r:.60}{near(name, names, 'its dofs are')}")
        i, free = names.index(name), self.free(q)
        if i not in free:
            others = ", ".join(repr(names[j]) for j in free[:6])
            raise ViewError(f"dof {name!r} follows others, or rolls, and cannot be moved by itself; move {others}.")
        low, high = float(self._lower[i]), float(self._upper[i])
        margin = ROUNDING * (high - low)
        if not low - margin <= value <= high + margin:
            raise StateError(f"dof {name!r} goes from {low:.6g} to {high:.6g}, so it cannot be at {value:.6g}.")
        value = min(max(value, low), high)
        tied = self._solver is not None and self.closed(q)
        return self._along(q, i, value, self._held(free)) if tied else self._set(q, i, value)

    def _held(self, free: npt.NDArray[np.intp]) -> list[str]:
        """Names of the fixed dofs; a ball has the name of its hinge."""
        balls = {i: body.hinge_name for body, _, v in self._others for i in range(v.start, v.stop)}
        return list(dict.fromkeys(balls.get(int(i), self._graph.dof_names[i]) for i in free))

    def _set(self, q: Array, i: int, value: float) -> Array:
        q = np.array(q)
        if self._ranges.place[i] >= 0:
            q[self._ranges.place[i]] = value
            return q
        body, at, v = next(x for x in self._others if x[2].start <= i < x[2].stop)
        way = np.array(difference_of(body.hinge, _neutral(body), q[at]))
        way[i - v.start] = value
        q[at] = integrate_of(body.hinge, _neutral(body), way)
        return q

    def _along(self, q: Array, i: int, value: float, fixed: list[str]) -> Array:
        """Step by step along the closed configurations."""
        assert self._solver is not None
        start = float(self.values(q)[i])
        unit = "".join(self._graph.layout.units.hinge)[i]
        size = {"m": self._scale.length, "x": float(self._upper[i])}.get(unit, 1.0)
        count = max(1, int(np.ceil(abs(value - start) / (STRIDE * size))))
        for part in np.linspace(start, value, count + 1)[1:]:
            q = self._solver.assemble(self._set(q, i, float(part)), fixed=fixed)
        return q

    def velocities(self, q: Array, v: Array) -> Array:
        """Velocities that closed loops allow at q, next to v."""
        if self._solver is None or not v.any():
            return v
        try:
            return self._solver.project_velocity(q, v)
        except LoopError:
            return np.zeros(len(v))


def _neutral(body: Body) -> Array:
    return np.asarray(body.hinge.neutral(), dtype=np.float64)
