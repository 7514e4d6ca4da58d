"""Force b of an SKO model of functions that was made without one: it follows from the kinetic energy.

With V = A* H* v and p = M V, Lagrange's equations for V* M V / 2 are T = H A (M alpha + b) with

    (H A b)_i = (H A dM/dt V)_i - 1/2 V* (dM/dq_i) V + r_i,     r_i = (d/dt(dV/dv_i) - dV/dq_i)* p

b(k) is dM(k)/dt V(k) and, along the dofs of node k, the other terms; so v* T = d/dt(V* M V / 2) and H A (b + M A* a)
is what the Christoffel symbols give. r vanishes where V(k) are rates of positions in axes that do not turn. All of this
is for velocities that are rates of the coordinates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from soacraft.model.flat.sko_functions import SKOFunctions

Array = npt.NDArray[np.float64]
#: Part of its terms that r_i is where it vanishes; differences of blocks are good to about 1e-10 of them.
VANISHING = 1e-6


def bias(m: SKOFunctions, q: Array, v: Array, turning: bool) -> list[Array]:
    """b by node; r_i is left out unless axes are `turning`. O(nv) rates of M, and of A and H where they turn."""
    if not (turning or m.varies("M")):
        return [np.zeros(d) for d in m.dims]
    V = velocities(m, q, v)
    change = [np.zeros_like(x) for x in V]
    along_dofs = np.zeros((*np.broadcast_shapes(q.shape[:-1], v.shape[:-1]), m.nv))
    for i, e in enumerate(np.eye(m.nv)):
        for k, dM in enumerate((m.rates(q, e).M or []) if m.varies("M") else []):
            if dM is not None:
                force = _times(dM, V[k])
                change[k] = change[k] + v[..., i, None] * force  # dM/dt V
                along_dofs[..., i] -= 0.5 * np.sum(V[k] * force, axis=-1)
        if turning:
            along_dofs[..., i] += _turning(m, q, v, e)[0]
    at, starts = m.at(q), np.cumsum([0, *m.nvs])
    b: dict[int, Array] = {}
    carried: dict[int, Array] = {}  # z(k) = sum of A(k,j) z(j) + what acts at k, with H z = along_dofs
    for k in m.tree.tips_to_base():
        below = [_times(at.A(k, j), carried[j]) for j in m.tree.children(k)]
        inner = sum(below, np.zeros(m.dims[k]))
        H = at.H(k)
        missing = along_dofs[..., starts[k] : starts[k + 1]] - _times(H, inner)
        acting = _times(np.asarray(np.linalg.pinv(H), dtype=np.float64), missing) if m.nvs[k] else np.zeros(m.dims[k])
        carried[k], b[k] = inner + acting, change[k] + acting
    return [b[k] for k in m.nodes]


def is_turning(m: SKOFunctions, q: Array) -> bool:
    """True if some r_i does not vanish near q (one state), for a velocity without zeros."""
    rng = np.random.default_rng(0)
    near = m.integrate(q, 10.0 * m.step * rng.uniform(-1.0, 1.0, m.nv))
    v = rng.uniform(0.5, 1.5, m.nv)
    terms = (_turning(m, near, v, e) for e in np.eye(m.nv))
    return any(abs(float(r)) > VANISHING * float(size) for r, size in terms)


def _turning(m: SKOFunctions, q: Array, v: Array, e: Array) -> tuple[Array, Array]:
    """r_i for the dof of the unit velocity e, and the size of its terms."""
    V, at = velocities(m, q, v), m.at(q)
    first, second = (_scattered(m, q, m.carried(q, *pair)) for pair in ((e, v), (v, e)))
    r, size = np.zeros(()), np.zeros(())
    for k in m.nodes:
        p = _times(at.M(k), V[k])
        r = r + np.sum((first[k] - second[k]) * p, axis=-1)
        size = size + np.sum((np.abs(first[k]) + np.abs(second[k])) * np.abs(p), axis=-1)
    return r, size


def velocities(m: SKOFunctions, q: Array, v: Array) -> list[Array]:
    """V = A* H* v by node."""
    at, starts = m.at(q), np.cumsum([0, *m.nvs])
    local = [_times(at.H(k).mT, v[..., starts[k] : starts[k + 1]]) for k in m.nodes]
    return _scattered(m, q, local)


def _scattered(m: SKOFunctions, q: Array, local: list[Array]) -> list[Array]:
    """A* x by node."""
    at = m.at(q)
    x: dict[int, Array] = {}
    for k in m.tree.base_to_tips():
        p = m.tree.parents[k]
        x[k] = local[k] if p < 0 else local[k] + _times(at.A(p, k).mT, x[p])
    return [x[k] for k in m.nodes]


def _times(X: Array | None, x: Array) -> Array:
    assert X is not None
    return np.asarray((X @ x[..., None])[..., 0])
