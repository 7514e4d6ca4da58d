"""The model as a whole: centre of mass, energies, momentum."""

from __future__ import annotations

from typing import Any

from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.engine import answer
from soacraft.dynamics.quick import quick
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array


@quick
def center_of_mass(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The centre of mass in the inertial frame, (..., 3). O(n).

        c = sum m(k) c(k) / sum m(k)

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.center_of_mass(sc.load("double_pendulum"), [0.0, 0.0])
    array([ 0. ,  0. , -1.5])
    """
    p = read_problem("center_of_mass", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def kinetic_energy(
    g: Graph, q: Any, v: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Any:
    """The kinetic energy, a number for each state. O(n).

        V* M V / 2 + v* J v / 2  ( = v* Mcal v / 2, unless the anchor of a sub-graph moves);   J is the armature

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> float(dyn.kinetic_energy(sc.load("double_pendulum"), [0.0, 0.0], [1.0, 0.0]))
    2.5
    """
    p = read_problem("kinetic_energy", g, q=q, v=v, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)[()]


@quick
def potential_energy(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Any:
    """The potential energy of gravity, a number for each state; zero for masses at the inertial origin. O(n).

        -sum m(k) g.c(k);    its gradient in the tangent sense is `gravity_force`

    Springs and gravity compensation have an energy of their own: `passive_energy`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> float(dyn.potential_energy(sc.load("double_pendulum"), [0.0, 0.0]))
    -29.43
    """
    p = read_problem("potential_energy", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)[()]


@quick
def passive_energy(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Any:
    """The energy of springs in hinges and tendons and of gravity compensation, a number for each state. O(n).

        sum of stiffness (q - rest)^2 / 2  +  sum of compensation m g.c

    Minus its gradient is `passive_force` at rest, where the three turns, and the three travels, of a spherical or free
    hinge are equally stiff. With it, kinetic and potential energy a model without dampers keeps its energy.

    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> mb = sc.load("pendulum")
    >>> mb["bob"].passive = sc.Passive(stiffness=10.0, rest=[0.1])
    >>> float(dyn.passive_energy(mb, [0.3]).round(12))
    0.2
    """
    p = read_problem("passive_energy", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)[()]


@quick
def momentum(
    g: Graph, q: Any, v: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The spatial momentum [angular; linear] about the inertial origin, in inertial axes, (..., 6). O(n).

        h = sum phi(0,k) M(k) V(k);    armature has none

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.momentum(sc.load("pendulum"), [0.0], [2.0]) + 0.0
    array([ 0., -2.,  0.,  2.,  0.,  0.])
    """
    p = read_problem("momentum", g, q=q, v=v, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)


@quick
def centroidal_momentum_matrix(
    g: Graph, q: Any, *, out: Array | None = None, threads: int | None = None, ignore_loops: bool = False
) -> Array:
    """The matrix (..., 6, nv) from v to the momentum about the centre of mass c, in inertial axes. O(n).

        phi(c,k) R(k) H*(k)  in the columns of hinge k;   angular rows: about c,   linear rows: total mass times Jc

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dyn.centroidal_momentum_matrix(sc.load("double_pendulum"), [0.0, 0.0])[3]                 # linear, along x
    array([3., 1.])
    """
    p = read_problem("centroidal_momentum_matrix", g, q=q, threads=threads, ignore_loops=ignore_loops)
    return answer(p, out)
