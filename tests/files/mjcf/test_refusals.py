"""Files that are wrong or mean harm: a clear answer, and never the end of the interpreter."""

import os
import random
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import pytest
from tests.files.mjcf.peer import MODELS

from soacraft.errors import ModelFileError
from soacraft.files.mjcf import read_mjcf

DATA = Path(__file__).parent / "data"
BALL = '<body name="ball"><freejoint/><geom name="skin" type="mesh" mesh="shape"/></body>'


def model(inside="", head=""):
    return f"<mujoco>\n{head}\n<worldbody>\n{inside}\n</worldbody>\n</mujoco>"


def refusal(folder, text, **options):
    (folder / "m.xml").write_text(text)
    with pytest.raises(ModelFileError) as caught:
        read_mjcf(folder / "m.xml", **options)
    return str(caught.value).replace(f"{folder.resolve()}/", "").replace(f"{folder}/", "")


WRONG = {
    "entities": ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "m.xml:1: a document type declaration"),
    "not MJCF": ("<robot/>", "m.xml:1: <robot>: the root element of an MJCF file is <mujoco>."),
    "broken": ("<mujoco>\n<worldbody>\n</mujoco>", "m.xml:3: is not well-formed XML"),
    "empty": ("", "m.xml: is empty."),
    "nan": (
        model('<body><joint armature="nan"/></body>'),
        "m.xml:4: <joint>: armature=\"nan\" must be finite numbers, got 'nan'.",
    ),
    "overflow": (model('<geom size="1e999"/>'), "m.xml:4: <geom>: size=\"1e999\" must be finite numbers, got '1e999'."),
    "no mass": (
        model('<body name="b"><joint/></body>'),
        "m.xml:4: <body name='b'>: MuJoCo refuses it: mass and inertia of moving bodies",
    ),
    "no size": (
        model('<geom name="g" type="box" size="1"/>'),
        "m.xml:4: <geom name='g'>: MuJoCo refuses it: size 1 must be positive",
    ),
    "no such joint": (
        model("", '<actuator><motor joint="x"/></actuator>'),
        "m.xml:2: <motor>: MuJoCo refuses it: unknown transmission target 'x'",
    ),
    "twice": (model('<body name="a"/><body name="a"/>'), "MuJoCo refuses it: repeated name 'a' in body"),
    "plugin": (
        model("", '<extension><plugin plugin="mujoco.sdf.nut"/></extension>'),
        "m.xml:2: <plugin>: plugins are programs and are not loaded",
    ),
    "actuator plugin": (model("", "<actuator><plugin/></actuator>"), "m.xml:2: <plugin>: plugins are programs"),
    "missing include": (
        model("", '<include file="x.xml"/>'),
        "m.xml:2: <include>: the included file 'x.xml' is not there",
    ),
    "include without file": (model("", "<include/>"), "m.xml:2: <include>: needs the attribute 'file'."),
    "include of itself": (model("", '<include file="m.xml"/>'), "m.xml:2: <include>: 'm.xml' includes itself."),
    "attached to itself": (
        model("", '<asset><model file="m.xml"/></asset>'),
        "m.xml:2: <model>: 'm.xml' attaches itself.",
    ),
    "absolute include": (
        model("", '<include file="/etc/passwd"/>'),
        "m.xml:2: <include>: the path '/etc/passwd' is absolute",
    ),
    "include above": (
        model("", '<include file="../secret.xml"/>'),
        "m.xml:2: <include>: the path '../secret.xml' leads out of",
    ),
    "model above": (model("", '<asset><model file="../x.xml"/></asset>'), "<model>: the path '../x.xml' leads out of"),
    "too many": (
        model('<replicate count="19999"><body><joint/></body></replicate>'),
        "makes the model too large to read",
    ),
    "too many, nested": (
        model('<replicate count="999"><replicate count="999"><site/></replicate></replicate>'),
        "too large to read",
    ),
    "too many copies": (model('<replicate count="1e9"/>'), 'm.xml:4: <replicate>: count="1e9" is more than 20000.'),
    "states": (
        model("", '<actuator><general actdim="1000000000"/></actuator>'),
        '<general>: actdim="1000000000" is more than 1000.',
    ),
    "fine mesh": (
        model("", '<asset><mesh name="m" builtin="supersphere" params="99999 1 1"/></asset>'),
        'params="99999 1 1" is more than 256.',
    ),
    "long name": (model(f'<body name="{"x" * 2000}"/>'), "name has 2000 characters, more than 1000."),
    "deep": (model("<body>" * 300 + "</body>" * 300), "elements are nested more than 256 deep."),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files(name, tmp_path):
    text, why = WRONG[name]
    assert why in refusal(tmp_path, text)


