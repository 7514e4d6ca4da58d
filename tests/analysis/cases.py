"""Graphs with every hinge, and derivatives of order six along `integrate`."""

import numpy as np
from tests.dynamics.calls import GRAVITY, subtree, tree

import soacraft as sc

STENCIL = np.array([[-3, -1 / 60], [-2, 9 / 60], [-1, -45 / 60], [1, 45 / 60], [2, -9 / 60], [3, 1 / 60]])


def along_dofs(g, f, q, step=3e-3):
    """The derivative of f(q) along each dof as the last axis; f takes a batch of q."""
    steps = step * STENCIL[:, :1] * np.eye(g.nv)[:, None, :]  # (nv, 6, nv)
    values = np.tensordot(STENCIL[:, 1], f(g.integrate(q, steps)), (0, 1)) / step
    return np.moveaxis(values, 0, -1)


def along(f, step=3e-3):
    """The derivative of f(t) at t = 0; f takes one time."""
    return sum(w * np.asarray(f(step * i)) for i, w in STENCIL) / step


def armed(mb, seed=0):
    """Rotors on every second body with dofs."""
    rng = np.random.default_rng(seed)
    for body in [body for body in mb.bodies if body.hinge.nv][::2]:
        body.armature = rng.uniform(0.1, 0.5, body.hinge.nv)
    return mb


def moving(g):
    """A sub-graph on a moving anchor, in a model that moves."""
    assert np.abs(g.state().motion.base[0]).max() > 0.1
    return g


def library(gravity=GRAVITY):
    mb = sc.load("hinges")
    mb.gravity = gravity
    return mb


def chain(**kwargs):
    return sc.random_tree(4, 5, [sc.Pin((1, 2, 3)), sc.Prismatic((0, 1, 1))], 0.0, **({"gravity": GRAVITY} | kwargs))


# Each takes a gravity. Gravity and armature belong to the structure: sub-graphs are made after them.
GRAPHS = {
    "every hinge": lambda **kw: tree(1, **kw),
    "every hinge, other tree": lambda **kw: tree(2, n=15, bases=1, **kw),
    "library": library,
    "armature": lambda **kw: armed(tree(3, **kw)),
    "sub-graph at rest": lambda **kw: subtree(armed(tree(3, bases=1, **kw))),
    "sub-graph, moving anchor": lambda **kw: moving(subtree(tree(4, bases=1, **kw), "moving")),
    "chain": chain,
}
HOLONOMIC = {
    "every hinge": lambda: tree(1, n=12, holonomic=True),
    "armature": lambda: armed(tree(3, n=12, holonomic=True)),
    "sub-graph at rest": lambda: subtree(armed(tree(3, n=12, holonomic=True, bases=1))),
    "sub-graph, moving anchor": lambda: moving(subtree(tree(4, n=12, holonomic=True, bases=1), "moving")),
}
