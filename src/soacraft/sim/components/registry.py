"""Registry of classes, those of the library and those that a program registers. A file names classes, no imports.

Classes of assemblies are registered as well; a description of a system has their parts, a file has them as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from soacraft.errors import WiringError, near
from soacraft.late import higher
from soacraft.sim.components.component import Component
from soacraft.sim.systems.assembly import Assembly

PartClass = type[Component] | type[Assembly]

_REGISTERED: dict[str, PartClass] = {}


def register(*classes: PartClass) -> None:
    """Let files and checkpoints name these classes of components and assemblies, by `__name__`. A later class of the
    same name takes the place of an earlier one.

    >>> from soacraft import sim
    >>> class Lamp(sim.Component):
    ...     on = sim.In(dtype=bool)
    >>> sim.register(Lamp)
    """
    _REGISTERED.update(by_name(classes))


def by_name(classes: Iterable[PartClass]) -> dict[str, PartClass]:
    """Classes of components and assemblies by their names; two of one name are refused."""
    named: dict[str, PartClass] = {}
    for x in classes:
        if not (isinstance(x, type) and issubclass(x, Component | Assembly)) or x in (Component, Assembly):
            raise WiringError(
                f"a class of components or assemblies is registered, derived from sim.Component or sim.Assembly; got "
                f"{x!r:.60}."
            )
        if named.setdefault(x.__name__, x) is not x:
            raise WiringError(
                f"two classes are named {x.__name__!r}: rename one, since files refer to classes by their names."
            )
    return named


def known_classes(classes: Iterable[PartClass] = ()) -> dict[str, PartClass]:
    """All classes that a file may name: the given ones come before those that are registered, these before those that
    come along."""
    from soacraft.sim.library.listed import COMPONENTS
    from soacraft.sim.systems.from_model import FromModel

    return {**by_name([*COMPONENTS, FromModel]), **_REGISTERED, **by_name(classes)}


def find_class(name: str, known: Mapping[str, PartClass], what: str) -> type[Component]:
    """A class of components by its name."""
    component = _found(name, known, what)
    if not issubclass(component, Component):
        raise WiringError(f"{what} is of the class {name!r:.60}, which is an assembly, and a component is needed.")
    return component


def find_assembly(name: str, known: Mapping[str, PartClass], what: str) -> type[Assembly]:
    """A class of assemblies by its name."""
    assembly = _found(name, known, what)
    if not issubclass(assembly, Assembly):
        raise WiringError(f"{what} is of the class {name!r:.60}, which is a component, and an assembly is needed.")
    return assembly


def _found(name: str, classes: Mapping[str, PartClass], what: str) -> PartClass:
    if name not in classes and name not in _REGISTERED:
        higher("register_laws")()  # the control laws of robots come along, but are imported when a file names one
    classes = {**_REGISTERED, **classes}
    if name not in classes:
        raise WiringError(
            f"{what} is of the class {name!r:.60}, which is not known{near(name, classes)} Classes of your own are "
            "given with classes=[...] or sim.register(...)."
        )
    return classes[name]
