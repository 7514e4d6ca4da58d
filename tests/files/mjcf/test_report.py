"""Every element and attribute shows in the report; each handler earns its place."""

from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.files.mjcf.peer import MODELS

from soacraft.errors import ModelFileError
from soacraft.files.mjcf import HANDLERS, read_mjcf
from soacraft.files.mjcf.walk import HARMLESS, child_key

DATA = Path(__file__).parent / "data"
FILES = [DATA / "everything.xml", MODELS / "agility_cassie" / "cassie.xml", MODELS / "mujoco_model" / "arm26.xml"]
UNKNOWN = """<mujoco>
<wings span="3"><feather/></wings>
<worldbody><body><joint spin="2"/><geom size="1"/></body></worldbody>
</mujoco>"""


def keys_of(path):
    """The handlers' keys and the attributes of the elements of a file, with what it includes and attaches."""
    found = Counter()
    waiting = [(ElementTree.parse(path).getroot(), None)]
    while waiting:
        element, parent = waiting.pop()
        key = "mujoco" if parent is None else child_key("" if parent == "mujoco" else parent, element.tag)
        if element.tag == "include":
            key = "include"
            included = ElementTree.parse(path.parent / element.get("file")).getroot()
            waiting += [(child, parent) for child in included]
        if key == "asset/model":
            found += keys_of(path.parent / element.get("file"))
        found.update([(key, ""), *((key, name) for name in element.attrib)])
        waiting += [(child, key) for child in element]
    return found


def told(report):
    """The elements and attributes that have a line."""
    return {(entry.element.removeprefix("mujoco/"), entry.attribute) for entry in report.entries}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_everything_is_told(path):
    report = read_mjcf(path).import_report
    assert set(keys_of(path)) <= told(report)
    assert all(Path(entry.file).exists() and entry.line > 0 for entry in report.entries)
    assert not report.lost


def test_lines_and_files():
    report = read_mjcf(DATA / "everything.xml").import_report
    bodies = [e for e in report.entries if e.element == "mujoco/body" and e.name in ("vane", "finger")]
    where = {(Path(e.file).name, e.line) for e in bodies}
    assert where == {("mast.xml", 4), ("claw.xml", 7)}


def test_what_is_not_known_is_lost(tmp_path):
    (tmp_path / "m.xml").write_text(UNKNOWN)
    lost = read_mjcf(tmp_path / "m.xml").import_report.lost
    assert [(e.element, e.attribute) for e in lost] == [
        ("mujoco/wings", ""), ("mujoco/wings", "span"), ("mujoco/wings/feather", ""), ("mujoco/body/joint", "spin"),
    ]  # fmt: skip


def test_flexible_bodies_are_lost(tmp_path):
    text = '<mujoco><worldbody><flexcomp name="jelly" type="grid" count="3 3 3" radius="0.1"/></worldbody></mujoco>'
    (tmp_path / "m.xml").write_text(text)
    assert {e.element for e in read_mjcf(tmp_path / "m.xml").import_report.lost} == {"mujoco/body/flexcomp"}


# the model cannot be without these: something else in the file needs them
NEEDED = {
    "mujoco": "the root element has no handler.",
    "compiler": "whose file 'wedge.obj' is not there",
    "default": "unknown default class name 'strong'",
    "asset": "could not find model 'claw'",
    "asset/hfield": "hfield 'hills' not found",
    "asset/material": "material 'plain' not found",
    "asset/mesh": "mesh 'seen' not found",
    "asset/model": "could not find model 'claw'",
    "worldbody": "geom 'skirt' not found",
    "body": "geom 'skirt' not found",
    "body/freejoint": "unknown transmission target 'base'",
    "body/geom": "geom 'skirt' not found",
    "body/inertial": "the inertia of body 'torso' comes from its shapes",
    "body/joint": "joint 'yaw' not found",
    "body/site": "site 'dock' not found",
    "frame": "joint 'hip' not found",
    "tendon": "unknown element 'cable' in equality",
    "tendon/fixed": "unknown element 'cable' in equality",
    "tendon/fixed/joint": "path cannot be empty",
    "tendon/spatial": "unknown element 'rope' in equality",
    "tendon/spatial/site": "spatial path must contain at least two objects",
}
PRESENT = sorted({key for key, _ in keys_of(DATA / "everything.xml")})


@pytest.mark.parametrize("key", PRESENT)
def test_without_its_handler_an_element_is_ignored(key, monkeypatch):
    monkeypatch.delitem(HANDLERS, key)
    if key in NEEDED:
        with pytest.raises(ModelFileError) as caught:
            read_mjcf(DATA / "everything.xml")
        assert NEEDED[key] in str(caught.value)
        return
    report = read_mjcf(DATA / "everything.xml").import_report
    element = key if key == "mujoco" else f"mujoco/{key}"
    entries = [e for e in report.entries if e.element == element and not e.attribute]
    assert entries
    harmless = any(key == each or key.startswith(f"{each}/") for each in HARMLESS)
    ignored = [e for e in entries if e.status == "ignored"]
    assert ignored
    assert all(e.dynamic is not harmless for e in ignored)


def test_most_handlers_are_tried_here():
    """Left out: most sensors, plugins (refused), actuators of the newest MuJoCo, and skins in two more places."""
    rest = set(HANDLERS) - set(PRESENT)
    assert {key for key in rest if not key.startswith("sensor/") and not key.endswith("plugin")} == {
        "actuator/dcmotor", "actuator/orientation", "actuator/pid", "default/dcmotor", "default/orientation",
        "default/pid", "deformable", "deformable/skin", "deformable/skin/bone", "extension", "default/material/layer",
        "tendon/spatial/geom",
    }  # fmt: skip
