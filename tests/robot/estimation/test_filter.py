"""The state filter: equal to Kalman's on a linear system, consistent on an arm, exact where nothing is uncertain."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import LoopError, ModelError, SoacraftError, StaleError, StateError
from soacraft.robot import Robot, StateFilter
from soacraft.spatial.rotations import exp


def test_on_a_mass_it_is_kalmans_filter():
    """A free mass with positions measured: the matrices of a textbook, by hand."""
    mb = sc.Multibody("mass")
    mb.gravity = (0, 0, 0)
    mb.add_body("m", hinge=sc.Prismatic((1, 0, 0)), inertia=sc.Inertia(2.0))
    h, Q, R = 0.1, np.diag([0.0, 0.3]), 0.04
    f = StateFilter(Robot(mb), [1.0], [0.5], covariance=[1.0, 2.0])
    x, P, F = np.array([1.0, 0.5]), np.diag([1.0, 2.0]), np.array([[1.0, h], [0.0, 1.0]])
    for z in (1.2, 0.9, 1.4, 1.1):
        f.predict([4.0], h, noise=[0.0, 0.3])
        told = f.measure_dofs([z], 0.2)
        x, P = F @ x + np.array([0.5 * h**2, h]) * 2.0, F @ P @ F.T + Q * h
        S = P[0, 0] + R
        K = P[:, 0] / S
        innovation = z - x[0]
        x, P = x + K * innovation, P - np.outer(K, P[0])
        assert abs(told.distance - innovation**2 / S) < 1e-12
        assert np.allclose([f.q[0], f.v[0]], x, atol=1e-12)
        assert np.allclose(f.covariance, P, atol=1e-12)


def test_an_arm_and_a_free_body_are_tracked_within_what_is_claimed():
    """Seeds of noise: the error in standard deviations is as large as there are numbers, on average."""
    mb = sc.Multibody("thrown")
    mb.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0, (0, 0, 0), np.diag([0.1, 0.2, 0.25])))
    rb = Robot(mb)
    rng, h, scores = np.random.default_rng(5), 0.02, []
    P0 = np.repeat([1e-2, 1e-2, 1e-1, 1e-1], 3) ** 2
    true = rb.predict([0, 0, 0, 1, 0, 0, 1.0], [1.0, 0.5, -0.7, 0.3, 0, 2.0], horizon=6 * h, step=h)
    poses = [mb.pose("a", state=mb.state(q)) for q in true.q]
    for _ in range(20):
        q, v = true.q[0], true.v[0]
        d = rng.standard_normal(12) * np.sqrt(P0)
        f = StateFilter(rb, mb.integrate(q, d[:6]), v + d[6:], covariance=P0)
        for X in poses[1:]:
            f.predict(np.zeros(6), h)
            R, p = exp(0.01 * rng.standard_normal(3)) @ X.rotation, X.translation + 0.02 * rng.standard_normal(3)
            f.measure_pose("a", sc.Pose(rotation=R, translation=p), [0.01, 0.02])
            assert (f.covariance == f.covariance.T).all()
        e = np.concatenate([mb.difference(f.q, true.q[-1]), true.v[-1] - f.v])
        scores.append(e @ np.linalg.solve(f.covariance, e))
    assert 8.0 < np.mean(scores) < 17.0  # chi-square of 12, mean of 20: 12 +- 1.1
    assert np.abs(e).max() < 0.3


# -- closed chains -----------------------------------------------------------------------------------------------------


def geared(J1, J2):
    """Two wheels with moments J1 and J2; the second turns twice as fast."""
    mb = sc.Multibody("geared", gravity=(0, 0, 0))
    for name, J, x in (("one", J1, 0.0), ("two", J2, 1.0)):
        inertia = sc.Inertia(1.0, (0, 0, 0), J * np.eye(3))
        mb.add_body(name, None, sc.Pin((0, 0, 1)), inertia, inboard=sc.Pose(translation=(x, 0, 0)))
    mb.couple("gear", {"two": 1.0, "one": -2.0})
    return Robot(mb)


def test_on_two_geared_wheels_it_is_kalmans_filter_of_one():
    """J = J1 + 4 J2 along the first wheel. What is known of both is known of one, twice: 1/P = 1/a + 4/b. Pushes of
    the wheels w1 and w2 turn it by (J1 w1 + 2 J2 w2) / J."""
    J1, J2, h, R, tie = 2.0, 3.0, 0.1, 0.04, np.array([1.0, 2.0])
    J, Q = J1 + 4 * J2, np.diag([0.0, 0.3])
    f = StateFilter(geared(J1, J2), [0.5, 1.0], [0.1, 0.2], covariance=[1.0, 2.0, 3.0, 4.0])
    x, P = np.array([0.5, 0.1]), np.diag([1 / (1 / 1.0 + 4 / 2.0), 1 / (1 / 3.0 + 4 / 4.0)])
    F, noise = np.array([[1.0, h], [0.0, 1.0]]), [0.0, 0.0, 0.2, 0.5]
    Q[1, 1] = (J1**2 * 0.2 + 4 * J2**2 * 0.5) / J**2
    for z in (0.9, 1.2, 1.1):
        f.predict([1.0, 3.0], h, noise=noise)
        told = f.measure_dofs([z], 0.2, "two")
        x, P = F @ x + np.array([0.5 * h**2, h]) * (1.0 + 2 * 3.0) / J, F @ P @ F.T + Q * h
        S, H = 4.0 * P[0, 0] + R, np.array([2.0, 0.0])
        innovation, K = z - 2.0 * x[0], P @ H / S
        x, P = x + K * innovation, P - np.outer(K, H @ P)
        assert abs(told.distance - innovation**2 / S) < 1e-10
        assert np.allclose([*f.q, *f.v], np.kron(x, tie), atol=1e-10)
        assert np.allclose(f.covariance, np.kron(P, np.outer(tie, tie)), atol=1e-10)


def test_a_linkage_is_tracked_within_what_is_claimed():
    """A five-bar linkage, two of its six angles measured: it stays on its closures, and the error along its three
    independent dofs in standard deviations is as large as there are numbers, on average."""
    rb = Robot(sc.load("five_bar"))
    mb, s = rb.mb, sc.loops.TreeAugmented(rb.mb)
    q = s.assemble(mb.q)
    v, h, rng = s.project_velocity(q, [0.5, -0.4, 0.3, 0.2, 0.1, 0.0]), 0.002, np.random.default_rng(1)
    true = rb.predict(q, v, horizon=3 * h, step=h)
    motors = [mb.dof_names.index(x) for x in ("mot1", "mot2")]
    free = [mb.dof_names.index(x) for x in s.independent(q)]
    free += [6 + i for i in free]
    begins = StateFilter(rb, q, v, covariance=np.repeat([0.02, 0.1], 6) ** 2).covariance
    values, vectors = np.linalg.eigh(begins)
    scores = []
    for _ in range(8):
        d = vectors @ (np.sqrt(np.maximum(values, 0.0)) * rng.standard_normal(12))
        f = StateFilter(rb, *s.project(mb.integrate(q, d[:6]), v + d[6:]), covariance=np.repeat([0.02, 0.1], 6) ** 2)
        for at in true.q[1:]:
            f.predict(np.zeros(6), h)
            f.measure_dofs(at[motors] + 0.01 * rng.standard_normal(2), 0.01, ["mot1", "mot2"])
        G = s.constraint_matrix(f.q)
        assert np.abs(G @ f.covariance[:6]).max() < 1e-12
        assert np.abs(G @ f.v).max() < 1e-9
        assert np.linalg.matrix_rank(f.covariance, 1e-12) == 6
        e = np.concatenate([mb.difference(f.q, true.q[-1]), true.v[-1] - f.v])[free]
        scores.append(e @ np.linalg.solve(f.covariance[np.ix_(free, free)], e))
    assert 3.0 < np.mean(scores) < 10.0  # chi-square of 6, mean of 8: 6 +- 1.2
    assert np.allclose(StateFilter(rb, q, v, covariance=begins).covariance, begins, atol=1e-15)  # all known already


def test_what_is_off_its_closures_or_rolls_is_refused():
    rb = geared(1.0, 1.0)
    with pytest.raises(LoopError, match=r"coupling 'gear' .* Close it first: s = sc.loops.TreeAugmented\(rb.mb\)"):
        StateFilter(rb, [0.5, 0.0])
    f = StateFilter(rb, covariance=1.0)
    with pytest.raises(StateError, match="has no noise in a direction that is known exactly"):
        f.measure_dofs([0.1, 0.2], 0.0)
    rolling = sc.Multibody("rolling")
    rolling.add_body("ball", None, sc.Free(), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    rolling.close_loop("floor", "inertial", "ball", sc.RollingBall(0.5))
    with pytest.raises(ModelError, match=r"closures of 'rolling' roll, .* filter a part of it without them"):
        StateFilter(Robot(rolling), sc.loops.TreeAugmented(rolling).assemble(rolling.q))


def test_what_is_wrong_is_refused():
    rb = Robot(sc.load("panda"))
    f = StateFilter(rb, covariance=0.0)
    with pytest.raises(StateError, match="has no noise in a direction that is known exactly"):
        f.measure_dofs(np.zeros(7), 0.0)
    with pytest.raises(ModelError, match="has no dof 'joint9'"):
        f.measure_dofs([0.0], 0.1, "joint9")
    with pytest.raises(StateError, match=r"one Pose\(...\)"):
        f.measure_pose("link7", 3, [0.1, 0.1])
    with pytest.raises(ModelError, match="is of a Robot"):
        StateFilter(rb.mb)
    free = sc.Multibody()
    free.add_body("a", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    with pytest.raises(ModelError, match="coordinates are a quaternion: measure its pose"):
        StateFilter(Robot(free)).measure_dofs(np.zeros(6), 0.1)


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda f: f.correct("a", None, None), "residual must be real numbers"),
        (lambda f: f.correct([0.0], np.zeros((1, 14)), "a"), "noise must be real numbers"),
        (lambda f: f.correct([0.0], np.zeros((1, 14)), None), "noise must be real numbers"),
        (lambda f: f.correct([1e300], np.ones((1, 14)) * 1e-200, 1e-300), "not finite|must be finite"),
        (lambda f: f.measure_dofs(np.zeros(7), [1.0, 2.0]), r"deviation must have shape \(7,\)"),
        (lambda f: f.measure_dofs(np.zeros(7), -1.0), "deviation must not be negative"),
        (lambda f: f.measure_dofs(np.zeros(7), 1.0, 3), "dofs are names"),
        (lambda f: f.measure_dofs([0.0], 1.0, [["a"]]), "has no dof"),
        (lambda f: f.measure_dofs(np.full(7, 1e300), 1.0), "the distance of the reading is not finite"),
        (lambda f: f.measure_dofs(np.zeros(7), 1.0, rates=np.zeros(7)), "rates of measure_dofs must be True or False"),
        (lambda f: f.measure_dofs(np.zeros(7), 1.0, rates="no"), "rates of measure_dofs .* got 'no'"),
        (lambda f: f.measure_pose("link7", sc.Pose(), "a"), "deviation must be real numbers"),
        (lambda f: f.predict(np.zeros((2, 7)), 0.1), "force of one state"),
        (lambda f: f.predict(np.zeros(7), 0.01, noise=-1.0 * np.ones(14)), "noise must not be negative"),
    ],
)
def test_a_refused_reading_changes_nothing(take, said):
    f = StateFilter(Robot(sc.load("panda")), covariance=0.1)
    before = f.q, f.v, f.covariance
    with pytest.raises(SoacraftError, match=said), np.errstate(all="ignore"):
        take(f)
    assert all((a == b).all() for a, b in zip(before, (f.q, f.v, f.covariance), strict=True))


def test_noise_beyond_all_numbers_tells_nothing():
    """Without a warning: half of twice the largest number is a number."""
    f = StateFilter(Robot(sc.load("pendulum")), covariance=0.1)
    f.correct([0.5], [[1.0, 0.0]], 1e308)
    assert abs(f.q[0]) < 1e-300


def test_rates_are_measured_in_the_velocities():
    mb = sc.load("panda")
    f = StateFilter(Robot(mb), covariance=1.0)
    f.measure_dofs([0.3], 1e-3, "joint2", rates=True)
    assert abs(f.v[1] - 0.3) < 1e-5
    np.testing.assert_array_equal(f.q, mb.q)
    assert np.abs(np.diag(f.covariance) - np.where(np.arange(14) == 8, 1e-6, 1.0)).max() < 1e-9


def test_a_filter_of_a_robot_that_changed_is_stale():
    rb = Robot(sc.load("panda"))
    f = StateFilter(rb)
    with pytest.raises(StateError, match="covariance must be real numbers"):
        StateFilter(rb, covariance=None)
    with pytest.raises(StateError, match="begins at one state"):
        StateFilter(rb, np.zeros((2, 7)))
    rb.mb.add_body("wheel", "link7", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    for take in (lambda: f.predict(np.zeros(8), 0.1), lambda: f.measure_dofs(np.zeros(8), 0.1),
                 lambda: f.measure_pose("link7", sc.Pose(), [0.1, 0.1])):  # fmt: skip
        with pytest.raises(StaleError, match="make another StateFilter"):
            take()
