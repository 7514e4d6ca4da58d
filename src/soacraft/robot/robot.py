"""`Robot`: a model as software of a robot uses it. Each module has another copy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from soacraft.arguments import listed, read_path
from soacraft.attributes import Strict
from soacraft.cards import card, facts, says_why
from soacraft.errors import ModelError, near
from soacraft.files.srdf import read_srdf
from soacraft.model.hinges.base import Hinge
from soacraft.model.states.dof_sets import actuated_dofs, movable_dofs
from soacraft.model.states.ties import Mask
from soacraft.model.tree.cards import picture
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.changes.changes import Changes, Memory
from soacraft.robot.estimation.prediction import Prediction, predict
from soacraft.robot.grasping.grasps import Grasps, find_grasps, read_asked
from soacraft.robot.grasping.hands import make_hand
from soacraft.robot.grasping.holds import Holds
from soacraft.robot.grasping.joined import Joined
from soacraft.robot.grasping.reactions import Reactions, reactions, strengths
from soacraft.robot.grasping.strength import Strength
from soacraft.robot.interfaces import Surroundings
from soacraft.robot.limbs.groups import Groups, limbs_of
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.whole_body.reach import BodyReach, reach
from soacraft.robot.whole_body.step import Step
from soacraft.robot.whole_body.tasks import Task
from soacraft.robot.whole_body.velocity import VelocityPlan
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.contact.geometry.shapes import Shape
    from soacraft.kinematics.targets import Target
    from soacraft.model.tree.parts.records import Geometry

#: Plans of velocities that a robot keeps.
_PLANS = 8


class Robot(Strict):
    """A model with names for its limbs.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("h1"))
    >>> rb.limb("right arm", base="torso_link", tip="right_elbow_link")
    Limb 'right arm' from 'torso_link' to 'right_elbow_link': 4 dofs (right_shoulder_pitch, right_shoulder_roll, \
right_shoulder_yaw, right_elbow)
    >>> rb["right arm"].nv, rb.copy().limbs
    (4, ('right arm',))
    """

    def __init__(self, mb: Multibody) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Robot takes a Multibody, got {mb!r:.80}.")
        self._mb = mb
        self._limbs: dict[str, Limb] = {}
        self._plans: dict[Any, VelocityPlan] = {}  # of velocities, the latest
        self._holds = Holds(mb)
        self._memory = Memory()
        self._edits = _Edits(mb)
        self._shapes: dict[tuple[str, str], tuple[Geometry, Shape]] = {}  # that a world gave, by body and name

    @property
    def mb(self) -> Multibody:
        """The model."""
        return self._mb

    @property
    def limbs(self) -> tuple[str, ...]:
        """Names of the limbs."""
        return tuple(self._limbs)

    @property
    def actuated(self) -> tuple[str, ...]:
        """Dofs that control laws push by default: those with an actuator; of a model without
        actuators all hinges but a free base. Never elastic modes, nor dofs of held objects.

        >>> import soacraft as sc
        >>> sc.robot.Robot(sc.load("five_bar")).actuated
        ('mot1', 'mot2')
        """
        return self._named(actuated_dofs(self._mb, held=self.held))

    @property
    def movable(self) -> tuple[str, ...]:
        """Dofs that kinematics may choose: all hinges, the base and passive hinges of loops too. Never elastic modes;
        dofs of held objects where a loop through a hand moves them.

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("cassie"))
        >>> len(rb.movable), len(rb.actuated)
        (32, 10)
        """
        return self._named(movable_dofs(self._mb, self.held))

    def _named(self, dofs: Mask) -> tuple[str, ...]:
        return tuple(name for name, is_in in zip(self._mb.dof_names, dofs, strict=True) if is_in)

    def limb(self, name: str, base: Any, tip: Any) -> Limb:
        """A limb from a base to a tip that is outboard of it, bodies or nodes, or to a list of tips: a hand. A known
        name gets the new limb.
        """
        if not isinstance(name, str) or not name:
            raise ModelError(f"a limb has a name, got {name!r:.60}.")
        mb = self._mb
        tips = list(tip) if isinstance(tip, list | tuple) else [tip]
        start, *ends = (mb.root if isinstance(x, str) and x == "inertial" else mb.frame(x) for x in (base, *tips))
        limb = Limb(self, name, start, tuple(ends))
        self._limbs[name] = limb
        return limb

    def read_srdf(self, path: Any = None, lenient: bool = False) -> Groups:
        """Make limbs of the groups of an SRDF file, or of the one that the model was loaded with: chains, and trees
        with several tips; groups that are neither are listed with the reason. Its pairs of links that do not collide
        hold in every `World`.
        """
        if path is not None:
            read_srdf(self._mb, read_path(path, "path"), lenient)
        return limbs_of(self)

    def __getitem__(self, name: str) -> Limb:
        """Limb by name; made again where the robot has changed since."""
        limb = self._limb(name)
        return limb if limb.is_current else self._made_again(limb)

    def remove_limb(self, name: str) -> None:
        """Take a limb away; its bodies stay."""
        del self._limbs[self._limb(name).name]

    def _limb(self, name: Any) -> Limb:
        if not isinstance(name, str) or name not in self._limbs:
            raise ModelError(f"the robot {self._mb.name!r} has no limb {name!r:.60}{near(str(name), self._limbs)}")
        return self._limbs[name]

    def _made_again(self, limb: Limb) -> Limb:
        """The limb of this name here, with the solvers that it uses."""
        try:
            again = self.limb(limb.name, *limb.ends)
        except ModelError as wrong:
            raise ModelError(
                f"limb {limb.name!r} is no longer in the model: {wrong} Make it again with rb.limb(...), or remove it "
                f"with rb.remove_limb({limb.name!r})."
            ) from None
        again.use_as(limb)
        return again

    # -- the whole body ------------------------------------------------------------------------------------------

    def velocity(
        self,
        tasks: Iterable[Task | Target],
        q: Any,
        dt: float,
        *,
        v: Any = None,
        acceleration: Any = None,
        limits: bool = True,
    ) -> Step:
        """Velocities for the next `dt` seconds that do the tasks as well as limits let them; there is always an answer.

        Levels are strict: the result of a lower one is held exactly. Limits of position and velocity are those of the
        model; outside of one the dof returns as fast as it may. `acceleration` bounds the change since the velocities
        `v`. A `Placement`, `Position` or `Direction` by itself is a `Reaching` of it. The result has the shortfall of
        each task. `rb.movable` dofs move; elastic modes and others stay where they are in q (`still` of the step).
        O(nv^3).

        >>> import numpy as np
        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.serial_chain(3))
        >>> hand = sc.robot.Reaching(sc.Position("link3/tip", (2.0, 0.0, -1.0)), gain=2.0)
        >>> q = np.array([0.1, 0.2, 0.3])
        >>> for _ in range(400):
        ...     q = q + 0.01 * rb.velocity([hand, sc.robot.Posture(np.zeros(3), level=1)], q, 0.01).v
        >>> bool(np.linalg.norm(rb.mb.pose("link3/tip", state=rb.mb.state(q)).translation - [2, 0, -1]) < 2e-3)
        True
        """
        try:
            asked = tuple(tasks)
            key = asked, limits, self._mb.version
            plan = self._plans.get(key)
        except TypeError:  # nothing that a plan could be for: it is refused with a text
            plan = VelocityPlan(self._mb, tasks, limits, held=self.held)
        if plan is None:
            plan = VelocityPlan(self._mb, asked, limits, held=self.held)
            while len(self._plans) >= _PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = plan
        return plan.step(q, dt, v, acceleration)

    def reach(
        self,
        tasks: Iterable[Task | Target],
        q0: Any = None,
        *,
        limits: bool = True,
        tolerance: float | None = None,
        starts: int = 10,
        seed: int = 0,
        steps: int = 200,
    ) -> BodyReach:
        """Coordinates at which the tasks are met, with their weights and strict levels; within limits, loops closed.

        Tasks are those of `velocity`: gains and rates do not matter, a `Contact` stays where it is in q0, and a
        `Momentum` is refused. A `Posture` is a preference. The search begins at q0, by default the present
        configuration, and while tasks are missed goes on from others, `starts` in all, the same ones for the same
        `seed`. `tolerance` is in radians and lengths of the model, by default 1e-9. Where tasks are missed, the nearest
        approach is returned, with the reason in `why`. `rb.movable` dofs are searched; elastic modes and others stay as
        they are in q0 (`still` of the answer). O(nv^3) a step.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("h1"))
        >>> feet = [sc.robot.Contact(f"{side}_ankle_link", "all") for side in ("left", "right")]
        >>> c = sc.dynamics.center_of_mass(rb.mb, rb.mb.q)
        >>> low = sc.robot.CenterOfMass(c - [0.0, 0.0, 0.1], level=1)
        >>> r = rb.reach([*feet, low, sc.robot.Posture(rb.mb.q, level=2)])
        >>> r.found, bool(np.allclose(sc.dynamics.center_of_mass(rb.mb, r.q), c - [0.0, 0.0, 0.1]))
        (True, True)
        """
        return reach(self._mb, tasks, q0, limits, tolerance, starts, seed, steps, self.held)

    def velocity_plan(self, tasks: Iterable[Task | Target], limits: bool = True) -> VelocityPlan:
        """Steps towards tasks, made once: `plan.step(q, dt)` is `velocity`, and `plan.aim(task, goal)` gives a task
        another goal. For control loops, in which goals move."""
        return VelocityPlan(self._mb, tasks, limits, held=self.held)

    def predict(
        self,
        q: Any = None,
        v: Any = None,
        controls: Any = None,
        horizon: float = 1.0,
        *,
        step: float = 1e-3,
        world: Surroundings | None = None,
        friction: Any = None,
        restitution: float | None = None,
        covariance: Any = None,
        noise: Any = None,
    ) -> Prediction:
        """Prediction of the robot, with all that it holds: a run on a copy from a state, by default the present one.

        `controls` are a generalized force (nv), one for each step (steps, nv), or a control law f(t, q, v) that is
        evaluated at the start of each step. In a `world` shapes that may not touch push each other, hinges stop at
        their limits, and `touched` lists the contacts; `friction` (default 0.5) and `restitution` (default none) are of
        contact there. Without a world there is no contact. `covariance` of [dq; dv] (2 nv, 2 nv), its diagonal, or one
        variance, is propagated by the derivatives of the steps, with `noise` added for each second. O(n) a step, with a
        covariance O(n nv), with one in a world or under a law 4 nv steps for each. Closed chains in a world run in
        Python, some milliseconds a step.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("pendulum"))
        >>> p = rb.predict([0.1], [0.0], horizon=0.5, covariance=[1e-4, 0.0])
        >>> p
        prediction of 500 steps to 0.5 s, with covariance
        """
        return predict(
            self, q, v, controls, horizon, step=step, world=world, friction=friction, restitution=restitution,
            covariance=covariance, noise=noise,
        )  # fmt: skip

    # -- objects -------------------------------------------------------------------------------------------------

    @property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The hands that hold each object."""
        return self._holds.held

    def hand(self, name: str, palm: Any, fingers: Any = None) -> tuple[str, ...]:
        """Say that a palm and its fingers, bodies of the robot, are a hand: what one of them holds may touch them all.
        Fingers are by default all that is outboard of the palm. The names of the bodies.

        A gripper whose fingers are hinged on the body that holds needs no declaration, nor does one that an SRDF file
        has; fingers of several links do, since they look like an arm. It is kept in the records of the model as an end
        effector of SRDF, so that copies and files have it; hands of the library come with theirs, "hand".

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("shadow_hand"))
        >>> len(rb.hand("right hand", "rh_palm"))
        23
        """
        return make_hand(self._mb, name, palm, fingers, self.held)

    def attach(self, obj: Any, hand: Any) -> Joined:
        """Let a hand, a body or node of the robot, hold an object, a body of its model, at its present pose: a free
        object is welded there, any other is joined by a loop closure. Velocities change as in a plastic impact; the
        result has its impulse and energy. In a `World` it may touch that body and the fingers on it (`hand`), and is
        checked against all else.

        >>> import soacraft as sc
        >>> mb = sc.load("panda")
        >>> cup = mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.4, 0.05))
        >>> rb = sc.robot.Robot(mb)
        >>> rb.attach("cup", "link7"), mb.nv
        ('cup' held by 'link7' (hung), 0 J lost, 7)
        >>> rb.detach("cup")
        >>> mb.nv
        13
        """
        with self._edits.own():
            return self._holds.take(obj, [hand])[0]

    def detach(self, obj: Any) -> None:
        """Let an object go from all hands that hold it; it goes on with the velocity it has."""
        with self._edits.own():
            self._holds.give(obj)

    def grasp(self, obj: Any, hands: Any, hinge: Hinge | None = None) -> list[Joined]:
        """Let several hands hold an object by `hinge`, by default a `Weld`; all or none. A free object is attached to
        the first by a `Weld`; the other hands, and all by another hinge, are loop closures.
        """
        with self._edits.own():
            return self._holds.take(obj, _several(hands), hinge)

    def ungrasp(self, obj: Any, hands: Any = None) -> None:
        """Part an object from hands, or from all that hold it; all or none. Where one of them was its parent, the next
        that holds it by a `Weld` carries it from then on.
        """
        with self._edits.own():
            self._holds.give(obj, None if hands is None else _several(hands))

    def update_attachment(self, obj: Any, pose: Pose, hand: Any = None) -> None:
        """Correct the pose of an object in a hand that holds it, as an estimator sees it: the hand that is named, or
        that is its parent, or that alone holds it.

        If the hand is its parent, other hands that hold it stay in place, and hold it at another pose. Where a closure
        holds it (a door, a drawer, a second hand), the closure is at that pose from then on, and the state becomes the
        nearest one at which all loops close within limits, with the nearest velocities; if none does, a `LoopError`
        says what stays open, and nothing has changed.

        >>> import soacraft as sc
        >>> mb = sc.load("panda")
        >>> mb.set_state(q=[0.1, 0.3, 0.2, -1.5, 0.1, 2.0, 0.8])
        >>> _ = mb.add_body("drawer", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(1.0))
        >>> rb = sc.robot.Robot(mb)
        >>> rb.attach("drawer", "link7")
        'drawer' held by 'link7' (loop 'link7 holds drawer'), 0 J lost
        >>> seen = mb.pose("drawer", "link7") @ sc.Pose(translation=(0.0, 0.003, -0.002))
        >>> rb.update_attachment("drawer", seen)
        >>> mb.pose("drawer", "link7").is_close(seen), sc.loops.report(mb).closed
        (True, True)
        """
        self._holds.place(obj, pose, hand)

    def reactions(
        self, obj: Any, *, vdot: Any = None, force: Any = None, q: Any = None, v: Any = None, f_ext: Any = None
    ) -> Reactions:
        """The wrench that each hand gives an object it holds, at the present state or at q and v, with accelerations
        `vdot` (nv) or generalized forces `force` (nv). In closed chains the motion does not determine how hands
        squeeze, so that the forces are needed. O(n), and the cube of the closures' rows.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> mb = sc.load("panda")
        >>> cup = mb.add_body("cup", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.5, 0.05))
        >>> rb = sc.robot.Robot(mb)
        >>> _ = rb.attach("cup", "link7")
        >>> rb.reactions("cup", vdot=np.zeros(7)).wrenches["link7"].round(5) + 0.0
        array([0.   , 0.   , 0.   , 0.   , 0.   , 4.905])
        """
        return reactions(self._mb, self._holds.of(obj), q, v, vdot, force, f_ext)

    def strength(
        self,
        obj: Any,
        fingertips: Any,
        *,
        vdot: Any = None,
        force: Any = None,
        q: Any = None,
        v: Any = None,
        f_ext: Any = None,
    ) -> dict[str, Strength]:
        """Strength of the grip of the hands on an object as it moves: for each the factor by which its wrench may grow
        before it slips or breaks. `fingertips` are `{hand: [Fingertip, ...]}` in the object's frame, or a list where
        one hand holds; the other arguments are those of `reactions`.
        """
        return strengths(self.reactions(obj, vdot=vdot, force=force, q=q, v=v, f_ext=f_ext), fingertips)

    def grasps(
        self,
        obj: Any,
        hand: Any,
        width: Any = None,
        *,
        friction: float = 0.5,
        torsion: float = 0.0,
        limb: Any = None,
        world: Surroundings | None = None,
        samples: int = 200,
        approaches: int = 8,
        axes: str = "yz",
        meshes: str = "hull",
        seed: int = 0,
    ) -> Grasps:
        """Grasps of an object by a parallel gripper, the best first: the pose of its frame `hand` in the object, its
        opening, its quality. The same seed gives the same grasps.

        Its fingers open `width` metres at most, or from `(least, most)`; by default as far as needed. They close along
        the first of the `axes` of the hand's frame, which is midway between their tips, and come along the second. The
        shapes of the object are met by `samples` lines, and points that are opposite within the cones of `friction` are
        tried from `approaches` sides. `torsion` is that of soft fingertips (`Fingertip`); of two points without it the
        quality is zero. Of grasps of one quality those are first that are nearer to the centre of mass. With a `limb`,
        or where one ends in the hand, each is reached by its inverse kinematics or has the reason why not; with a
        `world` nothing may touch there, but the hand the object. O(samples approaches).

        >>> import soacraft as sc
        >>> mb = sc.load("panda")
        >>> can = mb.add_body("can", hinge=sc.Free(), inertia=sc.Inertia.sphere(0.3, 0.03))
        >>> _ = can.add_geometry(sc.Geometry("skin", "cylinder", (0.03, 0.12)))
        >>> rb = sc.robot.Robot(mb)
        >>> found = rb.grasps("can", "link7", width=0.08, torsion=0.005)
        >>> round(found[0].width, 6), found[0].quality > 0.05
        (0.06, True)
        """
        asked = read_asked(width, friction, torsion, samples, approaches, axes, meshes)
        frame = self._mb.frame(hand)
        ends = [name for name, x in self._limbs.items() if x.tip is frame]
        chosen = limb if limb is not None else (ends[0] if ends else None)
        arm = self[chosen] if isinstance(chosen, str) else chosen
        return find_grasps(self, obj, hand, asked, arm, world, seed)

    def undo(self) -> str:
        """Take back the last of these, and the state before it, bit by bit; what it was. Not across other edits of the
        structure, such as a body that was added since."""
        with self._edits.own():
            return self._holds.undo()

    @property
    def version(self) -> str:
        """Version of the robot, 64 hexadecimal digits: the digest of its model, state, limbs, the objects it holds, and
        the shapes of objects that a `World` gave it. Robots of one version give the same bits, in any process. The
        robot can give the changes since the last sixteen versions that were read. O(n).
        """
        return self._memory.now(self)[0]

    def changes(self, since: str) -> Changes:
        """Changes since a version that `version` gave: state, grasps, parameters, bodies and all other parts of the
        model, limbs, and shapes of objects that a `World` gave the robot (hulls, meshes, height fields, scans; files of
        meshes in the robot's folder are not included). Plain data, `to_bytes` for another process, for `apply` there.

        >>> import soacraft as sc
        >>> one = sc.robot.Robot(sc.load("panda"))
        >>> two, since = one.copy(), one.version
        >>> one.mb["link7"].inertia = sc.Inertia(0.9, (0.0, 0.01, 0.08), one.mb["link7"].inertia.moment)
        >>> one.mb.set_state(q=[0.1, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7])
        >>> two.apply(one.changes(since).to_bytes()) == one.version
        True
        >>> (sc.dynamics.mass_matrix(two.mb, two.mb.q) == sc.dynamics.mass_matrix(one.mb, one.mb.q)).all()
        np.True_
        """
        return self._memory.changes(self, since)

    def apply(self, changes: Changes | bytes) -> str:
        """Make the changes of another robot of the same version, or none at all; the version that both have then.
        In place where no structure changes; else bodies and nodes of the same name stay the objects they are."""
        with self._edits.own():
            return self._memory.apply(self, changes)

    def copy(self) -> Robot:
        """An independent robot for another module: model, state, limbs, held objects, and history."""
        return self._around(self._mb.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Robot:
        return self._around(deepcopy(self._mb, memo))

    def _around(self, mb: Multibody) -> Robot:
        """Robot around a copy of its model, with these limbs and holds."""
        other = Robot(mb)
        other._holds = self._holds.copy(other._mb)
        other._shapes = dict(self._shapes)
        for x in self._limbs.values():
            other._made_again(x)
        return other

    def _own_shapes(self) -> dict[str, Shape]:
        """Shapes of geometries that no file tells, by name: of objects that a `World` gave, as long as they are so."""
        return {f"{body}/{name}": shape for (body, name), (_, shape) in self._kept_shapes().items()}

    def _kept_shapes(self) -> dict[tuple[str, str], tuple[Geometry, Shape]]:
        """Stored shapes by body and name, with the geometries that they are of."""
        root, bodies = self._mb.root, self._mb._tree.bodies
        present = {}
        for (body, name), entry in self._shapes.items():
            on = root if body == root.name else bodies.get(body)
            if on is not None and on._geometries.get(name) == entry[0]:
                present[body, name] = entry
        return present

    def __repr__(self) -> str:
        return f"Robot {self._mb.name!r}: {self._mb.nv} dofs, limbs: {', '.join(self._limbs) or 'none'}"


    @says_why
    def _repr_html_(self) -> str:
        held = "; ".join(f"{name} by {', '.join(hands)}" for name, hands in self.held.items())
        rows = [("model", repr(self._mb)), ("dofs with a motor", str(len(self.actuated))), ("holds", held)]
        limbs = [(name, repr(limb)) for name, limb in self._limbs.items()]
        return card(repr(self), picture(self._mb), facts([*rows, *limbs]))


class _Edits:
    """Counts the edits of a model's structure that the robot does not do itself: limbs follow its own."""

    def __init__(self, mb: Multibody) -> None:
        self._mb, self._others, self._after, self._busy = mb, 0, mb.version, False

    @property
    def by_others(self) -> int:
        """Number of edits by others."""
        return self._others if self._busy else self._others + self._mb.version - self._after

    @contextmanager
    def own(self) -> Iterator[None]:
        """Context whose edits count as the robot's own."""
        self._others, self._busy = self.by_others, True
        try:
            yield
        finally:
            self._after, self._busy = self._mb.version, False


def _several(hands: Any) -> list[Any]:
    if isinstance(hands, str | Frame):
        return [hands]
    listed_hands = listed(hands)
    if listed_hands is None:
        raise ModelError(f"hands are bodies or nodes of the robot, one or a list of them; got {hands!r:.60}.")
    return listed_hands
