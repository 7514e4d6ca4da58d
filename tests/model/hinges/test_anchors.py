"""What each hinge does, in closed form: the conventions that laws cannot see."""

import numpy as np
import pytest

from soacraft.model.hinges import (
    Cylindrical,
    Free,
    Gimbal,
    Helical,
    Pin,
    Planar,
    Prismatic,
    Screws,
    Spherical,
    Universal,
    Weld,
)
from soacraft.spatial import Pose, exp, from_axis_angle

QUARTER = np.pi / 2
TURN_Z = np.array([0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)])     # 90 degrees about z, [x, y, z, w]


def close(a, b):
    np.testing.assert_allclose(a, b, atol=1e-14)


def test_weld():
    assert Weld().pose(np.zeros(0)) == Pose()
    assert Weld().pose(np.zeros((4, 0))).batch_shape == (4,)


def test_pin_turns_by_the_right_hand():
    close(Pin((0, 0, 5)).pose([QUARTER]) @ (1, 0, 0), (0, 1, 0))
    close(Pin((0, 0, 5)).H_T([0.3])[:, 0], (0, 0, 1, 0, 0, 0))
    close(Pin((1, 2, 3)).pose([0.7]).rotation, from_axis_angle((1, 2, 3), 0.7))


def test_prismatic_slides():
    close(Prismatic((0, 3, 4)).pose([2.0]).translation, (0, 1.2, 1.6))
    close(Prismatic((0, 3, 4)).H_T([2.0])[:, 0], (0, 0, 0, 0, 0.6, 0.8))


def test_helical_pitch_is_metres_per_radian():
    hinge = Helical((0, 0, 2), pitch=0.25)
    close(hinge.pose([2 * np.pi]).translation, (0, 0, 0.5 * np.pi))
    close(hinge.pose([2 * np.pi]).rotation, np.eye(3))
    close(hinge.H_T([1.0])[:, 0], (0, 0, 1, 0, 0, 0.25))


def test_cylindrical_is_angle_then_travel():
    hinge = Cylindrical((1, 0, 0))
    close(hinge.pose([QUARTER, 0.5]) @ (0, 1, 0), (0.5, 0, 1))
    close(hinge.H_T([0.2, 0.3]), np.array([[1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0]]).T)
    assert hinge.constant_H


def test_universal_is_two_pins_in_order():
    hinge, q = Universal((1, 0, 0), (0, 1, 0)), [0.3, 0.7]
    close(hinge.pose(q).rotation, exp([0.3, 0, 0]) @ exp([0, 0.7, 0]))
    close(hinge.H_T(q)[:3], np.array([[np.cos(0.7), 0, np.sin(0.7)], [0, 1, 0]]).T)


def test_gimbal_is_three_pins_in_order():
    """Yaw, pitch, roll about carried axes z, y, x are roll, pitch, yaw about fixed axes."""
    hinge, q = Gimbal(axes=[(0, 0, 1), (0, 1, 0), (1, 0, 0)]), [0.3, 0.2, 0.1]
    close(hinge.pose(q).rotation, Pose.from_rpy(0.1, 0.2, 0.3).rotation)
    s, c = np.sin, np.cos                                       # body rates of the yaw rate: (-sp, sr cp, cr cp)
    close(hinge.H_T(q)[:3, 0], (-s(0.2), s(0.1) * c(0.2), c(0.1) * c(0.2)))
    close(Gimbal().pose(q).rotation, exp([0.3, 0, 0]) @ exp([0, 0.2, 0]) @ exp([0, 0, 0.1]))


def test_planar_slides_inboard_x_then_y_then_turns_z():
    hinge = Planar()
    close(hinge.pose([1, 2, QUARTER]) @ (1, 0, 0), (1, 3, 0))
    close(hinge.H_T([1, 2, QUARTER])[:, 0], (0, 0, 0, 0, -1, 0))     # inboard x is outboard -y
    close(hinge.H_T([1, 2, QUARTER])[:, 1], (0, 0, 0, 1, 0, 0))
    close(hinge.H_T([1, 2, QUARTER])[:, 2], (0, 0, 1, 0, 0, 0))
    close(hinge.bias([0, 0, 0], [1, 0, 2]), (0, 0, 0, 0, -2, 0))     # v fixed in inboard axes turns away: -w x v


def test_spherical_quaternion_order_and_axes():
    hinge = Spherical()
    close(hinge.pose(TURN_Z) @ (1, 0, 0), (0, 1, 0))
    q = hinge.integrate(TURN_Z, [QUARTER, 0, 0])                # about its own x, which is the inboard y
    close(hinge.pose(q).rotation, exp([0, QUARTER, 0]) @ exp([0, 0, QUARTER]))
    close(hinge.difference(hinge.neutral(), TURN_Z), (0, 0, QUARTER))


