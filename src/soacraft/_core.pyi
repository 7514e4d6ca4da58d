"""Compiled kernels of soacraft: the sweeps of an SKO model on flat arrays.

Arrays are C-contiguous, `float64` or `int64`; anything else is refused with `ValueError`, never copied.
`order` lists the nodes parents first; `parent` is -1 for a base node; `offset` (n + 1) cuts the rows of a
stacked vector into nodes; `edge` holds the row-major blocks A(p(k),k) one after the other, cut by
`edge_offset` (n + 1; nothing for a base node). `x` has shape (N, m).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Reals = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

DOUBT: float  # a hinge inertia this small relative to what it was computed from is in doubt

def version() -> str:
    """The version of soacraft this module was built from."""

def gather(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    edge: _Reals,
    edge_offset: _Integers,
    x: _Reals,
    tilde: bool = False,
) -> _Reals:
    """y(k) = x(k) + sum over children j of A(k,j) y(j), tips to base; tilde: y - x. O(n)."""

def scatter(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    edge: _Reals,
    edge_offset: _Integers,
    x: _Reals,
    tilde: bool = False,
) -> _Reals:
    """y(k) = x(k) + A*(p,k) y(p), base to tips; tilde: y - x. O(n)."""

def block_apply(
    row: _Integers,
    col: _Integers,
    row_offset: _Integers,
    col_offset: _Integers,
    data: _Reals,
    data_offset: _Integers,
    x: _Reals,
    transpose: bool = False,
) -> _Reals:
    """y(row[i]) += X_i x(col[i]) over a list of blocks; transpose: y(col[i]) += X_i* x(row[i]). O(blocks)."""

def lyapunov(
    order: _Integers,
    parent: _Integers,
    left_offset: _Integers,
    right_offset: _Integers,
    A: _Reals,
    B: _Reals,
    X: _Reals,
    backward: bool = False,
) -> _Reals:
    """Y(k) = X(k) + sum over children j of A(k,j) Y(j) B*(k,j), tips to base. O(n).

    backward: Y(k) = X(k) + A*(p,k) Y(p) B(p,k), base to tips. X(k) and Y(k) are left(k) x right(k), A(p,k) is
    left(p) x left(k), B(p,k) is right(p) x right(k), each row-major, one after the other in the order of the nodes.
    """

def riccati(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    hinge_offset: _Integers,
    A: _Reals,
    H: _Reals,
    M: _Reals,
    tolerance: float,
) -> tuple[_Reals, _Reals, _Reals, _Reals, int]:
    """P, P+, D, G, and the first node whose hinge has no inertia to move, or -1. O(n).

    P(k) = sum A(k,j) P+(j) A*(k,j) + M(k), D = H P H*, G = P H* D^-1, P+ = (I - G H) P; blocks row-major, one after
    the other in the order of the nodes. No inertia: D is not above tolerance times what it was computed from, row by
    row; the blocks of nodes that were not reached are then not set.
    """

def ab_dynamics(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    hinge_offset: _Integers,
    A: _Reals,
    H: _Reals,
    P: _Reals,
    D: _Reals,
    G: _Reals,
    T: _Reals,
    a: _Reals,
    b: _Reals,
) -> tuple[_Reals, _Reals, _Reals, _Reals, _Reals]:
    """vdot, alpha, z, eps and nu by the two sweeps of AB forward dynamics, for columns of T (N, m), a and b. O(n)."""

class RigidModel:
    """A compiled rigid tree."""

    @property
    def retired(self) -> bool: ...
    def retire(self) -> None:
        """Send every call to Python from now on."""

    def saved(self, frames: list[tuple[str, int, _Reals]]) -> bytes:
        """The bytes of a file that C++ loads; frames are a name, a body, and rotation and translation on it."""

    @property
    def stamp(self) -> int:
        """How often a parameter changed."""

    @property
    def promise(self) -> tuple[bool, bool]:
        """Whether sums, and what is divided by inertias, cannot overflow for moderate inputs."""

    @property
    def count(self) -> int:
        """The number of elements."""

    @property
    def outdated(self) -> bool: ...
    def outdate(self) -> None:
        """Send every call to Python until it brings new parameters."""

    def touch(self) -> None:
        """A parameter changed that the tree itself does not have."""

    def set_parameters(
        self,
        inboard_R: _Reals,
        inboard_p: _Reals,
        outboard_R: _Reals,
        outboard_p: _Reals,
        mass: _Reals,
        com: _Reals,
        moment: _Reals,
        armature: _Reals,
    ) -> None:
        """The parameters of all bodies."""

    def set_inertia(self, body: int, mass: float, com: _Reals, moment: _Reals) -> None: ...
    def set_pose(self, body: int, inboard: bool, rotation: _Reals, translation: _Reals) -> None: ...
    def set_armature(self, body: int, armature: _Reals) -> None: ...
    def set_gravity(self, gravity: _Reals) -> None:
        """Gravity, for calls of single states."""

    def elements_of_bodies(self) -> tuple[_Integers, _Integers, _Integers]:
        """By body: its element, and those of its hinge from first to last."""

    def elements(self) -> tuple[_Integers, _Integers, _Integers]:
        """By element: its kind, and where its coordinates and velocities begin."""

    def place(self, body: int) -> _Reals:
        """Where a body is on its element: rotation and translation."""

    def run(
        self,
        algorithm: str,
        q: _Reals | None,
        v: _Reals | None,
        x: _Reals | None,
        pull: _Reals | None,
        base: _Reals | None,
        outs: tuple[_Reals, ...],
        threads: int = 1,
        frame: _Reals | None = None,
        passive: bool = False,
        keep: bool = False,
        y: _Reals | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
        place: _Reals | None = None,
    ) -> bool:
        """Run an algorithm on a batch of states; a node is 13 numbers of `frame`. False when a hinge may have no
        inertia to move, or a result is not finite; with `keep` the arrays of `outs` are then as they were.
        """

    def set_passive(
        self,
        spring_whole: _Integers,
        spring_real: _Reals,
        ball_whole: _Integers,
        ball_real: _Reals,
        tendon_whole: _Integers,
        tendon_real: _Reals,
        strand_whole: _Integers,
        strand_real: _Reals,
        line_whole: _Integers,
        line_real: _Reals,
        bushing_real: _Reals,
        node_body: _Integers,
        node_pose: _Reals,
        curve_pieces: _Integers,
        piece_real: _Reals,
        in_python: bool,
    ) -> None:
        """Springs and dampers of hinges and tendons, and between nodes."""

    def rollout(
        self, q: _Reals, v: _Reals, force: _Reals, h: float, Q: _Reals, V: _Reals, threads: int = 1, method: int = 0
    ) -> tuple[int, int, bool] | None:
        """Many steps of a method (0: rk4, 1: symplectic Euler, 2: Verlet) from each state of a batch; where one cannot
        go on, its number, step, and whether a hinge turned too far."""

    def time(self, algorithm: str, q: _Reals, v: _Reals, x: _Reals, repeats: int) -> float:
        """Seconds of one kernel call, looped in the core."""

class Call:
    """One algorithm on single states; anything else goes to the Python function it wraps."""

    __wrapped__: Any
    answered: int
    """How many calls it answered by itself."""
    passed_on: int
    """How many calls went to the Python function."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

