"""`Sequence`: the phases of a mission. A state machine that says which components are active, and changes structure.

It is plain data: names of phases, transitions by the names of crossings, by conditions on signals or after a time, and
actions. Where a system is in it, a phase and the instant at which it began, is plain data too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from soacraft.attributes import Strict
from soacraft.errors import WiringError, near
from soacraft.files.native_hinges import hinge_from_plain, plain_hinge
from soacraft.model.hinges.base import Hinge
from soacraft.sim.clock import nanoseconds
from soacraft.sim.patterns import require_short
from soacraft.sim.systems.changes.change import MOUNTED
from soacraft.sim.systems.wiring import Condition

_WHEN = re.compile(r"\s*(?P<port>(?:[^<>\s\[\]]|\[[^\]]*\])+)\s*(?P<sign>[<>])\s*(?P<value>[-+0-9.eE]+)\s*")
_PHASE = re.compile(r"[A-Za-z_]\w*")
#: Fields that each action needs, {action: fields}.
_ACTIONS = {
    "detach": ("plant", "body"),
    "attach": ("plant", "body", "parent"),
    "capture": ("plant", "body", "parent"),
    "release": ("plant", "body", "parent"),
    "remove": ("plant", "body"),
    "set": ("name", "value"),
    "connect": ("source", "target"),
    "disconnect": ("source", "target"),
}
#: Actions on connections; those that follow each other are one change.
WIRES = ("connect", "disconnect")
#: Transitions at one instant, before they are called endless.
MOST = 100


class Transition(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Transition from one phase to another: `on` a crossing ("radar.low"), `when` a signal is beyond a number
    ("ship.height < 10"), or `after` some seconds in the phase.

    A condition that holds already where the phase begins acts at once; a crossing acts where it happens.

    >>> Transition("descent", "landed", when="lander.position[foot][2] < 0.1")
    Transition(source='descent', target='landed', on='', when='lander.position[foot][2] < 0.1', after=None)
    """

    source: str
    target: str
    on: str = ""
    when: str = ""
    after: float | None = None


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Action where a phase begins: `do` is "detach", "attach", "capture", "release" or "remove" of a `body` of a
    `plant`, as the methods of `Plant` do, with the other body as `parent`; "set", the parameter or state `name` to
    `value`; or "connect" or "disconnect", `source` and `target`. Connections in a row are one change.

    >>> Action("detach", plant="ship", body="shield", mounted="remove").do
    'detach'
    """

    do: str
    plant: str = ""
    body: str = ""
    parent: str = ""
    hinge: Hinge | None = None
    mounted: str | None = None
    name: str = ""
    value: Any = None
    source: str = ""
    target: str = ""


class Sequence(Strict):
    """Phases, transitions between them, and actions where they begin: `s.add("mission", sim.Sequence(...))`.

    `phases` has for each phase the components that are active in it, as names or patterns ("*" within a name, "**" any
    text); components that no phase names are always active. One that is not active holds its outputs and states; the
    clocks of sampled ones go on counting. The first phase is the one at the start. Transitions are tried in the order
    in which they are given. `actions` has for a phase what is done where it begins. A new segment of the run begins
    with each phase: `run.segments`.

    >>> import soacraft as sc
    >>> from soacraft import sim
    >>> s = sim.System("lamp", integrator="rk4", step=0.1)
    >>> _ = s.add("slow", sim.Ramp(slope=1.0))
    >>> _ = s.add("charge", sim.Integrator())
    >>> s.connect("slow.y", "charge.u")
    >>> _ = s.add("day", sim.Sequence(
    ...     {"rest": [], "work": ["charge"]}, [sim.Transition("rest", "work", when="slow.y > 2.0")]))
    >>> run = s.run(4.0)
    >>> s.phase("day"), [(float(x.t[0]), float(x.t[-1])) for x in run.segments]
    ('work', [(0.0, 2.0), (2.0, 4.0)])
    >>> float(run.segments[0].signals["charge.y"][-1]), float(run.signals["charge.y"][-1].round(9))
    (0.0, 6.0)
    """

    def __init__(
        self,
        phases: Mapping[str, Iterable[str]] | Iterable[str],
        transitions: Iterable[Transition],
        actions: Mapping[str, Iterable[Action]] | None = None,
    ) -> None:
        parts_of = phases if isinstance(phases, Mapping) else dict.fromkeys(phases, ())
        self._phases = {str(name): tuple(parts) for name, parts in parts_of.items()}
        self._transitions, self._actions = tuple(transitions), {k: tuple(x) for k, x in (actions or {}).items()}
        if not self._phases:
            raise WiringError("a Sequence has phases: sim.Sequence({'cruise': ['autopilot']}, [...]).")
        for name, parts in self._phases.items():
            if not _PHASE.fullmatch(name):
                raise WiringError(f"a phase has a name of letters, digits and '_'; got {name!r:.60}.")
            if isinstance(parts_of[name], str) or not all(isinstance(x, str) for x in parts):
                raise WiringError(f"phase {name!r} has a list of names of components, got {parts_of[name]!r:.60}.")
        self._conditions = {x: _checked(x, self._phases) for x in self._transitions}
        for name, acts in self._actions.items():
            if name not in self._phases:
                raise WiringError(f"actions are of phases, and there is none {name!r:.60}{near(name, self._phases)}")
            for act in acts:
                check_action(act, name)

    @property
    def phases(self) -> dict[str, tuple[str, ...]]:
        """The components that are active, by phase."""
        return dict(self._phases)

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """Transitions, in the order in which they are tried."""
        return self._transitions

    @property
    def actions(self) -> dict[str, tuple[Action, ...]]:
        """Actions {phase: actions}."""
        return dict(self._actions)

    @property
    def first(self) -> str:
        """The phase at the start."""
        return next(iter(self._phases))

    def leaving(self, phase: str) -> list[Transition]:
        """Transitions out of a phase, in their order."""
        return [x for x in self._transitions if x.source in (phase, "*") and x.target != phase]

    def condition(self, transition: Transition) -> Condition | None:
        """Condition on a signal that a transition waits for; None if it waits for something else."""
        return self._conditions[transition]

    def named(self) -> set[str]:
        """All names and patterns of components."""
        return {x for parts in self._phases.values() for x in parts}

    def __repr__(self) -> str:
        return f"Sequence({', '.join(self._phases)})"

    # -- as plain data -----------------------------------------------------------------------------------------

    def plain(self) -> dict[str, Any]:
        """Tables, lists, texts and numbers; `Sequence.from_plain` reads them."""
        actions: dict[str, Any] = {}
        for name, acts in self._actions.items():
            actions[name] = []
            for act in acts:
                table = {x: getattr(act, x) for x in act.__struct_fields__ if getattr(act, x) not in ("", None)}
                if act.hinge is not None:
                    table["hinge"] = plain_hinge(act.hinge)
                actions[name].append(table)
        return {
            "phases": {name: list(parts) for name, parts in self._phases.items()},
            "transitions": [msgspec.to_builtins(x) for x in self._transitions],
            "actions": actions,
        }

    @classmethod
    def from_plain(cls, data: Any) -> Sequence:
        """The sequence that `plain` told; anything else is refused.

        >>> import soacraft as sc
        >>> one = sc.sim.Sequence(["a", "b"], [sc.sim.Transition("a", "b", after=2.0)],
        ...     {"b": [sc.sim.Action("attach", plant="p", body="x", parent="y", hinge=sc.Pin((0, 0, 1)))]})
        >>> sc.sim.Sequence.from_plain(one.plain()).plain() == one.plain()
        True
        """
        try:
            read = msgspec.convert(data, _Plain)
            actions = {
                name: [
                    Action(**{**x, **({"hinge": hinge_from_plain(x["hinge"])} if "hinge" in x else {})}) for x in acts
                ]
                for name, acts in read.actions.items()
            }
        except (msgspec.ValidationError, TypeError, RecursionError) as wrong:
            raise WiringError(f"a sequence cannot be read: {wrong}.") from None
        return cls(read.phases, read.transitions, actions)


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    phases: dict[str, list[str]]
    transitions: list[Transition] = []
    actions: dict[str, list[dict[str, Any]]] = {}


def _checked(x: Any, phases: Collection[str]) -> Condition | None:
    """The condition of a transition, after all that must be so was compared."""
    if not isinstance(x, Transition):
        raise WiringError(f"transitions are sim.Transition(source, target, ...), got {x!r:.60}.")
    what = f"the transition {x.source!r} -> {x.target!r}"
    for name in (x.source, x.target):
        if name not in phases and not (name == "*" and name is x.source):
            raise WiringError(f"{what} is of no phase {name!r:.60}{near(str(name), phases)}")
    if (x.on != "") + (x.when != "") + (x.after is not None) != 1:
        raise WiringError(f"{what} needs one of on=, when= and after=.")
    if x.after is not None and not nanoseconds(x.after, f"after= of {what}") > 0:
        raise WiringError(f"{what} is after {x.after!r} s, which must be a nanosecond or more.")
    if not x.when:
        return None
    require_short(x.when, f"{what}: a condition")
    match = _WHEN.fullmatch(x.when)
    try:
        value = float(match["value"]) if match else float("nan")
    except ValueError:
        value = float("nan")
    if match is None or value != value:
        raise WiringError(f"{what}: a condition is 'component.port < 3.0' or with '>', got {x.when!r:.80}.")
    return Condition(match["port"], 1 if match["sign"] == ">" else -1, value)


def check_action(act: Any, phase: str) -> None:
    """Raise for what is no action, and for one that lacks a field."""
    if not isinstance(act, Action):
        raise WiringError(f"actions of {phase!r} are sim.Action(do, ...), got {act!r:.60}.")
    if act.do not in _ACTIONS:
        raise WiringError(f"there is no action {act.do!r:.60}{near(str(act.do), _ACTIONS)}")
    for name in _ACTIONS[act.do]:
        if getattr(act, name) in ("", None):
            raise WiringError(f"the action {act.do!r} of {phase!r} needs {name}=.")
    if act.mounted is not None and act.mounted not in MOUNTED:
        raise WiringError(f"mounted= of the action {act.do!r} is one of {MOUNTED}, got {act.mounted!r:.60}.")
