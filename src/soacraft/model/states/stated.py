"""`Stated`: a graph whose coordinates and velocities users read, set and draw at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.arguments import Seed, read_seed
from soacraft.errors import StateError
from soacraft.model.flat.steady import steady
from soacraft.model.hinges.base import qdot_of
from soacraft.model.states import sampling, tangent
from soacraft.model.states.coordinates import common_batch, read_q, read_v
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array

Varies = Callable[[Any, Any], tuple[Array, Array]]


class Stated(Graph):
    """A graph with its current coordinates, velocities and accelerations, and its tangent space."""

    @property
    def q(self) -> Array:
        """The current coordinates, read-only; setting them changes the state (of a sub-graph: its part)."""
        return self.current.q

    @q.setter
    def q(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(q=self._given("q", value))

    @property
    def v(self) -> Array:
        """The current velocities, read-only; setting them changes the state (of a sub-graph: its part)."""
        return self.current.v

    @v.setter
    def v(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(v=self._given("v", value))

    @property
    def vdot(self) -> Array:
        """The current accelerations (zero unless set), read-only; setting them changes the state."""
        return self.current.vdot

    @vdot.setter
    def vdot(self, value: npt.ArrayLike | Mapping[Any, Any]) -> None:
        self.set_state(vdot=self._given("vdot", value))

    def _given(self, what: str, value: Any) -> Any:
        """Value to be set; None is refused, since elsewhere it means the current value."""
        if value is None:
            rest = "mb.neutral()" if what == "q" else "np.zeros(mb.nv)"
            raise StateError(f"{what} of {self.name!r} cannot be None; give its numbers, such as {rest}.")
        return value

    def q_of(self, of: Body | str) -> Array:
        """The current coordinates of a hinge, given by its name or its body.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> mb.set_state({"link2": 0.3})
        >>> mb.q_of("link2")
        array([0.3])
        """
        return self.current.q_of(of)

    def v_of(self, of: Body | str) -> Array:
        """The current velocities of a hinge, given by its name or its body, or of one dof."""
        return self.current.v_of(of)

    @steady
    def neutral(self) -> Array:
        """The coordinates at which every hinge is neutral.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> serial_chain(1, Spherical()).neutral()
        array([0., 0., 0., 1.])
        """
        return self.layout.neutral()

    def random_state(self, seed: Seed = 0, limits: bool = False) -> tuple[Array, Array]:
        """A random (q, v); the model's own state is left alone.

        Uniform rotations, angles within a turn, travels of about a metre, normally distributed velocities. With
        `limits` within the limits of coordinates and velocities, and on the active couplings. Loop closures stay open
        in either case: `sc.loops` closes them with `s.assemble(q, limits=True)` and `s.project_velocity(q, v)`.

        >>> import soacraft as sc
        >>> mb = sc.load("robotiq_2f85")                              # whose fingers are coupled
        >>> mb.set_state(*mb.random_state(seed=0, limits=True))
        >>> bool(abs(mb.q_of("left_driver_joint") - mb.q_of("right_driver_joint"))[0] < 1e-12)
        True
        """
        rng = read_seed(seed, f"the seed of random_state of {self.name!r}")
        if not isinstance(limits, bool | np.bool_):
            raise StateError(f"limits of random_state must be True or False, got {limits!r:.60}.")
        return sampling.draw_within(self, rng) if limits else sampling.draw(self, rng)

    def integrate_jacobians(self, q: Any, dv: Any) -> tuple[Array, Array]:
        """Derivatives of `integrate` along q and in dv, (nv, nv) each, in tangent spaces. O(nv^2).

            integrate(integrate(q, d), dv) = integrate(integrate(q, dv), first d + ...)
            integrate(q, dv + d)           = integrate(integrate(q, dv), second d + ...)

        The identity for true coordinates; Ad^-1 and the right Jacobian of a spherical or free hinge. A rolling ball is
        refused: its dofs do not span its places.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).integrate_jacobians([0.1, 0.2], [1.0, 0.0])[0]
        array([[1., 0.],
               [0., 1.]])
        """
        name, work = "integrate_jacobians", tangent.integrate_jacobians
        call: Varies = self.layout.calls.get(name) or tangent.quick(self, work, "q", "dv")
        return call(q, dv)

    def difference_jacobians(self, q0: Any, q1: Any) -> tuple[Array, Array]:
        """Derivatives of `difference` along q0 and along q1, (nv, nv) each, in tangent spaces. O(nv^2).

            difference(integrate(q0, d), q1) = difference(q0, q1) + first d + ...
            difference(q0, integrate(q1, d)) = difference(q0, q1) + second d + ...

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).difference_jacobians([0.5, 0.0], [2.0, 0.0])[0] + 0.0
        array([[-1.,  0.],
               [ 0., -1.]])
        """
        name, work = "difference_jacobians", tangent.difference_jacobians
        call: Varies = self.layout.calls.get(name) or tangent.quick(self, work, "q0", "q1")
        return call(q0, q1)

    @steady
    def qdot(self, q: Any = None, v: Any = None) -> Array:
        """The rates of the coordinates at velocity v; they differ from v where a hinge has a quaternion.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> serial_chain(1, Spherical()).qdot(v=[0.0, 0.0, 2.0])
        array([0., 0., 1., 0.])
        """
        q = self.current.q if q is None else read_q(self, q)
        v = self.current.v if v is None else read_v(self, v)
        batch = common_batch(q=q, v=v)
        q, v = np.broadcast_to(q, (*batch, self.nq)), np.broadcast_to(v, (*batch, self.nv))
        rates = np.empty((*batch, self.nq))
        with np.errstate(all="ignore"):
            for group in self.layout.groups:
                rates[..., group.q_index] = qdot_of(group.hinge, q[..., group.q_index], v[..., group.v_index])
        own = self.layout.own
        rates[..., own.q] = v[..., own.v]
        return finite_or_refused(rates, f"qdot(q, v) of {self.name!r}")
