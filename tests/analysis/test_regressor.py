"""Inverse dynamics as a linear function of inertial parameters; base parameters; sensitivities by differences."""

import numpy as np
import pytest
from tests.analysis.cases import GRAPHS, STENCIL, armed
from tests.dynamics.calls import GRAVITY, close, subtree, tree, wrenches
from tests.loops.cases import FourBar
from tests.model.modal.trees import flexible_tree

import soacraft as sc
from soacraft import analysis, dynamics
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.samples.random_models import random_inertia

every_graph = pytest.mark.parametrize("name", GRAPHS)


def inertia_of(pi):
    """The inertia with the ten parameters."""
    m, c = pi[0], pi[1:4] / pi[0]
    J = pi[4:][[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
    return sc.Inertia(m, c, J - m * (c @ c * np.eye(3) - np.outer(c, c)))


def with_parameters(mb, pi):
    """A copy of a model with other inertias."""
    other = mb.copy()
    for body, part in zip(other.bodies, np.reshape(pi, (-1, 10)), strict=True):
        body.inertia = inertia_of(part)
    return other


@every_graph
def test_inverse_dynamics_is_linear(name):
    g = GRAPHS[name]()
    q, v = g.random_state(1)
    vdot = np.random.default_rng(1).standard_normal(g.nv)
    f_ext = wrenches(g, np.random.default_rng(2))
    r = analysis.parameter_regressor(g, q, v, vdot, f_ext)
    close(r.matrix @ analysis.parameters(g) + r.offset, dynamics.inverse_dynamics(g, q, v, vdot, f_ext), 1e-12)
    assert r.names == analysis.parameter_names(g)
    assert r.names[10:12] == (f"{g.bodies[1].name}.m", f"{g.bodies[1].name}.mc_x")


def test_the_parameters():
    g = tree(1, n=3)
    body = g.bodies[1].inertia
    pi = analysis.parameters(g)[10:20]
    assert pi[0] == body.mass
    np.testing.assert_allclose(pi[1:4], body.mass * body.com, rtol=1e-15)
    J = body.moment + body.mass * (body.com @ body.com * np.eye(3) - np.outer(body.com, body.com))
    np.testing.assert_allclose(pi[4:], J[np.triu_indices(3)], rtol=1e-13)
    close(inertia_of(pi).matrix(), body.matrix(), 1e-14)


def test_it_does_not_depend_on_the_parameters():
    """The same Y gives the forces of a model with other inertias."""
    mb = armed(tree(2))
    q, v = mb.random_state(1)
    vdot = np.random.default_rng(1).standard_normal(mb.nv)
    r = analysis.parameter_regressor(mb, q, v, vdot)
    other = mb.copy()
    for i, body in enumerate(other.bodies):
        body.inertia = random_inertia(100 + i)
    close(r.matrix @ analysis.parameters(other) + r.offset, dynamics.inverse_dynamics(other, q, v, vdot), 1e-12)


def test_batches():
    g = GRAPHS["armature"]()
    rng = np.random.default_rng(0)
    q = np.array([g.random_state(rng)[0] for _ in range(6)]).reshape(2, 3, g.nq)
    v, vdot = rng.standard_normal((3, g.nv)), rng.standard_normal((2, 1, g.nv))
    r = analysis.parameter_regressor(g, q, v, vdot)
    one = analysis.parameter_regressor(g, q[1, 2], v[2], vdot[1, 0])
    close(r.matrix[1, 2], one.matrix, 1e-12)
    close(r.offset[1, 2], one.offset, 1e-12)
    assert repr(r) == f"Regressor: {g.nv} dofs, {10 * len(g)} parameters, batch (2, 3)"
    d = analysis.forward_dynamics_sensitivity(g, q, v, vdot)
    close(d[1, 2], analysis.forward_dynamics_sensitivity(g, q[1, 2], v[2], vdot[1, 0]), 1e-10)


@pytest.mark.parametrize("anchor", [None, "rest", "moving"])
def test_how_the_motion_answers_to_a_parameter(anchor):
    mb = armed(tree(3, n=9, bases=1))

    def graph(mb):
        return mb if anchor is None else subtree(mb, anchor)

    g = graph(mb)
    q, v = g.random_state(1)
    force = 10 * np.random.default_rng(1).standard_normal(g.nv)
    f_ext = {g.bodies[-1].name: np.array([1.0, -2.0, 3.0, 0.5, 4.0, -1.0])}
    found = analysis.forward_dynamics_sensitivity(g, q, v, force, f_ext)
    assert found.shape == (g.nv, 10 * len(g))
    numbers = [mb.layout.index[body] for body in g.bodies]
    for j, k in [(0, 0), (2, 7), (len(g) - 1, 3), (len(g) - 1, 9)]:
        pi = analysis.parameters(mb).reshape(-1, 10)
        step = np.zeros_like(pi)
        step[numbers[j], k] = 1e-3
        seen = [
            dynamics.forward_dynamics(graph(with_parameters(mb, pi + i * step)), q, v, force, f_ext)
            for i in STENCIL[:, 0]
        ]
        close(found[:, 10 * j + k], STENCIL[:, 1] @ seen / 1e-3, 1e-8)


@pytest.mark.parametrize("kind", [sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding])
def test_a_closed_chain(kind):
    """X* Y pi is the torque at the crank of a four-bar, which Lagrange in the crank angle alone gives too."""
    bar = FourBar()
    mb = bar.build(0.7)
    solver = kind(mb)
    X = solver.velocity_map(mb.q)[:, 0]
    v = 1.3 * X / X[0]
    torque = 5.0
    vdot = solver.forward_dynamics(mb.q, v, [torque, 0.0, 0.0]).vdot
    r = analysis.parameter_regressor(solver, mb.q, v, vdot)
    assert r.matrix.shape == (1, 30)
    np.testing.assert_allclose(r.matrix @ analysis.parameters(mb) + r.offset, X[0] * torque, rtol=1e-9)
    np.testing.assert_allclose(vdot[0], bar.acceleration(0.7, 1.3, torque), rtol=1e-9)
    with pytest.raises(LoopError, match="parameter_regressor: 'four_bar' has loop 'ring'"):
        analysis.parameter_regressor(mb, mb.q, v, vdot)


# -- base parameters -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2])
def test_they_give_the_forces_of_any_other_parameters(seed):
    mb = armed(tree(seed, n=8))
    base = analysis.base_parameters(mb)
    rng = np.random.default_rng(seed)
    q, v = mb.random_state(rng)
    r = analysis.parameter_regressor(mb, q, v, rng.standard_normal(mb.nv))
    other = rng.standard_normal(10 * len(mb))
    close(r.matrix[:, base.columns] @ (base.basis @ other), r.matrix @ other, 1e-9)
    np.testing.assert_array_equal(base.basis[:, base.columns], np.eye(base.rank))
    close(base.values, base.basis @ analysis.parameters(mb), 1e-14)
    assert base.independent == tuple(np.array(analysis.parameter_names(mb))[base.columns])
    q, v = (np.array(x) for x in zip(*(mb.random_state(rng) for _ in range(60)), strict=True))
    Y = analysis.parameter_regressor(mb, q, v, rng.standard_normal(v.shape)).matrix.reshape(-1, 10 * len(mb))
    assert base.rank == np.linalg.matrix_rank(Y, rtol=1e-10)


def test_how_many_there_are():
    """A pin with gravity shows 3; a pin upright 1; a free body all 10; each further pin of an arm 7 at most."""
    assert analysis.base_parameters(sc.load("pendulum")).rank == 3
    upright = sc.Multibody("door")
    upright.add_body("leaf", None, sc.Pin((0, 0, 1)), random_inertia(1))
    door = analysis.base_parameters(upright)
    assert door.rank == 1
    assert door.independent == ("leaf.J_zz",)
    np.testing.assert_allclose(door.values, upright.bodies[0].inertia.matrix()[2, 2])
    assert repr(door) == "1 base parameters of 10, led by leaf.J_zz, ..."
    floating = sc.random_tree(1, 1, [sc.Free()], gravity=GRAVITY)
    assert analysis.base_parameters(floating).rank == 10
    chain = sc.random_tree(4, 3, [sc.Pin((1, 2, 3)), sc.Pin((3, -1, 0.5))], branching=0.0, gravity=GRAVITY)
    assert analysis.base_parameters(chain).rank == 3 + 3 * 7


def test_refusals():
    mb = sc.load("double_pendulum")
    for samples in (0, -3, 2.5, True, "many"):
        with pytest.raises(StateError) as error:
            analysis.base_parameters(mb, samples)
        assert str(error.value) == (
            f"samples of base_parameters must be a whole number of at least 1, got {samples!r}."
        )
    with pytest.raises(StateError) as error:
        analysis.base_parameters(mb, 1)
    assert str(error.value) == (
        "base_parameters of 'double_pendulum': the 2 combinations seen in 1 states do not give the forces in others; "
        "take more samples, or another tolerance."
    )
    with pytest.raises(StateError, match="tolerance of base_parameters must be between 0 and 1, got 2"):
        analysis.base_parameters(mb, tolerance=2.0)
    with pytest.raises(StateError, match="tolerance of base_parameters must be finite, got nan"):
        analysis.base_parameters(mb, tolerance=np.nan)
    with pytest.raises(ModelError, match="'random tree' has no dofs, so no force depends on its parameters"):
        analysis.base_parameters(sc.random_tree(1, 1, [sc.Weld()]))
    for function in (analysis.parameters, analysis.parameter_names, analysis.base_parameters):
        with pytest.raises(ModelError) as error:
            function(7)
        assert str(error.value) == f"{function.__name__} takes a Multibody or a sub-graph of one, got 7."


@pytest.mark.parametrize("seed", range(3))
def test_rigid_bodies_next_to_flexible_ones(seed):
    """Columns for the rigid bodies only, in the rows of modes too; what flexible bodies take is the offset."""
    mb = flexible_tree((-1, 0, 0, 1, 3), seed, (sc.Pin((0, 0.6, 0.8)), sc.Spherical()))
    q, v, vdot = np.array(mb.q), np.array(mb.v), np.array(mb.vdot)
    f_ext = {"body4/tip": np.arange(6.0), "body1/root": sc.Wrench((1, 0, 0), (0, 2, 0), expressed_in=mb.root)}
    rigid = [body for body in mb.bodies if body.modal is None]
    r = analysis.parameter_regressor(mb, q, v, vdot, f_ext)
    assert r.names == analysis.parameter_names(mb)
    assert len(r.names) == 10 * len(rigid)
    T = r.matrix @ analysis.parameters(mb) + r.offset
    close(T, dynamics.inverse_dynamics(mb, q, v, vdot, f_ext), 1e-11)
    body = rigid[0]
    body.inertia = sc.Inertia(2 * body.inertia.mass, body.inertia.com, 3 * body.inertia.moment)
    close(r.matrix @ analysis.parameters(mb) + r.offset, dynamics.inverse_dynamics(mb, q, v, vdot, f_ext), 1e-11)
    force = np.ones(mb.nv)
    slope = analysis.forward_dynamics_sensitivity(mb, q, v, force)[:, 0]  # along the mass alone: m c and J about B stay
    assert slope.shape == (mb.nv,)
