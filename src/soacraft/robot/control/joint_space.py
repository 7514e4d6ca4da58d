"""Laws in the dofs of a robot: a state and where it should be in, a generalized force out.

    computed torque    T = Mcal vdot + C,  vdot as in `control.approach`    gives    eddot + K_d edot + K_p e = 0
    decoupled          T = m (nudot_d + C_nu + load_nu - k nu) + K_p e      gives    nudot = nudot_d - k nu + m^-1 K_p e

e = difference(q, q_d). nu = m* v are velocities in which the mass matrix is the identity (000 Eq. 28-29): each nu_i is
damped by itself, and the kinetic energy |nu|^2 / 2 falls at the rate nu* k nu. They are those of `analysis.diagonalize`
for hinges that only turn or only slide. Where a hinge does both, the symmetric root of D in m depends on the unit of
length, and the law with it; so D is counted in the sizes s of dofs, radians and lengths of the model:

    nu = N eta,     N = (s D s)^1/2 s^-1,     N* N = D,     D etadot + C_eta + load_eta = (I - H psi K) T
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.analysis.diagonalize import diagonalize
from soacraft.analysis.finite import refusing_overflow
from soacraft.analysis.innovations import rate_of_root, root_of
from soacraft.errors import StateError
from soacraft.model.states.coordinates import common_batch, in_graph_order, read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.approach import Approach, approach
from soacraft.robot.control.compensation import Payload, feed_forward
from soacraft.robot.control.freedoms import freedom, gain, model_of, motors_of, sizes_of_dofs, tree_of
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

Target = tuple[Any, Any, Any]


@refusing_overflow()
def computed_torque(
    robot: Robot,
    q: Any,
    v: Any,
    target: Target,
    kp: Any,
    kd: Any,
    *,
    payload: Payload | None = None,
    friction: bool = False,
    actuated: Any = None,
) -> Array:
    """The force under which the way to a target goes as eddot + kd edot + kp e = 0, e = difference(q, q_d), (..., nv).

    `target` is (q_d, v_d, vdot_d), where v_d and vdot_d are those of the robot at q_d: of a free or spherical hinge in
    the axes of the target. Gains are numbers, one for each dof, or matrices (nv, nv). The equation is exact for every
    hinge that has a difference; a turn e is one of at most pi. It holds for the dofs with a motor (`actuated` as for
    `gravity`), and the others go as they will (partial feedback linearization, collocated; Spong 1994). In a closed
    chain it holds for as many of them as are independent, and the others follow. `payload` and `friction` as for
    `feed_forward`. O(n + nv^2), with loops O(nv^3).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("double_pendulum"))
    >>> q, v = np.array([0.3, 0.1]), np.array([1.0, -2.0])
    >>> T = sc.robot.computed_torque(rb, q, v, ([0.5, 0.5], [0, 0], [0, 0]), kp=25.0, kd=10.0)
    >>> vdot = sc.dynamics.forward_dynamics(rb.mb, q, v, T)
    >>> bool(np.allclose(vdot, 25.0 * ([0.5, 0.5] - q) - 10.0 * v))
    True
    """
    mb = model_of(robot)
    q, v, to, vdot = _towards(mb, q, v, target, kp, kd)
    if not mb.is_closed and to.decides(motors_of(robot, actuated)):
        return feed_forward(robot, q, v, vdot, payload=payload, friction=friction, actuated=actuated)
    if payload is not None and not mb.is_closed:
        raise StateError(
            f"a hinge of {mb.name!r} has a motor at some of its dofs, and a payload moves the others: attach it to the "
            "model, rb.attach(...)."
        )
    T = np.empty(v.shape)
    for at in np.ndindex(*v.shape[:-1]):
        a = to.at(at).chosen(freedom(robot, q[at], v[at], actuated), vdot[at])
        T[at] = feed_forward(robot, q[at], v[at], a, payload=payload, friction=friction, actuated=actuated)
    return T


def _towards(
    mb: Multibody, q: Any, v: Any, target: Target, kp: Any, kd: Any
) -> tuple[Array, Array, Approach, Array]:
    """q and v with the leading axes of all, the way to the target, and the accelerations that go it, (..., nv)."""
    if not isinstance(target, tuple | list) or len(target) != 3:
        raise StateError(f"a target is (q_d, v_d, vdot_d), got {target!r:.60}.")
    q_d, v_d, a_d = target
    arrays = dict(q=read_q(mb, q), v=read_v(mb, v), q_d=read_q(mb, q_d, "q_d"), v_d=read_v(mb, v_d, "v_d"),
                 vdot_d=read_v(mb, a_d, "vdot_d"))  # fmt: skip
    batch = common_batch(**arrays)
    q, v, q_d, v_d, a_d = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in arrays.values())
    to = approach(mb, q, v, q_d, v_d)
    kp, kd = in_graph_order(mb, kp, "kp"), in_graph_order(mb, kd, "kd")
    return q, v, to, to.acceleration(gain(kd, to.edot, "kd") + gain(kp, to.e, "kp"), a_d)


def way(robot: Robot, q: Array, q_d: Array) -> Array:
    """difference(q, q_d) with leading axes of both, (..., nv)."""
    mb = robot.mb
    batch = common_batch(q=q, q_d=q_d)
    return np.asarray(mb.difference(np.broadcast_to(q, (*batch, mb.nq)), np.broadcast_to(q_d, (*batch, mb.nq))))


@refusing_overflow()
def decoupled(
    robot: Robot,
    q: Any,
    v: Any,
    damping: Any,
    *,
    q_d: Any = None,
    kp: Any = 0.0,
    nudot: Any = 0.0,
    actuated: Any = None,
) -> Array:
    """The force under which each velocity nu_i in which the mass matrix is the identity is damped by itself, (..., nv).

        nudot = nudot_d - k nu + m^-1 K_p e,     e = difference(q, q_d)

    nu is that of `analysis.diagonalize` with lengths counted in that of the model, so that units do not matter.
    `damping` k in 1/s is a number, one for each nu, or a matrix. A spring `kp` (a number, numbers or a symmetric
    matrix) pulls to q_d. With true coordinates the energy |nu|^2 / 2 + e* K_p e / 2 then changes at the rate -nu* k nu,
    so that it never grows: with no spring and one k for all, the kinetic energy falls as exp(-2 k t). Trees alone, with
    a motor at every dof (`actuated` as for `gravity`); others are refused. O(n).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("double_pendulum"))
    >>> q, v = np.array([0.3, 0.1]), np.array([1.0, -2.0])
    >>> T = sc.robot.decoupled(rb, q, v, damping=3.0)
    >>> weight = sc.dynamics.gravity_force(rb.mb, q)
    >>> bool(np.isclose(v @ (T - weight), -6.0 * sc.dynamics.kinetic_energy(rb.mb, q, v)))   # power
    True
    """
    mb = tree_of(robot, "decoupled")
    idle = ~motors_of(robot, actuated)
    if idle.any():
        raise StateError(
            f"decoupled needs a motor at every dof of {mb.name!r}, and {mb.dof_names[int(np.argmax(idle))]!r} has "
            "none: name all that have one, actuated=[...], or take computed_torque, which lets the others go."
        )
    q, v = read_q(mb, q), read_v(mb, v)
    d, sizes = diagonalize(mb, q, v), sizes_of_dofs(mb)
    nudot, damping, kp = (
        in_graph_order(mb, x, what) for x, what in ((nudot, "nudot"), (damping, "damping"), (kp, "kp"))
    )
    wanted = finite(nudot, (...,), "nudot", StateError)
    if wanted.ndim and wanted.shape[-1] != mb.nv:
        raise StateError(f"nudot of {mb.name!r} is one number or {mb.nv}, got shape {wanted.shape}.")
    hinges = ((body.name, dofs) for body, dofs in zip(mb.bodies, mb.layout.hinge_v, strict=True) if body.hinge.nv)
    roots = [(dofs, *_root(d.D[name], d.D_rate[name], sizes[dofs])) for name, dofs in hinges]
    nu, turning = np.empty_like(d.eta), np.empty_like(d.eta)  # N eta, Ndot eta
    for dofs, N, N_dot in roots:
        eta = d.eta[..., dofs, None]
        nu[..., dofs], turning[..., dofs] = (N @ eta)[..., 0], (N_dot @ eta)[..., 0]
    push = np.asarray(wanted - gain(damping, nu, "damping") - turning)  # N etadot, of which D etadot is N* times
    for dofs, N, _ in roots:
        push[..., dofs] = (N.mT @ push[..., dofs, None])[..., 0]
    T = d.force_of(push + d.C_eta + d.load_eta, normalized=False)
    if q_d is not None:
        T = T + gain(kp, way(robot, q, read_q(mb, q_d, "q_d")), "kp")
    elif np.any(kp):
        raise StateError("decoupled has a spring kp, and no q_d that it pulls to.")
    return np.asarray(T)


def _root(D: Array, D_rate: Array, sizes: Array) -> tuple[Array, Array]:
    """N = (s D s)^1/2 s^-1 and its rate."""
    square = sizes[:, None] * sizes
    r, U = root_of(square * D)
    return (U * r[..., None, :]) @ U.mT / sizes, rate_of_root(r, U, square * D_rate) / sizes
