"""Files of studies: the same bits, units and axes; what is damaged, foreign or of other sizes is refused by text."""

from __future__ import annotations

import sys

import h5py
import numpy as np
import pytest
from tests.robot.studies.models import pendulum

import soacraft as sc
from soacraft.errors import ModelFileError, StateError
from soacraft.robot.studies.study import KINDS, Column

study = sc.robot.study


@pytest.fixture
def made(tmp_path):
    p = study.payload(pendulum().limb("arm", "inertial", "bob/tip"), [[0.0], [0.4], [0.8]])
    return p, p.save(tmp_path / "p.h5")


def test_units_and_axes_are_written(made):
    p, path = made
    with h5py.File(path) as file:
        assert (file.attrs["format"], file.attrs["kind"]) == ("soacraft study 1", "payload")
        assert (file["most"].attrs["unit"], file["most"].attrs["axes"]) == ("kg", '["rows"]')
        assert file["most"].dtype == np.float64
        assert file["binding"].dtype == np.int64
        assert np.array_equal(file["most"][:], p.most)
        assert "soacraft" in file.attrs["versions"]


def test_every_field_of_every_study_says_what_it_is():
    """A unit or none, and as many axes as its type has."""
    known = "reach map, payload, sizing, limit, mass properties, gait, sequence, singularities"
    assert set(KINDS) >= set(known.split(", "))
    for kind in KINDS.values():
        for name, (hint, column) in kind.columns().items():
            assert isinstance(column, Column), name
            if hint in (float, int, bool, str):
                assert column.axes == (), f"{kind.__name__}.{name}"
            else:
                assert column.axes, f"{kind.__name__}.{name}"


def edited(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


def _replaced(name, data):
    def change(file):
        del file[name]
        file[name] = data

    return change


def _linked(file):
    del file["most"]
    file["most"] = h5py.ExternalLink("elsewhere.h5", "most")


def _as_attribute(key, value):
    return lambda file: file.attrs.__setitem__(key, value)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (_as_attribute("format", "else"), "is no study: its format is 'else'"),
        (_as_attribute("kind", "paylod"), "has a study of kind 'paylod'; did you mean 'payload'"),
        (lambda file: file.__delitem__("most"), "it has no 'most'"),
        (_replaced("most", np.zeros(2)), "'most' has 2 rows, not 3"),
        (_replaced("most", np.zeros((3, 1))), "'most' is of dtype float64 and shape"),
        (_replaced("binding", np.zeros(3)), "'binding' is of dtype float64 and shape"),
        (_replaced("position", np.zeros((3, 2))), "'position' has 2 3, not 3|'position' has 2"),
        (_replaced("limb", np.array([b"a", b"b"])), "'limb' has 2 texts"),
        (_linked, "'most' is in another place|cannot be read"),
    ],
)
def test_what_was_changed_is_refused(made, change, text):
    with pytest.raises(ModelFileError, match=text):
        study.load(edited(made[1], change))


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="there is no study"):
        study.load(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(ModelFileError, match="cannot be read, it is damaged"):
        study.load(tmp_path / "text.h5")
    with pytest.raises(StateError, match=r"sc\.robot\.study\.load takes a path"):
        study.load(5)


def test_a_file_is_there_whole_or_not_at_all(made, tmp_path):
    p, _ = made
    with pytest.raises(ModelFileError, match="it is a folder"):
        p.save(tmp_path)
    with pytest.raises(ModelFileError, match="cannot write"):
        p.save(tmp_path / "missing" / "p.h5")


def test_without_h5py_the_extra_is_named(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(StateError, match=r"studies are HDF5 files, and h5py is not .*: pip install 'soacraft\[sim\]'"):
        made[0].save("p.h5")
