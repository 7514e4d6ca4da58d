"""The compiled block engine against the Python recursions, on SKO models of any block size."""

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.embedded import sample
from tests.profiles import tries
from tests.strategies import SKO, models, sko_models

import soacraft as sc
from soacraft import _core, recursions
from soacraft.algebra import Tree
from soacraft.errors import ModelError, SingularError
from soacraft.model import random_sko, random_tree
from soacraft.recursions import _backend


def close(x, y):
    assert x.shape == y.shape
    np.testing.assert_allclose(x, y, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(y).max(initial=0.0)))


def same(found, expected, n):
    assert sorted(found) == list(range(n))
    for k in range(n):
        close(found[k], expected[k])


def all_the_same(found, expected, n):
    """Each field of a result."""
    for name, blocks in expected._asdict().items():
        same(getattr(found, name), blocks, n)


def hollow_sko():
    """Nodes of size zero, in the middle and at a tip."""
    dims, nvs, parents = [3, 0, 2, 0, 1], [1, 0, 2, 0, 0], [-1, 0, 1, 0, -1]
    rng = np.random.default_rng(0)
    A = [None if p < 0 else rng.standard_normal((dims[p], dims[k])) for k, p in enumerate(parents)]
    H = [np.eye(dim)[:nv] for nv, dim in zip(nvs, dims, strict=True)]
    return sc.SKOModel(parents, A, H, [np.eye(dim) for dim in dims], names=list("abcde"))


MODELS = {
    **{f"any blocks {seed}": random_sko(12, seed=seed, bases=1 + seed % 3, max_dim=8) for seed in range(8)},
    **{f"any large blocks {seed}": random_sko(5, seed=seed, min_dim=10, max_dim=30) for seed in range(2)},
    **{f"a chain of blocks {seed}": random_sko(30, seed=seed, branching=0.0) for seed in range(2)},
    **{f"rigid, every hinge {seed}": random_tree(24, seed=seed, bases=1 + seed).sko() for seed in range(3)},
    "rigid, inertial axes": random_tree(13, seed=7).sko(axes="inertial"),
    "rigid, pins": random_tree(20, seed=3, hinges=[sc.Pin((0, 0, 1)), sc.Prismatic((1, 0, 0))]).sko(),
    "welds alone": random_tree(4, seed=3, hinges=[sc.Weld()]).sko(),
    "nodes of size zero": hollow_sko(),
    **{f"compound bodies {seed}": sample(seed).sko for seed in range(2)},
    "one node": random_sko(1, seed=4),
    "no nodes": sc.SKOModel([], [], [], []),
}


@pytest.fixture(params=MODELS, ids=lambda name: name.replace(",", "").replace(" ", "-"))
def model(request):
    return MODELS[request.param]


def vectors(sizes, m=1, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((size, m)) for size in sizes]


def test_the_models_have_every_oddity():
    nodes = [(m, k) for m in MODELS.values() for k in m.nodes]
    assert any(m.nvs[k] == 0 for m, k in nodes)
    assert any(m.nvs[k] == m.dims[k] > 1 for m, k in nodes)
    edges = [m.edges[k] for m, k in nodes if m.edges[k] is not None and m.edges[k].size]
    assert any(x.shape[0] != x.shape[1] for x in edges)
    assert any(np.linalg.matrix_rank(x) < min(x.shape) for x in edges)
    assert any(sum(p < 0 for p in m.tree.parents) > 1 for m in MODELS.values())


# -- the twins are the recursions ---------------------------------------------------------------------------------


def test_riccati(model):
    found = _backend.articulated_body(model)
    all_the_same(found, recursions.articulated_body(model), model.n)
    for k in model.nodes:
        np.testing.assert_array_equal(found.P_plus[k], found.P_plus[k].T)


def test_composite_bodies(model):
    same(_backend.composite_body(model), recursions.composite_body(model), model.n)


@pytest.mark.parametrize("columns", [1, 3])
def test_forward_dynamics(model, columns):
    T = vectors(model.nvs, columns)
    found, expected = _backend.forward_dynamics(model, T), recursions.forward_dynamics(model, T)
    for name, blocks in expected._asdict().items():
        wide = {k: np.broadcast_to(x, (len(x), columns)) for k, x in blocks.items()}
        same(getattr(found, name), wide, model.n)


