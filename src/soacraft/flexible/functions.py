"""`shapes`: a beam whose modes are functions that the user gives.

    u(x) = sum of eta_j u_j(x),   along x, y, z of the beam, and a turn about x ("twist")

Sections stay normal to the axis (Euler): theta = (twist, -w', v'), kappa = theta', Gamma = (u', 0, 0). The moments are
integrated with the mass at points along and across, as those of `beam`, and so is the second-order displacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from scipy.sparse import diags_array

from soacraft.arguments import whole_number
from soacraft.errors import ModelError, near
from soacraft.flexible.damping import modal_damping
from soacraft.flexible.fe import as_sparse
from soacraft.flexible.materials import Elastic
from soacraft.flexible.moments import field_moments
from soacraft.flexible.second import off_axis, symmetric_cross
from soacraft.flexible.sections import Shape, numbers
from soacraft.flexible.skins import Ring, joined
from soacraft.model.modal import ModalData, ModalNode, ModalSkin
from soacraft.spatial.checks import Array, finite, number_text
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import skew

DIRECTIONS = ("x", "y", "z", "twist")
#: Points of quadrature in each part of the beam.
POINTS = 12
E1 = np.array([1.0, 0.0, 0.0])


def shapes(
    length: float,
    section: Shape,
    material: Elastic,
    functions: Mapping[str, Sequence[Any]],
    *,
    parts: int = 8,
    damping: Any = None,
    geometric: bool = True,
) -> ModalData:
    """Modal data of a beam along x from the origin with the user's own shapes: {"y": [f, ...], "z": ..., "x": ...,
    "twist": ...}. A shape is a polynomial of numpy, a spline of scipy, or a triple of functions (f, f', f'') of arrays.

    Integrals take 12 Gauss points in each of `parts` equal parts. Nodes "root" and "tip" are the ends.

    >>> from numpy.polynomial import Polynomial
    >>> import soacraft.flexible as fx
    >>> bent = Polynomial([0, 0, 1.5, -0.5])                         # of a unit tip force
    >>> data = fx.shapes(1.0, fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0), {"y": [bent]})
    >>> data.node("tip").gam[1], round(float(data.node("tip").gam2[0, 0, 0]), 6)    # it shortens by 3/5 eta^2
    (array([1.]), -1.2)
    """
    l = float(finite(length, (), "the length of a beam"))
    if l <= 0.0:
        raise ModelError(f"the length of a beam must be positive, got {number_text(l)}.")
    if not isinstance(material, Elastic):
        raise ModelError(f"the material of a beam must be Elastic(E, nu, rho), got {material!r:.60}.")
    s = numbers(section)
    count = whole_number(parts, "the number of parts of a beam", 1)
    x0, w0 = legendre.leggauss(POINTS)
    x = ((np.arange(count)[:, None] + 0.5 * (x0 + 1.0)) * l / count).ravel()
    weights = np.tile(0.5 * w0 * l / count, count)
    u, theta, Gamma, kappa, names = _field(functions, np.concatenate([x, [0.0, l]]))
    at = slice(0, len(x))
    C = np.array([material.E * s.A, material.G * s.J, material.E * s.Iy, material.E * s.Iz])
    strain = np.concatenate([Gamma[at, :1], kappa[at]], axis=1)
    K = np.einsum("k,a,kai,kaj->ij", weights, C, strain, strain, optimize=True)
    offsets = np.column_stack([np.zeros(4), s.points])
    phi = u[at, None] - skew(offsets) @ theta[at, None]
    places = x[:, None, None] * E1 + offsets
    masses = np.repeat(weights * material.rho * s.A / 4.0, 4)
    moments = field_moments(places.reshape(-1, 3), as_sparse(diags_array(masses)), phi.reshape(-1, 3, len(names)))
    second: dict[str, Any] = {}
    seen = [len(x), *range(1, len(x), 4), len(x) + 1]  # stations of the skin: the root, some points between, the tip
    along: Array | None = None
    gam2, lam2 = [None, None], [None, None]
    if geometric:
        lam, phi2 = _second(x, l, count, theta, kappa)
        gam2, lam2, along = [phi2[-2], phi2[-1]], [lam[-2], lam[-1]], phi2[seen]
        here = np.stack([phi2[at] + off_axis(theta[at], lam[at], d) for d in offsets], axis=1).reshape(-1, 3, *K.shape)
        second["S"] = np.einsum("k,kaij->ija", masses, here)
        second["T"] = np.einsum("k,kb,kaij->ijba", masses, places.reshape(-1, 3), here, optimize=True)
    nodes = {
        name: ModalNode(Pose(translation=place * E1), u[k], theta[k], gam2[k], lam2[k])
        for name, place, k in (("root", 0.0, -2), ("tip", l, -1))
    }
    K = 0.5 * (K + K.T)
    rings = [Ring(k, np.eye(3), section) for k in range(len(seen))]
    stations = np.concatenate([x, [0.0, l]])[seen, None] * E1
    skin = ModalSkin(at=stations, gam=u[seen], lam=theta[seen], gam2=along, **joined([(rings, (True, True))]))
    return ModalData(
        **moments,
        **second,
        K=K,
        D=modal_damping(K, moments["M"], damping),
        nodes=nodes,
        kinds=tuple(names),
        points=x[:, None] * E1,
        shapes=u[at].copy(),
        skin=skin,
        notes=("modes are functions that were given",)
        + (() if geometric else ("no geometric stiffening: it was switched off",)),
    )


def _field(functions: Any, x: Array) -> tuple[Array, Array, Array, Array, list[str]]:
    """u, theta, Gamma, kappa (k, 3, n) at places x, and a word for each mode."""
    if not isinstance(functions, Mapping) or not any(len(each) for each in functions.values()):
        raise ModelError("shapes of a beam are {'y': [f, ...], 'z': [...], 'x': [...], 'twist': [...]}, at least one.")
    listed = []
    for direction, each in functions.items():
        if direction not in DIRECTIONS:
            raise ModelError(f"a beam has no shapes {direction!r}{near(str(direction), DIRECTIONS, 'it has')}")
        listed += [(direction, k, f) for k, f in enumerate(each)]
    u, theta, Gamma, kappa = np.zeros((4, len(x), 3, len(listed)))
    for j, (direction, k, f) in enumerate(listed):
        f0, f1, f2 = (_values(g, x, f"shape {k} along {direction!r}") for g in _derivatives(f, direction, k))
        if direction == "x":
            u[:, 0, j], Gamma[:, 0, j] = f0, f1
        elif direction == "twist":
            theta[:, 0, j], kappa[:, 0, j] = f0, f1
        elif direction == "y":
            u[:, 1, j], theta[:, 2, j], kappa[:, 2, j] = f0, f1, f2
        else:
            u[:, 2, j], theta[:, 1, j], kappa[:, 1, j] = f0, -f1, -f2
    return u, theta, Gamma, kappa, [f"shape {direction}{k}" for direction, k, _ in listed]


def _derivatives(f: Any, direction: str, k: int) -> tuple[Callable[[Array], Any], ...]:
    if isinstance(f, tuple) and len(f) == 3 and all(map(callable, f)):
        return f
    for name in ("deriv", "derivative"):
        if callable(f) and callable(getattr(f, name, None)):
            return f, getattr(f, name)(1), getattr(f, name)(2)
    raise ModelError(
        f"shape {k} along {direction!r} must be a polynomial of numpy, a spline of scipy or three functions "
        f"(f, f', f''), got {f!r:.60}."
    )


def _values(f: Callable[[Array], Any], x: Array, what: str) -> Array:
    return np.broadcast_to(finite(f(x), (...,), what), x.shape)


def _second(x: Array, l: float, parts: int, theta: Array, kappa: Array) -> tuple[Array, Array]:
    """lam2 and phi2 at the points of quadrature, then at both ends, integrated from the root (`second`): no shear."""
    lam = _running(x, l, parts, 0.5 * symmetric_cross(theta, kappa)[: len(x)])
    bent = symmetric_cross(theta, np.einsum("ab,kbj->kaj", -skew(E1), theta))[: len(x)]
    rate = np.einsum("ab,kbij->kaij", -skew(E1), lam[: len(x)]) + 0.5 * bent
    return lam, _running(x, l, parts, rate)


def _running(x: Array, l: float, parts: int, rate: Array) -> Array:
    """The integral from 0 of what is known at the Gauss points of each part: there, then at 0 and at the end."""
    nodes, weights = legendre.leggauss(POINTS)
    series = legendre.legint(np.linalg.inv(legendre.legvander(nodes, POINTS - 1)), lbnd=-1)
    scaled = 0.5 * l / parts * rate.reshape(parts, POINTS, *rate.shape[1:])
    inside = np.einsum("pq,kpaij->kqaij", legendre.legval(nodes, series), scaled)
    each = np.einsum("p,kpaij->kaij", weights, scaled)
    before = np.concatenate([0.0 * each[:1], np.cumsum(each, axis=0)])
    values = (before[:-1, None] + inside).reshape(rate.shape)
    return np.concatenate([values, before[:1], before[-1:]])
