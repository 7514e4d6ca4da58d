"""Singular configurations of the tip of a limb: the smallest singular value of its Jacobian, and its zeros.

    J = U S V*,    sigma = u* J w the smallest singular value,    turns in radians, ways in parts of the limb's reach

Near a singular configuration sigma, with u and w kept, passes through zero smoothly; Newton's step along

    g_c = u* (dJ/dq_c) w,      q <- q - g sigma / |g|^2

goes there, to a point of a surface for a limb without redundancy. Along a path the sign of sigma changes, and bisection
finds the place. u is the direction that is lost, w the motion of the dofs that does not move the tip.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np

from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.errors import ModelError, StateError
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.studies.reach_map import require_one_tip, sampled, slides_of
from soacraft.robot.studies.study import Column, Study
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite

#: A singular value this small, relative to the largest, is zero.
ZERO = 1e-11
#: Singular values below this part of the largest everywhere are of directions that the limb does not have.
_LOST = 1e-9
#: Newton steps at most, the largest of them in radians, and the difference of derivatives. In so many steps the value
#: must come down to half, or there is a minimum that is not zero.
_STEPS, _LARGEST, _H, _PATIENCE = 60, 0.3, 1e-5, 6
#: Halvings of a part of a path; a part is split, so often at most, until its ends have singular vectors this near.
_HALVINGS, _SPLITS, _ALIKE = 60, 10, 0.8
#: Entries of a unit vector below this are not named.
_NAMED = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class Singularities(Study, kind="singularities"):
    """Singular values over configurations, and singular configurations near them, within the limits."""

    limb: str
    rows: str
    """Rows of the Jacobian that count: "all", "linear" or "angular"."""
    dofs: Annotated[tuple[str, ...], Column.of("", "dofs")]
    q: Annotated[Array, Column.of("", "configurations", "nq")]
    position: Annotated[Array, Column.of("m", "configurations", 3)]
    """Position of the tip in the limb's base."""
    smallest: Annotated[Array, Column.of("", "configurations")]
    """The smallest singular value, of lengths in units of the limb's reach."""
    singular: Annotated[Array, Column.of("", "found", "nq")]
    """Coordinates of the limb at which it vanishes."""
    place: Annotated[Array, Column.of("m", "found", 3)]
    left: Annotated[Array, Column.of("", "found")]
    """The singular value there."""
    lost: Annotated[Array, Column.of("", "found", 6)]
    """The direction that the tip cannot go, [angular; linear] in axes of the base, lengths in units of the reach."""
    idle: Annotated[Array, Column.of("", "found", "dofs")]
    """The motion of the dofs that does not move the tip."""
    kinds: Annotated[tuple[str, ...], Column.of("", "found")]
    """The direction in words, and the dofs."""

    def table(self) -> Table:
        """Table by dofs whose motion does not move the tip: the count, with a direction that is lost and its place."""
        by_kind: dict[str, list[int]] = {}
        for i, x in enumerate(self.kinds):
            by_kind.setdefault(x.partition(": ")[2], []).append(i)
        rows = [
            (x, len(at), self.kinds[at[0]].partition(": ")[0], "  ".join(f"{v:.4g}" for v in self.singular[at[0]]))
            for x, at in sorted(by_kind.items(), key=lambda p: -len(p[1]))
        ]
        return Table(("idle dofs", "found", "lost, for example", "at q"), rows)

    def __repr__(self) -> str:
        return (
            f"Singularities of {self.limb!r}, {self.rows} rows: {len(self.singular)} found from {len(self.q)} "
            f"configurations, smallest singular value {self.smallest.min():.4g} to {self.smallest.max():.4g}"
        )


