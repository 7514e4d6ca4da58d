"""Rules by which a handler reports an element and each of its attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING

from soacraft.files.mjcf.guards import require_numbers
from soacraft.files.xml_tree import Element

if TYPE_CHECKING:
    from soacraft.files.mjcf.walk import Walk

_NOTHING = {"", "false", "disable", "none", "auto", "default"}


def acts(text: str) -> bool:
    """True if a value has an effect: not zeros, "false" or "disable".

    >>> acts("0 0.0"), acts("false"), acts("0 0.1")
    (False, False, True)
    """
    if text.strip().lower() in _NOTHING:
        return False
    try:
        return any(float(part) != 0.0 for part in text.split())
    except ValueError:
        return True


_LOOKS = {"rgba": 4} | dict.fromkeys("emission specular shininess reflectance metallic roughness".split(), 1)


def looks_wrong(name: str, text: str) -> bool:
    """True if an attribute of looks has other numbers than it should: it refuses no model.

    >>> looks_wrong("rgba", "1 0 0"), looks_wrong("rgba", "1 0 0 1"), looks_wrong("mass", "nan")
    (True, False, False)
    """
    if name not in _LOOKS:
        return False
    try:
        values = [float(part) for part in text.split()]
    except ValueError:
        return True
    return len(values) != _LOOKS[name] or not all(map(isfinite, values))


@dataclass(frozen=True)
class Fate:
    """Fate of an attribute: its status ('' when that is reported later), and whether it would change the motion."""

    status: str
    dynamic: bool = False
    given: bool = True


_WHY = {
    Fate("ignored", given=False): "has no effect on motion",
    Fate("ignored"): "has no effect on motion",
    Fate("ignored", dynamic=True, given=False): "is not simulated",
    Fate("recorded", dynamic=True): "is kept, not simulated",
    Fate("recorded", dynamic=True, given=False): "is kept, not simulated",
}
"""The note of an attribute whose handler says no more."""


@dataclass(frozen=True)
class Rule:
    """A handler: reports an element and its attributes, and answers which attributes MuJoCo is given.

    None for an element that MuJoCo is not given. `before` checks, records, and may change what is given.
    """

    status: str
    fates: Mapping[str, Fate]
    rest: Fate | None = None
    given: bool = True
    note: str = ""
    dynamic: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[Element, Walk], Mapping[str, str | None] | None] | None = None

    def __call__(self, element: Element, walk: Walk) -> dict[str, str] | None:
        """Report the element; the attributes for MuJoCo."""
        changes = (self.before(element, walk) if self.before else None) or {}
        walk.tell(element, self.status, note=self.note, dynamic=self.dynamic)
        attributes: dict[str, str] = {}
        for name, text in element.attributes.items():
            fate = self.fates.get(name, self.rest)
            if fate is None:
                walk.tell(element, "ignored", name, "is not known", dynamic=True)
                continue
            if looks_wrong(name, text):
                walk.tell(element, "ignored", name, "is no colour or shine that can be read")
                continue
            if fate.given and self.given:
                require_numbers(element, name, changes.get(name) or text)
            if fate.status:
                note = self.notes.get(name) or (self.note if fate.status == self.status else "") or _WHY.get(fate, "")
                walk.tell(element, fate.status, name, note, dynamic=fate.dynamic and acts(text))
            if fate.given and self.given:
                attributes[name] = text
        for name, change in changes.items():
            if change is None:
                attributes.pop(name, None)
            else:
                attributes[name] = change
        return attributes if self.given else None


def rule(
    status: str = "used",
    *,
    used: str = "",
    converted: str = "",
    recorded: str = "",
    effects: str = "",
    ignored: str = "",
    seen: str = "",
    lost: str = "",
    held: str = "",
    later: str = "",
    rest: str | None = None,
    given: bool = True,
    note: str = "",
    dynamic: bool = False,
    notes: Mapping[str, str] | None = None,
    before: Callable[[Element, Walk], Mapping[str, str | None] | None] | None = None,
) -> Rule:
    """A handler from lists of attribute names.

    `effects` are recorded and would change the motion, `lost` are ignored and would. What is `held` or ignored is not
    given to MuJoCo; what is `seen` is ignored by us alone. What is `later` is reported once more is known. `rest` is
    the status of all other attributes; without it they are ignored as not known.

    >>> found = rule(used="name pos", effects="gravcomp", held="pos").fates
    >>> found["gravcomp"], found["pos"].given
    (Fate(status='recorded', dynamic=True, given=True), False)
    """
    kinds = (
        (used, "used", False), (converted, "converted", False), (recorded, "recorded", False),
        (effects, "recorded", True), (ignored, "ignored", False), (lost, "ignored", True),
        (seen, "ignored", False),
        (later, "", False),
    )  # fmt: skip
    hold = set(held.split())
    fates = {
        name: Fate(kind, acting, (kind != "ignored" or names is seen) and name not in hold)
        for names, kind, acting in kinds
        for name in names.split()
    }
    other = None if rest is None else Fate(rest)
    return Rule(status, fates, other, given, note, dynamic, dict(notes or {}), before)
