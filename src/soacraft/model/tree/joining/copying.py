"""Copies of the parts of a model, on the frames and dofs of another one: for copies, models in models, and changed
trees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from soacraft.errors import ModelError
from soacraft.model.flat.layout import dofs_of
from soacraft.model.tree.attached_model import AttachedModel
from soacraft.model.tree.frames.frame import Body, Carrier, Frame, Node
from soacraft.model.tree.frames.hinge_frame import HingeFrame
from soacraft.model.tree.joining.renaming import Renaming
from soacraft.model.tree.joining.turning import renamed_actuator
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.model.tree.parts.records import Actuator, Geometry, Keyframe, Material, Record
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.wrench import Wrench

#: Fields of a body that depend on its attachment, or belong to one model; everything else goes with it.
PLACED = frozenset(
    "_graph _name _parent _hinge _hinge_name _inertia _inboard _outboard _nodes _frames _children _geometries _removed"
    .split()
)
#: The names as they are.
SAME = Renaming(str, lambda name: False)


def copy_into(mb: AttachedModel, other: AttachedModel) -> None:
    """Give an empty model all that a model has: bodies, nodes, closures, records, state and external forces."""
    frames: dict[Frame, Frame] = {mb.root: other.root}
    copy_fixtures(mb.root, other.root)
    frames.update(zip(mb.root.nodes, other.root.nodes, strict=True))
    copy_bodies(mb.bodies, other, frames)
    other._tree.reorder(mb._tree.bodies)
    for one in (mb.root, *mb.bodies):  # in the order in which they were attached
        twin = frames[one]
        assert isinstance(twin, Carrier)
        twin._children = {name: twin._children[name] for name in one._children}
    copy_state(mb, other, frames)
    copy_parts(mb, other, frames)
    other._attachments.records.extend(mb.records)
    other._attachments.import_report, other._attachments.mesh_folder = mb.import_report, mb.mesh_folder
    other._attachments.mesh_roots = mb.mesh_roots


# -- by frames: a model, or a part of it, in another one -------------------------------------------------------


def copy_bodies(
    bodies: Iterable[Body], other: AttachedModel, frames: dict[Frame, Frame], names: Renaming = SAME
) -> list[Body]:
    """Bodies, parents first, with nodes, shapes and the numbers of their hinges; those that are in `frames` hang
    already. `frames` are the frames of the other model by those of the first, and gain what is made."""
    made = []
    for body in bodies:
        if body not in frames:
            frames[body] = twin_of(body, other, frames[body.parent], names)
            copy_numbers(body, _body(frames[body]))
        twin = _body(frames[body])
        copy_fixtures(body, twin, names)
        frames.update(zip(body.nodes, twin.nodes, strict=True))
        made.append(twin)
    return made


def twin_of(body: Body, other: AttachedModel, parent: Frame, names: Renaming = SAME) -> Body:
    """A body with the same hinge at the same place on a parent of another model, without what else it has."""
    assert isinstance(parent, Carrier)
    tree = other._tree
    name, hinge_name = tree.body_name(names.new(body.name)), tree.hinge_name(names.new(body.hinge_name))
    twin = Body(parent, name, body.hinge, hinge_name, body.inertia, body.inboard, body.outboard)
    with other._edits.lock:
        other._edits.structure()
        tree.add(twin)
        body.hinge.watch(other._edits)
    return twin


def copy_numbers(body: Body, twin: Body) -> None:
    """Copy the data of a body other than its place: the rotors, springs and limits of its hinge, and its modal
    coordinates.
    """
    vars(twin).update((name, x) for name, x in vars(body).items() if name not in PLACED)


def copy_fixtures(one: Carrier, other: Carrier, names: Renaming = SAME) -> None:
    """The nodes and geometries of a frame, and what of its weight is compensated."""
    for node in one.nodes:
        if node.modal_node is None:
            other.add_node(node.name, node.pose, role=node.role)
        else:
            other._graph._tree.add_node(Node(other, node.name, node.pose, node.modal_node, node.role))
    if one._geometries:
        other._geometries = {name: renamed_geometry(x, names) for name, x in one._geometries.items()}
    if isinstance(one, Body) and isinstance(other, Body):
        other._compensation = one._compensation


def renamed_geometry(geometry: Geometry, names: Renaming) -> Geometry:
    """A shape whose material, and what its attributes mention, have new names."""
    if names is SAME:
        return geometry
    material = geometry.material and names.new(geometry.material)
    kept = names.attributes(geometry.attributes)
    return replace(geometry, material=material, mesh=names.file(geometry.mesh), attributes=kept)


def copy_state(
    mb: AttachedModel, other: AttachedModel, frames: Mapping[Frame, Frame], fresh: Iterable[Body] = ()
) -> None:
    """q, v and vdot of the bodies, bit for bit, but of those with a `fresh` hinge, and the forces that act on them."""
    mb.current  # noqa: B018  (makes it)
    parts = mb._state.by_body()
    other._edits.structure()
    twins = _twins(frames, fresh)
    other._state.parts.update((twins[body], part) for body, part in parts.items() if body in twins)
    forces = dict(other.acting_forces)
    for frame, wrench in mb.acting_forces.items():
        at = twin_frame(frame, frames)
        if at is not None:
            axes = None if wrench.expressed_in is None else twin_frame(wrench.expressed_in, frames)
            forces[at] = Wrench(wrench.moment, wrench.force, axes)
    if forces:
        other._state.set_forces(forces)


def copy_parts(
    mb: AttachedModel,
    other: AttachedModel,
    frames: Mapping[Frame, Frame],
    names: Renaming = SAME,
    used: Callable[[object], bool] = lambda part: True,
    fresh: Iterable[Body] = (),
) -> None:
    """Closures, tendons, springs, actuators and all other parts that are `used`, on the frames of a twin."""
    to, own = other._attachments, mb._attachments
    dofs: dict[str, str] = {}
    for body, twin in _twins(frames).items():
        dofs.update(zip(dofs_of(body), dofs_of(twin), strict=False))  # a fresh hinge has others: none of them is used
    for x in filter(used, own.loops.values()):
        ends = twin_frame(x.a, frames), twin_frame(x.b, frames)
        to.close_loop(names.new(x.name), *ends, x.hinge, x.active, names.attributes(x.attributes))
    for c in filter(used, own.couplings.values()):
        terms = {dofs[dof]: term for dof, term in c.terms.items()}
        to.couple(names.new(c.name), terms, c.offset, c.active, names.attributes(c.attributes))
    for t in filter(used, own.tendons.values()):
        pulled = {dofs[dof]: ratio for dof, ratio in t.terms.items()}
        kept = names.attributes(t.attributes)
        to.add_tendon(names.new(t.name), pulled, t.stiffness, t.damping, t.rest, kept)
    for s in filter(used, own.springs.values()):
        first, *through, last = (twin_frame(node, frames) for node in s.nodes)
        kept = names.attributes(s.attributes)
        to.add_spring(names.new(s.name), first, last, s.stiffness, s.rest, s.damping, through, kept)
    for b in filter(used, own.bushings.values()):
        ends, kept = (twin_frame(b.a, frames), twin_frame(b.b, frames)), names.attributes(b.attributes)
        to.add_bushing(names.new(b.name), *ends, b.stiffness, b.damping, b.rest, kept)
    for a in filter(used, own.actuators.values()):
        driven = renamed_actuator(a, dofs)
        to.add_actuator(replace(driven, name=names.new(a.name), attributes=names.attributes(a.attributes)))
    for m in filter(used, own.materials.values()):
        told = renamed_material(m, names)
        to.materials.setdefault(told.name, told)
    every, twins = _twins(frames), _twins(frames, fresh)
    for name, (parts, attributes) in own.keyframes.items():
        states = {twins[body]: x for body, x in parts.items() if body in twins}
        if not parts or not every.keys().isdisjoint(parts):
            to.keyframes[names.new(name)] = (states, dict(names.attributes(attributes)))


def dofs_needed(part: Coupling | Tendon | Actuator) -> Collection[str]:
    """The dofs that a coupling ties, a tendon pulls at or an actuator drives."""
    return part.gears if isinstance(part, Actuator) else part.terms


def frames_needed(part: Closure | Spring | Bushing) -> tuple[Frame, ...]:
    """The frames that a loop ties, or a spring or bushing is between."""
    return part.nodes if isinstance(part, Spring) else (part.a, part.b)


def renamed_material(material: Material, names: Renaming) -> Material:
    """A material under its new name."""
    texture, kept = names.file(material.texture), names.attributes(material.attributes)
    return replace(material, name=names.new(material.name), texture=texture, attributes=kept)


def renamed_record(record: Record, names: Renaming) -> Record:
    """A record that mentions new names, under a new name; one without a name, about a whole model, gets the prefix."""
    return Record(record.kind, names.new(record.name), names.attributes(record.attributes))


# -- by names: the same bodies, told in other coordinates ------------------------------------------------------


def refuse_hinge_frames(mb: AttachedModel, bodies: Collection[Body], what: str) -> None:
    """Raise `ModelError` for loops, springs and forces at the frames of hinges that are to be others: what is fixed
    there would move."""
    parts: tuple[Closure | Spring | Bushing, ...] = (*mb.loops, *mb.springs, *mb.bushings)
    used = [(f"{part!r:.60}", end) for part in parts for end in frames_needed(part)]
    for frame, wrench in mb.acting_forces.items():
        used += [(f"the force at {frame.full_name!r}", x) for x in (frame, wrench.expressed_in) if x is not None]
    for name, end in used:
        if isinstance(end, HingeFrame) and end.body in bodies:
            raise ModelError(
                f"{what}: {name} is at {end.full_name!r}, a frame of a hinge that changes. Put a node there, such as "
                f"mb[{end.carrier.name!r}].add_node('hook', mb[{end.full_name!r}].offset), and use that."
            )


def copy_forces(mb: AttachedModel, other: AttachedModel) -> None:
    """The external forces, at the frames of the same names."""
    refuse_hinge_frames(mb, set(mb.bodies), f"{mb.name!r} cannot be converted to other coordinates")
    for frame, wrench in mb.acting_forces.items():
        axes = wrench.expressed_in
        axes_name = axes.full_name if isinstance(axes, Frame) else None
        other.set_force(frame.full_name, Wrench(wrench.moment, wrench.force, axes_name))


def copy_attachments(
    mb: AttachedModel,
    other: AttachedModel,
    dofs: Mapping[str, str] | None = None,
    told: Callable[[Keyframe], Keyframe] = lambda keyframe: keyframe,
) -> None:
    """Copy closures and all other attachments to the frames and dofs of the same names of a copy.

    `dofs` are the dofs that have new names, and `told` converts a keyframe to other coordinates.
    """
    new = dict(dofs or {})
    for x in mb.loops:
        other._attachments.close_loop(x.name, x.a.full_name, x.b.full_name, x.hinge, x.active, x.attributes)
    for c in mb.couplings:
        terms = {new.get(dof, dof): term for dof, term in c.terms.items()}
        other._attachments.couple(c.name, terms, c.offset, c.active, c.attributes)
    for t in mb._attachments.tendons.values():
        pulled = {new.get(dof, dof): c for dof, c in t.terms.items()}
        other.add_tendon(t.name, pulled, t.stiffness, t.damping, t.rest, t.attributes)
    for s in mb._attachments.springs.values():
        first, *through, last = (x.full_name for x in s.nodes)
        other.add_spring(s.name, first, last, s.stiffness, s.rest, s.damping, through, s.attributes)
    for b in mb._attachments.bushings.values():
        other.add_bushing(b.name, b.a.full_name, b.b.full_name, b.stiffness, b.damping, b.rest, b.attributes)
    for a in mb.actuators:
        other.add_actuator(renamed_actuator(a, new))
    other._attachments.materials.update(mb._attachments.materials)
    for keyframe in mb.keyframes:
        other.add_keyframe(told(keyframe))
    other._attachments.records.extend(mb.records)
    other._attachments.import_report, other._attachments.mesh_folder = mb.import_report, mb.mesh_folder
    other._attachments.mesh_roots = mb.mesh_roots


def twin_frame(frame: Frame, frames: Mapping[Frame, Frame]) -> Frame | None:
    """The frame of the other model for one of the first, also of a hinge."""
    if isinstance(frame, HingeFrame):
        twin = frames.get(frame.body)
        if isinstance(twin, Body):
            return twin._hinge_frames()[frame.body._hinge_frames().index(frame)]
    return frames.get(frame)


def _twins(frames: Mapping[Frame, Frame], but: Iterable[Body] = ()) -> dict[Body, Body]:
    """The bodies among the frames, but some; a parent that became an inertial frame is none."""
    left = set(but)
    pairs = ((one, twin) for one, twin in frames.items() if isinstance(one, Body) and isinstance(twin, Body))
    return {one: twin for one, twin in pairs if one not in left}


def _body(frame: Frame) -> Body:
    assert isinstance(frame, Body)
    return frame
