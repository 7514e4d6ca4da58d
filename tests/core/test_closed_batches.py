"""Batches of closed chains, states side by side in the lanes of a register: what a state gets is what it gets alone to
rounding, whoever its neighbours are; a state in doubt is solved on its own and changes nothing for the others.
"""

from functools import cache

import numpy as np
import pytest
from tests.core.test_closed_solver import mechanism
from tests.loops.cases import FourBar, Z, close, library, near, project
from tests.loops.compiled_cases import KNOWN, SOLVERS, alike

import soacraft as sc
from soacraft import _core
from soacraft.errors import LoopError, StateError
from soacraft.loops import TreeAugmented
from soacraft.model.samples.random_models import random_inertia, random_pose

LANES = _core.lanes()
SIZES = range(1, 2 * LANES + 2)


MOVED = ("four-bar", "four-bar, ball", "cassie")  # at several configurations


def ring(hinge):
    """Three bodies with all kinds of hinges, closed to the ground by one more, in a state with a velocity."""
    mb = sc.Multibody("ring", gravity=(1.0, -2.0, -9.0))
    hinges = [sc.Free(), sc.Spherical(), sc.Helical((1, 2, 2), 0.3), sc.Universal((1, 0, 0), (0, 1, 0)), sc.Planar()]
    for k, own in enumerate(hinges):
        parent = f"{k - 1}" if k else None
        mb.add_body(f"{k}", parent, own, random_inertia(k + 1), random_pose(k + 1), random_pose(k + 7))
    mb.q = mb.random_state(5)[0]
    close(mb, "ring", mb.frame("inertial").add_node("start", random_pose(3)), "4", hinge, seed=2)
    return mb


MODELS = {
    "four-bar": lambda: FourBar().build(0.7),
    "four-bar, ball": lambda: FourBar().build(0.7, "rocker", sc.Spherical()),
    "cassie": lambda: library("cassie"),
    "every kind of row": mechanism,
} | {f"ring by {type(hinge).__name__} {i}": lambda hinge=hinge: ring(hinge) for i, hinge in enumerate(KNOWN)}


@cache
def several(model):
    """A model, closed states with velocities that the closures allow, and forces; `SIZES[-1]` of each."""
    mb, rng, count = MODELS[model](), np.random.default_rng(0), SIZES[-1]
    q, v = mb.q[None], project(mb, rng.standard_normal(mb.nv))[None]
    if model in MOVED:
        around = mb.integrate(np.tile(mb.q, (3, 1)), 0.01 * rng.standard_normal((3, mb.nv)))
        q, v = TreeAugmented(mb).project(around, rng.standard_normal((3, mb.nv)))
    one = np.arange(count) % len(q)
    return mb, q[one], np.linspace(-1.0, 2.0, count)[:, None] * v[one], rng.standard_normal((count, mb.nv))


def run(solver, q, v, force, threads=1):
    """By compiled code alone: vdot, [forces, residuals], coordinates of closures, where they hold; and how many of the
    states were solved on their own."""
    compiled = solver._chosen.compiled
    count, closures = len(q), compiled.plan.closures
    shapes = (count, q.shape[1] and v.shape[1]), (count, closures.forces + 2), (count, closures.coordinates)
    out = *(np.zeros(shape) for shape in shapes), np.zeros(count, dtype=np.int64)
    return out, compiled.core.run(q, v, force, None, solver._turns, *out, threads)


def ready(kind, mb):
    solver = kind(mb)
    solver.forward_dynamics(mb.q, np.zeros(mb.nv), np.zeros(mb.nv))
    return solver


def same(one, other):
    """To the last bit."""
    return all(map(np.array_equal, one, other))


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", MODELS)
def test_batches_of_every_size_are_single_states(model, kind):
    mb, *states = several(model)
    solver = ready(kind, mb)
    out, alone = run(solver, *states)
    assert alone == 0
    assert out[3].all()
    moved = np.nextafter(states[0], np.inf), *states[1:]
    one, nearby = ([run(solver, *(x[i : i + 1] for x in given))[0] for i in range(len(given[0]))]
                   for given in (states, moved))  # fmt: skip
    for k in range(3):
        alike(out[k], *(np.concatenate([x[k] for x in some]) for some in (one, nearby)))
    for size in SIZES[1:]:
        for first in (0, SIZES[-1] - size):
            part, _ = run(solver, *(x[first : first + size] for x in states), threads=1 + first % 3)
            assert same(part, [x[first : first + size] for x in out])


# -- a state in doubt, and its neighbours -----------------------------------------------------------------------------


