"""A bar for what takes over a second: on a terminal, on stderr, gone at the end."""

from __future__ import annotations

from time import perf_counter
from types import TracebackType

from rich.console import Console
from rich.progress import Progress

_QUIET = 1.0  # seconds


class Bar:
    """Shows how far a run, or a reduction, is; silent unless asked for, and where there is no terminal."""

    def __init__(self, what: str, start: float, goal: float, wanted: bool, console: Console | None = None) -> None:
        self._bar: Progress | None = None
        if wanted:
            self._bar = Progress(console=console or Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=max(goal - start, 1e-300))
            self._start, self._began = start, perf_counter()

    def __enter__(self) -> Bar:
        return self

    def at(self, t: float) -> None:
        """The time, or step, reached."""
        if self._bar is None:
            return
        if self._bar.console.is_terminal and not self._bar.live.is_started and perf_counter() - self._began > _QUIET:
            self._bar.start()
        self._bar.update(self._task, completed=t - self._start)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None and self._bar.live.is_started:
            self._bar.stop()
