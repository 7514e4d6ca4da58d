"""`soacraft view`: the workbench page, until Ctrl-C."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from threading import Event

from soacraft.cli.loading import AS_IT_IS, Loading
from soacraft.errors import ViewError
from soacraft.view.workbench.notebook import Source
from soacraft.view.workbench.serving import Workbench


def view(model: str, port: int = 0, show: bool = True, how: Loading = AS_IT_IS, end: Event | None = None) -> int:
    """Serve the page of a model or a file, print its address, and wait for Ctrl-C, or for `end`."""
    if not 0 <= port < 65536:
        raise ViewError(f"--port is a number from 0 to 65535, got {port}.")
    mb = how.load(model)
    where = str(Path(model).resolve()) if Path(model).suffix else model
    with Workbench(mb, Source(mb.name, how.code(where), mb.is_closed), port) as page:
        print(f"{mb.name} is at {page.url}\nEnd with Ctrl-C.", flush=True)
        if show:
            webbrowser.open(page.url)
        try:
            (end or Event()).wait()
        except KeyboardInterrupt:
            print()
    return 0
