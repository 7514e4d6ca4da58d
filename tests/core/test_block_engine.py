"""What the compiled block engine refuses: anything but right arrays is a `ValueError`, never a crash."""

import contextlib
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soacraft import _core

BIG = 2**62


@dataclass
class Call:
    """Arguments by name, some of them changed."""

    function: object
    arguments: dict

    def but(self, **changes):
        return replace(self, arguments=self.arguments | changes)

    def run(self):
        return self.function(**self.arguments)


def integers(*entries):
    return np.array(entries, dtype=np.int64)


FOREST = dict(order=integers(0, 1, 2), parent=integers(-1, 0, 1))


def lyapunov_call():
    """Blocks 2 x 1, 3 x 2 and 1 x 2 on a chain."""
    sizes = dict(left_offset=integers(0, 2, 5, 6), right_offset=integers(0, 1, 3, 5))
    return Call(_core.lyapunov, FOREST | sizes | dict(A=np.ones(9), B=np.ones(6), X=np.ones(10)))


def riccati_call():
    """Sizes 2, 3, 1 with 1, 0 and 1 dofs on a chain."""
    sizes = dict(offset=integers(0, 2, 5, 6), hinge_offset=integers(0, 1, 1, 2))
    M = np.concatenate([np.eye(size).ravel() for size in (2, 3, 1)])
    return Call(_core.riccati, FOREST | sizes | dict(A=np.ones(9), H=np.ones(3), M=M, tolerance=1e-14))


def dynamics_call():
    given = riccati_call().arguments
    P, _, D, G, _ = riccati_call().run()
    del given["M"], given["tolerance"]
    columns = dict(T=np.ones((2, 2)), a=np.ones((6, 2)), b=np.ones((6, 2)))
    return Call(_core.ab_dynamics, given | dict(P=P, D=D, G=G) | columns)


CALLS = {"lyapunov": lyapunov_call, "riccati": riccati_call, "ab_dynamics": dynamics_call}


def test_the_good_calls_are_good():
    Y = lyapunov_call().run()
    assert Y.shape == (10,)
    assert Y.flags.writeable
    assert riccati_call().run()[4] == -1
    assert [x.shape for x in dynamics_call().run()] == [(2, 2), (6, 2), (6, 2), (2, 2), (2, 2)]


