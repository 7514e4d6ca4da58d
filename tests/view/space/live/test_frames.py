"""Frames: the numbers of one instant, read back as the page reads them, and of one state whatever happens meanwhile."""

from __future__ import annotations

from threading import Event, Thread

import numpy as np
import pytest
from tests.view.space.test_bending import crane

import soacraft as sc
from soacraft import dynamics as dyn
from soacraft.spatial.rotations import quaternion_to_matrix
from soacraft.view.space.details import details_of
from soacraft.view.space.live.frames import Picked, frame
from soacraft.view.space.live.sliders import Sliders


def read(data, mb, ties=0, ellipsoids=0):
    """As `web/frames.js` does."""
    numbers, n = np.frombuffer(data, "<f4"), len(mb)
    sizes = dict(version=1, poses=7 * (n + 1), tints=3 * ties, eta=len(mb.layout.own.q), ellipsoids=9 * ellipsoids,
                 velocities=6 * n, dofs=mb.nv, picked=1, composite=9, articulated=9)  # fmt: skip
    assert len(numbers) == sum(sizes.values())
    parts = np.split(numbers, np.cumsum(list(sizes.values()))[:-1])
    return dict(zip(sizes, parts, strict=True))


def made(mb, scene, picked=Picked(), version=3):  # noqa: B008  # it is frozen
    return frame(version, scene.seen(), Sliders(mb), mb.current, picked)


@pytest.mark.parametrize("model", ["h1", "arm7"])
def test_a_frame_has_poses_velocities_and_dofs(model):
    mb = sc.load(model)
    mb.set_state(*mb.random_state(1))
    scene = sc.view.scene(mb)
    got = read(made(mb, scene), mb)
    assert got["version"] == [3.0]
    poses, centre = got["poses"].reshape(-1, 7), scene.seen().stage.centre
    for k, body in enumerate(mb.bodies):
        wanted = mb.pose(body)
        assert np.allclose(quaternion_to_matrix(poses[k, :4].astype(float)), wanted.rotation, atol=1e-5)
        assert np.allclose(poses[k, 4:] + centre, wanted.translation, atol=1e-5)
        assert np.allclose(got["velocities"].reshape(-1, 6)[k], np.asarray(mb.velocity(body)), rtol=1e-4, atol=1e-4)
    assert np.allclose(got["dofs"], Sliders(mb).values(np.asarray(mb.q)), atol=1e-5)


def test_a_frame_of_a_flexible_body_has_its_modes_and_what_rides_on_it_where_it_is_drawn():
    mb = crane()
    mb.q = {"boom.mode1": 0.05}
    scene = sc.view.scene(mb, exaggerate=3.0)
    got = read(made(mb, scene), mb)
    assert np.allclose(got["eta"], mb["boom"].eta)
    centre = scene.seen().stage.centre
    mb.q = {"boom.mode1": 0.15}
    assert np.allclose(got["poses"].reshape(-1, 7)[1, 4:], mb.pose("load").translation - centre, atol=1e-5)


def test_inertias_of_the_picked_body_are_those_of_the_page():
    mb = sc.load("arm7")
    mb.q = [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]
    known = details_of(mb, mb.state(q=np.asarray(mb.q)[None]))
    got = read(made(mb, sc.view.scene(mb), Picked(3, composite=True, articulated=True)), mb)
    assert got["picked"] == [3.0]
    assert np.allclose(got["composite"], known.composite[0, 3], atol=1e-6)
    assert np.allclose(got["articulated"], known.articulated[0, 3], atol=1e-6)
    none = read(made(mb, sc.view.scene(mb), Picked(99, composite=True)), mb)
    assert not none["composite"].any()


def test_closures_and_ellipsoids():
    closed = sc.load("five_bar")
    count = sum(x.active for x in closed.loops)
    assert read(made(closed, sc.view.scene(closed)), closed, ties=count)["tints"].max() > 100
    mb = sc.load("arm7")
    scene = sc.view.scene(mb)
    scene.ellipsoid("link7/tool")
    seen = scene.seen()
    got = read(made(mb, scene), mb, ellipsoids=1)["ellipsoids"]
    assert np.allclose(got[:6], seen.ellipsoids[0][1][0, :6], atol=1e-6)
    assert np.allclose(got[6:] + seen.stage.centre, seen.ellipsoids[0][1][0, 6:], atol=1e-6)


def test_no_frame_is_torn_between_two_states():
    """While another thread sets q and v = q together, every frame has dofs and velocities of one state."""
    mb = sc.load("pendulum")
    scene = sc.view.scene(mb)
    seen, sliders, end = scene.seen(), Sliders(mb), Event()

    def turn():
        i = 0
        while not end.is_set():
            i = (i + 1) % 7
            mb.set_state(np.array([0.1 * i]), np.array([0.1 * i]))

    mover = Thread(target=turn)
    mover.start()
    try:
        frames = [read(frame(1, seen, sliders, mb.current, Picked()), mb) for _ in range(200)]
    finally:
        end.set()
        mover.join()
    spin = np.array([np.linalg.norm(x["velocities"][:3]) for x in frames])
    angle = np.array([x["dofs"][0] for x in frames])
    assert np.allclose(spin, np.abs(angle), atol=1e-6)
    assert np.allclose(np.abs([x["poses"][1] for x in frames]), np.abs(np.sin(0.5 * angle)), atol=1e-6)


def test_a_frame_is_made_by_compiled_code(monkeypatch):
    """The quick calls answer: no pose of a body is computed in Python."""
    mb = sc.load("h1")
    scene = sc.view.scene(mb)
    seen, sliders = scene.seen(), Sliders(mb)
    frame(1, seen, sliders, mb.current, Picked())
    calls = [mb.layout.calls[name] for name in ("poses", "velocities")]
    before = [x.answered for x in calls]
    mb.set_state(*mb.random_state(2))
    frame(1, seen, sliders, mb.current, Picked())
    assert [x.answered for x in calls] == [x + 1 for x in before]
    assert "world" not in mb.current.configuration._memo._values
    assert dyn.poses(mb, mb.q).translation.shape == (len(mb), 3)
