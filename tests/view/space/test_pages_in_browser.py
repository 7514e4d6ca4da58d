"""Pages in a browser: runs are played, bodies picked, dofs moved, models followed, bodies pulled; nothing leaves the
machine."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread

import numpy as np
import pytest
from tests.view.browser import Browser
from tests.view.space.live.test_sliders import four_bar
from tests.view.space.test_bending import crane

import soacraft as sc
from soacraft.view.space.camera import camera

pytestmark = pytest.mark.browser


@pytest.fixture
def browser(tmp_path):
    with Browser(tmp_path / "profile") as made:
        yield made
        assert made.errors == []
        ours = ("file://", "http://127.0.0.1:", "ws://127.0.0.1:", "about:")
        assert [x for x in made.requests if not x.startswith(ours)] == []


def place(scene, body, width=640):
    """Where the middle of a body's first part is on a canvas of so many pixels by 480."""
    seen = scene.seen()
    part = next(x for x in seen.parts if x.body == body)
    middle = 0.5 * (part.surface.points.min(axis=0) + part.surface.points.max(axis=0))
    moving = seen.tracks[0]
    point = moving.R[0, body] @ middle + moving.p[0, body]
    view = camera(seen.stage.centre, seen.stage.radius, seen.up, -60.0, 18.0, 1.0)
    return view.seen(point, width, 480)[0].tolist()


def differ(a, b):
    """The part of pixels that differ."""
    return float((np.abs(a - b).max(axis=2) > 40).mean())