BAD_FORESTS = {
    "order twice": (dict(order=integers(0, 1, 1)), "order[2] = 1: each node must be listed once"),
    "order beyond": (dict(order=integers(0, 1, 3)), "order[2] = 3: no node has this number"),
    "child first": (dict(order=integers(1, 0, 2)), "order[0] = 1: a node must come after its parent"),
    "order short": (dict(order=integers(0, 1)), "parent must have length 2, got 3"),
    "cycle": (dict(parent=integers(-1, 2, 1)), "order[1] = 1: a node must come after its parent"),
    "parent beyond": (dict(parent=integers(-1, 0, BIG)), f"parent[2] = {BIG}: must be a node, or -1"),
    "parent one beyond": (dict(parent=integers(-1, 0, 3)), "parent[2] = 3: must be a node, or -1"),
    "order real": (dict(order=np.arange(3.0)), "order must be a C-contiguous int64 array with 1 axis"),
    "order nothing": (dict(order=None), "it is no array"),
    "parent strided": (dict(parent=np.arange(6)[::2]), "it is not contiguous"),
    "A short": (dict(A=np.ones(8)), "A has length 8, too short for the 3 x 1 block of node 2"),
    "A long": (dict(A=np.ones(10)), "A must have length 9, got 10"),
    "A square": (dict(A=np.ones((3, 3))), "A must be a C-contiguous float64 array with 1 axis"),
    "A single": (dict(A=np.ones(9, "f4")), "its dtype differs"),
    "A complex": (dict(A=np.ones(9, complex)), "its dtype differs"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("case", BAD_FORESTS)
def test_bad_forests_are_refused(name, case):
    changes, text = BAD_FORESTS[case]
    with pytest.raises(ValueError, match=re.escape(text)):
        CALLS[name]().but(**changes).run()


BAD = {
    "left start": ("lyapunov", dict(left_offset=integers(1, 2, 5, 6)), "left_offset[0] = 1: the first offset must be"),
    "left down": ("lyapunov", dict(left_offset=integers(0, 5, 2, 6)), "left_offset[2] = 2: offsets must not decrease"),
    "right short": ("lyapunov", dict(right_offset=integers(0, 1, 3)), "right_offset must have length 4, got 3"),
    "right none": ("lyapunov", dict(right_offset=np.zeros(0, int)), "right_offset must have length 4, got 0"),
    "right beyond": ("lyapunov", dict(right_offset=integers(0, 1, 3, BIG)), "too short for the 2 x "),
    "B long": ("lyapunov", dict(B=np.ones(7)), "B must have length 6, got 7"),
    "X short": ("lyapunov", dict(X=np.ones(9)), "X has length 9, too short for the 1 x 2 block of node 2"),
    "X matrix": ("lyapunov", dict(X=np.ones((5, 2))), "X must be a C-contiguous float64 array with 1 axis"),
    "offset down": ("riccati", dict(offset=integers(0, 2, 1, 6)), "offset[2] = 1: offsets must not decrease"),
    "offset huge": ("riccati", dict(offset=integers(0, 2, 5, BIG)), "A has length 9, too short for the 3 x "),
    "offset wide": ("riccati", dict(offset=integers(0, 2**32, 2**33, 2**34)), "too short for the 4294967296 x"),
    "dofs": (
        "riccati",
        dict(hinge_offset=integers(0, 1, 1, 3), H=np.ones(4)),
        "hinge_offset[3] = 3: a hinge has no more dofs",
    ),
    "hinge long": ("riccati", dict(hinge_offset=integers(0, 1, 1, 1, 2)), "hinge_offset must have length 4, got 5"),
    "H short": ("riccati", dict(H=np.ones(2)), "H has length 2, too short for the 1 x 1 block of node 2"),
    "M long": ("riccati", dict(M=np.ones(15)), "M must have length 14, got 15"),
    "M list": ("riccati", dict(M=[1.0] * 14), "M must be a C-contiguous float64 array with 1 axis: it is no array"),
    "P short": ("ab_dynamics", dict(P=np.ones(13)), "P has length 13, too short for the 1 x 1 block of node 2"),
    "D long": ("ab_dynamics", dict(D=np.ones(3)), "D must have length 2, got 3"),
    "D negative": ("ab_dynamics", dict(D=np.array([1.0, -1.0])), "D of node 2 is not positive definite"),
    "D nan": ("ab_dynamics", dict(D=np.array([np.nan, 1.0])), "D of node 0 is not positive definite"),
    "G short": ("ab_dynamics", dict(G=np.ones(2)), "G must have length 3, got 2"),
    "T flat": ("ab_dynamics", dict(T=np.ones(2)), "T must be a C-contiguous float64 array with 2 axes"),
    "T long": ("ab_dynamics", dict(T=np.ones((3, 2))), "T must have length 2, got 3"),
    "a short": ("ab_dynamics", dict(a=np.ones((5, 2))), "a must have length 6, got 5"),
    "a narrow": ("ab_dynamics", dict(a=np.ones((6, 1))), "a must have as many columns as T, 2, got 1"),
    "b wide": ("ab_dynamics", dict(b=np.ones((6, 3))), "b must have as many columns as T, 2, got 3"),
    "b fortran": ("ab_dynamics", dict(b=np.ones((2, 6)).T), "b must be a C-contiguous float64 array with 2 axes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_blocks_are_refused(case):
    name, changes, text = BAD[case]
    with pytest.raises(ValueError, match=re.escape(text)):
        CALLS[name]().but(**changes).run()


def test_inertia_that_is_no_number_moves_nothing():
    for bad in (np.nan, np.inf, -np.inf):
        assert riccati_call().but(M=np.full(14, bad)).run()[4] == 2
    assert riccati_call().but(tolerance=np.nan).run()[4] == 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
def test_the_smallest_eigenvalue_decides_what_moves(n, seed):
    """W W* has rank n // 2, so n - n // 2 eigenvalues of M = W W* + e I are e. The bound by the trace of M^-1 alone,
    about 1 / e for each of them, does not tell whether e is above the tolerance.
    """
    W = np.random.default_rng(seed).standard_normal((n, n // 2))
    W /= np.linalg.norm(W, axis=1)[:, None]
    tree = dict(order=integers(0), parent=integers(-1), offset=integers(0, n), hinge_offset=integers(0, n))
    for e, moves in ((0.9e-3, False), (1.02e-3, True), (2e-3, True)):
        M = W @ W.T + e * np.eye(n)
        found = _core.riccati(**tree, A=np.zeros(0), H=np.eye(n).ravel(), M=M.ravel(), tolerance=1e-3)
        assert (found[4] == -1) == moves


def test_no_columns():
    call = dynamics_call().but(T=np.ones((2, 0)), a=np.ones((6, 0)), b=np.ones((6, 0)))
    assert [x.shape for x in call.run()] == [(2, 0), (6, 0), (6, 0), (2, 0), (2, 0)]


def test_long_slices_without_entries_cost_nothing():
    """Left sizes are huge where right ones are zero, and the other way round: no block has an entry."""
    huge, none = 2**58, np.zeros(0)
    call = lyapunov_call().but(
        order=integers(0, 1), parent=integers(-1, 0), left_offset=integers(0, huge, huge),
        right_offset=integers(0, 0, huge), A=none, B=none, X=none,
    )  # fmt: skip
    for backward in (False, True):
        assert call.but(backward=backward).run().shape == (0,)


few = st.lists(st.integers(-2, 6), max_size=4).map(lambda entries: np.array(entries, dtype=np.int64))
places = st.one_of(few, few.map(np.sort), few.map(lambda entries: np.arange(len(entries))))
slices = few.map(lambda entries: np.cumsum([0, *np.abs(entries)], dtype=np.int64))
sizes = st.integers(0, 20).map(np.ones)


@given(order=places, parent=places, left=slices | places, right=slices | places, A=sizes, B=sizes, X=sizes)
def test_nothing_crashes_lyapunov(order, parent, left, right, A, B, X):
    for backward in (False, True):
        with contextlib.suppress(ValueError):
            assert _core.lyapunov(order, parent, left, right, A, B, X, backward).shape == X.shape


@given(order=places, parent=places, offset=slices | places, hinge=slices | places, A=sizes, H=sizes, M=sizes, m=places)
def test_nothing_crashes_riccati_and_dynamics(order, parent, offset, hinge, A, H, M, m):
    packed = (order, parent, offset, hinge, A, H)
    with contextlib.suppress(ValueError):
        P, _, D, G, _ = _core.riccati(*packed, M, 1e-14)
        columns = (np.ones((length[-1], len(m))) for length in (hinge, offset, offset))
        _core.ab_dynamics(*packed, P, D, G, *columns)
