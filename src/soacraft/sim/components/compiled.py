"""The twins of the components that come along, from `core/sim/components/twins.cpp`."""

from __future__ import annotations

from typing import Any

from soacraft import _core
from soacraft.sim.components.twins import TwinFunction

#: Empty where the core was built before it had them: then equations are called in Python.
_ADDRESSES: dict[str, int] = _core.twins() if hasattr(_core, "twins") else {}


def ours(name: str) -> Any:
    """The twin of an equation of ours, "Gain.y"."""
    return TwinFunction(_ADDRESSES[name]) if name in _ADDRESSES else None


def address(name: str) -> int:
    """Address of a compiled function; "same" and "scaled" are those of links."""
    return _ADDRESSES[name]
