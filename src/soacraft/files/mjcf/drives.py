"""Actuators, tendons and keyframes."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.guards import MAX_STATES_OF_BODIES
from soacraft.files.mjcf.joints import BALL, FREE, in_parts, state_of
from soacraft.files.mjcf.ties import fixed_tendon
from soacraft.files.mjcf.walk import value_of
from soacraft.files.xml_tree import Element
from soacraft.model import Actuator, Body, Keyframe, Passive, Record

_RANGES = ("ctrl", "force", "act")
_TYPES = ("dyn", "gain", "bias")
_TENDON = (
    "stiffness damping frictionloss armature range lengthspring springyield margin actfrcrange solref_lim solimp_lim "
    "solref_fri solimp_fri"
).split()


def add_actuators(build: Build) -> None:
    """The actuators: the force on each dof for a unit of actuator force, where that is constant."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.actuators)
    for number in range(len(model.actuator_trntype)):
        element = elements.get(number)
        name = build.names.take("actuator", compiled.name("ACTUATOR", number), f"actuator{number}")
        kind = "general" if element is None else element.tag
        try:
            written = {} if element is None else {k: value_of(v) for k, v in element.attributes.items() if k != "name"}
            gears = gears_of(build, number)
            build.mb.add_actuator(Actuator(name, kind, gears, written | _facts(build, number)))
            _add_rotor(build, number, gears, element)
        except ModelError as problem:
            raise build.refused(element, problem) from None


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


def _add_rotor(build: Build, number: int, gears: dict[str, float], element: Element | None) -> None:
    """An actuator's armature and damping act on the one dof it drives, times its gear squared."""
    model, body = build.compiled.model, _driven(build, number, gears)
    for what in ("armature", "damping"):
        values = getattr(model, f"actuator_{what}", None)
        value = 0.0 if values is None else float(values[number])
        if body is not None and value:
            more = value * next(iter(gears.values())) ** 2
            if what == "armature":
                body.armature = body.armature + more
            elif "DAMPER" not in build.off:
                old = body.passive
                body.passive = Passive(old.stiffness, old.damping + more, old.friction, old.rest)
        if element is not None and (value or what in element.attributes):
            status, note = "converted", f"is {what} of its hinge, by gear^2"
            if body is None:
                status, note = "recorded", "does not act on one dof alone: is kept, not simulated"
            build.walk.tell(element, status, what, note, body is None and bool(value), key=f"actuator/{element.tag}")


def _driven(build: Build, number: int, gears: dict[str, float]) -> Body | None:
    """The body whose hinge, of one dof, is all that an actuator drives."""
    model, kinds = build.compiled.model, build.compiled.mujoco.mjtTrn
    by_joint = int(model.actuator_trntype[number]) in (int(kinds.mjTRN_JOINT), int(kinds.mjTRN_JOINTINPARENT))
    if len(gears) != 1 or (by_joint and int(model.jnt_type[model.actuator_trnid[number][0]]) in (FREE, BALL)):
        return None
    return next((body for body in build.mb.bodies if body.hinge_name in gears), None)


def _facts(build: Build, number: int) -> dict[str, Any]:
    compiled, model, mujoco = build.compiled, build.compiled.model, build.compiled.mujoco
    transmission = mujoco.mjtTrn(int(model.actuator_trntype[number])).name.removeprefix("mjTRN_").lower()
    found: dict[str, Any] = {"transmission": transmission, "gear": np.array(model.actuator_gear[number])}
    kind = {"joint": "JOINT", "jointinparent": "JOINT", "tendon": "TENDON", "site": "SITE", "slidercrank": "SITE",
            "body": "BODY"}.get(transmission)  # fmt: skip
    if kind is not None:
        found["target"] = compiled.name(kind, int(model.actuator_trnid[number][0]))
    for what in _TYPES:
        enum = getattr(mujoco, f"mjt{what.capitalize()}")
        found[f"{what}type"] = enum(int(getattr(model, f"actuator_{what}type")[number])).name.partition("_")[2].lower()
        parameters = np.trim_zeros(np.array(getattr(model, f"actuator_{what}prm")[number]), "b")
        if parameters.size:
            found[f"{what}prm"] = parameters
    for what in _RANGES:
        limited = getattr(model, f"actuator_{what}limited")
        if len(limited) > number and np.any(limited[number]):
            found[f"{what}range"] = np.array(getattr(model, f"actuator_{what}range")[number])
    for what in ("armature", "damping"):
        value = getattr(model, f"actuator_{what}", None)
        if value is not None and np.any(value[number]):
            found[what] = np.array(value[number]).tolist()
    return found


