"""Forces from outside that nobody measures, from the momentum of the dofs (De Luca and Mattone 2003).

    p = Mcal v,    dp/dt = T + C* v - g + T_ext        (d/dt Mcal = C + C*)
    r = K (p - integral of (T + C* v - g + r)),        dr/dt = K (T_ext - r)

g has gravity, springs and dampers. No acceleration is needed: r follows T_ext as a filter of first order with the
rates K. In a closed chain the momentum also changes by forces of the closures, G* lambda, which do no work along the
velocities that are free, v = X v_i with G X = 0 (formula F5). There what follows is

    r_i = K (integral of X* (dp/dt - T - C* v + g) - r_i),        dr_i/dt = K (X* T_ext - r_i)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.analysis.gradients import coriolis_matrix
from soacraft.attributes import Strict
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.kinematics.independent import Indices, expansion, refuse_held
from soacraft.kinematics.partition import partition, partition_with
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tolerances import CLOSED
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: Singular values of J* below this part of the largest belong to wrenches that the dofs do not feel.
_FELT = 1e-6


@dataclass(frozen=True, eq=False)
class Touch:
    """A wrench from outside at one frame that explains a generalized force."""

    wrench: Array
    """[moment; force] (6) at the frame's origin, in inertial axes."""
    left: Array
    """Residual of the force that no wrench there explains, for each of the observer's `dofs`."""
    rank: int
    """Number of the six components that the dofs feel; of the others the wrench has none."""

    def __repr__(self) -> str:
        n, f = (float(np.linalg.norm(x)) for x in np.split(self.wrench, 2))
        return f"wrench of {f:.4g} N and {n:.4g} N m, {self.rank} of 6 components felt"


