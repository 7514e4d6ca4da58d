"""`Carried`: states that a propagator integrates with the coordinates of a model, such as those of components."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from soacraft.sim.breaks import Breaks
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.runs.signals import Columns
from soacraft.spatial.checks import Array


class CompiledCarried(Protocol):
    """Carried states as a plan that compiled steps walk through (`_core.SystemPlan`)."""

    @property
    def width(self) -> int:
        """Numbers of a row of signals."""

    @property
    def weight(self) -> float:
        """Cost of a step without the dynamics, relative to the dynamics of one body."""

    @property
    def motions(self) -> Mapping[str, int]:
        """Places in the plan of the motions that components give, by dof."""

    def begin(self, shapes: Sequence[str] = ()) -> Any:
        """The plan with the values as they are now; None where they are none that it knows. `shapes` are the names of
        those that may touch."""

    def learn(self, which: int) -> None:
        """Tell the plan what happens where some clocks tick together."""

    def end(self) -> None:
        """Have the values as they are now in the plan."""

    def fault(self, raised: BaseException | None) -> BaseException | None:
        """Error that stopped the last step; None if it is to be taken again to find out. `raised` is what an equation
        raised."""


class Carried(Protocol):
    """Components next to a model: continuous states z, forces on the model, ticks, crossings, and signals.

    First `place` is called with a state, then `rates` with the accelerations there. Values stay those of the last call.
    """

    @property
    def is_empty(self) -> bool:
        """True where there are no components (`NoComponents`)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the forces on the model."""

    @property
    def on_nodes(self) -> Sequence[str]:
        """Names of those forces that are wrenches on nodes."""

    @property
    def size(self) -> int:
        """Number of continuous states."""

    @property
    def present(self) -> Array:
        """z where the last run ended, or at the start."""

    @present.setter
    def present(self, z: Array) -> None: ...

    @property
    def obstacle(self) -> str:
        """Reason why compiled steps do not walk through it; empty if they do."""

    def compiled(self) -> CompiledCarried | None:
        """The plan for compiled code, if there is no obstacle; None where there are no components."""

    def place(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Evaluate what forces and rates need."""

    def push(self, q: Array, forces: Array) -> None:
        """The generalized forces, into rows of zeros (names, nv)."""

    def total(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The sum of the generalized forces (nv), and the power of each (names)."""

    def rates(self, vdot: Array) -> Array:
        """dz/dt, after `place`."""

    def scale(self, z: Array) -> Array:
        """Measures of errors of z."""

    def close_by(self, ask: Callable[[float, Array, Array], Mapping[str, Array]]) -> None:
        """Take the function for the multipliers {closure: array} at (t, q, v), after `place`."""

    @property
    def weighs(self) -> Sequence[str]:
        """Names of the bodies whose masses it gives,"""

    def masses(self) -> Mapping[str, float]:
        """and these masses, after `place`."""

    @property
    def feels(self) -> bool:
        """True if it reads contacts,"""

    def feel(self, step: ContactStep | None, h: float) -> None:
        """and takes those of a step of length h that was taken; None: there were none."""

    @property
    def breaks(self) -> Breaks:
        """Times at which components jump by themselves, between ticks."""

    @property
    def next_tick(self) -> int | None:
        """The nanosecond of the next tick."""

    def tick(self, ns: int, accelerations: Callable[[], Array]) -> None:
        """Outputs in order, then all updates at once, after `place`."""

    def begin(self, ns: int) -> None:
        """A run begins: ticks before this nanosecond are past."""

    def keep(self) -> object:
        """Copy of what ticks and jumps change."""

    def restore(self, kept: object) -> None:
        """Have it as it was."""

    def memory(self) -> tuple[list[int], dict[str, Any]]:
        """Memory from instant to instant without continuous states: counts of clocks, and values {name: value}."""

    def recall(self, counts: Sequence[int], held: Mapping[str, Any]) -> None:
        """Go on from what was kept."""

    @property
    def crossings(self) -> Sequence[tuple[str, int]]:
        """Names and directions."""

    @property
    def signs(self) -> Array:
        """Signs of crossings at the present state, and 1 where they follow from values alone, (2, crossings): compiled
        steps read and write them."""

    def margins(self, accelerations: Callable[[], Array]) -> Sequence[float]:
        """The functions of all crossings, after `place`."""

    def jump(self, names: Sequence[str], z: Array) -> Array:
        """z after crossings, from the values before them, after `place`."""

    @property
    def columns(self) -> Columns:
        """Signals that are recorded: shape, unit and frame."""

    def sample(self, accelerations: Callable[[], Array]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Values of the signals, after `place`: those that are numbers, and those that are arrays."""
