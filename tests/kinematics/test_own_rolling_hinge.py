"""A nonholonomic hinge of the user's own as a closure: what a ball that rolls does, by a class that knows ours not."""

import numpy as np
import pytest
from tests.loops.cases import near

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented, forward_dynamics_derivatives
from soacraft.model.hinges import Hinge
from soacraft.model.samples.random_models import random_inertia

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)
RADIUS = 0.3


class Marble(Hinge):
    """A ball on the plane z = 0 of its inboard frame, q = [x, y, z, w, px, py]: [I; l~], l = -radius R* z."""

    nq, nv = 6, 3
    holonomic = False
    neutral_is_identity = False
    coordinate_units = "xxxxmm"

    def neutral(self):
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])

    def pose(self, q):
        return sc.Pose.from_quaternion(q[:4], (q[4], q[5], RADIUS))

    def H_T(self, q):
        x, y, z = -RADIUS * self.pose(q).rotation[2]
        return np.concatenate([np.eye(3), [[0, -z, y], [z, 0, -x], [-y, x, 0]]])

    def qdot(self, q, v):
        a, w = q[:3], q[3]
        turn = 0.5 * np.append(w * v + np.cross(a, v), -a @ v)
        return np.concatenate([turn, RADIUS * np.cross(self.pose(q).rotation @ v, [0, 0, 1])[:2]])

    def integrate(self, q, dv):
        angle = float(np.linalg.norm(dv))
        half = np.append(np.sinc(angle / (2 * np.pi)) * dv / 2, np.cos(angle / 2))
        a, w = q[:3], q[3]
        turned = np.append(w * half[:3] + half[3] * a + np.cross(a, half[:3]), w * half[3] - a @ half[:3])
        return np.concatenate([turned / np.linalg.norm(turned), q[4:] + self.qdot(q, dv)[4:]])

    def difference(self, q0, q1):
        raise sc.StateError("it rolls")

    def normalize(self, q, what="q"):
        q = np.array(q, dtype=float)
        q[..., :4] /= np.linalg.norm(q[..., :4], axis=-1, keepdims=True)
        return q

    def random(self, rng):
        return self.normalize(rng.standard_normal(6))


class Placed(Marble):
    """One that says where it is."""

    def place(self, pose):
        return np.concatenate([pose.as_quaternion(), pose.translation[:2]])


def carried(hinge):
    """An arm of three links holds a ball on a tilted floor."""
    mb = sc.serial_chain(3, [sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), (0, 0, 1)), sc.Spherical()])
    for k, body in enumerate(mb.bodies):
        body.inertia = random_inertia(k + 1)
    mb.root.add_node("floor", sc.Pose.from_rpy(0.1, -0.2, 0.3, (0.0, 0.0, -1.2)))
    mb.close_loop("floor", "inertial/floor", "link3/tip", hinge)
    start = mb.random_state(2)[0]
    mb.q = TreeAugmented(mb).assemble(start)
    mb.v = TreeAugmented(mb).project_velocity(mb.q, np.linspace(-1.0, 1.0, mb.nv))
    return mb


@pytest.fixture(scope="module")
def both():
    return carried(Placed()), carried(sc.RollingBall(RADIUS))


def test_it_is_assembled_as_a_rolling_ball(both):
    """Where it may be is on the plane, anywhere: what forbids to slip is no part of it."""
    own, ours = both
    near(own.q, ours.q, 1e-9)
    near(own.v, ours.v, 1e-8)
    rows = Constraints(own, own.state())
    assert rows.opening < 1e-10
    assert rows.size == 3
    floor, centre = own.pose("inertial/floor"), own.pose("link3/tip")
    near((floor.inv @ centre).translation[2], RADIUS, 1e-10)


@pytest.mark.parametrize("kind", SOLVERS)
def test_dynamics(both, kind):
    own, ours = both
    force = np.linspace(1.0, 2.0, own.nv)
    found = kind(own).forward_dynamics(own.q, own.v, force)
    wanted = kind(ours).forward_dynamics(own.q, own.v, force)
    near(found.vdot, wanted.vdot, 1e-8)
    near(found.multipliers["floor"], wanted.multipliers["floor"], 1e-8)
    assert found.rank == wanted.rank == 3
    q, v = kind(own).project(own.integrate(own.q, 1e-5 * np.ones(own.nv)), own.v)
    assert Constraints(own, own.state(q=q, v=v)).opening < 1e-12


def test_derivatives(both):
    own = both[0]
    force = np.linspace(1.0, 2.0, own.nv)
    found, wanted = (forward_dynamics_derivatives(TreeAugmented(mb), own.q, own.v, force) for mb in both)
    for one, other in zip(found, wanted, strict=True):
        near(one, other, 1e-7)


def test_one_that_does_not_say_where_it_is():
    with pytest.raises(ModelError) as error:
        carried(Marble())
    assert str(error.value) == (
        "Marble() does not say where it is: to close a loop by a nonholonomic hinge, give Marble a method place(pose) "
        "that returns its coordinates nearest to a pose."
    )
