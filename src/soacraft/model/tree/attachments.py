"""`Attachments`: the parts of a model that are neither its tree nor its state. Loop closures, couplings, tendons,
springs and bushings are part of its structure; actuators, keyframes, materials and records describe it. The methods of
`Multibody` of the same names have the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from soacraft.errors import LoopError, ModelError, StateError, near
from soacraft.model.flat.layout import Layout, dof_names, dofs_of
from soacraft.model.flat.structure import Structure
from soacraft.model.hinges.base import Hinge, has_coordinates
from soacraft.model.modal.refusals import require_point
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.arguments import read_hinge
from soacraft.model.tree.edits import Edits
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.frames.hinge_frame import HingeFrame
from soacraft.model.tree.joining.turning import has_hinge_numbers
from soacraft.model.tree.names import one_dof
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling
from soacraft.model.tree.parts.import_report import ImportReport
from soacraft.model.tree.parts.records import (
    Actuator,
    Attributes,
    Keyframe,
    Material,
    Record,
    make_attributes,
    read_text,
)
from soacraft.model.tree.parts.springs import Bushing, Spring, make_bushing, make_spring, refuse_nodes
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.model.tree.parts.terms import make_tendon, read_terms
from soacraft.spatial.checks import Array, finite

T = TypeVar("T")
Tie = TypeVar("Tie", Closure, Coupling, Tendon, Spring, Bushing)
KeyframeParts = tuple[dict[Body, tuple[Hinge, Array, Array]], Attributes]  # by body, for the hinge it then had


class Attached(Structure, Protocol):
    """The model whose attachments these are."""

    _edits: Edits[Layout]

    def neutral(self) -> Array:
        """The coordinates at which every hinge is neutral."""


class Attachments:
    """Closures, couplings, tendons, springs, bushings, actuators, materials, keyframes and records, by name."""

    def __init__(self, mb: Attached) -> None:
        self._mb = mb
        self.loops: dict[str, Closure] = {}
        self.couplings: dict[str, Coupling] = {}
        self.tendons: dict[str, Tendon] = {}
        self.springs: dict[str, Spring] = {}
        self.bushings: dict[str, Bushing] = {}
        self.actuators: dict[str, Actuator] = {}
        self.materials: dict[str, Material] = {}
        self.keyframes: dict[str, KeyframeParts] = {}
        self.records: list[Record] = []
        self.import_report: ImportReport | None = None
        self.mesh_folder: Path | None = None
        self.mesh_roots: tuple[Path, ...] = ()
        self.active = 0  # closures and couplings that tie

    # -- parts of the structure ------------------------------------------------------------------------------

    def close_loop(self, name: Any, node_a: Any, node_b: Any, hinge: Any, active: Any, attributes: Any) -> Closure:
        """Close a loop. O(1)."""
        self._new("loop", name, self.loops)
        self._new("coupling", name, self.couplings)  # their rows go by name
        a, b = self._mb.frame(node_a), self._mb.frame(node_b)
        hinge = read_hinge(hinge, name, "loop")
        for end in (a, b):
            require_point(end, "close it at", f"loop {name!r}")
        if a.carrier is b.carrier:
            raise LoopError(
                f"loop {name!r}: {a.full_name!r} and {b.full_name!r} are both on {a.carrier.name!r}; "
                "a loop closes between two bodies."
            )
        if hinge.nv >= 6:
            raise LoopError(f"loop {name!r}: {hinge!r} leaves all six freedoms, so it closes nothing.")
        closure = Closure(name, a, b, hinge, _truth(active, name), make_attributes(attributes, f"loop {name!r}"))
        hinge.watch(self._mb._edits)
        self._tie(self.loops, closure)
        return closure

    def couple(self, name: Any, terms: Any, offset: Any, active: Any, attributes: Any) -> Coupling:
        """Tie coordinates. O(number of dofs)."""
        self._new("coupling", name, self.couplings)
        self._new("loop", name, self.loops)
        what = f"coupling {name!r}"
        read = read_terms(name, terms, self._mb)
        value = float(finite(offset, (), f"the offset of {what}"))
        coupling = Coupling(name, read, value, _truth(active, name), make_attributes(attributes, what))
        self._tie(self.couplings, coupling)
        return coupling

    def add_tendon(
        self, name: Any, terms: Any, stiffness: Any, damping: Any, rest: Any, attributes: Any
    ) -> Tendon:
        """Pull at coordinates with a spring and a damper. O(1)."""
        self._new("tendon", name, self.tendons)
        tendon = make_tendon(self._mb, name, terms, stiffness, damping, rest, attributes)
        self._tie(self.tendons, tendon)
        return tendon

    def add_spring(
        self, name: Any, a: Any, b: Any, stiffness: Any, length: Any, damping: Any, through: Any, attributes: Any
    ) -> Spring | Tendon:
        """Pull nodes together with a spring and a damper, or along a combination of dofs. O(1)."""
        if isinstance(a, Mapping):
            refuse_nodes(name, b, through)
            return self.add_tendon(name, a, stiffness, damping, length, attributes)
        self._new("spring", name, self.springs)
        spring = make_spring(self._mb, name, a, b, stiffness, length, damping, through, attributes)
        self._tie(self.springs, spring)
        return spring

    def add_bushing(self, name: Any, *given: Any) -> Bushing:
        """Join nodes by six stiffnesses. O(1)."""
        self._new("bushing", name, self.bushings)
        bushing = make_bushing(self._mb, name, *given)
        self._tie(self.bushings, bushing)
        return bushing

    def _tie(self, known: dict[str, Tie], new: Tie) -> None:
        with self._mb._edits.lock:
            self._mb._edits.structure()
            known[new.name] = new
            self.active += _ties(new)

    def untie(self, kind: str, known: dict[str, Tie], given: Any) -> None:
        """Take a closure, coupling, tendon, spring or bushing away."""
        old = Catalogue(known.values(), kind).find(given)
        with self._mb._edits.lock:
            self._mb._edits.structure()
            del known[old.name]
            self.active -= _ties(old)

    # -- descriptions ----------------------------------------------------------------------------------------

    def add_actuator(self, actuator: Actuator) -> Actuator:
        """Keep an actuator of dofs of this model."""
        _of(Actuator, actuator)
        what = f"actuator {actuator.name!r}"
        self._new("actuator", actuator.name, self.actuators)
        gears = {one_dof(self._mb, dof, what): gear for dof, gear in actuator.gears.items()}
        if len(gears) < len(actuator.gears):
            raise ModelError(f"{what} names a dof of {self._mb.name!r} twice; name it once.")
        if gears != actuator.gears:  # named by hinges or bodies
            actuator = replace(actuator, gears=gears)
        self.actuators[actuator.name] = actuator
        self._mb._edits.changed("records")
        return actuator

    def add_material(self, material: Material) -> Material:
        """Keep a material."""
        _of(Material, material)
        self._new("material", material.name, self.materials)
        self.materials[material.name] = material
        self._mb._edits.changed("geometry")
        return material

    def add_record(self, record: Record) -> Record:
        """Keep a record."""
        self.records.append(_of(Record, record))
        self._mb._edits.changed("records")
        return record

    def add_keyframe(self, keyframe: Keyframe) -> Keyframe:
        """Keep a named state of the model."""
        _of(Keyframe, keyframe)
        self._new("keyframe", keyframe.name, self.keyframes)
        q = read_q(self._mb, keyframe.q, f"q of keyframe {keyframe.name!r}")
        v = read_v(self._mb, keyframe.v, f"v of keyframe {keyframe.name!r}")
        layout = self._mb.layout
        slices = zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True)
        parts = {body: (body.hinge, q[i], v[j]) for body, i, j in slices}
        self.keyframes[keyframe.name] = (parts, dict(keyframe.attributes))
        self._mb._edits.changed("records")
        return Keyframe(keyframe.name, q, v, keyframe.attributes)

    def keyframe(self, name: str) -> Keyframe:
        """A keyframe by its name; `StateError` with the names there are."""
        frames = {each.name: each for each in self.told_keyframes()}
        if name not in frames:
            cure = near(name, frames, "it has") if frames else "; it has none: add one with mb.add_keyframe(...)."
            raise StateError(f"{self._mb.name!r} has no keyframe {name!r:.60}{cure}")
        return frames[name]

    def told_keyframes(self) -> list[Keyframe]:
        """The keyframes for the hinges of now; one that came later is neutral and at rest."""
        layout, told = self._mb.layout, []
        for name, (parts, attributes) in self.keyframes.items():
            q, v = self._mb.neutral(), np.zeros(layout.nv)
            for body, i, j in zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True):
                hinge = parts[body][0] if body in parts else None
                if hinge is body.hinge or hinge == body.hinge:
                    _, q[i], v[j] = parts[body]
            told.append(Keyframe(name, q, v, attributes))
        return told

    def set_import_report(self, report: Any) -> None:
        """Set the report of every element of a file."""
        self.import_report = None if report is None else _of(ImportReport, report)

    def set_mesh_folder(self, folder: Any) -> None:
        """The folder that names of meshes and textures are relative to."""
        if folder is not None and not isinstance(folder, str | PathLike):
            raise ModelError(f"mesh_folder of {self._mb.name!r} must be a folder or None, got {folder!r:.60}.")
        self.mesh_folder = None if folder is None else Path(folder).resolve()

    def set_mesh_roots(self, folders: Any) -> None:
        """Further folders in which meshes may be read."""
        if isinstance(folders, str | PathLike) or not all(isinstance(x, str | PathLike) for x in folders):
            raise ModelError(f"mesh_roots of {self._mb.name!r} must be a list of folders, got {folders!r:.60}.")
        self.mesh_roots = tuple(dict.fromkeys(Path(x).resolve() for x in folders))

    # -- what needs what -------------------------------------------------------------------------------------

    def refuse_held(self, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None = None) -> None:
        """Raise for frames, or a hinge that is to change, that closures, springs, couplings or others need."""
        for closure in self.loops.values():
            for end in (closure.a, closure.b):
                if _moves(end, gone, hinge):
                    raise ModelError(
                        f"{end.full_name!r} is an end of loop {closure.name!r}; take that away first with "
                        f"mb.remove_loop({closure.name!r})."
                    )
        springs = [("spring", x.name, x.nodes) for x in self.springs.values()]
        springs += [("bushing", y.name, (y.a, y.b)) for y in self.bushings.values()]
        for kind, name, nodes in springs:
            for node in nodes:
                if _moves(node, gone, hinge):
                    raise ModelError(
                        f"{node.full_name!r} is a node of {kind} {name!r}; take that away first with "
                        f"mb.remove_{kind}({name!r})."
                    )
        if hinge is not None and has_hinge_numbers(hinge[0]):
            raise ModelError(
                f"hinge {hinge[0].hinge_name!r} has armature, springs, dampers, friction or limits, which the new "
                "hinge would not have; take them away first, with body.armature = 0, body.passive = sc.Passive() and "
                "body.limits = sc.Limits(), and give the new hinge its own."
            )
        if not self.couplings and not self.actuators and not self.tendons:
            return
        old = {dof for body in gone if isinstance(body, Body) for dof in dofs_of(body)}
        dofs = coordinates = frozenset[str]()
        if hinge is not None:
            body, new, name = hinge
            old = set(dof_names(body.hinge_name, body.hinge))
            dofs = frozenset(dof_names(name, new))
            coordinates = dofs if has_coordinates(new) else coordinates
        for coupling in self.couplings.values():
            _refuse_use("coupling", coupling.name, coupling.terms, old - coordinates)
        for tendon in self.tendons.values():
            _refuse_use("tendon", tendon.name, tendon.terms, old - coordinates)
        for actuator in self.actuators.values():
            _refuse_use("actuator", actuator.name, actuator.gears, old - dofs)

    def _new(self, kind: str, name: Any, known: Mapping[str, Any]) -> None:
        read_text(name, f"the name of a {kind}")
        if name in known:
            article = "an" if kind == "actuator" else "a"
            raise ModelError(f"{self._mb.name!r} already has {article} {kind} {name!r}; names are unique.")


def _moves(frame: Frame, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None) -> bool:
    """True if a frame goes with others, or is of a hinge that is to change."""
    return frame.needs(gone) or (hinge is not None and isinstance(frame, HingeFrame) and frame.body is hinge[0])


def _ties(record: Closure | Coupling | Tendon | Spring | Bushing) -> bool:
    """True if it ties coordinates now; a tendon or a spring only pulls at them."""
    return isinstance(record, Closure | Coupling) and record.active


def _refuse_use(kind: str, name: str, used: Iterable[str], lost: AbstractSet[str]) -> None:
    for dof in used:
        if dof in lost:
            raise ModelError(
                f"dof {dof!r} is part of {kind} {name!r}; take that away first with mb.remove_{kind}({name!r})."
            )


def _of(kind: type[T], item: Any) -> T:
    if not isinstance(item, kind):
        raise ModelError(f"{kind.__name__}(...) is wanted here, got {item!r:.60}.")
    return item


def _truth(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"active of {name!r} must be True or False, got {value!r:.60}.")
    return bool(value)
