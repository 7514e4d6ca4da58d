"""The momentum observer: its filter equation, wrenches at frames, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.model.hinges import examples
from soacraft.robot import MomentumObserver, Robot


@given(st.integers(0, 1000))
@tries(10)
def test_the_estimate_follows_as_a_filter_of_first_order(seed):
    """dr/dt = K (T_ext - r) under a constant T_ext: r = T_ext (1 - exp(-K t)), with every hinge, quaternions too."""
    mb = sc.random_tree(5, seed=seed, hinges=[x for x in examples() if x.holonomic and x.nv])
    rng = np.random.default_rng(seed)
    rb, K, h = Robot(mb), rng.uniform(20.0, 100.0, mb.nv), 2e-4
    T, outside = rng.standard_normal(mb.nv), rng.standard_normal(mb.nv)
    p = rb.predict(np.array(mb.q), 0.2 * rng.standard_normal(mb.nv), T + outside, horizon=0.04, step=h)
    watch = MomentumObserver(rb, K, p.q[0], p.v[0])
    for q, v in zip(p.q[1:], p.v[1:], strict=True):
        r = watch.update(q, v, T, h)
    expected = outside * (1.0 - np.exp(-K * 0.04))
    assert np.abs(r - expected).max() < 1e-4 * np.abs(outside).max()
    assert (watch.force == r).all()


def test_a_push_at_the_hand_is_found_there():
    rb = Robot(sc.load("panda"))
    mb, h = rb.mb, 1e-3
    q0 = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4])
    wrench = np.array([0.2, -0.1, 0.3, 5.0, -8.0, 10.0])
    watch = MomentumObserver(rb, 200.0, q0, np.zeros(7))
    hold, M = sc.dynamics.gravity_force(mb, q0), sc.dynamics.mass_matrix(mb, q0)

    def motors(q, v):
        return hold + M @ (-400.0 * (q - q0) - 40.0 * v)

    def both(t, q, v):
        return motors(q, v) + sc.dynamics.jacobian(mb, q, "link7").T @ wrench

    p = rb.predict(q0, np.zeros(7), both, 1.0, step=h)
    for k in range(len(p.force)):
        watch.update(p.q[k + 1], p.v[k + 1], motors(p.q[k], p.v[k]), h)
    got = watch.wrench("link7")
    assert got.rank == 6
    assert np.abs(got.wrench - wrench).max() < 0.02
    assert np.abs(got.left).max() < 0.01
    assert "6 of 6 components felt" in repr(got)
    assert watch.wrench("link3").rank == 3


def test_in_millimetres_the_same_wrench_is_found():
    """Lengths times a thousand: moments are a million times as large, forces a thousand (kg mm/s^2)."""
    found = []
    for s in (1.0, 1000.0):
        mb = sc.Multibody("arm")
        mb.gravity = (0, 0, -9.8 * s)
        mb.add_body("a", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.2 * s, 0, 0), np.eye(3) * 0.1 * s**2))
        at = sc.Pose(translation=(0.5 * s, 0, 0))
        mb.add_body("b", "a", sc.Prismatic((1, 0, 0)), sc.Inertia(1.0, (0.1 * s, 0, 0), np.eye(3) * 0.1 * s**2), at)
        watch = MomentumObserver(Robot(mb), 1e3, [0.3, 0.2 * s], [0.0, 0.0])
        hold = sc.dynamics.gravity_force(mb, [0.3, 0.2 * s])
        for _ in range(50):
            watch.update([0.3, 0.2 * s], [0.0, 0.0], hold + np.array([s**2, 2.0 * s]), 1e-3)
        found.append(watch.wrench("b").wrench / np.array([s**2] * 3 + [s] * 3))
    assert np.allclose(*found, rtol=1e-9, atol=1e-12)


def test_what_is_wrong_is_refused():
    rb = Robot(sc.load("panda"))
    with pytest.raises(ModelError, match="watches a Robot"):
        MomentumObserver(rb.mb, 1.0)
    with pytest.raises(StateError, match="gain must be positive"):
        MomentumObserver(rb, 0.0)
    watch = MomentumObserver(rb, 10.0)
    with pytest.raises(StateError, match="dt must be positive"):
        watch.update(rb.mb.q, rb.mb.v, np.zeros(7), 0.0)
    with pytest.raises(StateError, match="one state after the other"):
        watch.update(np.zeros((2, 7)), rb.mb.v, np.zeros(7), 0.1)
    with pytest.raises(StateError, match="the momentum of the dofs is not finite"):
        watch.reset(v=np.full(7, 1e308))
    assert not watch.force.any()
    rb.mb.add_body("cup", "link7", sc.Weld(), sc.Inertia(1.0))
    for take in (lambda: watch.update(rb.mb.q, rb.mb.v, np.zeros(7), 0.1), watch.reset, lambda: watch.wrench("link7")):
        with pytest.raises(StaleError, match="make another MomentumObserver"):
            take()
    other = MomentumObserver(rb, 10.0)
    rb.mb["cup"].inertia = sc.Inertia(2.0)  # its momentum would jump
    with pytest.raises(StaleError, match="make another MomentumObserver"):
        other.update(rb.mb.q, rb.mb.v, np.zeros(7), 0.1)
    open_bars = sc.load("five_bar")
    open_bars.set_state(open_bars.neutral())
    with pytest.raises(LoopError, match=r"the loops of 'five_bar' are open by .* at a reading: close them with"):
        MomentumObserver(Robot(open_bars), 10.0)


def five_bar():
    """Two chains of two rods, pinned together at their tips, and a slide on one of them that a coupling ties."""
    mb, y = sc.Multibody("five bar"), (0, 1, 0)
    rod = sc.Inertia(1.0, (0.25, 0, 0), np.diag([0.01, 0.1, 0.1]))
    for side, x in (("a", 0.0), ("b", 0.4)):
        mb.add_body(f"{side}1", None, sc.Pin(y), rod, inboard=sc.Pose(translation=(x, 0, 0)))
        mb.add_body(f"{side}2", f"{side}1", sc.Pin(y), rod, inboard=sc.Pose(translation=(0.5, 0, 0)))
        mb[f"{side}2"].add_node("end", sc.Pose(translation=(0.5, 0, 0)))
    mb.add_body("weight", "a2", sc.Prismatic((1, 0, 0)), sc.Inertia(0.5))
    mb.close_loop("tip", "a2/end", "b2/end", sc.Pin(y))
    mb.couple("lead", {"weight": 1.0, "a1": -0.1})
    mb.set_state(q=sc.loops.TreeAugmented(mb).assemble([2.6, -1.2, 0.2, 0.5, 1.2]))
    return mb


def test_in_a_closed_chain_the_force_along_what_is_free_is_followed():
    """dr/dt = K (X* T_ext - r), X by the loop solver's own map, while the chain swings; the error falls with the square
    of the time between readings."""
    mb, rng = five_bar(), np.random.default_rng(1)
    rb, solver = Robot(mb), sc.loops.TreeAugmented(mb)
    K, T, outside = np.array([40.0, 90.0]), 0.5 * rng.standard_normal(5), rng.standard_normal(5)
    off = []
    for h in (2e-3, 5e-4):
        v = solver.project_velocity(mb.q, np.array([1.0, -2.0, 0.1, 1.0, 0.5]))
        p = rb.predict(np.array(mb.q), v, T + outside, horizon=0.2, step=h)
        watch = MomentumObserver(rb, K, p.q[0], p.v[0])
        free = [mb.dof_names.index(x) for x in watch.dofs]
        maps = [free_motions(mb, solver, q, free) for q in p.q]
        expected = np.zeros(2)
        for k, (q, v) in enumerate(zip(p.q[1:], p.v[1:], strict=True)):
            r = watch.update(q, v, T, h)
            mean = 0.5 * (maps[k] + maps[k + 1]).T @ outside
            expected = np.exp(-K * h) * expected - np.expm1(-K * h) * mean
        assert np.abs(p.q[-1] - p.q[0]).max() > 0.2
        off.append(np.abs(r - expected).max() / np.abs(expected).max())
    assert off[0] < 2e-3
    assert off[1] < 0.1 * off[0]


def free_motions(mb, solver, q, free):
    """X for given independent dofs, from the solver's map for those that it takes."""
    X = np.asarray(solver.velocity_map(q))
    return X @ np.linalg.inv(X[free])


