"""Joints of SDF as hinges, with their limits, springs and couplings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.files.sdf.frames import Frames
from soacraft.files.sdf.scopes import Item, Scopes
from soacraft.files.xml_tree import Element, fail, shorten
from soacraft.model.hinges import Helical, Hinge, Pin, Prismatic, Screws, Spherical, Universal, Weld
from soacraft.model.tree.parts.properties import Limits, Passive
from soacraft.spatial import Array

TYPES = ("revolute", "continuous", "prismatic", "fixed", "ball", "universal", "revolute2", "screw", "gearbox")
#: SDF writes this for a bound that is not there.
NO_LIMIT = 1e16
_NEGATIVE_IS_NONE = ("effort", "velocity")


@dataclass
class Made:
    """Hinge and its parameters, made from a joint."""

    hinge: Hinge
    axes: list[Element]
    limits: Limits | None = None
    passive: Passive | None = None


def make(scopes: Scopes, frames: Frames, name: str, item: Item) -> Made | None:
    """The hinge of a joint in the joint's frame; None for a gearbox, which ties two other joints."""
    source, element = scopes.source, item.element
    kind = element.attributes.get("type", "")
    if kind not in TYPES:
        raise fail(element, f"type={shorten(kind)!r} is not a type of joint; use one of {', '.join(TYPES)}.")
    if kind == "gearbox":
        source.record(element, name, dynamic=True)
        return None
    axes = [each for tag in ("axis", "axis2") if (each := source.child(element, tag)) is not None]
    wanted = {"fixed": 0, "ball": 0, "universal": 2, "revolute2": 2}.get(kind, 1)
    if len(axes) < wanted:
        raise fail(element, f"a {kind} joint needs {'an <axis>' if wanted == 1 else 'an <axis> and an <axis2>'}.")
    directions = [_direction(scopes, frames, name, item, axis) for axis in axes[:wanted]]
    for axis in axes[wanted:]:
        source.say(axis, "ignored", f"a {kind} joint has no such axis")
    joint = Made(_hinge(scopes, element, kind, directions), axes[:wanted])
    if wanted:
        joint.limits = _limits(scopes, axes[:wanted], kind)
        joint.passive = _passive(scopes, axes[:wanted])
    return joint


def _hinge(scopes: Scopes, element: Element, kind: str, axes: list[Array]) -> Hinge:
    if kind in ("revolute", "continuous"):
        return Pin(axes[0])
    if kind == "prismatic":
        return Prismatic(axes[0])
    if kind == "ball":
        return Spherical()
    if kind == "screw":
        return Helical(axes[0], _pitch(scopes, element))
    if kind == "fixed":
        return Weld()
    if float(np.linalg.norm(np.cross(axes[0], axes[1]))) < 1e-9:
        return Screws([[*axis, 0.0, 0.0, 0.0] for axis in axes])
    return Universal(*axes)


def _pitch(scopes: Scopes, element: Element) -> float:
    """Travel for each radian. `screw_thread_pitch` is in metres for each turn, right-handed; the older `thread_pitch`
    in radians for each metre, left-handed: pitch = -1 / thread_pitch."""
    source = scopes.source
    new = source.child(element, "screw_thread_pitch")
    if new is not None:
        return float(source.numbers(new, 1)[0]) / (2.0 * np.pi)
    old = source.number(element, "thread_pitch", 1.0)
    if old == 0.0:
        raise fail(element, "thread_pitch must not be zero; give screw_thread_pitch in metres for each turn.")
    return -1.0 / old


def _direction(scopes: Scopes, frames: Frames, name: str, item: Item, axis: Element) -> Array:
    """The axis in the joint's frame: `expressed_in` another frame, before SDF 1.7 perhaps in the parent model's."""
    source = scopes.source
    source.use(axis)
    xyz = source.child(axis, "xyz")
    if xyz is None:
        return np.array([0.0, 0.0, 1.0])
    axis_of, frame = source.numbers(xyz, 3), source.attribute(xyz, "expressed_in")
    size = float(np.linalg.norm(axis_of))
    if size == 0.0:
        raise fail(xyz, "an axis must not be zero; give a direction such as 0 0 1.")
    if abs(size - 1.0) > 1e-6:
        source.say(xyz, "converted", "the axis is normalised")
    old = source.child(axis, "use_parent_model_frame")
    other = None
    if frame:
        other = scopes.find(item.scope, frame, xyz)
    elif old is not None and source.text(old) in ("true", "1"):
        other = f"{item.scope}__model__"
    turned = axis_of / size
    if other is not None:
        turned = frames.pose(name).rotation.T @ frames.pose(other).rotation @ turned
    return np.asarray(turned)


def _limits(scopes: Scopes, axes: list[Element], kind: str) -> Limits | None:
    source = scopes.source
    rows: dict[str, list[float]] = {"lower": [], "upper": [], "velocity": [], "effort": []}
    for axis in axes:
        limit = source.child(axis, "limit")
        if limit is not None:
            source.use(limit)
        for key, row in rows.items():
            none = -np.inf if key == "lower" else np.inf
            value = none if limit is None else source.number(limit, key, none)
            bare = abs(value) >= NO_LIMIT or (key in _NEGATIVE_IS_NONE and value < 0.0)
            row.append(none if bare or (kind == "continuous" and key in ("lower", "upper")) else value)
        if rows["lower"][-1] > rows["upper"][-1]:
            raise fail(limit or axis, f"lower={rows['lower'][-1]:g} is above upper={rows['upper'][-1]:g}; swap them.")
        if limit is not None:
            for tag in ("stiffness", "dissipation"):
                child = source.child(limit, tag)
                if child is not None:
                    source.say(child, "ignored", "limits are kept, not enforced")
    numbers = [np.array(row) for row in rows.values()]
    return Limits(*numbers) if any(np.isfinite(row).any() for row in numbers) else None


def _passive(scopes: Scopes, axes: list[Element]) -> Passive | None:
    """Springs and dampers act; dry friction is kept."""
    source = scopes.source
    rows: dict[str, list[float]] = {"spring_stiffness": [], "damping": [], "friction": [], "spring_reference": []}
    for axis in axes:
        dynamics = source.child(axis, "dynamics")
        if dynamics is not None:
            source.use(dynamics)
        for key, row in rows.items():
            value = 0.0 if dynamics is None else source.number(dynamics, key, 0.0)
            if value < 0.0 and key != "spring_reference":
                raise fail(dynamics or axis, f"{key} must not be negative, got {value:g}.")
            row.append(value)
        dry = None if dynamics is None else source.child(dynamics, "friction")
        if dry is not None and rows["friction"][-1] > 0.0:
            source.say(dry, "recorded", "dry friction is kept in body.passive, not simulated", dynamic=True)
    if not any(rows["spring_stiffness"] + rows["damping"] + rows["friction"]):
        return None
    stiffness, damping, friction, rest = (np.array(row) for row in rows.values())
    return Passive(stiffness, damping, friction, rest if rest.any() else None)
