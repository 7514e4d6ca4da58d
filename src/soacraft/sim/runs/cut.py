"""A log cut back to where it was at a checkpoint, so that a run that is restored goes on with it.

A log whose process was killed cannot be opened for writing: what it had is copied into a new file, which takes its
place when it is complete.
"""

from __future__ import annotations

import os
import secrets
from typing import Any

from soacraft.errors import CheckpointError
from soacraft.sim.runs.log import FORMAT, LogPlace, h5py_module
from soacraft.sim.runs.log_dataset import BLOCK

#: Rows that are copied together.
_TOGETHER = 16 * BLOCK


def cut_back(place: LogPlace) -> None:
    """Leave of a log what it had at a place. O(rows)."""
    h5py = h5py_module()
    path = place.path
    if not os.path.exists(path):
        raise CheckpointError(f"the log {path!r} of the checkpoint is not there: give another log=, or none.")
    aside = os.path.join(os.path.dirname(path), f".soacraft-{secrets.token_hex(8)}.tmp")
    try:
        try:
            with (
                h5py.File(path, "r", libver="latest", swmr=True, locking=False) as old,
                h5py.File(aside, "w", libver="latest", locking=False) as new,
            ):
                _refuse_other(old, place)
                _copy_attributes(old, new)
                new["segment_0"] = h5py.SoftLink("/")
                _copy(old, new, place if place.segment == 0 else None)
                for i in range(1, place.segment + 1):
                    name = f"segment_{i}"
                    group = new.create_group(name)
                    _copy_attributes(old[name], group)
                    _copy(old[name], group, place if place.segment == i else None)
                new.flush()
                os.fsync(new.id.get_vfd_handle())
            os.replace(aside, path)
        except BaseException:
            if os.path.exists(aside):
                os.unlink(aside)
            raise
    except (OSError, KeyError, RuntimeError) as problem:
        raise CheckpointError(
            f"the log {path!r} cannot be cut back to the checkpoint: {problem}. Give another log=, or none."
        ) from None


def _refuse_other(old: Any, place: LogPlace) -> None:
    name = f"segment_{place.segment}"
    if old.attrs.get("format") != FORMAT or old.attrs.get("id") != place.id or name not in old:
        raise CheckpointError(
            f"{place.path!r} is not the log of the run that wrote the checkpoint: give another log=, or none."
        )
    rows, events = (int(x) for x in old[name]["count"][:2])
    if rows < place.rows or events < place.events:
        raise CheckpointError(
            f"the log {place.path!r} has {rows} rows and {events} events, and had {place.rows} and {place.events} at "
            "the checkpoint: it is damaged. Give another log=, or none."
        )


def _copy_attributes(old: Any, new: Any) -> None:
    for name, value in old.attrs.items():
        new.attrs[name] = value


def _copy(old: Any, new: Any, place: LogPlace | None) -> None:
    """Datasets of a segment, whole or up to a place."""
    h5py = h5py_module()
    for name in old:
        data = old[name] if isinstance(old.get(name, getlink=True), h5py.HardLink) else None
        if not isinstance(data, h5py.Dataset):
            continue
        if data.maxshape[:1] != (None,):
            new.create_dataset(name, data=data[()], dtype=data.dtype)
            continue
        count = len(data) if place is None else place.events if name.startswith("event_") else place.rows
        copied = new.create_dataset(
            name, (count, *data.shape[1:]), data.dtype, maxshape=data.maxshape, chunks=data.chunks
        )
        for first in range(0, count, _TOGETHER):
            part = slice(first, min(first + _TOGETHER, count))
            copied[part] = data[part]
    if place is not None:
        new["count"][:] = [place.rows, place.events, int(place.ended)]
        if not place.ended:
            new["stopped_by"][0] = b""
