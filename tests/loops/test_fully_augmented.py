"""The fully-augmented solver against the dense reference and the tree-augmented one."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from tests.loops.cases import (
    LIBRARY,
    FourBar,
    Z,
    closed_graphs,
    comparable,
    dense,
    force_of,
    generalized,
    library,
    near,
    project,
    rod,
    row_of_four_bars,
)
from tests.loops.compiled_cases import without_compiled
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import SingularError
from soacraft.loops import FullyAugmented, TreeAugmented, fully_augmented
from soacraft.loops.full_pattern import Pattern
from soacraft.model.samples.random_models import random_inertia, random_pose

BOTH = (TreeAugmented, FullyAugmented)


@pytest.mark.parametrize("massless", ["coupler", "rocker"])
def test_links_without_mass_that_closures_hold(massless):
    """As by constraint embedding; the articulated bodies of the tree alone would be singular."""
    none, some = sc.Inertia(0.0), sc.Inertia(1.0, (0.25, 0, 0), 0.1 * np.eye(3))
    mb = sc.Multibody("bar", gravity=(0, -9.81, 0))
    at = {"coupler": ("crank", (0, 0.5, 0)), "rocker": (None, (1, 0, 0))}
    mb.add_body("crank", None, sc.Pin((0, 0, 1)), some)
    for name, (parent, place) in at.items():
        mb.add_body(name, parent, sc.Pin((0, 0, 1)), none if name == massless else some, sc.Pose(translation=place))
    mb["coupler"].add_node("e", sc.Pose(translation=(1, 0, 0)))
    mb["rocker"].add_node("t", sc.Pose(translation=(0, 0.5, 0)))
    mb.close_loop("l", "coupler/e", "rocker/t", sc.Pin((0, 0, 1)))
    q, force = np.zeros(3), np.array([1.0, 0.0, 0.0])
    wanted = sc.loops.ConstraintEmbedding(mb).forward_dynamics(q, q, force).vdot
    s = FullyAugmented(mb)
    for _ in range(2):
        np.testing.assert_allclose(s.forward_dynamics(q, q, force).vdot, wanted, rtol=1e-10)
    np.testing.assert_allclose(s.forward_dynamics(np.zeros((3, 3)), q, force).vdot[2], wanted, rtol=1e-10)


@tries(30)
@given(closed_graphs(), SEEDS)
def test_accelerations_of_random_closed_graphs(mb, seed):
    force = force_of(mb, seed)
    reference = comparable(mb, force)
    r = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    near(generalized(mb, r), reference.constraint_force)
    assert r.rank == reference.rank
    assert r.residual < 1e-9


@pytest.mark.parametrize("name", LIBRARY)
def test_models_of_the_library(name):
    mb = library(name)
    force = force_of(mb)
    tree = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    full = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    near(full.vdot, tree.vdot)
    assert full.rank == tree.rank
    assert len(full.redundant) == len(tree.redundant)
    assert full.residual < 1e-9


def test_multipliers_without_redundant_rows_are_the_same():
    mb = row_of_four_bars(3, sc.Screws(np.eye(6)[[2, 5, 0, 1]]))
    force = force_of(mb)
    tree, full = (S(mb).forward_dynamics(mb.q, mb.v, force) for S in BOTH)
    assert tree.rank == full.rank == 6
    assert tree.redundant == full.redundant == ()
    for name in tree.multipliers:
        near(full.multipliers[name], tree.multipliers[name])


def test_multipliers_of_redundant_rows_have_the_same_least_norm():
    mb = row_of_four_bars(2)
    mb.close_loop("again", "crank1/tip", "coupler0/tip", sc.Pin((0, 0, 1)))
    force = force_of(mb)
    tree, full = (S(mb).forward_dynamics(mb.q, mb.v, force) for S in BOTH)
    for name in tree.multipliers:
        near(full.multipliers[name], tree.multipliers[name], 1e-12)


@pytest.mark.parametrize("solver", BOTH)
def test_armature_and_couplings(solver):
    mb = FourBar().build(0.9)
    mb["coupler"].armature = 0.3
    mb.add_body("wheel", "rocker", sc.Pin((0, 0, 1)), sc.Inertia(0.5, (0.1, 0, 0), 0.02 * np.eye(3)))
    mb.couple("gear", {"wheel": 1, "coupler": -2}, offset=mb.q[3] - 2 * mb.q[1])
    mb.v = project(mb, np.array([1.0, 0.2, 0.3, 0.4]))
    force = force_of(mb)
    reference = comparable(mb, force)
    r = solver(mb).forward_dynamics(mb.q, mb.v, force)
    near(r.vdot, reference.vdot)
    near(generalized(mb, r), reference.constraint_force)


@pytest.mark.parametrize("solver", BOTH)
@pytest.mark.parametrize("hinge", [sc.Pin((0.6, 0.0, 0.8)), sc.Prismatic((0.6, 0.0, 0.8))])
def test_a_closure_that_forbids_nothing_is_all_redundant(solver, hinge):
    """A body on a hinge, closed by the same hinge in the same place, far from the origin: rounding is no row."""
    mb = sc.Multibody("twice")
    place = random_pose(4)
    mb.add_body("base", None, hinge, random_inertia(1), place, random_pose(5))
    mb.add_body("top", "base", sc.Free(), random_inertia(2), random_pose(6), random_pose(7))
    mb.set_state(*mb.random_state(8))
    mb.root.add_node("place", place)
    mb["base"].add_node("end", mb["base"].outboard.inv)
    mb.close_loop("same", "inertial/place", "base/end", hinge)
    force = force_of(mb)
    r = solver(mb).forward_dynamics(mb.q, mb.v, force)
    assert (r.rank, len(r.redundant)) == (0, 5)
    near(r.vdot, sc.dynamics.forward_dynamics(mb, mb.q, mb.v, force, ignore_loops=True), 1e-11)


def test_a_body_without_inertia_to_move_is_refused():
    mb = sc.Multibody("light")
    mb.add_body("heavy", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (1, 0, 0)))
    mb.add_body("nothing", "heavy", sc.Pin((0, 1, 0)), sc.Inertia(0.0))
    with pytest.raises(SingularError) as raised:
        FullyAugmented(mb).forward_dynamics(mb.q, mb.v, [0.0, 0.0])
    assert str(raised.value) == (
        "the bodies of 'light' and their hinges leave a motion without inertia; give mass or moment to the bodies "
        "outboard of a hinge that moves nothing, or weld it."
    )


# -- one solver for many states -----------------------------------------------------------------------------------


class Bow(sc.Hinge):
    """A turn about x, which slides along y by its sine; the axes depend on the angle."""

    nq = nv = 1

    def neutral(self):
        return np.zeros(1)

    def pose(self, q):
        c, s = np.cos(q[0]), np.sin(q[0])
        return sc.Pose([[1, 0, 0], [0, c, -s], [0, s, c]], (0, s, 0))

    def H_T(self, q):
        c, s = np.cos(q[0]), np.sin(q[0])
        return np.array([[1.0], [0.0], [0.0], [0.0], [c * c], [-s * c]])


def gearbox():
    """A tree of many kinds of hinges, one of the user's own and some with armature, and two couplings; all neutral."""
    across = sc.Universal((1, 0, 0), (0, 1, 0))
    hinges = [sc.Pin((0, 0, 1)), Bow(), across, sc.Spherical(), sc.Weld(), sc.Pin((0, 1, 0))]
    mb = sc.Multibody("gearbox")
    for i, (parent, hinge) in enumerate(zip((None, 0, 1, 1, 3, 4), hinges, strict=True)):
        place = sc.Pose(translation=(0.5, 0.1 * i, 0.0))
        mb.add_body(f"part{i}", None if parent is None else f"part{parent}", hinge, random_inertia(i), place)
    mb["part2"].armature = [0.2, 0.3]
    mb["part5"].armature = 0.1
    mb.couple("near", {"part0": 1, "part1": -2})
    mb.couple("far", {"part5": 1, "part2.0": (0.5, 0.1)})
    return mb


