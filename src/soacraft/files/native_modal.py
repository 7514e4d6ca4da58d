"""The modal data of flexible bodies in the native format: small arrays in the JSON, larger ones in a file next to it.

A side file holds plain arrays (`modal_arrays`). The model names it with its SHA-256, so that a file that is not the one
that was saved is refused. It is in the folder of the model, links followed, and within a size.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files import schema
from soacraft.files.modal_arrays import LARGEST, TEXTS, data_of, from_npz, parts_of, to_npz
from soacraft.files.xml_tree import inside, read_bytes
from soacraft.model import Body, Entry, ImportReport, Multibody
from soacraft.model.modal import ModalData, ModalNode
from soacraft.spatial import Array

#: An array of more numbers goes to the side file.
SMALL = 1000
#: Element and attribute of the entry of the import report for modal data without geometric stiffening.
_ELEMENT, _ATTRIBUTE = "modal data", "geometric stiffening"
_NOTE = "they have none: a load along the body neither stiffens nor buckles it. Reduce it again with geometric=True"


def first_users(bodies: Iterable[Body]) -> dict[int, Body]:
    """The first body that uses each of the modal data, by the id of these."""
    users: dict[int, Body] = {}
    for body in bodies:
        if body.modal is not None:
            users.setdefault(id(body.modal), body)
    return users


def node_name(node: ModalNode | None, data: ModalData | None) -> str | None:
    """The name of a modal node in the data of the body it is on."""
    if node is None or data is None:
        return None
    return data.name_of(node)


def own_state(mb: Multibody, body: Body) -> tuple[Array, Array, Array]:
    """q, v and vdot of a body's hinge and modes."""
    layout = mb.layout
    k = layout.index[body]
    dofs = layout.v_slices[k]
    return mb.q[layout.q_slices[k]], mb.v[dofs], mb.vdot[dofs]


# -- writing ---------------------------------------------------------------------------------------------------


class SideFiles:
    """The side files of a model that is written to `path`: their names, made of their content, and their bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files: dict[Path, bytes] = {}

    def add(self, arrays: dict[str, Array]) -> tuple[str, str]:
        """The name and SHA-256 of a file of arrays."""
        content = to_npz(arrays)
        if len(content) > LARGEST:
            raise ModelFileError(
                f"cannot write {str(self.path)!r}: modal data take {len(content)} bytes, and side files of more than "
                f"{LARGEST} bytes are not read; leave out points, shapes or recovery."
            )
        digest = hashlib.sha256(content).hexdigest()
        name = f"{self.path.stem}.{digest[:16]}.npz"
        self.files[self.path.with_name(name)] = content
        return name, digest


def modal_of(name: str, data: ModalData, side: SideFiles | None) -> schema.Modal:
    """The object of modal data; without side files all arrays are in it."""
    arrays, texts = parts_of(data)
    large = {} if side is None else {x: y for x, y in arrays.items() if y.size > SMALL}
    small = {x: _array_object(y) for x, y in arrays.items() if x not in large}
    file, digest = side.add(large) if side is not None and large else (None, None)
    return schema.Modal(name, small, file, digest, **texts)


def _array_object(x: Array) -> schema.Array:
    return schema.Array(x.shape, tuple(x.ravel().tolist()))


# -- reading ---------------------------------------------------------------------------------------------------


def read_modal_object(x: schema.Modal, folder: Path | None, place: str, file: str) -> ModalData:
    """The modal data of an object; a side file is looked for in `folder`."""
    arrays = {name: _numbers(y, f"{file}: at {place}.arrays.{name:.60}") for name, y in x.arrays.items()}
    if (x.file is None) != (x.sha256 is None):
        raise ModelFileError(f"{file}: at {place}: a side file is named with its SHA-256: give both or neither.")
    if x.file is not None:
        for name, y in _side_arrays(x, folder, place, file).items():
            if name in arrays:
                raise ModelFileError(f"{file}: at {place}: array {name!r:.60} is in the model and in its side file.")
            arrays[name] = y
    return data_of(arrays, {name: getattr(x, name) for name in TEXTS})


def _numbers(x: schema.Array, where: str) -> Array:
    if any(n < 0 for n in x.shape) or math.prod(x.shape) != len(x.values):
        raise ModelFileError(f"{where}: has {len(x.values)} values, but the shape {list(x.shape)!r:.80}.")
    return np.array(x.values, dtype=np.float64).reshape(x.shape)


def _side_arrays(x: schema.Modal, folder: Path | None, place: str, file: str) -> dict[str, Array]:
    assert x.file is not None
    where = f"{file}: at {place}.file"
    if folder is None:
        raise ModelFileError(f"{where}: {x.file!r:.80} is a file next to the model; load the model from its file.")
    side = inside([folder], x.file, where)
    try:
        content = read_bytes(side, LARGEST)
    except ModelFileError as problem:
        raise ModelFileError(f"{where}: {problem} It is part of the model: move both together.") from None
    digest = hashlib.sha256(content).hexdigest()
    if digest != x.sha256:
        raise ModelFileError(
            f"{where}: {x.file!r:.80} has changed: its SHA-256 is {digest}, the model was saved with {x.sha256!r:.80}. "
            "Bring back the file, or save the model again."
        )
    return from_npz(content, f"{where}: {x.file:.80}")


# -- what a load says ------------------------------------------------------------------------------------------


def report_stiffening(mb: Multibody, file: str) -> None:
    """A line in the import report for each flexible body whose modal data have no geometric stiffening."""
    said = [
        Entry(file, 0, _ELEMENT, body.name, _ATTRIBUTE, "ignored", _NOTE, False)
        for body in mb.bodies
        if body.modal is not None and not body.modal.geometric
    ]
    if said:
        before = () if mb.import_report is None else mb.import_report.entries
        mb.import_report = ImportReport([*before, *said])


def kept_report(report: ImportReport | None) -> ImportReport | None:
    """Report without the entries that every load adds again."""
    if report is None:
        return None
    entries = [x for x in report.entries if not is_said_anew(x)]
    return ImportReport(entries) if entries or len(entries) == len(report) else None


def is_said_anew(entry: Any) -> bool:
    """True for an entry of `report_stiffening`."""
    return (entry.element, entry.attribute) == (_ELEMENT, _ATTRIBUTE)
