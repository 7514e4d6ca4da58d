"""Checkpoints of systems: restored elsewhere they go on with the same bits; what is not as it was is refused."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.sim.restarts import CASES, Ball, arm, arrays, descent

import soacraft as sc
from soacraft import sim
from soacraft.errors import CheckpointError, SimulationError, StateError
from soacraft.sim.systems import checkpoint as module


def kill(case: str, kills: int, seed: int) -> int:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        given = [sys.executable, "-m", "tests.sim.restarts", case, str(kills), str(seed), folder]
        ended = subprocess.run(given, cwd=Path(__file__).parents[3], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stdout)


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_is_killed_and_restored_has_the_log_of_an_undisturbed_one(case):
    """Twenty kills in all, at random times; byte for byte."""
    assert kill(case, 20 // len(CASES), 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_run_that_is_killed_a_thousand_times(case):
    assert kill(case, -(-1000 // len(CASES)), 5) > 500 // len(CASES)


def test_a_run_with_phases_that_was_killed_behind_its_last_checkpoint_is_not_logged_again(tmp_path):
    """The same call again goes to the same time: the log and the checkpoint are left as they are. A later time is
    another segment, as of a second run."""
    log, keep = tmp_path / "run.h5", tmp_path / "keep.h5"
    how = {"log": log, "checkpoint": keep, "checkpoint_every": 0.05}
    s = descent()
    s.run(0.6, **how)
    whole, state = arrays(log), sim.restore(keep).board.moved().state()
    for _ in range(2):
        other = sim.restore(keep)
        run = other.run(0.6, **how)
        assert run.t.tolist() == [0.6]
        assert run.events == []
        assert arrays(log) == whole
        assert sim.restore(keep).board.moved().state() == state
    one, again = s.run(0.8), sim.restore(keep).run(0.8, **how)
    assert one.q.tobytes() == again.q.tobytes()
    further = arrays(log)
    assert {name: x for name, x in further.items() if name in whole} == whole
    assert sim.read(log).t.tolist() == again.t.tolist()


def two_arms() -> sim.System:
    """Two plants, a frame that a signal moves, parameters that were changed, an offset and a start later than zero."""
    s = sim.System("two", integrator="rk4", step=1e-3, t=0.25, seed=3)
    for name in ("left", "right"):
        mb = sc.load("double_pendulum")
        mb.set_state([0.3, -0.2], [0.1, 0.0])
        plant = s.add(name, sim.Plant(mb))
        s.add(f"{name}/drive", sim.Force(), at=plant.dof(mb.dof_names[0]))
        s.add(f"{name}/hold", sim.SampleHold(), rate=7, offset=0.01)
        s.add(f"{name}/wave", sim.Sine(frequency=3.0, unit="N m"))
        s.add(f"{name}/lag", sim.LowPass(time_constant=0.1))
        s.add(f"{name}/delay", sim.UnitDelay(), every=0.05)
        s.connect(f"{name}/wave.y", f"{name}/*.u")
        s.connect(f"{name}/hold.y", f"{name}/drive.command")
    s.add_frame("seen", "left:" + sc.load("double_pendulum").bodies[0].name, sc.Pose(translation=(0.1, 0.2, 0.3)))
    s.add("far", sim.Gain(gain=2.0, size=3))
    s.connect(f"seen.position[right:{sc.load('double_pendulum').bodies[1].name}]", "far.u")
    return s


def test_everything_is_restored(tmp_path):
    s = two_arms()
    s.run(0.6)
    s.params["left/wave.amplitude"] = 2.5
    s.states["right/lag.x"], s.states["left/delay.x"] = 0.125, -0.5
    s._plants["right"].mb.set_state([0.5, 0.5], [0.0, 0.0])
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert other.t == s.t == 0.6
    assert other.params["left/wave.amplitude"] == 2.5
    assert dict(other.states) == dict(s.states)
    assert sorted(other.diagram.wires) == sorted(s.diagram.wires)
    assert other._plants["right"].mb.q.tolist() == [0.5, 0.5]
    assert str(other.tree()) == str(s.tree())
    a, b = s.run(1.0), other.run(1.0)
    assert a.q.tobytes() == b.q.tobytes()
    assert a.signals._rows.tobytes() == b.signals._rows.tobytes()
    assert {x: y.tobytes() for x, y in a.work.items()} == {x: y.tobytes() for x, y in b.work.items()}


@pytest.mark.parametrize("integrator", ["rk4", "dop853", "radau", "gauss4", "cvode"])
def test_every_integrator_goes_on_with_the_same_bits(tmp_path, integrator):
    """Also the system that wrote the checkpoint: a multistep method begins anew in both."""
    step = 2e-3 if integrator in ("rk4", "gauss4") else None
    s = arm(integrator, step)
    s.run(0.07)
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5", classes=[Ball])
    a, b = s.run(0.12), other.run(0.12)
    assert len(a) > 10
    assert a.q.tobytes() == b.q.tobytes()
    assert a.signals._rows.tobytes() == b.signals._rows.tobytes()


def test_a_checkpoint_before_the_first_run_is_the_start(tmp_path):
    s = arm()
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5", classes=[Ball])
    assert s.run(0.1).signals._rows.tobytes() == other.run(0.1).signals._rows.tobytes()
    last, whole = s.run(0.2), arm().run(0.2)
    assert last.q.tobytes() == whole.q[-len(last) :].tobytes()


def test_fixed_steps_are_not_disturbed_by_checkpoints(tmp_path):
    """Not even where they are due between two steps."""
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s._plants["arm"].mb.q = [0.5, 0.0]
    plain = s.run(0.2)
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s._plants["arm"].mb.q = [0.5, 0.0]
    kept = s.run(0.2, checkpoint=tmp_path / "a.h5", checkpoint_every=0.0173)
    assert kept.t.tobytes() == plain.t.tobytes()
    assert kept.q.tobytes() == plain.q.tobytes()


def test_a_log_that_has_gone_further_is_cut_back(tmp_path):
    """The checkpoint of the middle, restored after the run went on to its end."""
    s = arm()
    s.run(0.1, log=tmp_path / "run.h5", checkpoint=tmp_path / "a.h5")
    middle = (tmp_path / "a.h5").read_bytes()
    whole = arm()
    whole.run(0.1, log=tmp_path / "whole.h5", checkpoint=tmp_path / "b.h5")
    sim.restore(tmp_path / "b.h5", classes=[Ball]).run(0.2, log=tmp_path / "whole.h5")
    wanted = arrays(tmp_path / "whole.h5")
    for _ in range(2):
        (tmp_path / "a.h5").write_bytes(middle)
        other = sim.restore(tmp_path / "a.h5", classes=[Ball])
        other.run(0.2, log=tmp_path / "run.h5")
        assert arrays(tmp_path / "run.h5") == wanted
    assert len(sim.read(tmp_path / "run.h5")) > len(s._propagator.last_run)
    assert not list(tmp_path.glob(".soacraft*"))


def test_another_log_begins_at_the_checkpoint(tmp_path):
    s = arm()
    s.run(0.1, log=tmp_path / "run.h5", checkpoint=tmp_path / "a.h5")
    before = (tmp_path / "run.h5").read_bytes()
    sim.restore(tmp_path / "a.h5", classes=[Ball]).run(0.15, log=tmp_path / "new.h5")
    assert sim.read(tmp_path / "new.h5").t[0] == 0.1
    assert (tmp_path / "run.h5").read_bytes() == before


# -- refusals ------------------------------------------------------------------------------------------------------


def motor(gain: float = 2.0, unit: str = "V", more: bool = False) -> type[sim.Component]:
    """A class of this name, with an equation that depends on what is asked for."""

    class Own(sim.Component):
        class Params(sim.Params):
            k: float = 1.0

        u = sim.In(unit, default=0.0)
        x = sim.Discrete(start=1.0)

        @sim.output()
        def y(p, x):
            return p.k * x

    if gain == 2.0:

        @sim.update(Own.x)
        def next_x(p, x, u):
            return 2.0 * x + u
    else:

        @sim.update(Own.x)
        def next_x(p, x, u):
            return 3.0 * x + u

    members = {"u": Own.u, "x": Own.x, "y": Own.y, "next_x": next_x, "Params": Own.Params}
    return type("Own", (sim.Component,), members)


def own(kind: type[sim.Component]) -> sim.System:
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("one", kind(), every=0.01)
    s.add("two", kind(k=2.0), every=0.01)
    return s


def test_a_class_that_has_changed_is_refused_by_name(tmp_path):
    s = own(motor())
    s.run(0.02)
    s.checkpoint(tmp_path / "a.h5")
    assert sim.restore(tmp_path / "a.h5", classes=[motor()]).t == 0.02
    for other in (motor(gain=3.0), motor(unit="A")):
        with pytest.raises(
            CheckpointError, match=r"with other classes than those here: Own of 'one', 'two'\. Their equations"
        ):
            sim.restore(tmp_path / "a.h5", classes=[other])


def test_a_class_that_is_not_known_is_refused_by_name(tmp_path):
    s = own(motor())
    s.checkpoint(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match=r"'one' is of the class 'Own', which is not known.*classes=\[\.\.\.\]"):
        sim.restore(tmp_path / "a.h5")


def test_a_foreign_model_is_refused(tmp_path):
    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.run(0.01)
    s.checkpoint(tmp_path / "a.h5")
    mb = sc.load("double_pendulum")
    assert sim.restore(tmp_path / "a.h5", models={"arm": mb})._plants["arm"].mb is mb
    mb.bodies[0].inertia = sc.Inertia(7.0, moment=np.eye(3))
    with pytest.raises(CheckpointError, match=r"the model 'double_pendulum' is not the one of the checkpoint .*mass"):
        sim.restore(tmp_path / "a.h5", models={"arm": mb})
    with pytest.raises(CheckpointError, match=r"has no plant 'leg'; its plants are \['arm'\]"):
        sim.restore(tmp_path / "a.h5", models={"leg": mb})


def test_a_model_that_was_changed_is_in_the_checkpoint(tmp_path):
    s = sim.System("s", integrator="rk4", step=1e-3)
    plant = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.run(0.01)
    plant.mb.bodies[0].inertia = sc.Inertia(7.0, (0, 0, -0.5), moment=3.0 * np.eye(3))
    s.checkpoint(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert other._plants["arm"].mb.bodies[0].inertia.mass == 7.0
    assert s.run(0.05).q.tobytes() == other.run(0.05).q.tobytes()


def test_force_elements_are_given_again(tmp_path):
    def stop():
        return sim.JointLimit("bob", stiffness=1e3, lower=-0.1, upper=0.1)

    s = sim.System("s", integrator="rk4", step=1e-3)
    s.add("arm", sim.Plant(sc.load("pendulum"), forces=[stop()]))
    s._plants["arm"].mb.v = [2.0]
    s.run(0.1)
    s.checkpoint(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match=r"JointLimit 'limit of bob', which are no plain data: give them again"):
        sim.restore(tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5", forces={"arm": [stop()]})
    assert s.run(0.2).q.tobytes() == other.run(0.2).q.tobytes()


def test_what_another_program_keeps_is_refused_by_name(tmp_path):
    s = own(motor())
    s._parts["one"].component.unkept = "its peer keeps a state of its own."
    with pytest.raises(CheckpointError, match="'one' cannot be in a checkpoint: its peer keeps a state of its own"):
        s.checkpoint(tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()


def test_a_log_that_is_not_that_of_the_run_is_refused(tmp_path):
    file = tmp_path / "run.h5"
    own(motor()).run(0.1, log=file, checkpoint=tmp_path / "a.h5")
    own(motor()).run(0.1, log=file)
    with pytest.raises(CheckpointError, match=r"run.h5' is not the log of the run that wrote the checkpoint"):
        sim.restore(tmp_path / "a.h5", classes=[motor()]).run(0.2, log=file)
    file.unlink()
    with pytest.raises(CheckpointError, match=r"run.h5' of the checkpoint is not there: give another log="):
        sim.restore(tmp_path / "a.h5", classes=[motor()]).run(0.2, log=file)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    p = sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01)
    p.checkpoint(tmp_path / "p.h5")
    with pytest.raises(CheckpointError, match=r"a checkpoint of a 'propagator', not of a system: .*p\.restore"):
        sim.restore(tmp_path / "p.h5")
    own(motor()).checkpoint(tmp_path / "s.h5")
    with pytest.raises(CheckpointError, match=r"a checkpoint of a 'system', not of a propagator: .*sc\.sim\.restore"):
        p.restore(tmp_path / "s.h5")


def test_periods_need_a_file_and_are_positive(tmp_path):
    s = own(motor())
    with pytest.raises(StateError, match=r"checkpoint_every=1.0 needs a file: give checkpoint="):
        s.run(0.1, checkpoint_every=1.0)
    with pytest.raises(StateError, match="checkpoint_every must be a nanosecond or more"):
        s.run(0.1, checkpoint=tmp_path / "a.h5", checkpoint_every=0.0)
    assert s.t == 0.0


def test_a_checkpoint_that_cannot_be_written_ends_the_run_with_file_and_time(tmp_path):
    s = own(motor())
    with pytest.raises(SimulationError, match=r"at t = 0.05 s: the checkpoint .*no.a.h5' at t = 0.05 s cannot be"):
        s.run(0.2, checkpoint=tmp_path / "no" / "a.h5", checkpoint_every=0.05)
    with pytest.raises(CheckpointError, match=r"no.a.h5' at t = 0.05 s cannot be written: No such file"):
        s.checkpoint(tmp_path / "no" / "a.h5")
    assert s.run(0.1).t[-1] == 0.1


def test_a_class_is_looked_at_and_not_imported(tmp_path, monkeypatch):
    """A file that names a module gets an answer, and no import."""
    s = own(motor())
    real = module.describe

    def lying(system, documents):
        data = real(system, documents)
        data.parts["one"].type = "antigravity.fly"
        return data

    monkeypatch.setattr(module, "describe", lying)
    s.checkpoint(tmp_path / "a.h5")
    with pytest.raises(CheckpointError, match=r"the class 'antigravity\.fly', which is not known"):
        sim.restore(tmp_path / "a.h5", classes=[motor()])
    assert "antigravity" not in sys.modules


def test_a_mission_is_restored_in_the_middle_of_a_phase_and_after_its_end(tmp_path):
    """Phases, changes of structure, and what holds; a new segment of the log begins where the last run ended."""
    whole = descent()
    whole.run(0.6, log=tmp_path / "whole.h5", checkpoint=tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    assert other.phase("mission") == whole.phase("mission") == "drop"
    assert [x[:4] for x in other.changes] == [x[:4] for x in whole.changes]
    assert other.changes[0].momentum_after.tobytes() == whole.changes[0].momentum_after.tobytes()
    a, b = whole.run(1.0), other.run(1.0, log=tmp_path / "whole.h5")
    assert other.phase("mission") == "brake"
    assert [x.q.tobytes() for x in a.segments] == [x.q.tobytes() for x in b.segments]
    assert a.signals["radar.y"].tobytes() == b.signals["radar.y"].tobytes()
    log = sim.read(tmp_path / "whole.h5")
    assert [x.q.shape[1] for x in log.segments] == [7, 14, 14, 14]
    assert [x.name for x in log.segments[0].events][-1] == "mission: fall -> drop"


def test_a_log_whose_columns_are_others_now_goes_on_in_a_new_segment(tmp_path):
    s = sim.System("s", integrator="rk4", step=0.01)
    mb = sc.Multibody("two")
    for name, above in (("hull", None), ("shield", "hull")):
        mb.add_body(name, above, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.5, 0, 0), np.eye(3)))
    s.add("ship", sim.Plant(mb))
    s.run(0.1, log=tmp_path / "run.h5", checkpoint=tmp_path / "a.h5")
    other = sim.restore(tmp_path / "a.h5")
    other._plants["ship"].detach("shield")
    other.run(0.2, log=tmp_path / "run.h5")
    log = sim.read(tmp_path / "run.h5")
    assert [x.t[0] for x in log.segments] == [0.0, 0.1]
    assert [x.q.shape[1] for x in log.segments] == [2, 8]
