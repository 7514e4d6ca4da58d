"""What is saved is loaded again: the same description, the same bits of a run, the same bytes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.system_seeds import BESIDE, Servo, full_system
from tests.profiles import tries
from tests.sim.serving.clients import swing

import soacraft as sc
from soacraft import sim
from soacraft.errors import SystemFileError
from soacraft.sim.library.listed import examples
from soacraft.sim.systems.description import describe


@pytest.fixture
def folder(tmp_path):
    for name, data in BESIDE.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def again(s, file, **how):
    s.save(file, **how)
    return sim.load_system(file, classes=[Servo])


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_full_system_comes_back(folder, suffix):
    s = full_system(folder)
    back = again(s, folder / f"one.{suffix}", models={"file": "pendulum.json"})
    assert describe(back) == describe(s)
    back.save(folder / f"two.{suffix}")
    assert (folder / f"one.{suffix}").read_bytes() == (folder / f"two.{suffix}").read_bytes()
    a, b = s.run(0.52), back.run(0.52)
    assert np.array_equal(a.q, b.q)
    assert np.array_equal(a.signals["jet.force"], b.signals["jet.force"])


def test_the_two_texts_hold_the_same(folder):
    s = full_system(folder)
    assert describe(again(s, folder / "a.toml")) == describe(again(s, folder / "a.json"))


def test_models_are_referred_to_where_they_are_the_same(folder):
    s = full_system(folder)
    text = (folder / "a.toml")
    s.save(text, models={"file": "pendulum.json"})
    words = text.read_text()
    assert 'model = "double_pendulum"\n' in words
    assert "q = [\n    0.1,\n    0.2,\n]" in words  # the state that is not the model's own
    assert 'file = "pendulum.json"' in words
    assert words.count("document = ") == 1
    inner = folder / "inner"
    inner.mkdir()
    sim.load_system(text, classes=[Servo]).save(inner / "b.toml")
    assert 'file = "../pendulum.json"' in (inner / "b.toml").read_text()
    s = full_system(folder)
    s._plants["arm"].mb.gravity = (0, 0, -1.62)
    s.save(text)
    assert "double_pendulum" not in text.read_text().partition("document = ")[0]  # no longer that of the library
    with pytest.raises(SystemFileError, match=r"'double_pendulum'\}: the model of the plant is another: gravity"):
        s.save(text, models={"arm": "double_pendulum"})
    with pytest.raises(SystemFileError, match="there is no such file"):
        s.save(text, models={"arm": "none.json"})
    with pytest.raises(SystemFileError, match=r"models=\{'amr': ...\} names no plant; did you mean"):
        s.save(text, models={"amr": "arm7"})


def test_assemblies_stay_assemblies_while_they_are_as_they_were_built(folder):
    s = full_system(folder)
    s.save(folder / "a.toml")
    words = (folder / "a.toml").read_text()
    assert "[assemblies.upper]" in words
    assert "upper/" not in words.replace('"upper/motor.current" = 0.25', "")
    assert '[parts."lower/motor"]' in words  # a part was replaced
    assert 'lower = "Servo"' in words
    s.params["upper/motor.R"] = 3.0
    back = again(s, folder / "b.toml", models={"file": "pendulum.json"})
    assert "assemblies" not in (folder / "b.toml").read_text()
    assert back.params["upper/motor.R"] == 3.0
    assert describe(back) == describe(s)


def test_an_assembly_that_hangs_bodies_comes_back_as_its_parts(folder):
    class Wheel(sim.Assembly):
        def build(self, p, at):
            self.add_body("wheel", None, sc.Pin((0, 1, 0)), inertia=sc.Inertia(1.0, moment=0.02 * np.eye(3)))
            self.add("motor", sim.Motor(R=1.0, L=5e-3, k=0.05, n=20.0), at=self.dof("wheel"))
            self.export("voltage", "motor.voltage")

    mb = sc.Multibody("rover")
    mb.add_body("hull", None, sc.Prismatic((1, 0, 0)), sc.Inertia(20.0, moment=np.eye(3)))
    s = sim.System("rover", integrator="rk4", step=1e-3)
    plant = s.add("plant", sim.Plant(mb))
    for name in ("front", "rear"):
        s.add(f"rover/{name}", Wheel(), at=plant.node("hull"))
    s.add("volts", sim.Constant(value=6.0))
    s.connect("volts.y", "rover/*.voltage")
    s.save(folder / "rover.toml")
    back = sim.load_system(folder / "rover.toml")
    assert describe(back) == describe(s)
    assert np.array_equal(back.run(0.02).q, s.run(0.02).q)


def test_a_system_that_ran_is_saved_as_it_began(folder):
    s = full_system(folder)
    s.save(folder / "a.toml")
    s.run(0.52)
    s.params["wave.frequency"] = 0.75
    s.save(folder / "b.toml")
    a, b = ((folder / f"{x}.toml").read_text() for x in "ab")
    assert b == a.replace("frequency = 0.5", "frequency = 0.75")


def test_every_component_that_comes_along_comes_back(tmp_path):
    s = sim.System("all", integrator="rk4", step=0.01)
    for i, x in enumerate(examples()):
        s.add(f"x{i}", x)
    assert describe(again(s, tmp_path / "all.toml")) == describe(s)
    assert describe(again(s, tmp_path / "all.json")) == describe(s)


def test_what_a_text_cannot_hold_is_refused(tmp_path):
    class Maybe(sim.Component):
        class Params(sim.Params):
            a: float | None = 1.0
            b: float = 0.0

    for value, suffix, text in (
        ({"a": None}, "toml", "parts.one.params.a is None, and TOML has no null: save it as .json"),
        ({"b": math.inf}, "json", "parts.one.params.b is inf, and JSON has no infinite numbers: save it as .toml"),
    ):
        s = sim.System("a")
        s.add("one", Maybe(**value))
        with pytest.raises(SystemFileError, match=text):
            s.save(tmp_path / f"a.{suffix}")
        assert not list(tmp_path.iterdir())
        other = tmp_path / f"a.{'json' if suffix == 'toml' else 'toml'}"
        s.save(other)
        assert describe(sim.load_system(other, classes=[Maybe])) == describe(s)
        other.unlink()
    with pytest.raises(SystemFileError, match="cannot write"):
        swing().save(tmp_path / "none" / "a.toml")
    with pytest.raises(SystemFileError, match=r"system files are .toml and .json"):
        swing().save(tmp_path / "a.xml")


def test_what_is_no_plain_data_is_refused_by_name(tmp_path):
    s = swing()
    s.add_frame("belt", pose=lambda t: sc.Pose())
    with pytest.raises(SystemFileError, match="the frame 'belt' is moved by a function, which no file can hold"):
        s.save(tmp_path / "a.toml")
    s = swing()
    s.run(0.01)
    s.checkpoint(tmp_path / "a.h5")
    with pytest.raises(SystemFileError, match="'swing' was restored from a checkpoint, and a system file has what"):
        sim.restore(tmp_path / "a.h5").save(tmp_path / "a.toml")
    s = full_system_after_detaching()
    with pytest.raises(SystemFileError, match="the structure of 'two' was changed since t = 0 s, and a"):
        s.save(tmp_path / "a.toml")


def full_system_after_detaching():
    s = sim.System("two", integrator="rk4", step=1e-2)
    arm = s.add("arm", sim.Plant(sc.load("double_pendulum")))
    s.run(0.05)
    arm.detach("lower")
    return s


numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@settings(tries(40), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(numbers, st.fractions(1, 1000).filter(lambda x: x.denominator < 10**6)), max_size=4),
    st.sampled_from(["toml", "json"]),
    st.integers(0, 2**60),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
)
def test_any_numbers_and_names_come_back(tmp_path, given_parts, suffix, seed, name):
    s = sim.System(name, seed=seed)
    for i, (value, rate) in enumerate(given_parts):
        s.add(f"a/b{i}", sim.Gain(gain=value), rate=rate)
        s.add(f"c{i}", sim.Constant(value=(value, -value), unit="m/s^2"), every=rate, offset=abs(i) / 7)
    file = tmp_path / f"any.{suffix}"
    s.save(file)
    assert describe(sim.load_system(file)) == describe(s)


def test_meshes_of_a_model_in_the_file_are_found(tmp_path):
    mb = sc.Multibody("block")
    body = mb.add_body("block", None, sc.Free(), sc.Inertia(1.0))
    body.add_geometry(sc.Geometry("shape", "mesh", mesh="meshes/a.stl"))
    (tmp_path / "models").mkdir()
    sc.save(mb, tmp_path / "models" / "block.json")
    s = sim.System("a")
    s.add("block", sim.Plant(sc.load(tmp_path / "models" / "block.json")))
    s.save(tmp_path / "a.toml")
    back = sim.load_system(tmp_path / "a.toml")._plants["block"].mb
    assert back.bodies[0].geometries[0].mesh == "models/meshes/a.stl"
    assert back.mesh_folder == tmp_path


LONG = "n" * 1001


def long_named(what):
    s = sim.System(LONG if what == "name" else "s", integrator="rk4", step=0.1)
    if what == "part":
        s.add(LONG, sim.Constant(value=1.0))
    elif what == "frame":
        s.add_frame(LONG)
    elif what == "phase":
        s.add("phases", sim.Sequence([LONG, "b"], [sim.Transition(LONG, "b", after=1.0)]))
    elif what == "connection":
        s.add("n" * 999, sim.Constant(value=1.0))
        s.add("gain", sim.Gain(gain=1.0))
        s.connect(f"{'n' * 999}.y", "gain.u")
    return s


@pytest.mark.parametrize("kind", ["toml", "json"])
@pytest.mark.parametrize("what", ["name", "part", "frame", "phase", "connection"])
def test_a_name_that_could_not_be_loaded_is_not_saved(tmp_path, what, kind):
    text = r"cannot be saved, for it could not be loaded again: .* Names in system files have at most 1000 letters"
    with pytest.raises(SystemFileError, match=text):
        long_named(what).save(tmp_path / f"s.{kind}")
    assert not list(tmp_path.iterdir())