def add_tendons(build: Build) -> None:
    """Fixed tendons with a spring or a damper; all tendons as records: their path and limits, and what does not act."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.tendons)
    for tendon in range(int(model.ntendon)):
        joints = fixed_tendon(build, tendon)
        _pull(build, tendon, joints, elements.get(tendon))
        facts: dict[str, Any] = {"type": "spatial" if joints is None else "fixed"}
        if joints is not None:
            facts["joints"] = tuple((build.dofs[joint][0], c) for joint, c in joints.items())
        else:
            facts["path"] = tuple(_wraps(build, tendon))
        for field in _TENDON:
            value = getattr(model, f"tendon_{field}", None)
            if value is not None and np.any(value[tendon]):
                facts[field] = np.array(value[tendon]).tolist()
        build.mb.add_record(Record("tendon", compiled.name("TENDON", tendon), facts))


def _pull(build: Build, tendon: int, joints: dict[int, float] | None, element: Element | None) -> None:
    """The spring and the damper of a tendon: of a fixed one and of one through sites they act; of one around geoms or
    pulleys it is said that they do not."""
    model = build.compiled.model
    k = 0.0 if "SPRING" in build.off else float(model.tendon_stiffness[tendon])
    d = 0.0 if "DAMPER" in build.off else float(model.tendon_damping[tendon])
    sites = _through_sites(build, tendon) if joints is None else None
    for what, value in (("stiffness", k), ("damping", d)):
        key = f"tendon/{'spatial' if joints is None else 'fixed'}"
        if element is None:
            continue
        if joints is None and value and sites is None:
            why = "its path has geoms or pulleys, or stays on one body: is kept, not simulated"
            build.walk.tell(element, "recorded", what, why, True, key=key)
        poly = getattr(model, f"tendon_{what}poly", None)
        if (joints is not None or sites is not None) and poly is not None and np.any(poly[tendon]):
            build.walk.tell(element, "recorded", what, "only the linear term acts", True, key=key)
    if not (k or d) or (joints is None and sites is None):
        return
    if joints is None:
        assert sites is not None
        _span(build, tendon, sites, k, d, element)
        return
    drawn = sum(c * float(model.qpos0[model.jnt_qposadr[j]]) for j, c in joints.items())
    low, high = (float(x) - drawn for x in model.tendon_lengthspring[tendon])
    name = build.names.take("tendon", build.compiled.name("TENDON", tendon), f"tendon{tendon}")
    try:
        build.mb.add_tendon(name, {build.dofs[j][0]: c for j, c in joints.items()}, k, d, (low, high))
    except ModelError as problem:
        raise build.refused(element, problem) from None


def _through_sites(build: Build, tendon: int) -> list[str] | None:
    """The nodes of a tendon that goes through sites alone, on two bodies or more."""
    path = _wraps(build, tendon)
    nodes = [str(x[1]) for x in path if x[0] == "site"]
    carriers = {build.mb.frame(x).carrier for x in nodes}
    return nodes if len(nodes) == len(path) and len(carriers) > 1 else None


def _span(build: Build, tendon: int, nodes: list[str], k: float, d: float, element: Element | None) -> None:
    """The spring along a tendon through sites; its slack range is that of MuJoCo."""
    low, high = (float(x) for x in build.compiled.model.tendon_lengthspring[tendon])
    name = build.names.take("spring", build.compiled.name("TENDON", tendon), f"tendon{tendon}")
    first, *through, last = nodes
    try:
        build.mb.add_spring(name, first, last, k, (low, high), d, through)
    except ModelError as problem:
        raise build.refused(element, problem) from None


def _wraps(build: Build, tendon: int) -> list[tuple[Any, ...]]:
    compiled, model, kinds = build.compiled, build.compiled.model, build.compiled.mujoco.mjtWrap
    start, count = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
    found: list[tuple[Any, ...]] = []
    for wrap in range(start, start + count):
        kind, target = int(model.wrap_type[wrap]), int(model.wrap_objid[wrap])
        if kind == int(kinds.mjWRAP_SITE):
            found.append(("site", build.sites[target]))
        elif kind == int(kinds.mjWRAP_PULLEY):
            found.append(("pulley", float(model.wrap_prm[wrap])))
        else:
            side = int(model.wrap_prm[wrap])
            found.append(("geom", compiled.name("GEOM", target), build.sites[side] if side >= 0 else ""))
    return found


def add_keyframes(build: Build) -> None:
    """The keyframes in our coordinates."""
    compiled, model = build.compiled, build.compiled.model
    elements = compiled.elements(compiled.spec.keys)
    if int(model.nkey) * int(model.nbody) > MAX_STATES_OF_BODIES:
        most = f"{model.nkey} keyframes of {model.nbody} bodies are more than {MAX_STATES_OF_BODIES} states of bodies"
        raise build.refused(elements.get(0), ModelError(f"makes the model too large to read: {most}."))
    for key in range(int(model.nkey)):
        q, v = state_of(model, build.steps, model.key_qpos[key], model.key_qvel[key])
        facts: dict[str, Any] = {"time": float(model.key_time[key])}
        for field in ("act", "ctrl", "mpos", "mquat"):
            value = np.array(getattr(model, f"key_{field}")[key])
            if value.size:
                facts[field] = value
        name = build.names.take("keyframe", compiled.name("KEY", key), f"key{key}")
        try:
            build.mb.add_keyframe(Keyframe(name, q, v, facts))
        except ValueError as problem:
            raise build.refused(elements.get(key), ModelError(str(problem))) from None
