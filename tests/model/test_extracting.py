"""A subtree given back as a model is the one that was taken in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.test_joining import GRAVITY, full_model, same_bits, torso
from tests.profiles import tries
from tests.strategies import rigid_trees

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.files.native import to_json
from soacraft.model.samples.random_models import random_pose


@pytest.mark.parametrize("parent", ["torso", None])
def test_what_was_taken_in_comes_back_to_the_last_bit(parent):
    mb, other = torso(), full_model()
    mb.add_keyframe(sc.Keyframe("own", mb.q, mb.v))
    mb.add_model(other, parent, prefix="x_")
    before = to_json(mb)
    assert to_json(mb.extract("x_link0", prefix="x_", name="full")) == to_json(other)
    assert to_json(mb) == before


def test_from_another_place_it_comes_back_to_rounding():
    mb, other, at = torso(), full_model(), random_pose(5)
    mb.add_model(other, "torso", None, at, prefix="x_")
    back = mb.extract("x_link0", at, "x_", "full")
    assert back["link0"].inboard.is_close(other["link0"].inboard)
    assert back["inertial/dock"].pose.is_close(other["inertial/dock"].pose)
    assert back.loops["ring"].a is back.root
    assert same_bits(back.q, other.q)
    ours, theirs = (sc.dynamics.mass_matrix(mb, mb.q, ignore_loops=True) for mb in (back, other))
    assert np.abs(ours - theirs).max() < 1e-13 * np.abs(theirs).max()


@tries(5)
@given(rigid_trees(), st.data())
def test_a_drawn_subtree_taken_out_and_put_back(mb, data):
    """What is extracted, removed and added again is where it was, and moves as it did."""
    body = data.draw(st.sampled_from(mb.bodies))
    part, up = mb.extract(body), body.parent
    where = {x.name: mb.pose(x, up) for x in body.subtree()}
    kept = mb.copy()
    kept.remove(body.name, subtree=True)
    kept.add_model(part, None if up is mb.root else up.name)
    for name, pose in where.items():
        assert kept.pose(name, up.name).is_close(pose)
        assert part.pose(name).is_close(pose)
        for of in ("q", "v", "vdot"):
            at = (mb.q_slice if of == "q" else mb.v_slice)(name), (kept.q_slice if of == "q" else kept.v_slice)(name)
            assert same_bits(getattr(mb, of)[at[0]], getattr(kept, of)[at[1]])


def chain():
    mb = sc.Multibody("chain", GRAVITY)
    for k in range(4):
        body = mb.add_body(f"b{k}", f"b{k - 1}" if k else None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0)))
        body.add_node("tip", sc.Pose(translation=(1, 0, 0)))
    return mb


@pytest.mark.parametrize(
    ("tie", "text"),
    [
        (lambda mb: mb.close_loop("l", "b0", "b3/tip", sc.Spherical()), "loop 'l' ties the subtree of 'b2' to 'b0'"),
        (lambda mb: mb.couple("c", {"b0": 1, "b2": 2}), "coupling 'c' ties the subtree of 'b2' to 'b0'"),
        (lambda mb: mb.add_tendon("t", {"b3": 1, "b1": 2}), "mb.remove_tendon('t'), or extract a body that"),
        (lambda mb: mb.add_spring("s", "b0", "b3/tip"), "mb.remove_spring('s'), or extract a body that"),
        (lambda mb: mb.add_bushing("m", "b3", "inertial", 1.0), "bushing 'm' ties the subtree of 'b2' to 'inertial'"),
        (lambda mb: mb.add_actuator(sc.Actuator("a", "m", {"b2": 1, "b0": 1})), "actuator 'a' ties"),
        (
            lambda mb: mb.set_force("b3", sc.Wrench((0, 0, 0), (1, 0, 0), "inertial")),
            "force at 'b3' is expressed in 'inertial', outside of the subtree of 'b2'",
        ),
    ],
)
def test_what_ties_it_to_the_rest_is_refused(tie, text):
    mb = chain()
    tie(mb)
    with pytest.raises(ModelError) as caught:
        mb.extract("b2")
    assert text in str(caught.value)


def test_loops_to_the_parent_become_loops_to_the_inertial_frame():
    mb = chain()
    mb.close_loop("l", "b1/tip", "b3/tip", sc.Spherical())
    part = mb.extract("b2")
    assert (part.loops["l"].a.full_name, part.loops["l"].b.full_name) == ("inertial/tip", "b3/tip")
    assert part["inertial/tip"].pose == mb["b1/tip"].pose


def test_records_of_bodies_on_both_sides_stay_with_a_line():
    mb = chain()
    mb.add_record(sc.Record("exclude", "pair", {"body1": "b1", "body2": "b2"}))
    mb.add_record(sc.Record("exclude", "inner", {"body1": "b2", "body2": "b3"}))
    mb.add_record(sc.Record("option", "", {"timestep": 0.1}))
    mb.add_actuator(sc.Actuator("outer", "motor", {"b0": 1.0}))
    mb.add_material(sc.Material("red"))
    part = mb.extract("b2")
    assert part.records.names == ("inner",)
    assert [(x.name, x.note) for x in part.import_report.ignored] == [
        ("pair", "also concerns parts of 'chain' outside of the subtree of 'b2'")
    ]
    assert (len(part.actuators), len(part.materials)) == (0, 0)


def test_arguments_are_refused_by_text():
    with pytest.raises(ModelError, match="the prefix of names in a subtree must be a string, got 1"):
        chain().extract("b1", prefix=1)
    with pytest.raises(ModelError, match="'chain' has no body or hinge 'b9'"):
        chain().extract("b9")
