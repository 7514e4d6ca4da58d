"""Random models for tests: rigid trees with any hinges, and SKO models with blocks of any size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.errors import ModelError
from soacraft.model.flat.sko import SKOModel
from soacraft.model.hinges import Hinge, examples
from soacraft.model.tree.composed_model import STANDARD_GRAVITY
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import exp


def random_tree(
    n: int,
    seed: Seed = 0,
    hinges: Sequence[Hinge] | None = None,
    branching: float = 0.5,
    bases: int = 1,
    gravity: npt.ArrayLike = STANDARD_GRAVITY,
    name: str = "random tree",
) -> Multibody:
    """A random tree of n bodies in a random state; the same for the same seed.

    Hinges are drawn from `hinges` (default: one of every kind); each is used once before any is used twice. The first
    `bases` bodies are on the inertial frame. The parent of every other body is, with probability `branching`, drawn
    among all earlier bodies, otherwise it is the end of its chain: 0 gives serial chains, 1 a random recursive tree.
    Inboard and outboard poses are rotated and translated, inertias are full, and every second body has a node `tip`.

    >>> mb = random_tree(5, seed=3, branching=0.0)
    >>> len(mb), mb.topology.is_serial, bool(np.all(mb.q == random_tree(5, seed=3, branching=0.0).q))
    (5, True, True)
    """
    whole_number(n, "n", 1)
    whole_number(bases, "bases", 1)
    if not 0.0 <= branching <= 1.0:
        raise ModelError(f"branching is a probability between 0 and 1, got {branching!r}.")
    rng = read_seed(seed, "the seed of random_tree")
    mb = Multibody(name, gravity)
    kinds = _draw_hinges(rng, n, hinges)
    for k in range(n):
        parent = _draw_parent(rng, k, branching, bases)
        body = mb.add_body(
            f"body{k + 1}",
            None if parent is None else f"body{parent + 1}",
            kinds[k],
            random_inertia(rng),
            random_pose(rng),
            random_pose(rng),
        )
        if k % 2 == 0:
            body.add_node("tip", random_pose(rng))
    q, v = mb.random_state(rng)
    mb.set_state(q, v, rng.standard_normal(mb.nv))
    return mb


def random_pose(seed: Seed = 0, size: float = 0.5) -> Pose:
    """A pose with a uniformly random rotation and a translation within `size` along each axis."""
    rng = read_seed(seed, "the seed of random_pose")
    quaternion = rng.standard_normal(4)
    return Pose.from_quaternion(quaternion / np.linalg.norm(quaternion), rng.uniform(-size, size, 3))


def random_inertia(seed: Seed = 0) -> Inertia:
    """A full inertia of one to three kilograms, with the moment of a real body (triangle inequality)."""
    rng = read_seed(seed, "the seed of random_inertia")
    mass = rng.uniform(1.0, 3.0)
    second_moments = mass * rng.uniform(0.01, 0.1, 3)  # of x^2, y^2, z^2 in principal axes
    R = exp(rng.uniform(-2.0, 2.0, 3))
    moment = R @ np.diag(second_moments.sum() - second_moments) @ R.T
    return Inertia(mass, rng.uniform(-0.3, 0.3, 3), 0.5 * (moment + moment.T))


def random_sko(
    n: int, seed: Seed = 0, min_dim: int = 1, max_dim: int = 6, bases: int = 1, branching: float = 0.6
) -> SKOModel:
    """A random SKO model of n nodes with blocks of random sizes; the same for the same seed.

    `bases` and `branching` as in `random_tree`. The numbering is scrambled, weights A are non-square and now and
    then rank-deficient, some nodes have no dofs, M is now and then singular; H has full row rank and every D(k)
    is positive definite.

    >>> model = random_sko(6, seed=1)
    >>> model.n, model.A(model.parent(0), 0).shape == (model.dims[model.parent(0)], model.dims[0])
    (6, True)
    """
    whole_number(n, "n", 1)
    whole_number(bases, "bases", 1)
    whole_number(min_dim, "min_dim", 1)
    whole_number(max_dim, "max_dim", min_dim)
    rng = read_seed(seed, "the seed of random_sko")
    number = rng.permutation(n)
    parents = [-1] * n
    for k in range(n):
        parent = _draw_parent(rng, k, branching, bases)
        parents[number[k]] = -1 if parent is None else int(number[parent])
    dims = rng.integers(min_dim, max_dim + 1, n).tolist()
    H = [_draw_hinge_map(rng, dim) for dim in dims]
    A = [None if p < 0 else _draw_weight(rng, dims[p], dims[k]) for k, p in enumerate(parents)]
    M = [_draw_inertia(rng, h) for h in H]
    a, b = ([rng.standard_normal(dim) for dim in dims] for _ in range(2))
    return SKOModel(parents, A, H, M, a, b, [f"node{k + 1}" for k in range(n)])


def _draw_parent(rng: np.random.Generator, k: int, branching: float, bases: int) -> int | None:
    if k < bases:
        return None
    return int(rng.integers(k)) if rng.random() < branching else k - bases


def _draw_hinges(rng: np.random.Generator, n: int, hinges: Sequence[Hinge] | None) -> list[Hinge]:
    kinds = list(examples() if hinges is None else hinges)
    for kind in kinds:
        if not isinstance(kind, Hinge):
            raise ModelError(f"hinges must be hinges such as Pin(axis=(0, 0, 1)), got {kind!r}.")
    if not kinds:
        raise ModelError("hinges must hold at least one hinge to draw from.")
    drawn: list[Hinge] = []
    while len(drawn) < n:
        drawn += [kinds[i] for i in rng.permutation(len(kinds))]
    return drawn[:n]


def _draw_hinge_map(rng: np.random.Generator, dim: int) -> Array:
    """A map with independent rows; one in five has none."""
    nv = 0 if rng.random() < 0.2 else int(rng.integers(1, dim + 1))
    rows = np.linalg.qr(rng.standard_normal((dim, dim)))[0][:, :nv].T
    return np.asarray(rng.uniform(0.5, 2.0, (nv, 1)) * rows)


def _draw_weight(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """A random weight; one in four has lost a rank."""
    A: Array = rng.standard_normal((rows, columns)) / np.sqrt(max(rows, columns))
    if rng.random() < 0.25:
        x = rng.standard_normal(columns)
        A = A - np.outer(A @ x, x) / (x @ x)
    return A


def _draw_inertia(rng: np.random.Generator, H: Array) -> Array:
    """Positive semi-definite, and definite on the hinge: H M H* > 0, so that D >= H M H* > 0."""
    dim = H.shape[-1]
    rank = dim if rng.random() < 0.7 else int(rng.integers(0, dim))
    half = rng.standard_normal((dim, rank))
    M = half @ half.T + H.T @ H
    return np.asarray(0.5 * (M + M.T))
