"""A model in motion as a problem for integrators: coordinates, velocities and the work of every force.

    x = [q; v; work; z],    rates = [v; a; T_1 . v, T_2 . v, ...; zdot]

with z the states of components that are carried along, and vdot by forward dynamics of the tree, mixed dynamics where
motions are prescribed, or a solver of closed chains. a is vdot, but the travel of what is free has a = vdot + w x v,
the rate of its velocity in inboard axes. What floats feels no constant velocity: its a is that of v = 0 there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StaleError
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim import jacobian
from soacraft.sim.breaks import ALWAYS
from soacraft.sim.carried import Carried, CompiledCarried
from soacraft.sim.clock import without_rounding
from soacraft.sim.closed import Chain, Closed, Stabilized, rolling_closure
from soacraft.sim.floating_dofs import floating_dofs
from soacraft.sim.forces.compiled_holds import CompiledHolds, compiled_holds
from soacraft.sim.forces.compiled_prescribed import (
    NUMBERS,
    REST,
    CompiledPrescribed,
    Guide,
    compiled_prescribed,
    guides_of,
)
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_element import Touching
from soacraft.sim.forces.control_laws import ControlLaws
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.evaluation import is_function
from soacraft.sim.forces.hinge_rows import HingeRow, HingeRows, as_hinge_rows
from soacraft.sim.forces.holds import Hold, Holding, holding_forces
from soacraft.sim.forces.loads import Load, Passive, Stored
from soacraft.sim.forces.prescribed import Prescribed
from soacraft.sim.forces.varying_mass import NODES, SLOPES, WEIGHTS, VaryingMass
from soacraft.sim.implicit import Implicit
from soacraft.sim.integrators.manifold import Coordinates, Motions, Product, Vectors
from soacraft.sim.integrators.steps import Step
from soacraft.sim.model_facts import ModelFacts
from soacraft.sim.runs.force_columns import ForceColumns
from soacraft.spatial.checks import Array
from soacraft.spatial.inertia import Inertia

#: A dof is judged by its own speed, but by no less than this part of the fastest.
_SLOWEST = 1e-3
#: Held dofs whose compliance has a smaller part of its largest one are tied to each other by closures, or nearly so.
_LOOSE = 1e-6
#: Times closer than this are one instant: times of runs are whole nanoseconds.
_INSTANT = 0.5e-9
#: A force that is evaluated again where it was evaluated before is the same to this part of it.
_REPEATED = 1e-9
#: What settling moves by less, in radians or lengths of the model, or in parts of the fastest, is rounding.
_SAME = 1e-14


class Told(NamedTuple):
    """Conditions under which a step was taken: what may be other ones in the next."""

    motions: Prescribed | None
    """The motions prescribed then."""
    model: tuple[int, int]
    """The versions of the model."""
    edition: int
    """The edition of the loads."""
    numbers: tuple[float, ...]
    """The numbers of controls that are numbers."""
    modes: tuple[float, ...]
    """The modes of loads that hold: sides and directions."""
    stored: tuple[Any, ...]
    """The forces of `mb.set_force`, by node."""


class Mechanism:
    """The problem: a model, what pushes it, the motions it is given, and the solver of its closures, if any."""

    def __init__(
        self,
        mb: Multibody,
        loads: Sequence[Load] = (),
        prescribed: Prescribed | None = None,
        closed: Closed | None = None,
        carried: Carried | None = None,
    ) -> None:
        self.mb, self.closed, self.carried = mb, closed, carried
        self._placed: tuple[float, Array] | None = None  # where the values of what is carried are
        self._loads = [x for x in loads if not isinstance(x, Contact)]
        self.contact = next((x for x in loads if isinstance(x, Contact)), None)
        """What touches: the method asks it for impulses."""
        if self.contact is not None:
            self._loads = as_hinge_rows(self._loads, mb)
            self.take_contact()
        self.edition = 0
        """How often a load was replaced."""
        self.servos: tuple[int, list[int]] | None = None
        """The places among the loads of actuators whose forces vary with the state of one dof, of an edition."""
        self._laws: dict[int, ControlLaws] = {}  # of some controls, by how many they are
        self._compliance: tuple[tuple[Any, ...], Array] | None = None  # at the coordinates where it was asked for last
        self._values: tuple[float, bytes, list[Load]] | None = None  # loads with what functions gave
        self._parameters = mb.parameters
        self._facts = ModelFacts(mb)
        self._stored = mb.acting_forces
        self.is_flexible = bool(mb.layout.flexible)
        """True if a body has modes."""
        self._columns: dict[int, ForceColumns] = {}  # of the last edition that was asked for
        self.holds = Holding(self, [x for x in self._loads if getattr(x, "switches", False)])  # type: ignore[misc]
        given = prescribed is not None and bool(prescribed.dofs)
        self._prescribed = (prescribed or Prescribed(mb)) if given or self.holds.all else None
        # act in the dynamics functions: only their work is counted here. The model may get them while a run goes on
        self._silent: list[Load] = [Stored(), Passive()] if mb.nv else []
        self._varying = VaryingMass(carried.weighs) if carried is not None and carried.weighs else None
        self._span = ALWAYS  # the times at which functions are evaluated
        self.ticks_first = False
        """True before the first tick of a run: masses are those of the model, as nothing that ticks gave one yet."""
        self._reweighed = 0  # by how much the version of the parameters grew by masses that vary
        if self._varying is not None:
            self._silent.append(self._varying)
        for load in self._silent:
            load.bind(mb)
        if self.contact is not None:
            self._silent.append(self.contact)
        pushing = () if carried is None else carried.names
        self.count = len(self._loads) + len(pushing)
        """How many loads there are: the first of `names`."""
        self.names = (*(x.name for x in self._loads), *pushing, *(x.name for x in self._silent))
        if given:
            self.names += ("prescribed",)
        self._given = given
        self.coordinates = Coordinates(mb)
        rest = len(self.names) + (0 if carried is None else carried.size)
        self.motions = Motions(self.coordinates)
        self.manifold = Product([self.motions, Vectors(rest)])
        self.floating = floating_dofs(mb, () if prescribed is None else prescribed.dofs)
        """Which dofs are the travel of bodies that float, (nv)."""
        self._floats = bool(self.floating.any())
        self.sizes = (mb.nq, self.coordinates.size, mb.nv)
        if carried is not None and closed is not None:
            carried.close_by(self.multipliers)

    def take_contact(self) -> None:
        """Let the contact have the rows of these loads: it may have acted among others since."""
        if self.contact is not None:
            self.contact.take_rows(HingeRows.of(self._loads))

    def replace(self, old: Load, new: Load) -> None:
        """Let a load take the place of another of the same name."""
        self._loads[self._loads.index(old)] = new
        self.edition, self._values = self.edition + 1, None

    @property
    def parameters(self) -> int:
        """Version of the parameters of the model that it was made for, with the changes by masses that vary."""
        return self._parameters + self._reweighed

    @property
    def acting(self) -> tuple[object, ...]:
        """An account of what acts now, to be compared with a later one: how often loads were replaced, the numbers of
        controls, and the forces of `mb.set_force`."""
        numbers = self._numbers if self._loads else ()
        if not self._stored:
            return self.edition, numbers, frozenset()
        stored = [(node, w.expressed_in, np.asarray(w).tobytes()) for node, w in self._stored.items()]
        return self.edition, numbers, frozenset(stored)

    @property
    def _numbers(self) -> tuple[float, ...]:
        """The numbers of controls that are numbers."""
        return tuple([x.number for x in self._loads if isinstance(x, Control) and x.is_number])

    @property
    def loads(self) -> Sequence[Load]:
        """What acts besides what the model has itself; functions as they are held (`hold_functions`)."""
        return self._loads if self._values is None else self._values[2]

    @property
    def functions_and_controls(self) -> Sequence[Load]:
        """The loads as they were given, with functions that are not held."""
        return self._loads

    def hold_functions(self, t: float, x: Array) -> None:
        """Call the user's functions at a point, and hold what they give until the next call: steps with contact take
        them once. At the same instant and state they are not called again."""
        if not self.has_functions:
            return
        q, v, _ = self.parts(x)
        bits = q.tobytes() + v.tobytes()
        if self._values is not None and abs(self._values[0] - t) < _INSTANT and self._values[1] == bits:
            return
        self._values = None
        seen, state = self.seen(without_rounding(t)), self.mb.state(q, v)
        self._values = t, bits, [x.held(seen, state) if is_function(x) else x for x in self._loads]  # type: ignore[attr-defined]

    def laws_of(self, controls: Sequence[Control]) -> ControlLaws:
        """The laws of some controls as arrays; at least one."""
        laws = self._laws.get(len(controls))
        if laws is None or not laws.are_of(controls):
            laws = self._laws[len(controls)] = ControlLaws.of(controls)
        return laws

    @property
    def has_functions(self) -> bool:
        """True if a load is a function that the user wrote."""
        return bool(self._loads) and any(is_function(load) for load in self._loads)

    @property
    def force_columns(self) -> ForceColumns:
        """The entries of forces that may differ from zero, of the loads as they are now."""
        if self.edition not in self._columns:
            self._columns.clear()
            self._columns[self.edition] = ForceColumns.of(self)
        return self._columns[self.edition]

    def release_functions(self) -> None:
        """Let functions be called at every evaluation again."""
        self._values = None

    @contextmanager
    def functions_at(self, t: float, x: Array | None) -> Iterator[None]:
        """For a while functions are called at every evaluation, or (at a point x) held as they are there."""
        before, self._values = self._values, None
        try:
            if x is not None:
                self.hold_functions(t, x)
            yield
        finally:
            self._values = before

    @property
    def facts(self) -> ModelFacts:
        """Facts of the model as it is now."""
        if self._facts.revision != self.mb.revision:
            self._facts = ModelFacts(self.mb)
        return self._facts

    @property
    def has_passive(self) -> bool:
        """Whether the model has springs, dampers and the like now."""
        return self.facts.has_passive

    @property
    def is_told(self) -> bool:
        """Whether dofs move as told, or may stick."""
        return self._prescribed is not None

    def energy(self, x: Array) -> float:
        """Kinetic, potential, and that of springs."""
        mb, (nq, _, nv) = self.mb, self.sizes
        q, v = x[:nq], x[nq : nq + nv]
        moving, stored = dyn.kinetic_energy(mb, q, v, ignore_loops=True), dyn.potential_energy(mb, q, ignore_loops=True)
        springs = dyn.passive_energy(mb, q, ignore_loops=True) if self.facts.has_passive else 0.0
        return float(moving + stored + springs)

    def mechanical_energy(self, x: Array) -> float:
        """Kinetic and potential: what grows by the work of all forces, springs included."""
        q, v, _ = self.parts(x)
        moving = dyn.kinetic_energy(self.mb, q, v, ignore_loops=True)
        return float(moving + dyn.potential_energy(self.mb, q, ignore_loops=True))

    @property
    def told(self) -> Any:
        """Which dofs move as told, (nv)."""
        return self._prescribed.mask if self._prescribed is not None else np.zeros(self.mb.nv, dtype=bool)

    def require_plain(self, method: str) -> None:
        """Raise for a method that takes holonomic hinges and closures, and motions that nothing prescribes."""
        for body in self.mb.bodies:
            if not body.hinge.holonomic:
                raise ModelError(
                    f"{method} takes holonomic hinges, but hinge {body.hinge_name!r} of {self.mb.name!r} is a "
                    f"{type(body.hinge).__name__}; use 'rk4' or 'dop853'."
                )
        name, cure = self.mb.name, "use 'rk4' or 'dop853'"
        if self.rolls:
            raise ModelError(f"{method} takes holonomic closures, but {self.rolls!r} of {name!r} rolls; {cure}.")
        if isinstance(self.closed, Stabilized):
            raise ModelError(
                f"{method} keeps closures by impulses, so stabilization='baumgarte' has no place in it; leave that out."
            )
        if self._prescribed is not None:
            raise ModelError(f"{method} takes free motions, and {name!r} has prescribed or sticking dofs; {cure}.")

    def point(self, q: Array, v: Array, rest: Array | None = None) -> Array:
        """The state as one array. `rest` is the work, and behind it the states that are carried along; where it has
        none, those at present."""
        rest = np.zeros(len(self.names)) if rest is None else rest
        if self.carried is not None and len(rest) == len(self.names):
            return np.concatenate([q, v, rest, self.carried.present])
        return np.concatenate([q, v, rest])

    def parts(self, x: Array) -> tuple[Array, Array, Array]:
        """q, v and the rest: the work done, and the states that are carried along."""
        nq, _, nv = self.sizes
        return x[:nq], x[nq : nq + nv], x[nq + nv :]

    def tangent(self, q: Array, v: Array) -> Array:
        """The velocity as a tangent vector of the coordinates."""
        return self.coordinates.tangent(q, v)

    def work_of(self, x: Array) -> Array:
        """The work done."""
        at = self.sizes[0] + self.sizes[2]
        return x[..., at : at + len(self.names)]

    def carried_of(self, x: Array) -> Array:
        """The states that are carried along."""
        return x[..., self.sizes[0] + self.sizes[2] + len(self.names) :]

    def see(self, span: tuple[float, float]) -> None:
        """Evaluate functions of time within a span, until another one is given: those beyond are taken for the nearer
        end (`breaks.window`)."""
        if span != self._span:
            self._span = span
            self.displaced()

    def seen(self, t: float) -> float:
        """The time at which functions are evaluated for those of a time."""
        first, last = self._span
        return min(max(t, first), last)

    def place(self, t: float, x: Array) -> None:
        """Let what is carried along have the values of a point, and bodies the masses that it gives there."""
        if self.carried is not None:
            self._place(self.seen(t), x)

    def _place(self, t: float, x: Array) -> None:
        if self.carried is None or (self._placed is not None and self._placed[1] is x and self._placed[0] == t):
            return
        q, v, rest = self.parts(x)
        self._placed = None
        self.carried.place(t, q, v, rest[len(self.names) :])
        if self._varying is not None and not self.ticks_first:
            grown = self._varying.set(self.carried.masses())
            self._reweighed += grown
        self._placed = t, x

    def margins(self, t: float, x: Array) -> Sequence[float]:
        """The functions of the crossings of what is carried along."""
        assert self.carried is not None
        self.place(t, x)
        return self.carried.margins(lambda: self._solved(t, *self.parts(x)[:2])[0])

    def tick(self, ns: int, t: float, x: Array) -> None:
        """Let what is carried along tick."""
        assert self.carried is not None
        self.place(t, x)
        self.carried.tick(ns, lambda: self._solved(t, *self.parts(x)[:2])[0])
        self._placed, self.ticks_first = None, False

    def jumped(self, t: float, x: Array, names: Sequence[str]) -> Array:
        """The point after crossings of what is carried along."""
        assert self.carried is not None
        self.margins(t, x)
        z = self.carried.jump(names, self.carried_of(x))
        self._placed = None
        return np.concatenate([x[: len(x) - len(z)], z])

    @property
    def varies(self) -> bool:
        """True if masses of bodies are functions of time and state."""
        return self._varying is not None

    @property
    def memoryless(self) -> bool:
        """True if forces and rates depend on a point and on the conditions of its step alone: no clocks and crossings,
        no contacts that components feel, no masses that vary."""
        carried = self.carried
        return carried is None or not (
            self.varies or carried.crossings or carried.feels or carried.next_tick is not None
        )

    @property
    def masses(self) -> Array | None:
        """Masses that vary, as they were placed last; None where none does."""
        return None if self._varying is None else self._varying.masses

    def weighed(self, step: Step) -> Step:
        """A step whose end has the work of masses that varied in it: integral of e dm. Bodies have those of its end."""
        if self._varying is None or step.weighed or step.h <= 0.0:
            return step
        points = [step.at(float(theta)) for theta in NODES]
        masses = []
        for theta, x in zip(NODES, points, strict=True):
            self.place(step.t0 + float(theta) * step.h, x)
            masses.append(self._varying.masses)
        m = np.array(masses)
        if not (m != m[0]).any():
            return step
        nq, _, nv = self.sizes
        X = np.array(points)
        energies = self._varying.energies(X[:, :nq], X[:, nq : nq + nv])
        work = float(WEIGHTS @ (energies * (SLOPES @ m)).sum(axis=1))
        return replace(step, x1=self._with_mass_work(step.x1, work))

    def reweighed(self, t: float, x: Array, before: Array) -> Array:
        """The point after masses jumped there from those before: velocities are kept, e times the jump is work."""
        assert self._varying is not None
        self.place(t, x)
        jump = self._varying.masses - before
        if not jump.any():
            return x
        return self._with_mass_work(x, float(self._varying.energies(*self.parts(x)[:2]) @ jump))

    def grown(self, t0: float, x0: Array, t1: float, x1: Array) -> tuple[float, float]:
        """By how much the mechanical energy grew between two points, and the part of it by masses that vary, with the
        mean of e of both ends. Bodies have the masses of the second point."""
        if self._varying is None:
            return self.mechanical_energy(x1) - self.mechanical_energy(x0), 0.0
        ends = []
        for t, x in ((t0, x0), (t1, x1)):
            self.place(t, x)
            e = self._varying.energies(*self.parts(x)[:2])
            ends.append((self.mechanical_energy(x), self._varying.masses, e))
        (before, m0, e0), (after, m1, e1) = ends
        return after - before, float(0.5 * (e0 + e1) @ (m1 - m0))

    def mass_slopes(self, t: float, q: Array, v: Array, vdot: Array) -> Array:
        """How the force that accelerations vdot take, less that of the loads, varies with each mass, (nv, masses). It
        is linear in them: the difference at twice the mass is exact."""
        assert self._varying is not None

        def needed() -> Array:
            loads = sum((x.force(t, state) for x in self.loads), start=np.zeros(len(v)))
            return np.asarray(self.inverse_dynamics(q, v, vdot) - loads)

        columns, state = [], self.mb.state(q, v)
        for body, mass in zip(self._varying.bodies, self._varying.masses, strict=True):
            inertia = body.inertia
            body.inertia, state = Inertia(2.0 * mass, inertia.com, 2.0 * inertia.moment), self.mb.state(q, v)
            try:
                doubled = needed()
            finally:
                body.inertia, state = inertia, self.mb.state(q, v)
            columns.append((doubled - needed()) / mass)
        return np.array(columns).reshape(-1, len(v)).T

    def _with_mass_work(self, x: Array, work: float) -> Array:
        x = np.array(x)
        x[self.sizes[0] + self.sizes[2] + self.names.index(VaryingMass.name)] += work
        return x

    def displaced(self) -> None:
        """What is carried along has other values now, as after a tick."""
        self._placed = None

    def rates(self, t: float, x: Array) -> Array:
        """[v; a; powers; rates of what is carried along]."""
        q, v, _ = self.parts(x)
        if self.carried is None:
            if self._prescribed is not None or self._busy:
                a, forces = self._inertial(t, q, v)
                forces = forces if self.contact is None else self._with_rows(forces)
                return np.concatenate([self.tangent(q, v), a, forces @ v])
            vdot = self._calm_accelerations(q, v, np.zeros(len(v)))
            a = self.coordinates.straight(self._calm(v) if self._floats else v, vdot)
            return np.concatenate([self.coordinates.tangent(q, v), a, np.zeros(len(self.names))])
        self.place(t, x)
        if self._prescribed is not None or self._busy:
            a, forces = self._inertial(t, q, v)
            powers = (forces if self.contact is None else self._with_rows(forces)) @ v
            return np.concatenate([self.tangent(q, v), a, powers, self.carried.rates(self.coordinates.own(v, a))])
        total, powers = self.carried.total(q, v)  # nothing else acts
        a = self._straight(v, self._calm_accelerations(q, v, total))
        idle = np.zeros(len(self.names) - len(powers))
        zdot = self.carried.rates(self.coordinates.own(v, a))
        return np.concatenate([self.tangent(q, v), a, powers, idle, zdot])

    def vdot_of(self, x: Array, w: Array) -> Array:
        """vdot of points with rates w, (..., nv)."""
        nq, nt, nv = self.sizes
        return self.coordinates.own(x[..., nq : nq + nv], w[..., nt : nt + nv])

    def varying(self, w: Array) -> Array:
        """A tangent vector without the travel of what floats, which a constant velocity has, too."""
        if not self._floats:
            return w
        part = np.array(w)
        part[: self.mb.nv][self.floating] = 0.0
        return part

    def _calm(self, v: Array) -> Array:
        """v without that of what floats."""
        return np.where(self.floating, 0.0, v) if self._floats else v

    def _damped(self, q: Array, v: Array) -> Array:
        """What springs and dampers give more at v than at the calm v, (nv)."""
        if not (self._floats and self.has_passive):
            return np.zeros(len(v))
        at_v, at_calm = (dyn.passive_force(self.mb, q, x, ignore_loops=True) for x in (v, self._calm(v)))
        return np.asarray(at_v - at_calm)

    def _calm_accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """Accelerations at the calm v, under forces as they are at v."""
        if not self._floats:
            return self.accelerations(q, v, force)
        if not self.has_passive:
            return self.accelerations(q, self._calm(v), force)
        if self.closed is not None:
            return self.accelerations(q, self._calm(v), force + self._damped(q, v))
        total = force + dyn.passive_force(self.mb, q, v)
        return dyn.forward_dynamics(self.mb, q, self._calm(v), total, passive=False)

    def _straight(self, v: Array, vdot: Array) -> Array:
        """a, from accelerations at the calm v."""
        return self.coordinates.straight(self._calm(v) if self._floats else v, vdot)

    def implicit_rates(self, t: float, x: Array, implicit: Implicit) -> Array:
        """The same with forces of single dofs taken implicitly."""
        q, v, _ = self.parts(x)
        self.place(t, x)
        vdot, forces = implicit.applied(t, q, v, *self._solved(t, q, v))
        carried = np.zeros(0) if self.carried is None else self.carried.rates(vdot)
        return np.concatenate([self.tangent(q, v), self.coordinates.straight(v, vdot), forces @ v, carried])

    def all_forces(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of everything in `names`, (names, nv)."""
        return self._forces(t, q, v) if self._prescribed is None else self._solved(t, q, v)[1]

    def recorded_forces(self, t: float, q: Array, v: Array) -> Array:
        """The same as rows of a run have them: with what stops and friction pressed with in the last step, where they
        are rows of the contact problem. They have acted then."""
        return self._with_rows(self.all_forces(t, q, v))

    def _with_rows(self, forces: Array) -> Array:
        for load, number, force in () if self.contact is None else self.contact.row_forces:
            forces[load, number] += force
        return forces

    def forces_with(self, t: float, q: Array, v: Array, reaction: Array) -> Array:
        """The same where the force of prescribed motions is known."""
        forces = self._forces(t, q, v)
        return np.concatenate([forces, [reaction]]) if self._given else forces

    def load_force(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of the loads, (nv): of what the dynamics functions do not know."""
        if self.carried is not None:
            return np.asarray(self._forces(t, q, v)[: self.count].sum(axis=0))
        if not self._loads:
            return np.zeros(self.mb.nv)
        t, state = self.seen(t), self.mb.state(q, v)
        return np.asarray(sum(x.force(t, state) for x in self.loads))

    def require_sides(self, step: Step) -> None:
        """Refuse a step that may lead shapes through each other which touch by forces or events."""
        for load in self._loads:
            if isinstance(load, Touching):
                load.require_sides(step.t0, step.h, self.parts(step.x0)[:2], self.parts(step.x1)[:2])

    def force_for(self, q: Array, v: Array, a: Array) -> Array:
        """The generalized force of the tree for rates a of the velocities, its own springs and dampers counted."""
        calm = self._calm(v)
        return self.inverse_dynamics(q, calm, self.coordinates.own(calm, a)) - self._damped(q, v)

    def inverse_dynamics(self, q: Array, v: Array, vdot: Array) -> Array:
        """The generalized force of the tree for given accelerations, its own springs and dampers counted."""
        return dyn.inverse_dynamics(self.mb, q, v, vdot, ignore_loops=True)

    @property
    def closes(self) -> bool:
        """Whether there are closures."""
        return self.closed is not None

    @property
    def given(self) -> Prescribed | None:
        """The motions that are prescribed, if any."""
        return self._prescribed if self._given else None

    def compiled_prescribed(self, carried: CompiledCarried | None = None) -> CompiledPrescribed | None:
        """The prescribed and held dofs for compiled steps, which walk through `carried`; None where motions follow from
        forces alone."""
        if self._prescribed is None:
            return None
        names = self.mb.dof_names
        slots = {} if carried is None else {names.index(dof): slot for dof, slot in carried.motions.items()}
        guides = guides_of(self._prescribed.guides, slots)
        for x in self.holds.active:
            held = REST if x.guide is None else NUMBERS
            guides.append(Guide(x.number, x.place, self._loads.index(x), held, numbers=x.guide or (0.0, 0.0, 0.0)))
        return compiled_prescribed(sorted(guides, key=lambda x: x.dof), self._given)

    def chain(self, q: Array, v: Array) -> Chain | None:
        """The solver of a closed chain for compiled steps; None of a tree, and where Python must look first: closures
        tie dofs that are held to each other, or nearly so."""
        if self.closed is None:
            return None
        held = [x.number for x in self.holds.active]
        dofs = sorted([*held, *self.prescribed_dofs])
        if held:
            Y = self.compliance(q)[np.ix_(dofs, dofs)]
            size = np.sqrt(np.maximum(np.diag(Y), np.finfo(float).tiny))
            values = np.linalg.eigvalsh(Y / size / size[:, None])
            if values[0] <= _LOOSE * values[-1]:
                return None
        return self.closed.chain(q, v, dofs)

    def compiled_holds(self) -> CompiledHolds | None:
        """The loads that may hold a dof, for compiled steps; None where there are none."""
        holds = self.holds.all
        return compiled_holds(holds, [self._loads.index(x) for x in holds]) if holds else None

    def violations(self, q: Array, v: Array) -> Array:
        """How far the closures are open, at each of many states."""
        if self.closed is None:
            return np.zeros(len(q))
        return np.array([self.closed.violation(*one) for one in zip(q, v, strict=True)])

    def _solved(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """vdot, and all forces."""
        a, forces = self._inertial(t, q, v)
        return self.coordinates.own(v, a), forces

    def _inertial(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """a, and all forces."""
        forces = self._forces(t, q, v)
        total = forces[: self.count].sum(axis=0)
        if self._prescribed is None:
            return self._straight(v, self._calm_accelerations(q, v, total)), forces
        vdot, forces = self._under(t, q, self._calm(v), total + self._damped(q, v), forces)
        return self._straight(v, vdot), forces

    def _under(self, t: float, q: Array, v: Array, total: Array, forces: Array) -> tuple[Array, Array]:
        """Accelerations under a total force, and all forces with those of what holds and what prescribes."""
        assert self._prescribed is not None
        held = self.holds.active
        mask = np.array(self._prescribed.mask)
        mask[[x.number for x in held]] = True
        if not mask.any():
            vdot, reaction = self.accelerations(q, v, total), np.zeros(len(v))
        elif self.closed is not None and held:
            vdot, reaction = self._held(t, q, v, total, held)
        else:
            vdot, force = self._mixed(q, v, total, self._prescribed.accelerations(self.seen(t)), mask)
            reaction = np.where(mask, force - total, 0.0)  # what it takes besides the loads
        for x in held:
            forces[self._loads.index(x), x.number] += reaction[x.number]
            reaction[x.number] = 0.0
        return vdot, np.concatenate([forces, [reaction]]) if self._given else forces

    def multipliers(self, t: float, q: Array, v: Array) -> Mapping[str, Array]:
        """What closures hold with under all forces as they are now, by name."""
        assert self.closed is not None
        forces = self._solved(t, q, v)[1]
        total = forces[: self.count].sum(axis=0)
        return self.closed.multipliers(q, v, total + forces[-1] if self._given else total)

    def _held(self, t: float, q: Array, v: Array, total: Array, held: Sequence[Hold]) -> tuple[Array, Array]:
        """vdot of a closed chain, and the forces of what holds and what prescribes, which closures may tie."""
        assert self._prescribed is not None
        given = self.prescribed_dofs
        dofs = [x.number for x in held] + given
        wanted = self._prescribed.accelerations(self.seen(t))
        free, Y = self.accelerations(q, v, total), self.compliance(q)
        bounds = [x.bounds for x in held] + [(-np.inf, np.inf)] * len(given)
        reaction = np.zeros(len(v))
        reaction[dofs] = holding_forces(Y[np.ix_(dofs, dofs)], (wanted - free)[dofs], bounds)
        vdot = free + Y @ reaction
        vdot[dofs] = wanted[dofs]
        return vdot, reaction

    @property
    def rolls(self) -> str:
        """The name of a closure that is nonholonomic; empty where there is none."""
        return rolling_closure(self.mb)

    @property
    def is_closed(self) -> bool:
        """Whether there are closures or couplings."""
        return self.closed is not None

    @property
    def prescribed_dofs(self) -> list[int]:
        """The numbers of the prescribed dofs."""
        return [] if self._prescribed is None else self._prescribed.dofs

    def is_prescribed(self, number: int) -> bool:
        """Whether the motion of a dof is given."""
        return self._prescribed is not None and bool(self._prescribed.mask[number])

    def compliance(self, q: Array) -> Array:
        """Y = dvdot/dforce of all dofs, closures and couplings considered, (nv, nv)."""
        if self.closed is not None:
            return self.closed.solver.mass_matrix_inverse(q, "all")
        return dyn.mass_matrix_inverse(self.mb, q)

    def compliance_derivative(self, q: Array) -> Array:
        """The same by compiled derivatives, kept for the last q. Impulses at stops need `compliance`, whose symmetric
        rounding leaves closures shut."""
        key = self.mb.version, self.mb.parameters, q.tobytes()
        if self._compliance is None or self._compliance[0] != key:
            closed = self.closed
            Y = dyn.mass_matrix_inverse(self.mb, q) if closed is None else closed.compliance(q)
            Y.flags.writeable = False
            self._compliance = key, Y
        return self._compliance[1]

    def free_accelerations(self, t: float, q: Array, v: Array) -> Array:
        """vdot as it is at a state, with all that holds now."""
        return self._solved(t, q, v)[0]

    def holding(self, t: float, q: Array, v: Array) -> tuple[Array, dict[Hold, float]]:
        """vdot, and the force of every load that holds its dof now."""
        vdot, forces = self._solved(t, q, v)
        return vdot, {x: float(forces[self._loads.index(x), x.number]) for x in self.holds.active}

    def held_by(self, hold: Hold, t: float, state: State) -> float:
        """The force with which a load holds its dof."""
        return float(self._solved(t, state.q, state.v)[1][self._loads.index(hold), hold.number])

    def _forces(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of every load, of what is carried along as it was placed last, and of what the model
        has itself, (loads, nv)."""
        forces = np.zeros((self.count + len(self._silent), self.sizes[2]))
        own = len(self._loads)
        if self.carried is not None and self.count > own:
            self.carried.push(q, forces[own : self.count])
        if not self._busy:
            return forces
        t, state = self.seen(t), self.mb.state(q, v)
        for i, x in enumerate(self.loads):
            forces[i] = x.force(t, state)
        for i, x in enumerate(self._silent, self.count):
            forces[i] = x.force(t, state)
        return forces

    @property
    def _busy(self) -> bool:
        return bool(self._loads) or self.contact is not None or bool(self._stored) or self.facts.has_passive

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot under a generalized force and what the model has itself, where nothing is prescribed."""
        if self.closed is not None:
            return self.closed.accelerations(q, v, force)
        if not len(v):
            return force
        return dyn.forward_dynamics(self.mb, q, v, force)

    def _mixed(self, q: Array, v: Array, force: Array, vdot: Array, mask: Any) -> tuple[Array, Array]:
        if self.closed is not None:
            return self.closed.mixed(q, v, force, vdot, mask)
        return dyn.mixed_dynamics(self.mb, q, v, force, vdot, mask)

    def settle(self, t: float, x: Array, end: bool) -> Array:
        """Prescribed coordinates as they are told, the rest on the closures."""
        if self._prescribed is None and self.closed is None:
            return x
        if self._given or self._varying is not None:
            self.place(t, x)  # what is carried along may give motions, and the masses of the metric
        q, v, work = self.parts(np.array(x))
        if self._prescribed is not None:
            self._prescribed.impose(t, q, v)
            self.holds.impose(q, v)
        if self.closed is not None:
            still = [x.number for x in self.holds.active]
            q, v = self.closed.onto(q, v, self._prescribed if self._given else None, still, end)
        return np.concatenate([q, v, work])

    def begun(self, t: float, x: Array) -> Array:
        """The point at which a run begins: settled; as it is where that moves it by rounding alone, so that a run goes
        on from the state it left, or from a saved one, with the same bits."""
        if self._prescribed is None and self.closed is None:
            return x
        end = self.settle(t, x, True)
        if end is x or not self.facts.holonomic:  # rolling has no differences
            return end
        (q, v, _), (q1, v1, _) = self.parts(x), self.parts(end)
        unit = measure_of(self.mb, q).dofs
        way = np.abs(unit * self.mb.difference(q, q1)).max(initial=0.0)
        change, speed = (np.abs(unit * y).max(initial=0.0) for y in (v1 - v, v))
        return x if way <= _SAME and change <= _SAME * speed else end

    @property
    def projects(self) -> bool:
        """Whether states are put back on the closures with all dofs, nearest in the metric of the mass matrix."""
        return self.closed is not None and self._prescribed is None and self.closed.projects

    def kept(self, x: Array, u: Array) -> Array:
        """What is left of [dq; dv; dwork] at x where its end is put back on the closures."""
        if self.closed is None or not self.projects:
            return u
        nt, nv = self.coordinates.size, self.mb.nv
        q, left = self.parts(x)[0], np.array(u)
        for at in (0, nt):
            left[at : at + nv] = self.closed.solver.project_velocity(q, u[at : at + nv])
        return left

    @property
    def told_now(self) -> Told:
        """The motions that are prescribed now, as they stay when others are, and the closures as they are now."""
        motions = self._prescribed.kept if self._given and self._prescribed is not None else None
        modes = tuple([x.mode for x in self.holds.all]) if self.holds.all else ()
        numbers = self._numbers if self._loads else ()
        versions = self.mb.version, self.mb.parameters - self._reweighed
        return Told(motions, versions, self.edition, numbers, modes, tuple(self._stored.items()))

    def require_unchanged(self, told: Told, t: float, what: str) -> None:
        """Raise `StaleError` where the model or the loads are not those with which a step was taken."""
        changed = ""
        if told.model != self.versions:
            changed = f"{self.mb.name!r} was changed"
        elif told.edition != self.edition:
            changed = f"a control or a force on {self.mb.name!r} was replaced"
        elif told.stored != tuple(self.mb.acting_forces.items()):
            changed = f"the forces of mb.set_force on {self.mb.name!r} were changed"
        if changed:
            raise StaleError(
                f"{changed} after the step around t = {t:.9g} s, so {what} between rows are not known: ask run.at "
                "before, or interpolate the rows of the run."
            )

    def require_same_forces(self, t: float, q: Array, v: Array, forces: Array) -> None:
        """Raise `StaleError` where a load does not give at a row of a run, (t, q, v), what it gave there, (names, nv):
        it reads what was changed since. Where it jumps at t it may give either side. Loads that hold, and controls that
        are numbers, change by themselves: they are left out."""
        state = self.mb.state(q, v)
        for load, before in zip(self._loads, forces, strict=False):
            changes = getattr(load, "switches", False) or isinstance(load, HingeRow)
            if changes or (isinstance(load, Control) and load.is_number):
                continue
            scale = float(np.abs(before).max(initial=0.0))
            sides = (t, float(np.nextafter(t, -np.inf)))
            if not any(np.abs(load.force(s, state) - before).max(initial=0.0) <= _REPEATED * scale for s in sides):
                raise StaleError(
                    f"the force {load.name!r} is another one now than at t = {t:.9g} s of the run: it reads what was "
                    "changed since, so forces and accelerations between rows are not known. Interpolate run.forces."
                )

    @contextmanager
    def under(self, told: Told) -> Iterator[None]:
        """Have the controls, the prescribed motions and the modes of what holds as in a step that was taken, for a
        while; afterwards all is as it was."""
        before, motions, closed, span, placed = self.told_now, self._prescribed, self.closed, self._span, self._placed
        values, held = None if self.carried is None else self.carried.keep(), self._values
        try:
            self._set_conditions(told)
            self._span, self._placed, self._values = ALWAYS, None, None
            if told.motions is not None:
                self._prescribed = told.motions
            if closed is not None:
                self.closed = closed.copied()
            yield
        finally:
            self._set_conditions(before)
            self._prescribed, self.closed, self._span, self._placed, self._values = motions, closed, span, placed, held
            if self.carried is not None:
                self.carried.restore(values)

    def _set_conditions(self, told: Told) -> None:
        """Let controls have these numbers, and loads that hold these modes."""
        controls = [x for x in self._loads if isinstance(x, Control) and x.is_number]
        for control, number in zip(controls, told.numbers, strict=True):
            control.set(number)
        for hold, mode in zip(self.holds.all, told.modes, strict=True):
            hold.mode = mode

    def solved(self, t: float, x: Array) -> tuple[Array, Array]:
        """vdot (nv), and the forces of everything in `names` (names, nv), at a point."""
        q, v, _ = self.parts(x)
        self.place(t, x)
        vdot, forces = self._solved(t, q, v)
        return vdot, self._with_rows(forces)

    @property
    def versions(self) -> tuple[int, int]:
        """Versions of the model, masses that vary left out."""
        return self.mb.version, self.mb.parameters - self._reweighed

    def inside(self, t: float, x: Array, told: Told) -> Array:
        """A point inside a step that was taken: prescribed as it was told then, and on the closures, which must still
        be those of then."""
        if self.closed is None and told.motions is None:
            return x
        if told.motions is not None:
            self._place(t, x)
        q, v, work = self.parts(np.array(x))
        if told.motions is not None:
            told.motions.impose(t, q, v)
        if self.closed is not None:
            if told.model != self.versions:
                raise StaleError(
                    f"{self.mb.name!r} was changed after its step around t = {t:.9g} s, and a state between rows is "
                    "put on its closures: ask run.at before, or interpolate run.q."
                )
            q, v = self.closed.onto(q, v, told.motions)
        return np.concatenate([q, v, work])

    def jacobian(self, t: float, x: Array, w: Array | None = None, more: Array | None = None) -> Array:
        """The Jacobian in the chart of x: analytic for holonomic hinges, on trees and closed chains; else by
        differences, from the rates w there. `more` is a further generalized force, of an analytic one."""
        q, v, _ = self.parts(x)
        stabilized = isinstance(self.closed, Stabilized)
        plain = self._prescribed is None and self.carried is None
        if not plain or self.rolls or stabilized or not self.coordinates.is_group:
            return jacobian.by_differences(self, t, x, w)
        if self.closed is None:
            return jacobian.of_tree(self, t, q, v, np.zeros(len(v)) if more is None else more)
        return jacobian.of_closed(self, self.closed, t, q, v, np.zeros(len(v)) if more is None else more)

    def scale(self, x: Array, w: Array) -> Array:
        """What errors are measured by, in any units: radians and lengths of the model for coordinates; for velocities
        these per the time in which a dof moves or speeds up, (size). Work is not measured: infinite."""
        q, v, _ = self.parts(x)
        nt, nv = self.coordinates.size, self.mb.nv
        if not nv:
            return self._with_carried(np.full(nt + len(self.names), np.inf), x)
        measure = measure_of(self.mb, q)
        unit = 1.0 / measure.dofs
        speed = np.where(self.floating, 0.0, np.abs(v)) if self._floats else np.abs(v)
        rate = np.maximum(speed / unit, np.sqrt(np.abs(w[nt : nt + nv]) / unit))
        gravity = float(np.linalg.norm(self.mb.gravity))
        fastest = max(float(rate.max(initial=0.0)), float(np.sqrt(gravity / measure.length)) if gravity > 0.0 else 0.0)
        rate = np.maximum(rate, _SLOWEST * (fastest or 1.0))
        travels = np.full(nt - nv, measure.length)
        return self._with_carried(np.concatenate([unit, travels, unit * rate, np.full(len(self.names), np.inf)]), x)

    def _with_carried(self, scale: Array, x: Array) -> Array:
        if self.carried is None:
            return scale
        return np.concatenate([scale, self.carried.scale(self.carried_of(x))])
