"""Base of the laws as components: a robot by its name, shapes of ports, payloads, batches, states for trials."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from soacraft.errors import LoopError, WiringError
from soacraft.loops import TreeAugmented
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.tree.multibody import Multibody
from soacraft.order import known_order
from soacraft.robot.control.lending import lend, robot_of
from soacraft.robot.robot import Robot
from soacraft.sim.components.component import Component
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia

#: A number, or one for each dof or axis.
Numbers = float | tuple[float, ...]
#: Gains as above, or the rows of a matrix.
Gains = float | tuple[float | tuple[float, ...], ...]
Motors = str | tuple[str, ...] | None
Vector = tuple[float, ...]

#: Laws that take long to make, for the last few parameters and models.
_laws: dict[Any, Any] = {}
_MOST = 16


class Payload(msgspec.Struct, frozen=True):
    """Payload of a frame: mass, centre of mass and moment (xx, yy, zz, xy, xz, yz) about it, in the frame's axes."""

    frame: str
    mass: float
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moment: tuple[float, float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def inertia(self) -> Inertia:
        """Inertia of the payload."""
        xx, yy, zz, xy, xz, yz = self.moment
        return Inertia(self.mass, self.com, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


Payloads = tuple[Payload, ...]


class Law(Component):
    """A component that computes with a robot."""

    def __init__(self, **params: Any) -> None:
        if "robot" not in params:
            raise WiringError(f"{type(self).__name__} needs robot=: a Robot, or the name of a model.")
        name, self._robot = lend(params["robot"])
        mb = self._robot.mb
        super().__init__(**{**{key: _told(mb, key, x) for key, x in params.items()}, "robot": name})

    @staticmethod
    def draw(p: Any, rng: np.random.Generator) -> dict[str, Any]:
        """Two random states of the robot with accelerations, on its closures: where it is, and where it should be."""
        robot = robot_of(p.robot)
        here, there = _state(robot, rng), _state(robot, rng)
        return dict(zip(("q", "v", "vdot", "q_d", "v_d", "vdot_d"), (*here, *there), strict=True))


def _told(mb: Multibody, name: str, value: Any) -> Any:
    """Numbers of numpy, alone, in arrays and in tuples, as files keep them, in the order of the robot."""
    if known_order(value) is not None:
        value = np.asarray(in_graph_order(mb, value, name, of_q=np.shape(value)[-1:] == (mb.nq,)))
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(_told(mb, name, x) for x in value) if isinstance(value, list | tuple) else value


def _state(robot: Robot, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """q, v and vdot of a random state, of a closed chain within reach of its present one."""
    mb: Multibody = robot.mb
    v, vdot = rng.standard_normal((2, mb.nv))
    if not mb.is_closed:
        return mb.random_state(rng)[0], v, vdot
    s = TreeAugmented(mb)
    q = s.assemble(mb.q)
    way = np.asarray(s.velocity_map(q))
    way = way @ rng.standard_normal(way.shape[-1])
    for part in (0.3, 0.1, 0.03, 0.01):
        try:
            q, v = s.project(mb.integrate(q, part * way), v)
            break
        except LoopError:  # too far for one step
            continue
    else:
        v = s.project_velocity(q, v)
    return q, v, np.asarray(s.forward_dynamics(q, v, vdot).vdot)


def nq(p: Any) -> int:
    """Coordinates of the robot."""
    return robot_of(p.robot).mb.nq


def nv(p: Any) -> int:
    """Dofs of the robot."""
    return robot_of(p.robot).mb.nv


def carried(p: Any) -> dict[str, Inertia] | None:
    """Payloads in the form of the laws."""
    return {x.frame: x.inertia() for x in p.payload} or None


def each(function: Any, *arrays: Any) -> Any:
    """A function of vectors, for each of a batch."""
    batch = np.broadcast_shapes(*(np.shape(x)[:-1] for x in arrays))
    if not batch:
        return function(*arrays)
    full = [np.broadcast_to(x, (*batch, np.shape(x)[-1])) for x in arrays]
    return np.array([function(*(x[at] for x in full)) for at in np.ndindex(*batch)]).reshape(*batch, -1)


def kept(p: Any, maker: Any) -> Any:
    """The law that a function makes of the robot, until parameters or the model change."""
    rb = robot_of(p.robot)
    key = p, rb.mb.version, rb.mb.parameters
    if key not in _laws:
        if len(_laws) >= _MOST:
            _laws.clear()
        _laws[key] = maker(rb)
    return _laws[key]
