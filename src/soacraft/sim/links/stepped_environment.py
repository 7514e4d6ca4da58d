"""One environment on a stepper; see `environments`."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from soacraft.attributes import Uncopied
from soacraft.errors import LinkError
from soacraft.markup import Text
from soacraft.sim.links.fleet import Rules, rows, warn_of
from soacraft.sim.links.stepped import SteppedFleet
from soacraft.sim.links.vector_environment import CLOSED, UNBEGUN, read_actions
from soacraft.sim.steppers.stepper import Stepper
from soacraft.spatial.checks import Array


@cache
def stepped_environment() -> Any:
    """The class, made when gymnasium is first asked for."""
    import gymnasium
    from gymnasium.spaces import Box

    class SteppedEnv(Uncopied, gymnasium.Env[Array, Array]):
        """A motion as an environment; see `sim.gym`."""

        metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012
        _instead = "it is a run in time; make another with sim.gym(...)"

        def __init__(self, fleet: SteppedFleet, rules: Rules) -> None:
            self._fleet, self._rules = fleet, rules
            self.observation_space = Box(-np.inf, np.inf, (fleet.seen_size,), np.float64)
            self.action_space = Box(fleet.low, fleet.high, dtype=np.float64)
            self._steps, self._begun, self._closed, self._warned = 0, False, False, False

        @property
        def stepper(self) -> Stepper:
            """Stepper of the environment: q, v and u of now."""
            return self._fleet.steppers[0]

        def reset(
            self, *, seed: int | None = None, options: dict[str, Any] | None = None
        ) -> tuple[Array, dict[str, Any]]:
            """A new episode."""
            self._require_open()
            super().reset(seed=seed)
            self._fleet.begin([0], [self.np_random])
            self._steps, self._begun = 0, True
            t = self._times()
            return rows(self._fleet.look(t), self._fleet.names, 1)[0], {"t": float(t[0])}

        def step(self, action: Any) -> tuple[Array, float, bool, bool, dict[str, Any]]:
            """Hold an action for a period. One that cannot go on is truncated, with the reason in info["error"]."""
            self._require_open()
            if not self._begun:
                raise LinkError(UNBEGUN)
            low, high = self._fleet.low, self._fleet.high
            held = read_actions(action, low, high, f"an action is {len(low)}")[None]
            errors = self._fleet.advance(held, [])
            self._steps += 1
            t = self._times()
            seen, going = self._fleet.look(t), [] if errors else [0]
            reward, ended = self._rules.judge({**seen, "t": t}, held, going)
            cut = bool(errors) or (self._rules.limit is not None and self._steps >= self._rules.limit)
            info: dict[str, Any] = {"t": float(t[0])}
            if errors:
                if not self._warned:
                    warn_of(errors)
                self._warned = True
                info["error"] = errors[0]
            return rows(seen, self._fleet.names, 1)[0], float(reward[0]), bool(ended[0]), cut, info

        def report(self) -> Text:
            """A text: how the environment is computed, and why."""
            return self._fleet.report()

        def close(self) -> None:
            """Take no more steps."""
            self._closed = True
            super().close()

        def _require_open(self) -> None:
            if self._closed:
                raise LinkError(CLOSED)

        def _times(self) -> Array:
            return np.array([self._fleet.start + self._steps * self._fleet.every / 1e9])

    return SteppedEnv
