"""`Configuration`: the numbers of a graph that depend on q alone, shared by all states with that q."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.model.flat import armature, realize
from soacraft.model.flat import axes as representation
from soacraft.model.flat.axes import Axes
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import Poses
from soacraft.model.modal import bodies as modal_bodies
from soacraft.model.modal.bodies import WithModes, not_positive, report_turns
from soacraft.model.modal.deformation import Deformation
from soacraft.model.states.gimbal_lock import gimbal_lock
from soacraft.model.states.memo import Memo
from soacraft.spatial.checks import Array, frozen
from soacraft.spatial.transforms import phi

#: Pose of the inertial frame in itself.
IDENTITY: Poses = (frozen(np.eye(3)), frozen(np.zeros(3)))


class Configuration:
    """All that depends on q only: poses, edges, hinge maps and inertias in each representation."""

    def __init__(
        self, layout: Layout, q: Array, counters: Counter[str], base: Callable[[], Poses] | None = None
    ) -> None:
        self.layout, self.q, self._base = layout, q, base
        self._memo = Memo(layout, counters, "configuration")
        self._next: Configuration | None = None

    def renewed(self, layout: Layout) -> Configuration:
        """Configuration with this q and other parameters; the same object for all states that share it."""
        if self._next is None or self._next.layout is not layout:
            self._next = Configuration(layout, self.q, self._memo.counters, self._base)
        return self._next

    @property
    def flex(self) -> Deformation | None:
        """Poses and twists of hinges at the modal coordinates; None for a tree of rigid bodies."""
        if self.layout.rigid:
            return None
        return self._memo("flex", self._deformed)

    def _deformed(self) -> Deformation:
        made = Deformation(self.layout, self.q)
        report_turns(self.layout, made)
        return made

    @property
    def modal_inertias(self) -> dict[int, Array]:
        """M(eta) of the flexible bodies, by number, in body axes."""
        flex = self.flex
        return {} if flex is None else self._memo("modal", lambda: modal_bodies.inertias(self.layout, flex))

    @property
    def M(self) -> Array:
        """The six of M(k) in body axes, (..., n, 6, 6)."""
        if self.layout.rigid:
            return self.layout.M
        batch = self.q.shape[:-1]
        return self._memo("M", lambda: modal_bodies.rigid_parts(self.layout, self.modal_inertias, batch))

    @property
    def relative(self) -> Poses:
        """Each body frame in its parent's, R (..., n, 3, 3) and l (..., n, 3)."""
        return self._memo("relative", lambda: realize.relative_poses(self.layout, self.q, self.flex))

    @property
    def world(self) -> Poses:
        """Each body frame in the inertial frame."""
        return self._memo("world", lambda: realize.world_poses(self.layout, self.relative, self.base))

    @property
    def base(self) -> Poses:
        """The pose of the parent of the base bodies."""
        return IDENTITY if self._base is None else self._memo("base", self._base)

    @property
    def A(self) -> Array:
        """phi(p(k), k) in body axes for every body, base bodies included, (..., n, 6, 6)."""
        return self._memo("A", lambda: frozen(phi(*self.relative)))

    @property
    def maps(self) -> tuple[Array, ...]:
        """H*(k) in body axes by hinge group."""
        return self._memo("maps", lambda: realize.hinge_maps(self.layout, self.q, self.flex))

    def projected(self, forces: WithModes) -> Array:
        """H phi x for forces on bodies and their modes, in body axes: what they amount to along the dofs, (..., nv)."""
        force, f = realize.projected(self.layout, self.A, self.maps, forces.bodies)
        return force if self.flex is None else self.flex.add_forces(force, self.relative, f, forces.modes)

    def edges(self, axes: Axes) -> list[Array | None]:
        """A(p(k), k) by k."""

        def work() -> list[Array | None]:
            A = self.A if axes == "body" else np.empty((0, 6, 6))
            world = IDENTITY if axes == "body" else self.world
            edges = armature.edges(self.layout, representation.edges(axes, self.layout, A, self.relative, world))
            if self.flex is None:
                return edges
            return representation.modal_edges(axes, self.layout, edges, self.flex.edges(self.relative), world)

        return self._memo(("edges", axes), work)

    def hinges(self, axes: Axes) -> list[Array]:
        """H(k) by k."""
        world = IDENTITY if axes == "body" else self.world

        def work() -> list[Array]:
            hinges = armature.hinges(self.layout, representation.hinges(axes, self.layout, self.maps, world))
            if self.flex is None:
                return hinges
            return representation.modal_hinges(axes, self.layout, hinges, self.flex.hinges, world)

        return self._memo(("hinges", axes), work)

    def inertias(self, axes: Axes) -> list[Array]:
        """M(k) by k."""
        world = IDENTITY if axes == "body" else self.world

        def work() -> list[Array]:
            inertias = armature.inertias(self.layout, representation.inertias(axes, self.layout, world))
            return representation.modal_inertias(axes, inertias, self.modal_inertias, world)

        return self._memo(("inertias", axes), work)

    def lock(self, k: int, where: tuple[int, ...]) -> str | None:
        """Message for the hinge of body k in one state of the batch if it is in gimbal lock, or for a flexible body
        that is bent too far; None otherwise.
        """
        bent = self.bent_too_far(where)
        if bent is not None:
            return bent
        body, q = self.layout.bodies[k], self.q[..., self.layout.hinge_q[k]]
        return gimbal_lock(body.hinge, body.hinge_name, q[where]) if len(where) == q.ndim - 1 else None

    def bent_too_far(self, where: tuple[int, ...]) -> str | None:
        """Message for a flexible body whose inertia is not positive in one state of the batch; None otherwise."""
        for k, M in self.modal_inertias.items():
            assert self.flex is not None
            eta = self.flex.eta(k)
            told = not_positive(self.layout, k, M[where], eta[where]) if len(where) == eta.ndim - 1 else None
            if told is not None:
                return told
        return None

    def derived(self, axes: Axes) -> dict[str, Any]:
        """The store for what recursions derive from A, H and M in these axes."""
        return self._memo(("derived", axes), dict)
