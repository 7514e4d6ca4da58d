"""Flexible bodies in a tree: motion by differences of poses, dynamics by Lagrange's equations, in every graph."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from tests.model.modal.test_nodes import slope
from tests.model.modal.trees import flexible_tree, random_modal, settle

import soacraft as sc
from soacraft.model.hinges import examples
from soacraft.spatial.rotations import unskew

dyn = sc.dynamics
BRANCHED = (-1, 0, 0, 1, 1, 3, 5)
HOLONOMIC = tuple(hinge for hinge in examples() if hinge.holonomic)
FLAT = (sc.Pin((0, 0.6, 0.8)), sc.Prismatic((1, 0, 0)), sc.Weld(), sc.Helical((0, 0, 1), 0.3))


def mass_of(mb):
    return sum(body.inertia.mass for body in mb.bodies)


def moving(mb):
    """The state after a time t of constant vdot, to second order."""
    q, v, vdot = (np.array(x) for x in (mb.q, mb.v, mb.vdot))
    return lambda t: mb.state(mb.integrate(q, t * v + 0.5 * t * t * vdot), v + t * vdot, vdot)


@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_accelerations_are_the_rates_of_poses(seed):
    mb = flexible_tree(BRANCHED, seed, FLAT)
    at = moving(mb)
    for name in ("body6", "body5/tip", "body3/root", "body4/inboard", "body1/outboard"):
        turned = slope(lambda t, x=name: mb.pose(x, state=at(t)).rotation)
        moved = slope(lambda t, x=name: mb.pose(x, state=at(t)).translation)
        twist = np.concatenate([unskew(turned @ mb.pose(name).rotation.T), moved])
        np.testing.assert_allclose(mb.velocity(name), twist, rtol=0, atol=1e-9)
        rate = slope(lambda t, x=name: np.asarray(mb.velocity(x, state=at(t))))
        np.testing.assert_allclose(mb.acceleration(name), rate, rtol=0, atol=1e-8)


@pytest.mark.parametrize("geometric", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_bias_force_by_lagranges_equations(seed, geometric):
    """C = Mdot v - 1/2 d(v* M v)/dq + dV/dq + D etad, with V of gravity and strain, from M and V alone."""
    mb = flexible_tree(BRANCHED[:5], seed, FLAT, geometric=geometric)
    q, v = np.array(mb.q), np.array(mb.v)
    eye = np.eye(mb.nv)
    dM = np.array([slope(lambda t, e=e: dyn.mass_matrix(mb, q + t * e)) for e in eye])
    dV = np.array([slope(lambda t, e=e: dyn.potential_energy(mb, q + t * e)) for e in eye])
    wanted = np.einsum("k,kij,j->i", v, dM, v) - 0.5 * np.einsum("kij,i,j->k", dM, v, v) + dV
    for k in mb.layout.flexible:
        own = slice(mb.layout.hinge_v[k].stop, mb.layout.v_slices[k].stop)
        wanted[own] += mb.layout.modal(k).D @ v[own]
    np.testing.assert_allclose(dyn.bias_force(mb, q, v), wanted, rtol=0, atol=1e-9 * np.abs(wanted).max())
    strain = [0.5 * mb[b.name].eta @ b.modal.K @ mb[b.name].eta for b in mb.bodies if b.modal]
    weight = -mass_of(mb) * dyn.center_of_mass(mb, q) @ mb.gravity
    assert dyn.potential_energy(mb, q) == pytest.approx(weight + sum(strain), rel=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_named_algorithms_agree(seed):
    mb = flexible_tree(BRANCHED, seed, HOLONOMIC)
    q, v = mb.q, mb.v
    rng = np.random.default_rng(seed)
    force, vdot = rng.standard_normal((2, mb.nv))
    M = dyn.mass_matrix(mb, q)
    size = np.abs(M).max()
    assert 0.5 * v @ M @ v == pytest.approx(dyn.kinetic_energy(mb, q, v), rel=1e-12)
    np.testing.assert_allclose(dyn.mass_matrix_inverse(mb, q) @ M, np.eye(mb.nv), rtol=0, atol=1e-9)
    np.testing.assert_allclose(dyn.mass_matrix_multiply(mb, q, vdot), M @ vdot, rtol=0, atol=1e-12 * size)
    assert dyn.log_det_mass_matrix(mb, q) == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-11)
    found = dyn.forward_dynamics(mb, q, v, force)
    bias = dyn.bias_force(mb, q, v)
    np.testing.assert_allclose(M @ found + bias, force, rtol=0, atol=1e-10 * np.abs(found).max() * size)
    prescribed = np.arange(mb.nv) % 2 == 0
    both = dyn.mixed_dynamics(mb, q, v, force, vdot, prescribed)
    np.testing.assert_allclose(dyn.inverse_dynamics(mb, q, v, both[0]), both[1], rtol=0, atol=1e-9 * size)
    slope_of_com = slope(lambda t: dyn.center_of_mass(mb, mb.integrate(q, t * v)))
    h = dyn.momentum(mb, q, v)
    np.testing.assert_allclose(h[3:], mass_of(mb) * slope_of_com, rtol=0, atol=1e-9)
    about = np.concatenate([h[:3] - np.cross(dyn.center_of_mass(mb, q), h[3:]), h[3:]])
    np.testing.assert_allclose(dyn.centroidal_momentum_matrix(mb, q) @ v, about, rtol=0, atol=1e-11)
    weight = slope(lambda t: -mass_of(mb) * dyn.center_of_mass(mb, mb.integrate(q, t * v)) @ mb.gravity)
    assert dyn.gravity_force(mb, q) @ v == pytest.approx(weight, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_jacobians_and_forces_at_deforming_nodes(seed):
    mb = flexible_tree(BRANCHED, seed, HOLONOMIC)
    q, v = mb.q, mb.v
    nodes = ["body6/tip", "body3/root", "body1/tip"]
    J = dyn.jacobian(mb, q, nodes)
    np.testing.assert_allclose(J @ v, np.concatenate([mb.velocity(x) for x in nodes]), rtol=0, atol=1e-12)
    rate = np.concatenate([mb.acceleration(x, state=mb.state(q, v, np.zeros(mb.nv))) for x in nodes])
    np.testing.assert_allclose(dyn.jacobian_dot_v(mb, q, v, nodes), rate, rtol=0, atol=1e-10)
    wrench = np.random.default_rng(seed).standard_normal(6)
    own = dyn.jacobian(mb, q, nodes[:1], expressed_in="node")
    pushed = dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv), f_ext={nodes[0]: wrench})
    np.testing.assert_allclose(pushed, dyn.forward_dynamics(mb, q, v, own.T @ wrench), rtol=1e-9, atol=1e-9)
    held = sc.Wrench(wrench[:3], wrench[3:], expressed_in=mb.root)
    in_axes = dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv), f_ext={nodes[0]: held})
    np.testing.assert_allclose(in_axes, dyn.forward_dynamics(mb, q, v, J[:6].T @ wrench), rtol=1e-9, atol=1e-9)
    compliance = J @ dyn.mass_matrix_inverse(mb, q) @ J.T
    np.testing.assert_allclose(
        dyn.operational_space_compliance(mb, q, nodes), compliance, rtol=0, atol=1e-10 * np.abs(compliance).max()
    )


def test_batches_are_states_one_by_one():
    mb = flexible_tree(BRANCHED, 2, HOLONOMIC)
    states = [mb.random_state(seed) for seed in range(3)]
    Q, V = (np.array(x) for x in zip(*states, strict=True))
    Q[:, mb.layout.own.q] *= 0.2
    one = [dyn.forward_dynamics(mb, q, v, np.ones(mb.nv)) for q, v in zip(Q, V, strict=True)]
    np.testing.assert_allclose(dyn.forward_dynamics(mb, Q, V, np.ones(mb.nv)), one, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("names", [["body3", "body5", "body6"], ["body4"], ["body1", "body3", "body4"], ["body6"]])
def test_sub_graphs_on_a_deforming_node_that_moves(names):
    """The forces of their hinges are those of the whole model."""
    mb = flexible_tree(BRANCHED, 1, HOLONOMIC)
    q, v = np.array(mb.q), np.array(mb.v)
    mb.vdot = dyn.forward_dynamics(mb, q, v, np.zeros(mb.nv))
    whole = dict(zip(mb.dof_names, dyn.inverse_dynamics(mb, q, v, mb.vdot), strict=True))
    outboard = {x.name for name in names for x in mb[name].subtree()}
    part = mb.subgraph(sorted(outboard), anchor="moving")
    found = dict(zip(part.dof_names, np.asarray(sc.operators(part).T), strict=True))
    assert found == pytest.approx({dof: whole[dof] for dof in found}, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("how", ["copy", "pickle", "deepcopy"])
def test_copies(how):
    mb = flexible_tree(BRANCHED, 3, HOLONOMIC)
    make = {"copy": mb.copy, "pickle": lambda: pickle.loads(pickle.dumps(mb)), "deepcopy": lambda: copy.deepcopy(mb)}
    twin = make[how]()
    assert [x.modal is None for x in twin.bodies] == [x.modal is None for x in mb.bodies]
    zero = np.zeros(mb.nv)
    np.testing.assert_array_equal(
        dyn.forward_dynamics(twin, twin.q, twin.v, zero), dyn.forward_dynamics(mb, mb.q, mb.v, zero)
    )
    np.testing.assert_array_equal(twin.pose("body3/tip").as_matrix(), mb.pose("body3/tip").as_matrix())


def test_energy_and_momentum_of_a_free_tree_are_kept():
    """No gravity, no damping: to the accuracy of the integrator, whose error falls by 2^4 with half the step."""
    rng = np.random.default_rng(7)
    mb = sc.Multibody("free", gravity=(0, 0, 0))
    mb.add_body("hub", None, sc.Free(), modal=undamped(rng, 2))
    mb.add_body("arm", "hub/tip", sc.Pin((0, 0, 1)), modal=undamped(rng, 2), hinge_node="root")
    mb.add_body("hand", "arm/tip", sc.Spherical(), sc.Inertia(0.5, (0.1, 0, 0), 0.02 * np.eye(3)))
    settle(mb, 3, 0.1)
    mb.v = 0.5 * mb.v
    q, v = mb.q, mb.v

    def measured(step):
        mb.set_state(q, v)
        sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(0.1)
        energy = dyn.kinetic_energy(mb, mb.q, mb.v) + dyn.potential_energy(mb, mb.q)
        return np.array([energy, *dyn.momentum(mb, mb.q, mb.v)])

    mb.set_state(q, v)
    start = np.array([dyn.kinetic_energy(mb, q, v) + dyn.potential_energy(mb, q), *dyn.momentum(mb, q, v)])
    coarse, fine = (np.abs(measured(step) - start).max() for step in (0.02, 0.01))
    assert fine < 1e-6 * abs(start).max()
    assert coarse / fine > 12.0


def undamped(rng, n):
    data = random_modal(rng, n)
    kept = {name: getattr(data, name) for name in "mass first second p N Q M K S T nodes".split()}
    return type(data)(**kept)


def test_rehanging_keeps_modes_and_pose():
    mb = flexible_tree((-1, 0, 1), 1, (sc.Free(),), modes=(2,))
    before, eta, V = mb.pose("body2"), np.array(mb["body2"].eta), np.array(mb.velocity("body2"))
    mb.reattach("body2", "body0/root", sc.Free(), keep_pose=True, hinge_node="tip")
    assert mb.pose("body2").is_close(before, 1e-12)
    np.testing.assert_array_equal(mb["body2"].eta, eta)
    np.testing.assert_allclose(mb.velocity("body2"), V, rtol=0, atol=1e-12)


def test_a_node_of_a_rigid_body_as_parent():
    mb = sc.Multibody()
    mb.add_body("a", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0)).add_node("tool", sc.Pose(translation=(1, 2, 3)))
    mb.add_body("b", "a/tool", sc.Weld(), sc.Inertia(1.0), sc.Pose(translation=(0, 0, 1)))
    assert mb["b"].inboard.is_close(sc.Pose(translation=(1, 2, 4)))
    assert mb["b"].parent is mb["a"]


def test_nodes_on_deforming_ones():
    mb = flexible_tree((-1, 0), 1, modes=(2,))
    body = mb["body1"]
    arm = sc.Pose(translation=(0.1, 0.2, 0.3))
    body.add_node("sensor", arm, on="tip")
    assert mb.pose("body1/sensor", "body1/tip").is_close(arm, 1e-12)
    np.testing.assert_allclose(mb.velocity("body1/sensor", "body1/tip"), np.zeros(6), atol=1e-12)


def test_points_follow_the_modes():
    rng = np.random.default_rng(0)
    points, shapes = rng.standard_normal((5, 3)), rng.standard_normal((5, 3, 2))
    data = random_modal(rng, 2, points=points, shapes=shapes, recovery={"stress": rng.standard_normal((4, 6, 2))})
    mb = sc.Multibody()
    body = mb.add_body("beam", None, sc.Free(), modal=data)
    mb.q = {"beam.mode0": 0.5, "beam.mode1": -0.25}
    np.testing.assert_allclose(body.deformed(), points + shapes @ [0.5, -0.25])
    np.testing.assert_allclose(body.deformed([3]), (points + shapes @ [0.5, -0.25])[[3]])
    np.testing.assert_allclose(data.recover("stress", body.eta), data.recovery["stress"] @ [0.5, -0.25])
