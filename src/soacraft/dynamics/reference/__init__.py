"""The reference engine: every dynamics function in Python, on the recursions of the papers, batches side by side.

It is right for every hinge, tree and sub-graph, and is what compiled kernels are compared with. An algorithm is a
function of a `Problem`, in the chapter that its row of `dynamics.table` names. The equations are at the top of each.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from soacraft.dynamics.delivery import not_finite, refuse_large_work
from soacraft.dynamics.problem import Problem
from soacraft.dynamics.reference import derivatives, energy, forward, gradients, inertia, inverse, kinematics
from soacraft.dynamics.table import TABLE
from soacraft.errors import SingularError, StateError

__all__ = ["ALGORITHMS", "REFERENCE", "Reference"]

_CHAPTERS: dict[str, ModuleType] = {
    "kinematics": kinematics,
    "energy": energy,
    "inertia": inertia,
    "inverse": inverse,
    "forward": forward,
    "derivatives": derivatives,
    "gradients": gradients,
}

ALGORITHMS: dict[str, Callable[[Problem], Any]] = {
    row.name: getattr(_CHAPTERS[row.reference], row.name) for row in TABLE.values()
}


class Reference:
    """Runs the algorithm a problem names. Overflow is left to run its course, and then refused."""

    def run(self, p: Problem) -> tuple[Any, ...]:
        """The results, each with leading axes that broadcast to the batch."""
        refuse_large_work(p)
        with np.errstate(all="ignore"):
            try:
                result = ALGORITHMS[p.function](p)
            except (SingularError, StateError, np.linalg.LinAlgError) as problem:
                if _overflowed(p, problem):
                    cause = problem if isinstance(problem, StateError) else None
                    raise not_finite(p, cause=cause) from None
                if isinstance(problem, SingularError | StateError):
                    raise
                raise SingularError(f"{p.function} of {p.graph.name!r}: {problem}.") from None
        return result if isinstance(result, tuple) else (result,)


def _overflowed(p: Problem, problem: Exception) -> bool:
    """True if an error came of numbers that overflow on the way."""
    try:
        return not inertia.finite(p) or (isinstance(problem, StateError) and "overflow" in str(problem))
    except StateError:
        return True


REFERENCE = Reference()


def __dir__() -> list[str]:
    return __all__
