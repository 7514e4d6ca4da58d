"""Damage to XML that keeps it XML: values, attributes and elements changed, dropped, doubled, moved or borrowed."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from random import Random
from xml.etree.ElementTree import Element, fromstring, tostring

from tests.fuzz import values
from tests.fuzz.seeds import seeds

from soacraft.files.mjcf.handlers import HANDLERS as MJCF
from soacraft.files.mjcf.rules import Rule
from soacraft.files.urdf.handlers import HANDLERS as URDF

_DEPTHS = (2, 10, 100, 255, 256, 300)


@dataclass(frozen=True)
class Words:
    """The words of a format: tags, attributes with values they have, and elements as text."""

    tags: tuple[str, ...]
    attributes: tuple[str, ...]
    known: dict[str, tuple[str, ...]]
    elements: tuple[bytes, ...]
    places: tuple[tuple[str, tuple[str, ...]], ...]



@cache
def words(kind: str) -> Words:
    """What the seeds and the tables of handlers say."""
    tags: dict[str, None] = {}
    found: dict[str, dict[str, None]] = {}
    elements: dict[bytes, None] = {}
    for seed in seeds(kind):
        for element in fromstring(seed.data).iter():
            tags[element.tag] = None
            for name, value in element.attrib.items():
                found.setdefault(name, {})[value] = None
            if len(text := tostring(element)) < 600:
                elements[text] = None
    handlers = {"urdf": dict(URDF), "mjcf": dict(MJCF)}.get(kind)
    places = _written(kind) if handlers is None else tuple((path, _attributes(x)) for path, x in handlers.items())
    for path, names in places:
        tags[path.rpartition("/")[2]] = None
        for name in names:
            found.setdefault(name, {})
    return Words(tuple(tags), tuple(found), {k: tuple(v) for k, v in found.items()}, tuple(elements), places)


def _written(kind: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The paths of the elements of the seeds, of a format that has no table of handlers."""
    paths: dict[str, tuple[str, ...]] = {}
    waiting = [("", fromstring(seed.data)) for seed in seeds(kind)]
    while waiting:
        above, element = waiting.pop()
        path = f"{above}/{element.tag}".lstrip("/")
        paths[path] = tuple(element.attrib)
        waiting += [(path, child) for child in element]
    return tuple(paths.items())


def _attributes(rule: object) -> tuple[str, ...]:
    return tuple(rule.fates) if isinstance(rule, Rule) else ()


