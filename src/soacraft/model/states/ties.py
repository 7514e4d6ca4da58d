"""Dofs that loops and couplings tie to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.model.sizes.lengths import chain

if TYPE_CHECKING:
    from soacraft.model.tree.graph import Graph

Mask = npt.NDArray[np.bool_]


def ties_of(mb: Graph) -> list[Mask]:
    """Dofs of the hinges that each active loop and coupling ties, (nv) each."""
    found = []
    for loop in mb.loops:
        if loop.active and not loop.one_sided:
            tied = np.zeros(mb.nv, dtype=np.bool_)
            for body in chain(loop.a, loop.b).bodies:
                tied[mb.layout.hinge_v[mb.layout.index[body]]] = True
            found.append(tied)
    for coupling in mb.couplings:
        if coupling.active and not coupling.one_sided:
            tied = np.zeros(mb.nv, dtype=np.bool_)
            tied[[mb.dof_names.index(x) for x in coupling.terms]] = True
            found.append(tied)
    return found


def tied_dofs(mb: Graph) -> Mask:
    """Dofs that active loops and couplings tie, (nv)."""
    found = np.zeros(mb.nv, dtype=np.bool_)
    for tied in ties_of(mb):
        found |= tied
    return found


def moved_with(mb: Graph, dofs: Mask) -> Mask:
    """These dofs and all that loops and couplings move with them, (nv)."""
    found, ties = dofs.copy(), ties_of(mb)
    while True:
        more = [x for x in ties if (x & found).any() and (x & ~found).any()]
        if not more:
            return found
        for x in more:
            found |= x
