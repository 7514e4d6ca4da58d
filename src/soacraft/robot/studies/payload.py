"""The largest mass that a limb holds at its tip, within what its motors can give.

A point mass m at c, moving with the tip, adds m T1 to the forces T0 of the limb alone:

    T(m) = T0 + m T1,    T1 = J_c* (a_c - g)

with J_c the Jacobian of the point, a_c its acceleration. T is linear in m, so that the masses for which a motor holds,
lower <= T(m) <= upper, are an interval, and those for which all hold are what their intervals share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.errors import ModelError, StateError
from soacraft.order import in_order, order_of
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.studies.efforts import Efforts, efforts_of
from soacraft.robot.studies.ground import unit_weight
from soacraft.robot.studies.motion import forces_of
from soacraft.robot.studies.reach_map import ReachMap, require_one_tip, sampled
from soacraft.robot.studies.study import Column, Study, Whole
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True, eq=False, repr=False)
class Payload(Study, kind="payload"):
    """Masses that a limb holds at configurations, and the motor that says no to more."""

    limb: str
    tip: str
    dofs: Annotated[tuple[str, ...], Column.of("", "dofs")]
    q: Annotated[Array, Column.of("", "rows", "nq")]
    """Coordinates of the limb."""
    position: Annotated[Array, Column.of("m", "rows", 3)]
    """Position of the tip in the limb's base."""
    most: Annotated[Array, Column.of("kg", "rows")]
    """The largest mass; infinite where no motor feels it, NaN where the limb does not hold whatever the mass is."""
    least: Annotated[Array, Column.of("kg", "rows")]
    """The smallest: above zero where a motor needs a counterweight."""
    binding: Annotated[Whole, Column.of("", "rows")]
    """The dof that bounds the largest mass, by its number in `dofs`; -1 where none does."""
    empty: Annotated[Array, Column.of("N m or N", "rows", "dofs")]
    """Forces of the motors without a mass, T0."""
    per_mass: Annotated[Array, Column.of("N m/kg or N/kg", "rows", "dofs")]
    """Generalized force for a kilogram, T1."""

    @property
    def everywhere(self) -> float:
        """The mass that is held at all of the configurations; NaN where there is none."""
        return float("nan") if np.isnan(self.most).any() else float(self.most.min())

    def table(self) -> Table:
        """Table by dof that binds: the number of configurations, and the least and the largest mass there."""
        rows: list[tuple[Any, ...]] = []
        for i in [*range(len(self.dofs)), -1]:
            masses = self.most[(self.binding == i) & ~np.isnan(self.most)]
            if len(masses):
                rows.append((self.dofs[i] if i >= 0 else "none", len(masses), float(masses.min()), float(masses.max())))
        lost = np.isnan(self.most)
        if lost.any():
            rows.append(("holds nothing", int(lost.sum()), np.nan, np.nan))
        return Table(("binding", "configurations", "least [kg]", "most [kg]"), rows)

    def __repr__(self) -> str:
        masses = self.most[~np.isnan(self.most)]
        if not len(masses):
            return f"Payload of {self.limb!r}: it holds at none of {len(self.most)} configurations"
        i = int(np.nanargmin(self.most))
        by = f", bound by {self.dofs[self.binding[i]]!r}" if self.binding[i] >= 0 else ""
        lost = f"; {len(self.most) - len(masses)} do not hold at all" if len(masses) < len(self.most) else ""
        return (
            f"Payload of {self.limb!r} at {len(self.most)} configurations: {masses.min():.4g} to {masses.max():.4g} kg"
            f"{by} at the least{lost}"
        )


def payload(
    limb: Limb,
    q: Any = None,
    *,
    v: Any = None,
    vdot: Any = None,
    com: Any = (0.0, 0.0, 0.0),
    efforts: Any = None,
    samples: int = 1000,
    seed: Seed = 0,
) -> Payload:
    """The largest mass that a limb holds at its tip, at configurations and in motion, with the motor that binds.

    `q` (rows, nq) are configurations of the limb, or a `ReachMap`, of which the reached voxels count; by default
    `samples` are drawn within the limits. With `v` and `vdot` (rows, nv) the mass is moved so. `com` is where its
    centre is in the tip's frame. The limb's base is at rest where it is now, and all bodies outboard of the limb count;
    motors inboard of the base are not checked. For a limb with loops `v` and `vdot` are of the whole robot, and so are
    the motors. O(rows n).

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("panda")).limb("arm", "inertial", "link7")
    >>> sc.robot.study.payload(arm, [[0, 1.2, 0, -0.4, 0, 1.6, 0]])
    Payload of 'arm' at 1 configurations: 4.784 to 4.784 kg, bound by 'joint2' at the least
    """
    if not isinstance(limb, Limb):
        raise ModelError(f"payload is of a Limb, such as rb.limb('arm', base, tip); got {limb!r:.60}.")
    mb = limb.robot.mb
    require_one_tip(limb)
    tied = limb.data.tied
    if isinstance(q, ReachMap):
        q = q.q[q.reached > 0]
    if q is None:
        if tied:
            raise StateError(f"limb {limb.name!r} has loops or couplings: give configurations at which they close.")
        q = sampled(limb, read_seed(seed, "the seed of payload"), whole_number(samples, "samples", 1))
    configurations = limb.read_q(q, (None, limb.nq))
    v, vdot = (_rates(limb, x, n, len(configurations)) for x, n in ((v, "v"), (vdot, "vdot")))
    c = finite(com, (3,), "com of the payload", StateError)
    limits = efforts_of(mb, efforts, limb.robot.held)
    here = np.flatnonzero(limits.motors) if tied else limb.v_places
    if np.isinf(limits.upper[here]).all() and np.isinf(limits.lower[here]).all():
        raise StateError(f"no motor of limb {limb.name!r} has a limit of effort: give efforts=.")
    if tied:
        T0, T1 = (x[:, here] for x in _closed(limb, limb.of_robot(configurations), v, vdot, c, limits))
    else:
        T0, T1 = _open(limb, configurations, v, vdot, c)
    position = limb.true_pose(configurations).translation
    low, high, binding = masses(T0, T1, limits.lower[here], limits.upper[here])
    names = tuple(mb.dof_names[i] for i in here)
    return Payload(limb.name, limb.tip.full_name, names, configurations, np.array(position), high, low, binding, T0, T1)