def singularities(
    limb: Limb,
    q: Any = None,
    *,
    rows: str = "all",
    path: bool = False,
    near: float = 0.1,
    samples: int = 500,
    seed: Seed = 0,
) -> Singularities:
    """The smallest singular value of the Jacobian over configurations q (k, nq) of a limb, by default `samples` drawn
    within the limits, and the singular configurations near them.

    `rows` are those of the tip that count: "all", "linear" or "angular". Configurations whose smallest value is below
    the part `near` of the largest smallest value are followed to a singular one, if there is one within the limits.
    With `path` q is gone through in order, straight between rows, and each change of sign is found by bisection.
    O(k n + found nv n).

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.serial_chain(2)).limb("arm", "inertial", "link2/tip")
    >>> s = sc.robot.study.singularities(arm, [[0.3, -0.4], [0.3, 0.7]], rows="linear", path=True)
    >>> bool(abs(s.singular[0, 1]) < 1e-9), s.kinds                                # the elbow is straight
    (True, ('way along 0.96 x - 0.30 z: link1, link2',))
    """
    if not isinstance(limb, Limb):
        raise ModelError(f"singularities are of a Limb, such as rb.limb('arm', base, tip); got {limb!r:.60}.")
    require_one_tip(limb)
    if limb.data.tied:
        raise StateError(f"limb {limb.name!r} has loops or couplings, whose singular sets are not looked for.")
    if rows not in _ROWS:
        raise StateError(f"rows={rows!r:.40} must be 'all', 'linear' or 'angular'.")
    if q is None:
        if path:
            raise StateError("a path needs configurations q.")
        q = sampled(limb, read_seed(seed, "the seed of singularities"), whole_number(samples, "samples", 1))
    configurations = limb.read_q(q, (None, limb.nq))
    if not len(configurations):
        raise StateError("singularities need at least one configuration.")
    part = float(finite(near, (), "near", StateError))
    scaled = _Scaled(limb, rows)
    J = scaled.jacobian(configurations)
    s = np.linalg.svd(J, compute_uv=False)
    rank = int(np.sum(s > _LOST * s.max(initial=0.0), axis=-1).max(initial=0))
    if not rank:
        raise StateError(f"nothing moves the tip of limb {limb.name!r} in its {rows} rows.")
    scaled.last = rank - 1
    smallest = np.array(s[:, rank - 1], dtype=np.float64)
    if path:
        singular = [x for a, b in pairwise(configurations) for x in _crossings(scaled, a, b)]
        if scaled.triple(configurations[-1]).is_zero:
            singular.append(configurations[-1])
    else:
        starts = np.flatnonzero(smallest <= part * smallest.max())
        singular = [x for i in starts if (x := _newton(scaled, configurations[i])) is not None]
    return _result(limb, rows, scaled, configurations, smallest, singular)


_ROWS = {"all": slice(0, 6), "angular": slice(0, 3), "linear": slice(3, 6)}


class Triple(NamedTuple):
    """A singular value with its vectors, and the largest one."""

    u: Array
    sigma: float
    w: Array
    largest: float

    @property
    def is_zero(self) -> bool:
        """True if the value vanishes."""
        return self.sigma <= ZERO * self.largest

    def turned(self, other: Triple) -> bool:
        """True if the signed value, with vectors that go over into each other, has another sign."""
        return float((self.u @ other.u) * (self.w @ other.w)) < 0.0


class _Scaled:
    """The Jacobian of a limb with turns in radians and ways in parts of its reach."""

    def __init__(self, limb: Limb, rows: str) -> None:
        self.limb, self.last = limb, 0
        size = limb.reach or 1.0
        self.rows = _ROWS[rows]
        self._row = np.repeat([1.0, 1.0 / size], 3)[:, None]
        self._column = np.where(slides_of(limb), size, 1.0)
        self.lower, self.upper = limb.limits
        self.step = self._column  # a radian, or as much travel

    def jacobian(self, q: Array) -> Array:
        """(..., rows, nv)."""
        return np.asarray((self.limb.jacobian(q) * self._row * self._column)[..., self.rows, :])

    def triple(self, q: Array) -> Triple:
        """u, sigma, w, and the largest singular value, at one configuration."""
        U, s, V = np.linalg.svd(self.jacobian(q), full_matrices=True)
        return Triple(U[:, self.last], float(s[self.last]), V[self.last], float(s[0]))

    def moved(self, q: Array, d: Array) -> Array:
        """Configurations after steps (..., nv), in radians or lengths of the limb."""
        limb, mb = self.limb, self.limb.robot.mb
        step = np.zeros((*d.shape[:-1], mb.nv))
        step[..., limb.v_places] = d * self.step
        start = np.broadcast_to(limb.placed(q), (*d.shape[:-1], mb.nq))
        return np.asarray(mb.integrate(start, step))[..., limb.q_places]

    def inside(self, q: Array) -> bool:
        """True if a configuration is within the limits."""
        if self.limb.nq != self.limb.nv:
            return True
        return bool(((q >= self.lower - 1e-9) & (q <= self.upper + 1e-9)).all())