def with_one(states, i, other):
    """The same states with another one at place i."""
    copies = [x.copy() for x in states]
    for x, y in zip(copies, other, strict=True):
        x[i] = y
    return copies


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("model", ["four-bar", "every kind of row"])
@pytest.mark.parametrize("place", range(LANES + 1))
def test_a_state_off_its_closures_changes_nothing_for_the_others(place, model, kind):
    mb, *states = several(model)
    states = [x[: LANES + 1] for x in states]
    solver, user = ready(kind, mb), kind(mb)
    wanted, _ = run(solver, *states)
    others = np.arange(LANES + 1) != place
    q, v, force = (x[place] for x in states)
    for bad in ((mb.integrate(q, np.full(mb.nv, 0.01)), v, force), (q, v + 0.01, force)):
        given = with_one(states, place, bad)
        out, alone = run(solver, *given)
        assert alone == 1
        assert np.array_equal(out[3], others)
        assert same((x[others] for x in out), (x[others] for x in wanted))
        if model in MOVED:
            with pytest.raises(LoopError, match=rf"in state {place} of the batch: "):
                user.forward_dynamics(*given)
    for bad in ((q, v, np.nan * force), (np.nan * q, v, force)):
        given = with_one(states, place, bad)
        out, alone = run(solver, *given)
        assert alone == 1
        assert np.array_equal(out[3], others)
        assert same((x[others] for x in out), (x[others] for x in wanted))
        with pytest.raises(StateError, match="must be finite"):
            user.forward_dynamics(*given)


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("off", [1e-3, 1e-5, 1e-7])
def test_a_state_near_a_singular_pose_is_solved_as_it_is_alone(off, kind):
    """A parallelogram that is almost flat among others that are not."""
    bars = FourBar(0.5, 1.0, 0.5, 1.0)
    mb = bars.build(0.7)
    solver = ready(kind, mb)
    angles = np.linspace(0.5, 1.2, LANES + 1)

    def state(theta):
        return np.array([theta, -theta, theta]), np.array([1.0, -1.0, 1.0]), np.array([0.3, -0.2, 0.5])

    states = [np.array(x) for x in zip(*map(state, angles), strict=True)]
    wanted, alone = run(solver, *states)
    assert alone == 0
    one, _ = run(solver, *(x[None] for x in state(off)))
    for place in range(LANES + 1):
        others = np.arange(LANES + 1) != place
        out, alone = run(solver, *with_one(states, place, state(off)))
        assert same((x[others] for x in out), (x[others] for x in wanted))
        assert out[3][place] == one[3][0]
        if one[3][0]:
            assert alone == 1
            assert same((x[place] for x in out), (x[0] for x in one))


# -- what acts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SOLVERS)
def test_springs_external_forces_and_one_force_for_all(kind):
    mb, q, v, force = (x[: LANES + 2] if isinstance(x, np.ndarray) else x for x in several("four-bar"))
    mb = FourBar().build(0.7)
    mb.body("crank").passive, mb.body("coupler").passive = sc.Passive(stiffness=3.0), sc.Passive(damping=0.4)
    solver = ready(kind, mb)
    pull = np.random.default_rng(1).standard_normal((LANES + 2, 6))
    r = solver.forward_dynamics(q, v, force[0], f_ext={"coupler/end": pull})
    for i in range(LANES + 2):
        one = solver.forward_dynamics(q[i], v[i], force[0], f_ext={"coupler/end": pull[i]})
        near(r.vdot[i], one.vdot, 1e-12)
        without = solver.forward_dynamics(q[i], v[i], force[0], passive=False)
        assert np.abs(r.vdot[i] - without.vdot).max() > 1e-3


@pytest.mark.parametrize("kind", SOLVERS)
def test_driven_closures_side_by_side(kind):
    """Two slides apart by more than their closure is, and a wheel on a gear: both are driven, each state by its own."""
    mb = sc.Multibody("driven", gravity=(0, 0, 0))
    for name, mass in (("left", 2.0), ("right", 0.5)):
        mb.add_body(name, None, sc.Prismatic((1, 0, 0)), sc.Inertia(mass))
    mb.close_loop("jack", "left", "right", sc.Weld())
    mb.add_body("wheel", "right", sc.Pin(Z), sc.Inertia(0.3, (0, 0.1, 0), 0.2 * np.eye(3)))
    mb.couple("gear", {"left": 2.0, "wheel": -1.0})
    solver, count, rng = kind(mb), 2 * LANES + 1, np.random.default_rng(4)
    u, udot, x, xdot = (rng.standard_normal(size) for size in ((count, 1), (count, 1), count, count))
    along = np.eye(6)[3]
    U = {"jack": (u * along, udot * along), "gear": (x, xdot)}
    q, force = np.array([0.1, 0.4, 1.1]), rng.standard_normal((count, 3))
    v = solver.project_velocity(q, rng.standard_normal(3), U)
    r = solver.forward_dynamics(q, v, force, U=U)
    for i in range(count):
        own = {"jack": (u[i] * along, udot[i] * along), "gear": (x[i], xdot[i])}
        one = solver.forward_dynamics(q, v[i], force[i], U=own)
        near(r.vdot[i], one.vdot, 1e-12)
        near(r.multipliers["jack"][i], one.multipliers["jack"], 1e-12)
        assert abs(r.vdot[i, 1] - r.vdot[i, 0] - udot[i, 0]) < 1e-12
