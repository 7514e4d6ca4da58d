"""Damage to JSON that keeps it JSON, and to the numbers and names in it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.fuzz import values

_JUNK: tuple[Any, ...] = (
    None, True, False, 0, -0.0, 1, -1, 2**63, 2**64, 2**80, -(2**70), 10**400, 0.5, 1e-320, 1e100, 1e155, 1e200, 1e308,
    -1e308, float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], [1, 2, 3], [0, 0, 0], [1e200] * 3,
    [1e308, 0, 0], [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0] * 3] * 3, [1] * 6, [0, 0, 0, 1], [1] * 1000, {"": 1},
    {"kind": "Free"}, {"kind": "Pin", "axis": [0, 0, 1]}, {"kind": "Screws", "screws": [[0, 0, 1, 0, 0, 0]]},
    {"kind": "Screws", "screws": []}, {"kind": "Gimbal", "axes": [[1, 0, 0]] * 3}, {"kind": "Weld"},
    {"kind": "Universal", "axis": [1, 0, 0], "axis2": [1, 0, 0]}, {"kind": "Spherical"}, {"kind": "Planar"},
    {"kind": "Helical", "axis": [1, 0, 0], "pitch": 1e200}, {"kind": "RollingBall", "radius": 1, "normal": [0, 0, 1]},
    "soacraft-model/1", "soacraft-model/2", "box", "mesh", "plane", "both", "used", "ignored",
)  # fmt: skip


def damaged(rng: Random, data: bytes) -> bytes:
    """A file with one to a few changes."""
    document = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 4))):
        _hurt(document, rng)
    text = json.dumps(document, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        other = rng.choice(('"name": "a", "name"', '"namé"', '"\\u006eame"'))
        text = text.replace('"name"', other, rng.randrange(1, 4))
    return text.encode("utf-8", "surrogatepass")


def _hurt(document: Any, rng: Random) -> None:
    holder, key = _place(document, rng)
    if key is None:
        return
    kind = rng.random()
    if kind < 0.12:
        del holder[key]
    elif kind < 0.60:
        holder[key] = _junk(document, rng, holder[key])
    elif kind < 0.70:
        other, place = _place(document, rng)
        if place is not None:
            holder[key] = _copy(other[place])
    elif kind < 0.78:
        _another(holder, key, rng)
    elif kind < 0.9:
        _swap(document, holder, key, rng)
    else:
        _grow(holder, key, rng)


def _place(document: Any, rng: Random) -> tuple[Any, Any]:
    """A random place: deep ones as often as those near the top."""
    holder, stop = document, rng.choice((0.1, 0.25, 0.6))
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return holder, None
        key = rng.choice(keys)
        if not isinstance(holder[key], dict | list) or not holder[key] or rng.random() < stop:
            return holder, key
        holder = holder[key]


def _junk(document: Any, rng: Random, given: Any) -> Any:
    """Something else, more often than not of the same type."""
    kind = rng.random()
    if isinstance(given, str) and kind < 0.7:
        return rng.choice(_names(document)) if kind < 0.4 else rng.choice(values.TEXTS)
    if isinstance(given, float | int) and kind < 0.8:
        return given * rng.uniform(-3, 3) if kind < 0.3 and abs(given) < 1e300 else _number(rng)
    if isinstance(given, list) and kind < 0.4:
        return [_number(rng) for _ in given] if given and isinstance(given[0], float | int) else given[:-1]
    return _copy(rng.choice(_JUNK))


def _number(rng: Random) -> float:
    try:
        return float(values.number(rng))
    except ValueError:
        return rng.choice((0.0, 1.0, -1.0))


def _names(document: Any) -> list[str]:
    bodies = document.get("bodies") if isinstance(document, dict) else None
    named = [body.get("name") for body in bodies if isinstance(body, dict)] if isinstance(bodies, list) else []
    return [*(name for name in named if isinstance(name, str)), "inertial", ""]


def _another(holder: Any, key: Any, rng: Random) -> None:
    """The same once more, in a list or under another name."""
    if isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), _copy(holder[key]))
    else:
        name = rng.choice((*holder, "kind", "q", "children", "nodes", "attributes", "name", "x", ""))
        holder[name] = _copy(holder[key])


def _swap(document: Any, holder: Any, key: Any, rng: Random) -> None:
    """Two values change places, unless one holds the other."""
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    other = rng.choice(keys)
    holder[key], holder[other] = holder[other], holder[key]


def _grow(holder: Any, key: Any, rng: Random) -> None:
    """Much more of it, or much deeper."""
    kind, given = rng.randrange(4), holder[key]
    if kind == 0 and isinstance(given, list):
        holder[key] = [_copy(each) for each in given * rng.choice((2, 10))]
    elif kind == 1 and isinstance(given, str):
        holder[key] = given * rng.choice((2, 100))
    else:
        for _ in range(rng.choice((1, 1, 2, 30, 150))):
            given = [given] if kind % 2 else {"a": given}
        holder[key] = given


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))