FORMS = {
    "forward": (_backend.forward_lyapunov, recursions.forward_lyapunov),
    "backward": (_backend.backward_lyapunov, recursions.backward_lyapunov),
}


@pytest.mark.parametrize("form", FORMS)
def test_lyapunov_with_one_family_of_weights(form, model):
    twin, recursion = FORMS[form]
    X = [model.M(k) for k in model.nodes]
    expected = recursion(model, model.A, X)
    same(twin(model, model.A, X), expected, model.n)
    same(twin(model.tree, model.A, dict(enumerate(X)), model.A), expected, model.n)


@pytest.mark.parametrize("form", FORMS)
def test_lyapunov_with_two_families_of_weights(form, model):
    """B has blocks of other sizes, some of them empty, so that X is not square."""
    twin, recursion = FORMS[form]
    rng = np.random.default_rng(1)
    sizes = rng.integers(0, 8, model.n)
    right = {k: rng.standard_normal((sizes[p], sizes[k])) / 3 for k in model.nodes if (p := model.parent(k)) >= 0}
    X = [rng.standard_normal((model.dims[k], sizes[k])) for k in model.nodes]
    expected = recursion(model, model.A, X, lambda p, k: right[k])
    same(twin(model, model.A, X, lambda p, k: right[k]), expected, model.n)


@pytest.mark.parametrize("kind", SKO)
@tries(15)
@given(data=st.data(), seed=st.integers(0, 99))
def test_any_drawn_model(kind, data, seed):
    model = data.draw(models(kind))
    T = vectors(model.nvs, 1, seed)
    all_the_same(_backend.articulated_body(model), recursions.articulated_body(model), model.n)
    all_the_same(_backend.forward_dynamics(model, T), recursions.forward_dynamics(model, T), model.n)
    same(_backend.composite_body(model), recursions.composite_body(model), model.n)
    upsilon = [model.H(k).T @ model.H(k) for k in model.nodes]
    for twin, recursion in FORMS.values():
        same(twin(model, model.A, upsilon), recursion(model, model.A, upsilon), model.n)


@tries(10)
@given(model=sko_models(batch=2))
def test_batches_run_the_recursion(model):
    T = [np.ones((nv, 1)) for nv in model.nvs]
    all_the_same(_backend.articulated_body(model), recursions.articulated_body(model), model.n)
    all_the_same(_backend.forward_dynamics(model, T), recursions.forward_dynamics(model, T), model.n)
    same(_backend.composite_body(model), recursions.composite_body(model), model.n)


def test_one_batched_block_is_enough():
    one, two = np.ones((1, 1)), np.array([1.0, 2.0]).reshape(2, 1, 1)
    tree = Tree([-1, 0])
    assert _backend.forward_lyapunov(tree, lambda p, k: two, [one, one])[0].tolist() == [[[2.0]], [[5.0]]]
    assert _backend.backward_lyapunov(tree, lambda p, k: one, [one, one], lambda p, k: two)[1].shape == (2, 1, 1)
    model = sc.SKOModel([-1], [None], [one], [one])
    assert _backend.forward_dynamics(model, [two]).vdot[0].tolist() == [[[1.0]], [[2.0]]]


def test_a_long_chain():
    """P of a chain of point masses on sliders along one line: each hinge moves its own mass."""
    n, one = 20_000, np.ones((1, 1))
    model = sc.SKOModel.trusted(Tree(range(-1, n - 1)), [None] + [one] * (n - 1), [one] * n, [one] * n)
    solved = _backend.articulated_body(model)
    assert all(solved.P[k].item() == 1.0 for k in (0, n // 2, n - 1))
    assert _backend.composite_body(model)[0].item() == n


def test_the_operators_take_them(monkeypatch):
    """R, P, Upsilon and a Lyapunov solution never run a Python recursion for one state."""

    def refuse(*args, **kwargs):
        raise AssertionError("a Python recursion ran")

    s = sc.operators(random_tree(6, seed=1))
    for name in ("articulated_body", "forward_lyapunov", "backward_lyapunov", "composite_body"):
        monkeypatch.setattr(recursions, name, refuse)
    for X in (s.R, s.P, s.Upsilon, s.E_phi.lyapunov(s.R, s.E_psi), s.E_psi.T.lyapunov(s.M)):
        assert np.isfinite(X.array()).all()


# -- hinges that have nothing to move -----------------------------------------------------------------------------


def refusal(work, model):
    with pytest.raises(SingularError) as caught:
        work(model)
    return str(caught.value)


def massless_tip(hinge):
    mb = sc.Multibody("arm")
    mb.add_body("upper", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0.1, 0, 0), 0.1 * np.eye(3)))
    mb.add_body("tip", "upper", hinge, sc.Inertia(), sc.Pose(translation=(1, 0, 0)))
    return mb.sko()


