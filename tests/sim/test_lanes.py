"""`_core.Lanes` reads and writes no number outside of what it is given: what does not fit is refused by name."""

import numpy as np
import pytest
from tests.sim.test_order import tree

import soacraft as sc
from soacraft.sim import compiled


def lanes_of(monkeypatch, method="rk4", solver="auto", mb=None, states=3):
    """Kernels, setting and arrays that a stepper gives to its compiled lanes; a state is q, v and five works: 11
    numbers."""
    calls = []
    made = compiled._core.Lanes

    class Core:
        @staticmethod
        def Lanes(*call):
            calls.append(call)
            return made(*call)

    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))]) if mb is None else mb
    p = sc.sim.Propagator(mb, solver, integrator=method, step=0.004)
    p.control(mb.dof_names[0], ([0.01, 0.02], [0.0, 1.0]))
    with monkeypatch.context() as patch:
        patch.setattr(compiled, "_core", Core)
        p.stepper([mb.dof_names[-1]], states=states)
    return calls[0]


REFUSED = [
    ("x", lambda x: x[:, :-1].copy(), "x has length 10, not 11"),
    ("x", lambda x: x[:-1].copy(), "arrays of lanes do not fit"),
    ("x", lambda x: x[:0].copy(), "arrays of lanes do not fit"),
    ("x", lambda x: x[0].copy(), "x must be a C-contiguous float64 array with 2 axes"),
    ("theta", lambda x: np.zeros((3, 1)), "theta has length 1, not 0"),
    ("theta", lambda x: np.zeros((2, 0)), "arrays of lanes do not fit"),
    ("u", lambda u: np.zeros((3, 2)), "arrays of lanes do not fit"),
    ("u", lambda u: np.zeros((2, 1)), "arrays of lanes do not fit"),
    ("now", lambda now: now[:-1].copy(), "arrays of lanes do not fit"),
    ("now", lambda now: now.astype(float), "now must be a C-contiguous int64 array"),
    ("driven", lambda x: np.array([3]), "driven has an entry 3 out of range"),
    ("driven", lambda x: np.array([-1]), "driven has an entry -1 out of range"),
    ("driven", lambda x: np.array([0]), "a control that is driven has one number"),
    ("pushed", lambda x: 3, "there is no load 3"),
    ("pushed", lambda x: -2, "there is no load -2"),
    ("step", lambda x: 0, "lanes take fixed steps, in a thread or more"),
    ("threads", lambda x: 0, "lanes take fixed steps, in a thread or more"),
]


@pytest.mark.parametrize(("part", "change", "text"), REFUSED)
def test_what_does_not_fit_is_refused(part, change, text, monkeypatch):
    tree, setting, arrays = lanes_of(monkeypatch)
    arrays = arrays._replace(**{part: change(getattr(arrays, part))})
    with pytest.raises(ValueError, match=text):
        compiled._core.Lanes(tree, setting, arrays)


def test_the_shortest_step_is_a_nanosecond(monkeypatch):
    tree, setting, arrays = lanes_of(monkeypatch)
    lanes = compiled._core.Lanes(tree, setting, arrays._replace(step=1))
    assert lanes.advance(3) == -1
    np.testing.assert_array_equal(arrays.now, 3)


def test_methods_that_are_unknown_or_adapt_are_refused(monkeypatch):
    kernels, setting, arrays = lanes_of(monkeypatch)
    with pytest.raises(ValueError, match="there is no such method"):
        compiled._core.Lanes(kernels, setting._replace(method=-1), arrays)
    p = sc.sim.Propagator(tree([sc.Pin((0, 1, 0))] * 3), rtol=1e-8)
    adaptive = compiled.CompiledMotion(p._acting.begin(), p._method)._setting
    with pytest.raises(ValueError, match="lanes take fixed steps"):
        compiled._core.Lanes(kernels, setting._replace(tableau=adaptive.tableau), arrays)


