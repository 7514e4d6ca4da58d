"""Rows of a run up to where its energy is no longer a number."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.system import Mechanism

#: m v^2 of the pendulum of 1 kg at 1 m overflows beyond this.
LARGEST = np.sqrt(np.finfo(float).max)


def recorded(speeds: list[float]) -> tuple[Recorder, str]:
    """A recorder of states at 0, 1, 2, ... s with these speeds, and what it says of them."""
    m = Mechanism(RunProblem.of(sc.load("pendulum")))
    recorder = Recorder(m, "verlet")
    for t, v in enumerate(speeds):
        recorder.row(float(t), m.point(np.array([0.1 * t]), np.array([v])), np.zeros(m.manifold.size))
    with pytest.raises(SimulationError) as wrong:
        recorder.flush()
    return recorder, str(wrong.value)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_rows_before_the_first_without_an_energy_are_kept():
    """The first of two such rows counts, though a row between them is good."""
    recorder, text = recorded([1.0, 2.0, 3.0, 2.0 * LARGEST, 4.0, 3.0 * LARGEST])
    assert text.startswith("the energy at t = 3 s is not known: ")
    t, x = recorder.last
    assert (t, x[0], x[1]) == (2.0, 0.2, 3.0)
    run = recorder.run()
    assert run.t.tolist() == [0.0, 1.0, 2.0]
    np.testing.assert_allclose(run.kinetic, [0.5, 2.0, 4.5], rtol=1e-14)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_the_signals_of_rows_that_are_kept_are_their_own():
    """v = a t with a = 1e153 rad/s^2: m v^2 overflows between 13 and 14 s, and the signal a t is at its row."""
    s = sim.System("s", integrator="rk4", step=1.0)
    mb = sc.load("pendulum")
    mb.gravity = (0, 0, 0)
    arm = s.add("arm", sim.Plant(mb))
    s.add("push", sim.Constant(value=1e153))
    s.add("drive", sim.Force(), at=arm.dof("bob"))
    s.add("meter", sim.Gain(gain=2.0))
    s.connect("push.y", "drive.command")
    s.connect("arm.v[bob]", "meter.u")
    with pytest.raises(SimulationError, match=r"the energy at t = 14 s is not known") as wrong:
        s.run(50.0)
    run = wrong.value.run
    assert run.t.tolist() == list(range(14))
    np.testing.assert_allclose(run.signals["meter.y"], 2e153 * np.arange(14), rtol=1e-12)