@pytest.mark.parametrize("hinge", [sc.Pin((0, 1, 0)), sc.Spherical(), sc.Free(), sc.Universal((1, 0, 0), (0, 1, 0))])
def test_a_massless_tip_is_named(hinge):
    model = massless_tip(hinge)
    text = (
        "the hinge of 'tip' has no inertia to move: the smallest eigenvalue of D = H P H* is 0. "
        "Give mass or moment to 'tip' or to a body outboard of it, or weld it."
    )
    assert refusal(_backend.articulated_body, model) == refusal(recursions.articulated_body, model) == text
    assert refusal(lambda m: _backend.forward_dynamics(m, vectors(m.nvs)), model) == text


def test_one_direction_of_three_is_enough():
    mb = sc.Multibody("point")
    mb.add_body("arm", None, sc.Weld(), sc.Inertia(1.0))
    mb.add_body("bob", "arm", sc.Spherical(), sc.Inertia.point(1.0, (0, 0, -1)))
    assert refusal(_backend.articulated_body, mb.sko()) == refusal(recursions.articulated_body, mb.sko())


def test_the_first_on_the_way_to_the_base_is_named():
    one, none = np.ones((1, 1)), np.zeros((1, 1))
    model = sc.SKOModel([2, 2, -1], [one, one, None], [one] * 3, [none, none, one], names=["left", "right", "trunk"])
    assert "'right'" in refusal(_backend.articulated_body, model)
    assert refusal(_backend.articulated_body, model) == refusal(recursions.articulated_body, model)


@pytest.mark.parametrize("scale", [1e-200, 1e-18, 1.0, 1e12, 1e150])
@pytest.mark.parametrize(("least", "moves"), [(1e-13, True), (2e-14, True), (5e-15, False), (0, False)])
@pytest.mark.parametrize("nv", [1, 2, 3])
def test_inertia_is_measured_by_that_with_outboard_hinges_locked(scale, least, moves, nv):
    M = scale * np.diag([least, 0.5, 1.0, 1.0]), scale * np.eye(4)
    model = sc.SKOModel([-1, 0], [None, np.eye(4)], [np.eye(4)[:nv]] * 2, M, names=["a", "b"])
    for work in (_backend.articulated_body, recursions.articulated_body):
        with contextlib.nullcontext() if moves else pytest.raises(SingularError, match="the hinge of 'a' has no"):
            work(model)


@pytest.mark.parametrize("scale", [1e-200, 1e-18, 1.0, 1e12, 1e150])
def test_an_indefinite_inertia_is_refused_in_any_unit(scale):
    M = scale * np.diag([-1.0, 0.5, 1.0, 1.0]), scale * np.eye(4)
    with pytest.raises(ModelError, match="M of node 'a' is indefinite, its smallest eigenvalue is -"):
        sc.SKOModel([-1, 0], [None, np.eye(4)], [np.eye(4)[:1]] * 2, M, names=["a", "b"])


def test_on_the_brink_the_recursion_decides(monkeypatch):
    """The core doubts the hinge of node 1, the recursion does not."""
    model = random_sko(4, seed=2)
    core = _core.riccati
    monkeypatch.setattr(_backend._core, "riccati", lambda *args: (*core(*args)[:4], int(np.argmax(model.nvs))))
    all_the_same(_backend.articulated_body(model), recursions.articulated_body(model), model.n)
