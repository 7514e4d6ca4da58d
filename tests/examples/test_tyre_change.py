"""The physics of `examples/24_tyre_change.py`: impacts, the load that hands share, contacts, the estimate, restarts."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import soacraft as sc
from soacraft import sim
from soacraft.sim.runs.block import Block

NAMES = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "24_tyre_change.py"))
LAWS = [NAMES[x] for x in ("Camera", "Estimator", "Planner", "Arms")]
HANDS = ("wheel", "capture of wheel by right.link7")  # the hinge and the loop by which the hands hold the wheel
MASS, STEP = NAMES["MASS"], NAMES["STEP"]


def change(folder, pace, seed=1):
    """The whole task, with forces of the hands while they carry, and a checkpoint on the way."""
    s = NAMES["build"](pace=pace, seed=seed)
    runs = [*s.run(20.0, until="mission.pull").segments]
    s.run(s.t + 0.2 / pace)
    s.checkpoint(folder / "on_the_way.h5")
    t = s.t
    runs += s.run(20.0, until="mission.lower").segments
    carry = runs[-1]
    hands = sum(carry.reactions(x, expressed_in="inertial")[:, 3:] for x in HANDS)
    runs += s.run(20.0, until="mission.leave").segments
    runs += s.run(s.t + 1.6 / pace).segments
    return SimpleNamespace(s=s, runs=runs, carry=carry, hands=hands, checkpoint=folder / "on_the_way.h5", t=t)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    return change(tmp_path_factory.mktemp("tyre"), 2.5)


def of_wheel(run, port):
    return run.signals[f"world.{port}[wheel]"]


def require_balance(done):
    """Energy grows by the work of arms and contact in every segment, and nothing sinks in or gains."""
    for run in done.runs:
        told = run.check()
        assert told.imbalance < 1e-6 * np.ptp(run.potential + run.kinetic) + 1e-9
        assert (told.gain, told.sunk) == (0.0, 0.0)
        fastest = np.linalg.norm(np.diff(of_wheel(run, "position"), axis=0), axis=1).max() / STEP
        deepest = min((x.gap.min() for x in run.contacts.steps if len(x.gap)), default=0.0)
        assert deepest > -2.0 * STEP * (fastest + 9.81 * STEP)  # the way of two steps
        if len(run.violation):
            assert run.violation.max() < 1e-8


def require_impacts(done):
    """What both impacts lose is what the kinetic energy falls by."""
    changes = done.s.changes
    assert [(x.kind, x.name) for x in changes] == [
        (kind, f"{side}.link7") for kind in ("capture", "release") for side in ("left", "right")
    ]
    lost = [x.energy_lost for x in changes]
    assert min(lost[:2]) > 0.0
    assert lost[2:] == [0.0, 0.0]
    assert changes[1].momentum_before == pytest.approx(changes[0].momentum_after, abs=1e-12)
    for x in changes[2:]:
        assert x.momentum_after == pytest.approx(x.momentum_before, abs=1e-9)
    before, after = next((a, b) for a, b in pairwise(done.runs) if a.q.shape[1] == 21 and b.q.shape[1] == 14)
    assert before.t[-1] == after.t[0] == changes[0].t
    assert before.kinetic[-1] - after.kinetic[0] == pytest.approx(sum(lost), abs=1e-12)


def require_load(done):
    """What both hands give the wheel over a stage is its weight and what its momentum changes by."""
    t, z = done.carry.t, of_wheel(done.carry, "position")
    speed = (z[1:] - z[:-1]) / np.diff(t)[:, None]
    needed = MASS * ((speed[-1] - speed[0]) / (t[-2] - t[0]) - done.s.plants["world"].mb.gravity)
    mean = 0.5 * (done.hands[1:] + done.hands[:-1]).mean(axis=0)
    assert mean == pytest.approx(needed, abs=0.01 * MASS * 9.81)
    assert not done.carry.contacts.pairs


def require_place(done, off):
    """The wheel stands where it should, where the estimate says, and the stand carries it."""
    s, last = done.s, done.runs[-1]
    mb, estimate = s.plants["world"].mb, NAMES["pose"](s.states["estimator.wheel"])
    wheel = mb.pose("wheel")
    first = NAMES["pose"](done.runs[0].signals["estimator.estimate"][0])
    assert np.linalg.norm(first.translation - NAMES["HUB"]) > 0.04
    turn, way = np.split(NAMES["apart"](wheel, estimate), 2)
    assert np.linalg.norm(turn) < 0.02
    assert np.linalg.norm(way) < off
    assert wheel.translation == pytest.approx(NAMES["STAND"], abs=off)
    assert wheel.rotation[:, 2] == pytest.approx([0, 0, 1.0], abs=1e-4)
    assert last.contacts.force("wheel", "inertial/stand")[-1] == pytest.approx(-MASS * mb.gravity, abs=1e-3)
    assert np.ptp(of_wheel(last, "position")[-50:], axis=0).max() < 1e-9
    assert not mb.loops
    gaps = sc.contact.Scene(mb).distances(mb.q, 0.2)
    of_pads = [
        d for d, pair in zip(gaps.distance, gaps.pairs, strict=True) if "pad" in str(pair) and "wheel" in str(pair)
    ]
    assert min(of_pads) > 0.05


def test_energy_is_accounted_for_and_nothing_sinks_in(done):
    require_balance(done)


def test_impacts_of_both_hands_are_told(done):
    require_impacts(done)


def test_both_hands_carry_the_weight(done):
    require_load(done)


def test_the_wheel_stands_where_the_estimate_says(done):
    require_place(done, 5e-3)


def test_the_motion_in_both_hands_is_compiled(done):
    """Pads that the loop holds next to the tyre are no contacts, which each step would have to leave to Python."""
    held = [x for x in done.runs if x.q.shape[1] == 14]
    pieces = [len(x.F) if isinstance(x, Block) else 1 for run in held[:3] for _, x in run._dense]
    assert sum(pieces) > 300
    assert pieces.count(1) <= len(held[:3])
    for run in held:
        assert not any("pad" in name for pair in run.contacts.pairs for name in pair)


def test_a_restart_while_the_wheel_is_carried_has_the_same_bits(done):
    contact = sim.Contact(friction=0.6, limits=False, dry=False)
    other = sim.restore(done.checkpoint, classes=LAWS, forces={"world": [contact]})
    assert other.t == done.t
    runs = other.run(done.runs[-1].t[-1]).segments
    assert [(x.kind, x.t, x.name) for x in other.changes] == [(x.kind, x.t, x.name) for x in done.s.changes]
    for a, b in zip(runs[-3:], done.runs[-3:], strict=True):
        at = len(b.t) - len(a.t)
        for name in ("t", "q", "v"):
            assert np.array_equal(getattr(a, name), getattr(b, name)[at:]), name


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_task_in_full(tmp_path, seed):
    whole = change(tmp_path, 1.0, seed)
    require_balance(whole)
    require_impacts(whole)
    require_load(whole)
    require_place(whole, 3e-3)
