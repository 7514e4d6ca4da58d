"""Strength of a grasp: forces in the friction cones of contacts, up to their limits, that give an object a wrench.

    margin = max s   with   sum over contacts of G_i x_i = s w,    |x_i[1:]| <= x_i[0] <= limit_i
           = min over y with w* y = 1 of   sum of limit_i max(0, g_i0 + |g_i[1:]|),    g_i = G_i* y

All that is not a limit scales with s, so the margin is the factor by which the wrench may grow before the grasp slips
or breaks: it holds where the margin is at least one. The two sides bound each other, and the result has their gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.results import finite_or_refused
from soacraft.robot.grasping.cones import cone_program
from soacraft.robot.grasping.fingertips import centre_and_length, columns, read_fingertips
from soacraft.spatial.checks import Array, finite

#: Limits are looked at up to so many times the smallest one, then up to so many times that, as long as those that were
#: cut matter: a limit that is infinite, or that stands for none, does not drown the others in rounding.
_CUT = 1e3
#: A force this small, in units of the limits that are looked at, is none: rounding of the solver.
_NONE = 1e-8
#: Directions of the wrenches of all contacts that count, relative to the largest singular value.
_RANK = 1e-10
#: A contact takes part in the limit when more than this part of the margin is due to it; it is at the edge of its
#: cone when this much of its normal force, or less, is left.
_SHARE = 1e-5


@dataclass(frozen=True, eq=False)
class Strength:
    """Strength of contacts that hold an object under a wrench."""

    margin: float
    """The factor by which the wrench may grow before it slips or breaks; 0 where no forces of the contacts give it."""
    names: tuple[str, ...]
    forces: Array
    """(k, 3): forces on the object under the wrench itself, not yet grown; zero where the margin is."""
    moments: Array
    """(k): moments of soft fingers about their normals."""
    binding: tuple[str, ...]
    """Contacts whose limits of force decide the margin, the one that it owes most to first."""
    slipping: tuple[str, ...]
    """Contacts that are at the edge of their cones when the margin is used up."""
    gap: float
    """Relative difference of the two bounds of the margin."""

    @property
    def holds(self) -> bool:
        """True if the contacts can give the wrench."""
        return self.margin >= 1.0

    def __repr__(self) -> str:
        if not self.margin:
            return f"does not hold: no forces of {', '.join(self.names)} give this wrench"
        by = f", limited by {', '.join(self.binding)}" if self.binding else ""
        slips = f"; {', '.join(self.slipping)} about to slip" if self.slipping else ""
        return f"{'holds' if self.holds else 'does not hold'}: margin {self.margin:.4g}{by}{slips}"


def grasp_strength(fingertips: Any, wrench: Any) -> Strength:
    """Largest factor by which contacts can give an object the wrench [moment; force], about the origin of the frame
    that their points and normals are in. O(k^3), some ten steps.

    Two fingers with friction 0.5 and at most 10 N each carry up to 2 * 0.5 * 10 N:

    >>> import soacraft as sc
    >>> fingers = [sc.robot.Fingertip((s * 0.04, 0, 0), (-s, 0, 0), friction=0.5, limit=10.0) for s in (-1, 1)]
    >>> sc.robot.grasp_strength(fingers, [0, 0, 0, 0, 0, 4.0])
    holds: margin 2.5, limited by contact 0, contact 1; contact 0, contact 1 about to slip
    """
    tips, names = read_fingertips(fingertips, "grasp_strength")
    w = finite(wrench, (6,), "the wrench of grasp_strength", StateError)
    about, length = centre_and_length(tips)
    with np.errstate(over="ignore", invalid="ignore"):
        w = np.concatenate([w[:3] - np.cross(about, w[3:]), w[3:]])
        turn, push = np.linalg.norm(w[:3]), np.linalg.norm(w[3:])
        length = length or float(turn / (push or 1.0)) or 1.0
        rows = np.repeat([1.0 / length, 1.0], 3)
        size = float(np.linalg.norm(rows * w))
        finite_or_refused(np.array(size), "the size of the wrench of grasp_strength")
    if not w.any():
        return Strength(np.inf, tuple(names), np.zeros((len(tips), 3)), np.zeros(len(tips)), (), (), 0.0)
    limits = np.array([x.limit for x in tips])
    ended = np.isfinite(limits)
    bounded = limits[ended & (limits > 0.0)]
    unit, largest = float(bounded.min(initial=np.inf)), float(bounded.max(initial=0.0))
    unit = unit if len(bounded) else 1.0
    soft = np.array([[True, bool(x.friction), bool(x.friction), bool(x.torsion)] for x in tips])
    G = [rows[:, None] * columns(x, about) for x in tips]
    while True:
        s, x, shares, gap = _largest(G, rows * w / size, np.minimum(limits / unit, _CUT), soft)
        cut = shares[limits > _CUT * unit].max(initial=0.0) > _SHARE
        if unit >= largest or (s >= _NONE and not cut):
            break
        unit = min(_CUT * unit, largest)
    margin = s * unit / size
    zero = np.zeros(len(tips))
    if s < _NONE:
        return Strength(0.0, tuple(names), np.zeros((len(tips), 3)), zero, (), (), gap)
    slips = np.linalg.norm(x[:, 1:], axis=1) >= (1.0 - _SHARE) * x[:, 0]
    slips &= x[:, 0] > _NONE
    if shares[~ended].max(initial=0.0) > _SHARE:  # it grows with what has no limit
        margin, shares, slips = np.inf, zero, np.zeros(len(tips), dtype=bool)
    x = x * (size / s)
    sides = np.array([columns(t, t.point)[3:] for t in tips])
    binding = [i for i in np.argsort(-shares.round(4), kind="stable") if shares[i] > _SHARE and ended[i]]
    return Strength(
        margin,
        tuple(names),
        np.einsum("kij,kj->ki", sides, x),
        np.array([t.torsion for t in tips]) * x[:, 3],
        tuple(names[i] for i in binding),
        tuple(names[i] for i in np.flatnonzero(slips)),
        gap,
    )


def _largest(
    G: list[Array], w: Array, limits: Array, soft: npt.NDArray[np.bool_]
) -> tuple[float, Array, Array, float]:
    """The largest s, the forces x (k, 4), how much of s is due to the limit of each contact, and the relative gap."""
    k, columns = len(G), [np.flatnonzero(x) for x in soft]
    ends = np.cumsum([0, *(len(x) for x in columns)])
    n = int(ends[-1]) + 1
    A = np.column_stack([*(g[:, x] for g, x in zip(G, columns, strict=True)), -w])
    U, values, _ = np.linalg.svd(A, full_matrices=False)
    A = U[:, values > _RANK * values[0]].T @ A
    rows = np.zeros((k + n - 1, n))  # x_i[0] <= limit_i, then x_i in its cone
    for i, start in enumerate(ends[:-1]):
        rows[i, start] = 1.0
    rows[k:, : n - 1] = -np.eye(n - 1)
    h = np.concatenate([limits, np.zeros(n - 1)])
    c = np.zeros(n)
    c[-1] = -1.0
    solution = cone_program(c, A, np.zeros(len(A)), rows, h, k, [len(x) for x in columns])
    s = float(solution.x[-1])
    x = np.zeros((k, 4))
    for i, places in enumerate(columns):
        x[i, places] = solution.x[ends[i] : ends[i + 1]]
    size = max(s, _NONE)
    return s, x, solution.z[:k] * limits / size, solution.gap / size
