"""Motion in independent coordinates: the dependent ones follow by continuation, through singular poses too."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.loops.cases import FourBar, close, near, project, row_of_four_bars

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ConvergenceError, LoopError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding
from soacraft.model import serial_chain


def test_expand_gives_velocities_that_keep_the_loops_closed():
    bar = FourBar()
    mb = bar.build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    v = solver.expand(mb.q, [2.0])
    step = 1e-6
    rate = (bar.build(0.7 + step).q - bar.build(0.7 - step).q) / (2 * step)
    near(v, 2.0 * rate, 1e-8)


@pytest.mark.parametrize("turn", [0.01, 0.5, -1.5, 6.0])
def test_advance_follows_a_four_bar_however_far(turn):
    bar = FourBar()
    mb = bar.build(0.7)
    q = ConstraintEmbedding(mb, independent=["crank"]).advance(mb.q, [turn])
    wanted = bar.build(0.7 + turn).q
    near(np.exp(1j * q), np.exp(1j * wanted), 1e-11)
    assert q[0] == pytest.approx(0.7 + turn, abs=1e-14)


def test_advance_keeps_spatial_loops_closed():
    mb = serial_chain(6, [sc.Spherical(), sc.Pin((0, 1, 0)), sc.Universal((0, 1, 0), (0, 0, 1))] * 2)
    mb.set_state(*mb.random_state(8))
    close(mb, "ring", "link1", "link6", sc.Cylindrical((0, 0, 1)), 3)
    mb.v = project(mb, mb.v)
    solver = ConstraintEmbedding(mb)
    dofs = solver.independent(mb.q)
    q = mb.q
    for _ in range(5):
        q = solver.advance(q, dict.fromkeys(dofs, 0.05))
        assert np.abs(Constraints(mb, mb.state(q, np.zeros(mb.nv)), solver._theta).residual).max() < 1e-12


def test_complete_solves_for_the_dependent_dofs_only():
    bar = FourBar()
    mb = bar.build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    q = solver.complete([0.75, *mb.q[1:]])
    near(q, bar.build(0.75).q, 1e-12)


def test_what_cannot_be_reached_is_refused():
    """The rocker of a crank-rocker cannot turn round."""
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["rocker"])
    with pytest.raises((ConvergenceError, LoopError), match="four_bar"):
        solver.advance(mb.q, [3.0])
    with pytest.raises(ConvergenceError, match="cannot be found for these independent ones: loop 'ring' stays open by"):
        solver.complete([mb.q[0], mb.q[1], 0.0])


def test_arguments_are_checked():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    with pytest.raises(ValueError, match="dv_independent"):
        solver.advance(mb.q, [0.1, 0.2])
    with pytest.raises(ValueError, match="v_independent"):
        solver.expand(mb.q, [np.nan])


def test_a_rank_change_on_the_way_is_refused():
    mb = row_of_four_bars(1)
    solver = ConstraintEmbedding(mb, independent=["crank0"])
    solver.model(mb.state())
    with pytest.raises(LoopError) as error:
        solver.advance([0.0, 0.0, 0.0], [0.1])
    assert str(error.value) == (
        "the rank of 'loop0' of 'row' changes here, so its independent dofs do not set the others; step over this "
        "configuration, or choose again with s.independent(q)."
    )


@pytest.mark.parametrize("angle", [1e-2, 1e-5, 1e-8, np.pi - 1e-7])
def test_near_a_singular_pose_all_rows_are_kept(angle):
    """One parallelogram, collapsed but for an angle: 5/3 thetadd = -2 g cos(theta), with one dof and not two."""
    mb = row_of_four_bars(1)
    names = mb.dof_names
    q = np.array([angle if name.startswith("crank") else -angle for name in names])
    v = np.array([3.0 if name.startswith("crank") else -3.0 for name in names])
    found = ConstraintEmbedding(mb, independent=["crank0"]).forward_dynamics(q, v, np.zeros(3))
    assert found.rank == 2
    assert found.vdot_independent[0] == pytest.approx(-1.2 * 9.81 * np.cos(angle), rel=1e-6)


class Motion:
    """Motion in one independent coordinate, by a solver of ordinary differential equations."""

    def __init__(self, mb, dof):
        self.mb, self.solver = mb, ConstraintEmbedding(mb, independent=[dof])
        self.i, self.q = mb.dof_names.index(dof), mb.q

    def rates(self, t, y):
        self.q = self.solver.advance(self.q, [y[0] - self.q[self.i]])
        v = self.solver.expand(self.q, [y[1]])
        return [y[1], self.solver.forward_dynamics(self.q, v, np.zeros(self.mb.nv)).vdot[self.i]]

    def run(self, times, rtol):
        start = [self.q[self.i], self.mb.v[self.i]]
        return solve_ivp(self.rates, (0.0, times[-1]), start, "DOP853", times, rtol=rtol, atol=1e-2 * rtol).y


def test_two_four_bars_through_their_singular_poses():
    """The IFToMM benchmark A02: ten times past the pose where both parallelograms collapse, always on the branch."""
    mb = row_of_four_bars(2)
    motion = Motion(mb, "crank0")
    angle, _ = motion.run([5.0, 10.0], 1e-8)
    assert angle[-1] < -9.5 * np.pi
    tips = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert np.abs(tips - [[-0.8113104610, -0.5846155454], [0.3284581115, 0.9445185382]]).max() < 1e-6
    assert motion.solver.changes == []
    assert np.abs(Constraints(mb, mb.state(motion.q, mb.v)).residual).max() < 1e-11


def test_energy_is_kept():
    mb = FourBar().build(0.7)
    solver = ConstraintEmbedding(mb, independent=["crank"])
    mb.v = solver.expand(mb.q, [3.0])
    motion = Motion(mb, "crank")
    angle, rate = motion.run([0.25], 1e-8)
    q = solver.advance(mb.q, [angle[0] - mb.q[0]])

    def energy(q, v):
        return dyn.kinetic_energy(mb, q, v) + dyn.potential_energy(mb, q)

    near(energy(q, solver.expand(q, rate)), energy(mb.q, mb.v), 1e-7)
