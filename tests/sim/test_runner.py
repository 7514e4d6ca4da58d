"""Another propagator continues from a state with the same bits, whatever the method and what acts."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from tests.sim.state_scenes import (
    ADAPTIVE,
    FIXED,
    buried,
    closed,
    driven,
    embedded,
    eventful,
    flexible,
    holding,
    prescribed,
    same_run,
    touching,
    tree,
)

import soacraft as sc
from soacraft.errors import SoacraftError
from soacraft.sim.integrators.methods import METHODS
from soacraft.sim.states.sim_state import SimState

SCENES = {x.__name__: x for x in (tree, closed, embedded, flexible, touching, eventful, driven, holding, prescribed)}
#: Pairs that may be refused, by what their errors say.
REFUSED = {
    (scene, integrator): text
    for scenes, integrators, text in (
        (("closed", "embedded"), ("moreau_midpoint",), "takes trees"),
        (("holding", "prescribed"), ("variational", "variational4", "moreau_midpoint"), "takes free motions"),
        (("holding",), ("generalized_alpha",), "would stick, which generalized_alpha does not know"),
    )
    for scene in scenes
    for integrator in integrators
}


def test_all_integrators_are_compared():
    assert {*FIXED, *ADAPTIVE} == {*METHODS}


@pytest.mark.parametrize("integrator", [*FIXED, *ADAPTIVE])
@pytest.mark.parametrize("scene", SCENES)
def test_another_propagator_continues_with_the_same_bits(scene, integrator):
    """From the bytes of the state in the middle of a motion, between two steps of the grid."""
    p, other = SCENES[scene](integrator), SCENES[scene](integrator)
    error = ""
    try:
        p.run(0.067)
    except SoacraftError as refused:
        error = str(refused)
    if error:
        assert REFUSED.get((scene, integrator), "no refusal") in error
        return
    state = p.state()
    copied = SimState.decode(state.encode())
    assert copied == state
    assert copied.t == p.t == 0.067
    other.set_state(copied)
    assert other.state() == p.state() == state
    a, b = p.run(0.18), other.run(0.18)
    assert len(a) > 1
    same_run(a, b)
    assert p.state() == other.state()


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
def test_shapes_that_are_taken_out_of_each_other(integrator):
    """In the middle of it, and back there from after its end."""
    p, other, late = (buried(integrator) for _ in range(3))
    p.run(0.01)
    middle = p.state()
    assert not middle.began
    other.set_state(middle)
    a, b = p.run(0.4), other.run(0.4)
    same_run(a, b)
    after = p.state()
    assert after.began
    late.run(0.01)
    late.set_state(after)
    same_run(p.run(0.5), late.run(0.5))
    p.set_state(middle)
    same_run(p.run(0.4), a)


def refused_or_run(p, scene, integrator, **how):
    """A run of 0.25 s; None where it is one that may be refused."""
    try:
        return p.run(0.25, **how)
    except SoacraftError as refused:
        if REFUSED.get((scene, integrator), "no refusal") in str(refused):
            return None
        raise


#: Those that begin no history anew where a state was taken.
SINGLE = [x for x in FIXED if x != "generalized_alpha"]


@pytest.mark.parametrize("integrator", SINGLE)
@pytest.mark.parametrize("scene", SCENES)
def test_checkpoints_leave_a_run_as_it_is(scene, integrator, tmp_path):
    """One after every third step, rows and what is between them; closed chains up to rounding, since their solver
    scales closures by the state at which it begins."""
    plain = refused_or_run(SCENES[scene](integrator), scene, integrator)
    if plain is None:
        return
    often = {"checkpoint": tmp_path / "a.h5", "checkpoint_every": 0.03}
    kept = refused_or_run(SCENES[scene](integrator), scene, integrator, **often)
    t = np.linspace(0.0, 0.25, 83)
    if scene in ("closed", "embedded"):
        size = np.abs(plain.v).max()
        np.testing.assert_allclose(kept.v, plain.v, rtol=0, atol=1e-12 * size)
        np.testing.assert_allclose(kept.at(t).v, plain.at(t).v, rtol=0, atol=1e-11 * size)
        return
    same_run(plain, kept)
    a, b = plain.at(t), kept.at(t)
    assert a.q.tobytes() == b.q.tobytes()
    assert a.v.tobytes() == b.v.tobytes()
    assert all(a.work[x].tobytes() == b.work[x].tobytes() for x in a.work)


def kicked(integrator):
    """A heap that falls on a floor, kicked as its first body comes down."""
    p = touching(integrator)

    def kick(t, state):
        v = np.array(p.mb.v)
        v[5] += 0.5
        p.mb.v = v

    p.event("kick", lambda t, state: state.v[5] + 0.3, direction=-1, action=kick)
    return p


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
def test_events_that_jump_with_contact_happen_when_they_do_without_checkpoints(integrator, tmp_path):
    """Between two rows the run follows the mean acceleration of the step before, which a checkpoint has, too."""
    plain = kicked(integrator).run(0.5)
    kept = kicked(integrator).run(0.5, checkpoint=tmp_path / "a.h5", checkpoint_every=0.03)
    assert len(plain.events) > 3
    same_run(plain, kept)


@pytest.mark.parametrize("integrator", ["moreau", "moreau_midpoint"])
def test_a_restored_run_with_contact_goes_on_as_the_one_that_was_killed(integrator, tmp_path):
    """From a checkpoint within a run, with the rows and the events of the whole one."""
    dies = [np.inf]

    def kill(t, state):
        if t > dies[0]:
            raise KeyboardInterrupt

    made = [kicked(integrator) for _ in range(3)]
    for p in made:
        p.add(kill)
    whole, killed, other = made
    plain = whole.run(0.5)
    dies[0] = 0.35
    with pytest.raises(KeyboardInterrupt):
        killed.run(0.5, checkpoint=tmp_path / "a.h5", checkpoint_every=0.07)
    dies[0] = np.inf
    other.restore(tmp_path / "a.h5")
    state = other.state()
    assert len(state.rates) == 2 * len(state.v) + len(state.work)
    assert SimState.decode(state.encode()) == state
    rest = other.run(0.5)
    begun = int(np.searchsorted(plain.t, rest.t[0]))
    for name in ("t", "q", "v", "vdot"):
        assert getattr(rest, name).tobytes() == getattr(plain, name)[begun:].tobytes(), name
    assert [x[:2] for x in rest.events] == [x[:2] for x in plain.events if x.t > rest.t[0]]


def test_rates_of_a_state_are_left_out_where_another_force_acts():
    """Their accelerations are those of the forces of then: a number that was set since counts from the first row on."""
    p = touching("moreau")
    p.control(p.mb.dof_names[5], 0.0)
    p.run(0.1)
    state = p.state()
    going = np.concatenate([np.array(p.mb.v), np.full(len(p.mb.v), 1.0), np.zeros(len(state.work))])
    p.set_state(msgspec.structs.replace(state, rates=going))
    assert p.run(0.11).vdot[0, 0] == 1.0
    p.set_state(msgspec.structs.replace(state, rates=going))
    p.control(p.mb.dof_names[5], 2.0)
    assert p.run(0.11).vdot[0, 0] != 1.0
    p.set_state(state)
    with pytest.raises(sc.errors.CheckpointError, match="it has 3 rates, and a step begins with"):
        p.set_state(msgspec.structs.replace(state, rates=np.zeros(3)))
    assert p.state() == state
