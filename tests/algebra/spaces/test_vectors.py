"""Stacked vectors: blocks by label, sums and multiples in one space, and all that is refused."""

import re

import numpy as np
import pytest

import soacraft as sc
from soacraft.algebra import Space, StackedVector
from soacraft.errors import SpaceError

HINGE = Space("hinge", ["base", "tip"], [1, 2], owner="arm")
BODY = Space("body", ["base", "tip"], [3, 3], owner="arm")
x = StackedVector(HINGE, np.array([1.0, 2.0, 3.0]))


def refused(text, attempt):
    with pytest.raises(SpaceError, match=f"^{re.escape(text)}$"):
        attempt()


def test_blocks_by_name_number_and_object():
    mb = sc.load("double_pendulum")
    V = sc.operators(mb).V
    body = mb.bodies[1]
    np.testing.assert_array_equal(V[body], V[body.name])
    np.testing.assert_array_equal(V[1], V[body.name])
    np.testing.assert_array_equal(V[-1], V[body.name])
    np.testing.assert_array_equal(V[np.int64(1)], V[body.name])


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("elbow", "hinge[3] has no block 'elbow'; its labels are 'base', 'tip'."),
        (2, "hinge[3] has 2 blocks, there is no number 2."),
        (-3, "hinge[3] has 2 blocks, there is no number -3."),
        (True, "hinge[3] has no block True; its labels are 'base', 'tip'."),
        (1.0, "hinge[3] has no block 1.0; its labels are 'base', 'tip'."),
        (None, "hinge[3] has no block None; its labels are 'base', 'tip'."),
        (slice(0, 2, 2), "blocks of hinge[3] are chosen one after another: a slice of them takes no step."),
    ],
)
def test_unknown_labels(label, text):
    refused(text, lambda: x[label])


def test_many_labels_are_cut_short():
    wide = Space("body", [f"b{k}" for k in range(20)], [1] * 20, owner="arm")
    known = ", ".join(f"'b{k}'" for k in range(8))
    refused(f"body[20] has no block 'z'; its labels are {known}, ....", lambda: wide.index("z"))


def test_arithmetic():
    np.testing.assert_array_equal(np.asarray(x + x), [2, 4, 6])
    np.testing.assert_array_equal(np.asarray(x - 2 * x), [-1, -2, -3])
    np.testing.assert_array_equal(np.asarray(-x / 2), [-0.5, -1, -1.5])
    np.testing.assert_array_equal(np.asarray(x + np.ones(3)), [2, 3, 4])
    np.testing.assert_array_equal(np.asarray(np.ones(3) - x), [0, -1, -2])
    np.testing.assert_array_equal(np.asarray(x.__radd__([1, 1, 1])), [2, 3, 4])
    np.testing.assert_array_equal(np.asarray(sum([x, x])), [2, 4, 6])
    np.testing.assert_array_equal(np.asarray(0 - x), [-1, -2, -3])
    assert x.dot(x) == 14.0
    assert x.dot([1, 1, 1]) == 6.0
    assert (np.float64(2) * x)["base"] == 2.0
    assert (np.array(2.0) * x)["base"] == 2.0


def test_blocks_of_vectors():
    X = StackedVector(HINGE, np.arange(6.0).reshape(3, 2), is_columns=True)
    assert X.is_columns
    np.testing.assert_array_equal(X["tip"], [[2, 3], [4, 5]])
    np.testing.assert_array_equal(X.dot(X), [20, 35])
    assert repr(X) == "vector of hinge[3], shape (3, 2)"


def test_batches():
    X = StackedVector(HINGE, np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(X["tip"], [[1, 2], [4, 5]])
    np.testing.assert_array_equal((X + x).data, [[1, 3, 5], [4, 6, 8]])
    np.testing.assert_array_equal(X.dot(x), [8, 26])


def test_it_prints_by_block():
    assert repr(x) == "vector of hinge[3]\n  base  [1.]\n  tip   [2. 3.]"
    weld = StackedVector(Space("hinge", ["a", "b"], [0, 1], owner="arm"), np.array([1.0]))
    assert repr(weld) == "vector of hinge[1]\n  b  [1.]"
    wide = StackedVector(Space("hinge", [f"b{k}" for k in range(100)], [1] * 100, owner="arm"), np.zeros(100))
    assert "  ... 82 more ..." in repr(wide)
    assert len(repr(wide).splitlines()) == 20


def test_it_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 7.0
    with pytest.raises(ValueError, match="read-only"):
        x["tip"][0] = 7.0
    numbers = np.ones(3)
    mine = StackedVector(HINGE, numbers)
    numbers[:] = 0.0
    np.testing.assert_array_equal(mine.data, np.ones(3))
    writable = np.array(mine)
    writable[0] = 5.0
    assert mine["base"] == 1.0


def test_it_is_neither_a_list_of_blocks_nor_of_numbers():
    with pytest.raises(TypeError, match="not iterable"):
        list(x)
    assert len(x) == 3


# -- what is refused ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (np.ones(4), "the data of a vector of hinge[3] has shape (4,), but (..., 3) is wanted."),
        (1.0, "the data of a vector of hinge[3] has shape (), but (..., 3) is wanted."),
        ("abc", "the data cannot be read as a vector of hinge[3]: dtype <U3."),
        ([1j, 0, 0], "the data cannot be read as a vector of hinge[3]: dtype complex128."),
        ([True, False, True], "the data cannot be read as a vector of hinge[3]: dtype bool."),
    ],
)
def test_numbers_that_do_not_fit(data, text):
    refused(text, lambda: StackedVector(HINGE, data))


