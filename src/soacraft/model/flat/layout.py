"""The constant flat form of a graph: order, slices, stacked parameters.

What follows from the structure is made once per structural change; after a change of parameters a layout with the same
structure takes the place of the old one (`renewed`). A layout is the key of all that was derived from both: it reads no
parameter of its bodies after they changed, but raises `StaleError`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.tree import Tree
from soacraft.errors import StaleError
from soacraft.model.flat.sko import BODY, EntryUnits
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.hinges.watched import is_builtin
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.order import Order, order_of
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.pose import Pose
from soacraft.spatial.transforms import phi

if TYPE_CHECKING:
    from soacraft.model.modal.data import ModalData, ModalNode
    from soacraft.model.tree.parts.springs import Bushing, Spring
    from soacraft.model.tree.parts.tendons import Tendon

T = TypeVar("T")
Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class HingeGroup:
    """The bodies that hang by equal hinges, or by one of a user's own: their numbers are computed in one call.

    `q[..., q_index]` has shape (..., bodies, nq), `v[..., v_index]` (..., bodies, nv).
    """

    hinge: Hinge
    bodies: Indices
    q_starts: list[int]
    v_starts: list[int]

    @cached_property
    def q_index(self) -> Indices:
        """Indices of the coordinates of each hinge in q, (bodies, nq)."""
        return np.array(self.q_starts, dtype=np.intp)[:, None] + np.arange(self.hinge.nq)

    @cached_property
    def v_index(self) -> Indices:
        """Indices of the dofs of each hinge in v, (bodies, nv)."""
        return np.array(self.v_starts, dtype=np.intp)[:, None] + np.arange(self.hinge.nv)


class Own(NamedTuple):
    """Coordinates of bodies themselves: their numbers in q and in v, where their rates are."""

    q: Indices
    v: Indices


class Pull(NamedTuple):
    """A tendon: the numbers of its coordinates in q and of its dofs in v, and their coefficients."""

    tendon: Tendon
    q: Indices
    v: Indices
    c: Array


class Ends(NamedTuple):
    """Nodes: the number of the body of each, -1 for the inertial frame, and where they are on it."""

    bodies: Indices
    R: Array
    at: Array


class parameter(cached_property[T]):
    """A property of a layout, read once from the parameters of its bodies; refused if they changed meanwhile."""

    def __get__(self, layout: Any, owner: type[Any] | None = None) -> T:  # type: ignore[override]
        value = self.func(layout)
        layout.require_current()
        made: T = layout.__dict__.setdefault(self.attrname, value)  # of two threads, that of the first
        return made


class Versions(Protocol):
    """A model, of which only the versions and gravity matter to its flat form."""

    @property
    def name(self) -> str:
        """The name used in messages."""

    @property
    def version(self) -> int:
        """The version of the structure."""

    @property
    def parameters(self) -> int:
        """The version of the parameters."""

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the inertial frame (3)."""


