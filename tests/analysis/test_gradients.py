"""Gradients of the mass matrix and of its determinant against differences; the Coriolis matrix by what it must obey."""

import numpy as np
import pytest
from tests.analysis.cases import GRAPHS, STENCIL, along_dofs, armed
from tests.dynamics.calls import GRAVITY, close, subtree, tree
from tests.model.modal.trees import flexible_tree
from tests.user_hinges import Crank

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import ModelError, StateError
from soacraft.model.hinges import examples

pytestmark = pytest.mark.usefixtures("both_engines")
every_graph = pytest.mark.parametrize("name", GRAPHS)


@every_graph
def test_the_gradient_of_the_mass_matrix(name):
    g = GRAPHS[name]()
    q, _ = g.random_state(1)
    found = analysis.mass_matrix_gradient(g, q)
    close(found, along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q), 1e-10)
    close(found, np.swapaxes(found, 0, 1), 1e-14)


@every_graph
def test_the_gradient_of_the_determinant(name):
    g = GRAPHS[name]()
    q, _ = g.random_state(1)
    found = analysis.log_det_gradient(g, q)
    close(found, along_dofs(g, lambda x: dynamics.log_det_mass_matrix(g, x), q), 1e-10)
    inverse = dynamics.mass_matrix_inverse(g, q)
    close(found, np.einsum("ij,jic->c", inverse, analysis.mass_matrix_gradient(g, q)), 1e-11)


@every_graph
def test_the_fixman_force(name):
    g = GRAPHS[name]()
    q, _ = g.random_state(2)
    close(analysis.fixman_potential(g, q, 3.0), 1.5 * dynamics.log_det_mass_matrix(g, q), 1e-14)
    found = analysis.fixman_force(g, q, kT=3.0)
    close(found, -along_dofs(g, lambda x: analysis.fixman_potential(g, x, 3.0), q), 1e-9)
    close(analysis.fixman_force(g, q), found / 3.0, 1e-14)


@every_graph
def test_the_coriolis_matrix(name):
    """C v is the bias force without gravity, and d/dt Mcal - 2 C is skew."""
    g = GRAPHS[name](gravity=(0, 0, 0))
    q, v = g.random_state(3)
    C = analysis.coriolis_matrix(g, q, v)
    rate = analysis.mass_matrix_gradient(g, q) @ v
    skew = rate - 2.0 * C
    close(skew, -skew.T, 1e-12)
    values = dynamics.mass_matrix(g, g.integrate(q, 3e-3 * STENCIL[:, :1] * v))
    close(C + C.T, np.tensordot(STENCIL[:, 1], values, 1) / 3e-3, 1e-10)
    if isinstance(g, sc.SubGraph):
        g = g.multibody.subgraph(g.bodies)
    close(C @ v, dynamics.bias_force(g, q, v), 1e-12)


def test_the_coriolis_matrix_is_linear_in_v():
    g = GRAPHS["armature"]()
    q, v = g.random_state(4)
    w = g.random_state(5)[1]
    parts = [analysis.coriolis_matrix(g, q, x) for x in (v, w)]
    close(analysis.coriolis_matrix(g, q, v - 2.0 * w), parts[0] - 2.0 * parts[1], 1e-13)


def test_a_moving_anchor_plays_no_part():
    mb = tree(4, bases=1)
    at_rest, moving = (subtree(mb, anchor) for anchor in ("rest", "moving"))
    q, v = at_rest.random_state(1)
    assert np.abs(dynamics.bias_force(at_rest, q, v) - dynamics.bias_force(moving, q, v)).max() > 0.1
    close(analysis.coriolis_matrix(moving, q, v), analysis.coriolis_matrix(at_rest, q, v), 1e-14)


TRUE_COORDINATES = [hinge for hinge in examples() if hinge.holonomic and hinge.nq == hinge.nv]


def test_christoffel_symbols():
    g = armed(sc.random_tree(9, 3, TRUE_COORDINATES, gravity=(0, 0, 0)))
    q, v = g.random_state(1)
    symbols = analysis.christoffel(g, q)
    close(symbols, np.swapaxes(symbols, -1, -2), 1e-14)
    dM = along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q)
    wanted = 0.5 * (dM + np.einsum("ikj->ijk", dM) - np.einsum("jki->ijk", dM))
    close(symbols, wanted, 1e-10)
    close(symbols @ v @ v, dynamics.bias_force(g, q, v), 1e-12)
    close(symbols @ v @ v, analysis.coriolis_matrix(g, q, v) @ v, 1e-12)
    close(symbols @ v + (symbols @ v).T, analysis.mass_matrix_gradient(g, q) @ v, 1e-12)


