"""Pictures of models, operators and runs: structure, topology, sweeps, charts, scenes in three dimensions, and the
workbench page.

Nothing below imports it. SVG, HTML and the pictures of scenes need numpy alone. Charts need matplotlib, GIFs Pillow,
mesh files other than STL and OBJ trimesh, live pages websockets: `pip install 'soacraft[view]'` brings them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from soacraft.hints import missing
from soacraft.view.draw import draw
from soacraft.view.drawing import Picture
from soacraft.view.spy import spy
from soacraft.view.structure import structure
from soacraft.view.sweeps import Sweep, sweep

if TYPE_CHECKING:
    from soacraft.view.charts import Chart, bode, campaign, convergence, plot, study, workspace
    from soacraft.view.live_view import live
    from soacraft.view.space import Scene, mode, scene
    from soacraft.view.workbench import SystemPage, Workbench, open_system, open_workbench

__all__ = [
    "Chart", "Picture", "Scene", "Sweep", "SystemPage", "Workbench", "bode", "campaign", "convergence", "draw", "live",
    "mode", "open_system", "open_workbench", "plot", "scene", "spy", "structure", "study", "sweep", "workspace",
]  # fmt: skip

#: Names that need simulation or contact, imported when first read.
_LATER = {
    "Chart": "charts", "Scene": "space", "SystemPage": "workbench", "Workbench": "workbench", "bode": "charts",
    "campaign": "charts", "convergence": "charts", "live": "live_view", "mode": "space", "open_system": "workbench",
    "open_workbench": "workbench", "plot": "charts", "scene": "space", "study": "charts", "workspace": "charts",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise missing(__name__, name, () if name.startswith("_") else __all__)
    value = getattr(import_module(f"soacraft.view.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
