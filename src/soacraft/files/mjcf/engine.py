"""MuJoCo at work: parsing and compiling the documents of the walk, quietly, and its errors as ours."""

from __future__ import annotations

import importlib
import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from soacraft.errors import ModelFileError
from soacraft.files.mjcf.walk import Given, to_text
from soacraft.files.xml_tree import Element, fail

_LINE = re.compile(r"[Ll]ine(?: number=)?\s*(\d+)")
_PREFIX = re.compile(r"^(XML |Error: )+")
_QUIET = threading.RLock()
_NO_LENGTH_RANGE = 0
REFUSED = "MuJoCo refuses it:"


@dataclass
class Compiled:
    """MuJoCo's spec and model, and the element of the file on each line it was given."""

    spec: Any
    model: Any
    lines: dict[int, Element]
    mujoco: Any

    def element(self, item: Any) -> Element | None:
        """The element of the file that an item of the spec comes from."""
        line = _LINE.search(getattr(item, "info", "") or "")
        return self.lines.get(int(line.group(1))) if line else None

    def elements(self, items: Any) -> dict[int, Element | None]:
        """The elements of the items of a spec, by the number they have in the compiled model."""
        return {int(item.id): self.element(item) for item in items}

    def name(self, kind: str, number: int) -> str:
        """The name of an object of the compiled model, '' for none."""
        return self.mujoco.mj_id2name(self.model, getattr(self.mujoco.mjtObj, f"mjOBJ_{kind}"), int(number)) or ""


def load_mujoco(file: str) -> Any:
    """The `mujoco` module; imported when the first MJCF file is read."""
    try:
        return importlib.import_module("mujoco")
    except ImportError as problem:
        raise ModelFileError(
            f"{file}: reading MJCF needs the package mujoco ({problem}); install it with: pip install soacraft[mjcf]"
        ) from None


@contextmanager
def quietly(mujoco: Any) -> Iterator[list[str]]:
    """Collect MuJoCo's warnings instead of letting it print them and write a log file."""
    heard: list[str] = []
    with _QUIET, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(heard.append)
        try:
            yield heard
        finally:
            mujoco.set_mju_user_warning(before)
            heard += [str(each.message) for each in caught]


@contextmanager
def refusing(mujoco: Any, file: str, lines: dict[int, Element]) -> Iterator[None]:
    """Turn MuJoCo's errors into `ModelFileError` with the file, line and element they are about."""
    try:
        yield
    except ModelFileError:
        raise
    except (ValueError, RuntimeError, TypeError, MemoryError, OverflowError, mujoco.FatalError) as problem:
        text = str(problem)
        line = _LINE.search(text)
        where: Element | str = lines.get(int(line.group(1)), file) if line else _keyframe(text, lines) or file
        message = _PREFIX.sub("", text.split("\nElement")[0]).strip().rstrip(".")
        raise fail(where, f"{REFUSED} {' '.join(message.split()) or type(problem).__name__}.") from None


def _keyframe(text: str, lines: dict[int, Element]) -> Element | None:
    """The keyframe that a message of MuJoCo is about: it names its number, and no line."""
    number = re.search(r"keyframe .*id (\d+)", text, re.DOTALL)
    keys = [element for element in lines.values() if element.tag == "key"] if number else []
    return keys[int(number[1])] if number and int(number[1]) < len(keys) else None


def parse(mujoco: Any, root: Given, models: dict[str, Given], file: str) -> tuple[Any, dict[int, Element]]:
    """MuJoCo's spec of the document. Every document has its range of line numbers, so that a line identifies an
    element.
    """
    lines: dict[int, Element] = {}
    text = to_text(root, 0, lines)
    others: dict[str, bytes] = {}
    for name, each in models.items():
        others[name] = to_text(each, max(lines), lines).encode()
    with refusing(mujoco, file, lines):
        spec = mujoco.MjSpec.from_string(text, include=others or None)
    spec.compiler.LRopt.mode = _NO_LENGTH_RANGE  # would simulate every muscle
    spec.compiler.usethread = 0
    return spec, lines


def compile_spec(mujoco: Any, spec: Any, lines: dict[int, Element], file: str) -> Compiled:
    """The compiled model: every number resolved."""
    with refusing(mujoco, file, lines):
        model = spec.compile()
    return Compiled(spec, model, lines, mujoco)
