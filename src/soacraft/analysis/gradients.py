"""Derivatives of the mass matrix with the configuration: its gradient, Christoffel symbols, the Coriolis matrix, log
det.

Gradients are in the tangent sense: along dof c means along `g.integrate(q, t e_c)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soacraft.analysis.finite import refusing_overflow
from soacraft.dynamics.arguments import check_loops, read_graph, read_problem
from soacraft.dynamics.engine import answer
from soacraft.dynamics.inertias import log_det_mass_matrix
from soacraft.dynamics.quick import also_of_sko, quick
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.tree.graph import Graph
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array, finite


@quick
def mass_matrix_gradient(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The derivatives of the mass matrix along all dofs, (..., nv, nv, nv): [i, j, c] along c. O(nv depth^2).

        d Mcal_ij = S_i* (crf(S_c) R(c) - R(c) crm(S_c)) S_j     c outboard of j, j outboard of or at i
                  = S_i* crf(S_c) R(j) S_j                       c between: outboard of i, inboard of or at j
                  = 0                                            c inboard of or at i

    in the inertial frame (000 Eq. 42 for all dofs together), and dH* where H varies. Any hinge; armature is constant.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import mass_matrix_gradient
    >>> mass_matrix_gradient(sc.load("double_pendulum"), [0.0, np.pi / 2])[..., 1]        # -2 and -1 times sin q2
    array([[-2., -1.],
           [-1.,  0.]])
    """
    p = read_problem("mass_matrix_gradient", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@also_of_sko
@refusing_overflow()
def christoffel(g: Graph, q: Any, *, threads: int | None = None, ignore_loops: bool = False) -> Array:
    """The Christoffel symbols of the first kind (000 Eq. 38), (..., nv, nv, nv): C_i = Gamma_ijk v_j v_k. O(nv^3).

        Gamma_ijk = (d Mcal_ij/dq_k + d Mcal_ik/dq_j - d Mcal_jk/dq_i) / 2

    They need true coordinates: a model with a spherical, free or rolling hinge is refused, since velocities there are
    not rates of coordinates; `coriolis_matrix` works for those too.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import christoffel
    >>> christoffel(sc.load("double_pendulum"), [0.0, np.pi / 2])[0, 1, 1]
    np.float64(-1.0)
    """
    p = read_problem("christoffel", g, q=q, threads=threads, ignore_loops=ignore_loops)
    for body in p.layout.bodies:
        if body.hinge.nq != body.hinge.nv or not body.hinge.holonomic:
            raise ModelError(
                f"christoffel: the velocities of hinge {body.hinge_name!r} ({body.hinge!r}) are not rates of "
                "coordinates, so there are no Christoffel symbols; use coriolis_matrix, or a Gimbal instead."
            )
    d = mass_matrix_gradient(g, p.full("q"), threads=threads, ignore_loops=ignore_loops)
    return np.asarray(0.5 * (d + np.swapaxes(d, -1, -2) - np.moveaxis(d, -1, -3)))


@quick
def coriolis_matrix(
    g: Graph, q: Any, v: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """A Coriolis matrix (..., nv, nv) with d/dt Mcal - 2 C skew, for any hinge. O(nv depth).

        C = H phi (M d/dt(phi* H*) + Bh phi* H*),   Bh(k) = -[[n~, f~], [f~, 0]],   [n; f] = M V     (formula F8)

    C v is the bias force without gravity and external forces, with quasi-velocities too. For true coordinates it is
    that of the Christoffel symbols up to a matrix that leaves both properties alone. A sub-graph's anchor is taken to
    be at rest.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import coriolis_matrix
    >>> coriolis_matrix(sc.load("double_pendulum"), [0.0, np.pi / 2], [0.0, 2.0]).round(12) + 0.0
    array([[-2., -2.],
           [ 0.,  0.]])
    """
    p = read_problem("coriolis_matrix", g, q=q, v=v, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def log_det_gradient(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The gradient of log det Mcal along all dofs together (000 Eq. 48), (..., nv). O(n).

        Y = phi*(p,c) Upsilon(p) phi(p,c),    gradient_c = -2 tr(crm(H*_c) Y P+(c)) + 2 tr(G*(c) (I - Y P+(c)) dH*_c)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import log_det_gradient
    >>> log_det_gradient(sc.load("double_pendulum"), [0.3, np.pi / 4]) + 0.0          # det = 1 + sin^2 q2
    array([0.        , 0.66666667])
    """
    p = read_problem("log_det_gradient", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@also_of_sko
@refusing_overflow()
def fixman_potential(g: Graph, q: Any, kT: float = 1.0, *, ignore_loops: bool = False) -> Any:
    """The Fixman potential (kT/2) log det Mcal (...): it undoes the bias that rigid constraints put on a distribution.
    At kT = 1 it is half of what 000 Eq. 47 prints, which is `sc.dynamics.log_det_mass_matrix`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import fixman_potential
    >>> fixman_potential(sc.load("double_pendulum"), [0.0, np.pi / 2], kT=2.0)        # log 2
    np.float64(0.6931471805599453)
    """
    check_loops("fixman_potential", read_graph("fixman_potential", g), ignore_loops)
    half = 0.5 * _temperature(kT)
    return half * log_det_mass_matrix(g, q, ignore_loops=ignore_loops)


def fixman_force(g: Graph, q: Any, kT: float = 1.0, *, ignore_loops: bool = False) -> Array:
    """The generalized force -(kT/2) d log det Mcal of the Fixman potential, (..., nv). O(n).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft.analysis import fixman_force
    >>> fixman_force(sc.load("double_pendulum"), [0.3, np.pi / 4], kT=2.0) + 0.0
    array([ 0.        , -0.66666667])
    """
    if isinstance(g, SKOModel):
        # operators take long to load
        from soacraft.dynamics.sko import of_sko

        return np.asarray(of_sko("fixman_force", g, (q, kT), {"ignore_loops": ignore_loops}))
    half = 0.5 * _temperature(kT)
    try:
        if ignore_loops is False:  # without a keyword, which would cost as much as the rest of this function
            gradient = log_det_gradient(g, q)
        else:
            gradient = log_det_gradient(g, q, ignore_loops=ignore_loops)
    except (LoopError, ModelError):
        check_loops("fixman_force", read_graph("fixman_force", g), ignore_loops)  # the same, of this function
        raise
    if half <= 1.0:
        return gradient.dot(-half)  # a number: in half the time of a product
    with np.errstate(over="ignore"):
        return finite_or_refused(-half * gradient, "the result of fixman_force")


def _temperature(kT: Any) -> float:
    value = kT if type(kT) is float and math.isfinite(kT) else float(finite(kT, (), "kT", StateError))
    if value < 0.0:
        raise StateError(f"kT must not be negative, got {value:g}.")
    return value
