"""What a model holds besides its tree: closures, couplings, tendons, actuators, keyframes, materials, records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from soacraft.errors import LoopError, ModelError
from soacraft.model.flat.layout import dof_names
from soacraft.model.hinges.base import Hinge, has_coordinates
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree import gears
from soacraft.model.tree.arguments import read_hinge
from soacraft.model.tree.catalogue import Catalogue
from soacraft.model.tree.closures import Closure, Coupling, make_attributes, read_terms
from soacraft.model.tree.frame import Body, Frame, Root
from soacraft.model.tree.import_report import ImportReport
from soacraft.model.tree.names import one_dof
from soacraft.model.tree.records import Actuator, Attributes, Keyframe, Material, Record, read_text
from soacraft.model.tree.structure import Structure
from soacraft.model.tree.tendons import Tendon, make_tendon
from soacraft.model.tree.turning import has_hinge_numbers, renamed_actuator
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.inertia import Inertia
from soacraft.spatial.pose import Pose

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

T = TypeVar("T")
KeyframeParts = tuple[dict[Body, tuple[Hinge, Array, Array]], Attributes]  # by body, for the hinge it then had


class Holdings(Structure):
    """The part of a `Multibody` that ties and describes its tree. Closures and couplings are part of its structure."""

    def __init__(self, name: str, gravity: npt.ArrayLike) -> None:
        super().__init__(name, gravity)
        self._loops: dict[str, Closure] = {}
        self._couplings: dict[str, Coupling] = {}
        self._actuators: dict[str, Actuator] = {}
        self._materials: dict[str, Material] = {}
        self._keyframes: dict[str, KeyframeParts] = {}
        self._records: list[Record] = []
        self._import_report: ImportReport | None = None
        self._mesh_folder: Path | None = None
        self._ties = 0  # active closures and couplings

    @property
    def import_report(self) -> ImportReport | None:
        """What became of every element of the file the model was read from; None for one built in Python."""
        return self._import_report

    @import_report.setter
    def import_report(self, value: ImportReport | None) -> None:
        self._import_report = None if value is None else _of(ImportReport, value)

    @property
    def mesh_folder(self) -> Path | None:
        """The folder that names of meshes and textures are relative to: that of the file the model was read from.

        None for a model built in Python, until it is set. `save` writes the names so that they lead to the same files.
        """
        return self._mesh_folder

    @mesh_folder.setter
    def mesh_folder(self, value: str | PathLike[str] | None) -> None:
        if value is not None and not isinstance(value, str | PathLike):
            raise ModelError(f"mesh_folder of {self.name!r} must be a folder or None, got {value!r:.60}.")
        self._mesh_folder = None if value is None else Path(value).resolve()

    # -- loops and couplings ---------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether a loop closure or a coupling is active. O(1)."""
        return self._ties > 0

    @property
    def loops(self) -> Catalogue[Closure]:
        """The loop closures, by name or number."""
        return Catalogue(self._loops.values(), "loop")

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """The couplings of coordinates, by name or number."""
        return Catalogue(self._couplings.values(), "coupling")

    def close_loop(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        hinge: Hinge,
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Close a loop: `node_b` may move relative to `node_a` only as `hinge` allows. O(1).

        The hinge's inboard frame is that of `node_a`, its outboard frame that of `node_b`: a `Pin` closes with five
        rows, a `Weld` with six, a `Spherical` hinge with three. The frames are bodies, nodes or the inertial frame,
        on two different bodies.

        >>> from soacraft.model import serial_chain
        >>> from soacraft.model.hinges import Spherical
        >>> mb = serial_chain(3)
        >>> mb.close_loop("ring", "inertial", "link3/tip", Spherical())
        loop 'ring': 'link3/tip' on 'inertial' by Spherical()
        """
        self._new("loop", name, self._loops)
        self._new("coupling", name, self._couplings)  # their rows go by name
        a, b = self.frame(node_a), self.frame(node_b)
        hinge = read_hinge(hinge, name, "loop")
        if a.carrier is b.carrier:
            raise LoopError(
                f"loop {name!r}: {a.full_name!r} and {b.full_name!r} are both on {a.carrier.name!r}; "
                "a loop closes between two bodies."
            )
        if hinge.nv >= 6:
            raise LoopError(f"loop {name!r}: {hinge!r} leaves all six freedoms, so it closes nothing.")
        closure = Closure(name, a, b, hinge, _truth(active, name), make_attributes(attributes, f"loop {name!r}"))
        with self._lock:
            self._changed()
            self._loops[name] = closure
            self._ties += closure.active
            hinge.watch(self)
        return closure

    def couple(
        self,
        name: str,
        terms: Mapping[Any, float | tuple[float, ...]],
        offset: float = 0.0,
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Coupling:
        """Tie coordinates: the sum of `ratio q(dof)` over `{dof: ratio, ...}` is `offset`. O(number of dofs).

        A dof is given by its name; where a hinge has one, its body or the name of that does.

        A gear, a mimic joint `q = m q_other + o` ({q: 1, q_other: -m}, offset o), a differential. A ratio may also be
        the coefficients (c1, c2, ...) of a polynomial c1 q + c2 q^2 + ...

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).couple("gear", {"link1": 1, "link2": -3})
        coupling 'gear': 1 link1 + -3 link2 = 0
        """
        self._new("coupling", name, self._couplings)
        self._new("loop", name, self._loops)
        read = read_terms(name, terms, self)
        what = f"coupling {name!r}"
        value = float(finite(offset, (), f"the offset of {what}"))
        coupling = Coupling(name, read, value, _truth(active, name), make_attributes(attributes, what))
        with self._lock:
            self._changed()
            self._couplings[name] = coupling
            self._ties += coupling.active
        return coupling

    def remove_loop(self, loop: Closure | str) -> None:
        """Take a loop closure away."""
        found = self.loops.find(loop)
        with self._lock:
            self._changed()
            del self._loops[found.name]
            self._ties -= found.active

    def remove_coupling(self, coupling: Coupling | str) -> None:
        """Take a coupling away."""
        found = self.couplings.find(coupling)
        with self._lock:
            self._changed()
            del self._couplings[found.name]
            self._ties -= found.active

    def add_geared_hinge(
        self,
        name: str,
        parent: Body | Root | str | None = None,
        hinge: Hinge | None = None,
        inertia: Inertia | None = None,
        *,
        ratio: float,
        rotor: Inertia,
        rotor_axis: npt.ArrayLike | None = None,
        rotor_pose: Pose | None = None,
        inboard: Pose | None = None,
        outboard: Pose | None = None,
        hinge_name: str | None = None,
    ) -> Body:
        """Hang a link on `parent` by a hinge of one dof that a rotor drives through a gear (formula F1). O(1).

        Besides the link there are then a body `name_rotor`, on the same parent by a pin about `rotor_axis` (default:
        the axis of the hinge) at `rotor_pose` (default: `inboard`), and a coupling `name_gear`: the rotor turns by
        `ratio` for each radian or metre of the hinge. The rotor's inertia is exact, its gyroscopic moments included.
        `sc.loops` solves for both: `ConstraintEmbedding` as one compound body, `sc.loops.geared_sko` in closed form.

        >>> from soacraft.model.tree.multibody import Multibody
        >>> from soacraft.model.hinges import Pin
        >>> mb = Multibody("arm")
        >>> mb.add_geared_hinge("upper", None, Pin((0, 0, 1)), Inertia(2.0), ratio=100, rotor=Inertia(0.1))
        body 'upper' on 'inertial' by Pin(axis=(0, 0, 1))
        >>> list(mb.couplings)
        [coupling 'upper_gear': 1 upper_rotor + -100 upper = 0]
        """
        return gears.add_geared_hinge(
            self, name, parent, hinge, inertia, ratio, rotor, rotor_axis, rotor_pose, inboard, outboard, hinge_name
        )

    # -- tendons ---------------------------------------------------------------------------------------------

    def add_tendon(
        self,
        name: str,
        terms: Mapping[Any, float],
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest: float | tuple[float, float] = 0.0,
        attributes: Mapping[str, Any] | None = None,
    ) -> Tendon:
        """Pull at coordinates with a spring and a damper along L, the sum of `c q` over `{dof: c, ...}`. O(1).

        A dof is given by its name; where a hinge has one, its body or the name of that does.

            force on each dof = -c (stiffness (L - rest) + damping Ldot)

        `rest` may be a range (low, high) in which the spring is slack. It is a passive force: it acts in all dynamics,
        and `passive=False` leaves it out. Old states and expressions become stale.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).add_tendon("cable", {"link1": 1.0, "link2": -0.5}, stiffness=20.0, rest=(0.0, 0.1))
        tendon 'cable': L = 1 link1 + -0.5 link2, stiffness 20 from 0 to 0.1, damping 0
        """
        self._new("tendon", name, self._tendons)
        tendon = make_tendon(self, name, terms, stiffness, damping, rest, attributes)
        with self._lock:
            self._changed()
            self._tendons[name] = tendon
        return tendon

    def remove_tendon(self, tendon: Tendon | str) -> None:
        """Take a tendon away."""
        found = self.tendons.find(tendon)
        with self._lock:
            self._changed()
            del self._tendons[found.name]

    # -- actuators, keyframes, materials, records ------------------------------------------------------------

    @property
    def actuators(self) -> Catalogue[Actuator]:
        """The actuators, by name or number."""
        return Catalogue(self._actuators.values(), "actuator")

    def add_actuator(self, actuator: Actuator) -> Actuator:
        """Keep an actuator of dofs of this model."""
        _of(Actuator, actuator)
        self._new("actuator", actuator.name, self._actuators)
        gears = {one_dof(self, dof, f"actuator {actuator.name!r}"): gear for dof, gear in actuator.gears.items()}
        if len(gears) < len(actuator.gears):
            raise ModelError(f"actuator {actuator.name!r} names a dof of {self.name!r} twice; name it once.")
        if gears != actuator.gears:  # named by hinges or bodies
            actuator = replace(actuator, gears=gears)
        self._actuators[actuator.name] = actuator
        return actuator

    def remove_actuator(self, actuator: Actuator | str) -> None:
        """Take an actuator away."""
        del self._actuators[self.actuators.find(actuator).name]

    @property
    def materials(self) -> Catalogue[Material]:
        """The materials that geometries name, by name or number."""
        return Catalogue(self._materials.values(), "material")

    def add_material(self, material: Material) -> Material:
        """Keep a material."""
        _of(Material, material)
        self._new("material", material.name, self._materials)
        self._materials[material.name] = material
        return material

    @property
    def keyframes(self) -> Catalogue[Keyframe]:
        """The named states, by name or number. Hinges that came later are at their neutral coordinates, at rest."""
        layout = self.layout
        found = []
        for name, (parts, attributes) in self._keyframes.items():
            q, v = self.neutral(), np.zeros(layout.nv)
            for body, i, j in zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True):
                hinge = parts[body][0] if body in parts else None
                if hinge is body.hinge or hinge == body.hinge:
                    _, q[i], v[j] = parts[body]
            found.append(Keyframe(name, q, v, attributes))
        return Catalogue(found, "keyframe")

    def add_keyframe(self, keyframe: Keyframe) -> Keyframe:
        """Keep a named state of the whole model.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> home = mb.add_keyframe(Keyframe("home", [0.1, 0.2], [0.0, 0.0]))
        >>> mb.set_state(mb.keyframes["home"].q)
        """
        _of(Keyframe, keyframe)
        self._new("keyframe", keyframe.name, self._keyframes)
        q = read_q(self, keyframe.q, f"q of keyframe {keyframe.name!r}")
        v = read_v(self, keyframe.v, f"v of keyframe {keyframe.name!r}")
        layout = self.layout
        slices = zip(layout.bodies, layout.q_slices, layout.v_slices, strict=True)
        parts = {body: (body.hinge, q[i], v[j]) for body, i, j in slices}
        self._keyframes[keyframe.name] = (parts, dict(keyframe.attributes))
        return Keyframe(keyframe.name, q, v, keyframe.attributes)

    @property
    def records(self) -> Catalogue[Record]:
        """What a file said besides, in its order: sensors, cameras, contact pairs."""
        return Catalogue(self._records, "record")

    def add_record(self, record: Record) -> Record:
        """Keep a record."""
        self._records.append(_of(Record, record))
        return record

    # -- what needs what -------------------------------------------------------------------------------------

    def _refuse_held(self, gone: set[Frame], hinge: tuple[Body, Hinge, str] | None = None) -> None:
        """Raise for frames, or a hinge that is to change, that closures, couplings, tendons or actuators need."""
        for closure in self._loops.values():
            for end in (closure.a, closure.b):
                if end in gone or end.carrier in gone:
                    raise ModelError(
                        f"{end.full_name!r} is an end of loop {closure.name!r}; take that away first with "
                        f"mb.remove_loop({closure.name!r})."
                    )
        if hinge is not None and has_hinge_numbers(hinge[0]):
            raise ModelError(
                f"hinge {hinge[0].hinge_name!r} has armature, springs, dampers, friction or limits, which the new "
                "hinge would not have; take them away first, with body.armature = 0, body.passive = sc.Passive() and "
                "body.limits = sc.Limits(), and give the new hinge its own."
            )
        if not self._couplings and not self._actuators and not self._tendons:
            return
        old = {dof for body in gone if isinstance(body, Body) for dof in dof_names(body.hinge_name, body.hinge)}
        dofs = coordinates = frozenset[str]()
        if hinge is not None:
            body, new, name = hinge
            old = set(dof_names(body.hinge_name, body.hinge))
            dofs = frozenset(dof_names(name, new))
            coordinates = dofs if has_coordinates(new) else coordinates
        for coupling in self._couplings.values():
            _refuse_use("coupling", coupling.name, coupling.terms, old - coordinates)
        for tendon in self._tendons.values():
            _refuse_use("tendon", tendon.name, tendon.terms, old - coordinates)
        for actuator in self._actuators.values():
            _refuse_use("actuator", actuator.name, actuator.gears, old - dofs)

    def _new(self, kind: str, name: Any, known: Mapping[str, Any]) -> None:
        read_text(name, f"the name of a {kind}")
        if name in known:
            article = "an" if kind == "actuator" else "a"
            raise ModelError(f"{self.name!r} already has {article} {kind} {name!r}; names are unique.")

    def _copy_holdings(
        self,
        other: Multibody,
        dofs: dict[str, str] | None = None,
        told: Callable[[Keyframe], Keyframe] = lambda keyframe: keyframe,
    ) -> None:
        """Closures and the rest, on the frames and dofs of the same names of a copy.

        Of one that is told in other coordinates, `dofs` are the dofs with new names, and `told` tells a keyframe anew.
        """
        new = dofs or {}
        for x in self._loops.values():
            other.close_loop(x.name, x.a.full_name, x.b.full_name, x.hinge, x.active, x.attributes)
        for c in self._couplings.values():
            terms = {new.get(dof, dof): term for dof, term in c.terms.items()}
            other.couple(c.name, terms, c.offset, c.active, c.attributes)
        for t in self._tendons.values():
            pulled = {new.get(dof, dof): c for dof, c in t.terms.items()}
            other.add_tendon(t.name, pulled, t.stiffness, t.damping, t.rest, t.attributes)
        for a in self._actuators.values():
            other.add_actuator(renamed_actuator(a, new))
        other._materials.update(self._materials)
        for keyframe in self.keyframes:
            other.add_keyframe(told(keyframe))
        other._records.extend(self._records)
        other._import_report, other._mesh_folder = self._import_report, self._mesh_folder


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
