"""The library of models: its index, its licences, and what is known of the models themselves."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import soacraft as sc
from soacraft.files import library
from soacraft.files.library import ModelFacts
from soacraft.files.native import from_json, to_json

NAMES = (
    "panda ur5e iiwa14 simple_humanoid anymal_b a1 h1 cassie shadow_hand robotiq_2f85 husky five_bar delta strandbeest"
).split()

#: Total masses in kg, summed from the files of the authors.
MASS = {
    "simple_humanoid": 130.8, "cassie": 33.312, "anymal_b": 33.33055, "a1": 12.453, "iiwa14": 30.61, "ur5e": 20.9949,
    "panda": 16.6919, "shadow_hand": 3.794, "h1": 51.437, "robotiq_2f85": 0.9, "husky": 44.003,
}  # fmt: skip

#: Degrees of freedom of the trees, with six for a free base, as the authors give them.
DOFS = {"panda": 7, "ur5e": 6, "iiwa14": 7, "simple_humanoid": 35, "anymal_b": 18, "a1": 18, "shadow_hand": 24,
        "h1": 25}  # fmt: skip


def data(name):
    return library.folder().joinpath(f"{name}.json").read_bytes()


def test_the_library_has_all_its_models():
    assert list(library.index()) == NAMES
    assert [facts.name for facts in sc.models()][-len(NAMES) :] == NAMES
    files = {path.name for path in library.folder().iterdir() if path.name.endswith(".json")}
    assert files == {"index.json", *(f"{name}.json" for name in NAMES)}


@pytest.mark.parametrize("name", NAMES)
def test_the_index_agrees_with_the_file(name):
    mb, facts = sc.load(name), library.index()[name]
    assert isinstance(facts, ModelFacts)
    assert mb.name == facts.name
    assert (facts.bodies, facts.dofs, facts.loops, facts.couplings) == (
        len(mb), mb.nv, len(mb.loops), len(mb.couplings)
    )  # fmt: skip
    assert facts.description.endswith(".")
    assert sc.load(name.replace("_", "-")).name == name
    assert sc.load(name) is not mb


@pytest.mark.parametrize("name", NAMES)
def test_the_file_is_as_it_would_be_saved(name):
    assert to_json(from_json(data(name))) == data(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_names_nothing_of_the_machine_it_was_made_on(name):
    texts = list(texts_in(json.loads(data(name))))
    assert name in texts
    texts = [re.sub("^package://[^/]*/", "", text) for text in texts]
    assert not [text for text in texts if text.startswith(("/", "~", "..")) or "://" in text or ":\\" in text]


def texts_in(document):
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict | list):
        for each in document.values() if isinstance(document, dict) else document:
            yield from texts_in(each)


WORDS = {
    "Apache-2.0": "Apache License",
    "MIT": "Permission is hereby granted, free of charge",
    "BSD-2-Clause": "Redistribution and use in source and binary forms",
    "BSD-3-Clause": "Redistribution and use in source and binary forms",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_licence_is_there(name):
    licence = library.index()[name].licence
    text = " ".join(library.licence_text(name).replace(">", " ").split())
    assert WORDS[licence] in text
    assert ("endorse or promote" in text) == (licence == "BSD-3-Clause")
    assert library.index()[name].source


@pytest.mark.parametrize("name", MASS)
def test_the_mass_is_that_of_the_robot(name):
    assert sc.load(name).total_mass == pytest.approx(MASS[name], rel=1e-6)


@pytest.mark.parametrize("name", DOFS)
def test_the_dofs_are_those_of_the_robot(name):
    assert sc.load(name).nv == DOFS[name]


@pytest.mark.parametrize("name", ["panda", "ur5e", "iiwa14"])
def test_an_arm_has_bodies_that_touch_nothing_where_they_begin(name):
    mb = sc.load(name)
    bare = [body.name for body in mb.bodies if not len(body.geometries) and not isinstance(body.hinge, sc.Weld)]
    assert not bare
    scene = sc.contact.Scene(mb)
    assert not len(scene.contacts(mb.neutral()))
    Q = np.array([mb.random_state(seed=k, limits=True)[0] for k in range(300)])
    assert 0 < len(set(scene.contacts(Q).state.tolist())) < 150  # folded arms do touch themselves
    assert len(data(name)) < 150_000


@pytest.mark.parametrize(
    ("name", "file"),
    [("panda", "franka_emika_panda/panda_nohand_nomesh.xml"), ("iiwa14", "kuka_iiwa_14/iiwa14_nomesh.xml")],
)
def test_shapes_change_no_dynamics(name, file):
    mb, source = sc.load(name), sc.load(Path(__file__).parents[1] / "data" / "models" / file)
    q, v = mb.random_state(seed=3)
    for of in (sc.dynamics.mass_matrix, sc.dynamics.gravity_force):
        assert np.array_equal(of(mb, q), of(source, q))
    assert np.array_equal(sc.dynamics.bias_force(mb, q, v), sc.dynamics.bias_force(source, q, v))


def test_two_arms_in_one_model_keep_their_pairs_apart():
    both = sc.Multibody("both")
    for side, y in (("left", 0.0), ("right", 3.0)):
        both.add_model(sc.load("panda"), None, sc.Weld(), sc.Pose(translation=(0, y, 0)), prefix=f"{side}_")
    assert not len(sc.contact.Scene(both).contacts(both.neutral()))


@pytest.mark.parametrize(("name", "palm", "grasp"), [("shadow_hand", "rh_palm", "grasp_site"),
                                                     ("robotiq_2f85", "base", "pinch")])  # fmt: skip
def test_hands_have_an_end_effector_of_the_palm_and_all_that_is_on_it(name, palm, grasp):
    mb = sc.load(name)
    (hand,) = (x for x in mb.records if x.kind == "end_effector")
    (group,) = (x for x in mb.records if x.kind == "group")
    assert dict(hand.attributes) == {"parent_link": palm, "group": group.name}
    assert set(group.attributes["links"]) == {x.name for x in mb[palm].subtree()}
    assert f"{palm}/{grasp}" in mb
    rb = sc.robot.Robot(mb)
    rb.read_srdf()
    assert rb.limbs == (hand.name,)


def test_loops_and_couplings():
    counts = {name: (facts.loops, facts.couplings) for name, facts in library.index().items()}
    assert counts["five_bar"] == (1, 0)
    assert counts["delta"] == (3, 0)
    assert counts["cassie"][0] == 4
    assert counts["robotiq_2f85"] == (2, 1)
    assert counts["shadow_hand"][0] == 0
    assert counts["strandbeest"] == (42, 0)
    assert all(counts[name] == (0, 0) for name in ("panda", "ur5e", "iiwa14", "a1", "h1", "anymal_b", "husky"))


@pytest.mark.parametrize("name", NAMES)
def test_the_model_can_be_worked_with(name):
    mb = sc.load(name)
    q, v = mb.random_state(seed=0)
    vdot = np.linspace(-1.0, 1.0, mb.nv)
    force = sc.dynamics.inverse_dynamics(mb, q, v, vdot, ignore_loops=True)
    back = sc.dynamics.forward_dynamics(mb, q, v, force, ignore_loops=True)
    np.testing.assert_allclose(back, vdot, rtol=0, atol=1e-7 * max(1.0, np.abs(force).max()))


# -- making it -----------------------------------------------------------------------------------------------

URDF = """<!-- Software License Agreement (BSD)
in the file itself --><robot name="other"><link name="arm"><inertial><mass value="2"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link></robot>"""


def imported(name, monkeypatch):
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[2] / "scripts" / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, made)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def script(tmp_path, monkeypatch):
    """scripts/make_library.py, which writes into another folder."""
    made = imported("make_library", monkeypatch)
    monkeypatch.setattr(made, "LIBRARY", tmp_path / "library")
    (tmp_path / "library" / "licences").mkdir(parents=True)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "a.urdf").write_text(URDF)
    return made


def test_the_script_makes_a_library(script, tmp_path, monkeypatch):
    source = script.Source("a/a.urdf", "BSD-3-Clause", "somewhere", "A thing.", sc.Free())
    monkeypatch.setattr(script, "SOURCES", {"one": source, "two": source})
    script.main(str(tmp_path), "two")
    script.main(str(tmp_path), "one")
    out = tmp_path / "library"
    index = json.loads((out / "index.json").read_bytes())
    assert [facts["name"] for facts in index] == ["one", "two"]
    assert (index[0]["dofs"], index[0]["licence"]) == (6, "BSD-3-Clause")
    mb = sc.load(out / "one.json")
    assert (mb.name, mb.nv, mb.total_mass) == ("one", 6, 2.0)
    assert {entry.file for entry in mb.import_report.entries} == {"a/a.urdf"}
    assert (out / "licences" / "one.txt").read_text() == "Software License Agreement (BSD)\nin the file itself\n"
    before = (out / "one.json").read_bytes()
    script.main(str(tmp_path), "one")
    assert (out / "one.json").read_bytes() == before
    (tmp_path / "a" / "LICENSE").write_text("mine")
    script.main(str(tmp_path), "one")
    assert (out / "licences" / "one.txt").read_text() == "mine"


def test_a_model_without_a_licence_does_not_get_in(script, tmp_path, monkeypatch):
    (tmp_path / "a" / "a.urdf").write_text(URDF.replace("Software License Agreement", ""))
    monkeypatch.setattr(script, "SOURCES", {"one": script.Source("a/a.urdf", "MIT", "somewhere", "A thing.")})
    with pytest.raises(SystemExit, match="has no licence"):
        script.main(str(tmp_path))
    assert not list((tmp_path / "library").glob("*.json"))


def test_the_script_knows_the_models_of_the_library(script):
    for name, facts in library.index().items():
        source = script.SOURCES[name]
        assert (source.licence, source.source, source.description) == (facts.licence, facts.source, facts.description)
    assert list(script.SOURCES) == NAMES


def test_the_script_puts_capsules_from_end_to_end_and_keeps_pairs_apart(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script, "SHAPES", tmp_path)
    (tmp_path / "a.json").write_text('{"arm": [0.1, [0.5, 0, 0], [0, 0.5, 0.25]]}')
    source = script.Source("a/a.urdf", "MIT", "x", "A thing.", sc.Free(), shapes="a.json", apart="arm arm")
    monkeypatch.setattr(script, "SOURCES", {"one": source})
    script.main(str(tmp_path), "one")
    mb = sc.load(tmp_path / "library" / "one.json")
    (shape,) = mb["arm"].geometries
    assert (shape.kind, shape.size) == ("capsule", (0.1, 0.75))
    ends = [shape.pose.translation + s * 0.375 * shape.pose.rotation[:, 2] for s in (-1, 1)]
    assert np.array(ends) == pytest.approx(np.array([[0.5, 0, 0], [0, 0.5, 0.25]]), abs=1e-12)
    assert np.linalg.det(shape.pose.rotation) == pytest.approx(1.0)
    (pair,) = mb.records
    assert (pair.kind, dict(pair.attributes)) == ("contact exclude", {"body1": "arm", "body2": "arm"})


def test_a_fitted_capsule_covers_a_mesh_and_is_hardly_larger(tmp_path, monkeypatch):
    fit = imported("fit_capsules", monkeypatch)
    rng = np.random.default_rng(0)
    ends = np.array([[0.1, 0.0, -0.2], [0.0, 0.1, 0.3]])
    turned = rng.standard_normal((300, 3))
    points = ends[0] + rng.uniform(size=(300, 1)) * (ends[1] - ends[0])
    points[:80], points[80:160] = ends[0], ends[1]
    points += 0.07 * turned / np.linalg.norm(turned, axis=1)[:, None]
    facets = np.zeros(100, dtype=[("x", "<f4", (4, 3)), ("rest", "<u2")])
    facets["x"][:, 1:] = points.reshape(100, 3, 3)
    (tmp_path / "rod.stl").write_bytes(bytes(80) + (100).to_bytes(4, "little") + facets.tobytes())
    fit.main(str(tmp_path), str(tmp_path / "out.json"))
    radius, *found = json.loads((tmp_path / "out.json").read_text())["rod"]
    assert (fit.distances(points, np.array(found)) <= radius + 1e-6).all()
    assert radius == pytest.approx(0.07, abs=0.002)
    assert np.linalg.norm(np.subtract(*found)) == pytest.approx(np.linalg.norm(ends[1] - ends[0]), abs=0.02)
