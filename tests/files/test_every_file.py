"""Every model file of the tests: read by `load`, saved and read back, nothing is lost."""

import pytest
from tests.files.mjcf.test_against_mujoco import REFUSED
from tests.files.urdf.models import MODELS

import soacraft as sc
from soacraft.files.load import refuse_not_simulated
from soacraft.files.native import from_json, same, to_json
from soacraft.files.xml_tree import read_xml

FILES = sorted(path.relative_to(MODELS).as_posix() for kind in ("urdf", "xml") for path in MODELS.glob(f"*/*.{kind}"))


NOT_SIMULATED = {
    "anybotics_anymal_b": {"frictionloss"}, "shadow_hand": {"frictionloss"}, "unitree_a1": {"frictionloss"},
    "gymnasium_mujoco/swimmer.xml": {"density", "viscosity"}, "skydio_x2": {"", "density", "viscosity"},
    "gymnasium_mujoco/inverted_double_pendulum.xml": {"margin"},
    "mujoco_model/arm26.xml": {""}, "mujoco_model/slider_crank.xml": {""}, "mujoco_model/car.xml": {"actuatorfrcrange"},
    "mujoco_model/balloons.xml": {"density", "viscosity"},
}  # fmt: skip
"""What the files say that would change the motion, and is not simulated; "" for an actuator: thrusters at sites,
muscles, cranks."""


@pytest.mark.parametrize("file", [file for file in FILES if file not in REFUSED])
def test_round_trip_is_exact_and_strict_counts_what_changes_the_motion(file):
    mb = sc.load(MODELS / file)
    expected = NOT_SIMULATED.get(file, NOT_SIMULATED.get(file.partition("/")[0], set()))
    assert {entry.attribute for entry in mb.import_report.not_simulated} == expected
    if expected:
        with pytest.raises(sc.errors.ModelFileError, match=r"changes? the motion would be missing"):
            refuse_not_simulated(file, mb.import_report)
    else:
        refuse_not_simulated(file, mb.import_report)
    mb.set_state(*mb.random_state(seed=1))
    data = to_json(mb)
    again = from_json(data)
    assert same(mb, again) == []
    assert to_json(again) == data
    assert again.import_report == mb.import_report


@pytest.mark.parametrize("file", FILES)
def test_every_element_and_attribute_is_in_the_report(file):
    if file in REFUSED:
        with pytest.raises(sc.errors.ModelFileError):
            sc.load(MODELS / file)
        return
    report = sc.load(MODELS / file).import_report
    listed = {(entry.line, entry.attribute) for entry in report.entries}
    missing = [
        (element, attribute)
        for element in read_xml((MODELS / file).read_bytes(), file).iterate()
        for attribute in ("", *element.attributes)
        if (element.line, attribute) not in listed
    ]
    assert missing == []
