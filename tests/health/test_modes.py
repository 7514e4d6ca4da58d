"""What `sc.check` says of flexible bodies."""

from __future__ import annotations

import numpy as np
import pytest
from tests.flexible.models import slender
from tests.model.modal.trees import Cloud

import soacraft as sc
import soacraft.flexible as fx
from soacraft.model.modal import ModalData, ModalNode


def model(modes=1, **more):
    mb = sc.Multibody("arm")
    data = fx.reduce(slender(4), ["root"], "fixed", modes=modes, **more)
    mb.add_body("boom", None, sc.Pin((0, 0, 1)), modal=data)
    return mb


def said(mb, subject="flexible body 'boom'"):
    return [(x.severity, x.text) for x in sc.check(mb) if x.subject == subject]


def test_a_sound_body_has_nothing_to_say():
    mb = model(damping=0.01)
    assert said(mb) == []
    assert sc.check(mb).ok


def test_what_the_data_leave_out():
    (one, text), (other, more) = said(model(geometric=False))
    assert (one, other) == ("note", "note")
    assert "no geometric stiffening: a load along it neither stiffens nor buckles it" in text
    assert "without damping" in more
    mb = sc.Multibody()
    mb.add_body("boom", None, sc.Free(), modal=of_cloud(np.diag([1.0, 1e10])))
    assert any(severity == "note" and "and the fastest decides the step" in text for severity, text in said(mb))


def of_cloud(K, **more):
    moments = Cloud(np.random.default_rng(1), len(K), geometric=False).moments()
    return ModalData(**moments, K=K, D=np.eye(len(K)), **more)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_body_that_may_bend_little_and_its_mean_frame(unit):
    """Many clamped modes can all but undo a turn of the root: M(eta), whose terms end with the second order, is
    positive for little bending alone; in the mean frame for much more."""
    fe = fx.beam(2.0 * unit, fx.Tube(0.05 * unit, 0.002 * unit), fx.Elastic(70e9, 0.33, 2700.0), elements=12)
    fe.interface("root", at=(0, 0, 0))
    fe.interface("tip", at=(2.0 * unit, 0, 0))
    data = fx.reduce(fe, ["root", "tip"], modes=14, damping=0.01)
    for given, node in ((data, None), (fx.rereference(data, "mean"), "root")):
        mb = sc.Multibody("arm")
        mb.add_body("boom", None, sc.Pin((0, 0, 1)), modal=given, hinge_node=node)
        found = [x for x in sc.check(mb) if "not positive where it is bent at random by 0.02 of its length" in x.text]
        assert sc.check(mb).ok
        assert len(found) == (node is None)
        if found:
            assert (found[0].severity, found[0].subject) == ("warning", "flexible body 'boom'")
            assert 1e-5 < found[0].value < 0.02
            assert "rereference(data, 'mean')" in found[0].cure


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_modes_without_stiffness(scale):
    mb = sc.Multibody()
    mb.add_body("boom", None, sc.Free(), modal=of_cloud(scale * np.diag([1.0, 0.0])))
    assert ("warning", "has 1 vibration without stiffness, which only a load holds") in said(mb)
    mb = sc.Multibody()
    mb.add_body("boom", None, sc.Free(), modal=of_cloud(scale * np.eye(2)))
    assert not [x for x in said(mb) if x[0] != "note"]


def test_a_state_that_is_bent_too_far():
    tip = ModalNode(sc.Pose(), np.zeros((3, 1)), np.array([[0.0], [0.5], [0.0]]))
    mb = sc.Multibody()
    mb.add_body("boom", None, sc.Free(), modal=of_cloud(np.eye(1), nodes={"tip": tip}))
    mb.q = {"boom.mode0": 0.59}
    assert not [x for x in said(mb) if x[0] == "warning"]
    mb.q = {"boom.mode0": -0.7}
    text = "turns by 0.35 rad at its node 'tip' in the current state; modes hold up to 0.3 rad"
    assert ("warning", text) in said(mb)
    mb = sc.Multibody()
    shape = Cloud(np.random.default_rng(3), 1)
    shape.phi2 = -np.abs(shape.phi2) * 40.0
    mb.add_body("boom", None, sc.Free(), modal=ModalData(**shape.moments(), K=np.eye(1)))
    mb.q = {"boom.mode0": 3.0}
    assert any(severity == "error" and "its mass matrix is not positive" in text for severity, text in said(mb))


def test_a_body_on_a_node_that_stays():
    mb = model(damping=0.01)
    mb.add_body("camera", "boom/root", sc.Weld(), sc.Inertia(1.0))
    assert said(mb, "body 'camera'") == [("note", "is attached to a node of flexible body 'boom' that no mode moves")]


def test_a_damped_boom_with_a_camera_is_sound():
    """The damping of modes takes power, which the balance of power counts."""
    mb = sc.Multibody("craft")
    fe = fx.beam(1.0, fx.Tube(0.05, 0.005), fx.Elastic(70e9, 0.33, 2700.0), elements=4)
    ends = fe.interface("root", at=(0, 0, 0)), fe.interface("tip", at=(1, 0, 0))
    data = fx.reduce(fe, ends, modes=2, damping=0.1)
    mb.add_body("hub", None, sc.Free(), sc.Inertia(4.0, (0, 0, 0), np.eye(3)))
    mb.add_body("boom", "hub", sc.Pin((0, 0, 1)), modal=data, hinge_node="root")
    mb.add_body("camera", "boom/tip", sc.Spherical(), sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)))
    assert sc.check(mb).ok, sc.check(mb)
