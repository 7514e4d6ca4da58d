"""Which bodies become one compound body."""

import pytest

import soacraft as sc
from soacraft.errors import LoopError
from soacraft.loops.embedding.groups import Units, find_groups, group_of
from soacraft.model import serial_chain


def tree(parents):
    """Pins on a tree with the parents given by number; body k is called b<k>."""
    mb = sc.Multibody("tree")
    for k, p in enumerate(parents):
        mb.add_body(f"b{k}", None if p < 0 else f"b{p}", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    return mb


def groups(mb):
    names = [x.name for x in mb.loops] + [x.name for x in mb.couplings]
    return {group.members: group.parent for group in find_groups(mb, names)}


def test_a_loop_leaves_its_root_body_out():
    mb = tree([-1, 0, 1, 0, 3])
    mb.close_loop("ring", "b2", "b4", sc.Spherical())
    assert groups(mb) == {(1, 2, 3, 4): 0}


def test_a_loop_along_one_chain_leaves_the_inner_end_out():
    mb = serial_chain(5)
    mb.close_loop("ring", "link2", "link5", sc.Spherical())
    assert groups(mb) == {(2, 3, 4): 1}


def test_loops_to_the_ground_and_between_base_trees_hang_from_the_ground():
    mb = tree([-1, 0, -1, 2])
    mb.close_loop("ground", "inertial", "b1", sc.Spherical())
    assert groups(mb) == {(0, 1): -1}
    mb.close_loop("bridge", "b1", "b3", sc.Spherical())
    assert groups(mb) == {(0, 1, 2, 3): -1}


def test_loops_that_share_a_hinge_are_one_group_and_those_that_share_a_body_only_are_two():
    mb = tree([-1, 0, 1, 2, 3, 4])
    mb.close_loop("one", "b0", "b3", sc.Spherical())
    mb.close_loop("apart", "b3", "b5", sc.Spherical())
    assert groups(mb) == {(1, 2, 3): 0, (4, 5): 3}
    mb.close_loop("across", "b2", "b4", sc.Spherical())
    assert groups(mb) == {(1, 2, 3, 4, 5): 0}


def test_a_loop_inside_a_loop_is_part_of_it():
    mb = serial_chain(6)
    mb.close_loop("outer", "inertial", "link6", sc.Spherical())
    mb.close_loop("inner", "link2", "link4", sc.Spherical())
    assert groups(mb) == {(0, 1, 2, 3, 4, 5): -1}


def test_a_coupling_holds_the_bodies_between_its_dofs():
    mb = tree([-1, 0, 1, 0, 3, 4])
    mb.couple("gear", {"b2": 1, "b4": -3})
    assert groups(mb) == {(1, 2, 3, 4): 0}
    mb.remove_coupling("gear")
    mb.couple("along", {"b3": 1, "b5": -1})
    assert groups(mb) == {(3, 4, 5): 0}
    mb.couple("still", {"b1": 1}, 0.3)
    assert groups(mb) == {(1,): 0, (3, 4, 5): 0}


def test_couplings_and_loops_that_share_a_body_are_one_group():
    mb = tree([-1, 0, 1, 0, 3, 4])
    mb.close_loop("ring", "b2", "b4", sc.Spherical())
    mb.couple("gear", {"b4": 1, "b5": -3})
    assert groups(mb) == {(1, 2, 3, 4, 5): 0}


def test_inactive_ties_make_no_group():
    mb = tree([-1, 0, 1])
    mb.close_loop("ring", "b0", "b2", sc.Spherical(), active=False)
    mb.couple("gear", {"b1": 1, "b2": 1}, active=False)
    assert groups(mb) == {}


def test_the_units_are_a_tree_with_unique_names():
    mb = tree([-1, 0, 1, 2, 3, 4])
    mb.close_loop("one", "b0", "b3", sc.Spherical())
    mb.close_loop("apart", "b3", "b5", sc.Spherical())
    units = Units(mb.topology, find_groups(mb, ["one", "apart"]))
    assert units.tree.names == ("b0", "b1+b2+b3", "b4+b5")
    assert units.tree.parents == (-1, 0, 1)
    assert units.of == {0: 0, 1: 1, 2: 1, 3: 1, 4: 2, 5: 2}


def test_a_compound_name_that_a_body_has_is_changed():
    mb = sc.Multibody("names")
    for name, parent in (("a", None), ("b", "a"), ("a+b", "b")):
        mb.add_body(name, parent, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    assert Units(mb.topology, [group_of(mb.topology, [0, 1])]).tree.names == ("a+b'", "a+b")


def test_bodies_with_a_gap_between_them_are_refused():
    mb = serial_chain(4)
    with pytest.raises(LoopError) as error:
        group_of(mb.topology, [0, 2])
    assert str(error.value) == (
        "'link1', 'link3' do not make one compound body: their parents are the inertial frame, 'link2'. Add the bodies "
        "between them, so that all have one parent outside."
    )
