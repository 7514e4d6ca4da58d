"""External forces: stored with the state, refused where they would do nothing."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StateError
from soacraft.model import random_tree, serial_chain
from soacraft.model.hinges import Pin
from soacraft.spatial import Wrench


def test_forces_are_part_of_the_state():
    mb = serial_chain(3)
    before = mb.state()
    mb.set_force("link3/tip", [0, 0, 0, 0, 0, 5])
    ((frame, wrench),) = mb.current.forces
    assert frame is mb["link3/tip"]
    assert before.forces == ()
    np.testing.assert_array_equal(wrench, [0, 0, 0, 0, 0, 5])
    assert mb.current.motion is before.motion  # nothing but the forces is new
    mb.v = [1, 2, 3]
    assert mb.current.forces == ((frame, wrench),)
    mb.set_force("link3/tip", [0, 0, 0, 0, 0, 6])  # replaces
    assert len(mb.current.forces) == 1
    assert mb.current.forces[0][1].force[2] == 6
    mb.set_force("link3/tip", None)
    assert mb.current.forces == ()


def test_clear_forces():
    mb = serial_chain(3)
    for name in ("link1", "link2", "link3/tip"):
        mb.set_force(name, np.ones(6))
    assert len(mb.current.forces) == 3
    mb.clear_forces()
    assert mb.current.forces == ()


def test_f_ext_adds_to_the_stored_forces():
    mb = random_tree(5, seed=1)
    mb.set_force("body5/tip", np.arange(6.0))
    doubled = mb.sko(f_ext={"body5/tip": np.arange(6.0)})
    mb.set_force("body5/tip", 2 * np.arange(6.0))
    k = mb.index("body5")
    np.testing.assert_allclose(doubled.b(k), mb.sko().b(k), atol=1e-10)


def test_snapshots_take_their_own_forces():
    mb = random_tree(5, seed=1)
    mb.set_force("body5/tip", np.arange(6.0))
    assert mb.state(v=np.zeros(mb.nv)).forces == mb.current.forces
    assert mb.state(forces={}).forces == ()
    many = mb.state(forces={"body3/tip": np.ones((4, 6))})
    assert many.batch == (4,)
    assert mb.sko(many).b(mb.index("body3")).shape == (4, 6)
    assert mb.sko(mb.state(q=mb.q[None]), f_ext={"body3/tip": np.ones((4, 6))}).b(2).shape == (4, 6)


def test_forces_survive_edits_of_other_bodies():
    mb = serial_chain(3)
    mb.set_force("link2", np.ones(6))
    mb.set_force("link2", Wrench((0, 0, 1), (0, 0, 0), expressed_in="link1"))
    mb.remove("link3")
    mb.reattach("link2", None, Pin((0, 0, 1)))
    assert [frame.name for frame, _ in mb.current.forces] == ["link2"]


ACTS = "a stored force acts at {0!r}; end it first with mb.set_force({0!r}, None)."
EXPRESSED = (
    "the stored force at 'link1' is expressed in {!r}; end it first with mb.set_force('link1', None), or set it in "
    "other axes."
)
EDITS = {
    "remove": (lambda mb: mb.remove("link3"), "link3"),
    "remove what it is on": (lambda mb: mb.remove("link3"), "link3/tip"),
    "remove a subtree": (lambda mb: mb.remove("link2", subtree=True), "link3/tip"),
    "remove a node": (lambda mb: mb["link3"].remove_node("tip"), "link3/tip"),
}


@pytest.mark.parametrize(("edit", "frame"), EDITS.values(), ids=EDITS)
def test_no_edit_drops_a_stored_force(edit, frame):
    """Neither one that acts at what goes, nor one that is expressed in its axes; after `set_force` it may go."""
    for at, axes, text in ((frame, None, ACTS), ("link1", frame, EXPRESSED)):
        mb = serial_chain(3)
        mb.set_force(at, Wrench((0, 0, 1), (1, 0, 0), expressed_in=axes))
        version, before = mb.version, mb.current
        with pytest.raises(ModelError) as error:
            edit(mb)
        assert str(error.value) == text.format(frame)
        assert (mb.version, mb.current) == (version, before)
        mb.set_force(at, None)
        edit(mb)
        assert frame not in mb


REFUSED = [
    ("link3/tip", np.ones(5), StateError, "the wrench at 'link3/tip' must have shape (..., 6), got shape (5,)"),
    ("link3/tip", [0, 0, 0, 0, 0, np.nan], StateError, "the wrench at 'link3/tip' must be finite, got nan at index 5"),
    ("link3/tip", "push", StateError, "the wrench at 'link3/tip' must be real numbers, got text"),
    ("link3/tip", np.ones((2, 6)), StateError,
     "the wrench at 'link3/tip' must be one wrench, got an array of shape (2, 6); for a batch use "
     "mb.state(..., forces={node: wrenches})."),
    ("inertial", np.ones(6), ModelError,
     "a force at 'inertial' moves nothing: the inertial frame is not a body of 'chain'; give a node on one of its "
     "bodies."),
    ("link4", np.ones(6), ModelError, "'chain' has no frame 'link4'; did you mean"),
    ("link3/tip", Wrench((0, 0, 0), (0, 0, 0), expressed_in="hand"), ModelError, "'chain' has no frame 'hand'"),
]  # fmt: skip


@pytest.mark.parametrize(("node", "wrench", "kind", "text"), REFUSED, ids=[text for *_, text in REFUSED])
def test_bad_forces_are_refused(node, wrench, kind, text):
    mb = serial_chain(3)
    mb.set_force("link2", np.ones(6))
    before = mb.current
    with pytest.raises(kind) as error:
        mb.set_force(node, wrench)
    assert text in str(error.value)
    assert mb.current is before


def test_f_ext_is_a_mapping_from_nodes():
    mb = serial_chain(2)
    with pytest.raises(StateError, match=r"external forces are given as {node: wrench}, got 3"):
        mb.sko(f_ext=3)
    with pytest.raises(StateError, match=r"external forces are given as {node: wrench}, got the item 3"):
        mb.sko(f_ext=[3])
    with pytest.raises(StateError, match=r"the leading .* axes do not agree"):
        mb.state(q=np.zeros((3, 2)), forces={"link1": np.zeros((4, 6))})


def test_in_a_subgraph_a_force_in_axes_outside_it_turns_with_the_model():
    mb = serial_chain(4)
    mb.set_state(q=[0.3, -0.4, 0.5, 0.2])
    mb.set_force("link3", Wrench((0, 0, 1), (1, 0, 0), expressed_in="link1"))
    g = mb.subgraph(["link2", "link3"])
    R = mb.pose("link3").rotation.T @ mb.pose("link1").rotation
    pull = np.concatenate([R @ (0, 0, 1), R @ (1, 0, 0)])
    with_force = g.sko().b(1)
    mb.clear_forces()
    np.testing.assert_allclose(g.sko().b(1) - with_force, pull, atol=1e-14)
