"""Gravity that varies over a body: force and moment of the field, expanded about the centre of mass.

With g and its gradient G = dg/dr at the centre of mass c, rho = r - c, and J = sum m rho rho* of the body:

    force   F = m g + 1/2 sum over i, j of J_ij d^2 g / dr_i dr_j          moment   N = sum m rho x G rho
    modes   f_j = sum m u_j . (g + G rho),   u_j = dr / d eta_j            (flexible bodies)

Terms of third order in the size of the body are left out. A field of gravity has no curl, so that G is symmetric, and
none of its components has a Laplacian in vacuum or in matter of constant density: a body whose J is that of a ball is
pulled as a point is (Newton). Of a mass point the moment is 3 mu / r^3 (e x I e), e = r / |r| (Hughes, Spacecraft
Attitude Dynamics, 8.1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.model.modal.deformation import Deformation
from soacraft.model.modal.inertia import Moments, moments
from soacraft.model.states.kinematics import modal_block
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

#: Steps of differences, in radii of gyration: their error is far below the terms that are left out, whatever the field.
_STEP = 0.125
#: Fourth-order differences, f' = sum of c f(k h) / h and f'' = sum of c f(k h) / h^2.
_FIRST = {-2: 1 / 12, -1: -2 / 3, 1: 2 / 3, 2: -1 / 12}
_SECOND = {-2: -1 / 12, -1: 4 / 3, 0: -5 / 2, 1: 4 / 3, 2: -1 / 12}
#: Second moments that differ by less than this part are those of a ball.
_BALL = 1e-12


class Spread(NamedTuple):
    """Distribution of the mass of a body about its frame, in body axes."""

    mass: float
    centre: Array
    J: Array
    """sum m rho rho* about the centre of mass"""
    modes: Moments | None


class GravityField:
    """Gravity that depends on place and time, g(t, r) in m/s2, both in inertial axes: on every body the force and the
    moment of the field over it, to second order in its size; see `soacraft.sim.forces.gravity`. Masses and inertias are
    those that the model has at that instant. It acts in addition to `mb.gravity`, which is set to zero where it takes
    its place. The derivatives of the field are differences of g over an eighth of the radius of gyration: 13 calls of g
    for a body, one for a point or a ball.

    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")                                     # 1 kg at 1 m, at rest straight down
    >>> sideways = GravityField(lambda t, r: (-2.0, 0.0, 0.0))
    >>> sideways.bind(mb)
    >>> abs(sideways.force(0.0, mb.state([0.0], [0.0]))).round(9)
    array([2.])
    """

    def __init__(self, field: Callable[[float, Array], Any], name: str = "gravity field") -> None:
        if not callable(field):
            raise StateError(f"a {name} takes a function of (t, position), got {field!r:.60}.")
        self._field, self.name = field, name

    def bind(self, mb: Multibody) -> None:
        """Take the bodies that have mass."""
        self._mb = mb
        self._bodies = [x for x in mb.bodies if x.inertia.mass > 0.0]
        self._points: dict[Body, Frame] = {}  # of flexible bodies: where the wrench acts, whose frame is no point of it
        for body in self._bodies:
            points = [body] if body.modal is None else [x for x in body.nodes if x.modal_node is not None]
            if not points:
                raise ModelError(
                    f"the {self.name} acts at a node of flexible body {body.name!r}, which has none: give its modal "
                    "data nodes=."
                )
            self._points[body] = points[0]

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        wrenches, by_modes = self._acting(t, state)
        return dyn.compensating_force(self._mb, state.q, wrenches, ignore_loops=True) + by_modes

    def wrenches(self, t: float, state: State) -> dict[Frame, Wrench]:
        """The wrenches on the bodies."""
        return self._acting(t, state)[0]

    def _acting(self, t: float, state: State) -> tuple[dict[Frame, Wrench], Array]:
        """The wrenches on the bodies, and the forces along their modes in addition."""
        mb, by_modes = self._mb, np.zeros(self._mb.nv)
        wrenches: dict[Frame, Wrench] = {}
        for body in self._bodies:
            pose, spread = mb.pose(body, state=state), self._spread(body, state)
            R, lever = pose.rotation, pose.rotation @ spread.centre
            g, G, push, moment = self._pull(t, body, pose.translation + lever, R, spread)
            point = self._points[body]
            at = pose if point is body else mb.pose(point, state=state)
            moment = moment + np.cross(pose.translation + lever - at.translation, push)
            wrenches[point] = Wrench(moment, push, expressed_in=mb.root)
            if spread.modes is not None:  # p_j . (g - G c) + tr(G Z_j), in body axes, less what the wrench does there
                g, G, layout, k = R.T @ g, R.T @ G @ R, mb.layout, mb.layout.index[body]
                due = spread.modes.p @ (g - G @ spread.centre) + np.einsum("ab,jba->j", G, spread.modes.Z)
                wrench_in_body = np.concatenate([at.rotation.T @ moment, at.rotation.T @ push])
                by_modes[layout.hinge_v[k].stop : layout.v_slices[k].stop] = (
                    due - modal_block(state, point).T @ wrench_in_body
                )
        return wrenches, by_modes

    def _spread(self, body: Body, state: State) -> Spread:
        """Mass, centre of mass and second moments of a body as they are now."""
        if body.modal is None:
            inertia = body.inertia
            return Spread(inertia.mass, inertia.com, 0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment, None)
        layout = self._mb.layout
        sums = moments(body.modal, np.asarray(Deformation(layout, np.asarray(state.q)).eta(layout.index[body])))
        m = body.modal.mass
        return Spread(m, sums.c / m, sums.Y - np.outer(sums.c, sums.c) / m, sums)

    def _pull(self, t: float, body: Body, r: Array, R: Array, spread: Spread) -> tuple[Array, Array, Array, Array]:
        """g and its gradient at r, the force on a body, and the moment about its centre of mass; inertial axes."""

        def g(at: Array) -> Array:
            return finite(self._field(t, at), (3,), f"the {self.name} at {body.name!r}", StateError)

        m, trace, here = spread.mass, float(np.trace(spread.J)), g(r)
        off_ball = spread.J - trace / 3.0 * np.eye(3)
        if np.abs(off_ball).max() <= _BALL * trace and spread.modes is None:
            return here, np.zeros((3, 3)), m * here, np.zeros(3)
        D, E = np.linalg.eigh(off_ball)
        axes, h = R @ E, _STEP * np.sqrt(max(trace, 0.0) / m)
        if not h > 0.0:  # a point with modes
            return here, np.zeros((3, 3)), m * here, np.zeros(3)
        sides = [{0: here} | {k: g(r + k * h * e) for k in _FIRST} for e in axes.T]
        slopes = np.array([sum(c * side[k] for k, c in _FIRST.items()) for side in sides]).T / h @ axes.T
        bends = np.array([sum(c * side[k] for k, c in _SECOND.items()) for side in sides]) / h**2
        G = 0.5 * (slopes + slopes.T)
        moment = sum((d * np.cross(e, G @ e) for d, e in zip(D, axes.T, strict=True)), start=np.zeros(3))
        return here, G, m * here + 0.5 * D @ bends, moment