def rigid_model(
    parent: _Integers,
    hinge: _Integers,
    q: _Integers,
    v: _Integers,
    hinge_kind: _Integers,
    hinge_end: _Integers,
    hinge_ball: _Reals,
    screw_kind: _Integers,
    screw: _Reals,
    nq: int,
    nv: int,
    modal: list[tuple[Any, ...]] = ...,
    modal_of: _Integers | None = None,
    held: _Integers | None = None,
    rides: _Integers | None = None,
    large_turn: float = ...,
) -> RigidModel:
    """Compile a tree of bodies; its parameters are set next."""

def call(
    model: RigidModel,
    algorithm: str,
    arguments: tuple[str, ...],
    forces: dict[Any, Any],
    fallback: Callable[..., Any],
    frames: dict[Any, bytes],
    wrap: type | tuple[Any, ...] | None = None,
    tied: bool = False,
    ignores: bool = False,
) -> Call:
    """A call of one algorithm on single states and batches that falls back to a Python function."""

def set_orders(call: Callable[..., Any], orders: tuple[Any, ...]) -> None:
    """The orders of state arrays (soacraft.order) that a Call reads; others go to its Python function."""

def set_state_array(type: type) -> None:
    """The class of the read-only arrays of states, which calls take as they take plain arrays."""

