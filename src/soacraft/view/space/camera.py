"""Camera on a sphere about the point that it looks at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.spatial.checks import Array
from soacraft.view.space.surfaces import rotation_to

#: The angle that a picture covers along its shorter side, in radians.
FIELD = np.deg2rad(32.0)


@dataclass(frozen=True, eq=False)
class Camera:
    """Looks at `target` from `distance`, with `axes` (3, 3): rows right, up and back, towards the camera."""

    target: Array
    distance: float
    axes: Array

    @property
    def position(self) -> Array:
        """Position of the camera."""
        return np.asarray(self.target + self.distance * self.axes[2])

    def seen(self, points: Array, width: int, height: int) -> tuple[Array, Array]:
        """Places in the picture (..., 2) in pixels, and depths (...): distances along the view."""
        local = (points - self.position) @ self.axes.T
        depth = -local[..., 2]
        focal = 0.5 * min(width, height) / np.tan(0.5 * FIELD)
        with np.errstate(all="ignore"):
            x = 0.5 * width + focal * local[..., 0] / depth
            y = 0.5 * height - focal * local[..., 1] / depth
        return np.stack([x, y], axis=-1), depth


def camera(centre: Array, radius: float, up: Array, azimuth: float, elevation: float, zoom: float) -> Camera:
    """A camera that sees a ball: `azimuth` about up and `elevation` above level, in degrees; `zoom` goes nearer."""
    frame = rotation_to(up) if abs(up[2]) < 1.0 else np.diag([1.0, up[2], up[2]])
    a, e = np.deg2rad(azimuth), np.deg2rad(elevation)
    back = frame @ np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    right = frame @ np.array([-np.sin(a), np.cos(a), 0.0])
    return Camera(centre, radius / (np.sin(0.5 * FIELD) * zoom), np.stack([right, np.cross(back, right), back]))
