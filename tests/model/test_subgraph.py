"""Sub-graphs: an independently built model at the anchor's pose is the witness."""

import numpy as np
import pytest
from tests.model.differences import along, rate

from soacraft.errors import ModelError, StaleError, StateError
from soacraft.model import AXES, Multibody, random_tree, serial_chain
from soacraft.model.hinges import Pin, Weld


def tree(seed):
    """A tree with at least one body that has an inboard neighbour and several outboard ones."""
    return random_tree(14, seed=seed, branching=0.4)


def inner(mb):
    """The subtree of some body that is not a base body."""
    root = next(body for body in mb.bodies[2:] if len(list(body.subtree())) >= 3)
    return [body.name for body in root.subtree()]


def standing_alone(mb, names):
    """The bodies named, as a model of their own whose root hangs from the anchor's place in space."""
    other = Multibody("alone", mb.gravity)
    for body in mb.bodies:
        if body.name not in names:
            continue
        inside = body.parent.name in names
        inboard = body.inboard if inside else mb.pose(body.parent) @ body.inboard
        twin = other.add_body(
            body.name, body.parent.name if inside else None, body.hinge, body.inertia, inboard, body.outboard
        )
        for node in body.nodes:
            twin.add_node(node.name, node.pose)
    for body in other.bodies:
        q, v, vdot = np.array(other.q), np.array(other.v), np.array(other.vdot)
        q[body.q_slice] = mb.q[mb[body.name].q_slice]
        v[body.v_slice] = mb.v[mb[body.name].v_slice]
        vdot[body.v_slice] = mb.vdot[mb[body.name].v_slice]
        other.set_state(q, v, vdot)
    return other


def assert_same_sko(one, two, tolerance=1e-9):
    assert one.tree.parents == two.tree.parents
    assert one.names == two.names
    for k in one.nodes:
        if (p := one.parent(k)) >= 0:
            np.testing.assert_allclose(one.A(p, k), two.A(p, k), atol=tolerance)
        for name in ("H", "M", "a", "b"):
            np.testing.assert_allclose(getattr(one, name)(k), getattr(two, name)(k), atol=tolerance)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("axes", AXES)
def test_a_subgraph_is_an_independent_model_at_its_anchors_pose(seed, axes):
    mb = tree(seed)
    names = inner(mb)
    mb.set_force(names[0], np.arange(6.0))
    mb.set_force("body1", np.arange(6.0))  # outside: absent
    g, alone = mb.subgraph(names), standing_alone(mb, names)
    alone.set_force(names[0], np.arange(6.0))
    tilt = mb.pose(g.anchor).rotation
    assert np.linalg.norm(tilt - np.eye(3)) > 0.1  # a tilted anchor
    assert (g.nq, g.nv, g.dof_names) == (alone.nq, alone.nv, alone.dof_names)
    assert [body.name for body in g.bodies] == [body.name for body in alone.bodies]
    np.testing.assert_array_equal(g.q, alone.q)
    np.testing.assert_array_equal(g.v, alone.v)
    assert_same_sko(g.sko(axes=axes), alone.sko(axes=axes))
    np.testing.assert_allclose(g.body_velocities(axes=axes), alone.body_velocities(axes=axes), atol=1e-9)
    for ask in ("pose", "velocity", "acceleration"):
        for name in names:
            np.testing.assert_allclose(getattr(g, ask)(name), getattr(alone, ask)(name), atol=1e-7)
    for body in g.bodies:
        for node in body.nodes:
            k, block = g.node_block(node, axes=axes)
            j, expected = alone.node_block(node.full_name, axes=axes)
            assert k == j
            np.testing.assert_allclose(block, expected, atol=1e-10)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("axes", AXES)
def test_with_a_moving_anchor_the_motion_is_that_of_the_model(seed, axes):
    mb = tree(seed)
    g = mb.subgraph(inner(mb), anchor="moving")
    assert g.anchor_moves
    for body in g.bodies:
        j, k = g.index(body), mb.index(body)
        np.testing.assert_allclose(g.body_velocities(axes=axes)[j], mb.body_velocities(axes=axes)[k], atol=1e-9)
        np.testing.assert_allclose(g.acceleration(body), mb.acceleration(body), atol=1e-7)
        np.testing.assert_allclose(g.sko(axes=axes).b(j), mb.sko(axes=axes).b(k), atol=1e-8)
    # alpha = phi*(H* vdot + a) of the sub-graph is the rate of the model's velocities
    sko, alpha = g.sko(axes=axes), {}
    for k in sko.base_to_tips():
        p = sko.parent(k)
        alpha[k] = sko.H(k).T @ g.vdot[g.v_slice(g.bodies[k])] + sko.a(k) + (0 if p < 0 else sko.A(p, k).T @ alpha[p])
    velocities = mb.body_velocities(along(mb), axes)
    for k, body in enumerate(g.bodies):
        np.testing.assert_allclose(alpha[k], rate(velocities[mb.index(body)]), rtol=1e-6, atol=1e-6)


