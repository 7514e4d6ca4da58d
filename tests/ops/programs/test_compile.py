"""`expr.compile()`: recognised forms take their kernels, all others their sweeps, with the same numbers."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SpaceError, StaleError, StateError

I = sc.I

FORMS = {
    "mass matrix": lambda s: s.H * s.phi * s.M * s.phi.T * s.H.T,
    "by composite bodies": lambda s: s.H * (s.phi * s.R + s.R * s.phi.T - s.R) * s.H.T,
    "its inverse": lambda s: (s.H * s.phi * s.M * s.phi.T * s.H.T).inv,
    "inverse written out": lambda s: (I - s.H * s.psi * s.K).T * s.D.inv * (I - s.H * s.psi * s.K),
}
OTHERS = {
    "Omega": lambda s: s.Omega,
    "H psi": lambda s: s.H * s.psi,
    "with a payload": lambda s: s.H * s.phi * (s.M + 0.1 * s.M) * s.phi.T * s.H.T,
}


@pytest.fixture(scope="module")
def mb():
    return sc.random_tree(13, seed=4)


def states(mb, count=5):
    return np.array([mb.random_state(i)[0] for i in range(count)])


@pytest.mark.parametrize("name", [*FORMS, *OTHERS])
@pytest.mark.parametrize("axes", ["body", "inertial"])
def test_same_numbers_as_the_snapshot(mb, name, axes):
    expr = (FORMS | OTHERS)[name](sc.operators(mb, axes=axes))
    f, Q = expr.compile(), states(mb)
    X = np.random.default_rng(1).standard_normal((len(Q), expr.cols.size))
    wanted = np.asarray(expr.at(q=Q) * X)
    np.testing.assert_allclose(f(Q, None, X), wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    one = np.asarray(expr.at(q=Q[2]) * X[2])
    np.testing.assert_allclose(f(Q[2], None, X[2]), one, rtol=1e-8, atol=1e-8 * np.abs(one).max())
    dense = expr.at(q=Q).array()
    np.testing.assert_allclose(f(Q), dense, rtol=1e-8, atol=1e-8 * np.abs(dense).max())


@pytest.mark.parametrize("name", FORMS)
def test_recognised_forms_say_their_kernel(mb, name):
    explained = FORMS[name](sc.operators(mb)).compile().explain()
    assert [step.kind for step in explained.product] == ["kernel"]
    assert explained.product[0].operator in ("inverse_dynamics", "forward_dynamics")


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms_keep_their_sweeps(mb, name):
    expr = OTHERS[name](sc.operators(mb))
    explained, plain = expr.compile().explain(), expr.explain()
    assert (explained.product, explained.block, explained.array) == (plain.product, plain.block, plain.array)
    assert any(line.startswith("blocks at q: A, H, M") for line in explained.program)
    assert explained.program[-1].startswith("r1 = ")
    assert explained.microseconds > 0
    assert "microseconds a call" in repr(explained)


def test_on_a_sub_graph(mb):
    g = mb.subgraph([b for b in mb.bodies if mb.topology.path(1, mb.index(b))])
    f = FORMS["its inverse"](sc.operators(g)).compile()
    q, _ = g.random_state(3)
    x = np.linspace(-1, 1, g.nv)
    H, phi, M = sc.operators(g.state(q), "H phi M")
    np.testing.assert_allclose(f(q, None, x), np.linalg.solve((H * phi * M * phi.T * H.T).array(), x), rtol=1e-8)


def test_several_vectors_give_several_products(mb):
    f = FORMS["mass matrix"](sc.operators(mb)).compile()
    q, v = mb.random_state(2)
    x, y = np.ones(mb.nv), np.arange(mb.nv, dtype=float)
    first, second = f(q, v, x, y)
    np.testing.assert_array_equal(first, f(q, v, x))
    np.testing.assert_array_equal(second, f(q, v, y))


def test_a_block_of_vectors_takes_the_sweeps(mb):
    expr = FORMS["mass matrix"](sc.operators(mb))
    q, _ = mb.random_state(2)
    X = np.random.default_rng(0).standard_normal((mb.nv, 3))
    np.testing.assert_allclose(expr.compile()(q, None, X), np.asarray(expr.at(q=q) * X), atol=1e-12)


def test_bad_states_and_vectors_are_refused(mb):
    f = FORMS["mass matrix"](sc.operators(mb)).compile()
    q, _ = mb.random_state(0)
    with pytest.raises(StateError):
        f(q[:-1], None, np.ones(mb.nv))
    with pytest.raises(StateError):
        f(np.full(mb.nq, np.nan), None, np.ones(mb.nv))
    with pytest.raises(SpaceError, match="a vector of hinge"):
        f(q, None, np.ones(mb.nv + 1))


def test_massless_tip_is_named():
    mb = sc.Multibody("bare")
    mb.add_body("tip", hinge=sc.Pin((0, 0, 1)))
    f = FORMS["its inverse"](sc.operators(mb)).compile()
    with pytest.raises(sc.errors.SingularError, match="'tip'"):
        f([0.0], None, np.ones(1))


def test_stale_after_a_structural_change():
    mb = sc.serial_chain(2)
    f = FORMS["mass matrix"](sc.operators(mb)).compile()
    mb.add_body("more", "link2", sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    with pytest.raises(StaleError, match="structural change"):
        f(np.zeros(2), None, np.ones(2))


def test_only_expressions_of_one_model(mb):
    other = sc.operators(sc.random_sko(3, seed=0))
    with pytest.raises(SpaceError, match="cannot be compiled: it must be of one Multibody"):
        other.M.compile()
    with pytest.raises(SpaceError, match="cannot be compiled"):
        I.compile()


@pytest.mark.parametrize("axes", ["body", "inertial", "origin"])
def test_compliance_of_nodes(mb, axes):
    ops = sc.operators(mb, axes=axes)
    nodes = [node for body in mb.bodies for node in body.nodes][:3]
    expr = ops.B(nodes).T * ops.Omega * ops.B(nodes)
    q, _ = mb.random_state(6)
    f, wanted = expr.compile(), expr.at(q=q).array()
    np.testing.assert_allclose(f(q), wanted, rtol=1e-8, atol=1e-9 * np.abs(wanted).max())
    np.testing.assert_allclose(f(states(mb)), expr.at(q=states(mb)).array(), atol=1e-9 * np.abs(wanted).max())
    assert f.explain().program[0] == "blocks at q: A, H, M"  # in all three axes C++ knows where the nodes are
    assert any(line.startswith("nodes at q: B(") for line in f.explain().program)
    assert f._quick.passed_on == 0
    x = np.ones(18)
    np.testing.assert_allclose(f(q, None, x), wanted @ x, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("name", [*FORMS, *OTHERS, "of velocities"])
def test_many_states_in_parts(mb, name, monkeypatch):
    """What the quick call leaves to Python: forms with v, batches of two axes."""
    monkeypatch.setattr("soacraft.ops.programs.compile._PART", 4)
    s = sc.operators(mb)
    expr = (s.H * s.phi).dot() if name == "of velocities" else (FORMS | OTHERS)[name](s)
    f, Q = expr.compile(), states(mb, 10)
    rng = np.random.default_rng(1)
    X, V = rng.standard_normal((10, expr.cols.size)), rng.standard_normal((10, mb.nv))
    for v in (None, V[0], V):
        one = [f(Q[i], v if v is None or v.ndim == 1 else v[i], X[i]) for i in range(10)]
        v2 = v if v is None or v.ndim == 1 else v.reshape(2, 5, -1)
        many = f(Q.reshape(2, 5, -1), v2, X.reshape(2, 5, -1))
        assert many.shape[:2] == (2, 5)
        np.testing.assert_allclose(many.reshape(10, -1), one, rtol=1e-9, atol=1e-9 * np.abs(one).max())
        shared = f(Q.reshape(2, 5, -1), v2, X[3])[1, 4]
        last = f(Q[9], v if v is None or v.ndim == 1 else v[9], X[3])
        np.testing.assert_allclose(shared, last, rtol=1e-9, atol=1e-9 * np.abs(last).max())
    dense = f(Q.reshape(2, 5, -1))
    np.testing.assert_allclose(dense[1, 2], f(Q[7]), rtol=1e-9, atol=1e-9 * np.abs(dense).max())


def test_the_state_of_a_refusal_in_parts(monkeypatch):
    """The numbers of a state are counted within its part; the refusal says from where."""
    monkeypatch.setattr("soacraft.ops.programs.compile._PART", 4)
    mb = sc.load("arm7")
    H, phi = sc.operators(mb, "H phi")
    f, X = (H * phi).compile(), np.ones((2, 3, 6 * len(mb.bodies)))
    X[1, 2, 0] = np.nan
    with pytest.raises(sc.errors.SoacraftError) as refused:
        f(np.zeros((2, 3, 7)), None, X)
    assert refused.value.__notes__ == ["States of the batch are counted from 4 here."]


def test_millions_of_states_take_little_more_than_their_numbers():
    """In a process of its own: 2.4 million states have 140 MB of q and of results each."""
    code = """
import numpy as np, resource, soacraft as sc
mb = sc.load("arm7")
H, phi, M = sc.operators(mb, "H phi M")
f = (H * phi * M * phi.T * H.T).compile()
q = np.zeros((2_400_000, 7))
f(q[:10], None, np.ones(7))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
f(q, None, np.ones(7))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    taken = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(taken.stdout) * 1024 < 6 * 2_400_000 * 7 * 8


def test_operators_at_more_states_than_the_memory_has_room_for(monkeypatch):
    monkeypatch.setattr("soacraft.results.free_memory", lambda: 2**30)
    mb = sc.load("arm7")
    H, phi = sc.operators(mb, "H phi")
    expr = H * phi
    with pytest.raises(sc.errors.SizeError, match=r"operators of a batch of states, .* f = expression.compile\(\)"):
        expr.at(q=np.zeros((100_000, 7))).array()
