"""Subscriptions to changes of a model: functions called after each change, for views and other modules.

Edits happen under the lock of a model. While there is a subscriber that lock is an `AnnouncingLock`: changes made while
a thread held it are announced by that thread when it has released it, once for the whole edit.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

from soacraft.errors import ModelError

if TYPE_CHECKING:
    from soacraft.model.tree.edits import Announcer
    from soacraft.model.tree.multibody import Multibody

#: Number of rounds in which subscribers may answer a change with another one before it is taken for a circle.
MOST_ROUNDS = 100
KINDS = ("state", "structure", "parameters", "geometry", "records")


class Change(NamedTuple):
    """Change of a model: the model, and the kinds of its changed parts.

    "state": q, v, vdot or the stored forces. "structure": bodies, hinges, nodes, loops, couplings, tendons, springs.
    "parameters": inertias, constant poses, armature, springs of hinges, gravity. "geometry": shapes and materials.
    "records": limits, actuators, keyframes and records.
    """

    model: Multibody
    kinds: frozenset[str]


Subscriber = Callable[[Change], Any]


class Subscription:
    """Result of `mb.subscribe`: `cancel()` ends it, as does the end of a `with` block."""

    def __init__(self, announcer: AnnouncingLock, function: Subscriber) -> None:
        self._announcer, self._function = announcer, function

    def cancel(self) -> None:
        """Call the function no more; a second time does nothing."""
        self._announcer.remove(self)

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *raised: object) -> None:
        self.cancel()

    def __repr__(self) -> str:
        name = getattr(self._function, "__qualname__", repr(self._function))
        return f"subscription of {name} to {self._announcer.model.name!r}"


class AnnouncingLock:
    """The lock of a model's edits that tells its subscribers, when the outermost holder has given it back."""

    def __init__(self, model: Multibody, lock: Any) -> None:
        self.model, self._lock = model, lock
        self._subscriptions: tuple[Subscription, ...] = ()
        self._depth = 0  # of the thread that holds it
        self._holder: int | None = None
        self._pending: set[str] = set()  # what it changed so far
        self._telling: dict[int, set[str]] = {}  # by thread that tells: what its subscribers changed meanwhile

    # -- the lock ----------------------------------------------------------------------------------------------

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        self._holder = get_ident()

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        kinds: set[str] = set()
        if self._depth == 0:
            self._holder = None
            kinds, self._pending = self._pending, kinds
        self._lock.release()
        if kinds:
            self._tell(kinds)

    # -- changes -----------------------------------------------------------------------------------------------

    def changed(self, kind: str) -> None:
        """Announce a change: at once, or when the thread releases the lock."""
        if self._holder == get_ident():
            self._pending.add(kind)
        else:
            self._tell({kind})

    def _tell(self, kinds: set[str]) -> None:
        me = get_ident()
        if me in self._telling:  # a subscriber changes the model: told in the next round
            self._telling[me] |= kinds
            return
        errors: list[Exception] = []
        self._telling[me] = set()
        try:
            for _ in range(MOST_ROUNDS):
                change = Change(self.model, frozenset(kinds))
                for each in self._subscriptions:
                    try:
                        each._function(change)
                    except Exception as error:
                        errors.append(error)
                kinds, self._telling[me] = self._telling[me], set()
                if not kinds or errors:
                    break
            else:
                errors.append(
                    ModelError(
                        f"subscribers of {self.model.name!r} answered every change of it with another one, "
                        f"{MOST_ROUNDS} times ({', '.join(sorted(kinds))}): let them change something else, or nothing."
                    )
                )
        finally:
            del self._telling[me]
        if len(errors) == 1:
            raise errors[0]
        if errors:
            raise ExceptionGroup(f"{len(errors)} subscribers of {self.model.name!r} failed", errors)

    # -- who is told -------------------------------------------------------------------------------------------

    def add(self, function: Subscriber) -> Subscription:
        """Tell a function of every change from now on."""
        made = Subscription(self, function)
        with self._lock:
            self._subscriptions = (*self._subscriptions, made)
        return made

    def remove(self, subscription: Subscription) -> None:
        """Tell one no more."""
        with self._lock:
            self._subscriptions = tuple(each for each in self._subscriptions if each is not subscription)


def subscribe(mb: Multibody, function: Any) -> Subscription:
    """`Multibody.subscribe`."""
    if not callable(function):
        raise ModelError(f"subscribe takes a function of one Change, got {function!r:.60}.")
    edits = mb._edits
    with edits.lock:
        announcer = edits.announcer
        if not isinstance(announcer, AnnouncingLock):
            announcer = edits.announcer = edits.lock = AnnouncingLock(mb, edits.lock)
    return announcer.add(function)


def is_observed(mb: Multibody) -> bool:
    """True if somebody is subscribed to the changes of a model, or was."""
    return _announcer(mb) is not None


def announce_state(mb: Multibody) -> None:
    """Tell subscribers of a model that its state was set in its store, as compiled code does."""
    announcer = _announcer(mb)
    if announcer is not None:
        announcer.changed("state")


def _announcer(mb: Multibody) -> Announcer | None:
    return mb._edits.announcer
