"""`World`: the surroundings of a robot, and pairs that may not touch. Objects are fixed, fixed on the robot, or have
hinges.

Shapes, distances and the search for near pairs are those of `sc.contact.Scene`; the robot itself is left alone, and
changes of it are followed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.arguments import Seed, read_seed, whole_number
from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.robot.world.allowed import Allowed, sampled
from soacraft.robot.world.details import Details
from soacraft.robot.world.drawing import MOST_DRAWN, draw
from soacraft.robot.world.edges import Edge, Edges
from soacraft.robot.world.placing import WorldScene
from soacraft.robot.world.queries import Distances, Queries
from soacraft.robot.world.room import Room, look
from soacraft.robot.world.watch import Watch
from soacraft.spatial.checks import Array


class World(Details):
    """Objects around a robot.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> w = sc.robot.World(rb)
    >>> w.add("table", sc.contact.Box(0.5, 1.0, 0.1), sc.Pose(translation=(0.7, 0, 0.2)))
    >>> w.collides([0, 0.3, 0, -1.5, 0, 2.0, 0.8]), w.collides([0, 1.5, 0, -0.5, 0, 2.0, 0.8])
    (False, True)
    """

    def __init__(self, robot: Robot) -> None:
        super().__init__(robot)
        self._made: tuple[Any, Queries] | None = None
        self._watch = Watch(robot.mb)

    def copy(self, robot: Robot | None = None) -> World:
        """An independent world for another module: all objects and settings, around a copy of the robot,
        made here or given (`rb.copy()`), or around the robot itself. Distances are the same bits. O(objects).

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("panda")))
        >>> w.add("table", sc.contact.Box(0.5, 1.0, 0.1), sc.Pose(translation=(0.7, 0, 0.2)))
        >>> w.pad("table", 0.01)
        >>> planning = w.copy()
        >>> w.remove("table")
        >>> planning.objects, planning.paddings, planning.robot is w.robot
        (('table',), {('table',): 0.01}, False)
        """
        other = World(self._robot.copy() if robot is None else robot)
        mb = other.robot.mb
        for name, item in self._items.items():
            if item.on is not None and item.on not in mb:
                raise ModelError(f"object {name!r} is on {item.on!r}, which the robot {mb.name!r} does not have.")
        other._take(self)
        return other

    def __reduce__(self) -> tuple[Any, ...]:
        said = ("_items", "_given", "_hidden", "_pads", "_allowed", "_details")  # scene and shapes are made again
        return type(self), (self._robot,), {name: vars(self)[name] for name in said}

    # -- pairs ---------------------------------------------------------------------------------------------------

    def make_allowed(
        self, samples: int = 100_000, seed: int = 0, *, never: bool = False, progress: bool = False
    ) -> Allowed:
        """Find the pairs of the robot's bodies that always touch, touch as it is now, or never do in so many random
        configurations, and allow the first two; with `never` those too, which makes queries faster and is a guess.
        Objects, paddings and pairs allowed before do not count. The same seed gives the same answer. O(samples):
        about a second for 100,000 of an arm; closed chains take some milliseconds each. `progress` shows a bar."""
        report = sampled(self, samples, seed, progress)
        for row in report.rows:
            if row.kind in ("always", "default") or (never and row.kind == "never"):
                self.allow(row.a, row.b, row.kind)
        return report

    def check(self, samples: int = 1000, seed: int = 0) -> Room:
        """Refuse a world that leaves the robot no room: where a pair touches in every one of some random
        configurations, by its padding or by itself, a `StateError` names it. Otherwise, how many are free and what
        touches most.

        >>> import soacraft as sc
        >>> w = sc.robot.World(sc.robot.Robot(sc.load("ur5e")))
        >>> w.check(samples=200).free > 20
        True
        """
        return look(self, samples, seed)

    # -- queries -------------------------------------------------------------------------------------------------

    def collides(self, q: Any, *, threads: int | None = None) -> Any:
        """True if anything touches that may not, at q (nq) or a batch (..., nq), whatever the threads. The check ends
        with the first touch.
        """
        return self._queries().collides(q, threads)

    def touching(self, q: Any) -> list[tuple[str, str]]:
        """The pairs of shapes that touch at one configuration, the deepest first."""
        rows = self.distances(q, 0.0)
        return [rows.pairs[i] for i in np.argsort(rows.distance)]

    def distances(self, q: Any, within: float = np.inf, *, threads: int | None = None) -> Distances:
        """Pairs nearer than `within` metres, with the derivatives of their distances along the robot's dofs, at q (nq)
        or a batch (states, nq); the same numbers one by one, in a batch, and on any number of threads. Where shapes are
        in each other the distance is less than zero. O(n + shapes + pairs that are near, times their hinges).

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.load("panda"))
        >>> w = sc.robot.World(rb)
        >>> w.add("post", sc.contact.Capsule(0.05, 1.0), sc.Pose(translation=(0.4, 0.4, 0.5)))
        >>> near = w.distances([0, 0.3, 0, -1.5, 0, 2.0, 0.8], within=0.3)
        >>> near, near.gradient.shape, near.smooth
        (3 pairs, nearest link2/hull - link5/hull at 0.204114 m, (3, 7), array([ True,  True,  True]))
        """
        return self._queries().distances(q, within, threads)

    def edge(self, q0: Any, q1: Any, *, gap: float | None = None, first: bool = True) -> Edge:
        """Check that the robot is free all the way from q0 to q1, each hinge at a constant rate; else find where it
        first comes nearer than `gap` to something (by default 1e-6 of its size). There are no samples to slip between:
        each configuration that is checked clears a part of the motion, by bounds on how the hinges move each shape.
        With first=False it ends with any touch, which is all that a planner needs.
        """
        return self._queries().edge(q0, q1, gap, first)

    def edges(
        self, q0: Any, q1: Any, *, gap: float | None = None, first: bool = True, threads: int | None = None
    ) -> Edges:
        """Check many motions, from q0 (count, nq) to q1 (count, nq), each as `edge` does."""
        return self._queries().edges(q0, q1, gap, first, threads)

    def sample(self, rng: Seed, count: int) -> Array:
        """Configurations of the robot drawn evenly within its limits, (count, nq), by a generator or from a seed; dofs
        without limits over a turn, or the length of the model either way, about where they are. Closed chains are
        closed. Objects that were given to the robot stay where they are, as elastic modes do and all dofs that are not
        `rb.movable`."""
        mb, rng, count = self._robot.mb, read_seed(rng, "rng"), whole_number(count, "count", 1, MOST_DRAWN)
        movable = movable_dofs(mb, self._robot.held)
        chosen, bodies = movable.copy(), {x for name in self._given for x in self._given[name]}
        for body, dofs in zip(mb.bodies, mb.layout.hinge_v, strict=True):
            chosen[dofs] &= body.name not in bodies
        return draw(mb, rng, count, movable, chosen)

    # -- inside --------------------------------------------------------------------------------------------------

    @property
    def scene(self) -> WorldScene:
        """The shapes of the robot and of the objects together, as they are checked now."""
        scene = self._queries().scene
        assert isinstance(scene, WorldScene)
        return scene

    def body_of(self, shape: str) -> str:
        """The body or object that a shape belongs to."""
        return shape.rpartition("/")[0]

    def _queries(self) -> Queries:
        mb, stored, shapes_of_robot = self._robot.mb, self._made, self._robot._shapes
        now = self._changes, mb.version, mb.parameters
        if stored is not None and stored[0][:3] == now and stored[0][-1] is shapes_of_robot and not self._watch.changed:
            return stored[1]
        self._watch.forget()
        shapes = tuple(x for c in (mb.root, *mb.bodies) for x in c._geometries.values())
        key = (*now, shapes, mb.records, mb.mesh_folder, shapes_of_robot)
        if self._made is None or self._made[0] != key:
            self._made = key, Queries(mb, self._lay_out(mb, self._pads))
        return self._made[1]

    def scene_on(self, mb: Multibody) -> Scene:
        """The shapes on a copy of the robot's model, without paddings: what touches there acts in runs with contact."""
        return self._lay_out(mb, {})

    def __repr__(self) -> str:
        hidden = f", {len(self._hidden)} hidden" if self._hidden else ""
        pairs = f"{len(self._allowed)} pairs allowed"
        return f"World around {self._robot.mb.name!r}: {len(self._items)} objects{hidden}, {pairs}"
