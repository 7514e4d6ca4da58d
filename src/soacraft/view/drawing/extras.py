"""Modules other than numpy that pictures and pages need, imported where they are used (the extra `view`)."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from soacraft.errors import ViewError

_PACKAGES = {"matplotlib": "matplotlib", "PIL": "Pillow", "trimesh": "trimesh", "websockets": "websockets"}


def extra(module: str, what: str) -> Any:
    """A module of the extra `view`; `what` needs it.

    >>> extra("matplotlib.figure", "a chart").Figure.__name__
    'Figure'
    """
    try:
        return import_module(module)
    except ImportError:
        package = _PACKAGES[module.partition(".")[0]]
        raise ViewError(f"{what} needs {package}, which is not installed: pip install 'soacraft[view]'.") from None
