"""Gimbal lock: a state in which the axes of a hinge are no longer independent, so that H(k) loses rank."""

from __future__ import annotations

import numpy as np

from soacraft.model.hinges.base import H_T_of, Hinge
from soacraft.spatial.checks import Array, number_text

#: Axes whose smallest singular value, at unit length, is below this: D = H P H* has then lost all its digits.
DEPENDENT = 1e-6


def is_locked(hinge: Hinge, q: Array) -> bool:
    """True if the columns of H*(q) are dependent. Lengths are measured by the longest lever of an axis.

    >>> from soacraft.model.hinges import Gimbal, Spherical
    >>> is_locked(Gimbal(), np.array([0.3, np.pi / 2, 0.1])), is_locked(Gimbal(), np.zeros(3))
    (True, False)
    """
    if hinge.nv < 2 or hinge.constant_H:
        return False
    H = H_T_of(hinge, q)
    turns = np.linalg.norm(H[:3], axis=0)
    levers = np.linalg.norm(H[3:], axis=0)[turns > 0.0] / turns[turns > 0.0]
    lever = float(np.max(levers, initial=0.0))
    scaled = np.concatenate([H[:3], H[3:] / (lever if lever > 0.0 else 1.0)])
    lengths = np.linalg.norm(scaled, axis=0)
    return bool(np.linalg.svd(scaled / np.where(lengths > 0.0, lengths, 1.0), compute_uv=False)[-1] < DEPENDENT)


def gimbal_lock(hinge: Hinge, name: str, q: Array) -> str | None:
    """Message for a hinge in gimbal lock, with the cure; None if it is not.

    >>> from soacraft.model.hinges import Gimbal
    >>> print(gimbal_lock(Gimbal(), "neck", np.array([0.0, np.pi / 2, 0.0])))
    gimbal lock: the axes of hinge 'neck' (Gimbal) are dependent at q = (0, 1.570796, 0), so H loses rank. ...
    """
    if not is_locked(hinge, q):
        return None
    angles = number_text(np.round(q, 6))
    return (
        f"gimbal lock: the axes of hinge {name!r} ({type(hinge).__name__}) are dependent at q = {angles}, so H loses "
        "rank. Keep away from these angles, or use a spherical hinge (sc.Spherical()), which is nowhere singular."
    )
