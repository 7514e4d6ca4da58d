"""States of rows of numbers: those that `mb.state` makes of the same numbers."""

import copy
import pickle

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import StaleError, StateError, UnknownAttributeError
from soacraft.model.states.row import RowStates


def pair(forces=False):
    """A state of a row, and the one of `mb.state`."""
    mb, rng = sc.load("panda"), np.random.default_rng(3)
    q, v, vdot = rng.normal(size=mb.nq), rng.normal(size=mb.nv), rng.normal(size=mb.nv)
    if forces:
        mb.set_force(mb.bodies[-1], [1.0, 0, 0, 0, 2.0, 0])
    return RowStates(mb)(np.concatenate([q, v, vdot])), mb.state(q, v, vdot)


@pytest.mark.parametrize("forces", [False, True])
def test_all_that_a_state_has(forces):
    state, other = pair(forces)
    assert isinstance(state, sc.State)
    assert repr(state) == repr(other)
    assert state.forces == other.forces
    assert (state.batch, state.version, state.made_for) == (other.batch, other.version, other.made_for)
    for name in ("q", "v", "vdot", "alpha", "b"):
        np.testing.assert_array_equal(getattr(state, name), getattr(other, name))
    for x, y in zip(state.configuration.world, other.configuration.world, strict=True):
        np.testing.assert_array_equal(x, y)
    np.testing.assert_array_equal(state.motion.V, other.motion.V)
    np.testing.assert_array_equal(state.q_of("joint4"), other.q_of("joint4"))
    np.testing.assert_array_equal(state.v_of("joint4"), other.v_of("joint4"))
    np.testing.assert_array_equal(
        sc.dynamics.inverse_dynamics(state.graph, state.q, state.v, state.vdot),
        sc.dynamics.inverse_dynamics(other.graph, other.q, other.v, other.vdot),
    )


@pytest.mark.parametrize("name", ["q", "v", "vdot"])
def test_numbers_are_read_only_and_know_their_order(name):
    state, other = pair()
    x = getattr(state, name)
    assert x.order is getattr(other, name).order
    with pytest.raises(StateError, match=f"{name} of 'panda' is read-only"):
        x[0] = 1.0


def test_its_copies_and_others_with_a_part_new():
    state, other = pair()
    for each in (copy.copy(state), copy.deepcopy(state), pickle.loads(pickle.dumps(state))):
        np.testing.assert_array_equal(each.q, other.q)
        np.testing.assert_array_equal(each.vdot, other.vdot)
    moved = state.replace(q=np.zeros(state.graph.nq))
    np.testing.assert_array_equal(moved.v, other.v)
    assert state.replace(v=np.zeros(state.graph.nv)).configuration is state.configuration


def test_it_follows_parameters_and_ends_with_the_structure():
    state, other = pair()
    np.testing.assert_array_equal(state.b, other.b)
    state.graph["link4"].inertia = other.graph["link4"].inertia = sc.Inertia(7.0)
    np.testing.assert_array_equal(state.b, other.b)
    state.graph.add_body("more", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError, match="made before a structural change"):
        state.replace(q=state.q)


def test_what_it_does_not_have():
    state, _ = pair()
    with pytest.raises(AttributeError, match="'RowState' object has no attribute 'velocity'"):
        state.velocity  # noqa: B018
    with pytest.raises(UnknownAttributeError, match="a state is a snapshot"):
        state.q = np.zeros(7)
