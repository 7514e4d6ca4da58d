"""Reading numbers: what is accepted, and what each refusal says."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StateError
from soacraft.spatial.checks import finite, number_text, shape_fits, unit


def test_finite_copies():
    given = np.array([1.0, 2.0])
    read = finite(given, (2,), "x")
    read[0] = 5.0
    assert given[0] == 1.0
    assert finite([1, 2], (2,), "x").dtype == np.float64


@pytest.mark.parametrize(("value", "text"), [
    ([1, 2], "the axis must have shape (3,), got shape (2,)"),
    (1.0, "the axis must have shape (3,), got shape ()"),
    ([1, 2, np.nan], "the axis must be finite, got nan at index 2"),
    ([1, np.inf, 0], "the axis must be finite, got inf at index 1"),
    ([1, 2j, 0], "the axis must be real numbers, got complex numbers: [1, 2j, 0]"),
    ([True, False, True], "the axis must be real numbers, got booleans: [True, False, True]"),
    ([True, 0.5, 0], "the axis must be real numbers, got booleans: [True, 0.5, 0]"),
    ((0.0, 1.0, np.False_), "the axis must be real numbers, got booleans: (0.0, 1.0, np.False_)"),
    ([[True, 0.5, 0]], "the axis must be real numbers, got booleans: [[True, 0.5, 0]]"),
    (["1", "2", "3"], "the axis must be real numbers, got text: ['1', '2', '3']"),
    (None, "the axis must be real numbers, got objects: None"),
    ([1, None, 2], "the axis must be real numbers, got objects: [1, None, 2]"),
])
def test_finite_refuses(value, text):
    with pytest.raises(ModelError) as error:
        finite(value, (3,), "the axis")
    assert str(error.value) == text


def test_finite_refuses_ragged_and_names_matrix_entries():
    with pytest.raises(ModelError, match=r"the axis must be .*, got a ragged or unreadable list"):
        finite([[1, 2], [3]], (2, 2), "the axis")
    with pytest.raises(StateError, match=r"q must be finite, got nan at index \(0, 1\)"):
        finite([[1, np.nan]], (..., 2), "q", StateError)
    with pytest.raises(ModelError, match=r"mass must be finite, got nan$"):
        finite(np.nan, (), "mass")
    with pytest.raises(ModelError, match=r"q must have shape \(\.\.\., 2\), got shape \(3,\)"):
        finite([1, 2, 3], (..., 2), "q")
    with pytest.raises(ModelError, match=r"q must have shape \(any, 2\), got shape \(3,\)"):
        finite([1, 2, 3], (None, 2), "q")


def test_shape_fits():
    assert shape_fits((), (...,))
    assert shape_fits((4, 5), (...,))
    assert not shape_fits((3,), (..., 3, 3))
    assert shape_fits((7, 3, 3), (..., 3, 3))
    assert not shape_fits((7, 3, 3), (3, 3))


def test_unit_is_idempotent_and_safe_for_any_length():
    rng = np.random.default_rng(0)
    for _ in range(200):
        a = unit(rng.standard_normal(3), "axis")
        assert np.array_equal(unit(a, "axis"), a)
        assert abs(np.linalg.norm(a) - 1) < 1e-15
    np.testing.assert_allclose(unit((3e-200, 4e-200, 0), "axis"), (0.6, 0.8, 0))
    np.testing.assert_allclose(unit((3e200, 4e200, 0), "axis"), (0.6, 0.8, 0))
    with pytest.raises(ModelError, match=r"axis must not be zero, got \(0, 0, 0\); give a direction such as"):
        unit((0, 0, 0), "axis")


@pytest.mark.parametrize("value", [0.1, 1e22, -3.0, [0.1, 2.0], [1.5], np.arange(12.0).reshape(2, 2, 3) / 7])
def test_number_text_reads_back(value):
    assert np.array_equal(np.array(eval(number_text(value)), dtype=float), np.asarray(value))


def test_masked_entries_are_refused():
    masked = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    with pytest.raises(ModelError, match="the axis must be real numbers, but entries of the masked array given are"):
        finite(masked, (3,), "the axis")
    np.testing.assert_array_equal(finite(np.ma.masked_array([1.0, 2.0]), (2,), "the axis"), [1.0, 2.0])
