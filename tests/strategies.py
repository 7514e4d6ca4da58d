"""Hypothesis strategies for models. A failure shrinks: fewer bodies, welds, identity poses, the neutral state.

Everything is built from drawn small integers through the public constructors. Seed 0 stands for the plainest choice
(identity pose, neutral state, zero vector), other seeds for random numbers in general position.
"""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import reject
from hypothesis import strategies as st

import soacraft as sc
from soacraft.model.hinges import examples
from soacraft.model.samples.random_models import random_inertia, random_pose

AXES = ("body", "inertial", "origin")
#: The identities of all SKO models; those of closed chains need the rows of closures.
OPEN = [identity for identity in sc.identities() if "closed" not in identity.conditions]
SEEDS = st.integers(0, 999)


# -- discarded draws ----------------------------------------------------------------------------------------------


@dataclass
class Draws:
    """How many draws a test made and how many it discarded; a suite that discards over a fifth proves little."""

    kept: int = 0
    discarded: int = 0

    @property
    def text(self):
        return f"{self.kept + self.discarded} draws, {self.discarded} discarded"

    @property
    def acceptable(self):
        return 5 * self.discarded <= self.kept + self.discarded


@dataclass
class Counter:
    """The draws of the test that runs now; set anew for each test by the fixture in conftest."""

    draws: Draws = field(default_factory=Draws)


COUNTER = Counter()


def keep(condition=True):
    """`hypothesis.assume` that counts: call it once for each draw."""
    if condition:
        COUNTER.draws.kept += 1
    else:
        COUNTER.draws.discarded += 1
        reject()


@pytest.fixture(autouse=True)
def counted_draws(request):
    """Reports the draws of a test that calls `keep`, and fails it when over a fifth of them was discarded."""
    COUNTER.draws = Draws()
    yield
    draws = COUNTER.draws
    if draws.kept or draws.discarded:
        request.node.user_properties.append(("draws", (draws.kept, draws.discarded)))
        assert draws.acceptable, f"{request.node.name}: {draws.text}; at most a fifth may be"


# -- trees --------------------------------------------------------------------------------------------------------


@st.composite
def parents(draw, min_size=1, max_size=6, serial=False):
    """Parents of nodes 0 .. n-1, each before its children; -1 for a base node (there may be several)."""
    n = draw(st.integers(min_size, max_size))
    if serial:
        return list(range(-1, n - 1))
    return [-1] + [draw(st.integers(-1, k - 1)) for k in range(1, n)]


TREES = parents()


@st.composite
def scrambled(draw, trees=TREES):
    """The same trees in any numbering."""
    tree = draw(trees)
    number = draw(st.permutations(range(len(tree))))
    mixed = [-1] * len(tree)
    for k, p in enumerate(tree):
        mixed[number[k]] = -1 if p < 0 else number[p]
    return mixed


SCRAMBLED = scrambled()
#: The hinges that kernels know. Random trees are drawn from these alone: one hinge of another kind takes its whole
#: model to Python, so that with all kinds two of three drawn models would never meet compiled code.
HINGES = examples()
#: The hinges that no kernel knows.
UNCOMPILED = (
    sc.RollingDisc(0.7, (0.3, 1.0, -0.2), (0.1, 0.2, 1.0)),
    sc.RollingEllipsoid((0.5, 0.3, 0.2), (0.1, 0.2, 1.0)),
    sc.KnifeEdge((0.2, 1.0, -0.3)),
)
#: What tests take that try hinges one by one.
EVERY_HINGE = (*HINGES, *UNCOMPILED)


# -- rigid trees --------------------------------------------------------------------------------------------------


def pose(seed):
    return sc.Pose() if seed == 0 else random_pose(seed)


@st.composite
def rigid_trees(draw, trees=TREES, hinges=HINGES):
    """A `Multibody` in a drawn state, with a node `tip` on every body."""
    mb = sc.Multibody("drawn")
    for k, p in enumerate(draw(trees)):
        body = mb.add_body(
            f"body{k}",
            None if p < 0 else f"body{p}",
            draw(st.sampled_from(hinges)),
            random_inertia(draw(SEEDS)),
            pose(draw(SEEDS)),
            pose(draw(SEEDS)),
        )
        body.add_node("tip", pose(draw(SEEDS)))
    seed = draw(SEEDS)
    if seed:
        q, v = mb.random_state(seed)
        mb.set_state(q, v, np.random.default_rng(seed).standard_normal(mb.nv))
    return mb


@st.composite
def rigid_operators(draw, axes, trees=TREES, hinges=HINGES):
    """The operators of a drawn rigid tree."""
    return sc.operators(draw(rigid_trees(trees, hinges)), axes=axes)


# -- SKO models ---------------------------------------------------------------------------------------------------


def hinge_map(rng, nv, dim):
    """Independent rows, of length 0.5 to 2."""
    rows = np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :nv].T
    return rng.uniform(0.5, 2.0, (nv, 1)) * rows


