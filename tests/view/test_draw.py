"""The picture of a topology: bodies, hinges, loops and couplings, and where they are."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import ModelError, ViewError
from soacraft.view.drawing.marks import Box, Disc, Line, Words


def boxes(picture):
    return [x for x in picture.marks if isinstance(x, Box) and x.radius]


@pytest.mark.parametrize("name", ["biped", "delta", "robotiq_2f85", "strandbeest"])
def test_a_box_for_each_body_and_none_over_another(name):
    mb = sc.load(name)
    drawn = boxes(sc.view.draw(mb))
    assert [x.title.partition(":")[0] for x in drawn] == [x.name for x in mb.bodies]
    for a, b in combinations(drawn, 2):
        aside = a.x + a.width <= b.x or b.x + b.width <= a.x
        assert aside or a.y + a.height <= b.y or b.y + b.height <= a.y, (a.title, b.title)


@pytest.mark.parametrize("name", ["cassie", "five_bar", "robotiq_2f85"])
def test_no_box_hides_what_a_loop_is(name):
    picture = sc.view.draw(sc.load(name))
    kinds = {type(loop.hinge).__name__ for loop in sc.load(name).loops}
    words = [x for x in picture.marks if isinstance(x, Words) and x.text in kinds and x.anchor == "middle"]
    assert len(words) == len(sc.load(name).loops)
    for word in words:
        for box in boxes(picture):
            aside = abs(word.x - box.x - 0.5 * box.width) >= 0.5 * box.width
            assert aside or abs(word.y - box.y - 0.5 * box.height) >= 0.5 * box.height, (word.text, box.title)


def test_children_are_below_their_parent():
    mb = sc.load("biped")
    drawn = dict(zip(mb.bodies, boxes(sc.view.draw(mb)), strict=True))
    for body, box in drawn.items():
        if body.parent in drawn:
            assert box.y > drawn[body.parent].y + drawn[body.parent].height


def test_hinges_show_their_kind_and_dofs():
    mb = sc.load("hinges")
    picture = sc.view.draw(mb)
    discs = [x for x in picture.marks if isinstance(x, Disc)]
    words = [x.text for x in picture.marks if isinstance(x, Words)]
    assert len(discs) == len(mb)
    for body in mb.bodies:
        assert words.count(type(body.hinge).__name__) >= 1
    numbers = [int(x) for x in words if x.isdigit()]
    assert sum(numbers) == mb.nv
    assert picture.title == "hinges: 12 bodies, 28 dofs"


def test_loops_and_couplings_are_drawn_and_inactive_ones_are_paler():
    mb = sc.load("robotiq_2f85")

    def ties(picture):
        return [x for x in picture.marks if isinstance(x, Line) and x.dash]

    drawn = ties(sc.view.draw(mb))
    assert [x.title.split("'")[0].strip() for x in drawn] == ["loop", "loop", "coupling"]
    assert sc.view.draw(mb).title.endswith("2 loops, 1 coupling")
    assert len({x.stroke for x in drawn}) == 2
    one = sc.Multibody()
    a, b = (one.add_body(x, None, sc.Pin((0, 0, 1)), sc.Inertia(1.0)) for x in "ab")
    one.close_loop("tie", a, b, sc.Weld(), active=False)
    one.couple("gear", {"a": 1.0, "b": 2.0})
    loop, coupling = ties(sc.view.draw(one))
    assert loop.stroke != drawn[0].stroke
    assert coupling.stroke == drawn[2].stroke


def test_everything_is_on_the_sheet():
    picture = sc.view.draw(sc.load("delta"))
    for mark in picture.marks:
        points = mark.points if isinstance(mark, Line) else [(mark.x, mark.y)]
        assert all(0.0 <= x <= picture.width and 0.0 <= y <= picture.height for x, y in points)
    shown = picture.pixels()
    assert shown.shape == (round(picture.height), round(picture.width), 3)
    assert (shown[-4:] == 255).all()  # nothing is cut at the bottom
    assert (np.ptp(shown.reshape(-1, 3), axis=0) > 100).all()


def test_names_are_escaped_wherever_they_are_written(tmp_path):
    mb = sc.Multibody("<script>alert(1)</script>")
    mb.add_body('"><img src=x onerror=alert(1)>', None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    mb.add_body(r"$\frac{", None, sc.Pin((0, 0, 1)), sc.Inertia(1.0))
    picture = sc.view.draw(mb)
    for text in (picture.svg(), picture.html()):
        assert "<script" not in text
        assert "<img" not in text
    tags = {x.tag.rpartition("}")[2] for x in ElementTree.fromstring(picture.svg()).iter()}
    assert tags <= {"svg", "title", "text", "rect", "circle", "polyline"}
    picture.figure().savefig(tmp_path / "names.png")  # matplotlib reads no formula in a name


def test_refused():
    with pytest.raises(ModelError, match="draw takes a model or a sub-graph, got str"):
        sc.view.draw("arm7")
    with pytest.raises(ViewError, match=r"saved as .svg, .html, .png or .pdf, by the end of the name; got 'arm.bmp'"):
        sc.view.draw(sc.load("arm7")).save("arm.bmp")


def test_an_empty_model_and_a_sub_graph_are_drawn():
    assert boxes(sc.view.draw(sc.Multibody("nothing"))) == []
    mb = sc.load("biped")
    part = mb.subgraph(["left_thigh", "left_shank"])
    assert len(boxes(sc.view.draw(part))) == 2
