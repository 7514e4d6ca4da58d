"""Ties of a limb: loops and couplings of its dofs with others, and the motion of its tips under them.

Of the velocities v of a closed chain some are independent, v = X v_i (`kinematics.independent`, formula F5). So the
tips of a limb move by

    J_i = J X,     dJ_i / dq_c = sum over k of (dJ / dq_k) X_kc X + J dX / dq_c,     G_d dX_d = -(dG / dq_c) X

which is its Jacobian: J alone, with a column for each dof of the limb, would let dofs move that are tied.
"""

from __future__ import annotations

from operator import attrgetter
from typing import NamedTuple

import numpy as np

from soacraft.errors import LoopError
from soacraft.kinematics.assemble import close
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.independent import Indices, Partition, completed, expansion, refuse_held
from soacraft.kinematics.partition import partition, partition_with
from soacraft.kinematics.row_derivatives import row_derivatives
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import Sizes, sizes_of
from soacraft.kinematics.tolerances import CLOSED, STRIDE
from soacraft.model.sizes.lengths import chain
from soacraft.model.states.kinematics import relative_pose
from soacraft.model.states.ties import Mask, tied_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import Closure, Coupling, coordinate_names, coupling_error
from soacraft.robot.limbs.chain import Chain
from soacraft.spatial.checks import Array

#: A stop may be passed by as much as this of a radian, or of the limb's reach, makes of its sum, a rope by this part of
#: its length: what tolerances of goals leave.
_PASSED = 1e-9
#: Steps from where the robot is to coordinates at which loops shall close, at most; other starts where that fails, and
#: how far from there they begin, as a part of the range.
_MOST, _TRIES, _SPREAD = 32, 12, 0.1


def closed(limb: Chain, q: Array) -> Array:
    """The robot's coordinates with those of the limb (nq), and the dofs that are tied to it where loops close.

    Loops may close in several ways. The limb is taken from where the robot is to q in short steps, so that what is tied
    goes along; where that does not close, other starts follow, the same every time.
    """
    data = limb.data
    fixed = ~data.moves
    fixed[limb.v_places] = True
    fixed &= ~(tied_dofs(data.model) & ~data.moves)  # loops elsewhere may close by themselves
    rows = _closed_rows(limb, q, data.bounds(fixed))
    if rows.opening > CLOSED:
        openings = [(x.opening, x.name) for x in rows.loops] + [(x.opening, x.name) for x in rows.couplings]
        opening, name = max(openings)
        raise LoopError(
            f"limb {limb.name!r} has {name!r} open by {opening:.3g} (radians, or parts of its "
            f"length) at q = {np.round(q, 6).tolist()}: give coordinates at which loops and couplings close within "
            "limits, such as those that ik finds."
        )
    configuration = np.array(limb.robot.mb.q)
    configuration[data.q_moves] = np.asarray(rows.state.q)[data.q_moves]
    return configuration


def _closed_rows(limb: Chain, q: Array, bounds: Bounds) -> Constraints:
    """The rows where they close, or are least open of all that was tried."""
    data, mb = limb.data, bounds.graph
    still = mb.current.replace(v=np.zeros(mb.nv), vdot=np.zeros(mb.nv), forces=())

    def rows_from(start: Array, coordinates: Array) -> Constraints:
        start[limb.q_places] = coordinates
        return close(Constraints(mb, still.replace(q=start)), bounds)

    rows = Constraints(mb, still.replace(q=limb.placed(q)))
    if rows.opening <= CLOSED or not bounds.free[data.moves].any():  # what is closed as it is may be beyond limits
        return close(rows, bounds)
    here = bounds.inside(limb.robot.mb.q)
    for coordinates in _way(limb, q):
        rows = rows_from(here, coordinates)
        here = np.array(rows.state.q)
    rng, spread = np.random.default_rng(0), _SPREAD
    for _ in range(_TRIES):
        if rows.opening <= CLOSED:
            break
        rows = min(rows, rows_from(bounds.scattered(limb.placed(q), rng, spread), q), key=attrgetter("opening"))
        spread = min(1.0, 1.4 * spread)
    return rows


