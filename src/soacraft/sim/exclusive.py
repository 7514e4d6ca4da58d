"""`Exclusive`: one run at a time of what has one state, in one thread."""

from __future__ import annotations

from threading import Lock, get_ident

import msgspec

from soacraft.errors import StateError


class Exclusive:
    """The right to change a state, for one call at a time. A call within it, or of another thread, is refused, and
    changes nothing.

    >>> alone = Exclusive("the propagator of 'arm'", "p = sc.sim.Propagator(mb.copy())")
    >>> with alone.held("advance_to"):
    ...     alone.is_held
    True
    """

    def __init__(self, what: str, another: str) -> None:
        self._what, self._another = what, another
        self._lock, self._thread, self._call = Lock(), 0, ""

    @property
    def is_held(self) -> bool:
        """True if a call goes on."""
        return self._lock.locked()

    def require_free(self, call: str) -> None:
        """Raise `StateError` for a call while another one goes on."""
        if not self._lock.locked():
            return
        if self._thread == get_ident():
            raise StateError(
                f"{call} was called within {self._call} of {self._what}, by one of its functions: that call goes "
                f"on when the function returns. Call {call} after it; to look ahead, make another: {self._another}."
            )
        raise StateError(
            f"{call} was called while another thread is in {self._call} of {self._what}: its state is for one thread "
            f"at a time. Wait for its end, or make another for each thread: {self._another}."
        )

    def take(self, call: str) -> None:
        """Take it for a call, which gives it back with `free`."""
        if not self._lock.acquire(False):
            self.require_free(call)
            raise StateError(f"{call} was called while another thread was in {self._what}: call it again.")
        self._thread, self._call = get_ident(), call

    def free(self) -> None:
        """Give it back."""
        self._lock.release()

    def held(self, call: str) -> Held:
        """Hold it during a call: `with alone.held("advance_to"):`."""
        return Held(self, call)


class Held(msgspec.Struct, frozen=True, eq=False):
    """An exclusive right during a call."""

    right: Exclusive
    call: str

    def __enter__(self) -> None:
        self.right.take(self.call)

    def __exit__(self, *raised: object) -> None:
        self.right.free()