def test_a_mesh_that_an_inertia_needs(tmp_path):
    head = '<asset><mesh name="shape" file="shape.stl"/></asset>'
    assert refusal(tmp_path, model(BALL, head)) == (
        "m.xml:4: <geom name='skin'>: the inertia of body 'ball' comes from its shapes, and geom 'skin' is the mesh "
        "'shape', whose file 'shape.stl' is not there; give the body an <inertial>, or the file (mesh_roots=...). "
        "With lenient=True the file is read all the same, and this is a line of its report."
    )
    (tmp_path / "shape.stl").write_bytes(b"solid nonsense" * 20)
    assert "MuJoCo refuses it:" in refusal(tmp_path, model(BALL, head))


@pytest.mark.parametrize("shape", ['mass="0"', 'density="0"', 'group="4"'])
def test_a_mesh_that_no_inertia_needs(tmp_path, shape):
    head = '<compiler inertiagrouprange="0 2"/><asset><mesh name="shape" file="shape.stl"/></asset>'
    body = f'<body><joint/><geom size="1"/><geom type="mesh" mesh="shape" {shape}/></body>'
    (tmp_path / "m.xml").write_text(model(body, head))
    assert read_mjcf(tmp_path / "m.xml").total_mass == pytest.approx(4000 * 3.141592653589793 / 3)


def test_a_shape_to_be_fitted_to_a_missing_mesh_is_kept_as_the_mesh(tmp_path):
    head = '<asset><mesh name="shape" file="shape.stl"/></asset>'
    inertial = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
    body = f'<body name="b"><joint/>{inertial}<geom name="g" type="box" mesh="shape"/></body>'
    (tmp_path / "m.xml").write_text(model(body, head))
    shape = read_mjcf(tmp_path / "m.xml").body("b").geometries["g"]
    assert (shape.kind, shape.mesh) == ("mesh", "shape.stl")


def test_mesh_roots(tmp_path):
    for name in ("robot", "meshes", "elsewhere"):
        (tmp_path / name).mkdir()
    wedge = (DATA / "parts" / "wedge.obj").read_bytes()
    (tmp_path / "meshes" / "shape.obj").write_bytes(wedge)
    text = model(BALL, '<compiler meshdir="../meshes"/><asset><mesh name="shape" file="shape.obj"/></asset>')
    assert "leads out of the folders" in refusal(tmp_path / "robot", text)
    roots = [tmp_path / "meshes"]
    plain = text.replace("../meshes", "assets")
    (tmp_path / "robot" / "m.xml").write_text(plain)
    mb = read_mjcf(tmp_path / "robot" / "m.xml", mesh_roots=roots)
    assert mb.body("ball").geometries["skin"].mesh == str((tmp_path / "meshes" / "shape.obj").resolve())


def test_a_link_that_leads_out_is_refused(tmp_path):
    (tmp_path / "robot").mkdir()
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    os.symlink(tmp_path / "secret.xml", tmp_path / "robot" / "inner.xml")
    assert "leads out of" in refusal(tmp_path / "robot", model("", '<include file="inner.xml"/>'))


def test_attached_models_that_multiply(tmp_path):
    """Six files, each with the next one twenty times: 64 million bodies."""
    for i in range(6):
        head = f'<asset><model name="m" file="m{i + 1}.xml"/></asset>' if i < 5 else ""
        inside = "".join(f'<attach model="m" body="b" prefix="p{k}"/>' for k in range(20)) if i < 5 else ""
        (tmp_path / f"m{i}.xml").write_text(model(f'<body name="b">{inside}</body>', head))
    with pytest.raises(ModelFileError, match="<attach>: makes the model too large"):
        read_mjcf(tmp_path / "m0.xml")
    assert len(read_mjcf(tmp_path / "m3.xml")) == 421


def test_what_would_fill_the_memory_is_not_given_to_mujoco(tmp_path):
    head = (
        '<size memory="100000G" nkey="2000000000" nuserdata="2000000000"/><asset><texture name="t" builtin="flat" '
        'width="1000000" height="1000000"/><hfield name="h" nrow="1000000" ncol="1000000" size="1 1 1 1"/></asset>'
        '<sensor><user dim="2000000000"/></sensor><custom><numeric name="n" size="2000000000"/></custom>'
    )
    (tmp_path / "m.xml").write_text(model('<geom type="hfield" hfield="h"/>', head))
    assert len(read_mjcf(tmp_path / "m.xml").records) == 4


