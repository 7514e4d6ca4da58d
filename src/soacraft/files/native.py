"""The native model format: a model to JSON and back, bit for bit.

`to_json` and `from_json` work on bytes, `write_native` and `read_native` on files. `schema.py` has the fields.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from soacraft.errors import ModelFileError, SoacraftError
from soacraft.files import schema
from soacraft.files.file_names import folder_of, is_relative, written_name
from soacraft.files.native_modal import SideFiles
from soacraft.files.native_read import Reader
from soacraft.files.native_same import same
from soacraft.files.native_write import model_of
from soacraft.files.xml_tree import MAX_BYTES, cut, read_bytes
from soacraft.model import Multibody

__all__ = ["from_json", "read_native", "same", "to_json", "write_bytes", "write_native"]

_DECODER = msgspec.json.Decoder(schema.Model)
_MOST = {
    b"{": (500_000, "objects"),
    b"[": (1_000_000, "arrays"),
    b",": (4_000_000, "entries"),
    b":": (1_500_000, "members"),
}
_MOST_PARTS = 200_000


def to_json(mb: Multibody, folder: Path | None = None) -> bytes:
    """The model in the native format: one body, loop, ... on each line, all arrays of modal data in it. O(n). Names of
    meshes and textures are relative to `folder`, where one is given.

    >>> from soacraft.model import serial_chain
    >>> same(from_json(to_json(serial_chain(3))), serial_chain(3))
    []
    """
    model = _model(mb)
    if folder is not None:
        _rename_files(model, mb.mesh_folder, folder)
    return _encoded(model, mb.name)


def _model(mb: Multibody, side: SideFiles | None = None) -> schema.Model:
    if not isinstance(mb, Multibody):
        raise ModelFileError(f"a Multibody is saved, got {mb!r:.60}; a sub-graph or state is part of one.")
    with _as_json(mb.name):
        return model_of(mb, side)


def _encoded(model: schema.Model, name: str) -> bytes:
    with _as_json(name):
        parts = [
            f"{msgspec.json.encode(field.name).decode()}: {_lines(value)}"
            for field in msgspec.structs.fields(model)
            if (value := getattr(model, field.name)) != field.default
        ]
        return ("{\n" + ",\n".join(parts) + "\n}\n").encode()


@contextmanager
def _as_json(name: str) -> Iterator[None]:
    """Context in which a value that JSON cannot hold is refused."""
    try:
        yield
    except SoacraftError:
        raise
    except (ValueError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{name!r} cannot be written as JSON: {error}.") from None


def _lines(value: Any) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], msgspec.Struct):
        return "[\n  " + ",\n  ".join(msgspec.json.encode(item).decode() for item in value) + "\n]"
    return msgspec.json.encode(value).decode()


def from_json(data: bytes, file: str = "", folder: Path | None = None) -> Multibody:
    """The model in bytes of the native format; `file` is named in errors, side files are looked for in `folder`.

    >>> from_json(b'{"format": "soacraft-model/1", "name": "empty", "gravity": [0, 0, -9.81]}')
    Multibody 'empty': 0 bodies, 0 dofs
    """
    file = file or "<bytes>"
    if not isinstance(data, bytes):
        raise ModelFileError(f"{file}: a model is read from bytes, got {data!r:.60}.")
    try:
        refuse_bulk(data, file)
        _require_version(data, file)
        _refuse_duplicates(data, file)
        model = _DECODER.decode(data)
        refuse_parts(model, file)
        return Reader(model, file, folder).build()
    except RecursionError:
        raise ModelFileError(f"{file}: is nested too deeply; no model needs that.") from None
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{file}: is not UTF-8: {error}.") from None
    except msgspec.DecodeError as error:
        raise ModelFileError(f"{file}: {_placed(error)}.") from None


def _placed(error: msgspec.DecodeError) -> str:
    """The text of an error with its place first, as in all our errors."""
    text, separator, place = str(error).partition(" - at `")
    return f"at {place[:-1]:.200}: {cut(text)}" if separator else cut(text)


def refuse_bulk(data: bytes, file: str) -> None:
    """Bound the memory that reading takes: a few bytes of JSON can be an object of a hundred."""
    for mark, (most, what) in _MOST.items():
        if data.count(mark) > most:
            raise ModelFileError(f"{file}: has more than {most} {what}, too many to read.")


def refuse_parts(model: schema.Model, file: str) -> None:
    """Bound the size of the model itself."""
    root = model.root or schema.Root()
    parts = 2 * len(model.bodies) + 2 * len(model.loops) + len(root.nodes) + len(root.geometries)
    parts += sum(len(x.nodes) + len(x.geometries) for x in model.bodies)
    parts += sum(1 + len(x.arrays) + len(x.nodes) + len(x.notes) for x in model.modal)
    parts += len(model.keyframes) * (1 + len(model.bodies) // 4)  # a keyframe has a state for each body
    others = (model.forces, model.couplings, model.actuators, model.materials, model.records)
    if parts + sum(map(len, others)) > _MOST_PARTS:
        most = f"more than {_MOST_PARTS // 2} bodies, or twice as many nodes, shapes and records"
        raise ModelFileError(f"{file}: the model is too large: {most}.")


def _require_version(data: bytes, file: str) -> None:
    try:
        version = msgspec.json.decode(data, type=schema.Header).format
    except msgspec.ValidationError:
        raise ModelFileError(
            f'{file}: is not a soacraft model: it must be an object with "format": "{schema.FORMAT}".'
        ) from None
    if version != schema.FORMAT:
        raise ModelFileError(
            f"{file}: is of the format {version!r:.60}, this version of soacraft reads {schema.FORMAT!r}; load it with "
            "the program that wrote it and save it again, or update soacraft."
        )


def _refuse_duplicates(data: bytes, file: str) -> None:
    """JSON leaves open what the same name twice in one object means: it is refused."""

    def once(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ModelFileError(f"{file}: the name {name!r:.60} occurs twice in one object.")
            seen.add(name)

    def nothing(text: str) -> None:
        return None

    json.loads(data, object_pairs_hook=once, parse_float=nothing, parse_int=nothing, parse_constant=nothing)


def read_native(path: Path) -> Multibody:
    """The model in a file of the native format; names of meshes and textures are relative to its folder."""
    mb = from_json(read_bytes(path), str(path), path.parent)
    mb.mesh_folder = path.parent
    return mb


def write_native(mb: Multibody, path: Path) -> None:
    """Write a model to a file, whole or not at all. Large arrays of modal data go to side files in its folder, which
    are there before the model names them; their names tell their content, so none takes the place of another."""
    side = SideFiles(path)
    model = _model(mb, side)
    _rename_files(model, mb.mesh_folder, folder_of(path))
    refuse_parts(model, f"cannot write {str(path)!r}")
    data = _encoded(model, mb.name)
    refuse_bulk(data, f"cannot write {str(path)!r}")
    if len(data) > MAX_BYTES:
        raise ModelFileError(
            f"cannot write {str(path)!r}: the model takes {len(data)} bytes, and files of more than {MAX_BYTES} bytes "
            "are not read."
        )
    missing = [file for file in side.files if not file.exists()]
    try:
        for file, content in side.files.items():
            write_bytes(file, content)
        write_bytes(path, data)
    except ModelFileError:
        for file in missing:
            file.unlink(missing_ok=True)
        raise


def _rename_files(model: schema.Model, home: Path | None, folder: Path) -> None:
    """Relative names of meshes and textures, so that they lead to the same files from the folder of the new file."""
    carriers: list[schema.Root | schema.Body] = [model.root or schema.Root(), *model.bodies]
    for carrier in carriers:
        for shape in carrier.geometries:
            shape.mesh = written_name(shape.mesh, home, folder) if is_relative(shape.mesh) else shape.mesh
    for material in model.materials:
        name = material.texture
        material.texture = written_name(name, home, folder) if is_relative(name) else name


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: a new file next to it takes its place when it is complete."""
    partial = path.parent / f".soacraft-{secrets.token_hex(8)}.tmp"
    try:
        if path.is_dir():
            raise ModelFileError(f"cannot write {str(path)!r}: it is a folder; give the name of a file.")
        try:
            with open(partial, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot write {str(path)!r}: {reason}.") from None
