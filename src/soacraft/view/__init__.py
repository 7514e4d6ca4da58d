"""Pictures of models, operators and runs: structure, topology, sweeps, charts, and scenes in three dimensions.

Nothing below imports it. SVG, HTML and the pictures of scenes need numpy alone. Charts need matplotlib, GIFs Pillow,
mesh files other than STL and OBJ trimesh: `pip install 'soacraft[view]'` brings them.
"""

from soacraft.view.draw import draw
from soacraft.view.drawing import Picture
from soacraft.view.space import Scene, scene
from soacraft.view.spy import spy
from soacraft.view.structure import structure

__all__ = ["Picture", "Scene", "draw", "scene", "spy", "structure"]


def __dir__() -> list[str]:
    return __all__
