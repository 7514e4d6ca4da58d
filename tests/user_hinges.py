"""Hinges as a user writes them, with no more than a pose and its map: all else comes from the base class."""

import numpy as np

import soacraft as sc


class Crank(sc.Hinge):
    """A turn about z that travels along x with the square of its angle."""

    nq = nv = 1

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        return sc.Pose.from_rpy(0, 0, q[0], translation=(0.2 * q[0] ** 2, 0, 0))

    def H_T(self, q):
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[0], [0], [1], [0.4 * q[0] * c], [-0.4 * q[0] * s], [0]])


class Slide(sc.Hinge):
    """A slide along a parabola."""

    nq = nv = 1

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        return sc.Pose(translation=(float(q[0]), 0, float(q[0]) ** 2))

    def H_T(self, q):
        return np.array([[0.0], [0], [0], [1.0], [0], [2 * float(q[0])]])


class Bent(sc.Hinge):
    """A universal joint without its dH."""

    nq = nv = 2
    known = sc.Universal((1, 0, 0), (0, 1, 0))

    def neutral(self):
        return np.zeros(2)

    def pose(self, q):
        return self.known.pose(q)

    def H_T(self, q):
        return self.known.H_T(q)

    def random(self, rng):
        return self.known.random(rng)


def with_a_slide():
    """Two pins, a slide of the user's own, a pin."""
    mb = sc.serial_chain(2)
    mb.add_body("slide", "link2", Slide(), sc.Inertia(1.0, (0.1, 0.2, 0.3)))
    mb.add_body("last", "slide", sc.Pin((0, 0, 1)), sc.Inertia(2.0, (0.3, 0, 0)))
    return mb