def test_numbers_that_were_zero_at_the_first_state(monkeypatch):
    """At rest in the neutral configuration many numbers are zero that are not later."""
    mb = gearbox()
    kept, force = FullyAugmented(mb), force_of(mb)
    q, v = kept.assemble(mb.random_state(3)[0]), np.zeros(mb.nv)
    moving = TreeAugmented(mb).project_velocity(q, mb.random_state(4)[1])
    patterns = counted(monkeypatch, "Pattern")
    for state in ((mb.q, v), (q, v), (q, moving), (mb.q, v)):
        mb.set_state(*state)
        reference = dense(mb, force)
        r = kept.forward_dynamics(mb.q, mb.v, force)
        near(r.vdot, reference.vdot)
        near(generalized(mb, r), reference.constraint_force)
    assert len(patterns) == 2


def test_a_hinge_that_becomes_singular_and_moves_on():
    """Axes z, x, z: at q = 0 the first and the last are one, and share its acceleration."""
    inertia = random_inertia(1)
    mb, two = sc.Multibody("gimbal"), sc.Multibody("two")
    mb.add_body("top", None, sc.Screws(np.eye(6)[[2, 0, 2]]), inertia)
    two.add_body("top", None, sc.Screws(np.eye(6)[[2, 0]]), inertia)
    solver = FullyAugmented(mb)
    free = sc.dynamics.forward_dynamics(two, [0.0, 0.0], [0.3, 0.0], [0.5, 0.4])
    for _ in range(2):
        q, v, force = np.array([0.2, 0.5, 0.1]), np.array([0.1, 0.2, 0.3]), np.array([0.5, 0.4, 0.5])
        near(solver.forward_dynamics(q, v, force).vdot, sc.dynamics.forward_dynamics(mb, q, v, force))
        locked = solver.forward_dynamics(np.zeros(3), [0.1, 0.0, 0.2], force).vdot
        near([locked[0] + locked[2], locked[1]], free)
        near(locked[0], locked[2])


