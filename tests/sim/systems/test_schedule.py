"""Drawn diagrams: loops against a dense reachability matrix, values against an interpreter that knows no order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft import sim
from soacraft.errors import AlgebraicLoopError


class Both(sim.Component):
    """Two outputs: one follows the first input at once, the other the state alone."""

    class Params(sim.Params):
        gain: float

    a = sim.In()
    b = sim.In()
    x = sim.Discrete(start=0.5)

    @sim.output()
    def now(p, a, x):
        return p.gain * a + 0.5 * x

    @sim.output()
    def then(x):
        return 2.0 * x - 1.0

    @sim.update(x)
    def x_next(a, b, x):
        return 0.25 * (a - b) + 0.5 * x


class Mixed(sim.Component):
    """A continuous one: both inputs act at once, and on the rate of a state."""

    class Params(sim.Params):
        gain: float

    a = sim.In()
    b = sim.In()
    x = sim.Continuous()

    @sim.output()
    def now(p, t, a, b):
        return p.gain * (a - 0.5 * b) + t

    @sim.output()
    def then(x):
        return x

    @sim.rate(x)
    def x_rate(a, x):
        return 0.1 * a - x


@st.composite
def diagrams(draw):
    """Names (which may be nested), kinds, periods in ticks of 0.1 s, gains, and the source of every input."""
    n = draw(st.integers(1, 6))
    names = [f"{draw(st.sampled_from(['', 'in/', 'in/deep/']))}c{i}" for i in range(n)]
    kinds = [draw(st.sampled_from([1, 2, 3, None])) for _ in names]  # None is continuous
    gains = [draw(st.integers(-4, 4)) / 8 for _ in names]
    ports = [f"{name}.{port}" for name in names for port in ("now", "then")]
    inputs = {f"{name}.{port}": draw(st.sampled_from(ports)) for name in names for port in ("a", "b")}
    return names, kinds, gains, inputs


def built(diagram, order=None) -> sim.System:
    names, kinds, gains, inputs = diagram
    s = sim.System("drawn", integrator="rk4", step=0.1)
    for i in order or range(len(names)):
        every = None if kinds[i] is None else f"{kinds[i]}/10"
        s.add(names[i], (Mixed if kinds[i] is None else Both)(gain=gains[i]), every=every)
    for target, source in inputs.items():
        s.connect(source, target)
    return s


def at_once(diagram):
    """Which output needs which at the same instant, (2 n, 2 n)."""
    names, kinds, _, inputs = diagram
    ports = [f"{name}.{port}" for name in names for port in ("now", "then")]
    A = np.zeros((len(ports), len(ports)), dtype=bool)
    for name, kind in zip(names, kinds, strict=True):
        for port in ("a", "b") if kind is None else ("a",):
            A[ports.index(f"{name}.now"), ports.index(inputs[f"{name}.{port}"])] = True
    return A


def has_loop(A) -> bool:
    R = A.astype(int)
    for _ in range(len(A)):
        R = np.minimum(R + R @ A.astype(int), 1)
    return bool(np.diag(R).any())


@tries(60)
@given(diagrams(), st.randoms())
def test_a_loop_is_told_if_and_only_if_there_is_one(diagram, rng):
    A = at_once(diagram)
    s = built(diagram)
    if not has_loop(A):
        run = s.run(0.7)
        order = list(range(len(diagram[0])))
        rng.shuffle(order)
        other = built(diagram, order).run(0.7)
        assert all(np.array_equal(run.signals[x], other.signals[x]) for x in run.signals)
        return
    with pytest.raises(AlgebraicLoopError) as told:
        s.check()
    cycle = told.value.cycle
    ports = [f"{name}.{port}" for name in diagram[0] for port in ("now", "then")]
    for i, key in enumerate(cycle):
        assert A[ports.index(cycle[(i + 1) % len(cycle)]), ports.index(key)]


def interpreted(diagram, ticks: int) -> list[dict[str, float]]:
    """Rows of a sampled diagram, by evaluating every due output again and again until nothing changes."""
    names, kinds, gains, inputs = diagram
    x, y, rows = dict.fromkeys(names, 0.5), {}, []
    for name in names:
        y |= {f"{name}.now": 0.0, f"{name}.then": 0.0}
    for k in range(ticks):
        due = [i for i, period in enumerate(kinds) if k % period == 0]
        for _ in range(2 * len(names) + 1):
            for i in due:
                name = names[i]
                y[f"{name}.now"] = gains[i] * y[inputs[f"{name}.a"]] + 0.5 * x[name]
                y[f"{name}.then"] = 2.0 * x[name] - 1.0
        rows.append(dict(y))
        new = {
            names[i]: 0.25 * (y[inputs[f"{names[i]}.a"]] - y[inputs[f"{names[i]}.b"]]) + 0.5 * x[names[i]] for i in due
        }
        x |= new
    return rows


@tries(60)
@given(diagrams().filter(lambda d: None not in d[1] and not has_loop(at_once(d))))
def test_values_are_those_of_an_interpreter_without_order(diagram):
    run = built(diagram).run(0.7)
    rows = interpreted(diagram, 8)
    assert len(run) == 8
    for key in rows[0]:
        assert run.signals[key].tolist() == [row[key] for row in rows], key
