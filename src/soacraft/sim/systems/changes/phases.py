"""Phases of sequences in a diagram: which components are active, and which conditions end the present phases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from soacraft.errors import near
from soacraft.sim.patterns import pattern
from soacraft.sim.systems.plants.reactions import TOUCHES
from soacraft.sim.systems.wiring import Condition, Part, split

if TYPE_CHECKING:
    from soacraft.sim.systems.changes.sequence import Transition
    from soacraft.sim.systems.diagram import Diagram


def event_name(path: str, transition: Transition) -> str:
    """The name of the event by which a condition becomes true."""
    return f"{path}: {transition.when}"


def conditions(diagram: Diagram) -> dict[str, Condition]:
    """The conditions on signals that end the present phases, by the names of their events."""
    listed = {}
    for path in sorted(diagram.sequences):
        for x in diagram.sequences[path].leaving(diagram.phase(path)):
            condition = diagram.sequences[path].condition(x)
            if condition is not None:
                listed[event_name(path, x)] = condition
    return listed


def later_conditions(diagram: Diagram) -> dict[str, Condition]:
    """The conditions of phases to come whose signals are there from the start, by the names of their events: those on
    components, on contacts, and on plants whose structure no action changes."""
    edited = {act.plant for x in diagram.sequences.values() for acts in x.actions.values() for act in acts}
    later = {}
    for path, x in sorted(diagram.sequences.items()):
        for transition in x.transitions:
            condition = x.condition(transition)
            if condition is None:
                continue
            owner, port, _ = split(condition.port)
            if owner not in edited or port in TOUCHES:
                later[event_name(path, transition)] = condition
    return later


def with_active(diagram: Diagram) -> Diagram:
    """The diagram with the components active that the present phases, and changes of structure, leave so."""
    if not diagram.sequences:
        return diagram
    patterns = []
    for path, x in diagram.sequences.items():
        now = x.phases[diagram.phase(path)]
        patterns.append(([pattern(y, "/") for y in x.named()], [pattern(y, "/") for y in now]))

    def active(path: str) -> bool:
        if path in diagram.stopped:
            return False
        return all(
            any(x.matches(path) for x in now) or not any(x.matches(path) for x in every) for every, now in patterns
        )

    parts = {
        path: Part(x.path, x.component, x.clock, x.mount, x.convert, active(path)) for path, x in diagram.parts.items()
    }
    return diagram.changed(parts=parts)


def faults(diagram: Diagram) -> list[str]:
    """Names in sequences that a diagram does not have."""
    if not diagram.sequences:
        return []
    wrong = []
    crossings = [f"{path}.{name}" for path, x in diagram.parts.items() for name in x.component.interface.crossings]
    for path, x in sorted(diagram.sequences.items()):
        for text in sorted(x.named()):
            if not pattern(text, "/").of(diagram.parts):
                wrong.append(f"{path!r}: {text!r:.60} is no component{near(text, diagram.parts)}")
        for y in x.transitions:
            if y.on and y.on not in crossings:
                wrong.append(f"{path!r}: {y.on!r:.60} is no crossing{near(y.on, crossings)}")
        for acts in x.actions.values():
            for act in acts:
                if act.plant and act.plant not in diagram.plants:
                    wrong.append(f"{path!r}: {act.plant!r:.60} is no plant{near(act.plant, diagram.plants)}")
    return wrong
