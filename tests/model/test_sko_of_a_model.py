"""The SKO model of a rigid tree in its three representations, against differences and Kane's method."""

import numpy as np
import pytest
from tests.model.differences import along, rate

from soacraft.model import AXES, random_tree
from soacraft.spatial import Pose, Wrench, adjoint, crf, crm, phi, skew

SEEDS = range(3)


def model(seed):
    return random_tree(13, seed=seed, bases=2)


def scattered(sko, x):
    """y(k) = A*(p,k) y(p) + x(k)."""
    y = {}
    for k in sko.base_to_tips():
        p = sko.parent(k)
        y[k] = x[k] if p < 0 else x[k] + sko.A(p, k).T @ y[p]
    return [y[k] for k in sko.nodes]


def by_hinge(mb, v):
    return [v[body.v_slice] for body in mb.bodies]


def alphas(mb, sko):
    """alpha = phi*(H* vdot + a)."""
    vdot = by_hinge(mb, mb.vdot)
    return scattered(sko, [sko.H(k).T @ vdot[k] + sko.a(k) for k in sko.nodes])


def inverse_dynamics(mb, sko):
    """T = H phi (M alpha + b)."""
    alpha = alphas(mb, sko)
    f = {k: sko.M(k) @ alpha[k] + sko.b(k) for k in sko.nodes}
    for k in sko.tips_to_base():
        if (p := sko.parent(k)) >= 0:
            f[p] = f[p] + sko.A(p, k) @ f[k]
    return np.concatenate([sko.H(k) @ f[k] for k in sko.nodes])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("axes", AXES)