def test_forward_and_mixed_dynamics_in_turn():
    """Prescribed dofs are further rows: more sets of them than the solver keeps patterns for."""
    mb = row_of_four_bars(5)
    force, vdot = force_of(mb), force_of(mb, 2)
    tree, full = (S(mb) for S in BOTH)
    for dof in (*range(mb.nv), 0):
        for x, y in zip(*(s.mixed_dynamics(mb.q, mb.v, force, vdot, [dof]) for s in (full, tree)), strict=True):
            near(x, y, 1e-11)
        near(full.forward_dynamics(mb.q, mb.v, force).vdot, tree.forward_dynamics(mb.q, mb.v, force).vdot)
    assert len(full._patterns) == fully_augmented._PATTERNS


@pytest.mark.parametrize("anchor", ["rest", "moving"])
def test_part_of_a_model_under_all_that_may_act_on_it(anchor):
    bars = FourBar()
    mb = bars.build(0.9, hinge=sc.Spherical())
    angles = dict(zip(("crank", "coupler", "rocker"), mb.q, strict=True))
    mb.add_body("boom", None, sc.Free(), random_inertia(3))
    mb.add_body("post", "boom", sc.Pin((1, 0, 0)), random_inertia(5), random_pose(6))
    mb.reattach("crank", "post", sc.Pin((0, 0, 1)))
    mb.reattach("rocker", "post", sc.Pin((0, 0, 1)), sc.Pose(translation=(bars.ground, 0, 0)))
    mb.add_body("wheel", "coupler", sc.Pin((0, 1, 0)), random_inertia(1), random_pose(2))
    mb["wheel"].armature = 0.2
    q, v = mb.random_state(4)
    for name, angle in angles.items():
        q[mb.q_slice(name)] = angle
    mb.set_state(q, v, vdot=v[::-1])
    part = mb.subgraph(["post", "crank", "coupler", "rocker", "wheel"], anchor=anchor)
    U = {"ring": (np.array([0, 0, 0, 0.1, 0.2, 0]), np.array([0, 0, 0, -0.3, 0.1, 0]))}
    pull = {"wheel": sc.Wrench((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))}
    tree, full = (S(part) for S in BOTH)
    v = tree.project_velocity(part.q, part.v, U=U)
    x, y = (s.forward_dynamics(part.q, v, force_of(part), pull, U) for s in (full, tree))
    near(x.vdot, y.vdot)
    near(x.multipliers["ring"], y.multipliers["ring"])


def test_inertia_is_never_an_old_one():
    mb = row_of_four_bars(2)
    old, force = FullyAugmented(mb), force_of(mb)
    old.forward_dynamics(mb.q, mb.v, force)
    mb["crank1"].inertia = random_inertia(1)
    near(old.forward_dynamics(mb.q, mb.v, force).vdot, dense(mb, force).vdot)
    near(FullyAugmented(mb).forward_dynamics(mb.q, mb.v, force).vdot, dense(mb, force).vdot)


# -- many rows ----------------------------------------------------------------------------------------------------


