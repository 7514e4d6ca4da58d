"""A part of a robot from a base to a tip, or to several: an arm, a leg, a neck, a hand, with its own kinematics.

Its coordinates are those of the hinges between, in the order of the tree; those of the rest of the robot do not matter,
since poses are of the tips as seen from the base.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.analysis.manipulability import Manipulability
from soacraft.attributes import Remade, Strict
from soacraft.errors import ModelError, StaleError, StateError
from soacraft.kinematics.limbs import LimbEngine
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.subgraph import SubGraph
from soacraft.order import in_order, order_of
from soacraft.robot.interfaces import Bearer, Surroundings
from soacraft.robot.limbs import branches, following, reaching, ties
from soacraft.robot.limbs.asking import Solver, in_base
from soacraft.robot.limbs.closed_form import CLOSED_FORM, ClosedForm
from soacraft.robot.limbs.data import LimbData, path
from soacraft.robot.limbs.moving import measured
from soacraft.robot.limbs.reaching import Reach
from soacraft.spatial.checks import Array, Shape, finite
from soacraft.spatial.pose import Pose


class Limb(Remade, Strict):
    """Hinges from `base` to `tip`, or to several tips, made by `Robot.limb`. It follows when the robot takes and puts
    down objects; after other edits of the model it is refused.

    >>> import soacraft as sc
    >>> arm = sc.robot.Robot(sc.load("panda")).limb("arm", base="inertial", tip="link7")
    >>> goal = arm.pose([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    >>> r = arm.ik(goal)
    >>> r.found, arm.pose(r.q).is_close(goal)
    (True, True)
    """

    _remade: ClassVar = {"_data": None, "_graph": None}

    def __init__(self, robot: Bearer, name: str, base: Frame, tips: tuple[Frame, ...]) -> None:
        self._robot, self._name = robot, name
        self._place(base, tips)
        self._edits = robot._edits.by_others
        self._fk: Any = None
        self._ik: Solver | None = None
        self._closed: ClosedForm | None = None

    def _place(self, base: Frame, tips: tuple[Frame, ...]) -> None:
        """Find its hinges in the model as it is."""
        robot = self._robot
        self._base, self._tips, self._bodies = base, tips, _between(robot, self._name, base, tips)
        layout = robot.mb.layout
        spans = [layout.index[x] for x in self._bodies]
        self._q = np.array([i for k in spans for i in range(layout.hinge_q[k].start, layout.hinge_q[k].stop)], np.intp)
        self._v = np.array([i for k in spans for i in range(layout.hinge_v[k].start, layout.hinge_v[k].stop)], np.intp)
        self._dofs = tuple(robot.mb.dof_names[i] for i in self._v)
        still = ~movable_dofs(robot.mb, robot.held)[self._v]
        if still.any():
            raise ModelError(
                f"limb {self._name!r} has {self._dofs[int(np.argmax(still))]!r}, a dof of what the robot holds, which "
                "it cannot move: end the limb at the hand, or hold that part by another hand."
            )
        self._version = robot.mb.version
        self._data: LimbData | None = None
        self._graph: SubGraph | None = None

    # -- what it is ----------------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """Name of the limb."""
        return self._name

    @property
    def base(self) -> Frame:
        """The frame that poses are seen from."""
        return self._base

    @property
    def tips(self) -> tuple[Frame, ...]:
        """The frames at its ends."""
        return self._tips

    @property
    def tip(self) -> Frame:
        """The frame at its end, of a limb that has one."""
        if len(self._tips) > 1:
            raise ModelError(f"limb {self._name!r} has {len(self._tips)} tips: ask for its tips.")
        return self._tips[0]

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies that move with respect to the base, from there to the tips."""
        return self._bodies

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of its dofs."""
        self._require_current()
        return self._dofs

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
        return self.data.lower.copy(), self.data.upper.copy()

    @property
    def q(self) -> Array:
        """Coordinates of the limb at the robot's present state."""
        return np.array(self._robot.mb.q)[self.q_places]

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the dofs that columns of `jacobian` belong to: all of the limb's; where loops or couplings tie them,
        as many as can move on their own, chosen once, at the state the robot is in then."""
        if not self.data.tied:
            return self.dof_names
        dofs, of_limb = self.data.independent(self)
        return tuple(self._robot.mb.dof_names[i] for i in dofs[of_limb])

    @property
    def graph(self) -> SubGraph:
        """Bodies of the limb as a sub-graph, whose anchor is at rest."""
        self._require_current()
        if self._graph is None:
            self._graph = self._robot.mb.subgraph(self._bodies)
        return self._graph

    @property
    def engine(self) -> LimbEngine | None:
        """Compiled inverse kinematics; None where the limb has several tips, or a hinge that is no row of screws or is
        tied by a loop or coupling.
        """
        return self.data.engine

    @property
    def reach(self) -> float:
        """The sum of the links between base and tip, in metres; of several tips the longest."""
        return self.data.reach

    # -- kinematics ----------------------------------------------------------------------------------------------

    def placed(self, q: Any) -> Array:
        """The robot's coordinates with these of the limb, the rest as at present, (..., nq of the robot); loops and
        couplings are not looked at."""
        self._require_current()
        q = self.read_q(q, (..., self.nq))
        of_robot = np.array(np.broadcast_to(self._robot.mb.q, (*q.shape[:-1], self._robot.mb.nq)))
        of_robot[..., self._q] = q
        return of_robot

    def of_robot(self, q: Any) -> Array:
        """The robot's coordinates with these of the limb, (..., nq of the robot): the rest as at present, but for what
        loops and couplings move along. Coordinates of the limb at which these do not close are a `LoopError`."""
        configurations = self.placed(q)
        if not self.data.tied:
            return configurations
        each = [ties.closed(self, x) for x in configurations[..., self._q].reshape(-1, self.nq)]
        return np.array(each).reshape(configurations.shape)

    def pose(self, q: Any = None) -> Pose:
        """The pose of the tip in the base, q (..., nq) or the present one; of several tips one more leading axis, the
        last, in the order of `tips`. O(n)."""
        if self._fk is not None:
            return self._checked_fk(self.q if q is None else q)
        return self.true_pose(self.q if q is None else q)

    def true_pose(self, q: Any) -> Pose:
        """The pose by the model, whatever `use` says."""
        mb = self._robot.mb
        state = mb.state(self.placed(q))
        each = [mb.pose(tip, self._base, state=state) for tip in self._tips]
        if len(each) == 1:
            return each[0]
        rotation, translation = np.stack([x.rotation for x in each], -3), np.stack([x.translation for x in each], -2)
        return Pose.unchecked(rotation, translation)

    def jacobian(self, q: Any = None) -> Array:
        """J qdot = [angular; linear] velocity of the tip in the base, in axes of the base, (..., 6, nv). O(n).

        Of k tips (..., 6 k, nv), in the order of `tips`. Where loops or couplings tie dofs, columns are those of the
        `independent` ones, with all that moves along: J X, at coordinates where the loops close.
        """
        q = self.q if q is None else q
        if not self.data.tied:
            return np.ascontiguousarray(self.columns(self.placed(q))[..., self._v])
        configurations = self.of_robot(q)
        rows = configurations.reshape(-1, configurations.shape[-1])
        each = []
        for x in rows:
            m = ties.motions(self, x)
            each.append(self.columns(x) @ m.X[:, m.own])
        return np.array(each).reshape(*configurations.shape[:-1], 6 * len(self._tips), len(self.independent))

    def columns(self, configurations: Array) -> Array:
        """Columns of all dofs of the robot at coordinates of it, loops left alone, (..., 6 k, nv of the robot)."""
        return dyn.jacobian(
            self._robot.mb, configurations, self._tips, self._base, relative_to=self._base, ignore_loops=True
        )

    def manipulability(self, q: Any = None, rows: Any = None, scale: Any = None) -> Manipulability:
        """Manipulability of the tips: measures of `jacobian`, with their gradients along the limb's dofs.

        `rows` picks some ("linear", "angular", or numbers), `scale` weighs them: see `analysis.manipulability`.
        """
        return measured(self, self.q if q is None else q, rows, scale)

    def torques(self, q: Any, wrench: Any) -> Array:
        """Generalized forces J* f of a wrench [moment; force] on the tip, at its origin in axes of the base, (..., nv);
        of k tips wrenches (..., k, 6). Where dofs are tied, forces on the `independent` ones.

        T = J* f                                                                             (000 Eq. 13)
        """
        shape = (..., 6) if len(self._tips) == 1 else (..., len(self._tips), 6)
        f = finite(wrench, shape, f"wrench on limb {self._name!r}", StateError)
        f = f if len(self._tips) == 1 else f.reshape(*f.shape[:-2], 6 * len(self._tips))
        J = self.jacobian(q)
        try:
            return np.asarray(np.einsum("...ij,...i->...j", J, f))
        except ValueError:
            raise StateError(
                f"wrenches on limb {self._name!r} have the leading axes {f.shape[:-1]}, and q {J.shape[:-2]}: give as "
                "many of both, or one of either."
            ) from None

    def use(self, fk: Any = None, ik: Any = None) -> None:
        """Take functions of your own: `fk(q) -> Pose` and `ik(pose, near) -> q or None`. Each answer is verified: one
        of `fk` against the model, one of `ik` against the pose and the limits; what fails is refused. Where `ik` gives
        None, the limb's own search goes on. `ik="closed form"` takes that of the package EAIK (the extra `ik`), for
        limbs of pins whose geometry has one; its answers are verified as well."""
        closed = None
        if isinstance(ik, str) and ik == CLOSED_FORM:
            self._require_current()
            closed = ClosedForm.of(self)
        elif ik is not None and not callable(ik):
            raise StateError(f"ik of limb {self._name!r} must be a function, or {CLOSED_FORM!r}; got {ik!r:.60}.")
        if fk is not None and not callable(fk):
            raise StateError(f"fk of limb {self._name!r} must be a function, got {fk!r:.60}.")
        self._fk, self._ik, self._closed = fk, None if closed is not None else ik, closed

    def use_as(self, other: Limb) -> None:
        """Use the functions of another limb. A closed form is made again when it is first called."""
        self._fk, self._ik, self._closed = other._fk, other._ik, other._closed

    def _checked_fk(self, q: Any) -> Pose:
        pose, true = self._fk(q), self.true_pose(q)
        if not isinstance(pose, Pose) or not _close(pose, true, self.data.length):
            raise StateError(
                f"fk of limb {self._name!r} gave {pose!r:.80}, and the model has {true!r:.80}: mend it, or take it "
                "away with use(fk=None)."
            )
        return pose

    # -- inverse kinematics --------------------------------------------------------------------------------------

    def ik(
        self,
        pose: Any,
        near: Any = None,
        free: Any = (),
        *,
        relative_to: Any = None,
        tolerance: Any = None,
        seeds: int | None = None,
        collisions: Surroundings | None = None,
        prefer: Any = None,
        time_limit: float | None = None,
        threads: int = 1,
    ) -> Reach:
        """Coordinates at which the tip is at a pose in the base, within the limits. True where it was found.

        `pose` may have leading axes; of several tips the last is theirs, or it is {tip: Pose}, and tips that are left
        out may be anywhere. `relative_to` is a frame of the robot, or "inertial", that poses are given in: they are
        taken to the base at the robot's present state. `near` is where to start, by default between the limits.

        `free` names axes of the goal about or along which the tip may be anywhere, "rx", "ry", "rz", "x", "y", "z", or
        is {tip: axes}. `tolerance` is a number, in radians and parts of the limb's reach, or six, in radians and
        metres, for those axes, or a row of six for each tip; by default 1e-9. Starts are `near` and then stored
        configurations, those whose tips are nearest first, `seeds` at most.

        `prefer` says which of several solutions: "near" (the default where `near` is given: the one that is reached
        from there, or else the nearest), "mid-range", "manipulability", or a function of q whose value is to be least.
        With `collisions` solutions in which the world is touched do not count. `time_limit` in seconds ends a search of
        one pose. The same call gives the same answer, with any number of threads, unless a time limit cuts it. Out of
        reach, `q` is the nearest approach found, and `why` has the reason. Levenberg-Marquardt steps (Sugihara 2011),
        one start in each lane of a register; O(n) a step. Limbs with loops, couplings, balls, or tips that share hinges
        are searched by `sc.inverse_kinematics`.
        """
        self._require_current()
        if relative_to is not None:
            pose = in_base(self, pose, relative_to)
        return reaching.reach(self, pose, near, free, tolerance, seeds, collisions, prefer, time_limit, threads)

    def solutions(
        self, pose: Pose, free: Any = (), *, relative_to: Any = None, tolerance: Any = None, seeds: int | None = None
    ) -> Array:
        """Every configuration found at which the tip is at a pose, (k, nq), of a limb with as many dofs as conditions.
        Those that differ by whole turns are one: that nearest to the middle of the range. From many starts, then from
        solutions beyond folds and by symmetry, until that leads to no others. A redundant limb has curves of them, a
        planar one also where its turns are free: `self_motion`.
        """
        self._require_current()
        return branches.solutions(self, in_base(self, pose, relative_to), free, tolerance, seeds)

    def self_motion(self, q: Any, step: float = 0.02, most: int = 2000, *, free: Any = ()) -> Array:
        """The curve through q along which the tip of a limb with one dof more than conditions stays where it is, but
        for `free` axes of its pose, to its limits or until it closes, (k, nq): dofs without limits by whole turns too.
        Steps are of about `step` radians, `most` at most each way."""
        self._require_current()
        return following.self_motion(self, q, step, most, free)

    def follow(
        self, poses: Pose, near: Any = None, *, relative_to: Any = None, tolerance: Any = None
    ) -> following.Followed:
        """One continuous branch along a path of poses with one leading axis, from the branch nearest to `near`; where
        none goes all the way, the longest, and where it must jump."""
        self._require_current()
        return following.follow(self, in_base(self, poses, relative_to), near, tolerance)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def data(self) -> LimbData:
        """Data that are made once, and again after constants or limits of the model have changed."""
        self._require_current()
        stored = self._data
        if stored is None or not stored.holds(self._robot.mb.parameters):
            self._data = stored = LimbData(self)
        return stored

    @property
    def own_ik(self) -> Solver | None:
        """The user's own solver."""
        return self._ik

    @property
    def is_own(self) -> bool:
        """True if only the limb's own search is used."""
        return self._ik is None and self._closed is None

    @property
    def closed_form(self) -> ClosedForm | None:
        """The closed form that is in use; made again after constants of the model have changed."""
        if self._closed is not None and not self._closed.holds(self):
            self._closed = ClosedForm.of(self)
        return self._closed

    def apart(self, a: Array, b: Array) -> Array:
        """The way from one configuration of the robot to another along the dofs of the limb, in radians and lengths."""
        return np.asarray(self._robot.mb.difference(b, a)[self._v] * self.data.unit)

    @property
    def ends(self) -> tuple[str, str | list[str]]:
        """Arguments of `Robot.limb` that make it: names of the base and of the tip, or the tips."""
        base, *tips = ("inertial" if f is self._robot.mb.root else f.full_name for f in (self._base, *self._tips))
        return base, tips[0] if len(tips) == 1 else tips

    @property
    def robot(self) -> Bearer:
        """The robot."""
        return self._robot

    @property
    def v_places(self) -> npt.NDArray[np.intp]:
        """Places of its dofs among the robot's."""
        self._require_current()
        return self._v

    @property
    def q_places(self) -> npt.NDArray[np.intp]:
        """Places of its coordinates among the robot's."""
        self._require_current()
        return self._q

    def read_q(self, q: Any, shape: Shape, what: str = "q") -> Array:
        """Coordinates of the limb, of this shape, in its own order."""
        name, order = f"{what} of limb {self._name!r}", order_of(
            [body.name for body in self._bodies], [body.hinge.nq for body in self._bodies]
        )
        return finite(in_order(q, order, name), shape, name, StateError)

    @property
    def dof_places(self) -> npt.NDArray[np.intp]:
        """Places of the coordinates of its dofs among the robot's; -1 for dofs that are no rates of coordinates."""
        return self.data.places

    @property
    def is_current(self) -> bool:
        """True if it is of the robot as it is. It follows changes by the robot itself: `attach`, `detach`, `grasp`,
        `ungrasp`, `undo`, `apply`, and `World.give_to_robot`.
        """
        return self._robot.mb.version == self._version or self._follows()

    def _follows(self) -> bool:
        """Be of the robot as it is, where that alone has changed its model, and the same hinges lead to the tips."""
        mb = self._robot.mb
        if self._robot._edits.by_others != self._edits:
            return False
        base, tips = self.ends
        names = [base, *([tips] if isinstance(tips, str) else tips)]
        try:
            start, *ends = (mb.root if x == "inertial" else mb.frame(x) for x in names)
            fresh = Limb(self._robot, self._name, start, tuple(ends))
        except ModelError:
            return False
        if fresh._dofs != self._dofs:
            return False
        self._place(fresh.base, fresh.tips)
        return True

    def __deepcopy__(self, memo: dict[int, Any]) -> Limb:
        self._require_current()
        robot = deepcopy(self._robot, memo)
        if self._robot._limbs.get(self._name) is self:
            twin: Limb = robot[self._name]
            return twin
        frames = [robot.mb.root if x is self._robot.mb.root else robot.mb.frame(x.full_name)
                  for x in (self._base, *self._tips)]  # fmt: skip
        other = Limb(robot, self._name, frames[0], tuple(frames[1:]))
        other.use_as(self)
        return other

    def _require_current(self) -> None:
        if not self.is_current:
            raise StaleError(
                f"limb {self._name!r} is of the robot as it was before it changed: make it again with "
                f"robot.limb({self._name!r}, base=..., tip=...)."
            )

    def __repr__(self) -> str:
        ends = f"from {self._base.full_name!r} to {', '.join(repr(x.full_name) for x in self._tips)}"
        names = ", ".join(self.dof_names) if self.is_current else "as the robot was before it changed"
        return f"Limb {self._name!r} {ends}: {self.nv} dofs ({names})"


def _between(robot: Bearer, name: str, base: Frame, tips: tuple[Frame, ...]) -> tuple[Body, ...]:
    """The bodies between, in the order of the tree."""
    names = [x.full_name for x in tips]
    if not tips or len(set(names)) < len(names):
        raise ModelError(f"limb {name!r} has a tip, or several different ones; got {names}.")
    bodies: set[Body] = set()
    for tip in tips:
        way = path(base, tip)
        if way is None:
            raise ModelError(
                f"limb {name!r} of {robot.mb.name!r}: the tip {tip.full_name!r} is not outboard of the base "
                f"{base.full_name!r}. Exchange them, or take a base that carries both."
            )
        if not any(x.hinge.nv for x in way):
            raise ModelError(f"limb {name!r}: nothing moves between {base.full_name!r} and {tip.full_name!r}.")
        bodies.update(way)
    return tuple(sorted(bodies, key=robot.mb.layout.index.__getitem__))


def _close(a: Pose, b: Pose, length: float) -> bool:
    """True if poses agree to 1e-9 of a radian and of a length."""
    X = a.inv @ b
    return bool(np.abs(X.rotation - np.eye(3)).max() < 1e-9 and np.abs(X.translation).max() <= 1e-9 * length)
