"""A bar for what takes long: on a terminal, from the second second on, and gone at the end."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import Progress

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_QUIET = 1.0  # seconds


class Counted(Protocol[T_co]):
    """Items whose number is known before they are."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[T_co]: ...


def shown(items: Counted[T], what: str, console: Console | None = None) -> Iterator[T]:
    """The items, one by one; once they take over a second a bar on stderr says how many are done, if it is a terminal.

    >>> list(shown([1, 2, 3], "counting"))
    [1, 2, 3]
    """
    start, bar = perf_counter(), Progress(console=console or Console(stderr=True), transient=True)
    task = bar.add_task(what, total=len(items))
    try:
        for done, item in enumerate(items):
            if bar.console.is_terminal and not bar.live.is_started and perf_counter() - start > _QUIET:
                bar.start()
            bar.update(task, completed=done)
            yield item
    finally:
        if bar.live.is_started:
            bar.stop()
