"""Subscriptions of clients to values, and the times when they are sent next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from math import inf
from time import monotonic
from typing import Any, NamedTuple


class Following(NamedTuple):
    """Names, the seconds between two sendings, and where they go."""

    names: tuple[str, ...]
    period: float
    send: Callable[[Any], None]


class Followers:
    """All subscriptions. `due` is cheap, since every step of a run asks for it."""

    def __init__(self) -> None:
        self._all: dict[int, Following] = {}
        self._next: dict[int, float] = {}
        self._sent: dict[int, tuple[float, dict[str, Any]]] = {}
        self._soonest, self._numbers = inf, count(1)

    @property
    def due(self) -> bool:
        """True if values are to be sent now."""
        return monotonic() >= self._soonest

    @property
    def wait(self) -> float:
        """Seconds until values are due."""
        return max(0.0, self._soonest - monotonic())

    def add(self, following: Following) -> int:
        """Have values sent; the number of this."""
        number = next(self._numbers)
        self._all[number], self._next[number] = following, 0.0
        self._soonest = 0.0
        return number

    def remove(self, number: int) -> bool:
        """End a subscription; true if there was one."""
        existed = self._all.pop(number, None) is not None
        self._next.pop(number, None)
        self._sent.pop(number, None)
        self._soonest = min(self._next.values(), default=inf)
        return existed

    def clear(self) -> None:
        """Nobody follows any more."""
        for number in list(self._all):
            self.remove(number)

    def send(self, read: Callable[[Sequence[str]], tuple[float, dict[str, Any]]], every: bool = False) -> None:
        """Send values that are others now to those whose time has come, or to all."""
        now = monotonic()
        for number, x in list(self._all.items()):
            if not every and self._next[number] > now:
                continue
            self._next[number] = now + x.period
            fresh = read(x.names)
            if self._sent.get(number) != fresh:
                self._sent[number] = fresh
                data = {"subscription": number, "t": fresh[0], "values": fresh[1]}
                x.send({"event": "values", "data": data})
        self._soonest = min(self._next.values(), default=inf)

    def tell(self, event: str, data: Any) -> None:
        """Tell all something."""
        for x in {id(x.send): x for x in self._all.values()}.values():
            x.send({"event": event, "data": data})
