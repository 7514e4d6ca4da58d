"""`Stretch`: how many steps a run takes before it looks for requests again."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

#: Seconds of the clock on the wall between two looks. A look costs about 0.2 ms, a request waits for one or two.
_BETWEEN = 5e-3


class Stretch:
    """Number of steps that fills the time between two looks, by the times of the last ones; at most doubled each time.

    >>> now = [0.0]
    >>> stretch = Stretch(lambda: now[0])
    >>> stretch.steps
    1
    >>> stretch.begin(); now[0] += 2e-3; stretch.end(1); stretch.steps
    2
    >>> stretch.begin(); now[0] += 4e-2; stretch.end(2); stretch.steps
    1
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock, self._began = clock, clock()
        self.steps = 1
        """The number of steps to take."""
        self.total = 0
        """The number of steps that were taken."""

    def begin(self) -> None:
        """Steps begin now."""
        self._began = self._clock()

    def end(self, taken: int) -> None:
        """Count the steps that were taken since `begin`."""
        self.total += taken
        if taken > 0:
            each = max(1e-9, (self._clock() - self._began) / taken)
            self.steps = max(1, min(2 * taken, int(_BETWEEN / each)))
