"""The handlers of actuators, one for each kind, in <actuator> and in <default>."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soacraft.files.mjcf.guards import MAX_STATES, bounded, refuse_plugin
from soacraft.files.mjcf.rules import rule
from soacraft.files.mjcf.walk import Walk
from soacraft.files.xml_tree import Element

_TARGET = "joint jointinparent tendon site refsite body slidersite cranksite cranklength"
_COMMON = (
    "group user ctrllimited ctrlrange forcelimited forcerange actlimited actrange lengthrange inheritrange actdim "
    "actearly input ffrange velrange"
)
_DELAY = "delay interp nsample"
_KINDS = {
    "general": "dyntype gaintype biastype dynprm gainprm biasprm",
    "motor": "",
    "position": "kp kv dampratio timeconst",
    "velocity": "kv",
    "intvelocity": "kp kv dampratio",
    "orientation": "kp kv dampratio",
    "pid": "kp ki kv imax slewmax posrange dampratio",
    "damper": "kv",
    "cylinder": "timeconst area diameter bias",
    "muscle": "timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax",
    "adhesion": "gain",
    "dcmotor": "motorconst resistance inductance nominal saturation cogging controller lugre thermal",
}


def _bounded(element: Element, walk: Walk) -> None:
    bounded(element, "actdim", MAX_STATES)


def _handlers() -> dict[str, Callable[[Element, Walk], Any]]:
    handlers: dict[str, Callable[[Element, Walk], Any]] = {"actuator": rule("used")}
    for kind, attributes in _KINDS.items():
        for section in ("actuator", "default"):
            handlers[f"{section}/{kind}"] = rule(
                "recorded", used=f"name class gear {_TARGET}",
                recorded=f"{_COMMON} {attributes}{'' if section == 'actuator' else ' armature damping'}",
                effects=_DELAY, held=_DELAY, later="armature damping" if section == "actuator" else "", before=_bounded,
                note="its law acts with p.control(name, u) of a propagator",
            )  # fmt: skip
    return handlers | {"actuator/plugin": rule(before=refuse_plugin)}


ACTUATOR_HANDLERS = _handlers()
