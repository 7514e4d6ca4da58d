"""Models that come with soacraft: their masses and sizes, by hand."""

import numpy as np
import pytest

import soacraft as sc


@pytest.mark.parametrize(
    ("name", "masses"),
    [
        ("pendulum", [1.0]),
        ("double_pendulum", [1.0, 1.0]),
        ("cart_pole", [1.0, 0.2]),
        ("top", [1.0]),
        ("arm7", [4.2, 3.8, 3.1, 2.7, 1.8, 1.5, 0.4]),
        ("quadrotor_arm", [1.6, 0.1, 0.15, 0.1]),
        ("biped", [10.0, 25.0, 2 * 2.0, 2 * 1.2, 2 * 7.0, 2 * 3.5, 2 * 1.0]),
    ],
)
def test_masses(name, masses):
    mb = sc.load(name)
    assert mb.total_mass == pytest.approx(sum(masses))
    assert min(x.inertia.mass for x in mb.bodies) > 0.0
    if len(mb.bodies) == len(masses):
        assert [x.inertia.mass for x in mb.bodies] == pytest.approx(masses)


@pytest.mark.parametrize(
    ("name", "body", "length", "radius"),
    [("cart_pole", "pole", 1.0, 0.01), ("quadrotor_arm", "arm", 0.2, 0.02), ("quadrotor_arm", "hand", 0.15, 0.02)],
)
def test_rods_are_solid_cylinders_that_begin_at_their_hinge(name, body, length, radius):
    inertia = sc.load(name)[body].inertia
    across = inertia.mass * (3.0 * radius**2 + length**2) / 12.0
    np.testing.assert_allclose(np.abs(inertia.com), [0.0, 0.0, 0.5 * length], atol=1e-15)
    np.testing.assert_allclose(inertia.moment, np.diag([across, across, 0.5 * inertia.mass * radius**2]), rtol=1e-12)


def test_both_sides_of_the_biped_are_alike():
    mb = sc.load("biped")
    for part in ("upper_arm", "forearm", "thigh", "shank", "foot"):
        left, right = (mb.pose(f"{side}_{part}").translation for side in ("left", "right"))
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-15)
        assert mb[f"left_{part}"].inertia == mb[f"right_{part}"].inertia
