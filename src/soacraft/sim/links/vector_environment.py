"""A vector of environments on a fleet; see `environments`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from soacraft.errors import LinkError
from soacraft.markup import Text
from soacraft.sim.links.fleet import Fleet, Rules, rows, warn_of
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


@cache
def vector_environment() -> Any:
    """The class, made when gymnasium is first asked for."""
    from gymnasium.spaces import Box
    from gymnasium.utils.seeding import np_random
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space

    class SystemVectorEnv(VectorEnv[Array, Array, Array]):
        """Environments that march together. One that has ended restarts at the next step, whose action it does not
        take. One that cannot go on is truncated, with the reason in info["error"]."""

        metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

        def __init__(self, fleet: Fleet, rules: Rules) -> None:
            count = fleet.count
            self.num_envs, self._fleet, self._rules = count, fleet, rules
            self.single_observation_space = Box(-np.inf, np.inf, (fleet.seen_size,), np.float64)
            self.single_action_space = Box(fleet.low, fleet.high, dtype=np.float64)
            self.observation_space = batch_space(self.single_observation_space, count)
            self.action_space = batch_space(self.single_action_space, count)
            self._low, self._high = (np.tile(x, (count, 1)) for x in (fleet.low, fleet.high))
            self._generators = [np_random()[0] for _ in range(count)]
            self._steps, self._over = np.zeros(count, dtype=int), np.zeros(count, dtype=bool)
            self._begun = self._warned = False

        def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
            """Restart all; one seed is that of the first, the next has one more."""
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
            self._anew(list(range(self.num_envs)))
            self._begun = True
            t = self._times()
            return rows(self._fleet.look(t), self._fleet.names, self.num_envs), self._info(t)

        def _anew(self, which: list[int]) -> None:
            self._fleet.begin(which, self._generators)
            self._steps[which], self._over[which] = 0, False

        def step(self, actions: Any) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
            """Hold an action of each for a period."""
            if self.closed or not self._begun:
                raise LinkError(CLOSED if self.closed else UNBEGUN)
            held = read_actions(actions, self._low, self._high, f"actions are {self._low.shape}")
            over = np.flatnonzero(self._over).tolist()
            errors = {i: x for i, x in self._fleet.advance(held, over).items() if not self._over[i]}
            going = ~self._over
            going[list(errors)] = False
            self._steps += 1
            if over:
                self._anew(over)
            t = self._times()
            seen = self._fleet.look(t)
            reward, ended = self._rules.judge({**seen, "t": t}, held, np.flatnonzero(going).tolist())
            cut = np.zeros(self.num_envs, dtype=bool)
            if self._rules.limit is not None:
                cut = going & (self._steps >= self._rules.limit)
            cut[list(errors)] = True
            self._over = ended | cut
            info = self._info(t)
            if errors:
                if not self._warned:
                    warn_of(errors)
                self._warned = True
                texts = np.full(self.num_envs, None, dtype=object)
                texts[list(errors)] = list(errors.values())
                info |= {"error": texts, "_error": texts != None}  # noqa: E711  # of each element
            return rows(seen, self._fleet.names, self.num_envs), reward, ended, cut, info

        def report(self) -> Text:
            """A text: what the environments stand on, and why."""
            return self._fleet.report()

        def _times(self) -> Array:
            return np.asarray(self._fleet.start + self._steps * self._fleet.every / 1e9)

        def _info(self, t: Array) -> dict[str, Any]:
            return {"t": t, "_t": np.ones(self.num_envs, dtype=bool)}

    return SystemVectorEnv
