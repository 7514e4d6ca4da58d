"""`CompliantContact`: shapes that give way, as a force for every integrator."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.contact.dynamics.rows import ContactRows, contact_rows
from soacraft.contact.dynamics.surfaces import Friction, Pairs
from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.contact_element import Touching, body_wrenches
from soacraft.sim.forces.elements import not_negative
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

#: Shapes that are in each other by more than this part of their thickness are about to leave on the other side.
_THROUGH = 0.45


class CompliantContact(Touching):
    """Contact of the shapes of a model by a force at each point, for all integrators (Hunt and Crossley 1975):

        N   = stiffness d^exponent (1 + damping ddot), never pulling          d the depth, ddot its rate
        F_t = -mu N u_t / sqrt(u_t^2 + slip^2)                                u_t the velocity of sliding

    `stiffness` is in N/m^exponent, exponent 3/2 that of Hertz for round shapes; `damping` in s/m loses a part of about
    2/3 damping u of the speed u of a light impact; `slip` in m/s is the speed up to which friction is that of a damper,
    so a body at rest on a slope creeps. Friction against spinning and rolling is part of the same square root (see
    `Contact`). `pairs` has the friction of pairs; its restitution must be 0, as that of all shapes: damping takes its
    place. A model must not be stiffer than its integrator's steps; without that wish take `Contact`, which is rigid.

    >>> import soacraft as sc
    >>> mb = sc.Multibody()
    >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
    >>> ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    >>> _ = ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    >>> soft = CompliantContact(stiffness=1e6)
    >>> soft.bind(mb)
    >>> soft.force(0.0, mb.state([0, 0, 0, 1, 0, 0, 0.0999], np.zeros(6))).round(9)[5]      # 1e6 (1e-4)^(3/2)
    np.float64(1.0)
    """

    def __init__(
        self,
        scene: Scene | None = None,
        *,
        stiffness: float,
        damping: float = 0.0,
        exponent: float = 1.5,
        friction: Friction = 0.5,
        slip: float = 1e-3,
        pairs: Pairs | None = None,
        name: str = "compliant contact",
    ) -> None:
        super().__init__(scene, friction, 0.0, pairs)
        self.name = name
        self._stiffness = not_negative(stiffness, f"stiffness of {name}")
        self._damping = not_negative(damping, f"damping of {name}")
        self._exponent = float(finite(exponent, (), f"exponent of {name}", StateError))
        self._slip = float(finite(slip, (), f"slip of {name}", StateError))
        if not self._exponent >= 1.0:
            raise StateError(f"exponent of {name} is {exponent!r}; it must be 1 or more (3/2: Hertz).")
        if not self._slip > 0.0:
            raise StateError(f"slip of {name} is {slip!r} m/s; it must be above 0: without it take sc.sim.Contact.")

    def bind(self, mb: Multibody) -> None:
        """Take the model and its shapes."""
        super().bind(mb)
        self._placed, self._surfaces = self.scene.placed, self.made_surfaces()
        shapes = self.scene.shapes.values()
        self._thick = np.array([np.inf if x.kind in ("mesh", "heightfield") else x.core.thin for x in shapes])
        for a, b in self.scene.pairs:
            e = self._surfaces.of(a, b)[1]
            if e > 0.0:
                raise ModelError(
                    f"{a!r} and {b!r} have restitution {e:g}, which compliant contact does not know: give it damping= "
                    "and take the attribute away, or use sc.sim.Contact."
                )

    def force(self, t: float, state: State) -> Array:
        """The generalized force."""
        rows, p = self._pressed(t, state)
        return np.asarray(rows.J.T @ p)

    def wrenches(self, t: float, state: State) -> dict[Any, Wrench]:
        """The wrenches on the bodies, in inertial axes."""
        rows, p = self._pressed(t, state)
        contacts, on = rows.contacts, rows.wrenches(p)
        points = 0.5 * (contacts.point_a + contacts.point_b)
        return body_wrenches(self.scene.model, state, contacts.pairs, points, on[:, :3], on[:, 3:])

    def _pressed(self, t: float, state: State) -> tuple[ContactRows, Array]:
        """The rows of the contacts, and the force along each."""
        if self.scene.placed != self._placed:
            self.bind(self.scene.model)
        rows = contact_rows(self.scene, self._surfaces, np.asarray(state.q), 0.0)
        self._require_shallow(t, rows)
        u, p = rows.J @ state.v + rows.slip, np.zeros(len(rows.J))
        for law, first, gap in zip(rows.laws, rows.normals, rows.gap, strict=True):
            N = self._stiffness * max(-gap, 0.0) ** self._exponent * max(1.0 - self._damping * u[first], 0.0)
            p[first] = N
            rows_of_contact, mu = slice(first + 1, first + law.rows), np.array(law.coefficients)
            if len(mu):
                way = mu * u[rows_of_contact]
                root = np.hypot(np.linalg.norm(way), mu[0] * self._slip)
                p[rows_of_contact] = -mu * N * way / root if root > 0.0 else 0.0
        return rows, p

    def _require_shallow(self, t: float, rows: ContactRows) -> None:
        """Raise where shapes are so deep in each other that the way out is on the other side, next."""
        c = rows.contacts
        thick = self._thick[c.a] + self._thick[c.b]
        through = np.flatnonzero((thick > 0.0) & (-rows.gap > _THROUGH * thick))
        if len(through):
            i = int(through[0])
            a, b = c.pairs[i]
            raise SimulationError(
                f"{a!r} and {b!r}, {thick[i]:.3g} m thick together, are {-rows.gap[i]:.3g} m in each other at t = "
                f"{t:.9g} s: {self.name} of {self._stiffness:g} N/m^{self._exponent:g} lets them through. Make it "
                "stiffer, or use sc.sim.Contact, which is rigid."
            )
