"""Elements of an SDF file: their values, files that they include, and the line each gets in the report."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files.lenient import hinted
from soacraft.files.places import Places, Spot
from soacraft.files.urdf.reading import LARGEST, flatten, inner
from soacraft.files.xml_tree import Element, fail, read_bytes, read_numbers, read_xml, shorten
from soacraft.model.tree.parts.import_report import ReportBuilder
from soacraft.model.tree.parts.records import Record
from soacraft.spatial import Array, Pose

#: Largest depth of includes, and largest number of includes of one model.
MAX_DEPTH, MAX_INCLUDES = 16, 1000
#: Folders of models that the user's environment names.
PATHS = ("GZ_SIM_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH", "IGN_GAZEBO_RESOURCE_PATH")
_LOOKS = ("visual", "light", "gui", "scene", "enable_wind", "self_collide", "collision", "allow_auto_disable", "audio")


_QUOTES = "\"'"
#: A value in quotes with quotes right behind it.
_STRAY = re.compile(rb"""(=\s*(?:"[^"<>]*"|'[^'<>]*'))["']+(?=[\s/>])""")


class Source:
    """The files of one model: values of elements, and what became of them."""

    def __init__(self, path: Path, mesh_roots: Sequence[Path], lenient: bool) -> None:
        self.file, self.lenient = str(path), lenient
        self.files = Places(path.parent, mesh_roots)
        self.records: list[Record] = []
        named = (each for name in PATHS for each in os.environ.get(name, "").split(os.pathsep))
        self._folders = (*self.files.roots, *(Path(each) for each in named if each))
        self._said: dict[int, tuple[str, str, bool]] = {}
        self._attributes: dict[tuple[int, str], str] = {}
        self._roots: list[Element] = []
        self._includes = 0

    # -- files ---------------------------------------------------------------------------------------------------

    def open(self, path: Path) -> Element:
        """The outermost element of a file, which must be <sdf>."""
        root = self._read(path)
        if root.tag != "sdf":
            raise fail(root, "the root element of an SDF file is <sdf>.")
        self._roots.append(root)
        self.use(root, "version")
        return root

    def _read(self, path: Path) -> Element:
        """The XML of a file; with `lenient` without quotes that stray behind the value of an attribute."""
        data = read_bytes(path)
        try:
            return read_xml(data, str(path))
        except ModelFileError as problem:
            mended = _STRAY.sub(rb"\1", data)
            if mended == data:
                raise
            root = read_xml(mended, str(path))
            if not self.lenient:
                raise hinted(problem) from None
            self.say(root, "repaired", f"{problem}: with lenient it is read without stray quotes")
            return root

    def included(self, uri: Element, open_files: Sequence[Path]) -> tuple[Element, Path]:
        """The <sdf> of a file that an <include> names by its <uri>, and its path."""
        self._includes += 1
        if self._includes > MAX_INCLUDES or len(open_files) > MAX_DEPTH:
            raise fail(uri, f"at most {MAX_INCLUDES} includes, {MAX_DEPTH} deep, are followed.")
        path = self._find(uri, open_files[-1].parent)
        if path in open_files:
            raise fail(uri, f"files include each other in a circle, by way of {path.name!r:.80}.")
        return self.open(path), path

    def _find(self, uri: Element, here: Path) -> Path:
        text = self.text(uri)
        name = text.partition("://")[2] if text.startswith(("model://", "package://", "file://")) else text
        folders = [here, *self._folders] if "://" not in text or text.startswith("file") else self._folders
        for folder in folders:
            root = folder.resolve()
            try:
                spot = (root / name.lstrip("/")).resolve()
                if not spot.is_relative_to(root) or "://" in name or "\0" in name:
                    continue
                if spot.is_dir():
                    spot = (spot / _chosen(spot)).resolve()
                if spot.is_file() and spot.is_relative_to(root):
                    return spot
            except (OSError, ValueError, RuntimeError):
                continue
        raise fail(
            uri,
            f"{shorten(text)!r} is not found next to the file, in mesh_roots or in {', '.join(PATHS[:2])}; "
            "put the folder that holds the model into mesh_roots.",
        )

    def asset(self, uri: Element) -> Spot:
        """The file that an element names: next to the file it is in, which may be an included one, or as `Places` has
        it."""
        text, here = self.text(uri), Path(uri.file).resolve().parent
        if "://" in text or here == self.files.home or not text:
            return self.files.find(text)
        return self.files.first(text, [folder / text for folder in (here, *self.files.roots)], [here])

    # -- values --------------------------------------------------------------------------------------------------

    def text(self, element: Element) -> str:
        """The text of an element."""
        self.use(element)
        return element.text.strip()

    def child(self, element: Element, tag: str) -> Element | None:
        """The one child with a tag, None where there is none; a second is refused."""
        here = [each for each in element.children if each.tag == tag]
        if len(here) > 1:
            raise fail(here[1], f"occurs twice in {element!r} (line {element.line}); leave one.")
        return here[0] if here else None

    def numbers(self, element: Element, count: int) -> Array:
        """The numbers in the text of an element."""
        text = self.text(element)
        if any(quote in text for quote in _QUOTES):
            problem = fail(element, f"the text {shorten(text)!r} holds a stray quote; take it out.")
            if not self.lenient:
                raise hinted(problem)
            text = text.strip(_QUOTES)
            self.say(element, "repaired", f"{problem.fault} With lenient it is {shorten(text)!r}")
        values = read_numbers(element, f'the text "{shorten(text)}"', text, count)
        if np.abs(values).max(initial=0.0) > LARGEST:
            raise fail(element, f"{shorten(text)} is too large; at most {LARGEST:g} can be worked with.")
        return values

    def number(self, element: Element, tag: str, default: float) -> float:
        """The number in a child, or a default."""
        child = self.child(element, tag)
        return default if child is None else float(self.numbers(child, 1)[0])

    def attribute(self, element: Element, name: str, default: str = "") -> str:
        """An attribute; it is marked as used."""
        self.use(element, name)
        return element.attributes.get(name, default).strip()

    def name(self, element: Element) -> str:
        """The name of an element, which it must have."""
        name = self.attribute(element, "name")
        if not name or "::" in name:
            raise fail(element, f'needs a name="..." without "::"; got {shorten(name)!r}.')
        return name

    def pose(self, element: Element | None) -> Pose:
        """x y z roll pitch yaw, or with rotation_format="quat_xyzw" x y z and a quaternion; none is the identity."""
        if element is None or not (element.text.strip()):
            if element is not None:
                self.use(element)
            return Pose()
        quaternion = self.attribute(element, "rotation_format") == "quat_xyzw"
        degrees = self.attribute(element, "degrees") in ("true", "1")
        x = self.numbers(element, 7 if quaternion else 6)
        if quaternion:
            return Pose.from_quaternion(x[3:] / max(float(np.linalg.norm(x[3:])), 1e-300), x[:3])
        roll, pitch, yaw = (np.deg2rad(x[3:]) if degrees else x[3:]).tolist()
        return Pose.from_rpy(roll, pitch, yaw, translation=x[:3])

    # -- what became of them -------------------------------------------------------------------------------------

    def use(self, element: Element, *attributes: str) -> None:
        """An element, and attributes of it, are in the model."""
        self._said.setdefault(id(element), ("used", "", False))
        self._attributes.update({(id(element), name): "" for name in attributes})

    def say(self, element: Element, status: str, note: str, dynamic: bool = False) -> None:
        """Report an element that is not simply used."""
        self._said[id(element)] = (status, note, dynamic)

    def record(self, element: Element, owner: str, dynamic: bool = False) -> None:
        """Keep an element and all inside it as a record of the model."""
        name = element.attributes.get("name") or owner
        self.records.append(Record(element.tag, name, flatten(element)))
        for each, _ in inner(element, ""):
            self.say(each, "recorded", f"is kept in mb.records as {element.tag!r}, not simulated", dynamic)

    def go_on(self, problem: ModelFileError, element: Element, dynamic: bool = True) -> None:
        """Raise a local fault, or with `lenient` make it a line of the report."""
        if not self.lenient:
            raise hinted(problem) from None
        self.say(element, "ignored", problem.fault, dynamic)

    def report(self) -> ReportBuilder:
        """One line for every element and every attribute of all files."""
        report = ReportBuilder(self.file)
        for root in self._roots:
            for element, path in inner(root, "sdf"):
                moves = not any(part in _LOOKS for part in path.split("/"))
                unknown = ("ignored", "is not read from SDF", moves and not element.children)
                status, note, dynamic = self._said.get(id(element), unknown)
                name = element.attributes.get("name", "")
                report.add(path, status, name, "", note, element.line, element.file, dynamic)
                for attribute in element.attributes:
                    covered = status != "used" or (id(element), attribute) in self._attributes
                    said = (status, note, dynamic) if covered else ("ignored", "is not read from SDF", False)
                    report.add(path, said[0], name, attribute, said[1], element.line, element.file, said[2])
        return report


def _chosen(folder: Path) -> str:
    """The SDF file of a model's folder: the one of the highest version in its model.config, else model.sdf."""
    config = folder / "model.config"
    if not config.is_file():
        return "model.sdf"
    root = read_xml(read_bytes(config), str(config))
    offers = [each for each in root.children if each.tag == "sdf" and each.text.strip()]
    if not offers:
        return "model.sdf"
    return max(offers, key=lambda each: _version(each.attributes.get("version", ""))).text.strip()


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".") if part.isascii() and part.isdigit() and len(part) < 6)
