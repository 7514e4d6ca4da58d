"""`save_core`: a model for C++ programs, which load it without Python (`core/README.md`)."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files.load import read_path
from soacraft.model import Multibody
from soacraft.model.tree.parts.closures import refuse_loops


def save_core(mb: Multibody, path: str | PathLike[str], ignore_loops: bool = False) -> None:
    """Write the compiled form of a model for C++: `soacraft::Multibody::load(path)` runs its dynamics. O(n).

    The file holds the tree - bodies, hinges, armature, gravity, springs, dampers, tendons and bushings - and the frames
    of bodies and of nodes on them, by name. State, forces that are set, limits and geometry are not part of it. What
    C++ does not know is refused: hinges of your own, weight compensation, and loops unless they are to be ignored.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from soacraft.files import load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_core(load("arm7"), f"{folder}/arm7.soacraft")
    ...     Path(f"{folder}/arm7.soacraft").read_bytes()[:8]
    b'soacraft'
    """
    # reading and writing files takes long to load
    from soacraft.files.native import write_bytes
    from soacraft.model.flat.compiled import CompiledModel

    if not isinstance(mb, Multibody):
        raise ModelFileError(f"a Multibody is saved for C++, got {mb!r:.60}; a sub-graph or a state is part of one.")
    refuse_loops("save_core", mb, ignore_loops)
    target = core_path(path)
    layout = mb.layout
    if layout.flexible:
        name = layout.bodies[layout.flexible[0]].name
        raise ModelFileError(
            f"{mb.name!r} cannot be saved for C++: body {name!r} is flexible, and the files that C++ loads hold rigid "
            "bodies alone."
        )
    model = CompiledModel.of(layout)
    if model is None:
        body = next(x for x in layout.bodies if not CompiledModel.knows(x.hinge))
        raise ModelFileError(
            f"{mb.name!r} cannot be saved for C++: hinge {body.hinge_name!r} is a {type(body.hinge).__name__}, which "
            "only Python knows. Use a built-in hinge."
        )
    in_python = [*layout.compensated, *([] if layout.sprung_in_vain is None else [layout.sprung_in_vain])]
    if in_python:
        raise ModelFileError(
            f"{mb.name!r} cannot be saved for C++: body {in_python[0].name!r} has weight compensation, or a spring in "
            "a nonholonomic hinge, which only Python knows. Take it away first."
        )
    frames: list[tuple[str, int, Any]] = []
    for k, body in enumerate(layout.bodies):
        for frame in (body, *body.nodes):
            offset = frame.offset
            frames.append((frame.full_name, k, np.concatenate([offset.rotation.ravel(), offset.translation])))
    try:
        data = model.kernels.saved(frames)
    except ValueError as error:
        raise ModelFileError(f"{mb.name!r} cannot be saved for C++: {error}.") from None
    write_bytes(target, data)


def core_path(path: Any) -> Path:
    """The name of a file for C++ to load."""
    if not isinstance(path, str | PathLike):
        raise ModelFileError(f"a file for C++ has a name, such as 'arm.soacraft'; got {path!r:.60}.")
    return Path(read_path(path))
