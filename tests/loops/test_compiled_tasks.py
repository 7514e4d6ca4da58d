"""Driven closures, rows next to embedded ones and inverse dynamics in C++: the answers of the Python form on any
hinges, batches, and what is left to Python."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.by_name import by_name
from tests.loops.cases import CLOSING, closed_graphs, comparable, force_of, library, near
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft.errors import LoopError, StateError
from soacraft.kinematics.compiled import INVERSE_DYNAMICS
from soacraft.kinematics.partition import partition
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task, _turns
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

KNOWN = [hinge for hinge in CLOSING if not isinstance(hinge, sc.RollingBall)]


def _still(hinge):
    """Whether a hinge forbids always the same motions, so that it can be driven."""
    q = np.asarray(hinge.random(np.random.default_rng(0)), dtype=float)
    return not _turns(hinge, q)


DRIVABLE = [hinge for hinge in KNOWN if _still(hinge)]


def in_python(s):
    """The solver with all of its work in Python but for its rows."""
    s._compiled = None
    s._chosen = s._chosen._replace(compiled=None, call=None)
    return s


def drives_for(mb, v, vdot):
    """What drives all closures and couplings as velocities and accelerations of the dofs would: (u, udot) by name."""
    rows = Constraints(mb, mb.state(mb.q, v))
    G = rows.jacobian()
    speed, bent = G @ v, G @ vdot + rows.gamma
    U = {}
    for loop, (name, at) in zip(rows.loops, rows.places, strict=False):
        turn = np.kron(np.eye(2), loop.R_ab)
        u = turn @ loop.Q.T @ speed[at]
        still = Task(rows, np.zeros(mb.nv), (), {name: (u, np.zeros(6))}).Udot[at]
        U[name] = u, turn @ loop.Q.T @ (bent[at] - still)
    for row, (name, at) in zip(rows.couplings, rows.places[len(rows.loops) :], strict=True):
        assert row.name == name
        U[name] = float(speed[at.start]), float(bent[at.start])
    return U


@pytest.mark.parametrize("kind", [TreeAugmented, ConstraintEmbedding, FullyAugmented])
def test_driven_closures_on_random_graphs(kind):
    """All closures and couplings driven as random motions of the dofs would: those of Python, and the rows follow."""
    asked, answered = [], []

    @tries(24)
    @given(closed_graphs(closing=DRIVABLE), SEEDS)
    def check(mb, seed):
        comparable(mb, force_of(mb, seed))
        rng = np.random.default_rng(seed)
        v, vdot, force = rng.standard_normal((3, mb.nv))
        U = drives_for(mb, v, vdot)
        s = kind(mb)
        if s._compiled is None:
            return
        s.forward_dynamics(mb.q, mb.v, force)
        found = s._chosen.call(mb.q, v, force, s._turns, True, *s._chosen.compiled.driven_plainly(U))
        asked.append(mb)
        if found is None:
            return
        answered.append(mb)
        wanted = in_python(kind(mb)).forward_dynamics(mb.q, v, force, U=U)
        near(found.vdot, wanted.vdot, 1e-8)
        rows = Constraints(mb, mb.state(mb.q, v))
        G = rows.jacobian()
        near(G @ found.vdot + rows.gamma, G @ vdot + rows.gamma, 1e-8)

    check()
    assert len(answered) > 0.4 * len(asked) > 3


def test_driven_closures_of_a_batch():
    """Another drive in each state: the single states to rounding; without positions to be closed."""
    mb = library("cassie")
    name = mb.loops[0].name
    rng = np.random.default_rng(4)
    for kind in (TreeAugmented, ConstraintEmbedding):
        s = kind(mb)
        zero = np.zeros(mb.nv)
        s.forward_dynamics(mb.q, zero, zero)
        drives = [drives_for(mb, zero, rng.standard_normal(mb.nv)) for _ in range(3)]
        U = {key: tuple(np.stack([one[key][k] for one in drives]) for k in (0, 1)) for key in drives[0]}
        r = s.forward_dynamics(mb.q, zero, zero, U=U)
        before = s._chosen.call.answered
        for i in range(3):
            near(s.forward_dynamics(mb.q, zero, zero, U=drives[i]).vdot, r.vdot[i], 1e-12)
        assert s._chosen.call.answered == before + 3
        with pytest.raises(StateError, match=f"u of '{name}'"):
            s.forward_dynamics(mb.q, zero, zero, U={name: (np.full(6, np.nan), np.zeros(6))})
        six = np.zeros(6)
        for wrong in ((six,), (six, six, six), [six], [six, six, six]):
            with pytest.raises(StateError, match=rf"U of '{name}' must be a pair \(u, udot\), got"):
                s.forward_dynamics(mb.q, zero, zero, U={name: wrong})
        with pytest.raises(LoopError, match="U names 'nothing'"):
            s.forward_dynamics(mb.q, zero, zero, U={"nothing": (np.zeros(6), np.zeros(6))})
        with pytest.raises(LoopError, match="opens at"):
            s.forward_dynamics(mb.q, zero, zero, U={name: (np.ones(6), np.zeros(6))})


def test_arguments_of_driven_runs_are_checked():
    mb = library("five_bar")
    s = TreeAugmented(mb)
    zero = np.zeros(mb.nv)
    s.forward_dynamics(mb.q, zero, zero)
    compiled, ties = s._chosen.compiled, len(mb.loops) + len(mb.couplings)
    state = [np.array([x]) for x in (mb.q, zero, zero)]
    for places, width, text in (
        (np.zeros(ties + 1, np.int64), 12, "driven has length"),
        (np.full(ties, 1, np.int64), 12, "driven has a place out of range"),
        (np.full(ties, -2, np.int64), 12, "driven has a place out of range"),
    ):
        with pytest.raises(ValueError, match=text):
            compiled.run(*state, None, s._turns, 1, False, (places, np.zeros((1, width))))
        assert s._chosen.call(mb.q, zero, zero, s._turns, True, places, np.zeros(width)) is None
    with pytest.raises(ValueError, match="rates must be"):
        compiled.run(*state, None, s._turns, 1, False, (np.full(ties, -1, np.int64), np.zeros((2, 0))))


def test_rows_next_to_embedded_ones_on_random_graphs():
    """One loop or coupling stays a row: those of Python with constraint forces, and of the tree-augmented solver."""
    asked, answered, repeating = [], [], []

    @tries(25)
    @given(closed_graphs(min_bodies=3, closing=KNOWN, min_loops=2), SEEDS)
    def check(mb, seed):
        names = [x.name for x in (*mb.loops, *mb.couplings)]
        force = force_of(mb, seed)
        comparable(mb, force)
        embed = [x for i, x in enumerate(names) if i != seed % len(names)]
        s = ConstraintEmbedding(mb, embed=embed)
        if s._compiled is None:
            return
        s.forward_dynamics(mb.q, mb.v, force)
        found = s._chosen.call(mb.q, mb.v, force, s._turns, True)
        asked.append(mb)
        if found is None:
            return
        answered.append(mb)
        wanted = in_python(ConstraintEmbedding(mb, embed=embed)).forward_dynamics(mb.q, mb.v, force)
        near(found.vdot, wanted.vdot, 1e-8)
        near(*(np.hstack([x.multipliers[name] for name in names]) for x in (found, wanted)), 1e-7)
        assert found.rank == wanted.rank
        assert [*found.independent] == [*wanted.independent]
        repeating.append(wanted.rank < sum(6 - x.hinge.nv for x in mb.loops) + len(mb.couplings))

    check()
    assert len(answered) > 0.6 * len(asked) > 5
    assert any(repeating)


def test_a_redundant_loop_next_to_embedded_ones():
    """The out-of-plane row of a planar loop says nothing: its multiplier is the one of least norm."""
    mb = library("cassie")
    names = [x.name for x in mb.loops]
    s = ConstraintEmbedding(mb, embed=names[1:])
    r = s.forward_dynamics(mb.q, mb.v, force_of(mb))
    again = s.forward_dynamics(mb.q, mb.v, force_of(mb))
    assert s._chosen.call.answered == 1
    wanted = TreeAugmented(mb).forward_dynamics(mb.q, mb.v, force_of(mb))
    near(again.vdot, wanted.vdot, 1e-9)
    near(again.multipliers[names[0]], wanted.multipliers[names[0]], 1e-8)
    near(r.vdot, again.vdot, 1e-12)
    with pytest.raises(LoopError, match="kept as rows next to the embedded tree"):
        s.expand(mb.q, np.ones(3))


def test_inverse_dynamics_on_random_graphs():
    """The force of Python; forward dynamics gives the accelerations back."""
    asked, answered = [], []

    @tries(15)
    @given(closed_graphs(closing=KNOWN), SEEDS)
    def check(mb, seed):
        comparable(mb, force_of(mb, seed))
        s = ConstraintEmbedding(mb)
        if s._compiled is None:
            return
        s.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
        chosen = s.system.independent
        x = np.random.default_rng(seed).standard_normal(len(chosen))
        found = s._chosen.compiled.motions[INVERSE_DYNAMICS](mb.q, x, s._turns, mb.v, True)
        asked.append(mb)
        if found is None:
            return
        answered.append(mb)
        again = in_python(ConstraintEmbedding(mb))
        near(found[1], again.inverse_dynamics(mb.q, mb.v, by_name(again, mb.q, x)), 1e-8)
        assert not found[1][np.setdiff1d(np.arange(mb.nv), chosen)].any()
        near(s.forward_dynamics(mb.q, mb.v, found[1]).vdot[chosen], x, 1e-7)

    check()
    assert len(answered) > 0.7 * len(asked) > 7


def test_inverse_dynamics_of_a_batch_with_springs_and_forces():
    mb = library("cassie")
    mb.bodies[3].passive = sc.Passive(stiffness=20.0, damping=0.3)
    s = ConstraintEmbedding(mb)
    s.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    n = len(s.system.independent)
    x = np.random.default_rng(1).standard_normal((2, 2, n))
    T = s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, x))
    slow = in_python(ConstraintEmbedding(mb))
    for i in np.ndindex(2, 2):
        assert np.array_equal(T[i], s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, x[i].copy())))
        near(T[i], slow.inverse_dynamics(mb.q, mb.v, by_name(slow, mb.q, x[i])), 1e-9)
    assert s._chosen.compiled.motions[INVERSE_DYNAMICS].answered == 4
    bare = s.inverse_dynamics(mb.q, mb.v, by_name(s, mb.q, x[0, 0]), passive=False)
    assert np.abs(bare - T[0, 0]).max() > 1e-6
    near(bare, slow.inverse_dynamics(mb.q, mb.v, by_name(slow, mb.q, x[0, 0]), passive=False), 1e-9)
    push = {mb.bodies[0].name: (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)}
    one = by_name(s, mb.q, x[0, 0])
    near(s.inverse_dynamics(mb.q, mb.v, one, f_ext=push), slow.inverse_dynamics(mb.q, mb.v, one, f_ext=push))
    with pytest.raises(StateError, match="vdot of 'cassie' has"):
        s.inverse_dynamics(mb.q, mb.v, np.ones(n + 1))
    with pytest.raises(LoopError, match="in state 1 of the batch: loop"):
        s.inverse_dynamics(np.stack([mb.q, mb.integrate(mb.q, 0.1 * np.ones(mb.nv))]), mb.v, one)


def test_mixed_dynamics_on_random_graphs():
    """Prescribed dofs of any hinge, closures as they are: the accelerations and forces of Python."""
    asked, answered = [], []

    @tries(28)
    @given(closed_graphs(closing=KNOWN), SEEDS)
    def check(mb, seed):
        comparable(mb, force_of(mb, seed))
        s = TreeAugmented(mb)
        if s._compiled is None:
            return
        free = ConstraintEmbedding(mb)
        free.forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
        if not len(free.system.independent):  # nothing can be prescribed; below, enough are asked
            return
        rng = np.random.default_rng(seed)
        force, vdot = rng.standard_normal((2, mb.nv))
        dofs = [int(rng.choice(free.system.independent))]
        wanted = s.mixed_dynamics(mb.q, mb.v, force, vdot, dofs)
        (plan,) = s._prescribing.values()
        p = s._read("mixed_dynamics", q=mb.q, v=mb.v, force=force, vdot=vdot)
        found = plan.at_once(s._turns, p, [{}])
        asked.append(plan)
        if not found[2][0]:
            return
        answered.append(plan)
        near(found[0][0], wanted[0], 1e-8)
        near(found[1][0], wanted[1], 1e-7)
        assert found[0][0, dofs] == pytest.approx(vdot[dofs], rel=1e-9, abs=1e-9)
        near(TreeAugmented(mb).forward_dynamics(mb.q, mb.v, found[1][0]).vdot, found[0][0], 1e-6)

    check()
    assert len(answered) > 0.7 * len(asked) > 7


def all_kinds(mb):
    """Each solver of embedded systems, one of them with a closure next to the embedded tree."""
    return [TreeAugmented(mb), ConstraintEmbedding(mb), ConstraintEmbedding(mb, embed=[x.name for x in mb.loops][1:])]


def test_mixed_dynamics_of_embedded_systems_and_hybrids(monkeypatch):
    """What is compiled for one solver is for all, and its answers are those of each solver's Python."""
    mb = library("cassie")
    rng = np.random.default_rng(3)
    force, vdot = rng.standard_normal((2, mb.nv))
    mask = np.zeros(mb.nv, dtype=bool)
    mask[[6, 7, 8]] = True
    wanted = in_python(TreeAugmented(mb)).mixed_dynamics(mb.q, mb.v, force, vdot, mask)
    for s in all_kinds(mb):
        first = s.mixed_dynamics(mb.q, mb.v, force, vdot, mask)
        monkeypatch.setattr(type(s), "_mixed", None)  # Python has no part in what follows
        batch = s.mixed_dynamics(np.stack([mb.q, mb.q]), mb.v, force, vdot, mask)
        given = (np.array(mb.q), np.array(mb.v), force, vdot, mask)
        monkeypatch.setattr(type(s), "_read", None)  # nor the reading of arguments
        found = s.mixed_dynamics(*given)
        undriven = s.mixed_dynamics(*given, U={mb.loops[0].name: (np.zeros(6), np.zeros(6))})
        monkeypatch.undo()
        for x in (first, found, undriven, (batch[0][1], batch[1][1])):
            near(np.array(x), np.array(wanted), 1e-8)
        assert np.array_equal(found[1][~mask], force[~mask])
        with pytest.raises(StateError, match="vdot of 'cassie' must be finite"):
            s.mixed_dynamics(*given[:3], np.where(mask, np.inf, vdot), mask)


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_inverse_dynamics_with_actuated_dofs_and_driven_closures(kind, monkeypatch):
    """Forces at as many dofs as can move, named by the user or chosen, are compiled for every solver, for accelerations
    of all dofs or of the independent ones, where these are the accelerations that the closures allow."""
    mb = library("cassie")
    q, v, U = np.array(mb.q), np.array(mb.v), {mb.loops[0].name: (np.zeros(6), np.zeros(6))}
    whole = TreeAugmented(mb).forward_dynamics(q, v, np.random.default_rng(2).standard_normal(mb.nv)).vdot
    s, slow = kind(mb), in_python(kind(mb))
    names = s.independent(q)
    assert slow.independent(q) == names
    chosen = np.array([mb.dof_names.index(x) for x in names])
    mask = np.isin(np.arange(mb.nv), chosen)
    spare = np.isin(np.arange(mb.nv), chosen[-4:])
    others = partition(Constraints(mb, mb.state()), wanted=~spare).independent  # without four of these
    assert len(others) == len(chosen)
    assert len(set(others) - set(chosen)) == 4
    other = [mb.dof_names[i] for i in others]
    calls = [(x, at, drives) for x in (whole, by_name(s, q, whole[chosen])) for at in (None, mask, list(names), other)
             for drives in (None, U)]  # fmt: skip
    wanted = [slow.inverse_dynamics(q, v, x, actuated=at, U=drives) for x, at, drives in calls]
    for at in (None, mask, list(names), other):
        s.inverse_dynamics(q, v, whole, actuated=at)  # the first ones are Python's
    monkeypatch.setattr("soacraft.loops.inverse.force_for", None)
    for (x, at, drives), force in zip(calls, wanted, strict=True):
        batch = s.inverse_dynamics(np.stack([q, q]), v, x, actuated=at, U=drives)
        near(batch, np.stack([force, force]), 1e-8)
    monkeypatch.setattr(type(s), "_read", None)  # nor a step of reading
    for (x, at, drives), force in zip(calls, wanted, strict=True):
        near(s.inverse_dynamics(q, v, x, actuated=at, U=drives), force, 1e-8)
    monkeypatch.undo()
    for force in wanted:
        near(s.forward_dynamics(q, v, force).vdot, whole, 1e-7)
    with pytest.raises(LoopError, match="vdot of all dofs of 'cassie' does not agree with its closures"):
        s.inverse_dynamics(q, v, whole + np.eye(mb.nv)[np.flatnonzero(~mask)[0]], actuated=mask)


