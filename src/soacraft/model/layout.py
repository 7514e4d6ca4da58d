"""The constant flat form of a graph: order, slices, stacked parameters; made once per structural change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.algebra.tree import Tree
from soacraft.model.frame import Body
from soacraft.model.hinges.base import Hinge
from soacraft.model.sko import BODY, EntryUnits
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.transforms import phi

if TYPE_CHECKING:
    from soacraft.model.tendons import Tendon

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class HingeGroup:
    """The bodies that hang by equal hinges: their hinge numbers are worked out in one call.

    `q[..., q_index]` has shape (..., bodies, nq), `v[..., v_index]` (..., bodies, nv).
    """

    hinge: Hinge
    bodies: Indices
    q_index: Indices
    v_index: Indices


class Pull(NamedTuple):
    """A tendon: the numbers of its coordinates in q and of its dofs in v, and their coefficients."""

    tendon: Tendon
    q: Indices
    v: Indices
    c: Array


class Layout:
    """Bodies of a graph, parents first, with where their numbers stand and their parameters stacked.

    Of the tendons given it has those whose dofs are all its own.
    """

    def __init__(self, bodies: Sequence[Body], tendons: Iterable[Tendon] = ()) -> None:
        self.bodies = tuple(bodies)
        self.n = len(self.bodies)
        self.index = {body: k for k, body in enumerate(self.bodies)}
        parents = [-1] * self.n
        for k, body in enumerate(self.bodies):
            if isinstance(body.parent, Body):
                parents[k] = self.index.get(body.parent, -1)
        self.parents = tuple(parents)
        q_ends = np.cumsum([0] + [body.hinge.nq for body in self.bodies]).tolist()
        v_ends = np.cumsum([0] + [body.hinge.nv for body in self.bodies]).tolist()
        self.q_slices = tuple(slice(i, j) for i, j in pairwise(q_ends))
        self.v_slices = tuple(slice(i, j) for i, j in pairwise(v_ends))
        self.nq, self.nv = int(q_ends[-1]), int(v_ends[-1])
        given = tuple(tendons)
        own = set(self.dof_names) if given else set()
        self.tendons = tuple(x for x in given if own.issuperset(x.terms))

    @cached_property
    def tree(self) -> Tree:
        """The tree of the bodies, numbered as in `bodies`."""
        return Tree(self.parents, [body.name for body in self.bodies])

    @cached_property
    def armature(self) -> tuple[Array | None, ...]:
        """Rotor inertias by body (nv_k), None for a body without."""
        return tuple(body._armature for body in self.bodies)

    @cached_property
    def extended(self) -> bool:
        """Whether a body has armature, so that its node is larger than six."""
        return any(J is not None for J in self.armature)

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """The size of each node: six, and one more for every dof of a body with armature."""
        return tuple(6 if J is None else 6 + J.size for J in self.armature)

    @cached_property
    def sprung(self) -> tuple[int, ...]:
        """The numbers of the bodies whose hinges have springs or dampers."""
        return tuple(k for k, body in enumerate(self.bodies) if body._passive is not None and body._passive.acts)

    @cached_property
    def sprung_in_vain(self) -> Body | None:
        """A body with a spring in a nonholonomic hinge, which has no displacement along its dofs."""
        bodies = (self.bodies[k] for k in self.sprung)
        return next((x for x in bodies if not x.hinge.holonomic and x.passive.stiffness.any()), None)

    @cached_property
    def compensated(self) -> tuple[Body, ...]:
        """The bodies of whose weight a part is carried."""
        return tuple(body for body in self.bodies if body._compensation != 0.0 and body.inertia.mass != 0.0)

    @cached_property
    def pulls(self) -> tuple[Pull, ...]:
        """Each tendon, with the numbers of its coordinates and dofs and their coefficients."""
        if not self.tendons:
            return ()
        place = {}
        for body, q, v in zip(self.bodies, self.q_slices, self.v_slices, strict=True):
            names = dof_names(body.hinge_name, body.hinge)
            place.update({name: (q.start + i, v.start + i) for i, name in enumerate(names)})
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
    def units(self) -> EntryUnits:
        """The units of the nodes, those of rotors after the six of the body, and of the dofs."""
        hinge = [""] * self.n
        for group in self.groups:
            word = group.hinge.dof_units
            for k in group.bodies.tolist():
                hinge[k] = word
        return EntryUnits(tuple((BODY + word)[:dim] for word, dim in zip(hinge, self.dims, strict=True)), tuple(hinge))

    @cached_property
    def groups(self) -> tuple[HingeGroup, ...]:
        """The bodies grouped by equal hinges."""
        members: dict[Hinge, list[int]] = {}
        known: dict[int, list[int]] = {}  # by the id of a hinge: to compare by value is dear, and many bodies share one
        for k, body in enumerate(self.bodies):
            if id(body.hinge) not in known:
                known[id(body.hinge)] = members.setdefault(body.hinge, [])
            known[id(body.hinge)].append(k)
        return tuple(
            HingeGroup(
                hinge,
                np.array(ks, dtype=np.intp),
                np.array([self.q_slices[k].start for k in ks], dtype=np.intp)[:, None] + np.arange(hinge.nq),
                np.array([self.v_slices[k].start for k in ks], dtype=np.intp)[:, None] + np.arange(hinge.nv),
            )
            for hinge, ks in members.items()
        )

    @cached_property
    def dof_names(self) -> tuple[str, ...]:
        """The hinge's name for one dof, `name.0`, `name.1`, ... for several."""
        names: list[str] = []
        for body in self.bodies:
            names += dof_names(body.hinge_name, body.hinge)
        return tuple(names)

    @cached_property
    def inboard(self) -> tuple[Array, Array]:
        """Rotations (n, 3, 3) and translations (n, 3) of the inboard poses."""
        return self._stacked([body.inboard.rotation for body in self.bodies], (3, 3)), self._stacked(
            [body.inboard.translation for body in self.bodies], (3,)
        )

    @cached_property
    def outboard(self) -> tuple[Array, Array]:
        """Rotations (n, 3, 3) and translations (n, 3) of the outboard poses."""
        return self._stacked([body.outboard.rotation for body in self.bodies], (3, 3)), self._stacked(
            [body.outboard.translation for body in self.bodies], (3,)
        )

    @cached_property
    def to_body(self) -> Array:
        """phi*(O, B), which refers a hinge twist to the body frame and axes, (n, 6, 6)."""
        return frozen(phi(*self.outboard).mT)

    @cached_property
    def M(self) -> Array:
        """Spatial inertias in body axes, (n, 6, 6)."""
        return self._stacked([body.inertia.matrix() for body in self.bodies], (6, 6))

    def _stacked(self, parts: list[Array], shape: tuple[int, ...]) -> Array:
        return frozen(np.array(parts, dtype=np.float64).reshape(self.n, *shape))


def dof_names(name: str, hinge: Hinge) -> list[str]:
    """The names of the dofs of a hinge of that name.

    >>> from soacraft.model.hinges import Pin, Spherical
    >>> dof_names("elbow", Pin((0, 0, 1))), dof_names("hip", Spherical())
    (['elbow'], ['hip.0', 'hip.1', 'hip.2'])
    """
    return [name] if hinge.nv == 1 else [f"{name}.{i}" for i in range(hinge.nv)]
