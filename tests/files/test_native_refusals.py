"""What the native format refuses: each refusal is a `ModelFileError` with the file, the place and the cure."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import random

import numpy as np
import pytest
from tests.files.full_model import full_model

import soacraft as sc
from soacraft.errors import ModelFileError
from soacraft.files import native
from soacraft.files.native import from_json, read_native, to_json, write_native
from soacraft.model import Entry, ImportReport, Limits, Record

FULL = json.loads(to_json(full_model()))


def document():
    return copy.deepcopy(FULL)


def refused(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    with pytest.raises(ModelFileError) as error:
        from_json(data, "model.json")
    text = str(error.value)
    assert text.startswith("model.json: ")
    return text


def test_the_document_is_read_before_it_is_spoilt():
    assert from_json(json.dumps(document()).encode()).nv == full_model().nv


def _put(*path, value):
    def change(d):
        for key in path[:-1]:
            d = d[key]
        d[path[-1]] = value

    return change


def _drop(*path):
    def change(d):
        for key in path[:-1]:
            d = d[key]
        del d[path[-1]]

    return change


REFUSED = {
    "an unknown field": (_put("weight", value=1), "Object contains unknown field `weight`"),
    "an unknown field of a body": (
        _put("bodies", 2, "colour", value=1),
        "at $.bodies[2]: Object contains unknown field",
    ),
    "no name": (_drop("name"), "Object missing required field `name`"),
    "an empty name": (_put("name", value=" "), "at $: the name of a model must be a non-empty string, got ' '."),
    "a wrong type": (
        _put("bodies", 1, "inertia", "mass", value="heavy"),
        "at $.bodies[1].inertia.mass: Expected `float`",
    ),
    "a null number": (_put("gravity", 1, value=None), "at $.gravity[1]: Expected `float`, got `null`"),
    "a short vector": (_put("gravity", value=[0, 0]), "at $.gravity: Expected `array` of length 3"),
    "an unknown hinge": (
        _put("bodies", 1, "hinge", "kind", value="Knot"),
        "at $.bodies[1].hinge.kind: Invalid value 'Knot'",
    ),
    "a zero axis": (
        _put("bodies", 1, "hinge", "axis", value=[0, 0, 0]),
        "at $.bodies[1].hinge: axis of a Pin must not be zero",
    ),
    "a negative mass": (
        _put("bodies", 3, "inertia", "mass", value=-1),
        "at $.bodies[3].inertia: mass of an Inertia must not be",
    ),
    "a rotation that is none": (
        _put("bodies", 1, "inboard", "rotation", 0, 0, value=0.3),
        "at $.bodies[1].inboard.rotation: is not a rotation: R* R differs from I by",
    ),
    "a reflection": (
        _put("bodies", 1, "outboard", "rotation", value=[[1, 0, 0], [0, 1, 0], [0, 0, -1]]),
        "at $.bodies[1].outboard.rotation: is not a rotation",
    ),
    "a huge rotation": (
        _put("root", "nodes", 0, "pose", "rotation", value=[[1e200, 0, 0], [0, 1, 0], [0, 0, 1]]),
        "at $.root.nodes[0].pose.rotation: is not a rotation",
    ),
    "a body twice": (
        _put("bodies", 4, "name", value="body1"),
        "at $.bodies[4].name: there is a body 'body1' already, in $.bodies[1].",
    ),
    "a hinge twice": (_put("bodies", 3, "hinge_name", value="hinge1"), "at $.bodies[3]: 'fülle' already has a hinge"),
    "a parent that is not there": (
        _put("bodies", 2, "parent", value="nobody"),
        "at $.bodies[2].parent: there is no body 'nobody', the parent of 'body2'.",
    ),
    "a parent that is a node": (
        _put("bodies", 2, "parent", value="body1/a"),
        "at $.bodies[2].parent: there is no body 'body1/a'",
    ),
    "a cycle": (
        _put("bodies", 1, "parent", value="body3"),
        "at $.bodies[1].parent: the parents of the bodies form a circle (body1 -> body3 -> body1); one parent",
    ),
    "a body on itself": (_put("bodies", 7, "parent", value="body7"), "form a circle (body7 -> body7)"),
    "a bad name": (_put("bodies", 11, "name", value=" "), "at $.bodies[11]: the name of a body must not be empty"),
    "a name that finds two": (
        _put("bodies", 11, "name", value="body1/a"),
        "at $.bodies[11]: body 'body1/a' would have the name of node 'a' of 'body1': both would be 'body1/a'",
    ),
    "a node twice": (
        _put("bodies", 1, "nodes", 0, "name", value="a"),
        "at $.bodies[1].nodes[1]: body 'body1' already has a node",
    ),
    "a shape of no kind": (
        _put("root", "geometries", 0, "kind", value="blob"),
        "at $.root.geometries[0]: the kind of geometry 'floor' must be one of",
    ),
    "too many coordinates": (
        _put("bodies", 1, "q", value=[1, 2]),
        "at $.bodies[1].q: has 2 entries, but the hinge has 1 coord",
    ),
    "too few velocities": (
        _put("bodies", 9, "v", value=[1]),
        "at $.bodies[9].v: has 1 entries, but the hinge has 6 dofs.",
    ),
    "a quaternion that is none": (
        _put("bodies", 8, "q", value=[1, 1, 1, 1]),
        "at $.bodies[8].q: q of hinge 'body8' is not a unit",
    ),
    "too many rotors": (_put("bodies", 1, "armature", value=[1, 2]), "at $.bodies[1].armature: has 2 entries"),
    "a negative rotor": (
        _put("bodies", 1, "armature", value=[-1]),
        "at $.bodies[1].armature: the armature of hinge 'hinge1' must",
    ),
    "too many springs": (
        _put("bodies", 1, "passive", "stiffness", value=[1, 2]),
        "at $.bodies[1].passive.stiffness: has 2 entries",
    ),
    "a short rest": (
        _put("bodies", 10, "passive", "rest", value=[0, 0, 0, 1]),
        "at $.bodies[10].passive.rest: has 4 entries",
    ),
    "too few bounds": (_put("bodies", 5, "limits", "upper", value=[1]), "at $.bodies[5].limits.upper: has 1 entries"),
    "children of another": (
        _put("bodies", 0, "children", value=["body1"]),
        "at $.bodies[0].children: must list the bodies on",
    ),
    "a force twice": (
        _put("forces", 1, "at", value="body3/b"),
        "at $.forces[1].at: there is a force at 'body3/b' already.",
    ),
    "a force nowhere": (_put("forces", 1, "at", value="body3/x"), "at $.forces[1]: 'fülle' has no frame 'body3/x'"),
    "axes of nowhere": (_put("forces", 0, "expressed_in", value="x"), "at $.forces[0]: 'fülle' has no frame 'x'"),
    "a loop nowhere": (_put("loops", 0, "a", value="x"), "at $.loops[0]: 'fülle' has no frame 'x'"),
    "a loop twice": (_put("loops", 1, "name", value="ring"), "at $.loops[1]: 'fülle' already has a loop 'ring'"),
    "a loop on one body": (
        _put("loops", 0, "b", value="body3"),
        "at $.loops[0]: loop 'ring': 'body3/b' and 'body3' are both on",
    ),
    "a coupling of nothing": (_put("couplings", 0, "terms", value={"x": [1]}), "at $.couplings[0]: coupling 'gear': "),
    "an actuator of nothing": (_put("actuators", 0, "gears", value={"x": 1}), "at $.actuators[0]: actuator 'motor': "),
    "a short keyframe": (_put("keyframes", 0, "q", value=[1]), "at $.keyframes[0]: q of keyframe 'home' of"),
    "a material twice": (_put("materials", 1, "name", value="steel"), "at $.materials[1]: 'fülle' already has a mat"),
    "null in attributes": (
        _put("records", 0, "attributes", "x", value=None),
        "at $.records[0]: 'x' in the attributes of sensor 'gyro'",
    ),
    "an object in attributes": (
        _put("records", 0, "attributes", "x", value={"a": 1}),
        "at $.records[0]: 'x' in the attributes",
    ),
    "an unknown status": (
        _put("import_report", 0, 5, value="lost"),
        "at $.import_report[0][5]: Invalid enum value 'lost'",
    ),
    "a long report entry": (
        _put("import_report", 0, value=["", 0, "", "", "", "used", "", False, 1]),
        "of at most length 8",
    ),
    "another version": (
        _put("format", value="soacraft-model/2"),
        "is of the format 'soacraft-model/2', this version of soacraft reads 'soacraft-model/1'; "
        "load it with the program that wrote it and save it again, or update soacraft.",
    ),
    "another format": (_put("format", value="urdf"), "is of the format 'urdf', this version of soacraft reads"),
    "no format": (_drop("format"), 'is not a soacraft model: it must be an object with "format": "soacraft-model/1".'),
    "a format that is no text": (_put("format", value=1), "is not a soacraft model"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_with_the_place(case):
    change, text = REFUSED[case]
    spoilt = document()
    change(spoilt)
    assert text in refused(spoilt)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "is not a soacraft model"),
        (b"null", "is not a soacraft model"),
        (b'{"format": "soacraft-model/1"', "Input data was truncated"),
        (b"\xff\xfe", "JSON is malformed"),
        (b'{"format": "soacraft-model/1", "name": "\xff", "gravity": [0, 0, 0]}', "is not UTF-8"),
        (b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, NaN]}', "JSON is malformed"),
        (
            b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, 1e999]}',
            "at $.gravity[2]: Number out of range",
        ),
        (b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, ' + b"9" * 400 + b"]}", "out of range"),
        (
            b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, 1], "name": "y"}',
            "the name 'name' occurs twice",
        ),
        (b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, 1]} more', "trailing characters"),
        (b'{"format": "soacraft-model/1", "x": ' + b"[" * 100_000, "is nested too deeply"),
        (b'{"format": ' + b'{"a":' * 100_000, "nested too deeply"),
        (
            b'{"format": "soacraft-model/1", "name": "x", "gravity": [0, 0, 1], "records": [{"kind": "k", "name": "", '
            b'"attributes": {"x": ' + b"[" * 5000 + b"]" * 5000 + b"}}]}",
            "nested too deeply",
        ),
    ],
)
def test_text_that_is_no_model(data, text):
    if data.startswith(b'{"format": {'):
        assert any(words in refused(data) for words in (text, "is not a soacraft model"))
    else:
        assert text in refused(data)


def test_only_bytes_are_read():
    with pytest.raises(ModelFileError, match=r"<bytes>: a model is read from bytes, got '\{\}'"):
        from_json("{}")


def test_a_model_too_large_to_be_read_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(native, "MAX_BYTES", 100)
    with pytest.raises(ModelFileError, match="bytes, and files of more than 100 bytes are not read"):
        write_native(sc.serial_chain(2), tmp_path / "model.json")
    assert os.listdir(tmp_path) == []


def test_spoilt_files_are_read_or_refused():
    """Whatever is cut out of or put into a file, nothing else than a `ModelFileError` comes of it."""
    rng = random.Random(5)
    junk = [None, True, -1, 0, 1e308, "", "inertial", "body3", [], {}, [1, 2, 3], "\ud800", {"kind": "Free"}, 2**80]
    outcomes = {"read": 0, "refused": 0}
    for _ in range(300):
        spoilt = document()
        for _ in range(rng.randint(1, 2)):
            _spoil(spoilt, rng, junk)
        try:
            mb = from_json(json.dumps(spoilt).encode(), "model.json")
        except ModelFileError:
            outcomes["refused"] += 1
        else:
            outcomes["read"] += 1
            to_json(mb)
    assert min(outcomes.values()) > 20


def _spoil(d, rng, junk):
    while True:
        keys = list(d) if isinstance(d, dict) else list(range(len(d)))
        key = rng.choice(keys)
        if isinstance(d[key], dict | list) and d[key] and rng.random() < 0.85:
            d = d[key]
            continue
        if rng.random() < 0.3:
            del d[key]
        else:
            d[key] = rng.choice(junk)
        return


def test_spoilt_bytes_are_read_or_refused():
    rng = random.Random(6)
    data = to_json(sc.load("hinges"))
    for _ in range(200):
        spoilt = bytearray(data)
        spoilt[rng.randrange(len(data))] = rng.randrange(256)
        with contextlib.suppress(ModelFileError):
            from_json(bytes(spoilt[: rng.choice([len(data), rng.randrange(len(data))])]))


# -- writing -------------------------------------------------------------------------------------------------


class Track(sc.Pin):
    """A hinge of one's own."""