def test_the_whole_model_as_a_subgraph():
    mb = random_tree(9, seed=3, bases=3)
    g = mb.subgraph(mb.bodies)
    assert g.anchor is mb.root
    for axes in AXES:
        assert_same_sko(g.sko(axes=axes), mb.sko(axes=axes), 0)


def test_bodies_come_in_the_models_order():
    mb = serial_chain(5)
    g = mb.subgraph(["link4", mb["link2"], "link3"])
    assert [body.name for body in g.bodies] == ["link2", "link3", "link4"]
    assert g.topology.parents == (-1, 0, 1)
    assert len(g) == 3
    assert g.anchor is mb["link1"]
    assert g.multibody is mb
    assert g.name == "chain[link2, link3, link4]"
    assert repr(g).startswith("SubGraph 'chain[link2, link3, link4]': 3 bod")
    assert mb.subgraph([f"link{k}" for k in range(1, 6)]).name == "chain[link1, link2, ..., link5]"
    assert [branch.names for branch in g.branches()] == [("link2", "link3", "link4")]
    assert (g.q_slice("link2"), g.v_slice("link4"), g.index("link3")) == (slice(0, 1), slice(2, 3), 1)
    assert "link3" in g
    assert "link1" not in g
    assert "link9" not in g
    assert "inertial" in g
    assert g["link4"] is mb["link4"]
    assert [body.name for body in mb.subgraph("link2").bodies] == ["link2"]


def forest():
    mb = Multibody("forest")
    for name, parent in (("a", None), ("b", "a"), ("c", "a"), ("d", "b"), ("e", "c"), ("x", None), ("y", "x")):
        mb.add_body(name, parent, Pin((0, 0, 1)))
    return mb


@pytest.mark.parametrize("names", [["a"], ["d"], ["a", "c", "b"], ["b", "d"], ["a", "x"], ["a", "b", "x", "y"]])
def test_connected_sets_and_joined_base_trees_are_allowed(names):
    g = forest().subgraph(names)
    assert sorted(body.name for body in g.bodies) == sorted(names)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["b", "c"], "the bodies are not connected: 'b' and 'c' are connected only through 'a'; "
                     "list what is missing too, or make two sub-graphs."),
        (["a", "e"], "'a' and 'e' are connected only through 'c'"),
        (["d", "e"], "'d' and 'e' are connected only through 'b', 'a', 'c'"),
        (["b", "x"], "'b' and 'x' are connected only through 'a' and the inertial frame"),
        (["b", "y"], "'b' and 'y' are connected only through 'a', 'x' and the inertial frame"),
        (["a", "x", "d"], "'a' and 'd' are connected only through 'b'"),
        (["a", "a"], "body 'a' is listed twice for a sub-graph of 'forest'"),
        ([], "a sub-graph of 'forest' needs at least one body"),
        (["inertial"], "'inertial' is not a body of 'forest'"),
        (["q"], "'forest' has no body or hinge 'q'; it has 'a', 'b'"),
    ],
)  # fmt: skip
def test_gaps_are_named(names, text):
    with pytest.raises(ModelError) as error:
        forest().subgraph(names)
    assert text in str(error.value)


def test_the_anchor_is_at_rest_or_moving():
    with pytest.raises(ModelError, match="anchor must be 'rest' or 'moving', got 'free'"):
        forest().subgraph(["a"], anchor="free")


def test_frames_outside_are_absent():
    mb = serial_chain(4)
    g = mb.subgraph(["link2", "link3"])
    for name in ("link1", "link4/tip"):
        with pytest.raises(ModelError) as error:
            g.pose(name)
        assert f"{name!r} is not on a body of 'chain[link2, link3]'; ask the model itself." in str(error.value)
    with pytest.raises(ModelError, match="is not on a body"):
        g.sko(f_ext={"link4/tip": np.zeros(6)})
    with pytest.raises(ModelError, match="'inertial' is on the inertial frame, which does not move"):
        g.node_block("inertial")


