"""Hinge of a closure that rolls: a ball's, a disc's or an ellipsoid's, by the parameters of its shape."""

from __future__ import annotations

from typing import Any

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.rolling_ball import RollingBall
from soacraft.model.hinges.rolling_disc import RollingDisc
from soacraft.model.hinges.rolling_ellipsoid import RollingEllipsoid


def rolling_hinge(name: str, radius: Any, axis: Any, semi_axes: Any, normal: Any) -> Hinge:
    """A ball of a radius, a disc of a radius about an axis, or an ellipsoid of semi-axes.

    >>> rolling_hinge("wheel", 0.5, None, None, (0, 0, 1))
    RollingBall(radius=0.5, normal=(0, 0, 1))
    """
    if (radius is None) == (semi_axes is None) or (axis is not None and radius is None):
        given = [x for x, y in (("radius", radius), ("axis", axis), ("semi_axes", semi_axes)) if y is not None]
        raise ModelError(
            f"rolling {name!r} needs radius= (a ball), radius= and axis= (a disc or wheel), or semi_axes= (an "
            f"ellipsoid), got {' and '.join(given) or 'none of them'}."
        )
    if semi_axes is not None:
        return RollingEllipsoid(semi_axes, normal)
    return RollingBall(radius, normal) if axis is None else RollingDisc(radius, axis, normal)
