"""Gravity over bodies: force and moment of a field, against sums over mass points, potentials and closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.loops.cases import row_of_four_bars
from tests.model.modal.trees import flexible_tree, settle

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.model.modal.inertia import moments
from soacraft.spatial.rotations import exp, matrix_to_quaternion

MU, ORBIT = 3.986004418e14, 7.0e6


def earth(t, r):
    return -MU * r / np.linalg.norm(r) ** 3


def bound(mb, field):
    element = sc.sim.GravityField(field)
    element.bind(mb)
    return element


def satellite(moment, turn=(0.0, 0.0, 0.0), mass=500.0):
    """One free body at 7,000 km on the x axis."""
    mb = sc.Multibody("satellite", gravity=(0, 0, 0))
    mb.add_body("hub", None, sc.Free(), sc.Inertia(mass, moment=np.diag(moment)))
    q = np.zeros(7)
    q[:4] = matrix_to_quaternion(exp(np.array(turn)))
    q[4:] = ORBIT, 0.0, 0.0
    mb.set_state(q, np.zeros(6))
    return mb


def test_the_moment_of_the_gradient_on_a_satellite():
    """3 mu / r^3 e x I e: 6.926e-6 N m of I = (100, 120, 40) that is turned by 0.1 rad about z."""
    mb = satellite((100.0, 120.0, 40.0), (0.0, 0.0, 0.1))
    R = exp(np.array([0.0, 0.0, 0.1]))
    e = np.array([1.0, 0.0, 0.0])
    due = 3.0 * MU / ORBIT**3 * np.cross(e, R @ np.diag([100.0, 120.0, 40.0]) @ R.T @ e)
    push = bound(mb, earth).force(0.0, mb.current)  # of a free body: [moment; force] in axes of the body
    assert np.linalg.norm(due) == pytest.approx(6.926e-6, rel=1e-4)
    assert np.allclose(R @ push[:3], due, rtol=0, atol=1e-6 * np.linalg.norm(due))


def test_a_ball_is_pulled_as_a_point():
    mb = satellite((100.0, 100.0, 100.0), (0.3, 0.2, 0.1))
    calls = []
    push = bound(mb, lambda t, r: calls.append(1) or earth(t, r)).force(0.0, mb.current)
    assert len(calls) == 1
    assert np.array_equal(push[:3], np.zeros(3))
    assert np.linalg.norm(push[3:]) == pytest.approx(500.0 * MU / ORBIT**2, rel=1e-14)


@pytest.mark.parametrize("length", [1.0, 1e-3, 1e6])
def test_force_and_moment_against_the_sum_over_mass_points(length):
    """A body of points of mass near an attracting point: what is left falls with the third power of its size, in units
    of any length."""
    rng = np.random.default_rng(4)
    points, masses = rng.standard_normal((9, 3)), rng.uniform(0.5, 1.5, 9)
    errors = []
    for size in (0.04, 0.02, 0.01):
        at = size * length * points
        inertia = sum((sc.Inertia.point(m, x) for m, x in zip(masses, at, strict=True)), start=sc.Inertia())
        mb = sc.Multibody("cloud", gravity=(0, 0, 0))
        mb.add_body("cloud", None, sc.Free(), inertia)
        R, p = exp(np.array([0.4, -0.3, 0.8])), length * np.array([1.5, -0.5, 1.0])
        mb.set_state([*matrix_to_quaternion(R), *p], np.zeros(6))

        def g(t, r):
            return -(length**3) * r / np.linalg.norm(r) ** 3

        pulls = masses[:, None] * np.array([g(0.0, p + R @ x) for x in at])
        centre = R @ inertia.com
        force, moment = pulls.sum(axis=0), np.cross(at @ R.T - centre, pulls).sum(axis=0)
        push = bound(mb, g).force(0.0, mb.current)
        got_force = R @ push[3:]
        got_moment = R @ push[:3] - np.cross(centre, got_force)
        scale = np.linalg.norm(force)
        errors.append((np.linalg.norm(got_force - force) / scale, np.linalg.norm(got_moment - moment) / scale / length))
        assert errors[-1][0] < 20.0 * size**3
        assert errors[-1][1] < 20.0 * size**3
    for coarse, fine in pairwise(errors):
        assert 6.0 < coarse[0] / fine[0] < 11.0  # without terms of second order in the force it is 4
        assert 6.0 < coarse[1] / fine[1] < 11.0


def test_a_constant_field_on_a_closed_chain_is_gravity_on_its_tree():
    """The closure's own forces are no part of it: dU/dq of U = -sum m g . r, by differences off the closure."""
    mb, g = row_of_four_bars(1), np.array([1.0, -2.0, 3.0])
    mb.gravity = (0, 0, 0)
    result = bound(mb, lambda t, r: g).force(0.0, mb.current)

    def energy(q):
        poses = [(x.inertia, mb.pose(x, state=mb.state(q))) for x in mb.bodies]
        return -sum(i.mass * g @ (p.translation + p.rotation @ i.com) for i, p in poses)

    h, q = 1e-4, np.array(mb.q)
    slope = [(energy(q + h * e) - energy(q - h * e)) / (2 * h) for e in np.eye(mb.nv)]
    np.testing.assert_allclose(result, -np.array(slope), rtol=0, atol=1e-7)
    assert np.abs(result).min() > 0.1


