"""`Memory`: a single state of a stepper, to be taken back after an error."""

from __future__ import annotations

from typing import Any, NamedTuple

from soacraft.sim.steppers.lanes import Last
from soacraft.sim.steppers.pushes import Pushes
from soacraft.sim.steppers.states import Snapshot
from soacraft.sim.steppers.switches import SwitchMemory
from soacraft.sim.stride import StepMemory
from soacraft.spatial.checks import Array


class Memory(NamedTuple):
    """All that the next step of one state depends on."""

    states: Snapshot
    origin: int
    u: Array
    pushes: Pushes
    steps: StepMemory
    closures: tuple[Any, ...]
    began: bool
    begins: bool
    switches: SwitchMemory
    last: Last
