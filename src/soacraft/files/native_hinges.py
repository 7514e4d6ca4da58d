"""A hinge as plain data, as model files have it, and back."""

from __future__ import annotations

from typing import Any

import msgspec

from soacraft.errors import ModelFileError
from soacraft.files import schema
from soacraft.files.native_write import HINGES, hinge_of
from soacraft.model.hinges.base import Hinge

_KINDS = {made: kind for kind, made in HINGES.items()}


def plain_hinge(hinge: Hinge) -> Any:
    """Tables, lists and numbers; a class of the user's own is refused.

    >>> import soacraft as sc
    >>> hinge_from_plain(plain_hinge(sc.Pin((0, 0, 1))))
    Pin(axis=(0, 0, 1))
    """
    return msgspec.to_builtins(hinge_of(hinge, "the hinge"))


def hinge_from_plain(data: Any) -> Hinge:
    """The hinge that `plain_hinge` told."""
    try:
        read = msgspec.convert(data, schema.AnyHinge)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise ModelFileError(f"a hinge cannot be read: {wrong}.") from None
    return _KINDS[type(read)](**msgspec.structs.asdict(read))
