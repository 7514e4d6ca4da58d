"""Trees: kinship, orders, paths, branches, and what is refused."""

import re

import numpy as np
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
        (([-1, 0], ["a", "a"]), "the name 'a' is used for two nodes; names must be unique."),
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


def test_questions_by_name():
    t = Tree([-1, 0, 1, 1, 3, -1], names=["pelvis", "trunk", "left", "right", "hand", "ball"])
    assert t.branch_of("hand").names == ("right", "hand")
    assert t.branch_of(1).index == 0
    assert all(k in t.branch_of(k).nodes for k in range(t.n))
    assert t.is_ancestor("pelvis", "hand")
    assert t.is_ancestor(3, "hand")
    assert not any(t.is_ancestor(*pair) for pair in (("hand", "pelvis"), ("left", "hand"), ("hand", "hand")))
    assert t.common_ancestor("left", "hand") == "trunk"
    assert t.common_ancestor("left", "hand", "pelvis") == "pelvis"
    assert t.common_ancestor("hand") == "hand"
    assert t.common_ancestor("hand", "ball") is None
    adjacency = t.adjacency()
    assert [(int(i), int(j)) for i, j in np.argwhere(adjacency)] == [(0, 1), (1, 2), (1, 3), (3, 4)]
    reached = np.linalg.inv(np.eye(t.n) - adjacency)  # sum of powers: paths
    assert all((reached[i, j] > 0.5) == (i == j or t.is_ancestor(i, j)) for i in range(t.n) for j in range(t.n))


@pytest.mark.parametrize("ask", [lambda t: t.branch_of("hnd"), lambda t: t.is_ancestor("pelvis", "hnd")])
def test_unknown_names_are_refused(ask):
    with pytest.raises(ModelError, match=r"there is no node 'hnd' in this tree; did you mean 'hand'\?"):
        ask(Tree([-1, 0], names=["pelvis", "hand"]))
    with pytest.raises(ModelError, match="there is no node number 2: nodes are numbered 0 to 1"):
        Tree([-1, 0]).branch_of(2)
    with pytest.raises(ModelError, match="common_ancestor needs a node"):
        Tree([-1]).common_ancestor()


def test_walks_take_names_and_numbers():
    tree = Tree([-1, 0, 0, 1], names=["trunk", "left", "right", "hand"])
    assert tree.path("trunk", "hand") == tree.path(0, 3) == tree.path(np.int64(0), 3) == [3, 1, 0]
    assert tree.path("right", "hand") is None
    assert tree.ancestors("hand") == [3, 1, 0]
    assert (tree.parent("hand"), tree.children("trunk"), tree.children(-1)) == (1, (1, 2), (0,))
    assert tree.closest_common_ancestor("hand", "right") == 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda tree, node: tree.path(node, "a"),
        lambda tree, node: tree.path("a", node),
        lambda tree, node: tree.ancestors(node),
        lambda tree, node: tree.parent(node),
        lambda tree, node: tree.children(node),
        lambda tree, node: tree.closest_common_ancestor(node, 0),
    ],
)
def test_walks_refuse_nodes_that_are_not_there(ask):
    tree = Tree([-1, 0], names=["a", "b"])
    with pytest.raises(ModelError, match=r"^there is no node 'c' in this tree"):
        ask(tree, "c")
    with pytest.raises(ModelError, match=r"^there is no node number 2: nodes are numbered 0 to 1\.$"):
        ask(tree, 2)
    with pytest.raises(ModelError, match=r"^there is no node None in this tree"):
        ask(tree, None)
    for walk in (lambda: tree.parent(-1), lambda: tree.path(0, -1), lambda: tree.path(-1, 0)):
        with pytest.raises(ModelError, match=r"^there is no node number -1"):
            walk()
    assert tree.closest_common_ancestor(-1, 0) is None
    assert tree.ancestors(-1) == []


def test_several_parents_go_to_loops():
    with pytest.raises(ModelError, match=r"node 'tip' has several parents, \(0, 1\).*sc.loops"):
        Tree([-1, 0, (0, 1)], names=["base", "mid", "tip"])
