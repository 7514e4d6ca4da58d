"""Trees: kinship, orders, paths, branches, and what is refused."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import parents, scrambled

from soacraft.algebra import Tree
from soacraft.errors import ModelError


def ancestors(tree, k):
    """k and its ancestors, by the definition."""
    return [k] if tree[k] < 0 else [k, *ancestors(tree, tree[k])]


@given(tree=scrambled(parents(max_size=9)), data=st.data())
def test_paths_and_common_ancestors(tree, data):
    t = Tree(tree)
    i, j = (data.draw(st.integers(0, t.n - 1)) for _ in range(2))
    up_i, up_j = ancestors(tree, i), ancestors(tree, j)
    assert t.ancestors(i) == up_i
    assert t.depth[i] == len(up_i)
    assert t.path(i, j) == (up_j[: up_j.index(i) + 1] if i in up_j else None)
    common = [k for k in up_i if k in up_j]
    assert t.closest_common_ancestor(i, j) == (common[0] if common else None)
    assert t.closest_common_ancestor(j, i) == t.closest_common_ancestor(i, j)


@given(tree=scrambled(parents(max_size=9)))
def test_children_and_serial(tree):
    t = Tree(tree)
    for k in range(-1, t.n):
        assert t.children(k) == tuple(j for j, p in enumerate(tree) if p == k)
    assert t.is_serial == all(tree.count(k) <= 1 for k in range(-1, t.n))


@given(tree=scrambled(parents(max_size=9)))
def test_branches_are_the_serial_segments(tree):
    t = Tree(tree)
    nodes = [k for branch in t.branches for k in branch.nodes]
    assert sorted(nodes) == list(range(t.n))
    of = {k: branch.index for branch in t.branches for k in branch.nodes}
    for branch in t.branches:
        first, *rest = branch.nodes
        for k, p in zip(rest, branch.nodes, strict=False):
            assert tree[k] == p
            assert t.children(p) == (k,)
        p = tree[first]
        assert branch.parent == (None if p < 0 else of[p])
        assert p < 0 or len(t.children(p)) > 1
        assert len(t.children(branch.nodes[-1])) != 1


def test_no_nodes():
    t = Tree([])
    assert (t.base_to_tips(), t.branches, t.is_serial, t.children(-1)) == ((), (), True, ())


def test_trees_are_equal_by_value():
    assert Tree([-1, 0], ["a", "b"]) == Tree([-1, 0], ["a", "b"])
    assert hash(Tree([-1, 0], ["a", "b"])) == hash(Tree([-1, 0], ["a", "b"]))
    assert Tree([-1, 0], ["a", "b"]) != Tree([-1, -1], ["a", "b"])
    assert Tree([-1, 0], ["a", "b"]) != Tree([-1, 0], ["a", "c"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([-1, 0], ["a"]), "2 nodes but 1 names were given; give one name for each node."),
        (([-1, 0], ["a", "a"]), "the name 'a' stands for two nodes; names must be unique."),
        (
            ([-1, 7], ["a", "b"]),
            "node 'b' has parent number 7, but nodes are numbered 0 to 1 (-1 for a node on the root).",
        ),
        (([1, 0, -1], ["a", "b", "c"]), "the parents of 'a', 'b' form a cycle."),
        (([0], ["a"]), "the parents of 'a' form a cycle."),
    ],
)
def test_what_is_no_tree_is_refused(arguments, text):
    with pytest.raises(ModelError, match=re.escape(text)):
        Tree(*arguments)