def masses(T0: Array, T1: Array, lower: Array, upper: Array) -> tuple[Array, Array, Whole]:
    """The least and the largest m >= 0 with lower <= T0 + m T1 <= upper, (rows), and the dof that bounds it above.

    The largest is NaN where there is none, with the dof that forbids it.

    >>> import numpy as np
    >>> masses(np.array([[2.0, 0.0]]), np.array([[1.0, -1.0]]), np.array([-9.0, -5.0]), np.array([9.0, 5.0]))
    (array([0.]), array([5.]), array([1]))
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.sort(np.stack([(lower - T0) / T1, (upper - T0) / T1]), axis=0)
    still = T1 == 0.0
    fits = (lower <= T0) & (upper >= T0)
    low = np.where(still, np.where(fits, -np.inf, np.inf), ends[0])
    high = np.where(still, np.where(fits, np.inf, -np.inf), ends[1])
    least, most = np.maximum(low.max(axis=1), 0.0), high.min(axis=1)
    binding = np.where(np.isinf(most) & (most > 0.0), -1, np.argmin(high, axis=1)).astype(np.int64)
    none = least > most
    # the dof that keeps the shares apart: the one whose interval begins last, if its end is not the trouble
    late = np.argmax(low, axis=1)
    binding = np.where(none & (most >= 0.0), late, binding)
    return np.where(none, np.nan, least), np.where(none, np.nan, most), binding


def _rates(limb: Limb, rates: Any, name: str, count: int) -> Array:
    """Velocities or accelerations of a limb (count, nv), zero by default; of a tied one those of the robot."""
    order = order_of([x.name for x in limb.bodies], [x.hinge.nv for x in limb.bodies])
    order = limb.robot.mb.layout.v_order if limb.data.tied else order
    if rates is None:
        return np.zeros((count, order.size))
    what = f"{name} of {limb.name!r}"
    return finite(in_order(rates, order, what), (count, order.size), what, StateError)


def _open(limb: Limb, q: Array, v: Array, vdot: Array, c: Array) -> tuple[Array, Array]:
    """Forces T0 and T1 of a limb whose base is at rest, with all bodies outboard of it in their present state."""
    mb = limb.robot.mb
    graph = mb.subgraph(dict.fromkeys(x for body in limb.bodies for x in body.subtree()))
    places = [graph.dof_names.index(x) for x in limb.dof_names]
    layout = graph.layout
    at = np.concatenate([np.arange(layout.hinge_q[k].start, layout.hinge_q[k].stop) for k in
                         (layout.index[b] for b in limb.bodies)])  # fmt: skip
    rest = np.concatenate([np.array(mb.q)[mb.layout.hinge_q[mb.layout.index[b]]] for b in layout.bodies])
    coordinates = np.tile(rest, (len(q), 1))
    coordinates[:, at] = q
    rates = np.zeros((2, len(q), graph.nv))
    rates[:, :, places] = v, vdot
    empty = np.asarray(dyn.inverse_dynamics(graph, coordinates, rates[0], rates[1]))
    wrench = {limb.tip: unit_weight(graph, limb.tip, coordinates, rates[0], rates[1], c)}
    loaded = np.asarray(dyn.inverse_dynamics(graph, coordinates, rates[0], rates[1], wrench))  # linear in the wrench
    return empty[:, places], (loaded - empty)[:, places]


def _closed(limb: Limb, q: Array, v: Array, vdot: Array, c: Array, limits: Efforts) -> tuple[Array, Array]:
    mb = limb.robot.mb
    empty = forces_of(mb, q, v, vdot, limits)
    wrench = unit_weight(mb, limb.tip, q, v, vdot, c)
    return empty, forces_of(mb, q, v, vdot, limits, {limb.tip: wrench}) - empty
