"""Models without bodies, with one body, without dofs: everything works or refuses clearly."""

import numpy as np
import pytest
from tests.strategies import AXES, OPEN

import soacraft as sc
from soacraft.errors import SoacraftError
from soacraft.ops.namespace import VECTORS
from soacraft.ops.table import NAMES

I = sc.I
ONE = sc.Inertia(1.0, (0.1, 0.2, 0.3), np.diag([0.1, 0.2, 0.15]))


def empty():
    return sc.Multibody("empty")


def welded():
    mb = sc.Multibody("welded")
    mb.add_body("a", None, sc.Weld(), ONE, sc.Pose(translation=(0.1, 0, 0))).add_node("tip")
    mb.add_body("b", "a", sc.Weld(), ONE, sc.Pose(translation=(0.2, 0, 0)))
    return mb


def partly_welded():
    mb = welded()
    mb.add_body("c", "b", sc.Pin((0, 0, 1)), ONE)
    mb.add_body("d", "c", sc.Weld(), ONE)
    return mb


def single():
    return sc.random_tree(1, seed=3)


MODELS = {
    **{f"{make.__name__}, {axes}": lambda make=make, axes=axes: sc.operators(make(), axes=axes)
       for make in (empty, welded, partly_welded, single) for axes in AXES},
    "empty SKO model": lambda: sc.operators(sc.SKOModel([], [], [], [])),
    "one node": lambda: sc.operators(sc.SKOModel([-1], [None], [np.eye(1)], [np.eye(1)])),
    "one node without dofs": lambda: sc.operators(sc.SKOModel([-1], [None], [np.zeros((0, 2))], [np.eye(2)])),
    "a node of no size": lambda: sc.operators(
        sc.SKOModel([-1, 0], [None, np.zeros((1, 0))], [np.eye(1), np.zeros((0, 0))], [np.eye(1), np.zeros((0, 0))])
    ),
    "welded, batch": lambda: sc.operators(welded().state(q=np.zeros((3, 0)))),
    "welded, batch of velocities": lambda: sc.operators(welded().state(v=np.zeros((3, 0)))),
    "empty, batch": lambda: sc.operators(empty().state(q=np.zeros((3, 0)), v=np.zeros((3, 0)))),
}  # fmt: skip


@pytest.fixture(params=MODELS, scope="module")
def s(request):
    return MODELS[request.param]()


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


@pytest.mark.parametrize("name", NAMES)
def test_every_operator(s, name):
    expr = getattr(s, name)
    report = sc.check_operator(expr)
    assert report.ok, report
    assert expr.by_branch() is not None
    assert repr(expr.explain())
    assert (expr - expr).is_zero()
    if expr.rows == expr.cols:
        assert np.shape(expr.trace()) == expr.batch


def test_every_vector(s):
    for name in VECTORS:
        x = getattr(s, name)
        assert x.shape[-1] == x.space.size
        assert repr(x).startswith("vector of ")


def test_every_identity(s):
    chosen = [i for i in OPEN if "serial" not in i.conditions or s.sko.tree.is_serial]
    for identity in chosen:
        found = sc.verify(identity.left, identity.right, on=s)
        assert found.ok, (identity, found)


def test_expressions(s):
    n, N = s.hinge.size, s.body.size
    expr = mass_matrix(s)
    batch = expr.batch
    assert expr.array().shape == (*batch, n, n)
    assert expr.inv.array().shape == (*batch, n, n)
    assert (expr * np.ones(n)).shape == (*batch, n)
    assert (expr * np.ones((n, 2))).shape == (*batch, n, 2)
    assert (expr * expr.inv).is_identity()
    assert (I - s.E_phi).inv.array().shape == (*batch, N, N)
    assert s.E_phi.lyapunov(s.M).array().shape == (*batch, N, N)
    assert sc.diag_of(s.Omega).array().shape == (*batch, N, N)
    assert (s.phi**2).array().shape == (*batch, N, N)
    assert s.B([]).array().shape == (*batch, N, 0)
    assert (s.H * s.phi * (s.M + s.R) * s.phi.T * s.H.T).inv.array().shape == (*batch, n, n)
    assert (I + s.phi * s.phi.T).inv.array().shape == (*batch, N, N)


def test_vectors_of_no_size(s):
    if s.hinge.size == 0:
        assert (s.H.T * np.zeros(0)).shape[-1] == s.body.size
        assert (s.H.T * np.zeros((0, 3))).shape[-2:] == (s.body.size, 3)
        assert np.asarray(s.T).shape[-1] == 0


def test_an_empty_model_has_no_blocks():
    s = sc.operators(empty())
    assert repr(s.phi) == "phi : body[0] <- body[0]"
    for attempt in (lambda: s.phi[0, 0], lambda: s.V["a"], lambda: s.B("a"), lambda: s.phi * np.ones(1)):
        with pytest.raises(SoacraftError):
            attempt()


def test_welded_mass_is_carried():
    """A weld passes everything on: the pin feels its own body and the one welded outboard, not the ones inboard."""
    s = sc.operators(partly_welded())
    expected = s.R["c", "c"]
    np.testing.assert_allclose(s.D["c", "c"], s.H["c", "c"] @ expected @ s.H["c", "c"].T)
    np.testing.assert_allclose(s.R["c", "c"], 2 * ONE.matrix(), atol=1e-12)
    assert mass_matrix(s).shape == (1, 1)