def test_least_norm_of_many_rows_from_the_sparse_system(monkeypatch):
    """150 rows of rank 60: the sparse multipliers are those of dense least squares."""
    mb = row_of_four_bars(30)
    mb["crank7"].inertia = random_inertia(1)
    force = force_of(mb)
    dense_calls = counted(monkeypatch, "least_norm")
    sparse_calls = counted(monkeypatch, "_least_sparse", fully_augmented._System)
    sparse = without_compiled(FullyAugmented(mb)).forward_dynamics(mb.q, mb.v, force)
    assert (len(dense_calls), len(sparse_calls)) == (0, 1)
    with nothing_settles():
        by_squares = without_compiled(FullyAugmented(mb)).forward_dynamics(mb.q, mb.v, force)
    assert (len(dense_calls), len(sparse_calls)) == (1, 1)
    near(sparse.vdot, by_squares.vdot)
    near(sparse._rest, by_squares._rest)
    tree = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force)
    for name in tree.multipliers:
        near(sparse.multipliers[name], tree.multipliers[name], 1e-11)


def test_many_rows_that_do_not_repeat_each_other_are_left_alone(monkeypatch):
    mb = row_of_four_bars(70, sc.Screws(np.eye(6)[[2, 5, 0, 1]]))
    force = force_of(mb)
    squares = counted(monkeypatch, "least_norm")
    sparse = counted(monkeypatch, "_least_sparse", fully_augmented._System)
    full, tree = (without_compiled(S(mb)).forward_dynamics(mb.q, mb.v, force) for S in reversed(BOTH))
    assert squares == sparse == []
    for name in tree.multipliers:
        near(full.multipliers[name], tree.multipliers[name], 1e-11)


@tries(25)
@given(closed_graphs(), SEEDS)
def test_sparse_and_dense_least_norm_of_random_closed_graphs(mb, seed):
    force = force_of(mb, seed)
    comparable(mb, force)
    sparse = without_compiled(FullyAugmented(mb)).forward_dynamics(mb.q, mb.v, force)
    with nothing_settles():
        by_squares = without_compiled(FullyAugmented(mb)).forward_dynamics(mb.q, mb.v, force)
    for name in sparse.multipliers:
        near(sparse.multipliers[name], by_squares.multipliers[name])


def nothing_settles():
    """The sparse system of least multipliers does not settle: then they are found by dense least squares."""
    unsettled = mock.Mock(settled=False)
    return mock.patch.object(fully_augmented._System, "_least_sparse", return_value=unsettled)


def counted(monkeypatch, name, where=fully_augmented):
    """The calls of a function, as they come."""
    calls, function = [], getattr(where, name)

    def call(*args):
        calls.append(name)
        return function(*args)

    monkeypatch.setattr(where, name, call)
    return calls


@pytest.mark.parametrize("angle", [1e-6, 1e-7, 1e-8, 1e-10, 0.0])
def test_so_near_a_singular_pose_a_row_counts_or_not(angle):
    """Two cranks of 1 m and a beam, nearly flat: with all rows the closed form, without the one that vanishes that of
    the beam free to fold; nothing between."""
    mb, tip = sc.Multibody("parallelogram", gravity=(0, -9.81, 0)), sc.Pose(translation=(1, 0, 0))
    for i in range(2):
        mb.add_body(f"crank{i}", None, sc.Pin(Z), rod(1.0, 1.0), sc.Pose(translation=(i, 0, 0))).add_node("tip", tip)
    mb.add_body("beam", "crank0", sc.Pin(Z), rod(1.0, 2.0), tip).add_node("end", tip)
    mb.close_loop("end", "crank1/tip", "beam/end", sc.Pin(Z))
    q = [-angle if name == "beam" else angle for name in mb.dof_names]
    v = [-1.0 if name == "beam" else 1.0 for name in mb.dof_names]
    force = [3.0 if name == "crank0" else 0.0 for name in mb.dof_names]
    found = FullyAugmented(mb).forward_dynamics(q, v, force)
    whole = (3.0 - 9.81 * 2.0) / (2.0 / 3.0 + 1.0)
    folded = TreeAugmented(mb).forward_dynamics(np.array(q) * 0.0, v, force).vdot[0]
    assert min(abs(found.vdot[0] - whole), abs(found.vdot[0] - folded)) < 1e-5
    assert abs(whole - folded) > 1.0


@pytest.mark.parametrize("name", ["five_bar", "cassie"])
def test_one_factorization_of_the_system_and_one_for_multipliers_are_enough(name, monkeypatch):
    """What slack leaves is refined with the same factors; softer ones are for what that does not settle."""
    mb, factored, calls = sc.load(name), Pattern.factored, []

    def counted(pattern, values):
        calls.append(pattern)
        return factored(pattern, values)

    monkeypatch.setattr(Pattern, "factored", counted)
    solver = without_compiled(FullyAugmented(mb))
    solver.forward_dynamics(mb.q, np.zeros(mb.nv), np.ones(mb.nv))
    assert len(calls) == 2
