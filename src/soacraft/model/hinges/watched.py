"""Hinges whose attributes change: models that use a hinge of a user's class are notified.

A built-in hinge does not change. A user's may: results computed from it then belong to an older version of the
parameters. Changes within an array are not seen; assign the attribute again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

from soacraft.attributes import Strict
from soacraft.errors import ModelError

R = TypeVar("R")
_WATCHERS = "_watchers"


class Watcher:
    """Observer of the changes of a hinge: a model."""

    def _hinge_changes(self) -> None:
        """A hinge of it is about to change, or has changed."""
        raise AssertionError("every watcher counts the changes")


class Watched(Strict):
    """A base of hinges: to set an attribute tells the models that use it."""

    def watch(self, watcher: Watcher) -> None:
        """Tell a model of all changes from now on."""
        if not is_builtin(self):
            self.__dict__.setdefault(_WATCHERS, WeakSet()).add(watcher)

    def __setattr__(self, name: str, value: Any) -> None:
        watchers = self.__dict__.get(_WATCHERS)
        if watchers is None or _asked.by_model:
            super().__setattr__(name, value)
            return
        if name in ("nq", "nv") and value != getattr(self, name):
            raise ModelError(
                f"{name} of the hinge {self!r} cannot change from {getattr(self, name)!r} to {value!r} while a model "
                "uses it; make another hinge and attach the body by it with mb.reattach(body, parent, hinge)."
            )
        told = list(watchers)
        for each in told:  # before: what is being computed now is refused
            each._hinge_changes()
        super().__setattr__(name, value)
        for each in told:  # after: what was read meanwhile is forgotten
            each._hinge_changes()

    def __getstate__(self) -> dict[str, Any]:
        """State for pickling: all but the watchers, since a copy belongs to other models."""
        return {name: x for name, x in vars(self).items() if name != _WATCHERS}


class _Asked(threading.local):
    by_model = False


_asked = _Asked()


def ask(hinge: Watched, method: Callable[..., R], *args: Any) -> R:
    """A method of a hinge as models call it: what it keeps on the hinge meanwhile is no change of a parameter."""
    if is_builtin(hinge) or _asked.by_model:
        return method(*args)
    _asked.by_model = True
    try:
        return method(*args)
    finally:
        _asked.by_model = False


def is_builtin(hinge: Watched) -> bool:
    """True for a hinge of soacraft, not of a user's class."""
    return type(hinge).__module__.partition(".")[0] == "soacraft"
