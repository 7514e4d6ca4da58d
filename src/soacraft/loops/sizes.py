"""What the rows of closures are before they cancel: the measure of rank, of which units make nothing.

The ends of a closure, both seen at b, turn by T_j and move by S_j at most with dof j, whatever the other end does. S_j
is that of the hinge, and T_j times the way from it to b, from frame to frame. The longest way makes turns and slides
comparable,

    l = max of the ways,    c_j = max over loops of max(T_j, S_j / l)
    r_i = max over dofs of (|turns of Q_i| T_j + |slides of Q_i| S_j) / c_j

and Gc(i,j) / (r_i c_j) is at most about 1 before anything cancels. Where it has a singular value below `RANK`, a motion
against the closures opens them by no more than that part of what their ends move, which a solver takes for closed. The
tolerance of states and answers is the same number; pivots of S, which are squares, are cut at its square.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.loops.rows import Constraints, LoopRows
from soacraft.model.frame import Body
from soacraft.model.kinematics import pose_of_frame
from soacraft.model.sko import SKOModel
from soacraft.spatial.checks import Array

#: Singular values of scaled rows this small are zero: axes that are parallel but for the digits of a file.
RANK = 1e-6
#: No way is shorter, in metres: what is left of one is rounding.
_SHORTEST = 1e-9


class Sizes(NamedTuple):
    """The sizes of rows and of dofs."""

    rows: Array
    """(m), positive."""
    dofs: Array
    """(nv), positive."""

    def scaled(self, G: Array) -> Array:
        """Rows and columns beside their sizes."""
        return np.asarray(G / self.rows[:, None] / self.dofs)


def sizes_of(one: Constraints) -> Sizes:
    """The sizes of all rows and dofs at a state. O(loops depth).

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)                                       # rods of 1 m
    >>> _ = mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    >>> sizes_of(Constraints(mb, mb.state())).rows
    array([3., 3., 3.])
    """
    nv, sko = one.graph.nv, one.graph.sko(one.state)
    moves = [_moves(one, sko, loop) for loop in one.loops]
    dofs = np.max([np.zeros(nv), *(np.maximum(T, S / way) for T, S, way in moves)], axis=0)
    dofs[dofs <= 0.0] = 1.0
    rows = np.ones(one.size)
    for loop, (T, S, _), (_, where) in zip(one.loops, moves, one.places, strict=False):
        turns, slides = np.linalg.norm(loop.Q[:, :3], axis=1), np.linalg.norm(loop.Q[:, 3:], axis=1)
        rows[where] = turns * np.max(T / dofs, initial=0.0) + slides * np.max(S / dofs, initial=0.0)
    for coupling, (_, where) in zip(one.couplings, one.places[len(one.loops) :], strict=True):
        rows[where] = max((abs(rate) / dofs[i] for i, rate in coupling.rates.items()), default=0.0)
    rows[rows <= 0.0] = 1.0
    return Sizes(rows, dofs)


def _moves(one: Constraints, sko: SKOModel, loop: LoopRows) -> tuple[Array, Array, float]:
    """T and S, (nv) each, none for what carries both ends; and the longest way."""
    graph, T, S, longest = one.graph, np.zeros(one.graph.nv), np.zeros(one.graph.nv), _SHORTEST
    b = pose_of_frame(one.state, loop.closure.b)[1]
    ends = [(x, x.carrier) for x in (loop.closure.a, loop.closure.b) if isinstance(x.carrier, Body)]
    paths = [set(sko.tree.ancestors(graph.layout.index[body])) for _, body in ends]
    both = set.intersection(*paths) if len(paths) > 1 else set()
    for frame, body in ends:
        here = pose_of_frame(one.state, frame)[1]
        k, way = graph.layout.index[body], float(np.linalg.norm(b - here))
        while k >= 0 and k not in both:
            there = pose_of_frame(one.state, graph.bodies[k])[1]
            way, here = way + float(np.linalg.norm(here - there)), there
            H_T, where = sko.H(k).T, graph.layout.v_slices[k]
            T[where] = np.linalg.norm(H_T[:3], axis=0)
            S[where] = np.linalg.norm(H_T[3:6], axis=0) + way * T[where]
            longest = max(longest, float(np.max(S[where], where=T[where] > 0.0, initial=0.0)))
            k = sko.parent(k)
    return T, S, longest
