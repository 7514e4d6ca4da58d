"""Flexible bodies held by other nodes: recut and re-rooted models have the same poses, velocities and accelerations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.loops.cases import near, project
from tests.loops.flexible_cases import close_at
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft.analysis import reroot

HINGES = (sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Prismatic((1, 0, 0)))
PUSH = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.5])


def same(mb, other, solve):
    """Poses, velocities and, under a force at a node, the accelerations of bodies and modes."""
    for model in (mb, other):
        model.set_force("body1/tip", PUSH)
        model.vdot = solve(model)
    for body in mb.bodies:
        names = [body.name, f"{body.name}/tip"]
        for name in names:
            near(other.pose(name).as_matrix(), mb.pose(name).as_matrix(), 1e-10)
            near(np.asarray(other.velocity(name)), np.asarray(mb.velocity(name)), 1e-10)
            near(np.asarray(other.acceleration(name)), np.asarray(mb.acceleration(name)), 1e-8)
        near(other[body.name].eta, mb[body.name].eta, 0.0)


@pytest.mark.parametrize(("seed", "cut"), [(0, "body1"), (1, "body2"), (2, "body0"), (3, "body3")])
def test_recut(seed, cut):
    mb = flexible_tree((-1, 0, 1, 2), seed, HINGES, modes=(2, 0, 3), rotors=False)
    close_at(mb, "ring", "inertial", "body3/tip", sc.Spherical())
    mb.v = project(mb, mb.v)
    other = sc.loops.recut(mb, "ring", cut)
    assert other.loops.names == (cut,)
    assert sum(x.modal is not None for x in other.bodies) == len(mb.layout.flexible)
    same(mb, other, lambda m: sc.loops.TreeAugmented(m).forward_dynamics(m.q, m.v, np.zeros(m.nv)).vdot)
    back = sc.loops.recut(other, cut, "ring")
    near(np.asarray(back.acceleration("body2/tip")), np.asarray(other.acceleration("body2/tip")), 1e-8)


@pytest.mark.parametrize(("seed", "base"), [(0, "body3"), (1, "body2"), (2, "body4")])
def test_reroot(seed, base):
    mb = flexible_tree((-1, 0, 1, 1, 2), seed, (sc.Free(),), modes=(2, 0, 3), rotors=False)
    for k, hinge in enumerate(HINGES, 1):
        body = mb[f"body{k}"]
        parent = f"body{mb.layout.parents[k]}/tip"
        mb.reattach(body.name, parent, hinge, hinge_node=None if body.modal is None else "root")
    rng = np.random.default_rng(seed)
    q, v = mb.random_state(rng)
    q[mb.layout.own.q] *= 0.2
    mb.set_state(q, v)
    other = reroot(mb, base)
    assert other.body(base).parent is other.root
    same(mb, other, lambda m: sc.dynamics.forward_dynamics(m, m.q, m.v, np.zeros(m.nv)))
    total = [sc.dynamics.kinetic_energy(m, m.q, m.v) + sc.dynamics.potential_energy(m, m.q) for m in (mb, other)]
    assert total[0] == pytest.approx(total[1], rel=1e-11)
