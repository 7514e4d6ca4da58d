"""Steps of a sequence: moves, grasps, releases and waits, and how a report tells them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from soacraft.arguments import listed
from soacraft.errors import StateError
from soacraft.model.tree.frames.frame import Frame
from soacraft.robot.studies.study import Column, Flags, Study, Whole
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False)
class Move:
    """Move to coordinates `q` of the robot (nq), {dof: value}, or of a `limb` (nq of it), or with the tip of the limb
    to a `pose` in its base. `duration` in seconds; by default from the limits of velocity, or `speed` of the sequence.
    While loops are closed, dofs that are not named follow.
    """

    q: Any = None
    limb: str | None = None
    pose: Any = None
    free: Any = ()
    duration: float | None = None

    def __str__(self) -> str:
        limb = f"{self.limb!r} " if self.limb else ""
        return f"move {limb}to {'a pose' if self.pose is not None else 'q'}"


@dataclass(frozen=True, eq=False)
class Grasp:
    """Take an object with hands, as `Robot.grasp` does; each hand at most `within` metres from the object's frame."""

    obj: str
    hands: Any
    hinge: Any = None
    within: float | None = None

    def __post_init__(self) -> None:
        one = isinstance(self.hands, str | Frame)
        hands = (self.hands,) if one else tuple(listed(self.hands) or ())
        if not hands:
            raise StateError(f"a grasp of {self.obj!r:.60} takes one hand or more, got {self.hands!r:.60}.")
        object.__setattr__(self, "hands", hands)
        if self.within is not None:
            finite(self.within, (), "within of a grasp", StateError)

    def __str__(self) -> str:
        hands = [x.full_name if isinstance(x, Frame) else x for x in self.hands]
        return f"grasp {self.obj!r} with {', '.join(map(repr, hands))}"


@dataclass(frozen=True, eq=False)
class Ungrasp:
    """Let an object go, from all hands or some."""

    obj: str
    hands: Any = None

    def __str__(self) -> str:
        return f"let {self.obj!r} go"


@dataclass(frozen=True, eq=False)
class Wait:
    """Stay for some seconds."""

    seconds: float

    def __str__(self) -> str:
        return f"wait {self.seconds:g} s"


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(Study, kind="sequence"):
    """Findings about each step; true where all of them can be done. Steps after one that cannot are not checked."""

    robot: str
    steps: Annotated[tuple[str, ...], Column.of("", "steps")]
    ok: Annotated[Flags, Column.of("", "steps")]
    why: Annotated[tuple[str, ...], Column.of("", "steps")]
    """Obstacle to the step; empty where there is none."""
    duration: Annotated[Array, Column.of("s", "steps")]
    clearance: Annotated[Array, Column.of("m", "steps")]
    """The least distance to what may not be touched, where it was looked; NaN without a world."""
    torque: Annotated[Array, Column.of("", "steps")]
    """1 less the largest part of a motor's effort that is used."""
    standing: Annotated[Array, Column.of("m", "steps")]
    """Margin of the robot against falling; NaN without contacts."""
    error: Annotated[Array, Column.of("rad, or lengths of the model", "steps")]
    """Largest distance of a simulated robot from its motion; NaN where it was not simulated."""
    coordinates: Annotated[tuple[str, ...], Column.of("", "coordinates")]
    t: Annotated[Array, Column.of("s", "rows")]
    step: Annotated[Whole, Column.of("", "rows")]
    path: Annotated[Array, Column.of("", "rows", "coordinates")]
    """The motion, row by row; NaN for coordinates that the model does not have during a step."""

    def __bool__(self) -> bool:
        return bool(self.ok.all())

    def table(self) -> Table:
        """A row for each step."""
        head = ("step", "ok", "duration [s]", "clearance [m]", "torque left", "standing [m]", "error", "why")
        columns = (self.steps, self.ok, self.duration, self.clearance, self.torque, self.standing, self.error, self.why)
        return Table(head, list(zip(*columns, strict=True)))

    def __repr__(self) -> str:
        done = f"Sequence of {self.robot!r}: {len(self.steps)} steps, {np.nansum(self.duration):.4g} s"
        if self:
            return f"{done}, all can be done"
        i = int(np.argmin(self.ok))
        return f"{done}; step {i}, {self.steps[i]}, cannot be done: {self.why[i]}"
