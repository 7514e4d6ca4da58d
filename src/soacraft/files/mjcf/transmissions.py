"""Transmissions of actuators: their gears, their lengths as drawn, and the ranges of force of what they drive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.joints import BALL, FREE, in_parts
from soacraft.files.mjcf.ties import fixed_tendon


def gears_of(build: Build, number: int) -> dict[str, float]:
    """Gears by dof; none for a transmission whose moment arm changes with the configuration."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtTrn
    kind, target = int(model.actuator_trntype[number]), int(model.actuator_trnid[number][0])
    gear = np.array(model.actuator_gear[number], dtype=np.float64)
    if kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
        return _joint_gears(build, target, gear, kind == int(kinds.mjTRN_JOINT))
    if kind == int(kinds.mjTRN_TENDON):
        joints = fixed_tendon(build, target) or {}
        return {build.dofs[joint][0]: float(gear[0]) * c for joint, c in joints.items()}
    return {}


def _joint_gears(build: Build, joint: int, gear: Any, own_axes: bool) -> dict[str, float]:
    model, dofs = build.compiled.model, build.dofs[joint]
    kind = int(model.jnt_type[joint])
    if kind == BALL:
        return _by_dof(dofs, gear[:3]) if own_axes else {}
    if kind != FREE:
        return {dofs[0]: float(gear[0])}
    if not own_axes:
        return {}
    if in_parts(model, joint):
        return _by_dof(dofs, gear)
    return {} if gear[:3].any() else _by_dof(dofs[:3], gear[3:])  # a free hinge pushes along its own axes


def _by_dof(dofs: list[str], gear: Any) -> dict[str, float]:
    return {dof: float(g) for dof, g in zip(dofs, gear, strict=False) if g}


def drawn_length(build: Build, number: int) -> float:
    """The length of an actuator's transmission at q = 0, where qpos = ref: gear ref, or gear sum of coef ref."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtTrn
    kind, target = int(model.actuator_trntype[number]), int(model.actuator_trnid[number][0])
    gear = float(model.actuator_gear[number][0])
    if kind == int(kinds.mjTRN_TENDON):
        return gear * drawn_sum(build, fixed_tendon(build, target) or {})
    by_joint = kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    if by_joint and int(model.jnt_type[target]) not in (FREE, BALL):
        return gear * drawn_sum(build, {target: 1.0})
    return 0.0


def drawn_sum(build: Build, joints: dict[int, float]) -> float:
    """The sum of coef ref over joints."""
    model = build.compiled.model
    return sum(c * float(model.qpos0[model.jnt_qposadr[j]]) for j, c in joints.items())


@dataclass(frozen=True)
class Drivers:
    """The actuators that push each joint, also through fixed tendons, and that pull at each tendon; `other` may push
    any joint: at sites, or along tendons in space."""

    joints: dict[int, list[int]]
    tendons: dict[int, list[int]]
    other: list[int]

    def of(self, of_joint: bool, target: int) -> list[int]:
        """Actuators of a joint or of a tendon."""
        return [*self.joints.get(target, []), *self.other] if of_joint else self.tendons.get(target, [])


def drivers_of(build: Build) -> Drivers:
    """Table of the actuators that push each joint and tendon. O(actuators and what they pull at)."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtTrn
    table = Drivers({}, {}, [])
    for number, (kind, target) in enumerate(zip(model.actuator_trntype, model.actuator_trnid[:, 0], strict=True)):
        pushed: dict[int, float] | None = None
        if int(kind) in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT)):
            pushed = {int(target): 1.0}
        elif int(kind) == int(kinds.mjTRN_TENDON):
            table.tendons.setdefault(int(target), []).append(number)
            pushed = fixed_tendon(build, int(target))
        if pushed is None:
            table.other.append(number)
        for joint in pushed or {}:
            table.joints.setdefault(joint, []).append(number)
    return table


def bounds_of(build: Build, number: int, drivers: Drivers) -> tuple[float, float] | None:
    """The range of an actuator's force, with that of the joint or tendon (`actuatorfrcrange`) where it alone drives
    that, and nothing else: range / gear of a joint, the range itself of a tendon."""
    model, (of_joint, target) = build.compiled.model, _target(build, number)
    limited = bool(model.actuator_forcelimited[number])
    low, high = (float(x) for x in model.actuator_forcerange[number]) if limited else (-np.inf, np.inf)
    alone, field = (low, high) if limited else None, "jnt" if of_joint else "tendon"
    if target < 0 or not getattr(model, f"{field}_actfrclimited")[target] or len(drivers.of(of_joint, target)) > 1:
        return alone
    ends = [float(x) for x in getattr(model, f"{field}_actfrcrange")[target]]
    if of_joint:
        gear = float(model.actuator_gear[number][0])
        if gear == 0.0:
            return alone
        ends = sorted(x / gear for x in ends)
    return min(max(low, ends[0]), ends[1]), min(max(high, ends[0]), ends[1])  # cut to the one, then to the other


def _target(build: Build, number: int) -> tuple[bool, int]:
    """The hinge or slide (True), or the tendon (False), that an actuator pulls at; -1 for none of these."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtTrn
    kind, target = int(model.actuator_trntype[number]), int(model.actuator_trnid[number][0])
    if kind == int(kinds.mjTRN_TENDON):
        return False, target
    by_joint = kind in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    return True, target if by_joint and int(model.jnt_type[target]) not in (FREE, BALL) else -1


def tell_ranges(build: Build) -> None:
    """A line for each `actuatorfrcrange`: it acts, or several actuators share it."""
    compiled, model, drivers = build.compiled, build.compiled.model, drivers_of(build)
    tables = (("jnt", "joints", "body/joint", True), ("tendon", "tendons", "tendon/", False))
    for field, items, key, of_joint in tables:
        elements = compiled.elements(getattr(compiled.spec, items))
        for number, limited in enumerate(getattr(model, f"{field}_actfrclimited")):
            element = elements.get(number)
            if not limited or element is None:
                continue
            pushing = drivers.of(of_joint, number)
            where = key if of_joint else f"{key}{element.tag}"
            if len(pushing) > 1 or (pushing and _target(build, pushing[0]) != (of_joint, number)):
                note = "several actuators share it: is kept, not simulated"
                build.walk.tell(element, "recorded", "actuatorfrcrange", note, True, key=where)
            else:
                note = "acts: is in forcerange of the actuator" if pushing else "no actuator is there"
                build.walk.tell(element, "converted", "actuatorfrcrange", note, key=where)
