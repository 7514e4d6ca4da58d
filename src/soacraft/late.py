"""Functions of higher layers that a lower layer may call; `_LATE` at the top of the package says where they are.

A layer imports from layers below it. Where an answer of a lower one needs a higher one (dynamics of a model whose
couplings tie its dofs), it asks here by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def higher(name: str) -> Callable[..., Any]:
    """The function of that name; its module is imported when it is first asked for."""
    function: Callable[..., Any] = getattr(import_module(sys.modules["soacraft"]._LATE[name]), name)
    return function
