"""Every file that Pinocchio reads, against Pinocchio; where it refuses the file as it stands, against a mended text.

Pinocchio fuses fixed joints, numbers joints in an order of its own, gives continuous joints the coordinates (cos, sin),
and a free-flyer [position, quaternion] with the velocity [v; omega]. Joints are matched by their names.
"""

import numpy as np
import pinocchio as pin
import pytest
from tests.files.urdf.models import CASES, FILES, MODELS

from soacraft import dynamics as dyn
from soacraft.files.urdf import read_urdf
from soacraft.model.hinges import Free

SWAP = np.eye(6)[[3, 4, 5, 0, 1, 2]]


def acrobot(text):
    """A declared world, names of materials, and whole limits."""
    text = text.replace('<robot name="acrobot">', '<robot name="acrobot"><link name="world"/>')
    text = text.replace("<material>", '<material name="m">').replace('<limit effort="0"/>', "")
    return text.replace('type="revolute"', 'type="continuous"')


def husky(text):
    """The defaults of what xacro left."""
    text = text.replace("$(optenv HUSKY_IMU_RPY 0 -1.5708 3.1416)", "0 -1.5708 3.1416")
    return text.replace("$(optenv HUSKY_IMU_XYZ 0.19 0 0.149)", "0.19 0 0.149")


REFUSED = {
    "drake_acrobot/acrobot.urdf": ("its parent link 'world' is not declared", acrobot),
    "drake_acrobot/acrobot_limits.urdf": ("its parent link 'world' is not declared", acrobot),
    "drake_kuka_iiwa/kuka_iiwa_robot.urdf": (
        "its revolute joints have no limits",
        lambda text: text.replace('type="revolute"', 'type="continuous"'),
    ),
    "husky/husky.urdf": ("substitutions of xacro are left", husky),
}
"""Files that Pinocchio refuses, why, and what mends them for it."""


def in_pinocchio(file, free):
    text = (MODELS / file).read_text()
    if file in REFUSED:
        text = REFUSED[file][1](text)
    return pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)


@pytest.mark.parametrize("file", FILES)
def test_what_pinocchio_reads(file, record_property):
    """Tried: all. Read: all but those listed, for the reasons listed."""
    try:
        pin.buildModelFromUrdf(str(MODELS / file))
    except ValueError:
        assert file in REFUSED
        record_property("refused", REFUSED[file][0])
    else:
        assert file not in REFUSED
        record_property("read", file)


class Peer:
    """A file in Pinocchio, at the state of our model."""

    def __init__(self, mb, file, free):
        self.model = in_pinocchio(file, free)
        self.model.gravity = pin.Motion(np.concatenate([mb.gravity, np.zeros(3)]))
        self.data = self.model.createData()
        self.q, self.v = pin.neutral(self.model), np.zeros(self.model.nv)
        self.ours = np.zeros((self.model.nv, mb.nv))  # v of Pinocchio from ours
        for body in mb.bodies:
            if body.hinge.nv:
                self._put(mb, body)
        self.v = self.ours @ mb.v
        g0 = self.model.inertias[0]  # what is fixed on the world
        self.still = (g0.mass, g0.lever if g0.mass else np.zeros(3))

    def _put(self, mb, body):
        name = "root_joint" if body.hinge_name == "root" else body.hinge_name
        number = list(self.model.names).index(name)
        joint, q = self.model.joints[number], mb.q[body.q_slice]
        j = slice(joint.idx_v, joint.idx_v + joint.nv)
        if isinstance(body.hinge, Free):
            q, self.ours[j, body.v_slice] = np.array([*q[4:], *q[:4]]), SWAP
        else:
            self.ours[j, body.v_slice] = 1.0
            q = np.array([np.cos(q[0]), np.sin(q[0])]) if joint.nq == 2 else q
        self.q[joint.idx_q : joint.idx_q + joint.nq] = q

    def mass_matrix(self):
        M = pin.crba(self.model, self.data, self.q).reshape(self.model.nv, self.model.nv)
        return self.ours.T @ (np.triu(M) + np.triu(M, 1).T) @ self.ours

    def bias(self):
        return self.ours.T @ pin.nonLinearEffects(self.model, self.data, self.q, self.v)

    def energy(self):
        m, c = self.still
        kinetic = pin.computeKineticEnergy(self.model, self.data, self.q, self.v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, self.q) - m * self.model.gravity.linear @ c

    def first_moment(self):
        m, c = self.still
        moving = sum(inertia.mass for inertia in self.model.inertias[1:])
        return m * c + (moving * pin.centerOfMass(self.model, self.data, self.q) if moving else 0.0)


def distance(ours, theirs):
    """The largest difference relative to the largest entry; entries below a millionth are taken as they are."""
    scale = max(np.abs(theirs).max(initial=0.0), 1e-6)
    return float(np.abs(ours - theirs).max(initial=0.0) / scale)


def distances(mb, file, free):
    """How far our dynamics are from Pinocchio's at the model's state."""
    peer = Peer(mb, file, free)
    assert peer.model.nv == mb.nv
    tree = dict(ignore_loops=True)
    kinetic, potential = peer.energy()
    return {
        "mass matrix": distance(dyn.mass_matrix(mb, mb.q, **tree), peer.mass_matrix()),
        "bias force": distance(dyn.bias_force(mb, mb.q, mb.v, passive=False, **tree), peer.bias()),
        "kinetic energy": distance(dyn.kinetic_energy(mb, mb.q, mb.v), kinetic),
        "potential energy": distance(dyn.potential_energy(mb, mb.q), potential),
        "centre of mass": distance(mb.total_mass * dyn.center_of_mass(mb, mb.q), peer.first_moment()),
    }


@pytest.mark.parametrize("merge_fixed", [False, True])
@pytest.mark.parametrize(("file", "root"), CASES, ids=str)
def test_against_pinocchio(file, root, merge_fixed):
    mb = read_urdf(MODELS / file, root=root, merge_fixed=merge_fixed)
    for seed in range(3):
        mb.set_state(*mb.random_state(seed=seed))
        far = {name: d for name, d in distances(mb, file, isinstance(root, Free)).items() if not d <= 1e-9}
        assert not far
