"""Motions of closed chains in C++: the answers of the Python form on any hinges, batches, what is left to Python."""

import numpy as np
import pytest
from hypothesis import given
from tests.loops.by_name import by_name
from tests.loops.cases import (
    CLOSING,
    HOLONOMIC,
    FourBar,
    closed_graphs,
    comparable,
    force_of,
    library,
    near,
    row_of_four_bars,
    tie,
)
from tests.profiles import tries
from tests.strategies import SEEDS

import soacraft as sc
from soacraft import _core
from soacraft.errors import ConvergenceError, LoopError, StateError
from soacraft.kinematics import projection
from soacraft.kinematics.compiled import (
    ADVANCE,
    COMPLETE,
    EXPAND,
    INVERSE_DYNAMICS,
    INVERSE_OF_ALL,
    PROJECT,
    PROJECT_VELOCITY,
)
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.loops import ConstraintEmbedding, TreeAugmented
from soacraft.loops.embedding import continuation
from soacraft.loops.position import _closed

KNOWN = [hinge for hinge in CLOSING if not isinstance(hinge, sc.RollingBall)]


def ready(mb, kind=ConstraintEmbedding, **choices):
    """A solver that has been told what its compiled form needs."""
    s = kind(mb, **choices)
    zero = np.zeros(mb.nv)
    s.forward_dynamics(mb.q, zero, zero)
    s.project_velocity(mb.q, zero)
    return s


def in_python(s):
    """The solver with all motions in Python."""
    s._compiled = None
    s._chosen = s._chosen._replace(compiled=None, call=None)
    if isinstance(s, ConstraintEmbedding):
        s._beside = None
    return s


def plan_of(s, motion):
    return s._augmented() if motion in (PROJECT_VELOCITY, PROJECT) else s._chosen.compiled


def counts(s, motion):
    """How many calls compiled code answered, and how many it left to Python."""
    call = plan_of(s, motion).motions[motion]
    return call.answered, call.passed_on


def one(s, motion, q, *x):
    """A motion of one state by compiled code alone: what it gives, and whether it holds."""
    q_out, v_out, fine = plan_of(s, motion).move(motion, s._turns, q[None], *(y[None] for y in x))
    return q_out[0], v_out[0], bool(fine[0])


def test_motions_in_independent_dofs_on_random_closed_graphs():
    """Any hinges in the tree and in the loops, couplings, redundant rows; most of them in C++."""
    asked, answered = np.zeros(3, int), np.zeros(3, int)

    @tries(25)
    @given(closed_graphs(hinges=HOLONOMIC, closing=KNOWN), SEEDS)
    def check(mb, seed):
        comparable(mb, force_of(mb, seed))
        s = ConstraintEmbedding(mb)
        if s._compiled is None:
            return
        found = s.model(mb.state(mb.q, np.zeros(mb.nv)))
        n, rng = len(found.independent), np.random.default_rng(seed)
        x = rng.standard_normal(n)
        v = found.expanded(x)
        off = 1e-5 * rng.standard_normal(mb.nv)
        off[found.independent] = 0.0
        start = mb.integrate(mb.q, off)
        for motion, given_, wanted in (
            (EXPAND, (mb.q, x), lambda: v),
            (COMPLETE, (start,), lambda: continuation.complete(s, start)),
            (ADVANCE, (mb.q, 1e-3 * x), lambda: continuation.advance(s, mb.q, 1e-3 * x)),
        ):
            asked[motion] += 1
            q_out, v_out, fine = one(s, motion, *given_)
            if not fine:
                continue
            answered[motion] += 1
            if motion == EXPAND:
                near(v_out, wanted(), 1e-9)
                G = Constraints(mb, mb.state(mb.q, v_out), s._theta).jacobian()
                assert np.abs(G @ v_out).max(initial=0.0) <= 1e-9 * max(1.0, np.abs(G).max() * np.abs(v_out).max())
            else:
                near(q_out, wanted(), 1e-8)
                rows = Constraints(mb, mb.state(q_out, np.zeros(mb.nv)), s._theta)
                assert rows.opening <= 1e-12

    check()
    assert (asked > 20).all()
    assert (answered > 0.9 * asked).all()


