"""All that is to be seen of a scene: parts and closures, their motion, ellipsoids at nodes, contacts, and the stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.errors import ViewError
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array
from soacraft.view.palette import rgb, segment_colour
from soacraft.view.space.contact_marks import ContactMarks, contact_marks
from soacraft.view.space.motion import Track
from soacraft.view.space.node_ellipsoids import NodeEllipsoid
from soacraft.view.space.parts import Colour, Part, PartMaker, Tie
from soacraft.view.space.stage import Stage, some_of, stage_of

#: Opacity of a ghost, which is a motion after the first.
GHOST = 0.35


@dataclass(frozen=True)
class Colouring:
    """Colouring of flexible bodies: by `kind`, from 0 to `most`; and the words on the picture. A `relative` one is
    known up to a factor alone, as modes are.
    """

    kind: str
    most: float
    words: tuple[str, ...]
    relative: bool = False


@dataclass(frozen=True, eq=False)
class Content:
    """Content of pictures and pages. `tracks` are the motions at the same instants, the first one solid; `ellipsoids`
    are those at nodes with their numbers (m, 9); `contacts` are of the first motion.
    """

    graph: Graph
    parts: list[Part]
    ties: list[Tie]
    tracks: tuple[Track, ...]
    ellipsoids: list[tuple[NodeEllipsoid, Array]]
    contacts: ContactMarks
    stage: Stage
    up: Array
    length: float
    """Length of the model, or of its largest part: the unit of the marks."""
    colouring: Colouring


def content_of(
    graph: Graph, maker: PartMaker, motion: Any, moving: tuple[Track, ...], over: tuple[Track, ...],
    ellipsoids: Sequence[NodeEllipsoid], colour: str = "deflection", caption: str = "",
    relative: bool = False,
) -> Content:  # fmt: skip
    """The content at the instants of `moving`, on a stage that holds all of `over`; contacts are those of `motion`.
    Flexible bodies are coloured by `colour`, from nothing to the most of it over all motions."""
    parts, ties, up = maker.parts(), maker.ties(), against_gravity(graph)
    stage = stage_of(parts, ties, over, up)
    floors = maker.floors(stage.centre, stage.radius, stage.lowest, up)
    shapes = [(x, x.at(graph, moving[0].state)) for x in ellipsoids]
    extents = [float(np.ptp(x.surface.points, axis=0).max()) for x in parts if x.body >= 0 and len(x.surface.points)]
    length = max([scale_of(graph).length, *extents])
    marks = contact_marks(graph, motion, moving[0].t, length)
    look = _colouring(parts, (*moving, *over), colour, caption, relative)
    return Content(graph, [*parts, *floors], ties, moving, shapes, marks, stage, up, length, look)


def _colouring(parts: list[Part], over: tuple[Track, ...], colour: str, caption: str, relative: bool) -> Colouring:
    words = [caption] if caption else []
    skins = [x.bending for x in parts if x.kind == "skin" and x.bending is not None]
    if skins and colour == "stress" and all(x.stress is None for x in skins):
        raise ViewError(
            "colour='stress' needs modal data that recover stress, as fx.reduce gives for solids and for beams with a "
            "shape of section; no flexible body here has them. Use colour='deflection'."
        )
    values = [x.values(colour, some_of(each)) for x in skins for each in over]
    most = max((float(x.max(initial=0.0)) for x in values if x is not None), default=0.0)
    if skins and over[0].exaggerate != 1.0:
        words.append(f"deformation drawn {over[0].exaggerate:.4g} times as large")
    return Colouring(colour if skins else "body", most, tuple(words), relative)


def against_gravity(graph: Graph) -> Array:
    """The direction up; z without gravity."""
    g = np.asarray(graph.gravity)
    size = float(np.linalg.norm(g))
    return -g / size if size > 0.0 else np.array([0.0, 0.0, 1.0])


def ghost_colour(number: int) -> Colour:
    """The colour of all bodies of motion `number`, 1 for the second."""
    return rgb(segment_colour(number))
