"""Units for closures: the mechanism's own lengths, so that no choice of units opens or closes a loop.

    a loop       is open by the larger of its angle and its distance / length, the length being that of its links
    a coupling   is off by its sum / the largest of its terms, at one radian or at one length of the model
    a dof        moves by radians, or by lengths of the model where it slides; a mode slides by the root of its modal
                 mass over that of its body, what its points move by in the mean

With r_i = |turns of Q_i| + |slides of Q_i| length the unit of row i, and d_j the number of such units of dof j in one
SI unit, Gc(i,j) / (r_i d_j) is a number without unit. Other than `kinematics.sizes`, which measures rank by levers
as they are at a state, these units depend on the model alone: compiled code is handed them once, and steps towards
closed configurations are compared in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.hinges.base import H_T_of
from soacraft.model.sizes.lengths import chain, length_of
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.kept import Kept
from soacraft.spatial.checks import Array

#: Largest distance of a state from its closures, in these units: the default of `tolerance=`. Files give lengths in 7
#: to 9 digits, so loops closed to the digits of a file are open by 1e-7 to 1e-8; integrators leave less. A loop open by
#: 1e-6 changes accelerations by that part, in well conditioned poses.
CLOSED = 1e-6
#: A length relative to that of the model that is rounding.
SHORT = 1e-8


class Measure(NamedTuple):
    """The units of a closed chain."""

    length: float
    """Length of the model, in metres."""
    inertia: float
    """Mass of the model times the square of its length."""
    loops: dict[str, float]
    """The lengths of the active loops, in metres."""
    couplings: dict[str, float]
    """The largest term of each active coupling."""
    dofs: Array
    """(nv): what one SI unit of each dof is in radians or lengths of the model."""
    turning: npt.NDArray[np.bool_]
    """(nv): which dofs turn."""


def measure_of(graph: Graph, q: Array) -> Measure:
    """The units of a graph, kept until it changes. A model without any length, point masses on slides through one
    point, has that of its largest coordinate at q; at zero all is in metres. O(n + loops depth).

    >>> import soacraft as sc
    >>> mb = sc.serial_chain(3)                                       # rods of 1 m
    >>> _ = mb.close_loop("ring", "inertial", "link3/tip", sc.Spherical())
    >>> found = measure_of(mb, mb.q)
    >>> found.length, found.loops
    (3.0, {'ring': 3.0})
    """
    found = constant_measure_of(graph)
    return found if found.length > 0.0 else _measure(graph, float(np.abs(q).max(initial=0.0)) or 1.0)


def constant_measure_of(graph: Graph) -> Measure:
    """The units as far as the model tells them: a length is zero where only a state would tell it."""
    return _KEPT(graph)


def _measure(graph: Graph, length: float) -> Measure:
    turns, slides = np.zeros(graph.nv), np.zeros(graph.nv)
    for body, where in zip(graph.bodies, graph.layout.hinge_v, strict=True):
        turns[where], slides[where] = _columns(body)
    for k in graph.layout.flexible:
        data, modes = graph.layout.modal(k), slice(graph.layout.hinge_v[k].stop, graph.layout.v_slices[k].stop)
        slides[modes] = np.sqrt(np.diagonal(data.M) / data.mass)
    per = slides / length if length > 0.0 else slides
    dofs = np.where(turns > 0.0, turns, per)
    dofs[dofs <= 0.0] = 1.0
    at = np.where(turns > 0.0, 1.0, length)
    own = graph.layout.own.v
    at[own] = 1.0 / dofs[own]
    number = {name: i for i, name in enumerate(graph.dof_names)}
    couplings = {
        x.name: max(sum(abs(a) * at[number[dof]] ** n for n, a in enumerate(c, 1)) for dof, c in x.terms.items())
        for x in graph.couplings
        if x.active
    }
    ways = {x.name: chain(x.a, x.b).length for x in graph.loops if x.active}
    loops = {name: x if x > SHORT * length else length for name, x in ways.items()}
    mass = sum(body.inertia.mass for body in graph.bodies)
    return Measure(length, mass * length**2, loops, couplings, dofs, turns > 0.0)


def _columns(body: Body) -> tuple[Array, Array]:
    """Sizes of the turns and slides of the dofs of a hinge at its neutral coordinates."""
    H_T = H_T_of(body.hinge, np.asarray(body.hinge.neutral(), dtype=np.float64))
    return np.linalg.norm(H_T[:3], axis=0), np.linalg.norm(H_T[3:6], axis=0)


_KEPT = Kept(lambda graph: _measure(graph, length_of(graph)))
