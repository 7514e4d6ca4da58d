"""`analysis.linearize` of a tree with hinges that roll: each becomes a `Free` hinge that its own loop ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.analysis.linearize import units_of
from soacraft.dynamics.problem import Problem
from soacraft.errors import StateError
from soacraft.loops.linearize import ClosedLinearization, linearize
from soacraft.loops.tree_augmented import TreeAugmented
from soacraft.model.hinges import Free
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.states.coordinates import read_forces
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench


def rolling_linearize(p: Problem, f_ext: Any, *, passive: bool) -> ClosedLinearization:
    """The linearization of the tree with loops in place of its rolling hinges.

    A hinge that rolls has its turns as dofs, which are the first three of a `Free` hinge. So its forces are moments on
    the body, in the axes of the body, whatever the configuration: those of the free hinge, with no force.
    """
    mb = p.graph
    assert isinstance(mb, Multibody)
    if p.batch:
        raise StateError(f"linearize takes one state of a model with bodies that roll, got a batch {p.batch}.")
    free = mb.copy()
    free.set_state(p.full("q"), p.full("v"))
    for body in [x for x in free.bodies if isinstance(x.hinge, Rolling)]:
        name, hinge, inboard, outboard = body.hinge_name, body.hinge, body.inboard, body.outboard
        free.reattach(body, body.parent, Free(), inboard, outboard, keep_pose=True)
        plane = body.parent.add_node(f"{name} plane", inboard)
        free.close_loop(f"{name} rolls", plane, body.add_node(f"{name} rolls", outboard.inv), hinge)
    S = _selection(mb, free)
    forces = [(frame.full_name, _by_name(wrench)) for frame, wrench in read_forces(mb, f_ext)]
    linearization = linearize(TreeAugmented(free), free.q, free.v, S @ p.full("force"), forces, passive=passive)
    return replace(linearization, B=linearization.B @ S, units=units_of(mb))


def _by_name(wrench: Wrench) -> Wrench:
    """The wrench with the name of the frame whose axes it is in: another model has a frame of that name."""
    axes: Frame | None = wrench.expressed_in
    return wrench if axes is None else Wrench(wrench.moment, wrench.force, expressed_in=axes.full_name)


def _selection(mb: Multibody, free: Multibody) -> Array:
    """S (nv of the free tree, nv): where each dof of the model is among those of the other."""
    S = np.zeros((free.nv, mb.nv))
    for body in mb.bodies:
        rows, other = mb.v_slice(body), free.v_slice(body.name)
        for i in range(rows.stop - rows.start):
            S[other.start + i, rows.start + i] = 1.0
    return S
