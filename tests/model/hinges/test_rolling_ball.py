"""The rolling ball: closed forms of rolling without slipping (slides 001; G18)."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges import RollingBall, difference_of
from soacraft.spatial import exp, quaternion_exp, quaternion_to_matrix, skew

BALL = RollingBall(radius=0.3, normal=(0.2, -0.3, 0.9))


def close(a, b, tolerance=1e-14):
    np.testing.assert_allclose(a, b, atol=tolerance)


def test_tangents_are_right_handed():
    close(RollingBall(1.0).tangents, [[1, 0, 0], [0, 1, 0]])
    for normal in [(0, 0, -1), (1, 0, 0), (0, 1, 0), (-1, 0.1, 0), (0.2, -0.3, 0.9)]:
        ball = RollingBall(1.0, normal)
        t1, t2 = ball.tangents
        close(np.cross(t1, t2), ball.normal)
        close([t1 @ t1, t2 @ t2], 1.0)


@pytest.mark.parametrize("ball", [RollingBall(0.5), BALL], ids=str)
def test_omega_along_t2_rolls_along_t1(ball):
    """At radius times omega; the ball is not turned yet, so ball axes are inboard axes."""
    t1, t2 = ball.tangents
    close(ball.qdot(ball.neutral(), 4.0 * t2)[4:], (4.0 * ball.radius, 0))
    close(ball.qdot(ball.neutral(), 4.0 * t1)[4:], (0, -4.0 * ball.radius))
    close(ball.qdot(ball.neutral(), 4.0 * ball.normal)[4:], (0, 0))          # spinning on the spot


def test_the_centre_is_a_radius_above_the_contact_point():
    q = [*quaternion_exp([0.1, 0.2, 0.3]), 0.7, -0.4]
    t1, t2 = BALL.tangents
    close(BALL.pose(q).translation, 0.7 * t1 - 0.4 * t2 + 0.3 * BALL.normal)
    close(BALL.pose(q).rotation, exp([0.1, 0.2, 0.3]))


def test_the_contact_point_of_the_ball_is_at_rest():
    rng = np.random.default_rng(0)
    q, v = BALL.random(rng), rng.standard_normal(3)
    lever = -0.3 * BALL.pose(q).rotation.T @ BALL.normal        # centre to contact, ball axes
    V = BALL.H_T(q) @ v
    close(V[3:] + np.cross(V[:3], lever), 0.0)
    close(BALL.H_T(q), np.vstack([np.eye(3), skew(lever)]))


def test_dH_as_printed():
    q = BALL.random(np.random.default_rng(1))
    lever = -0.3 * BALL.pose(q).rotation.T @ BALL.normal
    for j, e in enumerate(np.eye(3)):
        close(BALL.dH(q)[j], np.vstack([np.zeros((3, 3)), skew(-np.cross(e, lever))]))


def test_one_turn_travels_one_circumference():
    ball = RollingBall(0.5)
    q = ball.integrate(ball.neutral(), [0, 2 * np.pi, 0])
    close(q, (0, 0, 0, -1, np.pi, 0))
    close(quaternion_to_matrix(q[:4]), np.eye(3))


@pytest.mark.parametrize("seed", range(5))
def test_a_finite_arc_against_many_small_steps(seed):
    """integrate is exact: it equals the rates qdot followed in small steps (Runge-Kutta of order four)."""
    rng = np.random.default_rng(seed)
    q, v = BALL.random(rng), rng.uniform(-3, 3, 3)
    x, steps = q, 400
    h = 1 / steps
    for _ in range(steps):
        k1 = BALL.qdot(x, v)
        k2 = BALL.qdot(x + 0.5 * h * k1, v)
        k3 = BALL.qdot(x + 0.5 * h * k2, v)
        k4 = BALL.qdot(x + h * k3, v)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    close(BALL.integrate(q, v), x, 1e-10)


def test_a_closed_path_turns_the_ball():
    """Nonholonomic: round a square the contact point returns, the attitude does not."""
    ball = RollingBall(1.0)
    q = ball.neutral()
    for direction in [(0, 1, 0), (-1, 0, 0), (0, -1, 0), (1, 0, 0)]:        # +x, +y, -x, -y, a quarter turn each
        R = ball.pose(q).rotation
        q = ball.integrate(q, R.T @ direction * np.pi / 2)
    close(q[4:], 0.0)
    about = [exp(np.array(w) * np.pi / 2) for w in [(0, 1, 0), (-1, 0, 0), (0, -1, 0), (1, 0, 0)]]
    close(ball.pose(q).rotation, about[3] @ about[2] @ about[1] @ about[0])
    assert np.abs(ball.pose(q).rotation - np.eye(3)).max() > 0.5


def test_rolling_straight_has_no_acceleration_of_the_centre():
    """bias + omega x v = 0 for a ball rolling about an axis in the plane: crm of the motion undoes Hdot v."""
    ball = RollingBall(0.5)
    v = np.array([0.0, 3.0, 0.0])
    V = ball.H_T(ball.neutral()) @ v
    close(ball.bias(ball.neutral(), v)[3:] + np.cross(V[:3], V[3:]), 0.0)


def test_difference_refuses_with_the_reason():
    text = (r"RollingBall\(radius=0.5, normal=\(0, 0, 1\)\) has no difference\(q0, q1\): it is nonholonomic \(rolls "
            r"without slipping\), so where the ball ends depends on its path")
    ball = RollingBall(0.5)
    for call in (ball.difference, lambda a, b: difference_of(ball, a, b)):
        with pytest.raises(StateError, match=text):
            call(ball.neutral(), ball.neutral())
    assert not ball.holonomic


@pytest.mark.parametrize(("arguments", "text"), [
    ((0.0,), "radius of a RollingBall must be positive, got 0"),
    ((-1.0,), "radius of a RollingBall must be positive, got -1"),
    ((np.nan,), "radius of a RollingBall must be finite, got nan"),
    ((1.0, (0, 0, 0)), r"normal of a RollingBall must not be zero, got \(0, 0, 0\)"),
])
def test_refusals(arguments, text):
    with pytest.raises(ModelError, match=text):
        RollingBall(*arguments)
