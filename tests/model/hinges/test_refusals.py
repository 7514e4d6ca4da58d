"""Hinges that cannot be: each refusal by its text."""

import numpy as np
import pytest

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges import (
    Cylindrical,
    Gimbal,
    Helical,
    Pin,
    Planar,
    Prismatic,
    Screws,
    Spherical,
    Universal,
)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: Pin((0, 0, 0)), r"axis of a Pin must not be zero, got \(0, 0, 0\); give a direction such as \(0, 0, 1\)"),
    (lambda: Pin((0, 0, np.nan)), "axis of a Pin must be finite, got nan at index 2"),
    (lambda: Pin((0, 1)), r"axis of a Pin must have shape \(3,\), got shape \(2,\)"),
    (lambda: Pin("z"), "axis of a Pin must be real numbers, got text: 'z'"),
    (lambda: Prismatic((0, 0, 0)), "axis of a Prismatic hinge must not be zero"),
    (lambda: Helical((0, 0, 0), 1), "axis of a Helical hinge must not be zero"),
    (lambda: Helical((0, 0, 1), np.inf), "pitch of a Helical hinge must be finite, got inf"),
    (lambda: Cylindrical((0, 0, 0)), "axis of a Cylindrical hinge must not be zero"),
    (lambda: Universal((1, 0, 0), (0, 0, 0)), "axis2 of a Universal joint must not be zero"),
    (lambda: Universal((1, 0, 0), (-2, 0, 0)), r"axis and axis2 of a Universal joint must not be parallel, got "
                                               r"\(1, 0, 0\) and \(-1, 0, 0\); a single turn is a Pin"),
    (lambda: Gimbal([(1, 0, 0), (0, 1, 0), (0, 1, 0)]), "axes 1 and 2 of a Gimbal must not be parallel"),
    (lambda: Gimbal([(1, 0, 0), (0, 0, 0), (0, 1, 0)]), "axis 1 of a Gimbal must not be zero"),
    (lambda: Gimbal(np.eye(2)), r"axes of a Gimbal must have shape \(3, 3\), got shape \(2, 2\)"),
    (lambda: Screws([]), r"Screws needs at least one screw; a hinge without freedom is a Weld\(\)"),
    (lambda: Screws([(0, 0, 0, 0, 0, 0)]), "screw 0 of Screws must not be zero"),
    (lambda: Screws([Pin((1, 0, 0)), (0, 0, 1)]), r"screw 1 of Screws must have shape \(6,\), got shape \(3,\)"),
    (lambda: Screws([Planar()]), r"screw 0 of Screws must be a 6-vector or a hinge that is one constant screw \(Pin, "
                                 r"Prismatic, Helical\), got Planar\(\)"),
    (lambda: Screws([Pin((0, 0, 1)), Pin((0, 0, 1))]), "Screws: the screws .* are dependent in every configuration, so "
                                                       "a motion would be counted twice; remove one"),
    (lambda: Screws([Prismatic(a) for a in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)]]), "are dependent"),
    (lambda: Screws([*map(Pin, np.eye(3)), *map(Prismatic, np.eye(3)), Pin((1, 1, 0))]), "are dependent"),
])
def test_construction(make, text):
    with pytest.raises(ModelError, match=text):
        make()


def test_coordinates_of_the_wrong_length():
    text = r"coordinates of Pin\(axis=\(0, 0, 1\)\) must have shape \(\.\.\., 1\), got \(2,\)"
    for method in ("pose", "H_T", "dH"):
        with pytest.raises(StateError, match=text):
            getattr(Pin((0, 0, 1)), method)([0.1, 0.2])
    with pytest.raises(StateError, match=r"got \(\)"):
        Pin((0, 0, 1)).pose(0.1)


def test_parameters_cannot_be_changed():
    for hinge, name in [(Pin((0, 0, 1)), "axis"), (Helical((0, 0, 1), 0.1), "pitch"), (Gimbal(), "axes")]:
        with pytest.raises(AttributeError):
            setattr(hinge, name, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        Pin((0, 0, 1)).axis[0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        Pin((0, 0, 1)).H_T([0.0])[0] = 1.0


def test_different_hinges_are_different():
    assert Pin((0, 0, 1)) != Pin((0, 1, 0))
    assert Pin((0, 0, 1)) != Prismatic((0, 0, 1))
    assert Spherical() == Spherical()
    assert len({Pin((0, 0, 1)), Pin((0, 0, 2)), Pin((0, 0, -1))}) == 2


def test_screws_whose_products_overflow_are_refused():
    text = r"Screws: the screws .* are too large to work with; the largest entry allowed is 1e\+150"
    with pytest.raises(ModelError, match=text):
        Screws([[1e200, 0, 0, 0, 0, 0]])
