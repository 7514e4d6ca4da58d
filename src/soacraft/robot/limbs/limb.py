"""A part of a robot from a base to a tip: an arm, a leg, a neck, a finger, with its own kinematics.

Its coordinates are those of the hinges between, in the order of the tree; those of the rest of the robot do not matter,
since poses are of the tip as seen from the base.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.analysis.manipulability import Manipulability, manipulability
from soacraft.attributes import Strict
from soacraft.errors import ConvergenceError, ModelError, StaleError, StateError
from soacraft.kinematics.limbs import LimbEngine, engine_of
from soacraft.model.sizes.lengths import chain
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.subgraph import SubGraph
from soacraft.robot.limbs import following, reaching
from soacraft.robot.limbs.reaching import Reach, Solver, close, tied_dofs
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.robot.robot import Robot
    from soacraft.robot.world.world import World


class Limb(Strict):
    """Hinges from `base` to `tip`, made by `Robot.limb`.

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("panda")).limb("arm", base="inertial", tip="link7")
    >>> goal = arm.pose([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    >>> r = arm.ik(goal)
    >>> r.found, arm.pose(r.q).is_close(goal)
    (True, True)
    """

    def __init__(self, robot: Robot, name: str, base: Frame, tip: Frame) -> None:
        self._robot, self._name, self._base, self._tip = robot, name, base, tip
        self._bodies = _between(robot.mb.name, name, base, tip)
        layout = robot.mb.layout
        spans = [layout.index[x] for x in self._bodies]
        self._q = np.array([i for k in spans for i in range(layout.hinge_q[k].start, layout.hinge_q[k].stop)], np.intp)
        self._v = np.array([i for k in spans for i in range(layout.hinge_v[k].start, layout.hinge_v[k].stop)], np.intp)
        if not len(self._v):
            raise ModelError(f"limb {name!r}: nothing moves between {base.full_name!r} and {tip.full_name!r}.")
        self._version = robot.mb.version
        self._engine: tuple[int, LimbEngine | None] | None = None
        self._reach: tuple[int, float] | None = None
        self._fk: Any = None
        self._ik: Solver | None = None

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Its name."""
        return self._name

    @property
    def base(self) -> Frame:
        """The frame that poses are seen from."""
        return self._base

    @property
    def tip(self) -> Frame:
        """The frame at its end."""
        return self._tip

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies that move with respect to the base, from there to the tip."""
        return self._bodies

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of its dofs."""
        return tuple(self._robot.mb.dof_names[i] for i in self._v)

    @property
    def nq(self) -> int:
        """Coordinates."""
        return len(self._q)

    @property
    def nv(self) -> int:
        """Dofs."""
        return len(self._v)

    @property
    def limits(self) -> tuple[Array, Array]:
        """The lowest and the highest of each dof, infinite where there is no limit."""
        ranges = Ranges(self._robot.mb)
        return ranges.lower[self._v], ranges.upper[self._v]

    @property
    def q(self) -> Array:
        """Its coordinates at the robot's present state."""
        return np.array(self._robot.mb.q)[self._q]

    @cached_property
    def graph(self) -> SubGraph:
        """Its bodies as a sub-graph, whose anchor is at rest."""
        return self._robot.mb.subgraph(self._bodies)

    @property
    def engine(self) -> LimbEngine | None:
        """Its compiled inverse kinematics; None where a hinge is no row of screws, or tied by a loop or coupling."""
        mb = self._robot.mb
        if self._engine is None or self._engine[0] != mb.parameters:
            tied = bool(tied_dofs(mb)[self._v].any())
            made = None if tied else engine_of(mb, self._bodies, self._base, self._tip)
            self._engine = mb.parameters, made
        return self._engine[1]

    # -- kinematics ----------------------------------------------------------------------------------------------

    def of_robot(self, q: Any) -> Array:
        """The robot's coordinates with these of the limb, the rest as at present, (..., nq of the robot)."""
        self._require_current()
        q = finite(np.asarray(q, dtype=float), (..., self.nq), f"q of limb {self._name!r}", StateError)
        whole = np.array(np.broadcast_to(self._robot.mb.q, (*q.shape[:-1], self._robot.mb.nq)))
        whole[..., self._q] = q
        return whole

    def pose(self, q: Any = None) -> Pose:
        """The pose of the tip in the base, q (..., nq) or the present one. O(n)."""
        if self._fk is not None:
            return self._checked_fk(self.q if q is None else q)
        return self._true_pose(self.q if q is None else q)

    def _true_pose(self, q: Any) -> Pose:
        mb, whole = self._robot.mb, self.of_robot(q)
        return mb.pose(self._tip, self._base, state=mb.state(whole))

    def jacobian(self, q: Any = None) -> Array:
        """J qdot = [angular; linear] velocity of the tip in the base, in axes of the base, (..., 6, nv). O(n)."""
        whole = self.of_robot(self.q if q is None else q)
        J = dyn.jacobian(self._robot.mb, whole, self._tip, self._base, relative_to=self._base, ignore_loops=True)
        return np.ascontiguousarray(J[..., self._v])

    def manipulability(self, q: Any = None, rows: Any = None, scale: Any = None) -> Manipulability:
        """How well the tip can be moved: `analysis.manipulability` of the limb alone."""
        q = self.q if q is None else q
        self.of_robot(q)
        return manipulability(self.graph, q, self._tip, rows, scale=scale, ignore_loops=True)

    def torques(self, q: Any, wrench: Any) -> Array:
        """Generalized forces J* f of a wrench [moment; force] on the tip, at its origin in axes of the base, (..., nv).

        T = J* f                                                                             (000 Eq. 13)
        """
        f = finite(np.asarray(wrench, dtype=float), (..., 6), f"wrench on limb {self._name!r}", StateError)
        return np.asarray(np.einsum("...ij,...i->...j", self.jacobian(q), f))

    def use(self, fk: Any = None, ik: Any = None) -> None:
        """Take functions of your own: `fk(q) -> Pose` and `ik(pose, near) -> q or None`. Each answer is verified: one
        of `fk` against the model, one of `ik` against the pose and the limits; what fails is refused. Where `ik` gives
        None, the limb's own search goes on."""
        for what, f in (("fk", fk), ("ik", ik)):
            if f is not None and not callable(f):
                raise StateError(f"{what} of limb {self._name!r} must be a function, got {f!r:.60}.")
        self._fk, self._ik = fk, ik

    def _checked_fk(self, q: Any) -> Pose:
        given, true = self._fk(q), self._true_pose(q)
        if not isinstance(given, Pose) or not close(given, true, self.reach):
            raise ConvergenceError(
                f"fk of limb {self._name!r} gave {given!r:.80}, and the model has {true!r:.80}: mend it, or take it "
                "away with use(fk=None)."
            )
        return given

    @property
    def reach(self) -> float:
        """The sum of the links between base and tip, in metres."""
        parameters = self._robot.mb.parameters
        if self._reach is None or self._reach[0] != parameters:
            self._reach = parameters, float(sum(chain(self._base, self._tip).links))
        return self._reach[1]

    # -- inverse kinematics --------------------------------------------------------------------------------------

    def ik(
        self,
        pose: Pose,
        near: Any = None,
        free: Any = (),
        *,
        tolerance: Any = None,
        seeds: int | None = None,
        collisions: World | None = None,
        prefer: Any = None,
        time_limit: float | None = None,
        threads: int = 1,
    ) -> Reach:
        """Coordinates at which the tip is at a pose in the base, within the limits. True where it was found.

        `pose` may have leading axes; `near` is where to start, by default between the limits. `free` names axes of the
        goal about or along which the tip may be anywhere: "rx", "ry", "rz", "x", "y", "z". `tolerance` is a number, in
        radians and parts of the limb's reach, or six, in radians and metres, for those axes; by default 1e-9. Starts
        are `near` and then stored configurations, those whose tips are nearest first, `seeds` at most.

        `prefer` says which of several solutions: "near" (the default where `near` is given: the one that is reached
        from there, or else the nearest), "mid-range", "manipulability", or a function of q whose value is to be least.
        With `collisions` solutions in which the world is touched do not count.
        `time_limit` in seconds ends a search of one pose. The same call gives the same answer, with any number of
        threads, unless a time limit cuts it. Out of reach, `q` is the nearest approach (of a batch where the search
        gave up, near to it) and `why` says what is in the way. Levenberg-Marquardt steps (Sugihara 2011), one start in
        each lane of a register; O(n) a step.
        """
        self._require_current()
        return reaching.reach(self, pose, near, free, tolerance, seeds, collisions, prefer, time_limit, threads)

    def solutions(self, pose: Pose, free: Any = (), *, tolerance: Any = None, seeds: int | None = None) -> Array:
        """Every configuration found at which the tip is at a pose, (k, nq), each once; of a limb with as many dofs as
        conditions. A redundant limb has curves of them: `self_motion`."""
        self._require_current()
        return reaching.solutions(self, pose, free, tolerance, seeds)

    def self_motion(self, q: Any, step: float = 0.02, most: int = 2000) -> Array:
        """The curve through q along which the tip of a limb with one dof more than conditions stays where it is, to its
        limits or until it closes, (k, nq). Steps are of about `step` radians, `most` at most each way."""
        self._require_current()
        return following.self_motion(self, q, step, most)

    def follow(self, poses: Pose, near: Any = None, *, tolerance: Any = None) -> following.Followed:
        """One continuous branch along a path of poses with one leading axis, from the branch nearest to `near`; where
        none goes all the way, the longest, and where it must jump."""
        self._require_current()
        return following.follow(self, poses, near, tolerance)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def own_ik(self) -> Solver | None:
        """The user's own solver."""
        return self._ik

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._robot

    @property
    def v_places(self) -> npt.NDArray[np.intp]:
        """Places of its dofs among the robot's."""
        return self._v

    @property
    def q_places(self) -> npt.NDArray[np.intp]:
        """Places of its coordinates among the robot's."""
        return self._q

    @property
    def is_current(self) -> bool:
        """Whether the robot has not changed since."""
        return self._robot.mb.version == self._version

    def _require_current(self) -> None:
        if not self.is_current:
            raise StaleError(
                f"limb {self._name!r} is of the robot as it was before it changed: make it again with "
                f"robot.limb({self._name!r}, base=..., tip=...)."
            )

    def __repr__(self) -> str:
        ends = f"from {self._base.full_name!r} to {self._tip.full_name!r}"
        return f"Limb {self._name!r} {ends}: {self.nv} dofs ({', '.join(self.dof_names)})"


def _between(robot: str, name: str, base: Frame, tip: Frame) -> tuple[Body, ...]:
    bodies, at = [], tip.carrier
    while at is not base.carrier:
        if not isinstance(at, Body):
            raise ModelError(
                f"limb {name!r} of {robot!r}: the tip {tip.full_name!r} is not outboard of the base "
                f"{base.full_name!r}. Exchange them, or take a base that carries both."
            )
        bodies.append(at)
        at = at.parent
    return tuple(reversed(bodies))
