"""Omega(i, j) is what a push on body j does to body i: found by pushing, through the recursions of forward dynamics."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, force_from, forward, mass_matrix, turned, velocity_from

import soacraft as sc
from soacraft.model import random_tree

HINGES = [
    sc.Pin((0.3, -0.5, 0.8)),
    sc.Universal((1, 0, 0.2), (0.3, 1, 0)),
    sc.Planar(),
    sc.Helical((0.1, 1, 0.3), 0.2),
    sc.Spherical(),
    sc.Prismatic((0.2, 1.0, 0.4)),
]


@pytest.fixture(scope="module")
def mb():
    """A branched tree and a second one, at rest and without gravity."""
    mb = random_tree(9, seed=3, hinges=HINGES, branching=0.9, bases=2, gravity=(0, 0, 0))
    mb.set_state(v=np.zeros(mb.nv), vdot=np.zeros(mb.nv))
    return mb


def pushed(mb, body, f):
    """The state in which the bodies accelerate as they do when f, in inertial axes, acts at a body's origin."""
    push = {body.name: sc.Wrench(f[:3], f[3:], expressed_in="inertial")}
    return mb.state(vdot=forward(sc.operators(mb, f_ext=push), np.zeros(mb.nv)))


def accelerations(mb, axes, j):
    """[d omega/dt; d^2 p/dt^2] of every body for six unit forces on j in the given representation."""
    states = [pushed(mb, j, force_from(mb, axes, j, f)) for f in np.eye(6)]
    return {i.name: [np.asarray(mb.acceleration(i, state=s)) for s in states] for i in mb.bodies}


def seen(mb, axes, i, block):
    """The columns of a block of Omega as accelerations in inertial axes."""
    return [velocity_from(mb, axes, i, column) for column in block.T]


@pytest.mark.parametrize("axes", AXES)
def test_blocks_of_Omega(mb, axes):
    """Related bodies, bodies that share an ancestor, and bodies of two trees."""
    Omega = sc.operators(mb, "Omega", axes=axes)
    for j in mb.bodies:
        moved = accelerations(mb, axes, j)
        for i in mb.bodies:
            found = seen(mb, axes, i, Omega[i.name, j.name])
            np.testing.assert_allclose(found, moved[i.name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_Upsilon_and_the_backward_Lyapunov_recursion(mb, axes):
    """Upsilon(k) = Omega(k, k): what a push does to the body it acts on. diagOf takes it one hinge outward."""
    ops = sc.operators(mb, axes=axes)
    own = ops.H.T * ops.D.inv * ops.H
    ways = (
        ops.Upsilon,
        ops.E_psi.T.lyapunov(own),
        sc.diag_of(ops.Omega),
        sc.diag_of(ops.E_psi.T * ops.Upsilon * ops.E_psi) + own,
    )
    for k in mb.bodies:
        moved = accelerations(mb, axes, k)[k.name]
        for way in ways:
            np.testing.assert_allclose(seen(mb, axes, k, way[k.name, k.name]), moved, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_operational_compliance(mb, axes):
    """B* Omega B = J Mcal^-1 J*, with J from the velocities that nodes have for unit v."""
    names = [f"{body.name}/tip" for body in mb.bodies if body.nodes]
    ops = sc.operators(mb, axes=axes)
    J = []
    for name in names:
        R = mb.pose(name).rotation if axes == "body" else np.eye(3)
        J.append([turned(R.T, np.asarray(mb.velocity(name, state=mb.state(v=v)))) for v in np.eye(mb.nv)])
    J = np.concatenate([np.transpose(rows) for rows in J])
    B = ops.B(names)
    expected = J @ np.linalg.solve(mass_matrix(ops), J.T)
    np.testing.assert_allclose((B.T * ops.Omega * B).array(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axes", AXES)
def test_a_free_ball(axes):
    """1/m along any line and 1/J about any axis through its centre."""
    mb = sc.Multibody("ball")
    mb.add_body("ball", None, sc.Free(), sc.Inertia.sphere(2.0, 0.5))
    Omega = sc.operators(mb, "Omega", axes=axes)
    np.testing.assert_allclose(Omega.array(), np.diag([5.0] * 3 + [0.5] * 3), rtol=1e-13, atol=1e-13)
