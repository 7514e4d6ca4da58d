"""Sizing of motors along motions: torque, speed, power, energy and heat, by dof.

With T the generalized force of the mechanism (inverse dynamics), gear N, efficiency eta and rotor inertia J_r, the
shaft of a motor has

    speed   w = N v
    torque  T_m = T / (N eta)  where the motor drives (T v >= 0),   T eta / N  where it is driven;   + J_r N vdot
    power   P = T_m w,     current  I = T_m / k,     heat  integral of R I^2

Integrals over time are by the trapezoidal rule on the rows that are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy.integrate import trapezoid

from soacraft.errors import StateError, near
from soacraft.model.states.dof_sets import Held
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.studies.efforts import efforts_of
from soacraft.robot.studies.motion import forces_of, held_of, model_of, read_motion, units_of
from soacraft.robot.studies.study import Column, Study
from soacraft.robot.studies.table import Table
from soacraft.spatial.checks import Array, finite


@dataclass(frozen=True)
class Motor:
    """A motor on a dof: `gear` turns of its shaft for one of the dof (or radians for a metre), the inertia of its rotor
    in kg m2, the efficiency of the gear, its torque constant in N m/A and resistance in ohm, and what its shaft can
    give and stand: `torque` for a moment, `continuous` torque for long, `speed`.

    >>> Motor(gear=100.0, rotor_inertia=1e-5).gear
    100.0
    """

    gear: float = 1.0
    rotor_inertia: float = 0.0
    efficiency: float = 1.0
    torque_constant: float = np.nan
    resistance: float = np.nan
    torque: float = np.inf
    continuous: float = np.inf
    speed: float = np.inf

    def __post_init__(self) -> None:
        for name in ("gear", "rotor_inertia", "efficiency"):
            finite(getattr(self, name), (), f"{name} of a motor", StateError)
        if self.gear == 0.0 or self.rotor_inertia < 0.0 or not 0.0 < self.efficiency <= 1.0:
            raise StateError(
                "a motor has a gear that is not zero, a rotor whose inertia is not negative, and an efficiency above 0 "
                f"and up to 1; got {self.gear:g}, {self.rotor_inertia:g} and {self.efficiency:g}."
            )
        for name in ("torque_constant", "resistance", "torque", "continuous", "speed"):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and (np.isnan(value) or value > 0.0)):
                raise StateError(f"{name} of a motor must be positive, got {value!r:.40}.")


@dataclass(frozen=True, eq=False, repr=False)
class Sizing(Study, kind="sizing"):
    """Loads of each motor in a motion. Torques, speeds and powers are of the shaft: without gears, of the dof."""

    robot: str
    dofs: Annotated[tuple[str, ...], Column.of("", "dofs")]
    units: Annotated[tuple[str, ...], Column.of("", "dofs")]
    """Unit of the torque by dof: "N m", or "N" for slides without gears."""
    t: Annotated[Array, Column.of("s", "rows")]
    torque: Annotated[Array, Column.of("N m or N", "rows", "dofs")]
    speed: Annotated[Array, Column.of("rad/s or m/s", "rows", "dofs")]
    peak_torque: Annotated[Array, Column.of("N m or N", "dofs")]
    rms_torque: Annotated[Array, Column.of("N m or N", "dofs")]
    peak_speed: Annotated[Array, Column.of("rad/s or m/s", "dofs")]
    peak_power: Annotated[Array, Column.of("W", "dofs")]
    """The largest mechanical power that the motor gives."""
    mean_power: Annotated[Array, Column.of("W", "dofs")]
    energy: Annotated[Array, Column.of("J", "dofs")]
    """The integral of the power: what comes back counts less."""
    drawn: Annotated[Array, Column.of("J", "dofs")]
    """The integral of the power that is given, what comes back not counted."""
    heat: Annotated[Array, Column.of("J", "dofs")]
    """The integral of R I^2; NaN for a motor of which torque constant and resistance are not told."""
    torque_used: Annotated[Array, Column.of("", "dofs")]
    """The largest part of the limit of torque that is used, at the shaft or at the dof: 1 at the limit, 0 without."""
    continuous_used: Annotated[Array, Column.of("", "dofs")]
    """The root of the mean square over the continuous torque."""
    speed_used: Annotated[Array, Column.of("", "dofs")]

    @property
    def holds(self) -> bool:
        """True if all motors stay within their limits."""
        return bool(max(x.max(initial=0.0) for x in (self.torque_used, self.continuous_used, self.speed_used)) <= 1.0)

    def table(self) -> Table:
        """A row for each dof."""
        head = ("dof", "peak torque", "", "rms torque", "peak speed", "peak power [W]", "mean power [W]", "energy [J]",
                "heat [J]", "torque used", "continuous used", "speed used")  # fmt: skip
        columns = (
            self.dofs, self.peak_torque, self.units, self.rms_torque, self.peak_speed, self.peak_power, self.mean_power,
            self.energy, self.heat, self.torque_used, self.continuous_used, self.speed_used,
        )  # fmt: skip
        return Table(head, list(zip(*columns, strict=True)))

    def __repr__(self) -> str:
        used = np.stack([self.torque_used, self.continuous_used, self.speed_used])
        if not used.size or used.max() == 0.0:
            text = "no limits are known"
        else:
            kind, i = np.unravel_index(int(np.argmax(used)), used.shape)
            what = ("torque", "continuous torque", "speed")[int(kind)]
            text = f"{self.dofs[int(i)]!r} uses {100 * used[kind, i]:.4g} % of its {what}"
        return f"Sizing of {self.robot!r} over {self.t[-1] - self.t[0]:.4g} s: {text}"


def sizing(
    robot: Any,
    motion: Any,
    *,
    t: Any = None,
    motors: Mapping[str, Motor] | Motor | None = None,
    f_ext: Any = None,
    efforts: Any = None,
) -> Sizing:
    """Torque, speed, power, energy and heat of motors along a motion, and how much of their limits they use.

    `motion` is (t, q, v, vdot), a run of `sc.sim`, or an object with `at(t)`, looked at at the times `t`. `motors`
    gives some dofs, by name, or all of them a `Motor`; the others are taken at the dof, with the limits of the model or
    `efforts`. `f_ext` are wrenches on nodes along the motion, {node: (rows, 6)}, such as those of the ground. Trees and
    closed chains, whose motors move the loops; dofs without a motor are left out. O(rows n).

    >>> import numpy as np
    >>> import soacraft as sc
    >>> pendulum = sc.robot.Robot(sc.load("pendulum"))                             # 1 kg at 1 m, g = 9.81
    >>> t = np.linspace(0.0, 2 * np.pi, 1001)[:, None]
    >>> sc.robot.study.sizing(pendulum, (t[:, 0], 0 * t, 0 * t, np.sin(t))).rms_torque.round(6)  # 1 kg m2 / sqrt(2)
    array([0.707107])
    """
    mb = model_of(robot)
    way = read_motion(mb, motion, t)
    limits = efforts_of(mb, efforts, held_of(robot))
    force = forces_of(mb, way.q, way.v, way.vdot, limits, f_ext)
    driven = limits.motors.copy()
    by_dof_number = _motors(mb, motors, held_of(robot))
    for i in by_dof_number:
        driven[i] = True
    dofs = np.flatnonzero(driven)
    if not len(dofs):
        raise StateError(f"no dof of {mb.name!r} has a motor: name some with motors=.")
    each = [by_dof_number.get(int(i), Motor()) for i in dofs]
    N, J = np.array([m.gear for m in each]), np.array([m.rotor_inertia for m in each])
    eta = np.array([m.efficiency for m in each])
    T, v, vdot = force[:, dofs], way.v[:, dofs], way.vdot[:, dofs]
    torque = np.where(T * v >= 0.0, T / (N * eta), T * eta / N) + J * N * vdot
    speed = N * v
    power = torque * speed
    span = float(way.t[-1] - way.t[0])
    k, R = np.array([m.torque_constant for m in each]), np.array([m.resistance for m in each])
    rms = np.sqrt(trapezoid(torque**2, way.t, axis=0) / span)
    energy = trapezoid(power, way.t, axis=0)
    units = units_of(mb)
    most = np.array([m.torque for m in each])
    used = np.maximum(limits.part(force)[:, dofs], np.abs(torque) / most).max(axis=0)
    fast = np.minimum(by_dof(mb, "velocity")[dofs] * np.abs(N), [m.speed for m in each])
    continuous = np.array([m.continuous for m in each])
    return Sizing(
        mb.name, tuple(mb.dof_names[i] for i in dofs),
        tuple("N m" if int(i) in by_dof_number else units[i] for i in dofs), way.t, torque, speed,
        np.abs(torque).max(axis=0), rms, np.abs(speed).max(axis=0), power.max(axis=0), energy / span, energy,
        trapezoid(np.maximum(power, 0.0), way.t, axis=0), R * rms**2 * span / k**2,
        used, rms / continuous, np.abs(speed).max(axis=0) / fast,
    )  # fmt: skip


def by_dof(mb: Multibody, what: str) -> Array:
    """Armatures, or limits of velocity, by dof, (nv)."""
    values = np.full(mb.nv, 0.0 if what == "armature" else np.inf)
    for body, v in zip(mb.layout.bodies, mb.layout.hinge_v, strict=True):
        values[v] = np.asarray(body.armature if what == "armature" else body.limits.velocity)
    return values


def _motors(mb: Multibody, motors: Mapping[str, Motor] | Motor | None, held: Held) -> dict[int, Motor]:
    if motors is None:
        return {}
    if isinstance(motors, Motor):
        driven = np.flatnonzero(efforts_of(mb, held=held).motors)
        named: Mapping[str, Motor] = {mb.dof_names[i]: motors for i in driven}
    elif isinstance(motors, Mapping):
        named = motors
    else:
        raise StateError(f"motors= is a Motor, or {{dof: Motor}}; got {motors!r:.60}.")
    by_number = {}
    armature = by_dof(mb, "armature")
    for name, motor in named.items():
        if name not in mb.dof_names:
            raise StateError(f"{mb.name!r} has no dof {name!r:.60}{near(str(name), mb.dof_names)}")
        if not isinstance(motor, Motor):
            raise StateError(f"the motor of {name!r} must be a sc.robot.study.Motor(...), got {motor!r:.60}.")
        i = mb.dof_names.index(name)
        if motor.rotor_inertia > 0.0 and armature[i] > 0.0:
            raise StateError(
                f"dof {name!r} has an armature of {armature[i]:.4g} kg m2 in the model, and its motor has a rotor of "
                f"{motor.rotor_inertia:.4g} kg m2: that counts it twice. Set one of them to zero."
            )
        by_number[i] = motor
    return by_number
