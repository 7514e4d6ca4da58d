"""Springs, bushings and gravity compensation on flexible bodies: gradients of an energy, powers, a beam on a spring."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq
from tests.flexible.models import slender
from tests.model.modal.test_nodes import slope
from tests.model.modal.test_trees import undamped
from tests.model.modal.trees import flexible_tree, random_pose

import soacraft as sc
import soacraft.flexible as fx
from soacraft.errors import ModelError

dyn = sc.dynamics
HINGES = (sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Weld(), sc.Free(), sc.Prismatic((1, 0, 0)))


def sprung(seed, damping=0.0):
    """Springs and a bushing between deforming nodes, nodes of rigid bodies and the ground; a rigid body on a flexible
    one of whose weight a part is carried."""
    rng = np.random.default_rng(seed)
    mb = flexible_tree((-1, 0, 0, 1, 2), seed, HINGES, modes=(2, 0, 3))
    mb.root.add_node("wall", random_pose(rng))
    K, D = (x @ x.T for x in rng.standard_normal((2, 6, 6)))
    mb.add_spring("line", "body0/tip", "body3/root", 3.0, 0.4, damping, through=["body1/tip"])
    mb.add_spring("wall", "inertial/wall", "body2/tip", 2.0, 0.3, damping)
    mb.add_bushing("mount", "body4/tip", "body3/tip", K, damping * D, rest=random_pose(rng))
    mb.add_spring("combination", {f"{mb.bodies[k].name}.mode0": 1.5 for k in mb.layout.flexible}, stiffness=4.0)
    rigid = next(body for body in mb.bodies if body.modal is None)
    rigid.gravity_compensation = 0.7
    return mb


@pytest.mark.parametrize("seed", range(3))
def test_their_force_is_the_gradient_of_an_energy(seed):
    mb = sprung(seed)
    q, zero = np.array(mb.q), np.zeros(mb.nv)
    along = [slope(lambda t, e=e: dyn.passive_energy(mb, mb.integrate(q, t * e))) for e in np.eye(mb.nv)]
    force = dyn.passive_force(mb, q, zero)
    np.testing.assert_allclose(force, -np.array(along), rtol=0, atol=1e-8 * np.abs(force).max())
    held = dyn.forward_dynamics(mb, q, zero, zero)
    bare = dyn.forward_dynamics(mb, q, zero, force, passive=False)
    np.testing.assert_allclose(held, bare, rtol=0, atol=1e-9 * np.abs(bare).max())


@pytest.mark.parametrize("seed", range(2))
def test_dampers_take_the_power_of_their_rates(seed):
    """v . force of dampers alone is minus damping times the squares of the rates of lengths, and D of the bushing."""
    mb = sprung(seed, 0.4)
    still = sprung(seed)
    q, v = np.array(mb.q), np.array(mb.v)
    force = dyn.passive_force(mb, q, v) - dyn.passive_force(still, q, v)

    def at(t):
        state = mb.state(mb.integrate(q, t * v))
        place = {x: mb.pose(x, state=state).translation for x in ("body0/tip", "body1/tip", "body3/root", "body2/tip")}
        first = np.linalg.norm(place["body1/tip"] - place["body0/tip"])
        second = np.linalg.norm(place["body3/root"] - place["body1/tip"])
        return np.array([first + second, np.linalg.norm(place["body2/tip"] - mb.pose("inertial/wall").translation)])

    def displaced(t):
        X = mb.pose("body3/tip", "body4/tip", state=mb.state(mb.integrate(q, t * v)))
        moved = mb.bushings["mount"].rest.inv @ X
        return sc.spatial.se3_log(moved.rotation, moved.translation)

    rates, x = slope(at), slope(displaced)
    power = -0.4 * rates @ rates - x @ mb.bushings["mount"].damping @ x
    assert v @ force == pytest.approx(power, rel=1e-8)


def test_hinges_and_batches_feel_them():
    mb = sprung(1, 0.2)
    q, v, vdot = (np.array(x) for x in (mb.q, mb.v, mb.vdot))
    T = dyn.inverse_dynamics(mb, q, v, vdot)
    f = dyn.interbody_forces(mb, q, v, vdot)
    k = next(k for k, body in enumerate(mb.bodies) if body.hinge.nv and body.modal is None)
    H = mb.sko(mb.state(q, v)).H(k)[:, :6]
    own = mb.layout.v_slices[k]
    J = mb.layout.armature[k]
    rotor = 0.0 if J is None else J * vdot[own]
    np.testing.assert_allclose(H @ f[mb.bodies[k]] + rotor, T[own], rtol=0, atol=1e-9 * np.abs(T).max())
    Q = np.array([q, mb.integrate(q, 0.1 * v)])
    one = [dyn.passive_force(mb, x, v) for x in Q]
    np.testing.assert_allclose(dyn.passive_force(mb, Q, v), one, rtol=0, atol=1e-12 * np.abs(one).max())


def test_a_beam_on_a_spring():
    """A cantilever whose tip a spring of 100 EI/L^3 holds: x^3 (1 + c ch) + k (s ch - c sh) = 0, x = beta L."""
    data = fx.reduce(slender(), ["root", "tip"], modes=8)
    mb = sc.Multibody("beam", gravity=(0, 0, 0))
    mb.add_body("beam", None, sc.Weld(), modal=data, hinge_node="root")
    mb.add_bushing("support", "inertial", "beam/tip", [0, 0, 0, 0, 100.0, 0], rest=sc.Pose(translation=(1, 0, 0)))
    q, zero = mb.neutral(), np.zeros(mb.nv)
    h = 1e-5
    rows = [dyn.bias_force(mb, q + h * e, zero) - dyn.bias_force(mb, q - h * e, zero) for e in np.eye(mb.nv)]
    K = np.array(rows) / (2 * h)
    omega = np.sqrt(eigh(0.5 * (K + K.T), dyn.mass_matrix(mb, q), eigvals_only=True))

    def condition(x):
        c, s, ch, sh = np.cos(x), np.sin(x), np.cosh(x), np.sinh(x)
        return x**3 * (1 + c * ch) + 100.0 * (s * ch - c * sh)

    for between in ((3.6, 3.7), (5.6, 5.7)):
        wanted = brentq(condition, *between)
        off = np.sqrt(omega) / wanted - 1.0
        assert 0.0 < off[np.abs(off).argmin()] < 1e-3  # Ritz's values are above


def test_a_bushing_keeps_energy_through_large_motion():
    """A flexible body on the ground and a rigid one on it, both by bushings alone and far from rest: to the accuracy of
    the integrator, whose error falls by 2^4 with half the step."""
    rng = np.random.default_rng(4)
    mb = sc.Multibody("mounted", gravity=(0, 0, -3.0))
    mb.add_body("soft", None, sc.Free(), modal=undamped(rng, 2))
    mb.add_body("stiff", None, sc.Free(), sc.Inertia(1.5, (0.1, 0.2, 0.0), 0.3 * np.eye(3)))
    K = rng.standard_normal((6, 6))
    mb.add_bushing("ground", "inertial", "soft/tip", K @ K.T + np.eye(6))
    mb.add_bushing("between", "soft/root", "stiff", K.T @ K + np.eye(6))
    q, v = mb.random_state(2)
    q[mb.layout.own.q] *= 0.1
    turn = mb.pose("stiff", "soft/root", state=mb.state(q)).rotation
    assert np.trace(turn) < 2.0  # by more than 60 degrees

    def drift(step):
        mb.set_state(q, v)
        before = energy(mb)
        sc.sim.Propagator(mb, integrator="rk4", step=step).advance_to(0.1)
        return abs(energy(mb) - before) / abs(before)

    coarse, fine = drift(0.01), drift(0.005)
    assert fine < 1e-6
    assert coarse / fine > 12.0


def energy(mb):
    stored = dyn.potential_energy(mb, mb.q) + dyn.passive_energy(mb, mb.q)
    return float(stored + dyn.kinetic_energy(mb, mb.q, mb.v))


def test_small_motion_on_a_bushing_has_the_frequencies_of_k_and_the_mass_matrix():
    rng = np.random.default_rng(5)
    mb = sc.Multibody("mounted", gravity=(0, 0, 0))
    body = mb.add_body("stiff", None, sc.Free(), sc.Inertia(1.5, (0.1, 0.2, 0.0), np.diag([0.3, 0.4, 0.5])))
    body.add_node("foot", random_pose(rng))
    K = (lambda x: x @ x.T)(rng.standard_normal((6, 6)))
    mb.add_bushing("ground", "inertial", "stiff/foot", K, rest=mb["stiff/foot"].pose)
    q = mb.neutral()
    J = dyn.jacobian(mb, q, ["stiff/foot"], expressed_in="node")
    wanted = np.sqrt(eigh(J.T @ K @ J, dyn.mass_matrix(mb, q), eigvals_only=True))
    found = np.sort(np.abs(sc.analysis.linearize(mb, q, np.zeros(6), np.zeros(6)).eigenvalues.imag))[::2]
    np.testing.assert_allclose(found, wanted, rtol=1e-7)


def test_what_they_refuse():
    mb = flexible_tree((-1, 0, 0), 0, modes=(2, 0, 2))
    version = mb.version
    fixed = "'body0' is fixed on the frame of flexible body 'body0', which is no point of it; let it act at one of its"
    for make, text in (
        (lambda: mb.add_spring("s", "body0", "body1/tip", 1.0), f"spring 's': {fixed} nodes: root, tip."),
        (lambda: mb.add_bushing("b", "body0", "body1/tip", 1.0), f"bushing 'b': {fixed} nodes: root, tip."),
        (lambda: mb.add_spring("s", {"body1": 1.0}, "body1/tip"), "spring 's' is along a combination of dofs, which"),
        (lambda: mb.add_spring("s", "body1/tip"), "spring 's' is between two nodes, or along {dof: ratio, ...}; give"),
    ):
        with pytest.raises(ModelError, match=re.escape(text)):
            make()
    with pytest.raises(ModelError, match="flexible body 'body0' has no gravity_compensation: one force at its centre"):
        mb["body0"].gravity_compensation = 1.0
    assert (mb.version, len(mb.springs), len(mb.tendons), len(mb.bushings)) == (version, 0, 0, 0)
