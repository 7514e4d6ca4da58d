"""Identity of what acts in runs: force elements, functions, models and classes, compared by `soacraft.fingerprint`.

Checkpoints, campaigns and reloading compare what they are given again with what was there; a name is not enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

import msgspec
import numpy as np

from soacraft.errors import SoacraftError
from soacraft.files.native import to_json
from soacraft.fingerprint import Fingerprint, changes, describe_by, fingerprint
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody

#: Entries of fingerprints by what they are of: "force 'wind'", "measure 'end'".
Code = Mapping[str, Mapping[str, str]]

_MODELS: WeakKeyDictionary[Multibody, tuple[tuple[int, int], Any]] = WeakKeyDictionary()
_OF_STATE = ("q", "v", "vdot")
_KEPT = "_fingerprint"


def of_load(load: Any) -> Fingerprint:
    """The fingerprint of a force element as it was before it acted: taken at the first call, and kept with it."""
    stored = getattr(load, "__dict__", {}).get(_KEPT)
    if isinstance(stored, Fingerprint):
        return stored
    taken = fingerprint(load)
    if not callable(load):
        with suppress(AttributeError):  # one with __slots__ is read each time
            setattr(load, _KEPT, taken)
    return taken


def entries_of(prints: Mapping[str, Fingerprint]) -> dict[str, dict[str, str]]:
    """Fingerprints as plain data for a file."""
    return {what: x.entries for what, x in prints.items()}


def difference(then: Code, now: Code) -> str:
    """Differences of all that is in both, in words; empty where there are none.

    >>> difference({"force 'f'": {"GAIN": "2.0"}}, {"force 'f'": {"GAIN": "3.0"}})
    "force 'f': GAIN was 2.0 and is 3.0"
    """
    lines = []
    for what in sorted({*then, *now}):
        if what not in then:
            lines.append(f"{what} was not compared then, or not there")
        elif what not in now:
            lines.append(f"{what} is not there")
        elif then[what] != now[what]:
            lines.append(f"{what}: {changes(then[what], now[what])}")
    more = f"; and {len(lines) - 4} more" if len(lines) > 4 else ""
    return "; ".join(lines[:4]) + more


def _model(mb: Multibody) -> Any:
    """A model without its state: its document, or bodies, hinges and inertias where no file can hold it."""
    version = mb.version, mb.parameters
    if mb not in _MODELS or _MODELS[mb][0] != version:
        try:
            document = msgspec.json.decode(to_json(mb))
            for body in document.get("bodies", []):
                for name in _OF_STATE:
                    body.pop(name, None)
            said: Any = msgspec.json.encode(document)
        except SoacraftError:
            said = [(x.name, x.hinge, x.inertia.matrix()) for x in mb.bodies]
        _MODELS[mb] = version, said
    return _MODELS[mb][1]


def _frame(frame: Frame) -> Any:
    return frame.full_name, frame.graph


def _state(state: State) -> Any:
    return np.array(state.q), np.array(state.v), state.graph


describe_by(Multibody, _model)
describe_by(Frame, _frame)
describe_by(State, _state)
