"""The XML files of a model: the main one, what it includes, and the models it attaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from soacraft.errors import ModelFileError
from soacraft.files.lenient import hinted
from soacraft.files.places import Places
from soacraft.files.xml_tree import MAX_DEPTH, Element, fail, inside, read_bytes, read_xml, word

MAX_FILES = 500
MAX_ELEMENTS = 500_000


@dataclass
class Files:
    """Limits of reading, and the count of what was read so far."""

    mesh_roots: tuple[Path, ...] = ()
    includes: bool = True
    count: int = 0
    elements: int = 0
    lenient: bool = False
    absent: list[tuple[Element, str]] = field(default_factory=list)
    """Includes that could not be read, and why."""

    def read(self, path: Path, where: Element | str) -> Element:
        """The root element of one XML file; the whole model is bounded, not each file alone."""
        self.count += 1
        if self.count > MAX_FILES:
            raise fail(where, f"the model is made of more than {MAX_FILES} files.")
        root = read_xml(read_bytes(path), str(path))
        self.elements += sum(1 for _ in root.iterate())
        if self.elements > MAX_ELEMENTS:
            raise fail(where, f"the files of the model have more than {MAX_ELEMENTS} elements.")
        return root


@dataclass
class Document:
    """One MJCF model with its includes put in place, and where its other files are."""

    root: Element
    folder: Path
    mesh_roots: tuple[Path, ...] = ()
    included: list[tuple[Element, Path]] = field(default_factory=list)

    @property
    def roots(self) -> list[Path]:
        """The folders that files of this model may come from."""
        return [self.folder, *self.mesh_roots]

    @property
    def texts(self) -> list[str]:
        """The paths of all files that it names, as far as its includes are in place; O(elements)."""
        folders = [""]
        for element in self.root.children:
            if element.tag == "compiler":
                folders += [x for key, x in element.attributes.items() if key in ("assetdir", "meshdir", "texturedir")]
        files = [x.attributes["file"] for x in self.root.iterate() if "file" in x.attributes]
        return [f"{folder}/{x}" if folder and not x.startswith("/") else x for folder in folders for x in files]

    @cached_property
    def places(self) -> Places:
        """Folders of the files that this model names."""
        return Places(self.folder, self.mesh_roots)


def read_document(path: Path, files: Files, where: Element | str) -> Document:
    """A model file with all its includes; refused when its root is not <mujoco>."""
    root = files.read(path, where)
    if root.tag != "mujoco":
        raise fail(root, "the root element of an MJCF file is <mujoco>.")
    document = Document(root, path.resolve().parent, files.mesh_roots)
    if files.includes:
        _include(root, document, files, path.resolve().parent, (path.resolve(),))
    _require_depth(root)
    return document


def _include(element: Element, document: Document, files: Files, folder: Path, open_files: tuple[Path, ...]) -> None:
    """Put the children of included files in the place of <include>. MuJoCo takes each file once."""
    waiting = [element]
    while waiting:
        parent = waiting.pop()
        children: list[Element] = []
        for child in parent.children:
            if child.tag != "include":
                children.append(child)
                waiting.append(child)
                continue
            try:
                path = _found(child, document, folder)
            except ModelFileError as problem:
                if not files.lenient:
                    raise hinted(problem) from None
                files.absent.append((child, problem.fault))
                continue
            if path in open_files:
                raise fail(child, f"{path.name!r} includes itself.")
            if any(path == seen for _, seen in document.included):
                raise fail(child, f"{path.name!r} is included twice; a file can be included once.")
            document.included.append((child, path))
            inner = files.read(path, child)
            _include(inner, document, files, path.parent, (*open_files, path))
            children += inner.children
        parent.children = children


def _found(element: Element, document: Document, folder: Path) -> Path:
    """An included file: relative to the main file, else to the file that includes it."""
    text, roots = word(element, "file"), document.roots
    path = inside(roots, text, element, document.texts)
    if path.is_file():
        return path
    if folder != roots[0]:
        near = folder / text
        if near.is_file() and any(near.resolve().is_relative_to(root.resolve()) for root in roots):
            return near.resolve()
    raise fail(element, f"the included file {text!r} is not there: {path}.")


def _require_depth(root: Element) -> None:
    """Includes can nest elements deeper than one file may."""
    level, depth = [root], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise fail(level[0], f"elements are nested more than {MAX_DEPTH} deep.")
        level = [child for element in level for child in element.children]


def attached_path(element: Element, document: Document) -> Path:
    """The file of a model that is attached."""
    path = inside(document.roots, word(element, "file"), element, document.texts)
    if not path.is_file():
        raise fail(element, f"the model file {element.attributes['file']!r} is not there: {path}.")
    return path


def existing(path: Path | str) -> Path:
    """The main file, as a path; `ModelFileError` for what is no path."""
    try:
        return Path(path)
    except TypeError:
        raise ModelFileError(f"a model file is given by its path, got {path!r:.60}.") from None
