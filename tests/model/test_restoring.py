"""A body put back as it hung: order of siblings, nodes and closures, numbers of hinges, in a copy too."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError
from soacraft.files.native import same
from soacraft.model.tree.joining.restoring import remember, restore


def _shop():
    mb = sc.Multibody("shop")
    for name in "abc":
        mb.add_body(name, hinge=sc.Free(), inertia=sc.Inertia(1.0, moment=np.eye(3)))
        mb[name].add_node("eye")
    mb.add_body("arm", hinge=sc.Pin((0, 0, 1)), inertia=sc.Inertia(1.0))
    for name in ("x", "y"):
        mb.close_loop(name, "a/eye", "arm", sc.Spherical(), active=name == "x")
    mb.set_state(*mb.random_state(np.random.default_rng(0)))
    mb.set_state(vdot=np.arange(mb.nv, dtype=float))
    return mb


@pytest.mark.parametrize("copied", [False, True])
def test_all_comes_back_in_its_order(copied):
    mb = _shop()
    first, was = mb.copy(), remember(mb, mb["b"])
    mb = mb.copy() if copied else mb
    mb.remove_loop("x")
    mb.reattach("b", "arm", sc.Weld())
    mb["b"].remove_node("eye")
    mb["b"].add_node("new")
    mb["b"].add_node("mine")
    mb.close_loop("z", "b/new", "c", sc.Pin((0, 0, 1)))
    mb.set_state(q=mb.random_state(np.random.default_rng(1))[0])
    restore(mb, mb["b"], was, ["new"])
    assert [x.name for x in mb["b"].nodes] == ["eye", "mine"]  # what others put there stays
    mb["b"].remove_node("mine")
    assert same(mb, first) == []
    assert mb.is_closed
    mb.remove_loop("x")
    assert not mb.is_closed


def test_a_hinge_that_stays_keeps_its_dampers_and_one_that_goes_must_have_none():
    mb = _shop()
    mb["arm"].passive = sc.Passive(damping=2.0)
    was = remember(mb, mb["arm"])
    mb.remove_loop("y")
    restore(mb, mb["arm"], was)
    assert mb["arm"].passive.damping[0] == 2.0
    assert [x.name for x in mb.loops] == ["x", "y"]
    was = remember(mb, mb["c"])
    mb.reattach("c", None, sc.Free(), keep_pose=True)
    mb["c"].passive = sc.Passive(damping=1.0)
    with pytest.raises(ModelError, match="has armature, springs, dampers, friction or limits"):
        restore(mb, mb["c"], was)
    assert mb["c"].passive.damping[0] == 1.0
