"""Dofs that follow others: those that couplings name first, as a mimic joint names the joint that follows."""

from __future__ import annotations

import numpy as np

from soacraft.kinematics.independent import Indices
from soacraft.model.tree.graph import Graph


def followers(graph: Graph) -> frozenset[str]:
    """Dofs that the active couplings name first; none if a loop ties the graph.

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)
    >>> gear = mb.couple("gear", {"link2": 1.0, "link1": -2.0})
    >>> followers(mb), masters(mb)
    (frozenset({'link2'}), array([0, 2]))
    """
    if any(loop.active for loop in graph.loops):
        return frozenset()
    return frozenset(next(iter(x.terms)) for x in graph.couplings if x.active)


def masters(graph: Graph) -> Indices | None:
    """The numbers of all other dofs; None where couplings name no follower, or two of them the same one."""
    dependent = followers(graph)
    if not dependent or len(dependent) < sum(x.active for x in graph.couplings):
        return None
    return np.array([i for i, name in enumerate(graph.dof_names) if name not in dependent], dtype=np.intp)
