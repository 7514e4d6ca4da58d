"""Folder of the C++ headers, for programs that are built with them."""

from __future__ import annotations

from pathlib import Path

from soacraft.errors import MissingPackageError

__all__ = ["include_dir"]

_PACKAGE = Path(__file__).parents[1]
#: The headers in an installed package, and in a checkout that is installed as editable.
_PLACES = (_PACKAGE / "include", _PACKAGE.parents[1] / "core" / "include")


def include_dir() -> Path:
    """Folder to give a C++ compiler with `-I`: it has `soacraft/multibody.hpp` and the other headers.

    >>> (include_dir() / "soacraft" / "multibody.hpp").is_file()
    True

    From a shell: `c++ -std=c++17 -I"$(soacraft include-dir)" arm.cpp`.
    """
    for place in _PLACES:
        if (place / "soacraft" / "multibody.hpp").is_file():
            return place
    raise MissingPackageError(
        f"the C++ headers are not in {str(_PLACES[0])!r}: this copy of soacraft was installed without them. "
        "Install a wheel."
    )
