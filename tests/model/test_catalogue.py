"""`Catalogue`: a tuple that also answers to names."""

import pickle

import pytest

from soacraft.errors import ModelError
from soacraft.model import Catalogue, Record, serial_chain
from soacraft.model.hinges import Weld


def three():
    return Catalogue([Record("sensor", name) for name in ("gyro", "camera", "clock")], "record")


def test_it_is_a_tuple():
    found = three()
    assert isinstance(found, tuple)
    assert len(found) == 3
    assert found == tuple(found)
    assert found[-1].name == "clock"
    assert [each.name for each in found] == ["gyro", "camera", "clock"]
    assert Record("sensor", "gyro") in found
    assert hash(found) == hash(tuple(found))
    with pytest.raises(IndexError):
        found[3]
    with pytest.raises(TypeError):
        found[1.5]


def test_it_answers_to_names():
    found = three()
    assert found["camera"] is found[1]
    assert found.names == ("gyro", "camera", "clock")
    assert "clock" in found
    assert "radar" not in found
    assert 3 not in found


def test_a_slice_answers_to_names_too():
    part = three()[1:]
    assert isinstance(part, Catalogue)
    assert part.names == ("camera", "clock")
    assert part["clock"].name == "clock"
    with pytest.raises(ModelError, match="there is no record 'gyro'"):
        part["gyro"]


@pytest.mark.parametrize(
    ("names", "key", "text"),
    [
        ("gyro camera clock", "clok", "there is no thing 'clok'; did you mean 'clock'?"),
        ("left1 left2", "left", "there is no thing 'left'; did you mean 'left2' or 'left1'?"),
        ("gyro camera", "zzz", "there is no thing 'zzz'; there are 'gyro', 'camera'."),
        ("", "gyro", "there is no thing 'gyro'; there are none."),
        ("a b c d e f g h i", "zzz", "there is no thing 'zzz'; there are 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', ...."),
    ],
)
def test_unknown_names(names, key, text):
    found = Catalogue([Record("x", name) for name in names.split()], "thing")
    with pytest.raises(ModelError) as error:
        found[key]
    assert str(error.value) == text


def test_find_takes_the_thing_or_its_name():
    found = three()
    assert found.find("gyro") is found[0]
    assert found.find(found[1]) is found[1]
    assert found.find(Record("sensor", "clock")) is found[2]
    for stranger in (Record("other", "clock"), 3, None, [1]):
        with pytest.raises(ModelError, match="is not one of these: 'gyro', 'camera', 'clock'"):
            found.find(stranger)


def test_text_and_pickle():
    assert repr(Catalogue([])) == "()"
    mb = serial_chain(2)
    mb.close_loop("ring", "inertial", "link2", Weld())
    assert repr(mb.loops) == "(loop 'ring': 'link2' on 'inertial' by Weld(),)"
    twin = pickle.loads(pickle.dumps(three()))
    assert twin == three()
    assert twin.kind == "record"
    assert twin["gyro"].kind == "sensor"
