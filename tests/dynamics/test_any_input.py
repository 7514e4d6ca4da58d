"""Wrong shapes, dtypes, strides, sizes, NaN and huge values at every function and method: the only outcomes are a right
answer, or an error of the soacraft family. Right is what the reference engine says of the same numbers in plain arrays.
"""

from datetime import timedelta
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dynamics.calls import CALLS, DERIVATIVES, arguments, arrays, keyword, names_of, reference_alone
from tests.profiles import tries

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import SoacraftError
from soacraft.model.hinges import examples

REFUSED = object()


def graph(function):
    """A small model with hinges of many kinds, one state wide."""
    return _graph(function in DERIVATIVES)


@cache
def _graph(holonomic):
    hinges = [hinge for hinge in examples() if hinge.holonomic or not holonomic]
    return sc.random_tree(7, 3, hinges[3:], branching=0.4)


# -- what may be given for an array x of numbers (n), and the plain numbers it stands for (REFUSED: none) ---


def sparse(x):
    wide = np.full((len(x), 3), np.nan)
    wide[:, 1] = x
    return wide[:, 1]


def longer(x):
    return np.append(x, 0.0)


ODD = {  # the numbers are read all the same
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "strided": sparse,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "read-only": lambda x: np.broadcast_to(x, x.shape),
    "other byte order": lambda x: x.astype(">f8"),
    "long double": lambda x: x.astype(np.longdouble),
    "unaligned": lambda x: np.frombuffer(b"x" + x.tobytes(), dtype=np.uint8)[1:].view(np.float64),
    "batch of one": lambda x: x[None],
    "batch by broadcasting": lambda x: np.broadcast_to(x, (2, 3, len(x))),
    "batch with states last": lambda x: np.asfortranarray(np.stack([x, x, x])),
    "every second state": lambda x: np.stack([x, np.full_like(x, np.nan), x])[::2],
    "empty batch": lambda x: np.zeros((0, len(x))),
    "tiny": lambda x: np.where(np.abs(x) < 0.2, 5e-324, x),
    "single": lambda x: x.astype(np.float32),
    "half": lambda x: x.astype(np.float16),
    "whole": lambda x: np.round(x).astype(np.int64),
    "unsigned": lambda x: np.abs(np.round(x)).astype(np.uint8),
    "subclass": lambda x: x.view(np.recarray),
}
WRONG = {
    "longer": longer,
    "shorter": lambda x: x[:-1],
    "empty": lambda x: x[:0],
    "scalar": lambda x: 1.0,
    "none": lambda x: None,
    "column": lambda x: x[:, None],
    "NaN": lambda x: np.where(np.arange(len(x)) == len(x) // 2, np.nan, x),
    "inf": lambda x: np.where(np.arange(len(x)) == 0, -np.inf, x),
    "one state of three is NaN": lambda x: np.stack([x, x, x * np.nan]),
    "complex": lambda x: x + 0j,
    "booleans": lambda x: x > 0,
    "text": lambda x: [str(value) for value in x],
    "objects": lambda x: np.array([None, *x[1:]], dtype=object),
    "big whole numbers": lambda x: [10**400] * len(x),
    "dates": lambda x: np.array([timedelta(seconds=1)] * len(x), dtype="m8[s]"),
    "ragged": lambda x: [[1.0], x.tolist()],
    "mapping": lambda x: dict(enumerate(x)),
    "set": lambda x: set(x.tolist()),
    "function": lambda x: len,
    "long double beyond double": lambda x: x.astype(np.longdouble) * np.longdouble("1e4000"),
}


@st.composite
def one_bad_apple(draw, function):
    """Arguments for a function, one of them odd or wrong; the same as plain arrays, or REFUSED."""
    g = graph(function)
    plain = arguments(g, draw(st.integers(0, 5)))
    name = draw(st.sampled_from(names_of(function)))
    kind = draw(st.sampled_from([*ODD, *WRONG]))
    if kind in WRONG:
        return plain | {name: WRONG[kind](plain[name])}, REFUSED
    value = ODD[kind](plain[name])
    return plain | {name: value}, plain | {name: np.array(value, dtype=np.float64)}


def outcome(function, g, given, by_handle, **extra):
    """The arrays of the answer, or REFUSED."""
    args = [given[name] for name in CALLS[function].split()]
    call = getattr(dyn.Dynamics(g), function) if by_handle else partial(getattr(dyn, function), g)
    try:
        return arrays(call(*args, **keyword(function, **extra)))
    except SoacraftError:
        return REFUSED


def by_reference(function, g, plain):
    """What the reference engine says."""
    with reference_alone():
        return outcome(function, g, plain, by_handle=False)


def assert_same(found, wanted):
    assert (found is REFUSED) == (wanted is REFUSED)
    if found is REFUSED:
        return
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.shape == theirs.shape
        assert ours.dtype == np.float64
        assert np.isfinite(ours).all()
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(theirs).max(initial=0.0)))


