"""Many steps in one compiled call: a run as `_core.advance` reads it, and obstacles to that.

Compiled code takes the steps of "rk4", "dop853", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational",
"variational4" and "moreau" (with contact) of trees and of closed chains, and those of "moreau_midpoint" of trees, under
what the model has itself, under controls that are numbers or samples, and with prescribed motions. It stops in front
of a step that it is not sure of (a number that is not finite, a hinge that turns too far, closures in doubt, a stiff
problem, stages that do not converge): Python takes that one, or says what is wrong.

Functions of the user and force elements are called from these steps (`forces.evaluation`), and so are callbacks between
them (`sim.visits`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import DOP853

from soacraft import _core
from soacraft.dynamics.quick import frames_of
from soacraft.errors import SoacraftError, StaleError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.sizes.measure import constant_measure_of
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.carried import CompiledCarried
from soacraft.sim.closed import Chain
from soacraft.sim.compiled_parts import chain_of, holds_of, prescribed_of
from soacraft.sim.forces.compiled_contact import CompiledContact
from soacraft.sim.forces.compiled_holds import CompiledHolds
from soacraft.sim.forces.compiled_prescribed import CompiledPrescribed
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.evaluation import Evaluation, evaluation_of
from soacraft.sim.integrators.explicit import RK4, Dop853
from soacraft.sim.integrators.gauss import Gauss, Gauss4, Gauss6
from soacraft.sim.integrators.moreau import Moreau
from soacraft.sim.integrators.moreau_midpoint import MoreauMidpoint
from soacraft.sim.integrators.partitioned import EulerSymplectic, Verlet
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.variational import Variational, Variational4
from soacraft.sim.runs.block import Block
from soacraft.sim.system import Mechanism
from soacraft.sim.visits import VisitPlan, Visits
from soacraft.spatial.checks import Array

_LaneImpulses = _core.LaneImpulses

#: Numbers of the methods in core/sim/methods.hpp; the others are written in Python alone.
METHODS: dict[type[Method], int] = {
    RK4: 0,
    Dop853: 0,
    EulerSymplectic: 1,
    Verlet: 2,
    Variational: 3,
    Variational4: 4,
    Moreau: 5,
    Gauss4: 6,
    Gauss6: 6,
    MoreauMidpoint: 7,
}
Integers = npt.NDArray[np.int64]
#: Samples of a load that functions give the number of.
_NUMBER = np.zeros(1), np.zeros(1)
#: Steps of one call, and steps times bodies: less than half a second of work, so that Ctrl-C is heard.
_STEPS, _WORK = 1024, 100_000
#: Numbers that a call writes, and nanoseconds that it may take where it waits for a clock.
_NUMBERS, _PAUSE = 2**22, 10**8
#: Rows of a call that takes this part of its memory stay there, and the next call takes other; else they are copied.
_FULL = 0.9


def lane_impulses(count: int) -> _core.LaneImpulses:
    """Impulses of contacts in the last step of each of some states; none yet."""
    return _LaneImpulses(count)


class Tableau(NamedTuple):
    """The coefficients of a Runge-Kutta method; of an adaptive one also those of its errors and its dense output."""

    A: Array
    b: Array
    c: Array
    E5: Array | None = None
    E3: Array | None = None
    A_extra: Array | None = None
    c_extra: Array | None = None
    D: Array | None = None

    @classmethod
    def of(cls, method: Method) -> Tableau | None:
        """Tableau of a method; None for a method without one."""
        if isinstance(method, Moreau):
            return cls.of(RK4())
        if not isinstance(method, RK4 | Dop853 | Gauss):
            return None
        arrays = [method.A, method.b, method.c]
        if isinstance(method, Dop853):
            arrays += [DOP853.E5, DOP853.E3, DOP853.A_EXTRA, DOP853.C_EXTRA, DOP853.D]
        return cls(*(np.ascontiguousarray(x, dtype=np.float64) for x in arrays))


class Setting(NamedTuple):
    """Setting of a run: the method, the loads (controls) and what else acts."""

    method: int
    tableau: Tableau | None
    rows: Array
    """(loads, nv): the dofs that feel each."""
    lengths: Array
    """(loads, nq): of the laws of actuators."""
    laws: Array
    """(loads, 8): gain, b0, b1, b2, and the limits of control and force."""
    starts: npt.NDArray[np.int64]
    """(loads + 1): where the knots of each are in `times` and `values`."""
    times: Array
    values: Array
    passive: int
    """1: the work of springs and dampers is always counted, since the model may get some while a run goes on."""
    unit: Array
    """(nv): what one SI unit of each dof is in radians or lengths of the model."""
    floating: Array
    """(nv): 1 of the travel of bodies that float, else 0."""
    slowest: float
    """The rate that gravity gives, per second."""
    forces: Mapping[Any, Any]
    """Forces of `mb.set_force`."""
    frames: Mapping[Any, bytes]
    chain: Chain | None
    contact: CompiledContact | None = None
    held: Array | None = None
    """(steps or 1, nv): a generalized force that is held in each step, of rollouts."""
    plan: Any = None
    """Components that are carried along, a `_core.SystemPlan`,"""
    pause: Callable[[int], object] | None = None
    """and what waits for the end of each step, in nanoseconds, before they tick."""
    functions: Evaluation | None = None
    """Functions of the user and force elements, which are called from the steps."""
    visits: Visits | None = None
    """Calls between steps."""
    prescribed: CompiledPrescribed | None = None
    """Prescribed and held dofs; None where motions follow from forces alone."""
    holds: CompiledHolds | None = None
    """Friction that sticks and rigid stops."""


class Course(NamedTuple):
    """Start and goal, in nanoseconds; of an adaptive method the next step, in seconds, and counts of stability."""

    now: int
    goal: int
    step: int
    origin: int
    stops: npt.NDArray[np.int64]
    rtol: float
    length: float
    unstable: int
    calm: int
    longest: float
    """Longest step of an adaptive method, in seconds."""
    breaks: Array
    """Times in seconds at which components jump: `stops` has their nanoseconds."""


class LaneArrays(NamedTuple):
    """Points and inputs of lanes, a row for each: shared with compiled code, which writes x, theta and now."""

    x: Array
    """Points, (lanes, size)."""
    theta: Array
    """Coordinates of the closures' hinges, which are followed, (lanes, turns)."""
    u: Array
    """Numbers of the controls, (lanes, controls)."""
    now: Integers
    """Nanoseconds, (lanes)."""
    impulses: Any
    """Impulses of contacts in the last step of each: `_core.LaneImpulses`."""
    driven: Integers
    """The loads that have the numbers of u."""
    pushed: int
    """The load that is wrenches, or -1."""
    stops: Integers
    """Nanoseconds at which steps end."""
    step: int
    origin: int
    """The grid of steps, in nanoseconds."""
    threads: int


