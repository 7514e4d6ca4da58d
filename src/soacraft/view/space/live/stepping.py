"""`LiveStepper`: a page that shows a stepper as it goes on."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Any, ClassVar, Self

import numpy as np

from soacraft.attributes import Uncopied
from soacraft.errors import SoacraftError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.steppers.stepper import Stepper
from soacraft.spatial.checks import Array
from soacraft.view.space.live.serving import LiveScene

#: Pictures a second, at most.
RATE = 30.0


class LiveStepper(Uncopied):
    """Result of `sc.view.live(step)`: a page at `url` that shows one state of a stepper until `close()`.

    The page shows a copy of the model, as it was when the page was made. A thread looks `RATE` times a second, between
    two steps, and sets the copy where the state has changed: the stepper does not wait, and is not moved by the page.
    """

    _instead: ClassVar = "it serves a page in this process; serve another one there"

    def __init__(self, step: Stepper, which: int | None, serve: Callable[[Multibody], LiveScene]) -> None:
        self._step, self._which = step, which
        self._seen: tuple[Array, Array] | None = None
        step.glance(which)  # which refuses a wrong number before anything is served
        self._model = step.mb.copy()
        self._live = serve(self._model)
        self._end = Event()
        self.look()
        self._thread = Thread(target=self._follow, name="soacraft-stepper", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page, with its token."""
        return self._live.url

    @property
    def pages(self) -> int:
        """Number of open pages."""
        return self._live.pages

    @property
    def shown(self) -> Multibody:
        """The copy of the model at the state that was seen last."""
        return self._model

    def look(self) -> bool:
        """Show the present state: True if it is another one than before."""
        _, q, v = self._step.glance(self._which)
        if self._seen is not None and all(np.array_equal(x, y) for x, y in zip((q, v), self._seen, strict=True)):
            return False
        self._seen = q, v
        try:
            self._model.set_state(q, v)
        except SoacraftError:  # beyond what pages show; the next state may be fine
            return False
        return True

    def _follow(self) -> None:
        while not self._end.wait(1.0 / RATE):
            if self._live.pages:
                self.look()

    def close(self) -> None:
        """End the page and the threads that follow. A second call does nothing."""
        self._end.set()
        self._thread.join()
        self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Live view of {self._step!r}: {self.url}"

    def _repr_html_(self) -> Any:
        return self._live._repr_html_()
