"""Packages by their names, as a robot's own tools find them.

In this order: a folder of that name in the model file's folder or in `mesh_roots`, or such a folder itself; an ancestor
of the file with that name or a `package.xml` of that name; packages next to the file's own and in its workspace (the
nearest folder `src` above it); `ROS_PACKAGE_PATH`, also one folder deeper, where several packages are one repository;
and `share/NAME` in `AMENT_PREFIX_PATH`. Of a `package.xml` the name is read, nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

_MANIFEST = "package.xml"
_NAME = re.compile(rb"<name>\s*([^<>\s]+)\s*</name>")
_MOST = 10_000  # folders that are listed


class Packages:
    """The packages around one model file; its folder comes first among the folders that are given."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = folders

    def find(self, name: str) -> list[Path]:
        """The folders of a package, best first."""
        inside = [folder / name for folder in self._folders if (folder / name).is_dir()]
        return list(dict.fromkeys([*inside, *self._own.get(name, []), *self._listed(name), *self._installed(name)]))

    def roots(self, name: str) -> list[Path]:
        """Folders, after those in the arguments, in which the files of a package may be.

        The user's environment names folders that may be read; a package that is not in one of them is such a folder.
        """
        chosen = [path.resolve() for path in (*_paths("ROS_PACKAGE_PATH"), *_paths("AMENT_PREFIX_PATH"))]
        return [*self._own.get(name, []), *(each.resolve() for each in self._next_to(name)), *chosen]

    @cached_property
    def _own(self) -> dict[str, list[Path]]:
        """The folders given and the ancestors of the first, nearest first, by their names as packages."""
        folders: dict[str, list[Path]] = {}
        for folder in (*self._folders, *self._above):
            for name in {folder.name, self._manifests.get(folder, "")} - {""}:
                folders.setdefault(name, []).append(folder)
        return folders

    @cached_property
    def _manifests(self) -> dict[Path, str]:
        """Manifests by folder: the folders of the arguments and the ancestors of the first that have a `package.xml`,
        with the name in it.
        """
        return {each: manifest_name(each) for each in (*self._folders, *self._above) if _has_manifest(each)}

    @cached_property
    def _above(self) -> list[Path]:
        return [*self._folders[0].parents][:-1]

    def _next_to(self, name: str) -> list[Path]:
        """The package of that name in the folder that holds the file's own package, or in its workspace."""
        manifest = next((each for each in (self._folders[0], *self._above) if each in self._manifests), None)
        near = [] if manifest is None else [manifest.parent / name]
        near += [self._workspace[name]] if name in self._workspace else []
        return [each for each in near if _has_manifest(each)]

    @cached_property
    def _workspace(self) -> dict[str, Path]:
        return _packages_in([each for each in self._above if each.name == "src"][:1])

    @cached_property
    def _ros(self) -> dict[str, Path]:
        return _packages_in(_paths("ROS_PACKAGE_PATH"))

    def _listed(self, name: str) -> list[Path]:
        return [*self._next_to(name), *([self._ros[name]] if name in self._ros else [])]

    def _installed(self, name: str) -> list[Path]:
        shares = [prefix / "share" / name for prefix in _paths("AMENT_PREFIX_PATH")]
        return [share for share in shares if share.is_dir()]


def _has_manifest(folder: Path) -> bool:
    return os.path.isfile(os.path.join(folder, _MANIFEST))


def manifest_name(folder: Path) -> str:
    """The name in the `package.xml` of a folder, '' where there is none."""
    try:
        with open(os.path.join(folder, _MANIFEST), "rb") as file:
            match = _NAME.search(file.read(64 * 1024))
    except OSError:
        return ""
    return "" if match is None else match[1].decode("utf-8", "replace")


def _packages_in(folders: Sequence[Path]) -> dict[str, Path]:
    """The packages in folders by name, the first of a name: the folders, what is in them, and one folder deeper."""
    packages: dict[str, Path] = {}
    for count, place in enumerate(_candidates(folders)):
        if _has_manifest(place):
            packages.setdefault(manifest_name(place) or place.name, place)
        if count >= _MOST:
            break
    return packages


def _candidates(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        yield folder
        for child in _inside(folder):
            yield child
            if not _has_manifest(child):
                yield from _inside(child)


def _inside(folder: Path) -> list[Path]:
    """The folders in a folder, in the order of their names."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(each.path) for each in entries if each.is_dir() and not each.name.startswith("."))
    except OSError:
        return []


def _paths(variable: str) -> list[Path]:
    """The folders of an environment variable; relative ones mean nothing and are left out."""
    return [Path(text) for text in os.environ.get(variable, "").split(os.pathsep) if os.path.isabs(text)]
