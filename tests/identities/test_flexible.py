"""Every identity on trees with flexible bodies: hinges on deforming nodes, modes of several numbers, rotors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.identities.test_identities import TOL, allowed, wrong
from tests.model.modal.trees import flexible_tree
from tests.profiles import tries
from tests.strategies import AXES, HINGES, OPEN, keep, parents

import soacraft as sc


@st.composite
def flexible(draw, axes, trees):
    mb = flexible_tree(draw(trees), draw(st.integers(0, 99)), HINGES, draw(st.sampled_from([(2,), (0, 3, 1), (6, 0)])))
    return sc.operators(mb, axes=axes)


@pytest.mark.parametrize("axes", AXES)
@tries(8)
@given(data=st.data())
def test_identities_hold_on_trees(axes, data):
    s = data.draw(flexible(axes, parents(max_size=5)))
    keep()
    assert wrong(s, [identity for identity in sc.identities() if allowed(identity, s)]) == {}


@pytest.mark.parametrize("axes", AXES)
def test_each_identity_on_a_tree_and_a_chain(axes):
    trees = [(-1, 0, 0, 1, 1, 3), (-1, 0, 1, 2)]
    places = [sc.operators(flexible_tree(x, 5, HINGES), axes=axes) for x in trees]
    for identity in OPEN:
        found = sc.verify(identity.left, identity.right, on=[s for s in places if allowed(identity, s)], tolerance=TOL)
        assert found.ok, found
