"""Shapes of modes as scenes: the right motion, at an amplitude that is seen, with the frequency written on them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.view.space.live.test_sliders import four_bar
from tests.view.space.test_bending import beam_data, crane
from tests.view.space.test_page import data_of

import soacraft as sc
from soacraft.errors import ViewError
from soacraft.view.space.words import legend


def largest(scene):
    """The largest displacement of anything drawn between a quarter of the swing, where all pass, and its start."""
    seen = scene.seen(step=0.5)
    moving = seen.tracks[0]
    where = [
        np.concatenate([x.bent(moving, i).points @ moving.R[i, x.body].T + moving.p[i, x.body] for x in seen.parts])
        for i in (0, 1)
    ]
    return np.linalg.norm(where[0] - where[1], axis=1).max(), np.linalg.norm(np.ptp(where[1], axis=0))


def test_a_mode_of_a_body_swings_along_it_alone():
    data = beam_data()
    scene = sc.view.mode(data, 6)
    t, q = scene.motions[0]
    assert scene.duration == 2.0
    assert np.abs(q[:, :6]).max() == 0.0
    assert q[:, 6] == pytest.approx(q[0, 6] * np.cos(np.pi * t), abs=1e-12)
    assert scene.seen().colouring.words == (data.kinds[6],)
    assert data.kinds[6].startswith("normal")


@pytest.mark.parametrize("i", [1, 4, 6])
def test_the_amplitude_is_seen_whatever_the_unit_of_a_mode_is(i):
    shown, extent = largest(sc.view.mode(beam_data(), i))
    assert shown == pytest.approx(0.12 * extent, rel=0.1)  # less what is not linear in it
    twice, _ = largest(sc.view.mode(beam_data(), i, size=0.5))
    assert twice == pytest.approx(0.5 * shown, rel=0.1)


def test_a_mode_of_a_system_moves_all_dofs_as_its_vector_does():
    mb = crane()
    mb["load"].inertia = sc.Inertia(5.0)
    mb.gravity = (0, 0, 0)
    q = np.array(mb.neutral())
    q[0] = 0.4
    m = sc.analysis.modes(mb, q)
    assert m.rigid == 1
    for i in (0, 1, 2):
        scene = sc.view.mode(m, i)
        t, moving = scene.motions[0]
        way, vector = moving[0] - q, m.vectors[:, i].real
        assert np.linalg.norm(way) > 0.0
        assert abs(way @ vector) == pytest.approx(np.linalg.norm(way) * np.linalg.norm(vector), rel=1e-9)
        assert moving[len(t) // 2] - q == pytest.approx(-way, abs=1e-12)
        words = scene.seen().colouring.words[0]
        assert words == ("mode 0: rigid-body" if i == 0 else f"mode {i}: {m.hz[i]:.4g} Hz")
    assert legend(sc.view.mode(m, 1).seen().colouring) == "deflection, relative"


def test_a_mode_of_a_closed_chain_stays_closed():
    mb = four_bar()
    mb.gravity = (0, -9.81, 0)
    for body in mb.bodies:
        body.passive = sc.Passive(40.0, 0.0, rest=float(mb.q[mb.q_slice(body)][0]))
    solver = sc.loops.TreeAugmented(mb)
    m = sc.loops.modes(solver, mb.q)
    seen = sc.view.mode(m, 0).seen()
    assert m.hz[0] > 0.0
    assert seen.tracks[0].openings.max() < 1e-6
    assert np.ptp(seen.tracks[0].q[:, 0]) > 0.05


def test_damped_modes_say_so_and_complex_ones_run_through_their_phases():
    mb = crane(beam_data(damping=0.02))
    mb.gravity = (0, 0, 0)
    spin = np.zeros(mb.nv)
    spin[0] = 20.0
    eq = sc.analysis.equilibrium(mb, v=spin, fixed=["boom"])
    m = sc.analysis.modes(mb, eq.q, v=spin, fixed=["boom"])
    i = int(np.argmax(np.abs(m.vectors.imag).max(axis=0) * (m.hz > 0)))
    scene = sc.view.mode(m, i)
    _, q = scene.motions[0]
    quarter, start = q[len(q) // 4] - eq.q, q[0] - eq.q
    assert np.linalg.norm(quarter) > 1e-3 * np.linalg.norm(start)
    assert f", damping {100 * m.damping[i]:.3g} %" in scene.seen().colouring.words[0]


def test_pictures_show_the_largest_deflection_and_pages_swing():
    scene = sc.view.mode(beam_data(), 1)
    look = dict(size=(80, 60), azimuth=-90.0, elevation=89.0)
    largest_, at_zero, quarter = (scene.pixels(t, **look) for t in (None, 0.0, 0.5))
    assert (largest_ == at_zero).all()
    assert (largest_ != quarter).any()
    data = data_of(scene.html())
    assert data["colouring"]["relative"] is True
    assert data["colouring"]["words"] == ["static tip.ty"]
    assert sc.view.mode(beam_data(), 1, caption="first", colour="body").seen().colouring.words == ("first",)


def test_what_is_no_mode_is_refused():
    data = beam_data()
    with pytest.raises(ViewError, match=r"mode takes the result of sc\.analysis\.modes, or modal data, got int"):
        sc.view.mode(3, 0)
    with pytest.raises(ViewError, match="the number of a mode must be a whole number from 0 to 6, got 7"):
        sc.view.mode(data, 7)
    with pytest.raises(ViewError, match="size must be positive"):
        sc.view.mode(data, 0, size=-1.0)
