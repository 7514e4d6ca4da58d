"""Names of the controls that a stepper drives, and the time of one call."""

from __future__ import annotations

from collections.abc import Sequence

from soacraft.errors import ModelError, StateError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.acting import Acting
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.forces.drives import Control, controls_of
from soacraft.sim.integrators.steps import Method


def read_period(method: Method, step: int | None, period: float | None) -> int:
    """The nanoseconds of one call."""
    if period is None:
        if step is None or method.adaptive:
            raise StateError(
                f"{method.name!r} chooses its steps: give the time of one call, such as p.stepper(period=0.01)."
            )
        return step
    ns = positive_nanoseconds(period, "period")
    if not method.adaptive and step is not None and ns % step:
        raise StateError(f"period is {ns / 1e9:.9g} s, which is no multiple of the step of {step / 1e9:.9g} s.")
    return ns


def read_names(mb: Multibody, acting: Acting, controls: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the controls that are driven."""
    if controls is not None and not isinstance(controls, list | tuple):
        raise StateError(f"controls is a list of names, such as controls=[{controls!r:.60}].")
    names = controls_of(mb) if controls is None else list(controls)
    for i, name in enumerate(names):
        if name in names[:i]:
            raise StateError(f"control {name!r:.60} is named twice; name each once.")
        owner = acting.controls.get(name) if isinstance(name, str) else None
        if owner is not None and not owner.is_number:
            kind = "a function" if owner.samples is None else "samples"
            raise StateError(
                f"control {name!r} has two owners: {kind} of p.control, and the stepper. Take it away with "
                f"p.control({name!r}, 0.0), or name the others: p.stepper(controls=[...])."
            )
    return tuple(names)


def driven_control(mb: Multibody, name: str) -> Control:
    """A control that the stepper drives, at zero."""
    control = Control(name, 0.0)
    try:
        control.bind(mb)
    except ModelError as wrong:
        raise ModelError(f"{wrong} Name the controls that the stepper drives: p.stepper(controls=[...]).") from None
    return control
