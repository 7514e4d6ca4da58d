"""Springs, dampers, tendons and gravity compensation in linearization, regressors, sensitivities, diagonalized
coordinates and under-actuated forms."""

import numpy as np
from tests.analysis.cases import STENCIL
from tests.analysis.test_regressor import with_parameters
from tests.dynamics.calls import close, subtree, tree
from tests.dynamics.springs import sprung

from soacraft import analysis
from soacraft import dynamics as dyn


def drawn(mb, seed=1):
    rng = np.random.default_rng(seed)
    return *mb.random_state(rng), rng.standard_normal(mb.nv), 3.0 * rng.standard_normal(mb.nv)


def test_the_linearized_motion_follows_them():
    mb = sprung(tree(1, n=7, holonomic=True), 1)
    q, v, _, force = drawn(mb)
    for passive in (True, False):
        dq, dv, _ = dyn.forward_dynamics_derivatives(mb, q, v, force, passive=passive)
        A = analysis.linearize(mb, q, v, force, passive=passive).A
        np.testing.assert_array_equal(A[mb.nv :], np.concatenate([dq, dv], axis=1))


def test_inverse_dynamics_is_linear_in_the_parameters():
    """Compensation grows with mass: it is part of Y, and the same Y serves a model with other inertias."""
    mb = sprung(tree(2, n=7, bases=1), 2)
    for g in (mb, subtree(mb, "moving")):
        q, v, vdot, _ = drawn(g)
        for passive in (True, False):
            r = analysis.parameter_regressor(g, q, v, vdot, passive=passive)
            wanted = dyn.inverse_dynamics(g, q, v, vdot, passive=passive)
            close(r.matrix @ analysis.parameters(g) + r.offset, wanted, 1e-12)
    q, v, vdot, _ = drawn(mb)
    r, pi = analysis.parameter_regressor(mb, q, v, vdot), 1.1 * analysis.parameters(mb)
    close(r.matrix @ pi + r.offset, dyn.inverse_dynamics(with_parameters(mb, pi), q, v, vdot), 1e-12)


def test_sensitivities_against_differences():
    mb = sprung(tree(3, n=4), 3)
    q, v, _, force = drawn(mb)
    pi, rng = analysis.parameters(mb), np.random.default_rng(5)
    along = pi * rng.uniform(-1.0, 1.0, 1).repeat(len(pi))
    moved = [dyn.forward_dynamics(with_parameters(mb, pi + 1e-3 * k * along), q, v, force) for k, _ in STENCIL]
    slope = sum(weight * x for (_, weight), x in zip(STENCIL, moved, strict=True)) / 1e-3
    close(analysis.forward_dynamics_sensitivity(mb, q, v, force) @ along, slope, 1e-7)


def test_they_are_part_of_the_load():
    mb = sprung(tree(4, n=7), 4)
    q, v, _, _ = drawn(mb)
    acting, without = analysis.diagonalize(mb, q, v), analysis.diagonalize(mb, q, v, passive=False)
    close(acting.C_nu, without.C_nu, 1e-13)
    close(without.load_nu - acting.load_nu, acting.eps_of(dyn.passive_force(mb, q, v)), 1e-11)


def test_they_push_dofs_that_nobody_drives():
    """With no force on the dofs that are not driven, springs do move them."""
    mb = sprung(tree(5, n=7), 5)
    q, v, vdot, _ = drawn(mb)
    mask = np.arange(mb.nv) % 2 == 0
    u = analysis.underactuated(mb, q, v, passive=mask)
    found, force = dyn.mixed_dynamics(mb, q, v, np.zeros(mb.nv), vdot, ~mask)
    close(-u.follow @ vdot[~mask] - u.drift, found[mask], 1e-10)
    close(u.inertia @ vdot[~mask] + u.bias, force[~mask], 1e-10)
