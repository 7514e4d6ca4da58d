"""Robots and tasks that tests of the whole body draw."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import soacraft as sc
from soacraft import robot as rob
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.samples.random_models import random_tree


def robot(seed, limited=0.7, speeds=0.5):
    """A random tree of all hinges, most of them with limits, in any state, also outside of these."""
    rng = np.random.default_rng(seed)
    mb = random_tree(int(rng.integers(1, 9)), seed)
    for body in mb.bodies:
        n = body.hinge.nv
        if n and has_coordinates(body.hinge) and rng.random() < limited:
            low = -rng.uniform(0.0, 1.0, n)
            speed = np.where(rng.random(n) < speeds, rng.uniform(0.1, 3.0, n), np.inf)
            body.limits = sc.Limits(lower=low, upper=low + rng.uniform(0.0, 1.5, n), velocity=speed)
    return mb, rng


def pose(rng):
    turn = rng.standard_normal(4)
    return sc.Pose.from_quaternion(turn / np.linalg.norm(turn), rng.standard_normal(3))


def tasks(mb, rng, count, gains=(0.5, 2.0, 20.0)):
    """Tasks of all kinds and levels, which contradict each other."""
    names = [b.name for b in mb.bodies]
    rolls = any(isinstance(b.hinge, sc.RollingBall) for b in mb.bodies)
    found = []
    for _ in range(count):
        level, kind = int(rng.integers(0, 3)), int(rng.integers(0, 9))
        how = {"level": level, "weight": float(rng.uniform(0.1, 3.0)), "gain": float(rng.choice(gains))}
        node, other = str(rng.choice(names)), str(rng.choice(names))
        free = np.where(rng.random(3) < 0.3, np.nan, rng.standard_normal(3))
        rows = "all" if rng.random() < 0.5 else "linear"
        if kind == 3 and rolls:
            continue  # a ball that rolls has no difference
        found.append(
            rob.Reaching(sc.Placement(node, pose(rng)), **how)
            if kind == 0
            else rob.Reaching(
                sc.Position(node, rng.standard_normal(3), relative_to=other), rate=rng.standard_normal(3), **how
            )
            if kind == 1
            else rob.Reaching(sc.Direction(node, axis=(0, 0, 1), direction=rng.standard_normal(3)), **how)
            if kind == 2
            else rob.Posture(mb.random_state(rng)[0], **how)
            if kind == 3
            else rob.CenterOfMass(free, **how)
            if kind == 4
            else rob.LookAt(node, rng.standard_normal(3), **how)
            if kind == 5
            else rob.Relative(node, other, pose(rng), **how)
            if kind == 6
            else rob.Momentum(rate=rng.standard_normal(6), level=level)
            if kind == 7
            else rob.Contact(node, rows, level=level)
        )
    return found


def moving(mb, rng):
    """A state, and, half of the time, velocities before and limits of acceleration."""
    q = mb.random_state(rng)[0]
    if rng.random() < 0.5:
        return q, {}
    return q, {"v": rng.standard_normal(mb.nv), "acceleration": float(rng.uniform(0.5, 20.0))}


def alternations(v):
    """Steps in which a dof turns round that did in the step before."""
    back = (v[1:] * v[:-1] < 0.0) & (np.minimum(np.abs(v[1:]), np.abs(v[:-1])) > 1e-2)
    return int((back[1:] & back[:-1]).any(axis=1).sum())


seeds = st.integers(0, 2**32 - 1)
