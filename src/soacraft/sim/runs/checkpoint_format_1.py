"""Checkpoints of format 1, as versions before `SimState` wrote them:

attributes format, versions, sha256 of the data sets in this order; the oldest have no sha256
point      f8    coordinates, velocities, work, continuous states
held_f8    f8    values that components hold, floats one after the other,
held_i8    i8    and integers
document   u1    all the rest as MessagePack
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from soacraft.errors import SoacraftError
from soacraft.files.native import from_json
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.states.named_arrays import unpack
from soacraft.sim.states.sim_state import SimState

#: Names of the data sets, and the kinds of their numbers.
NAMES = {"point": "f", "held_f8": "f", "held_i8": "i", "document": "u"}


class _Memory(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """State of a run but for its arrays."""

    ns: int
    rest: float
    origin: int
    names: list[str]
    length: float | None = None
    longest: float = 0.0
    counts: tuple[int, int] = (0, 0)
    signs: dict[str, float] = {}
    storm: list[int] = []
    events: list[str] = []
    callbacks: list[tuple[int, int]] = []
    turns: dict[str, list[float]] = {}
    kept: list[int] | None = None
    choice: tuple[list[int], bool] | None = None
    going: bool = False
    began: bool = False
    controls: dict[str, float] = {}
    ticks: list[int] = []


class _Document(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Document of a file."""

    kind: str
    memory: _Memory
    held: list[tuple[str, str, list[int]]] = []
    log: LogPlace | None = None
    body: dict[str, Any] = {}


def converted(parts: dict[str, Any]) -> tuple[str, LogPlace | None, dict[str, Any], SimState]:
    """Return kind, place in the log, description and state of the data sets of a file. Raises ValueError or TypeError
    for ones that do not fit together."""
    document = msgspec.msgpack.decode(bytes(parts["document"]), type=_Document)
    memory, body, point = document.memory, document.body, parts["point"]
    nq, nv = _sizes(document.kind, body)
    q, v, work, z = np.split(point, np.minimum(np.cumsum([nq, nv, len(memory.names)]), len(point)))
    state = SimState(
        ns=memory.ns,
        rest=memory.rest,
        origin=memory.origin,
        q=q,
        v=v,
        work=work,
        z=z,
        forces=tuple(memory.names),
        length=memory.length,
        longest=memory.longest,
        counts=memory.counts,
        signs=memory.signs,
        happened=tuple(memory.storm),
        events=tuple(memory.events),
        callbacks=tuple(memory.callbacks),
        closures={name: tuple(x) for name, x in memory.turns.items()},
        independent=None if memory.kept is None else tuple(memory.kept),
        embedding=None if memory.choice is None else (tuple(memory.choice[0]), memory.choice[1]),
        within=memory.going,
        began=memory.began,
        controls=memory.controls,
        ticks=tuple(memory.ticks),
        held=unpack(document.held, parts["held_f8"], parts["held_i8"]),
    )
    return document.kind, document.log, body, state


def _sizes(kind: str, body: dict[str, Any]) -> tuple[int, int]:
    """Return the numbers of coordinates and velocities of the models of a checkpoint."""
    try:
        plants = [{"document": body["model"]}] if kind == "propagator" else body["system"]["plants"].values()
        models = [from_json(x["document"].encode(), "the model in it") for x in plants]
    except (SoacraftError, LookupError, TypeError, AttributeError) as wrong:
        raise ValueError(f"its models cannot be read: {type(wrong).__name__}: {wrong}") from None
    return sum(mb.nq for mb in models), sum(mb.nv for mb in models)
