"""Measures of Jacobians and their gradients, against differences and plain linear algebra."""

import numpy as np
import pytest
from tests.analysis.cases import GRAPHS, along_dofs
from tests.dynamics.calls import close, nodes_of

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError, StateError

every_graph = pytest.mark.parametrize("name", GRAPHS)
ARM = (0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4)


@every_graph
def test_the_gradient_of_a_jacobian(name):
    g = GRAPHS[name]()
    q, v = g.random_state(1)
    nodes = [*nodes_of(g), g.bodies[-1].name]
    found = analysis.jacobian_gradient(g, q, nodes)
    close(found, along_dofs(g, lambda x: dynamics.jacobian(g, x, nodes), q), 1e-10)
    if not isinstance(g, sc.SubGraph):
        close(found @ v @ v, dynamics.jacobian_dot_v(g, q, v, nodes), 1e-12)


@every_graph
@pytest.mark.parametrize("rows", [None, "linear", [0, 4, 5]])
def test_measures_and_gradients(name, rows):
    g = GRAPHS[name]()
    q, _ = g.random_state(2)
    node = max(g.bodies, key=lambda body: sum(1 for _ in path(body)))
    picked = {None: range(6), "linear": (3, 4, 5)}.get(rows if isinstance(rows, str) else None)
    picked = list(picked if not isinstance(rows, list) else rows)
    m = analysis.manipulability(g, q, node, rows)
    s = np.linalg.svd(dynamics.jacobian(g, q, node)[picked], compute_uv=False)
    close(m.singular_values, s, 1e-13)
    assert m.rank == np.linalg.matrix_rank(dynamics.jacobian(g, q, node)[picked], rtol=1e-12)
    np.testing.assert_allclose(m.volume, np.prod(s), rtol=1e-10, atol=1e-13)
    if m.rank < len(s):
        assert np.isinf(m.condition)
        assert np.isnan([m.volume_gradient, m.smallest_gradient, m.condition_gradient]).all()
        return

    def seen(x):
        found = analysis.manipulability(g, x, node, rows)
        return np.stack([found.volume, found.smallest, found.condition], axis=-1)

    wanted = along_dofs(g, seen, q, 1e-3)
    apart = np.diff(s).max(initial=-np.inf) < -1e-9 * s[0]
    for ours, theirs in zip((m.volume_gradient, m.smallest_gradient, m.condition_gradient), wanted, strict=True):
        if apart:
            close(ours, theirs, 1e-7)
    close(m.volume_gradient, wanted[0], 1e-8)


def path(body):
    """A body and those inboard of it."""
    while isinstance(body, sc.Body):
        yield body
        body = body.parent


def test_the_measures_of_a_planar_arm():
    """Yoshikawa: the volume of two unit links is |sin q2|."""
    mb = sc.load("double_pendulum")
    q = np.array([[0.3, 0.7], [1.0, -2.0], [0.2, np.pi / 2]])
    m = analysis.manipulability(mb, q, "lower/tip", rows=[3, 5])
    np.testing.assert_allclose(m.volume, np.abs(np.sin(q[:, 1])), rtol=1e-12)
    wanted = np.stack([0 * q[:, 1], np.cos(q[:, 1]) * np.sign(np.sin(q[:, 1]))], axis=-1)
    np.testing.assert_allclose(m.volume_gradient, wanted, atol=1e-12)
    assert repr(m) == "Manipulability of (3,) states"
    one = analysis.manipulability(mb, q[2], "lower/tip", rows=np.array([3, 5]))
    assert repr(one) == "Manipulability: volume 1, smallest 0.618, condition 2.618"
    np.testing.assert_allclose(one.condition, (3 + np.sqrt(5)) / 2, rtol=1e-12)


def test_weights():
    mb = sc.load("arm7")
    J = dynamics.jacobian(mb, ARM, "link7/tool")
    scale = np.array([0.2, 0.2, 0.2, 1.0, 1.0, 2.0])
    m = analysis.manipulability(mb, ARM, "link7/tool", scale=scale)
    np.testing.assert_allclose(m.singular_values, np.linalg.svd(scale[:, None] * J, compute_uv=False), rtol=1e-12)
    plain = analysis.manipulability(mb, ARM, "link7/tool")
    np.testing.assert_allclose(m.volume, np.prod(scale) * plain.volume, rtol=1e-11)
    np.testing.assert_allclose(m.volume_gradient, np.prod(scale) * plain.volume_gradient, rtol=1e-9, atol=1e-12)
    doubled = analysis.manipulability(mb, ARM, "link7/tool", scale=2.0)
    np.testing.assert_allclose(doubled.smallest, 2 * plain.smallest, rtol=1e-12)


