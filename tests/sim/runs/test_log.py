"""Logs: what is read back is what was run, also after the process was killed."""

import json
import re
import subprocess
import sys
import textwrap
import time
import types

import h5py
import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelFileError, StateError
from soacraft.sim.runs import log
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.log_reader import progress
from soacraft.sim.runs.outputs import Keeping


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


def test_a_run_that_was_killed_says_that_it_was_cut(tmp_path):
    """What is behind the last whole flush is not read, even where some columns have more."""
    file = tmp_path / "run.h5"
    bouncing().advance_to(1.0, log=file)
    whole = sc.sim.read(file)
    assert not whole.cut
    assert "cut" not in repr(whole)
    with h5py.File(file, "a") as x:
        x["count"][:] = [50, 1, 0]
        x["t"].resize(80, axis=0)
    back = sc.sim.read(file)
    assert back.cut
    assert repr(back).endswith("cut: its log has no end")
    assert (len(back), len(back.events)) == (50, 1)
    np.testing.assert_array_equal(back.q, whole.q[:50])


def test_a_log_of_before_is_read(tmp_path):
    """Without counts, documents and names in datasets."""
    file = tmp_path / "run.h5"
    run = bouncing().advance_to(1.0, log=file)
    with h5py.File(file, "a") as x:
        x.attrs["forces"] = np.array([y.decode() for y in x["force_names"][:]], dtype=h5py.string_dtype())
        for name in ("count", "force_names", "model", "segment_0"):
            del x[name]
    back = sc.sim.read(file)
    np.testing.assert_array_equal(back.work["ball"], run.work["ball"])
    assert not back.cut
    assert "model" not in back.documents


def test_a_log_has_the_model_the_system_and_the_versions(tmp_path):
    s = sc.sim.System("s", integrator="rk4", step=0.01)
    s.add("arm", sc.sim.Plant(sc.load("pendulum")))
    s.add("wave", sc.sim.Sine(frequency=1.0, unit="V"))
    s.run(0.1, log=tmp_path / "run.h5")
    told = sc.sim.read(tmp_path / "run.h5").documents
    assert json.loads(told["system"])["parts"]["wave"]["type"] == "Sine"
    assert json.loads(told["versions"])["h5py"] == h5py.__version__
    (tmp_path / "model.json").write_text(told["model"])
    assert sc.load(tmp_path / "model.json").dof_names == ("bob",) or sc.load(tmp_path / "model.json").nv == 1


def test_signals_have_units_and_frames(tmp_path):
    s = sc.sim.System("s", integrator="rk4", step=0.01)
    plant = s.add("arm", sc.sim.Plant(sc.load("pendulum")))
    s.add("jet", sc.sim.Thruster(), at=plant.node("bob"))
    s.add("thrust", sc.sim.Constant(value=2.0, unit="N"))
    s.connect("thrust.y", "jet.thrust")
    run = s.run(0.1, log=tmp_path / "run.h5")
    back = sc.sim.read(tmp_path / "run.h5")
    assert back.signals.units == run.signals.units
    assert back.signals.units["thrust.y"] == "N"
    assert back.signals.frames == run.signals.frames == {"jet.force": "arm:bob"}
    np.testing.assert_array_equal(back.signals["jet.force"], run.signals["jet.force"])


def test_a_system_without_a_model_has_a_log(tmp_path):
    s = sc.sim.System("s", integrator="rk4", step=0.01)
    s.add("wave", sc.sim.Sine(frequency=1.0))
    run = s.run(5.0, log=tmp_path / "run.h5")
    back = sc.sim.read(tmp_path / "run.h5")
    np.testing.assert_array_equal(back.signals["wave.y"], run.signals["wave.y"])
    assert back.q.shape == (501, 0)


def test_rows_of_a_slow_run_do_not_wait_for_a_block(tmp_path):
    """Whoever follows it sees them after half a second."""
    file, seen = tmp_path / "run.h5", []

    def slow(t, state):
        if 0.3 < t < 0.31:
            time.sleep(0.6)
        elif t > 0.4:
            seen.append(progress(file))
        return None

    p = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01)
    p.add(slow)
    p.advance_to(0.5, log=file)
    assert 30 <= seen[0][1] < 45
    assert not seen[0][2]


def test_a_new_segment_has_columns_of_its_own(tmp_path):
    """As after a change of structure. Readers see the segments before; the last one is the run itself."""
    log = Log(tmp_path / "run.h5")
    for name, t in (("pendulum", 0.3), ("double_pendulum", 0.5)):
        p = sc.sim.Propagator(sc.load(name), integrator="rk4", step=0.01)
        p.advance(t, Keeping(log, documents={"model": name.encode()}, stays_open=True))
    middle = sc.sim.read(tmp_path / "run.h5")
    log.close()
    run = sc.sim.read(tmp_path / "run.h5")
    for back in (middle, run):
        assert [x.q.shape for x in back.segments] == [(31, 1), (51, 2)]
        assert [x.documents["model"] for x in back.segments] == ["pendulum", "double_pendulum"]
        assert back.segments[-1] is back
    with h5py.File(tmp_path / "run.h5") as file:
        assert file["segment_0/t"][-1] == 0.3
        assert file["segment_1/t"][-1] == 0.5


