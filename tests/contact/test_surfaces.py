"""Friction and restitution of pairs: the user's word before the file's, the more particular before the other."""

import itertools

import pytest
from tests.contact.scenes import box, ground, sphere

import soacraft as sc
from soacraft.contact.dynamics.surfaces import Surfaces

SKINS = "ball/skin", "box/skin"


def scene(**pair):
    mb = ground()
    sphere(mb)
    box(mb)
    if pair:
        mb.add_record(sc.Record("contact pair", "p", {"geom1": "ball/skin", "geom2": "box/skin"} | pair))
    return sc.contact.Scene(mb)


def both_ways(surfaces):
    """Of the two skins, by either order; the table of compiled steps says the same."""
    one, other = surfaces.of(*SKINS), surfaces.of(*SKINS[::-1])
    assert one == other
    groups, rows, friction, restitution = surfaces.table(SKINS)
    i, j = groups
    assert tuple(friction[i, j, : rows[i, j] - 1]) == one[0]
    assert restitution[i, j] == one[1]
    return one


@pytest.mark.parametrize("names", list(itertools.product(("ball/skin", "ball"), ("box/skin", "box"))))
@pytest.mark.parametrize("turned", [False, True])
def test_the_users_pair_counts_more_than_that_of_a_file(names, turned):
    here = scene(condim=3, friction="0.9 0.9")
    assert both_ways(Surfaces(here, 0.2)) == ((0.9, 0.9), 0.0)
    pairs = {names[::-1] if turned else names: (0.3, 0.5)}
    assert both_ways(Surfaces(here, 0.2, pairs=pairs)) == ((0.3, 0.3), 0.5)


def test_the_more_particular_counts_whatever_the_order():
    told = [(("ball", "box"), 0.1), (("ball/skin", "box"), 0.2), (("ball/skin", "box/skin"), 0.3)]
    for some in (told[:1], told[:2], told):
        for order in itertools.permutations(some):
            pairs = {names: (mu, 0.0) for names, mu in order}
            assert both_ways(Surfaces(scene(), 0.7, pairs=pairs))[0][0] == some[-1][1]


def test_a_tie_is_refused():
    tie = {("ball/skin", "box"): (0.2, 0.0), ("box/skin", "ball"): (0.3, 0.0)}
    text = (r"pairs has \('ball/skin', 'box'\) and \('ball', 'box/skin'\), which say different things of 'ball/skin' "
            r"and 'box/skin'; add \('ball/skin', 'box/skin'\): \(friction, restitution\)")  # fmt: skip
    with pytest.raises(sc.errors.ModelError, match=text):
        Surfaces(scene(), pairs=tie)
    assert both_ways(Surfaces(scene(), pairs=tie | {SKINS: (0.4, 0.0)}))[0] == (0.4, 0.4)
    assert both_ways(Surfaces(scene(), pairs=dict.fromkeys(tie, (0.6, 0.1)))) == ((0.6, 0.6), 0.1)
    twice = {("ball", "box"): (0.2, 0.0), ("box", "ball"): (0.3, 0.0)}
    with pytest.raises(sc.errors.ModelError, match=r"pairs has \('box', 'ball'\) twice, with different numbers"):
        Surfaces(scene(), pairs=twice)


def test_a_name_that_two_shapes_have_is_refused_in_a_pair():
    """Both bodies have a shape 'skin'; with its body each is named alone."""
    text = ("contact pair 'skin' - 'floor': 'skin' is the name of 2 shapes, 'ball/skin' and 'box/skin'; name one of "
            "them so in the pair, or give them different names")  # fmt: skip
    mb = ground()
    sphere(mb)
    box(mb)
    here = sc.contact.Scene(mb)
    assert here.pairs
    mb.add_record(sc.Record("contact pair", "p", {"geom1": "skin", "geom2": "floor", "condim": 1}))
    with pytest.raises(sc.errors.ModelError, match=text):
        sc.contact.Scene(mb).distances(mb.q)
    with pytest.raises(sc.errors.ModelError, match=text):
        Surfaces(here)
    again = ground()
    sphere(again)
    box(again)
    again.add_record(sc.Record("contact pair", "p", {"geom1": "ball/skin", "geom2": "floor", "condim": 1}))
    surfaces = Surfaces(sc.contact.Scene(again), 0.4)
    assert surfaces.of("ball/skin", "inertial/floor")[0] == ()
    assert surfaces.of("box/skin", "inertial/floor")[0] == (0.4, 0.4)
