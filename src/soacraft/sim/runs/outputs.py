"""Log of rows and checkpoints, which a run writes as it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import msgspec

from soacraft.arguments import read_path
from soacraft.errors import StateError
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.runs.cut import cut_back
from soacraft.sim.runs.log import Log, LogPlace
from soacraft.sim.states.sim_state import SimState


class Keeping(msgspec.Struct, eq=False):
    """A log, which is new or goes on from a place, and what writes checkpoints: called with the state of the run and
    the place in its log, at multiples of `every` nanoseconds and at the end."""

    log: Log | None = None
    goes_on: LogPlace | None = None
    write: Callable[[SimState, LogPlace | None], None] | None = None
    every: int | None = None
    origin: int = 0
    documents: Mapping[str, bytes] = {}
    """Documents of the model and the system for the log."""
    stays_open: bool = False
    """True if another segment follows, in the log and in time: then no checkpoint is written at the end of this."""

    @classmethod
    def of(
        cls,
        log: str | PathLike[str] | None,
        checkpoint: str | PathLike[str] | None,
        every: Any,
        restored: LogPlace | None,
        write: Callable[[SimState, LogPlace | None], None] | None,
        documents: Callable[[], Mapping[str, bytes]],
    ) -> Keeping:
        """Log and checkpoints from the arguments of a run; a log that a restored run had is cut back to the
        checkpoint."""
        if every is not None and checkpoint is None:
            raise StateError(f"checkpoint_every={every!r:.40} needs a file: give checkpoint=, such as 'a.h5'.")
        if checkpoint is not None:
            read_path(checkpoint, "checkpoint=", StateError)
        period = None if every is None else positive_nanoseconds(every, "checkpoint_every")
        opened = None if log is None else Log(log)
        goes_on = None
        if opened is not None and restored is not None and str(opened.path.absolute()) == restored.path:
            cut_back(restored)
            goes_on = restored
        described = {} if opened is None or goes_on is not None else documents()
        return cls(opened, goes_on, write, period, documents=described)

    def due(self, ns: int) -> int | None:
        """The first multiple after a nanosecond."""
        if self.write is None or self.every is None:
            return None
        return self.origin + ((ns - self.origin) // self.every + 1) * self.every
