"""`save` and `read`: modal data as an `.npz` file of plain arrays, and in the files of other programs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import ModelError, ModelFileError
from soacraft.files.modal_arrays import LARGEST, MEMBERS, TEXTS, data_of, from_npz, parts_of, to_npz
from soacraft.files.native import write_bytes
from soacraft.files.xml_tree import read_bytes
from soacraft.flexible.readers.mbdyn import read_mbdyn
from soacraft.flexible.readers.sid import read_sid
from soacraft.flexible.readers.sid_write import sid_text
from soacraft.flexible.readers.text import NO_STIFFENING
from soacraft.model import Entry, ImportReport
from soacraft.model.modal import ModalData
from soacraft.spatial.checks import Array

FORMAT = "soacraft-modal/1"
WRITTEN = (".npz", ".sid_fem")


def save(data: ModalData, path: Any) -> None:
    """Write modal data to an `.npz` file, which `read` gives back to the last digit, or to a `.SID_FEM` text file, of
    which other programs read the moments and nodes. It is written whole or not at all.

    >>> import tempfile
    >>> import soacraft.flexible as fx
    >>> fe = fx.beam(1.0, fx.Circle(0.01), fx.Elastic(200e9, 0.3, 7850.0), elements=2)
    >>> root = fe.interface("root", at=(0, 0, 0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fx.save(fx.reduce(fe, ["root"], "fixed", modes=2), f"{folder}/boom.npz")
    ...     fx.read(f"{folder}/boom.npz")
    ModalData(2 modes, mass 2.46615, nodes: root; with geometric stiffening)
    """
    if not isinstance(data, ModalData):
        raise ModelError(f"modal data are needed to save them, got {data!r:.60}.")
    file = _file(path, WRITTEN)
    if file.suffix.lower() == ".sid_fem":
        write_bytes(file, sid_text(data).encode("ascii"))
        return
    arrays, texts = parts_of(data)
    names = json.dumps({"format": FORMAT} | texts).encode()
    write_bytes(file, to_npz(arrays | {"names": np.frombuffer(names, dtype=np.uint8)}))


def read(path: Any) -> ModalData:
    """Modal data from a file: an `.npz` file that `save` wrote, a modal file of MBDyn (`.fem`), or standard input data
    (`.SID_FEM`). `data.import_report` says what became of every part of the file, and when it has no geometric
    stiffening. Nodes of the other programs are called "fe:17" by their numbers.
    """
    file = _file(path, (*WRITTEN, ".fem"))
    suffix = file.suffix.lower()
    if suffix == ".fem":
        return read_mbdyn(file)
    if suffix == ".sid_fem":
        return read_sid(file)
    arrays = from_npz(read_bytes(file, LARGEST), str(file))
    texts = _texts(file, arrays.pop("names", None))
    try:
        data = data_of(arrays, texts)
    except ModelError as problem:
        raise ModelFileError(f"{file}: {problem}") from None
    lines = [] if data.geometric else [Entry(str(file), 0, "S", "", "", "ignored", NO_STIFFENING, False)]
    used = [Entry(str(file), 0, name, "", "", "used", "", False) for name in arrays]
    return replace(data, import_report=ImportReport([*used, *lines]))


def _file(path: Any, suffixes: tuple[str, ...]) -> Path:
    file = read_path(path, "a file of modal data")
    if file.suffix.lower() not in suffixes:
        raise ModelFileError(f"{file}: modal data are in files that end in {', '.join(suffixes)}.")
    return file


def _texts(file: Path, text: Array | None) -> dict[str, list[str]]:
    try:
        names = json.loads(np.asarray(text, dtype=np.uint8).tobytes()) if text is not None else None
    except (ValueError, TypeError, RecursionError):
        names = None
    if not isinstance(names, dict) or names.get("format") != FORMAT:
        raise ModelFileError(f"{file}: is not of the format {FORMAT!r}; write it with fx.save.")
    for name in TEXTS:
        listed = names.setdefault(name, []) if name == "fe_nodes" else names.get(name)
        if not isinstance(listed, list) or not all(isinstance(x, str) for x in listed) or len(listed) > MEMBERS:
            raise ModelFileError(f"{file}: {name!r} must be a list of texts.")
    return names
