"""Models in models: a model attached to a body of another one. `Multibody.add_model` has the documentation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges import Free, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.modal.refusals import require_rigid
from soacraft.model.sizes.lengths import length_of
from soacraft.model.tree.arguments import ROOT_NAME, read_hinge, read_name, read_pose
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.editing import add_body
from soacraft.model.tree.frames.frame import Body, Carrier, Frame
from soacraft.model.tree.joining.copying import (
    copy_bodies,
    copy_numbers,
    copy_parts,
    copy_state,
    dofs_needed,
    frames_needed,
    refuse_hinge_frames,
    renamed_geometry,
    renamed_material,
    renamed_record,
)
from soacraft.model.tree.joining.renaming import Renaming, names_of
from soacraft.model.tree.joining.turning import has_hinge_numbers
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.model.tree.parts.import_report import Entry, ImportReport
from soacraft.model.tree.parts.records import Actuator, Geometry
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.checks import number_text
from soacraft.spatial.pose import Pose

#: Models whose lengths differ by so much are perhaps in different units (millimetres and metres): said, not refused.
OTHER_UNITS = 300.0


class Hang(NamedTuple):
    """Attachment of a model: the frame and pose that its inertial frame is fixed at, and the base body with a new
    hinge, if any.
    """

    on: Carrier
    at: Pose
    base: Body | None = None
    hinge: Hinge | None = None
    outboard: Pose = Pose()

    @property
    def rides(self) -> bool:
        """True if the parts fixed on the inertial frame move with the base body, which was welded to it."""
        return self.base is not None and isinstance(self.base.hinge, Weld)


def add_model(mb: AttachedModel, other: Any, parent: Any, hinge: Any, inboard: Any, prefix: Any) -> Catalogue[Body]:
    """Hang a whole model on `parent`; `other` is another object than `mb`. O(n)."""
    if not isinstance(other, AttachedModel):
        raise ModelError(
            f"add_model takes a Multibody, got {other!r:.80}; sc.load(...) reads one, and mb.extract(body) gives a "
            "subtree as one."
        )
    require_rigid(other.layout, "add_model")
    if not isinstance(prefix, str):
        raise ModelError(f"the prefix of a model that is added must be a string, got {prefix!r:.60}.")
    hang = _read_hang(other, mb._tree.carrier(parent), hinge, read_pose(inboard, f"inboard of model {other.name!r}"))
    folder = None if _same_folder(mb, other) else other.mesh_folder
    names = Renaming(lambda name: prefix + name, names_of(other).__contains__, folder)
    _refuse_names(mb, other, hang, names, prefix)
    said = list(_differences(mb, other))
    with mb._edits.lock:
        before = list(mb._tree.bodies)
        frames = _hang_base(mb, other, hang, names)
        fresh = () if hang.base is None else (hang.base,)
        made = copy_bodies(other.bodies, mb, frames, names)
        _fix_root(other, hang, names, frames)
        mb._tree.reorder([*before, *(names.new(name) for name in other._tree.bodies)])
        for body in other.bodies:
            twin = frames[body]
            assert isinstance(twin, Body)
            twin._children = {names.new(name): mb._tree.bodies[names.new(name)] for name in body._children}
        copy_state(other, mb, frames, fresh)
        copy_parts(other, mb, frames, names, fresh=fresh)
        mb._attachments.records.extend(renamed_record(record, names) for record in other.records)
        if folder is None:
            mb._attachments.mesh_folder = mb.mesh_folder or other.mesh_folder
        more = () if folder is None else (folder,)
        mb._attachments.mesh_roots = tuple(dict.fromkeys((*mb.mesh_roots, *other.mesh_roots, *more)))
        _join_reports(mb, other, said)
        for kind in ("state", "structure", "geometry", "records"):
            mb._edits.changed(kind)
    return Catalogue(made, "body")


def _read_hang(other: AttachedModel, on: Carrier, hinge: Any, at: Pose) -> Hang:
    """Attachment of the base bodies of a model, or a `ModelError` with the cure."""
    bases = other.root.children
    if hinge is None:
        return Hang(on, at)
    hinge = read_hinge(hinge, other.name, "model")
    floats = len(bases) == 1 and isinstance(bases[0].hinge, Free)
    if isinstance(hinge, Weld) and not floats:
        return Hang(on, at)
    if len(bases) != 1 or not isinstance(bases[0].hinge, Weld | Free):
        what = ", ".join(f"{x.name!r} by {x.hinge!r}" for x in bases[:4]) + (", ..." if len(bases) > 4 else "")
        raise ModelError(
            f"model {other.name!r} cannot be attached by {hinge!r}: its base is {what or 'without bodies'}, and not "
            f"one body that is welded or free. Give no hinge to fix its inertial frame on {on.name!r}, or put a body "
            f"between: mount = mb.add_body('mount', {on.name!r}, {hinge!r}), then mb.add_model(other, 'mount')."
        )
    base = bases[0]
    if has_hinge_numbers(base):
        raise ModelError(
            f"hinge {base.hinge_name!r} of model {other.name!r} has armature, springs, dampers, friction or limits, "
            f"which {hinge!r} would not have; take them away first, with body.armature = 0, body.passive = "
            "sc.Passive() and body.limits = sc.Limits(), or give no hinge."
        )
    _refuse_driven(other, base)
    refuse_hinge_frames(other, {base}, f"model {other.name!r} cannot be attached by {hinge!r}")
    _refuse_idle(other, base)
    return Hang(on, at, base, hinge, base.inboard @ base.outboard)


def _refuse_idle(other: AttachedModel, base: Body) -> None:
    """Raise for what is between the inertial frame and a base welded to it: on one body it does nothing."""
    if not isinstance(base.hinge, Weld):
        return
    between: tuple[Closure | Spring | Bushing, ...] = (*other.loops, *other.springs, *other.bushings)
    for part in between:
        if all(end.carrier in (other.root, base) for end in frames_needed(part)):
            raise ModelError(
                f"model {other.name!r} cannot be attached by another hinge: {part!r:.80} is between its inertial frame "
                f"and {base.name!r}, which become one body. Take it away first, or give no hinge."
            )


def _refuse_driven(other: AttachedModel, base: Body) -> None:
    """Raise for couplings, tendons and actuators of the dofs of a free hinge that goes."""
    parts = other._attachments
    lost = {f"{base.hinge_name}.{j}" for j in range(base.hinge.nv)}
    kinds: tuple[tuple[str, Mapping[str, Coupling | Tendon | Actuator]], ...] = (
        ("coupling", parts.couplings), ("tendon", parts.tendons), ("actuator", parts.actuators)
    )  # fmt: skip
    for kind, each in kinds:
        for name, part in each.items():
            used = sorted(lost.intersection(dofs_needed(part)))
            if used:
                raise ModelError(
                    f"dof {used[0]!r} of model {other.name!r} would go with its free hinge, and is part of {kind} "
                    f"{name!r}; take that away first with other.remove_{kind}({name!r}), or give no hinge."
                )


def _hang_base(mb: AttachedModel, other: AttachedModel, hang: Hang, names: Renaming) -> dict[Frame, Frame]:
    """The base bodies of a model on the parent; the frames of them by those of the model."""
    frames: dict[Frame, Frame] = {}
    for body in other.root.children:
        hinge, inboard, outboard = body.hinge, hang.at @ body.inboard, body.outboard
        if body is hang.base and hang.hinge is not None:
            hinge, inboard, outboard = hang.hinge, hang.at, hang.outboard
        twin = add_body(
            mb, names.new(body.name), hang.on, hinge, body.inertia, inboard, outboard, names.new(body.hinge_name)
        )
        copy_numbers(body, twin)
        if body is hang.base:
            twin._plain_hinge()
        frames[body] = twin
    return frames


def _fix_root(other: AttachedModel, hang: Hang, names: Renaming, frames: dict[Frame, Frame]) -> None:
    """Copy the parts fixed on the inertial frame of a model: to the base body if that was welded to it and moves now,
    else to the parent.
    """
    carrier, at = hang.on, hang.at
    if hang.base is not None and hang.rides:
        carrier, at = frames[hang.base].carrier, hang.outboard.inv
    for node in other.root.nodes:
        frames[node] = carrier.add_node(names.new(node.name), at @ node.pose, role=node.role)
    for shape in other.root.geometries:
        carrier.add_geometry(_moved(renamed_geometry(shape, names), names.new(shape.name), at))
    frames[other.root] = carrier
    if not is_identity(at) and _uses_root(other):
        frames[other.root] = carrier.add_node(names.new(ROOT_NAME), at)


def _moved(geometry: Geometry, name: str, at: Pose) -> Geometry:
    return replace(geometry, name=name, pose=at @ geometry.pose)


def _uses_root(mb: AttachedModel) -> bool:
    """True if a loop, a spring or the axes of a force need the inertial frame itself."""
    between: tuple[Closure | Spring | Bushing, ...] = (*mb.loops, *mb.springs, *mb.bushings)
    ends = {end for part in between for end in frames_needed(part)}
    return mb.root in ends | {wrench.expressed_in for wrench in mb.acting_forces.values()}


def is_identity(pose: Pose) -> bool:
    """True for the identity pose, bit for bit."""
    return bool((pose.rotation == np.eye(3)).all() and not pose.translation.any())


# -- names that meet -------------------------------------------------------------------------------------------


def _refuse_names(mb: AttachedModel, other: AttachedModel, hang: Hang, names: Renaming, prefix: str) -> None:
    """Raise for names that the model has already, all of them at once, before anything is changed."""
    mine, theirs, new = mb._attachments, other._attachments, names.new
    for name in other._tree.bodies:
        read_name("body", new(name))
    full = [new(name) for name in other._tree.bodies]
    full += [f"{new(node.carrier.name)}/{node.name}" for body in other.bodies for node in body.nodes]
    on_parent = [*(node.name for node in other.root.nodes), *([ROOT_NAME] if _uses_root(other) else [])]
    carrier, on = hang.on.name, hang.on
    if hang.base is not None and hang.rides:
        carrier, on = new(hang.base.name), hang.base
    full += [f"{carrier}/{new(name)}" for name in on_parent]
    ties, met = {*mine.loops, *mine.couplings}, {*theirs.loops, *theirs.couplings}
    often = Counter(full)
    found = mb._tree.bodies.keys() | mb._tree.nodes.keys()
    taken = [("frame", name) for name in often if name in found or often[name] > 1]
    taken += [("hinge", new(name)) for name in other._tree.hinges if new(name) in mb._tree.hinges]
    taken += [("geometry", new(name)) for name in other.root._geometries if new(name) in on._geometries]
    taken += [("loop or coupling", new(name)) for name in sorted(met) if new(name) in ties]
    for kind, have, come in (
        ("tendon", mine.tendons, theirs.tendons),
        ("spring", mine.springs, theirs.springs),
        ("bushing", mine.bushings, theirs.bushings),
        ("actuator", mine.actuators, theirs.actuators),
        ("keyframe", mine.keyframes, theirs.keyframes),
    ):
        taken += [(kind, new(name)) for name in come if new(name) in have]
    for name, material in theirs.materials.items():
        renamed = renamed_material(material, names)
        if mine.materials.get(new(name), renamed) != renamed:
            taken.append(("material", new(name)))
    if taken:
        shown = ", ".join(f"{kind} {name!r}" for kind, name in taken[:6]) + (", ..." if len(taken) > 6 else "")
        number = f"{len(taken)} name{'s' if len(taken) > 1 else ''}"
        raise ModelError(
            f"{mb.name!r} already has {number} of model {other.name!r} with prefix {prefix!r}: {shown}; give another "
            f"prefix, such as mb.add_model(other, ..., prefix={other.name + '_'!r})."
        )


# -- what is said ----------------------------------------------------------------------------------------------


def _differences(mb: AttachedModel, other: AttachedModel) -> Iterator[Entry]:
    """Differences of a model from the one it comes into."""
    if (mb.gravity != other.gravity).any():
        note = f"gravity is {number_text(other.gravity)} there; that of {mb.name!r}, {number_text(mb.gravity)}, acts"
        yield Entry(other.name, 0, "model", other.name, "gravity", "ignored", note, True)
    lengths = length_of(mb), length_of(other)
    if min(lengths) > 0.0 and max(lengths) > OTHER_UNITS * min(lengths):
        note = (
            f"its longest chain is {lengths[1]:.3g} m, that of {mb.name!r} {lengths[0]:.3g} m: numbers are taken as "
            "metres and kilograms in both; if one has other units, convert it first"
        )
        yield Entry(other.name, 0, "model", other.name, "length", "used", note, False)
    if other.mesh_folder is None and mb.mesh_folder is not None and any(_files(other)):
        note = f"no folder is known there for the names of meshes; they are relative to {str(mb.mesh_folder)!r} now"
        yield Entry(other.name, 0, "model", other.name, "mesh_folder", "used", note, False)


def _join_reports(mb: AttachedModel, other: AttachedModel, said: Iterable[Entry]) -> None:
    """The reports of both files as one."""
    mine, theirs = mb._attachments, other._attachments
    entries = [*(() if theirs.import_report is None else theirs.import_report.entries), *said]
    if entries or theirs.import_report is not None:
        own = () if mine.import_report is None else mine.import_report.entries
        mine.import_report = ImportReport([*own, *entries])


def _same_folder(mb: AttachedModel, other: AttachedModel) -> bool:
    """True if the names of meshes of both are relative to one folder."""
    if other.mesh_folder is None or other.mesh_folder == mb.mesh_folder:
        return True
    return mb.mesh_folder is None and not any(_files(mb))


def _files(mb: AttachedModel) -> Iterator[str]:
    """The files that shapes and materials name."""
    carriers = (mb.root, *mb._tree.bodies.values())
    yield from (shape.mesh for carrier in carriers for shape in carrier._geometries.values() if shape.mesh)
    yield from (material.texture for material in mb._attachments.materials.values() if material.texture)
