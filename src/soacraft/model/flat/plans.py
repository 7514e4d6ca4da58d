"""Plans: the blocks A, H and M of a tree for the compiled programs, filled from q in C++ where every hinge is built in.

`rigid_plan(layout, axes)` fills them from q in one of the three representations; `given_plan` takes them as numbers,
as abstract, embedded and flexible models have them. A plan belongs to a structure, not to a state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.algebra.spaces.space import offsets_of
from soacraft.algebra.spaces.tree import Tree
from soacraft.model.flat.axes import AXES, Axes
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.flat.layout import HingeGroup, Layout
from soacraft.model.hinges import Free, Hinge, RollingBall, Spherical, Weld
from soacraft.model.hinges.base import H_T_of
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.tree.frames.frame import Body, Frame

#: Names of C++ for the layers above: `soacraft._core` is imported here alone.
Plan: TypeAlias = _core.Plan
Program: TypeAlias = _core.Program
Numbers: TypeAlias = _core.Numbers
Store: TypeAlias = _core.Store
make_program, make_numbers, make_store = _core.program, _core.numbers, _core.store
product_of, batch_of, function_of = _core.product, _core.batch, _core.compiled_program
read_orders = _core.set_orders

Records = npt.NDArray[Any]
Integers = npt.NDArray[np.int64]

_SCREWS, _WELDED, _BALL, _ANYWHERE, _ROLLS = range(5)
_KINDS: dict[type[Hinge], int] = {Weld: _WELDED, Spherical: _BALL, Free: _ANYWHERE, RollingBall: _ROLLS}


def _dtype(name: str) -> np.dtype[Any]:
    """A record as C++ lays it out."""
    size, *entries = _core.record_layouts()[name]
    formats = [kind if count == 1 else (kind, (count,)) for _, _, kind, count in entries]
    return np.dtype(
        {"names": [e[0] for e in entries], "formats": formats, "offsets": [e[1] for e in entries], "itemsize": size}
    )


BODY_RECORD, SCREW_RECORD, SPOT_RECORD = (_dtype(name) for name in ("RigidBody", "Screw", "Spot"))


def rigid_plan(layout: Layout, axes: Axes) -> Plan | None:
    """Plan of a rigid tree in these axes; None when a hinge is the user's own, when a body has modal coordinates, or
    when there is no body.
    """
    if not layout.n or not layout.rigid or not all(CompiledModel.knows(group.hinge) for group in layout.groups):
        return None
    plan = empty_plan(layout.tree, layout.dims, [s.stop - s.start for s in layout.v_slices])
    plan.blocks_rigid(*records_of(layout), layout.parameters, AXES.index(axes), layout.nq)
    return plan


def given_plan(tree: Tree, dims: Sequence[int], nvs: Sequence[int]) -> Plan:
    """The plan of a tree whose A, H and M are given as numbers."""
    plan = empty_plan(tree, dims, nvs)
    plan.blocks_given()
    return plan


def empty_plan(tree: Tree, dims: Sequence[int], nvs: Sequence[int]) -> Plan:
    """A plan without blocks yet."""
    order, parents = (np.array(x, dtype=np.int64) for x in (tree.base_to_tips(), tree.parents))
    return _core.plan(order, parents, offsets_of(dims), offsets_of(nvs))


def records_of(layout: Layout) -> tuple[Records, Records]:
    """Bodies and screws as C++ reads them."""
    bodies = np.zeros(layout.n, dtype=BODY_RECORD)
    bodies["parent"] = layout.parents
    bodies["q"] = [s.start for s in layout.q_slices]
    for name, poses in (("in", layout.inboard), ("out", layout.outboard)):
        bodies[f"R_{name}"], bodies[f"p_{name}"] = poses[0].reshape(-1, 9), poses[1]
    bodies["turned"] = (layout.outboard[0] != np.eye(3)).any(axis=(1, 2))
    bodies["shifted"] = layout.outboard[1].any(axis=1)
    bodies["M"] = layout.M.reshape(-1, 36)
    for k, J in enumerate(layout.armature):
        if J is not None:
            bodies["extended"][k] = 1
            bodies["armature"][k, : J.size] = J
    screws: list[Any] = []
    for group in layout.groups:
        _add_group(layout, group, bodies, screws)
    found = np.zeros(len(screws), dtype=SCREW_RECORD)
    for i, screw in enumerate(screws):
        found[i] = (screw.vector, screw.rate, screw.basis.ravel())
    return bodies, found


def _add_group(layout: Layout, group: HingeGroup, bodies: Records, screws: list[Any]) -> None:
    """The hinge of a group in the records of its bodies."""
    hinge, where = group.hinge, group.bodies
    bodies["nv"][where] = hinge.nv
    bodies["kind"][where] = _KINDS.get(type(hinge), _SCREWS)
    bodies["constant"][where] = hinge.constant_H or hinge.nv == 0
    if isinstance(hinge, ScrewProduct):
        bodies["screws"][where] = len(screws)
        screws.extend(hinge._screws)
    if isinstance(hinge, RollingBall):
        bodies["radius"][where], bodies["normal"][where] = hinge.radius, hinge.normal
        bodies["t1"][where], bodies["t2"][where] = hinge.tangents
    if hinge.constant_H and hinge.nv:
        H_T = layout.to_body[where] @ H_T_of(hinge, np.asarray(hinge.neutral(), dtype=np.float64))
        bodies["H"][where, : 6 * hinge.nv] = H_T.reshape(len(where), -1)


def spots_of(layout: Layout, frames: Sequence[Frame]) -> Records:
    """Frames on bodies as C++ reads them."""
    spots = np.zeros(len(frames), dtype=SPOT_RECORD)
    for i, frame in enumerate(frames):
        assert isinstance(frame.carrier, Body)
        offset = frame.offset
        spots[i] = (layout.index[frame.carrier], offset.rotation.ravel(), offset.translation)
    return spots


def quaternions_of(layout: Layout) -> Integers:
    """Indices in q at which quaternions begin."""
    groups = [g for g in layout.groups if isinstance(g.hinge, (Spherical, Free, RollingBall))]
    return np.array([start for group in groups for start in group.q_starts], dtype=np.int64)