class Layout:
    """Bodies of a graph, parents first, with where their numbers are and their parameters stacked.

    Every body is a node with a size (`dims`), a slice of q and a slice of v. In the slices are the coordinates and dofs
    of its hinge (`hinge_q`, `hinge_v`), then those of the body itself (`own`), of which a rigid one has none.

    Of the tendons given it has those whose dofs are all its own, of springs and bushings those between its bodies, and
    between them and the inertial frame. `version` and `parameters` are those of the model it
    was made for.
    """

    def __init__(
        self,
        model: Versions,
        bodies: Sequence[Body],
        tendons: Iterable[Tendon] = (),
        springs: Iterable[Spring] = (),
        bushings: Iterable[Bushing] = (),
    ) -> None:
        self._model = model
        self.version, self.parameters, self.gravity = model.version, model.parameters, model.gravity
        self.compiled: list[Any] = []
        """Compiled models of this structure, made by `soacraft.model.flat.compiled`; shared by the layouts of all
        parameters."""
        self.bodies = tuple(bodies)
        self.n = len(self.bodies)
        self.index = {body: k for k, body in enumerate(self.bodies)}
        find: Callable[[Any, int], int] = self.index.get
        self.parents = tuple([find(body._parent, -1) for body in self.bodies])
        q_ends = [0, *accumulate([int(body._hinge.nq) + len(body._own) for body in self.bodies])]
        v_ends = [0, *accumulate([int(body._hinge.nv) + len(body._own) for body in self.bodies])]
        self.q_slices = tuple([slice(i, j) for i, j in pairwise(q_ends)])
        self.v_slices = tuple([slice(i, j) for i, j in pairwise(v_ends)])
        self.nq, self.nv = q_ends[-1], v_ends[-1]
        self.rigid = not any(body._own for body in self.bodies)
        self.roads: dict[str, Any] = {}  # what `soacraft.ops` compiled for it, by axes
        given = tuple(tendons)
        own = set(self.dof_names) if given else set()
        self.tendons = tuple(x for x in given if own.issuperset(x.terms))
        self.springs = tuple(x for x in springs if _on_bodies(x.nodes, self.index))
        self.bushings = tuple(x for x in bushings if _on_bodies((x.a, x.b), self.index))
        self.has_links = bool(self.springs or self.bushings)
        self.calls: dict[str, Any] = {}  # quick calls by name, for as long as this form is the graph's

    def renewed(self) -> Layout:
        """The layout of the same structure with the parameters that the bodies have now. O(1) until they are read."""
        drop = _PARAMETERS if all(is_builtin(group.hinge) for group in self.groups) else _PARAMETERS | _OF_HINGES
        other = Layout.__new__(Layout)
        vars(other).update({name: x for name, x in dict(vars(self)).items() if name not in drop})
        other.parameters, other.gravity = self._model.parameters, self._model.gravity
        return other

    @property
    def is_current(self) -> bool:
        """True if the model still has the structure and the parameters of this layout."""
        return self.parameters == self._model.parameters and self.version == self._model.version

    def require_current(self) -> None:
        """Raise `StaleError` when the model has changed."""
        if not self.is_current:
            what = "structure" if self.version != self._model.version else "parameters"
            raise StaleError(
                f"the {what} of {self._model.name!r} changed before all numbers of an older form were computed, so "
                "they would be of neither; ask the model, or a state of it, again."
            )

    @cached_property
    def holonomic(self) -> bool:
        """True if no hinge rolls, or is nonholonomic in another way."""
        return all(group.hinge.holonomic for group in self.groups)

    @cached_property
    def tree(self) -> Tree:
        """The tree of the bodies, numbered as in `bodies`."""
        return Tree(self.parents, [body.name for body in self.bodies])

    @cached_property
    def q_order(self) -> Order:
        """The order of the entries of q."""
        return order_of([body.name for body in self.bodies], [x.stop - x.start for x in self.q_slices])

    @cached_property
    def v_order(self) -> Order:
        """The order of the entries of v, vdot and generalized forces."""
        return order_of([body.name for body in self.bodies], [x.stop - x.start for x in self.v_slices])

    @cached_property
    def hinge_q(self) -> tuple[slice, ...]:
        """Slices of the hinges' coordinates in q: the first of each body's."""
        return self._of_hinges(self.q_slices)

    @cached_property
    def hinge_v(self) -> tuple[slice, ...]:
        """Slices of the hinges' dofs in v: the first of each body's."""
        return self._of_hinges(self.v_slices)

    def _of_hinges(self, nodes: tuple[slice, ...]) -> tuple[slice, ...]:
        if self.rigid:
            return nodes
        return tuple(slice(x.start, x.stop - len(body._own)) for x, body in zip(nodes, self.bodies, strict=True))

    @cached_property
    def own(self) -> Own:
        """Indices of the bodies' modal coordinates and dofs, which follow those of the hinge of the body."""
        none = np.zeros(0, dtype=np.intp)
        if self.rigid:
            return Own(none, none)
        q = [np.arange(x.stop, y.stop) for x, y in zip(self.hinge_q, self.q_slices, strict=True)]
        v = [np.arange(x.stop, y.stop) for x, y in zip(self.hinge_v, self.v_slices, strict=True)]
        return Own(np.concatenate([none, *q]), np.concatenate([none, *v]))

    # -- flexible bodies ----------------------------------------------------------------------------------------

    @cached_property
    def flexible(self) -> tuple[int, ...]:
        """The numbers of the bodies with modes."""
        return () if self.rigid else tuple(k for k, body in enumerate(self.bodies) if body._modal is not None)

    def modal(self, k: int) -> ModalData:
        """The modal data of a flexible body."""
        data = self.bodies[k]._modal
        assert data is not None
        return data

    @cached_property
    def riding(self) -> dict[int, ModalNode]:
        """Nodes of flexible parents in this graph that inboard hinge frames are fixed on, by body."""
        bodies = () if self.rigid else zip(self.bodies, self.parents, strict=True)
        return {self.index[x]: x._rides for x, p in bodies if x._rides is not None and p >= 0}

    @cached_property
    def held(self) -> dict[int, ModalNode]:
        """Deforming nodes of bodies that their outboard hinge frames are fixed on, by body."""
        bodies = () if self.rigid else self.bodies
        return {self.index[x]: x._held for x in bodies if x._held is not None and x._held.deforms}

    @parameter
    def armature(self) -> tuple[Array | None, ...]:
        """Rotor inertias by body (nv_k), None for a body without."""
        return tuple(body._armature for body in self.bodies)

    @cached_property
    def extended(self) -> bool:
        """True if a node has more than six entries: a body has armature, or modal coordinates."""
        return any(dim > 6 for dim in self.dims)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Size of each node: six, one more for every modal coordinate and for every dof with armature."""
        sizes = zip(self.bodies, self.armature, strict=True)
        return tuple(6 + len(body._own) + (0 if J is None else J.size) for body, J in sizes)

    @parameter
    def sprung(self) -> tuple[int, ...]:
        """The numbers of the bodies whose hinges have springs or dampers."""
        return tuple([k for k, body in enumerate(self.bodies) if body._passive is not None and body._passive.acts])

    @parameter
    def sprung_in_vain(self) -> Body | None:
        """A body with a spring in a nonholonomic hinge, which has no displacement along its dofs."""
        bodies = (self.bodies[k] for k in self.sprung)
        return next((x for x in bodies if not x.hinge.holonomic and x.passive.stiffness.any()), None)

    @parameter
    def compensated(self) -> tuple[Body, ...]:
        """The bodies of whose weight a part is carried."""
        return tuple(body for body in self.bodies if body._compensation != 0.0 and body.inertia.mass != 0.0)

    @parameter
    def passive_in_python(self) -> bool:
        """True if compiled code does not know some of the passive forces."""
        return bool(self.compensated) or self.sprung_in_vain is not None or bool(self.bent_ends)

    @cached_property
    def pulls(self) -> tuple[Pull, ...]:
        """Each tendon, with the numbers of its coordinates and dofs and their coefficients."""
        if not self.tendons:
            return ()
        place = {}  # tendons are of dofs with coordinates: those of a body end with the coordinates of its own
        for body, q, v in zip(self.bodies, self.q_slices, self.v_slices, strict=True):
            names = dofs_of(body)
            place.update({name: (q.stop - len(names) + i, v.start + i) for i, name in enumerate(names)})
        return tuple(
            Pull(
                x,
                np.array([place[dof][0] for dof in x.terms], dtype=np.intp),
                np.array([place[dof][1] for dof in x.terms], dtype=np.intp),
                frozen(np.array(list(x.terms.values()))),
            )
            for x in self.tendons
        )

    @cached_property
    def link_frames(self) -> tuple[Frame, ...]:
        """The nodes of all springs, then the nodes a and then the nodes b of all bushings."""
        of_springs = [x for spring in self.springs for x in spring.nodes]
        return (*of_springs, *(x.a for x in self.bushings), *(x.b for x in self.bushings))

    @cached_property
    def bent_ends(self) -> tuple[int, ...]:
        """Indices of these nodes that are on flexible bodies."""
        return () if self.rigid else tuple(i for i, x in enumerate(self.link_frames) if x.modal_node is not None)

    @parameter
    def link_ends(self) -> Ends:
        """Bodies of these nodes and their poses on them; on flexible bodies undeformed."""
        frames = self.link_frames
        find: Callable[[Any, int], int] = self.index.get
        bodies = np.array([find(x.carrier, -1) for x in frames], dtype=np.intp)
        offsets = [x.offset for x in frames]
        R = np.array([x.rotation for x in offsets]).reshape(-1, 3, 3)
        return Ends(bodies, frozen(R), frozen(np.array([x.translation for x in offsets]).reshape(-1, 3)))

    @cached_property
    def spring_nodes(self) -> int:
        """Number of nodes of all springs."""
        return sum(len(x.nodes) for x in self.springs)

    @cached_property
    def units(self) -> EntryUnits:
        """The units of the nodes, those of their own coordinates and of rotors after the six, and of the dofs."""
        hinge = [""] * self.n
        for group in self.groups:
            word = group.hinge.dof_units
            for k in group.bodies.tolist():
                hinge[k] = word
        own = ["x" * len(body._own) for body in self.bodies]
        node = zip(own, hinge, self.dims, strict=True)
        return EntryUnits(
            tuple((BODY + x + word)[:dim] for x, word, dim in node),
            tuple(word + x for word, x in zip(hinge, own, strict=True)),
        )

    @cached_property
    def groups(self) -> tuple[HingeGroup, ...]:
        """The bodies grouped by equal hinges; those of a user's own classes by one and the same."""
        members: dict[Hashable, list[int]] = {}
        known: dict[int, list[int]] = {}  # by the id of a hinge: many bodies may share one
        for k, body in enumerate(self.bodies):
            hinge = body._hinge
            if id(hinge) not in known:
                known[id(hinge)] = members.setdefault(_group_key(hinge), [])
            known[id(hinge)].append(k)
        found = []
        for ks in members.values():
            q, v = ([some[k].start for k in ks] for some in (self.q_slices, self.v_slices))
            found.append(HingeGroup(self.bodies[ks[0]]._hinge, np.array(ks, dtype=np.intp), q, v))
        return tuple(found)

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """The hinge's name for one dof, `name.0`, `name.1`, ... for several; then those of the body itself."""
        names: list[str] = []
        for body in self.bodies:
            names += dofs_of(body)
        return tuple(names)

    def neutral(self) -> Array:
        """The coordinates at which every hinge is neutral, those of bodies themselves zero (nq)."""
        q = np.zeros(self.nq)
        for body, where in zip(self.bodies, self.hinge_q, strict=True):
            q[where] = neutral_of(body._hinge)
        return q

    @parameter
    def inboard(self) -> tuple[Array, Array]:
        """Rotations (n, 3, 3) and translations (n, 3) of the inboard poses."""
        return self._poses([body._inboard for body in self.bodies])

    @parameter
    def outboard(self) -> tuple[Array, Array]:
        """Rotations (n, 3, 3) and translations (n, 3) of the outboard poses."""
        return self._poses([body._outboard for body in self.bodies])

    @parameter
    def to_body(self) -> Array:
        """phi*(O, B), which refers a hinge twist to the body frame and axes, (n, 6, 6)."""
        return frozen(phi(*self.outboard).mT)

    @parameter
    def M(self) -> Array:
        """Spatial inertias in body axes, (n, 6, 6)."""
        return frozen(np.array([body._inertia.matrix() for body in self.bodies]).reshape(self.n, 6, 6))

    @parameter
    def inertias(self) -> tuple[Array, Array, Array]:
        """Masses (n), centres of mass (n, 3) and moments about them (n, 9) in body axes."""
        rows = np.frombuffer(b"".join([body._inertia.row for body in self.bodies])).reshape(self.n, 13)
        return frozen(rows[:, 0].copy()), frozen(rows[:, 1:4].copy()), frozen(rows[:, 4:].copy())

    def _poses(self, poses: list[Pose]) -> tuple[Array, Array]:
        rows = np.frombuffer(b"".join([x.row for x in poses])).reshape(self.n, 12)
        return frozen(rows[:, :9].copy().reshape(self.n, 3, 3)), frozen(rows[:, 9:].copy())


