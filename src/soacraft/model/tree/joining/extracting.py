"""Subtree of a model as a separate model. `Multibody.extract` has the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from soacraft.errors import ModelError
from soacraft.model.flat.layout import dofs_of
from soacraft.model.modal.refusals import require_rigid_frame
from soacraft.model.tree.arguments import ROOT_NAME, read_pose
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.editing import add_body
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.frames.hinge_frame import HingeFrame
from soacraft.model.tree.joining.copying import (
    copy_bodies,
    copy_numbers,
    copy_parts,
    copy_state,
    dofs_needed,
    frames_needed,
    renamed_geometry,
    renamed_record,
)
from soacraft.model.tree.joining.joining import is_identity
from soacraft.model.tree.joining.renaming import Renaming, mentioned, names_of
from soacraft.model.tree.parts.closures import Closure
from soacraft.model.tree.parts.import_report import Entry, ImportReport
from soacraft.model.tree.parts.records import Attributes, Material, Record
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.spatial.pose import Pose

M = TypeVar("M", bound=AttachedModel)


def extract(mb: AttachedModel, body: Any, inboard: Any, prefix: Any, name: Any, kind: type[M]) -> M:
    """Copy a body, with all bodies outboard of it, as a separate model of class `kind`. O(n)."""
    top = mb.body(body)
    if not isinstance(prefix, str):
        raise ModelError(f"the prefix of names in a subtree must be a string, got {prefix!r:.60}.")
    if isinstance(top.parent, Body):
        require_rigid_frame(top.parent, f"the subtree of {top.name!r}")
    at = read_pose(inboard, f"inboard of the subtree of {top.name!r}")
    inside = _Inside(mb, top, prefix)
    inside.refuse_ties()
    other = kind(top.name.removeprefix(prefix) or top.name if name is None else name, mb.gravity)
    names = Renaming(lambda text: text.removeprefix(prefix), lambda text: text.startswith(prefix))
    frames = _loosen(inside, other, at, names)
    bodies = [each for each in mb.bodies if each in inside.bodies]
    copy_bodies(bodies, other, frames, names)
    other._tree.reorder(names.new(each) for each, x in mb._tree.bodies.items() if x in inside.bodies)
    for each in bodies:
        twin = frames[each]
        assert isinstance(twin, Body)
        twin._children = {names.new(key): other._tree.bodies[names.new(key)] for key in each._children}
    copy_state(mb, other, frames)
    copy_parts(mb, other, frames, names, inside.has)
    left = []
    for actuator in mb.actuators:
        if not inside.has(actuator) and not actuator.gears and inside.concerns(actuator.attributes):
            note = f"drives no dof, so it does not go with the subtree of {top.name!r}"
            left.append(Entry(mb.name, 0, "actuator", actuator.name, "", "ignored", note, True))
    for record in mb.records:
        where = inside.place(record)
        if where == "inside":
            other._attachments.records.append(renamed_record(record, names))
        elif where == "both":
            note = f"also concerns parts of {mb.name!r} outside of the subtree of {top.name!r}"
            left.append(Entry(mb.name, 0, record.kind, record.name, "", "ignored", note, False))
    other._attachments.mesh_folder, report = mb.mesh_folder, mb.import_report
    other._attachments.mesh_roots = mb.mesh_roots
    if left or report is not None:
        other._attachments.import_report = ImportReport([*(() if report is None else report.entries), *left])
    return other


def _loosen(inside: _Inside, other: AttachedModel, at: Pose, names: Renaming) -> dict[Frame, Frame]:
    """The body at the top hung on the inertial frame of a new model, which is at `at` in the frame of its parent, with
    what of the parent goes with it."""
    top, seen = inside.top, (lambda pose: pose) if is_identity(at) else at.inv.__matmul__
    frames: dict[Frame, Frame] = {top.parent: other.root}
    for node in inside.nodes:
        place = seen(node.pose)
        is_root = node.name.removeprefix(inside.prefix) == ROOT_NAME and place.is_close(Pose())
        frames[node] = other.root if is_root else other.root.add_node(names.new(node.name), place, role=node.role)
    for shape in inside.shapes:
        told = renamed_geometry(shape, names)
        other.root.add_geometry(replace(told, name=names.new(shape.name), pose=seen(shape.pose)))
    twin = add_body(
        other, names.new(top.name), None, top.hinge, top.inertia, seen(top.inboard), top.outboard,
        names.new(top.hinge_name),
    )  # fmt: skip
    copy_numbers(top, twin)
    frames[top] = twin
    return frames


class _Inside:
    """Parts of a model that go with a subtree."""

    def __init__(self, mb: AttachedModel, top: Body, prefix: str) -> None:
        self.mb, self.top, self.prefix, self.bodies = mb, top, prefix, set(top.subtree())
        self.dofs = {dof for body in self.bodies for dof in dofs_of(body)}
        parts: tuple[Closure | Spring | Bushing, ...] = (*mb.loops, *mb.springs, *mb.bushings)
        tied = {end for part in parts if self._reaches(part) for end in frames_needed(part)}
        axes = {w.expressed_in for frame, w in mb.acting_forces.items() if frame.carrier in self.bodies}
        self.nodes = [x for x in top.parent.nodes if x in tied | axes or self._named(x.name)]
        self.shapes = [x for x in top.parent.geometries if self._named(x.name)]
        shapes = [*self.shapes, *(shape for body in self.bodies for shape in body.geometries)]
        self._materials = {shape.material for shape in shapes}
        self._names: tuple[set[str], set[str]] | None = None

    def _named(self, name: str) -> bool:
        return bool(self.prefix) and name.startswith(self.prefix)

    def _reaches(self, part: Closure | Spring | Bushing) -> bool:
        return any(end.carrier in self.bodies for end in frames_needed(part))

    def _goes(self, frame: Frame) -> bool:
        """True if a frame is on the subtree, or on its parent, which becomes the inertial frame."""
        if isinstance(frame, HingeFrame):
            return frame.body in self.bodies
        return frame.carrier in self.bodies or frame.carrier is self.top.parent

    def has(self, part: Any) -> bool:
        """True if a loop, coupling, tendon, spring, actuator or material goes with the subtree."""
        if isinstance(part, Closure | Spring | Bushing):
            return self._reaches(part)
        if isinstance(part, Material):
            return part.name in self._materials or self._named(part.name)
        used = dofs_needed(part)
        return not self.dofs.isdisjoint(used) or (not used and self._named(part.name))

    def refuse_ties(self) -> None:
        """Raise for what ties the subtree to bodies outside of it, its parent excepted."""
        parts = self.mb._attachments
        between: tuple[tuple[str, Mapping[str, Closure | Spring | Bushing]], ...] = (
            ("loop", parts.loops), ("spring", parts.springs), ("bushing", parts.bushings)
        )  # fmt: skip
        for kind, each in between:
            for tie in each.values():
                out = [x for x in frames_needed(tie) if not self._goes(x)]
                if out and self._reaches(tie):
                    raise self._tied(kind, tie.name, out[0].full_name)
        kinds: tuple[tuple[str, Mapping[str, Any]], ...] = (
            ("coupling", parts.couplings), ("tendon", parts.tendons), ("actuator", parts.actuators)
        )  # fmt: skip
        for kind, known in kinds:
            for name, part in known.items():
                used = dofs_needed(part)
                out_dofs = [dof for dof in used if dof not in self.dofs]
                if out_dofs and len(out_dofs) < len(used):
                    raise self._tied(kind, name, out_dofs[0])
        for frame, wrench in self.mb.acting_forces.items():
            axes = wrench.expressed_in
            if frame.carrier in self.bodies and axes is not None and not self._goes(axes):
                raise ModelError(
                    f"the stored force at {frame.full_name!r} is expressed in {axes.full_name!r}, outside of the "
                    f"subtree of {self.top.name!r}; set it in axes of the subtree, or end it first with "
                    f"mb.set_force({frame.full_name!r}, None)."
                )

    def _tied(self, kind: str, name: str, outside: str) -> ModelError:
        return ModelError(
            f"{kind} {name!r} ties the subtree of {self.top.name!r} to {outside!r} outside of it; take it away first "
            f"with mb.remove_{kind}({name!r}), or extract a body that carries both."
        )

    def place(self, record: Record) -> str:
        """Place of the parts that a record mentions: "inside" the subtree, outside (""), or "both"."""
        within, known = self._known()
        told = {record.name, *mentioned(record.attributes)} - {""}
        mine = {name for name in told if name in within or self._named(name)}
        if not mine:
            return ""
        return "both" if (told & known) - mine else "inside"

    def concerns(self, attributes: Attributes) -> bool:
        """True if attributes mention a part that goes with the subtree."""
        return not self._known()[0].isdisjoint(mentioned(attributes))

    def _known(self) -> tuple[set[str], set[str]]:
        if self._names is None:
            within = set(self.dofs)
            for body in self.bodies:
                within |= {body.name, body.hinge_name, *(node.name for node in body.nodes), *body._geometries}
            parts = self.mb._attachments
            every = (parts.loops, parts.couplings, parts.tendons, parts.springs, parts.bushings, parts.actuators)
            for known in every:
                within |= {name for name, part in known.items() if self.has(part)}
            self._names = within, names_of(self.mb, records=False)
        return self._names
