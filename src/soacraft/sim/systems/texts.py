"""A system in words: its tree, its signals, its schedule, its diagram, and one port explained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from soacraft.errors import WiringError, near
from soacraft.markup import Text
from soacraft.sim.components.declarations import Signal
from soacraft.sim.patterns import pattern
from soacraft.sim.runs.signals import Column, Columns
from soacraft.sim.systems.frames import UserFrame
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.running.calls import Call, Knot
from soacraft.sim.systems.running.order import upstream
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.wiring import Link, Part, Wiring


def columns(
    parts: Mapping[str, Part],
    wiring: Wiring,
    schedule: Schedule,
    patterns: str | Sequence[str],
    required: bool = True,
) -> Columns:
    """The outputs and states that patterns name, in the order of their names, with shapes and units; where they are
    `required`, a pattern that matches none is refused."""
    available: dict[str, Column] = {}
    for path, part in parts.items():
        face = part.component.interface
        for name in [*face.outputs, *face.continuous, *face.discrete]:
            signal = part.signal(name)
            available[f"{path}.{name}"] = _column(signal)
    plants = {key for x in schedule.plants for key in (x.q, x.v, x.vdot)}
    for key, signal in wiring.sources.items():
        if key not in available and key not in plants and key in schedule.calls:
            available[key] = _column(signal)
    chosen: set[str] = set()
    for text in [patterns] if isinstance(patterns, str) else patterns:
        matching = pattern(str(text)).of(available)
        if not matching and text != "**" and required:
            raise WiringError(f"signals={text!r:.60} matches no output or state{near(str(text), available)}")
        chosen.update(matching)
    return {key: available[key] for key in sorted(chosen)}


def _column(signal: Signal) -> Column:
    return Column(signal.shape, signal.unit or "", signal.frame or "")


def tree(
    parts: Mapping[str, Part], plants: Mapping[str, object], groups: Mapping[str, str], frames: Mapping[str, UserFrame]
) -> Text:
    """The parts, level by level."""
    texts = {path: repr(x) for path, x in [*plants.items(), *frames.items()]}
    for path, part in parts.items():
        mount = f" at {part.mount}" if part.mount is not None else ""
        texts[path] = f"{part.component!r}{mount}{f', {part.clock}' if part.clock is not None else ''}"
    above = {path.rsplit("/", i)[0] for path in [*texts, *groups] for i in range(path.count("/") + 1)}
    lines = []
    for path in sorted({*texts, *groups, *above}, key=lambda x: x.split("/")):
        depth, last = path.count("/"), path.rpartition("/")[2]
        lines.append(f"{'  ' * depth}{last}{f': {texts[path]}' if path in texts else ''}")
    return Text("\n".join(lines))


def signals(parts: Mapping[str, Part], wiring: Wiring, schedule: Schedule) -> Text:
    """Every input and output, one in a line."""
    lines = []
    for path in sorted(parts):
        face = parts[path].component.interface
        for name in [*face.inputs, *face.outputs]:
            key, signal = f"{path}.{name}", parts[path].signal(name)
            facts = [signal.unit if signal.unit is not None else "any unit"]
            facts += [str(signal.shape)] if signal.shape else []
            facts += [f"in {signal.frame}"] if signal.frame else []
            if name in face.inputs:
                link = wiring.links.get(key)
                lines.append(f"{key}  <-  {_link(link) if link else 'its default'}  [{', '.join(facts)}]")
            else:
                lines.append(f"{key}  [{', '.join(facts)}]")
    lines += [f"{x.name}  ->  a force on {x.plant!r}" for x in wiring.contributions]
    return Text("\n".join(lines))


def _link(link: Link) -> str:
    element = "" if link.element is None else f"[{link.element}]"
    return f"{link.source}{element}{f' x {link.factor:.9g}' if link.factor != 1.0 else ''}"


def schedule_text(schedule: Schedule) -> Text:
    """Order and instants of all evaluations."""
    before, behind = schedule.stage
    lines = ["at every stage of a step:", *_calls(before)]
    if schedule.plants:
        what = "the plant" if len(schedule.plants) == 1 else "all plants at once"
        lines += [f"  {', '.join(sorted(schedule.vdots))}: {len(schedule.forces)} forces, and the dynamics of {what}"]
    lines += _calls(behind)
    lines += [f"  rate of {x.key}" for x in schedule.places]
    done = {id(x) for part in schedule.stage for x in part}
    late = [x for part in schedule.select(list(schedule.needs)) for x in part if id(x) not in done]
    lines += ["at every row, for the record alone:", *_calls(late)] if late else []
    clocks = sorted({x.clock for x in schedule.ticking}, key=lambda x: (x.period, x.offset))
    for clock in clocks:
        due = [x for x in schedule.ticking if x.clock == clock]
        first, then, _ = schedule.at_tick([x.path for x in due])
        lines += [f"{clock}: outputs", *_calls(first), *_calls(then)]
        updates = [y.key for x in due for y in x.updates]
        lines += [f"  then at once: {', '.join(updates)}"] if updates else []
    lines += [f"located: {x.call.key}" for x in schedule.watched]
    return Text("\n".join(lines))


def _calls(calls: Sequence[Call | Knot]) -> list[str]:
    lines = []
    for x in calls:
        if isinstance(x, Knot):
            lines.append(
                f"  by Newton's method: {', '.join(y.key for y in x.tears)} in {', '.join(y.key for y in x.calls)}"
            )
        else:
            lines.append(f"  {x.key}")
    return lines


def mermaid(parts: Mapping[str, Part], plants: Mapping[str, Plant], wiring: Wiring) -> Text:
    """A flowchart in the language of Mermaid."""
    names = {path: f"n{i}" for i, path in enumerate(sorted([*parts, *plants, *wiring.user_frames]))}
    lines = ["flowchart LR"]
    lines += [f'  {names[path]}["{path}"]' for path in sorted(names)]
    for key, link in sorted(wiring.links.items()):
        a, b = _owner(link.source), _owner(key)
        label = f"{_link(link)[len(a) + 1 :]} to {key[len(b) + 1 :]}".translate({ord("["): "(", ord("]"): ")"})
        lines.append(f'  {names[a]} -->|"{label}"| {names[b]}')
    for x in wiring.contributions:
        lines.append(f'  {names[_owner(x.link.source)]} ==>|"{x.name.partition(".")[2]}"| {names[x.plant]}')
    return Text("\n".join(lines))


def _owner(key: str) -> str:
    return key.partition(".")[0]


def explain(port: str, parts: Mapping[str, Part], wiring: Wiring, schedule: Schedule) -> Text:
    """Description of a port."""
    path, _, name = str(port).partition(".")
    part = parts.get(path)
    fields = () if part is None else part.component.interface.bundles.get(name, ())
    if fields:
        return Text("\n".join(explain(f"{port}_{field}", parts, wiring, schedule) for field in fields))
    if part is None or name not in part.component.interface.quantities:
        ports = [f"{p}.{n}" for p, x in parts.items() for n in x.component.interface.quantities]
        raise WiringError(f"there is no port or state {port!r:.60}{near(str(port), ports)}")
    face, signal = part.component.interface, part.signal(name)
    unit = signal.unit if signal.unit is not None else "any unit"
    lines = [
        f"{port}: {type(face.quantities[name]).__name__.lower()} of {part.component!r}, {unit}, shape {signal.shape}"
    ]
    lines += [f"  {part.clock}, held between"] if part.clock is not None else []
    if name in face.inputs:
        link = wiring.links.get(port)
        lines.append(f"  filled by {_link(link)}" if link is not None else "  has its default")
        return Text("\n".join(lines))
    equation = face.outputs.get(name) or face.rates.get(name) or face.updates.get(name)
    if equation is not None:
        lines.append(f"  {equation.kind} {equation.name}({', '.join(equation.arguments)})")
        lines += [f"  {' '.join(equation.__doc__.split())}"] if equation.__doc__ else []
    if name in face.outputs:
        at_once = sorted(x for x in upstream([port], schedule.needs) if x != port)
        lines.append(f"  depends at once on {', '.join(at_once) or 'states and parameters alone'}")
    used = sorted(key for key, link in wiring.links.items() if link.source == port)
    pushes = [x.name for x in wiring.contributions if x.link.source == port]
    lines += [f"  fills {', '.join(used)}"] if used else []
    lines += [f"  pushes the plant as {x!r}" for x in pushes]
    return Text("\n".join(lines))
