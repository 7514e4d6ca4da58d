"""Several arms hold one object: what moves it, what only squeezes it, and how to share the load.

f stacks the wrenches [moment; force] of the hands on the object, each at its node in the node's axes. The object feels
A f at its own frame, A = [phi(O,1) ... phi(O,k)]. With W symmetric and positive definite (formula F13)

    f_move = A# A f,    f_squeeze = f - f_move,    A# = W^-1 A* (A W^-1 A*)^-1,    f_move* W f_squeeze = 0

The hinges of the arms give T = T_g + J* f, T_g what they would give with empty hands. The shared load is least in
|T|_W over all f that do the same to the object, f = f0 + null(A) s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from soacraft.dynamics.arguments import read_graph, read_nodes
from soacraft.dynamics.nodes import jacobian
from soacraft.errors import ModelError, SingularError, StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.kinematics import relative_pose
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

_RANK = 1e-10  # singular values relative to the largest that count


def move_squeeze(A: Any, f: Any, weight: Any = None) -> tuple[Array, Array]:
    """The part of f that moves the object, and the part that squeezes it: f_move = A# A f, f_squeeze = f - f_move.

    A is (6, m), or (rows, m); f (..., m). `weight` is W: (m), (m, m) or None for the identity, which mixes moments and
    forces as their units do. Where A lacks rank, A# is the inverse on its range. O(m^3).

    >>> import numpy as np
    >>> A = np.array([[1.0, 1.0]])                                 # two fingers push along one line
    >>> move, squeeze = move_squeeze(A, [3.0, -1.0])
    >>> move.round(12), squeeze.round(12)
    (array([1., 1.]), array([ 2., -2.]))
    """
    A = finite(A, (None, None), "A of move_squeeze", StateError)
    f = finite(f, (..., A.shape[1]), "f of move_squeeze", StateError)
    L = _root(weight, A.shape[1], "weight of move_squeeze")
    # with g = L* f and W = L L*, A# A f is the projection of g on the row space of A L*^-1
    rows = scipy.linalg.solve_triangular(L, A.T, lower=True)
    basis = scipy.linalg.orth(rows, rcond=_RANK)
    g = f @ L
    move = scipy.linalg.solve_triangular(L.T, basis @ (basis.T @ g.reshape(-1, len(L)).T), lower=False).T
    move = np.reshape(move, f.shape)
    return move, f - move


def balance_load(A: Any, J: Any, force: Any, f0: Any, weight: Any = None) -> Array:
    """The f (m) with A f = A f0 and the least |T_g + J* f|_W; of several such, the one nearest to f0.

    A (rows, m), J (m, nv) the rates of the nodes, `force` T_g (nv), W (nv), (nv, nv) or None for the identity. O(m^3).

    >>> import numpy as np
    >>> A, J = np.array([[1.0, 1.0]]), np.diag([1.0, 2.0])         # the second arm has twice the lever
    >>> balance_load(A, J, [0.0, 0.0], [5.0, 0.0]).round(12)
    array([4., 1.])
    """
    A = finite(A, (None, None), "A of balance_load", StateError)
    m = A.shape[1]
    J = finite(J, (m, None), "J of balance_load", StateError)
    T = finite(force, (J.shape[1],), "force of balance_load", StateError)
    f = finite(f0, (m,), "f0 of balance_load", StateError)
    L = _root(weight, J.shape[1], "weight of balance_load")
    N = scipy.linalg.null_space(A, rcond=_RANK)
    felt = L.T @ J.T
    U, values, V = np.linalg.svd(felt @ N, full_matrices=False)
    felt_directions = values > _RANK * np.linalg.norm(felt)  # squeezes that the arms do not feel stay as they are
    s = V[felt_directions].T @ ((U[:, felt_directions].T @ (-L.T @ (T + J.T @ f))) / values[felt_directions])
    return np.asarray(f + N @ s)


@dataclass(frozen=True, eq=False)
class Load:
    """Share of each hand in the load of an object."""

    wrenches: dict[str, Array]
    """Wrench [moment; force] of the hand at each node on the object, at the node in its axes."""
    f: Array
    """Wrenches stacked, as `A` takes them."""
    force: Array
    """The generalized force of the arms, T_g + J* f, (nv)."""


class Holding:
    """Hands that hold one object, at one configuration (default: the current one).

    `nodes` are frames on the hands; `held` is the object: a body or a node, moving or not. A hand `transmits` a whole
    "wrench", or as a point contact a "force" alone.

    >>> import soacraft as sc
    >>> mb = sc.Multibody("carry")
    >>> for side, x in (("left", -1.0), ("right", 1.0)):
    ...     at = sc.Pose(translation=(x, 0, 0))
    ...     hand = mb.add_body(side, None, sc.Prismatic((0, 0, 1)), sc.Inertia(1, (0, 0, 0), np.eye(3)), at)
    >>> box = mb.add_body("box", None, sc.Free(), sc.Inertia(2, (0, 0, 0), np.eye(3)))
    >>> hold = sc.robot.Holding(mb, "box", ["left", "right"], transmits="force")
    >>> move, squeeze = hold.split([1, 0, 10, -3, 0, 10])          # forces of the left and of the right hand
    >>> move.round(12) + 0.0, squeeze.round(12) + 0.0
    (array([-1.,  0., 10., -1.,  0., 10.]), array([ 2.,  0.,  0., -2.,  0.,  0.]))
    >>> hold.share([0, 0, 0, 0, 0, 20]).wrenches["left"].round(12) + 0.0
    array([ 0.,  0.,  0.,  0.,  0., 10.])
    """

    def __init__(self, mb: Graph, held: Any, nodes: Any, q: Any = None, transmits: str = "wrench") -> None:
        self.graph = read_graph("Holding", mb)
        self.held = self.graph.frame(held)
        if not isinstance(transmits, str) or transmits not in ("wrench", "force"):
            raise ModelError(f"transmits of Holding must be 'wrench' or 'force', got {transmits!r:.60}.")
        self.nodes = _hands(self.graph, self.held, nodes)
        coordinates = read_q(self.graph, self.graph.current.q if q is None else q)
        if coordinates.ndim > 1:
            raise StateError(f"Holding takes one configuration, got a batch {coordinates.shape[:-1]}.")
        state = self.graph.current.replace(q=coordinates)
        self._rows = np.arange(6) if transmits == "wrench" else np.arange(3, 6)
        seen = [Pose.unchecked(*relative_pose(state, node, self.held)) for node in self.nodes]
        self.A: Array = np.concatenate([T.phi()[:, self._rows] for T in seen], axis=1)
        """(6, m): from f to the wrench on the object, at its frame in its axes."""
        rates = jacobian(self.graph, coordinates, list(self.nodes), expressed_in="node")
        self.J: Array = np.concatenate([rates[6 * i + self._rows] for i in range(len(self.nodes))])
        """(m, nv): J* f is the generalized force that the hands' wrenches take from the arms."""
        self._length = max(float(np.linalg.norm(T.translation)) for T in seen) or length_of(self.graph) or 1.0
        self._sizes = np.tile(np.repeat([self._length, 1.0], 3)[self._rows], len(self.nodes))

    @property
    def _plain(self) -> Array:
        """A without units: moments in forces times the distance of the hands."""
        return np.asarray(np.repeat([1.0 / self._length, 1.0], 3)[:, None] * self.A * self._sizes)

    @property
    def rank(self) -> int:
        """Number of the six components of a wrench that the hands can give the object."""
        return int(np.linalg.matrix_rank(self._plain, rtol=_RANK))

    def split(self, f: Any, weight: Any = None) -> tuple[Array, Array]:
        """f_move and f_squeeze of f (..., m), see `move_squeeze`."""
        return move_squeeze(self.A, f, weight)

    def share(self, wrench: Any, force: Any = None, weight: Any = None) -> Load:
        """The wrenches that together give the object `wrench` (6), with the least |T_g + J* f|_W in the arms.

        `wrench` is [moment; force] at the object's frame in its axes; `force` is T_g (nv), zero if not given. What the
        hands cannot give is a `SingularError`.
        """
        w = finite(wrench, (6,), f"the wrench on {self.held.full_name!r}", StateError)
        T = np.zeros(self.graph.nv) if force is None else read_v(self.graph, force, "force")
        if T.ndim > 1:
            raise StateError(f"share takes one force, got a batch {T.shape[:-1]}.")
        weight = in_graph_order(self.graph, weight, "weight of share")
        A, plain = self._plain, np.repeat([1.0 / self._length, 1.0], 3)
        f0 = np.linalg.lstsq(A, plain * w, rcond=_RANK)[0]
        unmet = w - self.A @ (self._sizes * f0)
        if np.abs(plain * unmet).max() > 1e-9 * np.abs(plain * w).max():
            raise SingularError(
                f"the hands at {self._listed()} cannot give {self.held.full_name!r} this wrench: a moment of "
                f"{np.linalg.norm(unmet[:3]):.3g} N m and a force of {np.linalg.norm(unmet[3:]):.3g} N are left over. "
                f"A has rank {self.rank}; hold it at more points, or by whole wrenches."
            )
        f = self._sizes * balance_load(A, self._sizes[:, None] * self.J, T, f0, weight)
        each = f.reshape(len(self.nodes), -1)
        wrenches = {}
        for node, part in zip(self.nodes, each, strict=True):
            wrenches[node.full_name] = np.zeros(6)
            wrenches[node.full_name][self._rows] = part
        return Load(wrenches, f, T + self.J.T @ f)

    def __repr__(self) -> str:
        return f"Holding of {self.held.full_name!r} in {self.graph.name!r} at {self._listed()}: A of rank {self.rank}"

    def _listed(self) -> str:
        return ", ".join(repr(x.full_name) for x in self.nodes)


