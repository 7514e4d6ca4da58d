"""The walk over the elements of a URDF file: who handles each, and the line each gets in the report."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from soacraft.errors import ModelFileError, SoacraftError
from soacraft.files.lenient import hinted
from soacraft.files.places import Places
from soacraft.files.urdf.faults import local, only_looks
from soacraft.files.urdf.motion import changes_motion
from soacraft.files.urdf.parts import Color, Joint, Link, Loop, Motor, Place
from soacraft.files.xml_tree import (
    Element,
    attribute_text,
    fail,
    plain_number,
    plain_numbers,
    read_floats,
    shorten,
    word,
)
from soacraft.model.tree.parts.import_report import USED, Outcome, ReportBuilder, check_status
from soacraft.model.tree.parts.records import Record
from soacraft.spatial import Array, Pose


class placed:
    """Turn what the model refuses into an error with file, line and element.

    A class, for it is entered for every body, and a generator takes three times as long.
    """

    __slots__ = ("_element",)

    def __init__(self, element: Element) -> None:
        self._element = element

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, SoacraftError) and not isinstance(problem, ModelFileError):
            raise fail(self._element, str(problem)) from None


Handler = Callable[["Reading", Element, Any], Any]
DONE = object()
"""Result of a handler when nothing inside its element is left to handle."""
REPORTED = object()
"""Result of a handler that has also reported its element and all inside it."""

LARGEST = 1e100
"""Numbers beyond this overflow in products; no length or mass comes near."""

_DEFAULT = re.compile(r"\$\(optenv\s+\w+\s+([^$()]*)\)", re.ASCII)
_LONGEST = 200
IDENTITY = np.eye(3)
_ZEROS = (0.0, 0.0, 0.0)
_STILL = ("visual", "material", "color", "texture", "collision", "limit", "contact", "sensor", "srdf")


class Reading:
    """All that was read so far from one file, and the report.

    While a handler runs, the attributes it asks for are marked; one it did not ask for shows as ignored.
    """

    def __init__(
        self,
        file: str,
        files: Places,
        handlers: Mapping[str, Handler],
        quiet: Mapping[str, str],
        lenient: bool = False,
        language: str = "URDF",
    ) -> None:
        self.language = language
        self.file, self.files, self.lenient = file, files, lenient
        self.report = ReportBuilder(file)
        self.links: dict[str, Link] = {}
        self.joints: dict[str, Joint] = {}
        self.colors: dict[str, Color] = {}
        self.motors: list[Motor] = []
        self.places: list[Place] = []
        self.loops: list[Loop] = []
        self.records: list[Record] = []
        self.robot = ""
        self.owner = ""
        self._handlers, self._quiet = handlers, quiet
        self._status: Outcome = USED
        self._attributes: dict[str, Outcome] = {}

    # -- the walk --------------------------------------------------------------------------------------------

    def walk(self, element: Element, path: str, target: Any) -> None:
        """Handle an element, report it and its attributes, and go on inside it."""
        handler = self._handlers.get(path)
        if handler is None:
            self.pass_over(element, path)
            return
        self._status, self._attributes = USED, {}
        try:
            below = handler(self, element, target)
        except ModelFileError as problem:
            self.go_on(problem, path)
            self.lines(element, path, "ignored", problem.fault, bool(local(path)))
            return
        if below is REPORTED:
            return
        self.report_now(element, path)
        if below is not DONE:
            outermost = "/" not in path
            for child in element.children:
                if outermost:
                    self.owner = ""
                self.walk(child, under(path, child.tag), below)

    def go_on(self, problem: ModelFileError, path: str) -> None:
        """Raise a fault again, unless it is one to go on from: of what is only looked at, or a local one with lenient.

        The caller then says what became of the element at that path.
        """
        if only_looks(path) or (self.lenient and local(path) is not None):
            return
        kind = path.split("/")[1:2]
        owner = f"{kind[0]} {self.owner!r:.80}" if kind and self.owner else ""
        raise problem if local(path) is None else hinted(problem, owner) from None

    @contextmanager
    def part(self, element: Element, path: str, name: str = "") -> Iterator[None]:
        """Context for an element that one can go on without; a refusal of the model is one of the file."""
        self.owner = name or element.attributes.get("name", "")
        try:
            with placed(element):
                yield
        except ModelFileError as problem:
            self.go_on(problem, path)
            self.later(element, path, "ignored", problem.fault, dynamic=bool(local(path)), name=name)

    def report_now(self, element: Element, path: str) -> None:
        """The lines of the element at hand and its attributes."""
        attributes = self._attributes
        for attribute in element.attributes:
            if attribute not in attributes:
                attributes[attribute] = self._unknown(path, attribute)
        self.report.add_all(path, self.owner, element.line, self._status, element.attributes, attributes)
        if element.text and "" not in attributes:
            note = f"the text {shorten(element.text)!r} means nothing here"
            self.report.add(path, "ignored", self.owner, "", note, element.line)

    def _unknown(self, path: str, attribute: str) -> Outcome:
        quiet = self._quiet.get(f"{path}@{attribute}") or self._quiet.get(attribute)
        if attribute == "xmlns" or attribute.startswith(("xmlns:", "xsi:")):
            quiet = "is about names of elements"
        return "ignored", quiet or f"{self.language} has no such attribute here", quiet is None and moves(path)

    def pass_over(self, element: Element, path: str) -> None:
        """Report an element that nobody handles, and all inside it, as ignored."""
        quiet = self._quiet.get(path) or self._quiet.get(element.tag)
        if element.tag.startswith("xacro:"):
            note = "is left from xacro; expand the file first"
        else:
            note = quiet or f"{self.language} has no such element here"
        self.lines(element, path, "ignored", note, quiet is None and moves(path))

    def lines(self, element: Element, path: str, status: str, note: str, dynamic: bool = False) -> None:
        """One line for an element, for each of its attributes, and for all inside it."""
        name = element.attributes.get("name", self.owner)
        for each, at in inner(element, path):
            acts = dynamic or (status == "recorded" and moves(at) and changes_motion(each))
            self.report.add(at, status, name, "", note, each.line, dynamic=acts)
            for attribute in each.attributes:
                self.report.add(at, status, name, attribute, note, each.line, dynamic=acts)

    def record(self, element: Element, path: str, kind: str) -> object:
        """Keep an element and all inside it as a record of the model."""
        name = element.attributes.get("name") or element.attributes.get("reference") or self.owner
        self.records.append(Record(kind, name, flatten(element)))
        self.lines(element, path, "recorded", f"is kept in mb.records as {kind!r}, not simulated")
        return REPORTED

    def note(self, status: str, note: str, dynamic: bool = False) -> None:
        """Set the report of the present element, when it is not simply used."""
        check_status(status)
        self._status = (status, note, dynamic)

    def mark(self, attribute: str, status: str = "used", note: str = "", dynamic: bool = False) -> None:
        """Set the report of an attribute of the present element; '' for its text."""
        if status == "used" and not note:
            self._attributes[attribute] = USED
        else:
            check_status(status)
            self._attributes[attribute] = (status, note, dynamic)

    def later(
        self,
        element: Element,
        path: str,
        status: str,
        note: str,
        attribute: str = "",
        dynamic: bool = False,
        name: str = "",
    ) -> None:
        """One more line, for something seen only when the whole file is known."""
        name = name or element.attributes.get("name", "")
        self.report.add(path, status, name, attribute, note, element.line, element.file, dynamic)

    # -- attributes of the element at hand -------------------------------------------------------------------

    def floats(
        self,
        element: Element,
        attribute: str,
        count: int,
        default: Sequence[float] | None = None,
        largest: float = LARGEST,
    ) -> Sequence[float]:
        """Numbers of an attribute. Of `$(optenv NAME default)`, which xacro left, the default is taken."""
        self._attributes[attribute] = USED
        text = element.attributes.get(attribute)
        if text is None:
            if default is None:
                raise fail(element, f"needs the attribute {attribute!r}.")
            return default
        values = plain_numbers(text, count, largest)
        if values is not None:
            return values
        values = self._careful(element, attribute, text, count)
        if max(values) > largest or min(values) < -largest:
            what = attribute_text(attribute, text)
            raise fail(element, f"{what} is too large; at most {largest:g} can be worked with.")
        return values

    def _careful(self, element: Element, attribute: str, text: str, count: int) -> list[float]:
        default = _DEFAULT.fullmatch(text.strip()) if "$" in text else None
        if default is not None:
            note = "the default of a substitution left by xacro; the environment is not read"
            self.mark(attribute, "converted", note)
        return read_floats(element, attribute_text(attribute, text), text if default is None else default[1], count)

    def number(self, element: Element, attribute: str, default: float | None = None, largest: float = LARGEST) -> float:
        """The one number of an attribute."""
        text = element.attributes.get(attribute)
        value = None if text is None else plain_number(text, largest)
        if value is not None:
            self._attributes[attribute] = USED
            return value
        return self.floats(element, attribute, 1, None if default is None else (default,), largest)[0]

    def size(self, element: Element, attribute: str, count: int = 1) -> tuple[float, ...]:
        """Lengths: numbers that are not negative."""
        values = self.floats(element, attribute, count)
        if min(values) < 0.0:
            raise fail(element, f'{attribute}="{shorten(element.attributes[attribute])}" must not be negative.')
        return tuple(values)

    def word(self, element: Element, attribute: str, default: str | None = None) -> str:
        """The text of an attribute."""
        self._attributes[attribute] = USED
        return word(element, attribute, default)

    def label(self, element: Element, attribute: str = "name") -> str:
        """The text of an attribute that may be absent or empty."""
        self.mark(attribute)
        return element.attributes.get(attribute, "").strip()

    def pose(self, element: Element) -> Pose:
        """The pose of `xyz` and `rpy`: R = Rz(yaw) Ry(pitch) Rx(roll)."""
        xyz = np.array(self.floats(element, "xyz", 3, _ZEROS))
        if element.attributes.get("rpy") == "0 0 0":  # what most files write most often
            self._attributes["rpy"] = USED
            return Pose.unchecked(IDENTITY, xyz)
        roll, pitch, yaw = self.floats(element, "rpy", 3, _ZEROS)
        if roll == pitch == yaw == 0.0:
            return Pose.unchecked(IDENTITY, xyz)
        return Pose.from_rpy(roll, pitch, yaw, translation=xyz)

    def axis(self, element: Element, of: str, name: str) -> Array:
        """A direction as it is written, not zero; what uses it normalises it."""
        x, y, z = self.floats(element, "xyz", 3, (1.0, 0.0, 0.0))
        if not (x or y or z):
            raise fail(element, f"the axis of {of} {name!r} must not be zero; give a direction such as 0 0 1.")
        if abs(x * x + y * y + z * z - 1.0) > 1e-6:
            self.mark("xyz", "converted", "the axis is normalised")
        return np.array((x, y, z))

    def path(self, element: Element, attribute: str) -> str:
        """A file named in an attribute: relative to the model's folder where it can be. It is never opened."""
        self.mark(attribute)
        spot = self.files.find(element.attributes.get(attribute, ""))
        if attribute not in element.attributes:
            self.note("recorded", "names no file")
        elif spot.fault:
            self.mark(attribute, "recorded", spot.fault)
        return spot.name

    def once(self, target: Any, field: str, element: Element) -> None:
        """Refuse an element that occurs twice where only one can be."""
        if getattr(target, field) is not None:
            raise fail(element, f"occurs twice in {target.element!r} (line {target.element.line}); leave one.")


