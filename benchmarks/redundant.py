"""A contact problem in minimal and in redundant coordinates: the same pose of a robot, the same solver.

Minimal: rows of contacts alone, with the compliance of the tree, N Mcal^-1 N*. Redundant (the fully augmented form,
003 section III-A): every body is free, hinges are equalities in the same problem as the contacts, and the compliance is
that of the bodies, G M^-1 G*. Free bodies without hinges, as spheres and bricks are, have one form only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from contact_scenes import STEP, Scene
from measure import microseconds
from scipy.linalg import null_space

import soacraft as sc
from soacraft.contact import Bilateral, Problem
from soacraft.contact.dynamics.rows import contact_rows
from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.contact.solvers.compiled import solve_cones
from soacraft.contact.solvers.scaling import scaled

TOLERANCE = 1e-8


def compared(scene: Scene, quick: bool) -> list[dict[str, Any]]:
    """Size, time and residual of both forms, for a step of gravity from rest; and how far their motions are apart."""
    mb, q = scene.mb, scene.q
    shapes = sc.contact.Scene(mb)
    rows = contact_rows(shapes, Surfaces(shapes, scene.friction, 0.0, None), q, 1e-4)
    v = STEP * sc.dynamics.forward_dynamics(mb, q, *np.zeros((2, mb.nv)), passive=False)
    inverse = sc.dynamics.mass_matrix_inverse(mb, q)
    minimal = Problem(rows.J @ inverse @ rows.J.T, rows.J @ v, rows.laws)
    redundant, count = _redundant(mb, q, rows)
    times = microseconds({"minimal": _solver(minimal), "redundant": _solver(redundant)}, 2 if quick else 7)
    one, two = (x.solve(tolerance=TOLERANCE, otherwise="report") for x in (minimal, redundant))
    apart = float(np.abs(one.u - two.u[count:]).max())
    return [
        {"form": "minimal", "rows": len(one.u), "us": times["minimal"], "residual": one.residual, "apart": 0.0},
        {"form": "redundant", "rows": len(two.u), "us": times["redundant"], "residual": two.residual, "apart": apart},
    ]


def _solver(x: Problem) -> Callable[[], Any]:
    """The compiled solver alone, from no impulse at all."""
    given = scaled(x.S, x.b, x.laws)
    b = np.ascontiguousarray(given.b)
    return lambda: solve_cones(given.kinds, given.rows, given.bounds, given.S, b, TOLERANCE, np.zeros_like(b))


def _redundant(mb: sc.Multibody, q: np.ndarray, rows: Any) -> tuple[Problem, int]:
    """The problem of free bodies, and how many of its rows are those of hinges, which come first."""
    state = mb.state(q, np.zeros(mb.nv))
    sko = mb.sko(state, axes="inertial")
    nodes = list(sko.nodes)
    at = dict(zip(nodes, np.cumsum([0, *(sko.M(k).shape[0] for k in nodes)]), strict=False))
    size = sum(sko.M(k).shape[0] for k in nodes)
    G, inverse, V = [], np.zeros((size, size)), np.zeros(size)
    for k in nodes:
        mine = slice(at[k], at[k] + sko.M(k).shape[0])
        inverse[mine, mine] = np.linalg.inv(sko.M(k))
        V[mine] = -STEP * np.linalg.solve(sko.M(k), sko.b(k))
        across = null_space(sko.H(k)).T  # what the hinge does not let its body do relative to its parent
        row = np.zeros((len(across), size))
        row[:, mine] = across
        p = sko.parent(k)
        if p is not None and p in at:
            row[:, at[p] : at[p] + sko.M(p).shape[0]] = -across @ sko.A(p, k).T
        G.append(row)
    count = sum(len(x) for x in G)
    c = rows.contacts
    for i, (a, b) in enumerate(c.pairs):
        row = np.zeros((rows.laws[i].rows, size))
        for name, point, sign in ((a, c.point_a[i], -1.0), (b, c.point_b[i], 1.0)):
            body = name.split("/")[0]
            if body == "inertial":
                continue
            k = nodes[[x.name for x in mb.bodies].index(body)]
            arm = point - mb.pose(body, state=state).translation
            for r, n in enumerate(rows.axes[i][: len(row)]):
                row[r, at[k] : at[k] + 6] += sign * np.concatenate([np.cross(arm, n), n])
        G.append(row)
    stacked = np.vstack(G)
    laws = (*(Bilateral(f"hinge row {i}") for i in range(count)), *rows.laws)
    return Problem(stacked @ inverse @ stacked.T, stacked @ V, laws), count
