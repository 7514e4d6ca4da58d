"""The operational space of nodes anywhere on a tree."""

import numpy as np
import pytest
from tests.analysis.cases import GRAPHS
from tests.dynamics.calls import close, nodes_of

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError, SingularError

every_graph = pytest.mark.parametrize("name", GRAPHS)
ARM = (0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4)


@every_graph
@pytest.mark.parametrize("axes", ["inertial", "node"])
def test_what_defines_it(name, axes):
    g = GRAPHS[name]()
    q, _ = g.random_state(1)
    nodes = nodes_of(g, 2)
    s = analysis.operational_space(g, q, nodes, axes, allow_singular=True)
    J, inverse = dynamics.jacobian(g, q, nodes, axes), dynamics.mass_matrix_inverse(g, q)
    close(s.jacobian, J, 1e-14)
    close(s.compliance, J @ inverse @ J.T, 1e-10)
    close(s.compliance @ s.inertia @ s.compliance, s.compliance, 1e-9)
    N = s.null_projector
    close(N @ N, N, 1e-8)
    close(J @ inverse @ N, np.zeros(J.shape), 1e-9)  # a force N T does not accelerate the nodes
    close(s.consistent_inverse, inverse @ J.T @ s.inertia, 1e-9)
    assert s.nodes == tuple(nodes)


def test_unrelated_nodes_that_move_freely():
    """Two hands on branches of their own: Lambda exists, is the dense inverse, and couples them."""
    mb = sc.random_tree(1, 1, [sc.Free()])
    for side in ("left", "right"):
        parent = mb.bodies[0]
        for i in range(3):
            hinge = sc.Gimbal(np.roll(np.eye(3), i, axis=0))
            parent = mb.add_body(
                f"{side}{i}", parent, hinge, sc.Inertia(1.0 + i, (0.1, 0.0, 0.3), np.diag([0.2, 0.3, 0.4])),
                sc.Pose.from_rpy(0.1, 0.2, 0.3, translation=(0.2, 0.3 if side == "left" else -0.3, 0.1)),
            )  # fmt: skip
    q, _ = mb.random_state(2)
    nodes = ["left2", "right2"]
    s = analysis.operational_space(mb, q, nodes)
    close(s.jacobian @ s.consistent_inverse, np.eye(12), 1e-10)
    close(s.inertia, np.linalg.inv(s.jacobian @ np.linalg.inv(dynamics.mass_matrix(mb, q)) @ s.jacobian.T), 1e-9)
    assert np.abs(s.inertia[:6, 6:]).max() > 1e-3
    N = s.null_projector
    close(N @ N, N, 1e-10)
    assert round(float(np.trace(N))) == mb.nv - 12
    T = np.random.default_rng(1).standard_normal(mb.nv)
    pushed, alone = (dynamics.forward_dynamics(mb, q, np.zeros(mb.nv), x) for x in (N @ T, 0 * T))
    close(s.jacobian @ pushed, s.jacobian @ alone, 1e-10)
    assert repr(s) == "OperationalSpace of 'left2', 'right2': 12 directions, 24 dofs"


def test_batches():
    mb = sc.load("arm7")
    q = np.array(ARM) + 0.1 * np.random.default_rng(0).standard_normal((2, 3, 7))
    s = analysis.operational_space(mb, q, "link7/tool")
    one = analysis.operational_space(mb, q[1, 2], "link7/tool")
    for field in ("jacobian", "compliance", "inertia", "consistent_inverse", "null_projector"):
        close(getattr(s, field)[1, 2], getattr(one, field), 1e-9)
    assert repr(s) == "OperationalSpace of 'link7/tool': 6 directions, 7 dofs, batch (2, 3)"


def test_where_there_is_no_inertia():
    mb = sc.load("arm7")
    with pytest.raises(SingularError, match=r"the operational-space compliance of 'link7/tool' has rank 3 of 6"):
        analysis.operational_space(mb, np.zeros(7), "link7/tool")
    s = analysis.operational_space(mb, np.zeros(7), "link7/tool", allow_singular=True)
    close(s.jacobian @ dynamics.mass_matrix_inverse(mb, np.zeros(7)) @ s.null_projector, np.zeros((6, 7)), 1e-9)
    with pytest.raises(ModelError, match="operational_space takes a Multibody or a sub-graph of one, got 3"):
        analysis.operational_space(3, np.zeros(7), "link7/tool")
