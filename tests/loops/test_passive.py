"""Springs, dampers, tendons and gravity compensation in closed chains: every solver, compiled and in Python, against
the tree's own passive force and dense algebra; a geared oscillator in closed form; derivatives against differences."""

from unittest import mock

import numpy as np
import pytest
from tests.dynamics.springs import sprung
from tests.loops.by_name import by_name
from tests.loops.cases import dense, force_of, library, near
from tests.loops.compiled_cases import without_compiled
from tests.loops.test_derivatives import along_closures

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.errors import ModelError, StateError
from soacraft.loops import forward_dynamics_derivatives, linearize

SOLVERS = [sc.loops.TreeAugmented, sc.loops.FullyAugmented, sc.loops.ConstraintEmbedding]
MODELS = ["robotiq_2f85", "five_bar"]


def hybrid(mb):
    """A solver that embeds one loop and keeps the others as rows."""
    return sc.loops.ConstraintEmbedding(mb, embed=[mb.loops[0].name])


def closed(name, **kwargs):
    """A closed chain of the library at a closed state, with passive forces of every kind."""
    mb = library(name)
    q, v = mb.q, mb.v
    sprung(mb, 1, tendons=1, **kwargs)
    mb.set_state(q, v)
    return mb


@pytest.mark.parametrize("compensated", [True, False], ids=["with compensation", "springs alone"])
@pytest.mark.parametrize("make", [*SOLVERS, hybrid], ids=lambda x: x.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_every_solver(name, make, compensated):
    mb = closed(name, compensated=compensated)
    q, v, force = mb.q, mb.v, force_of(mb)
    own = dyn.passive_force(mb, q, v)
    assert np.abs(own).max() > 0.5
    s = make(mb)
    acting, wanted = s.forward_dynamics(q, v, force), dense(mb, force)
    near(acting.vdot, wanted.vdot, 1e-8)
    left_out = s.forward_dynamics(q, v, force + own, passive=False)
    near(acting.vdot, left_out.vdot)
    near(*(np.hstack(list(x.multipliers.values())) for x in (acting, left_out)), 1e-8)
    assert np.abs(s.forward_dynamics(q, v, force, passive=False).vdot - acting.vdot).max() > 1e-3
    for again in (s.forward_dynamics(q, v, force), s.forward_dynamics(q, v, force, passive=True)):  # a warm solver
        near(again.vdot, acting.vdot, 1e-12)
    several = s.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (3, 1)), np.tile(force, (3, 1)), threads=2)
    near(several.vdot, np.tile(acting.vdot, (3, 1)))
    near(without_compiled(make(mb)).forward_dynamics(q, v, force).vdot, acting.vdot)


@pytest.mark.parametrize("make", [sc.loops.TreeAugmented, sc.loops.ConstraintEmbedding], ids=lambda x: x.__name__)
def test_compiled_solvers_have_them(make):
    """Once warm they ask Python nothing: acting, left out, and in a batch."""
    mb = closed("robotiq_2f85", compensated=False)
    q, v, force = mb.q, mb.v, force_of(mb)
    s = make(mb)
    acting, left_out = (s.forward_dynamics(q, v, force, passive=x).vdot for x in (True, False))
    with mock.patch.object(s, "_solve", side_effect=AssertionError("Python was asked")):
        for passive, wanted in ((True, acting), (False, left_out)):
            near(s.forward_dynamics(q, v, force, passive=passive).vdot, wanted, 1e-9)
            near(s.forward_dynamics(np.stack([q, q]), v, force, passive=passive).vdot, np.stack([wanted, wanted]), 1e-9)
        with mock.patch.object(s, "_read", side_effect=AssertionError("Python was asked")):
            for passive, wanted in (({}, acting), ({"passive": True}, acting), ({"passive": False}, left_out)):
                near(s.forward_dynamics(q, v, force, **passive).vdot, wanted, 1e-9)


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
@pytest.mark.parametrize("name", MODELS)
def test_inverse_and_mixed_dynamics(name, make):
    mb = closed(name)
    q, v, force = mb.q, mb.v, force_of(mb)
    s = make(mb)
    vdot = s.forward_dynamics(q, v, force).vdot
    which = [mb.dof_names.index(dof) for dof in s.independent(q)]
    needed = s.inverse_dynamics(q, v, by_name(s, q, vdot[which]))
    near(s.forward_dynamics(q, v, needed).vdot, vdot, 1e-8)
    bare = s.inverse_dynamics(q, v, by_name(s, q, vdot[which]), passive=False)
    near(s.forward_dynamics(q, v, bare, passive=False).vdot, vdot, 1e-8)
    assert np.abs(bare - needed).max() > 1e-3
    held = which[:1]
    mixed, total = s.mixed_dynamics(q, v, force, vdot, held)
    near(mixed, vdot, 1e-8)
    near(total, force, 1e-7)
    mixed, total = s.mixed_dynamics(q, v, force, vdot, held, passive=False)
    near(s.forward_dynamics(q, v, total, passive=False).vdot, mixed, 1e-8)
    assert abs(total[held] - force[held]).max() > 1e-3


