"""Least wrenches of hands among all that give the same motion.

Closures whose rows repeat others can push against each other and nothing moves: N c for any c, with Gc* N = 0. The
hands that hold an object then give it w + E c. Of these the one is taken with the least

    sum over hands of  |moment about the hand|^2 / length^2 + |force|^2

with the length of the model, so that units do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.kinematics import relative_pose
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import graph_of
from soacraft.model.tree.parts.closures import Closure
from soacraft.robot.grasping.joined import Joined, is_outboard
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import skew

#: Pushes in the hands of an object, relative to those in all closures, below which they are rounding.
_NONE = 1e-9


def least_wrenches(
    here: State, body: Body, holds: Sequence[Joined], wrenches: Array, rank: int
) -> tuple[Array, bool]:
    """The least wrenches of hands on a body, about its origin in its axes, (hands, 6), from some that give the motion;
    and whether there are no others. `rank` is that of Gc at this state. O(m nv^2)."""
    rows = Constraints(graph_of(here), here)
    pushes = _pushes(rows, body, rank)
    signs = np.array([_sign(x.closure, body) for x in rows.loops], dtype=np.float64)
    through = -np.einsum("l,lij->ij", signs, pushes)  # its own hinge
    loops = dict(zip((x.name for x in rows.loops), pushes, strict=True))
    E = np.array([through if x.how == "hung" else loops[x.loop] for x in holds])
    sizes = np.repeat([1.0 / scale_of(graph_of(here)).length, 1.0], 3)[:, None]
    weigh = np.array([sizes * _to_hand(here, body, x.hand) for x in holds])
    U, s, V = np.linalg.svd((weigh @ E).reshape(-1, E.shape[-1]), full_matrices=False)
    some = s > _NONE * float(np.linalg.norm(sizes * pushes))
    c = V[some].T @ (U[:, some].T @ (weigh @ wrenches[..., None]).reshape(-1) / s[some])
    return np.asarray(wrenches - E @ c), not bool(some.any())


def _pushes(rows: Constraints, body: Body, rank: int) -> Array:
    """Wrenches on the frame b of each loop by a basis of the pushes that move nothing: about the origin of a body in
    its axes, (loops, 6, m - rank).
    """
    sizes, pushes = sizes_of(rows), []
    N = np.linalg.svd(sizes.scaled(rows.jacobian()))[0][:, rank:] / sizes.rows[:, None]
    for loop, (_, place) in zip(rows.loops, rows.places, strict=False):
        R, p = relative_pose(rows.state, loop.closure.a, body)[0], relative_pose(rows.state, loop.closure.b, body)[1]
        w = loop.wrench(N[place])
        moment, force = R @ w[:3], R @ w[3:]
        pushes.append(np.concatenate([moment + skew(p) @ force, force]))
    return np.array(pushes).reshape(-1, 6, N.shape[1])


def _sign(closure: Closure, body: Body) -> int:
    """Sign with which the wrench of a closure on its frame b acts on a body and the bodies outboard of it; 0 if it does
    not.
    """
    return int(is_outboard(closure.b, body)) - int(is_outboard(closure.a, body))


def _to_hand(here: State, body: Body, hand: str) -> Array:
    """Matrix from wrenches about the origin of a body to those about a hand, (6, 6)."""
    X = np.eye(6)
    X[:3, 3:] = -skew(relative_pose(here, here.graph.frame(hand), body)[1])
    return X
