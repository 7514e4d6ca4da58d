"""`_core.Lanes` reads and writes no number outside of what it is given: what does not fit is refused by name."""

import numpy as np
import pytest
from tests.sim.test_closed import four_bar
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.sim import compiled

TREE, SETTING, X, U, NOW, DRIVEN, STOPS, STEP, ORIGIN, THREADS = range(10)


def call_of(monkeypatch, method="rk4", solver="auto", mb=None, states=3):
    """What a stepper gives to its compiled lanes; a state is q, v and four works: 10 numbers."""
    given = []
    made = compiled._core.Lanes

    class Core:
        @staticmethod
        def Lanes(*call):
            given.append(call)
            return made(*call)

    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))]) if mb is None else mb
    p = sc.sim.Propagator(mb, solver, integrator=method, step=0.004)
    p.control(mb.dof_names[0], ([0.01, 0.02], [0.0, 1.0]))
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_core", Core)
        p.stepper([mb.dof_names[-1]], states=states)
    return list(given[0])


REFUSED = [
    (X, lambda x: x[:, :-1].copy(), "x has length 9, not 10"),
    (X, lambda x: x[:-1].copy(), "arrays of lanes do not fit"),
    (X, lambda x: x[:0].copy(), "arrays of lanes do not fit"),
    (X, lambda x: x[0].copy(), "x must be a C-contiguous float64 array with 2 axes"),
    (U, lambda u: np.zeros((3, 2)), "arrays of lanes do not fit"),
    (U, lambda u: np.zeros((2, 1)), "arrays of lanes do not fit"),
    (NOW, lambda now: now[:-1].copy(), "arrays of lanes do not fit"),
    (NOW, lambda now: now.astype(float), "now must be a C-contiguous int64 array"),
    (DRIVEN, lambda x: np.array([2]), "a control that is driven has one number"),
    (DRIVEN, lambda x: np.array([-1]), "a control that is driven has one number"),
    (DRIVEN, lambda x: np.array([0]), "a control that is driven has one number"),
    (STEP, lambda x: 0, "lanes take fixed steps, in a thread or more"),
    (THREADS, lambda x: 0, "lanes take fixed steps, in a thread or more"),
    (SETTING, lambda x: x._replace(method=-1), "there is no such method"),
]


@pytest.mark.parametrize(("part", "change", "text"), REFUSED)
def test_what_does_not_fit_is_refused(part, change, text, monkeypatch):
    call = call_of(monkeypatch)
    call[part] = change(call[part])
    with pytest.raises(ValueError, match=text):
        compiled._core.Lanes(*call)


def test_methods_that_adapt_and_closed_chains_are_refused(monkeypatch):
    call = call_of(monkeypatch)
    p = sc.sim.Propagator(tree([sc.Pin((0, 1, 0))] * 3), rtol=1e-8)
    adaptive = compiled.CompiledMotion(p._acting.begin(), p._method)._setting
    adaptive = call[SETTING]._replace(tableau=adaptive.tableau)
    with pytest.raises(ValueError, match="lanes take fixed steps"):
        compiled._core.Lanes(call[TREE], adaptive, *call[SETTING + 1 :])
    mb = four_bar()
    closed = sc.sim.Propagator(mb, "ta", integrator="rk4", step=0.01)
    closed.control(mb.dof_names[0], 0.0)
    closed.advance_to(0.01)
    problem = closed._acting.begin()
    motion = compiled.CompiledMotion(problem, closed._method)
    chain = problem.closed.chain(np.array(mb.q), np.array(mb.v))
    size = mb.nq + mb.nv + len(problem.names)
    states = np.zeros((1, size)), np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(ValueError, match="lanes are of trees alone"):
        compiled._core.Lanes(
            motion._kernels, motion._setting._replace(chain=chain), *states, np.array([0]), none, 10**7, 0, 1
        )


def test_a_lane_before_its_origin_is_refused(monkeypatch):
    call = call_of(monkeypatch)
    lanes = compiled._core.Lanes(*call)
    call[NOW][1] = -1
    with pytest.raises(ValueError, match="before the beginning of its steps"):
        lanes.advance(10**7)
    call[NOW][1] = 0
    assert lanes.advance(12 * 10**6) == -1
    np.testing.assert_array_equal(call[NOW], 12 * 10**6)


def test_what_lanes_answer(monkeypatch):
    """-3 where controls are not finite, -2 where the model changed, and nothing is moved then."""
    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))])
    call = call_of(monkeypatch, mb=mb)
    lanes, before = compiled._core.Lanes(*call), call[X].copy()
    assert lanes.ready
    call[U][2, 0] = np.nan
    assert lanes.advance(10**7) == -3
    call[U][2, 0] = 0.0
    mb.bodies[0].inertia = sc.Inertia(3.0, moment=np.eye(3))
    sc.dynamics.mass_matrix(mb, mb.q)  # brings the parameters to compiled code
    assert not lanes.ready
    assert lanes.advance(10**7) == -2
    np.testing.assert_array_equal(call[X], before)
    np.testing.assert_array_equal(call[NOW], 0)


def test_a_goal_that_is_reached_already_moves_nothing(monkeypatch):
    call = call_of(monkeypatch)
    lanes = compiled._core.Lanes(*call)
    lanes.advance(4 * 10**6)
    before = call[X].copy()
    assert lanes.advance(4 * 10**6) == lanes.advance(10**6) == -1
    np.testing.assert_array_equal(call[X], before)


def test_before_the_first_step_there_are_no_contacts_and_no_rates(monkeypatch):
    (steps, points), rates, length = compiled._core.Lanes(*call_of(monkeypatch, states=1)).last()
    assert (steps.shape, points.shape, length) == ((0, 8), (0, 13), 0.0)
    np.testing.assert_array_equal(rates, np.zeros((1, 3)))


def test_mean_rates_are_the_change_of_velocities(monkeypatch):
    call = call_of(monkeypatch, states=1)
    lanes, v = compiled._core.Lanes(*call), slice(3, 6)
    lanes.advance(4 * 10**6)
    before = call[X][0, v].copy()
    lanes.advance(8 * 10**6)
    _, rates, length = lanes.last()
    assert length == 0.004
    np.testing.assert_allclose(rates[0], (call[X][0, v] - before) / 0.004, rtol=1e-12)