def test_lanes_of_their_own_fit_the_others(monkeypatch):
    """Another tree, other loads, no lane of that number; and a lane that is not recorded has no last step."""
    kernels, setting, arrays = lanes_of(monkeypatch)
    lanes = compiled._core.Lanes(kernels, setting, arrays)
    for lane in (-1, 3):
        for call in (lambda i=lane: lanes.set_own(i, kernels, setting, True), lambda i=lane: lanes.last(i)):
            with pytest.raises(ValueError, match=f"there is no lane {lane}"):
                call()
    with pytest.raises(ValueError, match="lane 1 is not recorded"):
        lanes.last(1)
    assert lanes.set_own(1, kernels, setting, False)
    assert lanes.last(1)[-1] == 0.0
    lanes.share(1)
    with pytest.raises(ValueError, match="lane 1 is not recorded"):
        lanes.last(1)
    longer, others, _ = lanes_of(monkeypatch, mb=tree([sc.Pin((0, 1, 0))] * 4))
    with pytest.raises(ValueError, match="another method, other loads or another tree"):
        lanes.set_own(1, longer, others, True)
    with pytest.raises(ValueError, match="another method, other loads or another tree"):
        lanes.set_own(1, kernels, setting._replace(method=1, tableau=None), True)
    with pytest.raises(ValueError, match=r"lanes are pushed by \{node: wrench\}"):
        lanes.push(0, kernels, {}, [])
    assert not lanes.push(0, kernels, {}, {"nowhere": [0.0] * 6})


def test_a_lane_before_its_origin_is_refused(monkeypatch):
    call = lanes_of(monkeypatch)
    arrays, lanes = call[2], compiled._core.Lanes(*call)
    arrays.now[1] = -1
    with pytest.raises(ValueError, match="before the beginning of its steps"):
        lanes.advance(10**7)
    arrays.now[1] = 0
    assert lanes.advance(12 * 10**6) == -1
    np.testing.assert_array_equal(arrays.now, 12 * 10**6)


def test_what_lanes_answer(monkeypatch):
    """-3 where controls are not finite, -2 where the model changed, and nothing is moved then."""
    mb = tree([sc.Pin((0, 1, 0)), sc.Prismatic((1, 0, 0)), sc.Pin((1, 0, 0))])
    call = lanes_of(monkeypatch, mb=mb)
    arrays, lanes = call[2], compiled._core.Lanes(*call)
    before = arrays.x.copy()
    assert lanes.ready
    arrays.u[2, 0] = np.nan
    assert lanes.advance(10**7) == -3
    arrays.u[2, 0] = 0.0
    mb.bodies[0].inertia = sc.Inertia(3.0, moment=np.eye(3))
    sc.dynamics.mass_matrix(mb, mb.q)  # brings the parameters to compiled code
    assert not lanes.ready
    assert lanes.advance(10**7) == -2
    np.testing.assert_array_equal(arrays.x, before)
    np.testing.assert_array_equal(arrays.now, 0)


def test_a_goal_that_is_reached_already_moves_nothing(monkeypatch):
    call = lanes_of(monkeypatch)
    arrays, lanes = call[2], compiled._core.Lanes(*call)
    lanes.advance(4 * 10**6)
    before = arrays.x.copy()
    assert lanes.advance(4 * 10**6) == lanes.advance(10**6) == -1
    np.testing.assert_array_equal(arrays.x, before)


def test_before_the_first_step_there_are_no_contacts_and_no_rates(monkeypatch):
    (steps, points), force, rates, length = compiled._core.Lanes(*lanes_of(monkeypatch, states=1)).last(0)
    assert force is None
    assert (steps.shape, points.shape, length) == ((0, 8), (0, 13), 0.0)
    np.testing.assert_array_equal(rates, np.zeros((1, 3)))


def test_mean_rates_are_the_change_of_velocities(monkeypatch):
    call = lanes_of(monkeypatch, states=1)
    arrays, lanes, v = call[2], compiled._core.Lanes(*call), slice(3, 6)
    lanes.advance(4 * 10**6)
    before = arrays.x[0, v].copy()
    lanes.advance(8 * 10**6)
    _, _, rates, length = lanes.last(0)
    assert length == 0.004
    np.testing.assert_allclose(rates[0], (arrays.x[0, v] - before) / 0.004, rtol=1e-12)
