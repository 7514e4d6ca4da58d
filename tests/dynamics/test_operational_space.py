"""Operational-space inertia: the inverse where there is one, the rank where there is none."""

import numpy as np
import pytest
from tests.dynamics.calls import close, tree

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, SingularError

BENT = np.array([0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4])


def test_it_is_the_inverse_of_the_compliance():
    arm = sc.load("arm7")
    Lambda = dyn.operational_space_inertia(arm, BENT, "link7/tool")
    C = dyn.operational_space_compliance(arm, BENT, "link7/tool")
    close(Lambda @ C, np.eye(6))
    np.testing.assert_array_equal(Lambda, Lambda.T)
    close(dyn.operational_space_inertia(arm, BENT, "link7/tool", allow_singular=True), Lambda)


def test_two_feet_of_a_floating_model():
    mb = sc.load("biped")
    q, _ = mb.random_state(3)
    feet = ["left_foot/sole", "right_foot/sole"]
    C = dyn.operational_space_compliance(mb, q, feet)
    close(dyn.operational_space_inertia(mb, q, feet) @ C, np.eye(12))


def test_rank_deficiency_is_reported():
    arm = sc.load("arm7")
    with pytest.raises(SingularError) as error:
        dyn.operational_space_inertia(arm, np.zeros(7), "link7/tool")
    assert str(error.value) == (
        "the operational-space compliance of 'link7/tool' has rank 3 of 6, so it has no inverse: the nodes cannot move "
        "in all directions there. Ask for fewer nodes, move away from the singular configuration, or take "
        "allow_singular=True for the pseudo-inverse."
    )
    with pytest.raises(SingularError, match=r"of 'link7/tool', 'link7/camera' has rank 6 of 12, so"):
        dyn.operational_space_inertia(arm, BENT, ["link7/tool", "link7/camera"])
    with pytest.raises(SingularError, match=r"^state 1 of 3: .* has rank 3 of 6, so"):
        dyn.operational_space_inertia(arm, [BENT, np.zeros(7), np.zeros(7)], "link7/tool")


def test_a_rank_hidden_by_rounding_is_found():
    """A planar mechanism turned askew: zero compliance out of its plane is zero to rounding only."""
    tilted = sc.serial_chain(4, sc.Pin((1.0, 2.0, 3.0)))
    q = [0.3, 0.5, -0.4, 0.8]
    with pytest.raises(SingularError, match="has rank 3 of 6"):
        dyn.operational_space_inertia(tilted, q, "link4/tip")
    nearly = sc.serial_chain(4)
    with pytest.raises(SingularError, match="has rank 2 of 6"):  # stretched out, but for the rounding of pi
        dyn.operational_space_inertia(nearly, [0.4, np.pi, np.pi, 0.0], "link4/tip")


@pytest.mark.parametrize("scale", [1e-4, 1e-3, 1e6])
def test_units_play_no_part(scale):
    """The same arm in other units of length has the same rank."""
    C = {}
    for length in (1.0, scale):
        axes = ((0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, 1))
        chain = sc.serial_chain(7, [sc.Pin(axis) for axis in axes], length=length)
        C[length] = dyn.operational_space_inertia(chain, BENT, "link7/tip")
    L = np.diag([scale, scale, scale, 1.0, 1.0, 1.0])
    close(C[scale], L @ C[1.0] @ L, 1e-8)


def test_the_pseudo_inverse():
    mb = tree(2, n=4)
    node = next(node for body in mb.bodies for node in body.nodes)
    pairs = [node, node]
    C = dyn.operational_space_compliance(mb, mb.q, pairs)
    X = dyn.operational_space_inertia(mb, mb.q, pairs, allow_singular=True)
    close(C @ X @ C, C)
    close(X @ C @ X, X)
    close(X, X.T)
    turns, travels = (np.sqrt(np.diag(C)[where].max()) or 1.0 for where in (np.r_[:3, 6:9], np.r_[3:6, 9:12]))
    S = np.diag(np.tile(np.repeat([turns, travels], 3), 2))  # in these units it is the one of Moore and Penrose
    projector = np.linalg.solve(S, C @ X) @ S
    close(projector, projector.T)
    stuck = sc.Multibody("stuck")
    stuck.add_body("block", None, sc.Weld(), sc.Inertia.box(1.0, (1, 1, 1)))
    assert not dyn.operational_space_inertia(stuck, [], "block", allow_singular=True).any()
    with pytest.raises(SingularError, match="'block' has rank 0 of 6"):
        dyn.operational_space_inertia(stuck, [], "block")


def test_no_nodes():
    mb = tree(2, n=4)
    assert dyn.jacobian(mb, mb.q, []).shape == (0, mb.nv)
    assert dyn.jacobian_dot_v(mb, mb.q, mb.v, ()).shape == (0,)
    assert dyn.operational_space_compliance(mb, mb.q, []).shape == (0, 0)
    assert dyn.operational_space_inertia(mb, mb.q, []).shape == (0, 0)


def test_nodes_that_cannot_move_are_refused():
    mb = sc.load("arm7")
    dock = mb.root.add_node("dock")
    for function in (dyn.jacobian, dyn.operational_space_compliance, dyn.operational_space_inertia):
        with pytest.raises(ModelError) as error:
            function(mb, BENT, ["link7/tool", dock])
        assert str(error.value) == (
            f"{function.__name__}: 'inertial/dock' is on the inertial frame, which does not move; give a node on a "
            "body."
        )
