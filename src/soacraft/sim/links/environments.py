"""`gym`: a system as an environment of gymnasium, to learn controls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Uncopied
from soacraft.errors import LinkError, WiringError, near
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.components.registry import known_classes
from soacraft.sim.links.flock import obstacle_to_flock
from soacraft.sim.links.held import Held, hold
from soacraft.sim.links.ports import Linked
from soacraft.sim.links.vector_environment import CLOSED, UNBEGUN, read_actions, vector_environment
from soacraft.sim.systems.description import SystemData, build, describe
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

_INSTALL = "environments are those of gymnasium, which is not installed: pip install 'soacraft[gym]'."


def gym(
    system: System,
    observe: Sequence[str],
    act: Sequence[str] | Mapping[str, Any],
    reward: Callable[[dict[str, Any], Array], float],
    done: Callable[[dict[str, Any]], bool] | None = None,
    every: float = 0.01,
    begin: Callable[[System, np.random.Generator], None] | None = None,
    limit: int | None = None,
    num_envs: int | None = None,
    batch: bool | None = None,
) -> Any:
    """An environment of gymnasium; with `num_envs` a vector of so many, each with a system and a seed of its own.

    `observe` are outputs and states of components, and q and v of plants, all as one vector of numbers. `act` are
    inputs that nothing fills, held for `every` seconds, with their bounds as {"motor.voltage": (-24, 24)}, or free.
    Actions beyond their bounds are clipped to these, as by gymnasium's `ClipAction`; those that are not finite are
    refused. `reward` takes what is observed, by name and with "t", and the action that was held; `done` takes the first
    alone. `begin(system, generator)` may change a new system by a generator of the seed: `system.states["lag.x"] = ...`
    of components, `system.plants["arm"].mb.set_state(q, v)` of plants. After `limit` steps, at least one, an episode is
    truncated. An environment that was closed takes no steps.

    Several march as one batch, and agree with single ones to rounding, where that is possible: "rk4" with a fixed step,
    equations that do not take the time, `every` a multiple of step and ticks, what campaigns can batch. Others go one
    by one; `batch=True` refuses these with the reason, `batch=False` makes all go one by one, with the same bits.

    `reset` builds the system as it was given, so that the same seed gives the same bits; noise is that of the seed. A
    link to a program whose state is not known is refused. Needs gymnasium: pip install 'soacraft[gym]'.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> s = sim.System("swing", integrator="rk4", step=1e-2)
    >>> arm = s.add("arm", sim.Plant(sc.load("pendulum")))
    >>> _ = s.add("drive", sim.Force(), at=arm.dof("bob"))
    >>> env = sim.gym(s, ["arm.q", "arm.v"], {"drive.command": (-5.0, 5.0)}, lambda seen, u: -seen["arm.q"][0] ** 2)
    >>> first, _ = env.reset(seed=1)
    >>> env.step(np.array([1.0]))[0].round(5)
    array([5.e-05, 1.e-02])
    """
    environment = _kinds()
    if limit is not None:
        limit = whole_number(limit, "limit, the steps of an episode,", 1, error=WiringError)
    if num_envs is None:
        return environment(_Source(system, observe, act, every), reward, done, begin, limit)
    count, source = whole_number(num_envs, "num_envs", 1), _Source(system, observe, act, every)
    why = "batch=False" if batch is False else obstacle_to_flock(source)
    if not why:
        return vector_environment()(source, reward, done, begin, limit, count)
    if batch:
        raise WiringError(f"the environments cannot march as one batch: {why}.")
    from gymnasium.vector import SyncVectorEnv

    return SyncVectorEnv([lambda: environment(source, reward, done, begin, limit)] * count)


class _Source:
    """A system as it was given, to be built again and again; what is seen of it, and what fills it."""

    def __init__(self, system: System, observe: Sequence[str], act: Any, every: float) -> None:
        system.board.refuse_begun("it cannot become an environment")
        self.every = positive_nanoseconds(every, "every")
        self._components = {}
        for path, part in system._parts.items():
            if isinstance(part.component, Linked):
                if part.component.unkept:
                    raise WiringError(
                        f"{path!r} cannot be reset, so that it is in no environment: {part.component.unkept}."
                    )
                self._components[path] = part.component
        self._models = {path: copy.deepcopy(x.mb) for path, x in system._plants.items()}
        self._forces = {path: copy.deepcopy(list(x.forces)) for path, x in system._plants.items()}
        self._classes = known_classes({type(x.component) for x in system._parts.values()} | {Held})
        self._data: SystemData = describe(system, documents=False)
        self.actions = list(act)
        bounds = act if isinstance(act, Mapping) else dict.fromkeys(act, (-np.inf, np.inf))
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
        self.signals = [x for x in self.observed if x.partition(".")[0] not in first._plants]
        self._require_known(first)
        run = first.run(first.t, signals=self.signals or "**")
        self.seen_size = len(flat(self.seen(first, run)))

    def _require_known(self, system: System) -> None:
        for x in self.observed:
            path, _, port = x.partition(".")
            if path in system._plants:
                if port not in ("q", "v"):
                    raise WiringError(f"observe={x!r:.60}: of a plant q and v are seen; use a sim.Sensor for others.")
                continue
            part = system._parts.get(path)
            face = None if part is None else part.component.interface
            if face is None or port not in [*face.outputs, *face.continuous, *face.discrete]:
                known = [f"{y}.{z}" for y, w in system._parts.items() for z in w.component.interface.outputs]
                raise WiringError(f"observe={x!r:.60} is no output or state{near(x, known)}")

    def built(self, seed: int) -> tuple[System, dict[str, str]]:
        """A new system, and the states that hold actions."""
        data = copy.copy(self._data)
        data.seed = seed
        given = copy.deepcopy(self._models), copy.deepcopy(self._forces), self._components
        system = build(data, self._classes, *given)
        return system, hold(system, self.actions)

    def seen(self, system: System, run: Any) -> dict[str, Any]:
        """What is observed, by name."""
        found: dict[str, Any] = {}
        for x in self.observed:
            path, _, port = x.partition(".")
            if path in system._plants:
                mb = system._plants[path].mb
                found[x] = np.array(mb.q if port == "q" else mb.v)
            else:
                found[x] = run.signals[x][-1]
        return found


def flat(seen: Mapping[str, Any]) -> Array:
    """What is observed as one vector."""
    return np.concatenate([np.zeros(0), *(np.ravel(x).astype(float) for key, x in seen.items() if key != "t")])


@cache
def _kinds() -> Any:
    """The class of environments, made when gymnasium is first asked for."""
    try:
        import gymnasium
        from gymnasium.spaces import Box
    except ImportError:
        raise LinkError(_INSTALL) from None

    class SystemEnv(Uncopied, gymnasium.Env[Array, Array]):
        """A system as an environment; see `sim.gym`."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
        _instead = "it is a run in time; make another with sim.gym(...)"

        def __init__(self, source: _Source, reward: Any, done: Any, begin: Any, limit: int | None) -> None:
            self._source, self._reward, self._done, self._begin, self._limit = source, reward, done, begin, limit
            self.observation_space = Box(-np.inf, np.inf, (source.seen_size,), np.float64)
            self.action_space = Box(source.low, source.high, dtype=np.float64)
            self.system: System | None = None
            self._steps, self._closed = 0, False

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Array, dict[str, Any]]:
            """A new episode."""
            self._require_open()
            super().reset(seed=seed)
            self.system, self._held = self._source.built(int(self.np_random.integers(2**63)))
            if self._begin is not None:
                self._begin(self.system, self.np_random)
            self._steps, self._start = 0, round(self.system.t * 1e9)
            seen = self._run(self.system.t)
            return flat(seen), {"t": seen["t"]}

        def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
            """Hold an action for a period."""
            self._require_open()
            if self.system is None:
                raise LinkError(UNBEGUN)
            low, high = self._source.low, self._source.high
            action = read_actions(action, low, high, f"an action is {len(low)}")
            at = 0
            for name, size, shape in zip(self._source.actions, self._source.sizes, self._source.shapes, strict=True):
                value = action[at : at + size].reshape(shape)
                self.system.states[self._held[name]] = value if shape else float(value)
                at += size
            self._steps += 1
            seen = self._run((self._start + self._steps * self._source.every) / 1e9)
            ended = bool(self._done(seen)) if self._done is not None else False
            cut = self._limit is not None and self._steps >= self._limit
            return flat(seen), float(self._reward(seen, action)), ended, cut, {"t": seen["t"]}

        def close(self) -> None:
            """Take no more steps."""
            self._closed, self.system = True, None
            super().close()

        def _require_open(self) -> None:
            if self._closed:
                raise LinkError(CLOSED)

        def _run(self, t: float) -> dict[str, Any]:
            assert self.system is not None
            run = self.system.run(t, signals=self._source.signals or "**")
            return {**self._source.seen(self.system, run), "t": self.system.t}

    return SystemEnv
