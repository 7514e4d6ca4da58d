"""Edits of a model: the counts of its changes, the lock they happen under, and the flat form of the latest counts.

A count grows before its edit, so that what other threads read meanwhile is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any, Generic, Protocol, TypeVar

from soacraft.model.hinges.watched import Watcher


class Compiled(Protocol):
    """The compiled form of a model, as far as edits know it; its kernels are those of the core."""

    parameters: int
    frames: dict[Any, bytes]
    kernels: Any


class FlatForm(Protocol):
    """The flat form of a model, as far as edits know it."""

    parameters: int
    compiled: list[Any]
    index: dict[Any, int]


class Announcer(Protocol):
    """Receiver of notices of changes: the lock of a model that somebody has subscribed to."""

    def changed(self, kind: str) -> None:
        """Announce a change."""


Tell = Callable[[Compiled, int, Any], None]
Form = TypeVar("Form", bound=FlatForm)


class Told(Protocol):
    """Receiver of notices before an edit: the current state of the model."""

    def keep(self) -> None:
        """The structure is about to change."""

    def count(self, parameters: int) -> None:
        """The parameters are about to have this version."""


class Edits(Watcher, Generic[Form]):
    """The versions of a model: `version` of its structure, `parameters` of its parameters.

    What was derived from the model belongs to both, which its `layout` carries. Edits, and the making of a layout,
    happen under `lock`.
    """

    def __init__(self, state: Told, version: int = 0, parameters: int = 0) -> None:
        self.version, self.parameters = version, parameters
        self.revision = 0
        """The count of all edits: of structure, parameters, shapes, limits and records."""
        self.lock: Any = RLock()
        self.announcer: Announcer | None = None  # the same lock, once somebody is subscribed
        self.layout: Form | None = None
        self._state = state

    def changed(self, kind: str) -> None:
        """Announce a change to the subscribers."""
        if kind != "state":
            self.revision += 1
        if self.announcer is not None:
            self.announcer.changed(kind)

    def structure(self) -> None:
        """Prepare a structural change: store the state by body, drop the flat form, count the version up."""
        self._state.keep()
        if self.layout is not None:
            for model in self.layout.compiled:
                if model is not None:
                    model.kernels.retire()
            self.layout = None
        self.version += 1
        self.changed("structure")

    def parameter(self) -> None:
        """Prepare a change of a parameter: count the version up."""
        self.parameters += 1
        self._state.count(self.parameters)
        self.changed("parameters")

    def set(self, owner: Any, name: str, value: Any, tell: Tell | None = None) -> None:
        """Set a parameter of the model or of a frame of it. `tell` brings it to the compiled model, with the number of
        the body; without it the compiled model gets all parameters when it is next asked for.
        """
        with self.lock:
            before = self.parameters
            self.parameter()
            owner.__dict__[name] = value
            layout = self.layout
            if layout is None or not layout.compiled or layout.compiled[0] is None:
                return
            model: Compiled = layout.compiled[0]
            if tell is None or model.parameters != before:
                model.kernels.outdate()
                return
            tell(model, layout.index.get(owner, -1), value)
            model.parameters = before + 1

    def _hinge_changes(self) -> None:
        """An attribute of a user's own hinge: all that was derived from it is of older parameters."""
        with self.lock:
            self.parameter()