def _hands(graph: Graph, held: Frame, nodes: Any) -> tuple[Frame, ...]:
    frames = read_nodes("Holding", graph, nodes)
    if not frames:
        raise ModelError(f"Holding of {held.full_name!r} needs at least one node that holds it.")
    for i, node in enumerate(frames):
        if node in frames[:i]:
            raise ModelError(f"Holding of {held.full_name!r} names the node {node.full_name!r} twice.")
        if node.carrier is held.carrier:
            raise ModelError(
                f"node {node.full_name!r} is on the object {held.full_name!r} itself; give the nodes of the hands that "
                "hold it."
            )
    return frames


def _root(weight: Any, size: int, what: str) -> Array:
    """L of W = L L*, lower triangular."""
    if weight is None:
        return np.eye(size)
    W = finite(weight, (..., size), what, StateError)
    if W.ndim == 1:
        W = np.diag(W)
    if W.shape != (size, size):
        raise StateError(f"{what} must have shape ({size},) or ({size}, {size}), got shape {W.shape}.")
    if not np.allclose(W, W.T, rtol=1e-12, atol=0.0):
        raise StateError(f"{what} must be symmetric.")
    try:
        return np.asarray(np.linalg.cholesky(W))
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(W)[0])
        raise StateError(f"{what} must be positive definite; its smallest eigenvalue is {smallest:.3g}.") from None
