"""Couplings, loops and actuators as elements of URDF, and a line for all that URDF has no words for."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

import numpy as np

from soacraft.files.urdf.write_shapes import text
from soacraft.model import STANDARD_GRAVITY, Actuator, Body, Closure, Coupling, Frame, Multibody, ReportBuilder, Root
from soacraft.model.hinges import Pin
from soacraft.spatial import Pose

_INTERFACES = {
    "motor": "EffortJointInterface",
    "velocity": "VelocityJointInterface",
    "position": "PositionJointInterface",
}


def add_extras(
    mb: Multibody,
    robot: Element,
    report: ReportBuilder,
    names: dict[Body | Root, str],
    shifts: dict[Body | Root, Pose],
) -> None:
    """All that is not the tree."""
    joints = {element.get("name", ""): element for element in robot.iter("joint") if element.get("type") != "fixed"}
    single = {body.hinge_name for body in mb.bodies if body.hinge.nv == 1}
    joints = {name: element for name, element in joints.items() if name in single}
    follows: dict[str, str] = {}
    for coupling in mb.couplings:
        _couple(coupling, joints, follows, report)
    for loop in mb.loops:
        _close(loop, robot, report, names, shifts)
    for actuator in mb.actuators:
        _drive(actuator, robot, joints, report)
    _unsaid(mb, report)


def _couple(coupling: Coupling, joints: dict[str, Element], follows: dict[str, str], report: ReportBuilder) -> None:
    """c q + d r = o as a mimic of q, or of r: q = -(d/c) r + o/c."""
    dofs = list(coupling.terms)
    fit = coupling.active and coupling.linear and len(dofs) == 2 and all(dof in joints for dof in dofs)
    for dof, other in (dofs, dofs[::-1]) if fit else ():
        if dof in follows or _leads_to(follows, other, dof):
            continue
        c, d = coupling.terms[dof][0], coupling.terms[other][0]
        SubElement(joints[dof], "mimic", joint=other, multiplier=text(-d / c), offset=text(coupling.offset / c))
        follows[dof] = other
        report.add("coupling", "converted", coupling.name, note=f"is the mimic of joint {dof!r}")
        return
    note = "URDF has only mimics: one joint with one dof that follows another"
    report.add("coupling", "ignored", coupling.name, note=note, dynamic=coupling.active or bool(coupling.one_sided))


def _leads_to(follows: dict[str, str], start: str, end: str) -> bool:
    """True if a joint follows another, directly or by way of others."""
    while start != end and start in follows:
        start = follows[start]
    return start == end


def _close(
    loop: Closure,
    robot: Element,
    report: ReportBuilder,
    names: dict[Body | Root, str],
    shifts: dict[Body | Root, Pose],
) -> None:
    """A pin as a loop joint, which some programs read; other closures cannot be said."""
    if not isinstance(loop.hinge, Pin) or not loop.active:
        moves = loop.active or bool(loop.one_sided)
        report.add("loop", "ignored", loop.name, note="URDF has no closed loops", dynamic=moves)
        return
    element = SubElement(robot, "loop_joint", name=loop.name, type="continuous")
    for tag, frame in (("link1", loop.a), ("link2", loop.b)):
        _end(element, tag, frame, names, shifts)
    SubElement(element, "axis", xyz=text(loop.hinge.axis))
    report.add("loop", "converted", loop.name, note="is a <loop_joint>, which is no part of URDF proper")


def _end(
    element: Element, tag: str, frame: Frame, names: dict[Body | Root, str], shifts: dict[Body | Root, Pose]
) -> None:
    carrier = frame.carrier
    assert isinstance(carrier, Body | Root)
    pose = shifts[carrier] @ frame.offset
    SubElement(element, tag, link=names[carrier], xyz=text(pose.translation), rpy=text(pose.as_rpy()))


def _drive(actuator: Actuator, robot: Element, joints: dict[str, Element], report: ReportBuilder) -> None:
    """A transmission, for an actuator of one joint."""
    if len(actuator.gears) != 1 or next(iter(actuator.gears)) not in joints:
        report.add("actuator", "ignored", actuator.name, note="a transmission has one joint with one dof", dynamic=True)
        return
    ((dof, gear),) = actuator.gears.items()
    element = SubElement(robot, "transmission", name=actuator.name)
    SubElement(element, "type").text = "transmission_interface/SimpleTransmission"
    joint = SubElement(element, "joint", name=dof)
    SubElement(joint, "hardwareInterface").text = _INTERFACES.get(actuator.kind, _INTERFACES["motor"])
    SubElement(SubElement(element, "actuator", name=actuator.name), "mechanicalReduction").text = text(gear)
    note = "is a transmission; its attributes are not written" if actuator.attributes else "is a transmission"
    report.add("actuator", "converted", actuator.name, note=note)


def _unsaid(mb: Multibody, report: ReportBuilder) -> None:
    """Report the parts of a model that URDF cannot express."""
    if not np.array_equal(mb.gravity, STANDARD_GRAVITY):
        note = "URDF has no gravity; the reader's own is used"
        report.add("gravity", "ignored", note=note, dynamic=True)
    if not np.array_equal(mb.q, mb.neutral()) or mb.v.any():
        report.add("state", "ignored", note="URDF has no state")
    for frame in mb.acting_forces:
        report.add("force", "ignored", frame.full_name, note="URDF has no forces", dynamic=True)
    for kind, parts in (("tendon", mb.tendons), ("spring", mb.springs), ("bushing", mb.bushings)):
        for name in parts.names:
            report.add(kind, "ignored", name, note=f"URDF has no {kind}s", dynamic=True)
    for body in mb.bodies:
        if body.gravity_compensation:
            report.add("body", "ignored", body.name, "gravity_compensation", "URDF has none", dynamic=True)
    for keyframe in mb.keyframes:
        report.add("keyframe", "ignored", keyframe.name, note="URDF has no keyframes")
    for record in mb.records:
        report.add("record", "ignored", record.name, note=f"a record ({record.kind}) is not written")