def test_velocities_are_phi_star_H_star_v(seed, axes):
    mb = model(seed)
    sko, v = mb.sko(axes=axes), by_hinge(mb, mb.v)
    V = scattered(sko, [sko.H(k).T @ v[k] for k in sko.nodes])
    np.testing.assert_allclose(V, mb.body_velocities(axes=axes), atol=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_velocities_are_those_of_the_frames(seed):
    mb = model(seed)
    for k, body in enumerate(mb.bodies):
        T = mb.pose(body)
        seen = mb.velocity(body)
        np.testing.assert_allclose(mb.body_velocities()[k], mb.velocity(body, expressed_in=body), atol=1e-10)
        np.testing.assert_allclose(mb.body_velocities(axes="inertial")[k], seen, atol=1e-10)
        at_origin = seen.linear - np.cross(seen.angular, T.translation)
        np.testing.assert_allclose(
            mb.body_velocities(axes="origin")[k], np.concatenate([seen.angular, at_origin]), atol=1e-10
        )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("axes", AXES)
def test_alpha_is_the_rate_of_the_velocity_components(seed, axes):
    mb = model(seed)
    motion = along(mb)
    expected = [rate(V) for V in mb.body_velocities(motion, axes)]
    np.testing.assert_allclose(alphas(mb, mb.sko(axes=axes)), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_representations_are_one_another_changed(seed):
    mb = model(seed)
    body = mb.sko()
    for axes in ("inertial", "origin"):
        sko = mb.sko(axes=axes)
        T = []
        for each in mb.bodies:
            pose = mb.pose(each)
            T.append(adjoint(pose.rotation, pose.translation if axes == "origin" else np.zeros(3)))
        for k in sko.nodes:
            inv = np.linalg.inv(T[k])
            np.testing.assert_allclose(sko.H(k), body.H(k) @ T[k].T, atol=1e-10)
            np.testing.assert_allclose(sko.M(k), inv.T @ body.M(k) @ inv, atol=1e-9)
            if (p := sko.parent(k)) >= 0:
                expected = np.linalg.inv(T[p]).T @ body.A(p, k) @ T[k].T
                np.testing.assert_allclose(sko.A(p, k), expected, atol=1e-10)


def test_edges_are_exactly_those_of_the_papers():
    mb = model(0)
    inertial, origin, body = mb.sko(axes="inertial"), mb.sko(axes="origin"), mb.sko()
    for k in body.nodes:
        if (p := body.parent(k)) < 0:
            continue
        l = mb.pose(mb.bodies[k]).translation - mb.pose(mb.bodies[p]).translation
        np.testing.assert_array_equal(origin.A(p, k), np.eye(6))
        for corner in (inertial.A(p, k)[:3, :3], inertial.A(p, k)[3:, 3:]):
            np.testing.assert_array_equal(corner, np.eye(3))
        np.testing.assert_array_equal(inertial.A(p, k)[3:, :3], np.zeros((3, 3)))
        np.testing.assert_allclose(inertial.A(p, k)[:3, 3:], skew(l), atol=1e-12)
        relative = mb.pose(mb.bodies[k], mb.bodies[p])
        np.testing.assert_allclose(body.A(p, k), phi(relative.rotation, relative.translation), atol=1e-12)


def test_a_and_b_as_the_conventions_write_them():
    """a and b of every body in body and inertial axes (conventions of the papers)."""
    mb = model(1)
    mb.gravity = (0.3, -0.2, -9.7)
    v, inertial, body = by_hinge(mb, mb.v), mb.sko(axes="inertial"), mb.sko()
    V, U = mb.body_velocities(axes="inertial"), mb.body_velocities()
    for k, each in enumerate(mb.bodies):
        R, w = mb.pose(each).rotation, V[k][:3]
        twist = inertial.H(k).T @ v[k]
        apparent = mb.state().motion.a[k] - crm(U[k]) @ (body.H(k).T @ v[k])  # (dH*/dt) v in body axes
        p = inertial.parent(k)
        V_p = np.zeros(6) if p < 0 else V[p]
        sway = np.cross(V_p[:3], V[k][3:] - V_p[3:])
        turned = np.concatenate([np.cross(w, twist[:3]), np.cross(w, twist[3:])])
        a = np.concatenate([np.zeros(3), sway]) + turned + adjoint(R, np.zeros(3)) @ apparent
        np.testing.assert_allclose(inertial.a(k), a, atol=1e-9)
        M, m, c = inertial.M(k), each.inertia.mass, R @ each.inertia.com
        gyroscopic = np.concatenate([np.cross(w, M[:3, :3] @ w), m * np.cross(w, np.cross(w, c))])
        np.testing.assert_allclose(inertial.b(k), gyroscopic - M @ [0, 0, 0, *mb.gravity], atol=1e-9)
        weight = body.M(k) @ np.concatenate([np.zeros(3), R.T @ mb.gravity])
        np.testing.assert_allclose(body.b(k), crf(U[k]) @ body.M(k) @ U[k] - weight, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_node_blocks_carry_velocities_out_and_forces_in(axes):
    """V(O) = phi*(k, O) V(k), in node axes for body axes and in inertial axes otherwise; a body is its own node."""
    mb = model(2)
    for frame in (mb["body13/tip"], mb["body5/tip"], mb["body6"]):
        k, block = mb.node_block(frame, axes=axes)
        assert mb.bodies[k] is frame.carrier
        seen = mb.velocity(frame, expressed_in=frame if axes == "body" else None)
        np.testing.assert_allclose(block.T @ mb.body_velocities(axes=axes)[k], seen, atol=1e-9)
    f = np.arange(6.0)
    R = mb.pose("body13/tip").rotation
    k, block = mb.node_block("body13/tip", axes=axes)
    free = mb.sko(axes=axes).b(k)
    mb.set_force("body13/tip", f)
    local = f if axes == "body" else np.concatenate([R @ f[:3], R @ f[3:]])
    np.testing.assert_allclose(mb.sko(axes=axes).b(k), free - block @ local, atol=1e-9)


# -- the generalized force, by Kane's method ------------------------------------------------------------------


def kane(mb, forces):
    """T_j = sum over bodies of (rates of momentum - gravity) times partial velocities, minus the external forces.

    Momenta are taken at the centres of mass, in inertial axes, and differentiated numerically.
    """
    mb, total = mb.copy(), np.zeros(mb.nv)
    moved = along(mb)
    unit = mb.state(v=np.eye(mb.nv))
    for body in mb.bodies:
        centre = body.add_node("centre of mass", Pose(translation=body.inertia.com))
        R, V, mass = mb.pose(body, state=moved).rotation, mb.velocity(centre, state=moved), body.inertia.mass
        L = (R @ body.inertia.moment @ R.mT @ V.angular[..., None])[..., 0]
        partial = mb.velocity(centre, state=unit)
        total += partial.angular @ rate(L) + partial.linear @ (mass * (rate(V.linear) - mb.gravity))
    for node, moment, force in forces:  # in inertial axes
        partial = mb.velocity(node.full_name, state=unit)
        total -= partial.angular @ moment + partial.linear @ force
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_dynamics_is_kanes_in_all_axes(seed):
    mb = model(seed)
    expected = kane(mb, [])
    for axes in AXES:
        found = inverse_dynamics(mb, mb.sko(axes=axes))
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", SEEDS)
def test_external_forces_enter_b(seed):
    mb = model(seed)
    rng = np.random.default_rng(seed)
    tip, mid, other = mb["body13/tip"], mb["body6"], mb["body3/tip"]
    w1, w2, w3 = rng.standard_normal((3, 6))
    R_tip, R_other = mb.pose(tip).rotation, mb.pose(other).rotation
    acting = [(tip, R_tip @ w1[:3], R_tip @ w1[3:]), (mid, w2[:3], w2[3:]), (mid, R_other @ w3[:3], R_other @ w3[3:])]
    mb.set_force(tip, w1)  # node axes
    mb.set_force("body6", Wrench(w2[:3], w2[3:], expressed_in="inertial"))  # at a body frame
    extra = {mid: Wrench(w3[:3], w3[3:], expressed_in=other)}
    expected = kane(mb, acting)
    for axes in AXES:
        sko = mb.sko(axes=axes, f_ext=extra)
        np.testing.assert_allclose(inverse_dynamics(mb, sko), expected, rtol=1e-7, atol=1e-7)
        stored = mb.sko(axes=axes)
        assert stored is mb.sko(axes=axes)
        assert stored is not sko
        assert stored.memo is sko.memo
        np.testing.assert_allclose(inverse_dynamics(mb, stored), kane(mb, acting[:2]), rtol=1e-7, atol=1e-7)
