"""`sweep`: the gathers and scatters of an expression running over the tree, as pictures, HTML and GIF (004 Fig. 1)."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from soacraft.algebra.descriptions.explain import explain
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.tree import Tree
from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.citations import cite
from soacraft.errors import SpaceError, ViewError
from soacraft.view.drawing.gif import FASTEST, SLOWEST, write_gif
from soacraft.view.drawing.marks import INK, QUIET, Box, Line, Mark, Words, shortened, width_of
from soacraft.view.drawing.output import write_output
from soacraft.view.drawing.picture import Picture
from soacraft.view.drawing.svg import element, svg, text_of
from soacraft.view.layered import places
from soacraft.view.palette import mixed

#: Bodies of a tree that is drawn at most.
MOST = 200
_TEXT, _HEIGHT, _LAYER, _GAP, _MARGIN, _TOP = 10.0, 22.0, 56.0, 14.0, 16.0, 62.0
#: Colours by kind of sweep: nodes that are being computed, and those that are done.
_GATHER, _SCATTER, _LOCAL, _IDLE, _DONE = "#ee6677", "#4477aa", "#228833", "#f3f5f7", "#d9e2ec"


@dataclass(frozen=True)
class Moment:
    """An instant of a sweep: which nodes are computed now, which are done, and along which edges numbers flow."""

    step: int
    """The number of the step in `explain()`, from 0."""
    kind: str
    """gather, scatter, or what else the step is."""
    now: frozenset[int]
    done: frozenset[int]


class Sweep(Strict):
    """Result of `sweep`: `moments` in the order in which they happen, `pictures()` of them, `save` as HTML or GIF."""

    _set_once = frozenset({"expression", "tree", "steps", "moments"})

    def __init__(self, expr: Operator, tree: Tree) -> None:
        self.expression, self.tree = expr.text(), tree
        self.steps = explain(expr).product
        self.moments = tuple(x for n, step in enumerate(self.steps) for x in _moments(tree, n, step.kind))

    def __repr__(self) -> str:
        kinds = ", ".join(step.kind for step in self.steps) or "nothing to run"
        return f"Sweep of {self.expression} over {self.tree.n} nodes: {kinds} ({len(self.moments)} moments)"

    def picture(self, number: int) -> Picture:
        """The tree at one moment."""
        marks, width, height = self._sheet(self.moments[number])
        return Picture(marks, width, height, f"{self.expression}, moment {number + 1} of {len(self.moments)}")

    def pictures(self) -> list[Picture]:
        """All of them."""
        return [self.picture(i) for i in range(len(self.moments))]

    def html(self, rate: float = 2.0) -> str:
        """A page that plays it, `rate` moments a second; SVG, and a few lines of script of our own."""
        _check_rate(rate)
        every, title = self.pictures(), f"Sweeps of {self.expression}"
        shown = [f'<g class="moment"{" hidden" if i else ""}>{_inner(x)}</g>' for i, x in enumerate(every)]
        empty = svg([], every[0].width, every[0].height, title)
        picture = empty.removesuffix("</svg>") + "".join(shown) + "</svg>"
        return _PAGE.format(title=text_of(title), picture=picture, pause=round(1000.0 / rate))

    def save(self, path: str | PathLike[str], rate: float = 2.0) -> Path:
        """Write a file by the end of its name: .html, or .gif (by Pillow); `rate` moments a second."""
        place = read_path(path, "save of a sweep", ViewError)
        kind = place.suffix.lower()
        _check_rate(rate)
        if kind == ".html":
            write_output(place, self.html(rate))
        elif kind == ".gif":
            write_gif(place, [x.pixels(1.0) for x in self.pictures()], rate)
        else:
            raise ViewError(f"a sweep is saved as .html or .gif, by the end of the name; got {place.name!r}.")
        return place

    def _repr_html_(self) -> str:
        style = f"width:100%;height:{self.picture(0).height + 70.0:.0f}px;border:0"
        attributes = f'title="sweeps" sandbox="allow-scripts" style="{style}"'
        return f'<iframe {attributes} srcdoc="{text_of(self.html())}"></iframe>'

    def _line(self, number: int) -> str:
        step = self.steps[number]
        return f"{number + 1} of {len(self.steps)}: {step.kind} by {shortened(step.operator, 40)}"

    def _sheet(self, moment: Moment) -> tuple[list[Mark], float, float]:
        tree = self.tree
        names = [shortened(x, 18) for x in tree.names]
        widths = [width_of(x, _TEXT) + 16.0 for x in names]
        across = [_MARGIN + x for x in places(tree, widths, _GAP)]
        down = [_TOP + _LAYER * (d - 1) for d in tree.depth]
        step = self.steps[moment.step]
        head = shortened(f"{self.expression} * x", 80)
        line = self._line(moment.step)
        why = shortened(cite(step.why), 80)
        marks: list[Mark] = [Words(_MARGIN, 14.0, head, 12.0), Words(_MARGIN, 31.0, line, 10.0, _colour(moment.kind))]
        marks.append(Words(_MARGIN, 45.0, why, 8.0, QUIET))
        for k, p in enumerate(tree.parents):
            if p >= 0:
                marks += _edge(moment, k, p, (across[k], down[k]), (across[p], down[p]))
        for k in range(tree.n):
            fill = _colour(moment.kind) if k in moment.now else _DONE if k in moment.done else _IDLE
            box = (across[k] - 0.5 * widths[k], down[k] - 0.5 * _HEIGHT)
            marks.append(Box(*box, widths[k], _HEIGHT, mixed(fill, "#ffffff", 0.25), QUIET, 5.0, tree.names[k]))
            marks.append(Words(across[k], down[k], names[k], _TEXT, INK, "middle"))
        edges = [x + 0.5 * w for x, w in zip(across, widths, strict=True)]
        lines = [self._line(i) for i in range(len(self.steps))]
        right = max([*edges, width_of(head, 12.0), *(width_of(x, 10.0) for x in lines)])
        return marks, right + _MARGIN, max(down, default=_TOP) + 0.5 * _HEIGHT + _MARGIN


def sweep(expr: Operator) -> Sweep:
    """A product of an expression with a vector, as it runs: gathers from the tips to the base, scatters from the base
    to the tips, and what is done body by body, in the order of `explain()`. Bodies of one layer are computed at one
    moment: a gather takes as many as the tree is high, which is why the cost is O(n). At most 200 bodies.

    >>> import soacraft as sc
    >>> H, phi, M = sc.operators(sc.load("double_pendulum"), "H phi M")
    >>> sc.view.sweep(H * phi * M * phi.T * H.T)
    Sweep of H*phi*M*phi.T*H.T over 2 nodes: diagonal, scatter, diagonal, gather, diagonal (7 moments)
    """
    if not isinstance(expr, Operator):
        raise SpaceError(f"sweep takes an operator, such as phi or H*phi, got {type(expr).__name__}.")
    trees = [x.tree for x in expr.spaces if x.tree is not None]
    if not trees:
        raise SpaceError(f"{expr.text()} : {expr.spaces[0]} <- {expr.spaces[1]} has no tree to sweep over.")
    if trees[0].n > MOST:
        raise SpaceError(f"{expr.text()} is over {trees[0].n} bodies, a picture at most {MOST}; take a sub-graph.")
    drawn = Sweep(expr, trees[0])
    if not drawn.moments:
        raise SpaceError(f"a product with {expr.text()} runs nothing, so there is nothing to see.")
    return drawn


def _moments(tree: Tree, n: int, kind: str) -> list[Moment]:
    """Layers of a sweep: a node is computed once those are that it needs."""
    if tree.n == 0:
        return []
    moments = []
    for each in kind.split(", "):
        if each in ("gather", "scatter"):
            level = _heights(tree) if each == "gather" else list(tree.depth)
            for now in sorted(set(level)):
                at = frozenset(k for k, x in enumerate(level) if x == now)
                moments.append(Moment(n, each, at, frozenset(k for k, x in enumerate(level) if x < now)))
        else:
            moments.append(Moment(n, each, frozenset(range(tree.n)), frozenset()))
    return moments


def _heights(tree: Tree) -> list[int]:
    """Zero at tips; one more than the highest child elsewhere."""
    height = [0] * tree.n
    for k in tree.tips_to_base():
        height[k] = max((height[j] + 1 for j in tree.children(k)), default=0)
    return height


def _colour(kind: str) -> str:
    return {"gather": _GATHER, "scatter": _SCATTER}.get(kind, _LOCAL)


def _edge(moment: Moment, k: int, p: int, child: tuple[float, float], parent: tuple[float, float]) -> list[Mark]:
    """A line from a child to its parent; an arrow along it where numbers flow now."""
    (x, y), (px, py) = child, parent
    top, bottom = (px, py + 0.5 * _HEIGHT), (x, y - 0.5 * _HEIGHT)
    gathers, scatters = moment.kind == "gather" and p in moment.now, moment.kind == "scatter" and k in moment.now
    if not gathers and not scatters:
        return [Line((top, bottom), "#cbd2d9", 1.2)]
    start, end = (bottom, top) if gathers else (top, bottom)
    colour = _colour(moment.kind)
    return [Line((start, end), colour, 2.6), Line(_head(start, end), colour, 2.6)]


def _head(start: tuple[float, float], end: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    """The head of an arrow at the end of a line."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    ux, uy, size = dx / length, dy / length, 6.0
    left = (end[0] - size * (ux + 0.5 * uy), end[1] - size * (uy - 0.5 * ux))
    right = (end[0] - size * (ux - 0.5 * uy), end[1] - size * (uy + 0.5 * ux))
    return left, end, right


