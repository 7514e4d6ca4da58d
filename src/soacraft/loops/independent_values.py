"""Numbers of the independent dofs of a closed chain: by name, of all dofs, or bare where these dofs were named.

Which dofs are independent is found by pivoting, so that a bare short vector does not say whose numbers it has. It is
read only for a solver that was made with `independent=`, in the order of `independent(q)`, and from a stacked vector of
its operators, which knows its dofs. `{"crank": 0.0}` names them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import LoopError, StateError
from soacraft.kinematics.independent import Indices, Partition, completed, dofs_named
from soacraft.kinematics.partition import partition
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, refuse_large
from soacraft.model.states.named_states import read_named
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.names import v_place
from soacraft.spatial.checks import Array, finite


class Named(NamedTuple):
    """Values (..., k) of dofs by their numbers, ascending."""

    dofs: Indices
    values: Array


def by_name(graph: Graph, rates: Any, what: str) -> Named | None:
    """Values of dofs by name, from a dictionary or a stacked vector of independent dofs; None for other numbers."""
    space = getattr(rates, "space", None)
    names: Sequence[str] | None = getattr(getattr(space, "owner", None), "dofs", None)
    if names is not None and getattr(space, "kind", "") == "hinge":
        rates = dict(zip(names, np.moveaxis(np.asarray(rates), -1, 0)[..., None], strict=True))
    if not isinstance(rates, Mapping):
        return None
    full = read_named(graph, rates, what, False, np.zeros(graph.nv))
    places = [v_place(graph, key) for key in rates]
    dofs = np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(x.start, x.stop) for x in places)]))
    values = finite(full[..., dofs], (..., len(dofs)), f"{what} of {graph.name!r}", StateError)
    refuse_large(graph, what, values)
    return Named(dofs.astype(np.intp), values)


def length_of(x: Any) -> int | None:
    """The length of the last axis; None for a number, or for what is no array."""
    try:
        shape = np.shape(x)
    except ValueError:
        return None
    return shape[-1] if shape else None


def require_names(graph: Graph, chosen: Sequence[str], what: str, named: bool = False) -> StateError:
    """The error for a bare vector of independent dofs that nobody named, or `named` in another order."""
    names = ", ".join(map(repr, chosen))
    by_names = ", ".join(f"{name!r}: ..." for name in chosen)
    why = "named in another order than that of the model," if named else "not named: they are found by pivoting, here"
    return StateError(
        f"{what} of {graph.name!r} is bare numbers of independent dofs, which were {why} {names}. Give them by name, "
        f"{what}={{{by_names}}}, or all {graph.nv} dofs; a solver made by "
        "sc.loops.ConstraintEmbedding(mb, independent=[...]) takes bare numbers of the dofs that it names."
    )


def of_chosen(graph: Graph, named: Named, chosen: Sequence[str], what: str) -> Array:
    """Values (..., m) of the dofs chosen, in their order, from values by name, which must be of these dofs."""
    names = graph.dof_names
    names_of = tuple(names[i] for i in named.dofs)
    if sorted(names_of) != sorted(chosen):
        raise StateError(
            f"{what} of {graph.name!r} is given for {', '.join(map(repr, names_of)) or 'no dofs'}, but its independent "
            f"dofs are {', '.join(map(repr, chosen)) or 'none'}. To choose them, make the solver with "
            "sc.loops.ConstraintEmbedding(mb, independent=[...])."
        )
    return named.values[..., [names_of.index(name) for name in chosen]]


def accelerations_of(task: Task, choice: Partition, dofs: Indices, values: Array) -> Array:
    """Accelerations of the independent dofs of a choice from those of other dofs that set them, at one state.

    vdot = X vdot_i + x0 of the partition with these dofs independent. O(m nv^2).
    """
    rows = task.rows
    if np.array_equal(dofs, choice.independent):
        return values
    graph, wanted = rows.graph, np.zeros(rows.graph.nv, dtype=np.bool_)
    wanted[dofs] = True
    split = partition(rows, wanted=wanted)
    if len(dofs) != len(choice.independent) or not np.array_equal(split.independent, dofs):
        count = len(choice.independent)
        raise LoopError(
            f"vdot of {graph.name!r} is given for {', '.join(map(repr, dofs_named(rows, dofs))) or 'no dofs'}, which "
            f"do not set the others: {count} {'dof is' if count == 1 else 'dofs are'} independent here, such as "
            f"{', '.join(map(repr, dofs_named(rows, choice.independent)))}."
        )
    vdot = completed(rows.jacobian(), split, values, task.Udot - rows.gamma, sizes_of(rows))
    return np.asarray(vdot[choice.independent])
