"""The results of a hinge's methods, checked: a wrong type or shape is refused by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.spatial import Array, Pose, shape_text

if TYPE_CHECKING:
    from soacraft.model.hinges.base import Hinge


def lead_of(*args: Array) -> tuple[int, ...]:
    """The common leading axes of arrays whose last axis is theirs."""
    first = args[0].shape[:-1]
    for a in args[1:]:
        if a.shape[:-1] != first:
            return np.broadcast_shapes(*(x.shape[:-1] for x in args))
    return first


def tail_of(hinge: Hinge, method: str) -> tuple[int, ...]:
    """The shape of a method's result for a single configuration."""
    nq, nv = hinge.nq, hinge.nv
    tails = {"H_T": (6, nv), "derivative_of_H_T": (6, nv), "dH": (nv, 6, nv), "bias": (6,), "dbias": (6, nv),
             "difference": (nv,)}
    return tails.get(method, (nq,))


def checked_single(hinge: Hinge, method: str, value: Any) -> Any:
    """The result of a user's method for a single configuration: right type and shape, finite."""
    if method == "pose":
        pose = checked_pose(hinge, value, ())
        _finite(hinge, method, pose.rotation, pose.translation)
        return pose
    if method == "dbias":
        pair = checked_pair(hinge, value, ())
        _finite(hinge, method, *pair)
        return pair
    array = checked_array(hinge, method, value, ())
    _finite(hinge, method, array)
    return array


def _finite(hinge: Hinge, method: str, *arrays: Array) -> None:
    if not all(np.isfinite(a).all() for a in arrays):
        raise ModelError(f"{type(hinge).__name__}.{method} returned a number that is not finite")


def checked_pose(hinge: Hinge, pose: Any, lead: tuple[int, ...]) -> Pose:
    where = f"{type(hinge).__name__}.pose"
    if not isinstance(pose, Pose):
        raise ModelError(f"{where} must return a Pose, got {type(pose).__name__}; "
                         "Pose(rotation, translation) or Pose.from_matrix(...) makes one")
    if pose.batch_shape != lead:
        raise ModelError(f"{where} must return a Pose with leading axes {shape_text(lead)}, "
                         f"got {shape_text(pose.batch_shape)}")
    return pose


def checked_array(hinge: Hinge, method: str, value: Any, lead: tuple[int, ...]) -> Array:
    wanted = (*lead, *tail_of(hinge, method))
    if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.shape == wanted:
        return value
    where = f"{type(hinge).__name__}.{method}"
    try:
        array = np.asarray(value)
    except ValueError as problem:
        raise ModelError(f"{where} must return an array of shape {shape_text(wanted)}: {problem}") from None
    if array.dtype.kind not in "iuf":
        raise ModelError(f"{where} must return an array of real numbers of shape {shape_text(wanted)}, "
                         f"got {type(value).__name__} of {array.dtype}")
    if array.shape != wanted:
        raise ModelError(f"{where} must return an array of shape {shape_text(wanted)}, "
                         f"got shape {shape_text(array.shape)}")
    return array.astype(np.float64)


def checked_pair(hinge: Hinge, value: Any, lead: tuple[int, ...]) -> tuple[Array, Array]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ModelError(f"{type(hinge).__name__}.dbias must return a pair (in q, in v), "
                         f"got {type(value).__name__}")
    return checked_array(hinge, "dbias", value[0], lead), checked_array(hinge, "dbias", value[1], lead)
