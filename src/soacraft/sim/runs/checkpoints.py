"""Checkpoints of a propagator: the state of a motion. What acts on the model are functions and objects of a program,
which makes them again; the file has their names, and the model, to refuse others.
"""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from soacraft.errors import CheckpointError, SoacraftError
from soacraft.files.native import from_json, same, to_json
from soacraft.fingerprint import warn_unread
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.identity import Code, difference, entries_of
from soacraft.sim.runs.checkpoint_file import read_checkpoint, write_checkpoint
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.states.sim_state import SimState

if TYPE_CHECKING:
    from soacraft.sim.propagator import Propagator


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Description of a propagator in a checkpoint."""

    made: dict[str, Any]
    """Integrator, tolerance, step, solver, loads, controls and prescribed dofs."""
    model: str
    folder: str = ""
    code: dict[str, dict[str, str]] | None = None
    """Fingerprints of the functions and force elements that act."""


def writer(p: Propagator, path: str | PathLike[str]) -> Callable[[SimState, LogPlace | None], None]:
    """Function that writes checkpoints of a propagator; its model is written out once, and again after it changed."""
    document_of_model: list[tuple[tuple[int, int], str]] = []

    def write(state: SimState, log: LogPlace | None) -> None:
        mb = p.mb
        version = mb.version, mb.parameters
        if not document_of_model or document_of_model[0][0] != version:
            document_of_model[:] = [(version, document(mb, str(path)))]
        folder = "" if mb.mesh_folder is None else str(mb.mesh_folder)
        warn_unread(f"a checkpoint of {mb.name!r}", p.code.values())
        body = Body(made=p.made, model=document_of_model[0][1], folder=folder, code=entries_of(p.code))
        write_checkpoint(path, "propagator", state, msgspec.to_builtins(body), log)

    return write


def document(mb: Multibody, path: str) -> str:
    """A model in the native format, for a checkpoint."""
    try:
        return to_json(mb).decode()
    except SoacraftError as wrong:
        raise CheckpointError(f"the checkpoint {path!r} cannot hold the model {mb.name!r}: {wrong}") from wrong


def documents(mb: Multibody) -> dict[str, bytes]:
    """Documents of a model for a log, if a file can hold it."""
    try:
        return {"model": to_json(mb)}
    except SoacraftError:
        return {}


def read(p: Propagator, path: str | PathLike[str], accept_changes: bool = False) -> tuple[SimState, LogPlace | None]:
    """The state of a checkpoint that is of such a propagator, and where its log was. Functions and force elements that
    are not as they were are refused, unless changes are accepted."""
    stored, state = read_checkpoint(path)
    if stored.kind != "propagator":
        raise CheckpointError(
            f"{str(path)!r} is a checkpoint of a {stored.kind!r:.40}, not of a propagator: restore it with "
            "sc.sim.restore(path)."
        )
    try:
        body = msgspec.convert(stored.body, Body)
    except (msgspec.ValidationError, RecursionError) as wrong:
        raise CheckpointError(f"the checkpoint {str(path)!r} cannot be read, it is damaged: {wrong}.") from None
    settings = msgspec.to_builtins(p.made)
    for name in settings:
        if body.made.get(name) != settings[name]:
            raise CheckpointError(
                f"the checkpoint {str(path)!r} is of another propagator: its {name} is {body.made.get(name)!r:.200}, "
                f"and here it is {settings[name]!r:.200}. Make the propagator as it was made then."
            )
    refuse_foreign(p.mb, body.model, body.folder, str(path))
    refuse_changed(body.code, entries_of(p.code), str(path), "p.restore(path, accept_changes=True)", accept_changes)
    return state, stored.log


def refuse_changed(then: Code | None, now: Code, path: str, line: str, accept: bool) -> None:
    """Raise where functions or force elements are not those of a checkpoint; `line` goes on with them all the same.
    Which of them there are is compared by their names elsewhere. A file of before fingerprints has None."""
    if then is None:
        then = {what: {} for what in now}
    both = then.keys() & now.keys()
    other = "" if accept else difference({x: then[x] for x in both}, {x: now[x] for x in both})
    if other:
        raise CheckpointError(
            f"the checkpoint {path!r} was written with other functions or force elements than those here: {other}. "
            f"Give it those of then; or go on with the ones of now: {line}."
        )


def refuse_foreign(mb: Multibody, text: str, folder: str, path: str) -> None:
    """Raise for a model that is not that of a document; its state does not matter."""
    try:
        then = from_json(text.encode(), f"the model in {path!r}")
    except SoacraftError as wrong:
        raise CheckpointError(f"the checkpoint {path!r} cannot be read, it is damaged: {wrong}") from None
    then.mesh_folder = Path(folder) if folder else None
    if (then.nq, then.nv) == (mb.nq, mb.nv):
        then.set_state(mb.q, mb.v, mb.vdot)
    other = same(then, mb)
    if other:
        differences = "; ".join(map(str, other[:3]))
        raise CheckpointError(
            f"the model {mb.name!r} is not the one of the checkpoint {path!r}: {differences}. Give it the model "
            "of then."
        )
