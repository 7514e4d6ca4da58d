"""Closed graphs whose embedded system has a wanted tree: each node of it is a free body or a compound body.

A compound body is a small loop or coupling hung from the node's parent; what hangs from it is on one of its members.
"""

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from tests.loops.cases import CLOSING, close, project, tie
from tests.strategies import HINGES, TREES, keep

import soacraft as sc
from soacraft.algebra import Tree
from soacraft.loops import ConstraintEmbedding
from soacraft.model.samples.random_models import random_inertia, random_pose
from soacraft.model.tree.parts.closures import has_coordinates

Z = (0, 0, 1)
COUPLED = [hinge for hinge in HINGES if hinge.nv and has_coordinates(hinge)]
LOOSE = (sc.Spherical(), sc.Free(), sc.Planar(), sc.Universal((1, 0, 0), (0, 1, 0)))
#: Systems are tried where the dependent part of every compound body's rows is better conditioned than this.
RATIO = 1e-3


@dataclass
class Builder:
    """Bodies first; the closures wait for the state in which they are to be closed."""

    mb: sc.Multibody = field(default_factory=lambda: sc.Multibody("drawn"))
    waiting: list = field(default_factory=list)

    def body(self, name, parent, hinge, rng, inboard=None, outboard=None):
        inboard, outboard = (random_pose(rng) if x is None else x for x in (inboard, outboard))
        return self.mb.add_body(name, parent, hinge, random_inertia(rng), inboard, outboard).name

    def loop(self, name, a, b, hinge, rng, at=None):
        """A closure from a new node on a (None: the inertial frame) to body b."""
        start = self.mb.frame("inertial" if a is None else a).add_node(f"{name}_start", at or random_pose(rng))
        seed = int(rng.integers(1, 1000))
        self.waiting.append(lambda: close(self.mb, name, start, b, hinge, seed))

    def coupling(self, name, dofs, ratios):
        self.waiting.append(lambda: tie(self.mb, name, dofs, ratios))


def one_of(rng, hinges):
    return hinges[rng.integers(len(hinges))]


# -- nodes: what each makes, as the names of its members -------------------------------------------------------------


def body(b, name, parent, rng):
    """A free body."""
    return [b.body(name, parent, one_of(rng, HINGES), rng)]


def ring(b, name, parent, rng):
    """Two bodies of any hinges, closed by any hinge; often without a dof."""
    first = b.body(f"{name}a", parent, one_of(rng, HINGES), rng)
    second = b.body(f"{name}b", first, one_of(rng, HINGES), rng)
    b.loop(f"{name}_ring", parent, second, one_of(rng, CLOSING), rng)
    return [first, second]


def four_bar(b, name, parent, rng):
    """A planar four-bar of spatial hinges: three of the five rows repeat others."""

    def in_plane():
        turn = sc.Pin(Z).pose(rng.uniform(-3, 3, 1))
        return sc.Pose(turn.rotation, (*rng.uniform(0.3, 1.0, 2), 0.0))

    ground, members = random_pose(rng), []
    for letter in "abc":
        inside, inboard = (members[-1], in_plane()) if members else (parent, ground)
        members.append(b.body(f"{name}{letter}", inside, sc.Pin(Z), rng, inboard, in_plane()))
    b.loop(f"{name}_bar", parent, members[-1], sc.Pin(Z), rng, ground @ in_plane())
    return members


def geared(b, name, parent, rng):
    """Two bodies beside or behind each other, their coordinates coupled, not always linearly."""
    first = b.body(f"{name}a", parent, one_of(rng, COUPLED), rng)
    second = b.body(f"{name}b", one_of(rng, [parent, first]), one_of(rng, COUPLED), rng)
    dofs = [rng.choice(b.mb.dof_names[b.mb.v_slice(x)]) for x in (first, second)]
    b.coupling(f"{name}_gear", dofs, [(1.0,), one_of(rng, [(-1.5,), (-1.5, 0.2)])])
    return [first, second]


def nested(b, name, parent, rng):
    """Three loose bodies and two loops that share two of them."""
    members = []
    for letter in "abc":
        members.append(b.body(f"{name}{letter}", members[-1] if members else parent, one_of(rng, LOOSE), rng))
    b.loop(f"{name}_outer", parent, members[2], one_of(rng, CLOSING), rng)
    b.loop(f"{name}_inner", members[0], members[2], sc.Spherical(), rng)
    return members


def held(b, name, parent, rng):
    """One body held by two hinges: a compound body of one member."""
    member = b.body(name, parent, one_of(rng, LOOSE), rng)
    b.loop(f"{name}_hold", parent, member, one_of(rng, CLOSING), rng)
    return [member]


NODES = (body, ring, four_bar, geared, nested, held)


# -- systems ---------------------------------------------------------------------------------------------------------


def closed_graph(tree, nodes, seed):
    """A closed graph, moving as its closures allow, whose embedded system has these nodes."""
    b, rng, members = Builder(), np.random.default_rng(seed), {}
    for k in Tree(tree).base_to_tips():
        parent = None if tree[k] < 0 else one_of(rng, members[tree[k]])
        members[k] = nodes[k](b, f"node{k}", parent, rng)
    b.mb.set_state(*b.mb.random_state(seed))
    for wait in b.waiting:
        wait()
    b.mb.v = project(b.mb, b.mb.v)
    return b.mb


def same_shape(tree, other):
    """Whether two lists of parents are one tree in two numberings."""

    def shape(parents, p=-1):
        return tuple(sorted(shape(parents, k) for k, parent in enumerate(parents) if parent == p))

    return shape(tree) == shape(other)


def sample(seed=4):
    """The operators of one embedded system: free and compound bodies, a branch, loops on a member of a loop."""
    mb = closed_graph([-1, 0, 0, 1, 1], [body, nested, geared, four_bar, body], seed)
    return sc.operators(ConstraintEmbedding(mb))


@st.composite
def embedded_systems(draw, trees=TREES):
    """Constraint embedding of a drawn closed graph, one compound body at least, in a closed state."""
    tree = draw(trees)
    nodes = [draw(st.sampled_from(NODES)) for _ in tree]
    if all(make is body for make in nodes):
        nodes[draw(st.integers(0, len(tree) - 1))] = draw(st.sampled_from(NODES[1:]))
    seed = draw(st.integers(0, 999))
    mb = closed_graph(tree, nodes, seed)
    solver = ConstraintEmbedding(mb)
    found = solver.model(mb.state())
    if min(x.ratio for x in found.solved.values()) < RATIO:
        keep(False)
    assert same_shape(found.sko.tree.parents, tree)
    vdot = np.random.default_rng(seed).standard_normal(len(found.independent))
    mb.set_state(vdot=found.expanded(vdot) + found.x0)
    return solver


def embedded_operators(trees=TREES):
    """The operators of a drawn embedded system."""
    return embedded_systems(trees).map(sc.operators)


def embedded_models(trees=TREES):
    """The SKO model of a drawn embedded system."""
    return embedded_systems(trees).map(lambda solver: solver.sko())
