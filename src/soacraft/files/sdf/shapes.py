"""Visual and collision elements of SDF as geometries; sensors and the rest of a link as records."""

from __future__ import annotations

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files.sdf.frames import Frames
from soacraft.files.sdf.scopes import Item, Scopes
from soacraft.files.sdf.source import Source
from soacraft.files.urdf.joints import onto
from soacraft.files.urdf.names import Names
from soacraft.files.urdf.reading import placed
from soacraft.files.xml_tree import Element
from soacraft.model import Body, Geometry
from soacraft.model.tree.multibody import model_of
from soacraft.spatial import Array, Pose

_KEPT = ("sensor", "light", "projector", "audio_source", "battery", "particle_emitter")
_NUMBERS = {"box": (("size", 3),), "sphere": (("radius", 1),), "cylinder": (("radius", 1), ("length", 1)),
            "capsule": (("radius", 1), ("length", 1)), "ellipsoid": (("radii", 3),),
            "plane": (("size", 2),)}  # fmt: skip


def add_shapes(source: Source, scopes: Scopes, frames: Frames, link: str, item: Item, body: Body) -> None:
    """Add the parts of a link other than its inertia. A fault in a part that is only looked at refuses nothing."""
    taken = Names()
    for child in item.element.children:
        if child.tag in ("visual", "collision"):
            try:
                _shape(source, scopes, frames, link, item, body, child, taken)
            except ModelFileError as problem:
                if child.tag == "visual":
                    source.say(child, "ignored", problem.fault)
                else:
                    source.go_on(problem, child, dynamic=False)
        elif child.tag in _KEPT:
            source.record(child, link)
            if child.tag == "sensor" and "camera" in child.attributes.get("type", ""):
                _camera(source, scopes, frames, link, item, body, child)


def _camera(
    source: Source, scopes: Scopes, frames: Frames, link: str, item: Item, body: Body, sensor: Element
) -> None:
    """A node where a camera is: it looks along x there, with z up. One whose place cannot be read is a record alone."""
    try:
        at = _place(source, scopes, frames, link, item, sensor)
        inner = next((child for child in sensor.children if child.tag == "camera"), None)
        if inner is not None:
            pose = _place(source, scopes, frames, link, item, inner)
            at = pose if _frame_of(source, inner) else at @ pose
    except ModelFileError as problem:
        source.say(sensor, "recorded", f"is kept in mb.records, and is no node: {problem.fault}")
        return
    name = wanted = sensor.attributes.get("name") or "camera"
    number = 1
    while f"{body.name}/{name}" in model_of(body):
        name, number = f"{wanted}_{number}", number + 1
    body.add_node(name, at, role="sensor")
    source.say(sensor, "converted", f"is node {body.name + '/' + name!r}, and is kept in mb.records as 'sensor'")


def _shape(
    source: Source, scopes: Scopes, frames: Frames, link: str, item: Item, body: Body, element: Element, taken: Names
) -> None:
    source.use(element, "name")
    geometry = source.child(element, "geometry")
    solid = None if geometry is None else next((x for x in geometry.children if x.tag in (*_NUMBERS, "mesh")), None)
    if geometry is None or solid is None:
        source.say(element, "ignored", "has no shape that can be read")
        return
    source.use(geometry)
    source.use(solid)
    at = _place(source, scopes, frames, link, item, element)
    kind, mesh = solid.tag, ""
    if kind == "mesh":
        mesh, size = _mesh(source, solid)
    else:
        size = tuple(x for tag, n in _NUMBERS[kind] for x in _size(source, solid, tag, n))
        if kind == "plane":
            at = at @ Pose(_normal(source, solid))
    rgba = _color(source, element)
    with placed(element):
        name = taken.new(element.attributes.get("name") or element.tag)
        body.add_geometry(Geometry(name, kind, size, at, element.tag, rgba, "", mesh))


def _place(source: Source, scopes: Scopes, frames: Frames, link: str, item: Item, element: Element) -> Pose:
    """The pose of something on its link, or of what is inside it."""
    at, frame = source.pose(source.child(element, "pose")), _frame_of(source, element)
    return frames.pose(link).inv @ frames.pose(scopes.find(item.scope, frame, element)) @ at if frame else at


def _frame_of(source: Source, element: Element) -> str:
    """Frame that a pose is relative to; "" for the default."""
    pose = source.child(element, "pose")
    return "" if pose is None else source.attribute(pose, "relative_to")


def _size(source: Source, solid: Element, tag: str, count: int) -> tuple[float, ...]:
    child = source.child(solid, tag)
    return (1.0,) * count if child is None else tuple(source.numbers(child, count).tolist())


def _mesh(source: Source, solid: Element) -> tuple[str, tuple[float, ...]]:
    uri, scale = source.child(solid, "uri"), source.child(solid, "scale")
    size = (1.0, 1.0, 1.0) if scale is None else tuple(source.numbers(scale, 3).tolist())
    if uri is None:
        source.say(solid, "recorded", "names no file")
        return "", size
    spot = source.asset(uri)
    if spot.fault:
        source.say(uri, "recorded", spot.fault)
    return spot.name, size


def _normal(source: Source, solid: Element) -> Array:
    """The rotation that takes z to the normal of a plane."""
    child = source.child(solid, "normal")
    if child is None:
        return np.eye(3)
    with placed(child):
        return onto(source.numbers(child, 3))


def _color(source: Source, element: Element) -> tuple[float, float, float, float] | None:
    material = source.child(element, "material")
    diffuse = None if material is None else source.child(material, "diffuse")
    if material is None or diffuse is None:
        return None
    source.use(material)
    count = 3 if len(source.text(diffuse).split()) == 3 else 4
    red, green, blue, opacity = [*source.numbers(diffuse, count).tolist(), 1.0][:4]
    return red, green, blue, opacity
