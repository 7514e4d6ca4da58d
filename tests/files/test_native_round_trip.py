"""A model through the native format and back: equal bit for bit, and the same bytes again."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.files.full_model import SUBNORMAL, full_model
from tests.profiles import tries

import soacraft as sc
from soacraft.files.builtin import BUILTIN
from soacraft.files.native import from_json, same, to_json
from soacraft.model import Multibody, random_tree


def round_trip(mb):
    data = to_json(mb)
    back = from_json(data, "there.json")
    assert same(mb, back) == []
    assert to_json(back) == data
    return back


def test_a_model_with_everything():
    mb = full_model()
    back = round_trip(mb)
    assert back.name == mb.name
    assert np.signbit(back.gravity[0])
    assert back.gravity[1] == SUBNORMAL
    assert back.body("body0").geometries.names == ("geometry0", "skin")
    assert back.body("body2").limits.lower[0] == -np.inf
    assert back.loops["ring"].b is back["body5/a"]
    assert not back.loops["spare"].active
    assert back.records[0].attributes["deep"] == ((1, (2.0,)),)
    assert back.import_report.lost[0].line == 9
    assert back.acting_forces[back["body4"]].expressed_in is back["inertial/dock"]


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_models(name):
    mb = sc.load(name)
    round_trip(mb)
    mb.set_state(*mb.random_state(seed=1))
    round_trip(mb)


@given(seed=st.integers(0, 10**6), n=st.integers(0, 12))
@tries(25)
def test_random_trees_at_random_states(seed, n):
    mb = random_tree(n, seed) if n else Multibody("none")
    mb.set_state(*mb.random_state(seed=seed))
    round_trip(mb)


@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=7, max_size=7))
@tries(50)
def test_any_number_comes_back(numbers):
    mb = Multibody("x", gravity=numbers[:3])
    body = mb.add_body("a", None, sc.Pin((0, 0, 1)))
    body.add_node("n", sc.Pose(translation=numbers[3:6]))
    mb.set_state(q=numbers[:1], v=numbers[6:], vdot=numbers[1:2])
    round_trip(mb)


def test_a_zero_keeps_its_sign_in_the_state():
    mb = sc.serial_chain(2)
    mb.set_state(q=[1.0, 1.0], v=[1.0, 1.0])
    mb.set_state(q=[-0.0, 0.0], v=[0.0, -0.0], vdot=[-0.0, 0.0])
    back = round_trip(mb)
    for x, signs in ((back.q, [True, False]), (back.v, [False, True]), (back.vdot, [True, False])):
        assert np.signbit(x).tolist() == signs


def test_the_order_of_bodies_and_children_is_kept():
    mb = sc.serial_chain(4)
    mb.reattach("link3", parent=None, hinge=sc.Pin((0, 1, 0)))
    mb.reattach("link1", parent="link4", hinge=sc.Pin((0, 0, 1)))
    mb.add_body("late", "link3", sc.Weld())
    mb.reattach("link4", parent="link3", hinge=sc.Pin((0, 0, 1)))
    assert [child.name for child in mb.body("link3").children] == ["late", "link4"]
    assert next(iter(mb._tree.bodies)) == "link1"
    assert mb.bodies[0].name == "link3"
    back = round_trip(mb)
    assert [body.name for body in back.bodies] == [body.name for body in mb.bodies]
    for twin in (mb, back):  # a later edit finds the same order of siblings in both
        twin.reattach("link2", parent="link3", hinge=sc.Weld())
    assert [body.name for body in back.bodies] == [body.name for body in mb.bodies]


def test_it_computes_the_same_bits():
    mb = full_model()
    back = from_json(to_json(mb))
    for node in (*mb.bodies, *(node for body in mb.bodies for node in body.nodes)):
        assert mb.pose(node).as_matrix().tobytes() == back.pose(node.full_name).as_matrix().tobytes()
    for k, body in enumerate(mb.bodies):
        one, other = mb.sko(), back.sko()
        assert np.asarray(one.M(k)).tobytes() == np.asarray(other.M(k)).tobytes(), body
        assert np.asarray(one.b(k)).tobytes() == np.asarray(other.b(k)).tobytes(), body


def test_nothing_is_forgotten():
    """A new attribute of a model or body must find its place in the format, in `same`, and here."""
    mb = sc.serial_chain(2)
    assert set(vars(mb)) == {"_name", "_gravity", "_tree", "_attachments", "_state", "_edits"}
    assert set(vars(mb._tree)) == {"root", "bodies", "hinges", "nodes"}
    assert set(vars(mb._attachments)) == {
        "_mb", "loops", "couplings", "tendons", "springs", "bushings", "actuators", "materials", "keyframes", "records",
        "import_report", "mesh_folder", "active",
        "mesh_roots",  # folders that may be read: the user names them, no file does
    }  # fmt: skip
    assert set(vars(mb._state)) == {"_mb", "parts", "forces", "store", "counters", "_state", "_stamp"}
    assert set(vars(mb._edits)) == {"version", "parameters", "revision", "lock", "layout", "announcer", "_state"}
    derived = {
        "full_name", "graph", "carrier", "offset", "q_slice", "v_slice", "body", "inboard_frame", "outboard_frame",
        "eta",
    }  # fmt: skip
    assert properties(sc.Body) - derived == {
        "name", "parent", "hinge", "hinge_name", "inertia", "inboard", "outboard", "nodes", "children", "geometries",
        "armature", "passive", "gravity_compensation", "limits", "modal", "modal_node",
    }  # fmt: skip
    assert properties(sc.Node) - derived == {"name", "pose", "modal_node", "role"}


def properties(kind):
    return {name for name, _ in inspect.getmembers(kind, lambda x: isinstance(x, property))}
