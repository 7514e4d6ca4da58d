"""`Chain`: a limb, as the modules that search for its coordinates know it. Types only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.limbs import LimbEngine
from soacraft.model.tree.frames.frame import Frame
from soacraft.robot.interfaces import Bearer
from soacraft.spatial.checks import Array, Shape
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.robot.limbs.data import LimbData


class Chain(Protocol):
    """Hinges from a base to one tip or several: the part of `Limb` that its solvers read."""

    @property
    def name(self) -> str:
        """Name of the limb."""

    @property
    def robot(self) -> Bearer:
        """The robot."""

    @property
    def base(self) -> Frame:
        """The frame that poses are seen from."""

    @property
    def tips(self) -> tuple[Frame, ...]:
        """The frames at its ends."""

    @property
    def dof_names(self) -> tuple[str, ...]:
        """Names of its dofs."""

    @property
    def nq(self) -> int:
        """Coordinates."""

    @property
    def nv(self) -> int:
        """Dofs."""

    @property
    def q(self) -> Array:
        """Coordinates at the robot's present state."""

    @property
    def limits(self) -> tuple[Array, Array]:
        """The lowest and the highest of each dof."""

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the dofs that columns of `jacobian` belong to."""

    @property
    def engine(self) -> LimbEngine | None:
        """Compiled inverse kinematics, where there are some."""

    @property
    def data(self) -> LimbData:
        """Data that are made once."""

    @property
    def own_ik(self) -> Any:
        """The user's own solver."""

    @property
    def is_own(self) -> bool:
        """True if only the limb's own search is used."""

    @property
    def closed_form(self) -> Any:
        """The closed form that is in use."""

    @property
    def v_places(self) -> npt.NDArray[np.intp]:
        """Places of its dofs among the robot's."""

    @property
    def q_places(self) -> npt.NDArray[np.intp]:
        """Places of its coordinates among the robot's."""

    @property
    def dof_places(self) -> npt.NDArray[np.intp]:
        """Places of the coordinates of its dofs among the robot's."""

    def placed(self, q: Any) -> Array:
        """The robot's coordinates with these of the limb, the rest as at present."""

    def of_robot(self, q: Any) -> Array:
        """The robot's coordinates with these of the limb, loops closed."""

    def true_pose(self, q: Any) -> Pose:
        """The pose by the model."""

    def jacobian(self, q: Any = None) -> Array:
        """Velocity of the tips by those of the dofs."""

    def columns(self, whole: Array) -> Array:
        """Columns of all dofs of the robot."""

    def ik(self, pose: Any, near: Any = None, *, tolerance: Any = None) -> Any:
        """Coordinates at which the tip is at a pose."""

    def apart(self, a: Array, b: Array) -> Array:
        """The way from one configuration of the robot to another along the dofs of the limb."""

    def read_q(self, q: Any, shape: Shape, what: str = "q") -> Array:
        """Coordinates of the limb, of this shape."""
