"""What a solver of closed chains answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.loops.independent import Choice
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Result:
    """Accelerations and constraint forces of a closed chain; leading axes as those of the arguments.

    `residual` is worked out anew from the answer, as the larger of
        |Gc vdot + Gcdot v - Udot|, beside the largest of 1, |Gcdot v|, |vdot|: the closures
        |inverse dynamics(vdot, constraint forces) - force|, beside the largest of 1, |force|, |constraint force|
    """

    vdot: Array
    """(..., nv), of all dofs of the tree."""
    multipliers: Mapping[str, Array]
    """By name: of a loop the wrench [moment; force] on its frame b at b, in the axes of its frame a, (..., 6); of a
    coupling the number lambda (...), which pushes each dof by -p'(q) lambda. With redundant rows the ones of least
    norm in the rows, which depends on units; their sum on the bodies does not."""
    residual_of_closures: Array
    residual_of_motion: Array
    _dof_names: tuple[str, ...] = field(repr=False)
    _choose: Callable[[], Choice] = field(repr=False)
    _ranks: Callable[[], tuple[list[int], tuple[str, ...]]] = field(repr=False)

    @cached_property
    def _found(self) -> tuple[list[int], tuple[str, ...]]:
        return self._ranks()

    @property
    def rank(self) -> Any:
        """Of the constraint Jacobian: a number, in a batch an array of numbers."""
        batch = self.vdot.shape[:-1]
        return np.reshape(self._found[0], batch).astype(int) if batch else self._found[0][0]

    @property
    def redundant(self) -> tuple[str, ...]:
        """Rows that repeat others, by name (in a batch: in any of the states)."""
        return self._found[1]

    @property
    def residual(self) -> Any:
        """The larger of the two residuals: a number, in a batch an array of numbers."""
        return np.maximum(self.residual_of_closures, self.residual_of_motion)[()]

    @cached_property
    def _independent(self) -> npt.NDArray[np.intp]:
        return self._choose().independent

    @property
    def independent(self) -> tuple[str, ...]:
        """The names of the independent dofs (in a batch: at its first state), worked out when first asked for."""
        return tuple(self._dof_names[i] for i in self._independent)

    @property
    def vdot_independent(self) -> Array:
        """The accelerations of the independent dofs, (..., mobility)."""
        return np.asarray(self.vdot[..., self._independent])

    def __repr__(self) -> str:
        batch = self.vdot.shape[:-1]
        rank = self.rank if not batch else f"{np.min(self.rank)} to {np.max(self.rank)}"
        lines = [
            f"Result: {self.vdot.shape[-1]} dofs, {len(self.multipliers)} closures and couplings"
            f"{f', batch {batch}' if batch else ''}; rank {rank}, residual {np.max(self.residual, initial=0.0):.1e}"
        ]
        if not batch:
            lines.append(f"vdot: {_shown(self.vdot)}")
            lines += [f"{name!r}: {_shown(x)}" for name, x in list(self.multipliers.items())[:12]]
        if self.redundant:
            lines.append(f"redundant: {'; '.join(self.redundant[:12])}{' ...' if len(self.redundant) > 12 else ''}")
        return "\n".join(lines)


def _shown(x: Array) -> str:
    return np.array2string(np.asarray(x) + 0.0, precision=6, suppress_small=True, threshold=40)