def test_not_a_file(tmp_path):
    for path, why in ((tmp_path, "is a folder"), (tmp_path / "x.xml", "there is no such file")):
        with pytest.raises(ModelFileError, match=why):
            read_mjcf(path)
    with pytest.raises(ModelFileError, match="a model file is given by its path, got 3"):
        read_mjcf(3)


def test_without_mujoco(monkeypatch, tmp_path):
    def missing(name, *args):
        raise ImportError("No module named 'mujoco'")

    monkeypatch.setattr("importlib.import_module", missing)
    assert refusal(tmp_path, model()) == (
        "m.xml: reading MJCF needs the package mujoco (No module named 'mujoco'); "
        "install it with: pip install soacraft[mjcf]"
    )


def test_mujoco_is_imported_when_a_file_is_read():
    code = "import sys, soacraft.files.mjcf; sys.exit('mujoco' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_mujoco_is_quiet(tmp_path, monkeypatch, capfd, recwarn):
    """Its warnings are lines of the report; nothing is printed and no log file is written."""
    monkeypatch.chdir(tmp_path)
    before = mujoco.get_mju_user_warning()
    mb = read_mjcf(MODELS / "gymnasium_mujoco" / "half_cheetah.xml")
    assert [e.note for e in mb.import_report.entries if "MuJoCo warns: compiler attribute 'settotalmass'" in e.note]
    with pytest.raises(ModelFileError):
        read_mjcf(MODELS / "robotiq_2f85" / "2f85.xml")
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    assert not recwarn.list
    assert mujoco.get_mju_user_warning() is before


def test_mujoco_opens_nothing(monkeypatch, tmp_path):
    """A mesh with the right name in the working folder is not taken for the one that is missing."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot").mkdir()
    for name in ("shape.obj", "mesh0.obj"):
        (tmp_path / name).write_bytes((DATA / "parts" / "wedge.obj").read_bytes())
    text = model(BALL, '<asset><mesh name="shape" file="shape.obj"/></asset>')
    assert "whose file 'shape.obj' is not there" in refusal(tmp_path / "robot", text)


VALUES = "|0|-1|1e308|1e-308|2147483648|-99999999999|true|x y|0 0 0|1 0 0 0|free|mesh|hfield|world|é|1 2 3 4 5".split(
    "|"
)


def mutated(root, rng):
    """The file with a few things changed, taken away, doubled or renamed."""
    elements = list(root.iter())
    parents = {child: parent for parent in elements for child in parent}
    names = [x.get("name") for x in elements if x.get("name")]
    for _ in range(rng.choice([1, 2, 4])):
        element, other = rng.choice(elements), rng.choice(elements)
        attributes = list(element.attrib)
        change = rng.randrange(6)
        if change == 0 and attributes:
            element.set(rng.choice(attributes), rng.choice(VALUES))
        elif change == 1 and attributes:
            element.set(rng.choice(attributes), rng.choice(names))
        elif change == 2 and other.attrib:
            element.set(rng.choice(list(other.attrib)), rng.choice(VALUES + names))
        elif change == 3 and element in parents and element in list(parents[element]):
            parents[element].remove(element)
        elif change == 4:
            other.append(ElementTree.fromstring(ElementTree.tostring(element)))
        else:
            element.tag = other.tag
    return ElementTree.tostring(root)


def test_changed_files_are_read_or_refused(tmp_path):
    """Anything but a model or a `ModelFileError` fails here."""
    read, messages = 0, []
    (tmp_path / "parts").mkdir()
    for name in ("claw.xml", "parts/mast.xml", "parts/wedge.obj"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    files = [DATA / "everything.xml", MODELS / "mujoco_model" / "car.xml", MODELS / "gymnasium_mujoco" / "ant.xml"]
    for seed in range(150):
        rng = random.Random(seed)
        data = bytearray(mutated(ElementTree.parse(rng.choice(files)).getroot(), rng))
        if seed % 10 == 0:
            data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / "m.xml").write_bytes(data)
        try:
            read_mjcf(tmp_path / "m.xml")
            read += 1
        except ModelFileError as problem:
            messages.append(str(problem))
    assert all(str(tmp_path) in text for text in messages)
    assert 20 < read < 130
