"""Every identity on a tree and a chain with flexible bodies in all axes; random ones are in `test_identities.py`."""

import pytest
from tests.identities.test_identities import TOL, allowed
from tests.model.modal.trees import flexible_tree
from tests.strategies import AXES, HINGES, OPEN

import soacraft as sc


@pytest.mark.parametrize("axes", AXES)
def test_each_identity_on_a_tree_and_a_chain(axes):
    trees = [(-1, 0, 0, 1, 1, 3), (-1, 0, 1, 2)]
    places = [sc.operators(flexible_tree(x, 5, HINGES), axes=axes) for x in trees]
    for identity in OPEN:
        found = sc.verify(identity.left, identity.right, on=[s for s in places if allowed(identity, s)], tolerance=TOL)
        assert found.ok, found