def weight(rng, rows, cols, rank):
    """A weight A(p, k) of at most the given rank."""
    rank = min(rank, rows, cols)
    return rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, cols)) / max(rank, 1)


def inertia(rng, H, rank):
    """Positive semi-definite, and definite on the hinge, so that every D(k) is."""
    half = rng.standard_normal((H.shape[-1], rank))
    return half @ half.T + H.T @ H


@st.composite
def sko_models(draw, trees=SCRAMBLED, max_dim=6, batch=None):
    """Blocks of drawn sizes: non-square and rank-deficient A, singular M, nodes without dofs.

    With a batch, so many models of the same shape in one, stacked along a leading axis.
    """
    tree = draw(trees)
    n = len(tree)
    dims = [draw(st.integers(1, max_dim)) for _ in range(n)]
    nvs = [draw(st.integers(0, dim)) for dim in dims]
    ranks_A = [draw(st.integers(0, 6)) for _ in range(n)]
    ranks_M = [draw(st.integers(0, dim)) for dim in dims]
    seed = draw(SEEDS)

    def blocks(rng):
        H = [hinge_map(rng, nv, dim) for nv, dim in zip(nvs, dims, strict=True)]
        A = [None if p < 0 else weight(rng, dims[p], dims[k], ranks_A[k]) for k, p in enumerate(tree)]
        M = [inertia(rng, h, rank) for h, rank in zip(H, ranks_M, strict=True)]
        a, b = ([rng.standard_normal(dim) for dim in dims] for _ in range(2))
        return A, H, M, a, b

    names = [f"node{k}" for k in range(n)]
    if batch is None:
        return sc.SKOModel(tree, *blocks(np.random.default_rng(seed)), names)
    drawn = [blocks(np.random.default_rng((seed, i))) for i in range(batch)]
    return sc.SKOModel(tree, *(stacked(column) for column in zip(*drawn, strict=True)), names)


def as_functions(start, seed, kinds="AHM", given_bias=False):
    """An SKO model of constant blocks as one of functions, in a state: kinds of block that are not named stay constant.

    `given_bias`: a and b are lists; otherwise a follows from A and H.
    """
    rng, nv, nodes = np.random.default_rng(seed), sum(start.nvs), start.nodes
    c = rng.standard_normal(nv)
    other = {k: rng.standard_normal(x.shape) for k, x in enumerate(start.edges) if x is not None}
    blocks = {
        "A": lambda q: [None if x is None else x + np.sin(q @ c + k) * other[k] for k, x in enumerate(start.edges)],
        "H": lambda q: [(1.5 + np.cos(q @ c + k)) * turned(start.H(k), np.sin(q @ c)) for k in nodes],
        "M": lambda q: [(1.5 + np.sin(q @ c - k)) * start.M(k) for k in nodes],
    }
    constant = {"A": start.edges, "H": [start.H(k) for k in nodes], "M": [start.M(k) for k in nodes]}
    given = {name: blocks[name] if name in kinds else constant[name] for name in "AHM"}
    vectors = [[x(k) for k in nodes] for x in (start.a, start.b)] if given_bias else [None, None]
    q, v, vdot = rng.standard_normal((3, nv))
    return sc.SKOModel(
        start.tree.parents, given["A"], given["H"], given["M"], *vectors, start.names, q=q, v=v, vdot=vdot
    )


@st.composite
def sko_functions(draw, trees=SCRAMBLED, max_dim=6, given_bias=False):
    """Drawn blocks as functions of coordinates, in a drawn state."""
    kinds = draw(st.sampled_from(["AHM", "A", "AM", "HM", "AH"]))
    return as_functions(draw(sko_models(trees, max_dim)), draw(SEEDS), kinds, given_bias)


def turned(H, angle):
    """A hinge map with its first two columns turned: of the same rank."""
    found = np.array(H)
    if H.shape[-1] > 1:
        co, si = np.cos(angle), np.sin(angle)
        found[:, :2] = H[:, :2] @ np.array([[co, -si], [si, co]])
    return found


def stacked(column):
    """Lists of blocks, one for each state, as one list of blocks with a leading axis."""
    return [None if blocks[0] is None else np.stack(blocks) for blocks in zip(*column, strict=True)]


def one_of_batch(model, i):
    """State i of a batched SKO model."""
    at = [None if x is None else x[i] for x in model.edges]
    H, M, a, b = ([block(k)[i] for k in model.nodes] for block in (model.H, model.M, model.a, model.b))
    return sc.SKOModel(model.tree.parents, at, H, M, a, b, model.names)


@st.composite
def sko_operators(draw, trees=SCRAMBLED, max_dim=6):
    """The operators of a drawn SKO model, with a velocity and an acceleration."""
    model = draw(sko_models(trees, max_dim))
    seed = draw(SEEDS)
    v, vdot = np.random.default_rng(seed).standard_normal((2, sum(model.nvs))) if seed else (None, None)
    return sc.operators(model, v=v, vdot=vdot)


