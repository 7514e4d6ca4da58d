"""Frames of hinges, frames that a user moves, and Jacobians between any two."""

import copy
import pickle

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries
from tests.strategies import rigid_trees

import soacraft as sc
from soacraft.errors import ModelError, StaleError, UnknownAttributeError
from soacraft.files.native import from_json, to_json
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.spatial.rotations import exp


def robot(seed=0):
    """A free base with two arms of two pins each, frames away from the hinges, moving."""
    mb = sc.Multibody("robot")
    mb.add_body("base", None, sc.Free(), random_inertia(1), random_pose(2), random_pose(3))
    for side in "ab":
        up = "base"
        for k, hinge in enumerate((sc.Pin((0, 0, 1)), sc.Universal((1, 0, 0), (0, 1, 0)))):
            seeds = [10 * k + ord(side) + j for j in range(4)]
            body = mb.add_body(f"{side}{k}", up, hinge, random_inertia(seeds[0]), *map(random_pose, seeds[1:3]))
            body.add_node("tip", random_pose(seeds[3]))
            up = body
    mb.set_state(*mb.random_state(seed), np.random.default_rng(seed).standard_normal(mb.nv))
    return mb


# -- the two frames of a hinge --------------------------------------------------------------------------------------


@tries(5)
@given(rigid_trees(), st.data())
def test_the_pose_and_velocity_between_hinge_frames_are_those_of_the_hinge(mb, data):
    body = data.draw(st.sampled_from(mb.bodies))
    q, v = mb.q[body.q_slice], mb.v[body.v_slice]
    outer, inner = f"{body.name}/outboard", f"{body.name}/inboard"
    assert mb.pose(outer, inner).is_close(body.hinge.pose(q), 1e-9)
    V = np.asarray(mb.velocity(outer, inner, expressed_in=outer))
    assert np.abs(V - body.hinge.H_T(q) @ v).max(initial=0.0) < 1e-9 * (1.0 + np.abs(mb.v).max(initial=0.0))


def test_hinge_frames_are_found_and_follow_their_poses():
    mb = robot()
    frame, body = mb["a1/inboard"], mb["a1"]
    assert frame is body.inboard_frame is mb.frame(frame)
    assert (frame.full_name, frame.carrier.name, mb["a1/outboard"].carrier) == ("a1/inboard", "a0", body)
    assert "a1/outboard" in mb
    assert repr(frame) == "inboard frame of hinge 'a1'"
    body.inboard = random_pose(7)
    assert mb.pose(frame, "a0").is_close(random_pose(7))
    body.outboard = random_pose(8)
    assert mb.pose("a1", "a1/outboard").is_close(random_pose(8))
    J = sc.dynamics.jacobian(mb, mb.q, "a1/outboard")
    assert np.allclose(J @ mb.v, np.asarray(mb.velocity("a1/outboard")), rtol=0, atol=1e-12)
    with pytest.raises(UnknownAttributeError, match=r"set body\.inboard or body\.outboard"):
        frame.offset = sc.Pose()
    body.add_node("inboard", random_pose(9))
    assert mb["a1/inboard"] is body.nodes[1]  # a node comes first


