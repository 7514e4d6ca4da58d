"""Bodies: a chain of hinges for each, massless between its joints, with its inertia at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soacraft.errors import ModelError, ModelFileError
from soacraft.files.mjcf.engine import Compiled
from soacraft.files.mjcf.joints import FREE, Step, in_parts, limits_of, passive_of, pose_of, state_of, steps_of
from soacraft.files.mjcf.names import Names
from soacraft.files.mjcf.walk import Walk
from soacraft.files.xml_tree import Element, fail
from soacraft.model import Body, Multibody, Record, Root
from soacraft.model.hinges import Weld
from soacraft.spatial import Inertia, Pose

_FLAGS = ("GRAVITY", "EQUALITY", "CONSTRAINT", "SPRING", "DAMPER", "PASSIVE", "FRICTIONLOSS", "CONTACT", "LIMIT")

_SOLREF, _SOLIMP = (0.02, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)  # MuJoCo's usual softness


@dataclass
class Build:
    """A model in the making: where each body, joint and site of MuJoCo is in it."""

    mb: Multibody
    compiled: Compiled
    walk: Walk
    names: Names = field(default_factory=Names)
    carriers: list[Body | Root] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    sites: dict[int, str] = field(default_factory=dict)
    geometries: dict[int, str] = field(default_factory=dict)
    """The full name of each geom, "body/shape"."""
    off: frozenset[str] = frozenset()
    dofs: dict[int, list[str]] = field(default_factory=dict)
    """The names of each joint's dofs, in our order."""

    def add_step(self, step: Step) -> None:
        """Note a hinge that was made."""
        self.steps.append(step)
        nv = step.hinge.nv
        names = [step.hinge_name] if nv == 1 else [f"{step.hinge_name}.{i}" for i in range(nv)]
        self.dofs.setdefault(step.joint, []).extend(names)

    def node_name(self, carrier: Body | Root, wanted: str, fallback: str = "") -> str:
        """The name for a node: the wanted one, with a number where another frame is called "body/node"."""
        kind = f"node of {carrier.name}"
        name = self.names.take(kind, wanted, fallback)
        while f"{carrier.name}/{name}" in self.mb:
            name = self.names.take(kind, name, "")
        return name

    def refused(self, where: Element | None, problem: ModelError) -> ModelFileError:
        """A refusal of the model as a refusal of the file."""
        return fail(where if where is not None else self.walk.document.root, str(problem))


def switched_off(compiled: Compiled) -> frozenset[str]:
    """Names of the parts of this model that <flag> turns off."""
    bits, flags = compiled.mujoco.mjtDisableBit, int(compiled.model.opt.disableflags)
    off = {name for name in _FLAGS if flags & int(getattr(bits, f"mjDSBL_{name}", 0))}
    if "PASSIVE" in off:
        off |= {"SPRING", "DAMPER"}
    if "CONSTRAINT" in off:
        off |= {"EQUALITY", "FRICTIONLOSS", "CONTACT", "LIMIT"}
    return frozenset(off)


def add_bodies(build: Build) -> None:
    """All bodies, in MuJoCo's order; then the state that the file draws."""
    compiled, model = build.compiled, build.compiled.model
    build.off = switched_off(compiled)
    elements = compiled.elements(compiled.spec.bodies)
    joint_elements = compiled.elements(compiled.spec.joints)
    body_names = _body_names(build)
    joint_names = _joint_names(build, body_names)
    _tell_renamed(build, "BODY", body_names, elements, "body")
    _tell_renamed(build, "JOINT", joint_names, joint_elements, "body/joint")
    build.carriers.append(build.mb.root)
    for number in range(1, int(model.nbody)):
        try:
            massless = id(elements.get(number)) in build.walk.massless
            _add_body(build, number, body_names, joint_names, joint_elements, massless)
        except ModelError as problem:
            raise build.refused(elements.get(number), problem) from None
    build.mb.set_state(state_of(model, build.steps, model.qpos0, np.zeros(int(model.nv)))[0])


def _body_names(build: Build) -> list[str]:
    compiled = build.compiled
    count = int(compiled.model.nbody)
    file_names = [compiled.name("BODY", b) for b in range(count)]
    taken = {b: build.names.take("body", file_names[b], "") for b in range(1, count) if file_names[b].strip()}
    return ["", *(taken.get(b) or build.names.take("body", "", f"body{b}") for b in range(1, count))]


def _joint_names(build: Build, body_names: list[str]) -> list[str]:
    """A joint's own name; else its body's, or the body's with a number when the body has several joints."""
    compiled, model = build.compiled, build.compiled.model
    file_names = [compiled.name("JOINT", j) for j in range(int(model.njnt))]
    names = [build.names.take("hinge", name, "") if name.strip() else "" for name in file_names]
    for joint, name in enumerate(names):
        body = int(model.jnt_bodyid[joint])
        body_name, alone = body_names[body], int(model.body_jntnum[body]) == 1
        place = joint - int(model.body_jntadr[body])
        names[joint] = name or build.names.take("hinge", body_name if alone else f"{body_name}_joint{place}", "")
    return names


def _tell_renamed(build: Build, kind: str, names: list[str], elements: dict[int, Element | None], key: str) -> None:
    for number, name in enumerate(names):
        file_name, element = build.compiled.name(kind, number), elements.get(number)
        if element is not None and file_name.strip() and file_name != name:
            build.walk.tell(element, "converted", "name", f"{file_name!r} is called {name!r}", key=key)


