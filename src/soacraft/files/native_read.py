"""A model from the objects of the native format. Every refusal names the file and the place in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from soacraft.errors import ModelError, ModelFileError, SoacraftError
from soacraft.files import schema
from soacraft.files.modal_arrays import ORTHONORMAL
from soacraft.files.native_modal import read_modal_object, report_stiffening
from soacraft.files.native_write import HINGES
from soacraft.files.xml_tree import cut
from soacraft.model import (
    Actuator,
    Body,
    Curve,
    Entry,
    Geometry,
    ImportReport,
    Keyframe,
    Limits,
    Material,
    Multibody,
    Passive,
    Record,
)
from soacraft.model import hinges as kinds
from soacraft.model.modal import ModalData
from soacraft.model.modal.hanging import read_hinge_node, read_modal
from soacraft.model.states.coordinates import force_frame, read_wrench
from soacraft.model.tree.arguments import ROOT_NAME, read_name
from soacraft.model.tree.editing import hang
from soacraft.model.tree.frames.frame import Carrier, Frame
from soacraft.spatial import Array, Inertia, Pose, Wrench

_KINDS = {made: kind for kind, made in HINGES.items()}


class Reader:
    """Builds a model from its objects; `file` is named in errors, side files are looked for in `folder`."""

    def __init__(self, model: schema.Model, file: str, folder: Path | None = None) -> None:
        self.model, self.file, self.folder = model, file, folder
        self.modal: dict[str, ModalData] = {}

    def fail(self, place: str, text: str) -> ModelFileError:
        """An error with the file and the place in it."""
        return ModelFileError(f"{self.file}: at {place}: {cut(text)}")

    @contextmanager
    def at(self, place: str) -> Iterator[None]:
        """Errors from building the model get the file and the place."""
        try:
            yield
        except ModelFileError:
            raise
        except SoacraftError as error:
            raise self.fail(place, str(error)) from None

    def build(self) -> Multibody:
        """The model."""
        m = self.model
        with self.at("$"):
            mb = Multibody(m.name, m.gravity)
        order = self._base_first()
        for i, x in enumerate(m.materials):
            with self.at(f"$.materials[{i}]"):
                mb.add_material(Material(x.name, x.rgba, x.texture, x.attributes))
        self._carried(mb.root, m.root or schema.Root(), "$.root")
        self._modal()
        for i in order:
            self._body(mb, m.bodies[i], f"$.bodies[{i}]")
        mb._tree.reorder(body.name for body in m.bodies)
        self._order(mb.root, m.root or schema.Root(), "$.root")
        for i, body in enumerate(m.bodies):
            self._order(mb.body(body.name), body, f"$.bodies[{i}]")
        self._ties(mb)
        self._records(mb)
        self._state(mb)
        report_stiffening(mb, self.file)
        return mb

    # -- bodies ----------------------------------------------------------------------------------------------

    def _base_first(self) -> list[int]:
        """The numbers of the bodies, parents before children and siblings in the order of the file."""
        bodies = self.model.bodies
        number: dict[str, int] = {}
        for i, body in enumerate(bodies):
            with self.at(f"$.bodies[{i}]"):
                read_name("body", body.name)
            if body.name in number:
                raise self.fail(
                    f"$.bodies[{i}].name", f"there is a body {body.name!r} already, in $.bodies[{number[body.name]}]."
                )
            number[body.name] = i
        children: dict[str, list[int]] = {}
        for i, body in enumerate(bodies):
            if body.parent != ROOT_NAME and body.parent not in number:
                raise self.fail(
                    f"$.bodies[{i}].parent", f"there is no body {body.parent!r:.60}, the parent of {body.name!r:.60}."
                )
            children.setdefault(body.parent, []).append(i)
        order = list(children.get(ROOT_NAME, []))
        for i in order:  # grows while it is walked
            order += children.get(bodies[i].name, [])
        if len(order) < len(bodies):
            self._refuse_cycle(set(range(len(bodies))) - set(order), number)
        return order

    def _refuse_cycle(self, unplaced: set[int], number: dict[str, int]) -> None:
        bodies, up = self.model.bodies, min(unplaced)
        place: dict[int, int] = {}
        while up not in place:
            place[up] = len(place)
            up = number[bodies[up].parent]
        cycle = [bodies[i].name for i in [*list(place)[place[up] :], up]]
        shown = " -> ".join(cycle if len(cycle) <= 8 else [*cycle[:4], "...", *cycle[-2:]])
        raise self.fail(
            f"$.bodies[{up}].parent",
            f"the parents of the bodies form a circle ({shown}); one parent must be {ROOT_NAME!r}, and the loop be "
            "closed in $.loops.",
        )

    def _body(self, mb: Multibody, x: schema.Body, place: str) -> None:
        hinge = self._hinge(x.hinge, f"{place}.hinge")
        inboard, outboard = self._pose(x.inboard, f"{place}.inboard"), self._pose(x.outboard, f"{place}.outboard")
        with self.at(f"{place}.inertia"):
            inertia = Inertia() if x.inertia is None else _inertia(x.inertia)
        with self.at(place):
            if x.modal is None and x.hinge_node is None and x.parent_node is None:
                body = mb.add_body(x.name, x.parent, hinge, inertia, inboard, outboard, x.hinge_name)
            else:
                body = self._flexible(mb, x, hinge, inertia, inboard, outboard, place)
        if x.armature is not None:
            self._sized(x.armature, hinge.nv, f"{place}.armature", "dofs")
            with self.at(f"{place}.armature"):
                body.armature = np.array(x.armature)
        if x.passive is not None:
            with self.at(f"{place}.passive"):
                body.passive = self._passive(x.passive, hinge, f"{place}.passive")
        if x.gravity_compensation is not None:
            with self.at(f"{place}.gravity_compensation"):
                body.gravity_compensation = x.gravity_compensation
        if x.limits is not None:
            with self.at(f"{place}.limits"):
                body.limits = self._limits(x.limits, hinge, f"{place}.limits")
        self._carried(body, x, place)

    def _modal(self) -> None:
        for i, x in enumerate(self.model.modal):
            if x.name in self.modal:
                raise self.fail(f"$.modal[{i}].name", f"there are modal data {x.name!r:.60} already.")
            with self.at(f"$.modal[{i}]"):
                self.modal[x.name] = read_modal_object(x, self.folder, f"$.modal[{i}]", self.file)
        used = {x.modal for x in self.model.bodies}
        for i, x in enumerate(self.model.modal):
            if x.name not in used:
                raise self.fail(f"$.modal[{i}].name", f"no body has the modal data {x.name!r:.60}; leave them out.")

    def _flexible(
        self, mb: Multibody, x: schema.Body, hinge: kinds.Hinge, inertia: Inertia, inboard: Pose, outboard: Pose,
        place: str,
    ) -> Body:  # fmt: skip
        """A body with modes, or on a node of a flexible one. Poses are as written, so that every bit is kept."""
        data = None
        if x.modal is not None:
            if x.modal not in self.modal:
                raise self.fail(f"{place}.modal", f"there are no modal data {x.modal!r:.60} in $.modal.")
            data = read_modal(self.modal[x.modal], x.name, inertia)
        held = None if x.hinge_node is None else read_hinge_node(data, x.hinge_node, x.name)
        on: Frame = mb._tree.frame(x.parent)
        assert isinstance(on, Carrier)
        rides = None
        if x.parent_node is None:
            on = mb._tree.attachment(on)
        elif not isinstance(on, Body) or on.modal is None:
            raise self.fail(f"{place}.parent_node", f"body {x.parent!r:.60} is rigid and has no modal data.")
        else:
            rides = on.modal.node(x.parent_node)
        name = mb._tree.body_name(x.name)
        hinge_name = mb._tree.hinge_name(name if x.hinge_name is None else x.hinge_name)
        return hang(
            mb, on.carrier, name, hinge, hinge_name, inertia, inboard, outboard, data=data, rides=rides, held=held
        )

    def _hinge(self, x: schema.Hinge, place: str) -> kinds.Hinge:
        with self.at(place):
            return _KINDS[type(x)](**msgspec.structs.asdict(x))

    def _pose(self, x: schema.Pose | None, place: str) -> Pose:
        """The pose with its rotation as written, if that is a rotation to 1e-12."""
        if x is None:
            return Pose()
        p = np.zeros(3) if x.translation is None else np.array(x.translation)
        if x.rotation is None:
            return Pose(translation=p)
        R = np.array(x.rotation)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = float(np.abs(R.T @ R - np.eye(3)).max())
        if not gap <= ORTHONORMAL or np.linalg.det(R) < 0.0:
            raise self.fail(
                f"{place}.rotation",
                f"is not a rotation: R* R differs from I by {gap:.3g} (allowed {ORTHONORMAL:g}), and its determinant "
                "must be 1; write all 17 digits of its entries.",
            )
        return Pose.unchecked(R, p)

    def _passive(self, x: schema.Passive, hinge: kinds.Hinge, place: str) -> Passive:
        by_name = {name: getattr(x, name) for name in Passive.by_dof}
        for name, numbers in by_name.items():
            self._sized(numbers, hinge.nv, f"{place}.{name}", "dofs")
        self._sized(x.rest, hinge.nq, f"{place}.rest", "coordinates")
        return Passive(rest=x.rest, **{name: 0.0 if y is None else np.array(y) for name, y in by_name.items()})

    def _limits(self, x: schema.Limits, hinge: kinds.Hinge, place: str) -> Limits:
        by_name = {}
        for name, none in (("lower", -np.inf), ("upper", np.inf), ("velocity", np.inf), ("effort", np.inf)):
            numbers = getattr(x, name)
            self._sized(numbers, hinge.nv, f"{place}.{name}", "dofs")
            by_name[name] = none if numbers is None else np.array([none if y is None else y for y in numbers])
        return Limits(**by_name)

    def _sized(self, x: Sequence[Any] | None, size: int, place: str, of: str) -> None:
        if x is not None and len(x) != size:
            raise self.fail(place, f"has {len(x)} entries, but the hinge has {size} {of}.")

    def _carried(self, carrier: Carrier, x: schema.Body | schema.Root, place: str) -> None:
        """Nodes and geometries."""
        for i, node in enumerate(x.nodes):
            pose = self._pose(node.pose, f"{place}.nodes[{i}].pose")
            with self.at(f"{place}.nodes[{i}]"):
                if node.on is None:
                    carrier.add_node(node.name, pose, role=node.role)
                else:
                    carrier.add_node(node.name, on=node.on, role=node.role).pose = pose
        taken = {shape.name for shape in x.geometries}
        free = (name for k in count() if (name := f"geometry{k}") not in taken)
        for i, shape in enumerate(x.geometries):
            where = f"{place}.geometries[{i}]"
            fields = {name: getattr(shape, name) for name in shape.__struct_fields__ if name != "pose"}
            fields["name"] = shape.name or next(free)
            pose = self._pose(shape.pose, f"{where}.pose")
            with self.at(where):
                carrier.add_geometry(Geometry(**fields, pose=pose))

    def _order(self, carrier: Carrier, x: schema.Body | schema.Root, place: str) -> None:
        """The order in which bodies were attached, where the file gives it."""
        if x.children is None:
            return
        if sorted(x.children) != sorted(carrier._children):
            names = ", ".join(map(repr, carrier._children)) or "none"
            raise self.fail(f"{place}.children", f"must list the bodies on {carrier.name!r}: {names}.")
        carrier._children = {name: carrier._children[name] for name in x.children}

    # -- the rest --------------------------------------------------------------------------------------------

    def _ties(self, mb: Multibody) -> None:
        for i, x in enumerate(self.model.loops):
            hinge = self._hinge(x.hinge, f"$.loops[{i}].hinge")
            with self.at(f"$.loops[{i}]"):
                attributes = dict(x.attributes)
                if "one_sided" in attributes:  # a rope
                    if attributes.pop("one_sided") is not True or not isinstance(hinge, kinds.Spherical) or x.active:
                        raise ModelError(f"loop {x.name!r} is one-sided, and no rope: that is an inactive Spherical().")
                    mb.add_rope(x.name, x.a, x.b, attributes.pop("length", None), attributes)
                else:
                    mb.close_loop(x.name, x.a, x.b, hinge, x.active, attributes)
        for i, y in enumerate(self.model.couplings):
            with self.at(f"$.couplings[{i}]"):
                attributes = dict(y.attributes)
                one_sided = attributes.pop("one_sided", False)
                if one_sided and y.active:
                    raise ModelError(f"coupling {y.name!r} is one-sided, so it must not be active.")
                mb.couple(y.name, y.terms, y.offset, bool(one_sided) or y.active, attributes, one_sided)
        for i, z in enumerate(self.model.tendons):
            with self.at(f"$.tendons[{i}]"):
                mb.add_tendon(z.name, z.terms, _law(z.stiffness), _law(z.damping), z.rest, z.attributes)

        for i, s in enumerate(self.model.springs):
            with self.at(f"$.springs[{i}]"):
                if len(s.nodes) < 2:
                    raise ModelError(f"spring {s.name!r} needs two nodes or more, got {len(s.nodes)}.")
                first, *through, last = s.nodes
                mb.add_spring(s.name, first, last, _law(s.stiffness), s.rest, _law(s.damping), through, s.attributes)
        for i, b in enumerate(self.model.bushings):
            rest = self._pose(b.rest, f"$.bushings[{i}].rest")
            with self.at(f"$.bushings[{i}]"):
                mb.add_bushing(b.name, b.a, b.b, b.stiffness, b.damping, rest, b.attributes)

    def _records(self, mb: Multibody) -> None:
        m = self.model
        for i, x in enumerate(m.actuators):
            with self.at(f"$.actuators[{i}]"):
                mb.add_actuator(Actuator(x.name, x.kind, x.gears, x.attributes))
        for i, y in enumerate(m.keyframes):
            with self.at(f"$.keyframes[{i}]"):
                mb.add_keyframe(Keyframe(y.name, np.array(y.q), np.array(y.v), y.attributes))
        for i, z in enumerate(m.records):
            with self.at(f"$.records[{i}]"):
                mb.add_record(Record(z.kind, z.name, z.attributes))
        if m.import_report is not None:
            mb.import_report = ImportReport(Entry(*msgspec.structs.astuple(x)) for x in m.import_report)

    def _state(self, mb: Multibody) -> None:
        """The state of each hinge, bit for bit, then the forces."""
        parts = {mb.body(x.name): self._hinge_state(x, mb.body(x.name), i) for i, x in enumerate(self.model.bodies)}
        mb._edits.structure()
        mb._state.parts.update(parts)
        forces: dict[Frame, Wrench] = {}
        for i, x in enumerate(self.model.forces):
            with self.at(f"$.forces[{i}]"):
                frame = force_frame(mb, x.at)
                if frame in forces:
                    raise self.fail(f"$.forces[{i}].at", f"there is a force at {x.at!r} already.")
                forces[frame] = read_wrench(mb, frame, Wrench(x.moment, x.force, x.expressed_in))
        mb._state.set_forces(forces)

    def _hinge_state(self, x: schema.Body, body: Body, i: int) -> tuple[Array, Array, Array]:
        place, hinge = f"$.bodies[{i}]", body.hinge
        modes = len(body._own)
        of = "" if not modes else f", {modes} of them of modes"
        self._sized(x.q, hinge.nq + modes, f"{place}.q", f"coordinates{of}")
        self._sized(x.v, hinge.nv + modes, f"{place}.v", f"dofs{of}")
        self._sized(x.vdot, hinge.nv + modes, f"{place}.vdot", f"dofs{of}")
        neutral = np.concatenate([np.asarray(hinge.neutral(), dtype=np.float64), np.zeros(modes)])
        q = neutral if x.q is None else np.array(x.q)
        values = q[: hinge.nq]
        with self.at(f"{place}.q"):
            unit = kinds.normalize_of(hinge, values, f"q of hinge {body.hinge_name!r}")
        if np.abs(unit - values).max(initial=0.0) > ORTHONORMAL:
            q = np.concatenate([unit, q[hinge.nq :]])
        v, vdot = (np.zeros(hinge.nv + modes) if y is None else np.array(y) for y in (x.v, x.vdot))
        return q, v, vdot


def _law(x: float | schema.Curve) -> float | Curve:
    return Curve(x.x, x.y, x.kind) if isinstance(x, schema.Curve) else x


def _inertia(x: schema.Inertia) -> Inertia:
    return Inertia(x.mass, (0.0, 0.0, 0.0) if x.com is None else x.com, x.moment)
