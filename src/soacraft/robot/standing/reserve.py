"""Reserve of contacts that hold a robot, by their friction cones themselves: a second-order cone program.

    most t   with   sum f = -m g,   sum p x f = -c x m g,   |f_t| <= mu (f_n - t)   at every contact

t is what every contact could press less by, in weights of the robot: negative where no forces inside the cones hold it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.results import finite_or_refused
from soacraft.robot.grasping.cones import cone_program
from soacraft.robot.standing.stability import across, contacts, stuck, tangents
from soacraft.spatial.checks import Array, finite

#: Part of the weight of the robot below which a force is rounding.
ROUNDING = 1e-9
#: Equations in which nothing has more than this part of the largest number are none.
_RANK = 1e-12
#: The most that is looked for: contacts that face each other could press as they like.
MOST = 1.0


@np.errstate(all="ignore")
def reserve(points: Any, normals: Any, friction: Any, gravity: Any, center: Any = None) -> float:
    """t for contacts with points and normals (k, 3), friction one number or k, and a centre of mass (3), or the one for
    which it is most; at most 1, and minus infinity where not even forces that pull balance the robot. O(k^3).

    >>> import numpy as np
    >>> x, mu = 0.2, 0.5                                               # a block on four feet on a slope
    >>> feet, up = np.array([[1.0, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]]), np.tile([0.0, 0, 1], (4, 1))
    >>> t = reserve(feet, up, mu, [np.sin(x), 0, -np.cos(x)], [0, 0, 0])
    >>> bool(np.isclose(t, (np.cos(x) - np.sin(x) / mu) / 4))
    True
    """
    p, n, mu = contacts(points, normals, friction)
    g = finite(gravity, (3,), "gravity", StateError)
    axes, down = across(g), g / np.linalg.norm(g)
    middle = p.mean(axis=0)
    size = float(np.linalg.norm(p - middle, axis=1).max()) or 1.0
    if center is None:  # unknowns: where c is along the axes, in sizes of the stance
        c, shift = np.zeros(3), np.concatenate([np.zeros((3, 2)), np.cross(axes, down).T])
    else:
        c, shift = (finite(center, (3,), "the centre of mass", StateError) - middle) / size, np.zeros((6, 0))
    forces, G, h, rays, cones = _cones((p - middle) / size, n, stuck(mu), shift.shape[1])
    A = np.concatenate([forces, shift, np.zeros((6, 1))], axis=1)  # the last unknown is t
    b = -np.concatenate([down, np.cross(c, down)])
    most = finite_or_refused(np.array(np.linalg.norm(b)), "the moment of the weight of a robot about its contacts")
    U, values, V = np.linalg.svd(A, full_matrices=False)
    nonzero = values > _RANK * values[0]
    U = U[:, nonzero]
    if np.linalg.norm(b - U @ (U.T @ b)) > ROUNDING * most:
        return -np.inf
    solution = cone_program(-np.eye(A.shape[1])[-1], V[nonzero], U.T @ b / values[nonzero], G, h, rays, cones)
    return float(solution.x[-1])


def _cones(p: Array, n: Array, mu: Array, more: int) -> tuple[Array, Array, Array, int, list[int]]:
    """Columns [force; moment] of the forces of contacts, (6, m), and G x + s = h for all unknowns: 1 - t, and f_n - t
    of contacts without friction, are not negative; then of each with friction [f_n - t; f_t / mu] is in a cone."""
    columns: list[Array] = []
    flat: list[Array] = []
    round_: list[Array] = []
    count = int(np.where(mu > 0.0, 3, 1).sum()) + more + 1
    for point, normal, each in zip(p, n, mu, strict=True):
        unit = np.minimum(1.0, each)  # of forces along the ground: columns are of about one size
        directions = [normal, *(unit * tangents(normal))] if each > 0.0 else [normal]
        rows = np.zeros((len(directions), count))
        rows[0, len(columns)], rows[0, -1] = 1.0, -1.0
        for i in range(1, len(directions)):
            rows[i, len(columns) + i] = unit / each
        (round_ if each > 0.0 else flat).append(rows)
        columns += [np.concatenate([x, np.cross(point, x)]) for x in directions]
    last = np.zeros((1, count))
    last[0, -1] = -1.0
    G = -np.concatenate([last, *flat, *round_])
    h = np.zeros(len(G))
    h[0] = MOST
    return np.array(columns).T, G, h, 1 + len(flat), [3] * len(round_)
