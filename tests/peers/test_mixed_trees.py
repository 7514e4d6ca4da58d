"""Trees with hinges of many kinds against every peer."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.peers.agreement import AXES, Ours, assert_agree
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS
from tests.profiles import tries

ONE_DOF = [kind for kind in KINDS if kind.split()[0] in ("pin", "prismatic", "helical", "screw")]


@pytest.mark.parametrize("peer", PEERS)
@tries(20)
@given(
    kinds=st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=12),
    seed=st.integers(0, 1000),
    branching=st.sampled_from([0.0, 0.5, 1.0]),
    bases=st.integers(1, 3),
    axes=st.sampled_from(AXES),
)
def test_drawn_trees(peer, kinds, seed, branching, bases, axes):
    mb = tree(kinds, len(kinds), seed, branching, bases)
    assert_agree(mb, PEERS[peer](mb), axes)


@cache
def forty(axes, seed, bases):
    """A model and our numbers, the same for all peers."""
    mb = tree(KINDS, 40, seed, bases=bases)
    return mb, Ours.of(mb, axes)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize(("seed", "bases"), [(1, 1), (2, 4)])
def test_forty_bodies_of_every_kind(peer, axes, seed, bases):
    mb, ours = forty(axes, seed, bases)
    assert {type(body.hinge) for body in mb.bodies} == {type(body.hinge) for body in tree(KINDS, len(KINDS)).bodies}
    assert_agree(mb, PEERS[peer](mb), axes, ours=ours)


@pytest.mark.parametrize("peer", PEERS)
def test_a_chain_of_forty_one_dof_hinges(peer):
    mb = tree(ONE_DOF, 40, seed=3, branching=0.0)
    assert_agree(mb, PEERS[peer](mb))


@pytest.mark.parametrize("peer", PEERS)
def test_a_chain_of_forty_hinges_of_every_kind(peer):
    """Pinocchio's articulated-body algorithm loses digits in such deep chains of hinges with several dofs (its inverse
    dynamics does not give back the force), so there forward dynamics is judged by its inverse dynamics."""
    mb = tree(KINDS, 40, seed=4, branching=0.0)
    assert_agree(mb, PEERS[peer](mb), forward="inverse" if peer.startswith("Pinocchio") else "own")


@pytest.mark.parametrize("peer", PEERS)
def test_a_chain_of_forty_ball_joints(peer):
    mb = tree(["spherical"], 40, seed=5, branching=0.0)
    assert_agree(mb, PEERS[peer](mb), forward="inverse" if peer.startswith("Pinocchio") else "own")
