"""`Contact`: shapes that touch, limits and dry friction of hinges, as impulses in the steps of "moreau" and
"moreau_midpoint"."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

from soacraft import dynamics as dyn
from soacraft.attributes import Remade
from soacraft.contact.dynamics.impulses import Further, Resolved, push_out
from soacraft.contact.dynamics.mujoco import translation
from soacraft.contact.dynamics.restitution import (
    ORDER,
    RESTITUTION,
    ROUNDING,
    ImpactLaw,
    Order,
    Restitution,
    resolve,
    resolve_in_turn,
)
from soacraft.contact.dynamics.rows import ContactRows, contact_rows, same_points, some_points
from soacraft.contact.dynamics.surfaces import Friction, Pairs, Surfaces
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.solvers.blocks import Bilateral, Bounded, Cone
from soacraft.contact.solvers.problem import Accept
from soacraft.errors import ConvergenceError, ModelError, SimulationError, StateError
from soacraft.markup import Text
from soacraft.model.sizes.measure import measure_of
from soacraft.model.sizes.scale import scale_of
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.results import finite_or_refused
from soacraft.sim.forces.compiled_contact import CompiledContact, ContactLog, compiled_contact
from soacraft.sim.forces.contact_element import PassesThrough, Touching, closures, read_choice, read_tolerance
from soacraft.sim.forces.contact_impulses import NO_IMPULSES, impulses_of, is_same_time
from soacraft.sim.forces.contact_steps import ContactDiary, ContactStep, step_of
from soacraft.sim.forces.hinge_rows import HingeRows, Rub, Stop, frictions_of, limits_of
from soacraft.sim.forces.one_sided import Chosen, OneSided
from soacraft.sim.forces.starts import (
    OUTWARD,
    Overlap,
    dofs_beyond,
    part_of_way_out,
    require_separable,
    shapes_in_each_other,
)
from soacraft.sim.integrators.manifold import LARGEST_TURN
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.sim.implicit import Implicit
    from soacraft.sim.system import Mechanism

#: Contacts are looked for this far ahead, in steps at the present speed.
_AHEAD = 2.0
#: Greatest penetration in which a run may begin, in sizes of the smaller shape, radians, or lengths of the model.
_DEEP = 1e-3
#: Rounds to move out of it, which is linear in each.
_ROUNDS = 8
#: A gap of less than this part of the way of a step may not close further: points of one face, which rounding holds
#: apart by nothing, then rest together, and none of them is left out of its share.
_RESTING = 1e-3
#: A step in which a body turns by up to so many times `LARGEST_TURN` is taken in shorter ones, with this part of it.
_FAST, _SHORTER = 10.0, 0.9
#: A limit or a length passed by less than this part of the way of a step is not passed.
_BEYOND = 1e-9


class _Parts(NamedTuple):
    """Parts of a model that touch, stop and rub, as they were read last."""

    key: tuple[Any, ...] = ()
    """Values of the model that they follow from."""
    surfaces: Any = None
    stops: Sequence[Stop] = ()
    rubs: Sequence[Rub] = ()
    ties: Any = ()
    """One-sided couplings and ropes."""


class _Start(NamedTuple):
    """Start of a run: shapes in each other and dofs beyond a bound."""

    began: bool = False
    """True if it was looked at, and nothing is left to be taken out."""
    first: tuple[Overlap, ...] | None = None
    """Overlaps with which the run began."""
    overlaps: tuple[Overlap, ...] = ()
    """Overlaps that are still to be taken out."""


_UNSEEN = _Start()


class _StepRows(NamedTuple):
    """Rows of the present step, and how far shapes and dofs move in it."""

    reach: float = 0.0
    """Length by which shapes may move."""
    stride: Array = np.zeros(0)
    """Lengths by which dofs may move."""
    outward: float = 0.0
    """Length by which it takes out what the run began with, in radians or lengths of the model."""
    gaps: tuple[Array, Array] = (np.zeros(0), np.zeros((0, 0)))
    """Gaps of all that is near, and how they grow with the velocities."""
    implicit: Implicit | None = None
    lifts: tuple[tuple[int, float], ...] = ()
    """Loads that move it out of what it ended in, and their parts."""
    pressed: tuple[ContactRows, Array, set[tuple[int, float]], Array] | None = None
    """Rows at its smooth end, the inverse of the mass matrix, dofs next to their limits, and rows of closures."""


class _Rows(NamedTuple):
    """Rows of the contact problem other than those of points."""

    further: Further
    bounces: Array
    """The speeds at which stops are struck times their restitution, zero or negative, (rows)."""
    of_loads: Sequence[tuple[int, int]]
    """Numbers of the rows of loads, and of these among `HingeRows.places`."""


class Contact(Remade, Touching):
    """Contact of the shapes of a model, for `p.add` of a propagator with integrator="moreau" or "moreau_midpoint".

    `scene` says which shapes may touch (default: all that the model has for collision). `friction` and `restitution`
    are those of shapes that say nothing themselves: friction is a number, of sliding, or numbers of sliding, spinning
    and rolling, the last two lengths in metres; `pairs` has those of pairs, {("foot", "floor"): (0.8, 0.0)}.
    `limits` lets hinges stop at theirs, `dry` lets the friction of hinges hold and rub, `one_sided`
    lets one-sided couplings and ropes of the model act (`mb.couple(..., one_sided=True)`, `mb.add_rope`), with
    {name: U} driven ones: U(t) gives (value, rate) in place of the offset or length. `law` is that of restitution:
    "energy" (Newton's, made smaller where energy would rise), "newton" or "poisson", whose gains `gains` lists;
    `impacts` of one instant are "simultaneous", one problem, or "sequential", one after the other (see
    `soacraft.contact.dynamics.restitution`). A contact problem that is not solved to `tolerance` raises, or warns, or
    is only reported, as `otherwise` says. A rigid `JointLimit` and a `HingeFriction` that sticks, added next to it, are
    rows of the same problem, with forces and work of their own, in place of the limits and the dry friction of their
    hinges. A run may begin with shapes in each other and dofs beyond their limits: what
    is deeper than 1e-3 of the smaller shape, or of a radian or the model's length, is taken out at a bounded speed,
    and no velocity comes of it (`start`); it is refused where no dof moves two shapes apart. Where `penetration` is
    given, in the same parts, the run begins with them moved apart at once, and what is deeper is refused. A step that
    may lead two shapes through each other is cut: no pair comes deeper in one step than 2/5 of its thickness (see
    `soacraft.contact.geometry.passage`). What approaches no faster than forces make it in one step does not bounce.

    `steps` has what happened in each step of the last run; every run keeps its own in `run.contacts`.

    A ball that falls from 1 m, e = 0.5, has its first impact at 0.4515 s:

    >>> import soacraft as sc
    >>> mb = sc.Multibody()
    >>> _ = mb.root.add_geometry(sc.Geometry("floor", "plane"))
    >>> ball = mb.add_body("ball", None, sc.Free(), sc.Inertia(1.0, moment=np.eye(3) * 0.004))
    >>> _ = ball.add_geometry(sc.Geometry("skin", "sphere", (0.1,)))
    >>> mb.set_state([0, 0, 0, 1, 0, 0, 1.1], np.zeros(6))
    >>> p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
    >>> touch = sc.sim.Contact(restitution=0.5)
    >>> p.add(touch)
    >>> run = p.advance_to(0.6)
    >>> [round(x.t, 2) for x in touch.steps if x.impulses.any()]
    [0.45]
    """

    name = "contact"
    touches = True

    _remade: ClassVar = {"_compiled": None}
    _takes_out: ClassVar[bool] = True

    def __init__(
        self,
        scene: Scene | None = None,
        *,
        friction: Friction = 0.5,
        restitution: float = 0.0,
        pairs: Pairs | None = None,
        limits: bool = True,
        dry: bool = True,
        one_sided: Chosen = True,
        law: Restitution = "energy",
        impacts: Order = "simultaneous",
        tolerance: float = 1e-8,
        otherwise: Accept = "raise",
        penetration: float | None = None,
    ) -> None:
        super().__init__(scene, friction, restitution, pairs)
        read_choice(law, "law", RESTITUTION)
        read_choice(impacts, "impacts", ORDER)
        read_choice(otherwise, "otherwise", get_args(Accept))
        deepest = _DEEP if penetration is None else float(finite(penetration, (), "penetration", StateError))
        if deepest < 0.0:
            raise StateError(f"penetration is {penetration!r}; it must be 0 or more.")
        self._law = ImpactLaw(law, impacts, read_tolerance(tolerance), otherwise)
        self._limits, self._dry, self._one_sided = bool(limits), bool(dry), one_sided
        self._penetration, self._pushes = deepest, penetration is not None
        self.diary = ContactDiary()
        self._compiled: tuple[Any, CompiledContact] | None = None
        self._force: Array | None = None
        self._hinge_rows, self._row_forces = HingeRows(), np.zeros(0)
        self._start, self._step, self._parts = _UNSEEN, _StepRows(), _Parts()

    @property
    def revision(self) -> int:
        """Number of times that the scene changed."""
        return self.scene.revision

    @property
    def shapes(self) -> tuple[str, ...]:
        """Names of the shapes that may touch."""
        return tuple(self.scene.names)

    @property
    def surfaces(self) -> Surfaces:
        """Friction and restitution of the pairs of shapes."""
        surfaces: Surfaces = self._parts.surfaces
        return surfaces

    @property
    def steps(self) -> list[ContactStep]:
        """Contacts of each step of the last run, or of the present one so far. Those of other runs are in their
        `run.contacts`."""
        return self.diary.steps

    def begin_run(self, t: float) -> None:
        """Begin the steps of another run at a time: those of the last one stay with that."""
        self.diary = ContactDiary((t, self.impulses_at(t)))

    def impulses_at(self, t: float) -> Array:
        """The impulses of the step that ended at a time, next to which those of the next one are sought, (points, 11);
        none where no step did."""
        table, start = impulses_of(self.diary.last, t), self.diary.start
        if table is None and start is not None and is_same_time(start[0], t):
            table = start[1]
        return NO_IMPULSES if table is None else table

    def begin_with(self, t: float, table: Array) -> None:
        """Let these be the impulses of the step that ended at a time, and forget those of all others."""
        self.diary.start, self.diary.last = (t, table), None

    def bind(self, mb: Multibody) -> None:
        """Take the model and its shapes."""
        super().bind(mb)
        self._dynamics = dyn.Dynamics(mb, ignore_loops=True)
        self._step = _StepRows(stride=np.zeros(mb.nv))
        self.diary = ContactDiary()
        self._force, self._parts, self._compiled = None, _Parts(), None
        self._hinge_rows, self._row_forces = HingeRows(), np.zeros(0)
        self.begin_anew()
        self.follow()

    def another(self) -> Contact:
        """One of the same scene and settings, which remembers nothing of a run."""
        contact = copy(self)
        if not hasattr(self, "_mb"):  # it acts nowhere yet
            return contact
        contact._scene = self.scene  # with the pairs that were left out of it since
        contact.bind(self._mb)
        return contact

    def follow(self) -> None:
        """Read the model again where it was changed."""
        mb, placed = self._mb, self.scene.placed
        key = (*placed, *(x.limits for x in mb.bodies), *(x.passive for x in mb.bodies), self._hinge_rows)
        before = self._parts.key
        if len(key) == len(before) and all(x is y or x == y for x, y in zip(key, before, strict=True)):
            return
        for x in placed:
            if x.body >= 0 and not np.isfinite(self.scene.shapes[x.name].extent):
                raise ModelError(
                    f"shape {x.name!r} is a plane on a body that moves; it has no volume there: give a box, or fix it."
                )
        stops = self._hinge_rows.all_stops(limits_of(mb) if self._limits else [])
        rubs = self._hinge_rows.all_rubs(frictions_of(mb) if self._dry else [])
        self._parts = _Parts(key, self.made_surfaces(), stops, rubs, OneSided(mb, self._one_sided))
        self.begin_anew()

    def take_rows(self, rows: HingeRows) -> None:
        """Let stops and friction of loads be rows of the contact problem, in place of those before."""
        if rows != self._hinge_rows:
            self._hinge_rows, self._row_forces, self._force = rows, np.zeros(len(rows.places)), None

    def set_friction(self, sliding: Mapping[str, float]) -> None:
        """Give shapes {name: coefficient} other coefficients of sliding than the model says."""
        self.follow()
        before, self._sliding = self._sliding, dict(sliding)
        try:
            self._parts = self._parts._replace(surfaces=self.made_surfaces())
        except ModelError:
            self._sliding = before
            raise

    def recalled(self, steps: Sequence[ContactStep], forces: Array | None) -> None:
        """Take what happened in steps that something else took, and the `mean_forces` of the last of them."""
        self.diary.add(steps)
        self._set_forces(forces)

    @property
    def began(self) -> bool:
        """True if the start was examined."""
        return self._start.began

    def recall(self, began: bool) -> None:
        """Go on with nothing known of the last step; the state tells the start of the next contact problem."""
        self.follow()
        self.diary.start = self.diary.last = None
        self._compiled, self._step = None, self._step._replace(pressed=None)
        self._set_forces(None)
        self._start = self._start._replace(began=began, overlaps=())  # looked for again if the run has not begun

    def begin_anew(self) -> None:
        """The state is a new one: it is looked at as that of a first run."""
        self._start = _UNSEEN
        self.diary.start = self.diary.last = None

    @property
    def takes_out(self) -> bool:
        """True if overlaps of the start are being taken out; such steps are taken in Python."""
        return bool(self._start.overlaps)

    def start(self, t: float, q: Array) -> tuple[Overlap, ...]:
        """Overlaps with which the run began, of shapes or beyond a bound; of one that has not begun those at q."""
        self.follow()
        return tuple(self._beyond(t, q)) if self._start.first is None else self._start.first

    def compiled(self, t: float | None = None) -> CompiledContact:
        """Contact as compiled steps read it, with the impulses of the step that ended at t, if it is given; kept until
        something of it changes. `begin` comes first."""
        core = self.scene.compiled[0]
        key = core, self._parts.surfaces, self._parts.stops, self._parts.rubs
        if self._compiled is None or any(x is not y for x, y in zip(self._compiled[0], key, strict=True)):
            setting = compiled_contact(self.scene, *key[1:], self._law.restitution == "energy", self._law.tolerance)
            self._compiled = key, setting
        contact = self._compiled[1]
        return contact if t is None else contact._replace(impulses=self.impulses_at(t))

    def take(self, log: tuple[Array, Array], forces: Array) -> None:
        """The contacts of compiled steps, as arrays, and the `mean_forces` of the last of them; they are made into
        `steps` when these are read."""
        self.diary.take(ContactLog(self.scene.names, *log))
        self._set_forces(forces)

    def take_back(self, t: float) -> None:
        """Forget the contacts of steps that end after a time, which are taken again."""
        self.diary.take_back(t)

    def report(self) -> Text:
        """A text: contact data of the model, such as MJCF's condim, solref and pairs, and what becomes of each."""
        law = f"{self._law.restitution} restitution, {self._law.order} impacts"
        lines = [f"{self.scene!r}", f"{len(self.scene.pairs)} pairs, {law}"]
        return Text("\n".join([*lines, *translation(self.scene), *self.cautions]))

    @property
    def lets(self) -> set[str]:
        """Parts of the model that it lets act in addition to shapes: "limits", "dry", "one_sided"."""
        acting = {"limits": self._limits, "dry": self._dry, "one_sided": self._one_sided is not False}
        return {name for name, acts in acting.items() if acts}

    @property
    def gains(self) -> list[ContactStep]:
        """The steps in which contacts gave energy, beyond rounding next to what they took and gave in others."""
        most = max((abs(x.work) for x in self.steps), default=0.0)
        return [x for x in self.steps if x.gain > ROUNDING * most]

    @property
    def bounces_stops(self) -> bool:
        """True if its law knows restitution at stops of dofs."""
        return self._law.restitution != "poisson" and self._law.order == "simultaneous"

    @property
    def obstacle(self) -> str:
        """Reason why its steps are taken in Python alone; empty for the laws that compiled steps know."""
        if self._law.restitution == "poisson":
            return "restitution is Poisson's"
        if self._law.order == "sequential":
            return "impacts are sequential"
        return "one-sided couplings or ropes act" if len(self._parts.ties) else ""

    def force(self, t: float, state: State) -> Array:
        """The force of the last step, averaged over it. It acts in the steps of the method; here it is recorded."""
        return np.zeros(self._mb.nv) if self._force is None else self._force

    @property
    def mean_forces(self) -> Array | None:
        """Generalized force of the last step, averaged over it, without that of loads (nv), and behind it the forces of
        the rows of loads; None where nothing is known of it."""
        return None if self._force is None else np.concatenate([self._force, self._row_forces])

    @property
    def lifts(self) -> tuple[tuple[int, float], ...]:
        """Stops that are loads, by their numbers, and the part of each in the last way out of what a step ended in."""
        return self._step.lifts

    @property
    def row_forces(self) -> list[tuple[int, int, float]]:
        """The load and the dof of each row of a load, and its force in the last step, averaged over it."""
        places = self._hinge_rows.places
        return [(*at, float(force)) for at, force in zip(places, self._row_forces, strict=True)]

    def _set_forces(self, forces: Array | None) -> None:
        nv = self._mb.nv
        self._force = None if forces is None else forces[:nv]
        self._row_forces = np.zeros(len(self._hinge_rows.places)) if forces is None else forces[nv:]

    @property
    def presses(self) -> bool:
        """True if there were impulses in the last step."""
        return self._force is not None and bool(self._force.any() or self._row_forces.any())

    @property
    def has_ropes(self) -> bool:
        """True if one-sided couplings or ropes act."""
        return bool(len(self._parts.ties))

    @property
    def holds_dofs(self) -> bool:
        """True if limits or dry friction of hinges act."""
        return bool(self._parts.stops or self._parts.rubs)

    @property
    def drives(self) -> bool:
        """True if something of it moves by itself, and may do work: surfaces, or one-sided ties."""
        return bool(self.scene.compiled[3]) or bool(len(self._parts.ties))

    def begin(self, t: float, q: Array) -> None:
        """Begin a step: follow the model, and refuse a start in penetration or beyond a limit, of a first run or after
        state or model were changed."""
        self._step = self._step._replace(pressed=None, implicit=None)  # nothing is known of it yet
        self._set_forces(None)
        self.follow()
        if self._start.began:
            return
        if self._pushes or not self._takes_out:
            self._require_apart(q[None])
            self._parts.ties.require_within(t, q, self._penetration)
            self._start = self._start._replace(began=True)
            return
        overlaps, first = tuple(self._beyond(t, q)), self._start.first
        self._start = self._start._replace(overlaps=overlaps)
        if first is None:
            require_separable(overlaps)
            first = overlaps
        self._start = _Start(not overlaps, first, overlaps)

    def _beyond(self, t: float, q: Array) -> list[Overlap]:
        """Overlaps that are deeper than a run may begin with."""
        measure, most = measure_of(self._mb, q), self._penetration
        shapes = shapes_in_each_other(self.scene, q[None], measure, most)
        return [*shapes, *dofs_beyond(self._parts.stops, q[None], measure, most), *self._parts.ties.beyond(t, q, most)]

    def begin_batch(self, q: Array, which: Sequence[int] = (), of: str = "rollout") -> None:
        """Begin steps from each of a batch of states (n, nq), whose numbers are `which`, with the checks of `begin`."""
        if self._pushes:
            raise StateError(
                f"a {of} does not push shapes out of each other, as Contact(penetration=...) asks; leave penetration "
                "out and begin with shapes apart, or use p.advance_to."
            )
        self.follow()
        self._require_apart(q, [f"state {i} of the {of}" for i in which])
        self._start = self._start._replace(began=False)  # the model's own state was not looked at

    def _require_apart(self, q: Array, whose: Sequence[str] = ()) -> None:
        """Raise where one of the states (n, nq) is in penetration or beyond a limit."""
        if not whose:
            whose = [f"state {i} of the rollout" for i in range(len(q))] if len(q) > 1 else ["the run"]
        measure = measure_of(self._mb, q[0])
        for x in shapes_in_each_other(self.scene, q, measure, self._penetration):
            cure = f"leave the pair out with {x.exclusion}"
            if x.moves:
                cure = f"move them apart, {cure}, or push them out with penetration={2 * x.part:.2g}"
            apart = "" if x.moves else ", and no dof moves them apart"
            raise StateError(f"{whose[x.state]} begins with {x}{apart}; {cure}.")
        for x in dofs_beyond(self._parts.stops, q, measure, self._penetration):
            raise StateError(f"{whose[x.state]} begins with {x}; set it within, or give limits=False.")

    def pushed_out(self, problem: Mechanism, t: float, x: Array) -> Array:
        """The point at which a run begins, first or again: with `penetration` given, shapes, limits and ropes are moved
        out of what they are in, by the smallest displacement in the metric of the mass matrix."""
        if not self._pushes:
            return x
        self.follow()
        if self._start.began:
            return x
        try:
            self.begin(t, problem.parts(x)[0])
        except StateError:
            return x  # the run says so
        for _ in range(_ROUNDS):
            out = self.out_of(problem, t, problem.parts(x)[0])
            if out is None:
                break
            push = np.zeros(problem.manifold.size)
            push[: problem.coordinates.size] = problem.tangent(problem.parts(x)[0], out)
            x = problem.manifold.move(x, push)
        return x

    def act(
        self,
        problem: Mechanism,
        t: float,
        h: float,
        start: tuple[Array, Array],
        end: tuple[Array, Array],
        past: float | None = None,
        implicit: Implicit | None = None,
    ) -> Resolved:
        """Velocities at the end of a step of length h, whose start and smooth end are given as (q, v). Contacts that
        would close within the step may close, not more. `past`: how long after the middle of the step the coordinates
        of its end are, in seconds: half the step unless given. `implicit`: forces that answer the impulses."""
        q, v_free = end
        past = 0.5 * h if past is None else past
        self._require_followed(t, h, end)
        reach = h * 2.0 * max(self.scene.fastest(*start), self.scene.fastest(*end))
        outward = OUTWARD * h / scale_of(self._mb).time if self._start.overlaps else 0.0
        rows = contact_rows(self.scene, self._parts.surfaces, q, _AHEAD * reach)
        stride = _AHEAD * h * np.abs(v_free)
        self._step = self._step._replace(
            outward=outward, reach=reach, stride=stride, gaps=(rows.gap, rows.J[rows.normals])
        )
        gap = rows.gap - past * (rows.J @ v_free)[rows.normals]  # in the middle of the step
        keep = np.flatnonzero((gap <= _RESTING * reach) | (rows.restitution == 0.0))
        rows, gap = (rows, gap) if len(keep) == len(rows) else (some_points(rows, keep), gap[keep])
        before, leaves = np.zeros(len(rows)), np.zeros(len(rows))
        small = (gap > 0.0) & (gap <= _RESTING * reach)
        if rows.restitution.any() or small.any():
            then = replace(rows.contacts, q=start[0][None])
            before = np.einsum("pi,pij,j->p", rows.contacts.normal, self.scene.jacobian(then), start[1])
            leaves = np.maximum(before, 0.0)
            # what approaches no faster than forces make it in one step rests: its hops are shorter than a step
            before[np.abs(before) <= np.abs((rows.J @ v_free)[rows.normals] - before)] = 0.0
        tied = _closures(problem, q)
        more = self._more(problem, tied, t, (start[1], v_free), q, h, past)
        inverse = self._compliance(q, implicit)
        near = {(x.number, sign) for x, sign, _ in _near_stops(self._parts.stops, q, v_free, past, stride)}
        self._step = self._step._replace(pressed=(rows, inverse, near, tied[0]))
        in_turn = self._law.order == "sequential"
        taken, struck = (resolve_in_turn, start[1]) if in_turn else (resolve, before)
        # what rests keeps its gap; what leaves may come back as fast as it left, or its hop would end above its begin
        closes = 2.0 * np.maximum(gap, 0.0) / h
        allowed = np.where(gap > _RESTING * reach, closes, np.minimum(closes, leaves))
        further, bounces, _ = more
        if len(rows) or not all(isinstance(x, Bilateral) for x in further[1]):
            try:
                solve = lambda X: np.asarray(inverse @ X)  # noqa: E731
                done = taken(rows, solve, v_free, struck, allowed, further, self._law, bounces)
            except ConvergenceError as wrong:
                driven = [
                    repr(x) for x, is_told in zip(self._mb.dof_names, problem.prescribed.mask, strict=True) if is_told
                ]
                if not driven:
                    raise
                raise ConvergenceError(
                    f"{wrong}; the motion of {', '.join(driven)} is prescribed, and may lead shapes into each other or "
                    "a dof beyond its limit, which no impulse prevents: prescribe another, or let a force drive it"
                ) from None
        else:  # the smooth step has closed the loops
            done = Resolved(v_free, np.zeros(len(v_free)), np.zeros(len(v_free)), None, 0.0)
        with np.errstate(over="ignore"):
            force = (done.contact + done.held) / h if done.presses else np.zeros(len(v_free))
        what = f"the force of contacts in the step of {h:g} s that ends at {t:g} s"
        force = finite_or_refused(force, what, "Check the units of masses and velocities.", SimulationError)
        self._set_forces(self._apart(force, done, more, h))
        while self.steps and self.steps[-1].t > t - h * (1.0 - 1e-9):  # a step that is taken again, up to an event
            self.steps.pop()
        if done.impulses is not None:
            self.steps.append(step_of(t, rows, done, self.scene.names))
        return done

    def _apart(self, force: Array, done: Resolved, more: _Rows, h: float) -> Array:
        """The mean force of all impulses of a step as that without rows of loads, and those of the rows."""
        places, parts = self._hinge_rows.places, np.zeros(len(self._hinge_rows.places))
        if done.presses and done.impulses is not None:
            N, p = more.further[0], done.impulses.p[len(done.impulses.p) - len(more.further[0]) :]
            for row, i in more.of_loads:
                parts[i] += N[row, places[i][1]] * p[row] / h
        for (_, number), part in zip(places, parts, strict=True):
            force[number] -= part
        return np.concatenate([force, parts])

    def _require_followed(self, t: float, h: float, end: tuple[Array, Array]) -> None:
        """Raise where a body turns too far in the step for its contacts to be those of the step's end."""
        speed, body = self.scene.turning(*end)
        turn = h * speed
        if turn > LARGEST_TURN:
            part = _SHORTER * LARGEST_TURN / turn
            raise PassesThrough(
                f"{body!r} turns by {turn:.3g} rad in the step of {h:g} s that ends at {t:.9g} s; contacts are "
                f"followed up to {LARGEST_TURN:g} rad in a step. Take steps below {part * h:.2g} s; if nothing should "
                "turn so fast, look for what drives it, as a control too stiff for its period.",
                part if turn <= _FAST * LARGEST_TURN else 0.0,
            )

    def _compliance(self, q: Array, implicit: Implicit | None) -> Array:
        """The inverse of the mass matrix of the tree, with implicit forces (M + A)^-1."""
        self._step, inverse = self._step._replace(implicit=implicit), self._dynamics.mass_matrix_inverse(q)
        return np.asarray(inverse if implicit is None else implicit.inverse(inverse))

    def out_of_end(self, problem: Mechanism, t: float, h: float, q: Array, v: Array) -> Array | None:
        """Displacement as of `out_of`, for a step that ends at q with velocities v since its middle; shapes are
        examined where their gaps in the middle and v tell that they may be in each other."""
        gap, J = self._step.gaps
        if not self._start.overlaps and not (gap + 0.5 * h * (J @ v) < -_RESTING * self._step.reach).any():
            beyond = [
                min(q[x.place] - x.lower, x.upper - q[x.place]) < -_BEYOND * self._step.stride[x.number]
                for x in self._parts.stops
            ]
            if not any(beyond) and not len(self._parts.ties):
                return None
        return self.out_of(problem, t, q)

    def out_of(self, problem: Mechanism, t: float, q: Array) -> Array | None:
        """The displacement (nv) out of what a step that ends at q would be in, because it struck after its middle, and
        not into anything near; None where it is in nothing. By the rows and the mass matrix of the smooth end, where
        all that is near was near there, too."""
        rows = contact_rows(self.scene, self._parts.surfaces, q, self._step.reach)
        nv = self._mb.nv
        gaps, ways = list(rows.gap), [_RESTING * self._step.reach] * len(rows)
        same = None if self._step.pressed is None else same_points(self._step.pressed[0], rows, 2.0 * self._step.reach)
        near = set() if self._step.pressed is None else self._step.pressed[2]
        N, sides = [], []
        self._step = self._step._replace(lifts=())
        for x in self._parts.stops:
            for sign, gap in ((1.0, q[x.place] - x.lower), (-1.0, x.upper - q[x.place])):
                if gap <= self._step.stride[x.number]:
                    sides.append((x.number, sign))
                    N.append(sign * np.eye(nv)[x.number])
                    gaps.append(gap)
                    ways.append(_BEYOND * self._step.stride[x.number])
        for row in self._parts.ties.rows(t, q):
            way = float(np.abs(row.N) @ self._step.stride)
            if row.closes and row.gap <= way:
                N.append(row.N)
                gaps.append(row.gap)
                ways.append(_BEYOND * way)
        if not any(gap < -way for gap, way in zip(gaps, ways, strict=True)):
            return None
        held = [np.eye(nv)[problem.prescribed.mask]]
        if self._step.pressed is not None and same is not None and near.issuperset(sides):
            before, inverse, _, tied = self._step.pressed
            N = [*before.J[before.normals[same]], *N]
            held.append(tied)
        else:
            inverse = self._compliance(q, self._step.implicit)
            N = [*rows.J[rows.normals], *N]
            held.append(_closures(problem, q)[0])

        def solve_mass(X: Array) -> Array:
            return np.asarray(inverse @ X)

        all_rows = np.array(N), solve_mass, np.array(gaps), np.vstack(held)
        if not self._start.overlaps:
            out, p = push_out(*all_rows)
            self._step = self._step._replace(lifts=self._lifts(sides, np.maximum(-all_rows[2] * p, 0.0), len(rows)))
            return out
        measure = measure_of(self._mb, q)
        along = np.abs(all_rows[0][len(rows) :]) / measure.dofs
        most = self._step.outward * np.concatenate([np.full(len(rows), measure.length), along.max(axis=1, initial=0.0)])
        return part_of_way_out(*all_rows, most, measure, self._step.outward)

    def _lifts(self, sides: Sequence[tuple[int, float]], work: Array, first: int) -> tuple[tuple[int, float], ...]:
        """The stops that are loads, by their numbers, and the part of each in the displacement out of what a step ended
        in; `work` is that of each row along it, of stops from `first` on."""
        loads, total = {x.number: x.load for x in self._hinge_rows.stops}, float(work.sum())
        if not total > 0.0:
            return ()
        parts = [(loads.get(side[0], -1), float(part) / total) for side, part in zip(sides, work[first:], strict=False)]
        return tuple(x for x in parts if x[0] >= 0)

    def _more(
        self, problem: Mechanism, tied: Further, t: float, velocities: tuple[Array, Array], q: Array, h: float,
        past: float,
    ) -> _Rows:  # fmt: skip
        """Rows of closures, of dofs with a prescribed motion, of limits, of one-sided ties and of dry hinges.
        `velocities` are those before the step and at its smooth end."""
        nv, (before, v) = self._mb.nv, velocities
        rows, laws, asked = list(tied[0]), list(tied[1]), list(tied[2])
        held, bounces, of_loads = problem.prescribed.mask, dict[int, float](), list[tuple[int, int]]()
        numbers = {load: i for i, (load, _) in enumerate(self._hinge_rows.places)}
        for i in np.flatnonzero(held):
            rows.append(np.eye(nv)[i])
            laws.append(Bilateral(f"prescribed {self._mb.dof_names[i]}"))
            asked.append(float(v[i]))
        for x, sign, gap in _near_stops(self._parts.stops, q, v, past, _AHEAD * h * np.abs(v)):
            if x.load >= 0:
                of_loads.append((len(rows), numbers[x.load]))
            struck, closes = x.bounces(before, v, sign), 2.0 * max(gap, 0.0) / h
            if struck < 0.0:
                bounces[len(rows)] = struck
            if x.restitution > 0.0:  # what leaves may come back as fast as it left
                closes = 0.0 if struck < 0.0 else min(closes, max(sign * float(before[x.number]), 0.0))
            rows.append(sign * np.eye(nv)[x.number])
            laws.append(Cone((), name=f"limit of {x.name}"))
            asked.append(-closes)
        for row in self._parts.ties.rows(t - 0.5 * h + past, q):
            speed = float(row.N @ v) + row.rate
            gap = row.gap - past * speed if row.closes else 0.0
            if row.N.any() and gap <= _AHEAD * h * abs(speed):
                rows.append(row.N)
                laws.append(Cone((), name=row.name))
                asked.append(-row.rate - 2.0 * max(gap, 0.0) / h)
        for rub in self._parts.rubs:
            if not held[rub.number]:
                if rub.load >= 0:
                    of_loads.append((len(rows), numbers[rub.load]))
                rows.append(np.eye(nv)[rub.number])
                laws.append(Bounded(rub.force * h, name=f"dry friction of {rub.name}"))
                asked.append(0.0)
        speeds = np.array([bounces.get(i, 0.0) for i in range(len(rows))])
        return _Rows((np.reshape(rows, (len(rows), nv)), tuple(laws), np.array(asked)), speeds, of_loads)

    def __repr__(self) -> str:
        return f"Contact of {self._coefficients()}, {len(self.steps)} steps"


def _closures(problem: Mechanism, q: Array) -> Further:
    """Rows of closures and couplings at q, none of a tree."""
    if not problem.is_closed:
        return np.zeros((0, problem.mb.nv)), (), np.zeros(0)
    return closures(problem.mb, q)


def _near_stops(
    stops: Sequence[Stop], q: Array, v: Array, past: float, stride: Array
) -> Iterator[tuple[Stop, float, float]]:
    """Stops that count in a step, with the side (1 of the lower limit, -1 of the upper one) and the gap in its middle:
    (q, v) is `past` seconds after it. One that bounces counts where it is closed there."""
    for x in stops:
        middle = float(q[x.place] - past * v[x.number])
        for sign, gap in ((1.0, middle - x.lower), (-1.0, x.upper - middle)):
            if gap <= (_RESTING if x.restitution > 0.0 else 1.0) * stride[x.number]:
                yield x, sign, gap
