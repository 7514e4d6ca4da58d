"""`StepperSetup`: what a stepper was made with, for all that moves its states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soacraft.sim.acting import Acting
from soacraft.sim.integrators.steps import Method


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class StepperSetup:
    """Constant description of the motion of a stepper."""

    acting: Acting
    method: Method
    rtol: float
    step: int | None
    """Nanoseconds of a fixed step, or of the largest first one."""
    longest: float
    """Seconds of the longest step of an adaptive method."""
    now: int
    """Nanosecond of the start."""
    names: Sequence[str]
    """Names of the controls that are driven."""
    states: int | None
    """Number of states of a batch; None of a single state."""
    threads: int
    parameters: Any
    """Parameters that differ from state to state; None where all have those of the model."""
    keeps: bool
    """True if the other states go on where one fails."""

    @property
    def is_batch(self) -> bool:
        """True for several states."""
        return self.states is not None