class MomentumObserver(Strict):
    """Estimate of the external generalized force T_ext on a robot, beyond motors and gravity.

    `gain` are the rates K in 1/s, one or one for each of `dofs`. `update` takes readings at any times `dt` apart.
    Between them T is held, C* v - g goes linearly, and the filter is solved exactly, so that no gain is too high.

    Where loops or couplings tie dofs, some are independent, chosen where it begins, and the force is that on these, X*
    T_ext: forces that closures bear are not seen. Readings of q must close the loops; of v the independent ones are
    taken.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("pendulum"))
    >>> watch = sc.robot.MomentumObserver(rb, gain=50.0, q=[0.0], v=[0.0])
    >>> for _ in range(200):                                       # hangs at rest, though 2 N m are applied
    ...     r = watch.update([0.0], [0.0], [2.0], dt=0.001)
    >>> bool(abs(r[0] + 2.0) < 1e-3)
    True
    """

    def __init__(self, robot: Robot, gain: Any, q: Any = None, v: Any = None) -> None:
        if not isinstance(robot, Robot):
            raise ModelError(f"a MomentumObserver watches a Robot, got {robot!r:.60}.")
        mb = robot.mb
        self._robot, self._version = robot, (mb.version, mb.parameters)
        self._free: Indices | None = None
        if mb.is_closed:
            self._free = partition(self._rows(self._start(q))).independent
        nv = mb.nv if self._free is None else len(self._free)
        K = finite(in_graph_order(mb, gain, "gain") if self._free is None else gain, (...,), "gain", StateError)
        K = finite(K if K.ndim else np.full(nv, K), (nv,), "gain", StateError)
        if not (K > 0.0).all():
            raise StateError(f"gain must be positive, in 1/s; got {gain!r:.60}.")
        self._gain = K
        self.reset(q, v)

    @property
    def dofs(self) -> tuple[str, ...]:
        """The dofs that the estimate is of: all, or those that are independent."""
        names = self._robot.mb.dof_names
        return names if self._free is None else tuple(names[i] for i in self._free)

    @property
    def force(self) -> Array:
        """The estimate r of T_ext, one for each of `dofs`."""
        return np.array(self._r)

    def reset(self, q: Any = None, v: Any = None) -> None:
        """Restart at a state, by default the robot's, with no force."""
        mb = self._model()
        start, speed = self._start(q), read_v(mb, mb.v if v is None else v)
        if speed.ndim > 1:
            raise StateError("an observer begins at one state, got a batch.")
        X = self._motions(start)
        self._p, self._known = self._terms(start, self._possible(X, speed))
        self._q, self._X, self._r = start, X, np.zeros(len(self._gain))

    def update(self, q: Any, v: Any, force: Any, dt: float) -> Array:
        """The estimate after `dt` seconds, for `dofs`: q, v at their end, `force` of the motors (nv) during them.
        O(n nv), with loops O(nv^3)."""
        mb = self._model()
        q, v, T = read_q(mb, q), read_v(mb, v), read_v(mb, force, "force")
        if q.ndim > 1 or v.ndim > 1 or T.ndim > 1:
            raise StateError("an observer takes one state after the other, got a batch.")
        h = float(finite(dt, (), "dt", StateError))
        if not h > 0.0:
            raise StateError(f"dt must be positive, in seconds; got {dt!r:.40}.")
        X = self._motions(q)
        p, acting = self._terms(q, self._possible(X, v))
        # the mean of T_ext in these seconds
        with np.errstate(over="ignore", invalid="ignore"):
            rate = (p - self._p) / h - T - 0.5 * (acting + self._known)
            if X is not None and self._X is not None:
                rate = 0.5 * (X + self._X).T @ rate  # G* lambda is left by h^2
            fade = np.exp(-self._gain * h)
            r = finite_or_refused(fade * self._r - np.expm1(-self._gain * h) * rate, "the estimate of the force")
        self._r, self._q, self._X, self._p, self._known = r, q, X, p, acting
        return np.array(self._r)

    def wrench(self, frame: Any, q: Any = None) -> Touch:
        """The wrench at a frame that explains the estimate best, J* f = r in least squares, with the frame where the
        last reading puts it, or at q; forces along dofs are weighed by the model's length against moments. O(nv)."""
        mb = self._model()
        at = self._q if q is None else read_q(mb, q)
        if at.ndim > 1:
            raise StateError("a wrench is found at one state, got a batch.")
        J = np.asarray(dyn.jacobian(mb, at, mb.frame(frame), ignore_loops=True))
        X = self._motions(at)
        J = J if X is None else J @ X
        length = length_of(mb) or 1.0
        scale = np.repeat([1.0, length], 3)  # forces as moments at the model's length
        weights = np.array([1.0 if u == "r" else length for u in "".join(mb.layout.units.hinge)])
        weights = weights if self._free is None else weights[self._free]
        rows = weights[:, None] * J.T / scale
        U, s, Vt = np.linalg.svd(rows, full_matrices=False)
        rank = int((s > _FELT * s.max(initial=0.0)).sum())
        f = (Vt[:rank].T @ ((U[:, :rank].T @ (weights * self._r)) / s[:rank])) / scale
        return Touch(f, self._r - J.T @ f, rank)

    def _model(self) -> Multibody:
        mb = self._robot.mb
        if (mb.version, mb.parameters) != self._version:
            raise StaleError(f"the robot {mb.name!r} has changed since: make another MomentumObserver.")
        return mb

    def _start(self, q: Any) -> Array:
        mb = self._robot.mb
        start = read_q(mb, mb.q if q is None else q)
        if start.ndim > 1:
            raise StateError("an observer begins at one state, got a batch.")
        return start

    def _rows(self, q: Array) -> Constraints:
        """Closures at coordinates that close them."""
        mb = self._robot.mb
        still = np.zeros(mb.nv)
        rows = Constraints(mb, mb.current.replace(q=q, v=still, vdot=still, forces=()))
        if rows.opening > CLOSED:
            raise LoopError(
                f"the loops of {mb.name!r} are open by {rows.opening:.3g} (radians, or parts of their length) at a "
                "reading: close them with sc.loops.TreeAugmented(mb).assemble(q)."
            )
        return rows

    def _motions(self, q: Array) -> Array | None:
        """X, (nv, dofs); None where nothing is tied."""
        if self._free is None:
            return None
        rows = self._rows(q)
        choice, sizes, G = partition_with(rows, self._free), sizes_of(rows), rows.jacobian()
        X = expansion(G, choice, sizes)
        refuse_held(rows, G, choice, X, sizes)
        return X

    def _possible(self, X: Array | None, v: Array) -> Array:
        """Velocities that closures allow."""
        return v if X is None else np.asarray(X @ v[self._free])

    def _terms(self, q: Array, v: Array) -> tuple[Array, Array]:
        """p = Mcal v, and C* v - g."""
        mb = self._robot.mb
        with np.errstate(over="ignore", invalid="ignore"):
            M = np.asarray(dyn.mass_matrix(mb, q, ignore_loops=True))
            p = finite_or_refused(M @ v, "the momentum of the dofs")
        C = np.asarray(coriolis_matrix(mb, q, v, ignore_loops=True))
        bias = np.asarray(dyn.inverse_dynamics(mb, q, v, np.zeros(mb.nv), ignore_loops=True))  # C v + g
        return p, C.T @ v + C @ v - bias
