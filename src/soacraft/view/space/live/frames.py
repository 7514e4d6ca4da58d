"""The numbers of one instant, for pages: everything that a change of the state changes, from one state."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import SoacraftError
from soacraft.model.modal.bodies import turns_unreported
from soacraft.model.states.state import State
from soacraft.ops.namespace import operators
from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import matrix_to_quaternion
from soacraft.view.space.content import Content
from soacraft.view.space.ellipsoid import inertia_shape
from soacraft.view.space.live.sliders import Sliders
from soacraft.view.space.motion import drawn, openings
from soacraft.view.space.page import tints


@dataclass(frozen=True)
class Picked:
    """The body of which a page wants to see R or P; none for -1."""

    body: int = -1
    composite: bool = False
    articulated: bool = False


def frame(version: int, seen: Content, sliders: Sliders, state: State, picked: Picked) -> bytes:
    """Single precision, in the order in which `web/frames.js` reads it: the version of the scene; poses, (n + 1, 7);
    the colours of closures; all modal coordinates; the ellipsoids at nodes; the velocities, (n, 6); what the sliders
    show, (nv); the number of the picked body, its R and its P as ellipsoids. O(n).
    """
    graph, q = seen.graph, np.asarray(state.q)
    with turns_unreported():
        poses = dyn.poses(graph, drawn(graph, q, seen.tracks[0].exaggerate), ignore_loops=True)
    places = np.empty((len(graph) + 1, 7))
    places[:-1, :4] = matrix_to_quaternion(np.asarray(poses.rotation))
    places[:-1, 4:] = poses.translation - seen.stage.centre
    places[-1] = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    numbers = [
        np.array([float(version)]),
        places,
        tints(openings(graph, q[None])) if seen.ties else np.zeros(0),
        q[graph.layout.own.q],
        *_ellipsoids(seen, q),
        np.asarray(dyn.velocities(graph, q, state.v, ignore_loops=True)),
        sliders.values(q),
        _inertias(seen, state, picked),
    ]
    return np.concatenate([x.ravel() for x in numbers]).astype("<f4").tobytes()


def _ellipsoids(seen: Content, q: Array) -> list[Array]:
    """Numbers of the ellipsoids at nodes, relative to the centre."""
    if not seen.ellipsoids:
        return []
    state, away = seen.graph.state(q=q[None]), np.concatenate([np.zeros(6), seen.stage.centre])
    return [x.at(seen.graph, state)[0] - away for x, _ in seen.ellipsoids]


def _inertias(seen: Content, state: State, picked: Picked) -> Array:
    """The number of the picked body, then R and P of it; zeros where they are not wanted, or not known."""
    k, shapes = picked.body, np.zeros(19)
    shapes[0] = k
    if not 0 <= k < len(seen.graph):
        return shapes
    R, P = operators(state, "R P", ignore_loops=True)
    for wanted, operator, place in ((picked.composite, R, slice(1, 10)), (picked.articulated, P, slice(10, 19))):
        if wanted:
            with suppress(SoacraftError):  # the page has the reason from the details of the scene
                shapes[place] = inertia_shape(np.asarray(operator[k, k])[:6, :6])  # below six are rotors
    return shapes
