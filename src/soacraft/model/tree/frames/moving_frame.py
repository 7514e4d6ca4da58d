"""`MovingFrame`: a frame that the user moves, to see others from: a camera on a rail, a planet, a conveyor."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.flat.structure import Structure
from soacraft.model.tree.arguments import read_name, read_pose
from soacraft.model.tree.frames.frame import Carrier, Frame
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.rotations import log

#: Fourth-order differences: f' = sum of c f(t + k h) / h.
_FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
_SECOND = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}


class Motion(NamedTuple):
    """Pose, [angular; linear] velocity and acceleration of a frame relative to what it is on, in the axes of that."""

    pose: Pose
    velocity: Array
    acceleration: Array


class MovingFrame(Frame):
    """A frame that is moved by its user relative to `on`: a frame of a model, or another moving frame.

    It is set, `frame.set(pose, velocity, acceleration)`, or follows `motion(t)`, which gives a `Pose`, (pose, velocity)
    or (pose, velocity, acceleration), all relative to `on` and in its axes. `frame.at(t)` sets it, and the moving
    frames that it is on, to time t. What the function does not give is computed by fourth-order differences of the
    poses, with step `step` in seconds.

    `mb.pose`, `mb.velocity`, `mb.acceleration` and, for `relative_to=` and `expressed_in=`, `dynamics.jacobian` take it
    as any other frame. It belongs to no model: bodies do not hang from it, and no forces act there.

    >>> from soacraft.model import serial_chain
    >>> mb = serial_chain(1)
    >>> belt = MovingFrame("belt", mb.root, lambda t: Pose(translation=(0.2 * t, 0, 0)))
    >>> mb.velocity("link1", relative_to=belt.at(3.0)).linear.round(9)
    array([-0.2,  0. ,  0. ])
    """

    kind = "moving frame"
    _cures: ClassVar = dict.fromkeys(("pose", "velocity", "acceleration", "offset"), "frame.set(pose, velocity, ...)")

    def __init__(
        self, name: str, on: Frame, motion: Callable[[float], Any] | None = None, step: float = 1e-3
    ) -> None:
        if not isinstance(on, Frame):
            raise ModelError(f"moving frame {name!r:.60} is on a frame of a model, such as mb.root; got {on!r:.60}.")
        if motion is not None and not callable(motion):
            raise ModelError(f"the motion of moving frame {name!r:.60} is a function of time, got {motion!r:.60}.")
        h = float(finite(step, (), f"the step of moving frame {name!r:.60}"))
        if h <= 0.0:
            raise ModelError(f"the step of moving frame {name!r:.60} must be positive, got {h:g}.")
        self._graph, self._name = on.graph, read_name("frame", name)
        self._on, self._function, self._step = on, motion, h
        self._now = Motion(Pose(), frozen(np.zeros(6)), frozen(np.zeros(6)))

    @property
    def on(self) -> Frame:
        """The frame it moves relative to."""
        return self._on

    @property
    def carrier(self) -> Carrier:
        """Carrier of the frame it is on."""
        return self.on.carrier

    @property
    def now(self) -> Motion:
        """Prescribed pose, velocity and acceleration relative to `on`."""
        return self._now

    @property
    def offset(self) -> Pose:
        """Pose on the carrier at the present setting."""
        return self.on.offset @ self.now.pose

    def set(self, pose: Pose, velocity: Any = None, acceleration: Any = None) -> MovingFrame:
        """Put it somewhere: its pose, velocity and acceleration (default: none) relative to `on`, in its axes."""
        self._now = self._read(pose, velocity, acceleration)
        return self

    def _read(self, pose: Any, velocity: Any, acceleration: Any) -> Motion:
        """Checked numbers of a motion."""
        what = f"moving frame {self._name!r}"
        V, A = (
            frozen(np.zeros(6) if x is None else finite(x, (6,), f"the {name} of {what}"))
            for name, x in (("velocity", velocity), ("acceleration", acceleration))
        )
        if pose is None:
            raise ModelError(f"the pose of {what} must be a Pose such as Pose(translation=(0, 0, 0.1)), got None.")
        return Motion(read_pose(pose, f"the pose of {what}"), V, A)

    def at(self, t: float) -> MovingFrame:
        """Put it where its motion has it at time t (seconds), and the moving frames that it is on; gives the frame
        itself. Frames without a motion of their own stay as they are set. All are moved, or none where one is refused.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.spatial.rotations import exp
        >>> mb = serial_chain(1)
        >>> planet = MovingFrame("planet", mb.root, lambda t: Pose(exp(np.array([0.0, 0.0, t]))))
        >>> site = MovingFrame("site", planet).set(Pose(translation=(2.0, 0.0, 0.0)))
        >>> mb.velocity(site.at(np.pi / 2)).linear.round(9) + 0.0
        array([-2.,  0.,  0.])
        """
        time = float(finite(t, (), f"the time of moving frame {self._name!r}"))
        chain = [x for x in self._chain() if x._function is not None]
        if not chain:
            raise ModelError(
                f"moving frame {self._name!r} has no motion; set it with frame.set(pose), or give motion=f when making "
                "it."
            )
        motions = [x._motion(time) for x in chain]
        for frame, motion in zip(chain, motions, strict=True):
            frame._now = motion
        return self

    def require_present(self) -> None:
        """Raise `StaleError` when what it is on was removed."""
        self.on.require_present()

    def needs(self, gone: AbstractSet[Frame]) -> bool:
        """True if it is removed with one of these frames."""
        return self.on.needs(gone)

    def __reduce__(self) -> tuple[Any, ...]:
        return _moving_frame, (self._name, self.on, self._function, self._step, self.now)

    def __repr__(self) -> str:
        return f"moving frame {self._name!r} on {self.on.full_name!r}"

    # -- functions of time -----------------------------------------------------------------------------------

    def _chain(self) -> list[MovingFrame]:
        """This frame, and the moving frames that it is on."""
        chain, on = [], cast(Frame, self)
        while isinstance(on, MovingFrame):
            chain.append(on)
            on = on.on
        return chain

    def _motion(self, t: float) -> Motion:
        """The motion of its function at a time."""
        pose, V, A = self._told(t)
        if V is None or A is None:
            V, A = self._differences(t, pose, V)
        return self._read(pose, V, A)

    def _told(self, t: float) -> tuple[Pose, Any, Any]:
        """Pose, velocity and acceleration by the function at a time; None for what it leaves out."""
        assert self._function is not None
        what = f"moving frame {self._name!r}"
        found = self._function(t)
        parts = found if isinstance(found, tuple) else (found,)
        if not 1 <= len(parts) <= 3 or not isinstance(parts[0], Pose):
            raise ModelError(
                f"the motion of {what} must give a Pose, (pose, velocity) or (pose, velocity, acceleration); "
                f"at t = {t:g} it gave {found!r:.60}."
            )
        pose, V, A = (*parts, None, None)[:3]
        return read_pose(pose, f"the pose of {what}"), V, A

    def _differences(self, t: float, pose: Pose, V: Any) -> tuple[Array, Array]:
        """The velocity and acceleration of the poses: of rotations R(t + k h) R(t)*, as vectors about R(t)."""
        h = self._step
        if V is not None:
            V = finite(V, (6,), f"the velocity of moving frame {self._name!r}")
            rates = {k: finite(self._told(t + k * h)[1], (6,), "the velocity") for k in _FIRST}
            return V, sum((c * rates[k] for k, c in _FIRST.items()), start=np.zeros(6)) / h
        steps = {0: np.zeros(6)}
        for k in _FIRST:
            there = self._told(t + k * h)[0]
            turn = log(there.rotation @ pose.rotation.T)
            steps[k] = np.concatenate([turn, there.translation - pose.translation])
        # turn(t) = w t + wdot t^2 / 2 + ...: both derivatives at 0 are those of the angular velocity
        first = sum((c * steps[k] for k, c in _FIRST.items()), start=np.zeros(6)) / h
        return first, sum((c * steps[k] for k, c in _SECOND.items()), start=np.zeros(6)) / h**2


def seen_frame(graph: Structure, frame: Any) -> Frame:
    """A frame of a graph to be seen, or seen from: itself or its name, or a moving frame that is on one of it."""
    if not isinstance(frame, MovingFrame):
        return graph.frame(frame)
    on: Frame = frame
    while isinstance(on, MovingFrame):
        on = on.on
    graph.frame(on)
    return frame


def _moving_frame(name: str, on: Frame, motion: Any, step: float, now: Motion) -> MovingFrame:
    return MovingFrame(name, on, motion, step).set(*now)