# -- flexible trees -----------------------------------------------------------------------------------------------


@st.composite
def flexible_trees(draw, trees=TREES, hinges=HINGES):
    """Bodies of 0 to 6 modes on nodes of their parents that deform, held by nodes of their own, with rotors, with phi2
    or without."""
    from tests.model.modal.trees import flexible_tree, settle

    modes, seed = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)), draw(SEEDS)
    mb = flexible_tree(draw(trees), seed, hinges, tuple(modes), geometric=draw(st.booleans()))
    settle(mb, seed, size=0.05)  # so small that M(eta), whose terms end with the second order, is positive
    return mb


@st.composite
def flexible_operators(draw, trees=TREES):
    """The operators of a drawn flexible tree, or of a part of it on a node that deforms, in drawn axes."""
    g = draw(flexible_trees(trees))
    if len(g) > 2 and draw(st.booleans()):
        g = g.subgraph(list(g.bodies[1].subtree()))
    return sc.operators(g, axes=draw(st.sampled_from(AXES)))


@st.composite
def flexible_models(draw, trees=SCRAMBLED):
    """The blocks of a drawn flexible tree, in any numbering."""
    mixed = draw(trees)
    order = sorted(range(len(mixed)), key=lambda k: len(lineage(mixed, k)))  # parents first
    number = {k: i for i, k in enumerate(order)}
    mb = draw(flexible_trees(st.just([-1 if mixed[k] < 0 else number[mixed[k]] for k in order])))
    start = mb.sko(axes=draw(st.sampled_from(AXES)))
    H, M, a, b = ([block(number[k]) for k in range(len(mixed))] for block in (start.H, start.M, start.a, start.b))
    return sc.SKOModel(mixed, [start.edges[number[k]] for k in range(len(mixed))], H, M, a, b)


def lineage(tree, k):
    """The parents of a node, up to a base."""
    return [] if tree[k] < 0 else [tree[k], *lineage(tree, tree[k])]


# -- classes of models --------------------------------------------------------------------------------------------


def operators(kind, trees):
    """The operators of a drawn model of one class: an axes' name for rigid trees, "flexible" for flexible ones, "sko"
    for SKO models, "functions" for those whose blocks are functions of a state, "embedded" for closed graphs with
    compound bodies."""
    if kind in AXES:
        return rigid_operators(kind, trees)
    if kind == "flexible":
        return flexible_operators(trees)
    if kind == "sko":
        return sko_operators(scrambled(trees))
    if kind == "functions":
        return sko_functions(scrambled(trees)).map(sc.operators)
    from tests.embedded import embedded_operators  # built on this module

    return embedded_operators(trees)


def models(kind, trees=SCRAMBLED):
    """A drawn SKO model of one class: "sko" for any blocks, "functions" for those of a state, "flexible" for those of
    flexible trees, "embedded" for those of closed graphs."""
    if kind == "sko":
        return sko_models(trees)
    if kind == "flexible":
        return flexible_models(trees)
    if kind == "functions":
        return sko_functions(trees, given_bias=True)
    from tests.embedded import embedded_models  # built on this module

    return embedded_models(trees)


CLASSES = (*AXES, "flexible", "sko", "functions", "embedded")
#: Classes of SKO models of blocks of many sizes.
SKO = ("sko", "flexible", "functions", "embedded")


# -- dense references ---------------------------------------------------------------------------------------------


def dense(model):
    """Dense E_A, A = (I - E_A)^-1, H, M, a, b of an SKO model of one state, by plain numpy."""
    d, r = (np.concatenate([[0], np.cumsum(sizes)]).astype(int) for sizes in (model.dims, model.nvs))
    E, H, M = np.zeros((d[-1], d[-1])), np.zeros((r[-1], d[-1])), np.zeros((d[-1], d[-1]))
    for k in range(model.n):
        cols = slice(d[k], d[k + 1])
        H[r[k] : r[k + 1], cols] = model.H(k)
        M[cols, cols] = model.M(k)
        if (p := model.parent(k)) >= 0:
            E[d[p] : d[p + 1], cols] = model.edges[k]
    a, b = (np.concatenate([np.zeros(0), *(x(k) for k in range(model.n))]) for x in (model.a, model.b))
    return Dense(E, np.linalg.inv(np.eye(d[-1]) - E), H, M, a, b, d, r)


@dataclass
class Dense:
    """Dense matrices with the offsets of their body and hinge blocks."""

    E: np.ndarray
    A: np.ndarray
    H: np.ndarray
    M: np.ndarray
    a: np.ndarray
    b: np.ndarray
    d: np.ndarray
    r: np.ndarray

    def body(self, k):
        return slice(self.d[k], self.d[k + 1])

    def hinge(self, k):
        return slice(self.r[k], self.r[k + 1])

    @property
    def mass_matrix(self):
        return self.H @ self.A @ self.M @ self.A.T @ self.H.T
