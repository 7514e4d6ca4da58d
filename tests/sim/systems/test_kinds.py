"""Values of another kind than declared, late in a run: each is a typed error that names component, output, what it must
give and what it gave; what the same number is, is taken. The run stands where its last good row is."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.errors import SimulationError, WiringError
from soacraft.sim.components.declarations import Signal
from soacraft.sim.systems.running.kinds import KindError, checked


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no")


#: Values that are none of any signal.
STRANGE = {
    "None": None, "text": "a", "bytes": b"a", "complex": 1j, "real complex": 1 + 0j, "dict": {}, "set": {1.0},
    "object": object(), "unprintable": Unprintable(), "fraction": Fraction(1, 2), "ragged": [[1.0], [1.0, 2.0]],
    "complex array": np.zeros(2, complex), "texts": np.array(["a", "b"]), "objects": np.array([None, 1.0]),
    "function": len, "empty": np.zeros(0), "matrix": np.zeros((2, 2)), "three": np.zeros(3),
    "date": np.array("2020", "M8[Y]"),
}  # fmt: skip
NUMBER, WHOLE, TRUTH = (Signal((), None, None, kind) for kind in (float, int, bool))
WIDE = Signal((2,), None, None, float)
#: For each signal a good value, and what else is none of it.
SIGNALS = {
    "number": (NUMBER, 0.5, {"pair": np.zeros(2), "list": [1.0], "one in a list": np.zeros(1)}),
    "pair": (WIDE, np.zeros(2), {"number": 1.0, "list": [1.0, 2.0], "tuple": (1.0, 2.0), "int": 3,
                                 "row": np.zeros((1, 2))}),
    "whole": (WHOLE, 3, {"3.7": 3.7, "nan": np.nan, "inf": np.inf, "2^53 + 1": 2**53 + 1, "2^70": 2**70,
                         "large uint64": np.uint64(2**64 - 1), "float32": np.float32(0.5), "pair": np.zeros(2, int)}),
    "truth": (TRUTH, True, {"2": 2, "half": 0.5, "nan": np.nan, "pair": np.zeros(2, bool)}),
}  # fmt: skip
CASES = [(kind, word) for kind, (_, _, more) in SIGNALS.items() for word in [*STRANGE, *more]]


@pytest.mark.parametrize(("kind", "word"), CASES)
@pytest.mark.parametrize("how", ["continuous", "sampled", "update"])
def test_a_value_of_another_kind_late_in_a_run_is_refused_by_name(kind, word, how):
    signal, good, more = SIGNALS[kind]
    bad = {**STRANGE, **more}[word]
    declared = {"shape": signal.shape, "dtype": signal.dtype}

    def late(t):
        return bad if t > 0.24 else good

    if how == "update":
        kept = sim.Discrete(start=good, **declared)
        body = {"kept": kept, "equation": sim.update(kept)(late)}
    else:
        body = {"equation": sim.output(**declared)(late)}
    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("own", type("Own", (sim.Component,), body)(), **({} if how == "continuous" else {"every": 0.1}))
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    with pytest.raises(SimulationError) as wrong:
        s.run(1.0)
    said = str(wrong.value)
    array = f"an array of shape {signal.shape}"
    assert "'own.equation' must give " + (array if signal.shape else "a ") in said
    assert ", and gave " in said
    assert "at t = 0.3 s" in said
    assert s.t <= 0.3
    assert np.isfinite(arm.mb.q).all()


@pytest.mark.parametrize("word", [*STRANGE, *SIGNALS["number"][2]])
@pytest.mark.parametrize("how", ["force", "rate", "crossing", "jump"])
def test_forces_rates_crossings_and_jumps_are_numbers(how, word):
    bad = {**STRANGE, **SIGNALS["number"][2]}[word]

    def late(t):
        return bad if t > 0.24 else 1.0

    s = sim.System("s", integrator="rk4", step=0.1)
    arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    at = {}
    if how == "force":
        body, at = {"equation": sim.output("N m", to="force")(late)}, {"at": arm.dof("bob")}
    elif how == "rate":
        x = sim.Continuous()
        body = {"x": x, "equation": sim.rate(x)(late)}
    elif how == "crossing":
        body = {"equation": sim.crossing()(late)}
    else:
        x, up = sim.Continuous(), sim.crossing()(lambda t: t - 0.25)
        body = {"x": x, "r": sim.rate(x)(lambda t: 0.0), "up": up, "equation": sim.jump(x, at=up)(late)}
    s.add("own", type("Own", (sim.Component,), body)(), **at)
    with pytest.raises(SimulationError, match=r"'own.equation' must give a number, and gave .* at t = 0\.2[45]"):
        s.run(1.0)


@pytest.mark.parametrize(
    ("signal", "given", "wanted"),
    [
        (NUMBER, 3, 3.0), (NUMBER, True, 1.0), (NUMBER, np.float32(0.5), 0.5), (NUMBER, np.array(2.5), 2.5),
        (NUMBER, np.uint64(2**63), 2.0**63), (WHOLE, 3.0, 3), (WHOLE, np.int8(3), 3), (WHOLE, True, 1),
        (WHOLE, 2**53, 2**53), (WHOLE, -(2**60), -(2**60)), (WHOLE, np.float64(-7.0), -7),
        (TRUTH, np.bool_(True), True), (TRUTH, 0, False), (TRUTH, 1.0, True),
    ],
)  # fmt: skip
def test_the_same_number_of_another_type_is_taken(signal, given, wanted):
    value = checked(lambda: given, signal)()
    assert value == wanted
    assert type(value) is type(wanted)


@pytest.mark.parametrize("dtype", ["f4", "i2", "u8", "?"])
def test_arrays_of_other_types_are_doubles(dtype):
    value = checked(lambda: np.array([0, 1], dtype), WIDE)()
    assert value.dtype == np.float64
    assert value.tolist() == [0.0, 1.0]


def test_arrays_of_whole_numbers():
    whole = Signal((2,), None, None, int)
    assert checked(lambda: np.array([1.0, 2.0]), whole)().dtype == np.int64
    for bad in (np.array([1.0, 2.5]), np.array([2**53 + 1, 0]), np.array([np.nan, 0.0]), np.array([1j, 0.0])):
        with pytest.raises(KindError, match=r"must give an array of shape \(2,\) of whole numbers"):
            checked(lambda bad=bad: bad, whole)()


@pytest.mark.parametrize("slow", [False, True])
def test_a_counter_beyond_what_a_double_counts_is_refused_and_does_not_stand_still(slow):
    class Counter(sim.Component):
        n = sim.Discrete(dtype=int, start=2**53 - 2)

        @sim.output(dtype=int)
        def y(p, n):
            return n

        @sim.update(n)
        def count(p, n):
            return n + 1

    s = sim.System("s", integrator="rk4", step=0.1)
    s.add("c", Counter(), every=0.1)
    if slow:  # an array of whole numbers is an obstacle to compiled steps
        s.add("w", type("W", (sim.Component,), {"y": sim.output(shape=(2,), dtype=int)(lambda: np.zeros(2, int))})())
    run = s.run(0.1)
    assert [int(x) for x in run.signals["c.y"]] == [2**53 - 2, 2**53 - 1]
    text = rf"'c.count' must give a whole number that a double holds exactly, as all up to 2\^53, and gave {2**53 + 1}"
    with pytest.raises(SimulationError, match=text):
        s.run(1.0)


@pytest.mark.parametrize("start", [2**53 + 1, 2**70, np.uint64(2**64 - 1)])
def test_a_start_that_no_double_is_is_refused(start):
    with pytest.raises(WiringError, match=r"must be whole numbers that a double holds exactly, as all up to 2\^53"):
        sim.Discrete(dtype=int, start=start).first(None)


def test_all_faults_at_the_start_are_listed():
    s = sim.System("s", integrator="rk4", step=0.1)
    for name, bad in (("a", None), ("b", 1j)):
        s.add(name, type("Own", (sim.Component,), {"y": sim.output()(_constant(bad))})())
    with pytest.raises(WiringError, match=r"(?s)1\. 'a\.y' must give a number, and gave None.*2\. 'b\.y' must"):
        s.check()


def _constant(value):
    return lambda: value
