"""`ModalSkin`: the visible surface of a flexible body, triangles whose corners are carried by stations. For pictures
alone.

A station is a place of the body that moves and turns with the modes, as a node does; a corner at d from its station is

    x(eta) = l(eta) + exp(theta(eta)~) d,    l = at + gam eta + 1/2 eta gam2 eta,    theta = lam eta

Sections of beams are rigid: a few stations along the axis carry all corners of their outlines. The surface of a solid
has a station in each corner, which need not turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, frozen
from soacraft.spatial.rotations import exp

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ModalSkin:
    """Triangles (m, 3) of corners (c), counter-clockwise seen from outside. Constant.

    Stations are `at` (k, 3) and move by `gam` (k, 3, n) and, where given, `gam2` (k, 3, n, n). With `lam` (k, 3, n)
    they turn: `owner` (c) is then the station of each corner, `offset` (c, 3) its place from there, and `normals` (c,
    3) point outward. Without `lam` corners are stations, and triangles are flat. `element` (m) is the element that a
    triangle belongs to, by which stress is recovered.
    """

    triangles: Numbers
    at: Array
    gam: Array
    lam: Array | None = None
    gam2: Array | None = None
    owner: Numbers | None = None
    offset: Array | None = None
    normals: Array | None = None
    element: Numbers | None = None

    def __post_init__(self) -> None:
        what = "of the skin of modal data"
        turning = [x is not None for x in (self.lam, self.owner, self.offset, self.normals)]
        if any(turning) != all(turning):
            raise ModelError(f"lam, owner, offset and normals {what} are given together or not at all.")
        at = finite(self.at, (None, 3), f"at {what}")
        gam = finite(self.gam, (len(at), 3, None), f"gam {what}")
        n = gam.shape[2]
        read: dict[str, Any] = {"at": at, "gam": gam}
        corners = len(at)
        if self.owner is not None:
            read["owner"] = _numbers(self.owner, 1, len(at), f"owner {what}")
            corners = len(read["owner"])
            read["lam"] = finite(self.lam, (len(at), 3, n), f"lam {what}")
            read["offset"] = finite(self.offset, (corners, 3), f"offset {what}")
            read["normals"] = finite(self.normals, (corners, 3), f"normals {what}")
        if self.gam2 is not None:
            read["gam2"] = finite(self.gam2, (len(at), 3, n, n), f"gam2 {what}")
        read["triangles"] = _numbers(self.triangles, 2, corners, f"triangles {what}")
        if self.element is not None:
            read["element"] = _numbers(self.element, 1, 2**31, f"element {what}")
            if len(read["element"]) != len(read["triangles"]):
                raise ModelError(f"element {what} needs a number for each of its {len(read['triangles'])} triangles.")
        for name, value in read.items():
            object.__setattr__(self, name, frozen(np.ascontiguousarray(value)))

    @property
    def n(self) -> int:
        """The number of modes."""
        return int(self.gam.shape[2])

    def corners(self, eta: Array) -> Array:
        """Positions of the corners in the body frame, (..., c, 3)."""
        places = self.at + np.einsum("kaj,...j->...ka", self.gam, eta)
        if self.gam2 is not None:
            places = places + 0.5 * np.einsum("kaij,...i,...j->...ka", self.gam2, eta, eta, optimize=True)
        if self.owner is None or self.offset is None:
            return np.asarray(places)
        return np.asarray(places[..., self.owner, :] + self._turned(eta, self.offset))

    def outward(self, eta: Array) -> Array | None:
        """The normals at the corners, (..., c, 3); None where triangles are flat."""
        return None if self.normals is None else self._turned(eta, self.normals)

    def deflections(self, eta: Array) -> Array:
        """Distances of the corners from their positions on the undeformed body, seen from its frame, (..., c)."""
        return np.asarray(np.linalg.norm(self.corners(eta) - self.corners(np.zeros(self.n)), axis=-1))

    def _turned(self, eta: Array, x: Array) -> Array:
        assert self.lam is not None
        R = exp(np.einsum("kaj,...j->...ka", self.lam, eta))
        return np.asarray(np.einsum("...cab,cb->...ca", R[..., self.owner, :, :], x))


def _numbers(x: Any, ndim: int, below: int, what: str) -> Numbers:
    """Whole numbers from 0 to below; triangles in rows of three."""
    array = np.asarray(x)
    right = array.ndim == ndim and array.dtype.kind in "iuf" and (ndim == 1 or array.shape[1] == 3)
    if not right or not ((array >= 0) & (array < below) & (array % 1 == 0)).all():
        rows = ", three in a row" if ndim == 2 else ""
        raise ModelError(f"{what} must be whole numbers from 0 to {below - 1}{rows}.")
    return array.astype(np.int64)
