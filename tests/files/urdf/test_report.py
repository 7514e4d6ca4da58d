"""Nothing is dropped without a line in the report."""

from collections import Counter

import pytest
from tests.files.urdf.everything import EVERYTHING
from tests.files.urdf.models import FILES, MODELS, robot, write

from soacraft.errors import ModelFileError
from soacraft.files.urdf import HANDLERS, handlers, read_urdf
from soacraft.files.urdf.reading import inner
from soacraft.files.xml_tree import read_xml


def places(data):
    """How often each element and attribute stands on each line of a file."""
    found = Counter()
    for element, path in inner(read_xml(data, ""), "robot"):
        found[(element.line, path, "")] += 1
        found.update((element.line, path, attribute) for attribute in element.attributes)
    return found


@pytest.mark.parametrize("file", FILES)
def test_every_element_and_attribute_has_a_line(file):
    mb = read_urdf(MODELS / file)
    said = Counter((e.line, e.element, e.attribute) for e in mb.import_report.entries if e.file.endswith(".urdf"))
    assert not places((MODELS / file).read_bytes()) - said
    assert all(entry.note for entry in mb.import_report.entries if entry.status != "used")


@pytest.mark.parametrize("file", FILES)
def test_nothing_of_the_model_files_is_lost(file):
    assert read_urdf(MODELS / file).import_report.lost == ()


def test_the_file_of_all_elements_meets_every_handler(tmp_path):
    report = read_urdf(write(tmp_path, EVERYTHING)).import_report
    assert {entry.element for entry in report.entries if entry.status != "ignored"} >= set(HANDLERS)
    assert not places(EVERYTHING.encode()) - Counter((e.line, e.element, e.attribute) for e in report.entries)
    lost = {(entry.element, entry.attribute) for entry in report.lost}
    assert lost == {("robot/unknown", ""), ("robot/unknown", "what"), ("robot/unknown/deeper", "")}


NEEDED = {
    "robot": "has no <link>",
    "robot/link": "has no <link>",
    "robot/joint": "root links",
    "robot/joint/parent": "needs a <parent",
    "robot/joint/child": "needs a <child",
    "robot/link/inertial/mass": "needs a <mass>",
    "robot/link/inertial/inertia": "needs a <inertia>",
    "robot/loop_joint/axis": "needs an <axis>",
    "robot/loop_joint/link1": "needs an <axis>, a <link1>",
    "robot/loop_joint/link2": "a <link2>",
}
"""Elements without which there is no model, and what is said then."""


@pytest.mark.parametrize("path", HANDLERS)
def test_without_its_handler_an_element_shows_as_ignored(path, tmp_path, monkeypatch):
    monkeypatch.delitem(handlers.HANDLERS, path)
    file = write(tmp_path, EVERYTHING)
    if path in NEEDED:
        with pytest.raises(ModelFileError, match=NEEDED[path]):
            read_urdf(file)
        return
    entries = read_urdf(file).import_report.entries
    below = [e for e in entries if e.element == path or e.element.startswith(f"{path}/")]
    assert below
    assert {entry.status for entry in below} == {"ignored"}
    seen = places(EVERYTHING.encode())
    count = sum(n for (_, at, _), n in seen.items() if at == path or at.startswith(f"{path}/"))
    assert len(below) == count
    still = any(part in path for part in ("visual", "material", "collision", "limit", "contact", "sensor"))
    assert all(entry.dynamic is not still for entry in below)


def test_unknown_attributes_and_texts_show(tmp_path):
    text = robot('<link name="a" colour="red" xmlns:x="y">stray</link>')
    report = read_urdf(write(tmp_path, text)).import_report
    lines = {(e.attribute, e.status, e.dynamic): e.note for e in report.entries if e.element == "robot/link"}
    assert lines[("colour", "ignored", True)] == "URDF has no such attribute here"
    assert lines[("xmlns:x", "ignored", False)] == "is about names of elements"
    assert lines[("", "ignored", False)] == "the text 'stray' means nothing here"


def test_entries_say_where(tmp_path):
    path = write(tmp_path, EVERYTHING)
    report = read_urdf(path).import_report
    (limit,) = [e for e in report.entries if (e.element, e.attribute) == ("robot/joint/limit", "upper")]
    assert (limit.file, limit.line, limit.name, limit.status) == (str(path), limit.line, "elbow", "used")
    assert 'upper="1"' in EVERYTHING.splitlines()[limit.line - 1]
    assert "robot/unknown" in repr(report)