@pytest.mark.parametrize("hinge", [sc.Spherical(), sc.Free(), sc.RollingBall(0.5)], ids=lambda x: type(x).__name__)
def test_no_christoffel_symbols_of_quasi_velocities(hinge):
    g = sc.random_tree(2, 1, [sc.Pin((0, 0, 1)), hinge])
    body = next(body for body in g.bodies if body.hinge == hinge)
    with pytest.raises(ModelError) as error:
        analysis.christoffel(g, g.q)
    assert str(error.value) == (
        f"christoffel: the velocities of hinge {body.hinge_name!r} ({hinge!r}) are not rates of coordinates, so there "
        "are no Christoffel symbols; use coriolis_matrix, or a Gimbal instead."
    )


@pytest.mark.parametrize("kT", [-1.0, np.nan, np.inf, "hot", None, [1.0, 2.0]])
def test_temperatures_are_refused(kT):
    g = sc.load("double_pendulum")
    for function in (analysis.fixman_potential, analysis.fixman_force):
        with pytest.raises(StateError, match=r"^kT must"):
            function(g, [0.1, 0.2], kT)
    if kT == -1.0:
        with pytest.raises(StateError, match=r"^kT must not be negative, got -1\.$"):
            analysis.fixman_force(g, [0.1, 0.2], kT)


def test_a_user_hinge():
    """One that gives its pose and map only: its derivatives come from differences."""

    g = sc.random_tree(4, 5, [Crank(), sc.Pin((1, 0, 1))], branching=0.3, gravity=GRAVITY)
    q, v = g.random_state(1)
    close(analysis.mass_matrix_gradient(g, q), along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q), 1e-9)
    close(analysis.log_det_gradient(g, q), along_dofs(g, lambda x: dynamics.log_det_mass_matrix(g, x), q), 1e-9)
    g.gravity = (0, 0, 0)
    close(analysis.coriolis_matrix(g, q, v) @ v, dynamics.bias_force(g, q, v), 1e-10)


def test_a_hinge_without_inertia():
    """The determinant vanishes, so its logarithm has no gradient; the mass matrix has one."""
    mb = sc.Multibody("flag")
    mb.add_body("rod", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0, (0, 0, 1.0), np.zeros((3, 3))))
    assert analysis.mass_matrix_gradient(mb, [0.3]).shape == (1, 1, 1)
    with pytest.raises(sc.errors.SingularError, match="the hinge of 'rod' has no inertia to move"):
        analysis.log_det_gradient(mb, [0.3])


@pytest.mark.parametrize("seed", range(2))
def test_flexible_trees(seed):
    """Along hinges and modes, at any stiffness: that of the modes has no part in it."""
    holonomic = tuple(hinge for hinge in examples() if hinge.holonomic)
    g = flexible_tree((-1, 0, 0, 1), seed, holonomic)
    q = np.array(g.q)
    found = analysis.mass_matrix_gradient(g, q)
    close(found, along_dofs(g, lambda x: dynamics.mass_matrix(g, x), q), 1e-9)
    close(found, np.swapaxes(found, 0, 1), 1e-12)
    found = analysis.log_det_gradient(g, q)
    close(found, along_dofs(g, lambda x: dynamics.log_det_mass_matrix(g, x), q), 1e-8)
    nodes = ["body3/tip", "body1/root"]
    found = analysis.jacobian_gradient(g, q, nodes)
    close(found, along_dofs(g, lambda x: dynamics.jacobian(g, x, nodes), q), 1e-9)
    batch = np.stack([q, g.neutral(), q])
    close(analysis.jacobian_gradient(g, batch, nodes)[2], found, 1e-13)
    close(analysis.mass_matrix_gradient(g, batch)[0], analysis.mass_matrix_gradient(g, q), 1e-13)


@pytest.mark.parametrize("seed", range(2))
def test_the_coriolis_matrix_of_flexible_trees(seed):
    """C v is the bias force without gravity, stiffness and damping, and d/dt Mcal - 2 C is skew."""
    holonomic = tuple(hinge for hinge in examples() if hinge.holonomic)
    g = flexible_tree((-1, 0, 0, 1), seed, holonomic)
    g.gravity = (0, 0, 0)
    q, v = np.array(g.q), np.array(g.v)
    C = analysis.coriolis_matrix(g, q, v)
    skew = analysis.mass_matrix_gradient(g, q) @ v - 2.0 * C
    close(skew, -skew.T, 1e-11)
    at_rest = dynamics.bias_force(g, q, np.zeros(g.nv))
    damped = np.zeros(g.nv)
    for k in g.layout.flexible:
        own = slice(g.layout.hinge_v[k].stop, g.layout.v_slices[k].stop)
        damped[own] = g.layout.modal(k).D @ v[own]
    close(C @ v, dynamics.bias_force(g, q, v) - at_rest - damped, 1e-11)
    close(analysis.coriolis_matrix(g, np.stack([q, q]), v)[1], C, 1e-13)