FULL = """
    import resource, sys, soacraft as sc
    from soacraft.sim.runs import log as module
    mb = sc.load("pendulum")
    mb.q = [1.0]
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.001)
    p.every(0.1, lambda t, state: None)
    most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def no_limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        return made()

    if sys.argv[2] == "unseen":
        made, module.sink = module.sink, no_limit
        module.require_room = lambda path, size: None
    resource.setrlimit(resource.RLIMIT_FSIZE, (800_000, most[1]))
    try:
        p.advance_to(20.0, log=sys.argv[1])
    except sc.errors.SimulationError as wrong:
        print(" ".join(str(wrong).split()))
        print(wrong.t, len(wrong.run), wrong.run.t[-1])
    print(p.advance_to(p.t + 0.1).t[-1] > 0.2)
"""


@pytest.mark.parametrize("where", ["disk", "limit of a file"])
def test_room_for_twice_the_rows_and_the_end_of_the_file_is_left(tmp_path, monkeypatch, where):
    file, need = tmp_path / "run.h5", 2 * 500 + 2**18
    file.write_bytes(bytes(1000))
    free = None

    def disk(path):
        return types.SimpleNamespace(f_bavail=free, f_frsize=1)

    if where == "disk":
        monkeypatch.setattr(log.os, "statvfs", disk)
    else:
        monkeypatch.setattr(log.resource, "getrlimit", lambda kind: (1000 + free, -1))
    free = need
    log.require_room(file, 500)
    free = need - 1
    with pytest.raises(log.NoRoomError):
        log.require_room(file, 500)


BEGINS = """
    import os, sys, soacraft as sc
    from soacraft.sim.runs.outputs import Keeping
    from soacraft.sim.runs.log import Log
    log, opened = Log(sys.argv[1]), Log._open
    for name, t in (("pendulum", 0.3), ("double_pendulum", 0.5)):
        sc.sim.Propagator(sc.load(name), integrator="rk4", step=0.01).advance(t, Keeping(log, stays_open=True))
        Log._open = lambda self: os.kill(os.getpid(), 9)
"""


def test_a_process_that_is_killed_where_a_segment_begins_leaves_a_log(tmp_path):
    """Just before others may read the new one: HDF5 would not open such a file at all."""
    file = tmp_path / "run.h5"
    given = [sys.executable, "-c", textwrap.dedent(BEGINS), str(file)]
    assert subprocess.run(given, check=False).returncode == -9
    run = sc.sim.read(file)
    assert [len(x) for x in run.segments] == [31]


@pytest.mark.parametrize("seen", ["seen", "unseen"])
def test_a_full_disk_is_an_error_with_file_and_time(tmp_path, seen):
    """In a process of its own, whose files may not be larger than 800 kB. It is seen before anything is written, or
    else by HDF5, which fails in the middle. What was flushed is read, and the process lives on."""
    file = tmp_path / "run.h5"
    given = [sys.executable, "-c", textwrap.dedent(FULL), str(file), seen]
    ended = subprocess.run(given, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    told, where, goes_on = ended.stdout.splitlines()
    assert re.match(r"the run of 'pendulum' stopped at t = [\d.]+ s: the log '.*run.h5' cannot be written at t", told)
    assert "File too large" in told
    assert "Make room" in told
    assert goes_on == "True"
    assert not ended.stderr
    t, rows, last = (float(x) for x in where.split())
    assert t == last
    run = sc.sim.read(file)
    assert run.cut
    assert 1000 < len(run) < rows


def hostile(tmp_path, change):
    file = tmp_path / "run.h5"
    s = sc.sim.System("s", integrator="rk4", step=0.01)
    s.add("arm", sc.sim.Plant(sc.load("pendulum")))
    s.add("wave", sc.sim.Sine(frequency=1.0))
    s.run(0.1, log=file)
    with h5py.File(file, "a") as x:
        change(x)
    return file


def put(name, value):
    def change(x):
        del x[name]
        if value is not None:
            x[name] = value

    return change


def huge(x):
    del x["q"], x["count"]
    for name in [*x]:
        if isinstance(x.get(name), h5py.Dataset) and x[name].maxshape[:1] == (None,):
            x[name].resize(2**40, axis=0)
    x.create_dataset("q", (2**40, 1), "f8", chunks=(256, 1))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (put("q", None), "it has no 'q'"),
        (put("q", np.zeros((5, 1), dtype="c16")), "'q' is of dtype complex128"),
        (put("q", np.zeros(5)), r"'q' is of dtype float64 and shape \(5,\)"),
        (put("event_t", np.zeros((5, 1))), r"'event_t' is of dtype float64 and shape \(5, 1\)"),
        (put("force_names", np.array(["a"] * 7, dtype=h5py.string_dtype())), "it has 7 names of forces, and"),
        (put("signal_columns", np.array(["["], dtype=h5py.string_dtype())), "its signals are not named"),
        (put("signal_columns", np.array(['["a", [3], ""]'], dtype=h5py.string_dtype())), "and 3 are named"),
        (put("signal_columns", np.array(['["a", [-3], ""]'], dtype=h5py.string_dtype())), "a shape is negative"),
        (put("count", np.zeros(7, dtype=np.int64)), r"'count' is of shape \(7,\)"),
        (put("t", h5py.ExternalLink("other.h5", "t")), "cannot be read"),
        (huge, "more than half of the free memory"),
    ],
)
def test_a_log_that_is_damaged_or_hostile_is_refused(tmp_path, change, text):
    with pytest.raises(ModelFileError, match=text) as wrong:
        sc.sim.read(hostile(tmp_path, change))
    assert "run.h5" in str(wrong.value)


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
