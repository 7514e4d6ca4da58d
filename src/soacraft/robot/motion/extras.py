"""Packages of the extra `plan`, imported when they are first needed."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

from soacraft.errors import StateError


def package(name: str, what: str) -> Any:
    """A module of the extra, or a `StateError` that names it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the package's own source
            return importlib.import_module(name)
    except ImportError as problem:
        raise StateError(
            f"{what} needs the package {name.partition('.')[0]} ({problem}): pip install 'soacraft[plan]'."
        ) from None
