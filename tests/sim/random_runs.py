"""Runs of a random combination of features: `propagator(seed)` makes the same one each time that it is called.

A seed draws a model, a method and some of all that may act on it together: controls of each kind, forces, callbacks,
events, friction, stops, prescribed motions, contact, springs. What cannot go together is refused where it is added,
and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from tests.sim.chains import four_bar
from tests.sim.combinations import chain, flexible, tree

import soacraft as sc
from soacraft import sim
from soacraft.errors import SoacraftError
from soacraft.model.tree.parts.closures import coordinate_names

#: The end of a run.
END = 0.2


def quadruped() -> sc.Multibody:
    mb = sc.load("a1")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    q = np.array(mb.q)
    q[6] = 0.3
    q[7:] = np.tile([0.0, 0.9, -1.8], 4)
    mb.set_state(q, 0.1 * np.sin(np.arange(mb.nv)))
    return mb


def bars() -> sc.Multibody:
    return four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0)


def floating() -> sc.Multibody:
    """A hull that falls on a floor, with an arm and a ball joint."""
    mb = sc.Multibody("floating")
    mb.root.add_geometry(sc.Geometry("floor", "plane"))
    hull = mb.add_body("hull", None, sc.Free(), sc.Inertia(2.0, (0, 0, 0.05), np.diag([0.3, 0.2, 0.4])))
    hull.add_geometry(sc.Geometry("skin", "box", (0.3, 0.2, 0.1)))
    mb.add_body("arm", "hull", sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.3, 0, 0), 0.2 * np.eye(3)))
    mb.add_body("ball", "arm", sc.Spherical(), sc.Inertia(1.0, (0, 0.2, 0), 0.2 * np.eye(3)))
    mb.add_body("slide", "hull", sc.Prismatic((0, 0, 1)), sc.Inertia(0.5, (0, 0, 0.1), 0.05 * np.eye(3)))
    mb.set_state([0, 0, 0.6, 0.8, 0.1, 0, 0.1, 0.3, 0, 0.6, 0, 0.8, 0.05], np.linspace(-0.5, 0.5, 11))
    return mb


MODELS: tuple[Callable[[], sc.Multibody], ...] = (tree, chain, flexible, bars, floating, quadruped)
SMOOTH = ("rk4", "dop853", "euler_symplectic", "verlet", "gauss4", "gauss6", "generalized_alpha", "radau")
TOUCHING = ("moreau", "moreau_midpoint")


class Features:
    """What may be added to a propagator, each by a function of it and of random numbers."""

    def __init__(self, rng: np.random.Generator, mb: sc.Multibody) -> None:
        self.rng, self.mb = rng, mb
        nv = mb.nv
        self.places = coordinate_names(mb)
        self.hinges = [name for name in mb.dof_names if name in self.places]
        self.dof = str(rng.choice(self.hinges))
        self.number = mb.dof_names.index(self.dof)
        self.force = 0.3 * rng.normal(size=nv)
        self.gain = float(rng.uniform(0.1, 0.5))
        self.period = float(rng.choice([0.01, 0.013, 0.02]))
        self.other = str(rng.choice(self.hinges))
        driven = [x.name for x in mb.actuators] or [mb.dof_names[i] for i in range(sum(x.hinge.nv for x in mb.bodies))]
        self.motor = str(rng.choice(driven))

    def control_number(self, p: Any) -> None:
        p.control(self.dof, 0.3)

    def control_samples(self, p: Any) -> None:
        p.control(self.other, (np.array([0.0, 0.05, 0.11, 0.3]), np.array([0.1, -0.2, 0.3, 0.0])))

    def control_function(self, p: Any) -> None:
        i, k = self.number, self.gain
        p.control(self.dof, lambda t, s: -k * s.v[i] + 0.1 * np.sin(20 * t))

    def control_held(self, p: Any) -> None:
        name, k = self.motor, self.gain
        p.control(lambda t, s: {name: -k * s.v[-1] + 0.1}, every=self.period)

    def force_function(self, p: Any) -> None:
        force = self.force
        p.add(lambda t, s: force * np.cos(10.0 * t) - 0.05 * s.v)

    def callback_control(self, p: Any) -> None:
        name = self.dof
        p.control(name, 0.1)
        p.every(self.period, lambda t, s: p.control(name, 0.2 * np.sin(30 * t) - 0.1 * float(s.v[-1])))

    def callback_velocity(self, p: Any) -> None:
        if self.mb.loops:
            return

        def kick(t: float, s: Any) -> None:
            v = np.array(s.v)
            v[-1] += 0.01
            p.mb.set_state(s.q, v)

        p.every(0.05, kick)

    def callback_reads(self, p: Any) -> None:
        p.every(0.017, lambda t, s: float(s.vdot.sum()))

    def event(self, p: Any) -> None:
        i, level = self.number, float(self.mb.v[self.number]) + 0.02
        p.event("level", lambda t, s: s.v[i] - level)

    def event_acts(self, p: Any) -> None:
        p.control(self.other, 0.0)
        p.event("late", lambda t, s: t - 0.0834, action=lambda t, s: p.control(self.other, 0.2))

    def friction(self, p: Any) -> None:
        p.add(sim.HingeFriction(self.dof, 0.2))

    def stop(self, p: Any) -> None:
        q = float(self.mb.q[self.places[self.dof]])
        p.add(sim.JointLimit(self.dof, lower=q - 0.02, upper=q + 0.02, restitution=0.4))

    def prescribed(self, p: Any) -> None:
        place = self.places[self.other]
        q, v = float(self.mb.q[place]), float(self.mb.v[self.mb.dof_names.index(self.other)])
        p.prescribe(self.other, lambda t: (q + v * np.sin(5 * t) / 5, v * np.cos(5 * t), -5 * v * np.sin(5 * t)))

    def prescribed_spline(self, p: Any) -> None:
        place = self.places[self.other]
        q, v = float(self.mb.q[place]), float(self.mb.v[self.mb.dof_names.index(self.other)])
        times, values = [0.0, 0.07, 0.15, 1.0], [q, q + 0.05 * v, q + 0.1 * v, q]
        p.prescribe(self.other, CubicSpline(times, values, bc_type=((1, v), (1, 0.0))))

    def springs(self, p: Any) -> None:
        for body in p.mb.bodies[1:]:
            if body.hinge.nv == 1:
                body.passive = sc.Passive(stiffness=0.5, damping=0.05)

    def stored_force(self, p: Any) -> None:
        p.mb.set_force(p.mb.bodies[-1].name, (0.1, 0.0, 0.05, 0.2, 0.0, -0.3))


NAMES = tuple(name for name in vars(Features) if not name.startswith("_"))


def propagator(seed: int) -> tuple[Any, str]:
    """Return a propagator with a random combination, and its description."""
    rng = np.random.default_rng(seed)
    mb = MODELS[int(rng.integers(len(MODELS)))]()
    touches = bool(rng.integers(2)) if mb.name != "A1" else True
    method = str(rng.choice(TOUCHING if touches else SMOOTH))
    features = Features(rng, mb)
    names = [str(x) for x in rng.choice(NAMES, size=int(rng.integers(1, 5)), replace=False)]
    how = {"rtol": 1e-7} if method in ("dop853", "radau") else {"step": 0.002}
    p = sim.Propagator(mb, integrator=method, **how)
    words = [mb.name, method]
    if touches:
        p.add(sim.Contact(restitution=0.2))
        words.append("contact")
    for name in names:
        try:
            getattr(features, name)(p)
            words.append(name)
        except SoacraftError as refused:
            words.append(f"({name} refused: {str(refused)[:60]})")
    return p, ", ".join(words)
