"""`Impacts`: contact by events, for few shapes that bounce and do not rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.contact.dynamics.restitution import (
    ORDER,
    RESTITUTION,
    ImpactLaw,
    Order,
    Restitution,
    resolve,
    resolve_in_turn,
)
from soacraft.contact.dynamics.rows import contact_rows
from soacraft.contact.dynamics.surfaces import Friction, Pairs
from soacraft.contact.geometry.scene import Scene
from soacraft.errors import SimulationError, StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.contact_element import Touching, closures, read_choice, read_tolerance
from soacraft.sim.forces.contact_steps import ContactStep, step_of
from soacraft.spatial.checks import Array
from soacraft.spatial.wrench import Wrench

#: Shapes nearer than this part of the size of the smaller one touch: what locating an event leaves.
_TOUCH = 1e-7
#: A point that leaves at less than this part of the speed of the impact rests.
_RESTS = 1e-9


class Impacts(Touching):
    """Impacts of the shapes of a model as events, located to the accuracy of the integrator, for all integrators.

    Between impacts the motion is smooth; at each, all shapes that touch get the impulses of one contact problem, with
    friction and restitution as `Contact` has them. What comes to rest on something is refused, and so are hops without
    end (Zeno): both need steps, `Contact` with integrator="moreau". `impacts` lists what happened.

    A ball from 1 m, e = 0.5, meets the floor at .4515236410 and .9030472820 s:

    >>> import soacraft as sc
    >>> mb = sc.Multibody(gravity=(0, 0, -9.81))
    >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
    >>> ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    >>> _ = ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    >>> mb.set_state([0, 0, 0, 1, 0, 0, 1.1], np.zeros(6))
    >>> p = sc.sim.Propagator(mb, rtol=1e-10)
    >>> bounces = Impacts(restitution=0.5)
    >>> p.add(bounces)
    >>> run = p.advance_to(1.0)
    >>> [round(x.t, 9) for x in bounces.impacts]
    [0.451523641, 0.903047282]
    """

    name = "impacts"
    #: Cause of shapes that are in each other at the end of a step.
    below = (
        "shapes are in each other, and no impact was seen: it is looked for in quarters of steps; take shorter steps, "
        "or use sc.sim.Contact with integrator='moreau'."
    )

    def __init__(
        self,
        scene: Scene | None = None,
        *,
        friction: Friction = 0.5,
        restitution: float = 0.0,
        pairs: Pairs | None = None,
        law: Restitution = "energy",
        order: Order = "simultaneous",
        tolerance: float = 1e-10,
    ) -> None:
        super().__init__(scene, friction, restitution, pairs)
        read_choice(law, "law", RESTITUTION)
        read_choice(order, "order", ORDER)
        self._law = ImpactLaw(law, order, read_tolerance(tolerance))
        self.impacts: list[ContactStep] = []

    def bind(self, mb: Multibody) -> None:
        """Take the model and its shapes."""
        super().bind(mb)
        self._surfaces = self.made_surfaces()
        sizes = [x.extent for x in self.scene.shapes.values() if 0.0 < x.extent < np.inf]
        self._near = _TOUCH * min(sizes, default=1.0)
        self.impacts.clear()
        self._last: dict[tuple[str, str], float] = {}  # when pairs struck last

    def force(self, t: float, state: State) -> Array:
        """Zero force: nothing acts between impacts."""
        return np.zeros(self._mb.nv)

    def wrenches(self, t: float, state: State) -> Mapping[Any, Wrench]:
        """None between impacts."""
        return {}

    def gap(self, t: float, state: State) -> float:
        """The least distance: where it falls through zero something strikes."""
        return float(self.scene.distances(state.q).distance.min(initial=np.inf))

    def begin_run(self, q: Array) -> None:
        """Refuse a start in touch or penetration."""
        self._last = {}
        rows = self.scene.distances(q, self._near)
        if len(rows):
            row = min(rows, key=lambda x: x.distance)
            raise StateError(
                f"the run begins with {row.a!r} and {row.b!r} in touch (a distance of {row.distance:.3g} m); impacts "
                "are of shapes that come from apart: move them, or use sc.sim.Contact with integrator='moreau'."
            )

    def strike(self, t: float, state: State) -> None:
        """Impulses of all that touches now: the model's velocities after them."""
        mb, q, v = self._mb, np.array(state.q), np.array(state.v)
        rows = contact_rows(self.scene, self._surfaces, q, self._near)
        u = (rows.J @ v + rows.slip)[rows.normals]

        def solve_mass(X: Array) -> Array:
            return np.asarray(dyn.mass_matrix_solve(mb, q, X.T, ignore_loops=True)).T

        held = closures(mb, q) if mb.is_closed else None
        still = np.zeros(len(rows))
        if self._law.order == "sequential":
            done = resolve_in_turn(rows, solve_mass, v, v, still, held, self._law)
        else:
            done = resolve(rows, solve_mass, v, u, still, held, self._law)
        if done.impulses is None:
            return
        after = (rows.J @ done.v + rows.slip)[rows.normals]
        rests = after <= _RESTS * float(np.abs(u).max())
        if rests.any():
            a, b = rows.contacts.pairs[int(np.argmax(rests))]
            raise SimulationError(
                f"{a!r} and {b!r} stay in touch after an impact at t = {t:.9g} s: impacts as events know no rest and "
                "no sliding; use sc.sim.Contact with integrator='moreau', or a restitution above 0."
            )
        self._refuse_zeno(t, rows.contacts.pairs, u)
        self.impacts.append(step_of(t, rows, done, self.scene.names))
        mb.v = done.v

    def _refuse_zeno(self, t: float, pairs: list[tuple[str, str]], u: Array) -> None:
        """Raise where a pair hops lower than a touch: a hop of length dt that ends at speed u is u dt / 4 high."""
        for pair, speed in zip(pairs, u, strict=True):
            height = 0.25 * abs(float(speed)) * (t - self._last.get(pair, -np.inf))
            if height < self._near:
                raise SimulationError(
                    f"{pair[0]!r} and {pair[1]!r} hop without end (Zeno): the last hop was of {height:.2g} m. They "
                    "come to rest: use sc.sim.Contact with integrator='moreau', which takes steps through it."
                )
            self._last[pair] = t

    def __repr__(self) -> str:
        return f"Impacts of {self._coefficients()}, {len(self.impacts)} so far"