def test_in_a_closed_chain_a_push_is_found_where_it_acts():
    """A force in the plane at the common tip, which both chains feel; readings of tied velocities do not matter."""
    mb = five_bar()
    rb, push = Robot(mb), np.array([0.0, 0.0, 0.0, 3.0, 0.0, -4.0])
    q, solver = np.array(mb.q), sc.loops.TreeAugmented(mb)
    J = sc.dynamics.jacobian(mb, q, "b2/end", ignore_loops=True)
    weight = sc.dynamics.gravity_force(mb, q, ignore_loops=True)
    watch = MomentumObserver(rb, 100.0, q, np.zeros(5))
    assert len(watch.dofs) == 2
    assert watch.force.shape == (2,)
    wrong = np.ones(5)
    wrong[[mb.dof_names.index(x) for x in watch.dofs]] = 0.0
    for _ in range(200):
        watch.update(q, wrong, weight - J.T @ push, 1e-3)
    free = [mb.dof_names.index(x) for x in watch.dofs]
    assert np.allclose(watch.force, free_motions(mb, solver, q, free).T @ J.T @ push, atol=1e-6)
    touch = watch.wrench("b2/end")
    assert touch.rank == 2
    assert np.abs(touch.left).max() < 1e-9
    assert np.abs(watch.wrench("a2/end").left).max() < 1e-9
    again = (touch.wrench @ J) @ free_motions(mb, solver, q, free)
    assert np.allclose(again, watch.force, atol=1e-9)
    before = watch.force
    apart = q + np.array([0.0, 0.1, 0.0, 0.0, 0.0])
    with pytest.raises(LoopError, match=r"are open by .* at a reading: close them with sc.loops.TreeAugmented"):
        watch.update(apart, np.zeros(5), weight, 1e-3)
    assert (watch.force == before).all()
    with pytest.raises(StateError, match=r"gain must have shape \(2,\)"):
        MomentumObserver(rb, np.ones(5))


