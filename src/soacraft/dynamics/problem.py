"""Arguments of one call of a dynamics function: a graph, checked numbers with their batch, external forces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.model.flat.layout import Layout
from soacraft.model.flat.sko import SKOModel
from soacraft.model.flat.steady import disturbed
from soacraft.model.states.coordinates import Forces
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

Mask = npt.NDArray[np.bool_]


@dataclass(eq=False)
class Problem:
    """Checked arguments of a call, for any engine.

    The arrays in `given` ("q", "v", "vdot", "force", "x") are float64, finite, with unit quaternions; their leading
    axes broadcast to `batch`. `forces` holds the model's stored forces and then those of the call. An engine may write
    its results into the arrays of `out`, which are checked, and must return them then. `passive`: springs and dampers
    act along the dofs in addition to the force; gravity compensation is then among `forces`.
    """

    function: str
    graph: Graph
    given: Mapping[str, Array]
    forces: Forces = ()
    batch: tuple[int, ...] = ()
    threads: int | None = None
    nodes: tuple[Frame, ...] = ()
    expressed_in: Frame | str = "inertial"
    prescribed: Mask | None = None
    passive: bool = False
    allow_singular: bool = False
    out: tuple[Array | None, ...] = field(default=())

    layout: Layout = field(init=False)
    """The constant flat form of the graph as it was when the arguments were read."""

    def __post_init__(self) -> None:
        self.layout = self.graph.layout

    def __getstate__(self) -> dict[str, Any]:
        """All but the flat form, which a copy takes from its own graph."""
        return {name: x for name, x in vars(self).items() if name != "layout"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, layout=state["graph"].layout)

    @property
    def n(self) -> int:
        """The number of bodies."""
        return self.layout.n

    @property
    def nv(self) -> int:
        """The number of dofs."""
        return self.layout.nv

    def require_steady(self, error: Exception | None = None) -> None:
        """Raise `StaleError` when the graph was edited after the arguments were read."""
        if not self.layout.is_current:
            raise disturbed(self.graph.name, self.function) from error

    def full(self, name: str) -> Array:
        """One of the given arrays with all batch axes, C-contiguous."""
        x = self.given[name]
        return np.ascontiguousarray(np.broadcast_to(x, (*self.batch, x.shape[-1])))

    # -- for engines in Python --------------------------------------------------------------------------------

    @cached_property
    def state(self) -> State:
        """The state of the graph at the given q, v and vdot; without forces, which are in `forces`."""
        values = {name: self.given.get(name) for name in ("q", "v", "vdot")}
        return self.graph.current.replace(**values, forces=())

    @cached_property
    def sko(self) -> SKOModel:
        """The SKO model in body axes, with a and b."""
        return self.state.sko("body", self.forces)

    @cached_property
    def linear(self) -> SKOModel:
        """SKO model with these A, H and M, and a = 0 and b = 0: it depends on q alone."""
        c = self.state.configuration
        return SKOModel.trusted(
            self.layout.tree, c.edges("body"), c.hinges("body"), c.inertias("body"), memo=c.derived("body"), lock=c.lock
        )