def test_eq_31_of_the_embedded_system():
    mb = closed("robotiq_2f85")
    s, force = sc.loops.ConstraintEmbedding(mb), force_of(mb)
    vdot = s.forward_dynamics(mb.q, mb.v, force).vdot
    ops = sc.operators(s, force=force)
    T = ops.T + ops.passive
    nu = ops.D.inv * (T - ops.H * (ops.psi * (ops.K * T + ops.P * ops.a + ops.b)))
    found = np.asarray(nu - ops.K.T * (ops.psi.T * (ops.H.T * nu + ops.a)))
    near(found, vdot[[mb.dof_names.index(dof) for dof in s.epoch.dofs]])


@pytest.mark.parametrize("name", MODELS)
def test_derivatives(name):
    along_closures(closed(name), tolerance=1e-6)


def geared():
    """A bob on a spring, tied to a wheel on a damper that turns twice as far."""
    mb = sc.Multibody("geared", gravity=(0, 0, 0))
    for name in ("bob", "wheel"):
        mb.add_body(name, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, 0), np.diag([1.0, 3.0, 1.0])))
    mb["bob"].passive, mb["wheel"].passive = sc.Passive(stiffness=50.0, rest=[0.2]), sc.Passive(damping=1.5)
    mb.couple("gear", {"wheel": 1.0, "bob": -2.0})
    return mb


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_a_geared_oscillator(make):
    """(I + 4 I) q'' = -k (q - rest) - 4 c q'."""
    mb = geared()
    s = make(mb)
    vdot = s.forward_dynamics([0.5, 1.0], [0.7, 1.4], [0.0, 0.0]).vdot
    near(vdot[0], (-50.0 * 0.3 - 4 * 1.5 * 0.7) / 15.0, 1e-13)
    lin = linearize(s, [0.2, 0.4], [0.0, 0.0], [0.0, 0.0])
    near(lin.A, [[0.0, 1.0], [-50.0 / 15.0, -6.0 / 15.0]], 1e-13)  # the same, whichever dof is independent
    near(linearize(s, [0.2, 0.4], [0.0, 0.0], [0.0, 0.0], passive=False).A, [[0.0, 1.0], [0.0, 0.0]], 1e-14)
    dq, dv, _ = forward_dynamics_derivatives(s, [0.2, 0.4], [0.0, 0.0], [0.0, 0.0])
    near(dq[0] @ [1.0, 2.0], -50.0 / 15.0, 1e-13)
    near(dv[0] @ [1.0, 2.0], -6.0 / 15.0, 1e-13)
    bare = forward_dynamics_derivatives(s, [0.2, 0.4], [0.0, 0.0], [0.0, 0.0], passive=False)
    assert not np.abs(bare.dv).max() > 1e-14


@pytest.mark.parametrize("make", SOLVERS, ids=lambda x: x.__name__)
def test_refusals(make):
    mb = geared()
    with pytest.raises(StateError, match=r"passive of \w+.forward_dynamics must be True or False, got 'no'"):
        make(mb).forward_dynamics([0.5, 1.0], [0.7, 1.4], [0.0, 0.0], passive="no")
    mb.add_body("ball", None, sc.RollingBall(0.1), sc.Inertia.sphere(1.0, 0.1)).passive = sc.Passive(stiffness=1.0)
    q, zero = np.concatenate([[0.5, 1.0], sc.RollingBall(0.1).neutral()]), np.zeros(mb.nv)
    s = make(mb)
    for _ in range(2):
        s.forward_dynamics(q, zero, zero, passive=False)
        with pytest.raises(ModelError, match=r"hinge 'ball' .* has a spring"):
            s.forward_dynamics(q, zero, zero)
