"""Equations of components that edit the model of a plant: refused with their names, as functions that give values
are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from soacraft.errors import StaleError
from soacraft.sim.systems.plants.plant import Plant


def unedited(function: Callable[..., Any], key: str, plants: Sequence[Plant]) -> Callable[..., Any]:
    """A function that raises `StaleError` where it edited the model of a plant. About 0.2 us a call."""

    def refusing(*given: Any) -> Any:
        before = [x.seat.mb.revision for x in plants]
        value = function(*given)
        if [x.seat.mb.revision for x in plants] != before:
            raise edited(key, plants)
        return value

    return refusing


def edited(key: str, plants: Sequence[Plant]) -> StaleError:
    """The error of an equation that edited the model."""
    names = " and ".join(repr(x.mb.name) for x in plants)
    return StaleError(
        f"the equation {key!r} changed the model {names}: equations of components give numbers and are called at "
        "trial states, so they change nothing. Change the model between two runs."
    )
