"""Logs: what is read back is what was run, also after the process was killed."""

import subprocess
import sys
import textwrap

import h5py
import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelFileError, StateError


def bouncing(integrator="rk4", step=0.01):
    mb = sc.Multibody("ball", gravity=(0, 0, -9.81))
    mb.add_body("ball", None, sc.Prismatic((0, 0, 1)), sc.Inertia(1.0, (0, 0, 0), np.eye(3)))
    mb.set_state([1.0], [0.0])
    p = sc.sim.Propagator(mb, integrator=integrator, step=step)

    def bounce(t, state):
        mb.v = -0.5 * mb.v

    p.event("touch", lambda t, state: state.q[0], direction=-1, action=bounce)
    p.control("ball", 0.1)
    return p


def test_a_log_reads_back(tmp_path):
    file = tmp_path / "run.h5"
    run = bouncing().advance_to(1.0, log=file)
    back = sc.sim.read(file)
    for name in ("t", "q", "v", "vdot", "energy", "kinetic", "potential", "violation"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    np.testing.assert_array_equal(back.work["ball"], run.work["ball"])
    np.testing.assert_array_equal(back.forces["ball"], run.forces["ball"])
    assert [(x.t, x.name) for x in back.events] == [(x.t, x.name) for x in run.events]
    assert len(back.events) == 2
    assert back.check().imbalance == run.check().imbalance
    assert back.integrator == "rk4"
    with pytest.raises(StateError, match="a run read from a file has its rows alone"):
        back.at(0.5)


def test_a_log_has_the_names_of_dofs(tmp_path):
    """Names and units of coordinates and dofs come back, so that charts name them and other models are refused; a log
    of before has none."""
    mb = sc.load("top")
    run = sc.sim.Propagator(mb, integrator="rk4", step=0.01).advance_to(0.02, log=tmp_path / "run.h5")
    back = sc.sim.read(tmp_path / "run.h5")
    assert back.labels == run.labels
    assert back.labels.q[0] == "top.q0"
    assert "top.0" in sc.view.plot(back, "velocities").panels[0].lines
    other = sc.Multibody("other")
    other.add_body("gyro", None, mb.bodies[0].hinge, sc.Inertia(1.0, moment=np.eye(3)))
    with pytest.raises(StateError, match=r"the run is of another model: where it has the coordinate 'top.q0'"):
        sc.view.scene(other, back)
    with h5py.File(tmp_path / "run.h5", "a") as file:
        for name in back.labels._fields:
            del file[f"label_{name}"]
    assert sc.sim.read(tmp_path / "run.h5").labels is None


def test_a_stopped_run_says_so_in_its_log(tmp_path):
    p = bouncing()
    p.event("low", lambda t, state: state.q[0] - 0.5, stop=True)
    p.advance_to(1.0, log=tmp_path / "run.h5")
    assert sc.sim.read(tmp_path / "run.h5").stopped_by == "low"


def test_a_killed_process_leaves_a_log_to_its_last_flush(tmp_path):
    """It is killed by itself, in the middle of a run, without any chance to close the file."""
    file = tmp_path / "run.h5"
    program = f"""
        import os, signal, soacraft as sc
        mb = sc.load("pendulum")
        mb.q = [1.0]
        p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
        p.every(0.5, lambda t, state: os.kill(os.getpid(), signal.SIGKILL) if t >= 1.0 else None)
        p.advance_to(2.0, log={str(file)!r})
    """
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=False)
    assert ended.returncode == -9
    run = sc.sim.read(file)
    assert run.t[-1] == 1.0
    assert len(run) == 101
    assert np.ptp(run.energy) < 1e-5


def test_what_is_no_log_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="there is no log"):
        sc.sim.read(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(ModelFileError, match=r"text.h5' cannot be read"):
        sc.sim.read(tmp_path / "text.h5")
    with pytest.raises(ModelFileError, match=r"the log .* cannot be written"):
        bouncing().advance_to(0.1, log=tmp_path / "no" / "such.h5")


def test_without_h5py_the_cure_is_told(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(StateError, match=r"h5py is not installed: pip install 'soacraft\[sim\]', or leave out log="):
        bouncing().advance_to(0.1, log=tmp_path / "run.h5")