def set_wrench_type(type: type) -> None:
    """The class of wrenches, which calls read."""

def algorithms(flexible: bool = False) -> dict[str, dict[str, tuple[str, ...]]]:
    """The algorithms that have a kernel, by name, with the shapes of their inputs and outputs."""

def instruction_set() -> str:
    """The build of the rigid kernels in use."""

def instruction_sets() -> list[str]:
    """The builds of the rigid kernels that this machine can run, best last."""

def use_instruction_set(name: str) -> None:
    """Choose a build; before the first model is compiled."""

def lanes() -> int:
    """How many states a register of that build holds."""

class ClosedSolver:
    """A compiled closed chain: its rows, and its solver. It never changes."""

    def __init__(self, tree: RigidModel, plan: Any) -> None:
        """Compile a plan, an object with the fields of `soacraft.kinematics.plan.Plan`, for a tree."""

    @property
    def outdated(self) -> bool:
        """Whether a parameter of the tree changed."""

    @property
    def size(self) -> int:
        """The number of rows."""

    def run(
        self,
        q: _Reals,
        v: _Reals,
        force: _Reals,
        pull: _Reals | None,
        theta: _Reals,
        vdot: _Reals,
        rest: _Reals,
        followed: _Reals,
        fine: _Integers,
        threads: int = 1,
        passive: bool = False,
        driven: _Integers | None = None,
        rates: _Reals | None = None,
    ) -> int:
        """Solve a batch of states, several side by side; `followed` gets the coordinates of the closures' hinges, found
        from `theta`; `fine` says where the answer holds. `driven`: the place of the numbers of each driven closure (12)
        and coupling (2) in `rates` (count, ...), -1 for others. Returns how many were solved on their own: those that
        were in doubt next to others, or all that are one batch of one.
        """

    def impulse(self, q: _Reals, v: _Reals, theta: _Reals, rhs: _Reals, dv: _Reals) -> bool:
        """The jump of velocities that closes the rows by rhs; False where Python should look at it."""

    def rows(self, q: _Reals, v: _Reals, theta: _Reals, outs: tuple[_Reals, ...]) -> bool:
        """The rows at one state; False where Python should look at it."""

    def is_closed(self, q: _Reals, v: _Reals, force: _Reals, theta: _Reals, passive: bool) -> bool:
        """Whether a state is on its closures and moves as they allow; False where Python should look at it."""

    def compliance(self, q: _Reals, theta: _Reals, to: _Reals) -> bool:
        """What rounding of each row is measured by at q, into `to`; False where Python should look at it."""

    def time(self, q: _Reals, v: _Reals, force: _Reals, theta: _Reals, repeats: int) -> float:
        """Seconds of one solution, looped in the core; below zero when Python would have to look at it."""

def closed_motion(
    solver: ClosedSolver,
    motion: int,
    q: _Reals,
    x: _Reals,
    order: _Integers,
    theta: _Reals,
    q_out: _Reals,
    v_out: _Reals,
    fine: _Integers,
    threads: int = 1,
    v: _Reals | None = None,
    pull: _Reals | None = None,
    passive: bool = False,
    driven: _Integers | None = None,
    rates: _Reals | None = None,
) -> None:
    """Expand, complete, advance, project_velocity, project or inverse_dynamics (0 to 5, the last one with v, external
    forces and springs; the force is in `v_out`) of a batch of states; `fine` gets 1 where the answer holds. `order`:
    the independent dofs in the order of x. Arrays that a motion does not have are (count, 0).
    """

def closed_assemble(
    solver: ClosedSolver,
    q: _Reals,
    theta: _Reals,
    free: _Integers,
    lower: _Reals,
    upper: _Reals,
    place: _Integers,
    nearest: bool,
    q_out: _Reals,
    fine: _Integers,
    threads: int = 1,
) -> None:
    """Close the loops of configurations (count, nq), near where they are, by the free dofs alone, within limits by dof
    (`place`: its coordinate, -1 for none); `nearest`: as near as can be. `fine` gets 1 where the answer holds.
    """

