"""Every dynamics function with the names of its arguments, and models and arguments to call it with."""

import inspect
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

import numpy as np

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.dynamics import engine, quick
from soacraft.dynamics.reference import REFERENCE
from soacraft.dynamics.table import TABLE, VECTORS
from soacraft.model.flat.layout import Layout
from soacraft.model.hinges import examples

GRAVITY = (1.5, -2.0, -9.0)  # askew, so that no axis is spared

# The arguments after the graph, but for the axes of results. Those in BATCHED may have leading axes.
ROWS = [row for row in TABLE.values() if row.module == "dynamics"]
CALLS = {row.name: row.arguments.removesuffix(" expressed_in") for row in ROWS}
BATCHED = VECTORS
SOLVES = {row.name for row in ROWS if row.solves}  # those that invert hinge inertias
DERIVATIVES = {row.name for row in ROWS if row.holonomic}


@contextmanager
def reference_alone():
    """The reference engine computes everything: no kernel, no quick call."""
    calls = property(lambda self: {}, lambda self, value: self.__dict__.__setitem__("calls", value))
    with (
        patch.object(engine, "engine_of", lambda graph: REFERENCE),
        patch.object(quick, "quick_call", lambda *args: None),
        patch.object(Layout, "calls", calls, create=True),
    ):
        yield


def names_of(function):
    """The names of a function's arguments after the graph, those with a batch only."""
    return [name for name in CALLS[function].split() if name in BATCHED]


def keyword(function, **extra):
    """Keyword arguments that let every function answer."""
    return extra | ({"allow_singular": True} if function == "operational_space_inertia" else {})


def tree(seed=0, n=13, holonomic=False, **kwargs):
    """A random tree with a hinge of every kind; without rolling balls for derivatives."""
    hinges = [hinge for hinge in examples() if hinge.holonomic or not holonomic]
    kwargs = {"bases": 2, "gravity": GRAVITY} | kwargs
    return sc.random_tree(n, seed, hinges, **kwargs)


def tree_for(function, seed=0, **kwargs):
    """A tree that a function accepts."""
    return tree(seed, holonomic=function in DERIVATIVES, **kwargs)


def shared_tree(function):
    """A tree that a function accepts, made once: for tests that leave it as it is."""
    return _shared(function in DERIVATIVES)


@cache
def _shared(holonomic):
    return tree(1, holonomic=holonomic)


def subtree(mb, anchor="rest", least=3):
    """A body that hangs from another body, with all that is outboard of it."""
    inner = [body for body in mb.bodies if body.parent is not mb.root]
    body = max(inner, key=lambda body: len(list(body.subtree())))
    assert len(list(body.subtree())) >= least
    return mb.subgraph(list(body.subtree()), anchor=anchor)


def nodes_of(g, count=2):
    """The full names of some nodes."""
    return [node.full_name for body in g.bodies for node in body.nodes][:count]


def wrenches(g, rng, batch=()):
    """Forces at nodes and bodies, in node axes, in inertial ones, and in those of other frames."""
    first, *_, last = g.bodies
    node = nodes_of(g, 1)[0]

    def draw():
        return rng.standard_normal((*batch, 3))

    return {
        first: rng.standard_normal((*batch, 6)),
        last: sc.Wrench(draw(), draw(), expressed_in="inertial"),
        g.bodies[1]: sc.Wrench(draw(), draw(), expressed_in=node),
        node: sc.Wrench(draw(), draw(), expressed_in=last),
    }


def arguments(g, seed=0, batch=()):
    """Every argument, by name, with leading axes `batch`."""
    rng = np.random.default_rng(seed)
    several = [g.random_state(rng) for _ in range(int(np.prod(batch)))]
    q = np.array([q for q, _ in several]).reshape(*batch, g.nq)
    v, vdot, force, x = (rng.standard_normal((*batch, g.nv)) for _ in range(4))
    mask = np.arange(g.nv) % 3 == 1
    given = {"q": q, "v": v, "vdot": vdot, "force": 10 * force, "x": x, "prescribed": mask, "nodes": nodes_of(g)}
    forces = wrenches(g, rng, batch)
    return given | {"f_ext": forces, "node_forces": forces}


def call(function, g, given, **extra):
    """Call a function with its arguments out of `given`."""
    return getattr(dyn, function)(g, *(given[name] for name in CALLS[function].split()), **keyword(function, **extra))


def arrays(result):
    """The arrays of a result, whatever its kind."""
    if isinstance(result, dyn.Poses):
        return [result.rotation, result.translation]
    return [np.asarray(x) for x in (result if isinstance(result, tuple) else (result,))]


def pick(given, i):
    """The arguments of one state of a batch."""

    def of(value):
        if isinstance(value, sc.Wrench):
            return sc.Wrench(value.moment[i], value.force[i], value.expressed_in)
        return value[i]

    one = {name: value[i] if name in BATCHED else value for name, value in given.items()}
    forces = {node: of(wrench) for node, wrench in given["f_ext"].items()}
    return one | {"f_ext": forces, "node_forces": forces}


def public_functions():
    """The names on the public list that are functions."""
    return {name for name in dyn.__all__ if inspect.isfunction(getattr(dyn, name))}


def close(ours, theirs, tolerance=1e-10):
    """Equal within a tolerance relative to the size of the result."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    scale = max(1.0, float(np.abs(theirs).max(initial=0.0)))
    gap = float(np.abs(ours - theirs).max(initial=0.0)) / scale
    assert gap <= tolerance, gap