def test_a_dumbbell_keeps_energy_and_angular_momentum_on_its_orbit():
    """T - m mu/r - mu/(2 r^3) (tr I - 3 e I e) is kept, as is the angular momentum, while it librates."""
    mu, moment = 3.0, np.diag([0.02, 0.4, 0.41])
    mb = sc.Multibody("dumbbell", gravity=(0, 0, 0))
    mb.add_body("hub", None, sc.Free(), sc.Inertia(2.0, moment=moment))
    mb.set_state([*matrix_to_quaternion(exp(np.array([0.1, 0.2, 0.5]))), 3.0, 0, 0], [0.1, 0.2, 0.6, 0.1, 1.0, 0.2])
    p = sc.sim.Propagator(mb, rtol=1e-11)
    p.add(sc.sim.GravityField(lambda t, r: -mu * r / np.linalg.norm(r) ** 3))
    run = p.advance_to(8.0)
    kept = []
    for q, v in zip(run.q, run.v, strict=True):
        pose, V = mb.pose("hub", state=mb.state(q, v)), mb.velocity("hub", state=mb.state(q, v))
        R, r = pose.rotation, pose.translation
        I, e, d = R @ moment @ R.T, r / np.linalg.norm(r), np.linalg.norm(r)
        w, u = np.asarray(V.angular), np.asarray(V.linear)
        potential = -2.0 * mu / d - 0.5 * mu / d**3 * (np.trace(I) - 3.0 * e @ I @ e)
        energy = 0.5 * w @ I @ w + u @ u + potential
        kept.append([energy, *(I @ w + 2.0 * np.cross(r, u))])
    kept = np.array(kept)
    assert np.abs(np.ptp([np.arctan2(x[1], x[0]) for x in run.q])) > 0.1
    # differences of g are good to 1e-6 of the terms of second order here
    assert np.abs(kept - kept[0]).max() < 2e-6
    assert run.check().holds


def test_masses_and_inertias_are_those_of_the_model_now():
    mb = satellite((100.0, 120.0, 40.0), (0.0, 0.1, 0.0))
    element = bound(mb, earth)
    before = element.force(0.0, mb.current)
    mb["hub"].inertia = sc.Inertia(250.0, moment=np.diag([50.0, 60.0, 20.0]))
    assert np.allclose(element.force(0.0, mb.current), 0.5 * before, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_constant_field_on_flexible_bodies_is_gravity(seed):
    """The generalized force, that of the modes included, is that of mb.gravity."""
    mb = _tree(seed)
    g = np.array([1.0, -2.0, 3.0])
    push = bound(mb, lambda t, r: g).force(0.0, mb.current)
    mb.gravity = g
    assert np.allclose(push, -dyn.gravity_force(mb, mb.q), rtol=0, atol=1e-9 * (1 + np.abs(push).max()))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_linear_field_on_flexible_bodies_has_a_potential(seed):
    """g = A r, A symmetric: the force is -dU/dq of U = -1/2 sum m r* A r, of which the sums are known."""
    mb = _tree(seed)
    A = np.array([[1.0, 0.3, -0.2], [0.3, 0.5, 0.4], [-0.2, 0.4, -1.5]])

    def potential(q):
        state, total = mb.state(q, np.zeros(mb.nv)), 0.0
        for body in mb.bodies:
            pose = mb.pose(body, state=state)
            R, p, i = pose.rotation, pose.translation, body.inertia
            if body.modal is not None:
                k = mb.layout.index[body]
                m, eta = body.modal.mass, q[mb.layout.hinge_q[k].stop : mb.layout.q_slices[k].stop]
                c, Y = moments(body.modal, np.asarray(eta))[:2]
            else:
                m, c = i.mass, i.mass * i.com
                Y = 0.5 * np.trace(i.moment) * np.eye(3) - i.moment + m * np.outer(i.com, i.com)
            total -= 0.5 * (m * p @ A @ p + 2.0 * p @ A @ R @ c + np.trace(A @ R @ Y @ R.T))
        return total

    q, h = np.array(mb.q), 1e-3
    due = np.zeros(mb.nv)
    for j, d in enumerate(h * np.eye(mb.nv)):
        f = {k: potential(np.asarray(mb.integrate(q, k * d))) for k in (-2, -1, 1, 2)}
        due[j] = -(8 * (f[1] - f[-1]) - f[2] + f[-2]) / (12 * h)
    push = bound(mb, lambda t, r: A @ r).force(0.0, mb.current)
    assert np.allclose(push, due, rtol=0, atol=1e-8 * (1 + np.abs(due).max()))


def _tree(seed):
    mb = flexible_tree((-1, 0, 0, 2), seed)
    settle(mb, seed, size=0.05)
    return mb


def test_linear_equations_have_the_stiffness_of_the_gradient():
    """d(moment)/d(angle) of a satellite at its place: diag(0, 3 mu/r^3 (I_x - I_z), 3 mu/r^3 (I_x - I_y)), over I."""
    mb = satellite((40.0, 100.0, 120.0))
    s = sc.sim.System("s", integrator="rk4", step=1.0)
    s.add("craft", sc.sim.Plant(mb, forces=[sc.sim.GravityField(earth)]))
    A = s.linearize([], "craft.q").A
    n2 = MU / ORBIT**3
    rows = A[6:9, 0:3]
    due = 3.0 * n2 * np.diag([0.0, (40.0 - 120.0) / 100.0, (40.0 - 100.0) / 120.0])
    assert np.allclose(rows, due, rtol=0, atol=2e-3 * n2)
    assert np.allclose(A[9:12, 3:6], n2 * np.diag([2.0, -1.0, -1.0]), rtol=0, atol=2e-3 * n2)
