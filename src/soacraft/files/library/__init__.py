"""Models of real robots that come with soacraft, each with its licence.

`index.json` holds the facts, so that listing the models reads none of them; `NAME.json` a model in the native format;
`licences/` the text of each licence. `scripts/make_library.py` makes them all from the files they came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from soacraft.model import Multibody

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["ModelFacts", "folder", "index", "licence_text", "read"]


@dataclass(frozen=True)
class ModelFacts:
    """One model: its name, its size, what it is, and whose."""

    name: str
    bodies: int
    dofs: int
    loops: int
    couplings: int
    licence: str
    source: str
    description: str


def folder() -> Traversable:
    """Folder of the models."""
    # takes long to load, and only this needs it
    from importlib.resources import files

    return files(__package__)


@cache
def index() -> dict[str, ModelFacts]:
    """The facts of the library's models, by name."""
    # takes long to load, and only this needs it
    import msgspec

    models = msgspec.json.decode(folder().joinpath("index.json").read_bytes(), type=list[ModelFacts])
    return {facts.name: facts for facts in models}


def read(name: str) -> Multibody:
    """A new copy of a model of the library.

    >>> read("panda").nv
    7
    """
    # reading and writing files takes long to load
    from soacraft.files.native import from_json

    return from_json(folder().joinpath(f"{name}.json").read_bytes(), f"library model {name!r}")


def licence_text(name: str) -> str:
    """The licence of a model of the library.

    >>> "Apache License" in licence_text("panda")
    True
    """
    return folder().joinpath("licences", f"{name}.txt").read_text()


def __dir__() -> list[str]:
    return __all__
