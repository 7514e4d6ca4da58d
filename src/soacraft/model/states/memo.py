"""`Memo`: numbers of a state that are computed when first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from soacraft.model.flat.layout import Layout
from soacraft.results import finite_or_refused

T = TypeVar("T")

#: Names of the numbers of a memo, for the error when they overflow.
_NUMBERS = {
    "relative": "the pose of each body in its parent's frame",
    "world": "the pose of each body in the inertial frame",
    "A": "phi(p(k), k)",
    "maps": "H*(k)",
    "twists": "H*(k) v(k)",
    "V": "the velocity V(k) of each body",
    "a": "the Coriolis acceleration a(k) of each body",
    "gyroscopic": "the gyroscopic force of each body",
    "alpha": "the acceleration alpha(k) of each body",
    "b": "the force b(k) on each body",
}


class Memo:
    """Values computed when first asked for, finite or refused; each evaluation is counted under `what`."""

    def __init__(self, layout: Layout, counters: Counter[str], what: str) -> None:
        self._layout, self.counters, self._what = layout, counters, what
        self._values: dict[Any, Any] = {}

    def __call__(self, key: Any, work: Callable[[], T]) -> T:
        if key not in self._values:
            try:
                with np.errstate(all="ignore"):
                    value = work()
            except Exception:
                self._layout.require_current()
                raise
            for x in value if isinstance(value, tuple) else (value,):
                if isinstance(x, np.ndarray):
                    name = _NUMBERS.get(key if isinstance(key, str) else key[0], str(key))
                    finite_or_refused(x, name, "Check the units of the model, q and v.")
            self._layout.require_current()
            self.counters[self._what] += 1
            self._values[key] = value
        known: T = self._values[key]
        return known
