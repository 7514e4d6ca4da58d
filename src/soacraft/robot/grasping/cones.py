"""Small linear programs over second-order cones, by a primal-dual interior-point method.

    minimize c* x   with   A x = b,   G x + s = h,   s in K,        maximize -b* y - h* z   with   A* y + G* z + c = 0

K has `rays` numbers that are not negative, then cones |u[1:]| <= u[0] of the sizes in `cones`. Steps are those of
Mehrotra with the scaling of Nesterov and Todd (Vandenberghe 2010, "The CVXOPT linear and quadratic cone program
solvers"): W z = W^-1 s = lambda, and the equations are solved as one dense system. O((n + rows)^3) a step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft.errors import ConvergenceError
from soacraft.spatial.checks import Array

#: Residuals and the gap, relative to the numbers of the problem, at which an answer is one.
_DONE = 1e-11
#: An answer that gets no better any more counts if its residuals and its gap are below this.
_GOOD = 1e-8
_STEPS = 60
_SHORT = 0.99  # of the way to the edge of the cones
_STUCK = 1e-10  # steps that are shorter lead nowhere


class Answer(NamedTuple):
    """x, the forces y and z of the constraints, and the gap c* x + b* y + h* z, which is not negative."""

    x: Array
    y: Array
    z: Array
    gap: float


def cone_program(c: Array, A: Array, b: Array, G: Array, h: Array, rays: int, cones: list[int]) -> Answer:
    """The least c* x; A must have full row rank. A problem without an answer is a `ConvergenceError`.

    >>> import numpy as np
    >>> c, G = np.array([1.0, 0.0]), np.array([[-1.0, 0.0], [0.0, -1.0], [0.0, 0.0]])     # least t with |(u, 3)| <= t
    >>> found = cone_program(c, np.array([[0.0, 1.0]]), np.array([4.0]), G, np.array([0.0, 0.0, 3.0]), 0, [3])
    >>> found.x.round(9)                                                                  # and u = 4
    array([5., 4.])
    """
    n, p, m = len(c), len(b), len(h)
    parts = [slice(i, i + 1) for i in range(rays)]
    for size in cones:
        start = parts[-1].stop if parts else 0
        parts.append(slice(start, start + size))
    unit = np.zeros(m)
    unit[[x.start for x in parts]] = 1.0
    system = np.zeros((n + p + m, n + p + m))
    system[:n, n : n + p], system[:n, n + p :] = A.T, G.T
    system[n : n + p, :n], system[n + p :, :n] = A, G
    below = slice(n + p, None)
    system[below, below] = -np.eye(m)
    first = np.linalg.lstsq(system, np.concatenate([np.zeros(n), b, h]), rcond=None)[0]
    x, s = first[:n], _inside(-first[below], parts, unit)
    first = np.linalg.lstsq(system, np.concatenate([-c, np.zeros(p + m)]), rcond=None)[0]
    y, z = first[n : n + p], _inside(first[below], parts, unit)
    sizes = [1.0 + float(np.linalg.norm(r)) for r in (c, b, h)]
    best = np.inf, Answer(x, y, z, np.inf)
    with np.errstate(all="ignore"):  # steps that are no numbers end the search
        for _ in range(_STEPS):
            rx, ry, rz = A.T @ y + G.T @ z + c, A @ x - b, G @ x + s - h
            gap, cost = float(s @ z), float(c @ x)
            off = max(float(np.linalg.norm(r)) / size for r, size in zip((rx, ry, rz), sizes, strict=True))
            off = max(off, gap / max(1.0, abs(cost)))
            if off < best[0]:
                best = off, Answer(x, y, z, gap)
            if off < _DONE:
                break
            W, back = _scaling(s, z, parts)
            lam = W @ z
            system[:n, below], system[below, :n] = (back @ G).T, back @ G
            try:
                inverse = np.asarray(np.linalg.inv(system))
            except np.linalg.LinAlgError:
                break
            square = _product(lam, lam, parts)
            newton = _Newton(system, inverse, W, back, lam, parts, n, p)
            _, _, dz, ds = newton.step(-square, -rx, -ry, -rz)
            most = min(1.0, _furthest(s, ds, parts), _furthest(z, dz, parts))
            sigma = (1.0 - most) ** 3
            turned = _product(back @ ds, W @ dz, parts)
            centre = sigma * gap / len(parts) * unit
            keep = sigma - 1.0
            dx, dy, dz, ds = newton.step(centre - square - turned, keep * rx, keep * ry, keep * rz)
            most = min(1.0, _SHORT * min(_furthest(s, ds, parts), _furthest(z, dz, parts)))
            moved = x + most * dx, y + most * dy, z + most * dz, s + most * ds
            if not most > _STUCK or not all(np.isfinite(u).all() for u in moved):
                break
            x, y, z, s = moved
    if best[0] > _GOOD:
        raise ConvergenceError(f"a cone program was not solved: residuals of {best[0]:.1e} are left.")
    return best[1]


class _Newton(NamedTuple):
    """The equations of a step at one point, with their inverse."""

    system: Array
    inverse: Array
    W: Array
    back: Array
    """W^-1."""
    lam: Array
    parts: list[slice]
    n: int
    p: int

    def step(self, target: Array, rx: Array, ry: Array, rz: Array) -> tuple[Array, Array, Array, Array]:
        """dx, dy, dz, ds with A* dy + G* dz = rx, A dx = ry, G dx + ds = rz and lambda o (W dz + W^-1 ds) = target.
        The last unknowns are W dz, so that W enters once and not squared."""
        t = _divided(self.lam, target, self.parts)
        right = np.concatenate([rx, ry, self.back @ rz - t])
        d = self.inverse @ right
        d += self.inverse @ (right - self.system @ d)  # refined
        n, u = self.n, d[self.n + self.p :]
        return d[:n], d[n : n + self.p], self.back @ u, self.W @ (t - u)


def _inside(u: Array, parts: list[slice], unit: Array) -> Array:
    """u, moved into the cones along their axes where it is not."""
    out = max(float(np.linalg.norm(u[x][1:]) - u[x][0]) for x in parts)
    return u if out < -1e-8 else u + (1.0 + out) * unit


def _product(u: Array, v: Array, parts: list[slice]) -> Array:
    """u o v = [u* v, u_0 v_1 + v_0 u_1] of each cone."""
    product = np.empty(len(u))
    for x in parts:
        a, b = u[x], v[x]
        product[x] = a[0] * b + b[0] * a
        product[x.start] = a @ b
    return product


def _divided(lam: Array, r: Array, parts: list[slice]) -> Array:
    """t with lambda o t = r."""
    quotient = np.empty(len(r))
    for x in parts:
        a, b = lam[x], r[x]
        size = a[0] ** 2 - a[1:] @ a[1:]
        quotient[x.start] = (a[0] * b[0] - a[1:] @ b[1:]) / size
        quotient[x.start + 1 : x.stop] = (b[1:] - quotient[x.start] * a[1:]) / a[0]
    return quotient


def _scaling(s: Array, z: Array, parts: list[slice]) -> tuple[Array, Array]:
    """W with W z = W^-1 s, and W^-1: for a cone W = beta (2 v v* - J), W^-1 = (2 J v v* J - J) / beta. No numbers where
    s or z are at the edge of a cone, up to rounding."""
    W, back = np.zeros((len(s), len(s))), np.zeros((len(s), len(s)))
    for x in parts:
        a, b = s[x], z[x]
        J = -np.ones(len(a))
        J[0] = 1.0
        sa, sb = a @ (J * a), b @ (J * b)
        a, b, beta = a / np.sqrt(sa), b / np.sqrt(sb), (sa / sb) ** 0.25
        w = (a + J * b) / np.sqrt(2.0 * (1.0 + a @ b))
        w[0] += 1.0
        v = w / np.sqrt(2.0 * w[0])
        W[x, x] = beta * (2.0 * np.outer(v, v) - np.diag(J))
        back[x, x] = (2.0 * np.outer(J * v, J * v) - np.diag(J)) / beta
    return W, back


def _furthest(u: Array, d: Array, parts: list[slice]) -> float:
    """Length of the way from u along d inside the cones: the first root of u* J u + 2 a u* J d + a^2 d* J d, which are
    real for all u in a cone.
    """
    most = np.inf
    for x in parts:
        a, e = u[x], d[x]
        if len(a) == 1:
            most = min(most, -a[0] / e[0] if e[0] < 0.0 else np.inf)
            continue
        J = -np.ones(len(a))
        J[0] = 1.0
        c, b, q = a @ (J * a), a @ (J * e), e @ (J * e)
        down = np.sqrt(max(float(b * b - q * c), 0.0)) - b
        most = min(most, c / down if down > 0.0 else np.inf)
    return float(most)
