"""The mass matrix: itself, its inverse, products with both, its determinant; composite inertias."""

from __future__ import annotations

from typing import Any

from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.engine import answer
from soacraft.dynamics.per_body import BodyArray
from soacraft.dynamics.quick import quick
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


@quick
def mass_matrix(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The mass matrix (..., nv, nv) by composite bodies. O(n depth), at most O(nv^2).

        Mcal = H phi M phi* H* = H (phi R + R phi* - R) H*                      (000 Eq. 16 and 20, 004 Algorithm 4.2)

    Armature J is on its diagonal: M(k) is diag(M, J) and H(k) is [H  I] for a hinge that has some.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.mass_matrix(sc.load("double_pendulum"), [0.0, 0.0])
    array([[5., 2.],
           [2., 1.]])
    """
    p = read_problem("mass_matrix", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def mass_matrix_inverse(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The inverse of the mass matrix (..., nv, nv), without forming the mass matrix. O(n nv).

        Mcal^-1 = (I - H psi K)* D^-1 (I - H psi K)                                                (000 Eq. 30)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.mass_matrix_inverse(sc.load("double_pendulum"), [0.0, 0.0])
    array([[ 1., -2.],
           [-2.,  5.]])
    """
    p = read_problem("mass_matrix_inverse", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def mass_matrix_multiply(
    g: Graph, q: Any, x: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """Mcal x for vectors x (..., nv) by two sweeps. O(n).

        H phi M phi* H* x                                                                          (000 Eq. 16)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.mass_matrix_multiply(sc.load("double_pendulum"), [0.0, 0.0], [1.0, 1.0])
    array([7., 3.])
    """
    p = read_problem("mass_matrix_multiply", g, q=q, x=x, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def mass_matrix_solve(
    g: Graph, q: Any, x: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """Mcal^-1 x for vectors x (..., nv) by articulated bodies. O(n).

        (I - H psi K)* D^-1 (I - H psi K) x                                                        (000 Eq. 30)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.mass_matrix_solve(sc.load("double_pendulum"), [0.0, 0.0], [7.0, 3.0])
    array([1., 1.])
    """
    p = read_problem("mass_matrix_solve", g, q=q, x=x, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def log_det_mass_matrix(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Any:
    """log det Mcal, a number for each state: the Fixman potential but for its factor. O(n).

        log det Mcal = sum over bodies of log det D(k)                                  (000 Eq. 47, 004 Eq. 53)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> float(dyn.log_det_mass_matrix(sc.load("double_pendulum"), [0.0, np.pi / 2]).round(12))   # det = 2
    0.69314718056
    """
    p = read_problem("log_det_mass_matrix", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)[()]


@quick
def composite_inertia(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> BodyArray:
    """R(k), the inertia of each body and all outboard of it taken as one rigid body, (..., n, 6, 6). O(n).

        R(k) = sum over children j of phi(k,j) R(j) phi*(k,j)  +  M(k)                             (000 Eq. 19)

    In the axes and about the origin of body k's frame, [[J, m c~], [-m c~, m I]]. R of a base body includes all bodies
    outboard of it. Armature is no part of it.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> float(dyn.composite_inertia(sc.load("double_pendulum"), [0.0, 0.0])["upper"][5, 5])       # kg
    2.0
    """
    p = read_problem("composite_inertia", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return BodyArray(g, answer(p, out), "composite inertias", "each body's own axes", rank=2)