@pytest.mark.parametrize("kind", [TreeAugmented, ConstraintEmbedding])
def test_projections_on_random_closed_graphs(kind):
    """Against the dense form with singular values, and both directions of the metric: what is taken away is orthogonal
    to every motion that the closures allow."""
    asked, answered = [], []

    @tries(12)
    @given(closed_graphs(closing=KNOWN), SEEDS)
    def check(mb, seed):
        comparable(mb, force_of(mb, seed))
        s = kind(mb)
        if s._compiled is None:
            return
        v = np.random.default_rng(seed).standard_normal(mb.nv)
        task = Task(s._rows(mb.state(mb.q, v)), np.zeros(mb.nv), (), {})
        s._project(task, "mass")
        wanted = projection.project(task, "mass")
        _, found, fine = one(s, PROJECT_VELOCITY, mb.q, v)
        asked.append(mb)
        if not fine:
            return
        answered.append(mb)
        near(found, wanted, 1e-8)
        for far in (1e-6, 1e-10):  # a step so short that its factors serve the velocities, too
            off = mb.integrate(mb.q, far * v)
            q, found, fine = one(s, PROJECT, off, v)
            if not fine:
                continue
            again = in_python(kind(mb))
            near(q, _closed(again, mb.state(off, np.zeros(mb.nv)), frozenset()), 1e-9)
            near(found, again.project_velocity(q, v), 1e-8)
            assert Constraints(mb, mb.state(q, found)).opening <= 1e-12
            M = sc.dynamics.mass_matrix(mb, q, ignore_loops=True)
            near(found @ M @ (v - found), 0.0, 1e-8 * max(1.0, np.abs(M).max() * np.abs(v) @ np.abs(v)))

    check()
    assert len(answered) > 0.8 * len(asked) > 5


def test_a_batch_is_its_states_to_the_last_bit():
    mb = library("cassie")
    s = ready(mb)
    rng, n = np.random.default_rng(2), len(s.system.independent)
    x = 0.01 * rng.standard_normal((2, 3, n))
    q = s.advance(mb.q, by_name(s, mb.q, x))
    assert q.shape == (2, 3, mb.nq)
    assert counts(s, ADVANCE) == (0, 1)  # a batch, which Python hands to compiled code at once
    v = s.expand(q, by_name(s, q, x))
    off = mb.integrate(q, 1e-7 * rng.standard_normal((2, 3, mb.nv)))
    closed, moved = s.complete(off), s.project(off, v)
    nearest = s.project_velocity(q, rng.standard_normal(mb.nv))
    for i in np.ndindex(2, 3):
        assert np.array_equal(q[i], s.advance(mb.q, by_name(s, mb.q, x[i])))
        assert np.array_equal(v[i], s.expand(q[i], by_name(s, q[i], x[i])))
        assert np.array_equal(closed[i], s.complete(off[i]))
        assert all(np.array_equal(a[i], b) for a, b in zip(moved, s.project(off[i], v[i]), strict=True))
    rng = np.random.default_rng(2)
    rng.standard_normal((2, 3, n)), rng.standard_normal((2, 3, mb.nv))
    assert np.array_equal(nearest[1, 2], s.project_velocity(q[1, 2], rng.standard_normal(mb.nv)))
    for motion in range(5):
        assert counts(s, motion)[0] >= 1
    empty = s.advance(np.empty((0, mb.nq)), by_name(s, mb.q, np.zeros(n))), s.project(np.empty((0, mb.nq)), mb.v)[1]
    assert [x.shape for x in empty] == [(0, mb.nq), (0, mb.nv)]


def test_the_first_state_of_a_batch_makes_the_choice():
    mb = library("five_bar")
    s = ConstraintEmbedding(mb)
    one = dict.fromkeys(ConstraintEmbedding(mb).independent(mb.q), 1.0)
    v = s.expand(np.stack([mb.q] * 3), one)
    assert s.system.independent is not None
    assert np.abs(v[0] - v[1]).max() < 1e-12
    assert np.array_equal(v[1], v[2])


def test_which_state_of_a_batch_is_refused():
    mb = FourBar().build(0.7)
    s = ready(mb, independent=["crank"])
    q = np.stack([mb.q, mb.q + np.array([0, 0.1, 0]), mb.q])
    with pytest.raises(LoopError, match="in state 1 of the batch: loop 'ring' of 'four_bar' is open by"):
        s.expand(q, [1.0])
    with pytest.raises(LoopError, match="in state 1 of the batch: the state of 'four_bar' is too far off"):
        s.project(mb.q + np.array([[0.0, 0, 0], [0.0, 3.1, 0]]), mb.v)
    s = ready(mb, independent=["rocker"])
    with pytest.raises(ConvergenceError, match="in state 2 of the batch: the dependent dofs of 'four_bar'"):
        s.complete(np.stack([mb.q, mb.q, [mb.q[0], mb.q[1], 0.0]]))


