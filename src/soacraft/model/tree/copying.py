"""Copies of a model, and of what it has, on the frames and dofs of another one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from soacraft.model.tree.frame import Body, Carrier, Frame, Root
from soacraft.model.tree.records import Keyframe
from soacraft.model.tree.turning import renamed_actuator
from soacraft.spatial.wrench import Wrench

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody


def copy_into(mb: Multibody, other: Multibody) -> None:
    """Give an empty model all that a model has: bodies, nodes, closures, records, state and external forces."""
    copy_fixtures(mb.root, other.root)
    for body in mb.bodies:
        twin = other.add_body(
            body.name,
            None if isinstance(body.parent, Root) else body.parent.name,
            body.hinge, body.inertia, body.inboard, body.outboard, body.hinge_name,
        )  # fmt: skip
        twin._armature, twin._passive, twin._limits, twin._own = body._armature, body._passive, body._limits, body._own
        copy_fixtures(body, twin)
    other._tree.reorder(mb._tree.bodies)
    other._edits.structure()
    other.set_state(mb.q, mb.v, mb.vdot)
    copy_forces(mb, other)
    copy_attachments(mb, other)


def copy_fixtures(one: Carrier, other: Carrier) -> None:
    """The nodes and geometries of a frame, and what of its weight is compensated."""
    for node in one.nodes:
        other.add_node(node.name, node.pose)
    if one._geometries:
        other._geometries = dict(one._geometries)
    if isinstance(one, Body) and isinstance(other, Body):
        other._compensation = one._compensation


def copy_forces(mb: Multibody, other: Multibody) -> None:
    """The external forces, at the frames of the same names."""
    for frame, wrench in mb.acting_forces.items():
        axes = wrench.expressed_in
        axes_name = axes.full_name if isinstance(axes, Frame) else None
        other.set_force(frame.full_name, Wrench(wrench.moment, wrench.force, axes_name))


def copy_attachments(
    mb: Multibody,
    other: Multibody,
    dofs: Mapping[str, str] | None = None,
    told: Callable[[Keyframe], Keyframe] = lambda keyframe: keyframe,
) -> None:
    """Closures and the rest, on the frames and dofs of the same names of a copy.

    Of one that is told in other coordinates, `dofs` are the dofs with new names, and `told` tells a keyframe anew.
    """
    new = dict(dofs or {})
    for x in mb.loops:
        other.close_loop(x.name, x.a.full_name, x.b.full_name, x.hinge, x.active, x.attributes)
    for c in mb.couplings:
        terms = {new.get(dof, dof): term for dof, term in c.terms.items()}
        other.couple(c.name, terms, c.offset, c.active, c.attributes)
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