def test_loops_and_forces_at_hinge_frames_go_with_the_model():
    mb = robot()
    mb.close_loop("ring", "b1/inboard", "a1/outboard", sc.Spherical(), active=False)
    mb.set_force("a1/inboard", sc.Wrench((0, 0, 0), (1, 2, 3), expressed_in="b1/outboard"))
    for other in (mb.copy(), pickle.loads(pickle.dumps(mb)), copy.deepcopy(mb), from_json(to_json(mb))):
        assert other.loops["ring"].a is other["b1/inboard"]
        at, wrench = next(iter(other.acting_forces.items()))
        assert (at, wrench.expressed_in) == (other["a1/inboard"], other["b1/outboard"])
    host = sc.Multibody("host")
    host.add_model(mb, prefix="x_")
    assert host.loops["x_ring"].b is host["x_a1/outboard"]
    for refused in (lambda: mb.remove("b1"), lambda: mb.reattach("b1", None, sc.Pin((0, 0, 1)))):
        with pytest.raises(ModelError, match="'b1/inboard' is an end of loop 'ring'"):
            refused()
    with pytest.raises(ModelError, match="loop 'ring' ties the subtree of 'a0' to 'b1/inboard' outside of it"):
        mb.extract("a0")
    mb.remove_loop("ring")
    with pytest.raises(ModelError, match="a stored force acts at 'a1/inboard'"):
        mb.remove("a1")
    mb.clear_forces()
    gone = mb["a1/inboard"]
    mb.remove("a1")
    with pytest.raises(StaleError, match="'a1' was removed"):
        mb.pose(gone)


# -- Jacobians between any two frames ---------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", ["inertial", "node", "b0", "base/outboard"])
@pytest.mark.parametrize("to", ["b1/tip", "inertial", "a0/inboard"])
def test_relative_jacobians_give_relative_velocities_and_accelerations(to, axes):
    """J v is the velocity between frames, J vdot + (dJ/dt) v their acceleration, and dJ/dt v the difference of J v."""
    mb = robot()
    in_axes = "a1/tip" if axes == "node" else axes
    J = sc.dynamics.jacobian(mb, mb.q, "a1/tip", axes, relative_to=to)
    bias = sc.dynamics.jacobian_dot_v(mb, mb.q, mb.v, "a1/tip", axes, relative_to=to)
    assert np.abs(J @ mb.v - np.asarray(mb.velocity("a1/tip", to, in_axes))).max() < 1e-12
    assert np.abs(J @ mb.vdot + bias - np.asarray(mb.acceleration("a1/tip", to, in_axes))).max() < 1e-11

    def seen(t):  # the velocity in the axes of `to`, in which it is differentiated
        q = mb.integrate(mb.q, t * mb.v)
        return sc.dynamics.jacobian(mb, q, "a1/tip", to, relative_to=to) @ mb.v

    h = 1e-3
    rate = (8 * (seen(h) - seen(-h)) - seen(2 * h) + seen(-2 * h)) / (12 * h)
    turn = mb.pose(to, in_axes).rotation
    rate = np.concatenate([turn @ rate[:3], turn @ rate[3:]])
    assert np.abs(rate - bias).max() < 1e-8 * (1 + np.abs(bias).max())


def test_relative_jacobians_of_several_nodes_batches_and_handles():
    mb = robot()
    q = np.stack([mb.random_state(k)[0] for k in range(3)])
    v = np.stack([mb.random_state(k)[1] for k in range(3)])
    J = sc.dynamics.jacobian(mb, q, ["a1/tip", "b1"], relative_to="a0")
    out = np.empty((3, 12, mb.nv))
    assert sc.Dynamics(mb).jacobian(q, ["a1/tip", "b1"], relative_to="a0", out=out) is out
    assert np.array_equal(out, J)
    for k in range(3):
        one = sc.dynamics.jacobian(mb, q[k], "b1", relative_to="a0")
        assert np.abs(J[k, 6:] - one).max() < 1e-13
        x = sc.dynamics.jacobian_dot_v(mb, q, v, ["a1/tip", "b1"], relative_to="a0")[k, 6:]
        assert np.abs(x - sc.dynamics.jacobian_dot_v(mb, q[k], v[k], "b1", relative_to="a0")).max() < 1e-11
    part = mb.subgraph(["a0", "a1"])
    with pytest.raises(ModelError, match="'robot' has no frame 'a9'"):
        sc.dynamics.jacobian(mb, mb.q, "a1", relative_to="a9")
    with pytest.raises(ModelError, match="'b0' is not on a body of"):
        sc.dynamics.jacobian(part, part.q, "a1", relative_to="b0")


