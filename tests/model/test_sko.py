"""SKO models given block by block."""

import numpy as np
import pytest

from soacraft.errors import ModelError
from soacraft.model import SKOModel


def blocks():
    """Three nodes of sizes 2, 3, 1; the last has no dofs."""
    return dict(
        parents=[-1, 0, 1],
        A=[None, np.ones((2, 3)), np.ones((3, 1))],
        H=[np.eye(2), np.eye(3)[:1], np.zeros((0, 1))],
        M=[np.eye(2), np.eye(3), np.eye(1)],
    )


def test_blocks_of_any_size():
    sko = SKOModel(**blocks(), names=["a", "b", "c"])
    assert (sko.n, sko.dims, sko.nvs, sko.names) == (3, (2, 3, 1), (2, 1, 0), ("a", "b", "c"))
    assert sko.A(1, 2).shape == (3, 1)
    assert sko.edges[0] is None
    assert (sko.parent(2), sko.children(0), list(sko.nodes)) == (1, (1,), [0, 1, 2])
    assert sko.base_to_tips() == sko.tips_to_base()[::-1] == (0, 1, 2)
    np.testing.assert_array_equal(sko.a(1), np.zeros(3))
    np.testing.assert_array_equal(sko.b(2), np.zeros(1))
    assert repr(sko) == "SKOModel with 3 nodes, 3 dofs, blocks of size [1, 2, 3]"
    with pytest.raises(ValueError, match="read-only"):
        sko.M(0)[0, 0] = 2.0


REFUSED = [
    (dict(parents=[-1, 2, 1]), "the parents of '1', '2' form a cycle"),
    (dict(parents=[-1, 0, 7]), "node '2' has parent number 7, but nodes are numbered 0 to 2"),
    (dict(A=[None, np.ones((2, 3))]), "3 nodes but 2 blocks of A"),
    (dict(A=[np.eye(2), np.ones((2, 3)), np.ones((3, 1))]), "node '0' is on the root and has no edge"),
    (dict(A=[None, None, np.ones((3, 1))]), "A of node '1' is missing; its parent is '0'"),
    (dict(A=[None, np.ones((3, 2)), np.ones((3, 1))]), "A of node '1' is 3 x 2, but its neighbours ask for 2 x 3"),
    (dict(H=[np.eye(2), np.eye(2), np.zeros((0, 1))]), "H of node '1' is 2 x 2, but its neighbours ask for 2 x 3"),
    (dict(H=[np.ones((3, 2)), np.eye(3)[:1], np.zeros((0, 1))]), "a hinge map needs independent rows"),
    (dict(M=[np.eye(2), np.triu(np.ones((3, 3))), np.eye(1)]), "M of node '1' is not symmetric"),
    (dict(M=[np.eye(2), np.full((3, 3), np.nan), np.eye(1)]), "M of node '1' holds NaN or infinite entries"),
    (dict(M=[np.eye(2), "x", np.eye(1)]), "M of node '1' cannot be read as numbers"),
    (dict(M=[np.eye(2), np.ones(3), np.eye(1)]), "M of node '1' must be a matrix, got shape (3,)"),
    (dict(a=[np.zeros(2), np.zeros(2), np.zeros(1)]), "a of node '1' has 2 entries, its velocity 3"),
    (dict(b=[np.zeros(2)]), "3 nodes but 1 blocks of b"),
    (dict(names=["a", "a", "b"]), "the name 'a' is used for two nodes"),
]


@pytest.mark.parametrize(("change", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_bad_blocks_are_refused(change, text):
    with pytest.raises(ModelError) as error:
        SKOModel(**{**blocks(), **change})
    assert text in str(error.value)


def test_there_is_an_edge_only_between_neighbours():
    sko = SKOModel(**blocks())
    with pytest.raises(ModelError, match="there is no edge from '2' to node number 0"):
        sko.A(0, 2)