def _newton(scaled: _Scaled, q: Array) -> Array | None:
    """A singular configuration from q; None where there is none within the limits."""
    n, before = scaled.limb.nv, np.inf
    for i in range(_STEPS):
        u, sigma, w, largest = scaled.triple(q)
        if i % _PATIENCE == 0:
            if sigma > 0.5 * before:
                return None
            before = sigma
        if sigma <= ZERO * largest:
            return q if scaled.inside(q) else None
        ends = scaled.jacobian(scaled.moved(q, _H * np.concatenate([np.eye(n), -np.eye(n)])))
        g = np.einsum("i,cij,j->c", u, ends[:n] - ends[n:], w) / (2.0 * _H)
        size = float(g @ g)
        if not size > 0.0:
            return None
        step = -sigma * g / size
        step *= min(1.0, _LARGEST / max(float(np.abs(step).max()), 1e-300))
        q = scaled.moved(q, step)
    return None


def _crossings(scaled: _Scaled, a: Array, b: Array) -> list[Array]:
    """Configurations at which the signed singular value passes through zero from a configuration up to, and without,
    another.
    """
    limb, mb = scaled.limb, scaled.limb.robot.mb
    start, d = limb.placed(a), np.asarray(mb.difference(limb.placed(a), limb.placed(b)))

    def at(s: float) -> Array:
        return np.asarray(mb.integrate(start, s * d))[limb.q_places]

    crossings: list[Array] = []

    def look(low: float, high: float, first: Triple, last: Triple, splits: int) -> None:
        if first.is_zero or last.is_zero:
            return
        alike = min(abs(first.u @ last.u), abs(first.w @ last.w))
        if alike < _ALIKE and splits < _SPLITS:
            middle = 0.5 * (low + high)
            here = scaled.triple(at(middle))
            if here.is_zero:
                crossings.append(at(middle))
            look(low, middle, first, here, splits + 1)
            look(middle, high, here, last, splits + 1)
        elif first.turned(last):
            q = _bisected(scaled, at, low, high, first)
            if q is not None:
                crossings.append(q)

    ends = scaled.triple(a), scaled.triple(b)
    if ends[0].is_zero:
        crossings.append(a)
    look(0.0, 1.0, ends[0], ends[1], 0)
    return crossings


def _bisected(
    scaled: _Scaled, at: Callable[[float], Array], low: float, high: float, first: Triple
) -> Array | None:
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        here = scaled.triple(at(middle))
        if here.is_zero:
            return at(middle)
        if first.turned(here):
            high = middle
        else:
            low, first = middle, here
    # where two values change places the vectors turn too, and nothing is lost
    return at(low) if first.sigma <= 1e-6 * first.largest else None


def _result(
    limb: Limb, rows: str, scaled: _Scaled, q: Array, smallest: Array, configurations: Sequence[Array]
) -> Singularities:
    k = len(configurations)
    at = np.array(configurations).reshape(k, limb.nq)
    smallest_values, lost, idle, kinds = np.zeros(k), np.zeros((k, 6)), np.zeros((k, limb.nv)), []
    for i, x in enumerate(at):
        u, smallest_values[i], w, _ = scaled.triple(x)
        u = u * np.sign(u[np.argmax(np.abs(u))])
        w = w * np.sign(w[np.argmax(np.abs(w))])
        lost[i, scaled.rows], idle[i] = u, w
        moving = ", ".join(n for n, y in zip(limb.dof_names, w, strict=True) if abs(y) > _NAMED)
        kinds.append(f"{_direction(lost[i])}: {moving}")
    places = limb.true_pose(at).translation if k else np.zeros((0, 3))
    position = np.array(limb.true_pose(q).translation)
    return Singularities(
        limb.name,
        rows,
        limb.dof_names,
        q,
        position,
        smallest,
        at,
        np.array(places),
        smallest_values,
        lost,
        idle,
        tuple(kinds),
    )


def _direction(u: Array) -> str:
    """A direction [angular; linear] in words."""
    parts = []
    for word, x in (("turn about", u[:3]), ("way along", u[3:])):
        axes = [(v, n) for v, n in zip(x, "xyz", strict=True) if abs(v) > _NAMED]
        if axes:
            text = " ".join(f"{'-' if v < 0 else '+'} {abs(v):.2f} {n}" for v, n in axes)
            parts.append(f"{word} {text[2:] if text.startswith('+') else '-' + text[2:]}")
    return " with ".join(parts)
