"""A page that shows a stepper as it goes on, without a browser."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from tests.view.space.live.test_serving import Page, angle

import soacraft as sc
from soacraft.errors import StateError, ViewError
from soacraft.view.space.live import stepping


def made(states=None):
    mb = sc.load("double_pendulum")
    mb.set_state([0.4, -0.2], [0.0, 0.5])
    p = sc.sim.Propagator(mb, integrator="rk4", step=0.001)
    return mb, p.stepper([], states=states)


def test_a_page_sees_the_steps_and_leaves_them_alone():
    mb, step = made()
    _, other = made()
    with sc.view.live(step) as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        assert data["bodies"] == ["upper", "lower"]
        step(500)
        while angle(page.frame(data["version"]), mb) != np.float32(step.q[0]):
            pass
        assert page.ask("move", dof=mb.dof_names[0], value=1.0)
        assert live.pages == 1
    other(500)
    assert step.q.tobytes() == other.q.tobytes()
    np.testing.assert_array_equal(mb.q, [0.4, -0.2])


def test_one_state_of_a_batch_is_shown():
    _, batch = made(states=3)
    batch.set_state([0.1, 0.2], which=2)
    with sc.view.live(batch, which=2) as live:
        np.testing.assert_array_equal(live.shown.q, [0.1, 0.2])
        assert not live.look()
        batch(10)
        assert live.look()
        np.testing.assert_array_equal(live.shown.q, batch.q[2])
        assert repr(live).startswith("Live view of Stepper of 3 states of 'double_pendulum'")
    live.close()


def test_it_looks_no_more_often_than_its_rate():
    looks = []
    _, step = made()
    with sc.view.live(step) as live, Page(live) as page:
        page.ask("scene")
        live.look = lambda: looks.append(time.monotonic())
        while len(looks) < 5:
            step(10)
    assert min(np.diff(looks)) > 0.5 / stepping.RATE


def test_glances_are_of_whole_steps_while_another_thread_steps():
    """On a circle: x^2 + z^2 = 1 of the quaternion of a ball that turns."""
    mb = sc.Multibody("ball", gravity=(0, 0, 0))
    mb.add_body("ball", None, sc.Spherical(), sc.Inertia(1.0, com=(0.1, 0, 0), moment=np.eye(3) * 0.1))
    mb.set_state([0, 0, 0, 1], [3.0, 0.1, 0.0])
    step = sc.sim.Propagator(mb, integrator="rk4", step=1e-4).stepper([])
    walker = threading.Thread(target=lambda: [step(2000) for _ in range(20)])
    walker.start()
    while walker.is_alive():
        q = step.glance()[1]
        assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-9)
    walker.join()
    assert step.glance()[0] == step.t


def test_what_cannot_be_shown_is_refused():
    _, step = made(states=2)
    with pytest.raises(StateError, match="which must be a whole number from 0 to 1"):
        sc.view.live(step)
    with pytest.raises(
        ViewError, match=r"live\(step\) takes which=, port=, host= and open=; 'energy', every= is of the log"
    ):
        sc.view.live(step, "energy", every=1.0)
