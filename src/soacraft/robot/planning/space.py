"""The configurations that a planner may use: which dofs move, within what, how far apart two of them are.

Radians count as they are, ways by the length of the model. Angles without limits go the short way round, unless they
are coupled; quaternion hinges turn by the shortest rotation. A `Space` knows nothing of obstacles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.model.hinges import Free, Spherical
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.ranges import Ball, Ranges
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array

Places = npt.NDArray[np.intp]
#: Outside a limit by less than this part of its range is rounding.
_ROUNDING = 1e-9


class Space:
    """Configurations of a robot of which some dofs move, the others as in `q0`."""

    def __init__(self, robot: Robot, q0: Array, dofs: Sequence[int] | Places, about: Array) -> None:
        mb = robot.mb
        self.mb, self.q0 = mb, q0
        self.dofs = np.asarray(dofs, dtype=np.intp)
        moving = np.zeros(mb.nv, dtype=bool)
        moving[self.dofs] = True
        self.moving = moving
        ranges, layout = Ranges(mb, of=moving), mb.layout
        self.length = length_of(mb) or 1.0
        turning = np.array([u == "r" for u in "".join(layout.units.hinge)], dtype=bool)
        plain = self.dofs[ranges.place[self.dofs] >= 0]
        self.place = ranges.place[plain]
        """Positions in q of the coordinates of the moving dofs that have one."""
        self.names = [mb.dof_names[i] for i in plain]
        self.lower, self.upper = ranges.lower[plain], ranges.upper[plain]
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)
        coupled = {name for x in mb.couplings if x.active for name in x.terms}  # a turn more is elsewhere there
        self.wrap = turning[plain] & ~limited & ~np.array([x in coupled for x in self.names], dtype=bool)
        self.scale = np.where(turning[plain], 1.0, 1.0 / self.length)
        self._wide = np.where(turning[plain], np.pi, self.length)
        self.quaternions: list[tuple[slice, slice | None]] = []
        for body, q, v in zip(layout.bodies, layout.hinge_q, layout.hinge_v, strict=True):
            if type(body.hinge) in (Spherical, Free) and moving[v].any():
                if not moving[v].all():
                    raise StateError(f"hinge {body.hinge_name!r} moves as a whole: name all of its dofs, or none.")
                at = slice(q.start + 4, q.start + 7) if type(body.hinge) is Free else None
                self.quaternions.append((slice(q.start, q.start + 4), at))
            elif moving[v].any() and (ranges.place[v] < 0).any():
                raise StateError(f"a plan needs hinges with coordinates, spherical or free ones; {body.hinge!r:.60} of "
                                 f"body {body.name!r} is none.")  # fmt: skip
        self.balls: list[Ball] = [x for x in ranges.balls if moving[x.v].all()]
        self._turns = self.place[self.wrap]  # empty for most robots: then much is simpler
        self._short = not len(self._turns) and not self.quaternions
        self._bare = (
            self._short
            and len(self.place) == mb.nq
            and bool((self.scale == 1.0).all() and (self.place == np.arange(mb.nq)).all())
        )
        self.draw_about(about)

    def draw_about(self, about: Array) -> None:
        """Set the range in which configurations are drawn: within limits; for ways without a limit the length of the
        model about the start and the goals.
        """
        x = np.atleast_2d(about)
        here = x[:, self.place]
        self.low = np.where(np.isfinite(self.lower), self.lower, here.min(axis=0) - self._wide)
        self.high = np.where(np.isfinite(self.upper), self.upper, here.max(axis=0) + self._wide)
        self.low = np.where(self.wrap, self.q0[self.place] - np.pi, self.low)
        self.high = np.where(self.wrap, self.q0[self.place] + np.pi, self.high)
        self.boxes = [
            None if at is None else (x[:, at].min(axis=0) - self.length, x[:, at].max(axis=0) + self.length)
            for _, at in self.quaternions
        ]

    # -- configurations ------------------------------------------------------------------------------------------

    def sample(self, rng: np.random.Generator, count: int) -> Array:
        """Configurations drawn evenly, (count, nq); rotations evenly over all, then brought within their limits."""
        q = np.array(np.broadcast_to(self.q0, (count, len(self.q0))))
        q[:, self.place] = rng.uniform(self.low, self.high, (count, len(self.place)))
        for (turn, at), box in zip(self.quaternions, self.boxes, strict=True):
            x = rng.normal(size=(count, 4))
            q[:, turn] = x / np.linalg.norm(x, axis=1)[:, None]
            if at is not None and box is not None:
                q[:, at] = rng.uniform(*box, (count, 3))
        for ball in self.balls:
            axis = rng.normal(size=(count, 3))
            angle = ball.largest * rng.uniform(size=(count, 1)) ** (1.0 / 3.0)
            axis /= np.linalg.norm(axis, axis=1)[:, None]
            q[:, ball.q] = np.concatenate([np.sin(0.5 * angle) * axis, np.cos(0.5 * angle)], axis=1)
        return q

    def outside(self, q: Array) -> str:
        """Message about a coordinate of q outside of its limits; empty where there is none."""
        x = q[self.place]
        wide = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, 1.0)
        bad = (x < self.lower - _ROUNDING * wide) | (x > self.upper + _ROUNDING * wide)
        if bad.any():
            i = int(np.argmax(bad))
            return (
                f"dof {self.names[i]!r} = {x[i]:.6g} is outside its limits {self.lower[i]:.6g} to {self.upper[i]:.6g}"
            )
        for ball in self.balls:
            angle = float(np.linalg.norm(ball.rotation(q)))
            if angle > ball.largest * (1.0 + _ROUNDING):
                return f"hinge {ball.name!r} turns by {angle:.6g}, and its largest angle is {ball.largest:.6g}"
        return ""

    def keeps(self, a: Array, b: Array) -> bool:
        """True if the shortest rotations between configurations within their limits stay within them. A ball of
        rotations by less than pi is convex on the sphere of quaternions: the way leaves it only where it goes round the
        back.
        """
        return all(
            float((a[x.q] if a[x.q][3] >= 0.0 else -a[x.q]) @ (b[x.q] if b[x.q][3] >= 0.0 else -b[x.q])) >= 0.0
            for x in self.balls
        )

    # -- distances -----------------------------------------------------------------------------------------------

    def key(self, q: Array) -> Array:
        """Numbers by which configurations are compared, (..., m): scaled coordinates, then quaternions and ways."""
        if self._bare:
            return q
        parts = [q[..., self.place] * self.scale]
        for turn, at in self.quaternions:
            parts.append(q[..., turn])
            if at is not None:
                parts.append(q[..., at] / self.length)
        return np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]

    def squares(self, keys: Array, key: Array) -> Array:
        """Squared distances of configurations from one, by their keys."""
        n = len(self.place)
        d = keys - key
        if self._short:
            return np.asarray(np.einsum("ij,ij->i", d, d))
        if len(self._turns):
            d[:, :n] = np.where(self.wrap, np.remainder(d[:, :n] + np.pi, 2.0 * np.pi) - np.pi, d[:, :n])
        total, i = np.einsum("ij,ij->i", d[:, :n], d[:, :n]), n
        for _, at in self.quaternions:
            dot = np.minimum(np.abs(keys[:, i : i + 4] @ key[i : i + 4]), 1.0)
            total += (2.0 * np.arccos(dot)) ** 2
            i += 4
            if at is not None:
                total += np.einsum("ij,ij->i", d[:, i : i + 3], d[:, i : i + 3])
                i += 3
        return np.asarray(total)

    def distance(self, a: Array, b: Array) -> float:
        """Distance between two configurations."""
        if self._bare:
            return math.dist(a, b)
        return float(np.sqrt(self.squares(self.key(a)[None], self.key(b))[0]))

    def length_of(self, path: Iterable[Array]) -> float:
        """Length of a path (k, nq)."""
        return float(sum(self.distance(a, b) for a, b in pairwise(path)))

    def near(self, a: Array, b: Array) -> Array:
        """b with its angles without limits as near to those of a as they can be, so that the way from a is the short
        one."""
        if not len(self._turns):
            return b
        at, b = self._turns, b.copy()
        b[at] = a[at] + np.remainder(b[at] - a[at] + np.pi, 2.0 * np.pi) - np.pi
        return b

    def between(self, a: Array, b: Array, part: float) -> Array:
        """The configuration at a part of the way from a to b, (nq)."""
        if not self.quaternions:  # then only dofs with coordinates move
            return np.asarray(a + part * (self.near(a, b) - a))
        return np.asarray(self.mb.integrate(a, part * np.asarray(self.mb.difference(a, self.near(a, b)))))
