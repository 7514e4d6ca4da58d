"""Ellipsoids at a node: how well it can be moved, and how light it is, along each direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft import dynamics as dyn
from soacraft.dynamics.arguments import check_loops
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.kinematics import pose_of_frame
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.view.space.ellipsoid import shape

#: The radii of a picture relative to the numbers: so that most ellipsoids are smaller than the model.
REACH, LIGHT = 0.25, 0.04
KINDS = ("manipulability", "operational_space")
COLOURS = {"manipulability": (0.40, 0.60, 0.20), "operational_space": (0.67, 0.20, 0.47)}


@dataclass(frozen=True)
class NodeEllipsoid:
    """An ellipsoid that a scene draws at a node, `size` times as large as usual."""

    node: Frame
    kind: str
    size: float

    @property
    def name(self) -> str:
        """Name for the page."""
        return f"{self.kind} at {self.node.full_name}"

    def at(self, graph: Graph, state: State) -> Array:
        """Nine numbers of the ellipsoid (see `ellipsoid`) in inertial axes at states (m), (m, 9).

            manipulability      S^2 = REACH^2 J_v J_v*                   its velocities for unit ones of the dofs
            operational_space   S^2 = (LIGHT l)^2 m J_v Mcal^-1 J_v*     its velocities of one kinetic energy

        with the length l and the mass m of the model; a dof that slides has unit velocity where it goes l in a second.
        """
        check_loops(f"a {self.kind} ellipsoid", graph, False)  # J of the tree knows nothing of closures
        q, scale = np.asarray(state.q), scale_of(graph)
        if self.kind == "manipulability":
            J = dyn.jacobian(graph, q, self.node)[..., 3:, :] * scale.of("".join(graph.layout.units.hinge))
            square = (REACH * self.size) ** 2 * J @ J.mT
        else:
            mass = sum(body.inertia.mass for body in graph.bodies)
            compliance = dyn.operational_space_compliance(graph, q, self.node)[..., 3:, 3:]
            square = (LIGHT * scale.length * self.size) ** 2 * mass * compliance
        return shape(square, pose_of_frame(state, self.node)[1])
