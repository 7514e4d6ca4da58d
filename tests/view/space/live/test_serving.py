"""Live scenes by their socket: what pages are told when a model changes, and what they may ask."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import numpy as np
import pytest
from websockets.sync.client import connect

import soacraft as sc
from soacraft.errors import ViewError


class Page:
    """A page without a browser."""

    def __init__(self, live):
        parts = urlsplit(live.url)
        self._socket = connect(
            f"ws://{parts.netloc}/socket?{parts.query}", origin=f"http://{parts.netloc}", max_size=None, open_timeout=60
        )
        self._number, self.told = 0, []

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        self._socket.close()

    def next(self):
        message = self._socket.recv(timeout=60)
        return message if isinstance(message, bytes) else json.loads(message)

    def ask(self, verb, **fields):
        """The answer; what comes before it is kept."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "verb": verb, **fields}))
        while True:
            message = self.next()
            if isinstance(message, dict) and message.get("id") == self._number:
                return message
            self.told.append(message)

    def frame(self, version):
        """The next frame of a version, as numbers."""
        while True:
            message = self.next()
            if isinstance(message, bytes):
                numbers = np.frombuffer(message, "<f4", offset=4)
                if numbers[0] == version:
                    return numbers

    def event(self, name):
        """The next event of a name."""
        while True:
            message = self.next()
            if isinstance(message, dict) and message.get("event") == name:
                return message["data"]


def angle(numbers, mb, dof=0):
    """What the sliders of a frame show."""
    at = 1 + 7 * (len(mb) + 1) + 6 * len(mb)
    return numbers[at + dof]


def test_a_change_of_the_state_is_seen_without_a_call():
    mb = sc.load("double_pendulum")
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        assert data["bodies"] == ["upper", "lower"]
        assert [x["name"] for x in data["dofs"]] == list(mb.dof_names)
        mb.q = [0.7, 0.0]
        while angle(page.frame(data["version"]), mb) != np.float32(0.7):
            pass


def test_structure_and_geometry_too():
    mb = sc.load("double_pendulum")
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        before = page.ask("scene")["answer"]
        mb.add_body("third", mb.bodies[1], sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -1)))
        page.event("changed")
        after = page.ask("scene")["answer"]
        assert after["bodies"] == [*before["bodies"], "third"]
        assert after["version"] > before["version"]
        mb.bodies[2].add_geometry(sc.Geometry("skin", "sphere", (0.3,), rgba=(1, 0, 0, 1)))
        page.event("changed")
        last = page.ask("scene")["answer"]
        assert "skin" in [x["name"] for x in last["parts"]]
        mb.bodies[0].limits = sc.Limits(-0.5, 0.5)
        page.event("changed")
        assert page.ask("scene")["answer"]["dofs"][0]["upper"] == 0.5


def test_a_slider_moves_the_model_or_says_why_not():
    mb = sc.load("arm7")
    mb.bodies[0].limits = sc.Limits(-1.0, 1.0)
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        page.ask("scene")
        assert page.ask("move", dof="link1", value=0.25)["answer"] is None
        assert mb.q[0] == 0.25
        refused = page.ask("move", dof="link1", value=3.0)["error"]
        assert refused["kind"] == "StateError"
        assert refused["text"] == "dof 'link1' goes from -1 to 1, so it cannot be at 3."
        assert "has no dof '<script>'" in page.ask("move", dof="<script>", value=0.0)["error"]["text"]
        assert "not as it must be" in page.ask("move", dof="link1", value="0.1")["error"]["text"]
        assert mb.q[0] == 0.25


def test_picks_and_pulls():
    mb = sc.load("arm7")
    scene = sc.view.scene(mb)
    with scene.serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        assert data["pull"] is False
        assert page.ask("pick", body=3, composite=True)["answer"] is None
        numbers = page.frame(data["version"])
        while numbers[-19] != 3.0:
            numbers = page.frame(data["version"])
        assert numbers[-18:-9].any()
        assert not numbers[-9:].any()
        text = page.ask("pull", body=0)["error"]["text"]
        assert text == "nothing is simulated here that could be pulled: scene.follow(p), then p.advance_to(t)."
        scene.follow(sc.sim.Propagator(mb))
        assert page.ask("scene")["answer"]["pull"] is True
        assert "there is no body number 7; 'arm7' has 7" in page.ask("pull", body=7)["error"]["text"]
        assert page.ask("pull", body=2, point=[0, 0, 0.1], target=[1, 0, 0])["answer"] is None
        assert page.ask("pull", body=-1)["answer"] is None