def test_what_does_not_fit_is_refused_by_its_name():
    mb = FourBar().build(0.7)
    s = ready(mb, independent=["crank"])
    with pytest.raises(StateError, match=r"v_independent of 'four_bar', which is that of 'crank',.*shape"):
        s.expand(mb.q, [1.0, 2.0])
    with pytest.raises(StateError, match="dv_independent of 'four_bar'"):
        s.advance(mb.q, [np.nan])
    with pytest.raises(StateError, match="batch"):
        s.advance(np.stack([mb.q] * 2), np.zeros((3, 1)))


def test_long_steps_and_turning_closures_are_followed():
    """Along a whole turn, in one step and in many, C++ and Python go the same way."""
    mb = FourBar().build(0.7, hinge=sc.Universal((0, 0, 1), (1, 0, 0)))
    s, slow = ready(mb, independent=["crank"]), in_python(ready(mb, independent=["crank"]))
    at_once = s.advance(mb.q, np.array([6.0]))
    near(at_once, slow.advance(mb.q, np.array([6.0])), 1e-10)
    assert counts(s, ADVANCE) == (1, 0)
    q = np.array(mb.q)
    for _ in range(60):
        q = s.advance(q, np.array([0.1]))
    near(q, at_once, 1e-9)
    assert counts(s, ADVANCE)[1] == 0


def test_a_long_step_ends_where_the_closed_form_does():
    """Crank-rockers turned by several radians in one step: prediction and correction must agree on the way, or the step
    would end with the coupler on its other side."""
    for coupler, rocker, ground, start, step in (
        (2.0938, 1.4944, 2.4127, -1.0919, 4.8435),
        (2.0, 1.2, 2.1, 0.7, 6.0),
        (3.0, 2.2, 3.2, 0.7, -5.0),
        (2.0, 1.02, 2.01, 0.7, 3.0),
        (1.1491, 1.8047, 1.7766, 0.7, 3.0),
        (1.0714, 1.4569, 1.5157, 0.7, 3.0),
    ):
        bars = FourBar(1.0, coupler, rocker, ground)
        mb = bars.build(start)
        s = ready(mb, independent=["crank"])
        beta, gamma = bars.angles(start + step)
        for solver in (s, in_python(ready(mb, independent=["crank"]))):
            off = solver.advance(mb.q, np.array([step])) - [start + step, beta - start - step, gamma]
            near((off + np.pi) % (2 * np.pi) - np.pi, 0.0, 1e-9)
        assert counts(s, ADVANCE) == (1, 0)


def test_an_order_that_is_not_that_of_the_plan_is_in_doubt():
    """Numbers for other dofs than the independent ones move nothing."""
    mb = library("five_bar")
    s = ready(mb)
    chosen = s.system.independent
    others = np.setdiff1d(np.arange(mb.nv), chosen)[: len(chosen)]
    core, x = s._chosen.compiled.core, np.ones((1, len(chosen)))
    for order in (others, chosen[:-1]):
        fine = np.ones(1, np.int64)
        rates = np.ascontiguousarray(x[:, : len(order)])
        _core.closed_motion(core, EXPAND, mb.q[None].copy(), rates, order.astype(np.int64), s._turns, np.empty((1, 0)),
                            np.empty((1, mb.nv)), fine)  # fmt: skip
        assert fine[0] == 0


def test_states_in_doubt_go_to_python():
    """Flat four-bars, states off their closures, other types than plain arrays."""
    mb = row_of_four_bars(2)
    s = ready(mb)
    one = dict.fromkeys(s.independent(mb.q), 1.0)
    s.expand(mb.q, one)
    flat = np.zeros(mb.nv)
    with pytest.raises(LoopError):
        s.advance(flat, one)
    assert counts(s, ADVANCE) == (0, 1)
    answered, passed_on = counts(s, PROJECT_VELOCITY)
    s.project_velocity(mb.q.tolist(), mb.v)
    s.project_velocity(mb.q, mb.v, weight="plain")
    assert counts(s, PROJECT_VELOCITY) == (answered, passed_on + 1)


