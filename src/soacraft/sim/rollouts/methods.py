"""Rollouts by method: which function takes the steps, of trees and of closed chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from soacraft.sim.rollouts.contact import rollout_contact
from soacraft.sim.rollouts.side_by_side import rollout_side_by_side
from soacraft.sim.rollouts.singly import rollout_singly
from soacraft.spatial.checks import Array

Rollout = Callable[..., tuple[Array, Array]]
"""f(problem, method, q, v, force, steps, step in nanoseconds, threads)."""


class Row(NamedTuple):
    """A method of rollouts."""

    tree: Rollout
    closed: Rollout
    touches: bool = False
    """True if it takes a `Contact`, and controls that are numbers or samples."""


_EXPLICIT, _IMPLICIT = Row(rollout_side_by_side, rollout_singly), Row(rollout_singly, rollout_singly)
_TOUCHING = Row(rollout_contact, rollout_contact, True)
ROLLOUTS = {
    "rk4": _EXPLICIT,
    "euler_symplectic": _EXPLICIT,
    "verlet": _EXPLICIT,
    "gauss4": _IMPLICIT,
    "gauss6": _IMPLICIT,
    "variational": _IMPLICIT,
    "variational4": _IMPLICIT,
    "moreau": _TOUCHING,
    "moreau_midpoint": _TOUCHING,
}
