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
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StaleError
from soacraft.model.sizes.measure import measure_of
from soacraft.model.states.state import State
from soacraft.sim import jacobian
from soacraft.sim.breaks import ALWAYS
from soacraft.sim.clock import without_rounding
from soacraft.sim.closed import Closed, Stabilized, rolling_closure
from soacraft.sim.floating_dofs import floating_dofs
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_element import Touching
from soacraft.sim.forces.control_laws import ControlLaws
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.evaluation import is_function
from soacraft.sim.forces.hinge_rows import HingeRow, HingeRows
from soacraft.sim.forces.holds import Hold, Holding, holding_forces
from soacraft.sim.forces.loads import Load, Passive, Stored
from soacraft.sim.forces.prescribed import Prescribed
from soacraft.sim.forces.varying_mass import VaryingMass
from soacraft.sim.implicit import Implicit
from soacraft.sim.integrators.manifold import Coordinates, Motions, Product, Vectors
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.last_value import LastValue
from soacraft.sim.problem.model_facts import ModelFacts
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.runs.force_columns import ForceColumns
from soacraft.spatial.checks import Array

#: A dof is judged by its own speed, but by no less than this part of the fastest.
_SLOWEST = 1e-3
#: Times closer than this are one instant: times of runs are whole nanoseconds.
_INSTANT = 0.5e-9
#: A force that is evaluated again where it was evaluated before is the same to this part of it.
_REPEATED = 1e-9
#: Settling that moves by less, in radians or lengths of the model, or in parts of the fastest, is rounding.
_SAME = 1e-14


class Conditions(NamedTuple):
    """Conditions under which a step was taken: what may be other ones in the next."""

    motions: Prescribed | None
    """The motions prescribed then."""
    model: tuple[int, int]
    """The versions of the model."""
    loads: tuple[Load, ...]
    """The loads: others where one was replaced."""
    numbers: tuple[float, ...]
    """The numbers of controls that are numbers."""
    modes: tuple[float, ...]
    """The modes of loads that hold: sides and directions."""
    stored: tuple[Any, ...]
    """The forces of `mb.set_force`, by node."""


