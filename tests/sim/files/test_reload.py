"""A file that was changed: what changed is said, parameters act while it runs, anything else is refused by name."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.fuzz.system_seeds import BESIDE, Servo, full_system
from tests.sim.serving.clients import Client, swing, wait

from soacraft import sim
from soacraft.errors import SystemFileError, WiringError
from soacraft.sim.systems.description import describe


@pytest.fixture
def full(tmp_path):
    """A system and its file."""
    for name, data in BESIDE.items():
        (tmp_path / name).write_bytes(data)
    s = full_system(tmp_path)
    s.save(tmp_path / "a.toml", models={"file": "pendulum.json"})
    return s, tmp_path / "a.toml"


def edit(file, *changes):
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def test_parameters_are_taken_over_while_it_runs(full):
    s, file = full
    assert str(s.reload(file)) == "nothing changed"
    s.run(0.52)
    assert str(s.reload(file)) == "nothing changed"  # the state of its models is another now
    edit(file, ("kp = 5.0", "kp = 7.5"), ("frequency = 0.5", "frequency = 1.5"))
    told = str(s.reload(file))
    assert told == "upper/control.kp: 5.0 -> 7.5\nwave.frequency: 0.5 -> 1.5"
    assert (s.params["upper/control.kp"], s.params["wave.frequency"]) == (7.5, 1.5)
    other = full_system(file.parent)
    other.run(0.52)
    other.params["upper/control.kp"], other.params["wave.frequency"] = 7.5, 1.5
    assert np.array_equal(s.run(0.53).q, other.run(0.53).q)


def test_what_may_not_change_while_it_runs_is_refused_by_name(full):
    s, file = full
    s.run(0.53)
    before = describe(s)
    edit(
        file,
        ("step = 0.001", "step = 0.002"), ("seed = 3", "seed = 4"), ("rate = 3\n", "rate = 4\n"),
        ('{ from = "speed.y", to = "sum.a" },', ""), ('"wave.y", to = "slow.u"', '"wave.y", to = "sum.a"'),
        ('type = "SampleHold"', 'type = "UnitDelay"'), ("frequency = 0.5", "frequency = 1.5"),
        ('"upper/motor.current" = 0.25', '"upper/motor.current" = 0.5'), ('solver = "tree"', 'solver = "auto"'),
        ('unit = "rpm"', 'unit = "rad/s"'), ('mass\\":1.0', 'mass\\":2.0'),
    )  # fmt: skip
    with open(file, "a") as out:
        out.write("\n[parts.more]\ntype = 'Force'\n")
    with pytest.raises(SystemFileError) as error:
        s.reload(file)
    text = str(error.value)
    for line in (
        f"{file}: the system 'full' is at t = 0.53 s, and this cannot change once it runs:",
        "step: 0.001 -> 0.002", "seed: 3 -> 4", "wave: another every", "slow: SampleHold -> UnitDelay", "more: added",
        "connection speed.y -> sum.a taken away", "connection wave.y -> sum.a added", "arm: another solver",
        "starts: upper/motor.current: 0.25 -> 0.5", "bar: body 'bar'",
        "rpm.unit: 'rpm' -> 'rad/s' ('rpm.unit' changes what 'y' carries, which cannot change once the system runs.)",
        "Nothing was changed. Load it as another system, with sim.load_system.",
    ):  # fmt: skip
        assert line in text
    assert "wave.frequency" not in text
    assert describe(s) == before


def test_before_it_runs_all_may_change(full):
    s, file = full
    arm = s._plants["arm"]
    edit(file, ("step = 0.001", "step = 0.002"), ("frequency = 0.5", "frequency = 1.5"), ("kp = 5.0", "kp = 6.0"))
    with open(file, "a") as out:
        out.write("\n[parts.more]\ntype = 'Constant'\nparams = {value = 1.0}\n")
    told = str(s.reload(file))
    assert set(told.splitlines()) == {
        "step: 0.001 -> 0.002", "more: added", "upper/control.kp: 5.0 -> 6.0", "wave.frequency: 0.5 -> 1.5"
    }  # fmt: skip
    again = sim.load_system(file, classes=[Servo])
    assert describe(s) == describe(again)
    assert s._plants["arm"] is arm  # its model is the same
    assert s._parts["upper/motor"].mount.plant is arm
    assert np.array_equal(s.run(0.52).q, again.run(0.52).q)


def test_a_file_with_faults_changes_nothing(full):
    s, file = full
    before = describe(s)
    edit(file, ('from = "wave.y"', 'from = "waves.y"'))
    with pytest.raises(WiringError, match="there is no component 'waves'"):
        s.reload(file)
    file.write_text("nonsense")
    with pytest.raises(SystemFileError, match="is no TOML"):
        s.reload(file)
    assert describe(s) == before


def test_in_a_run_that_is_served(tmp_path):
    s, file, runs = swing(), tmp_path / "a.toml", []
    s.save(file)
    with s.serve() as served, Client(served) as client:
        client.good("pause")
        thread = threading.Thread(target=lambda: runs.append(s.run(0.2)))
        thread.start()
        wait(lambda: s.desk().is_running)
        client.good("step", count=100)
        edit(file, ("value = 0.5", "value = 0.9"))
        assert str(s.reload(file)) == "target.value: 0.5 -> 0.9"
        client.good("run")
        thread.join()
    alone = swing()
    alone.run(0.1)
    alone.params["target.value"] = 0.9
    assert np.array_equal(runs[0].q[-1], alone.run(0.2).q[-1])
