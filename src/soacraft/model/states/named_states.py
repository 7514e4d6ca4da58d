"""States by name: `{hinge, body or dof: value}` for q, v, vdot; and the names of the entries for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat.structure import Structure
from soacraft.model.tree.names import q_place, v_place
from soacraft.spatial.checks import Array, finite

#: Number of hinges listed in a message.
_LISTED = 12


def read_named(graph: Structure, given: Mapping[Any, Any], what: str, of_q: bool, rest: Array | None) -> Array:
    """The entries (..., n) from values by name; what is not named is as in `rest`, or refused without one.

    A value has as many entries as its hinge, after any batch axes; a number will do for one.

    >>> from soacraft.model import serial_chain
    >>> read_named(serial_chain(3), {"link2": 0.5}, "q", True, np.zeros(3))
    array([0. , 0.5, 0. ])
    """
    name, size = f"{what} of {graph.name!r}", graph.nq if of_q else graph.nv
    parts: list[tuple[slice, Array]] = []
    taken = np.zeros(size, dtype=np.bool_)
    for key, value in given.items():
        where = (q_place if of_q else v_place)(graph, key, lambda text: StateError(f"{name}: {text}"))
        if taken[where].any():
            raise StateError(f"{name}: {_shown(key)!r} is given twice, by different names; give it once.")
        taken[where] = True
        parts.append((where, _value(value, where.stop - where.start, f"{_shown(key)!r} in {name}")))
    if rest is None and not taken.all():
        part = what if what in ("v", "vdot") else "q" if of_q else ""
        cure = f", or take the rest from the model's state: mb.state({part}={{...}}).{part}" if part else ""
        raise StateError(f"{name} is given by names, but not for {_missing(graph, taken, of_q)}; name them too{cure}.")
    rest = np.zeros(size) if rest is None else rest
    try:
        batch = np.broadcast_shapes(rest.shape[:-1], *(x.shape[:-1] for _, x in parts))
    except ValueError:
        shapes = ", ".join(str(x.shape) for _, x in parts)
        raise StateError(f"{name}: the leading (batch) axes of the values do not agree: {shapes}.") from None
    x: Array = np.array(np.broadcast_to(rest, (*batch, size)))
    for where, values in parts:
        x[..., where] = values
    return x


def entries_text(graph: Structure, of_q: bool) -> str:
    """The entries of q or v by hinge, with the number of those that have several: `base (7), elbow`.

    >>> import soacraft as sc
    >>> entries_text(sc.load("quadrotor_arm"), True)
    'hull (7), yaw, arm, hand'
    """
    layout = graph.layout
    slices = layout.q_slices if of_q else layout.v_slices
    sizes = [(body.hinge_name, at.stop - at.start) for body, at in zip(layout.bodies, slices, strict=True)]
    listed = [name if n == 1 else f"{name} ({n})" for name, n in sizes if n]
    return ", ".join(listed if len(listed) <= _LISTED else [*listed[: _LISTED - 2], "...", listed[-1]]) or "none"


def _value(value: Any, width: int, what: str) -> Array:
    number = width == 1 and (np.isscalar(value) or getattr(value, "ndim", 1) == 0)
    return finite([value] if number else value, (..., width), what, StateError)


def _missing(graph: Structure, taken: Any, of_q: bool) -> str:
    layout = graph.layout
    slices = layout.q_slices if of_q else layout.v_slices
    names = [repr(b.hinge_name) for b, at in zip(layout.bodies, slices, strict=True) if not taken[at].all()]
    return ", ".join(names if len(names) <= 6 else [*names[:5], "..."])


def _shown(key: Any) -> Any:
    return getattr(key, "full_name", key)
