"""The energy that the damping of modes takes: a run of flexible bodies balances, as that of a rigid twin does."""

import pickle

import numpy as np
import pytest
from tests.model.modal.trees import flexible_tree
from tests.sim.combinations import flexible, sprung
from tests.sim.test_compiled import in_python

import soacraft as sc
from soacraft.sim.runs.modal_damping import MODAL_DAMPING, modal_damping_work


def bodies():
    """Four bodies with modes by turns, full matrices of damping."""
    mb = flexible_tree((-1, 0, 1, 1), 3, (sc.Pin((0, 0, 1)), sc.Spherical()))
    mb.gravity = (0.0, 0.0, -9.81)
    return mb


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
@pytest.mark.parametrize("how", [{"rtol": 1e-6}, {"rtol": 1e-10}, {"integrator": "radau", "rtol": 1e-7}])
@pytest.mark.parametrize("make", [flexible, bodies])
def test_adaptive_runs_balance(make, how, python, monkeypatch):
    if python:
        in_python(monkeypatch)
    run = sc.sim.Propagator(make(), **how).advance_to(0.1)
    balance = run.check()
    assert balance.work[MODAL_DAMPING] < -100 * balance.accuracy  # it would be missed
    assert balance.holds


@pytest.mark.parametrize("method", ["rk4", "gauss4", "variational"])
def test_fixed_steps_balance_to_their_order(method):
    left = [sc.sim.Propagator(bodies(), integrator=method, step=h).advance_to(0.08).check() for h in (0.01, 0.005)]
    assert left[1].imbalance < 1e-2 * -left[1].work[MODAL_DAMPING]
    order = 2 if method == "variational" else 4
    assert np.log2(left[0].imbalance / left[1].imbalance) > order - 0.6


def test_it_is_what_dampers_of_a_rigid_twin_take():
    """A slider with a spring and a damper: the work of both, less what the spring has."""
    run, twin = (sc.sim.Propagator(make(), rtol=1e-11).advance_to(0.5) for make in (flexible, sprung))
    springs = twin.energy - twin.kinetic - twin.potential
    wanted = twin.work["passive"] + springs - springs[0]
    np.testing.assert_allclose(modal_damping_work(run)[-1], wanted[-1], rtol=1e-9)


def test_steps_in_which_contacts_press_are_those_of_contact():
    """All that the energy grows by then is told as the work of contact, and nothing twice."""
    mb = flexible()
    p = sc.sim.Propagator(mb, integrator="moreau", step=0.001)
    p.add(sc.sim.Contact(friction=0.2, restitution=0.3))
    balance = p.advance_to(0.4).check()
    assert balance.work["contact"] < -0.01
    assert balance.work[MODAL_DAMPING] < -1e-3
    assert balance.imbalance < 1e-6


def test_runs_without_damped_modes_or_without_steps_have_none():
    assert modal_damping_work(sc.sim.Propagator(sprung()).advance_to(0.1)) is None
    mb = flexible_tree((-1,), 0, modes=(0,))
    assert modal_damping_work(sc.sim.Propagator(mb).advance_to(0.1)) is None
    run = sc.sim.Propagator(flexible()).advance_to(0.1)
    run._dense = None  # as one that is read from a log
    assert modal_damping_work(run) is None
    assert MODAL_DAMPING not in run.check().work
    copy = pickle.loads(pickle.dumps(sc.sim.Propagator(flexible(), integrator="rk4", step=0.01).advance_to(0.1)))
    assert MODAL_DAMPING in copy.check().work