def test_a_frame_against_pinocchio():
    """Pose, velocity, classical acceleration and Jacobian of a hinge frame in its own axes."""
    mb, model = sc.Multibody("arm"), pin.Model()
    up, joint = None, 0
    for k, axis in enumerate(np.eye(3)):
        at = random_pose(k + 1)
        mb.add_body(f"link{k}", up, sc.Pin(axis), random_inertia(k), at)
        place = pin.SE3(at.rotation, at.translation)
        kind = (pin.JointModelRX(), pin.JointModelRY(), pin.JointModelRZ())[k]
        joint, up = model.addJoint(joint, kind, place, f"link{k}"), f"link{k}"
    q, v, vdot = np.random.default_rng(1).standard_normal((3, 3))
    mb.set_state(q, v, vdot)
    data, own = model.createData(), pin.ReferenceFrame.LOCAL
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, v, vdot)
    swap = [3, 4, 5, 0, 1, 2]  # linear first there
    frame = mb["link2/outboard"]
    assert np.abs(mb.pose(frame).translation - data.oMi[3].translation).max() < 1e-14
    V, A = (np.asarray(f(frame, None, frame)) for f in (mb.velocity, mb.acceleration))
    assert np.abs(V[swap] - pin.getVelocity(model, data, 3, own).vector).max() < 1e-13
    assert np.abs(A[swap] - pin.getClassicalAcceleration(model, data, 3, own).vector).max() < 1e-12
    J = sc.dynamics.jacobian(mb, q, frame, frame, relative_to="inertial")
    assert np.abs(J[swap] - pin.getJointJacobian(model, data, 3, own)).max() < 1e-13


# -- frames that are moved --------------------------------------------------------------------------------------------


def swing(t):
    """A pose with a known velocity and acceleration: a turn about z by sin t at a point (t, t^2, 0)."""
    c, s = np.cos(np.sin(t)), np.sin(np.sin(t))
    return sc.Pose(np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]), (t, t * t, 0.0))


def told(t):
    return swing(t), (0, 0, np.cos(t), 1, 2 * t, 0), (0, 0, -np.sin(t), 0, 2, 0)


@pytest.mark.parametrize("leave", [0, 1, 2])
def test_a_moving_frame_follows_its_function_and_differences_what_is_not_given(leave):
    mb = robot()

    def motion(t):
        return told(t)[: 3 - leave] if leave < 2 else swing(t)

    frame = sc.MovingFrame("eye", mb["a0"], motion)
    now = frame.at(0.7).now
    pose, V, A = told(0.7)
    assert now.pose.is_close(pose)
    assert np.abs(now.velocity - V).max() < 1e-10
    assert np.abs(now.acceleration - A).max() < 1e-8
    assert (frame.full_name, repr(frame)) == ("eye", "moving frame 'eye' on 'a0'")


