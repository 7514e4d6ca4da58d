"""Balance of a robot in motion on its contacts: zero moment point, capture point, tip-over margin.

The ground gives the remaining force: the forces through the hinges of the base bodies, as inverse dynamics of the
tree has them, add up to [n; f] = rate of momentum - gravity - external forces kept with the model. Forces inside of the
robot, of motors and closures, are no part of it; rotors (armature) have no momentum of their own here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.finite import refusing_overflow
from soacraft.errors import StateError
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.robot.standing.stability import across, hull
from soacraft.spatial.checks import Array, finite


@refusing_overflow()
def ground_wrench(mb: Multibody | Robot, q: Any, v: Any, vdot: Any, point: Any = (0.0, 0.0, 0.0)) -> Array:
    """Wrench of the ground on a robot in a motion, [moment about a point; force] in inertial axes, (..., 6). O(n).

        f = m (cddot - g),     n = d/dt (angular momentum about p) - (c - p) x m g,     less stored external forces

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("biped")
    >>> w = sc.robot.ground_wrench(mb, mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    >>> bool(np.isclose(w[5], -mb.total_mass * mb.gravity[2]))
    True
    """
    mb = _model(mb)
    q, v, vdot = read_q(mb, q), read_v(mb, v), read_v(mb, vdot, "vdot")
    p = finite(point, (..., 3), "point", StateError)
    f = dyn.interbody_forces(mb, q, v, vdot, expressed_in="inertial", ignore_loops=True)
    places = dyn.poses(mb, q).translation
    total: Any = np.zeros(6)
    for k in mb.layout.tree.children(-1):
        one, at = np.asarray(f)[..., k, :], np.asarray(places)[..., k, :] - p
        moment = one[..., :3] + np.cross(at, one[..., 3:])
        total = total + np.concatenate([moment, np.broadcast_to(one[..., 3:], moment.shape)], axis=-1)
    return np.asarray(total)


@refusing_overflow()
def zero_moment_point(
    mb: Multibody | Robot, q: Any, v: Any, vdot: Any, point: Any = (0.0, 0.0, 0.0), normal: Any = None
) -> Array:
    """Point at which the forces of the ground have no moment along a plane through `point`, (..., 3). O(n).

        z = p + u x n / (u . f),     [n; f] = `ground_wrench` about p,    u the normal of the plane

    The plane is across gravity by default; `normal`, out of the ground, is that of a slope.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("biped")
    >>> z = sc.robot.zero_moment_point(mb, mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    >>> bool(np.allclose(z[:2], sc.dynamics.center_of_mass(mb, mb.q)[:2]))     # at rest
    True
    """
    mb = _model(mb)
    u = _out(mb, normal, "so nothing stands")
    p = finite(point, (..., 3), "point", StateError)
    w = ground_wrench(mb, q, v, vdot, p)
    pressed = w[..., 3:] @ u
    if not (pressed > 0.0).all():
        raise StateError("nothing presses on the ground: the robot flies.")
    return np.asarray(p + np.cross(u, w[..., :3]) / pressed[..., None])


@refusing_overflow()
def capture_point(
    mb: Multibody | Robot, q: Any, v: Any, ground: Any = (0.0, 0.0, 0.0), normal: Any = None
) -> Array:
    """Point at which a point foot would have to be for the robot to come to rest over it, (..., 3). O(n).

        c + cdot sqrt(h / g),  seen along gravity on the ground,     h the height of c above the ground, along gravity

    as a linear inverted pendulum falls whose centre of mass goes along the ground (Pratt et al. 2006; on a slope, given
    by `normal`, Kajita's pendulum has the same rate with h along gravity).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("biped")
    >>> x = sc.robot.capture_point(mb, mb.q, np.zeros(mb.nv), ground=(0, 0, -2.0))
    >>> bool(np.allclose(x[:2], sc.dynamics.center_of_mass(mb, mb.q)[:2]))
    True
    """
    mb = _model(mb)
    u = _out(mb, normal, "so nothing falls")
    p = finite(ground, (..., 3), "ground", StateError)
    g = np.asarray(mb.gravity)
    size = float(np.linalg.norm(g))
    up = -g / size
    q, v = read_q(mb, q), read_v(mb, v)
    c = np.asarray(dyn.center_of_mass(mb, q))
    A = np.asarray(dyn.centroidal_momentum_matrix(mb, q))[..., 3:, :]
    cdot = np.squeeze(A @ v[..., None], -1) / mb.total_mass
    height = ((c - p) @ u) / float(up @ u)
    if not (height > 0.0).all():
        raise StateError(f"the centre of mass of {mb.name!r} is not above the ground.")
    x = c + cdot * np.sqrt(height / size)[..., None]
    return np.asarray(x - (((x - p) @ u) / float(up @ u))[..., None] * up)


def tip_over(points: Any, center: Any, force: Any, moment: Any = (0.0, 0.0, 0.0)) -> tuple[float, tuple[int, int]]:
    """The angle by which the net force at the centre of mass may turn before the robot tips over an edge between two of
    its contacts, the least of all edges, less than zero where it tips; and that edge, two of the points.

    `points` (k, 3) in any order; edges are those of their hull seen along the force, which presses on the contacts
    (`Stance.tip_over`, that knows the ground, refuses one that lifts). `force` (3), gravity less m cddot, and `moment`
    (3), less the rate of angular momentum, act at `center` (Papadopoulos and Rey 1996: about each edge the moment
    counts as a force at the centre of mass). O(k log k).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> square = [[1, 1, 0], [-1, 1, 0], [1, -1, 0], [-1, -1, 0.0]]
    >>> angle, edge = sc.robot.tip_over(square, center=(0.5, 0, 1.0), force=(0, 0, -9.81))
    >>> round(float(np.tan(angle)), 9), edge                       # half a metre from the edge, a metre up
    (0.5, (2, 0))
    """
    p = finite(points, (None, 3), "points of contact", StateError)
    c = finite(center, (3,), "center", StateError)
    f = finite(force, (3,), "force", StateError)
    n = finite(moment, (3,), "moment", StateError)
    if len(p) < 3 or not np.linalg.norm(f) > 0.0:
        raise StateError("tipping is over the edges of at least three contacts, under a force that is not zero.")
    around = hull((p - c) @ across(f).T)[1]
    if len(around) < 3:
        raise StateError("tipping is over the edges of at least three contacts that are not on a line.")
    least, which = np.inf, (0, 1)
    for i, j in zip(around.tolist(), np.roll(around, -1).tolist(), strict=True):
        axis = (p[j] - p[i]) / np.linalg.norm(p[j] - p[i])
        arm = p[j] - c - ((p[j] - c) @ axis) * axis  # from the centre of mass to the edge
        far = float(arm @ arm)
        if far == 0.0:
            raise StateError("the centre of mass is on an edge of the contacts: there is no angle to it.")
        push = f - (f @ axis) * axis + np.cross(arm, (n @ axis) * axis) / far
        angle = float(np.arctan2(axis @ np.cross(arm, push), push @ arm))
        if angle < least:
            least, which = angle, (i, j)
    return least, which


def _model(mb: Any) -> Multibody:
    model = mb.mb if isinstance(mb, Robot) else mb
    if not isinstance(model, Multibody):
        raise StateError(f"a Multibody or a Robot is needed, got {mb!r:.60}.")
    return model


def _out(mb: Multibody, normal: Any, so: str) -> Array:
    g = np.asarray(mb.gravity)
    size = float(np.linalg.norm(g))
    if size == 0.0:
        raise StateError(f"{mb.name!r} has no gravity, {so}.")
    if normal is None:
        return np.asarray(-g / size)
    u = finite(normal, (3,), "normal", StateError)
    length = float(np.linalg.norm(u))
    if not length > 0.0 or not u @ g < 0.0:
        raise StateError("the normal of the ground points out of it, against gravity.")
    return np.asarray(u / length)