def closed_motion_call(
    solver: ClosedSolver, motion: int, order: _Integers, fallback: Any, forces: dict[Any, Any]
) -> Call:
    """A motion of single states, (q, theta), (q, x, theta) or (q, x, theta, v, passive[, driven, rates]); what it is
    not sure of goes to a Python function, and inverse dynamics while `forces` is not empty.
    """

def advance(
    tree: RigidModel, setting: Any, course: Any, x: _Reals, w: _Reals, track: Any
) -> tuple[int, float, int, int, Any, Any]:
    """Many steps of a motion from x, where the rates are w, into the arrays of a track (`soacraft.sim.compiled`): how
    many, the length of the next, the counts of stability, the contacts of the steps, if there can be any, and what
    an equation of a plan or a signal raised, or None.
    """

class SystemPlan:
    """The equations of a system as calls on an array of numbers (`soacraft.sim.systems.running.compiled`)."""

    unknown: int
    failed: str | None
    ticking: bool
    edited: bool
    spoilt: int | None
    wrong: _Reals
    def __init__(
        self,
        slots: _Reals,
        counts: _Integers,
        places: _Integers,
        clocks: _Integers,
        origin: int,
        nq: int,
        nv: int,
        objects: int,
    ) -> None: ...
    def set_nodes(self, frames: _Reals, places: _Integers, spots: _Reals) -> None: ...
    def set_stage(
        self,
        before: list[tuple[Any, ...]],
        behind: list[tuple[Any, ...]],
        rates: list[tuple[Any, ...]],
        reads_vdot: bool,
        pushes: _Integers,
        nominal: _Reals,
    ) -> None: ...
    def set_record(
        self, before: list[tuple[Any, ...]], behind: list[tuple[Any, ...]], columns: _Integers
    ) -> None: ...
    def set_crossings(
        self, margins: list[tuple[Any, ...]], at: int, directions: _Integers, signs: _Reals
    ) -> None: ...
    def set_touches(self, touches: list[tuple[int, int, _Integers, _Integers]]) -> None: ...
    def add_due(
        self,
        which: int,
        before: list[tuple[Any, ...]],
        behind: list[tuple[Any, ...]],
        reads_vdot: bool,
        updates: list[tuple[Any, ...]],
        outputs: _Integers,
        fresh: _Integers,
    ) -> None: ...

def twins() -> dict[str, int]:
    """The addresses of the compiled equations that come along, by name."""

class LaneImpulses:
    """Impulses of contacts in the last step of each lane, (points, 11): shapes, place, impulse and moment of each
    point."""

    def __init__(self, count: int) -> None: ...
    def get(self, lane: int) -> _Reals:
        """Those of a lane."""

    def set(self, lane: int, table: _Reals) -> None:
        """Let a lane have these."""

    def clear(self, lane: int) -> None:
        """Let a lane have none."""

    def take(self, other: LaneImpulses) -> None:
        """Let all lanes have those of other ones."""

class Lanes:
    """States that go on step by step, each by itself, under the numbers of their controls (`soacraft.sim.steppers`).
    `arrays` is a `LaneArrays` of sim/compiled.py, which compiled code shares."""

    ready: bool
    def __init__(self, tree: RigidModel, setting: Any, arrays: Any) -> None: ...
    def advance(self, goal: int) -> int:
        """All on to a nanosecond: -1, or the first lane that Python should go on with; -2 where the model is another
        one, -3 where controls are not finite, -4 where another call goes on."""

    def set_own(self, lane: int, tree: RigidModel, setting: Any, lean: bool) -> bool:
        """Let a lane have a separate setting, with the parameters that the tree has now; not `lean`: its work and
        contacts are counted. False where compiled code does not know all of it."""

    def share(self, lane: int) -> None:
        """Let a lane have the setting of the others again."""

    def push(self, lane: int, tree: RigidModel, frames: Any, forces: dict[Any, Any]) -> bool:
        """Let wrenches {node: wrench} push a lane from now on; False where only Python can read them."""

    def last(self, lane: int) -> tuple[tuple[_Reals, _Reals], _Reals | None, _Reals | None, float]:
        """Contacts, (steps, 8) and (points, 13), their mean generalized force (1, nv), mean rates of velocities (1, nv)
        and length of the last step of a lane that is alone or recorded."""