class Track(NamedTuple):
    """Results of a call, a row for each step."""

    entries: Integers
    """Entries of the forces, (forces, dofs), that are written: those that may differ from zero."""
    ends: npt.NDArray[np.int64]
    X: Array
    W: Array
    F: Array
    forces: Array
    errors: Array
    openings: Array
    before: Array
    """Rows of components: rates before a tick,"""
    signals: Array
    begun: Array
    """and those at the start."""
    starts: Array
    """Rows of visits: the rates that each step begins with,"""
    energies: Array
    """and, where a callback may change the model, kinetic, potential and spring energy at its end."""


def _shared(room: Array, rows: int, widths: Sequence[int], first: int) -> tuple[Array, list[Array]]:
    """Arrays of so many rows, one behind the other in a room, which is made larger where it is too small; the first
    ones have another row at their beginning."""
    total = rows * sum(widths) + sum(widths[:first])
    if len(room) < total:
        room = np.empty(total)
    parts, end = [], 0
    for i, n in enumerate(widths):
        count = rows + 1 if i < first else rows
        start, end = end, end + count * n
        parts.append(room[start:end].reshape(count, n))
    return room, parts


def kernels_and_frames(mb: Multibody) -> tuple[Any, Mapping[Any, bytes]]:
    """The kernels of a model with the parameters of now, and nodes as they read them."""
    model = CompiledModel.any_of(mb.layout)
    assert model is not None
    return model.kernels, frames_of(mb, model)


