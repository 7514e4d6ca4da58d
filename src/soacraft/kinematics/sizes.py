"""Sizes of the rows of closures before they cancel: the reference for rank, independent of units.

The ends of loop L, both seen at b, turn by T_j and move by S_j at most with dof j, whatever the other end does. S_j is
that of the hinge, and T_j times the way from it to b, from frame to frame; both are zero for a dof that carries both
ends. A mode moves what is on the node that the way goes through, and counts as T_j + S_j over the length of the loop,
whichever unit it has. A coupling moves by R_j at most. Dofs get sizes c_j in which all that moves one closure moves it
alike:

    c_j = T_j                            of a dof that turns
    c_j l = S_j,   l = max S/T           of one that slides, in a loop that others turn
    c_j s = S_j,   c_j r = R_j           in a loop that nothing turns, in a coupling, with an unknown s or r for each

the last two in the mean of logarithms, loops before couplings: with the units of S and R those of c change. Then

    t = max T/c,   s = max S/c,   r_i = |turns of Q_i| t + |slides of Q_i| s,    r = max R/c of a coupling

and Gc(i,j) / (r_i c_j) is at most 1 before anything cancels. Where it has a singular value below `tolerances.RANK`, a
motion against the closures opens them by no more than that part of what their ends move, which a solver takes for
closed. The tolerance of states and answers is the same number; pivots of S, which are squares, are cut at its square.
A way below `SHORT` of the extent of the model is rounding: it says nothing of c, and s is no less than it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import LoopError
from soacraft.kinematics.compiled import RowArrays
from soacraft.kinematics.rows import Constraints, CouplingRow, LoopRows
from soacraft.kinematics.tolerances import LESS, RANK, SHORT, UNTOLD
from soacraft.model.states.kinematics import modal_block, pose_of_frame
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.spatial.checks import Array


class Sizes(NamedTuple):
    """The sizes of rows and of dofs."""

    rows: Array
    """(m), positive."""
    dofs: Array
    """(nv), positive."""
    moved: npt.NDArray[np.bool_]
    """(m, nv): which dofs move which rows; what others have is rounding."""

    def scaled(self, G: Array) -> Array:
        """Rows and columns relative to their sizes."""
        return np.where(self.moved, G / self.rows[:, None] / self.dofs, 0.0)


class _Moves(NamedTuple):
    """Motion of the ends of loops by the dofs."""

    turns: Array
    """(nv): how far each dof turns its own body."""
    T: Array
    """(loops, nv), turns."""
    S: Array
    """(loops, nv), slides."""
    far: float
    """Largest distance from the origin of the axes: positions are rounded relative to this."""


def sizes_of(one: Constraints) -> Sizes:
    """The sizes of all rows and dofs at a state. O(loops depth), and cubic in the number of slides.

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)                                       # rods of 1 m
    >>> _ = mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    >>> sizes_of(Constraints(mb, mb.state())).rows
    array([3., 3., 3.])
    """
    if one.sizes is None:
        one.sizes = _sizes(one)
    return one.sizes


def tied_rows(one: Constraints) -> Array:
    """A basis (rank, nv) of what the closures forbid at a state: rows that repeat others or are rounding are left out,
    as impulses along them would hold what is free. O(m^2 nv).

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)                                       # in a plane, so one of its rows is none
    >>> _ = mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    >>> one = Constraints(mb, mb.state([0.3, 2.0, 1.0]))
    >>> one.jacobian().shape, tied_rows(one).shape
    ((3, 3), (2, 3))
    """
    G = one.jacobian()
    if not len(G):
        return G
    sizes = sizes_of(one)
    _, s, V = np.linalg.svd(sizes.scaled(G))
    return np.asarray((V[: len(s)] * sizes.dofs)[s > RANK])


def _sizes(one: Constraints) -> Sizes:
    graph = one.graph
    compiled = one.arrays is not None and not graph.layout.flexible  # compiled rows know nothing of what modes move
    moves = _compiled(one.arrays) if compiled and one.arrays is not None else _measured(one)
    short = SHORT * max(moves.far, _longest_gyration(one))
    rates = [_rates(one, row, moves.turns) for row in one.couplings]
    dofs = _sizes_of_dofs(moves, short, rates)
    rows, moved = np.ones(one.size), np.zeros((one.size, graph.nv), dtype=np.bool_)
    Q, loop = one.Q, one.loop_of_row
    t, s = (np.max(x / dofs, axis=1, initial=0.0) for x in (moves.T, moves.S))
    rows[: len(Q)] = _norms(Q[:, :3]) * t[loop] + _norms(Q[:, 3:]) * np.maximum(s, short * t)[loop]
    moved[: len(Q)] = ((moves.T > 0.0) | (moves.S > 0.0))[loop]
    for i, R in enumerate(rates, start=len(Q)):
        rows[i], moved[i] = np.max(R / dofs, initial=0.0), R > 0.0
    rows[rows <= 0.0] = 1.0
    if not np.isfinite(short) or not np.isfinite(rows).all():
        raise LoopError(
            f"the closures of {graph.name!r} are too large to work with: lengths at this q, or coefficients of "
            "couplings, overflow. Give coordinates in the range of the mechanism."
        )
    return Sizes(rows, dofs, moved)


def _norms(x: Array) -> Array:
    """Norms of the rows."""
    return np.asarray(np.sqrt((x * x).sum(axis=1)))


def _ends(one: Constraints) -> list[tuple[Array, Array]]:
    """Positions of the frames a and b of each loop."""
    return [(pose_of_frame(one.state, x.closure.a)[1], pose_of_frame(one.state, x.closure.b)[1]) for x in one.loops]


def _longest_gyration(one: Constraints) -> float:
    """Longest radius of gyration of the bodies."""
    M = one.graph.layout.M
    heavy = M[M[:, 5, 5] > 0.0]
    bodies = np.sqrt(np.trace(heavy[:, :3, :3], axis1=1, axis2=2) / heavy[:, 5, 5])
    return float(np.max(bodies, initial=0.0))


def _compiled(x: RowArrays) -> _Moves:
    return _Moves(x.turns, x.T, x.S, float(x.furthest[0]))


def _measured(one: Constraints) -> _Moves:
    """Motion of the ends of loops, without compiled rows."""
    H, ends = one.state.configuration.hinges("body"), _ends(one)
    turns = np.concatenate([np.zeros(0), *(_norms(h[:, :3]) for h in H)])
    slides = np.concatenate([np.zeros(0), *(_norms(h[:, 3:6]) for h in H)])
    moves = [_moves(one, loop, x, turns, slides) for loop, x in zip(one.loops, ends, strict=True)]
    far = np.linalg.norm([np.zeros(3), *(x for pair in ends for x in pair), *one.state.configuration.world[1]], axis=1)
    T, S = np.zeros((2, len(moves), one.graph.nv))
    for i, pair in enumerate(moves):
        T[i], S[i] = pair
    modes = one.graph.layout.own.v
    lengths = np.array([x.length for x in one.loops])[:, None]
    turns[modes] = np.max(T[:, modes] + S[:, modes] / lengths, axis=0, initial=0.0)
    return _Moves(turns, T, S, float(np.max(far)))


def _moves(
    one: Constraints, loop: LoopRows, ends: tuple[Array, Array], turns: Array, slides: Array
) -> tuple[Array, Array]:
    """Turns and slides of the ends of a loop by each dof."""
    layout, T, S = one.graph.layout, np.zeros(one.graph.nv), np.zeros(one.graph.nv)
    (R, at), parents, flex = one.state.configuration.world, layout.parents, one.state.configuration.flex
    carried = [(here, layout.index[x.carrier]) for x, here in zip((loop.closure.a, loop.closure.b), ends, strict=True)
               if isinstance(x.carrier, Body)]  # fmt: skip
    paths = [set(layout.tree.ancestors(k)) for _, k in carried]
    both = set.intersection(*paths) if len(paths) > 1 else set()
    for end, (here, k) in zip(_on_bodies(loop), carried, strict=True):
        way = math.dist(ends[1], here)
        Pi = modal_block(one.state, end) if k in layout.flexible else None
        while k >= 0 and (k not in both or Pi is not None):
            dofs, modes = layout.v_slices[k], slice(layout.hinge_v[k].stop, layout.v_slices[k].stop)
            if Pi is not None:  # modes move what is carried on, at here
                T[modes] += _norms(Pi[:3].T)
                S[modes] += _norms(Pi[3:].T) + way * _norms(Pi[:3].T)
            if k in both:
                break
            way, here = way + math.dist(here, at[k]), at[k]
            T[dofs] += turns[dofs]
            S[dofs] += slides[dofs] + way * turns[dofs]
            child, k = k, parents[k]
            Pi = None if flex is None else flex.Pi_riding.get(child)
            if Pi is not None and flex is not None:
                hinge = at[k] + R[k] @ flex.inboard[1][child]
                way, here = way + math.dist(here, hinge), hinge
    return T, S


def _on_bodies(loop: LoopRows) -> list[Frame]:
    """The frames of a loop that are on bodies, a first."""
    return [x for x in (loop.closure.a, loop.closure.b) if isinstance(x.carrier, Body)]


def _levers(T: Array, S: Array, short: float) -> Array:
    """Largest S / T of each loop; 0 where that is rounding, or nothing turns."""
    longest = np.max(np.divide(S, T, out=np.zeros(S.shape), where=T > 0.0), axis=1, initial=0.0)
    return np.where(longest > short, longest, 0.0)


def _rates(one: Constraints, row: CouplingRow, turns: Array) -> Array:
    """R (nv): |p'(q)| before its terms cancel; of a turn no nearer to zero than a radian."""
    R, names, places = np.zeros(one.graph.nv), one.graph.dof_names, coordinate_names(one.graph)
    for j in row.rates:
        place = places.get(names[j])
        at = max(0.0 if place is None else abs(one.state.q[place]), 1.0 if turns[j] > 0.0 else 0.0)
        R[j] = sum(n * abs(c) * at ** (n - 1) for n, c in enumerate(row.coupling.terms[names[j]], start=1))
    return R


