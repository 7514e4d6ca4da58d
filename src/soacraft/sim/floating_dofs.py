"""Bodies that float: those that no constant velocity of their own can be told from rest.

A free hinge on the ground without armature, whose tree no closure ties to another tree or to the ground, and of which
no dof is prescribed: its accelerations in inboard axes, and those of all that it carries, are the same at every
constant velocity, but for forces that depend on velocities themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from soacraft.model.hinges import Free
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody


def floating_dofs(mb: Multibody, prescribed: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Mask of the dofs that are the travel of bodies that float, (nv). O(n).

    >>> import soacraft as sc
    >>> floating_dofs(sc.load("anymal_b"), ())[:7].tolist()
    [False, False, False, True, True, True, False]
    """
    layout = mb.layout
    roots = list(range(layout.n))  # of each body, the first with dofs between it and the ground
    for k, parent in enumerate(layout.parents):
        if parent >= 0 and layout.bodies[roots[parent]].hinge.nv:
            roots[k] = roots[parent]
    tied = set()
    for closure in (x for x in mb.loops if x.active):
        numbers = [layout.index[x] if isinstance(x, Body) else -1 for x in (closure.a.carrier, closure.b.carrier)]
        ends = {-1 if k < 0 else roots[k] for k in numbers}
        tied |= ends if len(ends) > 1 else set()
    mask = np.zeros(mb.nv, dtype=bool)
    for k, body in enumerate(layout.bodies):
        first = layout.v_slices[k].start
        free = type(body.hinge) is Free and roots[k] == k and layout.armature[k] is None
        if free and k not in tied and not set(range(first, first + 6)) & set(prescribed):
            mask[first + 3 : first + 6] = True
    return mask
