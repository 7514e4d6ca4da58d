"""`RunState`: the state of a run under way, as one value; each part of the loop takes one and gives the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from soacraft.model.states.state import State
from soacraft.sim.clock import Instant
from soacraft.sim.events import UNSEEN, Signs
from soacraft.sim.stride import StepMemory
from soacraft.spatial.checks import Array

#: A time before all others, in nanoseconds.
BEFORE_ALL = -(2**63)
#: Steps that are taken before events are looked for in them: at first, and at most.
AHEAD = (4, 256)


class RunState(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """State of a run at an instant: all of it that the loop changes. `SimState` is what of it the next step depends on,
    in terms that another process understands."""

    now: Instant
    steps: StepMemory
    x: Array = np.zeros(0)
    """Point of the problem; empty before the first run."""
    w: Array = np.zeros(0)
    """Rates there, from this instant on."""
    signs: Signs = UNSEEN
    """Signs of the functions of events."""
    calls: tuple[int, ...] = ()
    """Nanoseconds of the next calls of callbacks; those that were added since are due when they were added."""
    due: int | None = None
    """Nanosecond from which a checkpoint is due."""
    ahead: int = AHEAD[0]
    """Number of steps that are taken before events are looked for in them."""
    doubtful: int = BEFORE_ALL
    """Nanosecond up to which steps are taken in Python, which says what is wrong."""
    ticked: tuple[int, Any] | None = None
    """Nanosecond of the last tick of components, and their values before it."""
    jumped: int = BEFORE_ALL
    """Nanosecond at which components jumped last."""
    lost: bool = False
    """True where components have jumped beyond the last row of a run that failed: there is no going on."""
    stopped: str = ""
    """Name of the event that ends the run."""
    seen: State | None = None
    """State of the model when it was left at the end of a run."""
    rates: tuple[Array, object] | None = None
    """Rates with which the next step of a run that was restored begins, and an account of what acted then."""
    work: Mapping[str, float] = {}
    """Work of each force at the end of a run, {force: work}: the next run may have others."""

    @property
    def t(self) -> float:
        """Time in seconds."""
        return self.now.seconds