def roll_contacts(
    tree: RigidModel, setting: Any, q: _Reals, v: _Reals, force: _Reals, step: int, Q: _Reals, V: _Reals, threads: int
) -> tuple[int, int] | None:
    """Steps with contact from each state of a batch; where one cannot go on, its number and step."""

def closed_method(function: Callable[..., Any]) -> Any:
    """A method (q, v, force) of solvers that asks their compiled call first, and then a Python function."""

def closed_call(solver: ClosedSolver, forces: dict[Any, Any], fallback: Any, wrap: type, source: Any) -> Call:
    """A call (q, v, force, theta, passive) on single states; what it is not sure of goes to a Python function. It makes
    objects of the class `wrap` with vdot, _rest and _source, and _theta where coordinates are followed.
    """

def closed_derivatives(
    solver: ClosedSolver,
    q: _Reals,
    v: _Reals,
    force: _Reals,
    pull: _Reals | None,
    theta: _Reals,
    outs: tuple[_Reals, ...],
    fine: _Integers,
    threads: int = 1,
    passive: bool = False,
) -> None:
    """Derivatives of a batch of states, for a plan of tree-augmented dynamics, along q, v and the force: of vdot
    (count, nv nv) each, of the forces of closures and couplings (count, numbers nv) each; `fine` gets 1 where they
    hold.
    """

def closed_derivatives_call(solver: ClosedSolver, forces: dict[Any, Any], fallback: Any) -> Call:
    """A call (q, v, force, theta, passive) on single states that gives the six arrays, and theta where coordinates are
    followed or else None; what it is not sure of goes to a Python function, as everything does while `forces` is not
    empty.
    """

def reach(
    model: RigidModel,
    aims_whole: _Integers,
    aims_real: _Reals,
    free: _Integers,
    lower: _Reals,
    upper: _Reals,
    place: _Integers,
    unit: _Reals,
    turning: _Integers,
    tolerances: Any,
    q: _Reals,
    left: _Reals,
) -> int:
    """Inverse kinematics of a tree from q, which becomes the answer, with what is left of the aims: the steps it took,
    or -1 where Python should look at it. See `soacraft.kinematics.reaching`.
    """

class LimbPlan:
    """What a search of a limb is told. See `soacraft.kinematics.limbs`."""

    def __init__(self, plan: Any) -> None: ...

class Limb:
    """Hinges one after the other, and inverse kinematics of their tip. See `soacraft.kinematics.limbs`."""

    def __init__(
        self, hinges: _Reals, dofs: _Integers, tip: _Reals, lower: _Reals, upper: _Reals, unit: _Reals, length: float
    ) -> None: ...
    def set_table(self, q: _Reals, position: _Reals, turn: _Reals) -> None:
        """Configurations that searches may start from."""

    def find(
        self, rotation: _Reals, translation: _Reals, near: _Reals, plan: LimbPlan, q: _Reals, left: _Reals
    ) -> int:
        """Coordinates at which the tip is at a goal, and what is left of it; from how many starts, negative where none
        got there.
        """

    def search(
        self, goals: _Reals, near: _Reals, plan: LimbPlan, q: _Reals, left: _Reals, told: _Integers, threads: int
    ) -> None:
        """Coordinates at which the tip is at each goal, what is left of it, and whether it was found, from how many
        starts, in how many steps.
        """

def solve_qp(
    H: _Reals,
    g: _Reals,
    C: _Reals,
    lower: _Reals,
    upper: _Reals,
    tolerance: float,
    scale: float,
    x: _Reals,
    multipliers: _Reals,
) -> int:
    """A quadratic program with rows between bounds: 0 where x is its solution, 1 where H is not positive definite, 2
    where nothing satisfies the rows, 3 where it took too long.
    """

