"""What the laws share as components: a robot by its name, shapes of ports, payloads, batches."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from soacraft.errors import WiringError
from soacraft.robot.control.lending import lend, robot_of
from soacraft.sim.components.component import Component
from soacraft.spatial.inertia import Inertia

Gains = float | tuple[float, ...]
Motors = str | tuple[str, ...] | None
Vector = tuple[float, ...]

#: Laws that take long to make, for the last few parameters and models.
_laws: dict[Any, Any] = {}
_MOST = 16


class Payload(msgspec.Struct, frozen=True):
    """What a frame carries: mass, centre of mass and moment (xx, yy, zz, xy, xz, yz) about it, in the frame's axes."""

    frame: str
    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def inertia(self) -> Inertia:
        """As an inertia."""
        xx, yy, zz, xy, xz, yz = self.moment
        return Inertia(self.mass, self.com, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


Payloads = tuple[Payload, ...]


class Law(Component):
    """A component that computes with a robot."""

    def __init__(self, **params: Any) -> None:
        if "robot" not in params:
            raise WiringError(f"{type(self).__name__} needs robot=: a Robot, or the name of a model.")
        name, self._robot = lend(params["robot"])
        super().__init__(**{**{key: _told(x) for key, x in params.items()}, "robot": name})


def _told(value: Any) -> Any:
    """Numbers of numpy, alone, in arrays and in tuples, as files keep them."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(map(_told, value)) if isinstance(value, list | tuple) else value


def nq(p: Any) -> int:
    """Coordinates of the robot."""
    return robot_of(p.robot).mb.nq


def nv(p: Any) -> int:
    """Dofs of the robot."""
    return robot_of(p.robot).mb.nv


def carried(p: Any) -> dict[str, Inertia] | None:
    """What is carried, as the laws take it."""
    return {x.frame: x.inertia() for x in p.payload} or None


def each(function: Any, *arrays: Any) -> Any:
    """A function of vectors, for each of a batch."""
    batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in arrays))
    if not batch:
        return function(*arrays)
    full = [np.broadcast_to(x, (*batch, np.shape(x)[-1])) for x in arrays]
    return np.array([function(*(x[at] for x in full)) for at in np.ndindex(*batch)]).reshape(*batch, -1)


def kept(p: Any, made: Any) -> Any:
    """The law that a function makes of the robot, until parameters or the model change."""
    rb = robot_of(p.robot)
    key = p, rb.mb.version, rb.mb.parameters
    if key not in _laws:
        if len(_laws) >= _MOST:
            _laws.clear()
        _laws[key] = made(rb)
    return _laws[key]
