"""A soacraft model as a MuJoCo model.

MuJoCo's body frame is the outboard hinge frame; joints of one body follow one another in its axes. Quaternions are
w first. A free joint is for base bodies; it has the position and linear velocity in inertial axes, the angular one in
outboard axes. Elsewhere a free hinge is three slides and a ball. Moving bodies need mass, so a product of turns
and slides is several joints in one body; a helical hinge is a turn and a slide, held together by the test.
"""

import mujoco
import numpy as np
from tests.peers.elements import Slide, as_free, elements, free_pose, rolling
from tests.peers.peer import Part, Peer, constant

import soacraft as sc

HINGE, SLIDE, BALL, FREE = (getattr(mujoco.mjtJoint, f"mjJNT_{kind}") for kind in ("HINGE", "SLIDE", "BALL", "FREE"))
NQ = {HINGE: 1, SLIDE: 1, BALL: 4, FREE: 7}
NW = {HINGE: 1, SLIDE: 1, BALL: 3, FREE: 6}


class InMujoco(Peer):
    """A model at its current state in MuJoCo."""

    def __init__(self, mb):
        spec = empty(mb)
        carriers = {mb.root: (spec.worldbody, sc.Pose())}
        joints = {body: add(carriers, body) for body in mb.bodies}
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        super().__init__(self.model.nv, mb.nv)
        for body, kinds in joints.items():
            part = coordinates(body, kinds, mb.q[body.q_slice], mb.v[body.v_slice])
            where = [self.model.joint(f"{body.name}.{i}") for i in range(len(kinds))]
            self.data.qpos[rows((x.qposadr[0], NQ[k]) for x, k in zip(where, kinds, strict=True))] = part.q
            own = rows((x.dofadr[0], NW[k]) for x, k in zip(where, kinds, strict=True))
            self.put(own, np.arange(mb.nv)[body.v_slice], part)
        self.data.qvel[:] = self.N @ mb.v
        mujoco.mj_forward(self.model, self.data)

    def own_mass_matrix(self):
        M = np.zeros((self.model.nv, self.model.nv))
        for column, one in zip(M, np.eye(self.model.nv), strict=True):
            mujoco.mj_mulM(self.model, self.data, column, one)
        return M.T

    def own_bias(self):
        return self.data.qfrc_bias.copy()

    def own_inverse(self, wdot):
        self.data.qacc[:] = wdot
        mujoco.mj_inverse(self.model, self.data)
        return self.data.qfrc_inverse.copy()

    def own_forward(self, force):
        self.data.qfrc_applied[:] = force
        mujoco.mj_forward(self.model, self.data)
        return self.data.qacc.copy()

    def own_jacobian(self, node, axes):
        site = self.model.site(node.full_name).id
        J = np.zeros((2, 3, self.model.nv))
        mujoco.mj_jacSite(self.model, self.data, J[1], J[0], site)
        R = self.data.site_xmat[site].reshape(3, 3) if axes == "body" else np.eye(3)
        return (R.T @ J).reshape(6, -1)


def empty(mb):
    """A MuJoCo model with the gravity of ours and nothing that MuJoCo adds by itself."""
    spec = mujoco.MjSpec()
    spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    spec.compiler.degree = False
    spec.option.gravity = mb.gravity
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_CONTACT
    return spec


def add(carriers, body):
    """Add a body with its joints, inertia and nodes; the kinds of its joints in order."""
    parent, on_parent = carriers[body.parent]
    place = on_parent @ body.inboard
    mine = parent.add_body(name=body.name, pos=place.translation, quat=w_first(place.as_quaternion()))
    kinds = []
    for i, (kind, options) in enumerate(joints_of(body)):
        mine.add_joint(name=f"{body.name}.{i}", type=kind, **options)
        kinds.append(kind)
    inertia, at = body.inertia, body.outboard
    J = at.rotation @ inertia.moment @ at.rotation.T
    mine.mass, mine.ipos, mine.explicitinertial = inertia.mass, at @ inertia.com, True
    mine.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    for node in body.nodes:
        pose = at @ node.pose
        mine.add_site(name=node.full_name, pos=pose.translation, quat=w_first(pose.as_quaternion()))
    carriers[body] = mine, at
    return kinds


def joints_of(body):
    """MuJoCo's joints of a body, inboard first: (kind, its options)."""
    match body.hinge:
        case sc.Spherical():
            return [(BALL, {})]
        case sc.Free() | sc.RollingBall():
            if isinstance(body.hinge, sc.Free) and body.parent is body.graph.root:
                return [(FREE, {})]
            return [*((SLIDE, {"axis": axis}) for axis in np.eye(3)), (BALL, {})]
    joints = []
    for element in elements(body.hinge):
        if isinstance(element, Slide):
            joints.append((SLIDE, {"axis": element.axis}))
        else:
            joints.append((HINGE, {"axis": element.axis, "pos": element.point}))
            if element.pitch:
                joints.append((SLIDE, {"axis": element.axis}))
    return joints


def coordinates(body, kinds, q, v):
    """The coordinates and velocities of one hinge in MuJoCo."""
    match body.hinge:
        case sc.Spherical():
            return constant(w_first(q), np.eye(3))
        case sc.Free():
            return floating(q, v, np.eye(6), np.zeros(6), body.inboard if kinds == [FREE] else sc.Pose())
        case sc.RollingBall():
            N, n = rolling(body.hinge, q, v)
            return floating(as_free(body.hinge, q), N @ v, N, n, sc.Pose())
    N = np.zeros((len(kinds), len(q)))
    row = 0
    for column, element in enumerate(elements(body.hinge)):
        N[row, column] = element.rate
        row += 1
        if not isinstance(element, Slide) and element.pitch:
            N[row, column] = element.rate * element.pitch
            row += 1
    return constant(N @ q, N)


def floating(q, u, N, n, seen_from):
    """Position, quaternion and [p rate; omega], where u = [omega; v] = N v is the velocity in outboard axes.

    The position's rate is R v and its second rate R (vdot + omega x v).
    """
    pose = seen_from @ free_pose(q)
    R, zero = pose.rotation, np.zeros((3, 3))
    turned = np.block([[zero, R], [np.eye(3), zero]])
    extra = np.concatenate([R @ np.cross(u[:3], u[3:]), np.zeros(3)])
    return Part(np.concatenate([pose.translation, w_first(pose.as_quaternion())]), turned @ N, turned @ n + extra)


def rows(places):
    """Row numbers of (start, count) pairs."""
    return np.array([start + i for start, count in places for i in range(count)], dtype=int)


def w_first(quaternion):
    """[x, y, z, w] as [w, x, y, z]."""
    return np.roll(quaternion, 1)
