"""`open_system`: the page of a running system, served to this machine alone."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass
from typing import Annotated, Any, Self

from msgspec import Meta

from soacraft.errors import ViewError
from soacraft.messages import Refusal
from soacraft.sim import System
from soacraft.sim.serving.verbs import Run, Set, Step, Verbs, listed
from soacraft.view.server import Handler, Request, serve
from soacraft.view.space import scene
from soacraft.view.workbench.page import page

#: Parts and names that a page lists, and values that it asks for at once.
MOST_PARTS, MOST_NAMES, MOST_VALUES = 2000, 20_000, 500
#: Seconds between two looks, and for one request.
_PERIOD, _PATIENCE = 0.05, 15.0


class Look(Request):
    """The values that the page shows."""

    names: Annotated[list[Annotated[str, Meta(max_length=1000)]], Meta(max_length=MOST_VALUES)]


@dataclass(frozen=True)
class _Bounds:
    names: int = MOST_VALUES
    subscriptions: int = 0


class SystemPage:
    """Result of `open_system`: a page at `url` until `close()`. In a notebook it shows the page."""

    def __init__(self, system: System, port: int = 0) -> None:
        self._system, self._desk = system, system.desk()
        self._serving: Any = None
        self._scene: Any = None
        self._closed = False
        system.check()
        plant = next((x for x in system.diagram.plants.values() if x.mb.nv), None)
        verbs = Verbs(self._desk, _Bounds(), None, self._tell).handlers
        handlers = {
            "hello": Handler(Request, _patient(lambda asked: self._desk.ask(self._hello))),
            "look": Handler(Look, _patient(lambda asked: self._desk.ask(lambda: self._look(asked.names)))),
            **{name: Handler(x.asks, _patient(x.answer)) for name, x in verbs.items() if name in _VERBS},
        }
        self._desk.users += 1
        try:
            self._scene = None if plant is None else scene(plant.mb).serve()
            self._serving = serve(lambda nonce: page(system.name, nonce, "system"), handlers, port=port)
            self._number = self._desk.ask(lambda: self._desk.follow(["t"], _PERIOD, 1, self._tell)).result(_PATIENCE)
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        """The address of the page, with its token: who has it may ask everything that the page may."""
        address: str = self._serving.url
        return address

    def close(self) -> None:
        """End the page, a run that it began, and a pause. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        for x in (self._serving, self._scene):
            if x is not None:
                x.close()
        if hasattr(self, "_number"):
            self._desk.ask(lambda: self._desk.leave(self._number))
        self._desk.close()

    def _tell(self, told: dict[str, Any]) -> None:
        """Tell the pages, in the thread of the run, and move the model that the scene shows."""
        if told["event"] == "values":
            self._desk.show()
        if self._serving is not None:
            self._serving.send(told["event"], told["data"])

    def _hello(self) -> dict[str, Any]:
        told = listed(self._system, self._desk.present())
        parts, names = told["parts"], told["names"]
        return {
            "system": told["system"],
            "parts": parts[:MOST_PARTS],
            "names": dict(list(names.items())[:MOST_NAMES]),
            "more": len(parts) > MOST_PARTS or len(names) > MOST_NAMES,
            "scene": "" if self._scene is None else self._scene.url,
        }

    def _look(self, names: list[str]) -> dict[str, Any]:
        status = self._desk.status()
        return {**status, "values": self._desk.get(names, MOST_VALUES)["values"]}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"page of {self._system.name!r}: {self._serving!r}"

    def _repr_html_(self) -> str:
        shown: str = self._serving._repr_html_()
        return shown


#: Further requests of a page: no files are written.
_VERBS = {"set": Set, "run": Run, "step": Step, "pause": Request, "status": Request}


def _patient(answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Handler that waits for an answer that is a future."""

    def call(asked: Any) -> Any:
        given = answer(asked)
        if not isinstance(given, Future):
            return given
        try:
            return given.result(_PATIENCE)
        except Late:
            given.cancel()
            raise Refusal("time", f"no answer in {_PATIENCE:g} s: a step takes longer.") from None

    return call


def open_system(system: System, *, port: int = 0, show: bool = False) -> SystemPage:
    """The page of a system: its parts, the values of their ports, plots, pause, step and run, and the model of its
    first plant in three dimensions. It shows what goes on while `system.run` does. `show` opens it in the browser.
    Needs the extra `view`.

    >>> import soacraft as sc
    >>> s = sc.sim.System("wave", integrator="rk4", step=0.01)
    >>> _ = s.add("wave", sc.sim.Sine(frequency=1.0))
    >>> with sc.view.open_system(s) as page:
    ...     run = s.run(1.0)
    ...     page.url.startswith("http://127.0.0.1:")
    True
    """
    if not isinstance(system, System):
        raise ViewError(f"the page of a system is opened for an sc.sim.System, got {system!r:.60}.")
    made = SystemPage(system, port)
    if show:
        webbrowser.open(made.url)
    return made
