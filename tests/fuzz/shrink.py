"""The smallest file that breaks in the same way, found by taking away what can be taken away."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any
from xml.etree.ElementTree import ParseError, fromstring, tostring

from tests.fuzz.cases import Case

TRIES = 300
_CHANGING = re.compile(r"0x[0-9a-f]+|\d+|'[^']*'|\"[^\"]*\"|`[^`]*`")


def signature(text: str) -> str:
    """What is the same for failures of one cause: the message without its numbers and names."""
    return _CHANGING.sub("#", text)[:120]


def shrink(case: Case, fails: Callable[[Case], bool], tries: int = TRIES) -> Case:
    """Take away files, then parts of each file, as long as the case still fails."""
    left = tries
    for name in [name for name in case.files if name != case.main]:
        smaller = Case({k: v for k, v in case.files.items() if k != name}, case.main, case.options)
        left -= 1
        if fails(smaller):
            case = smaller
    for name in case.files:
        shrunk = True
        while shrunk and left > 0:
            shrunk = False
            for data in _smaller(case.files[name]):
                left -= 1
                smaller = Case({**case.files, name: data}, case.main, case.options)
                if fails(smaller):
                    case, shrunk = smaller, True
                    break
                if left <= 0:
                    break
    return case


def _smaller(data: bytes) -> Iterator[bytes]:
    """The file with something less: elements or attributes, members, or lines; large parts first."""
    try:
        root = fromstring(data)
    except (ParseError, ValueError, UnicodeDecodeError):
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            yield from _fewer_lines(data)
        else:
            yield from _fewer_members(document)
    else:
        yield from _fewer_elements(root)


def _fewer_elements(root: Any) -> Iterator[bytes]:
    parents = [(parent, child) for parent in root.iter() for child in parent]
    parents.sort(key=lambda pair: -sum(1 for _ in pair[1].iter()))
    for parent, child in parents:
        at = list(parent).index(child)
        parent.remove(child)
        yield tostring(root)
        parent.insert(at, child)
    for element in list(root.iter()):
        for name in list(element.attrib):
            kept = element.attrib.pop(name)
            yield tostring(root)
            element.set(name, kept)


def _fewer_members(document: Any) -> Iterator[bytes]:
    for holder_path, key in sorted(_members(document, ()), key=lambda place: len(place[0])):
        smaller = deepcopy(document)
        holder = smaller
        for step in holder_path:
            holder = holder[step]
        del holder[key]
        yield json.dumps(smaller).encode()


def _members(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in pairs:
        yield path, key
        yield from _members(each, (*path, key))


def _fewer_lines(data: bytes) -> Iterator[bytes]:
    lines = data.splitlines(keepends=True)
    size = len(lines)
    while size >= 1:
        for at in range(0, len(lines), size):
            yield b"".join(lines[:at] + lines[at + size :])
        size //= 2
    for at in range(0, len(data), max(1, len(data) // 40)):
        yield data[:at] + data[at + max(1, len(data) // 40) :]
