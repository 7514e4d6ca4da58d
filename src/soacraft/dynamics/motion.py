"""Motion of bodies and nodes: poses, velocities, accelerations; all relative to the inertial frame."""

from __future__ import annotations

from functools import partial
from typing import Any

from soacraft.dynamics.arguments import read_axes, read_nodes, read_problem
from soacraft.dynamics.engine import answer, answers
from soacraft.dynamics.node_twists import node_twist
from soacraft.dynamics.nodes import Nodes
from soacraft.dynamics.per_body import BodyArray, NodeMotion, Poses, axes_text
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.quick import quick
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


@quick
def poses(
    g: Graph, q: Any, *, out: tuple[Array, Array] | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Poses:
    """Poses of all bodies in the inertial frame. O(n).

    The result has `rotation` (..., n, 3, 3) and `translation` (..., n, 3) in the order of `g.bodies`, gives a `Pose`
    for a body, a node or a name, and homogeneous matrices (..., n, 4, 4) for `np.asarray`. `out` is a pair of arrays.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> found = dyn.poses(sc.load("double_pendulum"), [np.pi / 2, 0.0])
    >>> found["lower/tip"].translation.round(12) + 0.0
    array([2., 0., 0.])
    >>> found.translation.shape, np.asarray(found).shape
    ((2, 3), (2, 4, 4))
    """
    p = read_problem("poses", g, q=q, threads=threads, ignore_loops=ignore_loops)
    rotation, translation = answers(p, out)
    return Poses(g, rotation, translation)


@quick
def velocities(
    g: Graph,
    q: Any,
    v: Any,
    expressed_in: Frame | str = "inertial",
    *,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> BodyArray:
    """[angular; linear] velocities of all bodies, (..., n, 6): linear is that of the frame's origin. O(n).

        V(k) = phi*(p,k) V(p) + H*(k) v(k)                                                         (000 Eq. 3)

    The result also answers to the name of a body or a node. `expressed_in`: "inertial", "body" (each frame's own axes,
    which gives the papers' V in body axes) or a frame. A moving anchor's velocity is carried along.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> found = dyn.velocities(sc.load("pendulum"), [0.0], [2.0])
    >>> found["bob/tip"] + 0.0
    array([ 0., -2.,  0.,  2.,  0.,  0.])
    """
    axes = read_axes("velocities", g, expressed_in, "body")
    p = read_problem("velocities", g, q=q, v=v, threads=threads, ignore_loops=ignore_loops, expressed_in=axes)
    return _twists(p, "velocities", out)


@quick
def accelerations(
    g: Graph,
    q: Any,
    v: Any,
    vdot: Any,
    expressed_in: Frame | str = "inertial",
    *,
    out: Array | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> BodyArray:
    """[d omega/dt; d^2 p/dt^2] of all bodies, (..., n, 6), p the frame's origin. O(n).

        alpha(k) = phi*(p,k) alpha(p) + H*(k) vdot(k) + a(k)                                       (004 Eq. 1)
        d omega/dt = alpha_w,   d^2 p/dt^2 = alpha_v + w x v      (body axes; then expressed in those asked for)

    True accelerations, differentiated in the inertial frame, never the body-axes alpha. Otherwise as `velocities`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> found = dyn.accelerations(sc.load("pendulum"), [0.0], [2.0], [0.0])
    >>> found["bob/tip"][3:] + 0.0                      # towards the hinge
    array([0., 0., 4.])
    """
    axes = read_axes("accelerations", g, expressed_in, "body")
    p = read_problem(
        "accelerations", g, q=q, v=v, vdot=vdot, threads=threads, ignore_loops=ignore_loops, expressed_in=axes
    )
    return _twists(p, "accelerations", out)


@quick
def node_motion(
    g: Graph,
    q: Any,
    v: Any,
    vdot: Any,
    nodes: Nodes,
    expressed_in: Frame | str = "inertial",
    *,
    out: tuple[Array, Array, Array, Array] | None = None,
    threads: int | None = None,
    ignore_loops: bool = False,
) -> NodeMotion:
    """Pose, velocity and acceleration of k nodes relative to the inertial frame, in one call. O(n).

        T(O) = T(k) T(k,O),   [omega; dp/dt],   [d omega/dt; d^2 p/dt^2]           of each node's origin O on a body k

    The result has `rotation` (..., k, 3, 3), `translation` (..., k, 3), `velocity` and `acceleration` (..., k, 6); one
    node is a list of one. `expressed_in` gives the axes of velocity and acceleration: "inertial", "node" (each node's
    own) or a frame. For all bodies there are `poses`, `velocities` and `accelerations`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> found = dyn.node_motion(sc.load("double_pendulum"), [0.0, 0.0], [1.0, 0.0], [0.0, 0.0], ["upper", "lower/tip"])
    >>> found.translation[1] + 0.0, found.velocity[1, 3:] + 0.0
    (array([ 0.,  0., -2.]), array([2., 0., 0.]))
    """
    frames, axes = read_nodes("node_motion", g, nodes), read_axes("node_motion", g, expressed_in, "node")
    p = read_problem(
        "node_motion", g, q=q, v=v, vdot=vdot,
        nodes=frames, expressed_in=axes, threads=threads, ignore_loops=ignore_loops,
    )  # fmt: skip
    return NodeMotion(*answers(p, out))


def _twists(p: Problem, kind: str, out: Array | None) -> BodyArray:
    array = answer(p, out)
    return BodyArray(p.graph, array, kind, axes_text(p.expressed_in), of_node=partial(node_twist, kind), state=p)
