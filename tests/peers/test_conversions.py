"""That the comparison covers what it should, and sees what it must."""

import numpy as np
import pytest
from tests.peers.agreement import TOLERANCE, Ours, distances
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS
from tests.peers.to_mujoco import InMujoco

import soacraft as sc
from soacraft.model.hinges import HINGES

# Every joint of Pinocchio that is a hinge of soacraft. There remain the mimic and the ellipsoid joint, and the
# unbounded turn about any axis, which cannot be given its axis from Python.
PINOCCHIO = {
    *("RX", "RY", "RZ", "RevoluteUnaligned", "RUBX", "RUBY", "RUBZ"),
    *("PX", "PY", "PZ", "PrismaticUnaligned", "HX", "HY", "HZ", "HelicalUnaligned"),
    *("Universal", "SphericalZYX", "Spherical", "Planar", "Translation", "FreeFlyer", "Composite"),
}


def test_every_hinge_has_a_kind():
    rng = np.random.default_rng(0)
    assert {type(make(rng)) for make in KINDS.values()} == set(HINGES)


def test_every_joint_of_pinocchio_is_used():
    mb = tree(KINDS, len(KINDS))
    models = [PEERS[name](mb).model for name in PEERS if name.startswith("Pinocchio")]
    used = {joint.shortname() for model in models for joint in list(model.joints)[1:]}
    assert used == {f"JointModel{name}" for name in PINOCCHIO}


def test_every_joint_of_mujoco_is_used():
    mb = tree(["free", *KINDS], len(KINDS) + 1, bases=len(KINDS) + 1)
    assert {int(kind) for kind in InMujoco(mb).model.jnt_type} == {0, 1, 2, 3}


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("change", ["mass", "com", "moment", "inboard", "outboard", "gravity", "v"])
def test_a_change_of_one_in_a_million_is_seen(peer, change):
    """Of a body's inertia, a frame, gravity or a velocity: by bias force, inverse and forward dynamics."""
    mb, seen = tree(["pin", "spherical", "planar"], 5, seed=9), 1.0 + 1e-6
    there = PEERS[peer](mb)
    body = mb.bodies[2]
    mass, com, moment = body.inertia.mass, body.inertia.com, body.inertia.moment
    match change:
        case "mass":
            body.inertia = sc.Inertia(seen * mass, com, moment)
        case "com":
            body.inertia = sc.Inertia(mass, seen * com, moment)
        case "moment":
            body.inertia = sc.Inertia(mass, com, seen * moment)
        case "inboard" | "outboard":
            pose = getattr(body, change)
            setattr(body, change, sc.Pose(pose.rotation, seen * pose.translation))
        case "gravity":
            mb.gravity = seen * mb.gravity
        case "v":
            mb.v = seen * mb.v
    far = distances(Ours.of(mb), there)
    for name in ("bias force", "inverse dynamics", "forward dynamics, Eq. 31"):
        assert far[name] > 10.0 * TOLERANCE
