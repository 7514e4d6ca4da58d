"""`_core.SystemPlan`: descriptions that do not fit are refused by text, so that no call leaves its slots."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from soacraft import _core
from soacraft.sim.components.compiled import address


def whole(*rows, columns=2):
    return np.array(rows, dtype=np.int64).reshape(-1, columns)


def plan(slots=8, clocks=((10, 1, 0),), places=(-1, -1, -1, 1, 2, 1), objects=1, nq=0, nv=0):
    counts = np.zeros(len(clocks), dtype=np.int64)
    return _core.SystemPlan(
        np.zeros(slots), counts, np.array(places, dtype=np.int64), whole(*clocks, columns=3), 0, nq, nv, objects
    )


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"slots": 0}, "places, clocks and counts of a plan do not fit"),
        ({"places": (1, 2)}, "places, clocks and counts of a plan do not fit"),
        ({"clocks": ((1, 1, 0),) * 65}, "places, clocks and counts of a plan do not fit"),
        ({"clocks": ((0, 1, 0),)}, "clock 0 of a plan does not tick"),
        ({"clocks": ((1, 0, 0),)}, "clock 0 of a plan does not tick"),
        ({"clocks": ((1, 1, -1),)}, "clock 0 of a plan does not tick"),
        ({"places": (-1, -1, -1, 8, 2, 1)}, "z of a plan is not within its slots"),
        ({"places": (-1, -1, -1, 1, 8, 1)}, "the rates of z of a plan is not within its slots"),
        ({"places": (7, 1, 1, 1, 2, 1), "nq": 2, "nv": 1}, "q of a plan is not within its slots"),
        ({"objects": -1}, "a plan has no such number of objects"),
    ],
)
def test_places_that_do_not_fit(how, text):
    with pytest.raises(ValueError, match=text):
        plan(**how)


SAME = address("same")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ([SAME, (1,), (), 2, 1], "a call of a plan is described by tuples"),
        ((), "a call of a plan is empty"),
        ((SAME, (1,), (), 2), "a compiled call of a plan has 4 entries, not 5"),
        ((0, (1,), (), 2, 1), "a compiled call has an address"),
        ((SAME, (8,), (), 2, 1), "an argument of a plan is not within its slots"),
        ((SAME, (-1,), (), 2, 1), "an argument of a plan is not within its slots"),
        ((SAME, (1.5,), (), 2, 1), "a plan has whole numbers for slots"),
        ((SAME, (1,), ("a",), 2, 1), "parameters of a compiled call are numbers"),
        ((SAME, (1,), (), 7, 2), "a result of a plan is not within its slots"),
        ((SAME, (1,), (), 2, -1), "a result of a plan is not within its slots"),
        ((abs, ((0, 1),), 0, 2, ()), "a call into Python of a plan has 5 entries, not 6"),
        ((abs, ((0, 8),), 0, 2, (), ""), "an argument of a plan is not within its slots"),
        ((abs, ((7, 1),), 0, 2, (), ""), "a plan knows no form 7"),
        ((abs, ((0, 1, 2),), 0, 2, (), ""), "an argument of a plan has 3 entries, not 2"),
        ((abs, ((4, 1),), 0, 2, (), ""), "slot 1 of a plan holds no object"),
        ((abs, ((5, 1),), 0, 2, (), ""), "a plan has no clock 1"),
        ((abs, ((0, 1),), 5, 2, (), ""), "a plan knows no such result"),
        ((abs, ((0, 1),), 4, 1, (), ""), "slot 1 of a plan holds no object"),
        ((abs, ((0, 1),), 3, 2, (7,), ""), "a result of a plan is not within its slots"),
        (("abs", ((0, 1),), 0, 2, (), ""), "a call into Python is of a function"),
    ],
)
def test_calls_that_do_not_fit(call, text):
    p = plan()
    with pytest.raises(ValueError, match=text):
        p.set_stage([call], [], [], False, whole(columns=5), np.ones(1))
    with pytest.raises(ValueError, match=text):
        p.add_due(1, [], [], False, [call], whole(), whole(columns=3))


def test_ranges_and_forces_that_do_not_fit():
    p = plan(nv=1)
    for pushes, text in (
        ((1, 1, -1, 0, 0), "there is no dof 1"),
        ((8, 0, -1, 0, 0), "a force of a plan is not within its slots"),
        ((1, -1, 0, 0, 0), "there is no spot 0"),
        ((1, -1, -1, 3, 0), "there is no spot -1"),
    ):
        with pytest.raises(ValueError, match=text):
            p.set_stage([], [], [], False, whole(pushes, columns=5), np.ones(1))
    with pytest.raises(ValueError, match="pushes of a plan have five columns"):
        p.set_stage([], [], [], False, whole((1, 0)), np.ones(1))
    frame = np.zeros((1, 13))
    p.set_nodes(frame, whole((-1, 1, 2, 3), columns=4), frame)
    with pytest.raises(ValueError, match="a force of a plan is not within its slots"):
        p.set_stage([], [], [], False, whole((6, -1, 0, 0, 0), columns=5), np.ones(1))
    with pytest.raises(ValueError, match="a place of a plan is not within its slots"):
        p.set_nodes(frame, whole((0, 1, 2, 3), columns=4), frame)
    with pytest.raises(ValueError, match="frames and places of a plan do not fit"):
        p.set_nodes(frame, whole(columns=4), frame)
    with pytest.raises(ValueError, match="columns of a plan is not within its slots"):
        p.set_record([], [], whole((7, 2)))
    with pytest.raises(ValueError, match="columns of a plan has 3 columns"):
        p.set_record([], [], whole((1, 2, 3), columns=3))
    with pytest.raises(ValueError, match="fresh of a plan is not within its slots"):
        p.add_due(1, [], [], False, [], whole(), whole((1, 1, 8), columns=3))


def test_usual_sizes_and_crossings_that_do_not_fit():
    p = plan()
    with pytest.raises(ValueError, match="a plan has 1 states, and 2 usual sizes"):
        p.set_stage([], [], [], False, whole(columns=5), np.ones(2))
    one, call = np.array([1]), (SAME, (1,), (), 2, 1)
    for given, text in (
        (([call], 8, one, np.zeros((2, 1))), "the values of crossings of a plan is not within its slots"),
        (([call], 2, np.array([2]), np.zeros((2, 1))), "crossing 0 of a plan has no direction"),
        (([call], 2, one, np.zeros((1, 1))), "crossings, directions and signs of a plan do not fit"),
        (([call], 2, one, np.zeros((2, 2))), "crossings, directions and signs of a plan do not fit"),
        (([], 2, one, np.zeros((2, 1))), "crossings, directions and signs of a plan do not fit"),
    ):
        with pytest.raises(ValueError, match=text):
            p.set_crossings(*given)


def test_contacts_that_do_not_fit():
    p, shapes = plan(), np.array([1, 0])
    for touch, text in (
        ((6, 0, shapes, shapes), "a contact of a plan is not within its slots"),
        ((8, 1, shapes, shapes), "a contact of a plan is not within its slots"),
        ((1, 0, shapes), "a contact of a plan has 3 entries, not 4"),
        ((1, 0, shapes, np.ones(2)), "shapes must be a C-contiguous"),
    ):
        with pytest.raises(ValueError, match=text):
            p.set_touches([touch])


def test_functions_are_let_go_with_their_plan():
    class Held:
        def __call__(self):
            return 1.0

    p, held = plan(), Held()
    held.plan = p
    p.set_stage([(held, (), 0, 2, (), "")], [], [], False, whole(columns=5), np.ones(1))
    gone = weakref.ref(held)
    del p, held
    gc.collect()
    assert gone() is None