def test_while_a_run_goes_on_its_state_is_not_moved(monkeypatch):
    mb = sc.load("pendulum")
    scene = sc.view.scene(mb)
    p = sc.sim.Propagator(mb)
    with scene.serve() as live, Page(live) as page:
        page.ask("scene")
        scene.follow(p, speed=100.0)
        said = []
        p.every(0.5, lambda t, state: said.append(page.ask("move", dof=mb.dof_names[0], value=0.5)))
        p.advance_to(1.0)
        assert said[0]["error"]["text"].startswith("'pendulum' is being simulated: its state is that of the run")


def test_a_motion_is_played_and_has_no_sliders():
    mb = sc.load("pendulum")
    t = np.linspace(0.0, 1.0, 11)
    with sc.view.scene(mb, (t, t[:, None])).serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        assert data["dofs"] == []
        assert "of a recorded motion" in page.ask("move", dof=mb.dof_names[0], value=0.5)["error"]["text"]


def test_names_are_data_and_the_page_has_no_text_of_the_model_but_its_title():
    from urllib.request import urlopen

    name = "</script><script>alert(1)</script>"
    mb = sc.Multibody(name)
    mb.add_body(name, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0))
    with sc.view.scene(mb).serve() as live:
        with urlopen(live.url, timeout=60) as answer:
            text = answer.read().decode()
        assert "alert(1)</script>" not in text
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_the_handle_closes_and_lets_the_model_go():
    mb = sc.load("pendulum")
    live = sc.view.scene(mb).serve()
    assert repr(live).startswith("Live scene of 'pendulum': a page at http://127.0.0.1:")
    assert live.pages == 0
    assert "<iframe" in live._repr_html_()
    live.close()
    live.close()
    assert repr(live) == "Live scene of 'pendulum': a page, closed"
    assert mb._edits.announcer._subscriptions == ()
    with pytest.raises(ViewError, match="cannot serve a page at"):
        sc.view.scene(mb).serve(host="256.0.0.1")
    assert mb._edits.announcer._subscriptions == ()


def test_a_state_that_cannot_be_drawn_is_told_and_the_next_one_is_drawn():
    mb = sc.load("double_pendulum")
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        mb.v = [1.7e308, 1.7e308]  # their sum is no number
        assert "velocities" in page.event("problem")["text"]
        mb.set_state([0.25, 0.0], [0.0, 0.0])
        assert angle(page.frame(data["version"]), mb) == np.float32(0.25)


def test_a_scene_that_cannot_be_made_is_an_answer_with_the_reason():
    mb = sc.load("pendulum")
    scene = sc.view.scene(mb)
    scene.ellipsoid("bob/tip", "operational_space")
    with scene.serve() as live, Page(live) as page:
        page.ask("scene")
        mb.bodies[0].inertia = sc.Inertia()  # nothing to move: Mcal is singular
        page.event("changed")
        refused = page.ask("scene")["error"]
        assert refused["kind"] == "SingularError"
        assert "bob" in refused["text"]


def test_loops_are_closed_from_the_page_and_then_fewer_dofs_move():
    mb = sc.load("five_bar")
    mb.set_state(mb.neutral())
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        assert (data["open"], len(data["dofs"])) == (True, 6)
        assert page.ask("assemble")["answer"] is None
        if not any(isinstance(x, dict) and x.get("event") == "changed" for x in page.told):
            page.event("changed")
        data = page.ask("scene")["answer"]
        assert (data["open"], len(data["dofs"])) == (False, 3)


def test_a_mistake_of_ours_does_not_end_the_page(monkeypatch):
    mb = sc.load("double_pendulum")
    with sc.view.scene(mb).serve() as live, Page(live) as page:
        data = page.ask("scene")["answer"]
        with monkeypatch.context() as broken:
            broken.setattr("soacraft.view.space.live.serving.frame", lambda *_: 1 / 0)
            mb.q = [0.1, 0.0]
            text = page.event("problem")["text"]
            assert text == "a mistake inside soacraft, please report it: ZeroDivisionError."
        mb.q = [0.2, 0.0]
        assert angle(page.frame(data["version"]), mb) == np.float32(0.2)
