"""The second-order displacement phi2 of beams, from which all geometric stiffening comes (formula F19).

A beam whose strains are linear in eta, Gamma and kappa (sections rigid), turns and moves by R' = R kappa~ and
r' = R (e1 + Gamma), R = exp(theta~). To second order in eta, with Theta the turn of first order,

    lam2_ij' = 1/2 (Theta_i x kappa_j + Theta_j x kappa_i)
    phi2_ij' = lam2_ij x e1 + Theta_i x gamma_j + Theta_j x gamma_i
               + 1/2 (Theta_i x (Theta_j x e1) + Theta_j x (Theta_i x e1))

(the first and last terms are the double integral of Theta_i x (kappa_j x e1) and its like), integrated from the node
that the body frame moves with, where both are zero, outward along the members. A point at d from the axis has
phi2_ij + lam2_ij x d + 1/2 (Theta_i x (Theta_j x d) + Theta_j x (Theta_i x d)). Elements have polynomials of low
degree: the quadrature is exact.

gamma is the shear of Gamma alone. The stretch e1.Gamma stays along the undeformed axis, as in Kane, Ryan and Banerjee
(1987): with Theta x e1 (e1.Gamma) the couplings of M(eta) grow with the stretch, and the constant M_ee does not. With
twelve modes of a cantilever M(eta) was not positive at a stretch of 4e-5 of the length. The neglected terms are smaller
than those kept by a factor of the order of the strain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from soacraft.errors import ModelError
from soacraft.flexible.elements import GAUSS, WEIGHTS, BeamElement
from soacraft.flexible.fe import FEModel
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew


def _running() -> Array:
    """The integrals from 0 to each point of quadrature, of what is known at these points, (5, 5)."""
    powers = np.arange(len(GAUSS))
    return np.asarray((GAUSS[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(GAUSS[:, None] ** powers))


RUNNING = _running()


@dataclass(frozen=True, eq=False)
class SecondOrder:
    """Moments S (n, n, 3), T (n, n, 3, 3) of phi2, and gam2, lam2 (k, 3, n, n) of all nodes of beams, or of all
    interfaces of a solid; phi2 at the points of quadrature of beam elements, (elements, 5, 3, n, n)."""

    S: Array
    T: Array
    gam2: Array
    lam2: Array
    inside: Array | None = None


def second_order(fe: FEModel, X: Array, start: tuple[int, ...]) -> SecondOrder:
    """phi2 of the shapes X (dofs, n) of a model of beams, from the nodes `start`."""
    n, count = X.shape[1], len(fe.nodes)
    turn = X.reshape(count, 6, n)[:, 3:]
    gam2, lam2 = np.zeros((count, 3, n, n)), np.zeros((count, 3, n, n))
    S, T = np.zeros((3, n, n)), np.zeros((3, 3, n, n))
    inside = np.zeros((len(fe.elements), len(GAUSS), 3, n, n))
    masses, places = fe.masses.diagonal().reshape(-1), fe.points
    per = 4 * len(GAUSS)
    for number, forward in outward(fe, start):
        e = fe.elements[number]
        Theta, lam, phi = _along(e, X, gam2, lam2, forward)
        inside[number] = phi
        span = slice(per * number, per * (number + 1))
        m, r = masses[span].reshape(-1, 4), places[span].reshape(-1, 4, 3)
        for d, weights, at in zip(e.offsets(), m.T, r.transpose(1, 0, 2), strict=True):
            here = phi + off_axis(Theta, lam, d)
            S += np.einsum("k,kaij->aij", weights, here)
            T += np.einsum("k,kb,kaij->baij", weights, at, here)
    for k, (node, d) in enumerate(fe.carried, start=per * len(fe.elements)):
        here = gam2[node] + off_axis(turn[node][None], lam2[node][None], d)[0]
        S += masses[k] * here
        T += masses[k] * places[k][:, None, None, None] * here
    return SecondOrder(S.transpose(1, 2, 0), T.transpose(2, 3, 0, 1), gam2, lam2, inside)


def _along(e: BeamElement, X: Array, gam2: Array, lam2: Array, forward: bool) -> tuple[Array, Array, Array]:
    """Theta, lam2 and phi2 at the points of quadrature of an element; those of its far node are written."""
    i, j = e.nodes
    d = np.concatenate([X[6 * i : 6 * i + 6], X[6 * j : 6 * j + 6]])
    N, B = e.at_gauss
    field, strain = N @ d, B @ d
    Theta, Gamma, kappa = field[:, 3:], strain[:, :3], strain[:, 3:]
    e1 = e.R[:, 0]
    lam, lam_end = _integral(e.length, 0.5 * symmetric_cross(Theta, kappa), lam2, (i, j), forward)
    lam2[j if forward else i] = lam_end
    shear = Gamma - e1[:, None] * (e1 @ Gamma)[:, None]
    rate = _cross(lam, e1) + symmetric_cross(Theta, shear) + 0.5 * symmetric_cross(Theta, _cross(Theta, e1))
    phi, phi_end = _integral(e.length, rate, gam2, (i, j), forward)
    gam2[j if forward else i] = phi_end
    return Theta, lam, phi


def _integral(l: float, rate: Array, values: Array, ends: tuple[int, int], forward: bool) -> tuple[Array, Array]:
    """The integral of a rate at the points of quadrature and at the far end, from its value at the near end."""
    running = l * np.einsum("kq,qaij->kaij", RUNNING, rate)
    all_of_it = l * np.einsum("q,qaij->aij", WEIGHTS, rate)
    if forward:
        return values[ends[0]] + running, values[ends[0]] + all_of_it
    return values[ends[1]] - all_of_it + running, values[ends[1]] - all_of_it


def off_axis(Theta: Array, lam: Array, d: Array) -> Array:
    """Additional displacement phi2 at d from the axis, (k, 3, n, n)."""
    return _cross(lam, d) + 0.5 * symmetric_cross(Theta, _cross(Theta, d))


def _cross(a: Array, d: Array) -> Array:
    """a x d of a (k, 3, ...) with one vector."""
    return np.asarray(np.einsum("ab,kb...->ka...", -skew(d), a))


def symmetric_cross(a: Array, b: Array) -> Array:
    """a_i x b_j + a_j x b_i of a, b (k, 3, n), (k, 3, n, n)."""
    c = np.cross(a[:, :, :, None], b[:, :, None, :], axis=1)
    return np.asarray(c + c.mT)


def outward(fe: FEModel, start: tuple[int, ...]) -> Iterator[tuple[int, bool]]:
    """Elements from the start to the tips, each with whether it is passed from its first node to its second.

    Members that form a ring, and nodes that nothing joins to the start, are refused.
    """
    meets: dict[int, list[int]] = {}
    for number, e in enumerate(fe.elements):
        for i in e.nodes:
            meets.setdefault(i, []).append(number)
    seen, passed, waiting = set(start), set[int](), list(start)
    while waiting:
        here = waiting.pop()
        for number in meets.get(here, ()):
            if number in passed:
                continue
            i, j = fe.elements[number].nodes
            far = j if here == i else i
            if far in seen:
                raise ModelError(
                    f"members of the frame form a ring through node {far}: the second-order displacement of beams is "
                    "known where they branch like a tree; reduce with geometric=False."
                )
            passed.add(number)
            seen.add(far)
            waiting.append(far)
            yield number, here == i
    if len(passed) < len(fe.elements):
        lost = next(e.nodes[0] for k, e in enumerate(fe.elements) if k not in passed)
        raise ModelError(f"node {lost} of the frame is not joined to the first interface; add the missing member.")
