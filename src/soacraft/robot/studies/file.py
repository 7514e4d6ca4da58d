"""Files of studies: HDF5, a dataset for each field, f8, i8, flags as u1, or text; nothing in it is executed.

    attributes     format, kind, versions
    torque ...     with the attributes unit, axes

A file is not trusted: kinds, dimensions and sizes are looked at before they are read, and axes of one name must agree.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, StateError, near
from soacraft.files.native import write_bytes
from soacraft.robot.studies.study import KINDS, Column, Flags, Study, Whole
from soacraft.sim.runs.log import h5py_module, versions
from soacraft.sim.runs.log_reader import Group
from soacraft.spatial.checks import Array

FORMAT = "soacraft study 1"
#: Bytes of one text.
_LONGEST = 2**24


def write(study: Study, path: str | PathLike[str]) -> Path:
    """Write a file, whole or not at all."""
    h5py = _h5py()
    place = read_path(path, "save of a study", StateError)
    with h5py.File("study", "w", driver="core", backing_store=False, libver="latest") as file:
        file.attrs["format"], file.attrs["kind"], file.attrs["versions"] = FORMAT, study.kind, json.dumps(versions())
        for name, (kind, column) in study.columns().items():
            value = getattr(study, name)
            if kind in (Flags, bool):
                data = file.create_dataset(name, data=np.asarray(value, dtype="u1"))
            elif kind in (Array, float):
                data = file.create_dataset(name, data=np.asarray(value, dtype="f8"))
            elif kind in (Whole, int):
                data = file.create_dataset(name, data=np.asarray(value, dtype="i8"))
            else:
                texts = [value] if kind is str else list(value)
                data = file.create_dataset(name, data=np.array(texts, dtype=h5py.string_dtype()), shape=(len(texts),))
            data.attrs["unit"], data.attrs["axes"] = column.unit, json.dumps(column.axes)
        file.flush()
        image = file.id.get_file_image()
    write_bytes(place, image)
    return place


def load(path: str | PathLike[str]) -> Any:
    """A study from its file, with the same bits.

    >>> import pathlib, tempfile
    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("ur5e")).limb("arm", "inertial", "wrist_3_link")
    >>> made = sc.robot.study.reach_map(arm, 0.5, orientations=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read = sc.robot.study.load(made.save(pathlib.Path(folder) / "map.h5"))
    >>> read.same_as(made)
    True
    """
    h5py = _h5py()
    place = read_path(path, "sc.robot.study.load", StateError)
    if not place.exists():
        raise ModelFileError(f"there is no study {str(place)!r}.")
    try:
        with h5py.File(place, "r", locking=False) as file:
            if file.attrs.get("format") != FORMAT:
                raise ModelFileError(f"{str(place)!r} is no study: its format is {file.attrs.get('format')!r:.60}.")
            kind = str(file.attrs.get("kind", ""))
            if kind not in KINDS:
                raise ModelFileError(f"{str(place)!r} has a study of kind {kind!r:.60}{near(kind, KINDS)}")
            return _read(KINDS[kind], Group(file, str(place), "study"))
    except (OSError, KeyError, RuntimeError, UnicodeDecodeError) as problem:
        raise ModelFileError(f"the study {str(place)!r} cannot be read, it is damaged: {problem}.") from None


def _read(kind_of_study: type[Study], at: Group) -> Study:
    lengths: dict[str, int] = {}
    values: dict[str, Any] = {}
    for name, (kind, column) in kind_of_study.columns().items():
        if kind is str or kind == tuple[str, ...]:
            texts = at.texts(name)
            if sum(map(len, texts)) > _LONGEST or (kind is str and len(texts) != 1):
                raise at.fault(f"{name!r} has {len(texts)} texts")
            values[name] = texts[0] if kind is str else tuple(texts)
            shape: tuple[int, ...] = () if kind is str else (len(texts),)
        else:
            letter = "u" if kind in (Flags, bool) else "i" if kind in (Whole, int) else "f"
            array = _numbers(at, name, letter, len(column.axes))
            shape = array.shape
            values[name] = array if kind in (Flags, Whole, Array) else kind(array[()])
        _agree(at, name, column, shape, lengths)
    return kind_of_study(**values)


def _numbers(at: Group, name: str, letter: str, dims: int) -> Any:
    if letter == "f" and dims:
        return at.array(name, dims)
    data = at.data(name, letter, dims)
    return np.asarray(data[()], dtype={"u": np.bool_, "i": np.int64, "f": np.float64}[letter])


def _agree(at: Group, name: str, column: Column, shape: tuple[int, ...], lengths: dict[str, int]) -> None:
    if len(shape) != len(column.axes):
        raise at.fault(f"{name!r} has {len(shape)} axes, not {len(column.axes)}")
    for axis, length in zip(column.axes, shape, strict=True):
        wanted = axis if isinstance(axis, int) else lengths.setdefault(axis, length)
        if wanted != length:
            raise at.fault(f"{name!r} has {length} {axis}, not {wanted}")


def _h5py() -> Any:
    try:
        return h5py_module()
    except StateError:
        raise StateError("studies are HDF5 files, and h5py is not installed: pip install 'soacraft[sim]'.") from None
