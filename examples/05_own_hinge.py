"""A hinge of your own: a bead on a parabolic wire, z = c x^2 / 2. Its small swings have the frequency sqrt(g c)."""

import numpy as np

import soacraft as sc


class Wire(sc.Hinge):
    """A slide along z = curvature x^2 / 2 without turning; q is x."""

    nq = nv = 1

    def __init__(self, curvature):
        self.curvature = curvature

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        return sc.Pose(translation=(q[0], 0, 0.5 * self.curvature * q[0] ** 2))

    def H_T(self, q):
        return np.array([[0], [0], [0], [1], [0], [self.curvature * q[0]]])

    def dH(self, q):
        return np.array([[[0], [0], [0], [0], [0], [self.curvature]]])


report = sc.check_hinge(Wire(curvature=0.8))
print(report)

mb = sc.Multibody("bead", gravity=(0, 0, -9.81))
mb.add_body("bead", hinge=Wire(curvature=0.8), inertia=sc.Inertia.point(0.5))
step = 1e-4
H, phi, M = sc.operators(mb, "H phi M")
mass = (H * phi * M * phi.T * H.T).array()[0, 0]
pull = [np.asarray(sc.operators(mb.state(q=[x])).C)[0] for x in (-step, step)]
stiffness = (pull[1] - pull[0]) / (2 * step)
print("frequency:", f"{np.sqrt(stiffness / mass):.6f}", "expected:", f"{np.sqrt(9.81 * 0.8):.6f}")
