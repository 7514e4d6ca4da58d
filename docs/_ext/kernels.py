"""How the notebooks of the documentation run: talk with their kernels is encrypted, and nothing of it is logged.

A kernel that is talked to in plain text prints a warning of that for every page.
"""

from __future__ import annotations

import logging
from typing import Any

from jupyter_client.manager import KernelManager


def quietly() -> None:
    """Kernels that are started from now on get keys of their own."""
    logging.getLogger("traitlets").setLevel(logging.WARNING)  # nbclient has a line for each page
    KernelManager.transport_encryption.default_value = "auto"


def setup(app: Any) -> dict[str, bool]:
    """Sphinx calls this."""
    quietly()
    return {"parallel_read_safe": True}
