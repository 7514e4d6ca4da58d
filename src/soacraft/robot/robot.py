"""`Robot`: a model as software of a robot uses it. Each module has a copy of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.errors import ModelError, near
from soacraft.files.srdf import read_srdf
from soacraft.model.hinges.base import Hinge
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.grasping.holds import Holds, Joined
from soacraft.robot.limbs.groups import Groups, limbs_of
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.whole_body.tasks import Task
from soacraft.robot.whole_body.velocity import Step, step
from soacraft.spatial.pose import Pose


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
        self._holds = Holds(mb)

    @property
    def mb(self) -> Multibody:
        """The model."""
        return self._mb

    @property
    def limbs(self) -> tuple[str, ...]:
        """Names of the limbs."""
        return tuple(self._limbs)

    def limb(self, name: str, base: Any, tip: Any) -> Limb:
        """A limb from a base to a tip that is outboard of it, bodies or nodes; a name that is known is given anew."""
        if not isinstance(name, str) or not name:
            raise ModelError(f"a limb has a name, got {name!r:.60}.")
        mb = self._mb
        made = Limb(self, name, *(mb.root if x == "inertial" else mb.frame(x) for x in (base, tip)))
        self._limbs[name] = made
        return made

    def read_srdf(self, path: Any = None, lenient: bool = False) -> Groups:
        """Make limbs of the groups of an SRDF file, or of the one that the model was loaded with; groups that are no
        chain are told. Its pairs of links that do not collide hold in every `World`."""
        if path is not None:
            read_srdf(self._mb, read_path(path, "path"), lenient)
        return limbs_of(self)

    def __getitem__(self, name: str) -> Limb:
        """A limb by name; made anew where the robot has changed since."""
        if name not in self._limbs:
            raise ModelError(f"the robot {self._mb.name!r} has no limb {name!r:.60}{near(str(name), self._limbs)}")
        limb = self._limbs[name]
        if not limb.is_current:
            limb = self.limb(name, *("inertial" if f is self._mb.root else f.full_name for f in (limb.base, limb.tip)))
        return limb

    # -- the whole body ------------------------------------------------------------------------------------------

    def velocity(
        self,
        tasks: Iterable[Task],
        q: Any,
        dt: float,
        *,
        v: Any = None,
        acceleration: Any = None,
        limits: bool = True,
    ) -> Step:
        """Velocities for the next `dt` seconds that do the tasks as well as limits let them; there is always an answer.

        Levels are strict: what a lower one decided is held exactly. Limits of position and velocity are those of the
        model; outside of one the dof returns as fast as it may. `acceleration` bounds the change since the velocities
        `v`. What could not be done is told by task. O(nv^3).

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
        return step(self._mb, tasks, q, dt, v, acceleration, limits)

    # -- objects -------------------------------------------------------------------------------------------------

    @property
    def held(self) -> dict[str, tuple[str, ...]]:
        """The hands that hold each object."""
        return self._holds.held

    def attach(self, obj: Any, hand: Any) -> Joined:
        """Let a hand, a body or node of the robot, hold an object, a body of its model, as it is: it is hung there
        where it is free, and else joined by a loop closure. Velocities change as in a plastic impact, which is told."""
        return self._holds.take(obj, hand)

    def detach(self, obj: Any) -> None:
        """Let an object go from all hands that hold it; it goes on with the velocity it has."""
        self._holds.give(obj)

    def grasp(self, obj: Any, hands: Any, hinge: Hinge | None = None) -> list[Joined]:
        """Let several hands hold an object, all or none: a free one is hung on the first by a `Weld`, the others are
        loop closures by `hinge`, a `Weld` unless told."""
        names = [hands] if isinstance(hands, str | Frame) else list(hands)
        done: list[Joined] = []
        try:
            for hand in names:
                done.append(self._holds.take(obj, hand, hinge))
        except Exception:
            for _ in done:
                self._holds.undo()
            raise
        return done

    def ungrasp(self, obj: Any, hands: Any = None) -> None:
        """Part an object from hands, or from all that hold it."""
        if hands is None:
            self._holds.give(obj)
            return
        for hand in [hands] if isinstance(hands, str | Frame) else list(hands):
            self._holds.give(obj, hand)

    def update_attachment(self, obj: Any, pose: Pose) -> None:
        """Correct the pose of an object in the hand that it hangs from, as an estimator sees it."""
        self._holds.place(obj, pose)

    def undo(self) -> str:
        """Take back the last grasp or release, and the state before it, exactly; what it was."""
        return self._holds.undo()

    def copy(self) -> Robot:
        """An independent robot for another module: model, state and limbs."""
        other = Robot(self._mb.copy())
        if self.held:
            raise ModelError(
                f"the robot {self._mb.name!r} holds {', '.join(map(repr, self.held))}: let go before it is copied, or "
                "copy its model alone, rb.mb.copy()."
            )
        for name, x in self._limbs.items():
            other.limb(name, *("inertial" if f is self._mb.root else f.full_name for f in (x.base, x.tip)))
        return other

    def __repr__(self) -> str:
        return f"Robot {self._mb.name!r}: {self._mb.nv} dofs, limbs: {', '.join(self._limbs) or 'none'}"
