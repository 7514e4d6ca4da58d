"""Attributes that an object does not have are refused when they are set, with the one that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, ClassVar

from soacraft.errors import StateError, UnknownAttributeError


class Strict:
    """A base of classes whose objects take no attributes but those they have.

    A misspelt or wished-for name would otherwise be kept and mean nothing. `_set_once` are the plain attributes that
    `__init__` sets and nothing changes; `_cures` says by name how the thing is done. A user's class derived from one of
    ours may have any attributes.

    >>> import soacraft as sc
    >>> sc.Multibody("arm").gravty = (0, 0, -1.62)
    Traceback (most recent call last):
        ...
    soacraft.errors.UnknownAttributeError: Multibody 'arm' has no attribute 'gravty'; did you mean 'gravity'?
    """

    _set_once: ClassVar[frozenset[str]] = frozenset()
    _cures: ClassVar[Mapping[str, str]] = {}

    def _called(self) -> str:
        """The object in the words of a message."""
        return f"this {type(self).__name__}"

    def __setattr__(self, name: str, value: Any) -> None:
        is_settable = name[0] == "_" or _may_set(type(self), name)
        if not is_settable and (name not in self._set_once or name in self.__dict__):
            raise UnknownAttributeError(self._refusal(name))
        object.__setattr__(self, name, value)

    def _refusal(self, name: str) -> str:
        """Message of the refusal: why an attribute cannot be set, and the cure."""
        exists = hasattr(type(self), name) or name in self.__dict__
        why = f"{name} of {self._called()} cannot be set" if exists else f"{self._called()} has no attribute {name!r}"
        if name in self._cures:
            return f"{why}; {self._cures[name]}."
        names = [x for x in dir(type(self)) if not x.startswith("_")]
        settable = [x for x in names if _may_set(type(self), x)]
        close = get_close_matches(name, settable, 1, 0.6) or get_close_matches(name, [*names, *self._cures], 2, 0.7)
        if close and not exists:
            return f"{why}; did you mean {' or '.join(map(repr, close))}?"
        return f"{why}; {self._cures.get('*') or 'what can be set is ' + (', '.join(settable) or 'nothing')}."


class Remade:
    """A base of classes with compiled parts: copies and pickles begin without them, and make them when they are used.

    `_remade` are the attributes, and what they are in a copy.
    """

    _remade: ClassVar[Mapping[str, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), **{name: x for name, x in self._remade.items() if name in vars(self)}}


class Uncopied:
    """A base of classes whose objects are tied to what no copy has, such as a run in time or another process: `copy`
    and `pickle` are refused, with what to do in their place."""

    _instead: ClassVar[str] = "make another"

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise StateError(f"a {type(self).__name__} is not copied or pickled: {self._instead}.")


def _settable(cls: type[Any], name: str) -> bool:
    """True if objects of a class have this attribute and let it be set; those of a user's own class take any."""
    if cls.__module__.partition(".")[0] != "soacraft":
        return True
    member = getattr(cls, name, None)
    return isinstance(member, property) and member.fset is not None


_may_set: Callable[..., bool] = lru_cache(maxsize=1024)(_settable)
