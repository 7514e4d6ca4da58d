"""The picture of an operator's blocks: which are drawn, in which colours, with which names."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import soacraft as sc
from soacraft.errors import SpaceError
from soacraft.view.drawing.marks import Box, Line, Words
from soacraft.view.palette import rgb, segment_colour

EMPTY = "#f3f5f7"


@pytest.fixture(scope="module")
def biped():
    mb = sc.load("biped")
    mb.set_state(*mb.random_state(3)[:2])
    H, phi, M = sc.operators(mb, "H phi M")
    return mb, H * phi * M * phi.T * H.T


def blocks(picture):
    """The boxes of blocks by the names in their titles, with their colours."""
    return {x.title.partition(":")[0]: x.fill for x in picture.marks if isinstance(x, Box) and x.title}


def related(tree, i, j):
    return bool(tree.path(i, j) or tree.path(j, i))


def test_a_box_for_each_block_that_can_be_non_zero(biped):
    mb, mass_matrix = biped
    tree, names = mb.topology, [x.name for x in mb.bodies]
    wanted = {f"[{names[i]}, {names[j]}]" for i in range(12) for j in range(12) if related(tree, i, j)}
    assert set(blocks(sc.view.spy(mass_matrix))) == wanted


def test_blocks_of_a_segment_have_its_colour_and_those_between_two_have_neither(biped):
    """004 Fig. 4-6."""
    mb, mass_matrix = biped
    tree, names, drawn = mb.topology, [x.name for x in mb.bodies], blocks(sc.view.spy(mass_matrix))
    segment = [tree.branch_of(k).index for k in range(12)]
    assert len(set(segment)) == 6
    for i, j in np.ndindex(12, 12):
        if related(tree, i, j):
            colour = drawn[f"[{names[i]}, {names[j]}]"]
            own = {segment_colour(segment[i]), segment_colour(segment[j])}
            assert (colour in own) == (segment[i] == segment[j]), (names[i], names[j])


def test_names_of_bodies_on_both_sides_and_lines_between_segments(biped):
    mb, mass_matrix = biped
    picture = sc.view.spy(mass_matrix)
    said = [x.text for x in picture.marks if isinstance(x, Words)]
    assert all(said.count(body.name) == 2 for body in mb.bodies)
    assert sum(isinstance(x, Line) for x in picture.marks) == 2 * 5 + 1
    assert picture.title == "H*phi*M*phi.T*H.T : hinge[25] <- hinge[25]"


def test_a_smaller_block_has_less_ink_where_sizes_are_asked_for():
    """Diagonal blocks of 1, 0.1, 0.01, 0 (a claim of a state): ink falls, and none vanishes."""
    tree = sc.SKOModel([-1, 0, 1, 2], [None, [[1]], [[1]], [[1]]], [[[1]]] * 4, [[[1.0]], [[0.1]], [[0.01]], [[0.0]]])
    drawn = blocks(sc.view.spy(sc.operators(tree, "M"), magnitude=True))
    ink = [sum(abs(a - b) for a, b in zip(rgb(x), rgb(EMPTY), strict=True)) for x in drawn.values()]
    assert len(ink) == 4
    assert np.all(np.diff(ink) < -0.01)
    assert ink[-1] > 0.0
    plain = blocks(sc.view.spy(sc.operators(tree, "M")))
    assert len(set(plain.values())) == 1


def test_magnitudes_do_not_depend_on_units():
    """The same chain in metres and in millimetres: turns and travels are compared with their own kind."""
    def drawn(unit):
        mb = sc.Multibody()
        rail = mb.add_body("rail", None, sc.Prismatic((1, 0, 0)), sc.Inertia(2.0, (0, 0, 0), np.eye(3) * 0.1 * unit**2))
        mb.add_body("arm", rail, sc.Pin((0, 1, 0)), sc.Inertia(1.0, (0, 0, -0.5 * unit), np.eye(3) * 0.1 * unit**2))
        H, phi, M = sc.operators(mb, "H phi M")
        return list(blocks(sc.view.spy(H * phi * M * phi.T * H.T, magnitude=True)).values())

    assert drawn(1.0) == drawn(1000.0)


SIDES = [(3, 26.0, True), (23, 20.0, True), (92, 5.0, False), (300, 3.0, False)]


@pytest.mark.parametrize(("n", "cell", "named"), SIDES)
def test_blocks_share_the_side_of_the_picture(n, cell, named):
    """460 of it, with blocks of 3 to 26; names are left out where they would lie over each other."""
    picture = sc.view.spy(sc.operators(sc.serial_chain(n), "M"))
    area, *drawn = (x for x in picture.marks if isinstance(x, Box))
    assert area.width == area.height == pytest.approx(n * cell)
    assert all(x.width == x.height == pytest.approx(0.92 * cell) for x in drawn)
    assert drawn[-1].x - drawn[0].x == pytest.approx((n - 1) * cell)
    assert any(x.text == "link2" for x in picture.marks if isinstance(x, Words)) == named
    assert picture.height == pytest.approx(area.y + area.height + 12.0)


def test_a_large_operator_and_what_is_none_are_refused():
    with pytest.raises(SpaceError, match="401 x 401 blocks, a picture at most 400 x 400; look at a sub-graph"):
        sc.view.spy(sc.operators(sc.serial_chain(401), "M"))
    with pytest.raises(SpaceError, match="spy takes an operator, such as phi or H\\*phi, got ndarray"):
        sc.view.spy(np.eye(2))


def test_every_way_of_drawing_shows_the_same_blocks(biped, tmp_path):
    """SVG has as many boxes as the list of marks; pixels and matplotlib have their colours where they belong."""
    picture = sc.view.spy(biped[1])
    boxes = [x for x in picture.marks if isinstance(x, Box)]
    root = ElementTree.fromstring(picture.svg())
    assert len(root.findall("{*}rect")) == len(boxes)
    shown = picture.pixels(1.0)
    axes = picture.figure().axes[0]
    assert len(axes.patches) == len(boxes)
    for box, patch in zip(boxes, axes.patches, strict=True):
        row, column = int(box.y + 0.5 * box.height), int(box.x + 0.5 * box.width)
        if box.title:
            assert np.allclose(shown[row, column] / 255.0, rgb(box.fill), atol=0.01)
        assert np.allclose(patch.get_facecolor()[:3], rgb(box.fill), atol=0.01)
    for end, start in ((".svg", b"<svg"), (".html", b"<!doctype html>"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        assert picture.save(tmp_path / f"spy{end}").read_bytes().startswith(start)
