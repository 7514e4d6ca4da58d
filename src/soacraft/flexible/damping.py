"""Modal damping from ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, number_text


def modal_damping(K: Array, M: Array, ratio: Any) -> Array | None:
    """D = M V diag(2 zeta omega) V* M, V the vibrations of K and M with V* M V = I: each is damped with its ratio zeta.

    >>> modal_damping(np.diag([4.0, 9.0]), np.eye(2), 0.01).diagonal().round(6)
    array([0.04, 0.06])
    """
    if ratio is None:
        return None
    n = len(K)
    zeta = finite(ratio, (), "damping") if np.ndim(ratio) == 0 else finite(ratio, (n,), "damping of the modes")
    if zeta.size and zeta.min() < 0.0:
        raise ModelError(f"damping must not be negative, got {number_text(zeta.min())}.")
    values, V = eigh(K, M)
    MV = M @ V
    D = MV * (2.0 * zeta * np.sqrt(np.maximum(values, 0.0))) @ MV.T
    return np.asarray(0.5 * (D + D.T))
