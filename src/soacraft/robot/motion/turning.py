"""Hinges whose velocities are no rates of coordinates, balls and free bodies, in a motion that is described along dofs.

Next to a configuration q0 the way to another is difference(q0, q), a vector along dofs. Velocities v(t) along dofs, in
axes of the body itself, give back the configuration by two exponentials for each piece of time (Blanes and Moan 2006),

    q <- q exp(A0/2 - 2 A1) exp(A0/2 + 2 A1),     A0 = int v dt,   A1 = int (t - middle) v dt / h

which is exact for one axis, and else to the fifth power of the turn in the piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import StateError
from soacraft.model.hinges import Free, Hinge, Spherical
from soacraft.model.hinges.base import difference_of, has_coordinates, integrate_of, normalize_of
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.order import in_order, order_of
from soacraft.spatial.checks import Array, finite

#: Radians of a piece at most: the neglected part is below 1e-12.
_PIECE = 0.02
#: Largest number of pieces that are computed for a step.
_MOST = 10_000


class _Turning(NamedTuple):
    hinge: Hinge
    name: str
    q: npt.NDArray[np.intp]
    v: npt.NDArray[np.intp]


class Chart:
    """Coordinates of some dofs of a model, (nq), and places along these dofs next to a configuration, (dofs)."""

    def __init__(self, mb: Multibody, dofs: npt.NDArray[np.intp], places: npt.NDArray[np.intp], balls: bool) -> None:
        """`dofs` and `places` are numbers of whole hinges in v and q; `balls` whether largest angles are to be kept."""
        self.nq, self._turning = len(places), list[_Turning]()
        own_dofs = np.isin(np.arange(mb.nv), dofs)
        limited = {x.name: x.largest for x in Ranges(mb, of=own_dofs).balls} if balls else {}
        coordinate = Ranges(mb, limits=False).place[dofs]
        for body, q, v in zip(mb.bodies, mb.layout.hinge_q, mb.layout.hinge_v, strict=True):
            of_hinge = np.flatnonzero((dofs >= v.start) & (dofs < v.stop))
            if not len(of_hinge) or has_coordinates(body.hinge):
                continue
            name = body.hinge_name
            if not isinstance(body.hinge, Spherical | Free):
                raise StateError(
                    f"a Tracker cannot follow hinge {name!r}: the velocities of {body.hinge!r} are neither rates of "
                    "coordinates nor those of a ball or a free body. Give limb=..., a limb without it."
                )
            if name in limited:
                raise StateError(
                    f"a Tracker does not keep the largest angle of a ball, and hinge {name!r} has one of "
                    f"{limited[name]:.4g} rad: give MotionLimits.of(robot, ..., position=False) to do without limits "
                    "of position, or limb=..., a limb without it."
                )
            at = np.flatnonzero((places >= q.start) & (places < q.stop))
            self._turning.append(_Turning(body.hinge, name, at, of_hinge))
        moving = [x for x, v in zip(mb.bodies, mb.layout.hinge_v, strict=True) if own_dofs[v].any()]
        names = [x.name for x in moving]
        self._q_order = order_of(names, [x.hinge.nq for x in moving])
        self._v_order = order_of(names, [x.hinge.nv for x in moving])
        self._flat = np.flatnonzero(coordinate >= 0)
        self._flat_q = np.searchsorted(places, coordinate[self._flat])
        self._angles = np.array([i for x in self._turning for i in x.v[:3]], dtype=np.intp)

    @property
    def turns(self) -> bool:
        """True if there is a ball or a free body."""
        return bool(self._turning)

    def read(self, q: Any, what: str) -> Array:
        """Coordinates, with unit quaternions."""
        read: Array = finite(in_order(q, self._q_order, what), (self.nq,), what, StateError)
        for x in self._turning:
            read[x.q] = normalize_of(x.hinge, read[x.q], f"{what}: hinge {x.name!r}")
        return read

    def read_along(self, v: Any, what: str) -> Array:
        """Numbers along the dofs."""
        return finite(in_order(v, self._v_order, what), (self._v_order.size,), what, StateError)

    def places(self, q0: Array, q: Array) -> Array:
        """q along dofs next to q0, (dofs): the coordinates themselves where there are, else difference(q0, q)."""
        x = np.zeros(len(self._flat) + sum(len(y.v) for y in self._turning))
        x[self._flat] = q[self._flat_q]
        for y in self._turning:
            x[y.v] = difference_of(y.hinge, q0[y.q], q[y.q])
        return x

    def pieces(self, most: Array, dt: float) -> Array:
        """Times from zero to dt between which little is turned, at velocities of at most `most` (dofs)."""
        fastest = float(np.linalg.norm(most[self._angles])) if len(self._angles) else 0.0
        if not fastest * dt <= _MOST * _PIECE:
            raise StateError(
                f"hinge {self._turning[0].name!r} and others like it turn at {fastest:.4g} rad/s, more than "
                f"{_MOST * _PIECE:g} rad in a step of {dt:g} s: give a smaller dt, or smaller limits."
            )
        return np.linspace(0.0, dt, 1 + max(1, int(np.ceil(fastest * dt / _PIECE))))

    def moved(self, q0: Array, x: Array, times: Array, first: Array, second: Array) -> Array:
        """The configuration at the end of `times`, where coordinates are those of x; `first` and `second` are the
        integrals of v and t v from zero to each of the times, (times, dofs)."""
        q = np.array(q0)
        q[self._flat_q] = x[self._flat]
        for k in range(len(times) - 1):
            h, middle = times[k + 1] - times[k], 0.5 * (times[k] + times[k + 1])
            A0 = first[k + 1] - first[k]
            A1 = (second[k + 1] - second[k] - middle * A0) / h
            for y in self._turning:
                for part in (0.5 * A0 - 2.0 * A1, 0.5 * A0 + 2.0 * A1):
                    q[y.q] = integrate_of(y.hinge, q[y.q], part[y.v])
        return q
