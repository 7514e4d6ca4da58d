"""Reading XML from anywhere without trusting it: bounded, local, with the line of every element.

Built on expat alone. Refused: document type declarations (and so every entity of one's own), processing instructions,
encodings other than UTF-8, and anything past the bounds below. A refusal is a `ModelFileError` that names the file,
the line and the element. Prefixes of names are kept as they are written; nothing is looked up.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path, PureWindowsPath
from sys import float_info
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.spatial.checks import Array

MAX_BYTES = 64 * 2**20
MAX_XML = 32 * 2**20
MAX_DEPTH = 256
MAX_ELEMENTS = 1_000_000  # and attributes, together
MAX_ATTRIBUTES = 64
MAX_NAME = 200  # characters of a tag or the name of an attribute
MAX_PATH = 4096
_MAX_DIGITS = 1000
_SHOWN = 80
_LONGEST = 1200
_ENCODINGS = ("utf-8", "utf8", "us-ascii", "ascii")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(slots=True)
class Element:
    """One element of an XML file, with what is inside it and where it is."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def __repr__(self) -> str:
        name = self.attributes.get("name")
        return f"<{self.tag}>" if name is None else f"<{self.tag} name={shorten(name)!r}>"

    def iterate(self) -> Iterator[Element]:
        """This element and every one inside it, in the order of the file."""
        waiting = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting.extend(reversed(element.children))


def shorten(text: str) -> str:
    """A text cut to what fits in a message.

    >>> shorten("x" * 200)[-5:], len(shorten("x" * 200))
    ('xx...', 83)
    """
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def fail(where: Element | str, text: str) -> ModelFileError:
    """The error to raise for something wrong at an element, or in a file: "file:line: <element>: text".

    >>> fail(Element("mass", {"value": "-1"}, 12, "arm.urdf"), "a mass must not be negative, got -1.")
    ModelFileError('arm.urdf:12: <mass>: a mass must not be negative, got -1.')
    """
    place = f"{where.file}:{where.line}: {where!r}" if isinstance(where, Element) else where
    error = ModelFileError(f"{place}: {cut(text)}")
    error.fault, error.where = text, where
    return error


def cut(text: str) -> str:
    """A message that holds long names, with its middle left out.

    >>> cut("x" * 9000 + ".")[-10:], len(cut("x" * 9000))
    ('xxxxxxxxx.', 1205)
    """
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 200]} ... {text[-200:]}"


def read_bytes(path: Path, limit: int = MAX_BYTES) -> bytes:
    """The bytes of a plain file, at most `limit`. Folders, pipes and devices are refused without waiting on them."""
    shown = str(path)
    if "\0" in shown:
        raise ModelFileError(f"{shown!r}: a path must not hold a NUL character.")
    try:
        _require_plain(os.stat(path), path, limit)
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            now = os.fstat(handle)
            _require_plain(now, path, limit)
            data = file.read(now.st_size + 1)  # no room for the limit is asked for where a file is small
    except FileNotFoundError:
        raise ModelFileError(f"{shown}: there is no such file.") from None
    except OSError as problem:
        raise ModelFileError(f"{shown}: cannot be read: {problem.strerror}.") from None
    if len(data) > now.st_size:
        raise ModelFileError(f"{shown}: grew while it was read.")
    return data


def _require_plain(facts: os.stat_result, path: Path, limit: int) -> None:
    if stat.S_ISDIR(facts.st_mode):
        raise ModelFileError(f"{path}: is a folder; give the file inside it.")
    if not stat.S_ISREG(facts.st_mode):
        raise ModelFileError(f"{path}: is a pipe, socket or device; give a plain file.")
    if facts.st_size > limit:
        raise ModelFileError(f"{path}: has {facts.st_size} bytes, but at most {limit} are read.")