def test_a_saved_run_is_played_and_a_body_picked(browser, tmp_path):
    mb = sc.load("double_pendulum")
    mb.q = [2.0, 1.0]
    run = sc.sim.Propagator(mb).advance_to(2.0)
    scene = sc.view.scene(mb, [run, (run.t, 0.5 * run.q)])
    browser.open(scene.save(tmp_path / "run.html").as_uri() + "#t=0")
    browser.until("typeof soacraftScene === 'object' && document.getElementById('clock').textContent === '0.00 s'")
    first = browser.pixels()
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 50  # not blank
    browser.run("document.getElementById('play').click()")
    browser.until("soacraftScene.time() > 0.3")
    browser.run("document.getElementById('play').click()")
    assert differ(first, browser.pixels()) > 0.005
    line = "document.getElementById('line')"
    browser.run(f"{line}.value = 0; {line}.dispatchEvent(new Event('input')); 0")
    browser.until("document.getElementById('clock').textContent === '0.00 s'")
    browser.click(*place(scene, 0))
    assert browser.until("document.getElementById('picked').textContent") == "upper"
    told = browser.run("document.getElementById('about').innerText")
    assert "1 kg" in told
    assert "upper: Pin, 1 dof" in told
    before = browser.pixels()
    for kind in ("composite", "articulated"):
        browser.run(f"document.querySelector('#shown input[name={kind}]').click()")
    browser.until("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    assert differ(before, browser.pixels()) > 0.001
    browser.click(20, 400)  # where there is nothing
    browser.until("document.getElementById('about').hidden")


def section_of(scene, x=5.0 / 3.0):
    """Where a section of a flexible body is on the page, and where it is on the body that is not deformed."""
    seen = scene.seen()
    part, moving = seen.parts[0], seen.tracks[0]
    end = np.isclose(part.surface.points[:, 0], x)
    view = camera(seen.stage.centre, seen.stage.radius, seen.up, -60.0, 18.0, 1.0)
    for points in (part.bent(moving, 0).points, part.surface.points):
        across, down = view.seen(moving.R[0, 0] @ points[end].mean(axis=0) + moving.p[0, 0], 640, 480)[0]
        yield round(float(down)), round(float(across))


def test_a_flexible_body_is_bent_on_saved_and_live_pages(browser, tmp_path):
    mb = crane()
    mb.q = {"boom.mode2": -0.1}
    scene = sc.view.scene(mb, exaggerate=5.0)
    browser.open(scene.save(tmp_path / "bent.html").as_uri())
    caption = "document.getElementById('caption').innerText"
    browser.until(f"typeof soacraftScene === 'object' && {caption}.includes('deflection')")
    assert "deformation drawn 5 times as large" in browser.run(caption)
    browser.settled()
    page = browser.pixels()
    bent, straight = section_of(scene)  # the last section before the load
    assert np.ptp(page[bent]) > 60  # a colour of the ramp, where Python draws the end
    assert (page[straight] == 255).all()
    assert page[bent][0] > page[bent][2] + 60  # near the largest deflection
    scene = sc.view.scene(mb, exaggerate=5.0, colour="stress")
    browser.open(scene.save(tmp_path / "stressed.html").as_uri())
    browser.until(f"typeof soacraftScene === 'object' && {caption}.includes(' Pa')")
    browser.settled()
    (bent, _), (middle, _) = section_of(scene, 1.5), section_of(scene, 1.0)  # a tip that moves and does not turn
    assert browser.pixels()[bent][0] > browser.pixels()[middle][0] + 60
    with sc.view.scene(mb).serve() as live:
        browser.open(live.url)
        mode = "document.querySelector('#moves input[name=\"boom.mode1\"]')"
        browser.until(f"{mode} !== null")
        browser.settled()
        before = browser.pixels()
        browser.run(f"{mode}.value = {mode}.max; {mode}.dispatchEvent(new Event('input')); 0")
        browser.until(f"{mode}.parentElement.querySelector('output').textContent.startsWith('0.3')")
        browser.settled()
        assert mb["boom"].eta[1] == pytest.approx(0.15 * np.hypot(2.0, np.hypot(0.1, 0.1)), rel=0.05)
        assert differ(before, browser.pixels()) > 0.005


def test_a_live_page_follows_its_model(browser):
    mb = sc.load("arm7")
    mb.q = [0.1, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]
    mb.bodies[1].limits = sc.Limits(-0.6, 0.6)
    with sc.view.scene(mb).serve() as live:
        browser.open(live.url)
        browser.until("document.querySelectorAll('#moves input').length === 7")
        browser.until("document.querySelector('#moves output').textContent === '0.100 rad'")
        first = browser.pixels()
        mb.q = [1.5, 0.5, 0.2, 1.0, 0.3, 0.7, 0.4]  # in Python
        browser.until("document.querySelector('#moves output').textContent === '1.500 rad'")
        second = browser.pixels()
        assert differ(first, second) > 0.005
        slide = "(() => {{ const x = document.querySelectorAll('#moves input')[{}]; x.value = {}; \
            x.dispatchEvent(new Event('input')); x.dispatchEvent(new Event('change')); }})()"
        browser.run(slide.format(3, -1.0))  # on the page
        browser.until("document.querySelectorAll('#moves output')[3].textContent === '-1.000 rad'")
        assert mb.q[3] == -1.0
        assert differ(second, browser.pixels()) > 0.005
        mb.bodies[1].limits = sc.Limits(-0.1, 0.1)
        browser.until("+document.querySelectorAll('#moves input')[1].max === 0.1")
        mb.add_body("hand", mb.bodies[6], sc.Pin((0, 0, 1)), sc.Inertia.sphere(0.1, 0.05))
        browser.until("document.querySelectorAll('#bodies button').length === 8")
        browser.until("document.querySelectorAll('#moves input').length === 8")
    browser.until("document.getElementById('said').textContent === 'The connection to Python is closed.'")


def test_a_closed_chain_says_why_it_cannot_move(browser):
    mb = four_bar(lengths=(1.0, 1.0, 1.0), ground=2.5)
    with sc.view.scene(mb).serve() as live:
        browser.open(live.url)
        browser.until("document.querySelectorAll('#moves input').length === 1")
        q = np.array(mb.q)
        browser.run(
            "(() => { const x = document.querySelector('#moves input'); x.value = +x.value > 0 ? -3 : 3; "
            "x.dispatchEvent(new Event('input')); x.dispatchEvent(new Event('change')); })()"
        )
        text = browser.until("document.getElementById('said').textContent")
        assert text.startswith("'four_bar' cannot be assembled from here")
        assert np.array_equal(mb.q, q)


def test_open_loops_are_closed_by_a_button(browser):
    mb = sc.load("five_bar")
    mb.q = mb.neutral()  # its file begins closed
    with sc.view.scene(mb).serve() as live:
        browser.open(live.url)
        browser.until("document.querySelectorAll('#moves input').length === 6")
        browser.run("document.getElementById('assemble').click()")
        browser.until("document.querySelectorAll('#moves input').length === 3")
        assert browser.run("document.getElementById('assemble')") is None


def test_a_body_is_pulled_while_it_is_simulated(browser):
    mb = sc.load("double_pendulum")
    scene = sc.view.scene(mb)
    p = sc.sim.Propagator(mb, integrator="rk4", step=1.0 / 240.0)
    scene.follow(p)
    with scene.serve() as live:
        browser.open(live.url)
        browser.until("document.querySelectorAll('#moves input').length === 2")
        at = place(scene, 1, browser.run("document.getElementById('view').clientWidth"))
        stop = []
        p.every(0.05, lambda t, state: stop and (_ for _ in ()).throw(KeyboardInterrupt))

        def simulate():
            with suppress(KeyboardInterrupt):
                p.advance_to(100.0)

        thread = Thread(target=simulate)
        thread.start()
        try:
            browser.mouse("Pressed", *at, modifiers=2)
            browser.mouse("Moved", at[0] + 150, at[1], modifiers=2)
            browser.until("Math.abs(parseFloat(document.querySelector('#moves output').textContent)) > 0.2")
            browser.mouse("Released", at[0] + 150, at[1], modifiers=2)
        finally:
            stop.append(True)
            thread.join()
        assert p.last_run.work["pull"][-1] != 0.0
        assert abs(p.last_run.q[:, 0]).max() > 0.2


def test_names_run_nothing(browser):
    hostile = "<img src=x onerror=\"document.title='broken'\">"
    mb = sc.Multibody("</script><script>document.title='broken'</script>")
    mb.add_body(hostile, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)), hinge_name=hostile)
    with sc.view.scene(mb).serve() as live:
        browser.open(live.url)
        browser.until("document.querySelectorAll('#moves input').length === 1")
        browser.run("soacraftScene.pick(0)")
        assert browser.run("document.getElementById('picked').textContent") == hostile
        assert browser.run("document.title") != "broken"
        assert browser.run("document.querySelectorAll('img').length") == 0
