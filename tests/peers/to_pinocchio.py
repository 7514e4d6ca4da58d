"""A soacraft model as a Pinocchio model.

Pinocchio's spatial vectors are linear first; a free-flyer's coordinates are [position, quaternion xyzw] and its
velocity [v; omega] in outboard axes. Its planar joint has (x, y, cos, sin) and its velocity in outboard axes. Welded
bodies are put on the joint they move with. Joints are added branch by branch: the joints outboard of one must be
numbered in a row behind it.
"""

from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from tests.peers.elements import Slide, X, Y, Z, as_free, placed, rolling
from tests.peers.peer import Part, Peer, constant

import soacraft as sc

SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]  # angular first <-> linear first


class InPinocchio(Peer):
    """A model at its current state in Pinocchio.

    `products="native"` uses one joint for each hinge: Pinocchio's own where it has one, a composite joint elsewhere.
    `products="chain"` makes every product of turns and slides a chain of one-dof joints with massless bodies,
    "unbounded" the same, with the coordinates (cos, sin) for turns about x, y and z.
    """

    def __init__(self, mb, products="native"):
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.concatenate([mb.gravity, np.zeros(3)]))
        self._carriers = {mb.root: (0, sc.Pose())}  # the joint a frame moves with, and the frame's pose on it
        parts = {body: self._add(mb, body, products) for base in mb.root.children for body in base.subtree()}
        super().__init__(self.model.nv, mb.nv)
        w, self.q = 0, np.concatenate([np.zeros(0), *(part.q for part in parts.values())])
        for body, part in parts.items():
            self.put(w + np.arange(len(part.n)), np.arange(mb.nv)[body.v_slice], part)
            w += len(part.n)
        self.w = self.N @ mb.v
        self.data = self.model.createData()

    def _add(self, mb, body, products):
        """Add one body with its joints, inertia and nodes."""
        parent, on_parent = self._carriers[body.parent]
        q, v = mb.q[body.q_slice], mb.v[body.v_slice]
        joint = joint_of(body.hinge, q, v, products)
        number, before = parent, on_parent @ body.inboard
        for i, (placement, kind) in enumerate(joint.steps):
            number = self.model.addJoint(number, kind, se3(before @ placement), f"{body.name}.{i}")
            before = sc.Pose()
        pose = before @ joint.tail @ body.outboard
        self._carriers[body] = number, pose
        inertia = pin.Inertia(body.inertia.mass, body.inertia.com, body.inertia.moment)
        self.model.appendBodyToJoint(number, inertia, se3(pose))
        for node in body.nodes:
            placement = se3(pose @ node.pose)
            self.model.addFrame(pin.Frame(node.full_name, number, 0, placement, pin.FrameType.OP_FRAME))
        return joint.part

    def own_mass_matrix(self):
        M = pin.crba(self.model, self.data, self.q).reshape(self.model.nv, self.model.nv)
        return np.triu(M) + np.triu(M, 1).T

    def own_bias(self):
        return pin.nonLinearEffects(self.model, self.data, self.q, self.w).copy()

    def own_inverse(self, wdot):
        return pin.rnea(self.model, self.data, self.q, self.w, wdot).copy()

    def own_forward(self, force):
        return pin.aba(self.model, self.data, self.q, self.w, force).copy()

    def own_jacobian(self, node, axes):
        frame = self.model.getFrameId(node.full_name)
        reference = pin.ReferenceFrame.LOCAL if axes == "body" else pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.computeFrameJacobian(self.model, self.data, self.q, frame, reference)
        return SWAP @ J.reshape(6, self.model.nv)  # one column comes as a vector


@dataclass(frozen=True)
class Joint:
    """Pinocchio's joints for one hinge, each behind a placement; the pose that follows the last; the coordinates."""

    steps: list
    part: Part
    tail: sc.Pose = field(default_factory=sc.Pose)


def joint_of(hinge, q, v, products):
    """One hinge in Pinocchio, at coordinates q and velocity v."""
    match hinge:
        case sc.Spherical():
            return single(pin.JointModelSpherical(), constant(q, np.eye(3)))
        case sc.Free():
            return single(pin.JointModelFreeFlyer(), constant([*q[4:], *q[:4]], SWAP))
        case sc.RollingBall():
            N, n = rolling(hinge, q, v)
            free = as_free(hinge, q)
            return single(pin.JointModelFreeFlyer(), Part(np.array([*free[4:], *free[:4]]), SWAP @ N, SWAP @ n))
    if products != "native":
        return chain(hinge, q, products == "unbounded")
    return native_product(hinge, q, v) or composite(hinge, q)


def native_product(hinge, q, v):
    """Pinocchio's own joint for a hinge with several turns and slides, where it has one."""
    match hinge:
        case sc.Planar():
            return single(pin.JointModelPlanar(), planar(q, v))
        case sc.Universal() if abs(hinge.axis @ hinge.axis2) < 1e-12:
            return single(pin.JointModelUniversal(hinge.axis, hinge.axis2), constant(q, np.eye(2)))
        case sc.Gimbal() if np.array_equal(hinge.axes, [Z, Y, X]):
            return single(pin.JointModelSphericalZYX(), constant(q, np.eye(3)))
        case sc.Screws() if np.array_equal(hinge.screws, np.eye(6)[3:]):
            return single(pin.JointModelTranslation(), constant(q, np.eye(3)))
    return None


def planar(q, v):
    """w = (R* (xdot, ydot), thetadot), R the turn by theta."""
    c, s = np.cos(q[2]), np.sin(q[2])
    N = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    turned = N @ v
    return Part(np.array([q[0], q[1], c, s]), N, v[2] * np.array([turned[1], -turned[0], 0.0]))


def chain(hinge, q, unbounded=False):
    """A joint for each turn and slide."""
    steps, tail = placed(hinge)
    rates = np.array([element.rate for _, element in steps])
    joints = [(before, one_dof(element, unbounded)) for before, element in steps]
    own_q = [[np.cos(x), np.sin(x)] if joint.nq == 2 else [x] for (_, joint), x in zip(joints, rates * q, strict=True)]
    return Joint(joints, constant(np.concatenate([np.zeros(0), *own_q]), np.diag(rates)), tail)


def composite(hinge, q):
    """The same joints as one composite joint, if there are several."""
    apart = chain(hinge, q)
    if len(apart.steps) < 2:
        return apart
    joint = pin.JointModelComposite()
    for placement, kind in apart.steps:
        joint.addJoint(kind, se3(placement))
    return Joint([(sc.Pose(), joint)], apart.part, apart.tail)


def one_dof(element, unbounded):
    """The joint that an element is: along x, y or z where it can be, along any axis elsewhere."""
    pitch = ()
    if isinstance(element, Slide):
        short, long = "P", "PrismaticUnaligned"
    elif element.pitch:
        short, long, pitch = "H", "HelicalUnaligned", (element.pitch,)
    else:
        short, long = "RUB" if unbounded else "R", "RevoluteUnaligned"
    for name, along in zip("XYZ", np.eye(3), strict=True):
        if np.array_equal(element.axis, along):
            return getattr(pin, f"JointModel{short}{name}")(*pitch)
    return getattr(pin, f"JointModel{long}")(np.array(element.axis), *pitch)


def single(joint, part):
    """A hinge that is one joint."""
    return Joint([(sc.Pose(), joint)], part)


def se3(pose):
    """A pose as Pinocchio's SE3."""
    return pin.SE3(np.array(pose.rotation), np.array(pose.translation))