def moves(path: str) -> bool:
    """True if an unknown element at this path might change the motion: it is not about looks, contact or limits."""
    return not any(part in _STILL for part in path.split("/"))


@lru_cache(4096)
def under(path: str, tag: str) -> str:
    """The path of an element in another; a long one has its middle left out, so that no depth makes it longer.

    >>> under("robot/link", "visual"), len(under("a" * 1000, "b"))
    ('robot/link/visual', 206)
    """
    return f"{path}/{tag}" if len(path) <= _LONGEST else f"{path[:_LONGEST]}/.../{tag}"


def inner(element: Element, path: str) -> Iterator[tuple[Element, str]]:
    """An element and all inside it, with their paths."""
    waiting = [(element, path)]
    while waiting:
        each, at = waiting.pop()
        yield each, at
        waiting.extend((child, under(at, child.tag)) for child in reversed(each.children))


def flatten(element: Element) -> dict[str, str]:
    """The attributes and texts inside an element by their paths.

    >>> from soacraft.files.xml_tree import read_xml
    >>> flatten(read_xml(b"<gazebo reference='hand'><mu1 value='1'/><material>Red</material></gazebo>", "a.urdf"))
    {'@reference': 'hand', 'mu1@value': '1', 'material': 'Red'}
    """
    flat: dict[str, str] = {}
    times: dict[str, int] = {}
    for each, at in inner(element, ""):
        times[at] = times.get(at, 0) + 1
        base = at[1:] if times[at] == 1 else f"{at[1:]}[{times[at]}]"
        flat.update({f"{base}@{key}": value for key, value in each.attributes.items()})
        if each.text:
            flat[base or "text"] = each.text
    return flat