# -- its state --------------------------------------------------------------------------------------------------


def test_setting_its_state_sets_that_part_of_the_models():
    mb = serial_chain(4)
    g = mb.subgraph(["link2", "link3"])
    g.q = [0.2, 0.3]
    g.set_state(v=[2, 3], vdot=[20, 30])
    np.testing.assert_array_equal(mb.q, [0, 0.2, 0.3, 0])
    np.testing.assert_array_equal(mb.v, [0, 2, 3, 0])
    np.testing.assert_array_equal(mb.vdot, [0, 20, 30, 0])
    mb.v = [1, 1, 1, 1]
    g.v = g.v + 1
    g.vdot = [0, 0]
    np.testing.assert_array_equal(mb.v, [1, 2, 2, 1])
    before = mb.current
    for value, text in (
        ([1.0], "q of 'chain[link2, link3]' has 2 entries, got 1"),
        ([0, np.nan], "q of 'chain[link2, link3]' must be finite: entry 1, of hinge 'link3', is nan"),
        (
            np.zeros((3, 2)),
            "holds one state, got an array of shape (3, 2); for a batch make a snapshot with g.state(q, v)",
        ),
    ):
        with pytest.raises(StateError) as error:
            g.q = value
        assert text in str(error.value)
    assert mb.current is before


def test_snapshots_have_its_own_size_and_freeze_the_rest():
    mb = random_tree(14, seed=2, branching=0.4)
    names = inner(mb)
    g = mb.subgraph(names)
    q, v = g.random_state(seed=5)
    s = g.state(q, v)
    assert s.graph is g
    assert s.q.shape == (g.nq,)
    assert s.v.shape == (g.nv,)
    anchor = mb.pose(g.anchor)
    mb.set_state(*mb.random_state(seed=9))  # s stays where the anchor was
    alone = standing_alone(mb, names)
    alone.set_state(q, v)
    moved = anchor @ mb.pose(g.anchor).inv @ alone.pose(names[0])
    np.testing.assert_allclose(g.pose(names[0], state=s), moved, atol=1e-10)
    batch = g.state(np.stack([q, q]), v)
    assert batch.batch == (2,)
    assert g.sko(batch).A(0, g.topology.children(0)[0]).shape == (2, 6, 6)
    np.testing.assert_allclose(g.integrate(q, 0 * v), q, atol=1e-12)


def test_it_follows_the_model_and_shares_what_it_can():
    mb = tree(1)
    g = mb.subgraph(inner(mb))
    first = g.current
    assert g.current is first
    assert g.state() is first
    g.sko(axes="inertial").a(0)
    mb.vdot = 2 * mb.vdot
    assert g.current is not first
    assert g.current.motion is first.motion
    mb.v = 2 * mb.v
    assert g.current.motion is not first.motion
    assert g.current.configuration is first.configuration
    np.testing.assert_array_equal(g.v, 2 * first.v)
    counted = mb.counters["configuration"]
    g.sko(axes="inertial").a(0)
    assert mb.counters["configuration"] == counted
    mb.q = mb.integrate(mb.q, 0.1 * mb.v)
    assert g.current.configuration is not first.configuration


def test_a_moving_anchor_follows_vdot():
    mb = tree(1)
    g = mb.subgraph(inner(mb), anchor="moving")
    before = g.sko().a(0)
    mb.vdot = mb.vdot + 1.0
    assert not np.allclose(g.sko().a(0), before)


def test_a_subgraph_of_a_subgraph():
    mb = serial_chain(5)
    g = mb.subgraph(["link2", "link3", "link4"])
    assert [body.name for body in g.subgraph(["link3"]).bodies] == ["link3"]
    with pytest.raises(ModelError, match="'link5' is not on a body of"):
        g.subgraph(["link5"])


def test_it_is_stale_after_a_structural_change():
    mb = serial_chain(3)
    g = mb.subgraph(["link2", "link3"])
    state = g.state()
    mb.add_body("more", "link3", Weld())
    for use in (
        lambda: g.bodies,
        lambda: g.q,
        lambda: g.sko(state),
        lambda: setattr(g, "q", [0, 0]),
        lambda: g.pose("link2"),
        lambda: g.subgraph(["link2"]),
    ):
        with pytest.raises(StaleError) as error:
            use()
        assert str(error.value) == (
            "sub-graph of 'chain' was made before a structural change of the model; "
            "make it again with mb.subgraph(['link2', 'link3'])."
        ) or "this state of" in str(error.value)
    assert repr(g).startswith("SubGraph")
