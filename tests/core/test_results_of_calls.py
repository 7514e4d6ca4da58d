"""Instances that quick calls fill without Python: what describes them is checked when a call is made."""

import gc
import weakref

import numpy as np
import pytest

import soacraft as sc
from soacraft import _core
from soacraft.model.flat.compiled import CompiledModel


class Filled:
    __slots__ = ("__weakref__", "first", "second", "source")


class Open:
    first = second = source = None


def call(kernel, arguments, wrap, model):
    return _core.call(model.kernels, kernel, arguments, {}, lambda *args: "fallback", {}, wrap)


@pytest.mark.parametrize("wrap", [
    (Filled, list, "source", "first"), (Filled, None, "source", "first", "second"),
    ("Filled", list, "source", "first", "second"), (Filled, list, "source", "first", "third"),
    (Open, list, "source", "first", "second"), [Filled, list],
    (Filled, list, "source", "first", 2),
])  # fmt: skip
def test_what_does_not_fit_is_refused(wrap):
    model = CompiledModel.of(sc.serial_chain(2).layout)
    with pytest.raises(ValueError, match=r"a class, a function and names of 3 slots|must have the slots"):
        call("poses", ("q",), wrap, model)


def test_the_source_is_asked_for_again_when_a_parameter_changed():
    mb = sc.serial_chain(2)
    model, asked = CompiledModel.of(mb.layout), []
    f = call("poses", ("q",), (Filled, lambda: asked.append(0) or len(asked), "source", "first", "second"), model)
    found = [f(np.zeros(2)), f(np.ones(2))]
    mb.bodies[0].inertia = sc.Inertia(3.0, (0, 0, 0), np.eye(3))
    found.append(f(np.zeros(2)))
    assert [x.source for x in found] == [1, 1, 2]
    assert (found[0].first.shape, found[0].second.shape) == ((2, 3, 3), (2, 3))


def test_a_source_that_fails_ends_the_call():
    def fails():
        raise KeyError("gone")

    model = CompiledModel.of(sc.serial_chain(2).layout)
    with pytest.raises(KeyError, match="gone"):
        call("poses", ("q",), (Filled, fails, "source", "first", "second"), model)(np.zeros(2))


def test_states_are_kept_as_they_were():
    mb = sc.serial_chain(2)
    f = call("velocities", ("q", "v"), (Filled, list, "source", "first", "second"), CompiledModel.of(mb.layout))
    q, v = np.array([0.1, 0.2]), np.array([0.3, 0.4])
    one, many = f(q, v), f(np.tile(q, (3, 1)), v)
    q[:], v[:] = 9.0, 9.0
    np.testing.assert_array_equal(np.frombuffer(one.second), [0.1, 0.2, 0.3, 0.4])
    assert [x.shape for x in many.second] == [(3, 2), (2,)]
    assert many.second[1].tolist() == [0.3, 0.4]


def test_instances_go_when_they_are_dropped():
    model = CompiledModel.of(sc.serial_chain(2).layout)
    f = call("poses", ("q",), (Filled, object, "source", "first", "second"), model)
    found = f(np.zeros(2))
    seen = weakref.ref(found)
    del found
    gc.collect()
    assert seen() is None
