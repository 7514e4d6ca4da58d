"""Names that are free."""

from __future__ import annotations

from collections.abc import Iterable

from soacraft.model.arguments import ROOT_NAME


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
    """Names as the model allows them: without '/', and not that of the inertial frame.

    >>> usable(["arm", "left/arm", "left_arm", "inertial"])
    {'arm': 'arm', 'left/arm': 'left_arm_2', 'left_arm': 'left_arm', 'inertial': 'inertial_2'}
    """
    taken = Names([*names, ROOT_NAME])
    return {name: name if fits(name) else taken.new(name.replace("/", "_")) for name in names}


def fits(name: str) -> bool:
    """Whether a body can be called so."""
    return "/" not in name and name != ROOT_NAME