class Velocity:
    """Velocities of a whole robot that do tasks, level by level, within limits."""

    def __init__(
        self,
        model: RigidModel,
        tasks_whole: _Integers,
        tasks_real: _Reals,
        postures: _Reals,
        rates: _Reals,
        place: _Integers,
        lower: _Reals,
        upper: _Reals,
        fastest: _Reals,
        unit: _Reals,
        length: float,
        mass: float,
        tolerances: Any,
    ) -> None: ...
    def aim(self, task: int, goal: _Reals) -> None:
        """Another goal of a task: rows of its axes and its point, or q."""

    def step(
        self,
        q: _Reals,
        dt: float,
        to: _Reals,
        limits: bool,
        damping: float,
        v: _Reals | None,
        acceleration: _Reals | None,
        counts: _Integers | None,
        given: tuple[_Reals, ...] | None,
        kept: tuple[_Reals, ...] | None,
        closures: tuple[_Reals, ...] | None,
    ) -> bool:
        """Velocities, what tasks miss, bounds that hold levels back, what kept rows miss; false where Python should
        look at it."""

# -- contact problems --------------------------------------------------------------------------------------------------

def solve_contact(
    kinds: _Integers, rows: _Integers, bounds: _Reals, S: _Reals, b: _Reals, tolerance: float, p: _Reals
) -> tuple[float, int, int, int, int, bool]:
    """Impulses p of blocks of unit cones (kind 0), boxes (1) and equalities (2): residual, sweeps, Newton steps,
    interior steps, proximal steps, whether they are unique.
    """

def lemke(M: _Reals, q: _Reals, most: int, z: _Reals) -> tuple[int, int]:
    """z of w = M z + q, 0 <= w, 0 <= z, w* z = 0: 0 solved, 1 a ray, 2 too many pivots; and how many it took."""

# -- programs of operator expressions ----------------------------------------------------------------------------------

class Plan:
    """The fields of a model's operators, and how each is made."""

    def blocks_given(self) -> None:
        """A, H and M, fields 0 to 2, are numbers from outside."""

    def blocks_rigid(
        self, bodies: npt.NDArray[Any], screws: npt.NDArray[Any], version: int, axes: int, nq: int
    ) -> None:
        """A, H and M, fields 0 to 2, are those of a rigid tree at q."""

    def set_bodies(self, bodies: npt.NDArray[Any], screws: npt.NDArray[Any], version: int) -> None:
        """Other parameters of the same bodies."""

    def space(self, offset: _Integers) -> int:
        """A space besides that of the bodies (0) and of the hinges (1)."""

    def given(self, rows: int, cols: int, row: _Integers, col: _Integers, constant: bool) -> int:
        """A field whose numbers are given, once or at every state."""

    def pick_off(self, cols: int, spots: npt.NDArray[Any]) -> int:
        """phi(k, O) of nodes."""

    def set_spots(self, field: int, spots: npt.NDArray[Any]) -> None:
        """The nodes of a pick-off at other places on their bodies."""

    def product(self, X: int, left: bool, Y: int, right: bool) -> int:
        """X Y, either of them transposed."""

    def sum(self, a: float, X: int, left: bool, b: float, Y: int, right: bool, part: int = 0) -> int:
        """a X + b Y (Y = -1: none), or of it the diagonal blocks (1) or those off it (2)."""

    def inverse(self, X: int) -> int:
        """Of a block-diagonal field, positive definite when the numbers come."""

    def lyapunov(self, A: int, X: int, B: int, backward: bool) -> int:
        """Y = X + E_A Y E_B*, or backward Y = X + diagOf{ E_A* Y E_B }."""

    def riccati(self, A: int, H: int, M: int) -> int:
        """P; the next two are D and G."""

    def past_hinge(self, P: int) -> int:
        """P+ for the P of a Riccati equation."""

    def remainder(self, X: int, Y: int, Z: int) -> int:
        """X - Y Z, where Y Z has at most one term for each block of X."""

    def sweep(self, act: int, E: int, X: int) -> int:
        """The sweep of a column X of the nodes, of the kind of a step."""

    def cross(self, kind: int, X: int, space: int, at: _Integers) -> int:
        """Diagonal blocks of a space: crf(x) (kind 0), crf([w; 0]) (1), or Y with crf(s) x = Y s (2), where x = [w; v]
        are six numbers of the column X, those of slice at[i] for block i; of slice i, if `at` is empty.
        """

    def hinge_rate(self, node: int, dof: int) -> int:
        """dH of one hinge of a rigid tree along one of its dofs."""

    @property
    def size(self) -> int:
        """How many numbers a state has, all fields together."""

    def places(self, field: int) -> tuple[list[int], list[int], list[int]]:
        """Rows and columns of its blocks, and where each begins."""

