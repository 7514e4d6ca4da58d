"""`same` finds every difference and names its place."""

from __future__ import annotations

import numpy as np
import pytest
from tests.files.full_model import full_model

import soacraft as sc
from soacraft.files.native import same
from soacraft.model import Actuator, Geometry, ImportReport, Keyframe, Limits, Material, Passive, Record


def _turned(pose):
    R = pose.rotation.copy()
    R[0, 0] = np.nextafter(R[0, 0], 2.0)
    return sc.Pose.unchecked(R, pose.translation)


EDITS = {
    "gravity": lambda mb: setattr(mb, "gravity", (0.0, 5e-324, -9.81)),
    "body 'body1': q": lambda mb: mb.set_state(q=mb.q + np.eye(mb.nq)[0]),
    "body 'body1': v": lambda mb: mb.set_state(v=mb.v + np.eye(mb.nv)[0]),
    "body 'body1': vdot": lambda mb: mb.set_state(vdot=mb.vdot + np.eye(mb.nv)[0]),
    "body 'body2': inertia": lambda mb: setattr(mb.body("body2"), "inertia", sc.Inertia(1.0)),
    "body 'body2': inboard": lambda mb: setattr(mb.body("body2"), "inboard", _turned(mb.body("body2").inboard)),
    "body 'body2': outboard": lambda mb: setattr(mb.body("body2"), "outboard", _turned(mb.body("body2").outboard)),
    "body 'body2': armature": lambda mb: setattr(mb.body("body2"), "armature", 1e-300),
    "body 'body2': passive": lambda mb: setattr(mb.body("body2"), "passive", Passive(damping=1.0)),
    "body 'body2': gravity_compensation": lambda mb: setattr(mb.body("body2"), "gravity_compensation", 1e-300),
    "body 'body2': limits": lambda mb: setattr(mb.body("body2"), "limits", Limits(effort=1.0)),
    "body 'body2': nodes": lambda mb: setattr(mb["body2/a"], "pose", sc.Pose(translation=(0.0, 0.0, 5e-324))),
    "body 'body2': geometries": lambda mb: mb.body("body2").add_geometry(Geometry("g", "sphere", (1.0,))),
    "the inertial frame: nodes": lambda mb: mb.root.add_node("new"),
    "the inertial frame: geometries": lambda mb: mb.root.add_geometry(Geometry("g", "sphere", (1.0,))),
    "forces": lambda mb: mb.set_force("body1/a", None),
    "loops": lambda mb: mb.remove_loop("ring"),
    "couplings": lambda mb: mb.remove_coupling("off"),
    "tendons": lambda mb: mb.remove_tendon("band"),
    "actuators": lambda mb: mb.add_actuator(Actuator("a", "motor")),
    "keyframes": lambda mb: mb.add_keyframe(Keyframe("k", mb.q, mb.v)),
    "materials": lambda mb: mb.add_material(Material("m")),
    "records": lambda mb: mb.add_record(Record("r", "")),
    "import report": lambda mb: setattr(mb, "import_report", ImportReport()),
}


@pytest.mark.parametrize("place", EDITS)
def test_one_edit_is_one_difference(place):
    mb = full_model()
    EDITS[place](mb)
    found = same(full_model(), mb)
    assert [text.split(": ")[: place.count(": ") + 1] for text in found] == [place.split(": ")]


def test_structure():
    a, b = sc.serial_chain(3), sc.serial_chain(3)
    b.reattach("link3", "link1", sc.Pin((0, 1, 0)), inboard=b.body("link3").inboard, hinge_name="knee")
    found = same(a, b)
    for place in ("body 'link3': parent", "body 'link3': hinge_name", "body 'link2': children"):
        assert any(text.startswith(place) for text in found)
    assert same(a, sc.serial_chain(2))[0].startswith("order of the bodies: ")
    assert same(sc.load("arm7"), a)[0] == "name: 'arm7' and 'chain'"


def test_the_kind_of_a_number_counts():
    a, b = sc.serial_chain(1), sc.serial_chain(1)
    a.add_record(Record("r", "", {"x": 1}))
    b.add_record(Record("r", "", {"x": 1.0}))
    assert len(same(a, b)) == 1
