"""Frames of a system: those of all plants, and those that its user moves, in one tree.

A frame of a plant is "arm:hand", "arm:hand/tool"; the inertial frame is "inertial"; a frame of `s.add_frame` has the
name it was given. Any pair gives pose, velocity and acceleration. A frame of the user is a source of signals:
"camera.position[arm:hand]" is where the hand is, seen from the camera, in its axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.attributes import Strict
from soacraft.errors import ModelError, SimulationError, WiringError, near
from soacraft.model.tree.arguments import ROOT_NAME
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.frames.moving_frame import MovingFrame
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.declarations import Signal
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Shape and unit of the quantities of a frame.
OF_FRAME: dict[str, tuple[tuple[int, ...], str | None]] = {
    "position": ((3,), "m"),
    "rotation": ((3, 3), ""),
    "velocity": ((3,), "m/s"),
    "angular_velocity": ((3,), "rad/s"),
    "linear_acceleration": ((3,), "m/s^2"),
    "angular_acceleration": ((3,), "rad/s^2"),
}
#: Sizes of a signal that moves a frame: a pose [x, y, z, w, px, py, pz], with velocity, with acceleration.
_SIZES = {7: "a pose", 13: "a pose and a velocity", 19: "a pose, a velocity and an acceleration"}


def of_frame(mb: Multibody, port: str, frame: Frame, to: Frame | None = None) -> Callable[[Any], Array]:
    """A quantity of a frame, seen from another (default: the inertial frame) in its axes, as a function of a state."""
    if port == "position":
        return lambda state: np.asarray(mb.pose(frame, to, state=state).translation)
    if port == "rotation":
        return lambda state: np.asarray(mb.pose(frame, to, state=state).rotation)
    if port == "velocity":
        return lambda state: np.asarray(mb.velocity(frame, to, state=state).linear)
    if port == "angular_velocity":
        return lambda state: np.asarray(mb.velocity(frame, to, state=state).angular)
    if port == "linear_acceleration":
        return lambda state: np.asarray(mb.acceleration(frame, to, state=state).linear)
    return lambda state: np.asarray(mb.acceleration(frame, to, state=state).angular)


class UserFrame(Strict):
    """A frame of a system that its user moves, made by `s.add_frame`."""

    def __init__(self, path: str, parent: str, pose: Pose | str | Callable[[float], Any]) -> None:
        self.path, self.parent, self.pose = path, parent, pose

    _set_once = frozenset({"path", "parent", "pose"})

    @property
    def signal(self) -> str | None:
        """The port that moves it, if one does."""
        return self.pose if isinstance(self.pose, str) else None

    def __getattr__(self, name: str) -> Callable[[str], str]:
        if name.startswith("__"):
            raise AttributeError(name)  # as copy and pickle expect
        if name not in OF_FRAME:
            raise WiringError(f"the frame {self.path!r} has no port {name!r:.60}{near(name, OF_FRAME, 'it has')}")
        return lambda of: f"{self.path}.{name}[{of}]"

    def __repr__(self) -> str:
        how = "fixed" if isinstance(self.pose, Pose) else f"moved by {self.pose!r}" if self.signal else "moved"
        return f"Frame on {self.parent!r}, {how}"


def read_frame(path: str, parent: Any, pose: Any) -> UserFrame:
    """A frame from the arguments of `s.add_frame`, checked as far as possible before the system is complete."""
    if not isinstance(parent, str):
        raise WiringError(f"the frame {path!r} is on another one by its name, such as 'arm:hand'; got {parent!r:.60}.")
    if not (isinstance(pose, Pose | str) or callable(pose)):
        raise WiringError(
            f"the frame {path!r} has a pose: sc.Pose(...), a function of t that gives one, or the name of a port; got "
            f"{pose!r:.60}."
        )
    return UserFrame(path, parent, pose)


class Moved(NamedTuple):
    """A frame of the user in the model that is moved, and the place of its signal among those that are given."""

    frame: MovingFrame
    user_frame: UserFrame
    at: int | None


class FrameTree:
    """All frames of a system, in the model that is moved. `seats` has the frames of plants by their own names."""

    def __init__(
        self, mb: Multibody, find: Mapping[str, Callable[[str], Frame]], frames: Mapping[str, UserFrame]
    ) -> None:
        self._mb, self._find = mb, find
        self._user_frames = {path: frames[path] for path in sorted(frames)}
        self._moved: dict[str, Moved] = {}
        self.signals: list[str] = []
        """The ports that move frames, in the order in which `function` takes their values."""
        self.sizes: dict[str, int] = {}
        """Count of the numbers of each port."""

    def frame(self, name: Any, inside: tuple[str, ...] = ()) -> Frame:
        """A frame by its name."""
        if name == ROOT_NAME:
            return self._mb.root
        if name in self._user_frames:
            return self._user_frame(name, inside)
        path, _, rest = str(name).partition(":")
        if path not in self._find or not rest:
            frames = [ROOT_NAME, *self._user_frames, *(f"{x}:..." for x in self._find)]
            raise WiringError(f"there is no frame {name!r:.60}{near(str(name), frames, 'there are')}")
        return self._find[path](rest)

    def _user_frame(self, name: str, inside: tuple[str, ...]) -> MovingFrame:
        if name in inside:
            raise WiringError(f"the frame {name!r} is on itself: {' on '.join([*inside, name])}.")
        if name not in self._moved:
            user_frame = self._user_frames[name]
            on = self.frame(user_frame.parent, (*inside, name))
            motion = user_frame.pose if callable(user_frame.pose) else None
            frame, at = MovingFrame(name, on, motion), None
            if isinstance(user_frame.pose, Pose):
                frame.set(user_frame.pose)
            elif user_frame.signal is not None:
                at = len(self.signals)
                self.signals.append(user_frame.signal)
            self._moved[name] = Moved(frame, user_frame, at)
        return self._moved[name].frame

    def chain(self, *frames: Frame) -> list[Moved]:
        """The frames of the user that some are, or are on."""
        moved: dict[str, Moved] = {}
        for frame in frames:
            on: Frame = frame
            while isinstance(on, MovingFrame):
                moved[on.name], on = self._moved[on.name], on.on
        return [moved[name] for name in sorted(moved)]

    def place(self, chain: Sequence[Moved], t: float, given: Sequence[Any]) -> None:
        """Put frames of the user where they are at a time and by their signals."""
        for x in chain:
            if x.at is not None:
                x.frame.set(*_read(x.user_frame, given[x.at], t))
            elif callable(x.user_frame.pose):
                x.frame.at(t)

    def measure(self, port: str, of: str, to: str) -> tuple[Callable[..., Array], list[str]]:
        """A quantity of one frame seen from another, as a function of a state, the time, and the values of the ports
        that move frames in between; and these ports."""
        frame, seen_from = self.frame(of), self.frame(to)
        chain = self.chain(frame, seen_from)
        used = [x for x in chain if x.at is not None]
        ports, measured = [x.user_frame.signal or "" for x in used], of_frame(self._mb, port, frame, seen_from)
        chain = [x._replace(at=None if x.at is None else used.index(x)) for x in chain]

        def function(state: Any, t: float, *given: Any) -> Array:
            self.place(chain, t, given)
            return measured(state)

        need = 13 if "velocity" in port else 19 if "acceleration" in port else 7
        for x in used:
            self.require(x.user_frame, need, port)
        return function, ports

    def require(self, frame: UserFrame, need: int, port: str) -> None:
        """Raise where a signal does not give what a port needs."""
        size = self.sizes.get(frame.path, 19)
        if size < need:
            raise WiringError(
                f"the {port} of the frame {frame.path!r} is not known: {frame.signal!r} gives {_SIZES[size]} "
                f"({size} numbers); give {_SIZES[need]} ({need} numbers, relative to {frame.parent!r} in its axes)."
            )

    def known(self, frame: UserFrame, signal: Signal) -> None:
        """Take what a signal carries."""
        if len(signal.shape) != 1 or signal.shape[0] not in _SIZES:
            raise WiringError(
                f"the frame {frame.path!r} is moved by 7 numbers [x, y, z, w, px, py, pz], 13 with the velocity "
                f"[angular; linear], or 19 with the acceleration; {frame.signal!r} has the shape {signal.shape}."
            )
        self.sizes[frame.path] = signal.shape[0]

    def output(self, to: str, port: str, at: str | None) -> Signal:
        """Signal of a port of a frame of the user."""
        if port not in OF_FRAME:
            raise WiringError(f"the frame {to!r} has no output {port!r:.60}{near(port, OF_FRAME, 'it has')}")
        if at is None:
            raise WiringError(f"{to}.{port} is of a frame: write {to}.{port}[arm:hand].")
        self.measure(port, at, to)
        shape, unit = OF_FRAME[port]
        return Signal(shape, unit, None if port == "rotation" else to, float)


def _read(frame: UserFrame, value: Array, t: float) -> tuple[Pose, Array | None, Array | None]:
    try:
        pose = Pose.from_quaternion(value[:4], value[4:7])
    except (ModelError, ValueError) as wrong:
        raise SimulationError(
            f"{frame.signal!r} moves the frame {frame.path!r}, and gave {value[:7].tolist()} at t = {t:.9g} s: {wrong}"
        ) from None
    return pose, value[7:13] if len(value) > 7 else None, value[13:] if len(value) > 13 else None