def test_inverse_dynamics_follows_another_choice_of_independent_dofs():
    """Accelerations are read in the order of the dofs that are independent now, not when compiled code was made."""
    mb = library("five_bar")
    s, q, v = TreeAugmented(mb), np.array(mb.q), np.array(mb.v)
    whole = s.forward_dynamics(q, v, np.ones(mb.nv)).vdot
    first = s.independent(q)
    s.inverse_dynamics(q, v, by_name(s, q, whole[[mb.dof_names.index(x) for x in first]]))
    s._kept = partition(Constraints(mb, mb.state()), wanted=~np.isin(mb.dof_names, first[:1])).independent
    names = s.independent(q)
    assert names != first
    force = s.inverse_dynamics(q, v, by_name(s, q, whole[[mb.dof_names.index(x) for x in names]]))
    near(s.forward_dynamics(q, v, force).vdot, whole, 1e-9)
    assert np.abs(force[[i for i, x in enumerate(mb.dof_names) if x not in names]]).max() == 0.0


@pytest.mark.parametrize("kind", [TreeAugmented, FullyAugmented, ConstraintEmbedding])
def test_inverse_dynamics_follows_parameters(kind):
    mb = library("five_bar")
    s, q, v = kind(mb), np.array(mb.q), np.array(mb.v)
    whole, names = s.forward_dynamics(q, v, np.ones(mb.nv)).vdot, s.independent(q)
    for at in (None, names):
        for _ in range(2):
            before = s.inverse_dynamics(q, v, whole, actuated=at)
    mb.gravity = (1.0, 3.0, -2.0)
    for at in (None, names):
        found = s.inverse_dynamics(q, v, whole, actuated=at)
        near(found, kind(mb).inverse_dynamics(q, v, whole, actuated=names), 1e-9)
        assert np.abs(found - before).max() > 0.1


