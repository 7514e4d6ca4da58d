"""`write_urdf`: a `Multibody` as a URDF file, with a report of what URDF cannot say."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from soacraft.errors import ModelFileError
from soacraft.files.native import write_bytes
from soacraft.files.urdf.names import Names
from soacraft.files.urdf.topology import WORLD
from soacraft.files.urdf.write_extras import add_extras
from soacraft.files.urdf.write_joints import JointForm, joint_form, limit_attributes
from soacraft.files.urdf.write_shapes import FileNames, add_geometry, add_inertial, add_material, add_origin, text
from soacraft.model import Body, ImportReport, Multibody, ReportBuilder, Root
from soacraft.model.hinges import Weld
from soacraft.spatial import Pose

_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MOVING = ("revolute", "prismatic")


def write_urdf(mb: Multibody, path: str | Path) -> ImportReport:
    """Write a model as URDF. O(n). The report says what became of every part; `report.lost` the parts that a reader
    will miss.

    Hinges that are no joints of URDF (spherical, helical, ...) are refused. Numbers are written so that they read back
    bit for bit. A link's frame is its joint's frame: where a body frame is elsewhere, the link's frame is put at the
    hinge and all that is fixed on it moves along. The base is on a massless link 'world', unless it is a single body
    welded on the inertial frame. Nodes become massless links on fixed joints.

    >>> import tempfile
    >>> from soacraft.files.urdf import read_urdf
    >>> from soacraft.model import serial_chain
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = write_urdf(serial_chain(2), Path(folder, "chain.urdf"))
    ...     mb = read_urdf(Path(folder, "chain.urdf"))
    >>> mb.dof_names, report.lost
    (('link1', 'link2'), ())
    """
    path = Path(path)
    robot, report = _Writer(mb, str(path)).robot()
    ElementTree.indent(robot)
    write_bytes(path, ElementTree.tostring(robot, encoding="utf-8", xml_declaration=True) + b"\n")
    return report


class _Writer:
    """The elements made so far, and where body frames are in the frames of their links."""

    def __init__(self, mb: Multibody, file: str) -> None:
        self.mb, self.file = mb, file
        self.report = ReportBuilder(file)
        self.names = FileNames(mb.mesh_folder, file)
        self.links = Names(body.name for body in mb.bodies)
        self.joints = Names(body.hinge_name for body in mb.bodies)
        self.forms = self._forms()
        self.materials = {material.name: material for material in mb.materials}
        self.element = Element("robot", name=mb.name)

    def robot(self) -> tuple[Element, ImportReport]:
        """The whole file."""
        mb = self.mb
        for material in mb.materials:
            add_material(self.element, material, self.names, self.report)
        shifts: dict[Body | Root, Pose] = {mb.root: Pose()}
        names: dict[Body | Root, str] = {body: body.name for body in mb.bodies}
        alone = self._alone()
        if alone is None:
            names[mb.root] = self._world()
        else:
            note = f"hinge {alone.hinge_name!r} is left to the reader, with root=Weld()"
            self.report.add("hinge", "converted", alone.hinge_name, note=note)
        for body in mb.bodies:
            shifts[body] = self.forms[body].shift
            self._link(body, body.name, shifts[body])
        for body in mb.bodies:
            if body is not alone:
                self._joint(body, names[body.parent], shifts[body.parent])
        self._nodes(names, shifts)
        add_extras(mb, self.element, self.report, names, shifts)
        self._refuse_characters()
        return self.element, self.report.done()

    def _forms(self) -> dict[Body, JointForm]:
        forms = {body: joint_form(body) for body in self.mb.bodies}
        bad = [f"{body.hinge_name!r}: {body.hinge!r}" for body, form in forms.items() if form is None]
        if bad:
            shown = ", ".join([*bad[:5], *(["..."] if len(bad) > 5 else [])])
            raise ModelFileError(
                f"{self.file}: URDF has no joint for {len(bad)} hinge{'s' * (len(bad) > 1)} of {self.mb.name!r} "
                f"({shown}); replace them, or save the model as .json."
            )
        return {body: form for body, form in forms.items() if form is not None}

    def _alone(self) -> Body | None:
        """The body that can be the root link: alone on the inertial frame, welded to it at its origin."""
        root = self.mb.root
        if len(root.children) != 1 or root.nodes or root.geometries:
            return None
        base = root.children[0]
        here = isinstance(base.hinge, Weld) and self.forms[base].origin == Pose() and not self._ties(root)
        return base if here else None

    def _ties(self, root: Root) -> bool:
        return any(root in (loop.a, loop.b) for loop in self.mb.loops)

    def _world(self) -> str:
        """A massless link for the inertial frame."""
        name = self.links.new(WORLD)
        link = SubElement(self.element, "link", name=name)
        self.report.add("inertial", "converted", note=f"is the massless link {name!r}")
        for geometry in self.mb.root.geometries:
            add_geometry(link, geometry, Pose(), self.materials, self.names, self.report)
        return name

    def _link(self, body: Body, name: str, shift: Pose) -> None:
        link = SubElement(self.element, "link", name=name)
        inertia = body.inertia if shift == Pose() else body.inertia.transformed(shift)
        add_inertial(link, inertia)
        for geometry in body.geometries:
            add_geometry(link, geometry, shift, self.materials, self.names, self.report)
        if shift == Pose():
            self.report.add("body", "used", name)
        else:
            self.report.add("body", "converted", name, note="the link's frame is that of its joint")

    def _joint(self, body: Body, parent: str, shift: Pose) -> None:
        form = self.forms[body]
        kind, limit = limit_attributes(body, form.type) if form.type in _MOVING else (form.type, {})
        joint = SubElement(self.element, "joint", name=body.hinge_name, type=kind)
        add_origin(joint, shift @ form.origin)
        SubElement(joint, "parent", link=parent)
        SubElement(joint, "child", link=body.name)
        if form.axis is not None:
            SubElement(joint, "axis", xyz=text(form.axis))
        if limit:
            SubElement(joint, "limit", {key: text(x) for key, x in limit.items()})
        passive = body.passive
        if form.type in _MOVING and (passive.damping.any() or passive.friction.any()):
            SubElement(joint, "dynamics", damping=text(passive.damping), friction=text(passive.friction))
        self.report.add("hinge", "used", body.hinge_name)
        self._unsaid(body, form.type in _MOVING)

    def _unsaid(self, body: Body, moving: bool) -> None:
        """Report the parameters of a hinge that URDF cannot express."""
        passive, limits, add, name = body.passive, body.limits, self.report.add, body.hinge_name
        if body.armature.any():
            add("hinge", "ignored", name, "armature", "URDF has no rotor inertia", dynamic=True)
        if passive.stiffness.any():
            add("hinge", "ignored", name, "stiffness", "URDF has no springs", dynamic=True)
        if not moving and (passive.damping.any() or passive.friction.any()):
            add("hinge", "ignored", name, "damping", "URDF does not say how this joint is damped", dynamic=True)
        if passive.static.any():
            add("hinge", "ignored", name, "static", "URDF has no static friction", dynamic=True)
        bounds = (limits.lower, limits.upper, limits.velocity, limits.effort)
        if not moving and any(np.isfinite(x).any() for x in bounds):
            add("hinge", "ignored", name, "limits", "URDF has no limits for this joint")

    def _nodes(self, names: dict[Body | Root, str], shifts: dict[Body | Root, Pose]) -> None:
        """Nodes as massless links on fixed joints, after all others."""
        carriers: list[Body | Root] = [self.mb.root, *self.mb.bodies]
        for carrier in carriers:
            for node in carrier.nodes:
                name = self.links.new(node.name)
                SubElement(self.element, "link", name=name)
                joint = SubElement(self.element, "joint", name=self.joints.new(name), type="fixed")
                add_origin(joint, shifts[carrier] @ node.pose)
                SubElement(joint, "parent", link=names[carrier])
                SubElement(joint, "child", link=name)
                self.report.add("node", "converted", node.full_name, note=f"is the massless link {name!r}")

    def _refuse_characters(self) -> None:
        for element in self.element.iter():
            for value in (*element.attrib.values(), element.text or ""):
                if _FORBIDDEN.search(value):
                    raise ModelFileError(f"{self.file}: {value!r:.80} holds characters that XML has not; rename it.")
