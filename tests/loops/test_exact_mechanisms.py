"""Mechanisms whose answers are known in closed form: Peaucellier's cell, Bennett's linkage, a slider-crank.

A Stewart platform is in `examples/09_stewart_platform.py`, compared with its inverse kinematics; the reactions of the
slider-crank are in `test_hinge_forces.py`.
"""

import runpy
from pathlib import Path

import numpy as np
import pytest
from tests.loops.cases import close, near
from tests.loops.slider_crank import SliderCrank

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented

SOLVERS = [TreeAugmented, FullyAugmented, ConstraintEmbedding]
MADE = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "11_exact_linkages.py"))
R, LONG, SHORT = 0.4, 1.0, 0.4
ALPHA, BETA = 0.7, 1.2
RATIO = np.sin((BETA + ALPHA) / 2) / np.sin((BETA - ALPHA) / 2)


def cell(phi):
    """Coordinates of Peaucellier's cell by plain geometry: P is the inverse of B, |OB| |OP| = L^2 - s^2."""
    B = R * np.array([1 + np.cos(phi), np.sin(phi)])
    d = np.linalg.norm(B)
    u, n = B / d, np.array([-B[1], B[0]]) / d
    t = (d**2 + LONG**2 - SHORT**2) / (2 * d)
    h = np.sqrt(LONG**2 - t**2)
    A, C, P = t * u + h * n, t * u - h * n, (2 * t - d) * u

    def angle(x):
        return np.arctan2(x[1], x[0])

    q = {
        "crank": phi, "ba": angle(A - B) - phi, "bc": angle(C - B) - phi, "long_a": angle(A), "long_c": angle(C),
        "pa": angle(P - A) - angle(A - B), "pc": angle(P - C) - angle(C),
    }  # fmt: skip
    return q, P


def test_peaucellier_moves_its_point_on_a_straight_line():
    mb = MADE["peaucellier"]()
    s = ConstraintEmbedding(mb, independent=["crank"])
    line = (LONG**2 - SHORT**2) / (2 * R)
    named, _ = cell(-1.2)
    q = s.assemble(named, ["crank"])
    assert TreeAugmented(mb).forward_dynamics(q, np.zeros(7), np.zeros(7)).rank == 6  # of 15 rows
    for phi in np.linspace(-1.0, 1.2, 12):
        q = s.advance(q, [phi - q[mb.q_slice("crank")][0]])
        found = np.asarray(mb.pose("pa/end", state=mb.state(q=q)).translation)
        np.testing.assert_allclose(found, [*cell(phi)[1], 0.0], rtol=0, atol=1e-11)
        assert abs(found[0] - line) <= 1e-12
        v = s.expand(q, [1.0])
        vdot = s.forward_dynamics(q, v, np.ones(7)).vdot
        assert abs(dyn.velocities(mb, q, v)["pa/end"][3]) <= 1e-12
        assert abs(dyn.accelerations(mb, q, v, vdot)["pa/end"][3]) <= 1e-9 * max(1.0, np.abs(vdot).max())


@pytest.mark.parametrize("kind", SOLVERS)
def test_bennett_is_over_constrained_and_moves(kind):
    """One freedom where Gruebler counts 3 - 5 = -2: three of the five rows repeat others, and are named."""
    mb = MADE["bennett"](1.0, ALPHA, BETA)
    two = 2 * np.arctan(RATIO / np.tan(0.4))
    s = kind(mb)
    q = s.assemble({"one": 0.8, "two": two, "three": -0.8}, ["one"])
    near(q, np.array([0.8, two, -0.8]), 1e-12)
    r = s.forward_dynamics(q, np.zeros(3), np.zeros(3))
    assert (r.rank, len(r.redundant), len(r.independent)) == (2, 3, 1)
    assert all(name.startswith("ring: ") for name in r.redundant)
    rate = -RATIO / (np.tan(0.4) ** 2 + RATIO**2) / np.cos(0.4) ** 2  # d two / d one of tan(one/2) tan(two/2) = RATIO
    v = s.project_velocity(q, [1.0, rate, -1.0])
    near(v, np.array([1.0, rate, -1.0]), 1e-12)


def test_bennett_goes_around_on_its_curve():
    mb = MADE["bennett"](1.0, ALPHA, BETA)
    s = ConstraintEmbedding(mb, independent=["one"])
    q = s.assemble({"one": 0.8, "two": 2 * np.arctan(RATIO / np.tan(0.4)), "three": -0.8}, ["one"])
    for _ in range(10):
        q = s.advance(q, [0.2])
        assert abs(np.tan(q[0] / 2) * np.tan(q[1] / 2) / RATIO - 1) < 1e-10
        assert abs(q[2] + q[0]) < 1e-11


def test_four_pins_that_are_not_bennetts_do_not_move():
    mb = MADE["bennett"](1.0, ALPHA, BETA)
    mb.remove_loop("ring")
    mb["two"].inboard = sc.Pose(mb["two"].inboard.rotation, (1.1, 0.0, 0.0))
    mb.q = [0.8, 1.9, -0.7]
    close(mb, "ring", "inertial/ground", "three", sc.Pin((0, 0, 1)))
    assert sc.loops.report(mb).mobility == 0
    assert TreeAugmented(mb).forward_dynamics(mb.q, np.zeros(3), np.ones(3)).rank == 3


@pytest.mark.parametrize("kind", SOLVERS)
def test_a_slider_crank_moves_as_by_hand(kind):
    crank = SliderCrank()
    s = kind(crank.build())
    for theta in (0.0, 1.3, 2.6, 4.0, 5.9):
        q, v = crank.state(theta, 25.0)
        near(s.assemble(q + np.array([0.0, 0.02, -0.005]), ["crank"]), q, 1e-9)
        near(s.project_velocity(q, v), v, 1e-12)
        vdot = s.forward_dynamics(q, v, [3.0, 0, 0]).vdot
        alpha = crank.acceleration(theta, 25.0, 3.0)
        (_, p1, p2), (_, x1, x2) = crank.motion(theta)
        near(vdot, np.array([alpha, p1 * alpha + p2 * 625 - alpha, x1 * alpha + x2 * 625]))