class CompiledMotion:
    """The steps of one problem by one method."""

    def __init__(self, problem: Mechanism, method: Method) -> None:
        mb = problem.mb
        self._problem, self._adaptive = problem, method.adaptive
        loads = problem.functions_and_controls
        controls = [x if isinstance(x, Control) else None for x in loads]
        model = CompiledModel.any_of(mb.layout)
        assert model is not None
        self._kernels = model.kernels
        # one number of what is no samples, which functions set
        samples = [_NUMBER if x is None or x.samples is None else x.samples for x in controls]
        measure = constant_measure_of(mb)
        self._setting = Setting(
            METHODS[type(method)],
            Tableau.of(method),
            np.array([np.zeros(mb.nv) if x is None else x.row for x in controls]).reshape(len(loads), mb.nv),
            np.array([np.zeros(mb.nq) if x is None else x.length for x in controls]).reshape(len(loads), mb.nq),
            np.array([np.zeros(8) if x is None else x.law for x in controls]).reshape(len(loads), 8),
            np.cumsum([0, *(len(times) for times, _ in samples)], dtype=np.int64),
            np.concatenate([np.zeros(0), *(times for times, _ in samples)]),
            np.concatenate([np.zeros(0), *(values for _, values in samples)]),
            1,
            np.ascontiguousarray(measure.dofs),
            problem.floating.astype(np.float64),
            float(np.sqrt(np.linalg.norm(mb.gravity) / measure.length)) if mb.nv else 0.0,
            mb.acting_forces,
            frames_of(mb, model),
            None,
        )
        starts = self._setting.starts.tolist()
        self._numbers = [(at, x) for at, x in zip(starts, controls, strict=False) if x is not None and x.is_number]
        knots = [ns for x in controls if x is not None for ns in x.knots.ns]
        knots += problem.prescribed.knots
        self._stops = np.unique(np.array(knots, dtype=np.int64))
        functions = evaluation_of(problem, loads, starts, self._setting.values)
        self._setting = self._setting._replace(functions=functions)
        self._columns, self._room = problem.force_columns, np.zeros(0)
        self.raised: BaseException | None = None
        """Error that an equation in Python raised in the last call, or an interrupt."""
        self.most = max(1, min(_STEPS, _WORK // max(1, len(mb))))

    def advance(
        self,
        course: tuple[int, int, int, int],
        x: Array,
        w: Array,
        rtol: float,
        pace: tuple[float, int, int],
        held: Array | None = None,
        pause: Callable[[int], object] | None = None,
        longest: float = np.inf,
        visits: VisitPlan | None = None,
        limit: int | None = None,
    ) -> tuple[Block | None, tuple[float, int, int]]:
        """Steps from x with rates w, as many as one call takes and is sure of: a block, None for none. And the pace of
        an adaptive method after them: the length of its next step, and its counts of stability. `course` is now, goal,
        step and origin, in nanoseconds. `held`: a generalized force for each step, or one for all, (steps or 1, nv),
        with which the rates w are computed again. `pause` is called with the end of each step, before components tick.
        No step of an adaptive method is longer than `longest`, in seconds. `visits` are made between steps;
        `limit` is how many steps are taken at most.
        """
        self.raised = None
        if self._numbers:
            self._read_numbers()
        problem, size, chain = self._problem, len(w), None
        if problem.is_closed:
            chain = chain_of(problem, *problem.parts(x)[:2])
            if chain is None:
                return None, pace
        now, goal, step, _ = course
        breaks, touch = problem.components.breaks, problem.contact
        stops = np.union1d(self._stops, np.array(breaks.ns, dtype=np.int64)) if breaks.ns else self._stops
        most = self.most if self._adaptive else min(self.most, -(-(goal - now) // step) + len(stops))
        if visits is not None:
            most = self.most  # steps end at visits
        if limit is not None:
            most = min(most, limit)
        tableau = self._setting.tableau
        rows = 3 if touch.touches else 1 if tableau is None or tableau.D is None else 3 + len(tableau.D)
        names, nv = len(problem.names), problem.sizes[2]
        carried, plan = None if problem.components.is_empty else problem.components.compiled(), None
        if carried is not None:
            plan, cost = carried.begin(touch.shapes), max(1.0, len(problem.mb) + carried.weight)
            if plan is None:
                return None, pace
            row = carried.width + len(x) + 3 * size + names * nv
            most = max(1, min(most, int(_WORK / cost), _NUMBERS // max(row, 1)))
            if pause is not None and not self._adaptive:
                most = min(most, max(1, _PAUSE // step))
        energies = visits is not None and visits.needs_energies
        starts = visits is not None and not touch.touches  # rates that differ from those before
        room, self._room = self._room, np.zeros(0)  # another call meanwhile takes other memory
        entries = self._columns.entries
        widths = (len(x), size, rows * size, len(entries), 1, 1)
        room, (X, W, F, forces, errors, openings) = _shared(room, most, widths, 2)
        ticking, ns = (size, carried.width) if carried is not None else (0, 0), np.empty(most + 1, dtype=np.int64)
        track = Track(
            entries, ns[1:], X[1:], W[1:], F, forces, errors, openings,
            np.empty((most, ticking[0])), np.empty((most, ticking[1])), np.empty((1, size)),
            np.empty((most, size) if starts else (0, 0)), np.empty((most, 3) if energies else (0, 0)),
        )  # fmt: skip
        way = Course(*course, stops, rtol, *pace, longest, breaks.seconds)
        contact: CompiledContact | None = None
        if touch.touches:
            touch.begin(course[0] / 1e9, problem.parts(x)[0])
            if touch.takes_out:
                return None, pace
            contact = touch.compiled(now / 1e9)
        setting = self._setting._replace(
            chain=chain, contact=contact, held=held, plan=plan, pause=pause,
            visits=None if visits is None else visits.begin(self._setting.values, self._numbers, most),
            prescribed=prescribed_of(problem, carried),
            holds=holds_of(problem) if problem.holds.all else None,
        )  # fmt: skip
        conditions = problem.conditions_now  # a visit may change it
        done, *after, log = self._walk(setting, way, x, w, track, carried, visits)
        if log is not None and done:
            (of_row,) = self._columns.full(track.forces[done - 1 : done])
            of_contact = of_row[problem.names.index(touch.name)]
            touch.take(log, np.concatenate([of_contact, self._row_forces(track.X[done - 1], of_row)]))
        full = done >= _FULL * most
        self._room = np.zeros(0) if full else room
        if chain is not None:
            problem.closures.follow(chain.theta)
        paced = float(after[0]), int(after[1]), int(after[2])
        if not done:
            return None, paced
        if carried is not None:
            carried.end()
            w = track.begun[0]
        ns[0], X[0], W[0] = now, x, w
        ends, X, W = ns[: done + 1], X[: done + 1], W[: done + 1]
        F, forces = F[:done].reshape(done, rows, size), forces[:done]
        if not full:
            ends, X, W, F, forces = ends.copy(), X.copy(), W.copy(), F.copy(), forces.copy()
        return Block(
            problem,
            ends,
            X,
            W,
            F,
            forces,
            track.errors[:done, 0].copy() if self._adaptive else None,
            track.openings[:done, 0].copy(),
            conditions,
            self._columns,
            None if carried is None else track.before[:done],
            None if carried is None else track.signals[:done],
            track.starts[:done] if starts else None,
            track.energies[:done] if energies else None,
            None if visits is None else visits.history,
        ), paced

    def _row_forces(self, x: Array, forces: Array) -> Array:
        """Forces of stops and friction that are rows of the contact problem, at the end of a step with these forces,
        (forces, dofs), without what is viscous."""
        problem = self._problem
        places, loads = problem.contact.row_forces, problem.loads
        if not places:
            return np.zeros(0)
        state = problem.mb.state(*problem.parts(x)[:2])
        return np.array([forces[i, dof] - loads[i].force(0.0, state)[dof] for i, dof, _ in places])

    def _read_numbers(self) -> None:
        """Take the numbers that controls have now."""
        values = self._setting.values
        for at, control in self._numbers:
            values[at] = control.number

    def _walk(
        self,
        setting: Setting,
        way: Course,
        x: Array,
        w: Array,
        track: Track,
        carried: CompiledCarried | None,
        visits: VisitPlan | None,
    ) -> Any:
        """The compiled call; clocks that tick together for the first time are made known to the plan."""
        motions = setting.prescribed is not None and setting.prescribed.call is not None
        if carried is None and setting.functions is None and setting.visits is None and not motions:
            *walked, self.raised = _core.advance(self._kernels, setting, way, x, w, track)
            return walked
        if carried is None:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite end the run with an error
                *walked, raised = _core.advance(self._kernels, setting, way, x, w, track)
            if visits is not None:
                visits.end()
            self.raised = None if self._is_of_trial(raised, visits) else raised
            return walked
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite end the run with an error
            while True:
                done, *after, log, raised = _core.advance(self._kernels, setting, way, x, w, track)
                if done or not setting.plan.unknown:
                    break
                carried.learn(setting.plan.unknown)
        functions, prescribed = setting.functions, setting.prescribed
        of_motion = prescribed is not None and any(raised is x for x in prescribed.raised)
        if of_motion or (functions is not None and functions.failed[0]):  # no equation of a component
            self.raised = None if self._is_of_trial(raised, None) else raised
        else:
            fault = carried.fault(raised)
            self.raised = None if self._is_of_trial(fault, None) and not setting.plan.ticking else fault
        return done, *after, log

    def _is_of_trial(self, raised: BaseException | None, visits: VisitPlan | None) -> bool:
        """True if a function raised an error in a trial of an adaptive method, where a shorter step may do."""
        of_visit = visits is not None and visits.raised
        is_of_state = isinstance(raised, SoacraftError) and not isinstance(raised, StaleError)
        return self._adaptive and is_of_state and not of_visit

    def lanes(self, arrays: LaneArrays, chain: Chain | None) -> Any:
        """Compiled steps of states that go on side by side: `_core.Lanes`. `chain` is that of a closed chain."""
        return _core.Lanes(*self.of_lane(chain), arrays)

    def of_lane(self, chain: Chain | None) -> tuple[Any, Setting]:
        """The kernels and the setting of a lane, with the parameters and numbers of now."""
        contact = self._problem.contact.compiled()
        prescribed = prescribed_of(self._problem)
        return self._kernels, self._setting._replace(chain=chain, contact=contact, prescribed=prescribed)

    def roll(self, q: Array, v: Array, force: Array, step: int, rolled: tuple[Array, Array], threads: int) -> Any:
        """Steps of so many nanoseconds with contact from each state of a batch, into arrays (n, steps + 1, nq) and (n,
        steps + 1, nv). None, or the state and the step that compiled code was not sure of."""
        touch = self._problem.contact
        touch.begin_batch(q)
        self._read_numbers()
        setting = self._setting._replace(contact=touch.compiled())
        return _core.roll_contacts(self._kernels, setting, q, v, force, step, *rolled, threads)
