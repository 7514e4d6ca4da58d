"""The IFToMM benchmark A02, two four-bars, on the augmented solvers: every state is projected onto the closures.

Its parallelograms move as one pendulum, 3 thetadd = -3.5 g cos(theta): three cranks of 1/3 kg m2 about their pivots and
two couplers of 1 kg that do not turn. At theta = 0 and pi they collapse, the closures lose rank, and another branch
(cranks that turn against each other) crosses the one they are on.
"""

import numpy as np
import pytest
from scipy.integrate import DOP853, solve_ivp
from tests.loops.cases import Z, close, rod, row_of_four_bars
from tests.loops.cases import project as project_plainly

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.loops import ConstraintEmbedding, FullyAugmented, TreeAugmented
from soacraft.loops.position import project
from soacraft.model import serial_chain
from soacraft.model.states.kinematics import pose_of_frame

SOLVERS = (TreeAugmented, FullyAugmented, ConstraintEmbedding)


def step(rates, y, h):
    """One step of order 8."""
    slopes = []
    for weights in DOP853.A[: DOP853.n_stages]:
        slopes.append(rates(y + h * sum((a * k for a, k in zip(weights, slopes, strict=False)), np.zeros_like(y))))
    return y + h * (DOP853.B @ np.array(slopes))


class Projected:
    """Motion of a closed chain whose hinges have qdot = v: every stage and every step is projected."""

    def __init__(self, solver):
        self.solver, self.mb = solver, solver.graph
        self.y = np.concatenate([self.mb.q, self.mb.v])
        self.opened = self.drift = 0.0
        """How far the frames of a closure were apart at the end of a step, before and after the projection."""

    def projected(self, y):
        return np.concatenate(project(self.solver, y[: self.mb.nv], y[self.mb.nv :]))

    def rates(self, y):
        q, v = np.split(self.projected(y), 2)
        return np.concatenate([v, self.solver.forward_dynamics(q, v, np.zeros(self.mb.nv)).vdot])

    def run(self, time, steps):
        for _ in range(steps):
            y = step(self.rates, self.y, time / steps)
            self.y = self.projected(y)
            self.opened = max(self.opened, apart(self.mb, y))
            self.drift = max(self.drift, apart(self.mb, self.y))
        return self.y


def apart(mb, y):
    """The largest distance of the two frames of a pin that closes a loop, in metres."""
    state = mb.state(y[: mb.nv], y[mb.nv :])
    ends = [(pose_of_frame(state, x.a)[1], pose_of_frame(state, x.b)[1]) for x in mb.loops]
    return max(float(np.linalg.norm(b - a)) for a, b in ends)


def pendulum(theta, rate, time):
    """Angle and rate of the cranks after some time, by the equation of motion in one coordinate."""

    def rates(t, y):
        return [y[1], -3.5 / 3.0 * 9.81 * np.cos(y[0])]

    return solve_ivp(rates, (0.0, time), [theta, rate], "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]


def test_two_four_bars_by_the_tree_augmented_solver():
    """Ten seconds, ten times past the singular poses, to the printed digits; what stays open is rounding."""
    motion = Projected(TreeAugmented(row_of_four_bars(2)))
    for tip in ((-0.8113104610, -0.5846155454), (0.3284581115, 0.9445185382)):
        cranks = motion.run(5.0, 60)[:3]
        assert np.abs(np.cos(cranks) - tip[0]).max() < 2e-7
        assert np.abs(np.sin(cranks) - tip[1]).max() < 2e-7
        assert motion.drift < 1e-13
    assert cranks[0] < -9.5 * np.pi


def rods():
    """The same five rods each on three coordinates in the plane, all seven pins as closures, 5 rows each."""
    mb = sc.Multibody("rods", gravity=(0, -9.81, 0))
    tip, plane = sc.Pose(translation=(1, 0, 0)), sc.Planar()
    for i in range(3):
        mb.add_body(f"crank{i}", None, plane, rod(1.0, 1.0)).add_node("tip", tip)
        mb.root.add_node(f"pivot{i}", sc.Pose(translation=(i, 0, 0)))
        mb.close_loop(f"pin{i}", f"inertial/pivot{i}", f"crank{i}", sc.Pin(Z))
    for i in range(2):
        mb.add_body(f"coupler{i}", None, plane, rod(1.0, 1.0)).add_node("tip", tip)
        mb.close_loop(f"left{i}", f"crank{i}/tip", f"coupler{i}", sc.Pin(Z))
        mb.close_loop(f"right{i}", f"crank{i + 1}/tip", f"coupler{i}/tip", sc.Pin(Z))
    cranks, couplers = [[i, 0, np.pi / 2] for i in range(3)], [[i, 1, 0] for i in range(2)]
    mb.set_state(np.ravel(cranks + couplers), [0, 0, -1] * 3 + [1, 0, 0] * 2)
    return mb


def test_rods_in_the_plane_drift_and_are_put_back():
    """Here the integrator opens the pins at every step, unlike above, where angles stay equal but for rounding."""
    motion = Projected(TreeAugmented(rods()))
    cranks = np.reshape(motion.run(0.8, 8), (2, 5, 3))[:, :3, 2]
    wanted = pendulum(np.pi / 2, -1.0, 0.8)
    assert wanted[0] < -0.2
    assert np.abs(cranks - wanted[:, None]).max() < 1e-7
    assert motion.opened > 1e-9
    assert motion.drift < 1e-14


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("angle", [0.0, -1e-7, 1e-6])
def test_a_motion_that_starts_in_the_singular_pose(kind, angle):
    """In the pose itself no solver can know the acceleration across the branch; the projection takes it away again."""
    mb = row_of_four_bars(2)
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    mb.set_state(angle * signs, -4.9 * signs)
    wanted = pendulum(angle, -4.9, 0.06)
    y = Projected(kind(mb)).run(0.06, 2)
    assert np.abs(y - np.outer(wanted, signs).ravel()).max() < 1e-9


# -- energy -------------------------------------------------------------------------------------------------------


def spatial_loop():
    """Three bodies with five dofs, the last one held by a ball joint to the ground."""
    hinges = [sc.Universal((1, 0, 0), (0, 1, 0)), sc.Pin((0, 0.6, 0.8)), sc.Universal((0, 1, 0), (0, 0, 1))]
    mb = serial_chain(3, hinges)
    mb.set_state(*mb.random_state(5))
    close(mb, "ball", "inertial", "link3", sc.Spherical(), 2)
    mb.v = project_plainly(mb, mb.v)
    return mb


@pytest.mark.parametrize("kind", SOLVERS)
@pytest.mark.parametrize("make", [lambda: row_of_four_bars(2), spatial_loop], ids=["four-bars", "spatial"])
def test_energy_is_kept_without_projection(kind, make):
    """Stages of the integrator are off the closures by the square of what they step, so the solver must take that."""
    mb = make()
    solver = kind(mb, tolerance=1e-4)

    def rates(y):
        q, v = np.split(y, 2)
        return np.concatenate([v, solver.forward_dynamics(q, v, np.zeros(mb.nv)).vdot])

    def energies(y):
        q, v = np.split(y, 2)
        return dyn.kinetic_energy(mb, q, v), dyn.potential_energy(mb, q)

    y = np.concatenate([mb.q, mb.v])
    before = energies(y)
    for _ in range(10):
        y = step(rates, y, 0.02)
    after = energies(y)
    assert abs(after[0] - before[0]) > 0.1 * before[0]
    assert sum(after) == pytest.approx(sum(before), abs=1e-9 * after[0])
    assert apart(mb, y) < 1e-9
