"""`AttachedModel`: a model with closures, couplings, tendons, springs, bushings, and records that describe it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.knife_edge import KnifeEdge
from soacraft.model.hinges.spherical import Spherical
from soacraft.model.tree.composed_model import ComposedModel
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.parts.catalogue import Catalogue
from soacraft.model.tree.parts.closures import Closure, Coupling, one_sided_attributes, refuse_reserved
from soacraft.model.tree.parts.curves import Curve
from soacraft.model.tree.parts.import_report import ImportReport
from soacraft.model.tree.parts.records import Actuator, Keyframe, Material, Record
from soacraft.model.tree.parts.rolling import rolling_hinge
from soacraft.model.tree.parts.springs import Bushing, Spring
from soacraft.model.tree.parts.tendons import Tendon
from soacraft.spatial.checks import finite
from soacraft.spatial.pose import Pose


class AttachedModel(ComposedModel):
    """A model whose bodies are tied, pulled and described by parts other than its tree: those of `Attachments`."""

    @property
    def is_closed(self) -> bool:
        """True if a loop closure or a coupling is active. O(1)."""
        return self._attachments.active > 0

    # -- closures and couplings ---------------------------------------------------------------------------

    @property
    def loops(self) -> Catalogue[Closure]:
        """The loop closures, by name or number."""
        return Catalogue(self._attachments.loops.values(), "loop")

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
        refuse_reserved(attributes, "loop", name)
        return self._attachments.close_loop(name, node_a, node_b, hinge, active, attributes)

    def add_rolling(
        self,
        name: str,
        body: Frame | str,
        surface: Frame | str = "inertial",
        radius: float | None = None,
        axis: npt.ArrayLike | None = None,
        semi_axes: npt.ArrayLike | None = None,
        normal: npt.ArrayLike = (0.0, 0.0, 1.0),
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Let a body roll on a plane without slipping: `close_loop` by a hinge that rolls. O(1).

        `body` is the body or node at the centre of what rolls, `surface` a frame whose origin is in the plane, `normal`
        the direction, in its axes, from the plane to what rolls. A `radius` alone is that of a ball (`RollingBall`),
        with an `axis` in axes of `body` that of a disc or wheel (`RollingDisc`); `semi_axes` are those of an ellipsoid
        (`RollingEllipsoid`). Three rows: the point that touches has no velocity relative to the surface. One of them
        says where the body is, two only forbid to slip.

        >>> from soacraft.model.hinges import Free
        >>> from soacraft.spatial import Inertia
        >>> from soacraft.model import Multibody
        >>> mb = Multibody("unicycle")
        >>> wheel = mb.add_body("wheel", None, Free(), Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.1])))
        >>> mb.add_rolling("tyre", "wheel", radius=0.5, axis=(0, 1, 0))
        loop 'tyre': 'wheel' on 'inertial' by RollingDisc(radius=0.5, axis=(0, 1, 0), normal=(0, 0, 1))
        """
        hinge = rolling_hinge(name, radius, axis, semi_axes, normal)
        return self.close_loop(name, surface, body, hinge, active, attributes)

    def add_knife_edge(
        self,
        name: str,
        node: Frame | str,
        surface: Frame | str = "inertial",
        across: npt.ArrayLike = (0.0, 1.0, 0.0),
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """Let a node carry a knife edge, as a skate: `close_loop` by a `KnifeEdge`. O(1).

        Its origin does not move along `across`, in axes of the node, relative to the surface: one row, at velocity
        level alone. What keeps the edge on the surface is not part of it: a `Planar` hinge, or another closure.

        >>> from soacraft.model.hinges import Planar
        >>> from soacraft.spatial import Inertia
        >>> from soacraft.model import Multibody
        >>> mb = Multibody("sleigh")
        >>> body = mb.add_body("sleigh", None, Planar(), Inertia(1.0, (0.3, 0, 0), np.diag([0.1, 0.1, 0.2])))
        >>> mb.add_knife_edge("blade", "sleigh")
        loop 'blade': 'sleigh' on 'inertial' by KnifeEdge(across=(0, 1, 0))
        """
        return self.close_loop(name, surface, node, KnifeEdge(across), active, attributes)

    def remove_loop(self, loop: Closure | str) -> None:
        """Take a loop closure away."""
        self._attachments.untie("loop", self._attachments.loops, loop)

    @property
    def couplings(self) -> Catalogue[Coupling]:
        """The couplings of coordinates, by name or number."""
        return Catalogue(self._attachments.couplings.values(), "coupling")

    def couple(
        self,
        name: str,
        terms: Mapping[Any, float | tuple[float, ...]],
        offset: float = 0.0,
        active: bool = True,
        attributes: Mapping[str, Any] | None = None,
        one_sided: bool | str = False,
    ) -> Coupling:
        """Tie coordinates: the sum of `ratio q(dof)` over `{dof: ratio, ...}` is `offset`. O(number of dofs).

        A dof is given by its name; where a hinge has one, its body or the name of that does.

        A gear, a mimic joint `q = m q_other + o` ({q: 1, q_other: -m}, offset o), a differential. A ratio may also be
        the coefficients (c1, c2, ...) of a polynomial c1 q + c2 q^2 + ...

        `one_sided=True`: the sum is at least the offset, as at a stop; `one_sided="rate"`: it does not fall, as with a
        ratchet. Such a coupling acts in motion with contact (`sc.sim.Contact`) and is unknown to dynamics and solvers
        of loops, as limits of hinges are.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).couple("gear", {"link1": 1, "link2": -3})
        coupling 'gear': 1 link1 + -3 link2 = 0
        >>> serial_chain(2).couple("stop", {"link1": 1, "link2": 1}, -0.5, one_sided=True)
        coupling 'stop': 1 link1 + 1 link2 >= -0.5
        """
        told = one_sided_attributes(one_sided, active, attributes, "coupling", name)
        return self._attachments.couple(name, terms, offset, False if told else active, told or attributes)

    def add_rope(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        length: float,
        attributes: Mapping[str, Any] | None = None,
    ) -> Closure:
        """A rope without mass: `node_b` is at most `length` metres from `node_a`. It pulls in motion with contact
        (`sc.sim.Contact`) and is unknown to dynamics and solvers of loops. O(1).

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).add_rope("tether", "inertial", "link2/tip", 1.5)
        rope 'tether': 'link2/tip' at most 1.5 m from 'inertial'
        """
        reach = float(finite(length, (), f"the length of rope {name!r}", ModelError))
        if not reach > 0.0:
            raise ModelError(f"the length of rope {name!r} is {reach:g} m; it must be above 0; else close a loop.")
        told = one_sided_attributes(True, True, attributes, "loop", name)
        return self._attachments.close_loop(name, node_a, node_b, Spherical(), False, {**told, "length": reach})

    def remove_coupling(self, coupling: Coupling | str) -> None:
        """Take a coupling away."""
        self._attachments.untie("coupling", self._attachments.couplings, coupling)

    # -- tendons, springs and bushings --------------------------------------------------------------------

    def add_tendon(
        self,
        name: str,
        terms: Mapping[Any, float],
        stiffness: float | Curve = 0.0,
        damping: float | Curve = 0.0,
        rest: float | tuple[float, float] = 0.0,
        attributes: Mapping[str, Any] | None = None,
    ) -> Tendon:
        """Pull at coordinates with a spring and a damper along L, the sum of `c q` over `{dof: c, ...}`. O(1).

        This is the spring along any combination of dofs; along one it may have a `Curve`, which `body.passive` does not
        take. A dof is given by its name; where a hinge has one, its body or the name of that does.

            force on each dof = -c (stiffness (L - rest) + damping Ldot)

        `rest` may be a range (low, high) in which the spring is slack. A `Curve` for `stiffness` gives the tension over
        L, one for `damping` the tension over Ldot. It is a passive force: it acts in all dynamics, and `passive=False`
        leaves it out. Old states and expressions become stale.

        >>> from soacraft.model import Curve, serial_chain
        >>> mb = serial_chain(2)
        >>> mb.add_tendon("cable", {"link1": 1.0, "link2": -0.5}, stiffness=20.0, rest=(0.0, 0.1))
        tendon 'cable': L = 1 link1 + -0.5 link2, stiffness 20 from 0 to 0.1, damping 0
        >>> mb.add_tendon("stop", {"link1": 1.0}, Curve([-1.0, -0.8, 0.8, 1.0], [-5.0, 0.0, 0.0, 5.0]))
        tendon 'stop': L = 1 link1, stiffness cubic curve of 4 points from (-1, -5) to (1, 5), damping 0
        """
        return self._attachments.add_tendon(name, terms, stiffness, damping, rest, attributes)

    def remove_tendon(self, tendon: Tendon | str) -> None:
        """Take a tendon away."""
        self._attachments.untie("tendon", self._attachments.tendons, tendon)

    def add_spring(
        self,
        name: str,
        node_a: Frame | str | Mapping[Any, float],
        node_b: Frame | str | None = None,
        stiffness: float | Curve = 0.0,
        length: float | tuple[float, float] = 0.0,
        damping: float | Curve = 0.0,
        through: Iterable[Frame | str] = (),
        attributes: Mapping[str, Any] | None = None,
    ) -> Spring | Tendon:
        """Pull two nodes together with a spring and a damper along their line, by way of the nodes `through`. O(1).

            tension = stiffness (L - length) + damping Ldot,     energy stiffness (L - length)^2 / 2

        in N/m, m and N s/m; L is the length of the line. `length` may be a range (low, high) in which the spring is
        slack, such as (0, 0.3) for a rope. A `Curve` for `stiffness` gives the tension over L, one for `damping` the
        tension over Ldot. It is a passive force: it acts in all dynamics, and `passive=False` leaves it out. Old states
        and expressions become stale. Nodes of flexible bodies move with their modes, and so does the spring.

        Along a combination of dofs, `{dof: ratio, ...}` in place of the nodes, L is the sum of `ratio q`: the spring is
        a tendon then, in `mb.tendons`, as `add_tendon` makes it.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.root.add_node("wall", sc.Pose(translation=[1.0, 0.0, 0.0]))
        node 'inertial/wall'
        >>> mb.add_spring("s", "inertial/wall", "bob/tip", stiffness=20.0, length=0.5)
        spring 's': 'inertial/wall' to 'bob/tip', stiffness 20 from 0.5 m, damping 0
        >>> mb.add_spring("rubber", "inertial/wall", "bob/tip", sc.Curve([0.5, 1.0, 1.5], [0, 3, 20])).stiffness
        cubic curve of 3 points from (0.5, 0) to (1.5, 20)
        >>> sc.serial_chain(2).add_spring("gear", {"link1": 1.0, "link2": -3.0}, stiffness=5.0)
        tendon 'gear': L = 1 link1 + -3 link2, stiffness 5 from 0, damping 0
        """
        return self._attachments.add_spring(name, node_a, node_b, stiffness, length, damping, through, attributes)

    def remove_spring(self, spring: Spring | str) -> None:
        """Take a spring away."""
        self._attachments.untie("spring", self._attachments.springs, spring)

    def add_bushing(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        stiffness: npt.ArrayLike,
        damping: npt.ArrayLike = 0.0,
        rest: Pose | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Bushing:
        """Join two nodes by an elastic element of six stiffnesses, at rest where b has the pose `rest` in a. O(1).

            x = log(rest^-1 X_ab),   energy x* K x / 2,   on b in its axes -J* (K x + D xdot),  xdot = J (twist of b)

        x = [turn; travel] is the displacement as a twist, J the rate of the logarithm. `stiffness` and `damping` are
        six numbers, turns first (N m/rad, N/m), one for all, or symmetric matrices (6, 6). It is exact for large turns.
        At half a turn x changes sides, and within 4e-6 rad of it a force is refused. It is a passive force, as a spring
        is, and acts on nodes of flexible bodies too.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.add_bushing("mount", "inertial", "bob", [0, 5, 0, 0, 0, 0])
        bushing 'mount': 'bob' on 'inertial', stiffness [0 5 0 0 0 0], damping [0 0 0 0 0 0]
        """
        return self._attachments.add_bushing(name, node_a, node_b, stiffness, damping, rest, attributes)

    def add_torsion_spring(
        self,
        name: str,
        node_a: Frame | str,
        node_b: Frame | str,
        stiffness: float,
        damping: float = 0.0,
        rest: Pose | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Bushing:
        """Turn two nodes towards each other: a bushing of three equal stiffnesses in N m/rad, and none in travel. O(1).

        The springs of a hinge are `body.passive`; this one is between any two nodes.
        """
        turns = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
        k, d = (float(finite(x, (), f"numbers of torsion spring {name!r}")) for x in (stiffness, damping))
        return self.add_bushing(name, node_a, node_b, k * turns, d * turns, rest, attributes)

    def remove_bushing(self, bushing: Bushing | str) -> None:
        """Take a bushing away."""
        self._attachments.untie("bushing", self._attachments.bushings, bushing)

    # -- descriptions -------------------------------------------------------------------------------------

    @property
    def actuators(self) -> Catalogue[Actuator]:
        """The actuators, by name or number."""
        return Catalogue(self._attachments.actuators.values(), "actuator")

    def add_actuator(self, actuator: Actuator) -> Actuator:
        """Keep an actuator of dofs of this model."""
        return self._attachments.add_actuator(actuator)

    def remove_actuator(self, actuator: Actuator | str) -> None:
        """Take an actuator away."""
        del self._attachments.actuators[self.actuators.find(actuator).name]
        self._edits.changed("records")

    @property
    def materials(self) -> Catalogue[Material]:
        """The materials that geometries name, by name or number."""
        return Catalogue(self._attachments.materials.values(), "material")

    def add_material(self, material: Material) -> Material:
        """Keep a material."""
        return self._attachments.add_material(material)

    @property
    def keyframes(self) -> Catalogue[Keyframe]:
        """The named states, by name or number. Hinges that came later are at their neutral coordinates, at rest."""
        return Catalogue(self._attachments.told_keyframes(), "keyframe")

    def add_keyframe(self, keyframe: Keyframe) -> Keyframe:
        """Keep a named state of the whole model.

        >>> from soacraft.model import serial_chain
        >>> mb = serial_chain(2)
        >>> home = mb.add_keyframe(Keyframe("home", [0.1, 0.2], [0.0, 0.0]))
        >>> mb.set_state("home")
        >>> mb.q
        array([0.1, 0.2])
        """
        return self._attachments.add_keyframe(keyframe)

    @property
    def records(self) -> Catalogue[Record]:
        """Further elements of a file, in its order: sensors, cameras, contact pairs."""
        return Catalogue(self._attachments.records, "record")

    def add_record(self, record: Record) -> Record:
        """Keep a record."""
        return self._attachments.add_record(record)

    @property
    def import_report(self) -> ImportReport | None:
        """Report of every element of the file the model was read from; None for one built in Python."""
        return self._attachments.import_report

    @import_report.setter
    def import_report(self, value: ImportReport | None) -> None:
        self._attachments.set_import_report(value)

    @property
    def mesh_folder(self) -> Path | None:
        """The folder that names of meshes and textures are relative to: that of the file the model was read from.

        None for a model built in Python, until it is set. `save` writes the names so that they lead to the same files.
        """
        return self._attachments.mesh_folder

    @mesh_folder.setter
    def mesh_folder(self, value: str | PathLike[str] | None) -> None:
        self._attachments.set_mesh_folder(value)

    @property
    def mesh_roots(self) -> tuple[Path, ...]:
        """Further folders, after `mesh_folder`, in which meshes may be read: those where `sc.load` found some, in its
        `mesh_roots` or in packages, and those of models that were added.

        >>> from soacraft.model import serial_chain
        >>> serial_chain(2).mesh_roots
        ()
        """
        return self._attachments.mesh_roots

    @mesh_roots.setter
    def mesh_roots(self, value: Iterable[str | PathLike[str]]) -> None:
        self._attachments.set_mesh_roots(value)
