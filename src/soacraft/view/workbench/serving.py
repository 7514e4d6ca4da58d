"""`open_workbench`: the page of a model, served to this machine alone."""

from __future__ import annotations

import webbrowser
from typing import Any, ClassVar, Self

from soacraft.attributes import Uncopied
from soacraft.errors import ModelError
from soacraft.files.load import load
from soacraft.model import Multibody
from soacraft.view.server import serve
from soacraft.view.space import scene
from soacraft.view.workbench.notebook import Source
from soacraft.view.workbench.page import page
from soacraft.view.workbench.session import Session
from soacraft.view.workbench.upload import source_of


class Workbench(Uncopied):
    """Result of `open_workbench`: a page at `url` until `close()`. In a notebook it shows the page."""

    _instead: ClassVar = "it serves a page in this process; serve another one there"

    def __init__(self, mb: Multibody, source: Source, port: int = 0) -> None:
        self._scene: Any = None
        self._serving: Any = None
        self._session = Session(mb, source, self._tell, self._show)
        try:
            self._serving = serve(lambda nonce: page(self.mb.name, nonce), self._session.handlers, port=port)
        except BaseException:
            self.close()
            raise

    @property
    def mb(self) -> Multibody:
        """The model on the page: another one once a file was opened there."""
        return self._session.mb

    @property
    def url(self) -> str:
        """The address of the page, with its token: who has it may ask everything that the page may."""
        address: str = self._serving.url
        return address

    def close(self) -> None:
        """End the page, its scene and their threads. A second call does nothing."""
        for part in (self._serving, self._scene):
            if part is not None:
                part.close()
        self._session.close()

    def _tell(self, name: str, data: Any) -> None:
        if self._serving is not None:
            self._serving.send(name, data)

    def _show(self, mb: Multibody, folder: str) -> str:
        """The address of a live scene of a model; that of the model before ends."""
        made = scene(mb, folder=folder or None).serve()
        before, self._scene = self._scene, made
        if before is not None:
            before.close()
        return made.url

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Workbench of {self.mb.name!r}: {self._serving!r}"

    def _repr_html_(self) -> str:
        shown: str = self._serving._repr_html_()
        return shown


def open_workbench(model: Multibody | str, *, port: int = 0, show: bool = False) -> Workbench:
    """The workbench page of a model, or of a model by name or file: the model in three dimensions, its tree, and a
    prompt for operator expressions, read by a grammar of our own. `show` opens it in the browser. Needs the extra
    `view`. The page follows the model, and its sliders move it.

    >>> import soacraft as sc
    >>> with sc.view.open_workbench("arm7") as bench:
    ...     bench.url.startswith("http://127.0.0.1:"), bench.mb
    (True, Multibody 'arm7': 7 bodies, 7 dofs)
    """
    if isinstance(model, str):
        mb = load(model)
        made = Workbench(mb, Source(mb.name, f"mb = sc.load({model!r})", mb.is_closed), port)
    elif isinstance(model, Multibody):
        made = Workbench(model, source_of(model), port)
    else:
        raise ModelError(f"a workbench is opened for a model, its name or its file, got {model!r:.60}.")
    if show:
        webbrowser.open(made.url)
    return made
