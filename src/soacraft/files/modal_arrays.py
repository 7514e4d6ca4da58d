"""Modal data as arrays of numbers and lists of texts by name, and such arrays as the bytes of an `.npz` file.

Nothing in a file is run, and nothing is allocated that its bytes do not hold: members are plain arrays of numbers, not
compressed, whose sizes are checked against their headers. What is read is checked as any other modal data.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib import format as npy

from soacraft.errors import ModelError, ModelFileError
from soacraft.model.modal import ModalData, ModalNode, ModalSkin
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Bytes that a file of arrays may have.
LARGEST = 2**30
#: Arrays, or texts of one kind, that modal data may have in a file.
MEMBERS = 20_000
#: Largest distance of R* R of a rotation in a file from I; it is kept unchanged.
ORTHONORMAL = 1e-12

TEXTS = ("modes", "kinds", "notes", "nodes", "fe_nodes", "recovery")
_NEEDED = ("mass", "first", "second", "p", "N", "Q", "M", "K")
_MORE = ("D", "S", "T", "points", "shapes")
_NODE = ("R", "l", "gam", "lam")
_NODE_MORE = ("gam2", "lam2")
_SKIN = ("triangles", "at", "gam")
_SKIN_MORE = ("lam", "gam2", "owner", "offset", "normals", "element")


def parts_of(data: ModalData) -> tuple[dict[str, Array], dict[str, tuple[str, ...]]]:
    """The arrays of modal data and their texts, by name. Node k has arrays "nodek.R" and so on, a skin "skin.at"."""
    arrays = {name: np.asarray(x) for name in (*_NEEDED, *_MORE) if (x := getattr(data, name)) is not None}
    for k, node in enumerate(data.nodes.values()):
        arrays |= {f"node{k}.{name}": x for name, x in _parts(node).items() if x is not None}
    rest = [_parts(node) for node in data.fe_nodes.values()]
    for name in (*_NODE, *_NODE_MORE) if rest else ():
        each = [x[name] for x in rest]
        if any(x is not None for x in each):
            like = next(x for x in each if x is not None)
            arrays[f"fe.{name}"] = np.array([np.zeros_like(like) if x is None else x for x in each])
    arrays |= {f"recovery{k}": x for k, x in enumerate(data.recovery.values())}
    seen = {name: getattr(data.skin, name, None) for name in (*_SKIN, *_SKIN_MORE)}
    arrays |= {f"skin.{name}": x for name, x in seen.items() if x is not None}
    texts = {name: tuple(getattr(data, name)) for name in TEXTS}
    return arrays, texts


def data_of(arrays: Mapping[str, Array], texts: Mapping[str, Sequence[str]]) -> ModalData:
    """The modal data of such arrays and texts; `ModelError` for what is missing, unknown or wrong."""
    unread = dict(arrays)

    def needed(name: str) -> Array:
        if name not in unread:
            raise ModelError(f"the array {name!r} is missing.")
        return unread.pop(name)

    parts_of_data: dict[str, Any] = {name: needed(name) for name in _NEEDED}
    parts_of_data |= {name: unread.pop(name) for name in _MORE if name in unread}
    for name in ("nodes", "fe_nodes", "recovery"):
        if len(set(texts[name])) < len(texts[name]):
            raise ModelError(f"a name of {name!r} occurs twice.")
    nodes = {}
    for k, name in enumerate(texts["nodes"]):
        R, l, gam, lam = (needed(f"node{k}.{x}") for x in _NODE)
        nodes[name] = ModalNode(_pose(R, l, name), gam, lam, *(unread.pop(f"node{k}.{x}", None) for x in _NODE_MORE))
    names = texts["fe_nodes"]
    if names:
        more = [unread.pop(f"fe.{x}", None) for x in _NODE_MORE]
        parts_of_data["fe_nodes"] = _stacked(names, [needed(f"fe.{x}") for x in _NODE], more)
    recovery = {name: needed(f"recovery{k}") for k, name in enumerate(texts["recovery"])}
    skin = None
    if any(f"skin.{x}" in unread for x in (*_SKIN, *_SKIN_MORE)):
        parts: dict[str, Any] = {x: needed(f"skin.{x}") for x in _SKIN}
        skin = ModalSkin(**parts | {x: unread.pop(f"skin.{x}") for x in _SKIN_MORE if f"skin.{x}" in unread})
    if unread:
        raise ModelError(f"the array {next(iter(unread))!r:.60} belongs to no modal data.")
    parts_of_data |= {name: tuple(texts[name]) for name in ("modes", "kinds", "notes")}
    return ModalData(**parts_of_data, nodes=nodes, recovery=recovery, skin=skin)


def _parts(node: ModalNode) -> dict[str, Array | None]:
    parts = (node.pose.rotation, node.pose.translation, node.gam, node.lam, node.gam2, node.lam2)
    return dict(zip((*_NODE, *_NODE_MORE), parts, strict=True))


def _stacked(names: Sequence[str], arrays: list[Array], more: list[Array | None]) -> dict[str, ModalNode]:
    """Nodes from arrays whose first index counts them."""
    if any(x.ndim == 0 or len(x) != len(names) for x in (*arrays, *(y for y in more if y is not None))):
        raise ModelError(f"arrays of {len(names)} fe_nodes must have as many of each.")
    R, l, gam, lam = arrays
    gam2, lam2 = ([None] * len(names) if x is None else x for x in more)
    parts = zip(names, R, l, gam, lam, gam2, lam2, strict=True)
    return {name: ModalNode(_pose(R_k, l_k, name), *rest) for name, R_k, l_k, *rest in parts}


def _pose(R: Array, l: Array, name: str) -> Pose:
    """The pose with its rotation as it is written."""
    if R.shape != (3, 3) or l.shape != (3,) or not (np.isfinite(R).all() and np.isfinite(l).all()):
        raise ModelError(f"node {name!r:.60} needs a rotation of 3 x 3 and a place of 3 finite numbers.")
    R, l = R.astype(np.float64), l.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = float(np.abs(R.T @ R - np.eye(3)).max())
    if not gap <= ORTHONORMAL or np.linalg.det(R) < 0.0:
        raise ModelError(f"R of node {name!r:.60} is not a rotation: R* R differs from I by {gap:.3g}.")
    return Pose.unchecked(R, l)


# -- bytes -----------------------------------------------------------------------------------------------------


def to_npz(arrays: Mapping[str, Array]) -> bytes:
    """The bytes of an `.npz` file; the same for the same arrays."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, x in arrays.items():
            member = io.BytesIO()
            npy.write_array(member, np.asarray(x), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue())
    return out.getvalue()


def from_npz(content: bytes, file: str) -> dict[str, Array]:
    """The arrays of an `.npz` file; `file` is named in errors."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if len(infos) > MEMBERS:
                raise ModelFileError(f"{file}: has {len(infos)} arrays, more than the {MEMBERS} that are read.")
            packed = next((x.filename for x in infos if x.compress_type != zipfile.ZIP_STORED), None)
            if packed is not None:
                raise ModelFileError(f"{file}: {packed!r:.60} is compressed, and only plain arrays are read.")
            arrays = {x.filename.removesuffix(".npy"): _array(archive.read(x)) for x in infos}
    except ModelFileError:
        raise
    except Exception as problem:  # zipfile and numpy have many ways to say that a file is damaged
        raise ModelFileError(f"{file}: is damaged: {str(problem) or type(problem).__name__:.120}.") from None
    if len(arrays) < len(infos):
        raise ModelFileError(f"{file}: the name of an array occurs twice.")
    return arrays


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
