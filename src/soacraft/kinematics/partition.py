"""The partition of a closed chain's dofs at a state: one rank for all solvers and the report.

In go the rows at a state; out come independent and dependent dofs, the rank and the rows that repeat others. With rows
and dofs in their sizes (`kinematics.sizes`), singular values above `RANK` count, and those up to `ZERO`, or to what the
loops are open by, do not. One between the two belongs to axes that are parallel but for the digits of a file, or to a
pose next to a singular one: it counts where it does in closed configurations nearby. So near a singular pose all rows
stay, up to where rounding decides, in all solvers alike.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from soacraft.kinematics.assemble import close
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.independent import Indices, Mask, Partition, choose, condition_of, expansion, singular_values
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import Sizes, sizes_of
from soacraft.kinematics.tolerances import CLOSED, NEARBY, OPEN_ROWS, RANK, ZERO
from soacraft.spatial.checks import Array


def partition(
    rows: Constraints,
    previous: Indices | None = None,
    wanted: Mask | None = None,
    only: Collection[str] | None = None,
    tolerance: float = CLOSED,
) -> Partition:
    """Independent and dependent dofs at a state, for all closures and couplings, or `only` for those named.

    Independent dofs of `previous` stay so while they serve nearly as well as the best ones; those `wanted` are so
    wherever the others can carry the rank. O(m nv^2).

    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> partition(Constraints(mb, mb.state()))
    3 independent and 3 dependent dofs, rank 3, 3 redundant rows, condition ...
    """
    G, sizes, numbers = scaled_rows(rows, only)
    rank, most = _rank(rows, G, sizes, previous, only, tolerance)
    choice = replace(choose(G, None, rank, wanted, previous), loose=rank < most)
    return choice if numbers is None else choice.of_rows(numbers)


def partition_with(rows: Constraints, independent: Indices) -> Partition:
    """The partition for independent dofs that were chosen before, whatever they are worth here."""
    G = scaled_rows(rows)[0]
    dependent = np.setdiff1d(np.arange(G.shape[1]), independent)
    best = choose(G, rank=len(dependent))
    condition = condition_of(G[:, dependent])
    return replace(best, independent=independent, dependent=dependent, condition=condition)


def scaled_rows(rows: Constraints, only: Collection[str] | None = None) -> tuple[Array, Sizes, Indices | None]:
    """The rows in their sizes, all or some, these sizes of all, and the numbers of some."""
    sizes = sizes_of(rows)
    G = sizes.scaled(rows.jacobian())
    if only is None:
        return G, sizes, None
    parts = [np.arange(place.start, place.stop) for name, place in rows.places if name in only]
    numbers = np.concatenate([np.zeros(0, dtype=np.intp), *parts]).astype(np.intp)
    return G[numbers], sizes, numbers


def _rank(
    rows: Constraints, G: Array, sizes: Sizes, previous: Indices | None, only: Collection[str] | None, tolerance: float
) -> tuple[int, int]:
    """The rank, and how many singular values are more than rounding."""
    sigma = singular_values(G)
    zero = min(RANK, max(ZERO, OPEN_ROWS * rows.open_part))
    least, most = int(np.sum(sigma > RANK)), int(np.sum(sigma > zero))
    if least == most or (previous is not None and G.shape[1] - len(previous) == most):
        return most, most
    there = nearby_rank(rows, choose(G, None, least), sizes, tolerance, only)[0]
    return min(max(there, least), most), most


def nearby_rank(
    rows: Constraints, here: Partition, sizes: Sizes, tolerance: float, only: Collection[str] | None = None
) -> tuple[int, bool]:
    """The largest rank a few steps away along the closed configurations, the same steps every time; and whether no step
    led anywhere."""
    graph, q = rows.graph, rows.state.q
    rank, went = here.rank, False
    rng = np.random.default_rng(0)
    X = expansion(rows.jacobian(), here, sizes) if only is None else np.eye(graph.nv)
    anywhere = Bounds(graph, np.zeros(graph.nv, dtype=np.bool_), limits=False)
    for _ in range(3 if X.size else 0):
        step = X @ rng.standard_normal(X.shape[1])
        step *= NEARBY / float(np.abs(sizes.dofs * step).max())
        moved = graph.integrate(q, step)
        after = close(Constraints(graph, rows.state.replace(q=moved), rows.theta), anywhere, tolerance)
        if after.opening <= tolerance:
            went = went or bool(np.abs(after.state.q - q).max() > 0.1 * np.abs(moved - q).max())
            there = scaled_rows(close(after, anywhere), only)[0]
            rank = max(rank, int(np.sum(singular_values(there) > RANK)))
    return rank, bool(X.size) and not went
