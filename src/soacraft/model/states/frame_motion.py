"""`FrameMotion`: a graph that says where its frames are and how they move, relative to each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.model.flat.steady import steady
from soacraft.model.states import kinematics
from soacraft.model.states.state import State, asked_state
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.frames.moving_frame import seen_frame
from soacraft.model.tree.graph import Graph
from soacraft.spatial.measured import Measured, RelativePose

Measure = Callable[[State, Frame, Frame, Frame], Measured]


class FrameMotion(Graph):
    """A graph whose users ask for pose, velocity and acceleration of frames."""

    @steady
    def pose(self, of: Frame | str, relative_to: Frame | str | None = None, state: State | None = None) -> RelativePose:
        """The pose of a frame seen from another (default: the inertial frame).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(3).pose("link3/tip", relative_to="link2")
        pose of 'link3/tip' relative to 'link2': Pose(translation=(2, 0, 0))
        """
        frame, to = self._seen(of), self._or_root(relative_to)
        return kinematics.frame_pose(asked_state(self, state), frame, to)

    @steady
    def velocity(
        self,
        of: Frame | str,
        relative_to: Frame | str | None = None,
        expressed_in: Frame | str | None = None,
        state: State | None = None,
    ) -> Measured:
        """[angular; linear] velocity of a frame as seen from another, expressed in the axes of a third.

        Defaults: seen from the inertial frame, in the axes of `relative_to`. With r from `relative_to` to the frame:
        `w - w_to`, `v - v_to - w_to x r`.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(1)
        >>> mb.v = [2.0]
        >>> mb.velocity("link1/tip")
        velocity of 'link1/tip' relative to 'inertial', expressed in 'inertial': angular (0, 2, 0), linear (0, 0, -2)
        """
        return self._measured(kinematics.frame_velocity, of, relative_to, expressed_in, state)

    @steady
    def acceleration(
        self,
        of: Frame | str,
        relative_to: Frame | str | None = None,
        expressed_in: Frame | str | None = None,
        state: State | None = None,
    ) -> Measured:
        """[d omega/dt; d^2 p/dt^2] of a frame, differentiated in `relative_to`, in the axes of a third.

        It takes the state's vdot. Defaults: seen from the inertial frame, in the axes of `relative_to`.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(1)
        >>> mb.v = [2.0]
        >>> mb.acceleration("link1/tip").linear                        # towards the hinge
        array([-4.,  0.,  0.])
        """
        return self._measured(kinematics.frame_acceleration, of, relative_to, expressed_in, state)

    def _measured(self, measure: Measure, of: Any, relative_to: Any, expressed_in: Any, state: Any) -> Measured:
        frame, to = self._seen(of), self._or_root(relative_to)
        axes = to if expressed_in is None else self._seen(expressed_in)
        return measure(asked_state(self, state), frame, to, axes)

    def _or_root(self, frame: Frame | str | None) -> Frame:
        return self.root if frame is None else self._seen(frame)

    def _seen(self, frame: Frame | str) -> Frame:
        return seen_frame(self, frame)
