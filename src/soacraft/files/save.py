"""`save`: a model to a file."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from soacraft.errors import ModelFileError
from soacraft.files.load import read_path
from soacraft.model import ImportReport, Multibody


def refuse_modes(mb: Multibody, file: str) -> None:
    """Raise for a model with flexible bodies, which only soacraft's own format holds."""
    flexible = next((body.name for body in mb.bodies if body.modal is not None), None)
    if flexible is not None:
        raise ModelFileError(
            f"cannot write {file}: body {flexible!r} is flexible, and URDF, MJCF and SDF hold no modes; save it as "
            ".json, soacraft's own format."
        )


def save(mb: Multibody, path: str | PathLike[str]) -> ImportReport:
    """Write a model to a file: `.json`, soacraft's own format, holds all of it, state included, bit for bit; large
    arrays of flexible bodies are in `.npz` files next to it, which belong to the model.

    `.urdf` holds what URDF can say; the returned report lists the parts that it cannot. The file is written whole or
    not at all. Names of meshes and textures that are relative to `mb.mesh_folder` are written relative to the new file.

    >>> import tempfile
    >>> from soacraft.files import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = save(load("biped"), f"{folder}/biped.json")
    ...     load(f"{folder}/biped.json")
    Multibody 'biped': 12 bodies, 25 dofs
    """
    if not isinstance(mb, Multibody):
        raise ModelFileError(f"a Multibody is saved, got {mb!r:.60}; a sub-graph or a state is part of one.")
    target = _path(path)
    if target.suffix.lower() == ".json":
        # reading and writing files takes long to load
        from soacraft.files.native import write_native

        write_native(mb, target)
        return ImportReport()
    refuse_modes(mb, str(target))
    if target.suffix.lower() == ".urdf":
        # each format loads its own reader or writer
        from soacraft.files.urdf.write import write_urdf

        return write_urdf(mb, target)
    what = f"suffix {target.suffix!r:.60}" if target.suffix else "no suffix"
    raise ModelFileError(
        f"cannot save to {str(target)!r}: it has {what}; "
        "a model is written as .json (soacraft's own, all of it) or .urdf."
    )


def _path(path: Any) -> Path:
    if not isinstance(path, str | PathLike):
        raise ModelFileError(f"a model is saved to a file, such as save(mb, 'arm.json'); got {path!r:.60}.")
    return Path(read_path(path))
