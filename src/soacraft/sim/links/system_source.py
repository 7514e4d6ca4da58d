"""A system as it was given, to be built again and again for environments."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from soacraft.errors import WiringError, near
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.components.registry import known_classes
from soacraft.sim.links.held import Held, hold
from soacraft.sim.links.ports import Linked
from soacraft.sim.systems.description import SystemData, build, describe
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array


class SystemSource:
    """A system as it was given, to be built again and again; what is seen of it, and what fills it."""

    def __init__(self, system: System, observe: Sequence[str], act: Any, every: float) -> None:
        system.board.refuse_begun("it cannot become an environment")
        self.every = positive_nanoseconds(every, "every")
        self._components = {}
        for path, part in system.diagram.parts.items():
            if isinstance(part.component, Linked):
                if part.component.unkept:
                    raise WiringError(
                        f"{path!r} cannot be reset, so that it is in no environment: {part.component.unkept}."
                    )
                self._components[path] = part.component
        self._models = {path: copy.deepcopy(x.mb) for path, x in system.diagram.plants.items()}
        self._forces = {path: copy.deepcopy(list(x.forces)) for path, x in system.diagram.plants.items()}
        self._classes = known_classes({type(x.component) for x in system.diagram.parts.values()} | {Held})
        self._data: SystemData = describe(system, documents=False)
        self.actions = list(act)
        free = (-np.inf, np.inf)
        bounds = {x: act[x] or free for x in act} if isinstance(act, Mapping) else dict.fromkeys(act, free)
        first, held = self.built(0)
        first.check()
        shapes = [np.shape(first.states[held[x]]) for x in self.actions]
        self.sizes = [int(np.prod(x, dtype=int)) for x in shapes]
        self.shapes = shapes
        low, high = (
            [np.full(n, bounds[x][i], dtype=float) for x, n in zip(self.actions, self.sizes, strict=True)]
            for i in (0, 1)
        )
        self.low, self.high = np.concatenate([np.zeros(0), *low]), np.concatenate([np.zeros(0), *high])
        if not (self.low <= self.high).all():
            raise WiringError("bounds of actions are pairs (lower, upper), with lower at most upper.")
        self.observed = list(observe)
        self.signals = [x for x in self.observed if x.partition(".")[0] not in first.diagram.plants]
        self._require_known(first)
        run = first.run(first.t, signals=self.signals or "**")
        self.seen_size = len(flat(self.seen(first, run)))

    def _require_known(self, system: System) -> None:
        for x in self.observed:
            path, _, port = x.partition(".")
            if path in system.diagram.plants:
                if port not in ("q", "v"):
                    raise WiringError(f"observe={x!r:.60}: of a plant q and v are seen; use a sim.Sensor for others.")
                continue
            part = system.diagram.parts.get(path)
            face = None if part is None else part.component.interface
            if face is None or port not in [*face.outputs, *face.continuous, *face.discrete]:
                outputs = [f"{y}.{z}" for y, w in system.diagram.parts.items() for z in w.component.interface.outputs]
                raise WiringError(f"observe={x!r:.60} is no output or state{near(x, outputs)}")

    def bare(self, seed: int) -> System:
        """A new system, with nothing in its free inputs."""
        data = copy.copy(self._data)
        data.seed = seed
        parts = copy.deepcopy(self._models), copy.deepcopy(self._forces), self._components
        return build(data, self._classes, *parts)

    def built(self, seed: int) -> tuple[System, dict[str, str]]:
        """A new system, and the states that hold actions."""
        system = self.bare(seed)
        return system, hold(system, self.actions)

    def seen(self, system: System, run: Any) -> dict[str, Any]:
        """Observations {name: value} at the end of a run."""
        values: dict[str, Any] = {}
        for x in self.observed:
            path, _, port = x.partition(".")
            if path in system.diagram.plants:
                mb = system.diagram.plants[path].mb
                values[x] = np.array(mb.q if port == "q" else mb.v)
            else:
                values[x] = run.signals[x][-1]
        return values


def flat(seen: Mapping[str, Any]) -> Array:
    """Observations as one vector."""
    return np.concatenate([np.zeros(0), *(np.ravel(x).astype(float) for key, x in seen.items() if key != "t")])
