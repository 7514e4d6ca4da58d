"""xacro files: URDF with macros, expanded by the package `xacro` where it is installed.

A xacro file is a program: it evaluates expressions and includes other files, with what `xacro` allows and without the
bounds of the readers here. So it is run only where the user names a `.xacro` file; its output is then read as any other
URDF file, with all bounds.
"""

from __future__ import annotations

import importlib
import threading
from pathlib import Path
from typing import Any

from soacraft.errors import ModelFileError
from soacraft.files.xml_tree import cut, read_bytes

SUFFIX = ".xacro"
_ONE_AT_A_TIME = threading.Lock()  # xacro keeps its files and arguments in globals


def urdf_text(path: Path) -> tuple[bytes, str]:
    """The URDF of a file, and what to call it in messages: lines of an expanded file are not those of the file."""
    data = read_bytes(path)
    if path.suffix.lower() != SUFFIX:
        return data, str(path)
    return _expanded(_xacro(path), path), f"{path} (expanded)"


def _xacro(path: Path) -> Any:
    try:
        return importlib.import_module("xacro")
    except ImportError as problem:
        raise ModelFileError(
            f"{path}: reading xacro needs the package xacro ({problem}); install it with: pip install soacraft[xacro], "
            "or run xacro on the file and load the .urdf it makes."
        ) from None


def _expanded(xacro: Any, path: Path) -> bytes:
    with _ONE_AT_A_TIME:
        try:
            text: bytes = xacro.process_file(str(path)).toprettyxml(indent=" ", encoding="utf-8")
        except (Exception, SystemExit) as problem:  # whatever the expressions of the file raise
            where = getattr(xacro, "filestack", None) or [str(path)]
            inside = "" if where[-1] in (None, str(path)) else f" in {where[-1]}"
            said = " ".join(str(problem).split()) or "no reason given"
            raise ModelFileError(
                f"{path}: xacro cannot expand it{inside}: {type(problem).__name__}: {cut(said)}"
            ) from None
    return text
