"""The page of a scene: its data, that it asks for nothing from elsewhere, and that names in it are but text."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from html.parser import HTMLParser

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ViewError
from soacraft.spatial.rotations import quaternion_to_matrix


class Tags(HTMLParser):
    """Every tag with its attributes, and the text of the data."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self._inside = [], "", False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") == "data"

    def handle_data(self, data):
        if self._inside:
            self.data += data

    def handle_endtag(self, tag):
        self._inside = False


def data_of(text):
    return json.loads(Tags(text).data)


def numbers(text, kind):
    return np.frombuffer(b64decode(text), dtype=kind)


def moving(mb, seconds=1.0, count=11):
    t = np.linspace(0.0, seconds, count)
    q = np.tile(np.asarray(mb.current.q), (count, 1))
    free = 7 if type(mb.bodies[0].hinge).__name__ == "Free" else 0
    q[:, free:] += 0.3 * np.sin(t[:, None] + np.arange(mb.nq - free))
    return t, q


def test_the_page_has_every_part_and_the_poses_of_every_body():
    mb = sc.load("h1")
    t, q = moving(mb)
    scene = sc.view.scene(mb, (t, q))
    data = data_of(scene.html(rate=10.0))
    assert data["bodies"] == [x.name for x in mb.bodies]
    assert [x["name"] for x in data["parts"]] == [x.name for x in scene.parts]
    assert numbers(data["t"], "<f4") == pytest.approx(t)
    poses = numbers(data["poses"], "<f4").reshape(len(t), len(mb) + 1, 7)
    for i in (0, 7):
        for k in (3, 19):
            wanted = mb.pose(mb.bodies[k], state=mb.state(q=q[i]))
            assert np.allclose(quaternion_to_matrix(poses[i, k, :4].astype(float)), wanted.rotation, atol=1e-5)
            assert np.allclose(poses[i, k, 4:] + np.array(data["centre"]), wanted.translation, atol=1e-5)
    for part, told in zip(scene.parts, data["parts"], strict=True):
        shape = data["surfaces"][told["surface"]]
        assert np.allclose(numbers(shape["points"], "<f4").reshape(-1, 3), part.surface.points, atol=1e-5)
        assert np.array_equal(numbers(shape["triangles"], "<u4").reshape(-1, 3), part.surface.triangles)


def far_and_late(place, start):
    """A block of a metre with an arm, at a place, from an instant on; by a mark on the ground, over a floor."""
    mb = sc.Multibody()
    block = mb.add_body("block", None, sc.Free(), sc.Inertia(1.0))
    block.add_geometry(sc.Geometry("skin", "box", (1, 0.5, 0.25), rgba=(1, 0, 0, 1)))
    arm = mb.add_body("arm", block, sc.Pin((0, 1, 0)), sc.Inertia(1.0), inboard=sc.Pose(translation=(0.5, 0, 0)))
    arm.add_geometry(sc.Geometry("skin", "box", (1, 0.1, 0.1), sc.Pose(translation=(0.5, 0, 0)), rgba=(0, 0, 1, 1)))
    mb.root.add_geometry(sc.Geometry("mark", "sphere", (0.2,), sc.Pose(translation=(place, 1, 0)), rgba=(0, 1, 0, 1)))
    q = np.array([[0, 0, 0, 1, place, 0, 0.001 * i, 0.01 * i] for i in range(101)])
    return sc.view.scene(mb, (start + 0.01 * np.arange(101.0), q), ground=True)


def test_far_from_the_origin_and_late_no_digits_are_lost():
    near, far = (data_of(far_and_late(*x).html(rate=100.0)) for x in ((0.0, 0.0), (1e7, 1e6)))
    assert far["start"] == 1e6
    assert np.allclose(numbers(far["t"], "<f4"), numbers(near["t"], "<f4"), atol=1e-6)
    assert np.allclose(numbers(far["poses"], "<f4"), numbers(near["poses"], "<f4"), atol=1e-6)
    for a, b in zip(near["surfaces"], far["surfaces"], strict=True):
        assert np.allclose(numbers(a["points"], "<f4"), numbers(b["points"], "<f4"), atol=1e-6)


def test_ten_seconds_of_a_humanoid_are_under_three_megabytes():
    mb = sc.load("h1")
    page = sc.view.scene(mb, moving(mb, 10.0, 51), frames=True, inertias=True, ground=True).html()
    assert 500_000 < len(page.encode()) < 3_000_000