def _sizes_of_dofs(moves: _Moves, short: float, rates: list[Array]) -> Array:
    """c (nv): of slides by least squares in logarithms, with an unknown number for each closure without a length."""
    turns, T, S, _ = moves
    c = np.where(turns > 0.0, turns, 1.0)
    says: list[tuple[int, int, float, float]] = []  # of which dof, with which unknown, what, with what weight
    lengths = _levers(T, S, short)
    for i, j in np.argwhere((S > 0.0) & (turns <= 0.0)).tolist():
        says.append((j, -1 if lengths[i] > 0.0 else i, S[i, j] / (lengths[i] or 1.0), 1.0))
    for i, R in enumerate(rates, start=len(T)):
        says += [(j, i, R[j], LESS) for j in np.flatnonzero(R > 0.0).tolist()]
    slides = {j: n for n, j in enumerate(sorted({j for j, *_ in says if turns[j] <= 0.0}))}
    unknown = {i: n for n, i in enumerate(sorted({i for _, i, *_ in says if i >= 0}), start=len(slides))}
    if not slides:
        return c
    A, y = np.zeros((len(says), len(slides) + len(unknown))), np.zeros(len(says))
    for row, (j, i, value, weight) in enumerate(says):
        if j in slides:
            A[row, slides[j]] = weight
        if i >= 0:
            A[row, unknown[i]] = weight
        y[row] = weight * np.log(value if j in slides else value / c[j])
    logarithms = np.linalg.lstsq(A, y, rcond=UNTOLD)[0]
    c[list(slides)] = np.exp(logarithms[: len(slides)])
    return c
