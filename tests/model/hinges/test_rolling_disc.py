"""A thin disc that rolls: what touches is at rest, and with its centre at rest it precesses as Euler's disk does."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import near
from tests.profiles import tries
from tests.strategies import AXES, OPEN, SEEDS, keep, parents, rigid_trees

import soacraft as sc
from soacraft.errors import ModelError, StateError
from soacraft.kinematics.complement import complement
from soacraft.kinematics.rows import Constraints
from soacraft.loops import TreeAugmented
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.hinges.base import integrate_of, pose_of
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.states.hinge_fit import placing_rows
from soacraft.sim.integrators.manifold import Coordinates

DISC = sc.RollingDisc(0.7, axis=(0.3, 1.0, -0.2), normal=(0.1, 0.2, 1.0))
RADIUS, MASS, G = 0.5, 2.0, 9.81


def coin():
    """A uniform thin disc on the floor."""
    mb = sc.Multibody("coin", gravity=(0, 0, -G))
    moment = MASS * RADIUS**2 * np.diag([0.25, 0.5, 0.25])
    mb.add_body("coin", None, sc.RollingDisc(RADIUS), sc.Inertia(MASS, (0, 0, 0), moment))
    return mb


@pytest.mark.parametrize("axes", AXES)
@tries(4)
@given(rigid_trees(parents(2, 4), [DISC, DISC, sc.Pin((0.3, -0.5, 0.8)), sc.Spherical()]))
def test_identities_hold_on_trees_with_discs(axes, mb):
    """It has no kernel, and is not among the hinges that all tests draw: the relations of the papers hold for it."""
    keep(any(isinstance(body.hinge, sc.RollingDisc) for body in mb.bodies))
    s = sc.operators(mb, axes=axes)
    errors = {x.name: sc.verify(x.left, x.right, on=s).worst[1] for x in OPEN if "serial" not in x.conditions}
    assert {name: error for name, error in errors.items() if not error <= 1e-9} == {}


@tries(6)
@given(rigid_trees(parents(1, 4), [DISC, DISC, sc.Pin((0.3, -0.5, 0.8)), sc.Free()]), SEEDS)
def test_forward_dynamics_undoes_inverse_dynamics(mb, seed):
    keep(any(isinstance(body.hinge, sc.RollingDisc) for body in mb.bodies))
    vdot = np.random.default_rng(seed).standard_normal(mb.nv)
    force = sc.dynamics.inverse_dynamics(mb, mb.q, mb.v, vdot)
    near(sc.dynamics.forward_dynamics(mb, mb.q, mb.v, force), vdot, 1e-8)
    near(sc.dynamics.mass_matrix(mb, mb.q) @ vdot + sc.dynamics.bias_force(mb, mb.q, mb.v), force, 1e-9)


def test_it_is_a_hinge():
    assert sc.check_hinge(DISC)
    assert eval(repr(DISC), {"RollingDisc": sc.RollingDisc}) == DISC


@pytest.mark.parametrize("seed", range(4))
def test_the_point_that_touches_is_at_rest(seed):
    """It is on the plane, the lowest of the rim, and does not slip, by differences of poses along a motion."""
    rng = np.random.default_rng(seed)
    q, v, step = DISC.random(rng), rng.standard_normal(3), 1e-5
    at = pose_of(DISC, q)
    lever = at.rotation @ DISC._at(q).l
    near(np.linalg.norm(lever), DISC.radius, 1e-14)
    near(lever @ at.rotation @ DISC.axis, 0.0, 1e-14)
    touch = at.translation + lever
    near(touch @ DISC.normal, 0.0, 1e-14)
    near(DISC.tangents @ touch, q[4:], 1e-14)
    turns = [pose_of(sc.Pin(DISC.axis), np.array([angle])).rotation for angle in np.linspace(0.0, 6.0, 20)]
    rim = [at.rotation @ turn @ DISC._at(q).l @ DISC.normal for turn in turns]
    assert min(rim) >= lever @ DISC.normal - 1e-12
    ahead, back = (pose_of(DISC, integrate_of(DISC, q, x * v)) for x in (step, -step))
    point = at.rotation.T @ lever
    near((ahead @ point - back @ point) / (2.0 * step), np.zeros(3), 1e-8)


@pytest.mark.parametrize("alpha", [0.2, 0.7, 1.2])
def test_a_coin_whose_centre_is_at_rest(alpha):
    """Omega^2 sin(alpha) = 4 g / a (Moffatt 2000): it turns about its diameter to the contact by Omega sin(alpha), and
    this direction goes round the rim."""
    mb = coin()
    precession = np.sqrt(4.0 * G / (RADIUS * np.sin(alpha)))
    q = np.concatenate([sc.Pose.from_rpy(np.pi / 2 - alpha, 0, 0).as_quaternion(), [0.2, -0.1]])
    lever = sc.RollingDisc(RADIUS)._at(q)
    v = precession * np.sin(alpha) * lever.l / RADIUS
    near(mb.state(q, v).motion.V[0, 3:], np.zeros(3), 1e-12)
    found = sc.dynamics.forward_dynamics(mb, q, v, np.zeros(3))
    goes_round = lever.rate @ v / RADIUS
    near(found, precession * np.sin(alpha) * goes_round, 1e-11)


def test_energy_is_kept_while_it_rolls():
    mb = coin()
    mb.set_state(np.concatenate([sc.Pose.from_rpy(0.3, 0, 0).as_quaternion(), [0.0, 0.0]]), [0.4, 3.0, -0.5])
    q, v, step = mb.q, mb.v, 2e-3

    def energy(q, v):
        return sc.dynamics.kinetic_energy(mb, q, v) + sc.dynamics.potential_energy(mb, q)

    start = energy(q, v)
    for _ in range(100):
        half = v + 0.5 * step * sc.dynamics.forward_dynamics(mb, q, v, np.zeros(3))
        middle = mb.integrate(q, 0.5 * step * v)
        v, q = v + step * sc.dynamics.forward_dynamics(mb, middle, half, np.zeros(3)), mb.integrate(q, step * half)
    assert abs(energy(q, v) - start) < 1e-6 * start
    assert np.abs(v - mb.v).max() > 0.1


def test_two_wheels_on_an_axle_close_a_loop():
    """One wheel is the tree's, the other a closure: it may roll ahead, both by the same angle."""
    mb = sc.Multibody("axle", gravity=(0, 0, -G))
    I = sc.Inertia(MASS, (0, 0, 0), MASS * RADIUS**2 * np.diag([0.25, 0.5, 0.25]))
    mb.add_body("left", None, sc.RollingDisc(RADIUS), I)
    mb.add_body("right", "left", sc.Pin((0, 1, 0)), I, sc.Pose(translation=(0, 1.0, 0)))
    mb.close_loop("floor", "inertial", "right", sc.RollingDisc(RADIUS))
    assert Constraints(mb, mb.state()).opening < 1e-12
    found = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, np.array([0.0, 1.5, 0.0, 0.0]))
    assert found.residual < 1e-9
    v = TreeAugmented(mb).project_velocity(mb.q, np.array([0.3, 2.0, 0.1, 0.4]))
    slips = Constraints(mb, mb.state(mb.q, v)).speed
    near(slips, np.zeros(3), 1e-12)
    assert np.abs(v).max() > 0.5


