"""The models of `scaled.py` move as their originals do, in other units: the witness of the tests in this folder."""

import numpy as np
import pytest
from tests.scales.scaled import NINE, force_units, scaled, scaled_state, velocity_units

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.model.tree.parts.properties import Passive


@pytest.fixture(scope="module")
def mixed():
    """One hinge of every kind, with rotors, springs and a force."""
    mb = sc.random_tree(12, seed=5)
    mb.bodies[3].armature = 0.2
    mb.bodies[4].passive = Passive(3.0, 0.5)
    mb.set_force("body3/tip", (1.0, 2.0, 3.0, 4.0, 5.0, 6.0))
    return mb


@pytest.mark.parametrize("units", NINE, ids=str)
def test_forces_and_accelerations_are_those_of_the_original(mixed, units):
    mb = scaled(mixed, units)
    unit = force_units(mixed, units)
    force = dyn.inverse_dynamics(mixed, mixed.q, mixed.v, mixed.vdot)
    there = dyn.inverse_dynamics(mb, mb.q, mb.v, mb.vdot) / unit
    np.testing.assert_allclose(there, force, rtol=1e-9, atol=1e-9)
    vdot = dyn.forward_dynamics(mb, mb.q, mb.v, force * unit) / velocity_units(mixed, units) * units.time
    np.testing.assert_allclose(vdot, mixed.vdot, rtol=1e-8, atol=1e-8)
    springs = dyn.passive_force(mb, mb.q, mb.v) / unit
    np.testing.assert_allclose(springs, dyn.passive_force(mixed, mixed.q, mixed.v), rtol=1e-9, atol=1e-9)


def test_closures_and_couplings_close_where_the_original_does():
    mb = sc.serial_chain(3)
    mb.add_body("cart", None, sc.Prismatic((1, 0, 0)), sc.Inertia(1.0))
    mb.close_loop("ring", "inertial", "link3/tip", sc.Helical((0, 1, 0), 0.2))
    mb.couple("rack", {"cart": (2.0, 0.5), "link1": -1.0}, offset=0.1)
    small = scaled(mb, NINE[1])
    assert small.loops["ring"].hinge.pitch == pytest.approx(0.2e-10)
    q, _ = scaled_state(mb, NINE[1], [0.1, 0.2, 0.3, 0.4], np.zeros(4))
    terms = small.couplings["rack"].terms
    total = sum(c * q[3] ** n for n, c in enumerate(terms["cart"], 1)) - q[0]
    assert total == pytest.approx(2.0 * 0.4 + 0.5 * 0.16 - 0.1)
