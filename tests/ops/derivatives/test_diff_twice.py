"""Derivatives of derivatives: rules for X, W and dH (G19), and when the order counts."""

import numpy as np
import pytest
from tests.ops.differences import (
    along_dofs,
    every_hinge,
    expressions,
    gap,
    mass_matrix,
    part,
    some_nodes,
    stencil,
)
from tests.strategies import AXES

import soacraft as sc
from soacraft.model.hinges import derivative_of_H_T_of, examples, integrate_of
from soacraft.model.hinges.base import Hinge

PLACES = {"every hinge": every_hinge, "sub-graph": part}


def pairs(graph):
    """Dofs of one hinge in both orders, then of hinges far apart."""
    several = [body for body in graph.bodies if body.hinge.nv > 1]
    bodies = [body for body in graph.bodies if body.hinge.nv]
    own = [(body, i, body, j) for body in several for i, j in ((0, 1), (1, 0))]
    return own + [(a, 0, b, b.hinge.nv - 1) for a, b in zip(bodies[::2], reversed(bodies), strict=False)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("place", PLACES)
def test_second_derivatives_are_those_of_differences(place, axes):
    graph = PLACES[place]()
    s = sc.operators(graph, axes=axes)
    known = expressions(s, some_nodes(graph))
    for k, (a, i, b, j) in enumerate(pairs(graph)):
        for name, expr in list(known.items())[k % 16 : -1 : 16]:
            first = expr.diff(a, i)
            expected = along_dofs(graph, first, [graph.v_slice(b).start + j])[0]
            assert gap(first.diff(b, j).array(), expected) < 1e-7, (name, a.name, i, b.name, j)


@pytest.mark.parametrize("axes", AXES)
def test_leaves_of_derivatives(axes):
    """X, W, dH and W_nd themselves, once and twice."""
    mb = every_hinge()
    s = sc.operators(mb, axes=axes)
    gimbal = next(body.name for body in mb.bodies if isinstance(body.hinge, sc.Gimbal))
    ball = next(body.name for body in mb.bodies if isinstance(body.hinge, sc.RollingBall))
    for body in (gimbal, ball):
        at = mb.v_slice(body).start
        for leaf in (s.X(body, 1), s.W(body, 1), s.dH(body, 2), s.W_nd([body], body, 1)):
            once = leaf.diff(body, 2)
            assert gap(once.array(), along_dofs(mb, leaf, [at + 2])[0]) < 1e-8, leaf.text()
            assert gap(once.diff(body, 1).array(), along_dofs(mb, once, [at + 1])[0]) < 1e-7, leaf.text()


def test_order_counts_for_quasi_velocities_only():
    """For a ball joint d1 d2 - d2 d1 is the derivative along the bracket, as so(3) has it; coordinates commute."""
    mb = every_hinge()
    s = sc.operators(mb)
    for body in mb.bodies:
        if body.hinge.nv < 2 or body.parent is mb.root:
            continue
        Mcal = mass_matrix(s)
        one = Mcal.diff(body, 0).diff(body, 1).array()
        gap_ = one - Mcal.diff(body, 1).diff(body, 0).array()
        if isinstance(body.hinge, (sc.Spherical, sc.Free)):
            # along e0 first, then e1: the bracket of the left-invariant fields is [e1, e0] = -e2
            np.testing.assert_allclose(gap_, -Mcal.diff(body, 2).array(), atol=1e-10)
            assert np.abs(gap_).max() > 1e-3
        elif not isinstance(body.hinge, sc.RollingBall):
            np.testing.assert_allclose(gap_, 0.0, atol=1e-10)


def test_third_derivatives():
    mb = every_hinge()
    s = sc.operators(mb, axes="inertial")
    screws = next(body for body in mb.bodies if isinstance(body.hinge, sc.Screws))
    at = mb.v_slice(screws).start
    for expr in (s.phi, s.D, mass_matrix(s), s.H):
        twice = expr.diff(screws, 2).diff(screws, 1)
        expected = along_dofs(mb, twice, [at + 2])[0]
        assert gap(twice.diff(screws, 2).array(), expected) < 1e-7


def test_hinge_maps_many_times():
    """`derivative_of_H_T` along several dofs: exact ones, and the default by differences."""
    rng = np.random.default_rng(0)
    for hinge in examples():
        q = hinge.random(rng)
        for dofs in np.ndindex(*(min(hinge.nv, 3),) * 3):
            step, inner = np.eye(hinge.nv)[dofs[-1]], dofs[:-1]

            def moved(t, hinge=hinge, q=q, step=step, inner=inner):
                return derivative_of_H_T_of(hinge, integrate_of(hinge, q, t * step), inner)

            slope = stencil(moved)
            found = derivative_of_H_T_of(hinge, q, dofs)
            np.testing.assert_allclose(found, slope, atol=1e-9)
            assert hinge.H_T_varies(dofs) or not found.any()
            np.testing.assert_allclose(
                Hinge.derivative_of_H_T(hinge, q, inner), derivative_of_H_T_of(hinge, q, inner), atol=1e-9
            )
        np.testing.assert_array_equal(derivative_of_H_T_of(hinge, q, ()), hinge.H_T(q))
