"""Meshes: read where a body's inertia comes from one, else a small stand-in takes its place."""

from __future__ import annotations

import math
from pathlib import Path, PurePosixPath
from typing import Any

from soacraft.files.lenient import hinted
from soacraft.files.mjcf.walk import MeshFile, Walk
from soacraft.files.places import NOT_FOUND, OUTSIDE
from soacraft.files.xml_tree import Element, fail, outside_folders, read_bytes, roots_text

_TETRAHEDRON = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
READ = "was read"
_READABLE = (".stl", ".obj", ".msh")
MeshTable = dict[str, tuple[str, tuple[float, ...]]]
_EMPTY = ("userface", "usernormal", "usertexcoord", "userfacenormal", "userfacetexcoord", "usernode", "usertet")


def settle_meshes(
    mujoco: Any, spec: Any, walk: Walk, lines: dict[int, Element]
) -> tuple[MeshTable, list[tuple[MeshFile, str]]]:
    """Give MuJoCo the meshes it needs and stand-ins for the others.

    The file and scale of each mesh, by name, and what became of each file. A mesh is needed when the inertia of a body
    is to come from it, or when a shape is to be fitted to it.
    """
    users: dict[str, list[Any]] = {}
    for geom in spec.geoms:
        if geom.meshname:
            users.setdefault(geom.meshname, []).append(geom)
    assets: dict[str, bytes] = {}
    table: MeshTable = {}
    fates: list[tuple[MeshFile, str]] = []
    for mesh in spec.meshes:
        file = walk.meshes.get(mesh.file)
        table[mesh.name] = (file.spot.name if file else "", tuple(float(x) for x in mesh.scale))
        if file is None:
            continue
        fate = _settle(mujoco, spec, walk, file, mesh, users.get(mesh.name, []), lines)
        fates.append((file, fate))
        if fate == READ and file.spot.path is not None:
            assets[mesh.file] = read_bytes(file.spot.path)
        else:
            _stand_in(mesh)
    spec.assets = assets
    return table, fates


def tell_meshes(walk: Walk, fates: list[tuple[MeshFile, str]]) -> None:
    """A line for the file of each mesh."""
    for file, fate in fates:
        status = "used" if fate == READ else "recorded"
        walk.tell(file.element, status, "file", f"{file.spot.name!r} {fate}", key="asset/mesh")


def _settle(
    mujoco: Any, spec: Any, walk: Walk, file: MeshFile, mesh: Any, users: list[Any], lines: dict[int, Element]
) -> str:
    """Settle a mesh and report it; a shape to be fitted to a missing mesh is taken for the mesh itself."""
    weighing = [geom for geom in users if gives_inertia(mujoco, spec, geom)]
    fitted = [geom for geom in users if geom.type != mujoco.mjtGeom.mjGEOM_MESH]
    lacking = ""
    if file.spot.path is None:
        lacking = "is not there" if file.spot.fault == NOT_FOUND else file.spot.fault
    elif PurePosixPath(file.element.attributes["file"].strip()).suffix.lower() not in _READABLE:
        lacking = f"is none of {', '.join(_READABLE)}"
    if not lacking:
        return READ if weighing or fitted else "gives no inertia and was not read"
    if weighing:
        home = walk.document.places.roots
        names = [x.spot.name for x in walk.meshes.values() if x.spot.path is None]
        folders = outside_folders(home, [file.spot.name, *names]) if file.spot.fault == OUTSIDE else []
        where = _element(lines, weighing[0]) or file.element
        problem = fail(where, _needed(weighing[0], mesh.name, file, lacking, folders))
        if not walk.lenient:
            raise hinted(problem)
        walk.tell(file.element, "repaired", "file", f"{problem.fault} With lenient it has no mass", True, "asset/mesh")
        for geom in weighing:
            geom.mass = geom.density = 0.0
    for geom in fitted:
        geom.type = mujoco.mjtGeom.mjGEOM_MESH
    return f"{lacking}; the shape is kept by its name"


def gives_inertia(mujoco: Any, spec: Any, geom: Any) -> bool:
    """True if the shape adds to the inertia of its body."""
    body, settings = geom.parent, getattr(geom, "compiler", None) or spec.compiler
    choice = mujoco.mjtInertiaFromGeom
    if body.name == "world":
        return False
    if settings.inertiafromgeom == choice.mjINERTIAFROMGEOM_FALSE:
        return False
    if body.explicitinertial and settings.inertiafromgeom != choice.mjINERTIAFROMGEOM_TRUE:
        return False
    first, last = settings.inertiagrouprange
    if not first <= geom.group <= last:
        return False
    mass = geom.mass
    return bool(mass != 0.0 if not math.isnan(mass) else geom.density != 0.0)


def _stand_in(mesh: Any) -> None:
    mesh.file = ""
    if hasattr(mesh, "content_type"):
        mesh.content_type = ""
    mesh.uservert = _TETRAHEDRON
    for name in _EMPTY:
        if hasattr(mesh, name):
            setattr(mesh, name, [])
    mesh.scale = [1.0, 1.0, 1.0]


def _needed(geom: Any, mesh: str, file: MeshFile, lacking: str, folders: list[Path]) -> str:
    why = lacking.partition(";")[0]
    roots = roots_text(folders) if folders else "mesh_roots=..."
    return (
        f"the inertia of body {geom.parent.name!r} comes from its shapes, and geom {geom.name!r} is the mesh {mesh!r}, "
        f"whose file {file.spot.name!r} {why}; give the body an <inertial>, or the file ({roots})."
    )


def _element(lines: dict[int, Element], item: Any) -> Element | None:
    words = (getattr(item, "info", "") or "").split()
    return lines.get(int(words[-1])) if words and words[-1].isdigit() else None
