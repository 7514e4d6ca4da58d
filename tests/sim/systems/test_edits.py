"""Bodies that part, join and are caught: velocities, momentum and energy, on random trees with free bases that spin."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.model import random_tree
from soacraft.sim.systems.changes import edits

HINGES = [
    sc.Pin((0, 0, 1)),
    sc.Spherical(),
    sc.Universal((1, 0, 0), (0, 1, 0)),
    sc.Prismatic((1, 0, 0)),
    sc.Gimbal(),
    sc.Weld(),
    sc.Cylindrical((0, 0, 1)),
    sc.Planar(),
]


def floating(seed: int, n: int = 6):
    """A random tree on a free base, which spins."""
    mb = random_tree(n, seed=seed, hinges=HINGES, gravity=(0, 0, 0))
    for body in mb.root.children:
        mb.reattach(body, None, sc.Free(), keep_pose=True)
    mb.set_state(None, 3.0 * np.random.default_rng(seed).normal(size=mb.nv))
    return mb


def sizes(mb):
    """What momenta are measured by: the sums of the sizes of those of the bodies, angular and linear."""
    turning = moving = 0.0
    for body in mb.bodies:
        V, T = np.asarray(mb.velocity(body)), mb.pose(body)
        arm = T.rotation @ body.inertia.com
        linear = body.inertia.mass * (V[3:] + np.cross(V[:3], arm))
        moving += np.linalg.norm(linear)
        turning += np.linalg.norm(np.cross(T.translation + arm, linear))
        turning += np.linalg.norm(body.inertia.moment) * np.linalg.norm(V[:3])
    return np.repeat([turning, moving], 3)


def own_momentum(mb):
    """Body by body, from poses and velocities alone."""
    h = np.zeros(6)
    for body in mb.bodies:
        V, T = np.asarray(mb.velocity(body)), mb.pose(body)
        R = np.asarray(T.rotation)
        arm = R @ body.inertia.com
        linear = body.inertia.mass * (V[3:] + np.cross(V[:3], arm))
        h[3:] += linear
        h[:3] += np.cross(T.translation + arm, linear) + R @ body.inertia.moment @ R.T @ V[:3]
    return h


def energy(mb):
    return float(sc.dynamics.kinetic_energy(mb, mb.q, mb.v, ignore_loops=True))


@pytest.mark.parametrize("seed", range(16))
def test_momentum_is_kept_when_bodies_part_and_are_caught(seed):
    mb, rng = floating(seed), np.random.default_rng(seed)
    base = mb.root.children[0].name
    name = [x.name for x in mb.bodies if x.name != base][rng.integers(5)]
    h, e, size = own_momentum(mb), energy(mb), sizes(mb)
    edits.detach(mb, name)
    assert np.abs((own_momentum(mb) - h) / size).max() < 1e-12
    assert energy(mb) == pytest.approx(e, rel=1e-12)
    mb.set_state(None, 2.0 * rng.normal(size=mb.nv))
    inside = {x.name for x in mb[name].subtree()}
    others = [x.name for x in mb.bodies if x.name not in inside]
    parent, hinge = others[rng.integers(len(others))], HINGES[seed % len(HINGES)]
    h, e, size, bodies = own_momentum(mb), energy(mb), sizes(mb), len(mb)
    done = edits.capture(mb, name, parent, hinge, None, None)
    assert mb[name].parent is mb[parent]
    assert mb[name].hinge is hinge
    assert len(mb) == bodies
    assert not mb.is_closed
    assert not [x for x in mb[parent].nodes if "capture" in x.name]
    assert np.abs((own_momentum(mb) - h) / size).max() < 1e-12
    assert e - energy(mb) == pytest.approx(done.energy_lost, abs=1e-12 * e)
    assert done.energy_lost > 0.0


def test_the_impulse_is_what_the_caught_body_gets():
    mb = floating(3)
    name = [x.name for x in mb.bodies][-1]
    edits.detach(mb, name)
    mb.set_state(None, np.random.default_rng(1).normal(size=mb.nv))
    body = mb[name]
    assert not body.children

    def alone():
        V, T = np.asarray(mb.velocity(body)), mb.pose(body)
        R = np.asarray(T.rotation)
        arm = R @ body.inertia.com
        linear = body.inertia.mass * (V[3:] + np.cross(V[:3], arm))
        return np.concatenate([np.cross(arm, linear) + R @ body.inertia.moment @ R.T @ V[:3], linear])

    before = alone()
    done = edits.capture(
        mb, name, mb.root.children[0].name, sc.Pin((0, 1, 0)), None, sc.Pose(translation=(0.3, 0, 0.1))
    )
    assert alone() - before == pytest.approx(done.impulse, abs=1e-12 * np.abs(before).max() + 1e-12)


def test_what_something_holds_is_joined_by_a_loop():
    mb = floating(5)
    tip = [x for x in mb.bodies if not x.children][-1].name
    mb.add_body("prey", None, sc.Free(), sc.Inertia(2.0, (0, 0.1, 0), np.eye(3)))
    wing = mb.add_body("wing", "prey", sc.Pin((1, 0, 0)), sc.Inertia(0.5, (0, 0.3, 0), 0.1 * np.eye(3)))
    mb.set_state(None, np.random.default_rng(2).normal(size=mb.nv))
    h, size = own_momentum(mb), sizes(mb)
    edits.capture(mb, wing.name, tip, sc.Spherical(), None, None)
    assert mb.is_closed
    assert wing.parent.name == "prey"
    assert np.abs((own_momentum(mb) - h) / size).max() < 1e-12
    J = sc.loops.TreeAugmented(mb)
    assert np.abs(J.project_velocity(mb.q, mb.v) - mb.v).max() < 1e-12


def test_attach_takes_what_moves_alike_and_refuses_an_impact():
    mb = floating(2)
    name, parent = mb.bodies[-1].name, mb.bodies[-1].parent.name
    edits.detach(mb, name)
    q, v = np.array(mb.q), np.array(mb.v)
    with pytest.raises(ModelError, match=r"as Weld\(\) does not allow, by .* m/s: that is an impact. Use capture"):
        edits.attach(mb.copy(), name, parent, None, None, None)
    assert np.array_equal(mb.q, q)
    mb.set_state(q, 0.0 * v)
    edits.attach(mb, name, parent, None, None, None)
    assert mb[name].parent is mb[parent]
    with pytest.raises(ModelError, match=r"floats already: nothing holds it"):
        edits.detach(mb, mb.root.children[0].name)


def test_springs_and_limits_of_a_hinge_go_with_it():
    mb = sc.load("double_pendulum")
    mb["lower"].passive = sc.Passive(stiffness=[3.0])
    mb["lower"].limits = sc.Limits(lower=[-1.0], upper=[1.0])
    mb["lower"].armature = [0.1]
    mb.set_state([0.2, 0.3], [1.0, -2.0])
    V = np.asarray(mb.velocity("lower"))
    edits.detach(mb, "lower")
    assert np.asarray(mb.velocity("lower")) == pytest.approx(V, abs=1e-14)
    assert not np.any(mb["lower"].passive.stiffness)


def test_the_momentum_of_what_cannot_move_is_six_zeros():
    mb = sc.Multibody("rock", gravity=(0, 0, 0))
    mb.add_body("rock", None, sc.Weld(), sc.Inertia.sphere(1.0, 0.1))
    np.testing.assert_array_equal(edits.momentum(mb), np.zeros(6))
