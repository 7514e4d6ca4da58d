"""The workbench page: a model in three dimensions, its tree, and a prompt for operator expressions.

In: a model or its file. Out: a page that is served to this machine alone.
"""

from soacraft.view.workbench.scope import Scope
from soacraft.view.workbench.serving import Workbench, open_workbench

__all__ = ["Scope", "Workbench", "open_workbench"]


def __dir__() -> list[str]:
    return __all__
