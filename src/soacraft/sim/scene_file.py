"""A motion from a file: the model with its state, and a propagator with all that the file says of a run."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.errors import LoopError, ModelError, StateError
from soacraft.files.load import load
from soacraft.loops import TreeAugmented
from soacraft.model.hinges import Free
from soacraft.model.sizes.scale import scale_of
from soacraft.model.tree.frames.frame import Body, Root
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.closed import Closed
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import unknown_law
from soacraft.sim.sensor_values import Measured, measured

if TYPE_CHECKING:
    from soacraft.sim.propagator import Propagator

#: The step of MJCF files that name none, in seconds.
_MJCF_STEP = 0.002
#: The step of other files, in the time sqrt(length / gravity) of the model.
_PART = 1.0 / 200.0


def propagator_of_file(
    kind: type[Propagator],
    source: str | PathLike[str] | Multibody,
    keyframe: str | None,
    step: float | None,
    contact: Contact | None,
    exclude: Sequence[tuple[str, str]],
    loading: dict[str, Any],
    options: dict[str, Any],
) -> Propagator:
    """A propagator of a scene, with `loading` for `sc.load` and further `options` of a propagator."""
    if contact is not None and not isinstance(contact, Contact):
        raise StateError(f"contact must be a sc.sim.Contact, got {contact!r:.60}.")
    if isinstance(source, Multibody):
        if any(loading.values()):
            raise ModelError(f"{source.name!r} is loaded already: {', '.join(loading)} are for files.")
        mb = source
    else:
        mb = load(source, **loading)
    if keyframe is not None:
        if not isinstance(keyframe, str):
            raise StateError(f"a keyframe is given by its name, got {keyframe!r:.60}.")
        mb.set_state(keyframe)
    frame = None if keyframe is None else mb.keyframes[keyframe]
    notes = [_closed(mb)]
    file_step = _file_step(mb)
    length = step if step is not None else file_step or scale_of(mb).time * _PART
    p = kind(mb, step=length, **options)
    touch = Contact() if contact is None else contact
    p.add(touch)
    for pair in exclude:
        if not isinstance(pair, Sequence) or len(pair) != 2 or isinstance(pair, str):
            raise StateError(f"exclude lists pairs of shapes or bodies, ('hand', 'table'); got {pair!r:.60}.")
        touch.scene.exclude(*pair)
    notes += _left_out(p, touch, mb)
    controls = np.atleast_1d(frame.attributes.get("ctrl", ())) if frame is not None else np.zeros(0)
    notes += [
        f"step: {length:g} s, {'as given' if step is not None else 'of the file' if file_step else 'of its size'}",
        "state: that of the file" if frame is None else f"state: keyframe {frame.name!r}",
        *_drive(p, mb, controls),
        *_sensors(mb),
    ]
    p.note(*(x for x in notes if x))
    return p


def _left_out(p: Propagator, touch: Contact, mb: Multibody) -> list[str]:
    """Leave out shapes of one mechanism that are drawn in each other and that no dof moves apart, such as two covers of
    a motor. Lines that name them."""
    carriers = {x.name: x.carrier for x in touch.scene.placed}
    lines = []
    for x in touch.start(p.t, np.asarray(mb.q)):
        if x.moves or len(x.names) != 2:
            continue
        a, b = (_mechanism(carriers[name]) for name in x.names)
        if a is b:
            touch.scene.exclude(*x.names)
            lines.append(f"left out of contact: {x}, and no dof moves them apart")
    return lines


def _mechanism(carrier: Root | Body) -> Root | Body:
    """The free body that a frame is carried by, or the inertial frame."""
    while isinstance(carrier, Body) and not isinstance(carrier.hinge, Free):
        carrier = carrier.parent
    return carrier


def _file_step(mb: Multibody) -> float:
    """The time step that the file says, 0 where it says none."""
    steps = [x.attributes["timestep"] for x in mb.records if x.kind == "option" and "timestep" in x.attributes]
    if steps:
        return float(steps[-1])  # type: ignore[arg-type]
    report = mb.import_report
    of_mjcf = report is not None and any(x.element == "mujoco" for x in report.entries)
    return _MJCF_STEP if of_mjcf else 0.0


def _closed(mb: Multibody) -> str:
    """Put the state on the closures; a line of what was moved."""
    if not mb.is_closed:
        return ""
    solver = TreeAugmented(mb)
    q, v = np.array(mb.q), np.array(mb.v)
    try:
        Closed(solver).require_closed(q, v)
    except LoopError:
        mb.q = solver.assemble(q)
        mb.v = solver.project_velocity(mb.q, v)
        moved = float(np.abs(np.asarray(mb.difference(q, mb.q))).max(initial=0.0))
        return f"closures: assembled from the state, by at most {moved:.3g} (m or rad) of a dof"
    return ""


def _drive(p: Propagator, mb: Multibody, told: Any) -> list[str]:
    """Drive the actuators whose laws are known: by the keyframe's controls, else by 0. Lines of what they do."""
    controls = np.asarray(told, dtype=np.float64)
    if len(controls) not in (0, len(mb.actuators)):
        raise StateError(
            f"the keyframe has {len(controls)} controls, and {mb.name!r} has {len(mb.actuators)} actuators: set the "
            "state with mb.set_state(...), and pass the model."
        )
    lines = []
    for i, actuator in enumerate(mb.actuators):
        if not unknown_law(actuator):
            u = float(controls[i]) if len(controls) else 0.0
            p.control(actuator.name, u)
            if u:
                lines.append(f"{actuator.name} = {u:g}")
    if not mb.actuators:
        return []
    more = f" and {len(lines) - 6} more" if len(lines) > 6 else ""
    return [f"controls: {', '.join(lines[:6])}{more}, others 0" if lines else "controls: all 0"]


def _sensors(mb: Multibody) -> list[str]:
    """A line of the sensors that are measured, and one for those that are not."""
    all_sensors = [(x, measured(mb, x)) for x in mb.records if x.kind == "sensor"]
    good = [repr(x.name) for x, what in all_sensors if isinstance(what, Measured) and x.name]
    lines = [f"sensors: {_listed(good)}; p.sensors() has their values"] if good else []
    why = {what: x.name for x, what in reversed(all_sensors) if isinstance(what, str)}
    return lines + [f"sensor {name!r} and its like are not measured: {what}" for what, name in why.items()]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
