"""`load` and `models`: the built-in models by name."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any

from soacraft.errors import ModelFileError
from soacraft.files.builtin import BUILTIN
from soacraft.model import Multibody


def load(name: str | PathLike[str]) -> Multibody:
    """A new copy of a built-in model, by its name; `models()` lists them.

    >>> load("arm7")
    Multibody 'arm7': 7 bodies, 7 dofs
    """
    text = _text(name)
    if text in BUILTIN:
        return BUILTIN[text]()
    known = ", ".join(repr(each) for each in BUILTIN)
    path = PurePath(text)
    if path.suffix or len(path.parts) > 1:
        raise ModelFileError(
            f"cannot load {text!r}: reading model files{f' ({path.suffix})' if path.suffix else ''} is not part of "
            f"this version. Build the model with Multibody(...), or load a built-in one: {known}."
        )
    close = get_close_matches(text, BUILTIN, n=2, cutoff=0.5)
    hint = f" Did you mean {' or '.join(repr(each) for each in close)}?" if close else ""
    raise ModelFileError(f"there is no built-in model {text!r}.{hint} There are {known}.")


@dataclass(frozen=True)
class ModelFacts:
    """One built-in model: its name, its size and what it is."""

    name: str
    bodies: int
    dofs: int
    description: str


class ModelTable(tuple[ModelFacts, ...]):
    """Facts about models, printed as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        width = max((len(facts.name) for facts in self), default=4)
        lines = [f"{'name':{width}}  bodies  dofs  description"]
        lines += [f"{x.name:{width}}  {x.bodies:6d}  {x.dofs:4d}  {x.description}" for x in self]
        return "\n".join(lines)


def models() -> ModelTable:
    """The built-in models, as a list that prints as a table.

    >>> [facts.name for facts in models()][:3]
    ['arm7', 'pendulum', 'double_pendulum']
    """
    return ModelTable(_facts(name) for name in BUILTIN)


def _facts(name: str) -> ModelFacts:
    mb = BUILTIN[name]()
    description = (BUILTIN[name].__doc__ or "").splitlines()[0]
    return ModelFacts(name, len(mb), mb.nv, description)


def _text(name: Any) -> str:
    if not isinstance(name, str | PathLike):
        raise ModelFileError(f"a model is loaded by its name, such as load('arm7'); got {name!r}.")
    return str(fspath(name))
