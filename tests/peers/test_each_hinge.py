"""Each kind of hinge alone: one body, a tree with two bases, and twenty bodies, against every peer."""

from functools import cache

import pytest
from tests.peers.agreement import AXES, Ours, assert_agree
from tests.peers.kinds import KINDS, tree
from tests.peers.peers import PEERS


@cache
def small(kind, n, bases):
    """A model and our numbers in all axes, the same for all peers."""
    mb = tree([kind], n, seed=n, bases=bases)
    return mb, {axes: Ours.of(mb, axes) for axes in AXES}


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "bases"), [(1, 1), (7, 2)])
def test_a_small_tree(kind, peer, n, bases):
    mb, ours = small(kind, n, bases)
    there = PEERS[peer](mb)
    for axes in AXES:
        assert_agree(mb, there, axes, ours=ours[axes])


@cache
def twenty(kind):
    mb = tree([kind], 20, seed=40, branching=0.7, bases=3)
    return mb, Ours.of(mb)


@pytest.mark.parametrize("peer", ["Pinocchio", "MuJoCo", "soacraft, chains"])
@pytest.mark.parametrize("kind", KINDS)
def test_twenty_bodies(kind, peer):
    mb, ours = twenty(kind)
    assert_agree(mb, PEERS[peer](mb), ours=ours)
