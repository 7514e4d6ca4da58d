"""Geometry and materials as elements of URDF."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from soacraft.files.file_names import folder_of, is_relative, written_name
from soacraft.files.urdf.capsules import pieces_of
from soacraft.model import Geometry, Material, ReportBuilder
from soacraft.spatial import Inertia, Pose

_SIZES = {
    "box": ("size",),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "mesh": ("scale",),
}


def text(values: object) -> str:
    """Numbers that read back to the same numbers.

    >>> text(0.1), text(np.array([1.0, -0.5]))
    ('0.1', '1.0 -0.5')
    """
    return " ".join(repr(float(x)) for x in np.atleast_1d(np.asarray(values, dtype=np.float64)) + 0.0)


def add_origin(parent: Element, pose: Pose) -> None:
    """An origin, unless it is the identity."""
    attributes = {}
    if pose.translation.any():
        attributes["xyz"] = text(pose.translation)
    if not np.array_equal(pose.rotation, np.eye(3)):
        attributes["rpy"] = text(pose.as_rpy())
    if attributes:
        SubElement(parent, "origin", attributes)


def add_inertial(link: Element, inertia: Inertia) -> None:
    """Mass, centre of mass and moment, in link axes; nothing for a massless link."""
    if inertia == Inertia():
        return
    inertial = SubElement(link, "inertial")
    add_origin(inertial, Pose(translation=inertia.com))
    SubElement(inertial, "mass", value=text(inertia.mass))
    J = inertia.moment
    entries = {"ixx": J[0, 0], "ixy": J[0, 1], "ixz": J[0, 2], "iyy": J[1, 1], "iyz": J[1, 2], "izz": J[2, 2]}
    SubElement(inertial, "inertia", {key: text(value) for key, value in entries.items()})


class FileNames:
    """Names of meshes and textures from the folder of the file that is written, each with a word for the report."""

    def __init__(self, home: Path | None, file: str) -> None:
        self._home, self._folder = home, folder_of(Path(file))

    def written(self, name: str) -> str:
        """The name in the file."""
        return written_name(name, self._home, self._folder)

    def note(self, name: str) -> str:
        """Note about a name whose file is unknown; empty for others."""
        unknown = self._home is None and is_relative(name)
        return f"{name!r:.80} is written unchanged: the model has no mesh_folder" if unknown else ""


def add_material(robot: Element, material: Material, names: FileNames, report: ReportBuilder) -> None:
    """A material of the robot."""
    element = SubElement(robot, "material", name=material.name)
    _paint(element, material.rgba, names.written(material.texture))
    if material.attributes:
        report.add("material", "ignored", material.name, "attributes", "URDF has no place for them")
    report.add("material", "used", material.name, note=names.note(material.texture))


def _paint(element: Element, rgba: tuple[float, ...] | None, texture: str) -> None:
    if rgba is not None:
        SubElement(element, "color", rgba=text(rgba))
    if texture:
        SubElement(element, "texture", filename=texture)


def add_geometry(
    link: Element,
    geometry: Geometry,
    shift: Pose,
    materials: dict[str, Material],
    names: FileNames,
    report: ReportBuilder,
) -> None:
    """A shape, as a visual, a collision or one of each."""
    keys = _SIZES.get("cylinder" if geometry.kind == "capsule" else geometry.kind)
    solid = geometry.role != "visual"
    if keys is None or (geometry.kind == "mesh" and not geometry.mesh):
        note = f"URDF has no {geometry.kind}" if geometry.kind != "other" else "URDF has no such shape"
        if keys is not None:
            note = "the mesh has no file"
        report.add("geometry", "ignored", geometry.name, note=note, dynamic=solid)
        return
    for role in ("visual", "collision"):
        if geometry.role in (role, "both"):
            for piece in pieces_of(geometry):
                element = SubElement(link, role, name=piece.name)
                add_origin(element, shift @ piece.pose)
                _add_shape(SubElement(element, "geometry"), piece, _SIZES[piece.kind], names)
                if role == geometry.role or role == "visual":
                    _add_color(element, piece, materials)
    if geometry.attributes:
        report.add("geometry", "ignored", geometry.name, "attributes", "URDF has no place for them", dynamic=solid)
    notes = ["is a visual and a collision element"] if geometry.role == "both" else []
    notes += ["a capsule is a cylinder and two spheres"] if geometry.kind == "capsule" else []
    unknown = names.note(geometry.mesh)
    note = "; ".join(filter(None, (*notes, unknown)))
    report.add("geometry", "converted" if notes else "used", geometry.name, note=note)


def _add_shape(element: Element, geometry: Geometry, keys: tuple[str, ...], names: FileNames) -> None:
    attributes = {"filename": names.written(geometry.mesh)} if geometry.kind == "mesh" else {}
    if len(keys) == 2:
        attributes |= {key: text(x) for key, x in zip(keys, geometry.size, strict=True)}
    elif geometry.kind != "mesh" or geometry.size not in ((), (1.0, 1.0, 1.0)):
        attributes[keys[0]] = text(geometry.size)
    SubElement(element, geometry.kind, attributes)


def _add_color(element: Element, geometry: Geometry, materials: dict[str, Material]) -> None:
    shared = materials.get(geometry.material)
    if shared is not None and geometry.rgba in (None, shared.rgba):
        SubElement(element, "material", name=geometry.material)
    elif geometry.rgba is not None:
        _paint(SubElement(element, "material", name=""), geometry.rgba, "")
