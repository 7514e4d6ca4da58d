"""Contact problems by a peer: the associated one, which is convex, by clarabel, and Coulomb's as a fixed point of it.

    associated    min 1/2 p* S p + (b + r n)* p    over the cones and bounds, with slips r that are given
    Coulomb's     r = |u_t| of its own answer (De Saxce)

All in units of the problem: cones |p_t| <= p_n, no compliance above 1. The natural map here is written apart from that
of the product. clarabel stops at 1e-14 to 1e-4 of it, mostly near 1e-7, for S is singular in most problems: its answers
are compared with that in mind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from scipy import optimize, sparse

from soacraft.contact import Bilateral, Bounded, Cone, Problem

TURNS = 60
CLOSE = 1e-6  # of the natural map without impulses: slips that change by less are those of a fixed point, to clarabel
SOLVED = 1e-9
SAME = 1e-6  # velocities of one solution, of the natural map without impulses


@dataclass(frozen=True)
class Answer:
    """How one problem compares: a word, the difference of velocities, and what the peer left of its own problem."""

    word: str
    difference: float = 0.0
    left: float = 0.0


class Peer:
    """A problem in units of its own, for clarabel."""

    def __init__(self, problem: Problem) -> None:
        factors, self.blocks, at = [], [], 0
        for law in problem.laws:
            mine = slice(at, at + law.rows)
            friction = np.array([1.0, *(law.coefficients if isinstance(law, Cone) else ())])
            root = np.sqrt(np.max(friction**2 * np.diagonal(problem.S)[mine]))
            factors.append(friction / root)
            self.blocks.append((law, mine, law.limit * root if isinstance(law, Bounded) else 0.0))
            at += law.rows
        self.factor = np.concatenate(factors)
        self.S, self.b = self.factor[:, None] * problem.S * self.factor, self.factor * problem.b
        self.size = float(np.abs(self.natural_map(np.zeros(at))).max())

    def velocity(self, p: Any) -> Any:
        return self.S @ p + self.b

    def slips(self, u: Any) -> Any:
        """|u_t| in the rows of normals."""
        r = np.zeros(len(u))
        for law, mine, _ in self.blocks:
            if isinstance(law, Cone):
                r[mine.start] = np.linalg.norm(u[mine][1:])
        return r

    def natural_map(self, p: Any, slips: Any = None) -> Any:
        """p - Proj(p - u - r n), with the slips of p itself where none are given: zero where the laws are obeyed."""
        u = self.velocity(p)
        y = p - u - (self.slips(u) if slips is None else slips)
        for law, mine, bound in self.blocks:
            if isinstance(law, Cone):
                n, side = y[mine.start], float(np.linalg.norm(y[mine][1:]))
                if side > abs(n):
                    y[mine] *= 0.5 * (n + side) / side
                    y[mine.start] = 0.5 * (n + side)
                elif n < 0.0:
                    y[mine] = 0.0
            elif isinstance(law, Bounded):
                y[mine] = np.clip(y[mine], -bound, bound)
        return p - y

    def left(self, p: Any, slips: Any = None) -> float:
        return float(np.abs(self.natural_map(p, slips)).max()) / self.size

    def energy(self, p: Any, slips: Any) -> float:
        return float(0.5 * p @ self.S @ p + p @ (self.b + slips))

    def associated(self, slips: Any) -> Any:
        """What clarabel gives for the associated problem, as far as it goes."""
        n, entries, right, cones = len(self.b), [], [], []
        for law, mine, bound in self.blocks:
            if isinstance(law, Cone):
                entries += [(i, -1.0) for i in range(mine.start, mine.stop)]
                right += [0.0] * law.rows
                cones.append((clarabel.SecondOrderConeT if law.rows > 1 else clarabel.NonnegativeConeT)(law.rows))
            elif not isinstance(law, Bilateral):
                entries += [(mine.start, 1.0), (mine.start, -1.0)]
                right += [bound, bound]
                cones.append(clarabel.NonnegativeConeT(2))
        columns, values = [i for i, _ in entries], [x for _, x in entries]
        A = sparse.csc_matrix((values, (range(len(entries)), columns)), shape=(len(entries), n))
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
        P = sparse.csc_matrix(np.triu(self.S) + 1e-14 * np.eye(n))
        return np.array(clarabel.DefaultSolver(P, self.b + slips, A, np.array(right), cones, settings).solve().x)

    def polished(self, p: Any) -> Any:
        """p to the digits of a solution of Coulomb's problem, by scipy's least squares on the natural map."""
        for _ in range(4):
            if self.left(p) <= SOLVED:
                break
            p = optimize.least_squares(
                lambda x: self.natural_map(x) / self.size, p, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-15
            ).x
        return p


def compare_associated(problem: Problem) -> Answer:
    """Our impulses minimise the associated problem of their slips. Its velocities are unique: with ours at the minimum
    those of any other p' in the cones are as far as its energy allows, |u - u'|^2 <= |S^1/2 (p - p')|^2 <= 2 (f' - f).
    """
    peer, ours = Peer(problem), problem.solve(tolerance=SOLVED)
    if peer.size == 0.0:
        return Answer("nothing acts")
    p = ours.p / peer.factor
    slips = peer.slips(peer.velocity(p))
    theirs = peer.associated(slips)
    difference = float(np.abs(peer.velocity(theirs) - peer.velocity(p)).max()) / peer.size
    left = peer.left(theirs, slips)
    above = (peer.energy(theirs, slips) - peer.energy(p, slips)) / peer.size**2
    # what both leave of the laws has an energy too, by the impulses there are
    room = (left + peer.left(p, slips)) * float(np.abs(p).sum() + np.abs(theirs).sum()) / peer.size
    good = peer.left(p) <= SOLVED and above >= -room and difference**2 <= 2.0 * (above + room)
    return Answer("agree" if good else "WRONG", difference, left)


def compare_coulomb(problem: Problem) -> Answer:
    """Ours against a fixed point around clarabel, from no slips on: "agree" in velocities; "several" where the peer has
    another solution, both shown to be one; "cycle" where its slips do not settle; "WRONG" where ours is none."""
    peer, ours = Peer(problem), problem.solve(tolerance=SOLVED)
    if peer.size == 0.0:
        return Answer("nothing acts")
    p, slips = ours.p / peer.factor, np.zeros(len(peer.b))
    if not peer.left(p) <= 1.1 * SOLVED:
        return Answer("WRONG")
    for _ in range(TURNS):
        theirs = peer.associated(slips)
        after = peer.slips(peer.velocity(theirs))
        change, slips = float(np.abs(after - slips).max()) / peer.size, after
        if change <= CLOSE:
            break
    theirs = peer.polished(theirs)
    left = peer.left(theirs)
    difference = float(np.abs(peer.velocity(theirs) - peer.velocity(p)).max()) / peer.size
    if left > SOLVED:
        return Answer("cycle" if change > CLOSE else "peer stalls", difference, left)
    return Answer("agree" if difference <= SAME else "several", difference, left)


def least_norm(peer: Peer, p: Any) -> Any:
    """Of all impulses that obey Coulomb's laws with the velocities of p those of least norm, by clarabel: open contacts
    have none, those that slip have theirs along the slip, others any in their cones and bounds. A convex set."""
    u, n = peer.velocity(p), len(p)
    columns, cones = [], []
    entries: list[tuple[int, float]] = []
    right: list[float] = []
    for law, mine, bound in peer.blocks:
        own, speed = np.eye(n)[:, mine], float(np.linalg.norm(u[mine])) / peer.size
        at = sum(x.shape[1] for x in columns)
        if isinstance(law, Cone) and (u[mine.start] > SAME * peer.size or not p[mine].any()):
            continue
        if isinstance(law, Cone) and law.rows > 1 and speed > SAME:
            slip = u[mine][1:] / np.linalg.norm(u[mine][1:])
            columns.append(own @ np.concatenate([[1.0], -slip])[:, None])
            entries.append((at, -1.0))
            right.append(0.0)
            cones.append(clarabel.NonnegativeConeT(1))
            continue
        columns.append(own)
        if isinstance(law, Cone):
            entries += [(at + i, -1.0) for i in range(law.rows)]
            right += [0.0] * law.rows
            cones.append((clarabel.SecondOrderConeT if law.rows > 1 else clarabel.NonnegativeConeT)(law.rows))
        elif isinstance(law, Bounded):
            entries += [(at, 1.0), (at, -1.0)]
            right += [bound, bound]
            cones.append(clarabel.NonnegativeConeT(2))
    T = np.concatenate(columns, axis=1)
    left, sizes, V = np.linalg.svd(peer.S @ T)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    aim = left[:, :rank].T @ (u - peer.b)
    rows = sparse.csc_matrix(
        ([x for _, x in entries], (range(len(entries)), [i for i, _ in entries])), shape=(len(entries), T.shape[1])
    )
    A = sparse.vstack([sparse.csc_matrix(sizes[:rank, None] * V[:rank]), rows], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    P = sparse.csc_matrix(np.triu(T.T @ T))
    cones.insert(0, clarabel.ZeroConeT(rank))
    solver = clarabel.DefaultSolver(P, np.zeros(T.shape[1]), A, np.concatenate([aim, right]), cones, settings)
    return T @ np.array(solver.solve().x)
