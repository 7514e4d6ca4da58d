"""The same modes seen from other frames: against points moved one by one, and by what no frame changes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.sparse import diags_array
from scipy.spatial.transform import Rotation
from tests.flexible.models import joined, slender

import soacraft.flexible as fx
from soacraft.errors import ModelError
from soacraft.flexible.fe import as_sparse
from soacraft.flexible.moments import field_moments
from soacraft.model.modal import ModalData, ModalNode
from soacraft.spatial.pose import Pose


def random_points(n=3, count=12, seed=4):
    """Points with random shapes of first and second order, two nodes; and the data of their moments."""
    rng = np.random.default_rng(seed)
    r, m = rng.normal(size=(count, 3)), rng.uniform(0.5, 2.0, size=count)
    phi, phi2 = rng.normal(size=(count, 3, n)), symmetric(rng.normal(size=(count, 3, n, n)))
    moments = field_moments(r, as_sparse(diags_array(m)), phi)
    nodes = {
        name: ModalNode(
            Pose(translation=rng.normal(size=3)), rng.normal(size=(3, n)), rng.normal(size=(3, n)),
            symmetric(rng.normal(size=(3, n, n))), symmetric(rng.normal(size=(3, n, n))),
        )
        for name in ("a", "b")
    }  # fmt: skip
    S, T = np.einsum("k,kaij->ija", m, phi2), np.einsum("k,kb,kaij->ijba", m, r, phi2)
    data = ModalData(**moments, K=np.diag(np.arange(1.0, n + 1)), S=S, T=T, nodes=nodes, points=r, shapes=phi)
    return data, m, r, phi, phi2


def symmetric(x):
    return 0.5 * (x + x.mT)


def pose(node, eta):
    """R and l of a node at eta."""
    R = Rotation.from_rotvec(node.lam @ eta + 0.5 * node.lam2 @ eta @ eta).as_matrix()
    return R, node.pose.translation + node.gam @ eta + 0.5 * node.gam2 @ eta @ eta


def test_a_frame_that_moves_with_a_node_sees_all_points_so():
    """sum m r and sum m r0 r* in the new frame, the pose of the other node: what is left is of third order."""
    data, m, r, phi, phi2 = random_points()
    seen = fx.rereference(data, "a")
    direction, left = np.array([0.3, -0.5, 0.4]), []
    for h in (2e-2, 1e-2):
        eta = h * direction
        R, l = pose(data.node("a"), eta)
        moved = r + phi @ eta + 0.5 * phi2 @ eta @ eta
        exact = (moved - l) @ R + data.node("a").pose.translation
        c = seen.first + eta @ seen.p + 0.5 * np.einsum("i,j,ija->a", eta, eta, seen.S)
        Y = seen.second + np.einsum("j,jab->ab", eta, seen.N) + 0.5 * np.einsum("i,j,ijab->ab", eta, eta, seen.T)
        Rb, lb = pose(data.node("b"), eta)
        Rb2, lb2 = pose(seen.node("b"), eta)
        place = R.T @ (lb - l) + data.node("a").pose.translation
        left.append([
            np.abs(c - m @ exact).max(), np.abs(Y - np.einsum("k,ka,kb->ab", m, r, exact)).max(),
            np.abs(lb2 - place).max(), np.abs(Rb2 - R.T @ Rb).max(),
        ])  # fmt: skip
    ratio = np.array(left[0]) / left[1]
    assert ((ratio > 7.0) & (ratio < 9.5)).all(), ratio
    assert np.max(left[1]) < 1e-4
    still = seen.node("a")
    assert max(np.abs(x).max() for x in (still.gam, still.lam, still.gam2, still.lam2)) < 1e-12
    exact = phi - seen.shapes
    np.testing.assert_allclose(seen.Q, np.einsum("k,kai,kbj->ijab", m, phi - exact, phi - exact), atol=1e-12)


@pytest.mark.parametrize("to", ["mean", "chord", "tip"])
def test_a_free_body_vibrates_the_same_whatever_its_frame(to):
    data = fx.reduce(slender(6), ["root", "tip"], modes=4)
    other = fx.rereference(data, to)
    free = [eigh(*joined(x, np.eye(6)), eigvals_only=True)[6:] for x in (data, other)]
    np.testing.assert_allclose(free[1], free[0], rtol=1e-6)
    tip = other.node("tip")
    if to == "mean":
        assert np.abs(other.p).max() < 1e-12
        assert np.abs(joined(other, np.eye(6))[1][:6, 6:]).max() < 1e-12
    elif to == "chord":
        assert np.abs(tip.gam[1:]).max() < 1e-12  # the tip stays on the line
        assert np.abs(other.node("root").gam).max() < 1e-12
        assert np.abs(other.node("root").lam[0]).max() < 1e-12
    else:
        assert max(np.abs(tip.gam).max(), np.abs(tip.lam).max()) < 1e-12


def test_there_and_back_is_where_one_was():
    data = fx.reduce(slender(6, "timoshenko"), ["root", "tip"], modes=2)
    back = fx.rereference(fx.rereference(data, "tip"), "root")
    for name in ("p", "N", "Q", "S", "T"):
        was = getattr(data, name)
        np.testing.assert_allclose(getattr(back, name), was, atol=1e-11 * max(1.0, np.abs(was).max()))
    np.testing.assert_allclose(back.node("tip").gam2, data.node("tip").gam2, atol=1e-11)
    np.testing.assert_allclose(back.node("tip").lam2, data.node("tip").lam2, atol=1e-11)


def test_what_is_no_reference_is_refused():
    fe = slender(3)
    data = fx.reduce(fe, ["root"], "fixed", modes=2)
    with pytest.raises(ModelError, match="these modal data have no node 'mid'"):
        fx.rereference(data, "mid")
    with pytest.raises(ModelError, match="a chord needs two nodes"):
        fx.rereference(data, "chord")
    with pytest.raises(ModelError, match="modal data are needed, got 3"):
        fx.rereference(3, "mean")
