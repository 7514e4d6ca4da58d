"""The same model in other units: what is judged of one must be judged of the other.

A model of lengths x, masses m and times t becomes one of lengths `length * x`, masses `mass * m`, times `time * t`. All
that is physical is scaled (poses, pitches, radii, inertias, armature, springs, limits, gravity, forces, state,
closures, couplings), so every dimensionless number of the motion stays as it was. Geometry, actuators, keyframes and
records are left out.
"""

from typing import NamedTuple

import numpy as np

import soacraft as sc
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.parts.properties import Limits, Passive


class Units(NamedTuple):
    """By what lengths, masses and times are multiplied."""

    length: float = 1.0
    mass: float = 1.0
    time: float = 1.0

    @property
    def energy(self):
        return self.mass * (self.length / self.time) ** 2

    def __str__(self):
        return f"{self.length:g} m, {self.mass:g} kg, {self.time:g} s"


#: From molecules to moons: lengths 1e-10 to 1e7, masses 1e-26 to 1e24, times 1e-13 to 1e5, together and alone.
NINE = (
    Units(),
    Units(length=1e-10, mass=1e-26, time=1e-13),
    Units(length=1e-7),
    Units(length=1e-4, mass=1e-3),
    Units(mass=1e-15),
    Units(time=1e5),
    Units(length=1e5),
    Units(length=1e3, mass=1e9, time=1e-3),
    Units(length=1e7, mass=1e24, time=1e5),
)


def scaled(mb, units):
    """The model in other units, in the same state."""
    L, energy = units.length, units.energy
    other = sc.Multibody(mb.name, np.asarray(mb.gravity) * L / units.time**2)
    _nodes(mb.root, other.root, L)
    for body in mb.bodies:
        parent = None if body.parent is mb.root else body.parent.name
        twin = other.add_body(
            body.name,
            parent,
            scaled_hinge(body.hinge, L),
            scaled_inertia(body.inertia, units),
            scaled_pose(body.inboard, L),
            scaled_pose(body.outboard, L),
            body.hinge_name,
        )
        u, t = dof_units(body.hinge, L), units.time
        force = energy / u
        twin.armature = body.armature * (units.mass * (L / u) ** 2)
        old = body.passive
        rest = None if old.rest is None else old.rest * coordinate_units(body.hinge, L)
        twin.passive = Passive(old.stiffness * force / u, old.damping * force * t / u, old.friction * force, rest)
        limits = body.limits
        twin.limits = Limits(limits.lower * u, limits.upper * u, limits.velocity * u / t, limits.effort * force)
        _nodes(body, twin, L)
    for loop in mb.loops:
        hinge = scaled_hinge(loop.hinge, L)
        other.close_loop(loop.name, loop.a.full_name, loop.b.full_name, hinge, loop.active)
    of_dof = dict(zip(mb.dof_names, velocity_units(mb, Units(L)), strict=True))
    for coupling in mb.couplings:
        terms = {
            dof: tuple(c / of_dof[dof] ** n for n, c in enumerate(coefficients, 1))
            for dof, coefficients in coupling.terms.items()
        }
        other.couple(coupling.name, terms, coupling.offset, coupling.active)
    other.set_state(*scaled_state(mb, units, mb.q, mb.v, mb.vdot))
    for frame, wrench in mb.acting_forces.items():
        axes = wrench.expressed_in
        axes = axes.full_name if isinstance(axes, Frame) else axes
        other.set_force(frame.full_name, sc.Wrench(wrench.moment * energy, wrench.force * energy / L, axes))
    return other


def scaled_state(mb, units, q, v, vdot=None):
    """(q, v), or (q, v, vdot), of the model in other units."""
    position = np.concatenate([np.ones(0), *(coordinate_units(body.hinge, units.length) for body in mb.bodies)])
    rate = velocity_units(mb, units)
    found = (np.asarray(q) * position, np.asarray(v) * rate)
    return found if vdot is None else (*found, np.asarray(vdot) * rate / units.time)


def velocity_units(mb, units):
    """The unit of each generalized velocity, (nv)."""
    parts = (dof_units(body.hinge, units.length) for body in mb.bodies)
    return np.concatenate([np.ones(0), *parts]) / units.time


def force_units(mb, units):
    """The unit of each generalized force, (nv)."""
    return units.energy / units.time / velocity_units(mb, units)


def dof_units(hinge, length):
    """The unit of each dof of a hinge, (nv): a length where it slides, one where it turns."""
    if isinstance(hinge, sc.Free):
        return np.array([1.0] * 3 + [length] * 3)
    if isinstance(hinge, ScrewProduct):
        return np.array([1.0 if screw[:3].any() else length for screw in hinge.vectors])
    if isinstance(hinge, sc.KnifeEdge):
        return np.array([1.0] * 3 + [length] * 2)
    return np.ones(hinge.nv)  # a weld, a ball, a thing that rolls


def coordinate_units(hinge, length):
    """The unit of each coordinate of a hinge, (nq)."""
    if isinstance(hinge, sc.Free | sc.KnifeEdge | Rolling):
        return np.array([1.0] * 4 + [length] * (hinge.nq - 4))
    return np.ones(hinge.nq) if hinge.nq != hinge.nv else dof_units(hinge, length)


def scaled_hinge(hinge, length):
    """The same hinge with its own lengths in another unit."""
    if isinstance(hinge, sc.Helical):
        return sc.Helical(hinge.axis, hinge.pitch * length)
    if isinstance(hinge, sc.RollingBall):
        return sc.RollingBall(hinge.radius * length, hinge.normal)
    if isinstance(hinge, sc.RollingDisc):
        return sc.RollingDisc(hinge.radius * length, hinge.axis, hinge.normal)
    if isinstance(hinge, sc.RollingEllipsoid):
        return sc.RollingEllipsoid(hinge.semi_axes * length, hinge.normal)
    if isinstance(hinge, sc.Screws):
        turned = [1.0 if screw[:3].any() else 1.0 / length for screw in hinge.vectors]  # a slide stays one for one
        return sc.Screws([[*s[:3], *(length * c * s[3:])] for s, c in zip(hinge.vectors, turned, strict=True)])
    return hinge


def scaled_pose(pose, length):
    return sc.Pose(pose.rotation, pose.translation * length)


def scaled_inertia(inertia, units):
    L, m = units.length, units.mass
    return sc.Inertia(inertia.mass * m, inertia.com * L, inertia.moment * (m * L * L))


def _nodes(one, other, length):
    for node in one.nodes:
        other.add_node(node.name, scaled_pose(node.pose, length))
