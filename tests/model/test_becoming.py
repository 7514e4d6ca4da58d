"""A model that becomes another one: equal bit by bit, with the frames that both have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

import soacraft as sc
from soacraft.errors import SoacraftError
from soacraft.files.native import same
from soacraft.model.tree.joining.becoming import become


def _rich(seed, size):
    """A random tree with nodes, shapes, springs, closures, couplings, records, forces and a state."""
    rng = np.random.default_rng(seed)
    mb = sc.random_tree(size, seed=seed)
    names = [x.name for x in mb.bodies]
    for i, name in enumerate(names[:3]):
        mb[name].add_node("hook", sc.Pose(translation=rng.normal(size=3)))
        mb[name].add_geometry(sc.Geometry(f"skin{seed}", "sphere", (0.1 + i,)))
    first = mb[names[0]]
    if first.hinge.nv:
        first.armature = rng.uniform(0.1, 1.0, first.hinge.nv)
        first.limits = sc.Limits(effort=10.0 + seed)
    if size > 1:
        mb.close_loop("ring", f"{names[0]}/hook", f"{names[1]}/hook", sc.Spherical(), active=bool(seed % 2))
        mb.add_spring("rope", f"{names[0]}/hook", "inertial", 3.0, 1.0)
    mb.set_state(*mb.random_state(rng))
    mb.set_force(names[-1], rng.normal(size=6))
    mb.add_keyframe(sc.Keyframe("home", np.array(mb.q), np.array(mb.v)))
    mb.add_record(sc.Record("note", f"n{seed}", {"text": "x"}))
    mb.gravity = rng.normal(size=3)
    return mb


@given(st.integers(0, 10**4), st.integers(1, 7), st.integers(0, 10**4), st.integers(1, 7))
@tries(25)
def test_it_is_the_other_bit_by_bit(a, n, b, m):
    one, other = _rich(a, n), _rich(b, m)
    bodies = {x.name: x for x in one.bodies}
    nodes = {node.full_name: node for x in one.bodies for node in x.nodes}
    whole = other.copy()
    become(one, other)
    assert same(one, other) == []
    assert same(other, whole) == []  # which is left alone
    force = np.linspace(-1, 1, one.nv)
    ours, theirs = (sc.dynamics.forward_dynamics(x, x.q, x.v, force, ignore_loops=True) for x in (one, other))
    assert (ours == theirs).all()
    for name, body in bodies.items():
        if name in one:
            assert one[name] is body
        else:
            with pytest.raises(SoacraftError):
                one.pose(body)
    for name, node in nodes.items():
        assert (name in one) == (not node._removed)
        if name in one:
            assert one[name] is node
    # and it can be edited on, and become itself again
    if one.loops:
        one.remove_loop("ring")
    one.add_body("more", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    become(one, whole)
    assert same(one, whole) == []


def test_programs_and_states_of_before_are_stale():
    one, other = sc.serial_chain(3), sc.serial_chain(4)
    state = one.state(np.zeros(3))
    become(one, other)
    with pytest.raises(sc.errors.StaleError):
        one.pose("link2", state=state)
    dense = [(H * phi * M * phi.T * H.T).array() for H, phi, M in (sc.operators(x, "H phi M") for x in (one, other))]
    assert (dense[0] == dense[1]).all()