def _inner(picture: Picture) -> str:
    return "".join(element(mark) for mark in picture.marks)


def _check_rate(rate: float) -> None:
    if not isinstance(rate, int | float) or not SLOWEST <= rate <= FASTEST:
        raise ViewError(f"rate is a number of moments a second, from {SLOWEST:.2g} to {FASTEST:g}; got {rate!r:.60}.")


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>body {{ margin: 8px; background: #fff; color: #1f2933; font: 14px system-ui, sans-serif }}
svg {{ max-width: 100%; height: auto; display: block }}
g[hidden] {{ display: none }}</style></head>
<body>{picture}
<p><button id="play">pause</button>
<input id="line" type="range" min="0" value="0" step="1" aria-label="moment"></p>
<script>
"use strict";
const moments = [...document.querySelectorAll("g.moment")], line = document.getElementById("line");
let at = 0, timer = null;
function show(i) {{ at = i; moments.forEach((x, j) => x.toggleAttribute("hidden", j !== i)); line.value = i; }}
function play(on) {{
  clearInterval(timer);
  timer = on ? setInterval(() => show((at + 1) % moments.length), {pause}) : null;
  document.getElementById("play").textContent = on ? "pause" : "play";
}}
line.max = moments.length - 1;
line.addEventListener("input", () => {{ play(false); show(+line.value); }});
document.getElementById("play").addEventListener("click", () => play(timer === null));
const wanted = /#(\\d+)$/.exec(location.hash);
if (wanted) show(Math.min(+wanted[1], moments.length - 1));
play(!wanted && !matchMedia("(prefers-reduced-motion: reduce)").matches);
</script></body></html>
"""