def _add_body(
    build: Build, number: int, bodies: list[str], joints: list[str], elements: Any, massless: bool
) -> None:
    model, name = build.compiled.model, bodies[number]
    parent = build.carriers[int(model.body_parentid[number])]
    inertia = Inertia() if massless else _inertia(model, number)
    here = pose_of(model.body_pos[number], model.body_quat[number])
    first, count = int(model.body_jntadr[number]), int(model.body_jntnum[number])
    steps = [step for j in range(first, first + count) for step in steps_of(model, j, joints[j])]
    if not steps:
        hinge_name = build.names.take("hinge", name, "")
        build.carriers.append(build.mb.add_body(name, parent, Weld(), inertia, here, hinge_name=hinge_name))
        _body_records(build, number)
        return
    if int(model.jnt_type[first]) == FREE:
        here = Pose()  # its coordinates are the pose in the world
    for step in steps:
        last = step is steps[-1]
        body_name = name if last else build.names.take("body", f"{name}:{step.hinge_name}", "")
        body = build.mb.add_body(
            body_name, parent, step.hinge, inertia if last else None, here @ step.place, step.place.inv, step.hinge_name
        )
        _add_properties(build, body, step)
        build.add_step(step)
        parent, here = body, Pose()
    build.carriers.append(body)
    for joint in range(first, first + count):
        _joint_records(build, joint, joints[joint], elements.get(joint))
    _body_records(build, number)


def _inertia(model: Any, number: int) -> Inertia:
    axes = pose_of((0, 0, 0), model.body_iquat[number]).rotation
    with np.errstate(all="ignore"):  # what is not finite is refused
        moment = axes @ np.diag(model.body_inertia[number]) @ axes.T
        return Inertia(float(model.body_mass[number]), np.array(model.body_ipos[number]), 0.5 * (moment + moment.T))


def _add_properties(build: Build, body: Body, step: Step) -> None:
    model = build.compiled.model
    body.armature = np.array(model.dof_armature[step.dofs.start : step.dofs.stop])
    body.limits = limits_of(model, step)
    body.passive = passive_of(model, step, build.off)


# -- what is kept by name ------------------------------------------------------------------------------------


def _body_records(build: Build, number: int) -> None:
    model = build.compiled.model
    facts: dict[str, Any] = {}
    carrier = build.carriers[number]
    acts = not {"SPRING", "DAMPER"} <= build.off  # MuJoCo has no passive force without both
    if model.body_gravcomp[number] != 0.0 and acts and isinstance(carrier, Body):
        carrier.gravity_compensation = float(model.body_gravcomp[number])
    if model.body_mocapid[number] >= 0:
        facts["mocap"] = True
    if facts:
        build.mb.add_record(Record("body", build.carriers[number].name, facts))


def _joint_records(build: Build, joint: int, name: str, element: Element | None) -> None:
    """Record the parts of a joint that are not simulated, and those that were converted."""
    model, walk = build.compiled.model, build.walk
    facts = _softness(model, joint) | _extras(model, joint)
    if facts:
        build.mb.add_record(Record("joint", name, facts))
    if element is None:
        return
    dof = int(model.jnt_dofadr[joint])
    if model.dof_frictionloss[dof] != 0.0 and "FRICTIONLOSS" not in build.off:
        note = "dry friction is kept in passive.friction, not simulated"
        walk.tell(element, "recorded", "frictionloss", note, True, key="body/joint")
    limited, margin = bool(model.jnt_limited[joint]), float(model.jnt_margin[joint])
    if margin or "margin" in element.attributes:
        note = "limits act from this distance on in MuJoCo; here they are where the range ends"
        walk.tell(element, "recorded", "margin", note, limited and margin != 0.0, key="body/joint")
    if limited and "LIMIT" in build.off:
        note = "a <flag> disables it; it acts in sc.sim.Contact"
        walk.tell(element, "recorded", "range", note, True, key="body/joint")
    for attribute in ("stiffness", "damping"):
        if f"{attribute}poly" in facts:
            walk.tell(element, "recorded", attribute, "only the linear term acts", True, key="body/joint")
    if int(model.jnt_type[joint]) == FREE and in_parts(model, joint):
        note = "has armature or a spring: is three slides and a spherical hinge"
        walk.tell(element, "converted", note=note, key="body/joint")


def _softness(model: Any, joint: int) -> dict[str, Any]:
    """The solver's softness of limits and friction, where it is not the usual one."""
    dof = int(model.jnt_dofadr[joint])
    pairs = {
        "solreflimit": (model.jnt_solref[joint], _SOLREF), "solimplimit": (model.jnt_solimp[joint], _SOLIMP),
        "solreffriction": (model.dof_solref[dof], _SOLREF), "solimpfriction": (model.dof_solimp[dof], _SOLIMP),
    }  # fmt: skip
    return {name: np.array(value) for name, (value, usual) in pairs.items() if not np.array_equal(value, usual)}


def _extras(model: Any, joint: int) -> dict[str, Any]:
    """Nonlinear springs and dampers, margins and the like."""
    dof = int(model.jnt_dofadr[joint])
    limited = bool(model.jnt_actfrclimited[joint])
    values = {
        "stiffnesspoly": _entry(model, "jnt_stiffnesspoly", joint),
        "dampingpoly": _entry(model, "dof_dampingpoly", dof),
        "springyield": _entry(model, "jnt_springyield", joint),
        "margin": model.jnt_margin[joint],
        "actuatorfrcrange": model.jnt_actfrcrange[joint] if limited else 0.0,
        "actuatorgravcomp": model.jnt_actgravcomp[joint],
    }
    return {name: np.array(value).tolist() for name, value in values.items() if np.any(value)}


def _entry(model: Any, name: str, at: int) -> Any:
    """One entry of a field that only newer versions of MuJoCo have."""
    values = getattr(model, name, None)
    return 0.0 if values is None else values[at]
