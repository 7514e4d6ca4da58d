"""Names that are free."""

from __future__ import annotations

from collections.abc import Iterable

from soacraft.model.tree.arguments import ROOT_NAME


class Names:
    """Names in use; gives out new ones in constant time.

    >>> names = Names(["arm"])
    >>> names.new("arm"), names.new("arm"), names.new("leg")
    ('arm_2', 'arm_3', 'leg')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._taken

    def new(self, name: str) -> str:
        """The name itself, or with the first number that makes it new; it is taken from now on."""
        new, number = name, self._last.get(name, 1)
        while new in self._taken:
            number += 1
            new = f"{name}_{number}"
        self._last[name] = number
        self._taken.add(new)
        return new


def usable(names: list[str]) -> dict[str, str]:
    """Names as the model allows them: not that of the inertial frame.

    >>> usable(["left/arm", "inertial"])
    {'left/arm': 'left/arm', 'inertial': 'inertial_2'}
    """
    taken = Names([*names, ROOT_NAME])
    return {name: name if name != ROOT_NAME else taken.new(name) for name in names}