class Mechanism:
    """The problem: a model, what pushes it, the motions it is given, and the solver of its closures, if any."""

    def __init__(self, description: RunProblem) -> None:
        self.description, self.mb = description, description.model
        """The model in motion, and what acts on it: another value where a load was replaced."""
        mb, components = self.mb, description.components
        self.closures, self.components = description.closures, components
        self.contact, self.prescribed = description.contact, description.prescribed
        self.is_closed = description.closures.is_closed
        """True if there are closures or couplings."""
        self.take_contact()
        self._placed: tuple[float, Array] | None = None  # where the values of components are
        self.servos = LastValue[list[int]]()
        """The places among the loads of actuators whose forces vary with the state of one dof, of a description."""
        self._laws: dict[int, ControlLaws] = {}  # of some controls, by how many they are
        self._compliance = LastValue[Array]()  # of the coordinates
        self._values: tuple[float, bytes, list[Load]] | None = None  # loads with what functions gave
        self._parameters = mb.parameters
        self._facts = ModelFacts(mb)
        self._stored = mb.acting_forces
        self.is_flexible = bool(mb.layout.flexible)
        """True if a body has modes."""
        self._columns = LastValue[ForceColumns]()  # of the description
        self._calls = LastValue[bool]()  # True if functions act, of the description
        self.holds = Holding(self, [x for x in description.loads if getattr(x, "switches", False)])  # type: ignore[misc]
        self.prescribes = bool(description.prescribed.dofs)
        """True if motions are prescribed, and their force is one of `names`."""
        self.constrained = self.prescribes or bool(self.holds.all)
        """True if dofs have a prescribed motion, or may stick."""
        # act in the dynamics functions: only their work is counted here. The model may get them while a run goes on
        self._silent: list[Load] = [Stored(), Passive()] if mb.nv else []
        self.varying_mass = VaryingMass(components.weighs) if components.weighs else None
        self.varies = self.varying_mass is not None
        """True if masses of bodies are functions of time and state."""
        self._span = ALWAYS  # the times at which functions are evaluated
        self.ticks_first = False
        """True before the first tick of a run: masses are those of the model, as nothing that ticks gave one yet."""
        self._reweighed = 0  # by how much the version of the parameters grew by masses that vary
        if self.varying_mass is not None:
            self._silent.append(self.varying_mass)
        for load in self._silent:
            load.bind(mb)
        if isinstance(description.contact, Contact):
            self._silent.append(description.contact)
        self.count = len(description.loads) + len(components.names)
        """Number of loads: the first of `names`."""
        self.names = (*(x.name for x in description.loads), *components.names, *(x.name for x in self._silent))
        if self.prescribes:
            self.names += ("prescribed",)
        self.coordinates = Coordinates(mb)
        rest = len(self.names) + components.size
        self.motions = Motions(self.coordinates)
        self.manifold = Product([self.motions, Vectors(rest)])
        self.floating = floating_dofs(mb, description.prescribed.dofs)
        """Mask of the dofs that are the travel of bodies that float, (nv)."""
        self._floats = bool(self.floating.any())
        self.sizes = (mb.nq, self.coordinates.size, mb.nv)
        if self.is_closed:
            components.close_by(self.multipliers)

    def follow(self, description: RunProblem) -> None:
        """Evaluate another description of the same names, in which loads or breaks are others."""
        if description.loads is not self.description.loads:
            self._values = None
        self.description = description

    def take_contact(self) -> None:
        """Let the contact have the rows of these loads: it may have acted among others since."""
        if self.contact.touches:
            self.contact.take_rows(HingeRows.of(self.description.loads))

    def replace(self, old: Load, new: Load) -> None:
        """Let a load take the place of another of the same name."""
        loads = tuple(new if x is old else x for x in self.description.loads)
        self.follow(replace(self.description, loads=loads))

    @property
    def parameters(self) -> int:
        """Version of the parameters of the model that it was made for, with the changes by masses that vary."""
        return self._parameters + self._reweighed

    @property
    def acting(self) -> tuple[object, ...]:
        """An account of what acts now, to be compared with a later one: loads, the numbers of controls, and the forces
        of `mb.set_force`."""
        loads = self.description.loads
        numbers = self._numbers if loads else ()
        if not self._stored:
            return loads, numbers, frozenset()
        stored = [(node, w.expressed_in, np.asarray(w).tobytes()) for node, w in self._stored.items()]
        return loads, numbers, frozenset(stored)

    @property
    def _numbers(self) -> tuple[float, ...]:
        """The numbers of controls that are numbers."""
        return tuple([x.number for x in self.description.loads if isinstance(x, Control) and x.is_number])

    @property
    def loads(self) -> Sequence[Load]:
        """Loads in addition to those of the model itself; functions as they are held (`hold_functions`)."""
        return self.description.loads if self._values is None else self._values[2]

    @property
    def functions_and_controls(self) -> Sequence[Load]:
        """The loads as they were given, with functions that are not held."""
        return self.description.loads

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
        self._values = t, bits, [x.held(seen, state) if is_function(x) else x for x in self.description.loads]  # type: ignore[attr-defined]

    def laws_of(self, controls: Sequence[Control]) -> ControlLaws:
        """The laws of some controls as arrays; at least one."""
        laws = self._laws.get(len(controls))
        if laws is None or not laws.are_of(controls):
            laws = self._laws[len(controls)] = ControlLaws.of(controls)
        return laws

    @property
    def has_functions(self) -> bool:
        """True if a load is a function that the user wrote."""
        return self._calls.of(self.description, lambda: any(is_function(load) for load in self.description.loads))

    @property
    def force_columns(self) -> ForceColumns:
        """The entries of forces that may differ from zero, of the loads as they are now."""
        return self._columns.of(self.description, partial(ForceColumns.of, self))

    def release_functions(self) -> None:
        """Let functions be called at every evaluation again."""
        self._values = None

    @contextmanager
    def functions_at(self, t: float, x: Array | None) -> Iterator[None]:
        """Call functions for a while at every evaluation, or (at a point x) hold them at their values there."""
        before, self._values = self._values, None
        try:
            if x is not None:
                self.hold_functions(t, x)
            yield
        finally:
            self._values = before

    @property
    def facts(self) -> ModelFacts:
        """Facts of the model in its present form."""
        if self._facts.revision != self.mb.revision:
            self._facts = ModelFacts(self.mb)
        return self._facts

    @property
    def has_passive(self) -> bool:
        """True if the model has springs, dampers and the like now."""
        return self.facts.has_passive

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
        if isinstance(self.closures, Stabilized):
            raise ModelError(
                f"{method} keeps closures by impulses, so stabilization='baumgarte' has no place in it; leave that out."
            )
        if self.constrained:
            raise ModelError(f"{method} takes free motions, and {name!r} has prescribed or sticking dofs; {cure}.")

    def point(self, q: Array, v: Array, rest: Array | None = None) -> Array:
        """The state as one array. `rest` is the work, and behind it the states that are carried along; where it has
        none, those at present."""
        rest = np.zeros(len(self.names)) if rest is None else rest
        if len(rest) == len(self.names):
            return np.concatenate([q, v, rest, self.components.present])
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
        self._place(self.seen(t), x)

    def _place(self, t: float, x: Array) -> None:
        if self.components.is_empty or (self._placed is not None and self._placed[1] is x and self._placed[0] == t):
            return
        q, v, rest = self.parts(x)
        self._placed = None
        self.components.place(t, q, v, rest[len(self.names) :])
        if self.varying_mass is not None and not self.ticks_first:
            grown = self.varying_mass.set(self.components.masses())
            self._reweighed += grown
        self._placed = t, x

    def margins(self, t: float, x: Array) -> Sequence[float]:
        """The functions of the crossings of what is carried along."""
        self.place(t, x)
        return self.components.margins(lambda: self._solved(t, *self.parts(x)[:2])[0])

    def tick(self, ns: int, t: float, x: Array) -> None:
        """Let what is carried along tick."""
        self.place(t, x)
        self.components.tick(ns, lambda: self._solved(t, *self.parts(x)[:2])[0])
        self._placed, self.ticks_first = None, False

    def jumped(self, t: float, x: Array, names: Sequence[str]) -> Array:
        """The point after crossings of what is carried along."""
        self.margins(t, x)
        z = self.components.jump(names, self.carried_of(x))
        self._placed = None
        return np.concatenate([x[: len(x) - len(z)], z])

    @property
    def memoryless(self) -> bool:
        """True if forces and rates depend on a point and on the conditions of its step alone: no clocks and crossings,
        no contacts that components feel, no masses that vary."""
        components = self.components
        ticks = components.next_tick is not None
        return not (self.varies or components.crossings or components.feels or ticks)

    @property
    def masses(self) -> Array | None:
        """Masses that vary, as they were placed last; None where none does."""
        return None if self.varying_mass is None else self.varying_mass.masses

    def displaced(self) -> None:
        """Mark what is carried along as changed, as after a tick."""
        self._placed = None

    def rates(self, t: float, x: Array) -> Array:
        """[v; a; powers; rates of what is carried along]."""
        q, v, _ = self.parts(x)
        if self.components.is_empty:
            if self.constrained or self._busy:
                a, forces = self._inertial(t, q, v)
                forces = self._with_rows(forces) if self.contact.touches else forces
                return np.concatenate([self.tangent(q, v), a, forces @ v])
            vdot = self._calm_accelerations(q, v, np.zeros(len(v)))
            a = self.coordinates.straight(self._calm(v) if self._floats else v, vdot)
            return np.concatenate([self.coordinates.tangent(q, v), a, np.zeros(len(self.names))])
        self.place(t, x)
        if self.constrained or self._busy:
            a, forces = self._inertial(t, q, v)
            zdot = self.components.rates(self.coordinates.own(v, a))
            forces = self._with_rows(forces) if self.contact.touches else forces
            return np.concatenate([self.tangent(q, v), a, forces @ v, zdot])
        total, powers = self.components.total(q, v)  # nothing else acts
        a = self._straight(v, self._calm_accelerations(q, v, total))
        idle = np.zeros(len(self.names) - len(powers))
        zdot = self.components.rates(self.coordinates.own(v, a))
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
        """Difference of the forces of springs and dampers at v from those at the calm v, (nv)."""
        if not (self._floats and self.has_passive):
            return np.zeros(len(v))
        at_v, at_calm = (dyn.passive_force(self.mb, q, x, ignore_loops=True) for x in (v, self._calm(v)))
        return np.asarray(at_v - at_calm)

    def _calm_accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """Accelerations at the calm v, under forces as they are at v."""
        if not self._floats:
            return self.closures.accelerations(q, v, force)
        if not self.has_passive:
            return self.accelerations(q, self._calm(v), force)
        if self.is_closed:
            return self.accelerations(q, self._calm(v), force + self._damped(q, v))
        total = force + dyn.passive_force(self.mb, q, v)
        return dyn.forward_dynamics(self.mb, q, self._calm(v), total, passive=False)

    def _straight(self, v: Array, vdot: Array) -> Array:
        """a, from accelerations at the calm v."""
        return self.coordinates.straight(self._calm(v) if self._floats else v, vdot)

    def implicit_rates(self, t: float, x: Array, implicit: Implicit) -> Array:
        """Rates with forces of single dofs taken implicitly."""
        q, v, _ = self.parts(x)
        self.place(t, x)
        vdot, forces = implicit.applied(t, q, v, *self._solved(t, q, v))
        straight = self.coordinates.straight(v, vdot)
        return np.concatenate([self.tangent(q, v), straight, forces @ v, self.components.rates(vdot)])

    def all_forces(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of everything in `names`, (names, nv)."""
        return self._solved(t, q, v)[1] if self.constrained else self._forces(t, q, v)

    def recorded_forces(self, t: float, q: Array, v: Array) -> Array:
        """All forces as rows of a run have them: with what stops and friction pressed with in the last step, where they
        are rows of the contact problem. They have acted then."""
        return self._with_rows(self.all_forces(t, q, v))

    def _with_rows(self, forces: Array) -> Array:
        for load, number, force in self.contact.row_forces:
            forces[load, number] += force
        return forces

    def forces_with(self, t: float, q: Array, v: Array, reaction: Array) -> Array:
        """All forces, where the force of prescribed motions is known."""
        forces = self._forces(t, q, v)
        return np.concatenate([forces, [reaction]]) if self.prescribes else forces

    def load_force(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of the loads, (nv): of what the dynamics functions do not know."""
        if not self.components.is_empty:
            return np.asarray(self._forces(t, q, v)[: self.count].sum(axis=0))
        if not self.description.loads:
            return np.zeros(self.mb.nv)
        t, state = self.seen(t), self.mb.state(q, v)
        return np.asarray(sum(x.force(t, state) for x in self.loads))

    def require_sides(self, step: Step) -> None:
        """Refuse a step that may lead shapes through each other which touch by forces or events."""
        for load in self.description.loads:
            if isinstance(load, Touching):
                load.require_sides(step.t0, step.h, self.parts(step.x0)[:2], self.parts(step.x1)[:2])

    def force_for(self, q: Array, v: Array, a: Array) -> Array:
        """The generalized force of the tree for rates a of the velocities, its own springs and dampers counted."""
        calm = self._calm(v)
        return self.inverse_dynamics(q, calm, self.coordinates.own(calm, a)) - self._damped(q, v)

    def inverse_dynamics(self, q: Array, v: Array, vdot: Array) -> Array:
        """The generalized force of the tree for given accelerations, its own springs and dampers counted."""
        return dyn.inverse_dynamics(self.mb, q, v, vdot, ignore_loops=True)

    def violations(self, q: Array, v: Array) -> Array:
        """Openings of the closures, at each of many states."""
        if not self.is_closed:
            return np.zeros(len(q))
        return np.array([self.closures.violation(*one) for one in zip(q, v, strict=True)])

    def _solved(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """vdot, and all forces."""
        a, forces = self._inertial(t, q, v)
        return self.coordinates.own(v, a), forces

    def _inertial(self, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """a, and all forces."""
        forces = self._forces(t, q, v)
        total = forces[: self.count].sum(axis=0)
        if not self.constrained:
            return self._straight(v, self._calm_accelerations(q, v, total)), forces
        vdot, forces = self._under(t, q, self._calm(v), total + self._damped(q, v), forces)
        return self._straight(v, vdot), forces

    def _under(self, t: float, q: Array, v: Array, total: Array, forces: Array) -> tuple[Array, Array]:
        """Accelerations under a total force, and all forces with those of what holds and what prescribes."""
        held = self.holds.active
        mask = np.array(self.prescribed.mask)
        mask[[x.number for x in held]] = True
        if not mask.any():
            vdot, reaction = self.accelerations(q, v, total), np.zeros(len(v))
        elif self.is_closed and held:
            vdot, reaction = self._held(t, q, v, total, held)
        else:
            vdot, force = self.closures.mixed(q, v, total, self.prescribed.accelerations(self.seen(t)), mask)
            reaction = np.where(mask, force - total, 0.0)  # what it takes in addition to the loads
        for x in held:
            forces[self.description.loads.index(x), x.number] += reaction[x.number]
            reaction[x.number] = 0.0
        return vdot, np.concatenate([forces, [reaction]]) if self.prescribes else forces

    def multipliers(self, t: float, q: Array, v: Array) -> Mapping[str, Array]:
        """Multipliers {closure: array} of the closures under all present forces."""
        forces = self._solved(t, q, v)[1]
        total = forces[: self.count].sum(axis=0)
        return self.closures.multipliers(q, v, total + forces[-1] if self.prescribes else total)

    def _held(self, t: float, q: Array, v: Array, total: Array, held: Sequence[Hold]) -> tuple[Array, Array]:
        """vdot of a closed chain, and the forces of what holds and what prescribes, which closures may tie."""
        prescribed = self.prescribed_dofs
        dofs = [x.number for x in held] + prescribed
        wanted = self.prescribed.accelerations(self.seen(t))
        free, Y = self.accelerations(q, v, total), self.compliance(q)
        bounds = [x.bounds for x in held] + [(-np.inf, np.inf)] * len(prescribed)
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
    def prescribed_dofs(self) -> list[int]:
        """The numbers of the prescribed dofs."""
        return self.prescribed.dofs

    def is_prescribed(self, number: int) -> bool:
        """True if the motion of a dof is prescribed."""
        return bool(self.prescribed.mask[number])

    def compliance(self, q: Array) -> Array:
        """Y = dvdot/dforce of all dofs, closures and couplings considered, (nv, nv)."""
        return self.closures.mass_matrix_inverse(q)

    def compliance_derivative(self, q: Array) -> Array:
        """Compliance by compiled derivatives, kept for the last q. Impulses at stops need `compliance`, whose symmetric
        rounding leaves closures shut."""

        def compute() -> Array:
            Y = self.closures.compliance(q)
            Y.flags.writeable = False
            return Y

        return self._compliance.of((self.mb.version, self.mb.parameters, q.tobytes()), compute)

    def free_accelerations(self, t: float, q: Array, v: Array) -> Array:
        """vdot at a state, with all that holds now."""
        return self._solved(t, q, v)[0]

    def holding(self, t: float, q: Array, v: Array) -> tuple[Array, dict[Hold, float]]:
        """vdot, and the force of every load that holds its dof now."""
        vdot, forces = self._solved(t, q, v)
        return vdot, {x: float(forces[self.description.loads.index(x), x.number]) for x in self.holds.active}

    def held_by(self, hold: Hold, t: float, state: State) -> float:
        """The force with which a load holds its dof."""
        return float(self._solved(t, state.q, state.v)[1][self.description.loads.index(hold), hold.number])

    def _forces(self, t: float, q: Array, v: Array) -> Array:
        """The generalized force of every load, of what is carried along as it was placed last, and of what the model
        has itself, (loads, nv)."""
        forces = np.zeros((self.count + len(self._silent), self.sizes[2]))
        pushed = len(self.description.loads)
        if self.count > pushed:
            self.components.push(q, forces[pushed : self.count])
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
        return bool(self.description.loads) or self.contact.touches or bool(self._stored) or self.facts.has_passive

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot under a generalized force and what the model has itself, where nothing is prescribed."""
        return self.closures.accelerations(q, v, force)

    def settle(self, t: float, x: Array, end: bool) -> Array:
        """Prescribed coordinates at their prescribed values, the rest on the closures."""
        if not (self.constrained or self.is_closed):
            return x
        if self.prescribes or self.varying_mass is not None:
            self.place(t, x)  # what is carried along may give motions, and the masses of the metric
        q, v, work = self.parts(np.array(x))
        self.prescribed.impose(t, q, v)
        self.holds.impose(q, v)
        still = [x.number for x in self.holds.active]
        q, v = self.closures.onto(q, v, self.prescribed if self.prescribes else None, still, end)
        return np.concatenate([q, v, work])

    def begun(self, t: float, x: Array) -> Array:
        """The point at which a run begins: settled; unchanged where that moves it by rounding alone, so that a run goes
        on from the state it left, or from a saved one, with the same bits."""
        if not (self.constrained or self.is_closed):
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
        """True if states are put back on the closures with all dofs, nearest in the metric of the mass matrix."""
        return self.closures.projects and not self.constrained

    def kept(self, x: Array, u: Array) -> Array:
        """Part of [dq; dv; dwork] at x that remains after its end is put back on the closures."""
        if not self.projects:
            return u
        nt, nv = self.coordinates.size, self.mb.nv
        q, projected = self.parts(x)[0], np.array(u)
        for at in (0, nt):
            projected[at : at + nv] = self.closures.project_velocity(q, u[at : at + nv])
        return projected

    @property
    def conditions_now(self) -> Conditions:
        """The motions that are prescribed now, as they stay when others are, and the closures as they are now."""
        motions, loads = self.prescribed.kept if self.prescribes else None, self.description.loads
        modes = tuple([x.mode for x in self.holds.all]) if self.holds.all else ()
        numbers = self._numbers if loads else ()
        versions = self.mb.version, self.mb.parameters - self._reweighed
        return Conditions(motions, versions, loads, numbers, modes, tuple(self._stored.items()))

    def require_unchanged(self, conditions: Conditions, t: float, what: str) -> None:
        """Raise `StaleError` where the model or the loads are not those with which a step was taken."""
        changed = ""
        if conditions.model != self.versions:
            changed = f"{self.mb.name!r} was changed"
        elif conditions.loads is not self.description.loads:
            changed = f"a control or a force on {self.mb.name!r} was replaced"
        elif conditions.stored != tuple(self.mb.acting_forces.items()):
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
        for load, before in zip(self.description.loads, forces, strict=False):
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
    def under(self, conditions: Conditions) -> Iterator[None]:
        """Have the controls, the prescribed motions and the modes of what holds as in a step that was taken, for a
        while; afterwards all is as it was."""
        before, prescribed, closures, span = self.conditions_now, self.prescribed, self.closures, self._span
        values, held, placed = self.components.keep(), self._values, self._placed
        try:
            self._set_conditions(conditions)
            self._span, self._placed, self._values = ALWAYS, None, None
            self.prescribed = prescribed if conditions.motions is None else conditions.motions
            self.closures = closures.copied()
            yield
        finally:
            self._set_conditions(before)
            self.prescribed, self.closures, self._span = prescribed, closures, span
            self._placed, self._values = placed, held
            self.components.restore(values)

    def _set_conditions(self, conditions: Conditions) -> None:
        """Let controls have these numbers, and loads that hold these modes."""
        controls = [x for x in self.description.loads if isinstance(x, Control) and x.is_number]
        for control, number in zip(controls, conditions.numbers, strict=True):
            control.set(number)
        for hold, mode in zip(self.holds.all, conditions.modes, strict=True):
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

    def inside(self, t: float, x: Array, conditions: Conditions) -> Array:
        """A point inside a step that was taken: prescribed coordinates at their values of then, and on the closures,
        which must still be those of then."""
        if conditions.motions is None and not self.is_closed:
            return x
        if conditions.motions is not None:
            self._place(t, x)
        q, v, work = self.parts(np.array(x))
        if conditions.motions is not None:
            conditions.motions.impose(t, q, v)
        if self.is_closed:
            if conditions.model != self.versions:
                raise StaleError(
                    f"{self.mb.name!r} was changed after its step around t = {t:.9g} s, and a state between rows is "
                    "put on its closures: ask run.at before, or interpolate run.q."
                )
            q, v = self.closures.onto(q, v, conditions.motions)
        return np.concatenate([q, v, work])

    def jacobian(self, t: float, x: Array, w: Array | None = None, more: Array | None = None) -> Array:
        """The Jacobian in the chart of x: analytic for holonomic hinges, on trees and closed chains; else by
        differences, from the rates w there. `more` is a further generalized force, of an analytic one."""
        q, v, _ = self.parts(x)
        stabilized = isinstance(self.closures, Stabilized)
        plain = self.components.is_empty and not self.constrained
        if not plain or self.rolls or stabilized or not self.coordinates.is_group:
            return jacobian.by_differences(self, t, x, w)
        more = np.zeros(len(v)) if more is None else more
        if isinstance(self.closures, Closed):
            return jacobian.of_closed(self, self.closures, t, q, v, more)
        return jacobian.of_tree(self, t, q, v, more)

    def scale(self, x: Array, w: Array) -> Array:
        """Measures of errors, in any units: radians and lengths of the model for coordinates; for velocities
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
        if self.components.is_empty:
            return scale
        return np.concatenate([scale, self.components.scale(self.carried_of(x))])
