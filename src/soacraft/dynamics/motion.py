"""Motion of bodies and nodes: poses, velocities, accelerations; all relative to the inertial frame."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_axes, read_problem
from soacraft.dynamics.delivery import not_finite
from soacraft.dynamics.engine import answer, answers
from soacraft.dynamics.forces import axes_text
from soacraft.dynamics.per_body import BodyArray, Poses
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference.turning import twist_of
from soacraft.model.frame import Frame
from soacraft.model.interface import Graph
from soacraft.spatial.checks import Array


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
    rotation, translation = answers(p, ((p.n, 3, 3), (p.n, 3)), out)
    return Poses(g, rotation, translation)


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


def _twists(p: Problem, kind: str, out: Array | None) -> BodyArray:
    array = answer(p, (p.n, 6), out)
    return BodyArray(p.graph, array, kind, axes_text(p.expressed_in), of_node=partial(_of_node, p, kind))


def _of_node(p: Problem, kind: str, frame: Frame) -> Array:
    twist = np.array(np.broadcast_to(twist_of(p, frame, kind), (*p.batch, 6)))
    if not np.isfinite(twist).all():
        raise not_finite(p, twist)
    return twist
