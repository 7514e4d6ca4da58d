"""A sub-graph is a model of its own that stands where its anchor is; with a moving anchor it is the whole's slice."""

import numpy as np
import pytest
from tests.anchors.reference import AXES, bias_force, forward, mass_matrix

import soacraft as sc
from soacraft.model import random_tree


def whole(seed):
    return random_tree(15, seed=seed, gravity=(1.0, -2.0, -9.0))


def outboard_of(mb, name):
    return [body.name for body in mb.body(name).subtree()]


def rebuilt(mb, names):
    """The named bodies as a model of their own: the root's inboard frame fixed where the anchor holds it now."""
    alone = sc.Multibody("alone", gravity=mb.gravity)
    for body in mb.bodies:
        if body.name not in names:
            continue
        inside = body.parent.name in names
        inboard = body.inboard if inside else mb.pose(body.parent) @ body.inboard
        parent = body.parent.name if inside else None
        new = alone.add_body(body.name, parent, body.hinge, body.inertia, inboard, body.outboard)
        for node in body.nodes:
            new.add_node(node.name, node.pose)
    for what in ("q", "v"):
        parts = [getattr(mb, what)[getattr(mb, f"{what}_slice")(body.name)] for body in alone.bodies]
        setattr(alone, what, np.concatenate(parts))
    return alone


def roots(mb):
    """Bodies with a tilted anchor and something outboard."""
    found = [body.name for body in mb.bodies if body.parent is not mb.root and len(outboard_of(mb, body.name)) > 2]
    assert found
    return found


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(5))
def test_equals_a_model_built_at_the_anchor(seed, axes):
    """The rest of the model moves, but a resting anchor is at rest; gravity keeps its true direction."""
    mb = whole(seed)
    for root in roots(mb):
        names = outboard_of(mb, root)
        assert np.abs(mb.pose(mb.body(root).parent).rotation - np.eye(3)).max() > 0.1
        part, alone = sc.operators(mb.subgraph(names), axes=axes), rebuilt(mb, names)
        own = sc.operators(alone, axes=axes)
        assert part.body.labels == own.body.labels
        np.testing.assert_allclose(mass_matrix(part), mass_matrix(own), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(bias_force(part), bias_force(own), rtol=1e-11, atol=1e-11)
        T = np.random.default_rng(seed).standard_normal(alone.nv)
        np.testing.assert_allclose(forward(part, T), forward(own, T), rtol=1e-9, atol=1e-9)
        for vector in ("V", "a", "b"):
            np.testing.assert_allclose(getattr(part, vector), getattr(own, vector), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("axes", AXES)
def test_bodies_cut_off_at_the_tips_are_absent(axes):
    """A sub-graph need not reach the tips: what hangs outboard has no weight in it."""
    mb = whole(1)
    names = [name for root in roots(mb)[:1] for name in outboard_of(mb, root)]
    names = [name for name in names if mb.body(name).children]
    part, own = sc.operators(mb.subgraph(names), axes=axes), sc.operators(rebuilt(mb, names), axes=axes)
    np.testing.assert_allclose(mass_matrix(part), mass_matrix(own), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(bias_force(part), bias_force(own), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("axes", AXES)
def test_a_snapshot_of_a_sub_graph(axes):
    """g.state(q, v) is that of the model built at the anchor, in that state."""
    mb = whole(2)
    names = outboard_of(mb, roots(mb)[0])
    g, alone = mb.subgraph(names), rebuilt(mb, names)
    q, v = g.random_state(9)
    part, own = sc.operators(g.state(q, v), axes=axes), sc.operators(alone.state(q, v), axes=axes)
    np.testing.assert_allclose(mass_matrix(part), mass_matrix(own), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(bias_force(part), bias_force(own), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("seed", range(5))
def test_with_a_moving_anchor_it_is_the_slice_of_the_whole(seed, axes):
    """V, alpha, f and T of the bodies are those they have in the whole model; so is the answer to T."""
    mb = whole(seed)
    full = sc.operators(mb, axes=axes)
    V, alpha, f, T = full.V, full.alpha, full.f, full.T
    for root in roots(mb):
        names = outboard_of(mb, root)
        g = mb.subgraph(names, anchor="moving")
        part = sc.operators(g, axes=axes)
        for found, expected in ((part.V, V), (part.alpha, alpha), (part.f, f), (part.T, T)):
            for name in names:
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-9)
        own_T = np.concatenate([T[body.name] for body in g.bodies])
        np.testing.assert_allclose(forward(part, own_T), g.vdot, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("axes", AXES)
def test_a_lift_makes_a_pendulum_heavier(axes):
    """Hung in a lift that accelerates with g upwards, it swings as under 2 g; in one that falls, not at all."""
    mb = sc.Multibody("lift", gravity=(0, 0, -9.81))
    mb.add_body("lift", None, sc.Prismatic((0, 0, 1)), sc.Inertia.sphere(10.0, 1.0))
    mb.add_body("bob", "lift", sc.Pin((0, -1, 0)), sc.Inertia.point(1.0, (0, 0, -1)))
    angle = 0.7
    for lift, share in ((9.81, 2.0), (0.0, 1.0), (-9.81, 0.0)):
        mb.set_state([0.3, angle], [5.0, 2.0], [lift, 0.0])
        swing = forward(sc.operators(mb.subgraph(["bob"], anchor="moving"), axes=axes), [0.0])
        np.testing.assert_allclose(swing, [-share * 9.81 * np.sin(angle)], atol=1e-13)
        rest = forward(sc.operators(mb.subgraph(["bob"]), axes=axes), [0.0])
        np.testing.assert_allclose(rest, [-9.81 * np.sin(angle)], atol=1e-13)


@pytest.mark.parametrize("axes", AXES)
def test_forces_on_a_sub_graph(axes):
    """Stored forces on its bodies act on it too, those on others do not."""
    mb = whole(3)
    names = outboard_of(mb, roots(mb)[0])
    inner = next(name for name in names if mb.body(name).nodes)
    outer = next(body.name for body in mb.bodies if body.nodes and body.name not in names)
    alone = rebuilt(mb, names)
    wrench = sc.Wrench((1, 2, 3), (4, 5, 6), expressed_in="inertial")
    mb.set_force(f"{inner}/tip", wrench)
    mb.set_force(f"{outer}/tip", wrench)
    alone.set_force(f"{inner}/tip", wrench)
    part, own = sc.operators(mb.subgraph(names), axes=axes), sc.operators(alone, axes=axes)
    np.testing.assert_allclose(bias_force(part), bias_force(own), rtol=1e-11, atol=1e-11)
