"""The file of a checkpoint: HDF5, written aside, synced and renamed, so that it is there whole or as it was before.

    attributes format, versions, sha256 of the data sets in this order
    state      u1    the bytes of `SimState.encode`
    document   u1    all the rest as MessagePack: plain data, no code

A seal follows the data of HDF5: a mark, and the SHA-256 of all bytes before. It is compared before HDF5 reads anything,
which may not come back from a damaged file. Files of before without a seal are read, and those of format 1 by
`checkpoint_format_1`.

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
from soacraft.sim.runs import checkpoint_format_1 as format_1
from soacraft.sim.runs.log import LogPlace, h5py_module, versions
from soacraft.sim.runs.log_reader import Group
from soacraft.sim.states.sim_state import SimState, decode, encode

FORMAT, _FORMAT_1 = "soacraft checkpoint 2", "soacraft checkpoint 1"
#: Largest data set that is read, in bytes.
_BYTES = 2**30
#: Names of the data sets, and the kinds of their numbers.
_NAMES = {"state": "u", "document": "u"}
_DTYPES = {"u": "u1", "f": "<f8", "i": "<i8"}
#: Mark of a seal, and bytes of its checksum.
_MARK, _DIGEST = b"soaseal1", 32


class Kept(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Contents of a checkpoint beside the state."""

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
        write_bytes(Path(path), image + _MARK + hashlib.sha256(image).digest())
    except ModelFileError as wrong:
        why = str(wrong).partition(": ")[2] or str(wrong)
        raise CheckpointError(
            f"the checkpoint {str(path)!r} at t = {state.t:.9g} s cannot be written: {why} What "
            "was there before is left as it was."
        ) from None


def read_checkpoint(path: str | PathLike[str]) -> tuple[Kept, SimState]:
    """Contents of a file, checked; a `CheckpointError` for a file that is no checkpoint."""
    h5py = h5py_module()
    path = read_path(path, "sc.sim.restore", StateError)
    if not path.exists():
        raise CheckpointError(f"there is no checkpoint {str(path)!r}.")
    try:
        if not _is_sealed(path):
            raise _damaged(path)
        with h5py.File(path, "r", locking=False) as file:
            written = file.attrs.get("format")
            if not isinstance(written, str) or written not in (FORMAT, _FORMAT_1):
                raise CheckpointError(f"{str(path)!r} is no checkpoint: its format is {written!r:.60}, not {FORMAT!r}.")
            at = Group(file, str(path), "checkpoint")
            names = _NAMES if written == FORMAT else format_1.NAMES
            parts = {name: _all(at, name, kind) for name, kind in names.items()}
            checksum = file.attrs.get("sha256")
    except ModelFileError as wrong:
        raise CheckpointError(str(wrong)) from None
    except (OSError, KeyError, RuntimeError) as problem:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {problem}") from None
    if (checksum is not None or written == FORMAT) and str(checksum) != _checksum(*parts.values()):
        raise _damaged(path)
    try:
        if written == FORMAT:
            stored, state = msgspec.msgpack.decode(bytes(parts["document"]), type=Kept), decode(bytes(parts["state"]))
        else:
            kind, log, body, state = format_1.converted(parts)
            stored = Kept(kind=kind, log=log, body=body)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {wrong}") from None
    return stored, state


def _is_sealed(path: Path) -> bool:
    """True if the seal of a file is that of its bytes, or there is none. A mark is one with half of its letters."""
    size = path.stat().st_size - len(_MARK) - _DIGEST
    if size < 0:
        return True
    with path.open("rb") as file:
        file.seek(size)
        seal = file.read()
        if sum(a == b for a, b in zip(seal, _MARK, strict=False)) < len(_MARK) // 2:
            return True
        file.seek(0)
        digest = hashlib.sha256()
        while size and (part := file.read(min(size, 2**20))):
            digest.update(part)
            size -= len(part)
    return seal == _MARK + digest.digest()


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint {str(path)!r} is damaged: its data are not those that it was written with, as its checksum "
        "tells. Restore an older one."
    )


def _checksum(*parts: Any) -> str:
    """The SHA-256 of bytes, one after the other."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.tobytes())
    return digest.hexdigest()


def _all(at: Group, name: str, kind: str) -> Any:
    data = at.data(name, kind, 1)
    if len(data) * data.dtype.itemsize > _BYTES:
        raise at.fault(f"{name!r} has {len(data)} numbers, more than {_BYTES // data.dtype.itemsize}")
    return np.asarray(data[:], dtype=_DTYPES[kind])
