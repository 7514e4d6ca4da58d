"""Against Exudyn: a bar on a pin with a spring and damper between nodes; random trees with hinge springs, springs and
dampers between points of any two bodies, which Exudyn has as bodies with constraints.

The numbers are Exudyn's (1.13.6), made by benchmarks/exudyn_reference.py, by a method of order two with steps
of 50 us, of the trees of 25 us.
"""

import numpy as np
import pytest
from tests.peers.exudyn_models import GRAVITY, TIME, drawn

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


#: By seed: the last bar's centre of mass and angular velocity, in the inertial frame, and the error of Exudyn's steps.
TREES = {
    0: ([-0.10339235104806183, -0.10127847721464278, 0.5171464434227834, -2.835316468403308, -6.447743059928359,
         -4.466740464596011], 4.3e-7),
    1: ([-0.5491002249537242, 0.24067195322021212, -0.08778782059270027, -1.766729758467346, 9.55767355861418,
         3.025779342649701], 1.4e-6),
    2: ([0.2633201112722265, 0.1301374194348004, 0.554121456701847, -2.209995604817821, -0.6441623676912891,
         -0.8689039700510284], 2.6e-8),
    3: ([0.02470858441138012, 0.29829389739457446, 0.29723068562638477, -1.6222217709119373, -1.0667590507145426,
         -0.1682196398596194], 2.1e-8),
}  # fmt: skip


@pytest.mark.parametrize("seed", TREES)
def test_random_trees_with_springs_and_dampers(seed):
    bars, links = drawn(seed)
    mb = sc.Multibody("drawn", gravity=GRAVITY)
    for k, bar in enumerate(bars):
        parent = None if bar.parent < 0 else f"bar{bar.parent}"
        inertia = sc.Inertia(bar.mass, bar.com, np.diag(bar.moment))
        body = mb.add_body(f"bar{k}", parent, sc.Pin(bar.axis), inertia, sc.Pose(translation=bar.at))
        body.passive = sc.Passive(bar.stiffness, bar.damping, rest=[bar.rest])
        body.add_node("com", sc.Pose(translation=bar.com))
    for i, link in enumerate(links):
        ends = []
        for side, k, point in (("a", link.a, link.point_a), ("b", link.b, link.point_b)):
            carrier = mb.root if k < 0 else mb[f"bar{k}"]
            ends.append(carrier.add_node(f"{i}{side}", sc.Pose(translation=point)))
        mb.add_spring(f"spring{i}", *ends, link.stiffness, link.length, link.damping)
    sc.sim.Propagator(mb, rtol=1e-10).advance_to(TIME)
    last = f"bar{len(bars) - 1}"
    ours = np.concatenate([mb.pose(f"{last}/com").translation, mb.velocity(last).angular])
    wanted, error = TREES[seed]
    np.testing.assert_allclose(ours, wanted, rtol=0, atol=3 * error)
