"""Built-in models."""

from pathlib import Path

import numpy as np
import pytest

from soacraft.errors import ModelFileError
from soacraft.files import load, models
from soacraft.model.hinges import HINGES

NAMES = [facts.name for facts in models()]


@pytest.mark.parametrize("name", NAMES)
def test_every_model_loads_and_can_be_worked_with(name):
    mb = load(name)
    assert mb.name == name
    assert mb is not load(name)
    facts = next(facts for facts in models() if facts.name == name)
    assert (facts.bodies, facts.dofs) == (len(mb), mb.nv)
    assert facts.description.endswith(".")
    mb.set_state(*mb.random_state(seed=0))
    for axes in ("body", "inertial", "origin"):
        sko = mb.sko(axes=axes)
        assert all(np.isfinite(sko.b(k)).all() and np.isfinite(sko.a(k)).all() for k in sko.nodes)
    assert any(body.nodes for body in mb.bodies)


@pytest.mark.parametrize("name", NAMES)
def test_inertias_are_those_of_real_bodies(name):
    for body in load(name).bodies:
        x, y, z = np.linalg.eigvalsh(body.inertia.moment)
        assert body.inertia.mass > 0
        assert x >= -1e-15
        assert x + y >= z - 1e-12


def test_arm7():
    mb = load("arm7")
    assert (len(mb), mb.nq, mb.nv) == (7, 7, 7)
    assert mb.tree.is_serial
    np.testing.assert_allclose(mb.pose("link7/tool").translation, [0, 0, 1.3], atol=1e-12)
    mb.q = [0, np.pi / 2, 0, 0, 0, 0, 0]
    np.testing.assert_allclose(mb.pose("link7/tool").translation, [0.95, 0, 0.35], atol=1e-12)


def test_pendulums_swing_towards_x():
    for name, tip, q in (("pendulum", "bob/tip", [np.pi / 2]), ("double_pendulum", "lower/tip", [np.pi / 2, 0])):
        mb = load(name)
        length = len(mb)
        np.testing.assert_allclose(mb.pose(tip).translation, [0, 0, -length], atol=1e-15)
        mb.q = q
        np.testing.assert_allclose(mb.pose(tip).translation, [length, 0, 0], atol=1e-15)


def test_the_top_has_its_moments_at_the_pivot():
    M = load("top").sko().M(0)
    np.testing.assert_allclose(np.diag(M[:3, :3]), [0.3, 0.3, 0.05])


def test_biped_and_quadrotor_float():
    assert load("biped").nv == 25
    assert load("biped").bodies[0].hinge.nv == 6
    assert len(load("biped").branches()) > 4
    assert load("quadrotor_arm")["hull/rotor3"].body.name == "hull"


def test_hinges_has_one_of_each():
    assert [type(body.hinge) for body in load("hinges").bodies] == list(HINGES)
    assert not load("hinges").tree.is_serial


def test_the_table_prints():
    lines = repr(models()).splitlines()
    assert lines[0].split() == ["name", "bodies", "dofs", "description"]
    assert lines[1].startswith("arm7 ")
    assert len(lines) == len(NAMES) + 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arm", "there is no built-in model 'arm'. Did you mean 'arm7'"),
        ("zzz", "there is no built-in model 'zzz'. There are 'arm7', 'pendulum', 'double_pendulum'"),
        ("x.urdf", "cannot load 'x.urdf': reading model files (.urdf) is not part of this version."),
        (Path("models") / "x.xml", "cannot load 'models/x.xml': reading model files (.xml)"),
        ("models/arm7", "cannot load 'models/arm7': reading model files is not part of this version."),
        (7, "a model is loaded by its name, such as load('arm7'); got 7."),
    ],
)
def test_what_cannot_be_loaded(name, text):
    with pytest.raises(ModelFileError) as error:
        load(name)
    assert text in str(error.value)
