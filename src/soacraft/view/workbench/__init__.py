"""The workbench page: a model in three dimensions, its tree, and a prompt for operator expressions.

In: a model or its file. Out: a page that is served to this machine alone. `open_system` is that of a running system.
"""

from soacraft.view.workbench.scope import Scope
from soacraft.view.workbench.serving import Workbench, open_workbench
from soacraft.view.workbench.systems import SystemPage, open_system

__all__ = ["Scope", "SystemPage", "Workbench", "open_system", "open_workbench"]


def __dir__() -> list[str]:
    return __all__