def test_the_wrench_is_at_the_frame_where_it_is_now():
    """An arm that was bent since the start: a force at the hand, told from the last reading."""
    rb = Robot(sc.load("panda"))
    q, wrench = np.array([0.1, 0.5, 0.2, -1.5, 0.3, 1.7, 0.4]), np.array([0.2, -0.1, 0.3, 5.0, -8.0, 10.0])
    watch = MomentumObserver(rb, 1e3, np.full(7, 0.3), np.zeros(7))
    motors = sc.dynamics.gravity_force(rb.mb, q) - sc.dynamics.jacobian(rb.mb, q, "link7").T @ wrench
    for _ in range(50):
        watch.update(q, np.zeros(7), motors, 1e-2)
    assert np.abs(watch.wrench("link7").wrench - wrench).max() < 1e-6
    assert np.abs(watch.wrench("link7", np.full(7, 0.3)).wrench - wrench).max() > 0.1


def test_bad_readings_change_nothing():
    watch = MomentumObserver(Robot(sc.load("panda")), 10.0)
    watch.update(np.zeros(7), np.zeros(7), np.ones(7), 0.1)
    before = watch.force
    for take, said in (
        (lambda: watch.reset(np.zeros((2, 7))), "begins at one state"),
        (lambda: watch.reset("a"), "q of 'panda'"),
        (lambda: watch.update(np.zeros(7), np.ones(7), np.zeros(7), 1e-320), "the estimate of the force is not finite"),
        (lambda: watch.wrench("link7", np.zeros((2, 7))), "found at one state"),
        (lambda: MomentumObserver(Robot(sc.load("panda")), [1.0, 2.0]), r"gain must have shape \(7,\)"),
    ):
        with pytest.raises(StateError, match=said):
            take()
    assert (watch.force == before).all()
    assert before.any()
