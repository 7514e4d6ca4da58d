"""`draw`: the topology of a model as a picture: bodies, hinges with their kinds and dofs, loops, couplings."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from soacraft.errors import ModelError
from soacraft.model.modal.data import mode_count
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.graph import Graph, size_text, ties_text
from soacraft.view.drawing.marks import INK, QUIET, Box, Disc, Line, Mark, Point, Words, shortened, width_of
from soacraft.view.drawing.picture import Picture
from soacraft.view.layered import places
from soacraft.view.palette import OPEN, mixed, segment_colour

_TEXT, _HEIGHT, _LAYER, _GAP, _MARGIN = 10.0, 22.0, 64.0, 14.0, 16.0
_LOOP, _COUPLING = OPEN, "#7a4fbf"
#: Bend of a closure, downwards, and of a coupling, upwards.
_LOW, _HIGH = 26.0, 15.0


def draw(graph: Graph) -> Picture:
    """The tree of the bodies, the inertial frame on top, a box for each body in the colour of its serial segment. A
    hinge is a disc with its number of dofs and its kind, with the modes of a flexible body. Loop closures are dashed
    red lines between the bodies that they tie, couplings dotted violet ones between the hinges; inactive ones are pale.
    O(n depth).

    >>> import soacraft as sc
    >>> sc.view.draw(sc.load("five_bar")).title
    'five_bar: 8 bodies, 6 dofs, 1 loop'
    """
    if not isinstance(graph, Graph):
        raise ModelError(f"draw takes a model or a sub-graph, got {type(graph).__name__}.")
    tree, bodies = graph.topology, graph.bodies
    names, kinds = [shortened(x.name) for x in bodies], [_kind(x) for x in bodies]
    widths = [max(width_of(a, _TEXT) + 16.0, width_of(b, 8.0) + 22.0) for a, b in zip(names, kinds, strict=True)]
    across = [_MARGIN + x for x in places(tree, widths, _GAP)]
    title = _title(graph)
    right = max([x + 0.5 * w for x, w in zip(across, widths, strict=True)] + [width_of(title, 12.0), 120.0]) + _MARGIN
    at = {body: (x, 40.0 + _LAYER * tree.depth[k]) for k, (body, x) in enumerate(zip(bodies, across, strict=True))}
    at_base = [across[k] for k in tree.children(-1)]
    root = (0.5 * (at_base[0] + at_base[-1]) if at_base else 60.0, 40.0)
    marks: list[Mark] = [Words(_MARGIN, 14.0, shortened(title, 100), 12.0)]
    marks += _edges(graph, at, root)
    anchor = width_of(graph.root.name, _TEXT) + 16.0
    shown: list[Mark] = [Box(root[0] - 0.5 * anchor, root[1] - 0.5 * _HEIGHT, anchor, _HEIGHT, "#e4e7eb", QUIET)]
    shown.append(Words(*root, graph.root.name, _TEXT, anchor="middle"))
    for k, body in enumerate(bodies):
        shown += _body(body, at[body], names[k], segment_colour(tree.branch_of(k).index))
    marks += _ties(graph, at, root, [x for x in shown if isinstance(x, Box)])
    marks += shown
    marks += [mark for body, kind in zip(bodies, kinds, strict=True) for mark in _hinge(body, at[body], kind)]
    lowest = 40.0 + _LAYER * max(tree.depth, default=0) + (_LOW + 24.0 if len(graph.loops) else 0.5 * _HEIGHT)
    return Picture(marks, right, lowest + _MARGIN, title)


def _title(graph: Graph) -> str:
    ties = ties_text(len(graph.loops), len(graph.couplings))
    return f"{graph.name}: {size_text(len(graph), graph.nv)}{ties and f', {ties}'}"


def _kind(body: Body) -> str:
    return type(body.hinge).__name__ + ("" if body.modal is None else f", {mode_count(body.modal.n)}")


def _edges(graph: Graph, at: dict[Body, Point], root: Point) -> list[Mark]:
    marks: list[Mark] = []
    for body, (x, y) in at.items():
        px, py = _place(body.parent, at, root)
        middle = y - 0.62 * _LAYER + 0.5 * _HEIGHT
        way = ((px, py + 0.5 * _HEIGHT), (px, middle), (x, middle), (x, y - 0.5 * _HEIGHT))
        marks.append(Line(way, INK, 1.2))
    return marks


def _body(body: Body, at: Point, name: str, colour: str) -> list[Mark]:
    width, (x, y) = width_of(name, _TEXT) + 16.0, at
    nodes = ", ".join(node.name for node in body.nodes)
    title = f"{body.name}: {body.inertia.mass:.4g} kg" + (f"; nodes {nodes}" if nodes else "")
    box = Box(x - 0.5 * width, y - 0.5 * _HEIGHT, width, _HEIGHT, mixed(colour, "#ffffff", 0.7), colour, 5.0, title)
    return [box, Words(x, y, name, _TEXT, anchor="middle")]


def _hinge(body: Body, at: Point, kind: str) -> list[Mark]:
    """The disc above a body, with the number of its dofs, and the kind of hinge."""
    (x, y), nv = at, body.hinge.nv
    y -= 0.5 * _HEIGHT + 11.0
    title = f"{body.hinge_name}: {body.hinge!r}"
    fill = "#ffffff" if nv else "#cbd2d9"
    return [
        Disc(x, y, 7.0, fill, INK, title),
        Words(x, y, str(nv), 8.0, anchor="middle"),
        Words(x + 10.0, y, kind, 8.0, QUIET),
    ]


def _ties(graph: Graph, at: dict[Body, Point], root: Point, boxes: Sequence[Box]) -> list[Mark]:
    """Closures between bodies, couplings between hinges, each bent aside so that two are told apart; their words are
    behind no box."""
    marks: list[Mark] = []
    for n, closure in enumerate(graph.loops):
        ends = [_place(frame.carrier, at, root) for frame in (closure.a, closure.b)]
        colour = _LOOP if closure.active else mixed(_LOOP, "#ffffff", 0.6)
        low = _LOW + 5.0 * (n % 3)
        marks += _bent(ends, low, colour, (6.0, 4.0), repr(closure), type(closure.hinge).__name__, boxes)
    owner = {dof: body for body in graph.bodies for dof in _dofs(graph, body)}
    for n, coupling in enumerate(graph.couplings):
        discs = [(x, y - 0.5 * _HEIGHT - 11.0) for x, y in (at[owner[dof]] for dof in coupling.terms)]
        colour = _COUPLING if coupling.active else mixed(_COUPLING, "#ffffff", 0.6)
        for a, b in pairwise(discs):
            high = -_HIGH - 4.0 * (n % 3)
            marks += _bent([a, b], high, colour, (1.5, 3.0), repr(coupling), coupling.name, boxes)
    return marks


def _dofs(graph: Graph, body: Body) -> Sequence[str]:
    return graph.dof_names[graph.layout.v_slices[graph.layout.index[body]]]


def _bent(
    ends: Sequence[Point], low: float, colour: str, dash: Point, title: str, word: str, boxes: Sequence[Box]
) -> list[Mark]:
    """A parabola from end to end, `low` points below the straight line at its middle, and a word there, or as near to
    its middle as no box is."""
    (x0, y0), (x1, y1) = ends
    steps = [i / 16.0 for i in range(17)]
    way = tuple((x0 + s * (x1 - x0), y0 + s * (y1 - y0) + 4.0 * s * (1.0 - s) * low) for s in steps)
    text = shortened(word, 18)
    across, down = 0.5 * width_of(text, 8.0) + 2.0, 7.0 if low > 0.0 else -6.0

    def hidden(at: Point) -> bool:
        return any(abs(at[0] - b.x - 0.5 * b.width) < 0.5 * b.width + across
                   and abs(at[1] - b.y - 0.5 * b.height) < 0.5 * b.height + 5.0 for b in boxes)  # fmt: skip

    near = sorted(way, key=lambda at: abs(at[0] - way[8][0]) + abs(at[1] - way[8][1]))
    places = [(x + aside, y + down) for x, y in near for aside in (0.0, across, -across)]
    x, y = next((at for at in places if not hidden(at)), places[0])
    return [Line(way, colour, 1.5, dash, title), Words(x, y, text, 8.0, colour, "middle")]


def _place(frame: Frame, at: dict[Body, Point], root: Point) -> Point:
    return at.get(frame, root) if isinstance(frame, Body) else root