class Damage:
    """One file being damaged."""

    def __init__(self, kind: str, rng: Random, data: bytes) -> None:
        self.rng, self.words = rng, words(kind)
        self.root = fromstring(data)
        self.parents = {child: parent for parent in self.root.iter() for child in parent}
        self.all = list(self.root.iter())

    def done(self) -> bytes:
        """The file as it is now. What XML cannot hold is written all the same."""
        return tostring(self.root, encoding="unicode").encode("utf-8", "surrogatepass")

    def hurt(self) -> None:
        """One change."""
        self.rng.choices(_CHANGES, _WEIGHTS)[0](self)

    # -- parts -----------------------------------------------------------------------------------------------

    def _element(self) -> Element:
        return self.rng.choice(self.all)

    def _dressed(self) -> Element:
        """An element with attributes."""
        for _ in range(8):
            found = self._element()
            if found.attrib:
                return found
        return found

    def _value(self, name: str) -> str:
        """A value for an attribute: bad, or one it has elsewhere, or one that another has."""
        kind, known = self.rng.random(), self.words.known.get(name, ())
        if kind < 0.4 and known:
            return self.rng.choice(known)
        if kind < 0.5:
            return self.rng.choice(self.words.known.get(self.rng.choice(self.words.attributes)) or ("",))
        return values.text(self.rng)

    def _copy(self) -> Element:
        """An element from this file, from another, or one of the format with attributes of its own."""
        kind = self.rng.random()
        if kind < 0.4:
            return deepcopy(self._element())
        if kind < 0.7:
            return fromstring(self.rng.choice(self.words.elements))
        path, names = self.rng.choice(self.words.places)
        chosen = self.rng.sample(names, min(len(names), self.rng.randrange(5)))
        return Element(path.rpartition("/")[2], {name: self._value(name) for name in chosen})

    # -- changes ---------------------------------------------------------------------------------------------

    def value(self) -> None:
        """Another value."""
        element = self._dressed()
        if element.attrib:
            name = self.rng.choice(list(element.attrib))
            element.set(name, self._value(name))

    def digit(self) -> None:
        """One number of several changed."""
        element = self._dressed()
        if element.attrib:
            name = self.rng.choice(list(element.attrib))
            element.set(name, values.one_changed(self.rng, element.attrib[name]))

    def attribute(self) -> None:
        """An attribute more, one less, or one under another name."""
        element, kind = self._dressed(), self.rng.randrange(3)
        if kind and element.attrib:
            name = self.rng.choice(list(element.attrib))
            kept = element.attrib.pop(name)
            if kind == 1:
                element.set(self.rng.choice(self.words.attributes), kept)
        else:
            name = self.rng.choice(self.words.attributes)
            element.set(name, self._value(name))

    def drop(self) -> None:
        """An element less."""
        element = self._element()
        parent = self.parents.get(element)
        if parent is not None and element in list(parent):
            parent.remove(element)

    def insert(self) -> None:
        """An element more."""
        element = self._element()
        element.insert(self.rng.randrange(len(element) + 1), self._copy())

    def fitting(self) -> None:
        """An element more where its kind belongs."""
        path, names = self.rng.choice(self.words.places)
        above, _, tag = path.rpartition("/")
        holders = [x for x in self.all if x.tag == above.rpartition("/")[2]] or [self.root]
        chosen = self.rng.sample(names, min(len(names), self.rng.randrange(6)))
        self.rng.choice(holders).append(Element(tag, {name: self._value(name) for name in chosen}))

    def double(self) -> None:
        """An element twice."""
        element = self._element()
        parent = self.parents.get(element)
        if parent is not None:
            parent.insert(self.rng.randrange(len(parent) + 1), deepcopy(element))

    def move(self) -> None:
        """An element elsewhere."""
        element, other = self._element(), self._element()
        parent = self.parents.get(element)
        if parent is not None and element in list(parent) and other not in list(element.iter()):
            parent.remove(element)
            other.insert(self.rng.randrange(len(other) + 1), element)
            self.parents[element] = other

    def rename(self) -> None:
        """Another tag."""
        self._element().tag = self.rng.choice(self.words.tags)

    def swap(self) -> None:
        """Two elements change their attributes."""
        one, other = self._dressed(), self._dressed()
        for name in set(one.attrib) & set(other.attrib):
            a, b = one.attrib[name], other.attrib[name]
            one.set(name, b)
            other.set(name, a)

    def text(self) -> None:
        """A text where none should be."""
        self._element().text = values.text(self.rng)

    def deep(self) -> None:
        """An element inside itself, many times."""
        element = self._element()
        for _ in range(self.rng.choice(_DEPTHS)):
            inner = Element(element.tag, dict(element.attrib) if self.rng.random() < 0.5 else {})
            element.append(inner)
            element = inner

    def many(self) -> None:
        """An element many times."""
        element = self._element()
        parent = self.parents.get(element)
        if parent is not None and sum(1 for _ in element.iter()) < 20:
            parent.extend(deepcopy(element) for _ in range(self.rng.choice((3, 30, 100))))


_CHANGES: tuple[Callable[[Damage], None], ...] = (
    Damage.value, Damage.digit, Damage.attribute, Damage.drop, Damage.insert, Damage.fitting, Damage.double,
    Damage.move, Damage.rename, Damage.swap, Damage.text, Damage.deep, Damage.many,
)  # fmt: skip
_WEIGHTS = (24, 14, 12, 8, 8, 10, 5, 6, 5, 3, 2, 0.7, 0.7)


def damaged(kind: str, rng: Random, data: bytes) -> bytes:
    """A file with one to a few changes."""
    damage = Damage(kind, rng, data)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        damage.hurt()
    return damage.done()
