"""Small dense quadratic programs, compiled (Goldfarb and Idnani 1983):

    min over x of  x* H x / 2 + g* x,    lower <= C x <= upper
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soacraft import _core
from soacraft.errors import ConvergenceError, SingularError
from soacraft.kinematics.tolerances import ROWS_OF_QP
from soacraft.spatial.checks import Array

_WHY = {2: "nothing satisfies all rows", 3: "the active set changed too often"}


class Solution(NamedTuple):
    """Minimum of the cost, and the multipliers of the rows: positive at a lower bound, negative at an upper one."""

    x: Array
    multipliers: Array


def solve_qp(H: Array, g: Array, C: Array, lower: Array, upper: Array, scale: float = 0.0) -> Solution:
    """The solution; `SingularError` where H is not positive definite, `ConvergenceError` where there is none. Rows hold
    to rounding of what is added in them, x being a part of something of the size `scale`.

    >>> import numpy as np
    >>> solve_qp(np.eye(2), np.array([-1.0, -1.0]), np.array([[1.0, 1.0]]), np.array([-np.inf]), np.array([1.0])).x
    array([0.5, 0.5])
    """
    x, y = np.zeros(len(g)), np.zeros(len(C))
    H, g, C, lower, upper = (np.ascontiguousarray(a, dtype=float) for a in (H, g, C, lower, upper))
    status = _core.solve_qp(H, g, C, lower, upper, ROWS_OF_QP, float(scale), x, y)
    if status == 1:
        raise SingularError("the cost of a quadratic program is not positive definite.")
    if status:
        raise ConvergenceError(f"a quadratic program of {len(g)} numbers and {len(C)} rows: {_WHY[status]}.")
    return Solution(x, y)