def test_nothing_is_asked_for_from_elsewhere():
    page = sc.view.scene(sc.load("five_bar")).html()
    tags = Tags(page).tags
    assert not any(name in ("src", "href", "action", "data") for _, attrs in tags for name in attrs)
    assert not re.search(r"https?:|//[a-z]+\.|fetch\(|XMLHttpRequest|WebSocket|import\(|eval\(", page)
    (policy,) = [x["content"] for tag, x in tags if tag == "meta" and "http-equiv" in x]
    assert "default-src 'none'" in policy


HOSTILE = '</script><script>alert(1)</script><!-- @data@ @script@ " onload=alert(2) \u2028'


def test_names_are_data_whatever_they_hold(tmp_path):
    def tags(name):
        mb = sc.Multibody(name)
        body = mb.add_body(name, None, sc.Pin((0, 1, 0)), sc.Inertia(1.0))
        body.add_geometry(sc.Geometry(name, "sphere", (0.1,)))
        mb.close_loop(name, mb.root, body, sc.Spherical())
        page = sc.view.scene(mb).save(tmp_path / "page.html").read_text(encoding="utf-8")
        return Tags(page), data_of(page)

    plain, _ = tags("arm")
    hostile, data = tags(HOSTILE)
    assert hostile.tags == plain.tags
    assert data["title"] == data["bodies"][0] == data["parts"][0]["name"] == data["ties"][0]["name"] == HOSTILE
    assert plain.data.count("<") == hostile.data.count("<") == 0


def test_the_script_writes_names_as_text_alone():
    """`innerHTML` is used once, for a sentence of our own."""
    page = sc.view.scene(sc.load("arm7")).html()
    assert page.count("innerHTML") == 1
    assert "document.write" not in page
    assert "button.textContent = name" in page


def test_closures_are_coloured_at_every_instant():
    mb = sc.Multibody()
    rod = mb.add_body("rod", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0.5, 0, 0)))
    end = rod.add_node("end", sc.Pose(translation=(1, 0, 0)))
    mb.close_loop("tip", mb.root.add_node("ground", sc.Pose(translation=(1, 0, 0))), end, sc.Spherical())
    q = np.array([[0.0], [1e-3], [1.5]])
    data = data_of(sc.view.scene(mb, (np.arange(3.0), q)).html(rate=1.0))
    (tie,) = data["ties"]
    assert tie["bodies"] == [-1, 0]
    assert np.allclose(tie["points"], [np.array([1, 0, 0]) - data["centre"], [1, 0, 0]])
    red, green, _ = numbers(data["tints"], "<u1").reshape(3, 3).astype(int).T
    assert green[0] > red[0]  # met
    assert red[1] > 200 and green[1] > green[2]  # noqa: PT018  # between yellow and red
    assert red[2] > 2 * green[2]


def test_a_notebook_shows_the_page_in_a_frame_of_its_own():
    shown = sc.view.scene(sc.load("pendulum"))._repr_html_()
    (frame,) = Tags(shown).tags
    assert frame[0] == "iframe"
    assert frame[1]["sandbox"] == "allow-scripts"
    assert data_of(frame[1]["srcdoc"])["title"] == "pendulum"


def test_motions_after_the_first_are_ghosts():
    mb = sc.load("double_pendulum")
    t = np.linspace(0.0, 1.0, 5)
    q = np.stack([t, 0.5 * t], axis=1)
    scene = sc.view.scene(mb, [(t, q), (t, -q), (0.5 * t, q)])
    assert repr(scene) == "Scene of 'double_pendulum': 2 bodies, 4 parts, 3 motions over 1 s of motion"
    data = data_of(scene.html(rate=4.0))
    assert len(data["ghosts"]) == 2
    mirrored = numbers(data["ghosts"][0]["poses"], "<f4").reshape(5, 3, 7)[4, 0, :4].astype(float)
    wanted = mb.pose(mb.bodies[0], state=mb.state(q=-q[4]))
    assert np.allclose(quaternion_to_matrix(mirrored), wanted.rotation, atol=1e-5)
    assert data["ghosts"][0]["colour"] != data["ghosts"][1]["colour"]
    with pytest.raises(ViewError, match="a list of motions has one at least; for a still picture leave it out"):
        sc.view.scene(mb, [])
    alone, both = (sc.view.scene(mb, x).pixels(1.0, size=(96, 72)) for x in ([(t, q)], [(t, q), (t, -q)]))
    assert (both != alone).any()


def test_scripts_define_one_name_and_a_saved_page_has_no_socket():
    from soacraft.view.space.page import scripts

    assert scripts().startswith('"use strict";\nconst soacraftScene = (() => {')
    assert "WebSocket" not in scripts()
