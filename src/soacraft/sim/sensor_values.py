"""Sensors that a model has from its file: what each measures, and its value at a state.

Of joints their coordinate and rate; of frames position, velocities and accelerations in inertial axes; of sites gyro,
velocimeter and accelerometer, which feels gravity, in their own axes. Without noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.model.tree.parts.records import Record
from soacraft.spatial.checks import Array

#: Sensors of MJCF files that are directly a port of a plant: of a joint, and of a frame in inertial axes.
_OF_JOINT = {"jointpos": "q", "jointvel": "v"}
_OF_FRAME = {
    "framepos": "position",
    "framelinvel": "velocity",
    "frameangvel": "angular_velocity",
    "framelinacc": "linear_acceleration",
    "frameangacc": "angular_acceleration",
}
#: And those in the axes of their site.
_IN_SITE = {"gyro": "angular_velocity", "velocimeter": "velocity", "accelerometer": "linear_acceleration"}


class Measured(NamedTuple):
    """Quantity of a sensor: the port of a plant, of a joint or a frame, in inertial axes or in those of its site."""

    port: str
    of: str
    in_site: bool = False
    feels_gravity: bool = False

    @property
    def is_joint(self) -> bool:
        """True for the coordinate or the rate of a joint."""
        return self.port in ("q", "v")


def measured(mb: Multibody, record: Record) -> Measured | str:
    """Quantity of a sensor, or the reason why that is not known here."""
    facts = record.attributes
    kind = str(facts.get("type", ""))
    if kind in _OF_JOINT:
        joint = str(facts.get("joint", ""))
        if joint not in (coordinate_names(mb) if kind == "jointpos" else mb.dof_names):
            return f"there is no dof {joint!r:.60} with a single coordinate"
        return Measured(_OF_JOINT[kind], joint)
    if kind in _OF_FRAME or kind in _IN_SITE:
        frame = _frame(mb, facts)
        if frame.startswith("!"):
            return frame[1:]
        if kind in _OF_FRAME:
            return Measured(_OF_FRAME[kind], frame)
        return Measured(_IN_SITE[kind], frame, True, kind == "accelerometer")
    return f"there is no component for a sensor of type {kind!r:.60}"


def _frame(mb: Multibody, facts: Mapping[str, Any]) -> str:
    """The frame that a sensor is at; else, behind an exclamation mark, why there is none."""
    if facts.get("reftype"):
        return "!it is relative to another frame; take it from s.add_frame"
    kind, name = ("site", facts["site"]) if "site" in facts else (facts.get("objtype", ""), facts.get("objname", ""))
    if kind == "xbody" and name in mb:
        return str(name)
    nodes = [x.full_name for carrier in (mb.root, *mb.bodies) for x in carrier.nodes if x.name == name]
    of_site = kind == "camera" and len(nodes) == 1 and f"{nodes[0]}_2" in mb  # a site beside the camera has its name
    if kind in ("site", "camera") and len(nodes) == 1 and not of_site:
        return nodes[0]
    return f"!there is no one frame for {kind} {name!r:.60}"


def sensor_values(mb: Multibody, state: State) -> dict[str, float | Array]:
    """The values {sensor: value} of all sensors that are known, at a state with accelerations. O(sensors depth)."""
    values: dict[str, float | Array] = {}
    for record in mb.records:
        what = measured(mb, record) if record.kind == "sensor" else ""
        if isinstance(what, Measured) and record.name:
            values[record.name] = value_of(mb, what, state)
    return values


def value_of(mb: Multibody, what: Measured, state: State) -> float | Array:
    """A number of a joint; three of a frame. Of a batch of states a row for each."""
    if what.is_joint:
        q_or_v = np.asarray(state.q if what.port == "q" else state.v)
        place = coordinate_names(mb)[what.of] if what.port == "q" else mb.dof_names.index(what.of)
        return float(q_or_v[place]) if q_or_v.ndim == 1 else np.array(q_or_v[..., place])
    pose = mb.pose(what.of, state=state)
    if what.port == "position":
        return np.asarray(pose.translation)
    rate = mb.acceleration if what.port.endswith("acceleration") else mb.velocity
    moving = rate(what.of, state=state)
    value = np.asarray(moving.angular if what.port.startswith("angular") else moving.linear)
    value = value - mb.gravity if what.feels_gravity else value
    if not what.in_site:
        return value
    into_site = np.swapaxes(np.asarray(pose.rotation), -1, -2)
    return np.asarray((into_site @ value[..., None])[..., 0])
