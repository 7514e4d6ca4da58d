"""Motions: runs with and without dense output, and plain coordinates, at the instants asked for."""

from __future__ import annotations

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError
from soacraft.view.space.motion import tracks


def track(mb, motion, *instants, **step):
    """The track of one motion."""
    (made,) = tracks(mb, (motion,), *instants, **step)
    return made


@pytest.fixture(scope="module")
def pendulum():
    mb = sc.load("pendulum")
    mb.q = [0.8]
    return mb, sc.sim.Propagator(mb).advance_to(1.0)


def test_poses_are_those_of_the_run_and_the_inertial_frame_is_last(pendulum):
    mb, run = pendulum
    made = track(mb, run, step=0.3)
    assert made.t == pytest.approx([0.0, 0.3, 0.6, 0.9, 1.0])
    for i, t in enumerate(made.t):
        pose = mb.pose("bob", state=mb.state(q=run.at(t).q))
        assert np.allclose(made.R[i, 0], pose.rotation)
        assert np.allclose(made.p[i, 0], pose.translation)
    assert np.array_equal(made.R[:, -1], np.tile(np.eye(3), (5, 1, 1)))


def test_a_run_from_a_log_goes_straight_between_its_rows(pendulum, tmp_path):
    mb, _ = pendulum
    mb.q, mb.v = [0.8], [0.0]
    run = sc.sim.Propagator(mb).advance_to(1.0, log=tmp_path / "run.h5")
    kept = sc.sim.read(tmp_path / "run.h5")
    assert run.has_dense_output
    assert not kept.has_dense_output
    instants = np.linspace(0.0, 1.0, 7)
    made = track(mb, kept, instants)
    assert made.q[:, 0] == pytest.approx(np.interp(instants, kept.t, kept.q[:, 0]), abs=1e-12)


def test_a_pair_moves_on_the_manifold():
    """Half way between two attitudes is half the turn, and a unit quaternion."""
    mb = sc.Multibody()
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0))
    angle = 2.0
    q = np.array([[0, 0, 0, 1], [0, 0, np.sin(angle / 2), np.cos(angle / 2)]])
    made = track(mb, (np.array([0.0, 1.0]), q), np.array([0.5]))
    assert made.q[0] == pytest.approx([0, 0, np.sin(angle / 4), np.cos(angle / 4)])


def test_a_jump_and_one_row_are_motions_too():
    mb = sc.load("pendulum")
    jump = (np.array([0.0, 1.0, 1.0, 2.0]), np.array([[0.0], [1.0], [5.0], [6.0]]))
    assert track(mb, jump, np.array([0.5, 1.0, 1.5])).q[:, 0] == pytest.approx([0.5, 5.0, 5.5])
    still = track(mb, (np.array([3.0]), np.array([[0.2]])))
    assert (still.t.tolist(), still.q.tolist()) == ([3.0], [[0.2]])


def test_a_motion_of_too_many_frames_is_refused():
    mb = sc.load("pendulum")
    with pytest.raises(ViewError, match=r"has 25000000 frames of 0.04 s, and 30000 is the most; play it faster"):
        track(mb, (np.array([0.0, 1e6]), np.zeros((2, 1))))


def test_a_motion_of_too_many_poses_is_refused(monkeypatch):
    mb = sc.serial_chain(3)
    monkeypatch.setattr("soacraft.view.space.motion.MOST_POSES", 400)
    motion = (np.array([0.0, 1.0]), np.zeros((2, 3)))
    assert len(track(mb, motion, step=0.02).t) == 51
    with pytest.raises(ViewError, match="100 frames of 3 bodies are 404 poses, and 400 are the most; take fewer frame"):
        track(mb, motion, step=0.01)
    with pytest.raises(ViewError, match="50 frames of 3 bodies are 408 poses, and 400 are the most"):
        tracks(mb, (motion, motion), step=0.02)


def test_several_motions_share_their_instants_and_rest_at_their_ends():
    mb = sc.load("pendulum")
    long, short = (np.array([0.0, 2.0]), np.array([[0.0], [2.0]])), (np.array([0.5, 1.0]), np.array([[5.0], [6.0]]))
    first, second = tracks(mb, (long, short), step=0.5)
    assert first.t.tolist() == second.t.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert first.q[:, 0] == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    assert second.q[:, 0] == pytest.approx([5.0, 5.0, 6.0, 6.0, 6.0])


def test_velocities_of_a_run_and_of_a_pair(pendulum):
    mb, run = pendulum
    instants = np.array([0.25, 0.5])
    assert np.array_equal(track(mb, run, instants).state.v, np.array([run.at(t).v for t in instants]))
    pair = (np.array([0.0, 2.0]), np.array([[0.0], [3.0]]))
    assert np.asarray(track(mb, pair, instants).state.v)[:, 0] == pytest.approx([1.5, 1.5])
