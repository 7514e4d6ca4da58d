"""Names of meshes and textures in a file that is written: they lead to the same files from its folder."""

from __future__ import annotations

from os.path import isabs, normpath, relpath
from pathlib import Path, PureWindowsPath


def is_relative(name: str) -> bool:
    """True for a name relative to the folder of a model: no absolute path, and none with a scheme such as package://.

    >>> is_relative("meshes/a.stl"), is_relative("package://arm/a.stl"), is_relative("/opt/a.stl"), is_relative("")
    (True, False, False, False)
    """
    return bool(name) and "://" not in name and not isabs(name) and not PureWindowsPath(name).drive


def folder_of(file: Path) -> Path:
    """The folder of a file that is to be written, links followed; one that cannot be is refused when it is written."""
    try:
        return file.resolve().parent
    except (OSError, RuntimeError, ValueError):
        return file.parent


def written_name(name: str, home: Path | None, folder: Path) -> str:
    """A name that is relative to `home`, as a file in `folder` writes it; package:// and the like stay.

    >>> written_name("meshes/a.stl", Path("/robots/arm"), Path("/robots/copies"))
    '../arm/meshes/a.stl'
    >>> written_name("package://arm/a.stl", Path("/robots/arm"), Path("/robots/copies"))
    'package://arm/a.stl'
    """
    if is_relative(name):
        if home is None or home == folder:
            return name
        name = str(home / name)
    elif not isabs(name):
        return name
    try:
        return Path(relpath(name, folder)).as_posix()
    except ValueError:  # on another drive
        return name


def whole_name(name: str, home: Path | None) -> str:
    """Absolute path of a name, whichever folder it is relative to.

    >>> whole_name("../a.stl", Path("/robots/arm"))
    '/robots/a.stl'
    """
    return normpath(home / name) if home is not None and is_relative(name) else name
