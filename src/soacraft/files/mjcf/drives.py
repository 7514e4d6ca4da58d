"""Actuators and keyframes."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.files.mjcf.bodies import Build
from soacraft.files.mjcf.guards import MAX_STATES_OF_BODIES
from soacraft.files.mjcf.joints import BALL, FREE, state_of
from soacraft.files.mjcf.transmissions import bounds_of, drawn_length, drivers_of, gears_of
from soacraft.files.mjcf.walk import value_of
from soacraft.files.xml_tree import Element
from soacraft.model import Actuator, Body, Keyframe, Passive

_RANGES = ("ctrl", "force", "act")
_OTHER = ("name", *(f"{what}range" for what in _RANGES))  # a range that is not limited does not act
_TYPES = ("dyn", "gain", "bias")


def add_actuators(build: Build) -> None:
    """The actuators: the force on each dof for a unit of actuator force, where that is constant."""
    compiled, model = build.compiled, build.compiled.model
    elements, drivers = compiled.elements(compiled.spec.actuators), drivers_of(build)
    for number in range(len(model.actuator_trntype)):
        element = elements.get(number)
        name = build.names.take("actuator", compiled.name("ACTUATOR", number), f"actuator{number}")
        kind = "general" if element is None else element.tag
        try:
            texts = {} if element is None else element.attributes
            written = {key: value_of(text) for key, text in texts.items() if key not in _OTHER}
            gears, facts = gears_of(build, number), written | _facts(build, number)
            if limits := bounds_of(build, number, drivers):
                facts["forcerange"] = np.array(limits)
            build.mb.add_actuator(Actuator(name, kind, gears, facts))
            _add_rotor(build, number, gears, element)
            _tell_law(build, number, gears, element)
        except ModelError as problem:
            raise build.refused(element, problem) from None


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
    facts: dict[str, Any] = {"transmission": transmission, "gear": np.array(model.actuator_gear[number])}
    kind = {"joint": "JOINT", "jointinparent": "JOINT", "tendon": "TENDON", "site": "SITE", "slidercrank": "SITE",
            "body": "BODY"}.get(transmission)  # fmt: skip
    if kind is not None:
        facts["target"] = compiled.name(kind, int(model.actuator_trnid[number][0]))
    for what in _TYPES:
        enum = getattr(mujoco, f"mjt{what.capitalize()}")
        facts[f"{what}type"] = enum(int(getattr(model, f"actuator_{what}type")[number])).name.partition("_")[2].lower()
        parameters = np.trim_zeros(np.array(getattr(model, f"actuator_{what}prm")[number]), "b")
        if parameters.size:
            facts[f"{what}prm"] = parameters
    if "biasprm" in facts and facts["biasprm"][1:2].any():  # MuJoCo's length counts from qpos = 0, ours from q = 0
        facts["biasprm"] = np.concatenate([facts["biasprm"], np.zeros(3)])[: max(3, facts["biasprm"].size)]
        facts["biasprm"][0] += facts["biasprm"][1] * drawn_length(build, number)
    for what in _RANGES:
        limited = getattr(model, f"actuator_{what}limited")
        if len(limited) > number and np.any(limited[number]):
            facts[f"{what}range"] = np.array(getattr(model, f"actuator_{what}range")[number])
    for what in ("armature", "damping"):
        value = getattr(model, f"actuator_{what}", None)
        if value is not None and np.any(value[number]):
            facts[what] = np.array(value[number]).tolist()
    return facts


_LAWS = {"dyntype": ("none",), "gaintype": ("fixed",), "biastype": ("none", "affine")}
"""The laws that a control knows; `soacraft.sim.forces.drives` refuses others."""


def _tell_law(build: Build, number: int, gears: dict[str, float], element: Element | None) -> None:
    """A line for an actuator whose law, or whose transmission, is not simulated."""
    facts = _facts(build, number)
    other = [f"{key} {facts[key]!r}" for key, laws in _LAWS.items() if facts[key] not in laws]
    if not gears:
        other.append("a transmission whose arm is not constant")
    if other and element is not None:
        note = f"has {' and '.join(other)}: is kept, not simulated"
        build.walk.tell(element, "recorded", note=note, dynamic=True, key=f"actuator/{element.tag}")


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
