"""`Fit`: the parts of a run that a `SimState` must fit; `refuse_other` raises for a state of another run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from soacraft.errors import CheckpointError, SoacraftError
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.states.named_arrays import shapes
from soacraft.sim.states.sim_state import SimState


class Fit(NamedTuple):
    """The model of a run, and names and sizes of all that acts on it."""

    mb: Multibody
    forces: tuple[str, ...]
    events: tuple[str, ...] = ()
    periods: tuple[int, ...] = ()
    """Periods of callbacks, in nanoseconds."""
    controls: tuple[str, ...] = ()
    """Names of the controls that are numbers, sorted."""
    others: tuple[str, ...] = ()
    """Names of the other controls, which are samples or functions: a state may have numbers of these, which a callback
    has given."""
    clocks: int = 0
    continuous: int = 0
    """Number of continuous states of components."""
    held: Mapping[str, Any] = {}


def refuse_other(state: SimState, fit: Fit, whose: str) -> None:
    """Raise `CheckpointError` for a state of another model, or of other forces, events or clocks. `whose` names the
    state. O(its size)."""
    mb = fit.mb
    for what, a, b in (
        ("dofs", list(mb.dof_names) if state.dofs else [], list(state.dofs)),
        ("forces", list(fit.forces), list(state.forces)),
        ("events", list(fit.events), list(state.events)),
        ("periods of callbacks", [x / 1e9 for x in fit.periods], [x / 1e9 for _, x in state.callbacks]),
        ("coordinates", mb.nq, len(state.q)),
        ("velocities", mb.nv, len(state.v)),
        ("numbers of work", len(fit.forces), len(state.work)),
        ("states of components", fit.continuous, len(state.z)),
        ("controls that are numbers", list(fit.controls), sorted(set(state.controls) - set(fit.others))),
        ("clocks", fit.clocks, len(state.ticks)),
        ("held values", shapes(fit.held), shapes(state.held)),
    ):
        if a != b:
            raise CheckpointError(
                f"{whose} is of another run: its {what} are {b!r:.200}, and those of {mb.name!r} here are "
                f"{a!r:.200}. Add the same, in the same order, before it is restored."
            )
    fault = _fault(state, mb)
    if fault:
        raise CheckpointError(f"{whose} cannot be restored, it is damaged: {fault}.")


def _fault(state: SimState, mb: Multibody) -> str:
    """Return the reason why a state of the right sizes is none of a model; empty if it is one."""
    try:
        read_q(mb, state.q)
        read_v(mb, state.v)
    except SoacraftError as wrong:
        return str(wrong).rstrip(".")
    count = 2 * mb.nv + len(state.work) + len(state.z)
    if len(state.rates) not in (0, count):
        return f"it has {len(state.rates)} rates, and a step begins with {count}"
    sizes = {x.name: x.hinge.nq for x in mb.loops}
    for name, x in state.closures.items():
        if sizes.get(name) != len(x):
            return f"the closure {name!r:.60} has {sizes.get(name, 0)} coordinates, and {len(x)} there"
    chosen = [x for x in (state.independent, None if state.embedding is None else state.embedding[0]) if x is not None]
    if (state.closures or chosen) and not (mb.loops or mb.couplings):
        return f"{mb.name!r} has no closures"
    for dofs in chosen:
        if len(set(dofs)) != len(dofs) or not all(0 <= i < mb.nv for i in dofs):
            return f"its independent dofs are {list(dofs)!r:.60}, of {mb.nv}"
    if not set(state.signs) <= set(state.events):
        return f"it has signs of {sorted(set(state.signs) - set(state.events))!r:.100}, which are no events"
    return ""
