"""`save` and `read`: modal data as an `.npz` file of plain arrays.

Nothing in a file is run: members are read as arrays of numbers whose sizes are checked against their headers before
anything is allocated, and names are JSON text. What is read is checked as any other modal data.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from soacraft.arguments import read_path
from soacraft.errors import ModelError, ModelFileError
from soacraft.model.modal import ModalData, ModalNode
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

FORMAT = "soacraft-modal/1"
#: Bytes of numbers that a file may hold.
LARGEST = 2**30
MEMBERS = 20_000
_ARRAYS = ("mass", "first", "second", "p", "N", "Q", "M", "K", "D", "S", "T", "points", "shapes")
_NODE = ("R", "l", "gam", "lam", "gam2", "lam2")


def save(data: ModalData, path: Any) -> None:
    """Write modal data to an `.npz` file, which `read` gives back to the last digit.

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
    file = _npz(path)
    arrays = {name: np.asarray(getattr(data, name)) for name in _ARRAYS if getattr(data, name) is not None}
    for k, node in enumerate(data.nodes.values()):
        parts = (node.pose.rotation, node.pose.translation, node.gam, node.lam, node.gam2, node.lam2)
        arrays |= {f"node{k}.{name}": x for name, x in zip(_NODE, parts, strict=True) if x is not None}
    arrays |= {f"recovery{k}": x for k, x in enumerate(data.recovery.values())}
    names = {
        "format": FORMAT, "modes": data.modes, "kinds": data.kinds, "notes": data.notes, "nodes": list(data.nodes),
        "recovery": list(data.recovery),
    }  # fmt: skip
    arrays["names"] = np.frombuffer(json.dumps(names).encode(), dtype=np.uint8)
    try:
        with file.open("wb") as out:
            np.savez(out, allow_pickle=False, **arrays)
    except OSError as problem:
        raise ModelFileError(f"{file}: cannot be written: {problem.strerror}.") from None


def read(path: Any) -> ModalData:
    """Modal data from an `.npz` file that `save` wrote."""
    file = _npz(path)
    arrays = _members(file)
    names = _names(file, arrays)
    nodes = {}
    try:
        for k, name in enumerate(names["nodes"]):
            R, l, gam, lam = (_needed(arrays, f"node{k}.{x}") for x in _NODE[:4])
            nodes[name] = ModalNode(Pose(R, l), gam, lam, *(arrays.get(f"node{k}.{x}") for x in _NODE[4:]))
        recovery = {name: _needed(arrays, f"recovery{k}") for k, name in enumerate(names["recovery"])}
        given: dict[str, Any] = {name: _needed(arrays, name) for name in _ARRAYS[:8]}
        given |= {name: arrays[name] for name in _ARRAYS[8:] if name in arrays}
        given |= {name: tuple(names[name]) for name in ("modes", "kinds", "notes")}
        return ModalData(**given, nodes=nodes, recovery=recovery)
    except ModelError as problem:
        raise ModelFileError(f"{file}: {problem}") from None


def _npz(path: Any) -> Path:
    file = read_path(path, "a file of modal data")
    if file.suffix != ".npz":
        raise ModelFileError(f"{file}: modal data are kept in files that end in .npz.")
    return file


def _needed(arrays: dict[str, Array], name: str) -> Array:
    if name not in arrays:
        raise ModelError(f"the array {name!r} is missing.")
    return arrays[name]


def _members(file: Path) -> dict[str, Array]:
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            total = sum(x.file_size for x in infos)
            if total > LARGEST or len(infos) > MEMBERS:
                raise ModelFileError(f"{file}: {total} bytes in {len(infos)} arrays are more than modal data may have.")
            return {x.filename.removesuffix(".npy"): _array(archive.read(x)) for x in infos}
    except FileNotFoundError:
        raise ModelFileError(f"{file}: there is no such file.") from None
    except ModelFileError:
        raise
    except OSError as problem:
        raise ModelFileError(f"{file}: cannot be read: {problem.strerror or problem}.") from None
    except Exception as problem:  # zipfile and numpy have many ways to say that a file is damaged
        raise ModelFileError(f"{file}: is damaged: {str(problem) or type(problem).__name__:.120}.") from None


def _array(content: bytes) -> Array:
    """A member; its header says no more than its bytes hold."""
    stream = io.BytesIO(content)
    version = npy.read_magic(stream)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = read_header(stream)
    rest = content[stream.tell() :]
    if dtype.kind not in "fiu" or any(n < 0 for n in shape):
        raise ValueError(f"an array holds {dtype}, not numbers")
    flat = np.frombuffer(rest, dtype=dtype)
    return np.array(flat.reshape(shape, order="F" if fortran else "C"))


def _names(file: Path, arrays: dict[str, Array]) -> dict[str, list[str]]:
    text = arrays.pop("names", None)
    try:
        names = json.loads(np.asarray(text, dtype=np.uint8).tobytes()) if text is not None else None
    except (ValueError, TypeError, RecursionError):
        names = None
    if not isinstance(names, dict) or names.get("format") != FORMAT:
        raise ModelFileError(f"{file}: is not of the format {FORMAT!r}; write it with fx.save.")
    for name in ("modes", "kinds", "notes", "nodes", "recovery"):
        listed = names.get(name)
        if not isinstance(listed, list) or not all(isinstance(x, str) for x in listed) or len(listed) > MEMBERS:
            raise ModelFileError(f"{file}: {name!r} must be a list of texts.")
    return names
