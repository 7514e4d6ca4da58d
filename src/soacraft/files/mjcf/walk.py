"""The walk over the XML: asks the handler of each element, reports it, and collects what MuJoCo is given.

MuJoCo never reads a file: it is given a text made of the elements and attributes that have a handler, one element to a
line. So it reads only checked elements, and a line in its messages leads back to the element of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any
from xml.sax.saxutils import escape

from soacraft.errors import ModelFileError
from soacraft.files.lenient import hinted
from soacraft.files.mjcf.documents import Document, Files
from soacraft.files.mjcf.faults import local
from soacraft.files.mjcf.guards import COSTS, MAX_COST, MAX_TEXT, count_of
from soacraft.files.places import Spot
from soacraft.files.xml_tree import Element, fail, shorten
from soacraft.model import Record, ReportBuilder

CONTAINERS = ("worldbody", "body", "frame", "replicate")
# elements that are known to have no effect on motion
HARMLESS = (
    "visual", "statistic", "size", "asset/texture", "asset/skin", "asset/material", "body/camera", "body/light",
    "body/site", "sensor", "custom", "keyframe", "deformable/skin", "default/texture", "default/material",
    "default/camera", "default/light", "default/site",
)  # fmt: skip


@dataclass
class Given:
    """An element as MuJoCo gets it."""

    tag: str
    attributes: dict[str, str]
    source: Element
    key: str = ""
    children: list[Given] = field(default_factory=list)


_LEFT_OUT = Given("", {}, Element("", {}, 0, ""))


@dataclass(frozen=True)
class MeshFile:
    """A mesh that the file names, and where it is."""

    spot: Spot
    element: Element


@dataclass
class Walk:
    """Data collected from the XML of one model; attached models share `files`, report and lists."""

    document: Document
    files: Files
    report: ReportBuilder
    handlers: Mapping[str, Any]
    meshes: dict[str, MeshFile] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    textures: dict[str, str] = field(default_factory=dict)
    texture_files: dict[str, str] = field(default_factory=dict)
    height_files: dict[int, str] = field(default_factory=dict)
    """The files of height fields, by the identity of their elements."""
    models: dict[str, Given] = field(default_factory=dict)
    gravities: list[Element] = field(default_factory=list)
    opened: tuple[Path, ...] = ()
    meshdir: str = ""
    texturedir: str = ""
    strippath: bool = False
    copies: int = 1
    cost: int = 0
    weights: dict[str, int] = field(default_factory=dict)
    attached: list[tuple[Element, int]] = field(default_factory=list)
    key: str = ""
    carriers: list[str] = field(default_factory=list)
    lenient: bool = False
    told: dict[int, list[int]] = field(default_factory=dict)
    massless: set[int] = field(default_factory=set)
    """Elements of bodies whose mass MuJoCo is given and the model does not have, by identity."""

    def inner(self, document: Document, path: Path) -> Walk:
        """A walk over an attached model: its own folders and counts, the same report and lists."""
        return replace(self, document=document, opened=(*self.opened, path), meshdir="", texturedir="", strippath=False,
                       copies=1, cost=0, weights={}, attached=[], key="", carriers=[])  # fmt: skip

    # -- the walk --------------------------------------------------------------------------------------------

    def run(self) -> Given:
        """Walk over the whole document."""
        self._settle()
        for element, _ in self.document.included:
            self.key = "include"
            self._one(element)
        self.key = "mujoco"
        root = self._one(self.document.root)
        if root is None:
            raise fail(self.document.root, "the root element has no handler.")
        self._children(self.document.root, root, "")
        for element, copies in self.attached:
            weight = self.weights.get(element.attributes.get("model", ""), max(self.weights.values(), default=1))
            self._pay(element, copies * weight)
        return root

    def _one(self, element: Element) -> Given | None:
        handler = self.handlers.get(self.key)
        if handler is None:
            self._ignore(element, self.key)
            return None
        key = self.key
        try:
            attributes = handler(element, self)
        except ModelFileError as problem:
            moves = local(key)
            if moves is None or not self.lenient:
                raise problem if moves is None else hinted(problem) from None
            self.leave_out(element, key, problem.fault, moves)
            return _LEFT_OUT
        return None if attributes is None else Given(element.tag, attributes, element, key)

    def _children(self, element: Element, above: Given | None, parent: str) -> None:
        for child in element.children:
            self.key = key = child_key(parent, child.tag)
            node = self._one(child)
            if key not in self.handlers or node is _LEFT_OUT:
                continue
            if node is not None and above is not None:
                above.children.append(node)
                self._pay(child, self.copies * COSTS.get(key, 1))
                if key == "body/attach":
                    self.attached.append((child, self.copies))
            self._inside(child, node, key)

    def _inside(self, child: Element, node: Given | None, key: str) -> None:
        copies, depth = self.copies, len(self.carriers)
        if key == "replicate":
            self.copies *= count_of(child)
        if key == "body":
            self.carriers.append(child.attributes.get("name", ""))
        self._children(child, node, key)
        self.copies = copies
        del self.carriers[depth:]

    def _pay(self, element: Element, cost: int) -> None:
        """Bound the work; what is repeated or attached counts as often as it is made."""
        self.cost += cost
        if self.cost > MAX_COST:
            most = f"more than {MAX_COST // 9} bodies with a joint and a shape, or as much of other elements"
            raise fail(element, f"makes the model too large to read: {most}.")

    def _ignore(self, element: Element, key: str) -> None:
        dynamic = not any(key == each or key.startswith(each + "/") for each in HARMLESS)
        self.key = key
        self.tell(element, "ignored", note="has no handler", dynamic=dynamic)
        for name in element.attributes:
            self.tell(element, "ignored", name, "its element has no handler", dynamic=dynamic)
        for child in element.children:
            self._ignore(child, child_key(key, child.tag))

    def leave_out(self, element: Element, key: str, why: str, moves: bool) -> None:
        """Report an element and all inside it as ignored, whatever was said of it before."""
        self.report.take_back(self.told.pop(id(element), ()))
        self.tell(element, "ignored", note=why, dynamic=moves, key=key)
        for name in element.attributes:
            self.tell(element, "ignored", name, why, moves, key)
        for child in element.children:
            self.leave_out(child, child_key(key, child.tag), why, moves)

    def tell(
        self, element: Element, status: str, attribute: str = "", note: str = "", dynamic: bool = False, key: str = ""
    ) -> None:
        """Add an entry to the report."""
        where = key or self.key
        number = self.report.add(
            where if where == "mujoco" else f"mujoco/{where}", status, shorten(element.attributes.get("name", "")),
            attribute, note, element.line, element.file, dynamic,
        )  # fmt: skip
        if self.lenient:
            self.told.setdefault(id(element), []).append(number)

    def record(self, element: Element, kind: str, **more: Any) -> None:
        """Keep an element as it is written; numbers become numbers."""
        attributes = {key: value_of(text) for key, text in element.attributes.items() if key != "name"}
        inner = tuple((child.tag, *(f"{k}={v}" for k, v in child.attributes.items())) for child in element.children)
        if inner:
            more["children"] = inner
        self.records.append(Record(kind, element.attributes.get("name", ""), attributes | more))

    # -- files -----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """The folders of assets; the last <compiler> decides."""
        if "compiler" not in self.handlers:
            return
        for element in self.document.root.children:
            if element.tag == "compiler":
                attributes = element.attributes
                self.meshdir = attributes.get("meshdir", attributes.get("assetdir", self.meshdir))
                self.texturedir = attributes.get("texturedir", attributes.get("assetdir", self.texturedir))
                self.strippath = attributes.get("strippath", str(self.strippath).lower()) == "true"

    def asset(self, element: Element, folder: str, attribute: str = "file") -> Spot:
        """Location of a file of the model. It is not opened here.

        As MuJoCo does: in `folder` (meshdir or texturedir) of the main file's folder, or else next to the file in which
        the element is, without `folder`. Then in `mesh_roots`.
        """
        text = element.attributes[attribute].strip()
        if not text:
            return Spot("", fault="names no file")
        if self.strippath:
            text = PurePosixPath(text.replace("\\", "/")).name
        joined = f"{folder.rstrip('/') or folder}/{text}" if folder.strip() and not text.startswith("/") else text
        places = self.document.places
        tries = [places.home / joined, Path(element.file).parent / text]
        tries += [root / each for root in places.roots[1:] for each in (joined, text)]
        return places.first(joined, tries)


def child_key(parent: str, tag: str) -> str:
    """The key of an element's handler: its path below <mujoco>, with all that can hold bodies called "body".

    >>> child_key("frame", "geom"), child_key("body", "body"), child_key("tendon/fixed", "joint")
    ('body/geom', 'body', 'tendon/fixed/joint')
    """
    if tag == "include":
        return tag
    if parent in CONTAINERS:
        return tag if tag in CONTAINERS[1:] else f"body/{tag}"
    if parent == "default" and tag == "default":
        return tag
    return f"{parent}/{tag}" if parent else tag


def value_of(text: str) -> Any:
    """The text of an attribute as a number, numbers, or itself.

    >>> value_of("3"), value_of("0 .5"), value_of("elbow")
    (3.0, (0.0, 0.5), 'elbow')
    """
    try:
        values = tuple(float(part) for part in text.split())
    except ValueError:
        return text
    if not values or not all(abs(x) < float("inf") for x in values):
        return text
    return values[0] if len(values) == 1 else values


def to_text(root: Given, first_line: int, lines: dict[int, Element]) -> str:
    """XML text that starts after `first_line` empty lines, one element to a line; fills in what is on each."""
    out: list[str] = [""] * first_line
    waiting: list[Given | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            out.append(item)
            continue
        for name, text in item.attributes.items():
            if "%" in text:  # MuJoCo 4.0 has a message that it prints with the name as its format
                raise fail(item.source, f"{name}={shorten(text)!r} holds '%', which MuJoCo cannot take; leave it out.")
        attributes = "".join(f' {name}="{_quoted(text)}"' for name, text in item.attributes.items())
        out.append(f"<{item.tag}{attributes}{'' if item.children else '/'}>")
        lines[len(out)] = item.source
        if item.children:
            waiting.append(f"</{item.tag}>")
            waiting.extend(reversed(item.children))
    text = "\n".join(out) + "\n"
    if len(text) > MAX_TEXT:
        raise fail(root.source, f"makes {len(text)} characters for MuJoCo to read, more than {MAX_TEXT}.")
    return text


def _quoted(text: str) -> str:
    return escape(" ".join(text.splitlines()), {'"': "&quot;", "\t": " "})
