"""The file of a checkpoint: HDF5, written aside, synced and renamed, so that it is there whole or as it was before.

    attributes format, versions, sha256 of the data sets in this order
    point      f8    coordinates, velocities, work, continuous states
    held_f8    f8    what components hold, numbers one after the other,
    held_i8    i8    and whole ones
    document   u1    all the rest as MessagePack: plain data, no code

Nothing in it is executed or imported. A file is not trusted: sizes, kinds and places are looked at first.
"""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import CheckpointError, ModelFileError, StateError
from soacraft.files.native import write_bytes
from soacraft.sim.runs.log import LogPlace, h5py_module, versions
from soacraft.sim.runs.memory import Memory, pack, unpack
from soacraft.sim.runs.reading import Group

FORMAT = "soacraft checkpoint 1"
#: Bytes of the document, and numbers of an array, that are read.
_DOCUMENT, _NUMBERS = 2**30, 2**27
_LAST = 2**62


class Kept(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint says besides arrays."""

    kind: str
    memory: dict[str, Any]
    held: list[tuple[str, str, list[int]]] = []
    log: LogPlace | None = None
    body: dict[str, Any] = {}


def write_checkpoint(
    path: str | PathLike[str], kind: str, memory: Memory, body: dict[str, Any], log: LogPlace | None
) -> None:
    """Write a file, whole or not at all."""
    h5py = h5py_module()
    path = read_path(path, "checkpoint=", StateError)
    held, floats, whole = pack(memory.held)
    plain = {name: getattr(memory, name) for name in memory.__struct_fields__ if name not in ("x", "held")}
    try:
        document = msgspec.msgpack.encode(Kept(kind=kind, memory=plain, held=held, log=log, body=body))
    except (TypeError, ValueError, OverflowError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be written: {wrong}.") from None
    with h5py.File("checkpoint", "w", driver="core", backing_store=False, libver="latest") as file:
        file.attrs["format"], file.attrs["versions"] = FORMAT, json.dumps(versions())
        parts = np.asarray(memory.x, dtype="f8"), floats, whole, np.frombuffer(document, dtype=np.uint8)
        file.attrs["sha256"] = _checksum(*parts)
        for name, part in zip(("point", "held_f8", "held_i8", "document"), parts, strict=True):
            file.create_dataset(name, data=part)
        file.flush()
        image = file.id.get_file_image()
    try:
        write_bytes(Path(path), image)
    except ModelFileError as wrong:
        why = str(wrong).partition(": ")[2] or str(wrong)
        raise CheckpointError(
            f"the checkpoint {str(path)!r} at t = {memory.ns / 1e9 + memory.rest:.9g} s cannot be written: {why} What "
            "was there before is left as it was."
        ) from None


def read_checkpoint(path: str | PathLike[str]) -> tuple[Kept, Memory]:
    """What a file has, looked at; a `CheckpointError` for what is no checkpoint."""
    h5py = h5py_module()
    path = read_path(path, "sc.sim.restore", StateError)
    if not path.exists():
        raise CheckpointError(f"there is no checkpoint {str(path)!r}.")
    try:
        with h5py.File(path, "r", locking=False) as file:
            if file.attrs.get("format") != FORMAT:
                raise CheckpointError(
                    f"{str(path)!r} is no checkpoint: its format is {file.attrs.get('format')!r:.60}, not {FORMAT!r}."
                )
            at = Group(file, str(path), "checkpoint")
            document = bytes(_all(at, "document", "u", _DOCUMENT, np.uint8))
            x, floats = (_all(at, name, "f", _NUMBERS, np.float64) for name in ("point", "held_f8"))
            whole = _all(at, "held_i8", "i", _NUMBERS, np.int64)
            checksum = file.attrs.get("sha256")  # files of before have none
    except ModelFileError as wrong:
        raise CheckpointError(str(wrong)) from None
    except (OSError, KeyError, RuntimeError) as problem:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {problem}") from None
    if checksum is not None and str(checksum) != _checksum(x, floats, whole, np.frombuffer(document, dtype=np.uint8)):
        raise CheckpointError(
            f"the checkpoint {str(path)!r} is damaged: its data are not those that it was written with, as its "
            "checksum tells. Restore an older one."
        )
    try:
        kept = msgspec.msgpack.decode(document, type=Kept)
        given = {**kept.memory, "held": {}, "x": []}
        memory = msgspec.convert(given, Memory, dec_hook=lambda kind, x: np.zeros(0))
        memory.x, memory.held = x, unpack(kept.held, floats, whole)
        _require_numbers(memory)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, UnicodeDecodeError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {wrong}.") from None
    return kept, memory


def _checksum(*parts: Any) -> str:
    """The SHA-256 of arrays, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(np.ascontiguousarray(part).astype(part.dtype.newbyteorder("<"), copy=False).tobytes())
    return digest.hexdigest()


def _all(at: Group, name: str, kind: str, most: int, dtype: Any) -> Any:
    data = at.data(name, kind, 1)
    if len(data) > most:
        raise at.fault(f"{name!r} has {len(data)} numbers, more than {most}")
    return np.asarray(data[:], dtype=dtype)


def _require_numbers(memory: Memory) -> None:
    numbers = [memory.rest, memory.longest, *memory.signs.values(), *memory.controls.values()]
    numbers += [x for y in memory.turns.values() for x in y]
    if not np.isfinite([*numbers, memory.length or 0.0]).all() or not np.isfinite(memory.x).all():
        raise ValueError("a number is not finite")
    times = [memory.ns, memory.origin, *memory.storm, *(x for pair in memory.callbacks for x in pair)]
    if any(abs(ns) >= _LAST for ns in times) or not 0.0 <= memory.rest < 1e-9 or min(memory.ticks, default=0) < 0:
        raise ValueError("a time is out of range")
    if any(period < 1 for _, period in memory.callbacks) or (memory.length is not None and not memory.length > 0.0):
        raise ValueError("a step or a period is not positive")
