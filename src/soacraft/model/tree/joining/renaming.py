"""`Renaming`: the names of one model in another one, also where attributes of its parts mention them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from soacraft.model.flat.layout import dofs_of
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.parts.gears import DEPENDENT
from soacraft.model.tree.parts.records import Attributes

#: The attributes, of what files said, that name other parts of the model.
REFERENCES = frozenset(
    """joint jointinparent joint1 joint2 body body1 body2 geom geom1 geom2 site site1 site2 tendon tendon1 tendon2
    target cranksite slidersite refsite sidesite camera actuator objname refname joints path link link1 link2 links
    chains group groups parent_group parent child parent_link child_link base_link tip_link joint_name reference
    name"""
    .split()
) | {DEPENDENT}  # fmt: skip


class Renaming:
    """New names for the parts of a model.

    `new(name)` is that of a body, a hinge, a loop or any other named part. Attributes keep their values, except that
    texts under the names in `REFERENCES` that `mentions` knows as names become the new ones. With a `folder`, names of
    files are relative to it.
    """

    def __init__(
        self, new: Callable[[str], str], mentions: Callable[[str], bool], folder: Path | None = None
    ) -> None:
        self.new, self._mentions, self._folder = new, mentions, folder

    def file(self, text: str) -> str:
        """The name of a mesh or texture: its whole path where the other model has another folder for names."""
        if self._folder is None or not text or "://" in text:
            return text
        return str(self._folder / text)

    def attributes(self, given: Attributes) -> dict[str, Any]:
        """Attributes with the names they mention new.

        >>> Renaming("left_".__add__, {"elbow"}.__contains__).attributes({"joint": "elbow", "class": "elbow"})
        {'joint': 'left_elbow', 'class': 'elbow'}
        """
        return {key: self._told(x) if _refers(key) else self._inner(x) for key, x in given.items()}

    def _told(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self._told(x) for x in value)
        return self.new(value) if isinstance(value, str) and self._mentions(value) else value

    def _inner(self, value: Any) -> Any:
        """Elements inside, as ('site', 'site=tip'): a tag and its attributes as texts."""
        if isinstance(value, tuple):
            return tuple(self._inner(x) for x in value)
        key, equal, text = value.partition("=") if isinstance(value, str) else ("", "", "")
        return f"{key}={self._told(text)}" if equal and _refers(key) else value


def mentioned(given: Attributes) -> Iterator[str]:
    """The texts in attributes that may be names of other parts."""
    for key, value in given.items():
        yield from _texts(value, _refers(key))


def _texts(value: Any, refers: bool) -> Iterator[str]:
    if isinstance(value, tuple):
        for x in value:
            yield from _texts(x, refers)
    elif isinstance(value, str):
        key, equal, text = value.partition("=")
        if refers:
            yield value
        elif equal and _refers(key):
            yield text


def _refers(key: str) -> bool:
    return key.rpartition("/")[2].rpartition("@")[2] in REFERENCES


def names_of(mb: AttachedModel, records: bool = True) -> set[str]:
    """The names of all parts of a model, nodes and shapes by their own; of records too, unless told otherwise."""
    parts = mb._attachments
    known = {*mb._tree.bodies, *mb._tree.hinges, *(node.name for node in mb._tree.nodes.values())}
    for carrier in (mb.root, *mb._tree.bodies.values()):
        known.update(carrier._geometries)
    for body in mb._tree.bodies.values():
        known.update(dofs_of(body))
    for each in (parts.loops, parts.couplings, parts.tendons, parts.springs, parts.bushings, parts.actuators):
        known.update(each)
    known |= {*parts.materials, *parts.keyframes}
    return known | {record.name for record in parts.records if record.name and records}