def _way(limb: Chain, q: Array) -> list[Array]:
    """Coordinates of the limb on the way from where the robot is to q, the last: steps of `STRIDE`, `_MOST` at most."""
    mb, here, there = limb.robot.mb, np.asarray(limb.robot.mb.q), limb.placed(q)
    way = mb.difference(here, there)
    with np.errstate(over="ignore"):
        far = float(np.abs(limb.apart(there, here)).max())
    count = int(np.ceil(min(max(far / STRIDE, 1.0), _MOST)))
    return [*(np.asarray(mb.integrate(here, k / count * way))[limb.q_places] for k in range(1, count)), q]


class Independent(NamedTuple):
    """The independent motions of a tied limb at a configuration."""

    rows: Constraints
    choice: Partition
    sizes: Sizes
    G: Array
    X: Array
    """(nv, all independent dofs)."""
    own: Indices
    """Columns that move the limb."""


def choose_independent(limb: Chain) -> tuple[Indices, Indices]:
    """Dofs of the robot that may be taken for independent, at its present state, those of the limb first; and the
    numbers of those that move the limb. Where all dofs of the limb are independent, others do not move it."""
    mb = limb.robot.mb
    q = closed(limb, np.asarray(limb.q))
    wanted = np.zeros(mb.nv, dtype=np.bool_)
    wanted[limb.v_places] = True
    independent = partition(Constraints(mb, mb.current.replace(q=q)), wanted=wanted | ~limb.data.moves).independent
    moves = wanted if np.isin(limb.v_places, independent).all() else limb.data.moves
    return independent, np.flatnonzero(moves[independent])


def motions(limb: Chain, configuration: Array) -> Independent:
    """X at closed coordinates of the robot, for the dofs that were chosen; refused where these are no longer free."""
    mb, still = limb.robot.mb, np.zeros(limb.robot.mb.nv)
    rows = Constraints(mb, mb.current.replace(q=configuration, v=still, vdot=still, forces=()))
    independent, of_limb = limb.data.independent(limb)
    choice, sizes, G = partition_with(rows, independent), sizes_of(rows), rows.jacobian()
    X = expansion(G, choice, sizes)
    refuse_held(rows, G, choice, X, sizes)
    return Independent(rows, choice, sizes, G, X, of_limb)


def gradient(limb: Chain, m: Independent, J: Array, dJ: Array) -> Array:
    """dJ_i (rows, own, own) from J (rows, nv) of the robot and dJ (rows, limb's nv, limb's nv). O(own nv^2)."""
    still, v = np.zeros(limb.robot.mb.nv), limb.v_places
    X = m.X[:, m.own]
    change = np.einsum("rjk,ja,kc->rac", dJ, X[v], X[v])
    for a in range(X.shape[1]):
        speed = row_derivatives(m.rows, X[:, a], still, np.zeros(m.rows.size)).speed @ X
        none = np.zeros((len(m.choice.independent), X.shape[1]))
        change[:, a] += J @ completed(m.G, m.choice, none, -speed, m.sizes)
    return np.asarray(change)


def passed(limb: Chain, configuration: Array) -> str:
    """A stop (a one-sided coupling) or a rope of the limb that coordinates of the robot pass; empty where none."""
    mb, data = limb.robot.mb, limb.data
    names = coordinate_names(mb)
    for coupling in data.stops:
        below = -coupling_error(coupling, names, configuration)
        ones = {dof: 1.0 / data.units[mb.dof_names.index(dof)] for dof in coupling.terms}
        size = sum(abs(a) * ones[dof] ** n for dof, c in coupling.terms.items() for n, a in enumerate(c, 1))
        if below > _PASSED * size:
            return f"{coupling.name!r} is passed by {below:.3g}"
    for rope in data.ropes:
        length = float(str(rope.attributes["length"]))
        away = float(np.linalg.norm(relative_pose(mb.state(configuration), rope.b, rope.a)[1]))
        if away > length * (1.0 + _PASSED):
            return f"rope {rope.name!r} would have to be {away:.4g} m long, {away - length:.3g} m more than it is"
    return ""


def one_sided(mb: Multibody, moves: Mask) -> tuple[list[Coupling], list[Closure]]:
    """Stops and ropes that have to do with some dofs."""
    stops = [
        x for x in mb.couplings
        if x.one_sided is True and moves[[mb.dof_names.index(name) for name in x.terms]].any()
    ]  # fmt: skip
    ropes = []
    for x in mb.loops:
        bodies = chain(x.a, x.b).bodies if x.one_sided else ()
        if any(moves[mb.layout.hinge_v[mb.layout.index[b]]].any() for b in bodies):
            ropes.append(x)
    return stops, ropes
