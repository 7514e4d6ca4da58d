"""`check_component` sees what is wrong with a component, each fault by its text."""

from __future__ import annotations

import math

import numpy as np
import pytest

from soacraft import sim
from soacraft.errors import WiringError


def own(function, shape=()):
    return type("Own", (sim.Component,), {"u": sim.In(shape=shape), "y": sim.output(shape=shape)(function)})()


def spoil(u):
    u[0] = 3.0
    return u * 1.0


calls = []


def remember(u):
    calls.append(u)
    return u + len(calls)


@pytest.mark.parametrize(
    ("component", "why"),
    [
        (own(lambda u: math.sin(u)), r"the output 'y' of Own takes no leading batch axis: TypeError"),
        (own(lambda u: u if np.ndim(u) == 0 else 2 * u), r"gives something else for a batch"),
        (own(lambda u: np.zeros(2)), r"gives shape \(2,\), and \(\) is declared"),
        (own(lambda u: u * math.nan), r"gives .*nan.*, which is not finite"),
        (own(lambda u: 1.0 / 0.0), r"fails: ZeroDivisionError"),
        (own(spoil, (2,)), r"changes its argument 'u': let it make a new array"),
        (own(remember), r"for the same arguments: it must keep nothing"),
    ],
)
def test_faults_are_told(component, why):
    with pytest.raises(WiringError, match=why) as told:
        sim.check_component(component)
    assert len(told.value.faults) == 1


def test_what_is_no_component_is_refused():
    with pytest.raises(WiringError, match="check_component takes a component, got 3"):
        sim.check_component(3)


class Turned(sim.Component):
    """Refuses what is no unit quaternion."""

    q = sim.In(shape=4)

    @sim.output()
    def half(p, q):
        if not np.allclose(np.linalg.norm(q, axis=-1), 1.0):
            raise ValueError("no unit quaternion")
        return np.arccos(q[..., 3])


def test_values_that_not_all_numbers_are_are_drawn_by_the_component():
    with pytest.raises(WiringError, match="fails: ValueError: no unit quaternion"):
        sim.check_component(Turned())

    class Drawn(Turned):
        @staticmethod
        def draw(p, rng):
            q = rng.standard_normal(4)
            return {"q": q / np.linalg.norm(q)}

    class Short(Turned):
        @staticmethod
        def draw(p, rng):
            return {"q": np.zeros(3)}

    assert "1 equations are pure" in str(sim.check_component(Drawn()))
    with pytest.raises(WiringError, match=r"'q' as Short draws it must be float numbers of shape \(4,\)"):
        sim.check_component(Short())
    kept = {"q": (0, 0, 0, 1)}
    Drawn.draw = staticmethod(lambda p, rng: kept)
    sim.check_component(Drawn())
    assert kept == {"q": (0, 0, 0, 1)}  # what a component keeps is its own
    Drawn.draw = staticmethod(lambda p, rng: None)
    with pytest.raises(WiringError, match=r"Drawn.draw returns a mapping \{name: value\}; got None"):
        sim.check_component(Drawn())
    with pytest.raises(WiringError, match="'draw' of Own is a reserved name"):
        type("Own", (sim.Component,), {"draw": sim.In()})