def read_xml(data: bytes, file: str) -> Element:
    """The root element of an XML file; linear in its length.

    >>> robot = read_xml(b"<robot name='arm'><link name='hand'/></robot>", "arm.urdf")
    >>> robot.children[0], robot.children[0].line
    (<link name='hand'>, 1)
    >>> read_xml(b"<!DOCTYPE robot><robot/>", "arm.urdf")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelFileError: arm.urdf:1: a document type declaration ('robot') is not read: it could hold ...
    """
    if not data.strip():
        raise ModelFileError(f"{file}: is empty.")
    if len(data) > MAX_XML:
        raise ModelFileError(f"{file}: has {len(data)} bytes, but at most {MAX_XML} are read of XML.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise ModelFileError(
            f"{file}:{line}: byte {problem.start} (0x{data[problem.start]:02x}) is not UTF-8; save the file as UTF-8."
        ) from None
    return _Reader(file).read(data)


class _Reader:
    """Builds the tree from what expat reports."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: list[Element] = []
        self._texts: dict[int, list[str]] = {}
        self._names: dict[str, str] = {}  # of elements and attributes, each once: expat adds them
        self._known = 0
        self._root: Element | None = None
        self._count = 0
        parser = self._parser = expat.ParserCreate("utf-8", intern=self._names)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.ProcessingInstructionHandler = self._instruction

    def read(self, data: bytes) -> Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as problem:
            inside = f" inside {self._open[-1]!r}" if self._open else ""
            text = expat.errors.messages.get(problem.code, "error") if problem.code else "error"
            raise ModelFileError(
                f"{self._file}:{problem.lineno}: is not well-formed XML{inside}: {text} (column {problem.offset + 1})."
            ) from None
        assert self._root is not None  # expat refuses a file without an element
        return self._root

    def _refuse(self, text: str) -> NoReturn:
        raise ModelFileError(f"{self._file}:{self._parser.CurrentLineNumber}: {text}")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        above, number = self._open, len(attributes)
        self._count += 1 + number
        if self._count > MAX_ELEMENTS or len(above) >= MAX_DEPTH or number > MAX_ATTRIBUTES:
            self._too_much(tag, number)
        if len(self._names) != self._known:
            self._new_names(tag, attributes)
        element = Element(tag, attributes, self._parser.CurrentLineNumber, self._file, [])
        if above:
            above[-1].children.append(element)
        else:
            self._root = element
        above.append(element)

    def _too_much(self, tag: str, number: int) -> NoReturn:
        if self._count > MAX_ELEMENTS:
            self._refuse(f"<{shorten(tag)}>: the file has more than {MAX_ELEMENTS} elements and attributes.")
        if len(self._open) >= MAX_DEPTH:
            self._refuse(f"<{shorten(tag)}>: elements are nested more than {MAX_DEPTH} deep.")
        self._refuse(f"<{shorten(tag)}>: has {number} attributes, more than {MAX_ATTRIBUTES}.")

    def _new_names(self, tag: str, attributes: dict[str, str]) -> None:
        if len(tag) > MAX_NAME or any(len(name) > MAX_NAME for name in attributes):
            self._refuse(f"<{shorten(tag)}>: it or an attribute of it has a name of more than {MAX_NAME} characters.")
        self._known = len(self._names)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        if self._texts and id(element) in self._texts:
            element.text = "".join(self._texts.pop(id(element))).strip()

    def _text(self, text: str) -> None:
        if not text.isspace():
            self._texts.setdefault(id(self._open[-1]), []).append(text)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            self._refuse(f"the encoding {shorten(encoding)!r} is not read; save the file as UTF-8.")

    def _doctype(self, name: str, system: str | None, public: str | None, subset: bool) -> None:
        self._refuse(
            f"a document type declaration ({shorten(name)!r}) is not read: it could hold entities that grow without "
            "bound or name other files; take the <!DOCTYPE ...> out."
        )

    def _instruction(self, target: str, data: str) -> None:
        self._refuse(f"the processing instruction <?{shorten(target)} ...?> is not read; take it out.")


# -- values of attributes ------------------------------------------------------------------------------------


def word(element: Element, attribute: str, default: str | None = None) -> str:
    """The text of an attribute, which must not be empty; `default` when it is absent.

    >>> word(Element("joint", {"type": "fixed"}, 3, "arm.urdf"), "type")
    'fixed'
    """
    text = element.attributes.get(attribute)
    if text is None:
        if default is None:
            raise fail(element, f"needs the attribute {attribute!r}.")
        return default
    if not text.strip():
        raise fail(element, f"the attribute {attribute!r} must not be empty.")
    if len(text) > MAX_PATH:
        raise fail(element, f"the attribute {attribute!r} has {len(text)} characters, more than {MAX_PATH}.")
    return text


def numbers(element: Element, attribute: str, count: int | None, default: Sequence[float] | None = None) -> Array:
    """The numbers of an attribute: `count` of them (None: any number), all finite; `default` when it is absent.

    >>> numbers(Element("origin", {"xyz": "1 .5 -2e-1"}, 3, "arm.urdf"), "xyz", 3)
    array([ 1. ,  0.5, -0.2])
    >>> numbers(Element("origin", {"xyz": "0 nan 0"}, 3, "arm.urdf"), "xyz", 3)
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelFileError: arm.urdf:3: <origin>: xyz="0 nan 0" must be finite numbers, got 'nan'.
    """
    text = element.attributes.get(attribute)
    if text is None:
        if default is None:
            raise fail(element, f"needs the attribute {attribute!r}.")
        return np.array(default, dtype=np.float64)
    values = plain_numbers(text, count)
    if values is None:
        return read_numbers(element, attribute_text(attribute, text), text, count)
    return np.array(values, dtype=np.float64)


def number(element: Element, attribute: str, default: float | None = None) -> float:
    """The one number of an attribute; `default` when it is absent.

    >>> number(Element("mass", {"value": "2.5"}, 3, "arm.urdf"), "value")
    2.5
    """
    if default is not None and attribute not in element.attributes:
        return default
    return float(numbers(element, attribute, 1)[0])


def attribute_text(attribute: str, text: str) -> str:
    """An attribute as it is named in an error."""
    return f'{attribute}="{shorten(text)}"'


def plain_numbers(text: str, count: int | None, largest: float = float_info.max) -> list[float] | None:
    """The numbers in a text, where that is quickly seen; None where `read_floats` has to look, or to refuse.

    Of short ASCII texts without "_", float() reads those of `_NUMBER`, "nan" and "inf", and no others. The sum of the
    sizes is at most `largest`, and so is each of them; with "nan" or "inf" it is not.

    >>> plain_numbers("1 .5 -2e-1", 3), plain_numbers("1 nan", 2), plain_numbers("1 2", 3)
    ([1.0, 0.5, -0.2], None, None)
    """
    if len(text) > _MAX_DIGITS or not text.isascii() or "_" in text:
        return None
    try:
        values = list(map(float, text.split()))
    except ValueError:
        return None
    return values if (count is None or len(values) == count) and sum(map(abs, values)) <= largest else None


def plain_number(text: str, largest: float = float_info.max) -> float | None:
    """The one number in a text, as `plain_numbers` sees it.

    >>> plain_number(" -2e-1 "), plain_number("nan"), plain_number("1 2")
    (-0.2, None, None)
    """
    if len(text) > _MAX_DIGITS or not text.isascii() or "_" in text:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if -largest <= value <= largest else None


def read_numbers(element: Element, what: str, text: str, count: int | None) -> Array:
    """The finite numbers in a text at `element`, as an array; `what` names it in an error."""
    return np.array(read_floats(element, what, text, count), dtype=np.float64)


def read_floats(element: Element, what: str, text: str, count: int | None) -> list[float]:
    """Numbers of a text as a list."""
    parts = text.split() if count is None else text.split(None, count)
    for part in parts[:count]:
        if _NUMBER.fullmatch(part[: _MAX_DIGITS + 1]) is None:
            raise fail(element, f"{what} must be finite numbers, got {shorten(part)!r}.{_hint(part)}")
        if len(part) > _MAX_DIGITS:
            raise fail(element, f"{what}: a number has {len(part)} digits, more than {_MAX_DIGITS}.")
    if count is not None and len(parts) != count:
        got = f"more than {count}" if len(parts) > count else str(len(parts))
        raise fail(element, f"{what} must be {count} number{'s' * (count != 1)}, got {got}.")
    values = [float(part) for part in parts]
    for part, value in zip(parts, values, strict=True):
        if not isfinite(value):
            raise fail(element, f"{what} must be finite numbers, got {part!r}.")
    return values


def _hint(part: str) -> str:
    return " Expand the file with xacro first." if part.startswith(("$", "{")) else ""


# -- paths ---------------------------------------------------------------------------------------------------


def inside(roots: Sequence[Path], text: str, where: Element | str, others: Iterable[str] = ()) -> Path:
    """Location of a path written in a file: inside one of the folders `roots`, or it is refused.

    Links are followed before the place is judged. The first file that exists is taken; when there is none, the place
    where the first folder would have it. The refusal names the folders that are enough for this path and for `others`.

    >>> inside([Path("/models")], "../etc/passwd", "arm.urdf")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelFileError: arm.urdf: the path '../etc/passwd' leads out of the folders that may be read...
    """
    shown = shorten(text)
    if not text.strip() or "\0" in text or len(text) > MAX_PATH:
        raise fail(where, f"the path {shown!r} must be 1 to {MAX_PATH} characters, without NUL.")
    absolute = Path(text).is_absolute()
    if text.startswith("\\") or (PureWindowsPath(text).drive and not absolute):
        raise fail(where, f"the path {shown!r} is absolute, and not of this system; write it relative to the file.")
    try:
        folders = [Path(root).resolve() for root in roots]
        places = [(folder / text).resolve() for folder in folders]
        allowed = [place for place in places if any(place.is_relative_to(folder) for folder in folders)]
        existing = [place for place in allowed if place.is_file()]
    except (OSError, RuntimeError, ValueError) as problem:
        raise fail(where, f"the path {shown!r} cannot be followed: {problem}.") from None
    if not existing and len(allowed) < len(places):
        cure = f"name its folder in mesh_roots, {roots_text(outside_folders(folders, [text, *others]))}"
        if absolute:
            raise fail(where, f"the path {shown!r} is absolute; write it relative to the file, or {cure}.")
        raise fail(
            where,
            f"the path {shown!r} leads out of the folders that may be read: {', '.join(map(str, folders))}; move the "
            f"file inside, or {cure}.",
        )
    return (existing or allowed)[0]


def outside_folders(folders: Sequence[Path], texts: Iterable[str]) -> list[Path]:
    """Further folders that must be readable for paths of a file in the first of `folders`: for each path that leads
    out, the folder it climbs to, or its own where that would be the root of the file system; paths into the other
    folders need none.

    >>> [str(x) for x in outside_folders([Path("/r/scenes")], ["../meshes/a.stl", "b.stl", "/opt/c.stl"])]
    ['/r', '/opt']
    """
    home, needed = folders[0], dict[Path, None]()
    for text in texts:
        if not text.strip() or "\0" in text or "://" in text or len(text) > MAX_PATH or PureWindowsPath(text).drive:
            continue
        place = Path(os.path.normpath(home / text))
        if any(place.is_relative_to(folder) for folder in folders):
            continue
        common = Path(os.path.commonpath([home, place]))
        needed[place.parent if common == Path(common.anchor) else common] = None
    return [x for x in needed if not any(x != y and x.is_relative_to(y) for y in needed)]


def roots_text(folders: Iterable[Path]) -> str:
    """Folders as the argument is written.

    >>> roots_text([Path("/r")])
    "mesh_roots=['/r']"
    """
    return f"mesh_roots={[str(x) for x in folders]!r}"