def test_velocities_seen_from_a_moving_frame_are_the_differences_of_what_is_seen():
    mb, eye = robot(), None
    eye = sc.MovingFrame("eye", mb["b1/tip"], told)
    rider = sc.MovingFrame("rider", eye, told)
    q0, v0, vdot = mb.q, mb.v, mb.vdot

    def at(t, what, of, to, axes):
        """Everything at time t: coordinates along v0 and vdot, and both frames."""
        q = mb.integrate(q0, t * v0 + 0.5 * t * t * vdot)
        J = mb.integrate_jacobians(q0, t * v0 + 0.5 * t * t * vdot)[1]  # the velocity of that path
        mb.set_state(q, J @ (v0 + t * vdot))
        rider.at(0.9 + t), eye.at(0.4 + t)  # the rider takes the eye along
        return what(of, to) if axes is None else np.asarray(what(of, to, axes))

    h = 1e-3
    for of, to in (("a1/tip", eye), (rider, "a0"), ("base", rider), (rider, eye)):
        x = {k: at(k * h, mb.pose, of, to, None) for k in (-2, -1, 1, 2)}
        linear = (8 * (x[1].translation - x[-1].translation) - x[2].translation + x[-2].translation) / (12 * h)
        V = {k: at(k * h, mb.velocity, of, to, to) for k in (-2, -1, 0, 1, 2)}
        assert np.abs(V[0][3:] - linear).max() < 1e-8 * (1 + np.abs(linear).max())
        rate = (8 * (V[1] - V[-1]) - V[2] + V[-2]) / (12 * h)
        at(0.0, mb.velocity, of, to, to)
        mb.vdot = vdot
        A = np.asarray(mb.acceleration(of, to, to))
        assert np.abs(A - rate).max() < 1e-6 * (1 + np.abs(A).max()), (of, to)
    bias = sc.dynamics.jacobian_dot_v(mb, mb.q, mb.v, "a1", eye, relative_to=eye)
    J = sc.dynamics.jacobian(mb, mb.q, "a1", eye, relative_to=eye)
    assert np.abs(J @ mb.vdot + bias - np.asarray(mb.acceleration("a1", eye, eye))).max() < 1e-11
    still = np.asarray(mb.velocity("a1", eye.set(eye.now.pose), eye))
    assert np.abs(J @ mb.v - still).max() < 1e-12


def test_a_chain_of_moving_frames_is_at_one_time():
    """A dish on a lift on a turning planet moves as the product of the three poses, differentiated as one function."""
    mb = sc.Multibody("space")
    mb.add_body("probe", None, sc.Free(), random_inertia(1))
    mb.set_state(*mb.random_state(3), np.random.default_rng(3).standard_normal(mb.nv))

    def turn(axis, angle):
        return sc.Pose(exp(angle * np.eye(3)[axis]))

    def planet(t):
        return turn(2, 0.3 * t + 0.1 * t * t) @ sc.Pose(translation=(0.0, 0.0, 0.5 * t))

    def lift(t):
        return sc.Pose(translation=(2.0 + t * t, 0.0, 0.0)) @ turn(1, 0.7)

    def dish(t):
        return turn(0, np.sin(t)) @ sc.Pose(translation=(0.1, 0.0, t))

    below = sc.MovingFrame("planet", mb.root, planet)
    between = sc.MovingFrame("lift", below, lift)
    top = sc.MovingFrame("dish", between, dish)
    one = sc.MovingFrame("one", mb.root, lambda t: planet(t) @ lift(t) @ dish(t))
    for t in (3.0, 0.4):
        one.at(t), top.at(t)
        assert below.now.pose.is_close(planet(t))
        assert between.now.pose.is_close(lift(t))
        assert mb.pose(top).is_close(mb.pose(one), 1e-12)
        assert np.abs(np.asarray(mb.velocity(top)) - np.asarray(mb.velocity(one))).max() < 1e-9
        assert np.abs(np.asarray(mb.acceleration(top)) - np.asarray(mb.acceleration(one))).max() < 1e-6
        for what in (mb.velocity, mb.acceleration):
            seen = [np.asarray(what("probe", relative_to=x)) for x in (top, one)]
            assert np.abs(seen[0] - seen[1]).max() < 1e-6


def test_a_site_that_is_set_on_a_turning_planet_goes_with_it():
    """At the site r the speed is w r, and the acceleration w^2 r towards the axis; what is set stays as it is set."""
    mb = robot()
    planet = sc.MovingFrame("planet", mb.root, lambda t: sc.Pose(exp(np.array([0, 0, 0.5 * t]))))
    site = sc.MovingFrame("site", planet).set(sc.Pose(translation=(2.0, 0.0, 0.0)))
    assert site.at(np.pi) is site
    assert site.now.pose.is_close(sc.Pose(translation=(2.0, 0.0, 0.0)))
    assert np.allclose(mb.pose(site).translation, (0, 2, 0), rtol=0, atol=1e-12)
    assert np.allclose(np.asarray(mb.velocity(site)), (0, 0, 0.5, -1, 0, 0), rtol=0, atol=1e-9)
    assert np.allclose(np.asarray(mb.acceleration(site)), (0, 0, 0, 0, -0.5, 0), rtol=0, atol=1e-8)


