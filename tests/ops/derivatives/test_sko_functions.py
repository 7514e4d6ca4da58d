"""Derivatives and programs of operators of SKO models of functions."""

import numpy as np
import pytest
from tests.strategies import as_functions

import soacraft as sc
from soacraft.errors import ModelError, ModelFileError, StateError
from soacraft.ops.programs.roads import road_of
from soacraft.ops.table import NAMES


def mass_matrix(s):
    return s.H * s.phi * s.M * s.phi.T * s.H.T


@pytest.fixture(scope="module")
def s():
    return sc.operators(as_functions(sc.random_sko(4, seed=4), 3))


@pytest.fixture(scope="module")
def node(s):
    m = s.binding.functions
    return next(m.names[k] for k in m.nodes if m.nvs[k])


@pytest.mark.parametrize("name", [*NAMES, "mass matrix", "its inverse", "innovations", "Lyapunov"])
def test_every_operator_against_differences(s, node, name):
    made = {
        "mass matrix": mass_matrix(s),
        "its inverse": mass_matrix(s).inv,
        "innovations": s.I - s.H * s.psi * s.K,
        "Lyapunov": s.E_phi.lyapunov(s.M * s.M),
    }
    expr = made[name] if name in made else getattr(s, name)
    for report in (sc.check_derivative(expr, node, tolerance=1e-6), sc.check_derivative(expr, tolerance=1e-6)):
        assert report.ok, report


def test_derivatives_keep_their_promises(s, node):
    for expr in (s.E_phi.diff(node), s.M.dot(), s.P.diff(node), mass_matrix(s).diff(node), s.phi.dot()):
        assert sc.check_operator(expr).ok, expr
    assert s.phi.diff(node).text() == f"phi * dE_phi('{node}') * phi"
    assert s.M.dot().text() == "dM_v"
    assert s.M.dot().source == "differences"


def test_constant_blocks_have_no_derivative():
    s = sc.operators(as_functions(sc.random_sko(4, seed=4), 3, kinds="A"))
    assert s.M.dot().is_zero()
    assert s.H.dot().text() == "0*H"


def test_refusals(s, node):
    with pytest.raises(ModelError, match=r"dE_phi\(.*\) cannot be differentiated again.*Take differences"):
        s.E_phi.diff(node).diff(node)
    with pytest.raises(ModelError, match="X belongs to rigid bodies: the weights of an SKO model change"):
        s.X(node)
    with pytest.raises(ModelError, match="there is no node 'nod'"):
        s.phi.diff("nod")
    with pytest.raises(ModelError, match=f"dof must be a number from 0 to .* at node '{node}', got 9"):
        s.phi.diff(node, 9)
    with pytest.raises(StateError, match=r"at\(\) takes q=, v= and vdot=, not speed"):
        s.phi.at(speed=1)


def test_one_plan_for_all_states(s):
    m = s.binding.functions
    X = mass_matrix(s)
    other = X.at(q=m.q + 1.0)
    assert road_of(next(X.leaves()).binding) is road_of(next(other.leaves()).binding)
    assert road_of(s.binding).lowered(X) is not None


def test_compiled(s):
    m = s.binding.functions
    X = mass_matrix(s).inv
    f = X.compile()
    q, x = np.stack([m.q, m.q - 0.5]), np.linspace(0, 1, m.nv)
    np.testing.assert_allclose(f(q, None, x)[1], X.at(q=q[1]) * x, rtol=1e-12)
    np.testing.assert_allclose(f(q[1]), X.at(q=q[1]).array(), rtol=1e-12)
    one, two = f(m.q, None, x, 2 * x)
    np.testing.assert_allclose(two, 2 * one)
    rate = mass_matrix(s).dot().compile()
    np.testing.assert_allclose(rate(m.q, 2 * m.v, x), 2 * rate(m.q, m.v, x), rtol=1e-6)
    assert f.explain().program
    with pytest.raises(ModelFileError, match="functions in Python"):
        f.save("nowhere")


def test_identities_are_proved_of_them(s):
    assert sc.prove(mass_matrix(s), (s.I + s.H * s.phi * s.K) * s.D * (s.I + s.H * s.phi * s.K).T)
