"""Environments side by side, as vectors of them need it: a `Fleet`; and what judges their steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from soacraft.errors import WiringError
from soacraft.markup import Text
from soacraft.spatial.checks import Array


class Fleet(Protocol):
    """`count` environments, each with its own state. Actions are rows of numbers between `low` and `high`."""

    count: int
    low: Array
    high: Array
    names: tuple[str, ...]
    """Names of the observations."""
    seen_size: int
    """Count of the numbers that one environment observes."""
    every: int
    """The nanoseconds for which an action is held."""
    start: float
    """The time at which episodes begin."""

    def begin(self, which: Sequence[int], generators: Sequence[np.random.Generator]) -> None:
        """Restart some environments, each by its generator."""

    def advance(self, actions: Array, still: Sequence[int]) -> Mapping[int, str]:
        """Hold an action of each environment for a period, except of those that will restart. Those that cannot go on
        stay at their last good step; returns their reasons."""

    def look(self, t: Array) -> dict[str, Array]:
        """Observations {name: array}, with a row for each environment."""

    def report(self) -> Text:
        """A text: how the environments are computed, and why."""


class Rules(NamedTuple):
    """Functions of the reward and of the end of an episode, and the largest number of steps. With `vector` functions
    take arrays with a row for each environment, else the values of one."""

    reward: Callable[..., Any]
    done: Callable[..., Any] | None
    limit: int | None
    vector: bool

    def judge(self, seen: Mapping[str, Array], actions: Array, which: list[int]) -> tuple[Array, Array]:
        """Rewards, and what is done; both zero but for the environments of `which`."""
        count = len(actions)
        reward, ended = np.zeros(count), np.zeros(count, dtype=bool)
        if self.vector:
            reward[which] = self._rows(self.reward(seen, actions), count, "reward")[which]
            if self.done is not None:
                ended[which] = self._rows(self.done(seen), count, "done")[which] != 0.0
            return reward, ended
        for i in which:
            one = {key: x[i] for key, x in seen.items()}
            one["t"] = float(one["t"])
            reward[i] = float(self.reward(one, actions[i]))
            ended[i] = self.done is not None and bool(self.done(one))
        return reward, ended

    @staticmethod
    def _rows(given: Any, count: int, what: str) -> Array:
        """A number for each environment."""
        numbers = np.asarray(given, dtype=float)
        if numbers.shape != (count,):
            raise WiringError(
                f"{what} with vector=True gives a number for each of {count} environments, got shape {numbers.shape}."
            )
        return numbers


def warn_of(errors: Mapping[int, str]) -> None:
    """Warn of the first environment that could not go on."""
    for i, error in errors.items():
        text = (
            f"environment {i} was truncated, since it could not go on: {error} Later ones are in info['error'] alone."
        )
        warnings.warn(text, RuntimeWarning, stacklevel=3)
        return


def rows(seen: Mapping[str, Array], names: Sequence[str], count: int) -> Array:
    """Observations as a row of numbers for each environment; a new array, which later steps do not change."""
    parts = [np.asarray(seen[x], dtype=float).reshape(count, -1) for x in names]
    return np.concatenate([np.zeros((count, 0)), *parts], axis=1)