def test_a_chain_with_one_frame_that_is_refused_stays_where_it_is():
    mb = robot()
    planet = sc.MovingFrame("planet", mb.root, lambda t: 3 if t > 1 else swing(t))
    site = sc.MovingFrame("site", planet, swing).at(0.5)
    before = planet.now, site.now
    with pytest.raises(ModelError, match=r"the motion of moving frame 'planet' must give a Pose"):
        site.at(2.0)
    assert (planet.now, site.now) == before
    alone = sc.MovingFrame("alone", sc.MovingFrame("base", mb.root))
    with pytest.raises(ModelError, match=r"moving frame 'alone' has no motion; set it with frame\.set"):
        alone.at(1.0)


def test_what_a_moving_frame_cannot_be_is_refused():
    mb, other = robot(), robot()
    eye = sc.MovingFrame("eye", mb.root)
    with pytest.raises(ModelError, match="is moved by its user, and is no frame of a body"):
        mb.set_force(eye, (0,) * 6)
    with pytest.raises(ModelError, match=r"moving frame 'eye' has no motion; set it with frame\.set"):
        eye.at(1.0)
    with pytest.raises(ModelError, match="belongs to another model"):
        other.pose("a0", relative_to=eye)
    with pytest.raises(ModelError, match=r"must give a Pose, .* it gave 3"):
        sc.MovingFrame("eye", mb.root, lambda t: 3).at(0.5)
    with pytest.raises(ModelError, match=r"is on a frame of a model, such as mb\.root; got 'base'"):
        sc.MovingFrame("eye", "base")
    with pytest.raises(ModelError, match="is a function of time, got 3"):
        sc.MovingFrame("eye", mb.root, 3)
    with pytest.raises(ModelError, match="must be positive, got -1"):
        sc.MovingFrame("eye", mb.root, swing, step=-1)
    with pytest.raises(UnknownAttributeError, match=r"frame\.set"):
        eye.pose = sc.Pose()
    before = eye.now
    with pytest.raises(ValueError, match="the velocity of moving frame 'eye'"):
        eye.set(random_pose(1), velocity=(1, 2))
    assert eye.now is before
    again = pickle.loads(pickle.dumps((mb, eye.set(random_pose(4)))))
    assert again[0].pose("a0", again[1]).is_close(mb.pose("a0", eye))


def test_jacobians_and_velocities_have_the_same_default_axes():
    """Seen from a frame, both are in its axes; without one, in inertial axes."""
    mb = sc.load("biped")
    mb.set_state(*mb.random_state(seed=2))
    bodies = mb.bodies
    for node, to in ((bodies[-1], bodies[0]), (bodies[1], bodies[-1]), (bodies[-1], None), (bodies[2], "inertial")):
        J = sc.dynamics.jacobian(mb, mb.q, node, relative_to=to)
        assert np.abs(J @ mb.v - mb.velocity(node, to)).max() < 1e-9
        mb.vdot = np.zeros(mb.nv)
        bias = sc.dynamics.jacobian_dot_v(mb, mb.q, mb.v, node, relative_to=to)
        assert np.abs(bias - mb.acceleration(node, to)).max() < 1e-8
        handle = sc.Dynamics(mb)
        assert np.abs(handle.jacobian(mb.q, node, relative_to=to) - J).max() < 1e-12
    turned = sc.dynamics.jacobian(mb, mb.q, bodies[-1], "inertial", relative_to=bodies[0]) @ mb.v
    assert np.abs(turned - mb.velocity(bodies[-1], bodies[0], "inertial")).max() < 1e-9
