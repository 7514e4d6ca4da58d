"""`Catalogue`: several named things, in order, found by number or by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, SupportsIndex, TypeVar, cast, overload

from soacraft.errors import ModelError, near


class Named(Protocol):
    """Protocol of objects with a name."""

    @property
    def name(self) -> str: ...


T_co = TypeVar("T_co", bound=Named, covariant=True)


class Catalogue(tuple[T_co, ...]):
    """A tuple of named things that also answers to their names.

    >>> from soacraft.model.tree.parts.records import Record
    >>> found = Catalogue([Record("sensor", "gyro"), Record("sensor", "camera")], "record")
    >>> found["camera"].kind, found[0].name, "gyro" in found, found.names
    ('sensor', 'gyro', True, ('gyro', 'camera'))
    """

    kind: str

    def __new__(cls, items: Iterable[T_co], kind: str = "entry") -> Catalogue[T_co]:
        self = super().__new__(cls, items)
        self.kind = kind
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(item.name for item in self)

    def find(self, item: Any) -> T_co:
        """One of them from itself or its name."""
        if isinstance(item, str):
            return self[item]
        for own in self:
            if own is item or (type(own) is type(item) and own == item):
                return own
        raise ModelError(f"{self.kind} {item!r:.60} is not one of these: {self._list()}.")

    @overload
    def __getitem__(self, key: SupportsIndex | str) -> T_co: ...

    @overload
    def __getitem__(self, key: slice) -> Catalogue[T_co]: ...

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return Catalogue(super().__getitem__(key), self.kind)
        if not isinstance(key, str):
            return super().__getitem__(cast(SupportsIndex, key))
        for item in self:
            if item.name == key:
                return item
        raise ModelError(f"there is no {self.kind} {key!r}{near(key, self.names)}")

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.names)

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else super().__contains__(key)

    def _list(self) -> str:
        shown = [repr(name) for name in self.names[:8]]
        return ", ".join([*shown, *(["..."] if len(self) > 8 else [])]) or "none"

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self))}{',' if len(self) == 1 else ''})"
