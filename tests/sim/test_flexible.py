"""Methods that need derivatives give the motion of a flexible tree that the explicit ones give."""

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree

import soacraft as sc


def after(mb, q, v, **method):
    mb.set_state(q, v)
    sc.sim.Propagator(mb, **method).advance_to(0.05)
    return np.concatenate([mb.q, mb.v])


@pytest.mark.parametrize("integrator", ["radau", "cvode", "ida"])
def test_implicit_methods(integrator):
    mb = flexible_tree((-1, 0), 1, (sc.Pin((0, 0, 1)),))
    q, v = np.array(mb.q), np.array(mb.v)
    wanted = after(mb, q, v, integrator="dop853", rtol=1e-10)
    np.testing.assert_allclose(after(mb, q, v, integrator=integrator, rtol=1e-8), wanted, rtol=0, atol=1e-6)
