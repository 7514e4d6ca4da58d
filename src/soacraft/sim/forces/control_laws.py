"""Laws of many controls as arrays: their forces, and how these vary, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from soacraft.model.states.state import State
from soacraft.sim.forces.drives import Control
from soacraft.spatial.checks import Array


class ControlLaws(NamedTuple):
    """Laws f = gain u + b0 + b1 length + b2 velocity of controls, an entry or a row for each."""

    controls: tuple[Control, ...]
    tuned: tuple[object, ...]
    """Laws that the numbers are of: others once a control was tuned."""
    rows: Array
    """Force that each dof feels, (controls, nv)."""
    along: Array
    """Growth of the length along the dofs, (controls, nv),"""
    lengths: Array
    """and with the coordinates, (controls, nq)."""
    numbers: Array
    """Gain, b0, b1, b2, and the limits of control and force, (8, controls)."""

    @classmethod
    def of(cls, controls: Sequence[Control]) -> ControlLaws:
        """Laws of some controls, at least one."""
        rows, along, lengths = (np.array([getattr(x, name) for x in controls]) for name in ("row", "along", "length"))
        numbers = np.ascontiguousarray(np.array([x.law for x in controls]).T)
        return cls(tuple(controls), tuple(x.tuned_law for x in controls), rows, along, lengths, numbers)

    def are_of(self, controls: Sequence[Control]) -> bool:
        """True if these are the laws that some controls have now."""
        same = len(controls) == len(self.tuned)
        return same and all(x.tuned_law is y for x, y in zip(controls, self.tuned, strict=True))

    def uncut(self, u: Array, q: Array, v: Array) -> Array:
        """The forces beyond their limits, too, (controls)."""
        gain, b0, b1, b2, least_u, most_u, _, _ = self.numbers
        u = np.minimum(np.maximum(u, least_u), most_u)
        return np.asarray(gain * u + b0 + b1 * (self.lengths @ q) + b2 * (self.rows @ v))

    def cut(self, uncut: Array) -> Array:
        """Forces within their limits, (controls)."""
        return np.asarray(np.minimum(np.maximum(uncut, self.numbers[6]), self.numbers[7]))


def numbers_at(controls: Sequence[Control], t: float, state: State | None) -> Array:
    """The numbers of controls at a time, (controls); those of functions at a state."""
    numbers = []
    for x in controls:
        if x.is_number:
            numbers.append(x.number)
        elif x.samples is not None:
            numbers.append(float(np.interp(t, *x.samples)))
        else:
            assert state is not None
            numbers.append(x.u(t, state))
    return np.array(numbers)


def forces_and_slopes(laws: ControlLaws, u: Array, q: Array, v: Array) -> tuple[Array, Array]:
    """The generalized force (nv) of controls with numbers u, and how it varies along dofs and with velocities, (nv,
    2 nv); one that is cut to its limits does not vary. O(controls nv + nv^2)."""
    uncut = laws.uncut(u, q, v)
    force, (_, _, b1, b2, *_) = laws.cut(uncut), laws.numbers
    free = (force == uncut)[:, None]
    return force @ laws.rows, laws.rows.T @ np.hstack([b1[:, None] * laws.along * free, b2[:, None] * laws.rows * free])