def test_refusals():
    with pytest.raises(ModelError, match="radius of a RollingDisc must be positive, got -1"):
        sc.RollingDisc(-1.0)
    with pytest.raises(ModelError, match="axis of a RollingDisc must not be along the normal"):
        sc.RollingDisc(1.0, (0, 0, 1))
    flat = np.concatenate([sc.Pose.from_rpy(np.pi / 2, 0, 0).as_quaternion(), [0, 0]])
    with pytest.raises(StateError, match="lies flat: its rim touches the plane everywhere"):
        sc.RollingDisc(1.0).pose(flat)
    with pytest.raises(StateError, match=r"has no difference\(q0, q1\): it is nonholonomic"):
        DISC.difference(DISC.neutral(), DISC.neutral())


def test_where_a_leaning_disc_is():
    """One row says how high it is: that of the velocity of its lowest point along the normal."""
    q, radius = np.concatenate([sc.Pose.from_rpy(0.6, 0.2, 0.4).as_quaternion(), [0.1, -0.3]]), 0.7
    disc, at = sc.RollingDisc(radius), pose_of(sc.RollingDisc(radius), q)
    Q = complement(disc.H_T(q))
    E = placing_rows(disc, at, Q, np.ones(3), 1.0)
    n, l = at.rotation.T @ disc.normal, disc._at(q).l
    found, wanted = (E @ Q)[0], np.concatenate([np.cross(l, n), n])
    near(found / np.linalg.norm(found) * np.sign(found @ wanted), wanted / np.linalg.norm(wanted), 1e-9)


def test_it_has_what_a_rolling_ball_has():
    """Plane, contact point and quaternion are one class's."""
    ball = sc.RollingBall(DISC.radius, DISC.normal)
    assert isinstance(DISC, Rolling)
    assert isinstance(ball, Rolling)
    near(DISC.tangents, ball.tangents, 0.0)
    near(DISC.neutral(), ball.neutral(), 0.0)
    assert (DISC.radius, *DISC.normal) == (ball.radius, *ball.normal)
    with pytest.raises(StateError, match=r"q\[:4\]"):
        DISC.normalize([0.0, 0.0, 0.0, 1.1, 0.0, 0.0])


def test_it_is_computed_as_a_hinge_of_your_own(tmp_path):
    """Kernels do not know it, so Python computes; files and simulation know it by name."""
    mb = coin()
    assert CompiledModel.of(mb.layout) is None
    sc.save(mb, tmp_path / "coin.json")
    again = sc.load(tmp_path / "coin.json")
    assert again.body("coin").hinge == mb.body("coin").hinge
    q, v = np.concatenate([sc.Pose.from_rpy(0.3, 0, 0).as_quaternion(), [0.0, 0.0]]), np.array([0.4, 3.0, -0.5])
    space = Coordinates(mb)
    assert space.size == 5
    step = 1e-3 * space.tangent(q, v)
    near(space.move(q, step), integrate_of(mb.body("coin").hinge, q, 1e-3 * v), 1e-5)