class Program:
    """The steps of a product with columns, and the fields they need."""

    @property
    def makers(self) -> list[tuple[str, int]]:
        """How the fields it needs are made, in order: a word and the first field of each."""

    def saved(self, numbers: Numbers) -> bytes:
        """The bytes of a file that C++ loads."""

class Store:
    """The current state of a model."""

    @property
    def ready(self) -> bool: ...
    @property
    def stamp(self) -> int: ...
    @property
    def q_stamp(self) -> int: ...
    parameters: int
    """The version of the model's parameters."""

    def state(self) -> tuple[int, _Reals, _Reals, _Reals]:
        """The stamp, q, v and vdot, all of one instant."""

    def set(self, q: Any, v: Any, vdot: Any) -> bool:
        """Set what is not None; False, and nothing changed, for what Python should read."""

    def put(self, q: _Reals, v: _Reals, vdot: _Reals) -> None:
        """The state as Python read it."""

    def end(self) -> None:
        """The model's structure changed: this is no longer its state."""

class Numbers:
    """The numbers of a plan at one state, made when first needed."""

    def give(self, field: int, data: _Reals) -> None:
        """The numbers of a field that is given."""

    def set_q(self, q: _Reals) -> None:
        """Another state."""

    def set_base(self, base: _Reals) -> None:
        """The pose of what base bodies hang from: R row by row, then p."""

    def follow(self, store: Store) -> None:
        """Be always at the current state of a model."""

    def missing(self, program: Program) -> list[int]:
        """The fields that must be given first, at the state as it is now."""

    def run(self, program: Program, x: _Reals) -> _Reals | None:
        """The product with columns (N, m); None when a number is in doubt or not finite."""

    def block(self, program: Program, field: int, i: int, j: int) -> _Reals | None:
        """One block of a field."""

    def blocks(self, program: Program, field: int) -> _Reals | None:
        """The numbers of a field, block after block."""

def plan(order: _Integers, parent: _Integers, body_offset: _Integers, hinge_offset: _Integers) -> Plan:
    """A plan without fields."""

def program(
    plan: Plan, spaces: list[int], steps: list[tuple[int, int, int, int, int, float, float]], fields: list[int]
) -> Program:
    """A program: `spaces` of its registers, the argument first, the result second."""

def numbers(plan: Plan) -> Numbers:
    """No numbers yet."""

def store(nq: int, nv: int, quaternions: _Integers, parameters: int) -> Store:
    """A state that is not ready."""

def product(
    numbers: Numbers, program: Program, fallback: Callable[[Any], Any], wrap: Callable[[_Reals], Any] | None
) -> Call:
    """The product of a program with a vector or columns, at the state that numbers are at."""

def batch(
    numbers: Numbers, program: Program, q: _Reals | None, x: _Reals, given: list[tuple[int, _Reals]]
) -> _Reals | None:
    """Products (B, N, m) at a batch of states."""

def compiled_program(
    numbers: Numbers,
    program: Program,
    store: Store,
    quaternions: _Integers,
    fallback: Callable[..., Any],
    rigid: RigidModel | None,
    kernel: str | None,
    dense: str | None,
) -> Call:
    """An expression as a function f(q, v, x) of one state or a batch."""

def record_layouts() -> dict[str, tuple[Any, ...]]:
    """How C++ lays out the records that plans are made of: the size, then name, offset, type and length of members."""

class ContactShape:
    """A shape in its own frame."""

    @property
    def kind(self) -> int:
        """Its number in `soacraft.contact.geometry.compiled.KINDS`."""
    @property
    def extent(self) -> float:
        """The largest distance of its points from the origin."""
    @property
    def thin(self) -> float:
        """No more than its least width; infinite for a plane."""

def contact_primitive(kind: int, size: _Reals) -> ContactShape:
    """A shape of a few sizes: three numbers, half lengths."""

