"""The page of a running system, by its socket; and in a browser, as a user does."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from tests.sim.serving.clients import swing, wait
from tests.view.browser import Browser
from tests.view.workbench.test_serving import ask, talk

import soacraft as sc
from soacraft import sim
from soacraft.errors import ViewError, WiringError


def test_a_page_shows_a_run_of_the_program_and_changes_no_bit_of_it():
    s, alone = swing(), swing()
    with sc.view.open_system(s) as page, talk(page) as way:
        told = ask(way, verb="hello")["answer"]
        assert [x["path"] for x in told["parts"]] == ["arm", "control", "drive", "smooth", "target"]
        assert told["names"]["smooth.x"]["kind"] == "state"
        assert told["scene"].startswith("http://127.0.0.1:")
        assert ask(way, verb="pause")["answer"]["status"] == "paused"
        runs = []
        thread = threading.Thread(target=lambda: runs.append(s.run(0.3)))
        thread.start()
        wait(lambda: s.desk().is_running)
        assert ask(way, verb="step", count=100)["answer"]["t"] == 0.1
        wait(lambda: s._plants["arm"].mb.q[0] != 0.0)  # the scene shows the model as it is in the run
        seen = ask(way, verb="look", names=["arm.q", "control.command"])["answer"]
        assert (seen["t"], seen["status"]) == (0.1, "paused")
        ask(way, verb="run")
        thread.join()
    run = alone.run(0.3)
    assert np.array_equal(runs[0].q, run.q)
    assert seen["values"] == {"arm.q": run.q[100].tolist(), "control.command": run.signals["control.command"][100]}
    assert np.array_equal(s._plants["arm"].mb.q, run.q[-1])


def test_what_a_page_may_not_ask():
    with sc.view.open_system(swing()) as page, talk(page) as way:
        assert "there is no verb 'checkpoint'" in ask(way, verb="checkpoint", file="a.h5")["error"]["text"]
        assert "there is no verb 'subscribe'" in ask(way, verb="subscribe", names=["t"])["error"]["text"]
        assert "has nothing named 'x.y'" in ask(way, verb="look", names=["x.y"])["error"]["text"]
        assert "parameters of PD" in ask(way, verb="set", name="control.kp", value="much")["error"]["text"]
    with pytest.raises(ViewError, match=r"the page of a system is opened for an sc\.sim\.System, got 7\."):
        sc.view.open_system(7)
    broken = sim.System("broken")
    broken.add("gain", sim.Gain(gain=1.0))
    with pytest.raises(WiringError, match=r"the input 'gain\.u' is not connected"):
        sc.view.open_system(broken)


def test_closing_ends_a_run_that_the_page_began():
    s = swing()
    page = sc.view.open_system(s)
    with talk(page) as way:
        ask(way, verb="run", t=1e6)
        page.close()
        page.close()
    assert not s.desk().is_running
    assert s.t < 1e6
    assert s.run(s.t + 0.01).t[-1] == pytest.approx(s.t)


class Named(sim.Component):
    class Params(sim.Params):
        text: str


HOSTILE = "</script><img src=x onerror='document.documentElement.dataset.attacked=1'>"


@pytest.mark.browser
def test_in_a_browser(tmp_path):
    s = swing()
    s.params["target.unit"] = "rad"
    with Browser(tmp_path) as browser, sc.view.open_system(s) as page:
        browser.size(1200, 800)
        browser.open(page.url)
        browser.until("document.querySelectorAll('#tree li').length === 5")
        captions = "[...document.querySelectorAll('#plots figcaption')].map(x => x.textContent.split(' ')[0])"
        plots = browser.until(captions)
        assert 1 <= len(plots) <= 4  # at once, and without the plot that is asked for below
        assert "arm.q" not in plots
        assert all(name in s.signals().__repr__() for name in plots)
        browser.run("document.querySelectorAll('#tree li')[0].click()")
        assert browser.run("document.querySelector('#tree [aria-selected=true]').textContent").startswith("arm Plant")
        browser.until("document.querySelectorAll('#values tbody tr').length === 2")
        browser.run("document.querySelector('[aria-label=\"plot arm.q\"]').click()")
        # single steps, by the button
        browser.run("document.getElementById('step').click()")
        browser.until("document.getElementById('clock').textContent === 't = 0.0010 s, paused'")
        browser.run("document.getElementById('goal').value = '500'; document.getElementById('run').click()")
        browser.until("document.getElementById('clock').textContent.includes('t = 500.0000 s, idle')")
        shown = browser.run("document.querySelector('#values tbody tr td:nth-child(3)').textContent")
        assert abs(float(shown.strip("[]")) - s._plants["arm"].mb.q[0]) < 1e-4
        points = browser.until("document.querySelector('svg.plot polyline').getAttribute('points')").split()
        assert len(points) > 5
        ends = [float(x.split(",")[0]) for x in points]
        assert ends == sorted(ends)
        assert ends[-1] == 1000.0
        # a parameter, typed
        browser.run("document.querySelectorAll('#tree li')[4].click()")
        field = "document.querySelector('input[aria-label=\"target.value\"]')"
        browser.until(f"{field}.value === '0.5'")
        browser.run(f"{field}.value = '0.75'; {field}.dispatchEvent(new Event('change'))")
        wait(lambda: s.params["target.value"] == 0.75)
        browser.run(f"{field}.value = 'x'; {field}.dispatchEvent(new Event('change'))")
        browser.until("document.getElementById('said').textContent.includes('parameters of Constant')")
        # a pause of a run that goes on, and no request leaves the machine
        browser.run("document.getElementById('goal').value = '100000'; document.getElementById('run').click()")
        browser.until("document.getElementById('clock').textContent.includes('running')")
        browser.run("document.getElementById('pause').click()")
        browser.until("document.getElementById('clock').textContent.includes('paused')")
        nodes = browser._call("Accessibility.getFullAXTree")["nodes"]
        kinds = ("button", "textbox", "spinbutton", "checkbox", "treeitem", "tree", "Iframe")
        controls = [x for x in nodes if x.get("role", {}).get("value") in kinds and not x.get("ignored")]
        assert len(controls) > 10
        assert all(x.get("name", {}).get("value") for x in controls)
        assert all(x.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "blob:", "data:")) for x in browser.requests)
        assert not browser.errors


@pytest.mark.browser
def test_names_from_a_system_stay_text(tmp_path):
    s = sim.System(HOSTILE, integrator="rk4", step=0.1)
    s.add("word", Named(text=HOSTILE))
    with Browser(tmp_path) as browser, sc.view.open_system(s) as page:
        browser.open(page.url)
        browser.until("document.querySelectorAll('#tree li').length === 1")
        assert browser.run("document.getElementById('model').textContent") == HOSTILE
        browser.until("document.querySelector('#values input[type=text]').value.includes('onerror')")
        assert browser.run("document.documentElement.dataset.attacked") is None
        assert not browser.errors