every = pytest.mark.parametrize("function", sorted(CALLS))


@every
@given(data=st.data(), by_handle=st.booleans())
@tries(12)
def test_odd_and_wrong_arrays(function, data, by_handle):
    g = graph(function)
    odd, plain = data.draw(one_bad_apple(function))
    wanted = REFUSED if plain is REFUSED else by_reference(function, g, plain)
    assert_same(outcome(function, g, odd, by_handle), wanted)


@every
@given(data=st.data(), by_handle=st.booleans())
@tries(8)
def test_huge_values(function, data, by_handle):
    """A finite answer or an error; never NaN, inf, a warning or the end of the interpreter."""
    g = graph(function)
    given = arguments(g, data.draw(st.integers(0, 5)))
    for name in names_of(function):
        size = data.draw(st.sampled_from([0.0, 1e8, 1e30, 1e100, 1e155, 1e200, 1e290, 1e308]))
        entry = data.draw(st.integers(0, len(given[name]) - 1))
        given[name][entry] += size
    found = outcome(function, g, given, by_handle)
    if found is not REFUSED:
        assert all(np.isfinite(x).all() for x in found)


OUT = {
    "right": lambda shape: np.full(shape, np.nan),
    "too long": lambda shape: np.full((*shape, 2), np.nan),
    "flat": lambda shape: np.full(int(np.prod(shape)) + 1, np.nan),
    "single": lambda shape: np.zeros(shape, dtype=np.float32),
    "other byte order": lambda shape: np.zeros(shape, dtype=">f8"),
    "whole": lambda shape: np.zeros(shape, dtype=np.int64),
    "read-only": lambda shape: np.broadcast_to(np.zeros(()), shape),
    "strided": lambda shape: np.full((*shape, 2), np.nan)[..., 0],
    "list": lambda shape: np.zeros(shape).tolist(),
    "number": lambda shape: 3.0,
}


@every
@given(kind=st.sampled_from(sorted(OUT)), batch=st.sampled_from([(), (1,), (3,), (2, 2)]), by_handle=st.booleans())
@tries(10)
def test_any_out(function, kind, batch, by_handle):
    g = graph(function)
    plain = arguments(g, 1, batch)
    wanted = by_reference(function, g, plain)
    out = tuple(OUT[kind](x.shape) for x in wanted)
    found = outcome(function, g, plain, by_handle, out=out if len(out) > 1 else out[0])
    if kind == "right" or (kind == "strided" and all(x.flags.c_contiguous for x in out)):  # one number has no strides
        assert_same(found, wanted)
        assert_same(list(out), wanted)
    else:
        assert found is REFUSED


@given(x=st.data(), by_handle=st.booleans())
@tries(25)
def test_any_threads(x, by_handle):
    g = graph("forward_dynamics")
    plain = arguments(g, 1, (3,))
    threads = x.draw(st.one_of(st.none(), st.integers(-2, 4), st.floats(), st.booleans(), st.text(max_size=2)))
    found = outcome("forward_dynamics", g, plain, by_handle, threads=threads)
    good = threads is None or (type(threads) is int and threads >= 1)
    assert_same(found, by_reference("forward_dynamics", g, plain) if good else REFUSED)
