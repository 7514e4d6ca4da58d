"""Reading q, v, vdot and wrenches: shape, finiteness, unit quaternions; errors name hinge and value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import Hinge, normalize_of
from soacraft.model.modal.refusals import require_point
from soacraft.model.states.named_states import entries_text, read_named
from soacraft.order import in_order
from soacraft.results import refuse_large
from soacraft.spatial.checks import Array, finite, frozen, holds_boolean, is_masked_array, state_text
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.tree.frames.frame import Frame

Forces = tuple[tuple["Frame", Wrench], ...]


def read_q(graph: Structure, q: Any, what: str = "q", rest: Array | None = None) -> Array:
    """Coordinates (..., nq), with every quaternion normalised, or a `StateError`.

    They may be given by name; what is not named is then as in `rest`.
    """
    layout = graph.layout
    if isinstance(q, Mapping):
        q = read_named(graph, q, what, True, rest)
    x = _vector(graph, q, layout.nq, what, layout.q_slices)
    for group in layout.groups:
        if type(group.hinge).normalize is Hinge.normalize:
            continue
        if group.hinge.batched:  # all bodies of the group at once; one by one only to say which hinge is at fault
            with suppress(StateError):
                x[..., group.q_index] = normalize_of(group.hinge, x[..., group.q_index], what)
                continue
        for j, k in enumerate(group.bodies):
            body = layout.bodies[k]
            part = x[..., group.q_index[j]]
            x[..., group.q_index[j]] = normalize_of(group.hinge, part, f"{what} of hinge {body.hinge_name!r}")
    return frozen(x)


def read_v(graph: Structure, v: Any, what: str = "v", rest: Array | None = None) -> Array:
    """Velocities or accelerations (..., nv), or a `StateError`; by name as for `read_q`."""
    layout = graph.layout
    if isinstance(v, Mapping):
        v = read_named(graph, v, what, False, rest)
    return frozen(_vector(graph, v, layout.nv, what, layout.v_slices))


def in_graph_order(graph: Structure, value: Any, what: str, of_q: bool = False) -> Any:
    """Numbers of v, or `of_q` of q, in the order of a graph: `soacraft.order.in_order`."""
    layout = graph.layout
    return in_order(value, layout.q_order if of_q else layout.v_order, what)


def _vector(graph: Structure, value: Any, size: int, what: str, slices: Sequence[slice]) -> Array:
    """A float64 copy (..., size); an error names the model and the first bad entry's hinge."""
    name = f"{what} of {graph.name!r}"
    value = in_graph_order(graph, value, name, slices is graph.layout.q_slices)
    try:
        shape = np.shape(value)
    except ValueError:
        raise StateError(f"{name} must be an array of {size} real numbers, got ragged rows.") from None
    if not shape or shape[-1] != size:
        got = f"{value!r:.60}" if not shape else f"{shape[-1]}" if len(shape) == 1 else f"shape {shape}"
        by_hinge = entries_text(graph, slices is graph.layout.q_slices)
        raise StateError(f"{name} has {size} entries, got {got}; by hinge: {by_hinge}.")
    if np.asarray(value).dtype.kind not in "iuf" or is_masked_array(value) or holds_boolean(value):
        return finite(value, (..., size), name, StateError)  # says what kind of thing was given
    refuse_large(shape, name, "Take the batch in parts.")
    x = np.array(value, dtype=np.float64)
    bad = ~np.isfinite(x)
    if bad.any():
        *where, entry = (int(i) for i in np.argwhere(bad)[0])
        k = next(k for k, s in enumerate(slices) if s.start <= entry < s.stop)
        raise StateError(
            f"{state_text(where, shape[:-1])}{name} must be finite: entry {entry}, of hinge "
            f"{graph.layout.bodies[k].hinge_name!r}, is {x[(*where, entry)]}."
        )
    return x


def common_batch(**arrays: Array) -> tuple[int, ...]:
    """The leading (batch) axes of q, v, vdot together, or a `StateError` when they do not fit."""
    if all(x.ndim == 1 for x in arrays.values()):
        return ()
    try:
        return np.broadcast_shapes(*(x.shape[:-1] for x in arrays.values()))
    except ValueError:
        given = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise StateError(f"the leading (batch) axes do not agree: {given}.") from None


# -- external forces -----------------------------------------------------------------------------------------


def read_wrench(graph: Structure, frame: Frame, wrench: Any) -> Wrench:
    """A wrench [moment; force] at a frame: a `Wrench`, or six numbers in the frame's own axes."""
    if isinstance(wrench, Wrench):
        if wrench.expressed_in is None:
            return wrench
        return Wrench(wrench.moment, wrench.force, expressed_in=graph.frame(wrench.expressed_in))
    x = finite(wrench, (..., 6), f"the wrench at {frame.full_name!r}", StateError)
    return Wrench(x[..., :3], x[..., 3:])


def read_forces(graph: Structure, forces: Any) -> Forces:
    """External forces `{node: wrench}` (or pairs), as pairs of frame and `Wrench`."""
    if forces is None:
        return ()
    if not isinstance(forces, Mapping | tuple | list):
        raise StateError(f"external forces are given as {{node: wrench}}, got {forces!r}.")
    items = forces.items() if isinstance(forces, Mapping) else forces
    pairs = []
    for item in items:
        if not (isinstance(item, tuple) and len(item) == 2):
            raise StateError(f"external forces are given as {{node: wrench}}, got the item {item!r}.")
        frame = force_frame(graph, item[0])
        pairs.append((frame, read_wrench(graph, frame, item[1])))
    return tuple(pairs)


def force_frame(graph: Structure, frame: Any) -> Frame:
    """The frame of this graph on which a force acts: a node or a body, not the inertial frame."""
    found = graph.frame(frame)
    if found.carrier not in graph.layout.index:
        where = "the inertial frame" if found.carrier is graph.root else f"body {found.carrier.name!r}"
        raise ModelError(
            f"a force at {found.full_name!r} moves nothing: {where} is not a body of {graph.name!r}; "
            "give a node on one of its bodies."
        )
    require_point(found, "let the force act at")
    return found
