"""A ball rolling on a plane without slipping (slides 001): a nonholonomic hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.rolling import Rolling
from soacraft.model.hinges.spherical import random_quaternion, turned
from soacraft.spatial import (
    Array,
    Pose,
    cross,
    quaternion_rate,
    quaternion_to_matrix,
    skew,
)


class RollingBall(Rolling):
    """A ball of the given radius that rolls without slipping on the inboard plane with the given normal.

    The outboard frame is at the centre of the ball, `radius` above the plane. q = [x, y, z, w, px, py]:
    attitude and contact point along two axes t1, t2 of the plane (`tangents`; t1, t2, normal right-handed; x
    and y for the normal z). v is the angular velocity in ball axes (3). With l from the centre to the contact
    point, in ball axes,

        H* = [I; l~],   l = -radius R* normal,   dH*_j = [0; (-e_j x l)~]        (slides 001; G18)

    Three velocities move five freedoms: where the ball ends depends on the path, so `difference` is refused.

    >>> ball = RollingBall(radius=0.5)
    >>> ball.qdot(ball.neutral(), [0, 4, 0])[4:] + 0.0          # turning about y it rolls along x
    array([2., 0.])
    """

    batched = True
    _thing = "ball"

    def __init__(self, radius: float, normal: Any = (0.0, 0.0, 1.0)) -> None:
        self._radius = self._positive(radius, "radius")
        super().__init__(normal)

    @property
    def radius(self) -> float:
        """The radius of the ball, metres."""
        return self._radius

    def pose(self, q: Any) -> Pose:
        """Attitude of the ball; its centre at `px t1 + py t2 + radius normal`."""
        q = np.asarray(q, dtype=np.float64)
        return Pose.unchecked(quaternion_to_matrix(q[..., :4]),
                              q[..., 4:] @ self._tangents + self._radius * self._normal)

    def H_T(self, q: Any) -> Array:
        """`[I; l~]`."""
        lever = self._lever(q)
        H = np.zeros((*lever.shape[:-1], 6, 3))
        H[..., :3, :] = np.eye(3)
        H[..., 3:, :] = skew(lever)
        return H

    def dH(self, q: Any) -> Array:
        """`dH*_j = [0; (-e_j x l)~]`: along the three rolling motions; exact."""
        lever = self._lever(q)
        dH = np.zeros((*lever.shape[:-1], 3, 6, 3))
        dH[..., 3:, :] = skew(-skew(lever))                     # row j of -l~ is -e_j x l
        return dH

    def derivative_of_H_T(self, q: Any, dofs: tuple[int, ...]) -> Array:
        """`[0; l'~]` with `l' = -e_j x (... (-e_l x l))` for dofs (j, ..., l), as dl = -e x l along each; exact."""
        if not dofs:
            return self.H_T(q)
        lever = self._lever(q)
        for j in reversed(dofs):
            lever = -cross(np.broadcast_to(np.eye(3)[j], lever.shape), lever)
        H = np.zeros((*lever.shape[:-1], 6, 3))
        H[..., 3:, :] = skew(lever)
        return H

    def bias(self, q: Any, v: Any) -> Array:
        """`[0; v x (v x l)]`: the contact point of the ball is at rest but turns away."""
        lever, v = self._lever(q), np.asarray(v, dtype=np.float64)
        linear = cross(v, cross(v, lever))
        return np.concatenate([np.zeros(linear.shape), linear], axis=-1)

    def dbias(self, q: Any, v: Any) -> tuple[Array, Array]:
        """Derivatives of `bias` along the three rolling motions (dl = l~ dv) and in v; exact."""
        lever, v = self._lever(q), np.asarray(v, dtype=np.float64)
        K, L = skew(v), skew(lever)
        in_q = K @ K @ L
        in_v = -skew(cross(v, lever)) - K @ L
        zero = np.zeros(in_q.shape)
        return np.concatenate([zero, in_q], axis=-2), np.concatenate([zero, in_v], axis=-2)

    def qdot(self, q: Any, v: Any) -> Array:
        """Quaternion rate `q [v, 0] / 2`; contact and centre move with `radius (R v) x normal`."""
        q = np.asarray(q, dtype=np.float64)
        return np.concatenate([quaternion_rate(q[..., :4], v), self._travel(q, v)], axis=-1)

    def integrate(self, q: Any, dv: Any) -> Array:
        """Rolling with constant dv for unit time; exact. The axis `R dv` stays fixed in inboard axes, so the
        path of the contact point is straight."""
        q = np.asarray(q, dtype=np.float64)
        return np.concatenate([turned(q[..., :4], dv), q[..., 4:] + self._travel(q, dv)], axis=-1)

    def place(self, pose: Pose) -> Array:
        """The attitude as it is, the contact below the centre: a ball may be anywhere on its plane."""
        return np.concatenate([pose.as_quaternion(), self._tangents @ pose.translation])

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over all rotations, contact points within a metre along each axis."""
        return np.concatenate([random_quaternion(rng), rng.uniform(-1.0, 1.0, 2)])

    def _lever(self, q: Any) -> Array:
        """l = -radius R* normal: from the centre to the contact point, in ball axes."""
        R = quaternion_to_matrix(np.asarray(q, dtype=np.float64)[..., :4])
        return np.asarray(-self._radius * (self._normal @ R))

    def _travel(self, q: Array, v: Any) -> Array:
        """Velocity of the contact point along t1 and t2: that of the centre, radius (R v) x normal."""
        w = (quaternion_to_matrix(q[..., :4]) @ np.asarray(v, dtype=np.float64)[..., None])[..., 0]
        t1, t2 = self._tangents
        return self._radius * np.stack([w @ t2, -(w @ t1)], axis=-1)