def test_a_hinge_of_ones_own_is_refused_by_name():
    mb = sc.serial_chain(2)
    mb.add_body("car", None, Track((0, 0, 1)), hinge_name="round")
    with pytest.raises(ModelFileError, match=r"hinge 'round' is a Track, a class of your own, .* knows Weld, Pin, "):
        to_json(mb)
    mb = sc.serial_chain(2)
    mb.close_loop("ring", "inertial", "link2", Track((0, 0, 1)))
    with pytest.raises(ModelFileError, match="the hinge of loop 'ring' is a Track"):
        to_json(mb)


def test_what_could_not_be_read_is_not_written():
    mb = sc.serial_chain(1)
    mb.body("link1").inboard = sc.Pose.unchecked(np.eye(3) * (1 + 1e-9), np.zeros(3))
    with pytest.raises(ModelFileError, match="inboard of body 'link1' has a rotation that is off orthonormal by 2e-09"):
        to_json(mb)
    mb = sc.serial_chain(1)
    mb.body("link1").limits = Limits(upper=-np.inf)
    with pytest.raises(ModelFileError, match="upper of the limits of hinge 'link1' is -inf, which no motion can meet"):
        to_json(mb)
    mb = sc.serial_chain(1)
    mb.add_record(Record("k", "\ud800"))
    with pytest.raises(ModelFileError, match="'chain' cannot be written as JSON: 'utf-8' codec can't encode"):
        to_json(mb)
    mb = sc.serial_chain(1)
    mb.import_report = ImportReport([Entry("a", "line", "", "", "", "used", "", False)])
    with pytest.raises(ModelFileError, match="'chain' cannot be written as JSON: Expected `int`, got `str`"):
        to_json(mb)
    with pytest.raises(ModelFileError, match="a Multibody is saved, got SubGraph"):
        to_json(sc.serial_chain(2).subgraph(["link1"]))


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.json"
    write_native(sc.serial_chain(1), path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", _no_space)
    with pytest.raises(ModelFileError, match=r"cannot write '.*model.json': No space left on device\."):
        write_native(sc.serial_chain(2), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.json"]
    monkeypatch.undo()
    write_native(sc.serial_chain(2), path)
    assert len(read_native(path)) == 2
    assert os.listdir(tmp_path) == ["model.json"]


def _no_space(*_):
    raise OSError(28, "No space left on device")


def test_a_link_is_replaced_and_what_it_names_is_left_alone(tmp_path):
    target, link = tmp_path / "precious.json", tmp_path / "link.json"
    target.write_text("precious")
    link.symlink_to(target)
    write_native(sc.serial_chain(1), link)
    assert target.read_text() == "precious"
    assert not link.is_symlink()


def test_where_a_file_cannot_be_written(tmp_path):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(ModelFileError, match="it is a folder; give the name of a file"):
        write_native(sc.serial_chain(1), tmp_path / "folder.json")
    with pytest.raises(ModelFileError, match="No such file or directory"):
        write_native(sc.serial_chain(1), tmp_path / "none" / "model.json")
    with pytest.raises(ModelFileError, match="null"):
        write_native(sc.serial_chain(1), tmp_path / "a\0b.json")
    with pytest.raises(ModelFileError, match="File name too long"):
        write_native(sc.serial_chain(1), tmp_path / f"{'x' * 300}.json")
    assert os.listdir(tmp_path) == ["folder.json"]


def test_files_that_are_not_read(tmp_path):
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(65 * 2**20)
    os.mkfifo(tmp_path / "pipe.json")
    for path in (huge, tmp_path, tmp_path / "pipe.json", tmp_path / "none.json", tmp_path / "a\0b.json"):
        with pytest.raises(ModelFileError):
            read_native(path)
