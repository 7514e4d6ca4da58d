"""What a solver of closed chains answers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.errors import StaleError
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]


class Source(Protocol):
    """What belongs to all results of one solver and one choice of independent dofs."""

    @property
    def loops(self) -> tuple[str, ...]: ...
    @property
    def couplings(self) -> tuple[str, ...]: ...
    @property
    def dof_names(self) -> tuple[str, ...]: ...

    def independent(self, q: Array) -> Indices:
        """The independent dofs at a configuration."""

    def ranks(self, q: Array) -> tuple[list[int], tuple[str, ...]]:
        """The rank at each configuration of a list, and the names of all redundant rows."""


class Kept(NamedTuple):
    """A source that asks no solver: what a copied result has."""

    loops: tuple[str, ...]
    couplings: tuple[str, ...]
    dof_names: tuple[str, ...]
    found: tuple[list[int], tuple[str, ...]]
    chosen: Indices

    def independent(self, q: Array) -> Indices:
        """The independent dofs at the first state."""
        return self.chosen

    def ranks(self, q: Array) -> tuple[list[int], tuple[str, ...]]:
        """The rank at each state, and the names of all redundant rows."""
        return self.found


class Result:
    """Accelerations and constraint forces of a closed chain; leading axes as those of the arguments.

    `residual` is computed anew from the answer, as the larger of

        |Gc vdot + Gcdot v - Udot|, relative to the largest of |Gcdot v|, |vdot|, w^2, |constraint force| / inertia
        |inverse dynamics(vdot, constraint forces) - force|, relative to the largest of both, |constraint force|,
        inertia w^2

    all in radians and in lengths of loops and of the model, with w how fast it moves, or gravity and forces would let
    it move, and the inertia that of its mass on its length. So the number is the same in all units.
    """

    def __init__(self, vdot: Array, rest: Array, source: Source) -> None:
        self.vdot = vdot
        """(..., nv), of all dofs of the tree."""
        self._rest = rest  # forces of loops and couplings, residuals of closures and motion, q
        self._source = source

    @property
    def multipliers(self) -> Mapping[str, Array]:
        """By name: of a loop the wrench [moment; force] on its frame b at b, in the axes of its frame a, (..., 6); of a
        coupling the number lambda (...), which pushes each dof by -p'(q) lambda. With redundant rows the ones of least
        norm in the rows, which depends on units; their sum on the bodies does not."""
        found: dict[str, Array] = {}
        at = 0
        for name in self._source.loops:
            found[name] = self._rest[..., at : at + 6]
            at += 6
        for name in self._source.couplings:
            found[name] = self._rest[..., at]
            at += 1
        return found

    @property
    def residual_of_closures(self) -> Any:
        """Of the closures: a number, in a batch an array."""
        return self._rest[..., self._forces][()]

    @property
    def residual_of_motion(self) -> Any:
        """Of the equations of motion: a number, in a batch an array."""
        return self._rest[..., self._forces + 1][()]

    @property
    def residual(self) -> Any:
        """The larger of the two residuals: a number, in a batch an array of numbers."""
        return np.maximum(self.residual_of_closures, self.residual_of_motion)[()]

    @property
    def rank(self) -> Any:
        """Of the constraint Jacobian: a number, in a batch an array of numbers. Worked out when first asked for."""
        batch = self.vdot.shape[:-1]
        return np.reshape(self._found[0], batch).astype(int) if batch else self._found[0][0]

    @property
    def redundant(self) -> tuple[str, ...]:
        """Rows that repeat others, by name (in a batch: in any of the states)."""
        return self._found[1]

    @property
    def independent(self) -> tuple[str, ...]:
        """The names of the independent dofs (in a batch: at its first state)."""
        return tuple(self._source.dof_names[i] for i in self._independent)

    @property
    def vdot_independent(self) -> Array:
        """The accelerations of the independent dofs, (..., mobility)."""
        return np.asarray(self.vdot[..., self._independent])

    @property
    def _forces(self) -> int:
        return 6 * len(self._source.loops) + len(self._source.couplings)

    @property
    def _q(self) -> Array:
        q = self._rest[..., self._forces + 2 :]
        return q.reshape(math.prod(q.shape[:-1]), q.shape[-1])

    @cached_property
    def _found(self) -> tuple[list[int], tuple[str, ...]]:
        return self._source.ranks(self._q)

    @cached_property
    def _independent(self) -> Indices:
        return self._source.independent(self._q[0]) if len(self._q) else np.zeros(0, dtype=np.intp)

    def __reduce__(self) -> tuple[Any, ...]:
        source = self._source
        kept = Kept(source.loops, source.couplings, source.dof_names, self._found, self._independent)
        return Result, (self.vdot, self._rest, kept)

    def __repr__(self) -> str:
        batch = self.vdot.shape[:-1]
        count = len(self._source.loops) + len(self._source.couplings)
        shape = f", batch {batch}" if batch else ""
        lines = [
            f"Result: {self.vdot.shape[-1]} dofs, {count} closures and couplings{shape}; {self._rank_text()}"
            f"residual {np.max(self.residual, initial=0.0):.1e}"
        ]
        if not batch:
            lines.append(f"vdot: {_shown(self.vdot)}")
            lines += [f"{name!r}: {_shown(x)}" for name, x in list(self.multipliers.items())[:12]]
        if "_found" in self.__dict__ and self.redundant:
            lines.append(f"redundant: {'; '.join(self.redundant[:12])}{' ...' if len(self.redundant) > 12 else ''}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head = markup.paragraph(repr(self).splitlines()[0])
        if self.vdot.ndim > 1:
            return markup.joined(head)
        moves = [(name, f"{x:.6g}") for name, x in zip(self._source.dof_names, self.vdot + 0.0, strict=True)]
        ties = [(name, _shown(x)) for name, x in self.multipliers.items()]
        return markup.joined(
            head, markup.table(["dof", "vdot"], moves), markup.table(["loop or coupling", "multipliers"], ties)
        )

    def _rank_text(self) -> str:
        try:
            rank = self.rank
        except StaleError:
            return ""
        shown = rank if np.ndim(rank) == 0 else f"{np.min(rank)} to {np.max(rank)}" if np.size(rank) else "none"
        return f"rank {shown}, "


def _shown(x: Array) -> str:
    return np.array2string(np.asarray(x) + 0.0, precision=6, suppress_small=True, threshold=40)
