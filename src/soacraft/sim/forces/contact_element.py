"""`Touching`: what contact by impulses, by events and by a compliant force have in common."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from typing import Any, Self

import numpy as np

from soacraft.contact.dynamics.impulses import Further
from soacraft.contact.dynamics.surfaces import Friction, Pairs, Surfaces
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.solvers.blocks import Bilateral
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import tied_rows
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

#: No two shapes pass each other where nothing moves by more than this part of the least thickness of two.
_NEVER = 0.1


class PassesThrough(SimulationError):
    """A step that may lead shapes through each other: a shorter one is needed, this `part` of it."""

    part: float

    def __init__(self, text: str, part: float = 0.0) -> None:
        super().__init__(text)
        self.part = part


class Touching:
    """The shapes of a model that may touch, and what their surfaces are to each other."""

    def __init__(self, scene: Scene | None, friction: Friction, restitution: float, pairs: Pairs | None) -> None:
        if scene is not None and not isinstance(scene, Scene):
            raise StateError(f"scene must be a sc.contact.Scene, got {scene!r:.60}.")
        self._scene, self._friction, self._restitution, self._pairs = scene, friction, restitution, pairs
        self._kept_scenes: tuple[tuple[Multibody, int, Scene], ...] = ()
        self._sliding: dict[str, float] = {}  # of shapes whose friction is another one than the model says

    def bind(self, mb: Multibody) -> None:
        """Take the model and its shapes."""
        if self._scene is not None and self._scene.model is not mb:
            raise ModelError(f"the scene is of {self._scene.model.name!r}, the propagator of {mb.name!r}.")
        self._mb, self.scene = mb, self._scene if self._scene is not None else Scene(mb)

    def with_model(self, mb: Multibody) -> Self:
        """A contact element like this one for a copy of the model, on which an edit is tried."""
        other = copy(self)
        if self._scene is not None:
            other._scene = self._scene.with_model(mb)
        return other

    def require_sides(self, t: float, h: float, start: tuple[Array, Array], end: tuple[Array, Array]) -> None:
        """Refuse a step of length h from t on, between two states (q, v), that may lead shapes through each other."""
        fastest = max(self.scene.fastest(*start), self.scene.fastest(*end))
        if not 2.0 * h * fastest > _NEVER * self.scene.thinnest:
            return
        passing = self.scene.passing(start, end, h)
        if passing is not None:
            longest = passing.longest(h)
            cure = f"take steps of at most {longest:.2g} s"
            if not longest > 0.0:
                cure = f"give one of them a width, or let them keep clear, as scene.set_padding(1e-3, {passing.a!r})"
            raise PassesThrough(
                f"in the step of {h:.3g} s from t = {t:.9g} s on {passing!r}: they may pass through each other "
                f"unseen; {cure}.",
                passing.part,
            )

    @property
    def cautions(self) -> list[str]:
        """Lines on pairs without thickness, which tell nothing of the side on which they are."""
        if self.scene.thinnest > 0.0:
            return []
        thin = {name: shape.core.thin for name, shape in self.scene.shapes.items()}
        flat = [(a, b) for a, b in self.scene.pairs if thin[a] + thin[b] == 0.0]
        more = f" and {len(flat) - 3} pairs more" if len(flat) > 3 else ""
        named = ", ".join(f"{a!r} and {b!r}" for a, b in flat[:3])
        return [f"{named}{more} have no thickness: a run ends where they would meet; scene.set_padding gives them some"]

    def keep_scene(self) -> None:
        """Keep a copy of the shapes as they are, for runs that outlive a change of the model's structure. O(model)."""
        mb = self.scene.model
        if self.scene_at(mb, mb.version) is None:
            self._kept_scenes = (*self._kept_scenes, (mb, mb.version, deepcopy(self.scene)))

    def scene_at(self, mb: Multibody, version: int) -> Scene | None:
        """The copy of the shapes that was kept of a version of a model; None where none was."""
        return next((scene for x, n, scene in self._kept_scenes if x is mb and n == version), None)

    def made_surfaces(self, scene: Scene | None = None) -> Surfaces:
        """Friction and restitution of all pairs, as the model has them now, or had them in a scene that was kept."""
        surfaces = Surfaces(scene or self.scene, self._friction, self._restitution, self._pairs)
        return surfaces.with_friction(self._sliding) if self._sliding else surfaces

    def _coefficients(self) -> str:
        """Text on the friction and restitution of shapes that have none themselves."""
        return f"{self._friction} friction, {self._restitution:g} restitution"


def body_wrenches(
    mb: Multibody, state: State, pairs: Sequence[tuple[str, str]], points: Array, moments: Array, forces: Array
) -> dict[Any, Wrench]:
    """Wrenches of contact on bodies about their origins, in inertial axes: `moments` and `forces` (points, 3) act at
    `points` (points, 3) on the second shape of each pair, "body/shape", and against it on the first. O(points)."""
    totals: dict[Any, Array] = {}
    for pair, point, moment, force in zip(pairs, points, moments, forces, strict=True):
        for shape, sign in zip(pair, (-1.0, 1.0), strict=True):
            frame = mb.frame(shape.rpartition("/")[0])
            if isinstance(frame.carrier, Body):
                arm = point - mb.pose(frame, state=state).translation
                totals.setdefault(frame, np.zeros(6))
                totals[frame] += sign * np.concatenate([moment + np.cross(arm, force), force])
    return {frame: Wrench(w[:3], w[3:], expressed_in=mb.root) for frame, w in totals.items()}


def read_choice(value: Any, name: str, known: tuple[str, ...]) -> None:
    """Refuse what is not one of the known words."""
    if value not in known:
        *first, last = (repr(x) for x in known)
        raise StateError(f"{name}={value!r:.40} is unknown; give {', '.join(first)} or {last}.")


def read_tolerance(tolerance: float) -> float:
    """A number between 0 and 1."""
    value = float(finite(tolerance, (), "tolerance", StateError))
    if not 0.0 < value < 1.0:
        raise StateError(f"tolerance is {tolerance!r}; it must be between 0 and 1.")
    return value


def closures(graph: Graph, q: Array) -> Further:
    """The rows of closures and couplings at q, which hold. O(rows nv)."""
    G = tied_rows(Constraints(graph, graph.state(q, np.zeros(graph.nv))))
    return G, tuple(Bilateral(f"closure row {i}") for i in range(len(G))), np.zeros(len(G))
