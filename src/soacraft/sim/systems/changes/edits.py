"""Edits of a model that moves: bodies that part, join, are caught or go; what they do to momentum and energy.

Each is a function of a model at its present state, so that it can be tried on a copy first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.contact import plastic_impact
from soacraft.errors import ModelError
from soacraft.model.flat.layout import dofs_of
from soacraft.model.hinges import Free, Weld
from soacraft.model.hinges.base import Hinge
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.properties import Limits, Passive
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: What a velocity may change by where bodies join without an impact, relative to the fastest, in lengths of the model.
_GENTLE = 1e-9


class Outcome(NamedTuple):
    """What an edit did."""

    impulse: Array | None = None
    """[moment; force] on the body that was caught, at its frame, in inertial axes, in N m s and N s."""
    energy_lost: float = 0.0
    """In J."""


class Away(NamedTuple):
    """What of a plant goes: dofs and frames by name, and whether q and v get another size."""

    dofs: frozenset[str]
    frames: frozenset[str]
    resized: bool


def away(body: str, hinge_only: bool = False) -> Callable[[Multibody], Away]:
    """What goes with a body and all that hangs from it; or with its hinge alone."""

    def found(mb: Multibody) -> Away:
        top = mb.body(body)
        bodies = [top] if hinge_only else list(top.subtree())
        dofs = frozenset(dof for x in bodies for dof in dofs_of(x))
        frames = () if hinge_only else [y.full_name for x in bodies for y in (x, *x.nodes)]
        return Away(dofs, frozenset(frames), True)

    return found


def momentum(mb: Multibody) -> Array:
    """[angular; linear] about the inertial origin, of all bodies."""
    return np.asarray(dyn.momentum(mb, mb.q, mb.v, ignore_loops=True)) if mb.nv else np.zeros(6)


def floats(body: Body) -> bool:
    """Whether nothing holds a body."""
    return body.parent is body.graph.root and isinstance(body.hinge, Free)


def detach(mb: Multibody, name: str) -> Outcome:
    """Let a body, with all that hangs from it, float on as it moves: its hinge goes."""
    body = mb.body(name)
    if floats(body):
        raise ModelError(f"{name!r} of {mb.name!r} floats already: nothing holds it.")
    _strip(body)
    mb.reattach(body, None, Free(), keep_pose=True)
    return Outcome()


def attach(
    mb: Multibody, name: str, parent: str, hinge: Hinge | None, inboard: Pose | None, outboard: Pose | None
) -> Outcome:
    """Hang a body on another one by a hinge that allows the motion it has; another motion is refused."""
    body, on, hinge = mb.body(name), mb.frame(parent), Weld() if hinge is None else hinge
    before = np.asarray(mb.velocity(body))
    _strip(body)
    mb.reattach(body, on, hinge, _inboard(mb, body, on, hinge, inboard, outboard), outboard, keep_pose=True)  # type: ignore[arg-type]
    length = measure_of(mb, np.asarray(mb.q)).length
    off, size = (
        np.abs(x * np.repeat([length, 1.0], 3)).max() for x in (np.asarray(mb.velocity(body)) - before, before)
    )
    if off > _GENTLE * max(size, _fastest(mb, length)):
        raise ModelError(
            f"{name!r} moves relative to {parent!r} as {hinge!r} does not allow, by {off:.3g} m/s: that is an impact. "
            "Use capture(body, parent, hinge), which tells impulse and energy, or let them meet at rest."
        )
    return Outcome()


def capture(
    mb: Multibody, name: str, parent: str, hinge: Hinge | None, inboard: Pose | None, outboard: Pose | None
) -> Outcome:
    """Join a body to another one by the plastic impact of `sc.contact`: what the hinge does not allow of their relative
    motion ends. One that floats hangs from the other then; else a loop is closed."""
    body, on, hinge = mb.body(name), mb.frame(parent), Weld() if hinge is None else hinge
    at, out = _inboard(mb, body, on, hinge, inboard, outboard), Pose() if outboard is None else outboard
    loop = f"capture of {name} by {parent}"
    a, b = on.carrier.add_node(f"{loop}: a", on.offset @ at), body.add_node(f"{loop}: b", out.inv)
    mb.close_loop(loop, a, b, hinge, active=False)
    done = plastic_impact(mb, loop)
    mb.set_state(v=done.v)
    wrench = done.impulses[loop]
    lever = np.asarray(mb.pose(b).translation) - np.asarray(mb.pose(body).translation)
    impulse = np.concatenate([wrench[:3] + np.cross(lever, wrench[3:]), wrench[3:]])
    mb.remove_loop(loop)
    if floats(body) and on.carrier not in set(body.subtree()):
        on.carrier.remove_node(a)
        body.remove_node(b)
        mb.reattach(body, on, hinge, at, outboard, keep_pose=True)  # type: ignore[arg-type]
    else:
        mb.close_loop(loop, a, b, hinge)
    return Outcome(impulse, done.energy_lost)


def remove(mb: Multibody, name: str) -> Outcome:
    """Take a body out, with all that hangs from it."""
    mb.remove(name, subtree=True)
    return Outcome()


def _strip(body: Body) -> None:
    """A hinge that goes has no rotors, springs or limits any more."""
    if np.any(body.armature):
        body.armature = 0.0
    if body._passive is not None:
        body.passive = Passive()
    if body._limits is not None:
        body.limits = Limits()


def _inboard(mb: Multibody, body: Body, on: Frame, hinge: Hinge, inboard: Pose | None, outboard: Pose | None) -> Pose:
    """Where the inboard frame of a hinge is on its parent: as given, or so that the hinge is neutral now."""
    if inboard is not None:
        return inboard
    T = mb.pose(body, relative_to=on)
    there = Pose.unchecked(np.asarray(T.rotation), np.asarray(T.translation))
    out = Pose() if outboard is None else outboard
    return there @ out.inv @ hinge.pose(hinge.neutral()).inv


def _fastest(mb: Multibody, length: float) -> float:
    scale = np.repeat([length, 1.0], 3)
    return max((float(np.abs(np.asarray(mb.velocity(x)) * scale).max()) for x in mb.bodies), default=0.0)


#: What a plant can do to its model while it moves, by name.
EDITS: dict[str, Any] = {"detach": detach, "attach": attach, "capture": capture, "remove": remove}