_PARAMETERS = frozenset(name for name, x in vars(Layout).items() if isinstance(x, parameter))
#: Fields that also change with the attributes of a user's own hinge.
_OF_HINGES = frozenset({"groups", "units", "holonomic"})


def _group_key(hinge: Hinge) -> Hashable:
    """Equal for hinges that give the same numbers. A user's own may have attributes that no comparison sees; products
    of screws share the screws, which are compared sooner than what they were made of.
    """
    if not is_builtin(hinge):
        return id(hinge)
    return (type(hinge), hinge._screws) if isinstance(hinge, ScrewProduct) else hinge


def _on_bodies(nodes: Iterable[Frame], bodies: Container[object]) -> bool:
    """True if all nodes are on these bodies or on the inertial frame, at least one on a body."""
    carriers = [x.carrier for x in nodes]
    return any(x in bodies for x in carriers) and all(x in bodies or not isinstance(x, Body) for x in carriers)


def dof_names(name: str, hinge: Hinge) -> list[str]:
    """The names of the dofs of a hinge of that name.

    >>> from soacraft.model.hinges import Pin, Spherical
    >>> dof_names("elbow", Pin((0, 0, 1))), dof_names("hip", Spherical())
    (['elbow'], ['hip.0', 'hip.1', 'hip.2'])
    """
    return [name] if hinge.nv == 1 else [f"{name}.{i}" for i in range(hinge.nv)]


def dofs_of(body: Body) -> list[str]:
    """Names of the dofs of a body: those of its hinge, then `body.name` for those of its modes."""
    return [*dof_names(body.hinge_name, body.hinge), *(f"{body.name}.{name}" for name in body._own)]


def neutral_of(hinge: Hinge) -> Array:
    """The neutral coordinates of a hinge; a user's own are checked."""
    return finite(hinge.neutral(), (hinge.nq,), f"neutral() of {hinge!r}")
