"""Robots that the tests of control laws share."""

from __future__ import annotations

import numpy as np

import soacraft as sc
from soacraft import robot as rob
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.spatial.differences import STENCIL

HINGES = examples()
PANDA = np.array([0.2, 0.4, -0.3, -1.8, 0.1, 2.0, 0.5])


def near(x, y, tolerance=1e-9):
    """Equal, relative to the larger of one and the numbers themselves."""
    x, y = np.asarray(x), np.asarray(y)
    size = max(1.0, float(np.abs(y).max(initial=0.0)))
    assert x.shape == y.shape
    assert np.abs(x - y).max(initial=0.0) <= tolerance * size, np.abs(x - y).max()


def drawn(seed, n=5):
    """A random robot with any kind of hinge that has positions, springs, dampers and rotors, in a random state."""
    rng = np.random.default_rng(seed)
    hinges = [x for x in HINGES if x.holonomic]
    mb = sc.random_tree(n, seed=seed, hinges=[hinges[i] for i in rng.permutation(len(hinges))])
    for body in mb.bodies:
        if body.hinge.nv:
            stiffness = rng.uniform(0, 2, body.hinge.nv)
            body.passive = sc.Passive(stiffness, damping=rng.uniform(0, 1, body.hinge.nv), friction=0.3)
        body.armature = float(rng.uniform(0, 0.5))
    q, v, vdot = mb.random_state(rng)[0], rng.standard_normal(mb.nv), rng.standard_normal(mb.nv)
    return rob.Robot(mb), q, v, vdot


def rates(mb, q, v, vdot, target):
    """edot and eddot of e = difference(q, q_d) along a motion and that of a target: the second by differences."""
    q_d, v_d, a_d = target

    def edot(t):
        # the motions to second order; the rate of edot at zero is exact
        ends = mb.integrate(q, t * v + 0.5 * t**2 * vdot), mb.integrate(q_d, t * v_d + 0.5 * t**2 * a_d)
        J0, J1 = mb.difference_jacobians(*ends)
        return J0 @ (v + t * vdot) + J1 @ (v_d + t * a_d)

    step = 1e-3
    return edot(0.0), sum(w * (edot(i * step) - edot(-i * step)) for i, w in STENCIL) / step


def closed(seed=0):
    """A planar five-bar linkage in a vertical plane, assembled, with velocities that its loop allows."""
    rb = rob.Robot(sc.load("five_bar"))
    s = sc.loops.TreeAugmented(rb.mb)
    rng = np.random.default_rng(seed)
    q = s.assemble(np.array(rb.mb.q))
    q = s.assemble(q + 0.1 * rng.standard_normal(rb.mb.nq))
    return rb, s, q, s.project_velocity(q, rng.standard_normal(rb.mb.nv))


def arms(seed=3, hands=2, how="free"):
    """Arms of 7 dofs and a box that they hold: free, hung on the first hand, or joined to all by loops."""
    rng = np.random.default_rng(seed)
    mb = sc.Multibody("carriers")
    for i in range(hands):
        upper = mb.add_body(f"upper{i}", None, sc.Spherical(), random_inertia(rng), random_pose(rng), random_pose(rng))
        fore = mb.add_body(f"fore{i}", upper, sc.Pin((0, 1, 0)), random_inertia(rng), random_pose(rng))
        hand = mb.add_body(f"hand{i}", fore, sc.Spherical(), random_inertia(rng), random_pose(rng), random_pose(rng))
        hand.add_node("palm", random_pose(rng))
    mb.add_body("box", None, sc.Free(), random_inertia(rng))
    mb.q = mb.random_state(seed)[0]
    rb, names = rob.Robot(mb), [f"hand{i}/palm" for i in range(hands)]
    if how == "hung":
        rb.grasp("box", names)
    elif how == "loops":
        for i, name in enumerate(names):
            node = mb.body("box").add_node(f"grip{i}", mb.pose(name, "box"))
            mb.close_loop(f"grasp{i}", name, node, sc.Weld())
    return rb, names