def test_mixed_dynamics_of_a_batch():
    mb = library("delta")
    s, name = TreeAugmented(mb), mb.loops[0].name
    rng = np.random.default_rng(3)
    force, vdot = rng.standard_normal((2, 4, mb.nv))
    dofs = [ConstraintEmbedding(mb).independent(mb.q)[0]]
    U = {name: (np.zeros(6), np.zeros(6))}
    zero = np.zeros(mb.nv)
    for drives in (None, U):
        first = s.mixed_dynamics(mb.q, zero, force, vdot, dofs, U=drives)
        again = s.mixed_dynamics(mb.q, zero, force, vdot, dofs, U=drives)
        near(np.array(first), np.array(again), 1e-9)
        for i in range(4):
            one = s.mixed_dynamics(mb.q, zero, force[i], vdot[i], dofs, U=drives)
            near(np.array(one), np.array([x[i] for x in again]), 1e-9)
    with pytest.raises(LoopError, match="in state 1 of the batch: loop"):
        s.mixed_dynamics(np.stack([mb.q, mb.integrate(mb.q, 0.1 * np.ones(mb.nv))]), zero, force[0], vdot[0], dofs)
    mb.bodies[0].inertia = sc.Inertia(2.0 * mb.bodies[0].inertia.mass, (0, 0, 0), np.eye(3))
    heavier = s.mixed_dynamics(mb.q, zero, force, vdot, dofs)
    near(np.array(heavier), np.array(TreeAugmented(mb).mixed_dynamics(mb.q, zero, force, vdot, dofs)), 1e-8)


def test_a_coupling_alone_can_be_driven():
    """In a model with loops, which are not: the numbers of the coupling are the only ones."""
    mb = library("robotiq_2f85")
    name, zero = mb.couplings[0].name, np.zeros(mb.nv)
    assert mb.loops
    s = TreeAugmented(mb)
    still = s.forward_dynamics(mb.q, zero, zero)
    found = s.forward_dynamics(mb.q, zero, zero, U={name: (0.0, 0.5)})
    assert s._chosen.call.answered == 1
    wanted = in_python(TreeAugmented(mb)).forward_dynamics(mb.q, zero, zero, U={name: (0.0, 0.5)})
    near(found.vdot, wanted.vdot, 1e-8)
    assert np.abs(found.vdot - still.vdot).max() > 1e-6
