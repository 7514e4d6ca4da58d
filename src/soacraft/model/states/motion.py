"""`Motion`: the numbers of a graph that depend on q and v alone, shared by all states with both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from soacraft.model.flat import axes as representation
from soacraft.model.flat import realize
from soacraft.model.flat.axes import Axes
from soacraft.model.flat.layout import Layout
from soacraft.model.flat.realize import times
from soacraft.model.modal import bodies as modal_bodies
from soacraft.model.modal.bodies import WithModes
from soacraft.model.states.configuration import IDENTITY, Configuration
from soacraft.model.states.memo import Memo
from soacraft.spatial.checks import Array, frozen


class Motion:
    """All that depends on q and v: body velocities and the velocity-dependent accelerations and forces."""

    def __init__(
        self,
        configuration: Configuration,
        v: Array,
        counters: Counter[str],
        base: Callable[[], tuple[Array, Array]] | None = None,
    ) -> None:
        self.configuration, self.v, self._base = configuration, v, base
        self._memo = Memo(configuration.layout, counters, "velocity")
        self._next: Motion | None = None

    def renewed(self, layout: Layout) -> Motion:
        """Motion with these q and v and other parameters; the same object for all states that share it."""
        if self._next is None or self._next.configuration.layout is not layout:
            self._next = Motion(self.configuration.renewed(layout), self.v, self._memo.counters, self._base)
        return self._next

    @property
    def base(self) -> tuple[Array, Array] | None:
        """Velocity and acceleration, in its body axes, of the parent of the base bodies; None at rest."""
        return None if self._base is None else self._memo("base", self._base)

    @property
    def twists(self) -> Array:
        """H*(k) v(k), body axes, (..., n, 6)."""
        c = self.configuration
        return self._memo("twists", lambda: realize.hinge_twists(c.layout, c.maps, self.v))

    @property
    def V(self) -> Array:
        """Body velocities V(k) in body axes, (..., n, 6)."""
        c, base = self.configuration, self.base


        def work() -> Array:
            twists = self.twists if c.flex is None else c.flex.add_twists(self.twists, c.relative, self.v)
            return realize.scatter(c.layout, c.A, twists, None if base is None else base[0])

        return self._memo("V", work)

    @property
    def a(self) -> Array:
        """a(k) in body axes, (..., n, 6); a moving anchor's acceleration enters those of its bodies."""

        def work() -> Array:
            c = self.configuration
            a = realize.coriolis(c.layout, c.q, self.v, self.V, self.twists, c.flex)
            if c.flex is not None:
                a = c.flex.add_coriolis(a, c.relative, self.twists, self.V, self.v)
            if self.base is not None:
                for k in c.layout.tree.children(-1):
                    a[..., k, :] += times(c.A[..., k, :, :].mT, self.base[1])
            return frozen(a)

        return self._memo("a", work)

    @property
    def gyroscopic(self) -> WithModes:
        """crf(V(k)) M(k) V(k), body axes, (..., n, 6); of flexible bodies all that b has of q and v, with its modes."""
        c = self.configuration

        def work() -> WithModes:
            rigid = frozen(realize.gyroscopic(c.layout, self.V))
            if c.flex is None:
                return WithModes(rigid, {})
            return modal_bodies.velocity_forces(c.layout, c.flex, c.modal_inertias, self.V, self.v, rigid)

        return self._memo("gyroscopic", work)

    def velocities(self, axes: Axes) -> Array:
        """V(k) in the axes asked for, (..., n, 6)."""
        world = IDENTITY if axes == "body" else self.configuration.world
        return self._memo(("V", axes), lambda: representation.velocities(axes, world, self.V))

    def coriolis(self, axes: Axes) -> Array:
        """a(k) in the axes asked for, (..., n, 6)."""
        c = self.configuration
        world = IDENTITY if axes == "body" else c.world
        return self._memo(
            ("a", axes),
            lambda: representation.coriolis_in(axes, c.layout, world, c.relative, self.V, self.a),
        )