def test_a_lost_direction():
    mb = sc.load("arm7")
    m = analysis.manipulability(mb, np.zeros(7), "link7/tool")
    assert m.rank == 3
    assert m.condition == np.inf
    assert np.isnan(m.volume_gradient).all()
    assert np.isnan(m.smallest_gradient).all()
    assert m.volume < 1e-12


def test_equal_singular_values_have_no_gradient_of_their_own():
    mb = sc.random_tree(1, 1, [sc.Screws(np.eye(6)[3:])])
    m = analysis.manipulability(mb, mb.q, "body1", rows="linear")
    np.testing.assert_allclose(m.singular_values, 1.0)
    np.testing.assert_allclose(m.volume_gradient, 0.0, atol=1e-14)  # that of the volume exists
    assert np.isnan(m.smallest_gradient).all()
    assert np.isnan(m.condition_gradient).all()


def test_any_jacobian():
    """Also one that is taller than wide, and a stack of nodes."""
    rng = np.random.default_rng(1)
    J, dJ = rng.standard_normal((9, 4)), rng.standard_normal((9, 4, 3))
    m = analysis.measures(J, dJ)
    np.testing.assert_allclose(m.volume, np.sqrt(np.linalg.det(J.T @ J)), rtol=1e-12)
    np.testing.assert_allclose(m.volume_gradient, m.volume * np.einsum("ia,aic->c", np.linalg.pinv(J), dJ), rtol=1e-10)
    g = GRAPHS["every hinge"]()
    q, _ = g.random_state(1)
    m = analysis.manipulability(g, q, nodes_of(g, 2), rows="linear")
    J = dynamics.jacobian(g, q, nodes_of(g, 2))[[3, 4, 5, 9, 10, 11]]
    close(m.singular_values, np.linalg.svd(J, compute_uv=False), 1e-12)


def test_refusals():
    mb = sc.load("arm7")
    for rows in ("sideways", [], [6], [-1], [0.5], 3, {"a": 1}, [True] * 6):
        with pytest.raises(ModelError) as error:
            analysis.manipulability(mb, ARM, "link7/tool", rows)
        assert str(error.value) == (
            "rows of manipulability must be 'angular', 'linear', or numbers of rows from 0 to 5; "
            f"got {rows!r:.60}."
        )
    for scale in ([1.0, 2.0], "big", [[1.0]]):
        with pytest.raises(ModelError, match="scale of manipulability must be"):
            analysis.manipulability(mb, ARM, "link7/tool", scale=scale)
    for scale in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ModelError, match=f"scale of manipulability must be positive and finite, got {scale}"):
            analysis.manipulability(mb, ARM, "link7/tool", scale=scale)
    with pytest.raises(ModelError, match="manipulability takes a Multibody or a sub-graph of one, got 'arm7'"):
        analysis.manipulability("arm7", ARM, "link7/tool")
    with pytest.raises(ModelError, match="jacobian_gradient: 'inertial' is on the inertial frame"):
        analysis.jacobian_gradient(mb, ARM, "inertial")
    still = sc.random_tree(1, 1, [sc.Weld()])
    with pytest.raises(StateError, match=r"a Jacobian of shape \(6, 0\) has no singular values to measure"):
        analysis.manipulability(still, [], "body1")


def test_rows_and_scales_that_are_no_numbers():
    mb = sc.load("arm7")
    with pytest.raises(ModelError, match="rows of manipulability must be"):
        analysis.manipulability(mb, ARM, "link7/tool", np.array(1))
    for scale in (1j, np.ones(6) * 1j, 10**400, [object()] * 6):
        with pytest.raises(ModelError, match="scale of manipulability must be one number or 6"):
            analysis.manipulability(mb, ARM, "link7/tool", scale=scale)
