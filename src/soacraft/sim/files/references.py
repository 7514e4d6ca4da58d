"""Models of plants in a system file: a name in the library, a file next to it, or the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import relpath
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from soacraft.errors import ModelFileError, SystemFileError
from soacraft.files.file_names import is_relative
from soacraft.files.load import load
from soacraft.files.native import from_json, same, to_json
from soacraft.files.places import Places
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.files import schema

#: Files that are data. A .xacro file is a program.
_SUFFIXES = (".json", ".urdf", ".xml", ".sdf")


class Referred(NamedTuple):
    """A model, and where it came from: "model" and a name, "file" and a path, or neither."""

    mb: Multibody
    source: tuple[str, str]


def read_model(path: str, plant: schema.Plant, folder: Path, roots: Sequence[Path]) -> Referred:
    """The model of a plant. Files are looked for in the folder of the system file and in `roots` alone."""
    sources = [name for name in ("model", "file", "document") if getattr(plant, name)]
    if len(sources) != 1:
        listed = " and ".join(sources) or "none"
        raise SystemFileError(f"the plant {path!r} has {listed} of model, file and document: give one of them.")
    if plant.model:
        if Path(plant.model).suffix or len(Path(plant.model).parts) > 1:
            raise SystemFileError(f"the plant {path!r} has model = {plant.model!r:.60}: a file goes by file = ...")
        referred = Referred(load(plant.model), ("model", plant.model))
    elif plant.file:
        referred = _from_file(path, plant.file, folder, roots)
    else:
        text = plant.document if isinstance(plant.document, str) else msgspec.json.encode(plant.document).decode()
        data = text.encode("utf-8", "surrogatepass")
        referred = Referred(from_json(data, f"the document of the plant {path!r}"), ("", ""))
        if _names_files(referred.mb):
            referred.mb.mesh_folder = folder
    mb = referred.mb
    if plant.q is not None or plant.v is not None:
        mb.set_state(mb.q if plant.q is None else plant.q, mb.v if plant.v is None else plant.v)
    return referred


def _names_files(mb: Multibody) -> bool:
    """True if a model names meshes or textures relative to a folder."""
    names = [shape.mesh for x in (mb.root, *mb.bodies) for shape in x.geometries]
    return any(is_relative(name or "") for name in [*names, *(x.texture for x in mb.materials)])


def _from_file(path: str, name: str, folder: Path, roots: Sequence[Path]) -> Referred:
    if Path(name).suffix.lower() not in _SUFFIXES:
        suffixes = ", ".join(_SUFFIXES)
        raise SystemFileError(
            f"the plant {path!r} has file = {name!r:.60}: model files in a system file are {suffixes}."
        )
    spot = Places(folder, roots).find(name)
    if spot.path is None:
        cure = spot.fault.replace("mesh_roots", "roots")
        raise SystemFileError(f"the plant {path!r} has file = {name!r:.60}, which is not read: {cure}.")
    return Referred(load(spot.path, mesh_roots=[folder, *roots]), ("file", str(spot.path)))


def write_model(path: str, mb: Multibody, source: tuple[str, str], given: str | None, file: Path) -> dict[str, Any]:
    """Entry of a model in a system file: the reference in the arguments, else where the model came from, else its name
    if the library has the same, else all of it."""
    if given is not None:
        source = ("file" if Path(given).suffix else "model", given)
        if source[0] == "file":
            source = ("file", str(file.parent / given))
        difference = _difference(mb, source)
        if difference:
            raise SystemFileError(
                f"models={{{path!r}: {given!r:.60}}}: the model of the plant is another: {difference}. Save it first, "
                "or leave this out, so that it is in the system file."
            )
        return _reference(mb, source, file)
    if source[0] and not _difference(mb, source):
        return _reference(mb, source, file)
    if not source[0] and _in_library(mb.name) and not _difference(mb, ("model", mb.name)):
        return _reference(mb, ("model", mb.name), file)
    return {"document": to_json(mb, file.parent).decode()}


def _in_library(name: str) -> bool:
    from soacraft.files.builtin import BUILTIN
    from soacraft.files.library import index

    return name in BUILTIN or name in index()


def _difference(mb: Multibody, source: tuple[str, str]) -> str:
    """Differences between a model and that of a reference, without the state; empty if there are none."""
    try:
        other = load(source[1])
    except ModelFileError as error:
        return str(error).rstrip(".")
    if (other.nq, other.nv) != (mb.nq, mb.nv):
        return f"{mb.nv} dofs and {other.nv}"
    other.set_state(mb.q, mb.v, mb.vdot)
    return "; ".join(same(mb, other)[:3])


def _reference(mb: Multibody, source: tuple[str, str], file: Path) -> dict[str, Any]:
    kind, text = source
    other = load(text)
    entry: dict[str, Any] = {kind: text}
    if kind == "file":
        try:
            entry = {kind: Path(relpath(text, file.parent)).as_posix()}
        except ValueError:  # on another drive
            entry = {kind: text}
    for name in ("q", "v"):
        value = getattr(mb, name).tolist()
        if value != getattr(other, name).tolist():
            entry[name] = value
    return entry
