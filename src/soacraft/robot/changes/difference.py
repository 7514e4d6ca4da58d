"""Differences of two documents of plain data (objects, arrays, texts, numbers), and their application. A document is
any JSON value; numbers are equal where their bits are.

    ["=", value]                        put this in its place
    ["{", {name: difference}, [name]]   of an object: what differs, and what is taken away
    ["[", [name] or null, {name: difference}]   of an array of objects with names: their new order, and what differs
"""

from __future__ import annotations

from typing import Any

import msgspec

from soacraft.errors import ModelFileError

#: Documents of robots have objects in objects to this depth at most.
_DEEP = 24


def difference(old: Any, new: Any) -> list[Any] | None:
    """Difference that turns one document into another; None where they are equal. O(size).

    >>> a = {"bodies": [{"name": "a", "q": [0.0]}, {"name": "b"}], "gravity": [0, 0, -9.81]}
    >>> b = {"bodies": [{"name": "b", "v": [1.0]}, {"name": "a", "q": [0.0]}], "gravity": [0, 0, -9.81]}
    >>> difference(a, b)
    ['{', {'bodies': ['[', ['b', 'a'], {'b': ['{', {'v': ['=', [1.0]]}, []]}]}, []]
    >>> patched(a, difference(a, b)) == b
    True
    """
    if isinstance(old, dict) and isinstance(new, dict):
        inside = {}
        for key, value in new.items():
            if key not in old:
                inside[key] = ["=", value]
            elif (change := difference(old[key], value)) is not None:
                inside[key] = change
        gone = [key for key in old if key not in new]
        if [*(key for key in old if key in new), *(key for key in new if key not in old)] != list(new):
            return ["=", new]  # in another order
        return ["{", inside, gone] if inside or gone else None
    before, after = _named(old), _named(new)
    if before is not None and after is not None and before and after:
        items = {}
        for name, value in after.items():
            change = difference(before[name], value) if name in before else ["=", value]
            if change is not None:
                items[name] = change
        order = None if list(before) == list(after) else list(after)
        return ["[", order, items] if items or order is not None else None
    return None if msgspec.json.encode(old) == msgspec.json.encode(new) else ["=", new]


def patched(old: Any, change: Any, depth: int = 0) -> Any:
    """The other document; the first is left alone. A change that does not fit it is a `ModelFileError`."""
    if depth > _DEEP:
        raise ModelFileError("changes are nested too deeply; no robot needs that.")
    if isinstance(change, list) and len(change) == 2 and change[0] == "=":
        return change[1]
    if not isinstance(change, list) or len(change) != 3 or change[0] not in ("{", "["):
        raise ModelFileError(f"changes cannot be read: {change!r:.60} is none.")
    kind, first, second = change
    if kind == "{":
        if not isinstance(old, dict) or not isinstance(first, dict) or not isinstance(second, list):
            raise ModelFileError(f"changes do not fit: {old!r:.60} is no object to be changed.")
        gone = {x for x in second if isinstance(x, str)}
        result = {key: value for key, value in old.items() if key not in gone}
        for key, inside in first.items():
            result[key] = patched(result.get(key), inside, depth + 1)
        return result
    items = _named(old)
    if items is None or not isinstance(second, dict) or not (first is None or _texts(first)):
        raise ModelFileError(f"changes do not fit: {old!r:.60} is no array of objects with names.")
    for name, inside in second.items():
        items[name] = patched(items.get(name), inside, depth + 1)
    order = list(items) if first is None else first
    if len(set(order)) != len(order) or any(name not in items for name in order):
        raise ModelFileError("changes do not fit: they order names that are not there, or twice.")
    return [items[name] for name in order]


def _named(value: Any) -> dict[str, Any] | None:
    """The items of an array of objects whose names are all different, by name."""
    if not isinstance(value, list | tuple):
        return None
    items: dict[str, Any] = {}
    for x in value:
        name = x.get("name") if isinstance(x, dict) else None
        if not isinstance(name, str) or name in items:
            return None
        items[name] = x
    return items


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, str) for x in value)
