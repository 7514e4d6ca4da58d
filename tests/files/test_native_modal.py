"""Flexible bodies through model files: every bit comes back, data stay shared; side files that are not as they were
saved are refused by text."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.files.flexible_model import station
from tests.model.modal.trees import flexible_tree, random_modal
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import ModelFileError
from soacraft.files.native import from_json, same, to_json
from soacraft.files.native_modal import SMALL

BODIES = (-1, 0, 0, 1, 2, 3)
HINGES = (sc.Pin((0, 0.6, 0.8)), sc.Spherical(), sc.Weld())


def test_every_bit_comes_back_and_data_stay_shared(tmp_path):
    for mb in (station(), station(modes=12, points=400)):  # the second has side files
        bytes_of = to_json(mb)
        inside = from_json(bytes_of, "there.json")
        assert same(mb, inside) == []
        assert to_json(inside) == bytes_of
        sc.save(mb, tmp_path / "station.json")
        back = sc.load(tmp_path / "station.json")
        assert same(mb, back) == []
        for twin in (inside, back):
            assert twin["left"].modal is twin["right"].modal is not twin["truss"].modal
            assert [x.name for x in twin["right"].nodes] == ["tip"]
            assert twin["truss/dock"].modal_node is twin["truss"].modal.node("tip") is twin["right"]._rides
            assert twin["left"]._held is twin["left"].modal.node("root")
            np.testing.assert_array_equal(twin.q, mb.q)
            for k in range(len(mb)):
                assert np.asarray(mb.sko().M(k)).tobytes() == np.asarray(twin.sko().M(k)).tobytes()
                assert np.asarray(mb.sko().b(k)).tobytes() == np.asarray(twin.sko().b(k)).tobytes()
            assert mb.pose("camera").as_matrix().tobytes() == twin.pose("camera").as_matrix().tobytes()
    sc.save(back, tmp_path / "again.json")
    written = (tmp_path / "again.json").read_bytes()
    assert written.replace(b"again.", b"station.") == (tmp_path / "station.json").read_bytes()


@given(seed=st.integers(0, 10**6))
@tries(15)
def test_random_flexible_trees(seed):
    mb = flexible_tree(BODIES, seed, HINGES, geometric=bool(seed % 2))
    back = from_json(to_json(mb))
    assert same(mb, back) == []
    assert to_json(back) == to_json(mb)


def test_same_sees_what_differs():
    mb, other = station(), station()
    assert same(mb, other) == []
    other["truss/dock"].pose = sc.Pose()
    assert [x.partition(":")[0] for x in same(mb, other)] == ["body 'truss'"]
    twin = sc.Multibody("station")
    twin.add_body("truss", None, sc.Free(), modal=random_modal(np.random.default_rng(6), 1))
    single = sc.Multibody("station")
    single.add_body("truss", None, sc.Free(), modal=random_modal(np.random.default_rng(7), 1))
    places = {x.partition(": ")[2].partition(":")[0] for x in same(twin, single)}
    assert {"mass", "N", "node1.gam2", "K"} <= places


def test_large_arrays_are_in_a_file_of_plain_arrays_next_to_the_model(tmp_path):
    mb = station(modes=12, points=400)
    sc.save(mb, tmp_path / "station.json")
    side = next(tmp_path.glob("*.npz"))
    told = json.loads((tmp_path / "station.json").read_bytes())["modal"]
    assert [x["name"] for x in told] == ["truss", "left"]
    assert "file" not in told[0]
    assert told[1]["file"] == side.name
    assert told[1]["sha256"] == hashlib.sha256(side.read_bytes()).hexdigest()
    assert side.name.startswith(f"station.{told[1]['sha256'][:16]}")
    with np.load(side, allow_pickle=False) as arrays:
        assert all(x.size > SMALL for x in arrays.values())
        np.testing.assert_array_equal(arrays["shapes"], mb["left"].modal.shapes)
        assert not set(arrays) & set(told[1]["arrays"])
    sc.save(mb, tmp_path / "station.json")  # again: nothing is left over
    assert sorted(x.name for x in tmp_path.iterdir()) == sorted(["station.json", side.name])


def test_a_body_without_geometric_stiffening_says_so_at_every_load(tmp_path):
    mb = station()
    assert mb.import_report is None
    sc.save(mb, tmp_path / "a.json")
    back = sc.load(tmp_path / "a.json")
    sc.save(back, tmp_path / "b.json")
    for file, model in (("a.json", back), ("b.json", sc.load(tmp_path / "b.json", strict=True))):
        entry, = model.import_report.entries
        assert (entry.file, entry.name, entry.status) == (str(tmp_path / file), "truss", "ignored")
        assert "neither stiffens nor buckles it. Reduce it again with geometric=True" in entry.note
        assert "geometric stiffening" in repr(model.import_report)


@pytest.mark.parametrize("suffix", ["urdf", "xml", "sdf", "mjcf"])
def test_other_formats_hold_no_modes(tmp_path, suffix):
    mb, file = station(), tmp_path / f"station.{suffix}"
    before = to_json(mb)
    text = "cannot write .*: body 'truss' is flexible, and URDF, MJCF and SDF hold no modes; save it as .json"
    with pytest.raises(ModelFileError, match=text):
        sc.save(mb, file)
    assert not file.exists()
    assert to_json(mb) == before


# -- side files that are not as they were saved ----------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    sc.save(station(modes=12, points=400), folder / "station.json")
    return folder / "station.json", next(folder.glob("*.npz"))


def refused(file, text):
    """The model is not loaded, with this text, and no file changed."""
    before = {x: x.read_bytes() for x in file.parent.iterdir() if x.is_file()}
    with pytest.raises(ModelFileError, match=text) as caught:
        sc.load(file)
    assert str(file) in str(caught.value)
    assert {x: x.read_bytes() for x in file.parent.iterdir() if x.is_file()} == before
    return str(caught.value)


def rewritten(file, side, change):
    """Another side file with the right SHA-256; `change` gets its arrays."""
    with np.load(side) as arrays:
        kept = dict(arrays)
    change(kept)
    out = io.BytesIO()
    np.savez(out, **kept)
    named(file, side, out.getvalue())


def named(model_file, side, content, **changed):
    """Put content in the side file, and its SHA-256 and what else into the model."""
    side.write_bytes(content)
    model = json.loads(model_file.read_bytes())
    model["modal"][1] |= {"sha256": hashlib.sha256(content).hexdigest()} | changed
    model_file.write_text(json.dumps(model))


def test_a_side_file_that_is_missing(saved):
    file, side = saved
    side.unlink()
    text = refused(file, r"at \$\.modal\[1\]\.file: .*there is no such file. It is part of the model: move both")
    assert str(side) in text


def test_a_side_file_that_changed(saved):
    file, side = saved
    content = bytearray(side.read_bytes())
    content[len(content) // 2] ^= 1
    side.write_bytes(content)
    new = hashlib.sha256(content).hexdigest()
    refused(file, rf"has changed: its SHA-256 is {new}, the model was saved with '[0-9a-f]{{64}}'. Bring back the file")


def test_a_side_file_that_is_too_large(saved, monkeypatch):
    file, side = saved
    size = side.stat().st_size
    monkeypatch.setattr("soacraft.files.native_modal.LARGEST", size - 1)
    refused(file, rf"has {size} bytes, but at most {size - 1} are read")
    before = sorted(file.parent.iterdir())
    with pytest.raises(ModelFileError, match=r"side files of more than .* bytes are not read; leave out points"):
        sc.save(station(modes=12, points=400), file.parent / "other.json")
    assert sorted(file.parent.iterdir()) == before


def test_a_side_file_outside_of_the_folder(saved):
    file, side = saved
    outside = side.parent.parent / side.name
    content = side.read_bytes()
    side.rename(outside)
    named(file, outside, content, file=f"../{side.name}")
    refused(file, r"the path '\.\./station.*' leads out of the folders that may be read")
    named(file, outside, content, file=str(outside))
    refused(file, "the path '.*' is absolute; write it relative to the file")
    named(file, outside, content, file=side.name)
    side.symlink_to(outside)
    refused(file, "leads out of the folders that may be read")
    named(file, outside, content, file="")
    refused(file, "must be 1 to 4096 characters")


def test_a_side_file_with_other_arrays(saved):
    file, side = saved
    good, model = side.read_bytes(), file.read_bytes()
    cases = {
        "an array holds object, not numbers": lambda x: x.update(Q=np.array([{}], dtype=object)),
        "an array holds <U1, not numbers": lambda x: x.update(Q=np.array(["a"])),
        "the array 'Q' is missing": lambda x: x.pop("Q"),
        "the array 'evil' belongs to no modal data": lambda x: x.update(evil=np.zeros(3)),
        r"Q of modal data must have shape \(12, 12, 3, 3\), got shape \(3, 3\)": lambda x: x.update(Q=np.eye(3)),
        "shapes of modal data must be finite": lambda x: x.update(shapes=x["shapes"] * np.inf),
        "array 'K' is in the model and in its side file": lambda x: x.update(K=np.eye(12)),
        "the modal mass of 'mode1' and 'mode1' is .* but the trace of Q is": lambda x: x.update(Q=2 * x["Q"]),
    }
    for text, change in cases.items():
        side.write_bytes(good)
        file.write_bytes(model)
        rewritten(file, side, change)
        refused(file, text)
    packed = io.BytesIO()
    np.savez_compressed(packed, Q=np.zeros(10**6))
    named(file, side, packed.getvalue())
    refused(file, "'Q.npy' is compressed, and only plain arrays are read")
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as archive, zipfile.ZipFile(io.BytesIO(good)) as source:
        archive.writestr("Q.npy", source.read("Q.npy"))
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("Q.npy", source.read("Q.npy"))
    named(file, side, twice.getvalue())
    refused(file, "the name of an array occurs twice")
    named(file, side, b"not a zip file")
    refused(file, "is damaged: File is not a zip file")
    with pytest.raises(ModelFileError, match="is a file next to the model; load the model from its file"):
        from_json(model)


def flexible_json(**changed):
    model = json.loads(to_json(station()))
    for place, value in changed.items():
        where, *path, last = place.split("__")
        x = model[where]
        for key in path:
            x = x[int(key)] if key.isdigit() else x[key]
        if value is None:
            del x[last]
        else:
            x[last] = value
    return json.dumps(model).encode()


BAD = [
    (dict(modal__0__name="left"), r"at \$.modal\[1\].name: there are modal data 'left' already"),
    (dict(modal__0__name="other"), r"at \$.modal\[0\].name: no body has the modal data 'other'; leave them out"),
    (dict(bodies__1__modal="panel"), r"at \$.bodies\[1\].modal: there are no modal data 'panel' in \$.modal"),
    (dict(bodies__1__hinge_node="middle"), r"at \$.bodies\[1\]: these modal data have no node 'middle'"),
    (dict(bodies__1__parent_node="middle"), r"at \$.bodies\[1\]: these modal data have no node 'middle'"),
    (dict(bodies__1__parent_node=None), "'truss' is fixed on the frame of flexible body 'truss', which is no point"),
    (dict(bodies__0__parent_node="x"), r"at \$.bodies\[0\].parent_node: body 'inertial' is rigid"),
    (dict(bodies__3__hinge_node="x"), "hinge_node='x' of body 'camera' needs modal data"),
    (dict(bodies__1__inertia={"mass": 1.0}), "flexible body 'left' takes its inertia from its modal data"),
    (dict(bodies__0__nodes__0__on="x"), r"at \$.bodies\[0\].nodes\[0\]: these modal data have no node 'x'"),
    (dict(bodies__3__nodes=[{"name": "n", "on": "x"}]), "node 'n' cannot be on 'x': body 'camera' is rigid"),
    (dict(bodies__1__q=[0.0]), r"has 1 entries, but the hinge has 3 coordinates, 2 of them of modes"),
    (dict(modal__1__arrays__K={"shape": [2, 2], "values": [1.0]}), r"has 1 values, but the shape \[2, 2\]"),
    (dict(modal__1__arrays__K={"shape": [-1], "values": [1.0]}), r"has 1 values, but the shape \[-1\]"),
    (dict(modal__1__arrays__K=None), r"at \$.modal\[1\]: the array 'K' is missing"),
    (dict(modal__1__nodes=["a", "a"]), "a name of 'nodes' occurs twice"),
    (dict(modal__1__arrays__node0_R={"shape": [1], "values": [1.0]}), "the array 'node0_R' belongs to no modal data"),
    (dict(modal__1__sha256="0"), "a side file is named with its SHA-256: give both or neither"),
]


@pytest.mark.parametrize(("changed", "text"), BAD, ids=[text[:40] for _, text in BAD])
def test_objects_that_are_refused(changed, text):
    with pytest.raises(ModelFileError, match=text):
        from_json(flexible_json(**changed), "there.json")


def test_a_rotation_of_a_node_is_as_written_or_refused():
    R = {"shape": [3, 3], "values": [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.1]}
    model = json.loads(to_json(station()))
    model["modal"][1]["arrays"]["node0.R"] = R
    with pytest.raises(ModelFileError, match="R of node 'root' is not a rotation"):
        from_json(json.dumps(model).encode())
