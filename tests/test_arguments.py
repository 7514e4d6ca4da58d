"""Whole numbers and seeds: what Python would convert in silence is refused by name."""

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.spaces.tree import Tree
from soacraft.arguments import listed, read_seed, whole_number
from soacraft.errors import ModelError, SpaceError
from soacraft.model import random_inertia, random_pose, random_sko
from soacraft.ops.check import check_operator

SEEDS = {
    "random_tree": lambda seed: sc.random_tree(2, seed),
    "random_sko": lambda seed: random_sko(2, seed),
    "random_pose": random_pose,
    "random_inertia": random_inertia,
    "random_state": lambda seed: sc.serial_chain(2).random_state(seed),
    "check_hinge": lambda seed: sc.check_hinge(sc.Pin((0, 0, 1)), seed),
    "check_operator": lambda seed: check_operator(sc.operators(sc.serial_chain(2)).phi, seed=seed),
}
WRONG_SEEDS = {
    "-1": -1, "0.5": 0.5, "2.0": 2.0, "'one'": "one", "None": None, "True": True, "nan": float("nan"), "[1, 2]": [1, 2],
    "a number of 39 digits": 2**128,
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_SEEDS)
@pytest.mark.parametrize("function", SEEDS)
def test_wrong_seeds_are_refused(function, wrong):
    with pytest.raises(ModelError) as error:
        SEEDS[function](WRONG_SEEDS[wrong])
    text = str(error.value)
    assert text.startswith(f"the seed of {function}")
    assert text.endswith(f"must be a whole number from 0 to 2**128 - 1, or a numpy.random.Generator; got {wrong}.")


@pytest.mark.parametrize("wrong", [-1, 0.5, "one", None, True, 2**200, np.random.default_rng(0)])
def test_wrong_seeds_of_verify_are_refused(wrong):
    with pytest.raises(ModelError, match="the seed of verify must be a whole number from 0 to 4294967296, got"):
        sc.verify(lambda s: s.H, lambda s: s.H, seed=wrong)


@pytest.mark.parametrize("function", SEEDS)
def test_right_seeds(function):
    for seed in (0, np.int64(3), 2**128 - 1, np.random.default_rng(1)):
        SEEDS[function](seed)


def test_a_seed_gives_what_it_gave():
    assert read_seed(5, "x").random() == np.random.default_rng(5).random()


@pytest.mark.parametrize("wrong", [0.5, 0.0, "0", None, True, np.float64(0), np.bool_(False)])
def test_parents_are_whole_numbers(wrong):
    with pytest.raises(ModelError, match=r"^the parent of node 'tip' must be a whole number, got "):
        Tree([-1, wrong], ["base", "tip"])
    two = [np.eye(6)] * 2
    with pytest.raises(ModelError, match=r"^the parent of node 'tip' must be a whole number, got "):
        sc.SKOModel([-1, wrong], [None, np.eye(6)], [np.eye(1, 6)] * 2, two, names=["base", "tip"])
    assert Tree([np.int64(-1), np.array(0)]).parents == (-1, 0)


@pytest.mark.parametrize("wrong", [2.0, 2.5, "2", True, None])
def test_counts_are_whole_numbers(wrong):
    for make in (sc.serial_chain, sc.random_tree, random_sko):
        with pytest.raises(ModelError, match="must be a whole number of at least 1, got"):
            make(wrong)
    with pytest.raises(SpaceError, match="a size of the space 'body' must be a whole number of at least 0, got"):
        sc.Space("body", ["a"], [wrong], owner=None)


@pytest.mark.parametrize("wrong", [2.5, 2.0, "2", True, -1])
def test_sizes_of_a_cost_are_whole_numbers(wrong):
    cost = sc.operators(sc.serial_chain(2)).phi.cost()
    assert cost.at(n=np.int64(20)) == 10 * cost.at(n=2) > 0
    with pytest.raises(SpaceError, match="n of a cost must be a whole number of at least 0, got"):
        cost.at(n=wrong)


def test_numbers_within_bounds():
    assert whole_number(np.uint8(3), "it", 3, 3) == 3
    with pytest.raises(ModelError, match=r"^it must be a whole number from 0 to 2, got 3\.$"):
        whole_number(3, "it", 0, 2)


def test_what_can_be_listed():
    assert listed(["a", "b"]) == listed(("a", "b")) == listed(np.array(["a", "b"])) == listed("ab") == ["a", "b"]
    assert listed({"a": 1}) == listed(x for x in "a") == ["a"]
    assert listed([]) == listed(np.zeros(0)) == []
    for wrong in (None, 5, 0.5, True, np.float64(1.0), np.array(1.0), np.array("ab"), np.array(None), object()):
        assert listed(wrong) is None