@pytest.mark.parametrize("edit", ["parameter", "structure"])
def test_inverse_dynamics_of_one_state_until_the_model_changes(edit):
    """The torque of the closed form; None, for Python to look at, where v or a flag is none or the model is another."""
    bars = FourBar()
    mb = bars.build(0.7)
    s = ready(mb, independent=["crank"])
    call = s._chosen.compiled.motions[INVERSE_DYNAMICS]
    q, wanted, theta, v = np.array(mb.q), np.array([0.8]), s._turns, s.expand(mb.q, np.array([1.3]))
    force = call(q, wanted, theta, v, False)[1]
    near(bars.acceleration(0.7, 1.3, force[0]), wanted[0])
    assert not force[1:].any()
    for bad in ((q, wanted, theta, np.nan * v, False), (q, wanted, theta, v[:2], False), (q, wanted, theta, v, 1)):
        assert call(*bad) is None
    if edit == "parameter":
        mb.bodies[1].inertia = sc.Inertia(9.0, (0.1, 0.2, 0.0), np.eye(3))
    else:
        mb.add_body("more", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    assert call(q, wanted, theta, v, False) is None


def test_dependent_dofs_are_completed_from_nearby():
    """Of a four-bar to its closed form; from so far away that another branch may be nearer, Python looks. Of a gear, of
    which one step is exact from anywhere, as far as a step may go.
    """
    bars = FourBar()
    mb = bars.build(0.7)
    s = ready(mb, independent=["crank"])
    for off in (0.05, 0.2):
        found, _, fine = one(s, COMPLETE, mb.q + np.array([0.0, off, -off]))
        assert fine
        near(found, mb.q, 1e-12)
    assert not one(s, COMPLETE, mb.q + np.array([0.0, 2.0, -2.0]))[2]
    geared = sc.serial_chain(2)
    tie(geared, "gear", geared.dof_names, [(1.0,), (-1.5,)])
    s = ready(geared, independent=[geared.dof_names[0]])
    for off, close_enough in ((0.9, True), (1.1, False)):
        found, _, fine = one(s, COMPLETE, geared.q + np.array([0.0, off]))
        assert fine == close_enough
        if fine:
            near(found, geared.q, 1e-12)


def test_inverse_dynamics_of_all_accelerations_at_once():
    """Those that obey the closures, none at all among them, take the torque of the closed form; others go to Python."""
    bars = FourBar()
    mb = bars.build(0.7)
    s = ready(mb, independent=["crank"])
    call = s._chosen.compiled.motions[INVERSE_OF_ALL]
    q, theta, rest = np.array(mb.q), s._turns, np.zeros(3)
    for push in (0.0, 0.8):
        vdot = s.expand(q, np.array([push]))  # at rest they are as velocities are
        force = call(q, vdot, theta, rest, False)[1]
        near(bars.acceleration(0.7, 0.0, force[0]), push)
    for wrong in (1e-6 * np.eye(3)[1], vdot * [1.0, 1.0, -1.0]):
        assert call(q, wrong, theta, rest, False) is None


def test_arguments_of_compiled_motions_are_checked():
    mb = FourBar().build(0.7)
    s = ready(mb, independent=["crank"])
    core, order, theta = s._chosen.compiled.core, np.array([0]), s._turns
    q, x, fine = np.array([mb.q]), np.ones((1, 1)), np.zeros(1, np.int64)
    q_out, v_out = np.empty((1, 0)), np.empty((1, 3))
    good = [core, EXPAND, q, x, order, theta, q_out, v_out, fine]
    _core.closed_motion(*good)
    assert fine[0] == 1
    for place, wrong, text in (
        (1, 8, "no motion 8"),
        (1, -1, "no motion -1"),
        (1, PROJECT, "motion 4 needs another plan"),
        (2, np.ones((1, 2)), r"q must be \(1, 3\)"),
        (2, np.ones((2, 3)), r"q must be \(1, 3\)"),
        (3, np.ones((1, 3)), r"x must be \(1, 1\)"),
        (4, np.array([3]), "no place for dof 3"),
        (4, np.array([0, 0]), "no place for dof 0"),
        (5, np.zeros(len(theta) + 1), "theta has length"),
        (6, np.empty((1, 3)), r"q_out must be \(1, 0\)"),
        (7, np.empty((1, 2)), r"v_out must be \(1, 3\)"),
        (8, None, "fine must be"),
    ):
        with pytest.raises(ValueError, match=text):
            _core.closed_motion(*(wrong if i == place else x for i, x in enumerate(good)))
    for given_, text in (
        ((1, EXPAND, order, print, {}), "solver must be a ClosedSolver"),
        ((core, PROJECT, order, print, {}), "motion 4 needs another plan"),
        ((core, EXPAND, np.array([-1]), print, {}), "no place for dof -1"),
        ((core, EXPAND, order, 1, {}), "fallback must be callable"),
        ((core, EXPAND, order, print, []), "forces must be a dict"),
    ):
        with pytest.raises(ValueError, match=text):
            _core.closed_motion_call(*given_)