def test_free_velocity_is_in_outboard_axes():
    """Turned by 90 degrees about z, its own x is the inboard y."""
    hinge, q = Free(), np.concatenate([TURN_Z, [5, 6, 7]])
    close(hinge.qdot(q, [0, 0, 0, 1, 0, 0]), (0, 0, 0, 0, 0, 1, 0))
    close(hinge.integrate(q, [0, 0, 0, 1, 0, 0]), [*TURN_Z, 5, 7, 7])
    close(hinge.pose(q) @ (1, 0, 0), (5, 7, 7))
    close(hinge.difference(q, [*TURN_Z, 5, 7, 7]), (0, 0, 0, 1, 0, 0))


def test_free_integrates_along_a_circle():
    """Driving forwards while turning left by half a turn: a half circle of radius v / omega."""
    q = Free().integrate(Free().neutral(), [0, 0, np.pi, 1, 0, 0])
    close(q, (0, 0, 1, 0, 0, 2 / np.pi, 0))


def test_integrate_is_the_limit_of_many_small_steps():
    rng = np.random.default_rng(0)
    for hinge in (Spherical(), Free()):
        q, dv = hinge.random(rng), rng.standard_normal(hinge.nv)
        close(hinge.integrate(q, dv), runge_kutta(hinge, q, dv, steps=400))


def runge_kutta(hinge, q, v, steps):
    """The rates qdot(q, v) for constant v, integrated for unit time."""
    h = 1 / steps
    for _ in range(steps):
        k1 = hinge.qdot(q, v)
        k2 = hinge.qdot(q + 0.5 * h * k1, v)
        k3 = hinge.qdot(q + 0.5 * h * k2, v)
        k4 = hinge.qdot(q + h * k3, v)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q


def test_screws_are_the_other_hinges():
    x, y, z = np.eye(3)
    pairs = [
        (Pin(x + y), Screws([Pin(x + y)])),
        (Helical(z, 0.3), Screws([(0, 0, 1, 0, 0, 0.3)])),
        (Cylindrical(y), Screws([Pin(y), Prismatic(y)])),
        (Universal(x, y), Screws([Pin(x), (0, 1, 0, 0, 0, 0)])),
        (Planar(), Screws([Prismatic(x), Prismatic(y), Pin(z)])),
    ]
    rng = np.random.default_rng(1)
    for hinge, screws in pairs:
        q, v = rng.standard_normal((2, hinge.nv))
        assert hinge.pose(q).is_close(screws.pose(q), 1e-15)
        close(hinge.H_T(q), screws.H_T(q))
        close(hinge.bias(q, v), screws.bias(q, v))


def test_screw_about_a_distant_axis():
    """[axis; r x axis] turns about the line through r: r stays where it is."""
    r = np.array([1.0, 2.0, 0.0])
    hinge = Screws([(0, 0, 2, *np.cross(r, (0, 0, 2)))])        # not normalised: q = 1 is two radians
    close(hinge.pose([0.9]) @ r, r)
    close(hinge.pose([0.9]).rotation, exp([0, 0, 1.8]))


def test_screw_with_a_tiny_turn_is_nearly_a_slide():
    hinge = Screws([(0, 0, 1e-12, 1, 0, 0)])
    close(hinge.pose([2.0]).translation, (2, 2e-12, 0))


def test_cylindrical_is_pin_times_prismatic_in_any_batch():
    q = np.random.default_rng(2).standard_normal((5, 2))
    a = (1.0, -2.0, 0.5)
    assert Cylindrical(a).pose(q).is_close(Pin(a).pose(q[:, :1]) @ Prismatic(a).pose(q[:, 1:]), 1e-15)


def test_random_stays_away_from_singular_configurations():
    rng = np.random.default_rng(3)
    for hinge in (Gimbal(), Gimbal([(0, 0, 1), (0, 1, 0), (0, 0, 1)])):
        smallest = min(np.linalg.svd(hinge.H_T(hinge.random(rng)), compute_uv=False)[-1] for _ in range(100))
        assert smallest > 0.1


@pytest.mark.parametrize("angle", [1e-9, 1.0, 100.0, 1e6])
def test_pin_is_exact_for_any_angle(angle):
    R = Pin((0, 0, 1)).pose([angle]).rotation
    close(R, [[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    assert R[1, 0] == np.sin(angle)
