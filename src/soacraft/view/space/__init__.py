"""Scenes in three dimensions: pictures of a model and of its motion, without a display.

In: a model, motions, further objects to draw. `parts` are surfaces fixed on bodies, `motion` poses over time, `details`
the numbers of each body, `content` all together; `pictures` (by `raster`), `video` and `page` show it. `web` has the
scripts of pages, a file for each idea; `live` pages that follow their model.
"""

from soacraft.view.space.mode_shapes import mode
from soacraft.view.space.scenes import Scene, scene

__all__ = ["Scene", "mode", "scene"]


def __dir__() -> list[str]:
    return __all__
