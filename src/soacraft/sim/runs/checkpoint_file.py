"""The file of a checkpoint: HDF5, written aside, synced and renamed, so that it is there whole or as it was before.

    attributes format, versions, sha256 of the data sets in this order
    state      u1    the bytes of `SimState.encode`
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
from soacraft.sim.runs.reading import Group
from soacraft.sim.sim_state import SimState, decode, encode

FORMAT = "soacraft checkpoint 2"
#: Bytes of a data set that are read.
_BYTES = 2**30
_NAMES = ("state", "document")


class Kept(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What a checkpoint says besides the state."""

    kind: str
    log: LogPlace | None = None
    body: dict[str, Any] = {}


def write_checkpoint(
    path: str | PathLike[str], kind: str, state: SimState, body: dict[str, Any], log: LogPlace | None
) -> None:
    """Write a file, whole or not at all."""
    h5py = h5py_module()
    path = read_path(path, "checkpoint=", StateError)
    try:
        document = msgspec.msgpack.encode(Kept(kind=kind, log=log, body=body))
    except (TypeError, ValueError, OverflowError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be written: {wrong}.") from None
    with h5py.File("checkpoint", "w", driver="core", backing_store=False, libver="latest") as file:
        file.attrs["format"], file.attrs["versions"] = FORMAT, json.dumps(versions())
        parts = [np.frombuffer(x, dtype=np.uint8) for x in (encode(state), document)]
        file.attrs["sha256"] = _checksum(*parts)
        for name, part in zip(_NAMES, parts, strict=True):
            file.create_dataset(name, data=part)
        file.flush()
        image = file.id.get_file_image()
    try:
        write_bytes(Path(path), image)
    except ModelFileError as wrong:
        why = str(wrong).partition(": ")[2] or str(wrong)
        raise CheckpointError(
            f"the checkpoint {str(path)!r} at t = {state.t:.9g} s cannot be written: {why} What "
            "was there before is left as it was."
        ) from None


def read_checkpoint(path: str | PathLike[str]) -> tuple[Kept, SimState]:
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
            parts = [_all(at, name) for name in _NAMES]
            checksum = file.attrs.get("sha256")
    except ModelFileError as wrong:
        raise CheckpointError(str(wrong)) from None
    except (OSError, KeyError, RuntimeError) as problem:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {problem}") from None
    if str(checksum) != _checksum(*parts):
        raise CheckpointError(
            f"the checkpoint {str(path)!r} is damaged: its data are not those that it was written with, as its "
            "checksum tells. Restore an older one."
        )
    try:
        kept, state = msgspec.msgpack.decode(bytes(parts[1]), type=Kept), decode(bytes(parts[0]))
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, UnicodeDecodeError, CheckpointError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {wrong}") from None
    return kept, state


def _checksum(*parts: Any) -> str:
    """The SHA-256 of bytes, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes())
    return digest.hexdigest()


def _all(at: Group, name: str) -> Any:
    data = at.data(name, "u", 1)
    if len(data) > _BYTES:
        raise at.fault(f"{name!r} has {len(data)} bytes, more than {_BYTES}")
    return np.asarray(data[:], dtype=np.uint8)
