"""Functions for equations that take numbers of Python quickly, and arrays with a leading batch axis as well."""

from __future__ import annotations

from typing import Any

import numpy as np


def clip(x: Any, lower: Any, upper: Any) -> Any:
    """x within limits.

    >>> clip(3.0, 0.0, 1.0), clip(np.array([-1.0, 0.5]), 0.0, 1.0)
    (1.0, array([0. , 0.5]))
    """
    if type(x) is float:
        return lower if x < lower else upper if x > upper else x
    return np.clip(x, lower, upper)


def pick(condition: Any, yes: Any, no: Any) -> Any:
    """One of two values by a condition.

    >>> pick(True, 1.0, 2.0), pick(np.array([True, False]), 1.0, 2.0)
    (1.0, array([1., 2.]))
    """
    if isinstance(condition, bool):
        return yes if condition else no
    return np.where(condition, yes, no)
