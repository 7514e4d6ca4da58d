"""Places of the nodes of a tree in a picture: nothing overlaps, parents over the middle of their children."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.algebra.spaces.tree import Tree
from soacraft.view.layered import places


@given(st.integers(0, 10**6), st.integers(1, 25))
@tries(40)
def test_nodes_of_a_layer_lie_apart_and_parents_over_their_children(seed, n):
    """Of any widths, and of several trees side by side."""
    rng = np.random.default_rng(seed)
    tree = Tree([int(rng.integers(-1, k)) for k in range(n)])
    widths, gap = rng.uniform(0.5, 20.0, n), 1.5
    at = np.array(places(tree, widths.tolist(), gap))
    assert (at - 0.5 * widths >= -1e-9).all()
    for depth in set(tree.depth):
        layer = sorted((k for k in range(n) if tree.depth[k] == depth), key=lambda k: at[k])
        for a, b in pairwise(layer):
            assert at[b] - 0.5 * widths[b] >= at[a] + 0.5 * widths[a] + gap - 1e-9
    for k in range(n):
        children = tree.children(k)
        if children:
            assert at[k] == pytest.approx(0.5 * (at[children[0]] + at[children[-1]]))
            assert list(at[list(children)]) == sorted(at[list(children)])


def test_a_wide_parent_takes_what_is_under_it_along():
    """The second tree's root of width 10 begins a gap after the first one's, and its one leaf stands under it."""
    tree = Tree([-1, 0, -1, 2])
    assert places(tree, [4.0, 1.0, 10.0, 1.0], 2.0) == [2.0, 2.0, 11.0, 11.0]
