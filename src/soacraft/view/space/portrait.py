"""The picture of a model for its card, as PNG: its shapes at the present state, on a ground that is seen through."""

from __future__ import annotations

import numpy as np

from soacraft.model.tree.graph import Graph
from soacraft.view.drawing.png import png
from soacraft.view.space.scenes import scene

#: Pixels of a side; a page shows them at half this size, so that edges are smooth.
SIDE = 400


def portrait(graph: Graph) -> bytes:
    """PNG of a model at its present state, with the corner's colour made transparent.

    >>> import soacraft as sc
    >>> portrait(sc.load("pendulum"))[1:4]
    b'PNG'
    """
    pixels = scene(graph).pixels(size=(SIDE, SIDE), zoom=1.2)
    ground = (pixels == pixels[0, 0]).all(axis=2)
    opacity = np.where(ground, 0, 255).astype(np.uint8)
    return png(np.ascontiguousarray(np.dstack([pixels, opacity])))
