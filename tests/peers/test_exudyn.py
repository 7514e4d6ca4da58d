"""Against Exudyn: a bar on a pin with a spring and damper between nodes.

The numbers are Exudyn's (1.13.6), made by benchmarks/exudyn_reference.py, by a method of order two with steps
of 50 us.
"""

import numpy as np
import pytest

import soacraft as sc

TIP, RATE = (0.9881353301038974, -0.15358570701879048, 0.0), 0.5991983835098367


@pytest.mark.parametrize("options", [{"rtol": 1e-10}, {"integrator": "ida", "rtol": 1e-9}])
def test_a_spring_and_damper_between_nodes(options):
    mb = sc.Multibody("bar", gravity=(0, -9.81, 0))
    moment = 2.0 / 12.0
    mb.add_body("bar", None, sc.Pin((0, 0, 1)), sc.Inertia(2.0, (0.5, 0, 0), np.diag([1e-3 * moment, moment, moment])))
    mb["bar"].add_node("tip", sc.Pose(translation=(1, 0, 0)))
    mb.root.add_node("anchor", sc.Pose(translation=(1.5, -0.5, 0)))
    mb.add_spring("spring", "inertial/anchor", "bar/tip", 150.0, 0.4, 3.0)
    mb.set_state([0.0], [0.0])
    sc.sim.Propagator(mb, **options).advance_to(1.0)
    np.testing.assert_allclose(mb.pose("bar/tip").translation, TIP, rtol=0, atol=1e-6)
    assert mb.v[0] == pytest.approx(RATE, abs=3e-6)
