"""Memories as arrays: values of every kind come back with their bits."""

from __future__ import annotations

import numpy as np
import pytest

from soacraft.sim.states.named_arrays import pack, shapes, unpack

HELD = {
    "a": 0.1,
    "b": -7,
    "c": True,
    "d": np.array([[1.0, -0.0], [np.pi, 5e-324]]),
    "e": np.array([2**62, -(2**62)]),
    "f": np.array([True, False]),
    "g": np.zeros((0, 3)),
}


def test_values_of_every_kind_come_back():
    back = unpack(*pack(HELD))
    assert shapes(back) == shapes(HELD)
    for name, value in HELD.items():
        assert type(back[name]) is type(value)
        assert np.asarray(back[name]).tobytes() == np.asarray(value).tobytes()


def test_what_does_not_fit_is_refused():
    listed, floats, whole = pack(HELD)
    with pytest.raises(ValueError, match="there are more numbers than names"):
        unpack(listed[:-3], floats, whole)
    with pytest.raises(ValueError, match="there are no 4 numbers for 'd'"):
        unpack(listed, floats[:-1], whole)
    with pytest.raises(ValueError, match="of the kind 'text'"):
        unpack([("a", "text", [])], floats, whole)
