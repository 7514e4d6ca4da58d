"""Locations of the files that a model file names: meshes, textures and the like.

They are looked for, never opened, in the folders that may be read: the folder of the model file, those in `mesh_roots`,
and the packages that `package://` names (see `packages`). Links are followed before a location is judged. A name that
leads elsewhere is kept unchanged, and the report says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath

from soacraft.files.packages import Packages
from soacraft.files.xml_tree import MAX_PATH

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://", re.ASCII)
NOT_FOUND = "file not found"
OUTSIDE = "leads out of the folders that may be read, and is not looked for; name its folder in mesh_roots"


@dataclass(frozen=True)
class Spot:
    """Location of a named file: the name that the model keeps, the file if it may be opened, and the fault if not."""

    name: str
    path: Path | None = None
    fault: str = ""


class Places:
    """The folders in which the files that one model file names may be."""

    def __init__(self, home: Path, mesh_roots: Iterable[Path] = ()) -> None:
        self.roots = tuple(Path(folder).resolve() for folder in (home, *mesh_roots))
        self._packages = Packages(self.roots)
        self._known: dict[str, Spot] = {}
        self.elsewhere: dict[Path, None] = {}
        """The folders, other than the model file's own, in which files were found."""

    @property
    def home(self) -> Path:
        """The folder of the model file."""
        return self.roots[0]

    def find(self, text: str) -> Spot:
        """The file that a text names, by its path or as file://, package:// or model://.

        >>> Places(Path("/models")).find("../../etc/passwd").fault.partition(",")[0]
        'leads out of the folders that may be read'
        >>> Places(Path("/models")).find("https://example.org/hand.stl").fault
        'https:// is not fetched'
        """
        if text not in self._known:
            self._known[text] = self._find(text)
        return self._known[text]

    def _find(self, text: str) -> Spot:
        if not text.strip() or "\0" in text or len(text) > MAX_PATH:
            return Spot("", fault=f"names no file: a path has 1 to {MAX_PATH} characters")
        scheme = _SCHEME.match(text)
        if scheme is None:
            return self.first(text, [root / text for root in self.roots])
        rest = text[scheme.end() :]
        if scheme[1] == "file":
            return self.first(text, [root / rest.removeprefix("localhost") for root in self.roots])
        if scheme[1] in ("package", "model"):
            return self._package(text, rest)
        return Spot(text, fault=f"{scheme[1]}:// is not fetched")

    def _package(self, written: str, text: str) -> Spot:
        """package://name/rest is `rest` in the package `name`; without a name, `rest` in one of the folders."""
        package, _, rest = text.partition("/")
        if package in ("", ".", ".."):
            return self.first(written, [root / text.lstrip("/") for root in self.roots])
        places = self._packages.find(package)
        if not places:
            hint = "put the folder that holds it into mesh_roots, ROS_PACKAGE_PATH or AMENT_PREFIX_PATH"
            return Spot(written, fault=f"package {package!r:.80} not found; {hint}")
        return self.first(written, [place / rest for place in places], self._packages.roots(package))

    def first(self, written: str, tries: Sequence[Path], more_roots: Sequence[Path] = ()) -> Spot:
        """The first file that is there and in a folder that may be read; else what is wrong with the first try."""
        if PureWindowsPath(written).drive or written.startswith("\\"):
            return Spot(written, fault=OUTSIDE)
        try:
            places = [each.resolve() for each in tries]
            allowed = [any(place.is_relative_to(root) for root in (*self.roots, *more_roots)) for place in places]
            for place, inside in zip(places, allowed, strict=True):
                if inside and place.is_file():
                    if not place.is_relative_to(self.home):
                        self.elsewhere[place.parent] = None
                    return Spot(self.shown(place), place)
        except (OSError, RuntimeError, ValueError) as problem:
            return Spot(written, fault=f"cannot be followed: {problem}")
        if not allowed[0]:
            return Spot(written, fault=OUTSIDE)
        return Spot(written if "://" in written else self.shown(places[0]), fault=NOT_FOUND)

    def shown(self, place: Path) -> str:
        """A place relative to the model's folder where it is inside it."""
        return place.relative_to(self.home).as_posix() if place.is_relative_to(self.home) else str(place)
