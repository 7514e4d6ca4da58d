"""Motions that are given: coordinates as functions of time, whose forces are found by mixed dynamics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from soacraft.errors import ModelError, StateError, near
from soacraft.model.hinges.base import has_coordinates
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.sim.breaks import Breaks
from soacraft.sim.carried import Carried
from soacraft.sim.forces.compiled_prescribed import piecewise_of
from soacraft.spatial.checks import Array, finite


class Prescribed:
    """Dofs with their motions: f(t) gives (coordinate, rate, acceleration), or is a spline that has derivatives."""

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb
        self._motions: dict[int, tuple[str, int, Callable[[float], Any], Any]] = {}
        self._kept: Prescribed | None = None
        self.edition = 0
        """Number of times that a motion was set."""
        self.mask = np.zeros(mb.nv, dtype=bool)
        """Mask of the prescribed dofs."""

    @property
    def kept(self) -> Prescribed:
        """Copy of the present motions, whatever is prescribed later."""
        if self._kept is None:
            self._kept = Prescribed(self._mb)
            self._kept._motions, self._kept.mask = dict(self._motions), self.mask.copy()
            self._kept.edition = self.edition
        return self._kept

    @property
    def dofs(self) -> list[int]:
        """The numbers of the prescribed dofs."""
        return sorted(self._motions)

    def set(self, name: str, motion: Any, t: float) -> None:
        """Prescribe a dof, or let it go with None."""
        number, place = find_dof(self._mb, name)
        self._kept = None
        self.edition += 1
        if motion is None:
            self._motions.pop(number, None)
            self.mask[number] = False
            return
        function = _read(name, motion)
        _values(name, function, t)
        self._motions[number] = (name, place, function, motion)
        self.mask[number] = True

    def impose(self, t: float, q: Array, v: Array) -> None:
        """Set the coordinates and velocities of prescribed dofs."""
        for number, (name, place, function, _) in self._motions.items():
            q[place], v[number], _ = _values(name, function, t)

    @property
    def guides(self) -> dict[int, tuple[int, Callable[[float], Array], Any]]:
        """Motion {dof: (place of its coordinate, function of time, motion as set)}; the function gives coordinate, rate
        and acceleration."""
        return {
            number: (place, partial(_values, name, function), motion)
            for number, (name, place, function, motion) in self._motions.items()
        }

    def functions(self, carried: Carried) -> list[str]:
        """Names of the dofs whose motions are called in Python by compiled steps. Components are no functions."""
        if not carried.is_empty:
            return []
        return [name for name, _, _, motion in self._motions.values() if piecewise_of(motion) is None]

    @property
    def knots(self) -> list[int]:
        """The nanoseconds between which splines are one polynomial."""
        return [ns for name, _, _, motion in self._motions.values() for ns in knots_of(motion, name).ns]

    def off(self, t: float, q: Array, v: Array) -> tuple[list[int], Array, Array]:
        """The prescribed dofs, and the deviations of their coordinates and velocities from the prescribed values."""
        wanted = [_values(name, function, t) for name, _, function, _ in (self._motions[i] for i in self.dofs)]
        places = [self._motions[i][1] for i in self.dofs]
        prescribed = np.reshape(wanted, (-1, 3))
        return self.dofs, q[places] - prescribed[:, 0], v[self.dofs] - prescribed[:, 1]

    def accelerations(self, t: float) -> Array:
        """vdot (nv) at the prescribed dofs, zero elsewhere."""
        vdot = np.zeros(self._mb.nv)
        for number, (name, _, function, _) in self._motions.items():
            vdot[number] = _values(name, function, t)[2]
        return vdot


def find_dof(mb: Multibody, name: str) -> tuple[int, int]:
    """The number of a dof that has a single coordinate, and the place of that coordinate in q."""
    if name not in mb.dof_names:
        raise ModelError(f"{mb.name!r} has no dof {name!r:.60}{near(str(name), mb.dof_names, 'its dofs are')}")
    places = coordinate_names(mb)
    number = mb.dof_names.index(name)
    if name not in places:
        body = next(x for x in mb.bodies if mb.v_slice(x).start <= number < mb.v_slice(x).stop)
        assert not has_coordinates(body.hinge)
        raise ModelError(
            f"dof {name!r} of {mb.name!r} has no single coordinate: hinge {body.hinge_name!r} is a "
            f"{type(body.hinge).__name__}, whose coordinates are a quaternion. Use a Gimbal in its place."
        )
    return number, places[name]


def find_hinge_dof(mb: Multibody, name: str, what: str) -> tuple[int, int, Body, int]:
    """Return the number of a dof, the place of its coordinate in q, the body of its hinge and the dof's place there.
    Raises `ModelError` for an elastic mode, on which `what` does not act."""
    number, place = find_dof(mb, name)
    for body in mb.bodies:
        of_hinge = mb.v_slice(body)
        if of_hinge.start <= number < of_hinge.stop:
            return number, place, body, number - of_hinge.start
    raise ModelError(
        f"dof {name!r} of {mb.name!r} is an elastic mode, and {what} acts on dofs of hinges. Give the mode damping in "
        "its modal data, or write a force of your own: p.add(f)."
    )


def knots_of(motion: Any, name: str) -> Breaks:
    """The times between which a spline of scipy is one polynomial; none of a function.

    >>> from scipy.interpolate import CubicSpline
    >>> knots_of(CubicSpline([0.0, 0.5, 1.0], [0.0, 1.0, 0.0]), "x").seconds
    array([0. , 0.5, 1. ])
    """
    knots = [getattr(motion, x, None) for x in ("t", "x")]
    if hasattr(motion, "get_knots"):
        knots.append(motion.get_knots())
    times = next((x for x in knots if isinstance(x, np.ndarray)), ())
    return Breaks(times, f"the knots of the motion of {name!r}", jumps=False)


def _read(name: str, motion: Any) -> Callable[[float], Any]:
    if hasattr(motion, "derivative") and callable(motion):  # a spline of scipy, a polynomial
        first = motion.derivative()
        second = first.derivative()
        return lambda t: (motion(t), first(t), second(t))
    if not callable(motion):
        raise StateError(f"the motion of {name!r} must be a function of t, or None to let it go; got {motion!r:.60}.")
    return motion  # type: ignore[no-any-return]


def _values(name: str, function: Callable[[float], Any], t: float) -> Array:
    values = function(t)
    try:
        return finite(values, (3,), "they", StateError)
    except StateError as wrong:
        raise StateError(
            f"the motion of {name!r} must give three numbers, (coordinate, rate, acceleration); at t = {t:.9g} s it "
            f"gave {values!r:.60} ({wrong}). Or give a spline of scipy.interpolate, whose derivatives are known."
        ) from None
