"""Classes by name: those that come along, and those that a program registers. A file names classes, no imports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from soacraft.errors import WiringError, near
from soacraft.sim.components.component import Component

_REGISTERED: dict[str, type[Component]] = {}


def register(*classes: type[Component]) -> None:
    """Let files and checkpoints name these classes of components, by `__name__`. A later class of the same name takes
    the place of an earlier one.

    >>> from soacraft import sim
    >>> class Lamp(sim.Component):
    ...     on = sim.In(dtype=bool)
    >>> sim.register(Lamp)
    """
    _REGISTERED.update(by_name(classes))


def by_name(classes: Iterable[type[Component]]) -> dict[str, type[Component]]:
    """Classes of components by their names; two of one name are refused."""
    named: dict[str, type[Component]] = {}
    for x in classes:
        if not (isinstance(x, type) and issubclass(x, Component)) or x is Component:
            raise WiringError(f"a class of components is registered, derived from sim.Component; got {x!r:.60}.")
        if named.setdefault(x.__name__, x) is not x:
            raise WiringError(f"two classes are named {x.__name__!r}: rename one, for files know them by name.")
    return named


def known_classes(classes: Iterable[type[Component]] = ()) -> dict[str, type[Component]]:
    """All classes that a file may name: the given ones come before those that are registered, these before those that
    come along."""
    from soacraft.sim.library.listed import COMPONENTS

    return {**by_name(COMPONENTS), **_REGISTERED, **by_name(classes)}


def find_class(name: str, known: Mapping[str, type[Component]], what: str) -> type[Component]:
    """A class by its name."""
    if name not in known:
        raise WiringError(
            f"{what} is of the class {name!r:.60}, which is not known{near(name, known)} Classes of your own are given "
            "with classes=[...] or sim.register(...)."
        )
    return known[name]
