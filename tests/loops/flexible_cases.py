"""Closed chains with flexible bodies for the tests."""

from __future__ import annotations

import numpy as np
from tests.flexible.models import slender
from tests.loops.cases import CLOSING, project
from tests.model.modal.trees import flexible_tree, random_pose

import soacraft as sc
import soacraft.flexible as fx
from soacraft.model.hinges.base import pose_of

HINGES = (sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Free(), sc.Prismatic((1, 0, 0)),
          sc.Weld())  # fmt: skip


def close_at(mb, name, a, b, hinge, q=None):
    """Close a loop at the current state from frame a to a new node that is fixed on node b, which may deform."""
    q = hinge.neutral() if q is None else q
    end = mb.pose(b).inv @ mb.pose(a) @ pose_of(hinge, np.asarray(q, dtype=float))
    end, on = sc.Pose(end.rotation, end.translation), mb.frame(b)
    body = on.carrier
    if body.modal is None:
        node = body.add_node(f"{name}_end", on.pose @ end)
    else:
        node = body.add_node(f"{name}_end", end, on=on.name)
    return mb.close_loop(name, a, node, hinge)


def drawn(seed):
    """A random tree of flexible and rigid bodies with one or two closures of any hinge between their nodes, in a closed
    state that moves as it may."""
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(-1, k)) if rng.random() < 0.4 else k - 1 for k in range(1, rng.integers(2, 6)))]
    mb = flexible_tree(parents, seed, HINGES, modes=(2, 0, 3, 1))
    bodies = [body.name for body in mb.bodies]
    for i in range(int(rng.integers(1, 3))):
        b = str(rng.choice(bodies))
        a = str(rng.choice([x for x in ("inertial", *bodies) if x != b]))
        hinge = CLOSING[int(rng.integers(len(CLOSING)))]
        start = mb.root.add_node(f"start{i}", random_pose(rng)) if a == "inertial" else mb.frame(f"{a}/tip")
        close_at(mb, f"loop{i}", start, f"{b}/root", hinge, hinge.random(rng))
    if rng.random() < 0.3:
        modes = [f"{x.name}.{x.modal.modes[0]}" for x in mb.bodies if x.modal is not None]
        q = dict(zip(mb.dof_names, range(mb.nv), strict=True))
        at = mb.layout.own.q[[list(mb.layout.own.v).index(q[x]) for x in modes]]
        mb.couple("gear", dict.fromkeys(modes, 1.0), float(mb.q[at].sum()))
    mb.v = project(mb, mb.v)
    return mb


def beam(modes, **given):
    """A slender beam of length 1 with its static shapes, clamped to the ground at its root."""
    mb = sc.Multibody("beam", gravity=(0, 0, 0))
    data = fx.reduce(slender(), ["root", "tip"], modes=modes, **given)
    mb.add_body("beam", None, sc.Weld(), modal=data, hinge_node="root")
    mb.root.add_node("wall", sc.Pose(translation=(1, 0, 0)))
    return mb


def four_bar(modes=2):
    """A crank, a flexible coupler and a rocker in the plane, closed by a pin at the coupler's tip."""
    mb = sc.Multibody("four_bar", gravity=(0, -9.81, 0))
    fe = fx.beam(1.0, fx.Rectangle(0.01, 0.02), fx.Elastic(4e9, 0.3, 2000.0), 8)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(1, 0, 0))
    data = fx.reduce(fe, ["root", "tip"], method="fixed", modes=modes, damping=0.01)
    rod = sc.Inertia(0.5, (0.2, 0, 0), np.diag([1e-4, 7e-3, 7e-3]))
    pin = sc.Pin((0, 0, 1))
    crank = mb.add_body("crank", None, pin, rod)
    crank.add_node("end", sc.Pose(translation=(0.4, 0, 0)))
    mb.add_body("coupler", "crank/end", pin, modal=data, hinge_node="root")
    rocker = mb.add_body("rocker", None, pin, rod, inboard=sc.Pose(translation=(0.8, 0, 0)))
    rocker.add_node("end", sc.Pose(translation=(0.7, 0, 0)))
    mb.close_loop("joint", "rocker/end", "coupler/tip", pin)
    return mb
