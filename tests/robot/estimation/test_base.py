"""The base of a quadruped from an inertial unit and its legs, on motions whose readings have closed forms."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import expm

import soacraft as sc
from soacraft.errors import ModelError, SoacraftError, StaleError, StateError
from soacraft.robot import BaseEstimator, Robot, SensorNoise
from soacraft.robot.estimation.base import _integrals
from soacraft.spatial.rotations import exp, log, skew

LEGS = ("FR", "FL", "RR", "RL")
FEET = [f"{x}_calf/foot" for x in LEGS]
G = np.array([0.0, 0.0, -9.81])


@pytest.fixture(scope="module")
def swaying():
    """A robot whose trunk sways over feet that stand; at each time the true pose and velocity, and all readings."""
    mb = sc.load("a1")
    for leg in LEGS:
        mb[f"{leg}_calf"].add_node("foot", sc.Pose(translation=(0, 0, -0.2)))
    rb = Robot(mb)
    q = np.array(mb.q)
    for leg in LEGS:
        for name, angle in ((f"{leg}_thigh", 0.8), (f"{leg}_calf", -1.6)):
            q[mb.layout.hinge_q[mb.layout.index[mb[name]]]] = angle
    mb.set_state(q, np.zeros(mb.nv))
    where = {f: mb.pose(f).translation for f in FEET}
    p0 = mb.pose("trunk").translation
    limbs = [rb.limb(x, "trunk", f) for x, f in zip(LEGS, FEET, strict=True)]
    h, rows = 0.005, []
    near = [limb.q for limb in limbs]
    for k in range(241):
        t = k * h
        angle = 0.1 * np.array([np.sin(3 * t), np.sin(2 * t + 1) - np.sin(1), np.sin(t)])
        shift = np.array([0.03 * np.sin(4 * t), 0.02 * np.sin(3 * t), 0.02 * (np.cos(5 * t) - 1)])
        rate = np.array([0.12 * np.cos(4 * t), 0.06 * np.cos(3 * t), -0.1 * np.sin(5 * t)])
        rise = np.array([-0.48 * np.sin(4 * t), -0.18 * np.sin(3 * t), -0.5 * np.cos(5 * t)])
        X = sc.Pose(rotation=exp(angle), translation=p0 + shift)
        for i, (limb, foot) in enumerate(zip(limbs, FEET, strict=True)):
            r = limb.ik(sc.Pose(translation=X.inv @ where[foot]), near=near[i], free=("rx", "ry", "rz"))
            assert r.found
            near[i] = r.q
            q[limb.q_places] = r.q
        rows.append((X, rate, X.rotation.T @ (rise - G), q.copy()))
    turns = [log(a[0].rotation.T @ b[0].rotation) / h for a, b in pairwise(rows)]
    return rb, rows, turns, h


def run(swaying, estimator, gyro_bias=0.0, feet=FEET, steps=240, noise=None):
    """Drive an estimator through the motion; readings between times are the means over them."""
    _, rows, turns, h = swaying
    told = []
    for k in range(steps):
        X, u0, _, _ = rows[k]
        _, u1, _, q = rows[k + 1]
        w = turns[k]
        # the constant specific force that takes u0 to u1 while the unit turns at w
        a = np.linalg.solve(X.rotation @ _integrals(w * h)[0] * h, u1 - u0 - G * h)
        extra = np.zeros(3) if noise is None else noise.standard_normal(3) * 1e-2 / np.sqrt(h)
        estimator.predict(w + gyro_bias, a + extra, h)
        told.append(estimator.correct(q, feet))
    return rows[steps], told


def test_true_readings_and_a_true_start_stay_true(swaying):
    rb, rows, _, _ = swaying
    e = BaseEstimator(rb, "trunk", FEET, q=rows[0][3], v=start_velocity(rb, rows))
    (X, u, _, _), told = run(swaying, e, steps=120)
    assert np.abs(e.pose.translation - X.translation).max() < 2e-4
    assert np.abs(log(e.pose.rotation.T @ X.rotation)).max() < 2e-4
    assert np.abs(e.velocity - u).max() < 2e-3
    assert np.mean(told) < 1.0


def start_velocity(rb, rows):
    mb = rb.mb
    v = np.zeros(mb.nv)
    v[mb.layout.hinge_v[0]][3:] = 0
    v[:3] = rows[0][0].rotation.T @ np.zeros(3)
    v[3:6] = rows[0][0].rotation.T @ rows[0][1]
    return v


def test_a_wrong_velocity_and_tilt_are_mended_and_heading_stays_unknown(swaying):
    rb, rows, _, _ = swaying
    mb, q = rb.mb, rows[0][3].copy()
    wrong = exp([0.15, -0.1, 0.0]) @ rows[0][0].rotation
    q[:4] = sc.Pose(rotation=wrong).as_quaternion()
    v = np.zeros(mb.nv)
    v[3:6] = [0.5, -0.4, 0.3]
    e = BaseEstimator(rb, "trunk", FEET, q=q, v=v, covariance=[0.04] * 3 + [0.3] * 3 + [1e-12] * 3)
    before = e.covariance
    (X, u, _, _), _ = run(swaying, e)
    after = e.covariance
    up = log(e.pose.rotation @ X.rotation.T)
    assert np.abs(up[:2]).max() < 0.01  # the tilt is seen by gravity
    assert np.abs(e.velocity - u).max() < 0.02
    assert after[0, 0] < 0.01 * before[0, 0]
    assert after[2, 2] > 0.9 * before[2, 2]  # the heading is not


def test_a_bias_of_the_gyroscope_is_found(swaying):
    rb, rows, _, _ = swaying
    bias = np.array([0.02, -0.01, 0.015])
    e = BaseEstimator(rb, "trunk", FEET, q=rows[0][3], v=start_velocity(rb, rows), biases=[1e-3] * 3 + [1e-8] * 3)
    run(swaying, e, gyro_bias=bias)
    assert np.abs(e.biases[0][:2] - bias[:2]).max() < 0.003


def test_feet_come_and_go(swaying):
    rb, rows, _, _ = swaying
    e = BaseEstimator(rb, "trunk", FEET, q=rows[0][3], v=start_velocity(rb, rows))
    run(swaying, e, feet=FEET[:2], steps=50)
    assert e.standing == tuple(FEET[:2])
    e.correct(rows[50][3], FEET[1:])
    assert e.standing == tuple(FEET[1:])
    assert len(e._P) == 15 + 9
    assert np.linalg.eigvalsh(e._P)[0] > -1e-12
    e.correct(rows[50][3], [])
    assert e.standing == ()


def test_the_errors_go_as_their_rates_say():
    """A of the errors against the differences of two estimators: in the invariant error it holds for large ones too."""
    rb = Robot(sc.load("a1"))
    g, w, a, h = np.array(rb.mb.gravity), np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.2, 9.9]), 0.05
    one = BaseEstimator(rb, "trunk", ["FR_calf"])
    other = BaseEstimator(rb, "trunk", ["FR_calf"])
    xi = np.array([0.4, -0.3, 0.5, 0.2, 0.1, -0.3, 0.6, -0.2, 0.1, 0, 0, 0, 0, 0, 0])
    other._move(xi)
    A, _ = one._rates()
    assert np.allclose(A[3:6, :3], skew(g))
    one.predict(w, a, h)
    other.predict(w, a, h)
    turn = log(other.pose.rotation @ one.pose.rotation.T)
    first = _integrals(turn)[0]
    moved = [np.linalg.solve(first, x - exp(turn) @ y) for x, y in
             ((other.velocity, one.velocity), (other.pose.translation, one.pose.translation))]  # fmt: skip
    assert np.allclose(np.concatenate([turn, *moved]), (expm(A * h) @ xi)[:9], atol=1e-12)


@pytest.mark.parametrize("size", [1e-8, 1e-4, 9e-4, 1.1e-3, 0.5, 3.0])
def test_integrals_of_rotations(size):
    w = size * np.array([0.6, 0.0, -0.8])
    s, weight = np.polynomial.legendre.leggauss(12)
    s, weight = 0.5 * (s + 1), 0.5 * weight
    first = sum(c * exp(x * w) for x, c in zip(s, weight, strict=True))
    second = sum(c * (1 - x) * exp(x * w) for x, c in zip(s, weight, strict=True))
    got = _integrals(w)
    assert np.abs(got[0] - first).max() < 1e-13
    assert np.abs(got[1] - second).max() < (1e-9 if size > 1e-3 else 1e-14)


def test_the_state_of_the_robot_has_the_base_as_estimated(swaying):
    rb, rows, _, _ = swaying
    mb = rb.mb
    unit = mb["trunk"].add_node("unit", sc.Pose.from_rpy(0.2, -0.3, 0.1, (0.1, 0.02, 0.05)))
    try:
        q, v = rows[100][3].copy(), np.random.default_rng(0).standard_normal(mb.nv)
        X = rows[100][0]
        q[:7] = np.concatenate([X.as_quaternion(), X.translation])
        e = BaseEstimator(rb, unit, FEET, q=q, v=v)
        got_q, got_v = e.state(rows[100][3], np.concatenate([np.zeros(6), v[6:]]))
        assert np.abs(mb.difference(q, got_q)).max() < 1e-12
        assert np.abs(got_v - v).max() < 1e-12
    finally:
        mb["trunk"].remove_node(unit)


def test_what_is_wrong_is_refused():
    rb = Robot(sc.load("a1"))
    with pytest.raises(ModelError, match="is of a Robot"):
        BaseEstimator(rb.mb, "trunk", ["FR_calf"])
    with pytest.raises(ModelError, match="needs feet"):
        BaseEstimator(rb, "trunk", [])
    with pytest.raises(ModelError, match="is on the inertial frame, which has no inertial unit"):
        BaseEstimator(rb, rb.mb.root, ["FR_calf"])
    with pytest.raises(StateError, match="gyroscope of SensorNoise must be positive"):
        SensorNoise(gyroscope=0.0)
    e = BaseEstimator(rb, "trunk", ["FR_calf"])
    with pytest.raises(ModelError, match="'FL_calf' is no foot of this estimator"):
        e.correct(rb.mb.q, ["FL_calf"])
    with pytest.raises(StateError, match="dt must be positive"):
        e.predict(np.zeros(3), np.zeros(3), 0.0)
    rb.mb.add_body("rock", hinge=sc.Free(), inertia=sc.Inertia(1.0))
    with pytest.raises(ModelError, match="is not on the same base"):
        BaseEstimator(rb, "trunk", ["rock"])


def two_feet_on_one_leg():
    """A trunk, one leg of two pins, and two feet on it: fewer dofs than the six numbers they say."""
    mb = sc.Multibody("hopper")
    ball = sc.Inertia(1.0, (0, 0, 0), np.eye(3) * 0.01)
    mb.add_body("trunk", hinge=sc.Free(), inertia=ball)
    mb.add_body("thigh", "trunk", sc.Pin((0, 1, 0)), ball, inboard=sc.Pose(translation=(0.1, 0, -0.1)))
    mb.add_body("shank", "thigh", sc.Pin((1, 0, 0)), ball, inboard=sc.Pose(translation=(0, 0.05, -0.4)))
    for name, x in (("heel", -0.1), ("toe", 0.15)):
        mb["shank"].add_node(name, sc.Pose(translation=(x, 0, -0.3)))
    mb.set_state([*sc.Pose.from_rpy(0.1, 0.2, 0.3).as_quaternion(), 0, 0, 0.8, 0.4, -0.3], np.zeros(8))
    return Robot(mb)


def test_feet_on_one_leg_share_the_errors_of_its_encoders():
    """Against samples in which encoders misread and feet are put where they say."""
    rb, sigma = two_feet_on_one_leg(), 1e-3
    mb, feet = rb.mb, ["shank/heel", "shank/toe"]
    e = BaseEstimator(rb, "trunk", feet, noise=SensorNoise(encoder=sigma), covariance=[1e-12] * 9)
    rng, found = np.random.default_rng(0), []
    R, q = e.pose.rotation, np.array(mb.q)
    for _ in range(1000):
        read = q.copy()
        read[7:] += sigma * rng.standard_normal(2)
        here = mb.state(read)
        h = [R @ (mb.pose(f, "trunk", state=here).translation - mb.pose(f, "trunk").translation) for f in feet]
        found.append(np.concatenate(h))
    samples = np.cov(np.array(found).T)
    e.correct(q, feet)
    P = e._P[9:15, 9:15]
    assert np.abs(P - samples).max() < 0.1 * np.abs(samples).max()
    assert np.abs(samples[:3, 3:]).max() > 0.3 * np.abs(samples).max()  # what the two share is not small
    before = e._P
    e.correct(q, feet)  # the reading of four directions that no encoder moves says nothing, and fails in nothing
    assert np.linalg.eigvalsh(e._P)[0] > -1e-15
    assert np.trace(e._P[9:15, 9:15]) < 0.6 * np.trace(before[9:15, 9:15])


def test_a_foot_that_comes_while_another_is_read_shares_the_errors_of_that_reading():
    """The joint covariance of state, heel and encoders after one reading, against the conditional one by hand."""
    rb = two_feet_on_one_leg()
    mb, sigma = rb.mb, 2e-3
    e = BaseEstimator(rb, "trunk", ["shank/heel", "shank/toe"], noise=SensorNoise(encoder=sigma), biases=[1e-12] * 6)
    e.correct(mb.q, ["shank/heel"])
    e.predict([0, 0, 0], e.pose.rotation.T @ -np.array(mb.gravity), 0.05)
    P, R = e._P.copy(), e.pose.rotation
    feet = ["shank/heel", "shank/toe"]
    Jh, Jt = (R @ sc.dynamics.jacobian(mb, mb.q, f, "trunk", relative_to="trunk")[3:] for f in feet)
    e.correct(mb.q, feet)
    n, size = mb.nv, len(P)
    joint = np.zeros((size + n, size + n))
    joint[:size, :size], joint[size:, size:] = P, sigma**2 * np.eye(n)
    H = np.zeros((3, size + n))  # z = xi_p - xi_d + R J e
    H[:, 6:9], H[:, 9:12], H[:, size:] = np.eye(3), -np.eye(3), Jh
    after = joint - joint @ H.T @ np.linalg.solve(H @ joint @ H.T, H @ joint)
    M = np.zeros((size + 3, size + n))
    M[:12, :12], M[15:, 12:size] = np.eye(12), np.eye(6)
    M[12:15, 6:9], M[12:15, size:] = np.eye(3), Jt
    assert np.abs(e._P - M @ after @ M.T).max() < 1e-9 * np.abs(P).max()


def test_a_foot_named_twice_stands_once():
    rb = two_feet_on_one_leg()
    made = [BaseEstimator(rb, "trunk", "shank/heel") for _ in range(2)]
    for e, names in zip(made, ("shank/heel", ["shank/heel", "shank/heel"]), strict=True):
        for _ in range(3):
            e.predict([0, 0, 0.1], [0, 0, 9.8], 0.01)
            e.correct(rb.mb.q, names)
    assert np.allclose(made[0].covariance, made[1].covariance, rtol=1e-12, atol=0)
    assert (made[0].covariance == made[0].covariance.T).all()


def test_the_angular_velocity_is_the_last_reading_less_the_bias_as_it_is_known_now():
    rb = Robot(sc.load("a1"))
    e = BaseEstimator(rb, "trunk", ["FR_calf", "FL_calf", "RR_calf"], biases=[1e-2] * 3 + [1e-8] * 3)
    for _ in range(20):
        e.predict([0.2, -0.1, 0.0], [0, 0, 9.81], 0.02)
        e.correct(rb.mb.q, ["FR_calf", "FL_calf", "RR_calf"])
    bias = e.biases[0]
    assert np.abs(bias).max() > 0.01
    assert np.allclose(e.state(rb.mb.q, rb.mb.v)[1][:3], np.array([0.2, -0.1, 0.0]) - bias, atol=1e-12)


@pytest.mark.parametrize(
    ("take", "said"),
    [
        (lambda e, mb: e.correct(np.tile(mb.q, (2, 1)), ["FR_calf"]), "one state after the other, got a batch"),
        (lambda e, mb: e.correct(mb.q, None), "standing of a BaseEstimator of 'a1' are frames or their names"),
        (lambda e, mb: e.correct(mb.q, np.array(1.0)), r"standing of a BaseEstimator of 'a1' .*, got array\(1\.\)"),
        (lambda e, mb: e.correct(mb.q, np.array("FR_calf")), "standing of a BaseEstimator of 'a1' are frames or their"),
        (lambda e, mb: e.correct("a", ["FR_calf"]), "q of 'a1'"),
        (lambda e, mb: e.correct(mb.q, ["nobody"]), "has no frame 'nobody'"),
        (lambda e, mb: e.predict([1e200] * 3, [0, 0, 9.8], 0.1), "the turn of the unit in this step is not finite"),
        (lambda e, mb: e.predict([0] * 3, [1e308] * 3, 10.0), "not finite"),
        (lambda e, mb: e.predict("a", [0, 0, 9.8], 0.1), "gyroscope must be real numbers"),
        (lambda e, mb: e.predict([0, 0, 0], None, 0.1), "accelerometer must be real numbers"),
        (lambda e, mb: e.state(np.tile(mb.q, (2, 1)), mb.v), "got a batch"),
        (lambda e, mb: e.correct(np.where(np.arange(len(mb.q)) > 6, np.nan, mb.q), ["FR_calf"]), "must be finite"),
    ],
)
def test_a_refused_reading_changes_nothing(take, said):
    rb = Robot(sc.load("a1"))
    e = BaseEstimator(rb, "trunk", ["FR_calf", "FL_calf"])
    e.correct(rb.mb.q, ["FR_calf", "FL_calf"])
    before = e.standing, e.pose, e.velocity.tolist(), e._P.copy(), e._w.tolist()
    with pytest.raises(SoacraftError, match=said):
        take(e, rb.mb)
    assert (e.standing, e.velocity.tolist(), e._w.tolist()) == (before[0], before[2], before[4])
    assert e.pose == before[1]
    assert np.array_equal(e._P, before[3])


@pytest.mark.parametrize("feet", [None, 5, np.array(1.0), np.array("FR_calf"), np.array(None)], ids=repr)
def test_feet_that_are_no_list_are_refused(feet):
    with pytest.raises(ModelError, match="feet of a BaseEstimator of 'a1' are frames or their names, got"):
        BaseEstimator(Robot(sc.load("a1")), "trunk", feet)


def test_an_estimator_of_a_robot_that_changed_is_stale():
    rb = Robot(sc.load("a1"))
    with pytest.raises(StateError, match=r"noise of a BaseEstimator is a SensorNoise\(...\), got 3"):
        BaseEstimator(rb, "trunk", ["FR_calf"], noise=3)
    with pytest.raises(ModelError, match="feet of a BaseEstimator of 'a1' are frames or their names, got None"):
        BaseEstimator(rb, "trunk", None)
    e = BaseEstimator(rb, "trunk", ["FR_calf"])
    rb.mb.add_body("mast", "trunk", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    for take in (lambda: e.correct(rb.mb.q, ["FR_calf"]), lambda: e.predict([0] * 3, [0] * 3, 0.1),
                 lambda: e.state(rb.mb.q, rb.mb.v)):  # fmt: skip
        with pytest.raises(StaleError, match="make another BaseEstimator"):
            take()


def error_between(other, one):
    """xi of other = exp(xi) one, biases too."""
    turn = log(other._R @ one._R.T)
    first = _integrals(turn)[0]
    rest = [np.linalg.solve(first, x - exp(turn) @ y) for x, y in
            ((other._u, one._u), (other._p, one._p), *((other._d[k], one._d[k]) for k in one._d))]  # fmt: skip
    biases = [x - y for x, y in zip(other.biases, one.biases, strict=True)]
    return np.concatenate([turn, *rest, *biases])


def test_the_covariance_of_a_step_is_that_of_its_differences():
    """Every direction of the state and every noise, by moving it: P1 = F P0 F* + what the readings' noise adds."""
    rb, h, tiny = two_feet_on_one_leg(), 1e-4, 1e-6
    noise = SensorNoise(gyroscope=0.3, accelerometer=0.5, gyroscope_bias=0.2, accelerometer_bias=0.4, foot=0.7)
    v = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7, 0.0, 0.0])
    w, a = np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.2, 9.9])

    def start():
        e = BaseEstimator(rb, "trunk", ["shank/heel", "shank/toe"], noise=noise, v=v, biases=[0.1] * 6)
        e.correct(rb.mb.q, ["shank/heel", "shank/toe"])
        return e

    def after(move=None, gyro=0.0, force=0.0):
        e = start()
        if move is not None:
            e._move(move)
        e.predict(w + gyro, a + force, h)
        return e

    one = after()
    size = len(one._P)
    F = np.array([error_between(after(move=tiny * x), one) / tiny for x in np.eye(size)]).T
    expected = F @ start()._P @ F.T
    for x in np.eye(3):
        for column, sigma in ((error_between(after(gyro=tiny * x), one), 0.3),
                              (error_between(after(force=tiny * x), one), 0.5)):  # fmt: skip
            expected += sigma**2 / h * np.outer(column, column) / tiny**2
    expected += h * np.diag([0.0] * 9 + [0.7**2] * 6 + [0.2**2] * 3 + [0.4**2] * 3)
    gained, wanted = one._P - start()._P, expected - start()._P
    sizes = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)).clip(min=0))
    assert np.abs(gained - wanted).max() < 1e-3 * np.abs(wanted).max()
    moved = np.diag(wanted) > 0
    assert (np.abs(np.diag(gained) - np.diag(wanted))[moved] < 5e-3 * np.sqrt(np.diag(sizes**2))[moved]).all()


def test_the_covariance_that_is_given_comes_back_though_the_base_moves():
    rb = two_feet_on_one_leg()
    given = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    v = np.array([0.3, -0.2, 0.5, 1.0, -2.0, 0.7, 0.0, 0.0])
    e = BaseEstimator(rb, "trunk", "shank/heel", v=v, covariance=given)
    assert np.abs(e.covariance - np.diag(given)).max() < 1e-12
    assert np.abs(e._P[3:6, :3]).max() > 0.1  # the invariant errors are tied


def test_a_bias_of_the_accelerometer_along_gravity_is_found():
    rb = Robot(sc.load("a1"))
    feet = ["FR_calf", "FL_calf", "RR_calf", "RL_calf"]
    known = [1e-8] * 3 + [1e-4] * 3 + [1e-8] * 3
    e = BaseEstimator(rb, "trunk", feet, covariance=known, biases=[1e-10] * 3 + [1.0] * 3)
    for _ in range(150):
        e.predict([0, 0, 0], -np.array(rb.mb.gravity) + [0, 0, 0.3], 0.01)
        e.correct(rb.mb.q, feet)
    assert abs(e.biases[1][2] - 0.3) < 0.03
    assert np.abs(e.velocity).max() < 0.02
