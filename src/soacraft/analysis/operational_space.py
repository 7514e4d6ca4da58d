"""Operational space: the dynamics of nodes, and what leaves them alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.arguments import check_loops, read_graph
from soacraft.dynamics.coupled import is_coupled
from soacraft.dynamics.inertias import mass_matrix_inverse
from soacraft.dynamics.nodes import Nodes, jacobian, operational_space_compliance, operational_space_inertia
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class OperationalSpace:
    """The operational space of k nodes: arrays with the batch's leading axes."""

    jacobian: Array
    """J (6 k, nv)."""
    compliance: Array
    """J Mcal^-1 J* = Lambda^-1 (6 k, 6 k)."""
    inertia: Array
    """Lambda (6 k, 6 k); the pseudo-inverse of the compliance where that was allowed."""
    consistent_inverse: Array
    """Mcal^-1 J* Lambda (nv, 6 k): the inverse of J that causes no acceleration of the nodes by inner forces."""
    null_projector: Array
    """I - J* (consistent inverse)* (nv, nv): what of a generalized force leaves the nodes unaccelerated."""
    nodes: tuple[str, ...]

    def __repr__(self) -> str:
        names = ", ".join(map(repr, self.nodes))
        batch = "" if self.jacobian.ndim == 2 else f", batch {self.jacobian.shape[:-2]}"
        rows, columns = self.jacobian.shape[-2:]
        return f"OperationalSpace of {names}: {rows} directions, {columns} dofs{batch}"


@refusing_overflow()
def operational_space(
    g: Graph,
    q: Any,
    nodes: Nodes,
    expressed_in: Frame | str = "inertial",
    *,
    allow_singular: bool = False,
    ignore_loops: bool = False,
) -> OperationalSpace:
    """The operational space of one or several nodes anywhere on the tree. O(n + k^2 depth + k^3 + nv^2).

        Lambda^-1 = B* Omega B,   Jbar = Mcal^-1 J* Lambda,   N = I - J* Jbar*           (000 Eq. 32-36, 004 Eq. 59)

    J Jbar = I, and J Mcal^-1 N = 0: a generalized force N T does not accelerate the nodes. Where the nodes cannot
    move in all directions Lambda does not exist: a `SingularError`, or with `allow_singular=True` the pseudo-inverse,
    for which N still leaves the nodes alone.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import operational_space
    >>> s = operational_space(sc.load("arm7"), [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4], "link7/tool")
    >>> s
    OperationalSpace of 'link7/tool': 6 directions, 7 dofs
    >>> bool(np.allclose(s.jacobian @ s.consistent_inverse, np.eye(6)))
    True
    """
    if not is_coupled(g, ignore_loops):
        check_loops("operational_space", read_graph("operational_space", g), ignore_loops)
    C = operational_space_compliance(g, q, nodes, expressed_in, ignore_loops=ignore_loops)
    Lambda = operational_space_inertia(
        g, q, nodes, expressed_in, allow_singular=allow_singular, ignore_loops=ignore_loops
    )
    J = jacobian(g, q, nodes, expressed_in, ignore_loops=ignore_loops)
    inverse = mass_matrix_inverse(g, q, ignore_loops=ignore_loops) @ J.mT @ Lambda
    names = nodes if isinstance(nodes, list | tuple) else [nodes]
    return OperationalSpace(
        J, C, Lambda, inverse, np.eye(g.nv) - J.mT @ inverse.mT, tuple(g.frame(node).full_name for node in names)
    )
