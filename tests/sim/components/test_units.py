"""Units against their definitions, and what is refused."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.profiles import tries

from soacraft.errors import WiringError
from soacraft.sim.components.units import read_unit


@pytest.mark.parametrize(
    ("text", "scale", "same"),
    [
        ("N m/A", 1.0, "kg m^2/(s^2 A)"),
        ("V s", 1.0, "Wb"),
        ("ohm", 1.0, "kg m^2 s^-3 A^-2"),
        ("rpm", math.pi / 30, "rad/s"),
        ("deg", math.pi / 180, "rad"),
        ("km/h", 1 / 3.6, "m/s"),
        ("mA", 1e-3, "A"),
        ("g", 1e-3, "kg"),
        ("min", 60.0, "s"),
        ("N m/(rad/s)", 1.0, "N m s/rad"),
        ("1/s", 1.0, "Hz"),
        ("", 1.0, "1"),
        (" m * s ", 1.0, "m s"),
        ("m / s", 1.0, "m/s"),
        ("(m)", 1.0, "m"),
    ],
)
def test_units_are_their_definitions(text, scale, same):
    unit, other = read_unit(text), read_unit(same)
    assert unit.exponents == other.exponents
    assert unit.scale == pytest.approx(scale * other.scale, rel=1e-15)


def test_a_turn_per_second_is_no_hertz():
    assert read_unit("rad/s").exponents != read_unit("Hz").exponents


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Nm", r"'Nm' is no unit that is known: 'Nm'; did you mean"),
        ("N m/A s", r"can be read in two ways: put what divides in parentheses"),
        ("m^", r"has a '\^' without a whole number"),
        ("m^x", r"has a '\^' without a whole number"),
        ("(m", r"lacks a '\)'"),
        ("m)", r"cannot be read at '\)'"),
        ("m//s", r"cannot be read at '/'"),
        ("/s", r"cannot be read at '/'"),
        ("m/", r"cannot be read at 'its end'"),
        ("3 m", r"cannot be read at '3'"),
        ("m " * 100, r"a unit is a short text"),
        (3, r"a unit is a text such as 'N m/A', got 3"),
    ],
)
def test_what_is_no_unit_is_refused(text, why):
    with pytest.raises(WiringError, match=why):
        read_unit(text)


@tries(100)
@given(st.text(alphabet="Nmsk/()^* 1-2A", max_size=12))
def test_any_text_is_a_unit_or_refused(text):
    try:
        scale = read_unit(text).scale
    except WiringError:
        return
    assert math.isfinite(scale)
