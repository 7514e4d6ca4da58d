"""What must hold whatever the algebra: rates by differences, conservation, frames."""

import numpy as np
import pytest
from tests.dynamics.calls import arguments, close, nodes_of, subtree, tree
from tests.model.differences import along, rate, second_rate

import soacraft as sc
from soacraft import dynamics as dyn

SEEDS = (1, 2)


def moving(seed):
    """A tree, and nine states on a smooth motion through its state."""
    mb = tree(seed, bases=1)
    return mb, along(mb)


def turn_rate(R):
    """Angular velocity from rotations on the motion: dR/dt R*."""
    W = rate(R) @ R[4].mT
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_and_accelerations_are_rates(seed):
    mb, s = moving(seed)
    poses = dyn.poses(mb, s.q)
    V = dyn.velocities(mb, s.q, s.v)
    A = dyn.accelerations(mb, s.q[4], s.v[4], s.vdot[4])
    for frame in [*mb.bodies, *(node for body in mb.bodies for node in body.nodes)]:
        T = poses[frame]
        close(V[frame][4, 3:], rate(T.translation), 1e-9)
        close(V[frame][4, :3], turn_rate(T.rotation), 1e-9)
        close(A[frame][3:], second_rate(T.translation), 1e-7)
        close(A[frame][:3], rate(V[frame][:, :3]), 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_jacobian_dot_v(seed):
    mb, s = moving(seed)
    nodes = nodes_of(mb, 3)
    J = dyn.jacobian(mb, s.q, nodes)
    q, v, vdot = s.q[4], s.v[4], s.vdot[4]
    close(rate(J) @ v, dyn.jacobian_dot_v(mb, q, v, nodes), 1e-8)
    A = dyn.accelerations(mb, q, v, vdot)
    close(np.concatenate([A[node] for node in nodes]), J[4] @ vdot + dyn.jacobian_dot_v(mb, q, v, nodes))


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_and_its_centroidal_matrix(seed):
    mb, s = moving(seed)
    q, v = s.q[4], s.v[4]
    c, h = dyn.center_of_mass(mb, q), dyn.momentum(mb, q, v)
    centroidal = dyn.centroidal_momentum_matrix(mb, q) @ v
    mass = sum(body.inertia.mass for body in mb.bodies)
    close(h[3:], mass * rate(dyn.center_of_mass(mb, s.q)), 1e-9)
    close(centroidal[3:], h[3:])
    close(centroidal[:3], h[:3] - np.cross(c, h[3:]))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_of_momentum_is_the_force_from_outside(seed):
    """Gravity, and what the inertial frame exerts on the base bodies through their hinges."""
    mb, s = moving(seed)
    q, v, vdot = s.q[4], s.v[4], s.vdot[4]
    mass, c = sum(body.inertia.mass for body in mb.bodies), dyn.center_of_mass(mb, q)
    f, poses = dyn.interbody_forces(mb, q, v, vdot, expressed_in="inertial"), dyn.poses(mb, q)
    total = np.concatenate([np.cross(c, mass * mb.gravity), mass * mb.gravity])
    for body in mb.root.children:
        n, force = f[body][:3], f[body][3:]
        total += np.concatenate([n + np.cross(poses[body].translation, force), force])
    close(rate(dyn.momentum(mb, s.q, s.v)), total, 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_balance(seed):
    """The rate of the energy is the power of the generalized force and of the forces at nodes."""
    mb, s = moving(seed)
    q, v, vdot = s.q[4], s.v[4], s.vdot[4]
    f_ext = arguments(mb, 3)["f_ext"]
    energy = dyn.kinetic_energy(mb, s.q, s.v) + dyn.potential_energy(mb, s.q)
    T = dyn.inverse_dynamics(mb, q, v, vdot, f_ext)
    close(rate(energy), T @ v + dyn.compensating_force(mb, q, f_ext) @ v, 1e-8)


def test_gravity_force_is_the_gradient_of_the_potential():
    mb, _ = moving(1)
    step = 1e-3
    for j, direction in enumerate(np.eye(mb.nv)):
        ends = mb.integrate(mb.q, step * np.array([[-2.0], [-1.0], [1.0], [2.0]]) * direction)
        slope = np.array([1.0, -8.0, 8.0, -1.0]) @ dyn.potential_energy(mb, ends) / (12 * step)
        assert abs(slope - dyn.gravity_force(mb, mb.q)[j]) < 1e-7 * np.abs(dyn.gravity_force(mb, mb.q)).max()


def test_axes_of_results():
    """Only the axes change with expressed_in: seen from any frame the vectors are the same."""
    mb = tree(3)
    x = arguments(mb, 1)
    eye, node = mb.bodies[5], nodes_of(mb, 1)[0]
    poses = dyn.poses(mb, x["q"])
    R = np.kron(np.eye(2), poses[eye].rotation)
    for function, args in (
        (dyn.velocities, ("q", "v")), (dyn.accelerations, ("q", "v", "vdot")),
        (dyn.interbody_forces, ("q", "v", "vdot", "f_ext")),
    ):  # fmt: skip
        given = [x[name] for name in args]
        inertial, seen, own = (function(mb, *given, expressed_in=axes) for axes in ("inertial", eye, "body"))
        close(np.asarray(seen) @ R.T, inertial)
        for k, body in enumerate(mb.bodies):
            close(np.kron(np.eye(2), poses[body].rotation) @ own[body], inertial[k])
            close(seen[body], seen[k])
        if function is not dyn.interbody_forces:
            close(R @ seen[node], inertial[node])
            close(np.kron(np.eye(2), poses[node].rotation) @ own[node], inertial[node])
            assert not inertial["inertial"].any()
    turn = np.kron(np.eye(2), R)
    nodes = nodes_of(mb)
    close(turn @ dyn.jacobian(mb, x["q"], nodes, eye), dyn.jacobian(mb, x["q"], nodes))
    close(turn @ dyn.jacobian_dot_v(mb, x["q"], x["v"], nodes, eye), dyn.jacobian_dot_v(mb, x["q"], x["v"], nodes))
    C = dyn.operational_space_compliance(mb, x["q"], nodes, eye)
    close(turn @ C @ turn.T, dyn.operational_space_compliance(mb, x["q"], nodes))
    close(dyn.jacobian(mb, x["q"], nodes, mb.root), dyn.jacobian(mb, x["q"], nodes))


def test_a_frame_seen_by_the_model_itself():
    mb = tree(4)
    x = arguments(mb, 2)
    s = mb.state(x["q"], x["v"], x["vdot"])
    poses, A = dyn.poses(mb, x["q"]), dyn.accelerations(mb, x["q"], x["v"], x["vdot"])
    for frame in (*mb.bodies, mb[nodes_of(mb, 1)[0]], mb.root):
        close(poses[frame].as_matrix(), mb.pose(frame, state=s).as_matrix())
        close(A[frame], np.asarray(mb.acceleration(frame, state=s)))


def test_a_sub_graph_is_its_bodies_on_a_standing_anchor():
    """The same bodies hung from the inertial frame at the anchor's pose."""
    mb = tree(5, bases=1)
    g = subtree(mb)
    alone = sc.Multibody("alone", mb.gravity)
    stand = mb.pose(g.anchor)
    for body in g.bodies:
        base = body.parent is g.anchor
        inboard = sc.Pose(stand.rotation, stand.translation) @ body.inboard if base else body.inboard
        parent = None if base else body.parent.name
        twin = alone.add_body(body.name, parent, body.hinge, body.inertia, inboard, body.outboard)
        for node in body.nodes:
            twin.add_node(node.name, node.pose)
    x = arguments(g, 3)
    for function, args in (
        (dyn.inverse_dynamics, ("q", "v", "vdot")), (dyn.forward_dynamics, ("q", "v", "force")),
        (dyn.mass_matrix, ("q",)), (dyn.potential_energy, ("q",)), (dyn.momentum, ("q", "v")),
        (dyn.centroidal_momentum_matrix, ("q",)), (dyn.jacobian, ("q", "nodes")),
        (dyn.jacobian_dot_v, ("q", "v", "nodes")), (dyn.accelerations, ("q", "v", "vdot")),
    ):  # fmt: skip
        given = [x[name] for name in args]
        close(function(g, *given), function(alone, *given))


def test_a_sub_graph_on_a_moving_anchor_moves_as_in_the_model():
    mb = tree(6, bases=1)
    g = subtree(mb, anchor="moving")
    x = {name: getattr(g, name) for name in ("q", "v", "vdot")}
    whole = {name: getattr(mb, name) for name in ("q", "v", "vdot")}
    T = dyn.inverse_dynamics(mb, *whole.values())
    where = np.concatenate([np.arange(mb.nv)[mb.v_slice(body.name)] for body in g.bodies])
    close(dyn.inverse_dynamics(g, *x.values()), T[where])
    close(dyn.forward_dynamics(g, x["q"], x["v"], T[where]), x["vdot"])
    mine, theirs = dyn.accelerations(g, *x.values()), dyn.accelerations(mb, *whole.values())
    for body in g.bodies:
        close(mine[body], theirs[body])


def test_forces_stored_in_axes_outside_a_sub_graph():
    """The axes stand as in the model's state."""
    mb = tree(7, bases=1)
    g = subtree(mb)
    x = arguments(g, 4)
    assert mb.bodies[0] not in g.bodies
    node, push = nodes_of(g, 1)[0], sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in=mb.bodies[0])
    bare = dyn.forward_dynamics(g, x["q"], x["v"], x["force"])
    R = mb.pose(mb.bodies[0]).rotation
    turned = sc.Wrench(R @ push.moment, R @ push.force, expressed_in="inertial")
    expected = dyn.forward_dynamics(g, x["q"], x["v"], x["force"], {node: turned})
    mb.set_force(node, push)
    found = dyn.forward_dynamics(g, x["q"], x["v"], x["force"])
    close(found, expected)
    assert np.abs(found - bare).max() > 1e-3
