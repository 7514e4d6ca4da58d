"""`expr.dot()` along trajectories, and the Coriolis matrix."""

import numpy as np
import pytest
from tests.ops.differences import (
    OFFSETS,
    along_states,
    along_velocity,
    every_hinge,
    expressions,
    gap,
    mass_matrix,
    part,
    some_nodes,
    stencil,
    with_armature,
)
from tests.strategies import AXES

import soacraft as sc

PLACES = {"every hinge": every_hinge, "armature": with_armature, "sub-graph": part}


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("place", PLACES)
def test_time_derivatives_are_those_of_differences(place, axes):
    graph = PLACES[place]()
    for name, expr in expressions(sc.operators(graph, axes=axes), some_nodes(graph)).items():
        assert gap(expr.dot().array(), along_velocity(graph, expr)) < 1e-8, name


@pytest.mark.parametrize("axes", AXES)
def test_is_the_sum_over_the_dofs(axes):
    """d/dt = sum over dofs of v_j d/d_j."""
    mb = sc.random_tree(5, seed=7)
    for name, expr in expressions(sc.operators(mb, axes=axes), some_nodes(mb)).items():
        parts = [
            mb.v[mb.v_slice(body).start + j] * expr.diff(body, j).array()
            for body in mb.bodies
            for j in range(body.hinge.nv)
        ]
        assert gap(expr.dot().array(), sum(parts)) < 1e-10, name


@pytest.mark.parametrize("axes", AXES)
def test_a_moving_anchor_turns_the_axes(axes):
    """The whole model moves; the operators of the sub-graph in inertial axes see its anchor move."""
    g = part("moving")
    mb = g.multibody
    q, v, vdot = mb.q, mb.v, mb.vdot
    assert np.abs(vdot).min() > 0
    known = expressions(sc.operators(g, axes=axes), some_nodes(g))
    for name, expr in list(known.items())[AXES.index(axes) : -1 : len(AXES)]:
        once = expr.dot()
        found = once.array(), once.dot().array()

        def at(t, x):
            mb.set_state(mb.integrate(q, t * v), v + t * vdot, vdot)
            return x.array()

        assert gap(found[0], stencil(lambda t, x=expr: at(t, x))) < 1e-8, name
        assert gap(found[1], stencil(lambda t, x=once: at(t, x))) < 1e-7, name
        mb.set_state(q, v, vdot)


@pytest.mark.parametrize("axes", AXES)
def test_second_time_derivatives_take_vdot(axes):
    mb = with_armature()
    known = expressions(sc.operators(mb, axes=axes), some_nodes(mb))
    q, v, vdot = mb.q, mb.v, mb.vdot
    e, t = np.eye(mb.nv)[mb.v_slice("body6").start], OFFSETS[:, None]
    for name, expr in list(known.items())[AXES.index(axes) : -1 : len(AXES)]:
        once = expr.dot()
        expected = along_states(once, q=mb.integrate(q, t * v), v=v + t * vdot)
        assert gap(once.dot().array(), expected) < 1e-7, name
        expected = along_states(once, q=mb.integrate(q, t * e))
        assert gap(once.diff("body6").array(), expected) < 1e-7, name
        mixed = expr.diff("body6")
        assert gap(mixed.dot().array(), along_velocity(mb, mixed)) < 1e-7, name


def test_live_with_the_velocity():
    """Nothing kept for another velocity is used."""
    mb = every_hinge()
    s = sc.operators(mb)
    known = [s.P.dot(), mass_matrix(s).dot(), s.coriolis, sc.diag_of(s.coriolis), s.X_v, s.dH_v, (s.X_v**2), s.B_hat]
    before = [x.array() for x in known]
    mb.v = 2 * mb.v
    for x, old in zip(known[:-2], before[:-2], strict=True):
        np.testing.assert_allclose(x.array(), 2 * old, atol=1e-11)
    np.testing.assert_allclose(known[-2].array(), 4 * before[-2], atol=1e-11)
    np.testing.assert_allclose(known[-1].array(), 2 * before[-1], atol=1e-11)
    mb.v = np.zeros(mb.nv)
    assert not any(x.array().any() for x in known)


def test_third_time_derivatives_are_refused():
    s = sc.operators(every_hinge())
    twice = s.phi.dot().dot()
    with pytest.raises(sc.errors.StateError) as error:
        twice.dot()
    assert str(error.value) == "a third time derivative needs the rate of vdot, which a state does not hold."


# -- the Coriolis matrix ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("place", PLACES)
def test_coriolis_matrix(place, axes):
    graph = PLACES[place]()
    s = sc.operators(graph, axes=axes)
    C, v = s.coriolis, graph.v
    rate = mass_matrix(s).dot()
    assert (rate - C - C.T).is_zero(), "d/dt Mcal - 2 C is skew"
    assert not (rate - 2 * C).is_zero()
    bias = np.asarray(s.C) - np.asarray(sc.operators(graph.state(v=np.zeros(graph.nv)), axes=axes).C)
    np.testing.assert_allclose(np.asarray(C * v), bias, atol=1e-10 * np.abs(bias).max())
    # the same numbers in all axes
    np.testing.assert_allclose(C.array(), sc.operators(graph).coriolis.array(), atol=1e-9)
    # power: v* (d/dt Mcal / 2) v = v* C v
    assert np.isclose(v @ (0.5 * rate.array()) @ v, v @ C.array() @ v)


def test_coriolis_promises_and_names():
    mb = sc.random_tree(5, seed=4)
    s = sc.operators(mb)
    assert sc.check_operator(s.coriolis).ok
    assert sc.operators(mb, "coriolis").key() == s.coriolis.key()
    for leaf in (s.B_hat, s.X_v, s.dH_v, s.W_v):
        assert sc.check_operator(leaf).ok
    t = sc.operators(mb, axes="inertial")
    for leaf in (t.W_v, t.W_nd_v(["body2"]), t.X_v, t.W_v.along("body3")):
        assert sc.check_operator(leaf).ok
    v = np.stack([mb.v, 2 * mb.v])
    for q in (mb.q, np.stack([mb.q, mb.q])):
        for axes in AXES:
            one, two = sc.operators(mb.state(q=q, v=v), axes=axes).coriolis.array()
            np.testing.assert_allclose(two, 2 * one, atol=1e-10)
            np.testing.assert_allclose(one, s.coriolis.array(), atol=1e-10)


def test_coriolis_with_a_moving_anchor_is_that_at_rest():
    rest, moving = part(), part("moving")
    np.testing.assert_allclose(
        sc.operators(moving, axes="inertial").coriolis.array(), sc.operators(rest).coriolis.array(), atol=1e-10
    )
