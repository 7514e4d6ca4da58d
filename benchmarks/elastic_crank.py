"""The slider-crank with an elastic rod of the test set for initial value problems (Simeon, Mathematical Modelling of
Systems 2, 1996): two bending shapes, two of stretching, linear stiffness, no damping, the crank at constant speed.

The published mass matrix of the stretching shapes is 15 times the integral of their squares; it is taken as it is. A
crank with the inertia of a flywheel has the constant speed.
"""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft.model.modal import ModalData, ModalNode

CRANK, ROD, SIDE, DENSITY, YOUNG = 0.15, 0.3, 0.008, 7870.0, 2e11
SLIDER, ROD_INERTIA, SPEED = 0.075552, 4.5339259e-3, 150.0
FLYWHEEL, STRETCHING = 1e7, 15.0
T = 0.1
#: Angles of crank and rod, place of the slider, modes.
START = (0.0, 0.0, 0.450016933, 0.0, 0.0, 1.03339863e-5, 1.69327969e-5)
START_RATES = (SPEED, -74.9957670, -2.68938672e-6, 0.444896105, 4.63434311e-3, -1.78591076e-6, -2.68938672e-6)
END = (15.0, -0.3311734987910881, 0.1697373326718410, 1.893192460247178e-4, 2.375751865617931e-5,
       -5.323907988763734e-6, -8.363283141616840e-6)  # fmt: skip
END_RATES = (SPEED, 60.25346682645789, -8.753116989887888, -3.005536801092212e-2, -5.500488291932075e-3,
             4.974111734266989e-4, 1.105560003626645e-3)  # fmt: skip


def rod() -> ModalData:
    """The rod in the frame of its chord."""
    s, w = np.polynomial.legendre.leggauss(24)
    s, m = 0.5 * (s + 1.0), 0.5 * ROD * DENSITY * SIDE**2 * w
    r, phi = np.zeros((len(s), 3)), np.zeros((len(s), 3, 4))
    r[:, 0] = ROD * s
    phi[:, 1, 0], phi[:, 1, 1] = np.sin(np.pi * s), np.sin(2.0 * np.pi * s)
    phi[:, 0, 2], phi[:, 0, 3] = 4.0 * s - 4.0 * s**2, 2.0 * s**2 - s
    second, M = np.einsum("k,ka,kb->ab", m, r, r), np.einsum("k,kai,kaj->ij", m, phi, phi)
    Q = np.einsum("k,kai,kbj->ijab", m, phi, phi)
    second[1, 1] = ROD_INERTIA - second[0, 0]  # with the turns of its sections
    M[2:, 2:] *= STRETCHING
    Q[2:, 2:] *= STRETCHING
    area, K = SIDE**2, np.zeros((4, 4))
    K[0, 0] = YOUNG * SIDE**4 / 12.0 * np.pi**4 / (2.0 * ROD**3)
    K[1, 1] = 16.0 * K[0, 0]
    K[2:, 2:] = YOUNG * area / ROD * np.array([[16.0, -8.0], [-8.0, 7.0]]) / 3.0
    tip = ModalNode(sc.Pose(translation=(ROD, 0, 0)), np.outer([1, 0, 0], [0, 0, 0, 1.0]), np.zeros((3, 4)))
    return ModalData(mass=float(m.sum()), first=m @ r, second=second, p=np.einsum("k,kaj->ja", m, phi),
                     N=np.einsum("k,ka,kbj->jab", m, r, phi), Q=Q, M=M, K=K, nodes={"tip": tip})  # fmt: skip


def slider_crank() -> sc.Multibody:
    """The mechanism at its published start, put on its closure."""
    pin = sc.Pin((0, 0, 1))
    mb = sc.Multibody("slider_crank", gravity=(0, 0, 0))
    crank = mb.add_body("crank", None, pin, sc.Inertia(0.36, (0, 0, 0), FLYWHEEL * np.eye(3)))
    crank.add_node("end", sc.Pose(translation=(CRANK, 0, 0)))
    mb.add_body("rod", "crank/end", pin, modal=rod())
    mb.add_body("slider", None, sc.Prismatic((1, 0, 0)), sc.Inertia(SLIDER, (0, 0, 0), 1e-5 * np.eye(3)))
    mb.close_loop("pin", "slider", "rod/tip", pin)
    mb.set_state(*(_by_dof(mb, x) for x in (START, START_RATES)))
    mb.set_state(*sc.loops.TreeAugmented(mb).project(mb.q, mb.v))
    return mb


def _places(mb: sc.Multibody) -> list[int]:
    return [mb.dof_names.index(x) for x in ("crank", "rod", "slider", *(f"rod.mode{i}" for i in range(4)))]


def _by_dof(mb: sc.Multibody, numbers: tuple[float, ...]) -> np.ndarray:
    x = np.zeros(mb.nv)
    x[_places(mb)] = numbers
    x[mb.dof_names.index("rod")] -= numbers[0]  # relative to the crank
    return x


def published(mb: sc.Multibody) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and rates of the model as the publication has them."""
    q, v = (np.array(x)[_places(mb)] for x in (mb.q, mb.v))
    q[1], v[1] = np.angle(np.exp(1j * (q[0] + q[1]))), v[0] + v[1]
    return q, v
