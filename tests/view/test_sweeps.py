"""Sweeps over the tree: what is computed when, and how it is drawn."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageSequence

import soacraft as sc
from soacraft.errors import SpaceError, ViewError
from soacraft.view.drawing.marks import Box, Line, Words, width_of
from soacraft.view.palette import rgb


@pytest.fixture(scope="module")
def biped():
    mb = sc.load("biped")
    H, phi, M = sc.operators(mb, "H phi M")
    return mb.topology, sc.view.sweep(H * phi * M * phi.T * H.T)


def test_the_steps_are_those_of_explain(biped):
    _, made = biped
    assert [x.kind for x in made.steps] == ["diagonal", "scatter", "diagonal", "gather", "diagonal"]
    assert [x.step for x in made.moments] == sorted(x.step for x in made.moments)


@pytest.mark.parametrize("kind", ["gather", "scatter"])
def test_a_body_is_computed_once_and_after_what_it_needs(biped, kind):
    """Gather: after its children. Scatter: after its parent. As many moments as the tree has layers."""
    tree, made = biped
    moments = [x for x in made.moments if x.kind == kind]
    assert len(moments) == max(tree.depth)
    when = {k: i for i, x in enumerate(moments) for k in x.now}
    assert sorted(when) == list(range(tree.n))
    assert sum(len(x.now) for x in moments) == tree.n
    for k, p in enumerate(tree.parents):
        if p >= 0:
            assert (when[k] < when[p]) == (kind == "gather")
    for i, x in enumerate(moments):
        assert x.done == {k for k in when if when[k] < i}


def test_bodies_that_are_computed_have_the_colour_of_the_sweep_and_arrows_point_its_way(biped):
    tree, made = biped
    colours = {}
    for number, moment in enumerate(made.moments):
        marks = made.picture(number).marks
        boxes = {x.title: x for x in marks if isinstance(x, Box)}
        lit = {boxes[tree.names[k]].fill for k in moment.now}
        assert len(lit) == 1
        colours.setdefault(moment.kind, lit.pop())
        assert {boxes[tree.names[k]].fill for k in range(tree.n) if k not in moment.now}.isdisjoint(colours.values())
        arrows = [x for x in marks if isinstance(x, Line) and x.width > 2.0 and len(x.points) == 2]
        if moment.kind == "gather":
            assert len(arrows) == sum(p in moment.now for p in tree.parents)
            assert all(x.points[1][1] < x.points[0][1] for x in arrows)  # up, to the base
        elif moment.kind == "scatter":
            assert len(arrows) == sum(tree.parents[k] >= 0 for k in moment.now)
            assert all(x.points[1][1] > x.points[0][1] for x in arrows)
        else:
            assert not arrows
    assert len(set(colours.values())) == 3


def test_a_film_has_a_picture_for_each_moment_in_its_colours(biped, tmp_path):
    tree, made = biped
    with Image.open(made.save(tmp_path / "sweep.gif", rate=4.0)) as film:
        frames = [np.asarray(x.convert("RGB")) for x in ImageSequence.Iterator(film)]
        assert film.info["duration"] == 250
    assert len(frames) == len(made.moments)
    for number, moment in enumerate(made.moments):
        boxes = {x.title: x for x in made.picture(number).marks if isinstance(x, Box)}
        for k in range(tree.n):
            box = boxes[tree.names[k]]
            shown = frames[number][int(box.y + 4), int(box.x + 0.5 * box.width)] / 255.0
            assert np.allclose(shown, rgb(box.fill), atol=0.06), (moment.kind, tree.names[k])
        assert (frames[number][0, 0] == 255).all()


def test_a_page_has_a_group_for_each_moment_and_asks_for_nothing(biped, tmp_path):
    _, made = biped
    page = made.save(tmp_path / "sweep.html").read_text()
    assert page.count('<g class="moment"') == len(made.moments)
    assert page.count('<g class="moment" hidden') == len(made.moments) - 1
    assert "setInterval(() => show((at + 1) % moments.length), 500)" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "<iframe" in made._repr_html_()


def test_names_are_escaped():
    mb = sc.Multibody()
    mb.add_body("<script>alert(1)</script>", None, sc.Pin((0, 1, 0)), sc.Inertia(1.0))
    page = sc.view.sweep(sc.operators(mb, "phi")).html()
    assert page.count("<script>") == 1  # our own
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_a_tree_of_blocks_is_swept_too():
    made = sc.view.sweep(sc.operators(sc.random_sko(6, seed=2), "psi"))
    assert {x.kind for x in made.moments} == {"gather"}


def test_refused(tmp_path):
    with pytest.raises(SpaceError, match="sweep takes an operator, such as phi or H\\*phi, got ndarray"):
        sc.view.sweep(np.eye(2))
    with pytest.raises(SpaceError, match="is over 201 bodies, a picture at most 200; take a sub-graph"):
        sc.view.sweep(sc.operators(sc.serial_chain(201), "phi"))
    phi = sc.operators(sc.load("arm7"), "phi")
    with pytest.raises(ViewError, match=r"saved as .html or .gif, by the end of the name; got 'a.mp4'"):
        sc.view.sweep(phi).save(tmp_path / "a.mp4")
    with pytest.raises(ViewError, match=r"from 0\.0015 to 50; got 0"):
        sc.view.sweep(phi).save(tmp_path / "a.gif", rate=0)
    for bad in (1e-5, 1e-300, "2", float("nan")):
        for write in (sc.view.sweep(phi).html, lambda rate: sc.view.sweep(phi).save(tmp_path / "a.gif", rate)):
            with pytest.raises(ViewError, match="rate is a number of moments a second, from"):
                write(bad)
    with pytest.raises(ViewError, match="save of a sweep takes a path, as text or as an object of pathlib; got 5"):
        sc.view.sweep(phi).save(5)


def test_bodies_are_coloured_by_whether_they_wait_are_computed_or_are_done():
    """A scatter along a chain: at its second moment the first body is done, the second computed, the third waits."""
    made = sc.view.sweep(sc.operators(sc.serial_chain(3), "phi").T)
    moments = [i for i, x in enumerate(made.moments) if x.kind == "scatter"]
    fills = []
    for i in moments:
        boxes = {x.title: x.fill for x in made.picture(i).marks if isinstance(x, Box) and x.title}
        fills.append([boxes[f"link{k}"] for k in (1, 2, 3)])
    (now, waits, _), (done, *second), third = fills
    assert second == [now, waits]
    assert third == [done, done, now]
    assert len({now, waits, done}) == 3
    assert sum(rgb(waits)) > sum(rgb(done)) > sum(rgb(now))  # from pale to full


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum", "biped"])
def test_words_are_within_the_picture_and_not_over_each_other(name):
    H, phi, M = sc.operators(sc.load(name), "H phi M")
    picture = sc.view.sweep(H * phi * M * phi.T * H.T * H * phi * M * phi.T * H.T).picture(0)
    words = [x for x in picture.marks if isinstance(x, Words)]
    for x in words:
        assert x.y >= 0.5 * x.size
        assert x.anchor == "middle" or x.x + width_of(x.text, x.size) <= picture.width
    lines = sorted((x for x in words if x.anchor == "start"), key=lambda x: x.y)
    assert len(lines) == 3
    assert all(b.y - a.y >= 0.5 * (a.size + b.size) for a, b in pairwise(lines))
