"""Derivatives of inverse and forward dynamics: analytic, in the tangent space."""

from __future__ import annotations

from typing import Any

from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.engine import answers
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.quick import quick
from soacraft.errors import StateError
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

Three = tuple[Array, Array, Array]


@quick
def inverse_dynamics_derivatives(
    g: Graph,
    q: Any,
    v: Any,
    vdot: Any,
    f_ext: Any = None,
    *,
    out: Three | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> Three:
    """The derivatives (dq, dv, dvdot) of `inverse_dynamics`, each (..., nv, nv). O(n nv).

        dq[i, j] = dT_i along dof j,  that is, along integrate(q, t e_j);   dvdot = Mcal

    Exact for every hinge: also where H varies (universal, gimbal, planar, screws) and with quasi-velocities (spherical,
    free). Forces in node axes move with their node; forces expressed in another frame keep that frame's axes. A rolling
    ball is refused: its position is not a function of its dofs, so there is no tangent space of nv dimensions. The
    model's own springs, dampers and gravity compensation take part, unless `passive=False`.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dq, dv, dvdot = dyn.inverse_dynamics_derivatives(sc.load("pendulum"), [0.0], [1.0], [0.0])
    >>> dq, dvdot                                       # m g l and m l^2
    (array([[9.81]]), array([[1.]]))
    """
    p = read_problem(
        "inverse_dynamics_derivatives",
        g,
        q=q,
        v=v,
        vdot=vdot,
        f_ext=f_ext,
        stored=True,
        threads=threads,
        passive=passive,
        ignore_loops=ignore_loops,
    )
    return _three(p, out)


@quick
def forward_dynamics_derivatives(
    g: Graph,
    q: Any,
    v: Any,
    force: Any,
    f_ext: Any = None,
    *,
    out: Three | None = None,
    threads: int | None = None,
    passive: bool = True,
    ignore_loops: bool = False,
) -> Three:
    """The derivatives (dq, dv, dforce) of `forward_dynamics`, each (..., nv, nv). O(n nv).

        d vdot = -Mcal^-1 (dT at vdot held),   dforce = Mcal^-1

    by articulated-body solves on the columns of the inverse-dynamics derivatives; otherwise as those.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> from soacraft import dynamics as dyn
    >>> dq, dv, dforce = dyn.forward_dynamics_derivatives(sc.load("pendulum"), [0.0], [1.0], [0.0])
    >>> dq, dforce
    (array([[-9.81]]), array([[1.]]))
    """
    p = read_problem(
        "forward_dynamics_derivatives",
        g,
        q=q,
        v=v,
        force=force,
        f_ext=f_ext,
        stored=True,
        threads=threads,
        passive=passive,
        ignore_loops=ignore_loops,
    )
    return _three(p, out)


def refuse_nonholonomic(p: Problem) -> None:
    """Raise `StateError` for a hinge whose dofs do not span the ways its position can vary."""
    for body in p.layout.bodies:
        if not body.hinge.holonomic:
            raise StateError(
                f"{p.function} of {p.graph.name!r}: hinge {body.hinge_name!r} ({body.hinge!r}) is nonholonomic, so its "
                f"{body.hinge.nv} dofs do not span the ways its position can vary and derivatives along dofs alone "
                "would not be the linearization. Take a sub-graph without it, or another hinge; or attach its body by "
                "a Free hinge and close a loop by this one: loops.linearize takes that."
            )


def _three(p: Problem, out: Any) -> Three:
    refuse_nonholonomic(p)
    parts = answers(p, out)
    return parts[0], parts[1], parts[2]
