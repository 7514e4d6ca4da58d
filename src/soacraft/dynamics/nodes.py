"""Motion and inertia as felt at nodes: Jacobians and operational space. `nodes` is one node (or body), or a list."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_axes, read_nodes, read_problem
from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.quick import quick
from soacraft.dynamics.relative import relative_jacobian, relative_jacobian_dot_v
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

Nodes = Frame | str | list[Frame | str] | tuple[Frame | str, ...]


@quick
def jacobian(
    g: Graph,
    q: Any,
    nodes: Nodes,
    expressed_in: Frame | str | None = None,
    *,
    relative_to: Frame | str | None = None,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> Array:
    """The Jacobian of nodes: J v = [angular; linear] velocity of each node's origin. O(depth) a node.

        J = B* phi* H*                                                                          (000 Eq. 11-13)

    (..., 6, nv) for one node, (..., 6 k, nv) for a list of k. `expressed_in`: "inertial", "node" (each node's own
    axes), or a frame, by default `relative_to`; only the axes change, never the point. `relative_to` (default: the
    inertial frame) is a frame that the nodes are seen from: J v is `mb.velocity(node, relative_to, expressed_in)`, less
    what a `MovingFrame` moves by itself, J = [Jw - Jw_to; Jv - Jv_to + r~ Jw_to] with r from that frame to the node.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.jacobian(sc.load("double_pendulum"), [0.0, 0.0], "lower/tip")[3:] + 0.0
    array([[2., 1.],
           [0., 0.],
           [0., 0.]])
    """
    if relative_to is not None or isinstance(expressed_in, MovingFrame):
        return relative_jacobian(g, q, nodes, expressed_in, relative_to, out, threads, ignore_loops)
    expressed_in = "inertial" if expressed_in is None else expressed_in
    p = _problem("jacobian", g, nodes, expressed_in, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def jacobian_dot_v(
    g: Graph,
    q: Any,
    v: Any,
    nodes: Nodes,
    expressed_in: Frame | str | None = None,
    *,
    relative_to: Frame | str | None = None,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> Array:
    """Accelerations of nodes at vdot = 0, (..., 6) for one node, (..., 6 k) for a list of k. O(n).

        [d omega/dt; d^2 p/dt^2] = J vdot + (dJ/dt) v

    Differentiated in the inertial frame, or in `relative_to`, then expressed, by default in its axes; with a moving
    anchor, or relative to a `MovingFrame`, its motion is part of it.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.jacobian_dot_v(sc.load("double_pendulum"), [0.0, 0.0], [1.0, 0.0], "lower/tip") + 0.0
    array([0., 0., 0., 0., 0., 2.])
    """
    if relative_to is not None or isinstance(expressed_in, MovingFrame):
        return relative_jacobian_dot_v(g, q, v, nodes, expressed_in, relative_to, out, threads, ignore_loops)
    expressed_in = "inertial" if expressed_in is None else expressed_in
    p = _problem(
        "jacobian_dot_v", g, nodes, expressed_in, q=q, v=v, vdot=np.zeros(0), threads=threads, ignore_loops=ignore_loops
    )
    return answer(p, out)


@quick
def operational_space_compliance(
    g: Graph,
    q: Any,
    nodes: Nodes,
    expressed_in: Frame | str = "inertial",
    *,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> Array:
    """The operational-space compliance of nodes, (..., 6 k, 6 k). O(n + k^2 depth).

        J Mcal^-1 J* = B* Omega B,   Omega(i,j) = psi*(c,i) Upsilon(c) psi(c,j)            (000 Eq. 34-36, 004 Eq. 59)

    with c the closest common ancestor. It gives the accelerations that forces at the nodes cause. It has rank below 6 k
    where the nodes cannot move in all directions.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.operational_space_compliance(sc.load("double_pendulum"), [0.0, 0.0], "lower/tip")[3, 3]   # 1/kg
    np.float64(1.0)
    """
    p = _problem(
        "operational_space_compliance", g, nodes, expressed_in, q=q, threads=threads, ignore_loops=ignore_loops
    )
    return answer(p, out)


@quick
def operational_space_inertia(
    g: Graph,
    q: Any,
    nodes: Nodes,
    expressed_in: Frame | str = "inertial",
    *,
    allow_singular: bool = False,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> Array:
    """The operational-space inertia of nodes, (..., 6 k, 6 k). O(n + k^2 depth + k^3).

        Lambda = (J Mcal^-1 J*)^-1                                                              (000 Eq. 32-34)

    Where the compliance has rank below 6 k there is no inverse: a `SingularError` names the nodes and the rank. With
    `allow_singular=True` it is the pseudo-inverse: right for accelerations the nodes can have, zero for the others. The
    rank is counted, and the pseudo-inverse formed, with turns and travels each relative to their largest compliance, so
    that units play no part: an eigenvalue below 1e-12 of the largest is taken for zero.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> arm = sc.load("arm7")
    >>> Lambda = dyn.operational_space_inertia(arm, [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4], "link7/tool")
    >>> Lambda.shape
    (6, 6)
    >>> dyn.operational_space_inertia(arm, np.zeros(7), "link7/tool")
    Traceback (most recent call last):
        ...
    soacraft.errors.SingularError: the operational-space compliance of 'link7/tool' has rank 3 of 6, ...
    """
    p = _problem("operational_space_inertia", g, nodes, expressed_in, q=q, threads=threads, ignore_loops=ignore_loops)
    p.allow_singular = bool(allow_singular)
    return answer(p, out)


def _problem(function: str, g: Any, nodes: Any, expressed_in: Any, **values: Any) -> Problem:
    frames = read_nodes(function, g, nodes)
    axes = read_axes(function, g, expressed_in, "node")
    if "vdot" in values:
        values["vdot"] = np.zeros(g.nv)
    return read_problem(function, g, nodes=frames, expressed_in=axes, **values)
