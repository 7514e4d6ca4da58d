"""Expressions of many terms and factors, and nested ones: they work, or are refused with the depth."""

import contextlib
import copy
import pickle
import sys

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra.expressions.operator import DEEPEST
from soacraft.errors import SpaceError
from soacraft.ops.derivatives.deltas import MOST_FACTORS


@pytest.fixture(scope="module")
def s():
    mb = sc.serial_chain(2)
    mb.set_state(*mb.random_state(1))
    return sc.operators(mb)


#: How an expression of body <- body is put one deeper.
DEEPER = {
    "multiples": lambda s, x, k: -x,
    "sums in products": lambda s, x, k: (x + s.tau) if k % 2 else s.tau * x,
    "transposes in sums": lambda s, x, k: x.T if k % 2 else x + s.tau,
    "powers": lambda s, x, k: x**1,
    "inverses": lambda s, x, k: (x + 3 * s.I) if k % 2 else x.inv,
    "Lyapunov": lambda s, x, k: s.E_phi.lyapunov(x),
    "definitions": lambda s, x, k: sc.define(f"nest{k}", x),
}
USES = {
    "text": lambda x: x.text(),
    "repr": repr,
    "LaTeX": lambda x: x.latex(),
    "product": lambda x: x * np.ones(x.shape[1]),
    "transpose": lambda x: x.T * np.ones(x.shape[0]) if x.depth < DEEPEST else None,
    "array": lambda x: x.array(),
    "block": lambda x: x[0, 1],
    "trace": lambda x: x.trace(),
    "is_zero": lambda x: x.is_zero(),
    "tags": lambda x: x.tags,
    "key": lambda x: hash(x.key()),
    "cost": lambda x: x.cost(),
    "explain": lambda x: x.explain().product,
    "at": lambda x: x.at(q=np.ones(2)).array(),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "deepcopy": copy.deepcopy,
    "compile": lambda x: x.compile()(np.ones(2)),
}
MAKES_DEEPER = {
    "diff": lambda x: x.diff("link1"),
    "dot": lambda x: x.dot() * np.ones(x.shape[1]),
    "simplify": lambda x: sc.simplify(x, 0.02),
}


def nested(s, kind, depth):
    kept = [s.M if kind in ("Lyapunov", "inverses") else s.tau]
    for k in range(10 * depth):
        if kept[-1].depth >= depth:
            break
        kept.append(DEEPER[kind](s, kept[-1], k))
    return kept


@pytest.mark.parametrize("kind", DEEPER)
def test_what_is_nested_as_deep_as_allowed_works(s, kind):
    """With 150 calls around, as many as a notebook or a test has. What makes deeper expressions may say so instead."""
    kept = nested(s, kind, DEEPEST)
    assert kept[-1].depth == DEEPEST
    left = sys.getrecursionlimit() - len(_frames()) - 850

    def deeper(n):
        if n > 0:
            return deeper(n - 1)
        for use in USES.values():
            use(kept[-1])
        for change in MAKES_DEEPER.values():
            with contextlib.suppress(SpaceError):
                change(kept[-1])
        return None

    deeper(left)


def _frames():
    found, frame = [], sys._getframe()
    while frame is not None:
        found.append(frame)
        frame = frame.f_back
    return found


@pytest.mark.parametrize("kind", DEEPER)
def test_what_is_nested_deeper_is_refused(s, kind):
    kept = nested(s, kind, DEEPEST)

    def more():
        for _ in range(4):
            kept.append(DEEPER[kind](s, kept[-1], len(kept) - 1))

    with pytest.raises(SpaceError) as error:
        more()
    assert str(error.value).startswith(
        f"an expression nested {DEEPEST + 1} deep is refused, {DEEPEST} is the deepest allowed: write sums"
    )


@pytest.mark.parametrize(
    ("kind", "count"), [("sum", 10_000), ("difference", 1500), ("product", 10_000), ("product of edges", 1500)]
)
def test_many_terms_and_factors(s, kind, count):
    step = {
        "sum": lambda x: x + s.tau,
        "difference": lambda x: x - s.tau,
        "product": lambda x: x * s.tau,
        "product of edges": lambda x: x * s.tau_bar * s.E_phi,
    }[kind]
    x = s.phi
    for _ in range(count):
        x = step(x)
    assert x.depth <= 3
    for name in ("text", "LaTeX", "product", "array", "block", "explain", "pickle", "key"):
        USES[name](x)
    if kind == "sum":
        np.testing.assert_allclose(x.array(), s.phi.array() + count * s.tau.array(), rtol=1e-11)
    if kind == "product":  # tau is a projection
        np.testing.assert_allclose(x.array(), (s.phi * s.tau).array(), rtol=1e-9, atol=1e-9)
        with pytest.raises(SpaceError) as error:
            x.diff("link1")
        assert str(error.value) == (
            f"the derivative of a product of {count + 1} factors is a sum of as many products; {MOST_FACTORS} is the "
            "most allowed: differentiate its parts."
        )


def test_multiples_of_multiples_print_at_once(s):
    """The work for a text grows with the depth, not as a power of it."""
    calls = 0

    def note(frame, event, arg):
        nonlocal calls
        calls += event == "call"

    x = s.tau
    for _ in range(30):
        x = 2 * x
    sys.setprofile(note)
    try:
        assert x.latex().count(r"\left[") == 29
    finally:
        sys.setprofile(None)
    assert calls < 30 * 20
