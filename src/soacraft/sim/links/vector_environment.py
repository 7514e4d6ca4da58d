"""A vector of environments on one batch; see `environments`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from soacraft.errors import LinkError
from soacraft.sim.links.flock import Flock
from soacraft.spatial.checks import Array

#: Errors of environments that were not begun, or ended.
UNBEGUN = "an environment is reset before its first step: env.reset(seed=1)."
CLOSED = "the environment was closed; make a new one with sim.gym(...)."


def read_actions(given: Any, low: Array, high: Array, what: str) -> Array:
    """Actions within their bounds; refused where they are not finite numbers of that shape."""
    try:
        actions = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        actions = np.full(1, np.nan)
    if actions.shape != low.shape or not np.isfinite(actions).all():
        raise LinkError(f"{what} finite numbers, got {given!r:.60}.")
    return np.asarray(np.clip(actions, low, high))


def rows(seen: Mapping[str, Array], count: int) -> Array:
    """What is observed, a row for each copy."""
    return np.concatenate([np.zeros((count, 0)), *(x.reshape(count, -1).astype(float) for x in seen.values())], axis=1)


@cache
def vector_environment() -> Any:
    """The class, made when gymnasium is first asked for."""
    from gymnasium.spaces import Box
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    class SystemVectorEnv(VectorEnv[Array, Array, Array]):
        """Copies of a system that march as one batch. What has ended begins anew at the next step, whose action it does
        not take."""

        metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self, source: Any, reward: Any, done: Any, begin: Any, limit: int | None, count: int) -> None:
            self._source, self._reward, self._done, self._begin, self._limit = source, reward, done, begin, limit
            self.num_envs, self._flock = count, Flock(source, count)
            self.single_observation_space = Box(-np.inf, np.inf, (source.seen_size,), np.float64)
            self.single_action_space = Box(source.low, source.high, dtype=np.float64)
            self.observation_space = batch_space(self.single_observation_space, count)
            self.action_space = batch_space(self.single_action_space, count)
            self._generators = [np_random()[0] for _ in range(count)]
            self._steps, self._over = np.zeros(count, dtype=int), np.zeros(count, dtype=bool)
            self._begun = False

        def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
            """All of them anew; one seed is that of the first, the next has one more."""
            if self.closed:
                raise LinkError(CLOSED)
            if seed is not None:
                seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int | np.integer) else list(seed)
                n = self.num_envs
                if len(seeds) != n:
                    raise LinkError(f"{n} environments take one seed, or {n}; got {len(seeds)}.")
                self._generators = [
                    old if x is None else np_random(int(x))[0] for old, x in zip(self._generators, seeds, strict=True)
                ]
            self._anew(range(self.num_envs))
            self._begun = True
            return rows(self._flock.seen(), self.num_envs), self._info()

        def _anew(self, which: Any) -> None:
            systems = {}
            for i in which:
                system, _ = self._source.built(int(self._generators[i].integers(2**63)))
                if self._begin is not None:
                    self._begin(system, self._generators[i])
                systems[int(i)] = system
                self._steps[i], self._over[i] = 0, False
            self._start = next(iter(systems.values())).t
            self._flock.begin(systems)

        def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
            """Hold an action of each for a period."""
            if self.closed or not self._begun:
                raise LinkError(CLOSED if self.closed else UNBEGUN)
            low, high = (np.tile(x, (self.num_envs, 1)) for x in (self._source.low, self._source.high))
            given = read_actions(actions, low, high, f"actions are {low.shape}")
            over, source, at, held = self._over.copy(), self._source, 0, {}
            for name, size, shape in zip(source.actions, source.sizes, source.shapes, strict=True):
                held[name] = given[:, at : at + size].reshape(self.num_envs, *shape)
                at += size
            self._flock.step(held)
            self._steps += 1
            if over.any():
                self._anew(np.flatnonzero(over))
            seen, info = self._flock.seen(), self._info()
            reward, ended = np.zeros(self.num_envs), np.zeros(self.num_envs, dtype=bool)
            for i in np.flatnonzero(~over):
                one = {**{key: x[i] for key, x in seen.items()}, "t": float(info["t"][i])}
                reward[i] = float(self._reward(one, given[i]))
                ended[i] = self._done is not None and bool(self._done(one))
            cut = np.zeros(self.num_envs, dtype=bool)
            if self._limit is not None:
                cut = ~over & (self._steps >= self._limit)
            self._over = ended | cut
            return rows(seen, self.num_envs), reward, ended, cut, info

        def _info(self) -> dict[str, Any]:
            t = self._start + self._steps * self._source.every / 1e9
            return {"t": t, "_t": np.ones(self.num_envs, dtype=bool)}

    return SystemVectorEnv