def contact_hull(
    points: _Reals,
    normals: _Reals,
    offsets: _Reals,
    face_start: _Integers,
    face: _Integers,
    near_start: _Integers,
    near_to: _Integers,
) -> ContactShape:
    """A convex polytope: vertices, faces n.x = offset with their vertices, and the neighbours of each vertex."""

def contact_mesh(points: _Reals, triangles: _Integers, closed: bool) -> ContactShape:
    """Triangles (3 m) on points (n, 3), with a tree of boxes around them. O(m log m)."""

def contact_distance(
    a: ContactShape, Ra: _Reals, pa: _Reals, b: ContactShape, Rb: _Reals, pb: _Reals, within: float, out: _Reals
) -> None:
    """Nearest points at pairs of poses, rotations (count or 1, 9) and translations (count or 1, 3), into out (count,
    11): distance, points, normal, error."""

def contact_call(shapes: type, poses: type, results: type, fallback: Callable[..., Any]) -> Call:
    """The same as a call (a, pose_a, b, pose_b, within) of instances of these classes, by their slots `core`,
    `_rotation`, `_translation` and `_rows`; what is not plain goes to the fallback."""

def contact_manifold(a: ContactShape, pose_a: _Reals, b: ContactShape, pose_b: _Reals, within: float) -> _Reals:
    """All contacts (points, 11) of two shapes at poses (1, 12)."""

def contact_rays(shape: ContactShape, pose: _Reals, rays: _Reals, out: _Reals) -> None:
    """Where rays (count, 6) first meet a shape, into out (count, 4): t and the outward normal."""

def contact_smooth(scene: ContactScene, poses: _Reals, places: _Integers, numbers: _Reals, out: _Integers) -> None:
    """Whether distances have derivatives, into out (rows): poses (states, shapes, 12), places (rows, 3): state and
    shapes, numbers (rows, 11)."""

class MovingScene:
    """The shapes of a tree, at its states and along its motions; None for what Python should look at."""

    def __init__(self, tree: RigidModel, scene: ContactScene, body: _Integers, local: _Reals) -> None: ...
    def distances(self, q: Any, within: float, threads: int) -> tuple[_Reals, _Reals, _Integers] | None:
        """Numbers (rows, 11), gradients (rows, nv) and places (rows, 3) of pairs within a distance."""
    def collides(self, q: Any, threads: int) -> Any:
        """Whether anything touches, at q (nq) or (states, nq)."""
    def edge(
        self, q0: Any, q1: Any, close: float, first: bool, most: int
    ) -> tuple[bool, float, float, int, int, int, bool, _Reals] | None:
        """Free, part, the least distance, the two shapes, steps, whether these were too many, and q there."""
    def edges(
        self, q0: Any, q1: Any, close: float, first: bool, most: int, threads: int
    ) -> tuple[_Reals, _Integers, _Reals] | None:
        """Part and least distance; free, the two shapes, steps, too many; q."""

class ContactQuery:
    """Where shapes touch, as compiled steps ask for it."""

class ContactScene(ContactQuery):
    """Shapes that may touch, by their classes and exceptions to them, and what is taken off their distances."""

    def __init__(
        self, shapes: list[ContactShape], padding: _Reals, classes: _Integers, exceptions: _Integers,
        padded: _Integers, pair_padding: _Reals,
    ) -> None: ...  # fmt: skip
    def pairs(self) -> _Integers:
        """The pairs (count, 2) that may touch."""
    def pair_count(self) -> int:
        """How many may touch."""
    def thinnest(self) -> float:
        """The least sum of the widths of two that may touch."""
    def passing(
        self, poses: _Reals, velocities: _Reals, h: float
    ) -> tuple[int, int, float, float, float, float] | None:
        """Two shapes that a step of length h may lead through each other, the part of it that does not, how much
        closer they come, their gap and thickness: of poses (2, shapes, 12) and velocities (2, shapes, 6) at its ends.
        """
    def run(self, poses: _Reals, within: float, several: bool, threads: int) -> tuple[_Reals, _Integers]:
        """Spots (count, 11) and their places (count, 3): state, shape a, shape b; poses are (states, shapes, 12)."""
    def rays(self, poses: _Reals, rays: _Reals, but: _Integers, out: _Reals) -> None:
        """Rays against all shapes but some, into out (count, 5): t, normal, number of the shape or -1."""
