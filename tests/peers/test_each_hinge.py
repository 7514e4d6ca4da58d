"""Each kind of hinge alone: one body, a tree with two bases, and twenty bodies, against every peer."""

import pytest
from tests.peers.agreement import AXES, assert_agree
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "bases"), [(1, 1), (7, 2)])
def test_a_small_tree(kind, peer, n, bases):
    mb = tree([kind], n, seed=n, bases=bases)
    there = PEERS[peer](mb)
    for axes in AXES:
        assert_agree(mb, there, axes)


@pytest.mark.parametrize("peer", ["Pinocchio", "MuJoCo", "soacraft, chains"])
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_bodies(kind, peer):
    mb = tree([kind], 20, seed=40, branching=0.7, bases=3)
    assert_agree(mb, PEERS[peer](mb))