def test_columns_that_do_not_fit():
    refused(
        "the data of a vector of hinge[3] has shape (2, 3), but (..., 3, m) is wanted.",
        lambda: StackedVector(HINGE, np.ones((2, 3)), is_columns=True),
    )


def test_vectors_of_different_spaces():
    y = StackedVector(BODY, np.ones(6))
    refused("cannot add vectors of hinge[3] and body[6].", lambda: x + y)
    other = StackedVector(Space("hinge", ["base", "tip"], [1, 2], owner="leg"), np.ones(3))
    refused(
        "cannot add vectors of hinge[3] of arm and hinge[3] of leg. "
        "Operators of different models or sub-graphs cannot be mixed; bind both to the same one, or put a map between "
        "them: sc.ops.between(a, b).",
        lambda: x - other,
    )
    refused("cannot add vectors of hinge[3] and body[6].", lambda: x.dot(y))


def test_vectors_and_blocks_of_vectors():
    columns = StackedVector(HINGE, np.ones((3, 3)), is_columns=True)
    refused("cannot combine columns of hinge[3], shape (3, 3), with a vector of shape (3,).", lambda: columns + x)
    refused("cannot combine a vector of hinge[3], shape (3,), with columns of shape (3, 3).", lambda: x - columns)
    two = StackedVector(HINGE, np.ones((3, 2)), is_columns=True)
    one = StackedVector(HINGE, np.ones((3, 1)), is_columns=True)
    refused("cannot combine columns of hinge[3], shape (3, 2), with columns of shape (3, 1).", lambda: two + one)


def test_batches_that_do_not_fit():
    two, three = (StackedVector(HINGE, np.ones((n, 3))) for n in (2, 3))
    refused("cannot combine a vector of hinge[3], shape (2, 3), with a vector of shape (3, 3).", lambda: two + three)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (1.0, "cannot combine a vector of hinge[3], shape (3,), with an array of shape ()."),
        (np.ones(2), "cannot combine a vector of hinge[3], shape (3,), with an array of shape (2,)."),
        (np.ones((3, 1)), "cannot combine a vector of hinge[3], shape (3,), with an array of shape (3, 1)."),
        ("a", "the other one cannot be read as a vector of hinge[3]: dtype <U1."),
        (None, "the other one cannot be read as a vector of hinge[3]: dtype object."),
    ],
)
def test_no_silent_broadcasting(other, text):
    refused(text, lambda: x + other)
    refused(text, lambda: x - other)


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (x, "a stacked vector is scaled by a number; for the inner product write x.dot(y)."),
        (np.ones(3), "a stacked vector is scaled by a number; for the inner product write x.dot(y)."),
        ([1, 2, 3], "a stacked vector is scaled by a number; for the inner product write x.dot(y)."),
        ("a", "a stacked vector cannot be scaled by 'a'; a real number is wanted."),
        (1j, "a stacked vector cannot be scaled by 1j; a real number is wanted."),
        (True, "a stacked vector cannot be scaled by True; a real number is wanted."),
        (float("nan"), "a stacked vector cannot be scaled by nan; a finite number is wanted."),
        (10**400, "a stacked vector cannot be scaled by inf; a finite number is wanted."),
    ],
)
def test_multiples(factor, text):
    refused(text, lambda: x * factor)
    if not isinstance(factor, list):
        refused(text, lambda: factor * x)


def test_division():
    refused("a stacked vector cannot be divided by zero.", lambda: x / 0)
    refused("a stacked vector cannot be divided by nan; a finite number is wanted.", lambda: x / float("nan"))


def test_an_operator_beside_a_vector():
    s = sc.operators(sc.load("double_pendulum"))
    refused("an array is left of phi; for a row vector write (phi).T * x.", lambda: s.V * s.phi)
    refused(
        "cannot form phi + StackedVector: an operator adds to operators only; "
        "for a multiple of the identity write c*I, for numbers use .array().",
        lambda: s.V + s.phi,
    )
    refused("x.dot(y) takes a vector of body[12], not phi : body[12] <- body[12].", lambda: s.V.dot(s.phi))
