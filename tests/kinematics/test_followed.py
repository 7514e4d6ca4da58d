"""Coordinates of closures' hinges, followed from those before: turns past a half, both signs of a quaternion."""

import numpy as np
import pytest
from tests.loops.cases import Z

import soacraft as sc
from soacraft.kinematics.compiled import rows_of
from soacraft.kinematics.rows import Constraints, loop_rows
from soacraft.loops import TreeAugmented
from soacraft.model.hinges.base import pose_of
from soacraft.model.states.hinge_fit import nearest_coordinates
from soacraft.spatial.rotations import exp

UNIT = sc.Inertia(1.0, (0.1, 0, 0), np.eye(3))


def wheel(hinge, tree=None):
    mb = sc.Multibody("wheel")
    mb.add_body("wheel", None, tree or sc.Pin(Z), UNIT)
    mb.close_loop("axle", "inertial", "wheel", hinge)
    return mb


def both(mb, state, theta):
    """Coordinates by compiled rows, and by the Python rows that they stand for."""
    assert rows_of(mb) is not None
    compiled = Constraints(mb, state, theta)
    assert compiled.arrays is not None
    slow = loop_rows(mb, state, mb.loops["axle"], compiled.measure.loops["axle"], theta.get("axle"))
    assert compiled.opening < 1e-12
    assert slow.opening < 1e-12
    return compiled.theta, slow.theta


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize(("hinge", "scale"), [(sc.Pin(Z), 1.0), (sc.Screws([[0, 0, 2.0, 0, 0, 0]]), 2.0)])
def test_turns_of_a_pin_are_counted_past_a_half(hinge, scale, direction):
    mb, theta = wheel(hinge), {}
    for angle in direction * np.arange(0.0, 20.0, 0.9):
        theta, slow = both(mb, mb.state(q=[angle]), theta)
        assert theta["axle"] == pytest.approx([angle / scale], abs=1e-12)
        assert slow == pytest.approx([angle / scale], abs=1e-12)


def test_a_solver_follows_turns_from_call_to_call():
    """Also where compiled code answers between: the next turn is the nearest one."""
    mb = wheel(sc.Pin(Z))
    s = TreeAugmented(mb)
    for angle in np.arange(0.0, 10.0, 1.5):
        s.forward_dynamics([angle], [1.0], [0.0])
        s.project_velocity([angle], [1.0])
        assert s._theta["axle"] == pytest.approx([angle], abs=1e-12)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, -0.8, 0)])
def test_a_quaternion_stays_on_its_branch(axis):
    """Through two turns cos(angle/2) changes sign twice; the canonical quaternion would jump at every half turn."""
    mb, theta = wheel(sc.Spherical(), sc.Pin(axis)), {}
    for angle in np.arange(0.0, 4.0 * np.pi, 0.35):
        theta, slow = both(mb, mb.state(q=[angle]), theta)
        wanted = [*(np.sin(angle / 2) * np.array(axis)), np.cos(angle / 2)]
        assert theta["axle"] == pytest.approx(wanted, abs=1e-12)
        assert slow == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(6))
def test_quaternions_near_a_half_turn(seed, sign):
    """About each axis in turn: there the trace is negative and the largest entry is found from the diagonal."""
    rng = np.random.default_rng(seed)
    axis = np.eye(3)[seed % 3] + 0.1 * rng.standard_normal(3)
    w = (np.pi - 0.05 * (seed // 3)) * axis / np.linalg.norm(axis)
    half = 0.5 * np.linalg.norm(w)
    quaternion = sign * np.array([*(np.sin(half) * w / (2 * half)), np.cos(half)])
    mb = wheel(sc.Spherical(), sc.Spherical())
    state = mb.state(q=quaternion)
    np.testing.assert_allclose(state.configuration.world[0][0], exp(w), atol=1e-12)
    theta, slow = both(mb, state, {"axle": quaternion})
    assert theta["axle"] == pytest.approx(quaternion, abs=1e-12)
    assert slow == pytest.approx(quaternion, abs=1e-12)


@pytest.mark.parametrize(
    "hinge", [sc.Weld(), sc.Pin((0.3, -0.5, 0.8)), sc.Cylindrical((0.5, 0.1, 0.9)), sc.Gimbal()],
    ids=lambda hinge: type(hinge).__name__,
)  # fmt: skip
def test_an_open_closure_is_measured_as_in_python(hinge):
    """By turns and slides at once, of the size of the model: the twist that would close it, relative to the nearest
    coordinates.
    """
    rng = np.random.default_rng(3)
    mb = wheel(hinge, sc.Free())
    coordinates = hinge.random(rng)
    off = sc.Pose(exp(0.2 * rng.standard_normal(3)), 0.2 * rng.standard_normal(3))
    state = mb.state(nearest_coordinates(sc.Free(), pose_of(hinge, coordinates) @ off), np.zeros(6))
    found = Constraints(mb, state, {"axle": coordinates})
    assert found.arrays is not None
    wanted = loop_rows(mb, state, mb.loops["axle"], found.measure.loops["axle"], coordinates)
    np.testing.assert_allclose(found.theta["axle"], wanted.theta, atol=1e-9)
    np.testing.assert_allclose(found.arrays.gap[0], wanted.gap, atol=1e-9)
