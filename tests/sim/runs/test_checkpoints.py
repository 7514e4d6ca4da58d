"""Checkpoints of propagators: every method, closed chains, contact and events go on with the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sim.chains import four_bar
from tests.sim.restarts import heap

import soacraft as sc
from soacraft import sim
from soacraft.errors import CheckpointError, StateError

FIXED = ("rk4", "gauss4", "verlet", "euler_symplectic", "variational", "generalized_alpha")


def swinging(**how):
    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.0])
    return sim.Propagator(mb, **how)


def chain(**how):
    return sim.Propagator(four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0), **how)


def chain_in_contact():
    """A loop that a limit and a ceiling stop, with springs that are taken implicitly."""
    mb = four_bar(0.3, 1.0, 0.8, 0.9, 0.5, 4.0)
    down = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    mb.root.add_geometry(sc.Geometry("ceiling", "plane", pose=sc.Pose(down, (0, 0.29, 0))))
    mb["crank"].add_geometry(sc.Geometry("skin", "sphere", (0.1,), pose=sc.Pose(translation=(0.3, 0, 0))))
    mb["rocker"].limits = sc.Limits(mb.q[2] - 0.2, mb.q[2] + 0.3)
    mb["coupler"].passive = sc.Passive(stiffness=100.0, damping=0.05, friction=0.02)
    p = sim.Propagator(mb, integrator="moreau", step=0.005)
    p.add(sim.Contact(restitution=0.8))
    return p


def sticking():
    """Friction that sticks, a rigid stop, an event, a callback that changes the state."""
    mb = sc.load("double_pendulum")
    mb.set_state([1.0, 0.5], [0.0, 0.0])
    first, second = mb.dof_names
    p = sim.Propagator(mb)
    p.add(sim.HingeFriction(first, coulomb=1.0))
    p.add(sim.JointLimit(second, lower=-1.0, upper=0.8, restitution=0.5))
    p.event("level", lambda t, state: state.q[0])

    def push(t, state):
        mb.v = mb.v + 0.01

    p.every(0.25, push)
    return p


CASES = {
    **{name: lambda name=name: swinging(integrator=name, step=0.01) for name in FIXED},
    **{name: lambda name=name: swinging(integrator=name, rtol=1e-6) for name in ("dop853", "radau", "cvode", "ida")},
    **{f"chain_{x}": lambda x=x: chain(solver=x, integrator="rk4", step=0.01) for x in ("ta", "fa", "ce")},
    "chain_dop853": lambda: chain(integrator="dop853"),
    "contact": heap,
    "chain_contact": chain_in_contact,
    "sticking": sticking,
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_restored_goes_on_with_the_same_bits(case, tmp_path):
    """As the one that wrote the checkpoint, in the middle of a run, does: at its multiples, and at the end."""
    p, file = CASES[case](), tmp_path / "a.h5"
    first = p.advance_to(0.6, checkpoint=file, checkpoint_every=0.1)
    other = CASES[case]()
    other.restore(file)
    assert other.t == p.t == 0.6
    assert other.mb.q.tobytes() == p.mb.q.tobytes()
    a = p.advance_to(1.2, checkpoint=file, checkpoint_every=0.1)
    b = other.advance_to(1.2, checkpoint=tmp_path / "b.h5", checkpoint_every=0.1)
    assert len(a) > 5
    for name in ("t", "q", "v", "vdot", "energy"):
        assert getattr(a, name)[1:].tobytes() == getattr(b, name)[1:].tobytes(), name
    assert [x[:2] for x in a.events] == [x[:2] for x in b.events]
    for name, work in a.work.items():
        assert work.tobytes() == b.work[name].tobytes()
        assert work[0] == first.work[name][-1] if name in first.work else True


def test_a_log_goes_on_in_the_segment_of_the_checkpoint(tmp_path):
    """As if the run had not ended in between: one segment, with the rows of one run."""
    whole = swinging(integrator="rk4", step=0.01).advance_to(0.6)
    swinging(integrator="rk4", step=0.01).advance_to(0.3, log=tmp_path / "run.h5", checkpoint=tmp_path / "a.h5")
    other = swinging(integrator="rk4", step=0.01)
    other.restore(tmp_path / "a.h5")
    other.advance_to(0.6, log=tmp_path / "run.h5")
    log = sim.read(tmp_path / "run.h5")
    assert len(log.segments) == 1
    assert log.t.tobytes() == whole.t.tobytes()
    assert log.q.tobytes() == whole.q.tobytes()


def test_compiled_and_plain_steps_are_not_disturbed_by_checkpoints(tmp_path):
    plain, kept = swinging(integrator="rk4", step=0.01), swinging(integrator="rk4", step=0.01)
    a = plain.advance_to(1.0)
    b = kept.advance_to(1.0, checkpoint=tmp_path / "a.h5", checkpoint_every=0.137)
    assert a.t.tobytes() == b.t.tobytes()
    assert a.q.tobytes() == b.q.tobytes()


def test_a_state_that_was_set_before_the_checkpoint_counts(tmp_path):
    p = swinging(integrator="dop853")
    p.advance_to(0.5)
    p.mb.set_state([0.2, 0.1], [0.0, 0.3])
    p.checkpoint(tmp_path / "a.h5")
    other = swinging(integrator="dop853")
    other.restore(tmp_path / "a.h5")
    a, b = p.advance_to(0.8), other.advance_to(0.8)
    assert a.q[0].tolist() == [0.2, 0.1]
    assert a.q.tobytes() == b.q.tobytes()


def test_an_instant_between_two_nanoseconds_is_kept(tmp_path):
    """Where an event stopped the run."""

    def falling():
        p = swinging(integrator="dop853")
        p.event("low", lambda t, state: state.q[0] - 0.3, stop=True)
        return p

    p, other = falling(), falling()
    p.advance_to(2.0)
    p.checkpoint(tmp_path / "a.h5")
    other.restore(tmp_path / "a.h5")
    assert other._runner.now == p._runner.now
    assert p._runner.now.rest > 0.0
    assert p.advance_to(1.0).q.tobytes() == other.advance_to(1.0).q.tobytes()


def test_another_propagator_is_refused(tmp_path):
    p = swinging(integrator="rk4", step=0.01)
    p.control(p.mb.dof_names[0], 1.0)
    p.advance_to(0.1)
    p.checkpoint(tmp_path / "a.h5")

    def refused(other, text):
        with pytest.raises(CheckpointError, match=text):
            other.restore(tmp_path / "a.h5")
        assert other.t == 0.0

    refused(swinging(integrator="rk4", step=0.02), r"its step is 10000000, and here it is 20000000\. Make the")
    refused(swinging(integrator="verlet", step=0.01), "its integrator is 'rk4")
    refused(swinging(integrator="rk4", step=0.01), r"its controls is \['upper'\], and here it is \[\]")
    other = swinging(integrator="rk4", step=0.01)
    other.control(p.mb.dof_names[0], 1.0)
    other.add(sim.HingeFriction(p.mb.dof_names[1], coulomb=0.1))
    refused(other, r"its loads is \[\], and here it is \[\['friction of lower', 'HingeFriction'\]\]")
    other = swinging(integrator="rk4", step=0.01)
    other.control(p.mb.dof_names[0], 1.0)
    other.every(0.1, lambda t, state: None)
    refused(other, r"its periods of callbacks are \[\], and those of 'double_pendulum' here are \[0.1\]")
    other = swinging(integrator="rk4", step=0.01)
    other.control(p.mb.dof_names[0], 1.0)
    other.event("low", lambda t, state: state.q[0])
    refused(other, r"its events are \[\], and those of 'double_pendulum' here are \['low'\]")
    other = swinging(integrator="rk4", step=0.01)
    other.control(p.mb.dof_names[0], 1.0)
    other.mb.gravity = (0, 0, -1.62)
    refused(other, r"the model 'double_pendulum' is not the one of the checkpoint .*gravity: .*-9.81.* and .*-1.62")


def test_a_model_that_no_file_holds_is_refused(tmp_path):
    from tests.user_hinges import Slide

    mb = sc.Multibody("own")
    mb.add_body("a", None, Slide(), sc.Inertia(1.0, moment=np.eye(3)))
    p = sim.Propagator(mb, integrator="rk4", step=0.01)
    with pytest.raises(CheckpointError, match=r"cannot hold the model 'own': .*Slide"):
        p.checkpoint(tmp_path / "a.h5")


def test_a_run_is_not_restored_or_kept_by_hand_while_it_goes_on(tmp_path):
    p = swinging(integrator="rk4", step=0.01)
    p.checkpoint(tmp_path / "a.h5")
    said = []

    def ask(t, state):
        for call in (p.checkpoint, p.restore):
            with pytest.raises(StateError, match="a run goes on") as wrong:
                call(tmp_path / "a.h5")
            said.append(str(wrong.value))

    p.every(1.0, ask)
    p.advance_to(0.1)
    assert len(said) == 2


def pushed_by_a_callback(compiled, kind=float):
    """A cart whose push is a number that a callback changes, by steps that are compiled or not."""
    mb = sc.load("cart_pole")
    mb.set_state([0.0, 0.3], [0.0, 0.0])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
    if not compiled:
        p.add(lambda t, state: [0.0, 0.1])
    p.control("cart", 0.0)
    p.every(0.05, lambda t, state: p.control("cart", kind(5.0 * state.q[1] + state.v[1])))
    return p


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("at", [0.23, 0.25])
def test_the_numbers_of_controls_are_part_of_the_state(tmp_path, compiled, at):
    p, other = pushed_by_a_callback(compiled), pushed_by_a_callback(compiled)
    p.advance_to(at)
    p.checkpoint(tmp_path / "a.h5")
    other.restore(tmp_path / "a.h5")
    a, b = p.advance_to(0.5), other.advance_to(0.5)
    assert (a.q.tobytes(), a.v.tobytes()) == (b.q.tobytes(), b.v.tobytes())
    np.testing.assert_array_equal(a.forces["cart"], b.forces["cart"])
    assert np.unique(a.forces["cart"][:, 0]).size > 3


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.array, int])
def test_numbers_of_any_kind_are_part_of_the_state(tmp_path, kind):
    p, other = pushed_by_a_callback(True, kind), pushed_by_a_callback(True, kind)
    p.advance_to(0.23)
    p.checkpoint(tmp_path / "a.h5")
    other.restore(tmp_path / "a.h5")
    assert p.advance_to(0.5).q.tobytes() == other.advance_to(0.5).q.tobytes()


def test_a_number_that_a_control_was_made_with_is_no_part_of_the_state(tmp_path):
    p, other = (sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01) for _ in range(2))
    p.control("cart", 1.0)
    p.control("cart", 2.0)
    p.advance_to(0.1)
    p.checkpoint(tmp_path / "a.h5")
    other.control("cart", 1.0)
    with pytest.raises(CheckpointError, match=r"the control of 'cart': it was 2\.0 and is 1\.0"):
        other.restore(tmp_path / "a.h5")
    other.control("cart", 2.0)
    other.restore(tmp_path / "a.h5")
    assert p.advance_to(0.2).q.tobytes() == other.advance_to(0.2).q.tobytes()


def test_a_state_that_is_set_after_a_checkpoint_was_restored_begins_another_log(tmp_path):
    """The log of the checkpoint has rows that this motion does not go on from."""
    log, file = tmp_path / "run.h5", tmp_path / "a.h5"
    start = swinging(integrator="rk4", step=0.01).state()
    swinging(integrator="rk4", step=0.01).run(0.3, log=log, checkpoint=file)
    p = swinging(integrator="rk4", step=0.01)
    p.restore(file)
    p.set_state(start)
    p.run(0.1, log=log)
    assert sim.read(log).t.tolist() == p.last_run.t.tolist()
    assert p.last_run.t[0] == 0.0
